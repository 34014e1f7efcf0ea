//! Compares functions that run in this process with the library's naive reference, row by row.

use crate::{
    random::{Random, Slice},
    tables::{batch, elements, run, shape, tensors, write},
};
use datafusion::arrow::{
    array::{
        Array, ArrayRef, Float32Array, Int16Array, Int32Array, Int64Array, RecordBatch, UInt8Array,
    },
    buffer::Buffer,
    datatypes::{DataType, Field, Float32Type, Int64Type, Schema, UInt8Type},
};
use std::{collections::HashMap, path::Path, sync::Arc};
use tempfile::TempDir;
use wgslice_scale::engine::Engine;
use wgslice_vectors::reference::{self, Boxes, Indexing};

const ROWS: usize = 150;

/// Makes bytes. Neighbouring bytes differ, and so do neighbouring rows.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// A table with these columns: `id`, the row number; `image`, bytes of shape [5, 4, 3]; `wide`, floats of shape [6],
/// null in row 3; `ids`, three indices from 0 to 4; `some`, the same indices, but null in the rows `NULLS`; `pairs`,
/// two index tuples into the first two dimensions of `image`.
struct Fixture {
    folder: TempDir,
    engine: Engine,
    image: Vec<u8>,
    wide: Vec<f32>,
    ids: Vec<i64>,
    pairs: Vec<i64>,
}

const IMAGE: [usize; 3] = [5, 4, 3];
const NULLS: [usize; 3] = [0, 77, ROWS - 1];

impl Fixture {
    fn new() -> Self {
        let mut random = Random::new(1);
        let image = bytes(ROWS * 60);
        let wide: Vec<f32> = (0..ROWS * 6).map(|i| i as f32 / 8.0).collect();
        let ids: Vec<i64> = (0..ROWS * 3).map(|_| random.within(0, 4)).collect();
        let pairs: Vec<i64> = (0..ROWS * 4)
            .map(|i| random.within(0, if i % 2 == 0 { 4 } else { 3 }))
            .collect();
        // A null row has an index out of range, which must not matter.
        let mut stored_ids = ids.clone();
        stored_ids[NULLS[1] * 3] = 99;
        let folder = TempDir::new().unwrap();
        let columns: [(&str, ArrayRef); 5] = [
            (
                "image",
                tensors(Arc::new(UInt8Array::from(image.clone())), &IMAGE, ROWS, &[]),
            ),
            (
                "wide",
                tensors(Arc::new(Float32Array::from(wide.clone())), &[6], ROWS, &[3]),
            ),
            (
                "ids",
                tensors(Arc::new(Int64Array::from(ids.clone())), &[3], ROWS, &[]),
            ),
            (
                "some",
                tensors(Arc::new(Int64Array::from(stored_ids)), &[3], ROWS, &NULLS),
            ),
            (
                "pairs",
                tensors(
                    Arc::new(Int32Array::from_iter_values(
                        pairs.iter().map(|&i| i as i32),
                    )),
                    &[2, 2],
                    ROWS,
                    &[],
                ),
            ),
        ];
        write(&folder.path().join("t.parquet"), &batch(&columns));
        let engine = Engine::embedded(2).unwrap();
        Self {
            folder,
            engine,
            image,
            wide,
            ids,
            pairs,
        }
    }

    /// Selects an expression from the table, in the order of the table's rows.
    async fn select(&self, expression: &str) -> Result<RecordBatch, String> {
        let path = self.folder.path().join("t.parquet");
        run(
            &self.engine,
            &format!(
                "SELECT {expression} AS y FROM '{}' ORDER BY id",
                path.display()
            ),
        )
        .await
    }

    fn image(&self, row: usize) -> &[u8] {
        &self.image[row * 60..][..60]
    }
}

#[tokio::test]
async fn random_slices_match_the_reference() {
    let fixture = Fixture::new();
    let mut random = Random::new(2);
    let (mut nonempty_count, mut empty_count) = (0, 0);
    while nonempty_count < 60 {
        let slice = Slice::of(&mut random, &IMAGE);
        let expected: Vec<_> = (0..ROWS)
            .map(|row| slice.naive(fixture.image(row), &IMAGE))
            .collect();
        let call = format!("strided_slice(image, '{}')", slice.text);
        let result = fixture.select(&call).await;
        if expected[0].1.is_empty() {
            let error = result.unwrap_err();
            assert!(error.contains("which is empty"), "{slice:?}: {error}");
            empty_count += 1;
            continue;
        }
        nonempty_count += 1;
        let result = result.unwrap();
        let column = result.column(0);
        assert_eq!(shape(column.data_type()), expected[0].0, "{slice:?}");
        let expected: Vec<u8> = expected
            .into_iter()
            .flat_map(|(_, values)| values)
            .collect();
        assert_eq!(elements::<UInt8Type>(column), expected, "{slice:?}");
        assert_eq!((column.len(), column.null_count()), (ROWS, 0));
    }
    assert!(empty_count > 5);
}

#[tokio::test]
async fn gathers_match_the_reference() {
    let fixture = Fixture::new();
    for (axis, batch_dims, literal) in [
        (0, 0, None),
        (1, 0, Some([3, 0, 1])),
        (-1, 0, Some([2, 2, 0])),
    ] {
        let indices = literal.map_or("ids".into(), |literal| format!("'{literal:?}'"));
        let call = format!("gather(image, {indices}, 'axis={axis}, batch_dims={batch_dims}')");
        let result = fixture.select(&call).await.unwrap();
        let mut expected = Vec::new();
        let mut expected_shape = Vec::new();
        for row in 0..ROWS {
            let row_ids = &fixture.ids[row * 3..][..3];
            let indices = literal.as_ref().map_or(row_ids, |literal| &literal[..]);
            let gathered = reference::gather(
                fixture.image(row),
                &IMAGE,
                indices,
                &[3],
                axis,
                batch_dims,
                Indexing::default(),
            );
            let gathered = gathered.unwrap();
            expected.extend(gathered.values);
            expected_shape = gathered.shape;
        }
        assert_eq!(
            shape(result.column(0).data_type()),
            expected_shape,
            "{call}"
        );
        assert_eq!(elements::<UInt8Type>(result.column(0)), expected, "{call}");
    }
    let result = fixture.select("gather_nd(image, pairs)").await.unwrap();
    let expected: Vec<u8> = (0..ROWS)
        .flat_map(|row| {
            let pairs = &fixture.pairs[row * 4..][..4];
            let gathered = reference::gather_nd(
                fixture.image(row),
                &IMAGE,
                pairs,
                &[2, 2],
                0,
                Indexing::default(),
            );
            gathered.unwrap().values
        })
        .collect();
    assert_eq!(shape(result.column(0).data_type()), [2, 3]);
    assert_eq!(elements::<UInt8Type>(result.column(0)), expected);

    // A literal gives the params of all rows.
    let result = fixture
        .select("gather('[10, 20, 30, 40, 50]', ids)")
        .await
        .unwrap();
    let expected: Vec<i64> = fixture.ids.iter().map(|id| (id + 1) * 10).collect();
    assert_eq!(elements::<Int64Type>(result.column(0)), expected);
    // Indices of rank 0 remove the dimension.
    let result = fixture.select("gather(wide, id % 6)").await.unwrap();
    let column = result.column(0);
    assert_eq!(*column.data_type(), DataType::Float32);
    let expected: Vec<f32> = (0..ROWS)
        .map(|row| fixture.wide[row * 6 + row % 6])
        .collect();
    let results = elements::<Float32Type>(column);
    assert!((0..ROWS).all(|row| if row == 3 {
        column.is_null(3)
    } else {
        results[row] == expected[row]
    }));
}

#[tokio::test]
async fn crops_match_the_reference() {
    let fixture = Fixture::new();
    for (begins, strides, count) in [
        ("'[1, 2]'", [1, 1], 1),
        ("pairs", [1, 1], 2),
        ("pairs", [2, -1], 2),
        ("'[[4, 3], [-1, 0]]'", [1, 1], 2),
    ] {
        let call =
            format!("crop(image, {begins}, '2, 3', 'strides={strides:?}, out_of_range=zero')");
        let result = fixture.select(&call).await.unwrap();
        let expected: Vec<u8> = (0..ROWS)
            .flat_map(|row| {
                let row_pairs = &fixture.pairs[row * 4..][..4];
                let begins = match begins {
                    "pairs" => row_pairs.to_vec(),
                    "'[1, 2]'" => vec![1, 2],
                    _ => vec![4, 3, -1, 0],
                };
                let boxes = Boxes {
                    begins: &begins,
                    box_indices: Some(&vec![0; count]),
                    flips: None,
                    count,
                    sizes: &[2, 3],
                    strides: &strides,
                    clamp: false,
                    circular: false,
                };
                reference::crop(fixture.image(row), &[1, 5, 4, 3], boxes)
                    .unwrap()
                    .values
            })
            .collect();
        let expected_shape: &[usize] = if begins == "'[1, 2]'" {
            &[2, 3, 3]
        } else {
            &[2, 2, 3, 3]
        };
        assert_eq!(
            shape(result.column(0).data_type()),
            expected_shape,
            "{call}"
        );
        assert_eq!(elements::<UInt8Type>(result.column(0)), expected, "{call}");
    }
}

#[tokio::test]
async fn scatters_match_the_reference() {
    let fixture = Fixture::new();
    // The updates of each row are slices of its image.
    let call = "scatter_nd(pairs, strided_slice(image, ':2, 1'), '5, 4, 3', 'combine=add')";
    let result = fixture.select(call).await.unwrap();
    let expected: Vec<u8> = (0..ROWS)
        .flat_map(|row| {
            let image = fixture.image(row);
            let updates = [&image[3..6], &image[15..18]].concat();
            let pairs = &fixture.pairs[row * 4..][..4];
            let add = |old: &mut u8, new: &u8| *old = old.wrapping_add(*new);
            let scattered = reference::scatter_nd(
                pairs,
                &[2, 2],
                &updates,
                &[2, 3],
                &IMAGE,
                Indexing::default(),
                add,
            );
            scattered.unwrap().values
        })
        .collect();
    assert_eq!(shape(result.column(0).data_type()), IMAGE);
    assert_eq!(elements::<UInt8Type>(result.column(0)), expected);
}

#[tokio::test]
async fn a_null_row_gives_a_null_row_whatever_it_holds() {
    let fixture = Fixture::new();
    let result = fixture.select("gather(image, some)").await.unwrap();
    let column = result.column(0);
    let nulls: Vec<_> = (0..ROWS).filter(|&row| column.is_null(row)).collect();
    assert_eq!(nulls, NULLS);
    let results = elements::<UInt8Type>(column);
    let elements_per_row = results.len() / ROWS;
    for row in (0..ROWS).filter(|row| !NULLS.contains(row)) {
        let ids = &fixture.ids[row * 3..][..3];
        let gathered = reference::gather(
            fixture.image(row),
            &IMAGE,
            ids,
            &[3],
            0,
            0,
            Indexing::default(),
        );
        assert_eq!(
            results[row * elements_per_row..][..elements_per_row],
            gathered.unwrap().values,
            "row {row}"
        );
    }
    for call in [
        "strided_slice(some, '::-1')",
        "tensor_shape(some)",
        "tensor_reshape(some, '3, 1')",
    ] {
        let result = fixture.select(call).await.unwrap();
        let column = result.column(0);
        assert!(
            (0..ROWS).all(|row| column.is_null(row) == NULLS.contains(&row)),
            "{call}"
        );
    }
}

/// The table is in memory, because Parquet does not store the elements of null rows.
#[tokio::test]
async fn elements_of_null_rows_are_ignored() {
    let columns: [(&str, ArrayRef); 2] = [
        (
            "x",
            tensors(Arc::new(Int16Array::from_iter_values(0..20)), &[5], 4, &[3]),
        ),
        (
            "i",
            tensors(
                Arc::new(Int64Array::from(vec![1, 99, 2, 99])),
                &[1],
                4,
                &[1],
            ),
        ),
    ];
    let engine = Engine::embedded(1).unwrap();
    engine
        .context()
        .register_batch("m", batch(&columns))
        .unwrap();
    let result = run(&engine, "SELECT gather(x, i) FROM m").await.unwrap();
    let column = result.column(0);
    let valid: Vec<_> = (0..4).map(|row| column.is_valid(row)).collect();
    assert_eq!(valid, [true, false, true, false]);
    let results = elements::<datafusion::arrow::datatypes::Int16Type>(column);
    assert_eq!((results[0], results[2]), (1, 12));
}

#[tokio::test]
async fn an_index_out_of_range_is_an_error_with_its_row_and_its_tuple() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let mut ids = vec![0; 30];
    ids[7 * 3 + 2] = 5;
    let columns: [(&str, ArrayRef); 2] = [
        (
            "x",
            tensors(
                Arc::new(Int16Array::from_iter_values(0..50)),
                &[5],
                10,
                &[4],
            ),
        ),
        (
            "ids",
            tensors(Arc::new(Int64Array::from(ids)), &[3], 10, &[]),
        ),
    ];
    write(&path, &batch(&columns));
    let engine = Engine::embedded(1).unwrap();
    let query = |call: &str| format!("SELECT {call} FROM '{}'", path.display());
    for (call, tuple, place, indexed_shape) in [
        ("gather(x, ids)", "[5]", "[2]", "[5]"),
        (
            "gather_nd(x, tensor_reshape(ids, '3, 1'))",
            "[5]",
            "[2]",
            "[5]",
        ),
        (
            "gather_nd(tensor_reshape(x, '5, 1'), tensor_reshape(ids, '1, 3, 1'), 'negative=wrap')",
            "[5]",
            "[0, 2]",
            "[5, 1]",
        ),
        (
            "crop(x, tensor_reshape(ids, '3, 1'), '1')",
            "[5]",
            "[2]",
            "[5]",
        ),
        (
            "scatter_nd(tensor_reshape(ids, '3, 1'), strided_slice(x, ':3'), '5')",
            "[5]",
            "[2]",
            "[5]",
        ),
    ] {
        let error = run(&engine, &query(call)).await.unwrap_err();
        let expected = format!(
            "in row 7 of the batch, the indices at {place} are {tuple}, which is out of range of {indexed_shape} "
        );
        assert!(error.contains(&expected), "{call}: {error}");
    }
    // The last argument names the row.
    for (call, row) in [
        ("gather(x, ids, '', id * 2)", "14"),
        ("gather(x, ids, '', concat('number ', id))", "number 7"),
        ("gather_nd(x, tensor_reshape(ids, '3, 1'), '', id)", "7"),
        ("crop(x, tensor_reshape(ids, '3, 1'), '1', '', id)", "7"),
        (
            "scatter_nd(tensor_reshape(ids, '3, 1'), strided_slice(x, ':3'), '5', '', -id)",
            "-7",
        ),
        // A null row name becomes an empty text.
        ("gather(x, ids, '', nullif(id, 7))", ""),
    ] {
        let error = run(&engine, &query(call)).await.unwrap_err();
        let expected = format!("in row {row}, the indices at [2] are [5], ");
        assert!(error.contains(&expected), "{call}: {error}");
    }
    let error = run(&engine, &query("strided_slice(x, ':', id)")).await;
    assert!(error.unwrap_err().contains("strided_slice has 3 arguments"));
    let error = run(&engine, &query("gather(x, '[0, 9]')"))
        .await
        .unwrap_err();
    assert!(
        error.contains("in every row, the indices at [1] are [9]"),
        "{error}"
    );
    // With these policies, the query succeeds.
    for policy in ["zero", "clamp"] {
        let result = run(
            &engine,
            &query(&format!("gather(x, ids, 'out_of_range={policy}')")),
        )
        .await
        .unwrap();
        let element =
            elements::<datafusion::arrow::datatypes::Int16Type>(result.column(0))[7 * 3 + 2];
        assert_eq!(element, if policy == "zero" { 0 } else { 39 });
    }
}

#[tokio::test]
async fn planning_errors_name_their_cause() {
    let fixture = Fixture::new();
    for (call, expected) in [
        (
            "strided_slice(image, CAST(id AS VARCHAR))",
            "must be a literal text",
        ),
        ("strided_slice(image, NULL)", "must be a literal text"),
        (
            "strided_slice(image)",
            "call it as strided_slice(x, '1:-1, ..., ::-1')",
        ),
        ("strided_slice(image, '1:2:3:4')", "strided_slice: "),
        ("strided_slice(image, '7, :')", "strided_slice: "),
        (
            "strided_slice(CAST(id AS VARCHAR), ':')",
            "no type of elements",
        ),
        (
            "gather('[1, true]', id)",
            "must have the same length, and numbers, or true and false",
        ),
        (
            "scatter_nd('[[0]]', strided_slice(id > 3, 'None'), '5')",
            "updates are Boolean, which are not combined by add: choose 'combine=update'",
        ),
        ("strided_slice(make_array(id), ':')", "arrow_cast"),
        ("strided_slice(NULL, ':')", "no type of elements"),
        (
            "gather(image, wide)",
            "indices are Float32, but must be integers",
        ),
        (
            "gather(image, ids, 'axes=1')",
            "there is no option \"axes\"",
        ),
        ("gather(image, ids, 'axis=1, axis=2')", "given twice"),
        ("gather(image, ids, 'axis')", "has no value"),
        ("gather(image, ids, 'axis=3')", "axis is 3"),
        (
            "gather(image, ids, 'axis=99999999999999999999')",
            "must be an integer in range",
        ),
        (
            "gather(image, '[[1, 2], [3]]')",
            "must have the same length",
        ),
        ("gather(image, '[1, 2')", "is no tensor"),
        (
            "gather_nd(image, ids, 'out_of_range=maybe')",
            "must be one of error, ignore, zero, clamp",
        ),
        ("gather_nd(image, '[[0, 0, 0, 0]]')", "tuples of 4"),
        (
            "crop(image, pairs, '1, 2, 3')",
            "have 2 numbers for each box",
        ),
        (
            "crop(image, '[0, 0]', '-1, 2')",
            "must be integers in range",
        ),
        (
            "crop(image, '[0, 0, 0]', '5000000000, 1, 1', 'out_of_range=zero')",
            "shape [5000000000, 1, 1] is above 2147483647 elements",
        ),
        (
            "crop(image, '[0, 0, 0]', '2000000000, 2000000000, 2000000000', 'out_of_range=zero')",
            "has too many elements",
        ),
        (
            "scatter_nd(pairs, image, '5, 4')",
            "updates have shape [5,4,3]",
        ),
        (
            "scatter_nd(pairs, strided_slice(image, ':2, 0'), '5, 4, 3', 'combine=xor')",
            "must be one of add",
        ),
        ("tensor_reshape(image, '7, 9')", "has other elements"),
        ("tensor_shape(id)", "which is empty"),
        ("gather(image, '[]')", "which is empty"),
        ("tensor_to_arrow(id)", "has no scalars"),
    ] {
        let error = fixture.select(call).await.unwrap_err();
        assert!(error.contains(expected), "{call}: {error}");
    }
}

#[tokio::test]
async fn a_null_within_a_tensor_is_an_error_with_its_row() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let mut values: Vec<Option<f32>> = (0..40).map(|i| Some(i as f32)).collect();
    values[4 * 2 + 1] = None; // in a null row, where it does not matter
    values[4 * 6 + 3] = None;
    let column = tensors(Arc::new(Float32Array::from(values)), &[2, 2], 10, &[2]);
    write(&path, &batch(&[("x", column)]));
    let engine = Engine::embedded(1).unwrap();
    let query = |limit: &str| {
        format!(
            "SELECT strided_slice(x, '0') FROM '{}' {limit}",
            path.display()
        )
    };
    let error = run(&engine, &query("")).await.unwrap_err();
    assert!(
        error.contains("the tensor in row 6 of the batch has a null within"),
        "{error}"
    );
    // Without the null element's row there is no error.
    let result = run(&engine, &query("WHERE id < 6")).await.unwrap();
    assert_eq!(result.column(0).null_count(), 1);
}

#[tokio::test]
async fn empty_tables_scalars_and_new_dimensions_have_their_shapes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let columns: [(&str, ArrayRef); 2] = [
        (
            "x",
            tensors(
                Arc::new(Int64Array::from_iter_values(0..24)),
                &[2, 3],
                4,
                &[],
            ),
        ),
        (
            "n",
            tensors(Arc::new(Int64Array::from_iter_values(0..4)), &[1], 4, &[]),
        ),
    ];
    write(&path, &batch(&columns));
    let engine = Engine::embedded(1).unwrap();
    for rows in [0, 4] {
        for (call, expected) in [
            ("strided_slice(x, '1, 2')", vec![]),
            ("strided_slice(x, '')", vec![2, 3]),
            ("strided_slice(x, 'None, ..., None')", vec![1, 2, 3, 1]),
            ("gather_nd(x, '[1, 2]')", vec![]),
            ("gather_nd(x, '[[], []]')", vec![2, 2, 3]),
            ("gather(n, 0)", vec![]),
            (
                "scatter_nd(tensor_reshape(n, '1, 1'), tensor_reshape(strided_slice(x, '0, 0'), '1'), '4')",
                vec![4],
            ),
            ("crop(x, '[]', '')", vec![2, 3]),
            ("tensor_shape(x)", vec![2]),
        ] {
            let query = format!("SELECT {call} AS y FROM '{}' LIMIT {rows}", path.display());
            let result = run(&engine, &query)
                .await
                .unwrap_or_else(|error| panic!("{call}: {error}"));
            let column = result.column(0);
            assert_eq!(
                (shape(column.data_type()), column.len()),
                (expected, rows),
                "{call}"
            );
        }
    }
    let query = format!(
        "SELECT strided_slice(x, '1, 2') FROM '{}' ORDER BY id",
        path.display()
    );
    let result = run(&engine, &query).await.unwrap();
    assert_eq!(elements::<Int64Type>(result.column(0)), [5, 11, 17, 23]);
    // The result of a call with only literals is used for each row.
    let query = format!(
        "SELECT strided_slice('[[1, 2], [3, 4]]', '1, ::-1') FROM '{}'",
        path.display()
    );
    let result = run(&engine, &query).await.unwrap();
    assert_eq!(elements::<Int64Type>(result.column(0)), [4, 3].repeat(4));
}

/// The offset makes arrays that start in the middle of their buffers.
#[tokio::test]
async fn slices_of_arrays_have_their_own_rows() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("t.parquet");
    let query = format!(
        "SELECT strided_slice(image, '::-1') AS y, gather(image, ids) AS z FROM \
         (SELECT * FROM '{}' ORDER BY id LIMIT 20 OFFSET 31)",
        path.display()
    );
    let result = run(&fixture.engine, &query).await.unwrap();
    let expected: Vec<u8> = (31..51)
        .flat_map(|row| {
            fixture
                .image(row)
                .chunks(12)
                .rev()
                .collect::<Vec<_>>()
                .concat()
        })
        .collect();
    assert_eq!(elements::<UInt8Type>(result.column(0)), expected);
    let mut gathered = Vec::new();
    for row in 31..51 {
        for &id in &fixture.ids[row * 3..][..3] {
            gathered.extend_from_slice(&fixture.image(row)[id as usize * 12..][..12]);
        }
    }
    assert_eq!(elements::<UInt8Type>(result.column(1)), gathered);
}

/// Writes a table with a column of `arrow.fixed_shape_tensor`, as pyarrow writes it. Returns the column's elements.
pub(crate) fn write_extension(
    path: &Path,
    row_count: usize,
    shape: &[usize],
    metadata: &str,
) -> Vec<f32> {
    let elements_per_row: usize = shape.iter().product();
    let values: Vec<f32> = (0..row_count * elements_per_row)
        .map(|i| i as f32)
        .collect();
    let column = tensors(
        Arc::new(Float32Array::from(values.clone())),
        &[elements_per_row],
        row_count,
        &[],
    );
    let table = batch(&[("x", column)]);
    let extension = HashMap::from([
        (
            "ARROW:extension:name".to_owned(),
            "arrow.fixed_shape_tensor".to_owned(),
        ),
        ("ARROW:extension:metadata".to_owned(), metadata.to_owned()),
    ]);
    let fields = [
        table.schema().field(0).clone(),
        table.schema().field(1).clone().with_metadata(extension),
    ];
    let schema = Arc::new(Schema::new(Vec::<Field>::from(fields)));
    write(
        path,
        &RecordBatch::try_new(schema, table.columns().to_vec()).unwrap(),
    );
    values
}

#[tokio::test]
async fn arrows_own_tensors_are_read_and_made() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let values = write_extension(
        &path,
        10,
        &[2, 3],
        r#"{"shape":[2,3],"dim_names":["h","w"]}"#,
    );
    let engine = Engine::embedded(1).unwrap();
    let query = |call: &str| format!("SELECT {call} AS y FROM '{}' ORDER BY id", path.display());
    let result = run(&engine, &query("strided_slice(x, '1, ::-1')"))
        .await
        .unwrap();
    assert_eq!(shape(result.column(0).data_type()), [3]);
    let expected: Vec<f32> = values
        .chunks(6)
        .flat_map(|row| [row[5], row[4], row[3]])
        .collect();
    assert_eq!(elements::<Float32Type>(result.column(0)), expected);
    // The column passes through a subquery that does not change it.
    let nested = format!("SELECT strided_slice(y, ':, 1') AS y FROM ({})", query("x"));
    let result = run(&engine, &nested).await.unwrap();
    let expected: Vec<f32> = values.chunks(6).flat_map(|row| [row[1], row[4]]).collect();
    assert_eq!(elements::<Float32Type>(result.column(0)), expected);

    let result = run(
        &engine,
        &query("tensor_to_arrow(strided_slice(x, ':, :2'))"),
    )
    .await
    .unwrap();
    let schema = result.schema();
    let metadata = schema.field(0).metadata();
    assert_eq!(metadata["ARROW:extension:name"], "arrow.fixed_shape_tensor");
    assert_eq!(
        metadata["ARROW:extension:metadata"].replace(' ', ""),
        r#"{"shape":[2,2]}"#
    );
    assert_eq!(shape(result.column(0).data_type()), [4]);
    let expected: Vec<f32> = values
        .chunks(6)
        .flat_map(|row| [row[0], row[1], row[3], row[4]])
        .collect();
    assert_eq!(elements::<Float32Type>(result.column(0)), expected);

    for (metadata, expected) in [
        ("", "cannot be read"),
        (r#"{"shape":[2,4]}"#, "but its lists have 6 elements"),
        (
            r#"{"shape":[2,3],"permutation":[1,2]}"#,
            "must name each dimension once",
        ),
    ] {
        // Each file has its own name, because the engine can keep the schema of a file that it has read.
        let path = folder.path().join(format!("{}.parquet", metadata.len()));
        write_extension(&path, 10, &[2, 3], metadata);
        let error = run(
            &engine,
            &format!("SELECT tensor_shape(x) FROM '{}'", path.display()),
        )
        .await
        .unwrap_err();
        assert!(error.contains(expected), "{metadata}: {error}");
    }
}

#[tokio::test]
async fn elements_of_every_numeric_type_are_kept_bit_for_bit() {
    use datafusion::arrow::array::{ArrayData, make_array};
    let folder = TempDir::new().unwrap();
    let engine = Engine::embedded(1).unwrap();
    for (number, element_type) in [
        DataType::Int8,
        DataType::UInt8,
        DataType::Int16,
        DataType::UInt16,
        DataType::Float16,
        DataType::Int32,
        DataType::UInt32,
        DataType::Float32,
        DataType::Int64,
        DataType::UInt64,
        DataType::Float64,
    ]
    .into_iter()
    .enumerate()
    {
        let width = element_type.primitive_width().unwrap();
        let data = bytes(20 * 4 * width);
        let buffer = Buffer::from(data.as_slice());
        let values = ArrayData::builder(element_type.clone())
            .len(80)
            .add_buffer(buffer)
            .build()
            .unwrap();
        let path = folder.path().join(format!("{number}.parquet"));
        write(
            &path,
            &batch(&[("x", tensors(make_array(values), &[4], 20, &[]))]),
        );
        let query = format!(
            "SELECT strided_slice(x, '::-1') FROM '{}' ORDER BY id",
            path.display()
        );
        let result = run(&engine, &query).await.unwrap();
        let mut values = Arc::clone(result.column(0));
        while let Some(list) = datafusion::arrow::array::AsArray::as_fixed_size_list_opt(&values) {
            values = Arc::clone(list.values());
        }
        assert_eq!(*values.data_type(), element_type);
        let results = values.to_data();
        let expected: Vec<u8> = data
            .chunks(4 * width)
            .flat_map(|row| row.chunks(width).rev().collect::<Vec<_>>().concat())
            .collect();
        assert_eq!(results.buffers()[0].as_slice(), expected, "{element_type}");
    }
}
