//! Columns in the forms that other engines produce: parts of longer columns with nulls before the part, and columns
//! with permuted dimensions. Every function must read these columns like a column that was written for the test.

use crate::{
    random::Random,
    tables::{run, tensors},
};
use datafusion::arrow::{
    array::{
        Array, ArrayData, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, Int32Array,
        Int64Array, RecordBatch, UInt16Array, make_array,
    },
    compute::concat,
    datatypes::{DataType, Field, Schema},
};
use std::{collections::HashMap, sync::Arc};
use wgslice_scale::{engine::Engine, functions};

const ROWS: usize = 40;

/// The numbers from which a column is made, in any type and with all or some of the rows.
struct Numbers {
    name: &'static str,
    /// Makes an array of the column's type from numbers.
    to_array: fn(&[i64]) -> ArrayRef,
    shape: Vec<usize>,
    numbers: Vec<i64>,
    nulls: Vec<usize>,
}

impl Numbers {
    /// Makes the numbers of a column: random numbers from 0 to `max_number`. The numbers of null rows are 99.
    fn new(
        (name, to_array): (&'static str, fn(&[i64]) -> ArrayRef),
        shape: &[usize],
        max_number: i64,
        nulls: &[usize],
        random: &mut Random,
    ) -> Self {
        let elements_per_row: usize = shape.iter().product();
        let number =
            |index: usize, random: &mut Random| match nulls.contains(&(index / elements_per_row)) {
                true => 99,
                false => random.within(0, max_number),
            };
        Self {
            name,
            to_array,
            shape: shape.to_vec(),
            numbers: (0..ROWS * elements_per_row)
                .map(|index| number(index, random))
                .collect(),
            nulls: nulls.to_vec(),
        }
    }

    /// Makes a column of some of the rows, in buffers that hold only these rows.
    fn column(&self, begin: usize, row_count: usize) -> ArrayRef {
        let elements_per_row: usize = self.shape.iter().product();
        let nulls = self.nulls.iter().filter_map(|row| row.checked_sub(begin));
        let nulls: Vec<_> = nulls.filter(|&row| row < row_count).collect();
        let numbers = &self.numbers[begin * elements_per_row..][..row_count * elements_per_row];
        tensors((self.to_array)(numbers), &self.shape, row_count, &nulls)
    }

    /// Stores the same tensors as `arrow.fixed_shape_tensor` in this order of dimensions: dimension `i` of a tensor is
    /// dimension `order[i]` of the stored one.
    fn permuted(&self, order: &[usize]) -> (Field, ArrayRef) {
        let mut stored_shape = vec![0; order.len()];
        for (&axis, &size) in order.iter().zip(&self.shape) {
            stored_shape[axis] = size;
        }
        let elements_per_row: usize = self.shape.iter().product();
        let mut stored = vec![0; self.numbers.len()];
        for (index, &number) in self.numbers.iter().enumerate() {
            // The index of the number in its tensor gives its index in the stored tensor.
            let mut remaining_index = index % elements_per_row;
            let mut coordinates = vec![0; order.len()];
            for (&axis, &size) in order.iter().zip(&self.shape).rev() {
                coordinates[axis] = remaining_index % size;
                remaining_index /= size;
            }
            let sized_coordinates = coordinates.iter().zip(&stored_shape);
            let stored_index = sized_coordinates.fold(0, |index, (at, size)| index * size + at);
            stored[index / elements_per_row * elements_per_row + stored_index] = number;
        }
        let column = tensors(
            (self.to_array)(&stored),
            &[elements_per_row],
            ROWS,
            &self.nulls,
        );
        let parameters = format!(r#"{{"shape":{stored_shape:?},"permutation":{order:?}}}"#);
        (extension_field(self.name, &column, &parameters), column)
    }
}

/// Returns a field of the type `arrow.fixed_shape_tensor` with these parameters.
fn extension_field(name: &str, column: &ArrayRef, parameters: &str) -> Field {
    let metadata = [
        ("ARROW:extension:name", "arrow.fixed_shape_tensor"),
        ("ARROW:extension:metadata", parameters),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new(name, column.data_type().clone(), true).with_metadata(HashMap::from(metadata))
}

fn of_u16(numbers: &[i64]) -> ArrayRef {
    Arc::new(UInt16Array::from_iter_values(
        numbers.iter().map(|&number| number as u16),
    ))
}

fn of_i32(numbers: &[i64]) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(
        numbers.iter().map(|&number| number as i32),
    ))
}

fn of_i64(numbers: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(numbers.to_vec()))
}

fn of_booleans(numbers: &[i64]) -> ArrayRef {
    let truths = numbers.iter().map(|number| number % 2 == 1);
    Arc::new(BooleanArray::from(truths.collect::<Vec<_>>()))
}

/// Makes tensors `x` and `y`, index tuples `pairs`, `updates` for them, and a `mask`. Each column has a null in one of
/// its first three rows.
fn columns() -> [Numbers; 5] {
    let mut random = Random::new(60);
    let random = &mut random;
    [
        Numbers::new(("x", of_u16), &[4, 3, 2], 60_000, &[0, 2, 5, 9, 20], random),
        Numbers::new(("y", of_u16), &[4, 3, 2], 60_000, &[1], random),
        Numbers::new(("pairs", of_i64), &[3, 2], 2, &[0, 1, 12, 13], random),
        Numbers::new(("updates", of_u16), &[3, 2], 60_000, &[2, 3, 30], random),
        Numbers::new(("mask", of_booleans), &[4, 3], 1, &[0, 4, 11], random),
    ]
}

/// Calls of every function except `zarr_shard`. Some functions are called with several types and options.
const CALLS: &[&str] = &[
    "strided_slice(x, '::-1, 1:')",
    "strided_slice(mask, '1:, ::-2')",
    "gather(x, pairs)",
    "gather(x, pairs, 'axis=1')",
    "gather('[5, 6, 7]', pairs)",
    "gather(x, '[3, 0]')",
    "gather_nd(x, pairs)",
    "gather_nd(mask, pairs)",
    "crop(x, pairs, '2, 2', 'out_of_range=zero')",
    "scatter_nd(pairs, updates, '4, 3, 2')",
    "boolean_mask(x, mask, '12')",
    "boolean_mask(x, '[true, false, true, true]')",
    "nonzero(mask, '12')",
    "count_nonzero(mask)",
    "tensor_select(mask, strided_slice(x, '..., 0'), strided_slice(y, '..., 1'))",
    "tensor_convert(x, 'float32')",
    "tensor_shape(x)",
    "tensor_reshape(x, '2, 12')",
    "tensor_to_arrow(x)",
    "tensor_to_arrow(mask)",
    r#"tensor_from_arrow(tensor_to_arrow(x), '{"shape": [2, 4, 3], "permutation": [1, 2, 0]}')"#,
];

/// Runs a call on a table of these columns.
async fn call_on_table(columns: Vec<(Field, ArrayRef)>, call: &str) -> Result<ArrayRef, String> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let engine = Engine::embedded(1).unwrap();
    engine.context().register_batch("t", batch).unwrap();
    let result = run(&engine, &format!("SELECT {call} AS z FROM t")).await?;
    Ok(Arc::clone(result.column(0)))
}

/// Returns a column and its field, which has no metadata.
fn plain(name: &str, column: ArrayRef) -> (Field, ArrayRef) {
    (Field::new(name, column.data_type().clone(), true), column)
}

/// Returns `row_count` rows of a column, from row `begin` on, as an array with an offset in its data. Arrow's libraries
/// for other languages produce such arrays.
fn with_offset(column: &ArrayRef, begin: usize, row_count: usize) -> ArrayRef {
    let data = column.to_data();
    let nulls = data.nulls().map(|nulls| nulls.buffer().clone());
    let part = ArrayData::builder(data.data_type().clone())
        .len(row_count)
        .offset(begin)
        .null_bit_buffer(nulls)
        .buffers(data.buffers().to_vec())
        .child_data(data.child_data().to_vec());
    make_array(part.build().unwrap())
}

/// Returns the same column. The array of its elements, which is within all lists, has an offset of 3.
fn with_element_offset(column: &ArrayRef) -> ArrayRef {
    let Some(list) = column.as_fixed_size_list_opt() else {
        let longer_array = concat(&[&*column.slice(0, 3), &**column]).unwrap();
        return with_offset(&longer_array, 3, column.len());
    };
    let DataType::FixedSizeList(item_field, length) = list.data_type() else {
        unreachable!("it is a list");
    };
    let values = with_element_offset(list.values());
    let nulls = list.nulls().cloned();
    let list = FixedSizeListArray::new(Arc::clone(item_field), *length, values, nulls);
    Arc::new(list)
}

#[test]
fn every_function_is_called() {
    let functions = functions::all();
    let names = functions.iter().map(|function| function.name());
    // This function takes no tensors: the commands for jobs on a cluster call it.
    for name in names.filter(|name| *name != "zarr_shard") {
        let is_called = CALLS
            .iter()
            .any(|call| call.split('(').next() == Some(name));
        assert!(is_called, "{name} is not called");
    }
}

#[tokio::test]
async fn parts_of_columns_with_nulls_before_them_are_read_at_their_places() {
    let numbers = columns();
    type Part = fn(&ArrayRef, usize, usize) -> ArrayRef;
    let parts: [(&str, Part); 3] = [
        ("slice", |column, begin, row_count| {
            column.slice(begin, row_count)
        }),
        ("offset", with_offset),
        (
            "offsets of rows and elements",
            |column, begin, row_count| with_offset(&with_element_offset(column), begin, row_count),
        ),
    ];
    // These parts begin after nulls, at a null, and within a byte of a bitmap.
    for (begin, row_count) in [(3, 20), (9, 31), (13, 6)] {
        for call in CALLS {
            let table_from = |begin: usize| {
                let columns = numbers.iter();
                columns
                    .map(|it| plain(it.name, it.column(begin, row_count)))
                    .collect()
            };
            let expected = call_on_table(table_from(begin), call).await.unwrap();
            let whole_columns = numbers.iter().map(|it| plain(it.name, it.column(0, ROWS)));
            let whole_result = call_on_table(whole_columns.collect(), call).await.unwrap();
            assert_eq!(&expected, &whole_result.slice(begin, row_count), "{call}");
            let shifted = call_on_table(table_from(begin - 1), call).await.unwrap();
            assert!(
                *expected != *shifted || call.starts_with("tensor_shape"),
                "{call} has the same result for other rows"
            );
            for (part_name, part) in parts {
                let columns = numbers.iter();
                let columns = columns
                    .map(|it| plain(it.name, part(&it.column(0, ROWS), begin, row_count)))
                    .collect();
                let result = call_on_table(columns, call).await.unwrap();
                assert_eq!(
                    &result, &expected,
                    "{call} of {row_count} rows from {begin}, {part_name}"
                );
            }
        }
    }
}

/// An error counts its row from the start of the part. A null element in a null row is not an error.
#[tokio::test]
async fn errors_of_parts_name_their_rows() {
    let ids = Numbers {
        name: "ids",
        to_array: of_i64,
        shape: vec![2],
        numbers: (0..ROWS as i64 * 2)
            .map(|index| if index == 17 * 2 + 1 { 7 } else { 0 })
            .collect(),
        nulls: vec![0, 1, 6, 12],
    };
    for begin in [3, 10, 17] {
        let part = ids.column(0, ROWS).slice(begin, ROWS - begin);
        let error = call_on_table(vec![plain("ids", part)], "gather('[1, 2, 3]', ids)").await;
        let (error, row) = (error.unwrap_err(), 17 - begin);
        let expected = format!("in row {row} of the batch, the indices at [1] are [7]");
        assert!(error.contains(&expected), "{error}");

        let mut elements: Vec<_> = (0..ROWS as i32 * 2).map(Some).collect();
        elements[6 * 2] = None;
        elements[17 * 2] = None;
        let elements = Arc::new(Int32Array::from(elements));
        let part = tensors(elements, &[2], ROWS, &ids.nulls).slice(begin, ROWS - begin);
        let error = call_on_table(vec![plain("v", part)], "strided_slice(v, '1')").await;
        let (error, row) = (error.unwrap_err(), 17 - begin);
        let expected = format!("the tensor in row {row} of the batch has a null within");
        assert!(error.contains(&expected), "{error}");
    }
}

/// The example in Arrow's documentation: stored as [100, 200, 500] with permutation [2, 0, 1], a tensor has the shape
/// [500, 100, 200]. The sizes here are divided by 100.
#[tokio::test]
async fn a_permutation_maps_dimensions_to_stored_dimensions() {
    let column = tensors(of_i32(&(0..10).collect::<Vec<_>>()), &[10], 1, &[]);
    let parameters = r#"{"shape": [1, 2, 5], "permutation": [2, 0, 1]}"#;
    let columns = vec![(extension_field("x", &column, parameters), column)];
    let shape = call_on_table(columns.clone(), "tensor_shape(x)")
        .await
        .unwrap();
    assert_eq!(&shape, &tensors(of_i64(&[5, 1, 2]), &[3], 1, &[]));
    let result = call_on_table(columns, "strided_slice(x, ':')")
        .await
        .unwrap();
    let expected = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9];
    assert_eq!(&result, &tensors(of_i32(&expected), &[5, 1, 2], 1, &[]));
}

#[tokio::test]
async fn columns_with_permuted_dimensions_are_read_in_their_order() {
    let numbers = columns();
    let orders: [&[usize]; 5] = [&[1, 2, 0], &[2, 0, 1], &[1, 0], &[1, 0], &[1, 0]];
    for call in CALLS {
        let columns = numbers.iter().map(|it| plain(it.name, it.column(0, ROWS)));
        let expected = call_on_table(columns.collect(), call).await.unwrap();
        let permuted = numbers.iter().zip(orders);
        let permuted: Vec<_> = permuted.map(|(it, order)| it.permuted(order)).collect();
        let result = call_on_table(permuted.clone(), call).await.unwrap();
        assert_eq!(&result, &expected, "{call}");
        // Selects a part of such a column.
        let columns = permuted.into_iter();
        let columns = columns.map(|(field, column)| (field, column.slice(9, 20)));
        let result = call_on_table(columns.collect(), call).await.unwrap();
        assert_eq!(&result, &expected.slice(9, 20), "{call} of a part");
    }
}

/// A query states the permutations of its columns, because the metadata of fields does not reach a cluster's executors.
#[tokio::test]
async fn permutations_are_part_of_a_query() {
    let numbers = columns();
    let x = &numbers[0];
    let (field, stored) = x.permuted(&[1, 2, 0]);
    let expected = x.column(0, ROWS);
    let call = r#"tensor_from_arrow(x, '{"shape": [2, 4, 3], "permutation": [1, 2, 0]}')"#;
    let without_metadata = plain("x", Arc::clone(&stored));
    for column in [(field.clone(), Arc::clone(&stored)), without_metadata] {
        let result = call_on_table(vec![column], call).await.unwrap();
        assert_eq!(&result, &expected);
    }
    for call in [
        "tensor_shape(x)",
        "tensor_reshape(x, '24')",
        "tensor_to_arrow(x)",
    ] {
        let engine = Engine::embedded(1).unwrap();
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let batch = RecordBatch::try_new(schema, vec![Arc::clone(&stored)]).unwrap();
        engine.context().register_batch("t", batch).unwrap();
        let frame = engine
            .query(&format!("SELECT {call} FROM t"))
            .await
            .unwrap();
        let plan = frame.into_optimized_plan().unwrap().to_string();
        let expected_call =
            r#"tensor_from_arrow(t.x, Utf8("{"shape":[2, 4, 3],"permutation":[1, 2, 0]}"))"#;
        assert!(plan.contains(expected_call), "{plan}");
    }
    let plain = || vec![plain("x", Arc::clone(&stored))];
    for (parameters, expected) in [
        (r#"{"shape": [2, 4]}"#, "but its lists have 24 elements"),
        (
            r#"{"shape": [2, 4, 3], "permutation": [1, 1, 0]}"#,
            "permutation [1, 1, 0], but a permutation must name each dimension once",
        ),
        (
            r#"{"shape": [24], "permutation": []}"#,
            "must name each dimension once",
        ),
        ("[24]", "cannot be read"),
    ] {
        let call = format!("tensor_from_arrow(x, '{parameters}')");
        let error = call_on_table(plain(), &call).await.unwrap_err();
        assert!(error.contains(expected), "{parameters}: {error}");
    }
}
