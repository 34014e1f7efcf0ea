//! scatter_nd and tensor_scatter_nd: one row for each index tuple, combined into the slice of the destination
//! that the tuple points at.
//!
//! ```text
//! indices [lead…, depth]
//! updates [lead…, slice…]
//! result  [d0, d1, … d(depth-1), slice…]
//! ```
//!
//! Rows take effect one at a time, in row-major order. If several rows go to one slice, the last row replaces the
//! others in an update, and all are added (subtracted, multiplied, compared) in that order in the other combinations.
//! The semantics are those of TensorFlow 2.21 on the CPU, except that the depth is not limited to 7.
//!
//! | element type | add, sub, mul | min, max |
//! |---|---|---|
//! | bool | or, undefined, and | and, or |
//! | integers | wrap | compared as signed or unsigned, by the type |
//! | f32, f64 | rounded to the nearest | an update replaces an element that is greater (min) or less (max) than it |
//! | f16, bf16 | as f32, then rounded to the nearest, after every row | as f32 |
//! | complex64, complex128 | (a + bi)(c + di) = (ac - bd) + (ad + bc)i, each rounded as f32 or f64 | undefined |
//!
//! So min and max keep a NaN in the destination, ignore a NaN in the updates, and keep the first of two zeros with
//! different signs. The bits of a NaN from arithmetic are not specified.

use crate::{
    DType, Error, Plan,
    error::ScatterError,
    layout::{Axis, MAX_UNIT},
    ops::index::Policy,
    options::{NegativeIndex, OutOfRange},
    plan::{self, Rows},
    shape,
};

pub(crate) use crate::combine::Combine;

/// The order in which several rows are combined with one slice.
///
/// The order matters only on a GPU and only for floating-point elements, because rounding makes their results depend on
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row by row, as in TensorFlow's CPU kernels: the same bits on every device and in every run.
    #[default]
    Deterministic,
    /// In any order, so that results may differ from run to run. A GPU then need not sort the rows of each slice.
    Fast,
}

/// Options of a scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScatterOptions {
    /// How a row is combined with its slice.
    pub combine: Combine,
    /// The treatment of a row whose tuple is out of range. [`OutOfRange::Zero`] drops the row, as TensorFlow does under
    /// `bad_indices_policy="IGNORE"`. Under [`OutOfRange::Error`] one out-of-range tuple leaves the whole destination
    /// unchanged.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index.
    pub negative: NegativeIndex,
    /// The order in which several rows are combined with one slice.
    pub order: Order,
}

/// Which slice of the destination each row goes to. A slice is the elements that one tuple points at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// The indexed dimensions: one for each integer of a tuple, with strides in slices.
    pub(crate) axes: Vec<Axis>,
    /// The dimensions that number the rows of `scatter_elements`, outermost first, with strides in slices: there the
    /// number of a row also decides which slice the row goes to. Empty in all other scatters.
    pub(crate) walk: Vec<Axis>,
    /// The shape of indices.
    pub(crate) indices: Vec<usize>,
    /// The number of leading dimensions of `indices` that number the tuples.
    pub(crate) tuple_dims: usize,
    /// The number of slices of the destination.
    pub(crate) slices: usize,
    /// Whether rows are combined with zeros, rather than with the destination's old content.
    pub(crate) fresh: bool,
    /// The element type.
    pub(crate) dtype: DType,
    pub(crate) options: ScatterOptions,
}

impl Map {
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            out_of_range: self.options.out_of_range,
            negative: self.options.negative,
        }
    }
}

impl Plan {
    /// Plans scattering `updates` into zeros of this shape, at the positions in `indices`. The updates are the source
    /// of the plan.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, DType, Indices, Plan};
    ///
    /// let plan = Plan::scatter_nd(&[3, 1], &[3], &[4], ScatterOptions::default(), DType::U8)?;
    /// let mut sums = [0xff; 4];
    /// plan.run_cpu_with(&[1, 2, 3], Indices::I32(&[1, 3, 1]), &mut sums)?;
    /// assert_eq!(sums, [0, 4, 0, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`]; [`Error::ShapeTooLarge`].
    pub fn scatter_nd(
        indices: &[usize],
        updates: &[usize],
        shape: &[usize],
        options: ScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        Self::scatter(indices, updates, shape, options, dtype, true)
    }

    /// Plans scattering `updates` into an array of this shape, in place, at the positions in `indices`. The updates
    /// are the source of the plan, and the array is its destination.
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterOptions}, DType, Indices, Plan};
    ///
    /// let options = ScatterOptions { combine: Combine::Update, ..ScatterOptions::default() };
    /// let plan = Plan::tensor_scatter_nd(&[3, 2], &[2, 1], &[2, 2], options, DType::U8)?;
    /// let mut table = [1, 2, 3, 4, 5, 6];
    /// plan.run_cpu_with(&[10, 20, 30, 40], Indices::I32(&[2, 0]), &mut table)?;
    /// assert_eq!(table, [30, 40, 3, 4, 10, 20]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`]; [`Error::ShapeTooLarge`].
    pub fn tensor_scatter_nd(
        shape: &[usize],
        indices: &[usize],
        updates: &[usize],
        options: ScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        Self::scatter(indices, updates, shape, options, dtype, false)
    }

    fn scatter(
        indices: &[usize],
        updates: &[usize],
        shape: &[usize],
        options: ScatterOptions,
        dtype: DType,
        fresh: bool,
    ) -> Result<Self, Error> {
        let depth = check(indices, updates, shape, fresh)?;
        let combine = options.combine;
        if !combine.is_defined_for(dtype) {
            return Err(ScatterError::Undefined { combine, dtype }.into());
        }
        let element = dtype.size();
        let (indexed, slice) = shape.split_at(depth);
        let elements: usize = slice.iter().product();
        // Elements are merged into larger units only if they are moved unchanged, not if they are added, compared and
        // so on.
        let factor = match options.combine.computes() {
            true => 1,
            false => shape::common_power_of_two(MAX_UNIT / element, [elements]),
        };
        let rows = match updates.contains(&0) {
            true => Rows::NONE,
            false => Rows {
                unit: element * factor,
                count: indices[..indices.len() - 1].iter().product(),
                run: elements / factor,
                step: 1,
            },
        };
        let axes = indexed
            .iter()
            .zip(shape::strides(indexed))
            .map(|(&size, stride)| Axis {
                size,
                stride: stride.cast_signed(),
            });
        let map = Map {
            name: if fresh {
                "scatter_nd"
            } else {
                "tensor_scatter_nd"
            },
            axes: axes.collect(),
            walk: Vec::new(),
            indices: indices.to_vec(),
            tuple_dims: indices.len() - 1,
            slices: indexed.iter().product(),
            fresh,
            dtype,
            options,
        };
        Ok(Self {
            shape: shape.to_vec(),
            element,
            source: updates.to_vec(),
            rows,
            map: plan::Map::ScatterNd(map),
        })
    }
}

/// Checks the shape rules, in TensorFlow's order, and returns the depth of the indices.
fn check(
    indices: &[usize],
    updates: &[usize],
    shape: &[usize],
    fresh: bool,
) -> Result<usize, Error> {
    let index_count = shape::elements(indices)?;
    let update_count = shape::elements(updates)?;
    let elements = shape::elements(shape)?;
    let error = |kind: fn([Vec<usize>; 3]) -> ScatterError| {
        Err(kind([indices.to_vec(), updates.to_vec(), shape.to_vec()]).into())
    };
    let Some((&depth, tuples)) = indices.split_last().filter(|_| !updates.is_empty()) else {
        return error(|[indices, updates, _]| ScatterError::UpdatesRank { indices, updates });
    };
    // Whether indices and updates are both empty, or none of indices, updates and output (of size `output`) is empty.
    let fits = |output: usize| match (index_count, update_count) {
        (0, 0) => true,
        (indices, updates) => indices > 0 && updates > 0 && output > 0,
    };
    let empty = |[indices, updates, shape]: [Vec<usize>; 3]| ScatterError::EmptyOutput {
        indices,
        updates,
        shape,
    };
    // For a new array, TensorFlow first checks the rank of its shape and only later its dimensions.
    if !fits(if fresh { shape.len() } else { elements }) {
        return error(empty);
    }
    let slice = updates.strip_prefix(tuples);
    if slice.is_none() || slice != shape.get(depth..) || tuples.is_empty() {
        return error(|[indices, updates, shape]| ScatterError::UpdatesShape {
            indices,
            updates,
            shape,
        });
    }
    if !fits(elements) {
        return error(empty);
    }
    Ok(depth)
}
