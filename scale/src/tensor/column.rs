//! The values of a column of tensors.

use super::TensorType;
use datafusion::{
    arrow::{
        array::{Array, ArrayData, ArrayRef, AsArray, FixedSizeListArray, Int64Array, make_array},
        buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer},
        compute::{CastOptions, cast_with_options},
        datatypes::{DataType, Field, Int32Type, Int64Type, UInt32Type},
    },
    common::exec_err,
    error::{DataFusionError, Result},
};
use std::{iter, sync::Arc};
use wgslice::{DType, Plan, Values, ValuesMut, View};

/// The tensors of some rows, in one buffer.
#[derive(Clone, Debug)]
pub struct Column {
    tensor: TensorType,
    /// The elements of all rows, in row-major order.
    values: ArrayRef,
    /// True if the column has a single row, which is used for every row of a batch.
    repeats: bool,
}

impl Column {
    /// Makes a column from the tensors in an array, without a copy if they are in row-major order. The elements of null
    /// rows are unspecified.
    ///
    /// # Errors
    ///
    /// An error if a tensor that is not null contains a null, if the array has another type, or if memory cannot be
    /// allocated.
    pub fn of(array: &ArrayRef, tensor: TensorType) -> Result<Self> {
        if !tensor.is_stored_as(array.data_type()) {
            return exec_err!(
                "a batch is of type {}, but was planned as {}",
                array.data_type(),
                tensor.data_type()
            );
        }
        let validity = array.nulls();
        let mut values = Arc::clone(array);
        // The number of items in a row, at this depth of the lists.
        let mut items_per_row = 1usize;
        while let Some(list) = values.as_fixed_size_list_opt() {
            items_per_row *= usize::try_from(list.value_length()).unwrap_or(0);
            values = Arc::clone(list.values());
            let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
            let row = nulls.and_then(|nulls| {
                let mut rows_with_nulls = (0..nulls.len())
                    .filter(|&item| nulls.is_null(item))
                    .map(|item| item / items_per_row);
                rows_with_nulls.find(|&row| validity.is_none_or(|validity| validity.is_valid(row)))
            });
            if let Some(row) = row {
                return exec_err!(
                    "the tensor in row {row} of the batch has a null within: replace it, or make the whole row null"
                );
            }
        }
        if let Some(order) = tensor.permutation() {
            values = in_row_major(&values, &tensor, array.len(), order)?;
        }
        Ok(Self {
            tensor,
            values,
            repeats: false,
        })
    }

    /// Returns the column with its only tensor used for every row of a batch.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    /// Returns the type of the tensors.
    pub fn tensor(&self) -> &TensorType {
        &self.tensor
    }

    /// Returns whether the column has a single row, which is used for every row of a batch.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the bytes of the elements of all rows. A boolean is a byte, 0 or 1.
    pub fn bytes(&self) -> Buffer {
        bytes(&self.values, self.tensor.dtype())
    }

    /// Returns the elements of all rows as indices.
    ///
    /// # Errors
    ///
    /// An error if elements are not integers, or exceed the range of `i64`.
    pub fn integers(&self) -> Result<Integers> {
        let values = match self.values.data_type() {
            DataType::Int32 | DataType::UInt32 | DataType::Int64 => Arc::clone(&self.values),
            other if other.is_integer() => {
                let cast_options = CastOptions {
                    safe: false,
                    ..CastOptions::default()
                };
                cast_with_options(&self.values, &DataType::Int64, &cast_options)?
            }
            other => return exec_err!("indices are {other}, but must be integers"),
        };
        Ok(Integers(values))
    }

    /// Makes an array of `rows` tensors from their bytes. Rows that are null in `nulls` are missing tensors with
    /// arbitrary bytes.
    ///
    /// # Errors
    ///
    /// An error if the length of `bytes` does not match `rows` tensors.
    pub fn array(
        tensor: &TensorType,
        rows: usize,
        bytes: Buffer,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let list_lengths = tensor.list_lengths();
        if list_lengths.is_empty() {
            return elements(tensor, bytes, nulls);
        }
        let mut values = elements(tensor, bytes, None)?;
        let mut nulls = nulls;
        for (depth, &length) in list_lengths.iter().enumerate().rev() {
            let list_count = rows * list_lengths[..depth].iter().product::<usize>();
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            let length = i32::try_from(length).unwrap_or(i32::MAX);
            let null_lists = if depth == 0 { nulls.take() } else { None };
            let lists = FixedSizeListArray::try_new_with_length(
                item, length, values, null_lists, list_count,
            )?;
            values = Arc::new(lists);
        }
        Ok(values)
    }
}

/// Reads `rows` tensors that are stored with permuted dimensions and returns their elements in row-major order.
fn in_row_major(
    stored: &ArrayRef,
    tensor: &TensorType,
    rows: usize,
    order: &[usize],
) -> Result<ArrayRef> {
    let dtype = tensor.dtype();
    let row_order: Vec<usize> = iter::once(0)
        .chain(order.iter().map(|axis| axis + 1))
        .collect();
    let view = View::new(&[&[rows], &*tensor.stored_shape()].concat());
    let view = view.and_then(|view| view.transpose(&row_order));
    let stored = bytes(stored, dtype);
    let mut row_major = zeroed(stored.len())?;
    let run = view
        .and_then(|view| Plan::contiguous(view, dtype))
        .and_then(|plan| {
            let inputs = [Values::from_bytes(dtype, &stored)];
            plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(dtype, &mut row_major)])
        });
    run.map_err(|error| DataFusionError::Execution(error.to_string()))?;
    elements(tensor, row_major.into(), None)
}

/// Returns the bytes of an array of elements. A boolean is a byte, 0 or 1.
fn bytes(elements: &ArrayRef, dtype: DType) -> Buffer {
    if let Some(values) = elements.as_boolean_opt() {
        let bytes = values.values().iter().map(u8::from);
        return Buffer::from_vec(bytes.collect::<Vec<_>>());
    }
    let data = elements.to_data();
    let size = dtype.size();
    match data.buffers().first() {
        Some(buffer) => buffer.slice_with_length(data.offset() * size, data.len() * size),
        None => Buffer::default(),
    }
}

/// Makes an array of elements from their bytes.
fn elements(tensor: &TensorType, bytes: Buffer, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let count = bytes.len() / tensor.dtype().size();
    let bytes = match tensor.element() {
        DataType::Boolean => {
            BooleanBuffer::collect_bool(count, |element| bytes[element] != 0).into_inner()
        }
        _ => bytes,
    };
    let data = ArrayData::builder(tensor.element().clone())
        .len(count)
        .add_buffer(bytes)
        .nulls(nulls);
    Ok(make_array(data.build()?))
}

/// Allocates `bytes` bytes of zeros, aligned for all element types. If Arrow's own allocation failed, it would end the
/// process.
///
/// # Errors
///
/// An error if memory cannot be allocated.
pub fn zeroed(bytes: usize) -> Result<MutableBuffer> {
    let words = bytes.div_ceil(size_of::<u64>());
    let mut zeros: Vec<u64> = Vec::new();
    if zeros.try_reserve_exact(words).is_err() {
        return Err(DataFusionError::ResourcesExhausted(format!(
            "{bytes} bytes for the tensors of a batch cannot be allocated: lower datafusion.execution.batch_size"
        )));
    }
    zeros.resize(words, 0);
    let mut buffer = MutableBuffer::from(zeros);
    buffer.truncate(bytes);
    Ok(buffer)
}

/// The elements of index tensors, in a type that the library takes.
pub struct Integers(ArrayRef);

impl Integers {
    /// Returns the integers as values for the library, without a copy.
    pub fn indices(&self) -> Values<'_> {
        if let Some(values) = self.0.as_primitive_opt::<Int32Type>() {
            (&values.values()[..]).into()
        } else if let Some(values) = self.0.as_primitive_opt::<UInt32Type>() {
            (&values.values()[..]).into()
        } else {
            (&self.0.as_primitive::<Int64Type>().values()[..]).into()
        }
    }

    /// Repeats the whole sequence of integers `times` times, as `i64`.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        Self(Arc::new(Int64Array::from(self.to_i64().repeat(times))))
    }

    /// Returns the integers as `i64`, so that other indices can be computed from them.
    pub fn to_i64(&self) -> Vec<i64> {
        if let Some(values) = self.0.as_primitive_opt::<Int32Type>() {
            values.values().iter().map(|&index| index.into()).collect()
        } else if let Some(values) = self.0.as_primitive_opt::<UInt32Type>() {
            values.values().iter().map(|&index| index.into()).collect()
        } else {
            self.0.as_primitive::<Int64Type>().values().to_vec()
        }
    }
}
