//! Selection by mask: nonzero, boolean_mask, compress, select, masked_update and masked_scatter.
//!
//! A mask is an array of bool or u8. An element is true unless it is 0. Two kinds of moves read masks:
//!
//! - A search finds the positions of the true elements, in row-major order, as index tuples. `boolean_mask` and
//!   `compress` are a search and a gather, and `masked_scatter` is a search and a scatter. The host can read the number
//!   of true elements only when the device is done. So the caller passes a capacity. Rows after the last position are
//!   -1, which is out of range for gathers and scatters.
//! - A masked update writes the elements of a view where a mask is true. It is a walk with the bytes of the mask as
//!   index tuples. `select` copies y and updates the copy with x.
//!
//! For host values the host counts the true elements first, so results have exactly this number of rows.

use super::{
    index::Policy,
    indexed::{added_dims, coordinates_for, kept_dims},
    methods::{HostMask, host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, IntoView, Plan, View,
    backend::Device,
    cpu::{self, Dest, Pieces},
    error,
    moves::{Effect, Find, IndexTensor, Move, Operation},
    ops::{index::IndexType, scatter_nd::ScatterOptions},
    plan::{ArraySpec, Operand, Shortcut, Steps},
    shape,
    walk::{Coordinate, Dim, MAX_UNIT, Walk},
};

/// The Rust type of a mask's elements: `bool` or `u8`. Every `u8` except 0 counts as true.
pub trait MaskElement: Element + sealed::Mask {}

impl MaskElement for bool {}
impl MaskElement for u8 {}

mod sealed {
    pub trait Mask {}
    impl Mask for bool {}
    impl Mask for u8 {}
}

/// The result of a search: the number of true elements, and the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of true elements, even if it is above the capacity.
    pub(crate) count: usize,
    /// The capacity of the result. The search uses the first true elements, in row-major order.
    pub(crate) capacity: usize,
}

impl Found {
    /// Returns the words that a device writes for this result: see [`Plan::with_count`].
    pub(crate) fn words(self) -> [u32; COUNT_WORDS] {
        let word = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let kept_rows = self.count.min(self.capacity);
        let group_count = kept_rows.div_ceil(INDIRECT_WORKGROUP);
        let count = self.count as u64;
        let [low, high] =
            [count % (1 << 32), count >> 32].map(|half| u32::try_from(half).unwrap_or(0));
        let (width, height) = (
            group_count.min(INDIRECT_WIDTH),
            group_count.div_ceil(INDIRECT_WIDTH),
        );
        [
            word(width),
            word(height),
            1,
            word(kept_rows),
            low,
            high,
            0,
            0,
        ]
    }
}

/// The number of 32-bit words in the output that reports the number of true elements.
pub(crate) const COUNT_WORDS: usize = 8;

/// The number of rows for each workgroup of an indirect dispatch.
pub(crate) const INDIRECT_WORKGROUP: usize = 64;
/// The largest number of workgroups along the first dimension of an indirect dispatch.
pub(crate) const INDIRECT_WIDTH: usize = 65_535;

impl Steps {
    /// Adds a search in an input. Returns the operand with the positions that it finds.
    fn search(&mut self, mask_input: usize, find: Move) -> Operand {
        let rows = self.temp(&find.shape, find.dtype);
        self.push(find, Operand::Input(mask_input), None, rows.clone());
        rows
    }
}

impl Move {
    /// Makes a search in a mask. Fails if `index_dtype` cannot hold all positions and -1.
    fn of_find(
        mask_shape: &[usize],
        capacity: Option<usize>,
        index_dtype: DType,
    ) -> Result<Self, Error> {
        let element_count = shape::elements(mask_shape)?;
        let index_type = IndexType::from_dtype(index_dtype, "positions")?;
        // -1 must differ from every position in this type.
        let max_size = match index_type {
            IndexType::I32 => i32::MAX as usize,
            IndexType::U32 => u32::MAX as usize,
            _ => usize::MAX,
        };
        if mask_shape.iter().any(|&size| size > max_size) {
            return Err(error::mask::index(index_dtype, mask_shape));
        }
        let capacity = capacity.unwrap_or(element_count);
        let shape = vec![capacity, mask_shape.len()];
        shape::elements(&shape)?;
        Ok(Self {
            operation: Operation::Nonzero,
            shape,
            dtype: index_dtype,
            source: mask_shape.to_vec(),
            walk: None,
            effect: Effect::Find(Find {
                capacity,
                index_type,
            }),
            conversion: None,
            indices: None,
        })
    }
}

impl Plan {
    /// Plans the search for the true elements of a mask of this shape: NumPy's `argwhere`, and TensorFlow's `tf.where`
    /// of one argument. The result has `capacity` rows: one for each true element, in row-major order, and then rows of
    /// -1. A capacity of `None` stands for the number of elements of the mask. The report has the number of true
    /// elements, and [`Plan::with_count`] also writes it on the device.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`IndexDtype`; `MaskIndex` for a type that is too small for some positions);
    /// [`Error::ShapeTooLarge`].
    #[doc(alias("argwhere", "where"))]
    pub fn nonzero(mask: &[usize], capacity: Option<usize>, index: DType) -> Result<Self, Error> {
        let find = Move::of_find(mask, capacity, index)?;
        let mut output = ArraySpec::result(&find.shape, index);
        output.name = "rows";
        let mut plan = Steps::new(
            Operation::Nonzero,
            vec![ArraySpec::mask("mask", mask)],
            output,
        );
        plan.push(find, Operand::Input(0), None, Operand::Output(0));
        Ok(plan.plan())
    }

    /// Plans the slices of `x` that a mask selects: TensorFlow's `boolean_mask`. The inputs are x and the mask. The
    /// mask covers the dimensions of x from `axis` on; a negative `axis` counts from the end. In the result, one
    /// dimension of `capacity` positions replaces these dimensions. A capacity of `None` stands for the number of
    /// elements of the mask. The positions after the last selected slice are zeros.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let plan = Plan::boolean_mask(&[3, 2], &[3], 0, Some(2), DType::U8)?;
    /// let (x, mask, mut kept) = ([1u8, 2, 3, 4, 5, 6], [true, false, true], [0u8; 4]);
    /// let report = plan.run_cpu(&[(&x).into(), (&mask).into()], &mut [(&mut kept).into()])?;
    /// assert_eq!((kept, report.found.unwrap()), ([1, 2, 5, 6], 2));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`MaskScalar`, `Axis`, `MaskShape`); [`Error::ShapeTooLarge`].
    #[doc(alias = "masked_select")]
    pub fn boolean_mask(
        x: impl IntoView,
        mask: &[usize],
        axis: isize,
        capacity: Option<usize>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let axis = x.masked_axis(mask, axis)?;
        let moves = find_and_gather(&x, mask, axis, capacity, dtype)?;
        Ok(Self::plan_boolean_mask(&x, mask, axis, moves, false))
    }

    /// Plans the positions of `x` along `axis` at which a condition is true: NumPy's `compress`. The inputs are x and
    /// the condition, which has one dimension and can be shorter than the axis. A negative axis counts from the end.
    /// Without an axis, x counts as one dimension, in row-major order; a view is then copied first, unless it has a
    /// single stride. `capacity` is the same as in [`Plan::boolean_mask`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis`; `Condition`); [`Error::ShapeTooLarge`].
    pub fn compress(
        x: impl IntoView,
        condition: &[usize],
        axis: Option<isize>,
        capacity: Option<usize>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let (array, is_copied) = match axis {
            Some(_) => (x.clone(), false),
            None => match x.as_flat() {
                Some(flat) => (flat, false),
                None => (View::whole(&[x.len()]), true),
            },
        };
        let (view, axis) = array.along_condition(condition, axis.unwrap_or(0))?;
        let moves = find_and_gather(&view, condition, axis, capacity, dtype)?;
        Ok(Self::plan_boolean_mask(
            &x, condition, axis, moves, is_copied,
        ))
    }

    /// Plans a search in a mask and a gather at the positions that the search finds. The gather reads `x` or, if
    /// `is_copied` is true, a copy of `x` in row-major order.
    fn plan_boolean_mask(
        x: &View,
        mask_shape: &[usize],
        axis: usize,
        (find, gather): (Move, Move),
        is_copied: bool,
    ) -> Self {
        let dtype = gather.dtype;
        let inputs = vec![
            ArraySpec::new("x", x, dtype),
            ArraySpec::mask("mask", mask_shape),
        ];
        let output = ArraySpec::result(&gather.shape, dtype);
        let mut plan = Steps::new(Operation::Named("boolean_mask"), inputs, output);
        let mut source = Operand::Input(0);
        if is_copied {
            let copy = plan.temp(&x.shape, dtype);
            plan.push(
                Move::from_view(x.clone(), dtype),
                source,
                None,
                copy.clone(),
            );
            source = copy;
        }
        let rows = plan.search(1, find);
        let slice_bytes = gather.shape.iter().skip(1).product::<usize>() * dtype.size();
        let is_kept_in_one_pass = keeps_in_one_pass(x, axis, slice_bytes);
        let shortcut = is_kept_in_one_pass.then_some(Shortcut::Keep(slice_bytes));
        plan.push(gather, source, Some(rows), Operand::Output(0));
        plan.with_shortcut(shortcut).plan()
    }

    /// Plans an array with elements of `x` where a mask of this shape is true, and elements of `y` elsewhere:
    /// TensorFlow's `tf.where` of three arguments. The inputs are the mask, x and y, which are broadcast to one shape.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`); [`Error::ShapeTooLarge`].
    #[doc(alias = "where")]
    pub fn select(
        mask: &[usize],
        x: impl IntoView,
        y: impl IntoView,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (x, y) = (x.into_view()?, y.into_view()?);
        let shape = common_shape([mask, &x.shape, &y.shape])?;
        let update = Move::of_masked_update(&x, mask, &View::whole(&shape), dtype)?;
        let copy = Move::from_view(y.broadcast_to(&shape)?, dtype);
        let inputs = vec![
            ArraySpec::mask("mask", mask),
            ArraySpec::new("x", &x, dtype),
            ArraySpec::new("y", &y, dtype),
        ];
        let mut plan = Steps::new(
            Operation::Named("select"),
            inputs,
            ArraySpec::result(&shape, dtype),
        );
        plan.push(copy, Operand::Input(2), None, Operand::Output(0));
        let mask_operand = Some(Operand::Input(0));
        plan.push(update, Operand::Input(1), mask_operand, Operand::Output(0));
        Ok(plan.plan())
    }

    /// Plans writing the elements of `value` to `dest`, in place, where a mask of this shape is true. The inputs are
    /// the value and the mask, which are broadcast to the shape of `dest`. If `dest` is a view, the other elements of
    /// its memory keep their values.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// // x[mask] = 9
    /// let plan = Plan::masked_update(&[], &[3], &[3], DType::F32)?;
    /// let mut x = [1.0f32, 2.0, 3.0];
    /// plan.run_cpu(&[(&[9.0f32]).into(), (&[false, true, true]).into()], &mut [(&mut x).into()])?;
    /// assert_eq!(x, [1.0, 9.0, 9.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`; `Repeats` if `dest` selects an element twice, as a broadcast does, or
    /// `Undecided` if the search for such an element takes too long); [`Error::ShapeTooLarge`].
    #[doc(alias = "masked_fill")]
    pub fn masked_update(
        value: impl IntoView,
        mask: &[usize],
        dest: impl IntoView,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (value, dest) = (value.into_view()?, dest.into_view()?);
        let update = Move::of_masked_update(&value, mask, &dest, dtype)?;
        Ok(Self::from_view(update, &value))
    }

    /// Plans the replacement of the slices that a mask selects from an array of shape `x`, in place: in row-major
    /// order, each slice gets the next value. The inputs are the values and the mask. Values after the last true
    /// element are not used, and slices for which there is no value stay unchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`MaskScalar`, `MaskShape`, `MaskValues`); [`Error::ShapeTooLarge`].
    pub fn masked_scatter(
        x: &[usize],
        mask: &[usize],
        values: &[usize],
        dtype: DType,
    ) -> Result<Self, Error> {
        // The mask's dimensions, the leading dimensions of x, are merged to one if a 32-bit number can count their
        // elements.
        let (merged_find, _) = find_and_gather(&View::new(x)?, mask, 0, Some(0), dtype)?;
        let (merged_sizes, index_dtype) = (merged_find.source, merged_find.dtype);
        let x_slice_shape = &x[mask.len()..];
        let Some((&count, slice_shape)) = values
            .split_first()
            .filter(|values| values.1 == x_slice_shape)
        else {
            return Err(error::mask::values(values, x, mask.len()));
        };
        let inputs = vec![
            ArraySpec::new("values", &View::new(values)?, dtype),
            ArraySpec::mask("mask", mask),
        ];
        let output = ArraySpec::result(x, dtype);
        let mut plan = Steps::new(Operation::Named("masked_scatter"), inputs, output).in_place();
        let find = Move::of_find(&merged_sizes, Some(count), index_dtype)?;
        let tuples_shape = find.shape.clone();
        let rows = plan.search(1, find);
        if !x.contains(&0) && count > 0 {
            let options = ScatterOptions {
                unique: true,
                ..ScatterOptions::default()
            };
            let shape = [&merged_sizes, slice_shape].concat();
            let tuples = (&tuples_shape, index_dtype);
            let scatter = Self::tensor_scatter_nd(&shape, tuples, values, options, dtype)?;
            if let Some(scatter) = scatter.into_single_move() {
                plan.push(scatter, Operand::Input(0), Some(rows), Operand::Output(0));
            }
        }
        Ok(plan.plan())
    }
}

/// Returns whether the CPU selects slices of `piece_bytes` bytes in one pass, for a mask that covers the dimensions of
/// `x` from `axis` on.
fn keeps_in_one_pass(x: &View, axis: usize, piece_bytes: usize) -> bool {
    axis == 0 && piece_bytes <= cpu::keep::MAX_PIECE_BYTES && x.is_all()
}

/// Returns the dimension after the dimensions that a mask covers. Fails if the mask is a scalar or has other sizes than
/// these dimensions of the view.
fn masked_end(view: &View, mask_shape: &[usize], axis: usize) -> Result<usize, Error> {
    if mask_shape.is_empty() {
        return Err(error::mask::scalar());
    }
    let end_dim = axis.saturating_add(mask_shape.len());
    match view.shape.get(axis..end_dim) == Some(mask_shape) {
        true => Ok(end_dim),
        false => Err(error::mask::shape(mask_shape, &view.shape, axis)),
    }
}

/// Returns the search in a mask, and the gather of the slices that the mask selects from a view.
fn find_and_gather(
    view: &View,
    mask_shape: &[usize],
    axis: usize,
    capacity: Option<usize>,
    dtype: DType,
) -> Result<(Move, Move), Error> {
    let end_dim = masked_end(view, mask_shape, axis)?;
    // Dimensions with a common stride are merged to one dimension, so that a position is one number.
    let (sizes, strides) = (&view.shape[axis..end_dim], &view.strides[axis..end_dim]);
    let element_count = shape::elements(mask_shape)?;
    let (merged_sizes, coordinates): (_, Vec<_>) = match common_stride(sizes, strides) {
        Some(stride) if i32::try_from(element_count).is_ok() => (
            vec![element_count],
            vec![Coordinate::indexed(element_count, stride, 0)],
        ),
        _ => (
            mask_shape.to_vec(),
            coordinates_for(view, axis..end_dim, 0).collect(),
        ),
    };
    let fits_u32 = merged_sizes.iter().all(|&size| u32::try_from(size).is_ok());
    let index_dtype = if fits_u32 { DType::U32 } else { DType::I64 };
    let find = Move::of_find(&merged_sizes, capacity, index_dtype)?;
    let dims = kept_dims(view, 0..axis)
        .chain(added_dims(&find.shape[..1]))
        .chain(kept_dims(view, end_dim..view.shape.len()))
        .collect();
    let tuples = (&find.shape, index_dtype).into();
    let gather = Move::of_gather(
        Operation::Named("boolean_mask"),
        view.clone(),
        dims,
        coordinates,
        IndexTensor::new(tuples, 1, Policy::default())?,
        dtype,
    )?;
    Ok((find, gather))
}

impl View {
    /// Returns the elements in row-major order as one dimension, or `None` if they have no single stride.
    fn as_flat(&self) -> Option<Self> {
        let stride = common_stride(&self.shape, &self.strides)?;
        Some(Self {
            source: self.source.clone(),
            offset: self.offset,
            strides: vec![if self.len() > 1 { stride } else { 0 }],
            shape: vec![self.len()],
        })
    }

    /// Returns `axis` counted from 0. Fails if the view does not have this axis, or if the mask is a scalar.
    fn masked_axis(&self, mask_shape: &[usize], axis: isize) -> Result<usize, Error> {
        if mask_shape.is_empty() {
            return Err(error::mask::scalar());
        }
        let rank = self.shape.len();
        shape::axis(axis, rank).ok_or_else(|| error::mask::axis(axis, rank))
    }

    /// Returns the view of the first positions along `axis`, one for each element of the condition, and `axis` counted
    /// from 0. Fails if the view does not have this axis, or if the condition has another rank than 1 or is longer than
    /// the axis.
    fn along_condition(
        &self,
        condition_shape: &[usize],
        axis: isize,
    ) -> Result<(Self, usize), Error> {
        let &[length] = condition_shape else {
            return Err(error::mask::condition_rank(condition_shape));
        };
        let rank = self.shape.len();
        let nonnegative_axis =
            shape::axis(axis, rank).ok_or_else(|| error::mask::axis(axis, rank))?;
        let size = self.shape[nonnegative_axis];
        match length <= size {
            true => Ok((self.along(nonnegative_axis, 0, 1, length), nonnegative_axis)),
            false => Err(error::mask::condition(length, size)),
        }
    }
}

impl Move {
    /// Makes the move that writes the elements of `value` to `dest` where a mask is true.
    fn of_masked_update(
        value: &View,
        mask_shape: &[usize],
        dest: &View,
        dtype: DType,
    ) -> Result<Self, Error> {
        let source = value.broadcast_to(&dest.shape)?;
        let mask_view = View::new(mask_shape)?.broadcast_to(&dest.shape)?;
        dest.check_no_repeats()?;
        let walk = (!dest.is_empty()).then(|| {
            let sides = source
                .strides
                .iter()
                .zip(&dest.strides)
                .zip(&mask_view.strides);
            let dims = dest.shape.iter().zip(sides);
            let dims = dims.map(|(&size, ((&from, &to), &tuple))| Dim {
                size,
                from,
                to,
                tuple: tuple.unsigned_abs(),
            });
            let (from, to) = (source.offset.cast_signed(), dest.offset.cast_signed());
            let mut walk = Walk::strided(dtype.size(), from, to, dims.collect());
            walk.coordinates = vec![Coordinate::indexed(1, 0, 0)];
            walk.columns = 1;
            walk.reduce(MAX_UNIT);
            walk
        });
        Ok(Self {
            operation: Operation::MaskedUpdate,
            shape: dest.source.clone(),
            dtype,
            source: value.source.clone(),
            walk,
            effect: Effect::Update,
            conversion: None,
            indices: Some(IndexTensor {
                target: Some(vec![1]),
                index_type: IndexType::Mask,
                ..IndexTensor::new(mask_shape.into(), mask_shape.len(), Policy::default())?
            }),
        })
    }
}

/// Returns the distance between neighbours in row-major order, if all neighbours in dimensions of these sizes and
/// strides have the same distance. Otherwise returns `None`.
fn common_stride(sizes: &[usize], strides: &[isize]) -> Option<isize> {
    let mut dims = sizes.iter().zip(strides).rev().filter(|dim| *dim.0 != 1);
    let Some((&size, &stride)) = dims.next() else {
        return Some(0);
    };
    let mut next_stride = stride * size.cast_signed();
    dims.all(|(&size, &dim_stride)| {
        let is_joined = dim_stride == next_stride;
        next_stride = dim_stride * size.cast_signed();
        is_joined
    })
    .then_some(stride)
}

/// Returns the shape to which arrays of these shapes are broadcast, by the rule of TensorFlow and NumPy.
fn common_shape(shapes: [&[usize]; 3]) -> Result<Vec<usize>, Error> {
    let mut broadcast_shape = Vec::new();
    for shape in shapes {
        broadcast_shape = shape::broadcast(&broadcast_shape, shape)
            .ok_or_else(|| error::view::broadcast(shape, &broadcast_shape))?;
    }
    shape::elements(&broadcast_shape)?;
    Ok(broadcast_shape)
}

impl Backend {
    /// Returns the positions of the true elements of a mask, in row-major order, with shape `[count, rank]`:
    /// TensorFlow's `tf.where` of one argument, NumPy's `argwhere`. For a scalar mask `rank` is 0, as in NumPy. On
    /// every backend, the host finds the positions.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let positions = Backend::cpu().nonzero((&[false, true, true, false], &[2, 2]))?;
    /// assert_eq!((positions.shape, positions.data), (vec![2, 2], vec![0, 1, 1, 0]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; [`Error::OutOfHostMemory`].
    #[doc(alias("argwhere", "where"))]
    pub fn nonzero<'a, M: MaskElement>(
        &self,
        mask: impl Into<ArrayRef<'a, M>>,
    ) -> Result<Array<i64>, Error> {
        let (mask, shape) = mask.into().row_major("mask", self)?;
        let mask = M::as_bytes(&mask);
        let plan = Plan::nonzero(&shape, Some(cpu::mask::count(mask)), DType::I64)?;
        // The host finds the positions, whichever device runs other operations.
        Ok(Self::cpu().run(&plan, &[mask.into()])?.0)
    }

    /// Returns the slices of `x` that a mask selects, in row-major order: TensorFlow's `boolean_mask`, and NumPy's
    /// `x[mask]` if `axis` is 0. The mask covers the dimensions of `x` from `axis` on; a negative `axis` counts from
    /// the end.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let x = (&[1, 2, 3, 4, 5, 6], &[3, 2]);
    /// let rows = Backend::cpu().boolean_mask(x, (&[true, false, true], &[3]), 0)?;
    /// assert_eq!((rows.shape, rows.data), (vec![2, 2], vec![1, 2, 5, 6]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`MaskScalar`, `Axis`, `MaskShape`); [`Error::Length`]; or an error of the device.
    #[doc(alias = "masked_select")]
    pub fn boolean_mask<'a, T: Element, M: MaskElement>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        mask: impl Into<ArrayRef<'a, M>>,
        axis: isize,
    ) -> Result<Array<T>, Error> {
        let (x, view) = x.into().memory("x")?;
        let (mask, HostMask { shape, count }) = HostMask::read(mask.into(), "mask", self)?;
        let first_axis = view.masked_axis(&shape, axis)?;
        let element_shape = &view.shape[masked_end(&view, &shape, first_axis)?..];
        let piece_bytes = element_shape.iter().product::<usize>() * size_of::<T>();
        // Planning takes several times as long as selecting a few rows.
        if self.device == Device::Cpu && keeps_in_one_pass(&view, first_axis, piece_bytes) {
            let (x, mask) = (T::as_bytes(&x), M::as_bytes(&mask));
            let kept_shape = [&[count], element_shape].concat();
            let keep =
                |dest: Dest<'_>| Ok(cpu::keep::run(piece_bytes, x, mask, dest, self.threads));
            return Ok(Array::collect(&kept_shape, Pieces::WithZeros, keep)?.0);
        }
        let plan = Plan::boolean_mask(&view, &shape, axis, Some(count), T::DTYPE)?;
        Ok(self
            .run(&plan, &[(&x[..]).into(), M::as_bytes(&mask).into()])?
            .0)
    }
}

host_methods! {
    /// Selects the positions of `x` along `axis` at which a condition is true: NumPy's `compress` and ONNX's
    /// `Compress`. The condition has one dimension and can be shorter than the axis. A negative axis counts from the
    /// end. Without an axis, `x` counts as one dimension, in row-major order.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let x = (&[1, 2, 3, 4, 5, 6], &[2, 3]);
    /// let columns = Backend::cpu().compress(x, (&[false, true], &[2]), Some(1))?;
    /// assert_eq!((columns.shape, columns.data), (vec![2, 1], vec![2, 5]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis`; `Condition`, even for a condition that is longer than the axis but false after its
    /// end, which NumPy allows); [`Error::Length`]; or an error of the device.
    fn compress<M: MaskElement>(view x: T, mask condition: M, by axis: Option<isize>)
        -> made = |dtype| Plan::compress(x, &condition.shape, axis, Some(condition.count), dtype), [x, condition];

    /// Returns elements of `x` where the mask is true, and elements of `y` elsewhere: TensorFlow's `tf.where` of three
    /// arguments, NumPy's and ONNX's `where`. The mask, `x` and `y` are broadcast to one shape.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let mask = (&[true, false, true], &[3]);
    /// let chosen = Backend::cpu().select(mask, (&[1, 2, 3], &[3]), (&[-1], &[]))?;
    /// assert_eq!(chosen.data, [1, -1, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`); [`Error::Length`]; [`Error::ShapeTooLarge`]; or an error of the device.
    #[doc(alias = "where")]
    fn select<M: MaskElement>(rows mask: M, view x: T, view y: T)
        -> made = |dtype| Plan::select(mask, x, y, dtype), [mask, x, y];

    /// Returns a copy of `x` in which `values`, in row-major order, replace the slices that a mask selects: NumPy's
    /// `x[mask] = values`. The mask covers the first dimensions of `x`. To write the same value to all selected
    /// elements, use [`Backend::select`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let mask = (&[1u8, 0, 1], &[3]);
    /// let changed = Backend::cpu().masked_scatter((&[1, 2, 3], &[3]), mask, (&[10, 30], &[2]))?;
    /// assert_eq!(changed.data, [10, 2, 30]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`MaskScalar`, `MaskShape`, `MaskValues`, `MaskCount`); [`Error::Length`]; or an error of
    /// the device.
    fn masked_scatter<M: MaskElement>(rows x: T, mask mask: M, rows values: T)
        -> made = |dtype| Plan::masked_scatter(x, &mask.shape, values, dtype)
            .and_then(|plan| check_count(mask.count, values[0]).map(|()| plan)),
        [values, mask, x];
}

tensor_methods! {
    /// Returns the positions of the true elements of this mask, in row-major order, as i64 of shape `[capacity, rank]`:
    /// TensorFlow's `tf.where` of one argument, NumPy's `argwhere`. Rows after the last position are -1.
    ///
    /// The mask is a tensor of bool or u8. On a GPU the call submits the work. It neither waits nor reads anything
    /// back. `capacity` is the largest number of positions that the result can hold; `None` stands for the number of
    /// elements of the mask. If more elements are true, the result has the first `capacity` positions. The report has
    /// the number of all true elements.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mask = backend.upload((&[0u8, 1, 1, 0], &[2, 2]))?;
    /// let (rows, report) = mask.nonzero(Some(3))?;
    /// assert_eq!(rows.to_vec::<i64>()?, [0, 1, 1, 0, -1, -1]);
    /// assert_eq!(report.wait()?.found.unwrap(), 2);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`MaskDtype`); [`Error::ShapeTooLarge`]; or an error of the device.
    #[doc(alias("argwhere", "where"))]
    fn nonzero(self mask, by capacity: Option<usize>)
        -> reported = |_dtype| Plan::nonzero(mask.shape(), capacity, DType::I64), [mask];

    /// Returns the slices of this tensor that a mask selects, in row-major order: see [`Plan::boolean_mask`]. The
    /// positions after the last selected slice are zeros.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let boxes = backend.upload((&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]))?;
    /// let keep = backend.upload((&[true, false, true], &[3]))?;
    /// let (kept, report) = boxes.boolean_mask(&keep, 0, None)?;
    /// assert_eq!(kept.to_vec::<f32>()?, [1.0, 2.0, 5.0, 6.0, 0.0, 0.0]);
    /// assert_eq!(report.wait()?.found.unwrap(), 2);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`DeviceMismatch`, `MaskDtype`, `MaskScalar`, `Axis`, `MaskShape`);
    /// [`Error::ShapeTooLarge`]; or an error of the device.
    #[doc(alias = "masked_select")]
    fn boolean_mask(self x, rows mask, by axis: isize, by capacity: Option<usize>)
        -> reported = |dtype| Plan::boolean_mask(x.layout(), mask.shape(), axis, capacity, dtype), [x, mask];

    /// Writes the elements of `value` into this tensor where a mask is true, in place: NumPy's `x[mask] = value` for
    /// one value. `value` and the mask are broadcast to the shape of this tensor.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut x = backend.upload((&[1, -2, 3, -4], &[4]))?;
    /// let negative = backend.upload((&[false, true, false, true], &[4]))?;
    /// x.masked_update(&negative, &backend.upload((&[0], &[]))?)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 0, 3, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`, `DeviceMismatch`, `DtypeMismatch`, `MaskDtype`); or an error of the device.
    #[doc(alias = "masked_fill")]
    fn masked_update(self x, rows mask, like value)
        -> changed = |dtype| Plan::masked_update(value.layout(), mask.shape(), x.shape(), dtype), [value, mask];

    /// Replaces the slices that a mask selects from this tensor by `values`, in row-major order and in place: see
    /// [`Backend::masked_scatter`]. Values after the last true element are not used, and slices for which there is no
    /// value stay unchanged. The report has the number of true elements.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`DeviceMismatch`, `DtypeMismatch`, `MaskDtype`, `MaskScalar`, `MaskShape`,
    /// `MaskValues`); or an error of the device.
    fn masked_scatter(self x, rows mask, like values)
        -> changed = |dtype| Plan::masked_scatter(x.shape(), mask.shape(), values.shape(), dtype), [values, mask];

    /// Selects the positions of this tensor along `axis` at which a condition is true: see [`Backend::compress`]. The
    /// positions of the result after the last selected one are zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis`, `Condition`, `DeviceMismatch`, `MaskDtype`); [`Error::ShapeTooLarge`]; or an error
    /// of the device.
    fn compress(self x, rows condition, by axis: Option<isize>, by capacity: Option<usize>)
        -> reported = |dtype| Plan::compress(x.layout(), condition.shape(), axis, capacity, dtype), [x, condition];

    /// Returns elements of `x` where the mask is true, and elements of `y` elsewhere: see [`Backend::select`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`, `DeviceMismatch`, `DtypeMismatch`, `MaskDtype`); [`Error::ShapeTooLarge`]; or
    /// an error of the device.
    #[doc(alias = "where")]
    fn select(of x, mask mask, lead x, like y)
        -> made = |dtype| Plan::select(mask.shape(), x.layout(), y.layout(), dtype), [mask, x, y];
}

/// Fails unless the number of rows of values is the number of true elements.
fn check_count(true_count: usize, row_count: usize) -> Result<(), Error> {
    match true_count == row_count {
        true => Ok(()),
        false => Err(error::mask::count(true_count, row_count)),
    }
}
