//! The command `sql` without a cluster.

use crate::{
    functions::write_extension,
    tables::{batch, elements, read, shape, tensors, write},
};
#[cfg(target_os = "linux")]
use crate::{random::Random, wait::until};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, Float32Array, Int64Array, RecordBatch, UInt8Array},
        datatypes::{Float32Type, Int64Type, UInt8Type},
    },
    parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
};
use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::Arc,
};
#[cfg(target_os = "linux")]
use std::{
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Writes a table `t.parquet` of 30 rows. Its column `image` has shape [4, 3] and is null in the third row; its column
/// `v` has vectors. Returns the elements of all images.
fn table(folder: &Path) -> Vec<u8> {
    let images: Vec<u8> = (0..30 * 12).map(|i| (i % 251) as u8).collect();
    let columns: [(&str, ArrayRef); 2] = [
        (
            "image",
            tensors(
                Arc::new(UInt8Array::from(images.clone())),
                &[4, 3],
                30,
                &[2],
            ),
        ),
        (
            "v",
            tensors(
                Arc::new(Float32Array::from_iter_values(
                    (0..60).map(|i| i as f32 / 2.0),
                )),
                &[2],
                30,
                &[],
            ),
        ),
    ];
    write(&folder.join("t.parquet"), &batch(&columns));
    images
}

fn sql(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
    command
        .current_dir(folder)
        .arg("sql")
        .args(arguments)
        .env("COLUMNS", "80");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_result_is_written_whole_and_can_be_read_again() {
    let folder = TempDir::new().unwrap();
    let images = table(folder.path());
    let query = "SELECT id, strided_slice(image, '::-1, 1') AS y FROM 't.parquet' ORDER BY id";
    let output = sql(
        folder.path(),
        &[query, "-o", "out.parquet", "--json", "--memory", "100M"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["rows"], 30);
    assert_eq!(
        summary["bytes"],
        fs::metadata(folder.path().join("out.parquet"))
            .unwrap()
            .len()
    );
    let result = read(&folder.path().join("out.parquet"));
    let column = result.column(1);
    assert_eq!(shape(column.data_type()), [4]);
    assert!(column.is_null(2) && column.null_count() == 1);
    let found = elements::<UInt8Type>(column);
    for row in (0..30).filter(|&row| row != 2) {
        let image = &images[row * 12..][..12];
        assert_eq!(
            found[row * 4..][..4],
            [image[10], image[7], image[4], image[1]],
            "row {row}"
        );
    }
    // A written result can be queried like any other table, even as arrow.fixed_shape_tensor.
    let query =
        "SELECT tensor_to_arrow(tensor_reshape(y, '2, 2')) AS z FROM 'out.parquet' ORDER BY id";
    assert!(
        sql(folder.path(), &[query, "-o", "arrow.parquet"])
            .status
            .success()
    );
    let query = "SELECT strided_slice(z, '1, 0') AS w FROM 'arrow.parquet'";
    let output = sql(folder.path(), &[query, "--json"]);
    let lines = text(&output.stdout);
    let first_row: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first_row["w"], images[4], "{lines}");
    assert_eq!(lines.lines().count(), 30);
    assert_eq!(
        file_names(folder.path()),
        ["arrow.parquet", "out.parquet", "t.parquet"]
    );
}

#[test]
fn the_help_and_the_readme_list_every_function() {
    let output = sql(Path::new("."), &["--help"]);
    let help = text(&output.stdout);
    let listed: Vec<_> = help
        .split(|it: char| it != '_' && !it.is_alphanumeric())
        .collect();
    let readme = include_str!("../README.md");
    let functions = wgslice_scale::functions::all();
    let names = functions.iter().map(|function| function.name());
    for name in names.filter(|name| *name != "zarr_shard") {
        assert!(listed.contains(&name), "{name}: {help}");
        assert!(readme.contains(&format!("`{name}(")), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn an_output_can_have_any_name() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = TempDir::new().unwrap();
    let name = OsStr::from_bytes(b"x-\xff.parquet");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
    command.current_dir(&folder).args(["sql", "SELECT 1 AS x"]);
    let output = command.args(["--json", "-o"]).arg(name).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["output"], "x-\u{fffd}.parquet");
    assert_eq!(read(&folder.path().join(name)).num_rows(), 1);
}

/// The partitions of a result are written in parallel, each to its own row groups. The rows are the same as with one
/// partition.
#[test]
fn partitions_are_written_in_parallel() {
    let folder = TempDir::new().unwrap();
    let parts = folder.path().join("parts");
    fs::create_dir(&parts).unwrap();
    let rows_per_file = 250;
    for file_number in 0..4 {
        let values = (0..rows_per_file * 6).map(|i| (file_number * 10_000 + i) as f32);
        let numbers = (0..rows_per_file).map(|row| (file_number * rows_per_file + row) as i64);
        let columns: [(&str, ArrayRef); 2] = [
            (
                "v",
                tensors(
                    Arc::new(Float32Array::from_iter_values(values)),
                    &[6],
                    rows_per_file,
                    &[file_number],
                ),
            ),
            ("n", Arc::new(Int64Array::from_iter_values(numbers))),
        ];
        write(
            &parts.join(format!("{file_number}.parquet")),
            &batch(&columns),
        );
    }
    let write_result = |query: &str, options: &[&str]| {
        let out = folder.path().join("out.parquet");
        let output = sql(
            folder.path(),
            &[&[query, "-o", "out.parquet", "--json"], options].concat(),
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = read(&out);
        assert_eq!(summary["rows"], result.num_rows());
        assert_eq!(summary["bytes"], fs::metadata(&out).unwrap().len());
        let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&out).unwrap());
        let group_count = reader.unwrap().metadata().num_row_groups();
        (group_count, result)
    };
    // Returns the number of each row, and its vector unless it is null.
    let rows_of = |result: &RecordBatch| {
        let (numbers, column) = (elements::<Int64Type>(result.column(0)), result.column(1));
        let vectors = elements::<Float32Type>(column);
        let elements_per_row = vectors.len() / numbers.len();
        let vector = |row: usize| {
            column
                .is_valid(row)
                .then(|| vectors[row * elements_per_row..][..elements_per_row].to_vec())
        };
        let rows = numbers.iter().enumerate();
        rows.map(|(at, &number)| (number, vector(at)))
            .collect::<Vec<_>>()
    };
    let query = "SELECT n, strided_slice(v, '::-2') AS y FROM 'parts/'";
    let (group_count, one_partition) = write_result(query, &["--partitions", "1"]);
    assert_eq!(group_count, 1);
    let mut expected = rows_of(&one_partition);
    expected.sort_by_key(|row| row.0);
    let numbers: Vec<_> = expected.iter().map(|row| row.0).collect();
    assert_eq!(numbers, (0..4 * rows_per_file as i64).collect::<Vec<_>>());
    assert_eq!(expected[7].1, Some(vec![47.0, 45.0, 43.0]));
    for options in [
        &["--partitions", "4"][..],
        &["--partitions", "4", "--memory", "100M"],
    ] {
        // A partition that starts early can take the files of another partition, which then has no row group.
        let mut results = (0..20).map(|_| write_result(query, options));
        let (group_count, four_partitions) = results
            .find(|(group_count, _)| *group_count > 1)
            .expect("several row groups");
        assert!(group_count <= 4, "{group_count} {options:?}");
        let mut rows = rows_of(&four_partitions);
        rows.sort_by_key(|row| row.0);
        assert_eq!(rows, expected, "{options:?}");
    }
    // An order is kept, even in many row groups.
    let (_, ordered) = write_result(&format!("{query} ORDER BY n DESC"), &["--partitions", "4"]);
    expected.reverse();
    assert_eq!(rows_of(&ordered), expected);
    let (group_count, empty_result) =
        write_result(&format!("{query} WHERE n < 0"), &["--partitions", "4"]);
    assert_eq!((group_count, empty_result.num_rows()), (0, 0));
}

/// If a query is killed, its output is either complete or unchanged, and no other file is left.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_query_leaves_a_complete_or_unchanged_output() {
    let folder = TempDir::new().unwrap();
    let row_count = 400;
    let mut random = Random::new(3);
    let noise = (0..row_count * 4096).map(|_| (random.next() >> 30) as u8);
    let column = tensors(
        Arc::new(UInt8Array::from_iter_values(noise)),
        &[4096],
        row_count,
        &[],
    );
    write(&folder.path().join("t.parquet"), &batch(&[("x", column)]));
    let start = |query: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
        command.current_dir(&folder).args(["sql", query]);
        command.args(["-o", "out.parquet", "--memory", "16M", "--threads", "2"]);
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    // Returns the path of the file that a process is writing to the folder, if the file has more than 1 MiB.
    let output_path = |id: u32| {
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).ok()?;
        descriptors.flatten().find_map(|descriptor| {
            let path = fs::read_link(descriptor.path()).ok()?;
            let is_input = path.ends_with("t.parquet");
            let is_begun = fs::metadata(descriptor.path()).is_ok_and(|file| file.len() > 1 << 20);
            let is_in_folder = path.starts_with(folder.path().canonicalize().unwrap());
            (is_in_folder && is_begun && !is_input).then_some(path)
        })
    };
    // The process is killed in the middle of a result of 650 MB.
    let query = "SELECT a.id, strided_slice(b.x, '::-1') AS y FROM 't.parquet' AS a CROSS JOIN 't.parquet' AS b";
    let out = folder.path().join("out.parquet");
    for old_text in [None, Some("before")] {
        if let Some(text) = old_text {
            fs::write(&out, text).unwrap();
        }
        let mut running = start(query);
        let mut path = None;
        until(Duration::from_secs(120), "the output is begun", || {
            path = output_path(running.id());
            path.is_some()
        });
        assert!(running.try_wait().unwrap().is_none());
        running.kill().unwrap();
        running.wait().unwrap();
        assert_eq!(fs::read_to_string(&out).ok().as_deref(), old_text);
        let mut expected = vec!["t.parquet"];
        expected.extend(old_text.map(|_| "out.parquet"));
        expected.sort_unstable();
        let left_files = file_names(folder.path());
        // The file has no name yet. This needs a file system with unnamed files, such as ext4, XFS, Btrfs and tmpfs.
        let path = path.unwrap();
        assert!(
            path.to_string_lossy().ends_with(" (deleted)"),
            "{}",
            path.display()
        );
        assert_eq!(left_files, expected);
    }
    // The process is killed at 16 times from the start of the query until after its end.
    let query = "SELECT id, strided_slice(x, '::-1') AS y FROM 't.parquet'";
    fs::remove_file(&out).unwrap();
    let start_time = Instant::now();
    assert!(start(query).wait().unwrap().success());
    let query_time = start_time.elapsed();
    assert_eq!(file_names(folder.path()), ["out.parquet", "t.parquet"]);
    let mut complete_count = 0;
    for delay_eighths in 0..16 {
        fs::remove_file(&out).ok();
        let mut running = start(query);
        thread::sleep(query_time * delay_eighths / 8);
        running.kill().unwrap();
        running.wait().unwrap();
        if out.exists() {
            assert_eq!(read(&out).num_rows(), row_count);
            complete_count += 1;
        }
        let left_files = file_names(folder.path());
        let left_files = left_files.iter().filter(|name| **name != "out.parquet");
        assert_eq!(left_files.collect::<Vec<_>>(), ["t.parquet"]);
    }
    println!("{complete_count} of 16 queries were complete before they were killed");
}

/// Returns the sorted names of the files in a folder.
fn file_names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_query_that_fails_leaves_its_output_unchanged() {
    let folder = TempDir::new().unwrap();
    table(folder.path());
    fs::write(folder.path().join("out.parquet"), "before").unwrap();
    let query = "SELECT gather(v, id) FROM 't.parquet'";
    let output = sql(folder.path(), &[query, "-o", "out.parquet"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert!(
        errors.starts_with("error: ") && errors.contains("in row 2 of /"),
        "{errors}"
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("out.parquet")).unwrap(),
        "before"
    );
    assert_eq!(file_names(folder.path()), ["out.parquet", "t.parquet"]);
}

#[test]
fn an_index_out_of_range_is_found_in_its_file() {
    let folder = TempDir::new().unwrap();
    let parts = folder.path().join("parts");
    fs::create_dir(&parts).unwrap();
    for (file, wrong_row) in [("a.parquet", None), ("b.parquet", Some(237))] {
        let values = Arc::new(Float32Array::from(vec![0.5; 600]));
        let indices = (0..300).map(|row| if Some(row) == wrong_row { 7 } else { 1 });
        let columns: [(&str, ArrayRef); 2] = [
            ("v", tensors(values, &[2], 300, &[])),
            ("i", Arc::new(Int64Array::from_iter_values(indices))),
        ];
        write(&parts.join(file), &batch(&columns));
    }
    let row_of_file = format!(
        "in row 237 of {}/b.parquet, ",
        parts.canonicalize().unwrap().display()
    );
    for (query, expected) in [
        ("SELECT gather(v, i) FROM 'parts/'", &row_of_file[..]),
        (
            "SELECT gather(v, i) AS y FROM 'parts/' WHERE id > 100 ORDER BY id",
            &row_of_file,
        ),
        (
            "SELECT id FROM 'parts/' WHERE gather(strided_slice(v, '::-1'), i) > 0",
            &row_of_file,
        ),
        (
            "SELECT max(gather(v, i, 'negative=wrap')) FROM 'parts/'",
            &row_of_file,
        ),
        (
            "SELECT gather_nd(v, tensor_reshape(i, '1')) FROM (SELECT * FROM 'parts/') AS t",
            &row_of_file,
        ),
        // The query itself names the row.
        (
            "SELECT gather(v, i, '', id * 10) FROM 'parts/'",
            "in row 2370, ",
        ),
        // These rows do not come from a file.
        (
            "SELECT gather(first, i) FROM (SELECT i, first_value(v) AS first FROM 'parts/' GROUP BY i) AS t",
            " of the batch, ",
        ),
    ] {
        let output = sql(folder.path(), &[query, "-o", "out.parquet"]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{query}: {errors}");
        assert!(errors.contains(expected), "{query}: {errors}");
        assert!(
            errors.contains("are [7], which is out of range of [2]"),
            "{query}: {errors}"
        );
    }
}

#[test]
fn a_mask_above_the_capacity_is_found_in_its_file() {
    let folder = TempDir::new().unwrap();
    let masks = (0..100 * 3).map(|i| u8::from(i % 3 < 2 || i / 3 == 41));
    let column = tensors(
        Arc::new(UInt8Array::from_iter_values(masks)),
        &[3],
        100,
        &[],
    );
    write(&folder.path().join("t.parquet"), &batch(&[("m", column)]));
    let path = folder.path().canonicalize().unwrap().join("t.parquet");
    for call in [
        "boolean_mask('[1, 2, 3]', m, '2')",
        "nonzero(m, '2', 'surplus=error')",
    ] {
        let query = format!("SELECT id, {call} AS y FROM 't.parquet' WHERE id > 20");
        let output = sql(folder.path(), &[&query, "-o", "out.parquet"]);
        let errors = text(&output.stderr);
        let expected = format!(
            ": in row 41 of {}, the mask has 3 true elements, which is above the capacity 2 (1 of ",
            path.display()
        );
        assert_eq!(output.status.code(), Some(1), "{query}: {errors}");
        assert!(errors.contains(&expected), "{query}: {errors}");
    }
    assert_eq!(file_names(folder.path()), ["t.parquet"]);
}

#[test]
fn wrong_usage_has_its_own_exit_code_and_a_helpful_error() {
    let folder = TempDir::new().unwrap();
    table(folder.path());
    for (query, options, expected) in [
        (
            "SELECT 1 FROM 'no.parquet'",
            &[][..],
            "no.parquet is no table",
        ),
        ("SELECT 1 FROM t", &[], "t is no table"),
        ("SELEC 1", &[], "SELEC"),
        ("DROP TABLE x", &[], "DDL"),
        ("COPY (SELECT 1) TO 'x.parquet'", &[], "DML"),
        ("SET datafusion.execution.batch_size = 1", &[], "Statement"),
        (
            "SELECT strided_slice(id) FROM 't.parquet'",
            &[],
            "call it as",
        ),
        (
            "SELECT 1 AS x",
            &["-o", "no/such/folder.parquet"],
            "cannot write no/such/folder.parquet",
        ),
        ("SELECT 1 AS x", &["-o", "."], "cannot write ."),
        ("SELECT 1", &["--memory", "much"], "is no number of bytes"),
        ("SELECT 1", &["--memory", "0"], "is no number of bytes"),
        (
            "SELECT 1",
            &["--threads", "0"],
            "is no number from 1 to 4096",
        ),
        (
            "SELECT 1",
            &["--threads", "9999999999999999"],
            "is no number from 1 to 4096",
        ),
        (
            "SELECT 1",
            &["--partitions", "65537"],
            "is no number from 1 to 65536",
        ),
        ("SELECT 1", &["--wait", "0"], "--wait"),
        ("SELECT 1", &["--memory", "9EiB"], "is no number of bytes"),
    ] {
        let output = sql(folder.path(), &[&[query], options].concat());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{query}: {errors}");
        assert!(
            errors.contains("error: ") && errors.contains(expected),
            "{query}: {errors}"
        );
    }
    assert_eq!(file_names(folder.path()), ["t.parquet"]);
}

/// It is not an error if the reader of the output stops, as `head` does, but it is an error if the output's device is
/// full. A full standard error does not change the exit code.
#[cfg(target_os = "linux")]
#[test]
fn a_full_output_is_an_error_and_an_unread_one_is_not() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str], stdout: Stdio, stderr: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
        command.current_dir(&folder).args(arguments);
        command.stdout(stdout).stderr(stderr).output().unwrap()
    };
    let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    table(folder.path());
    let query = "SELECT id FROM 't.parquet'";
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(&["sql", query, "--json"], writer.into(), Stdio::piped());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = run(&["sql", query, "--json"], full(), Stdio::piped());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let output = run(&["sql", "SELEC 1"], Stdio::piped(), full());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_terminal_gets_the_first_rows_in_its_width() {
    let folder = TempDir::new().unwrap();
    table(folder.path());
    let output = sql(
        folder.path(),
        &["SELECT id, image, image AS again, v FROM 't.parquet' ORDER BY id"],
    );
    let table = text(&output.stdout);
    assert!(table.contains("uint8[4, 3] 0 1"), "{table}");
    // Elements are in the order of the dimensions, not in the stored order.
    let parameters = r#"{"shape":[2,3],"permutation":[1,0]}"#;
    write_extension(&folder.path().join("e.parquet"), 1, &[2, 3], parameters);
    let output = sql(folder.path(), &["SELECT x FROM 'e.parquet'"]);
    let permuted_table = text(&output.stdout);
    let expected = "float32[3, 2] 0.0 3.0 1.0 4.0 2.0 5.0";
    assert!(permuted_table.contains(expected), "{permuted_table}");
    assert!(table.contains("float32[2] 0.0 0.5"), "{table}");
    assert!(
        table.contains("and more rows: -o OUT.parquet writes all"),
        "{table}"
    );
    // The table has 20 rows, the header, three rules and the last line.
    assert_eq!(table.lines().count(), 25, "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
}

/// A query with `--memory 200M` on a table of 400 MiB uses less than 400 MiB of memory.
#[test]
fn the_memory_of_a_query_does_not_grow_with_its_table() {
    let folder = TempDir::new().unwrap();
    // There are four files, each with 100 images of 1 MiB.
    let image_bytes = 1 << 20;
    let image: Vec<u8> = (0..image_bytes).map(|i| (i % 253) as u8).collect();
    let rows_per_file = 100;
    let values = UInt8Array::from(image.repeat(rows_per_file));
    let column = tensors(Arc::new(values), &[1024, 1024], rows_per_file, &[]);
    let all = batch(&[("image", column)]);
    for file_number in 0..4 {
        let path = folder.path().join(format!("{file_number}.parquet"));
        let properties = datafusion::parquet::file::properties::WriterProperties::builder()
            .set_max_row_group_row_count(Some(10));
        let file = fs::File::create(path).unwrap();
        let writer = datafusion::parquet::arrow::ArrowWriter::try_new(
            file,
            all.schema(),
            Some(properties.build()),
        );
        let mut writer = writer.unwrap();
        writer.write(&all).unwrap();
        writer.close().unwrap();
    }
    let query = format!(
        "SELECT id, strided_slice(image, '::2, ::-2') AS y FROM '{}/'",
        folder.path().display()
    );
    let out = folder.path().join("out");
    let script = format!(
        "exec {} sql \"{query}\" -o {} --memory 200M --threads 2 & wait_for=$!; peak=0; \
         while kill -0 $wait_for 2>/dev/null; do \
           now=$(awk '/VmHWM/ {{ print $2 }}' /proc/$wait_for/status 2>/dev/null); peak=${{now:-$peak}}; sleep 0.02; \
         done; wait $wait_for && echo $peak",
        env!("CARGO_BIN_EXE_wgslice-scale"),
        out.display()
    );
    let output = Command::new("bash").arg("-c").arg(script).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let peak_kibibytes: u64 = text(&output.stdout).trim().parse().unwrap();
    println!("peak resident memory: {} MiB", peak_kibibytes >> 10);
    assert!(peak_kibibytes << 10 < 400 << 20, "{peak_kibibytes} KiB");
    assert_eq!(read(&out).num_rows(), 400);
}
