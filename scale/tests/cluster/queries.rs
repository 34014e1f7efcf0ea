//! Queries with functions on tensors.

use super::harness::{Cluster, Run, run as command};
use crate::{
    functions::write_extension,
    random::{Random, Slice},
    tables::{batch, elements, read, run, shape, tensors, write},
};
use datafusion::arrow::{
    array::{Array, ArrayRef, Int64Array, RecordBatch, UInt16Array},
    datatypes::{Float32Type, Int64Type, UInt16Type},
};
use std::{path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use wgslice::Backend;
use wgslice_scale::engine::Engine;
use wgslice_vectors::reference::{Indexing, gather_nd};

const ROWS: usize = 400;
const IMAGE: [usize; 3] = [6, 5, 2];

/// Writes a table of four files with the row numbers in `id` and two columns of tensors. `image` is of u16 and null in
/// row 17. `pairs` has index tuples into the image's first two dimensions, in arrays of shape [3, 2]. Returns the path
/// of the table's folder and the elements of `image` and `pairs`.
fn table(folder: &Path) -> (String, Vec<u16>, Vec<i64>) {
    let images: Vec<u16> = (0..ROWS * 60).map(|i| (i * 13 + i / 60) as u16).collect();
    let mut random = Random::new(5);
    let pairs: Vec<i64> = (0..ROWS * 6)
        .map(|i| random.within(0, if i % 2 == 0 { 5 } else { 4 }))
        .collect();
    let columns: [(&str, ArrayRef); 2] = [
        (
            "image",
            tensors(
                Arc::new(UInt16Array::from(images.clone())),
                &IMAGE,
                ROWS,
                &[17],
            ),
        ),
        (
            "pairs",
            tensors(
                Arc::new(Int64Array::from(pairs.clone())),
                &[3, 2],
                ROWS,
                &[],
            ),
        ),
    ];
    let all = batch(&columns);
    let folder = folder.join("images");
    std::fs::create_dir(&folder).unwrap();
    for file_number in 0..4 {
        write(
            &folder.join(format!("{file_number}.parquet")),
            &all.slice(file_number * 100, 100),
        );
    }
    (format!("{}/", folder.display()), images, pairs)
}

/// Computes a checksum of the elements of all columns. The checksum also covers which rows are null.
fn checksum(batch: &RecordBatch) -> u32 {
    let mut sum = 0;
    for column in batch.columns() {
        for row in 0..column.len() {
            sum = crc32c::crc32c_append(sum, &[u8::from(column.is_valid(row))]);
        }
        let mut values = Arc::clone(column);
        while let Some(list) = datafusion::arrow::array::AsArray::as_fixed_size_list_opt(&values) {
            values = Arc::clone(list.values());
        }
        let data = values.to_data();
        let width = data.data_type().primitive_width().unwrap();
        let bytes = &data.buffers()[0].as_slice()[data.offset() * width..][..data.len() * width];
        sum = crc32c::crc32c_append(sum, bytes);
    }
    sum
}

/// Runs a query, checks that its first column has these elements, and returns the result.
async fn check_query(engine: &Engine, query: &str, expected: &[f32]) -> RecordBatch {
    let result = run(engine, query)
        .await
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    assert_eq!(
        elements::<Float32Type>(result.column(0)),
        expected,
        "{query}"
    );
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_an_embedded_engine_and_the_reference_agree() {
    let folder = TempDir::new().unwrap();
    let (path, images, pairs) = table(folder.path());
    let cluster = Cluster::start("queries", None, &[]);
    let cluster_engine = Engine::cluster(&cluster.url, 4).await.unwrap();
    let local_engine = Engine::embedded(2).unwrap();

    // Compares 50 random slices.
    let mut random = Random::new(6);
    let mut agreed_count = 0;
    while agreed_count < 50 {
        let slice = Slice::of(&mut random, &IMAGE);
        let (expected_shape, first_row) = slice.naive(&images[..60], &IMAGE);
        if first_row.is_empty() {
            continue;
        }
        let query = format!(
            "SELECT id, strided_slice(image, '{}') AS y FROM '{path}' ORDER BY id",
            slice.text
        );
        let result = run(&cluster_engine, &query)
            .await
            .unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(
            checksum(&result),
            checksum(&run(&local_engine, &query).await.unwrap()),
            "{query}"
        );
        let column = result.column(1);
        assert_eq!(shape(column.data_type()), expected_shape, "{query}");
        let results = elements::<UInt16Type>(column);
        let spec = format!(":, {}", slice.text).parse().unwrap();
        let whole = Backend::cpu().slice((&images, &[&[ROWS], &IMAGE[..]].concat()), &spec);
        let whole = whole.unwrap().data;
        for row in (0..ROWS).filter(|&row| row != 17) {
            let (_, expected) = slice.naive(&images[row * 60..][..60], &IMAGE);
            let range = row * first_row.len()..(row + 1) * first_row.len();
            assert_eq!(results[range.clone()], expected, "{query}: row {row}");
            assert_eq!(results[range.clone()], whole[range], "{query}: row {row}");
        }
        assert!(column.is_null(17) && column.null_count() == 1);
        agreed_count += 1;
    }

    // This query has a nested call whose shape must be passed on, a filter with two such calls, and built-in functions.
    let query = format!(
        "SELECT abs(-id) AS n, gather_nd(strided_slice(image, '::-1, ..., ::-1'), pairs) AS y, upper('a') AS a \
         FROM '{path}' WHERE gather_nd(strided_slice(image, '0, 0'), '[0]') % 2 = 1 ORDER BY n"
    );
    let result = run(&cluster_engine, &query).await.unwrap();
    let rows = elements::<Int64Type>(result.column(0));
    let odd = |row: &usize| *row != 17 && images[row * 60] % 2 == 1;
    assert_eq!(
        rows,
        (0..ROWS)
            .filter(odd)
            .map(|row| row as i64)
            .collect::<Vec<_>>()
    );
    assert!(rows.len() > 100);
    let results = elements::<UInt16Type>(result.column(1));
    for (place, &row) in rows.iter().enumerate() {
        let row = row as usize;
        let image = &images[row * 60..][..60];
        let flipped: Vec<u16> = image
            .chunks(10)
            .rev()
            .flat_map(|line| line.chunks(2).flat_map(|pixel| [pixel[1], pixel[0]]))
            .collect();
        let gathered = gather_nd(
            &flipped,
            &IMAGE,
            &pairs[row * 6..][..6],
            &[3, 2],
            0,
            Indexing::default(),
        )
        .unwrap();
        assert_eq!(results[place * 6..][..6], gathered.values, "row {row}");
    }
    let aggregate_query =
        format!("SELECT count(*) AS n, sum(gather(tensor_shape(image), 1)) AS s FROM '{path}'");
    let result = run(&cluster_engine, &aggregate_query).await.unwrap();
    assert_eq!(elements::<Int64Type>(result.column(0)), [400]);
    assert_eq!(elements::<Int64Type>(result.column(1)), [399 * 5]);

    // The shape and the dimension order of Arrow's own tensors are in metadata, which does not reach executors.
    for (file, parameters, positions) in [
        ("tensors.parquet", r#"{"shape":[2,3]}"#, [5, 4, 3]),
        (
            "turned.parquet",
            r#"{"shape":[3,2],"permutation":[1,0]}"#,
            [5, 3, 1],
        ),
    ] {
        let table = folder.path().join(file);
        let values = write_extension(&table, 10, &[2, 3], parameters);
        let name = table.display();
        let expected: Vec<f32> = values
            .chunks(6)
            .flat_map(|row| positions.map(|position| row[position]))
            .collect();
        let query = format!(
            "SELECT tensor_to_arrow(strided_slice(strided_slice(y, '1'), '::-1')) AS z FROM \
             (SELECT id, x AS y FROM '{name}') ORDER BY id"
        );
        let result = check_query(&cluster_engine, &query, &expected).await;
        assert_eq!(
            result.schema().field(0).metadata()["ARROW:extension:name"],
            "arrow.fixed_shape_tensor"
        );

        // The shape and the dimension order also survive a limit, a join and a grouping, with their shuffles.
        for from in [
            format!("(SELECT id, x AS y FROM '{name}' ORDER BY id LIMIT 10) AS t"),
            format!(
                "(SELECT id, x AS y FROM '{name}') AS t JOIN (SELECT id AS i, abs(id) AS a FROM '{name}') AS u ON t.id = u.i"
            ),
            format!("(SELECT id, first_value(x) AS y FROM '{name}' GROUP BY id) AS t"),
        ] {
            let query =
                format!("SELECT strided_slice(y, '1, ::-1') AS z FROM {from} ORDER BY t.id");
            check_query(&cluster_engine, &query, &expected).await;
        }

        // In this query, the metadata of a function's result does not reach the executors.
        let query = format!(
            "SELECT strided_slice(tensor_to_arrow(strided_slice(x, '::-1')), '0, ::-1') AS z FROM '{name}' ORDER BY id"
        );
        check_query(&cluster_engine, &query, &expected).await;
    }

    // A query with an index out of range fails without a retry. Its error names the row and the index tuple.
    let query = format!("SELECT gather_nd(image, '[[0, 7]]') FROM '{path}'");
    let error = run(&cluster_engine, &query).await.unwrap_err();
    assert!(
        error.contains("in every row") || error.contains("in row 0 of the batch"),
        "{error}"
    );
    assert!(
        error.contains("are [0, 7], which is out of range of [6, 5, 2]"),
        "{error}"
    );
    let query = format!("SELECT gather_nd(image, pairs, '', concat('image ', id)) FROM '{path}'");
    assert!(run(&cluster_engine, &query).await.is_ok());
    let query =
        format!("SELECT gather(image, id, '', concat('image ', id)) FROM '{path}' WHERE id = 99");
    let error = run(&cluster_engine, &query).await.unwrap_err();
    assert!(
        error.contains("in row image 99, the indices at [] are [99]"),
        "{error}"
    );
    assert_eq!(
        cluster.exhausted_task_count(),
        0,
        "a wrong index was tried again"
    );

    // The command's error names the row and its file; each of the four files has 100 rows. This covers every function
    // that fails on wrong indices or a wrong mask, queries with and without an output file, and tensors with permuted
    // dimensions.
    let last_file = Path::new(&path).canonicalize().unwrap().join("3.parquet");
    let permuted_file = folder.path().canonicalize().unwrap().join("turned.parquet");
    // One element of the mask is true in rows with id < 342, and two are true in the others.
    let masks = [&["[true, false]"; 6][..], &["[true, true]"; 2]].concat();
    let mask = format!("gather('[{}]', id / 57)", masks.join(", "));
    let surplus_problem = "the mask has 2 true elements, which is above the capacity 1 ";
    let index_problem = "the indices at [] are [6], which is out of range of [6, 5, 2] ";
    for (call, row, file, problem) in [
        ("gather(image, id / 57)", 42, &last_file, index_problem),
        (
            "gather_nd(image, tensor_reshape(id / 57, '1'))",
            42,
            &last_file,
            index_problem,
        ),
        (
            "crop(image, tensor_reshape(id / 57, '1'), '1')",
            42,
            &last_file,
            index_problem,
        ),
        (
            "scatter_nd(tensor_reshape(id / 57, '1, 1'), strided_slice(image, '0, 0, :1'), '6')",
            42,
            &last_file,
            "the indices at [0] are [6], which is out of range of [6] ",
        ),
        (
            &format!("nonzero({mask}, '1')"),
            42,
            &last_file,
            surplus_problem,
        ),
        (
            &format!("boolean_mask(strided_slice(image, ':2'), {mask}, '1')"),
            42,
            &last_file,
            surplus_problem,
        ),
        (
            "gather(x, id / 2)",
            4,
            &permuted_file,
            "the indices at [] are [2], which is out of range of [2, 3] ",
        ),
    ] {
        let from = match file == &permuted_file {
            true => format!("'{}'", permuted_file.display()),
            false => format!("'{path}' WHERE id >= 300"),
        };
        let query = format!("SELECT {call} AS y FROM {from}");
        for more_arguments in [&["--json"][..], &["-o", "failed.parquet"]] {
            let arguments = [&["sql", &query, "--cluster", &cluster.url], more_arguments].concat();
            let outcome = Run::start(folder.path(), &arguments).end(Duration::from_secs(60));
            assert_eq!(outcome.code, 1, "{query}: {outcome:?}");
            let function = call.split('(').next().unwrap();
            let expected = format!(
                "error: {function}: in row {row} of {}, {problem}",
                file.display()
            );
            assert!(
                outcome
                    .errors
                    .lines()
                    .any(|line| line.starts_with(&expected)),
                "{query}: {}",
                outcome.errors
            );
            assert!(!folder.path().join("failed.parquet").exists());
        }
    }

    // The command writes its result to a file.
    let output = folder.path().join("out.parquet");
    let query =
        format!("SELECT id, strided_slice(image, '::2, -1') AS y FROM '{path}' ORDER BY id");
    let arguments = [
        "sql",
        &query,
        "-o",
        output.to_str().unwrap(),
        "--cluster",
        &cluster.url,
        "--json",
    ];
    let summary_text = command(folder.path(), &arguments);
    assert!(summary_text.contains("\"rows\":400"), "{summary_text}");
    assert_eq!(
        checksum(&read(&output)),
        checksum(&run(&local_engine, &query).await.unwrap())
    );

    assert!(cluster.stop(), "a process did not end by SIGTERM");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_scheduler_is_an_error() {
    let folder = TempDir::new().unwrap();
    let (path, ..) = table(folder.path());
    let query = format!("SELECT count(*) FROM '{path}'");
    let outcome = Run::start(
        folder.path(),
        &["sql", &query, "--cluster", "df://127.0.0.1:1"],
    )
    .end(Duration::from_secs(60));
    assert_eq!(outcome.code, 1);
    assert!(outcome.errors.contains("error: "), "{}", outcome.errors);
    let outcome = Run::start(folder.path(), &["sql", &query, "--cluster", "127.0.0.1:1"])
        .end(Duration::from_secs(60));
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.errors.contains("write it as df://host:50050"),
        "{}",
        outcome.errors
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_fails_after_waiting_for_executors() {
    let folder = TempDir::new().unwrap();
    table(folder.path());
    let cluster = Cluster::with_executors("none", 0, 5, None, &[]);
    let query = "SELECT id, image FROM 'images/' WHERE id % 2 = 0";
    let arguments = ["sql", query, "--cluster", &cluster.url, "--wait", "2"];
    let outcome = Run::start(folder.path(), &arguments).end(Duration::from_secs(30));
    assert_eq!(outcome.code, 1);
    assert!(
        outcome
            .errors
            .contains("has no executor, for 2 s: start executors"),
        "{}",
        outcome.errors
    );
}

/// The file name has dots and an upper case letter, and no folder. A query could not be sent to a scheduler if its
/// table had such a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_names_can_have_dots() {
    let folder = TempDir::new().unwrap();
    let column = tensors(Arc::new(Int64Array::from_iter_values(0..8)), &[2], 4, &[]);
    write(
        &folder.path().join("A.b-1.parquet"),
        &batch(&[("x", column)]),
    );
    let cluster = Cluster::with_executors("names", 1, 5, None, &[]);
    let query = "WITH u AS (SELECT * FROM 'A.b-1.parquet') SELECT gather(t.x, 1) AS y FROM u AS t \
                 JOIN 'A.b-1.parquet' AS v ON t.id = v.id ORDER BY t.id";
    for more_arguments in [&[][..], &["--cluster", &cluster.url][..]] {
        let output = command(
            folder.path(),
            &[&["sql", query, "--json"], more_arguments].concat(),
        );
        assert_eq!(output, "{\"y\":1}\n{\"y\":3}\n{\"y\":5}\n{\"y\":7}\n");
    }
    let query = "SELECT gather(x, '[5]') AS y FROM 'A.b-1.parquet'";
    let arguments = ["sql", query, "--json", "--cluster", &cluster.url];
    let outcome = Run::start(folder.path(), &arguments).end(Duration::from_secs(30));
    assert_eq!(outcome.code, 1);
    assert!(
        outcome
            .errors
            .starts_with("error: gather: in every row, the indices at [0] are [5]"),
        "{}",
        outcome.errors
    );
}
