//! scatter_nd and tensor_scatter_nd: one row for each index tuple, combined with the slice of the destination that the
//! tuple selects.
//!
//! ```text
//! indices [lead…, depth]
//! updates [lead…, slice…]
//! result  [d0, d1, … d(depth-1), slice…]
//! ```
//!
//! Rows take effect one at a time, in row-major order unless [`ScatterOptions::any_order`] allows another order. If
//! several rows have the same slice, [`Combine::Update`] keeps the last of these rows, and the other combinations use
//! all of them. The semantics are the same as in TensorFlow 2.21 on the CPU, except that the depth is not limited to 7,
//! and that it can be 0 if there are no rows.
//!
//! | element type | add, sub, mul | min, max |
//! |---|---|---|
//! | bool | or, undefined, and | and, or |
//! | integers | wrap | compared as signed or unsigned, by the type |
//! | f32, f64 | rounded to the nearest | an update replaces an element only if the update is less (min) or greater (max) |
//! | f16, bf16 | as f32, then rounded to the nearest, after every row | as f32 |
//! | complex64, complex128 | add and sub by component; (a + bi)(c + di) = (ac - bd) + (ad + bc)i; each operation rounded as f32 or f64 | undefined |
//!
//! So min and max keep a NaN in the destination, ignore NaNs in the updates, and keep the first of two zeros with
//! different signs. The bits of a NaN that arithmetic produces are unspecified.

use super::methods::{host_methods, tensor_methods};
use crate::prelude::*;
use crate::{
    DType, Error, Plan, error,
    moves::{CombineOptions, Effect, IndexTensor, Move, Operation, Scatter},
    ops::index::{IndexShape, Policy},
    options::{NegativeIndex, OutOfRange},
    shape,
    walk::{Coordinate, Dim, MAX_UNIT, Side, Walk},
};

pub(crate) use crate::combine::Combine;

/// Options of `scatter_nd`, `tensor_scatter_nd` and `scatter_elements`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScatterOptions {
    /// The combination of a row with its slice. With `None`, it is the default of the operation in other libraries:
    ///
    /// | operation | `None` | as in |
    /// |---|---|---|
    /// | `scatter_nd`, into zeros | [`Combine::Add`] | `tf.scatter_nd` |
    /// | `tensor_scatter_nd` | [`Combine::Update`] | `tf.tensor_scatter_nd_update`, ONNX's `ScatterND` |
    /// | `scatter_elements` | [`Combine::Update`] | ONNX's `ScatterElements`, PyTorch's `scatter_` |
    pub combine: Option<Combine>,
    /// The treatment of a row whose tuple is out of range. [`OutOfRange::Ignore`] drops the row, as TensorFlow does
    /// under `bad_indices_policy="IGNORE"`. Under [`OutOfRange::Error`] one out-of-range tuple leaves the whole
    /// destination unchanged.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index. In ONNX it counts from the end, which is [`NegativeIndex::Wrap`].
    pub negative: NegativeIndex,
    /// True if several rows can be combined with one slice in any order. Results can then differ from run to run, and a
    /// GPU does not sort the rows of each slice. Otherwise rows are combined in order, as in TensorFlow's CPU kernels:
    /// results are bit-identical on every device and in every run, except for subnormal numbers, infinities and NaNs.
    ///
    /// This option has an effect only on a GPU, for floating-point elements, and not for [`Combine::Update`]. For these
    /// elements the order matters because sums, differences and products are rounded after each row, and because the
    /// minimum and the maximum of two zeros with different signs are the first zero.
    pub any_order: bool,
    /// The caller's promise that no two rows have the same slice. A GPU then moves or combines all rows in one dispatch
    /// and spends neither memory nor time on finding the rows of a slice: an update of a cache takes as long as copying
    /// the rows. Only updates with many rows that are not whole words of 4 bytes use the same steps as without the
    /// promise, which are then faster. Results and reports are the same.
    ///
    /// If two rows have the same slice nevertheless, its elements have unspecified values on a GPU. All other elements
    /// are correct, and no memory outside of the destination is accessed. On the CPU the promise makes no difference.
    pub unique: bool,
}

impl ScatterOptions {
    /// Returns the options for elements of this type, with the default combination of the operation.
    pub(super) fn combine_options(
        &self,
        default_combine: Combine,
        dtype: DType,
    ) -> Result<CombineOptions, Error> {
        let combine = self.combine.unwrap_or(default_combine);
        match combine.is_defined_for(dtype) {
            true => Ok(CombineOptions {
                combine,
                policy: Policy::new(self.out_of_range, self.negative),
                any_order: self.any_order,
                unique: self.unique,
            }),
            false => Err(error::scatter::undefined_combination(combine, dtype)),
        }
    }
}

/// Returns the walk of a scatter that is not empty. The innermost of `dims` steps along a slice of the destination,
/// unless a slice is a single element. Distances count elements.
pub(super) fn scatter_walk(
    dims: Vec<Dim>,
    coordinates: Vec<Coordinate>,
    combine: Combine,
    dtype: DType,
) -> Walk {
    let mut walk = Walk::strided(dtype.size(), 0, 0, dims);
    walk.columns = coordinates.len();
    walk.coordinates = coordinates;
    walk.points = Side::Dest;
    walk.counts_tuples = true;
    // Elements are joined into larger units only if they are moved unchanged, not if the combination computes with
    // them.
    walk.reduce(match combine.is_computation() {
        true => dtype.size(),
        false => MAX_UNIT,
    });
    walk
}

impl Plan {
    /// Plans scattering `updates` into zeros of this shape, at the positions in indices of this shape and type. The
    /// inputs are the updates and the indices. Updates are added unless the options choose another combination.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, DType, Plan};
    ///
    /// let plan = Plan::scatter_nd(&[4], &[3, 1], &[3], ScatterOptions::default(), DType::I32)?;
    /// let mut sums = [0xff; 4];
    /// plan.run_cpu(&[(&[1, 2, 3]).into(), (&[1, 3, 1]).into()], &mut [(&mut sums).into()])?;
    /// assert_eq!(sums, [0, 4, 0, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias = "scatter_add")]
    pub fn scatter_nd(
        shape: &[usize],
        indices: impl Into<IndexShape>,
        updates: &[usize],
        options: ScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        Self::plan_scatter(shape, indices.into(), updates, options, dtype, true)
    }

    /// Plans scattering `updates` into an array of this shape, in place, at the positions in indices of this shape and
    /// type. The inputs are the updates and the indices. Updates replace old values unless the options choose another
    /// combination.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, DType, Plan};
    ///
    /// let options = ScatterOptions::default();
    /// let plan = Plan::tensor_scatter_nd(&[3, 2], &[2, 1], &[2, 2], options, DType::I32)?;
    /// let mut table = [1, 2, 3, 4, 5, 6];
    /// plan.run_cpu(&[(&[10, 20, 30, 40]).into(), (&[2, 0]).into()], &mut [(&mut table).into()])?;
    /// assert_eq!(table, [30, 40, 3, 4, 10, 20]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias("scatter_add", "index_add", "index_put"))]
    pub fn tensor_scatter_nd(
        shape: &[usize],
        indices: impl Into<IndexShape>,
        updates: &[usize],
        options: ScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        Self::plan_scatter(shape, indices.into(), updates, options, dtype, false)
    }

    fn plan_scatter(
        shape: &[usize],
        indices: IndexShape,
        updates: &[usize],
        options: ScatterOptions,
        dtype: DType,
        starts_from_zeros: bool,
    ) -> Result<Self, Error> {
        let (operation, default_combine) = match starts_from_zeros {
            true => (Operation::ScatterNd, Combine::Add),
            false => (Operation::TensorScatterNd, Combine::Update),
        };
        let depth = check_shapes(shape, &indices.shape, updates, starts_from_zeros)?;
        let options = options.combine_options(default_combine, dtype)?;
        let (indexed_sizes, slice_shape) = shape.split_at(depth);
        let (slice_length, tuple_dims) = (slice_shape.iter().product(), indices.shape.len() - 1);
        let walk = (!updates.contains(&0)).then(|| {
            let count = indices.shape[..tuple_dims].iter().product();
            let dims = vec![
                Dim::with_own_tuples(count, usize::cast_signed(slice_length)),
                Dim {
                    to: 1,
                    ..Dim::shared(slice_length, 1)
                },
            ];
            let strides = shape::row_major_strides(shape);
            let coordinates = indexed_sizes.iter().zip(&strides).enumerate();
            let coordinates = coordinates.map(|(column, (&size, &stride))| {
                Coordinate::indexed(size, stride.cast_signed(), column)
            });
            scatter_walk(dims, coordinates.collect(), options.combine, dtype)
        });
        Ok(Self::from_move(Move {
            operation,
            shape: shape.to_vec(),
            dtype,
            source: updates.to_vec(),
            walk,
            effect: Effect::Scatter(Scatter {
                slices: indexed_sizes.iter().product(),
                starts_from_zeros,
                dtype,
                options,
            }),
            conversion: None,
            indices: Some(IndexTensor::new(indices, tuple_dims, options.policy)?),
        }))
    }
}

host_methods! {
    /// Scatters `updates` into zeros of `shape`, at the positions in `indices`: see [`Plan::scatter_nd`]. The report
    /// counts the index tuples that were out of range. Indices are `i32`, `i64` or `u32`.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (rows, updates) = ((&[1, 3, 1], &[3, 1]), (&[10, 20, 30], &[3]));
    /// let (sums, report) = backend.scatter_nd(&[3], rows, updates, ScatterOptions::default())?;
    /// assert_eq!(sums.data, [0, 40, 0]);
    /// assert_eq!(report.first.unwrap().index, [3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::Length`]; [`Error::ShapeTooLarge`]; [`Error::InvalidIndices`] if the policy makes
    /// out-of-range tuples an error; or an error of the device, such as [`Error::DTypeOnDevice`] for element types that
    /// the device cannot combine.
    #[doc(alias = "scatter_add")]
    fn scatter_nd<I: IndexElement>(by shape: &[usize], rows indices: I, rows updates: T, by options: ScatterOptions)
        -> reported = |dtype| Plan::scatter_nd(shape, (indices, I::DTYPE), updates, options, dtype),
        [updates, indices];

    /// Scatters `updates` into a copy of `tensor`, at the positions in `indices`, by the rules of
    /// [`Plan::tensor_scatter_nd`]. The report counts the index tuples that were out of range. The errors are the same
    /// as for [`Backend::scatter_nd`](crate::Backend::scatter_nd).
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let options = ScatterOptions::default();
    /// let (table, rows) = ((&[0, 10, 20, 30, 40], &[5]), (&[3, 1], &[2, 1]));
    /// let (updated, _) = backend.tensor_scatter_nd(table, rows, (&[5, 100], &[2]), options)?;
    /// assert_eq!(updated.data, [0, 100, 20, 5, 40]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[doc(alias("scatter_add", "index_add", "index_put"))]
    fn tensor_scatter_nd<I: IndexElement>(rows tensor: T, rows indices: I, rows updates: T, by options: ScatterOptions)
        -> reported = |dtype| Plan::tensor_scatter_nd(
            tensor, (indices, I::DTYPE), updates, options, dtype),
        [updates, indices, tensor];
}

tensor_methods! {
    /// Scatters `updates` into zeros of `shape`, at the positions in `indices`: see [`Plan::scatter_nd`]. Returns the
    /// new tensor, and the report of tuples that were out of range. The errors are the same as for
    /// [`Tensor::tensor_scatter_nd`](crate::Tensor::tensor_scatter_nd).
    #[doc(alias = "scatter_add")]
    fn scatter_nd(of updates, by shape: &[usize], rows indices, lead updates, by options: ScatterOptions)
        -> reported = |dtype| Plan::scatter_nd(shape, indices, updates.shape(), options, dtype),
        [updates, indices];

    /// Scatters `updates` into this tensor, in place, at the positions in `indices`: see [`Plan::tensor_scatter_nd`].
    /// Returns the report of tuples that were out of range.
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone, is copied first. On a GPU the call
    /// submits the work and does not wait for it, unless the policy is [`OutOfRange::Error`] and the backend has no
    /// late errors.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut table = backend.upload((&[0.5f32; 8], &[4, 2]))?;
    /// let rows = backend.upload((&[2u32, 0], &[2, 1]))?;
    /// let updates = backend.upload((&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]))?;
    /// table.tensor_scatter_nd(&rows, &updates, ScatterOptions::default())?;
    /// assert_eq!(table.to_vec::<f32>()?, [3.0, 4.0, 0.5, 0.5, 1.0, 2.0, 0.5, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], for example for an argument that does not match this tensor; [`Error::ShapeTooLarge`];
    /// [`Error::InvalidIndices`] if the policy makes out-of-range tuples an error and the backend has no late errors;
    /// or an error of the device, such as [`Error::DTypeOnDevice`] for element types that the device cannot combine. An
    /// error leaves the tensor unchanged.
    #[doc(alias("scatter_add", "index_add", "index_put"))]
    fn tensor_scatter_nd(self tensor, rows indices, like updates, by options: ScatterOptions)
        -> changed = |dtype| Plan::tensor_scatter_nd(
            tensor.shape(), indices, updates.shape(), options, dtype),
        [updates, indices];
}

/// Checks the shape rules, in TensorFlow's order. Returns the number of integers in an index tuple.
fn check_shapes(
    shape: &[usize],
    indices_shape: &[usize],
    updates_shape: &[usize],
    starts_from_zeros: bool,
) -> Result<usize, Error> {
    let index_count = shape::elements(indices_shape)?;
    let update_count = shape::elements(updates_shape)?;
    let element_count = shape::elements(shape)?;
    let Some((&depth, tuple_shape)) = indices_shape
        .split_last()
        .filter(|_| !updates_shape.is_empty())
    else {
        return Err(error::scatter::updates_rank(indices_shape, updates_shape));
    };
    // True if indices and updates are both empty, or if indices, updates and the output (of size `output_size`) all
    // have elements.
    let is_consistent = |output_size: usize| match (index_count, update_count) {
        (0, 0) => true,
        (index_count, update_count) => index_count > 0 && update_count > 0 && output_size > 0,
    };
    // For a new array, TensorFlow first checks only that the array's rank is not 0. It checks later that none of the
    // array's dimensions is 0.
    if !is_consistent(if starts_from_zeros {
        shape.len()
    } else {
        element_count
    }) {
        return Err(error::scatter::empty_output(
            indices_shape,
            updates_shape,
            shape,
        ));
    }
    let slice_shape = updates_shape.strip_prefix(tuple_shape);
    if slice_shape.is_none() || slice_shape != shape.get(depth..) {
        return Err(error::scatter::updates_shape(
            indices_shape,
            updates_shape,
            shape,
        ));
    }
    if !is_consistent(element_count) {
        return Err(error::scatter::empty_output(
            indices_shape,
            updates_shape,
            shape,
        ));
    }
    // TensorFlow's first check treats a vector of indices as one tuple, and its last check treats it as tuples of one
    // integer each. Only an empty vector passes both checks, and only if the destination's first dimension is also
    // empty.
    if tuple_shape.is_empty() && (depth > 0 || shape.first() != Some(&0)) {
        return Err(error::scatter::updates_shape(
            indices_shape,
            updates_shape,
            shape,
        ));
    }
    Ok(depth)
}
