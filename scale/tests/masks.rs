//! Functions on masks match the naive reference row by row, and tensors of booleans can be sliced, gathered and
//! scattered.

use crate::{
    random::Random,
    tables::{batch, elements, run, shape, tensors, write},
};
use datafusion::arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, UInt8Array, UInt16Array},
    datatypes::{DataType, Int64Type, UInt16Type},
};
use std::sync::Arc;
use tempfile::TempDir;
use wgslice_scale::engine::Engine;
use wgslice_vectors::reference;

const ROWS: usize = 150;
const SHAPE: [usize; 3] = [5, 4, 3];

/// A table with the row numbers `id`, the numbers `x` of shape [5, 4, 3], null in row 3, and three random masks:
/// `grid`, booleans of shape [5, 4], null in row 77; `lines`, bytes of shape [5]; `channels`, booleans of shape [3].
struct Fixture {
    folder: TempDir,
    engine: Engine,
    x: Vec<u16>,
    grid: Vec<bool>,
    lines: Vec<bool>,
    channels: Vec<bool>,
}

impl Fixture {
    fn new() -> Self {
        let mut random = Random::new(11);
        let x: Vec<u16> = (1..=ROWS * 60).map(|i| (i * 7) as u16).collect();
        let mut mask =
            |count: usize| -> Vec<bool> { (0..count).map(|_| random.within(0, 2) == 0).collect() };
        let (grid, lines, channels) = (mask(ROWS * 20), mask(ROWS * 5), mask(ROWS * 3));
        // Every byte except 0 is true.
        let bytes = lines.iter().enumerate();
        let bytes = bytes.map(|(i, &is_true)| if is_true { [1, 2, 255][i % 3] } else { 0 });
        let columns: [(&str, ArrayRef); 4] = [
            (
                "x",
                tensors(Arc::new(UInt16Array::from(x.clone())), &SHAPE, ROWS, &[3]),
            ),
            (
                "grid",
                tensors(
                    Arc::new(BooleanArray::from(grid.clone())),
                    &[5, 4],
                    ROWS,
                    &[77],
                ),
            ),
            (
                "lines",
                tensors(
                    Arc::new(UInt8Array::from_iter_values(bytes)),
                    &[5],
                    ROWS,
                    &[],
                ),
            ),
            (
                "channels",
                tensors(
                    Arc::new(BooleanArray::from(channels.clone())),
                    &[3],
                    ROWS,
                    &[],
                ),
            ),
        ];
        let folder = TempDir::new().unwrap();
        write(&folder.path().join("t.parquet"), &batch(&columns));
        Self {
            folder,
            engine: Engine::embedded(2).unwrap(),
            x,
            grid,
            lines,
            channels,
        }
    }

    /// Selects an expression from the table, in the order of the table's rows.
    async fn select(&self, expression: &str) -> Result<ArrayRef, String> {
        let path = self.folder.path().join("t.parquet");
        let query = format!(
            "SELECT {expression} AS y FROM '{}' ORDER BY id",
            path.display()
        );
        Ok(Arc::clone(run(&self.engine, &query).await?.column(0)))
    }
}

/// Returns the elements of row `row`.
fn row_elements<T>(all: &[T], row: usize) -> &[T] {
    let elements_per_row = all.len() / ROWS;
    &all[row * elements_per_row..][..elements_per_row]
}

fn booleans(column: &ArrayRef) -> Vec<bool> {
    match column.as_fixed_size_list_opt() {
        Some(list) => booleans(list.values()),
        None => column.as_boolean().values().iter().collect(),
    }
}

#[tokio::test]
async fn masks_select_what_the_reference_selects() {
    let fixture = Fixture::new();
    let literal_mask = [true, false, true].repeat(ROWS);
    let empty_mask = [false, false, false].repeat(ROWS);
    for (call, mask, mask_shape, axis, capacity, null_rows) in [
        (
            "grid, '20'",
            &fixture.grid,
            &SHAPE[..2],
            0,
            20,
            &[3, 77][..],
        ),
        ("grid, '30'", &fixture.grid, &SHAPE[..2], 0, 30, &[3, 77]),
        (
            "grid, '4', 'surplus=drop'",
            &fixture.grid,
            &SHAPE[..2],
            0,
            4,
            &[3, 77],
        ),
        ("lines, '5'", &fixture.lines, &SHAPE[..1], 0, 5, &[3]),
        (
            "lines, '1', 'surplus=drop, axis=-3'",
            &fixture.lines,
            &SHAPE[..1],
            0,
            1,
            &[3],
        ),
        (
            "channels, '3', 'axis=2'",
            &fixture.channels,
            &SHAPE[2..],
            2,
            3,
            &[3],
        ),
        (
            "channels, '2', 'axis=-1, surplus=drop'",
            &fixture.channels,
            &SHAPE[2..],
            2,
            2,
            &[3],
        ),
        (
            "'[true, false, true]', '', 'axis=-1'",
            &literal_mask,
            &SHAPE[2..],
            2,
            2,
            &[3],
        ),
        (
            "'[true, false, true]', '4', 'axis=-1'",
            &literal_mask,
            &SHAPE[2..],
            2,
            4,
            &[3],
        ),
        (
            "'[false, false, false]', '1', 'axis=-1'",
            &empty_mask,
            &SHAPE[2..],
            2,
            1,
            &[3],
        ),
    ] {
        let call = format!("boolean_mask(x, {call})");
        let column = fixture.select(&call).await.unwrap();
        let results = elements::<UInt16Type>(&column);
        for row in 0..ROWS {
            assert_eq!(
                column.is_null(row),
                null_rows.contains(&row),
                "{call}: {row}"
            );
            let expected = reference::boolean_mask(
                row_elements(&fixture.x, row),
                &SHAPE,
                (row_elements(mask, row), mask_shape),
                axis,
                Some(capacity),
            );
            let (expected_shape, expected) = expected.unwrap();
            assert_eq!(shape(column.data_type()), expected_shape, "{call}");
            if column.is_valid(row) {
                assert_eq!(row_elements(&results, row), expected, "{call}: row {row}");
            }
        }
    }

    // A literal gives the tensors of all rows.
    let column = fixture
        .select("boolean_mask('[10, 20, 30]', channels, '3')")
        .await;
    let results = elements::<Int64Type>(&column.unwrap());
    let column = fixture
        .select("boolean_mask('[[10, 20, 30]]', '[true, false, true]', '', 'axis=1')")
        .await;
    assert_eq!(
        elements::<Int64Type>(&column.unwrap()),
        [10, 30].repeat(ROWS)
    );
    for row in 0..ROWS {
        let mask = (row_elements(&fixture.channels, row), &[3][..]);
        let expected = reference::boolean_mask(&[10, 20, 30], &[3], mask, 0, Some(3));
        assert_eq!(
            row_elements(&results, row),
            expected.unwrap().1,
            "row {row}"
        );
    }
}

#[tokio::test]
async fn positions_and_counts_match_the_reference() {
    let fixture = Fixture::new();
    for (mask, mask_elements, mask_shape, null_rows) in [
        ("grid", &fixture.grid, &[5, 4][..], &[77][..]),
        ("lines", &fixture.lines, &[5], &[]),
    ] {
        let counts = fixture.select(&format!("count_nonzero({mask})")).await;
        let counts = counts.unwrap();
        let found_counts = elements::<Int64Type>(&counts);
        for (capacity, options) in [(2, "surplus=drop"), (20, ""), (33, "")] {
            let call = format!("nonzero({mask}, '{capacity}', '{options}')");
            let column = fixture.select(&call).await.unwrap();
            let results = elements::<Int64Type>(&column);
            for (row, &found_count) in found_counts.iter().enumerate() {
                assert_eq!(
                    column.is_null(row),
                    null_rows.contains(&row),
                    "{call}: {row}"
                );
                assert_eq!(
                    counts.is_null(row),
                    null_rows.contains(&row),
                    "{call}: {row}"
                );
                let row_mask = row_elements(mask_elements, row);
                let (expected_shape, expected) =
                    reference::nonzero(row_mask, mask_shape, Some(capacity)).unwrap();
                assert_eq!(shape(column.data_type()), expected_shape, "{call}");
                if column.is_valid(row) {
                    assert_eq!(row_elements(&results, row), expected, "{call}: row {row}");
                    let count = row_mask.iter().filter(|&&is_true| is_true).count();
                    assert_eq!(found_count, count as i64, "{call}: row {row}");
                }
            }
        }
    }
    let column = fixture
        .select("nonzero('[[false, true], [true, true]]')")
        .await;
    let results = elements::<Int64Type>(&column.unwrap());
    assert_eq!(results, [0, 1, 1, 0, 1, 1].repeat(ROWS));
}

#[tokio::test]
async fn a_mask_above_the_capacity_is_an_error_with_its_row() {
    let fixture = Fixture::new();
    let true_count = |mask: &[bool], row| {
        let mask = row_elements(mask, row).iter();
        mask.filter(|&&is_true| is_true).count()
    };
    // Finds the first row with more than 8 true elements. The grid of row 77 is null.
    let first_row = (0..ROWS).find(|&row| row != 77 && true_count(&fixture.grid, row) > 8);
    let first_row = first_row.unwrap();
    let true_elements = true_count(&fixture.grid, first_row);
    for (call, place) in [
        (
            "nonzero(grid, '8')",
            format!("row {first_row} of the batch"),
        ),
        (
            "nonzero(grid, '8', '', id * 2)",
            format!("row {}", first_row * 2),
        ),
        (
            "nonzero(grid, '8', 'surplus=error', concat('n', id))",
            format!("row n{first_row}"),
        ),
    ] {
        let error = fixture.select(call).await.unwrap_err();
        let expected = format!(
            "nonzero: in {place}, the mask has {true_elements} true elements, which is above the capacity 8 ("
        );
        assert!(error.contains(&expected), "{call}: {error}\n{expected}");
        assert!(error.contains("'surplus=drop'"), "{call}: {error}");
    }
    let error = fixture.select("boolean_mask(x, grid, '2')").await;
    let error = error.unwrap_err();
    assert!(
        error.contains("boolean_mask: in row 0 of the batch, the mask has "),
        "{error}"
    );
    let error = fixture
        .select("boolean_mask(x, '[true, true, true]', '2', 'axis=2')")
        .await;
    let error = error.unwrap_err();
    assert!(
        error.contains("in every row, the mask has 3 true elements, which is above the capacity 2"),
        "{error}"
    );

    for (call, expected) in [
        ("boolean_mask(x, grid)", "the capacity is left out"),
        ("nonzero(grid, '')", "the capacity is left out"),
        (
            "nonzero(grid, 'many')",
            "the capacity is \"many\", but must be an integer in range",
        ),
        ("nonzero(grid, '-1')", "the capacity is \"-1\""),
        (
            "nonzero(grid, '3', 'axis=0')",
            "there is no option \"axis\": the options are surplus",
        ),
        (
            "nonzero(grid, '3', 'surplus=keep')",
            "must be one of error, drop",
        ),
        (
            "nonzero(grid, '3000000000')",
            "is above 2147483647 elements",
        ),
        (
            "nonzero(x, '3')",
            "mask is UInt16, but must be Boolean or UInt8",
        ),
        (
            "nonzero('[1, 0]', '3')",
            "mask is Int64, but must be Boolean or UInt8, as in '[true, false]'",
        ),
        ("count_nonzero(x)", "mask is UInt16"),
        ("boolean_mask(x, x, '3')", "mask is UInt16"),
        ("boolean_mask(x, id > 3, '3')", "boolean_mask: "),
        ("boolean_mask(x, grid, '3', 'axis=1')", "boolean_mask: "),
        (
            "boolean_mask(x, lines, '3', 'axis=4')",
            "option axis is 4, but x has 3 dimensions",
        ),
        (
            "boolean_mask(x, lines, '3', 'axis=-4')",
            "option axis is -4, but x has 3 dimensions",
        ),
        (
            "boolean_mask(x, '[false, false, false]', '', 'axis=2')",
            "which is empty",
        ),
    ] {
        let error = fixture.select(call).await.unwrap_err();
        assert!(error.contains(expected), "{call}: {error}");
    }
}

#[tokio::test]
async fn tensor_select_matches_the_reference() {
    let fixture = Fixture::new();
    let lines = |row: usize| row_elements(&fixture.lines, row).to_vec();
    let grid = |row: usize| row_elements(&fixture.grid, row).to_vec();
    let channels = |row: usize| row_elements(&fixture.channels, row).to_vec();
    let zero = "arrow_cast(0, 'UInt16')";
    type Mask<'a> = &'a dyn Fn(usize) -> Vec<bool>;
    let literal = |_| vec![true, false, true];
    let masks: [(&str, Mask<'_>, &[usize]); 4] = [
        ("channels", &channels, &[3]),
        ("tensor_reshape(grid, '5, 4, 1')", &grid, &[5, 4, 1]),
        ("tensor_reshape(lines, '5, 1, 1')", &lines, &[5, 1, 1]),
        ("'[true, false, true]'", &literal, &[3]),
    ];
    let flipped = |row: usize| -> Vec<u16> {
        let lines = row_elements(&fixture.x, row).chunks(3).rev();
        lines.flat_map(<[u16]>::to_vec).collect()
    };
    let first_pixel = |row: usize| row_elements(&fixture.x, row)[..3].to_vec();
    type Values<'a> = &'a dyn Fn(usize) -> Vec<u16>;
    let others: [(&str, Values<'_>, &[usize]); 3] = [
        ("strided_slice(x, '::-1, ::-1')", &flipped, &SHAPE),
        ("strided_slice(x, '0, 0')", &first_pixel, &[3]),
        (zero, &|_| vec![0], &[]),
    ];
    for (mask, mask_of, mask_shape) in masks {
        for (other, other_of, other_shape) in others {
            for is_swapped in [false, true] {
                let call = match is_swapped {
                    false => format!("tensor_select({mask}, x, {other})"),
                    true => format!("tensor_select({mask}, {other}, x)"),
                };
                let column = fixture.select(&call).await.unwrap();
                let results = elements::<UInt16Type>(&column);
                assert_eq!(shape(column.data_type()), SHAPE, "{call}");
                for row in 0..ROWS {
                    let is_null = row == 3 || row == 77 && mask.contains("grid");
                    assert_eq!(column.is_null(row), is_null, "{call}: row {row}");
                    let mask = mask_of(row);
                    let other = other_of(row);
                    let mut operands = [
                        (row_elements(&fixture.x, row), &SHAPE[..]),
                        (&other, other_shape),
                    ];
                    if is_swapped {
                        operands.reverse();
                    }
                    let expected =
                        reference::select((&mask, mask_shape), operands[0], operands[1]).unwrap();
                    assert!(
                        is_null || row_elements(&results, row) == expected.1,
                        "{call}: row {row}"
                    );
                }
            }
        }
    }
    for (call, expected) in [
        (
            "tensor_select(channels, x, '0')",
            "x is UInt16 and y is Int64, but both must be of one type: arrow_cast",
        ),
        ("tensor_select(x, x, x)", "mask is UInt16"),
        ("tensor_select(lines, x, x)", "tensor_select: "),
        (
            "tensor_select(lines, x)",
            "call it as tensor_select(mask, x, y)",
        ),
    ] {
        let error = fixture.select(call).await.unwrap_err();
        assert!(error.contains(expected), "{call}: {error}");
    }
}

/// Arrow stores booleans as bits, not as bytes.
#[tokio::test]
async fn tensors_of_booleans_are_sliced_and_gathered() {
    let fixture = Fixture::new();
    let grid = |row: usize, i: usize, j: usize| fixture.grid[row * 20 + i * 4 + j];
    type Expected<'a> = Box<dyn Fn(usize) -> Vec<bool> + 'a>;
    let cases: [(&str, &[usize], Expected<'_>); 5] = [
        (
            "strided_slice(grid, '::-2, 1:')",
            &[3, 3],
            Box::new(|row| {
                let lines = [4, 2, 0].into_iter();
                lines
                    .flat_map(|i| (1..4).map(move |j| grid(row, i, j)))
                    .collect()
            }),
        ),
        (
            "gather(grid, '[3, 0]', 'axis=1')",
            &[5, 2],
            Box::new(|row| {
                (0..5)
                    .flat_map(|i| [grid(row, i, 3), grid(row, i, 0)])
                    .collect()
            }),
        ),
        (
            "strided_slice(tensor_reshape(grid, '20'), '7')",
            &[],
            Box::new(|row| vec![grid(row, 1, 3)]),
        ),
        (
            "strided_slice(tensor_reshape(grid, '4, 5'), '1')",
            &[5],
            Box::new(|row| row_elements(&fixture.grid, row)[5..10].to_vec()),
        ),
        (
            "scatter_nd('[[2], [0]]', strided_slice(grid, '0, :2'), '3', 'combine=update')",
            &[3],
            Box::new(|row| vec![grid(row, 0, 1), false, grid(row, 0, 0)]),
        ),
    ];
    for (call, expected_shape, expected) in cases {
        let column = fixture.select(call).await.unwrap();
        assert_eq!(shape(column.data_type()), expected_shape, "{call}");
        let results = booleans(&column);
        for row in 0..ROWS {
            assert_eq!(column.is_null(row), row == 77, "{call}: row {row}");
            if row != 77 {
                assert_eq!(
                    row_elements(&results, row),
                    expected(row),
                    "{call}: row {row}"
                );
            }
        }
    }
    let column = fixture
        .select("strided_slice(id > 3, 'None')")
        .await
        .unwrap();
    assert_eq!(shape(column.data_type()), [1]);
    assert_eq!(
        booleans(&column),
        (0..ROWS).map(|id| id > 3).collect::<Vec<_>>()
    );
    let column = fixture
        .select("strided_slice('[[true, false]]', '0, ::-1')")
        .await;
    assert_eq!(booleans(&column.unwrap()), [false, true].repeat(ROWS));
    // The offset makes an array that begins within a byte of Arrow's bits.
    let path = fixture.folder.path().join("t.parquet");
    let query = format!(
        "SELECT strided_slice(grid, '::-1') AS y FROM (SELECT * FROM '{}' ORDER BY id LIMIT 20 OFFSET 31)",
        path.display()
    );
    let result = run(&fixture.engine, &query).await.unwrap();
    let expected: Vec<bool> = (31..51)
        .flat_map(|row| {
            (0..5)
                .rev()
                .flat_map(move |i| (0..4).map(move |j| (row, i, j)))
        })
        .map(|(row, i, j)| grid(row, i, j))
        .collect();
    assert_eq!(booleans(result.column(0)), expected);
    assert!(matches!(
        result.column(0).data_type(),
        DataType::FixedSizeList(..)
    ));
}
