//! Selection by mask: nonzero, boolean_mask, compress, select, masked_update and masked_scatter.
//!
//! A mask is an array of bool or u8. An element is true unless it is 0. Two steps do everything:
//!
//! - [`Nonzero`] finds the positions of the true elements, in row-major order. They are index tuples. So `boolean_mask`
//!   and `compress` are gathers, and `masked_scatter` is a scatter. On a device, how many there are is known only when it
//!   is done, so the caller says how many there is room for: rows behind the last position are -1, which gathers and
//!   scatters take for out of range.
//! - A masked update writes the elements of a view where a mask is true. It is a walk whose index tuples are the bytes of
//!   the mask. So `select` copies y, and updates it with x.
//!
//! On host values the mask is there, so the host finds the positions, and results have exactly as many rows as there are
//! true elements.

use super::{
    index::Policy,
    indexed::{added, indexed, kept},
};
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, Indices, Pending, Plan, Tensor, TensorView,
    View,
    backend::Inputs,
    cpu::{self, Dest},
    error,
    ops::{index::IndexType, scatter_nd::ScatterOptions},
    plan::{Effect, Find, IndexTensor, Operation},
    shape::{self, check_length},
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

/// Fails if arrays of this type are no masks.
pub(crate) fn check_mask(found: DType) -> Result<(), Error> {
    match found {
        DType::Bool | DType::U8 => Ok(()),
        _ => Err(error::mask::dtype(found)),
    }
}

/// How many elements of a mask are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The number of true elements, also if it is above the capacity.
    pub count: usize,
    /// The number that there was room for: the first ones, in row-major order, were used.
    pub capacity: usize,
}

impl Found {
    /// The number of true elements that were used.
    pub fn kept(&self) -> usize {
        self.count.min(self.capacity)
    }

    /// Returns the number of true elements if there was room for all.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`mask_capacity`).
    pub fn into_result(self) -> Result<usize, Error> {
        let Self { count, capacity } = self;
        match count <= capacity {
            true => Ok(count),
            false => Err(error::mask::capacity(count, capacity)),
        }
    }

    /// The words that a device writes: see [`Count::words`].
    pub(crate) fn words(self) -> [u32; 8] {
        let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let groups = self.kept().div_ceil(WORKGROUP);
        let count = self.count as u64;
        let [low, high] =
            [count % (1 << 32), count >> 32].map(|half| u32::try_from(half).unwrap_or(0));
        let (width, height) = (groups.min(WIDTH), groups.div_ceil(WIDTH));
        let kept = word(self.kept());
        [word(width), word(height), 1, kept, low, high, 0, 0]
    }
}

/// The rows for which the arguments of an indirect dispatch have a workgroup, and the most workgroups along its first
/// dimension.
pub(crate) const WORKGROUP: usize = 64;
pub(crate) const WIDTH: usize = 65_535;

/// The number of true elements of a mask of a tensor, as a value that arrives when the device is done, and in memory of
/// the device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Count {
    /// The number, for the host.
    pub found: Pending<Found>,
    /// The number, for further work on the device: eight words of u32.
    ///
    /// | word | holds |
    /// |---|---|
    /// | 0 to 2 | the arguments of an indirect dispatch, to be copied to a buffer with the usage `INDIRECT`: a workgroup for each 64 rows, number `65535 * y + x` |
    /// | 3 | the number of rows that were used: the number of true elements, but at most the capacity |
    /// | 4, 5 | the number of true elements, its low word first |
    pub words: Tensor,
}

/// A search for the true elements of a mask, on a known shape and independent of any device: NumPy's `argwhere`, and
/// TensorFlow's `tf.where` of one argument.
///
/// The result has a row for each true element, in row-major order, with its position in each dimension of the mask, and
/// room for [`capacity`](Self::capacity) of them. Rows behind the last are -1.
///
/// ```
/// use wgslice::{DType, Nonzero};
///
/// let nonzero = Nonzero::new(&[2, 3], Some(4), DType::I32)?;
/// let mut rows = [0i32; 8];
/// let found = nonzero.run_cpu(&[0, 1, 0, 1, 0, 1], bytemuck::cast_slice_mut(&mut rows))?;
/// assert_eq!((found.count, rows), (3, [0, 1, 1, 0, 1, 2, -1, -1]));
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// [`Backend::nonzero`], [`Tensor::nonzero`] and their like make one; `Gpu::encode_nonzero` records one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nonzero {
    pub(crate) plan: Plan,
    dtype: DType,
    shape: [usize; 2],
}

impl Nonzero {
    /// Plans the search in a mask of this shape, with room for `capacity` positions: as many as the mask has elements if
    /// it is `None`. The numbers of a position are `index`: i64, i32 or u32.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`index_dtype` for another type; `mask_index` for a type that does not hold all positions);
    /// [`Error::ShapeTooLarge`].
    pub fn new(mask: &[usize], capacity: Option<usize>, index: DType) -> Result<Self, Error> {
        let elements = shape::elements(mask)?;
        let kind = IndexType::of(index, "positions")?;
        // -1 must not be a position, either.
        let most = match kind {
            IndexType::I32 => i32::MAX as usize,
            IndexType::U32 => u32::MAX as usize,
            _ => usize::MAX,
        };
        if mask.iter().any(|&size| size > most) {
            return Err(error::mask::index(index, mask));
        }
        let capacity = capacity.unwrap_or(elements);
        let shape = [capacity, mask.len()];
        let numbers = shape::elements(&shape)?;
        let plan = Plan {
            operation: Operation::Nonzero,
            shape: vec![numbers * index.size()],
            dtype: DType::U8,
            source: mask.to_vec(),
            walk: None,
            effect: Effect::Find(Find {
                capacity,
                index: kind,
            }),
            conversion: None,
            indices: None,
        };
        let dtype = index;
        Ok(Self { plan, dtype, shape })
    }

    /// The shape of the result: the capacity, and the number of dimensions of the mask.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the numbers of a position.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of positions that there is room for.
    pub fn capacity(&self) -> usize {
        self.shape[0]
    }

    /// Runs the search on the CPU: writes the result to `rows`, in the machine's byte order.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `mask` or `rows`, in bytes, does not have the length of its shape.
    pub fn run_cpu(&self, mask: &[u8], rows: &mut [u8]) -> Result<Found, Error> {
        let Plan { source, .. } = &self.plan;
        let needed = self.plan.source_bytes();
        check_length("mask", source, "bytes", needed, mask.len())?;
        let needed = self.plan.result_bytes();
        check_length("rows", &self.shape, "bytes", needed, rows.len())?;
        cpu::mask::find(mask, source, rows, self.dtype.size());
        Ok(Found {
            count: cpu::mask::count(mask),
            capacity: self.capacity(),
        })
    }
}

impl View {
    /// Plans the slices of this view that a mask selects, TensorFlow's `boolean_mask`: a search in the mask, whose shape
    /// is `mask`, and a gather whose index tuples are the positions that it finds, of type [`Nonzero::dtype`]. The
    /// dimensions of the mask are those of the view from `axis` on. The result has one dimension in their place, of
    /// `capacity` positions: as many as the mask has elements if it is `None`. Those behind the last true element are
    /// zeros, and the gather's report counts them as out of range.
    ///
    /// ```
    /// use wgslice::{DType, Indices, View};
    ///
    /// let x = View::new(&[3, 2])?;
    /// let (nonzero, gather) = x.boolean_mask(&[3], 0, Some(2), DType::U8)?;
    /// let mut rows = [0u32; 2];
    /// nonzero.run_cpu(&[1, 0, 1], bytemuck::cast_slice_mut(&mut rows))?;
    /// let mut kept = [0u8; 4];
    /// gather.run_cpu(&[1, 2, 3, 4, 5, 6], Some(Indices::U32(&rows)), &mut kept)?;
    /// assert_eq!(kept, [1, 2, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`mask_scalar`, `mask_shape`); [`Error::ShapeTooLarge`].
    pub fn boolean_mask(
        &self,
        mask: &[usize],
        axis: usize,
        capacity: Option<usize>,
        dtype: DType,
    ) -> Result<(Nonzero, Plan), Error> {
        if mask.is_empty() {
            return Err(error::mask::scalar());
        }
        let end = axis.saturating_add(mask.len());
        if self.shape.get(axis..end) != Some(mask) {
            return Err(error::mask::shape(mask, &self.shape, axis));
        }
        // Dimensions that one stride walks are one dimension, so that a position is one number.
        let (sizes, strides) = (&self.shape[axis..end], &self.strides[axis..end]);
        let count = shape::elements(mask)?;
        let (columns, coordinates): (_, Vec<_>) = match joined(sizes, strides) {
            Some(stride) if i32::try_from(count).is_ok() => {
                (vec![count], vec![Coordinate::indexed(count, stride, 0)])
            }
            _ => (mask.to_vec(), indexed(self, axis..end, 0).collect()),
        };
        let is_short = columns.iter().all(|&size| u32::try_from(size).is_ok());
        let index = if is_short { DType::U32 } else { DType::I64 };
        let nonzero = Nonzero::new(&columns, capacity, index)?;
        let dims = kept(self, 0..axis)
            .chain(added(&nonzero.shape[..1]))
            .chain(kept(self, end..self.shape.len()));
        let gather = Plan::of_gather(
            Operation::BooleanMask,
            self,
            dims,
            coordinates.into_iter(),
            IndexTensor::of(&nonzero.shape, 1, Policy::default()),
            dtype,
        )?;
        Ok((nonzero, gather.for_indices(index)?))
    }

    /// Plans the positions of this view along `axis` at which a condition is true: NumPy's `compress`. The condition has one
    /// dimension, and may be shorter than the axis. A negative axis counts from the end; without one, the view must be a
    /// whole array, which counts as one dimension. The two plans and `capacity` are those of [`View::boolean_mask`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`axis`; `condition`; `reshape` without an axis if the view is not a whole array);
    /// [`Error::ShapeTooLarge`].
    pub fn compress(
        &self,
        condition: &[usize],
        axis: Option<isize>,
        capacity: Option<usize>,
        dtype: DType,
    ) -> Result<(Nonzero, Plan), Error> {
        let flat = [self.len()];
        let (view, axis) = match axis {
            Some(axis) => self.condition(condition, axis)?,
            None if *self == Self::whole(&self.source) => {
                Self::whole(&flat).condition(condition, 0)?
            }
            None => return Err(error::view::reshape(&self.shape, &flat)),
        };
        view.boolean_mask(condition, axis, capacity, dtype)
    }

    /// Plans elements of this view where a mask, whose shape is `mask`, is true, and of `y` elsewhere, TensorFlow's
    /// `tf.where` of three arguments: a copy of y, and a masked update of the copy by this view. All three are broadcast to
    /// one shape.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`broadcast`); [`Error::ShapeTooLarge`].
    pub fn select(&self, mask: &[usize], y: &Self, dtype: DType) -> Result<(Plan, Plan), Error> {
        let shape = common_shape([mask, &self.shape, &y.shape])?;
        let update = self.masked_update(mask, &Self::whole(&shape), dtype)?;
        Ok((y.broadcast_to(&shape)?.plan(dtype), update))
    }

    /// The positions of dimension `axis` below the length of a condition, and the number of the dimension.
    fn condition(&self, condition: &[usize], axis: isize) -> Result<(Self, usize), Error> {
        let &[length] = condition else {
            return Err(error::mask::condition_rank(condition));
        };
        let rank = self.shape.len();
        let found = shape::axis(axis, rank).ok_or_else(|| error::mask::axis(axis, rank))?;
        let size = self.shape[found];
        match length <= size {
            true => Ok((self.along(found, 0, 1, length), found)),
            false => Err(error::mask::condition(length, size)),
        }
    }

    /// Plans writing the elements of this view where a mask is true into `dest`, a view of a larger array, whose other
    /// elements keep their values. This view and the mask, whose shape is `mask`, are broadcast to the shape of `dest`.
    ///
    /// The plan's indices are the mask, a byte for each element ([`Indices::Mask`]), and it changes
    /// its destination [in place](Plan::is_in_place).
    ///
    /// ```
    /// use wgslice::{DType, Indices, View};
    ///
    /// // x[mask] = 9
    /// let plan = View::new(&[])?.masked_update(&[3], &View::new(&[3])?, DType::F32)?;
    /// let mut x = [1.0, 2.0, 3.0];
    /// plan.run_cpu(&[9.0f32], Some(Indices::Mask(&[0, 1, 1])), &mut x)?;
    /// assert_eq!(x, [1.0, 9.0, 9.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`broadcast`; `repeats` if `dest` was broadcast).
    pub fn masked_update(&self, mask: &[usize], dest: &Self, dtype: DType) -> Result<Plan, Error> {
        let source = self.broadcast_to(&dest.shape)?;
        let masks = Self::new(mask)?.broadcast_to(&dest.shape)?;
        dest.check_no_repeats()?;
        let walk = (!dest.is_empty()).then(|| {
            let sides = source.strides.iter().zip(&dest.strides).zip(&masks.strides);
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
        Ok(Plan {
            operation: Operation::MaskedUpdate,
            shape: dest.source.clone(),
            dtype,
            source: self.source.clone(),
            walk,
            effect: Effect::Update,
            conversion: None,
            indices: Some(IndexTensor {
                target: Some(vec![1]),
                index: IndexType::Mask,
                ..IndexTensor::of(mask, mask.len(), Policy::default())
            }),
        })
    }
}

/// The stride that walks dimensions of these sizes and strides in row-major order, if one does.
fn joined(sizes: &[usize], strides: &[isize]) -> Option<isize> {
    let mut dims = sizes.iter().zip(strides).rev().filter(|dim| *dim.0 != 1);
    let Some((&size, &stride)) = dims.next() else {
        return Some(0);
    };
    let mut next = stride * size.cast_signed();
    dims.all(|(&size, &apart)| {
        let joins = apart == next;
        next = apart * size.cast_signed();
        joins
    })
    .then_some(stride)
}

/// The shape that arrays of these shapes are broadcast to: TensorFlow's and NumPy's rule.
fn common_shape(shapes: [&[usize]; 3]) -> Result<Vec<usize>, Error> {
    let mut common = Vec::new();
    for shape in shapes {
        common = shape::broadcast(&common, shape)
            .ok_or_else(|| error::view::broadcast(shape, &common))?;
    }
    shape::elements(&common)?;
    Ok(common)
}

/// Selection by mask on host values. The mask is of `bool` or `u8`.
impl Backend {
    /// The positions of the true elements of a mask, in row-major order, of shape `[count, rank]`: TensorFlow's `tf.where`
    /// of one argument, NumPy's `argwhere`. As in NumPy, a scalar has a position of no numbers. The host finds them, on every
    /// backend.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let found = Backend::cpu().nonzero((&[false, true, true, false], &[2, 2]))?;
    /// assert_eq!((found.shape, found.data), (vec![2, 2], vec![0, 1, 1, 0]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; [`Error::OutOfHostMemory`].
    pub fn nonzero<'a, M: MaskElement>(
        &self,
        mask: impl Into<ArrayRef<'a, M>>,
    ) -> Result<Array<i64>, Error> {
        let (mask, shape) = mask.into().row_major("mask", self)?;
        let mask = M::as_bytes(&mask);
        let nonzero = Nonzero::new(&shape, Some(cpu::mask::count(mask)), DType::I64)?;
        let run = |rows: Dest<'_>| nonzero.run_cpu(mask, rows.all());
        Ok(Array::collect(nonzero.shape(), run)?.0)
    }

    /// The slices of `x` that a mask selects, in row-major order: TensorFlow's `boolean_mask`, and NumPy's `x[mask]` if
    /// `axis` is 0. The dimensions of the mask are those of `x` from `axis` on.
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
    /// [`Error::Argument`] (`mask_scalar`, `mask_shape`); [`Error::Length`]; or an error of the device.
    pub fn boolean_mask<'a, T: Element, M: MaskElement>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        mask: impl Into<ArrayRef<'a, M>>,
        axis: usize,
    ) -> Result<Array<T>, Error> {
        let (x, view) = x.into().memory("x")?;
        let (mask, shape) = mask.into().row_major("mask", self)?;
        let mask = M::as_bytes(&mask);
        let count = Some(cpu::mask::count(mask));
        let steps = view.boolean_mask(&shape, axis, count, T::DTYPE)?;
        self.masked(steps, &x, mask)
    }

    /// The positions of `x` along `axis` at which a condition is true: NumPy's `compress`, and ONNX's `Compress`. The
    /// condition has one dimension, and may be shorter than the axis. A negative axis counts from the end; without one,
    /// `x` counts as one dimension, in row-major order.
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
    /// [`Error::Argument`] (`axis`; `condition`, also if it is longer than the axis, which NumPy allows if the surplus is
    /// false); [`Error::Length`]; or an error of the device.
    pub fn compress<'a, T: Element, M: MaskElement>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        condition: impl Into<ArrayRef<'a, M>>,
        axis: Option<isize>,
    ) -> Result<Array<T>, Error> {
        let (condition, shape) = condition.into().row_major("condition", self)?;
        let (x, view) = match axis {
            Some(_) => x.into().memory("x")?,
            None => {
                let (x, shape) = x.into().row_major("x", self)?;
                (x, View::whole(&shape))
            }
        };
        let condition = M::as_bytes(&condition);
        let count = Some(cpu::mask::count(condition));
        let steps = view.compress(&shape, axis, count, T::DTYPE)?;
        self.masked(steps, &x, condition)
    }

    /// Runs the two steps of a boolean_mask.
    fn masked<T: Element>(
        &self,
        (nonzero, gather): (Nonzero, Plan),
        x: &[T],
        mask: &[u8],
    ) -> Result<Array<T>, Error> {
        let rows = nonzero.rows(mask)?;
        let inputs = Inputs {
            indices: Some(rows.indices()),
            ..Inputs::of(x)
        };
        Ok(self.run(gather, inputs)?.0)
    }

    /// Elements of `x` where the mask is true, and of `y` elsewhere: TensorFlow's `tf.where` of three arguments, NumPy's
    /// and ONNX's `where`. All three are broadcast to one shape.
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
    /// [`Error::Argument`] (`broadcast`); [`Error::Length`]; [`Error::ShapeTooLarge`]; or an error of the device.
    pub fn select<'a, T: Element, M: MaskElement>(
        &self,
        mask: impl Into<ArrayRef<'a, M>>,
        x: impl Into<ArrayRef<'a, T>>,
        y: impl Into<ArrayRef<'a, T>>,
    ) -> Result<Array<T>, Error> {
        let (mask, masks) = mask.into().row_major("mask", self)?;
        let ((x, from), (y, other)) = (x.into().memory("x")?, y.into().memory("y")?);
        let (copy, update) = from.select(&masks, &other, T::DTYPE)?;
        let run = |dest: Dest<'_>| self.run_slice(&copy, T::as_bytes(&y), dest);
        let (dest, ()) = Array::collect(&copy.shape, run)?;
        let inputs = Inputs {
            indices: Some(Indices::Mask(M::as_bytes(&mask))),
            dest: Some(&dest.data),
            ..Inputs::of(&x)
        };
        Ok(self.run(update, inputs)?.0)
    }

    /// Returns `x` with `values` in place of the slices that a mask selects, one for each, in row-major order: NumPy's
    /// `x[mask] = values`. The dimensions of the mask are the first of `x`. To write one value everywhere, use
    /// [`Backend::select`].
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
    /// [`Error::Argument`] (`mask_scalar`, `mask_shape`, `mask_values`, `mask_count`); [`Error::Length`]; or an error of
    /// the device.
    pub fn masked_scatter<'a, T: Element, M: MaskElement>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        mask: impl Into<ArrayRef<'a, M>>,
        values: impl Into<ArrayRef<'a, T>>,
    ) -> Result<Array<T>, Error> {
        let (x, shape) = x.into().row_major("x", self)?;
        let (mask, masks) = mask.into().row_major("mask", self)?;
        let (values, of_values) = values.into().row_major("values", self)?;
        let (nonzero, scatter) = scatter_of(&shape, &masks, &of_values, T::DTYPE)?;
        let mask = M::as_bytes(&mask);
        let (count, rows) = (cpu::mask::count(mask), nonzero.capacity());
        if count != rows {
            return Err(error::mask::count(count, rows));
        }
        let Some(scatter) = scatter else {
            let data = x.into_owned();
            return Ok(Array { shape, data });
        };
        let rows = nonzero.rows(mask)?;
        let inputs = Inputs {
            source: &values,
            indices: Some(rows.indices()),
            dest: Some(&x),
        };
        let changed = self.run(scatter, inputs)?.0;
        Ok(Array { shape, ..changed })
    }
}

/// Positions in host memory.
enum Rows {
    Short(Vec<u32>),
    Long(Vec<i64>),
}

impl Rows {
    fn indices(&self) -> Indices<'_> {
        match self {
            Self::Short(rows) => Indices::U32(rows),
            Self::Long(rows) => Indices::I64(rows),
        }
    }
}

impl Nonzero {
    /// The positions that are found in a mask, for searches of u32 and i64.
    fn rows(&self, mask: &[u8]) -> Result<Rows, Error> {
        let run = |rows: Dest<'_>| self.run_cpu(mask, rows.all());
        Ok(match self.dtype {
            DType::U32 => Rows::Short(Array::collect(&self.shape, run)?.0.data),
            _ => Rows::Long(Array::collect(&self.shape, run)?.0.data),
        })
    }
}

/// The search in a mask, and the scatter of values to the positions that it finds. The scatter takes x as an array whose
/// first dimensions, those of the mask, are one if a number of 32 bits counts them. There is none if it would move nothing.
fn scatter_of(
    x: &[usize],
    mask: &[usize],
    values: &[usize],
    dtype: DType,
) -> Result<(Nonzero, Option<Plan>), Error> {
    let (nonzero, _) = View::new(x)?.boolean_mask(mask, 0, Some(0), dtype)?;
    let columns = &nonzero.plan.source;
    let slice = &x[mask.len()..];
    let Some((&count, of_slice)) = values.split_first().filter(|values| values.1 == slice) else {
        return Err(error::mask::values(values, x, mask.len()));
    };
    let nonzero = Nonzero::new(columns, Some(count), nonzero.dtype)?;
    if x.contains(&0) || count == 0 {
        return Ok((nonzero, None));
    }
    let options = ScatterOptions {
        unique: true,
        ..ScatterOptions::default()
    };
    let shape = [columns, of_slice].concat();
    let scatter = Plan::tensor_scatter_nd(&shape, &nonzero.shape, values, options, dtype)?;
    let scatter = scatter.for_indices(nonzero.dtype)?;
    Ok((nonzero, Some(scatter)))
}

/// Selection by mask. The mask is a tensor of bool or u8. On a GPU the work is submitted, not waited for, and nothing is
/// read back: `capacity` says how many true elements there is room for, as many as the mask has elements if it is `None`.
/// Only the first `capacity` are used, in row-major order. The [`Count`] says how many there are.
impl Tensor {
    /// The positions of the true elements of this mask, in row-major order, as i64 of shape `[capacity, rank]`. Rows behind
    /// the last are -1. TensorFlow's `tf.where` of one argument, NumPy's `argwhere`.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mask = backend.upload((&[0u8, 1, 1, 0], &[2, 2]))?;
    /// let (rows, count) = mask.nonzero(Some(3))?;
    /// assert_eq!(rows.to_vec::<i64>()?, [0, 1, 1, 0, -1, -1]);
    /// assert_eq!(count.found.wait()?.count, 2);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`mask_dtype`); [`Error::ShapeTooLarge`]; or an error of the device.
    pub fn nonzero(&self, capacity: Option<usize>) -> Result<(Self, Count), Error> {
        self.find(&Nonzero::new(self.shape(), capacity, DType::I64)?)
    }

    /// The slices of this tensor that a mask selects, in row-major order: see [`View::boolean_mask`]. Those behind the
    /// last true element are zeros.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let boxes = backend.upload((&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]))?;
    /// let keep = backend.upload((&[true, false, true], &[3]))?;
    /// let (kept, count) = boxes.boolean_mask(&keep, 0, None)?;
    /// assert_eq!(kept.to_vec::<f32>()?, [1.0, 2.0, 5.0, 6.0, 0.0, 0.0]);
    /// assert_eq!(count.found.wait()?.count, 2);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`device_mismatch`, `mask_dtype`, `mask_scalar`, `mask_shape`); [`Error::ShapeTooLarge`]; or an
    /// error of the device.
    pub fn boolean_mask(
        &self,
        mask: &Self,
        axis: usize,
        capacity: Option<usize>,
    ) -> Result<(Self, Count), Error> {
        self.view().boolean_mask(mask, axis, capacity)
    }

    /// The positions of this tensor along `axis` at which a condition is true: see [`Backend::compress`]. Those behind
    /// the last true element are zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`axis`, `condition`, `device_mismatch`, `mask_dtype`); [`Error::ShapeTooLarge`]; or an error of
    /// the device.
    pub fn compress(
        &self,
        condition: &Self,
        axis: Option<isize>,
        capacity: Option<usize>,
    ) -> Result<(Self, Count), Error> {
        self.view().compress(condition, axis, capacity)
    }

    /// Elements of `x` where the mask is true, and of `y` elsewhere: see [`Backend::select`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`broadcast`, `device_mismatch`, `dtype_mismatch`, `mask_dtype`); [`Error::ShapeTooLarge`]; or
    /// an error of the device.
    pub fn select(mask: &Self, x: &Self, y: &Self) -> Result<Self, Error> {
        TensorView::select(mask, &x.view(), &y.view())
    }

    /// Writes the elements of `value` into this tensor where a mask is true, in place: NumPy's `x[mask] = value` for one
    /// value. `value` and the mask are broadcast to the shape of this tensor.
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
    /// [`Error::Argument`] (`broadcast`, `device_mismatch`, `dtype_mismatch`, `mask_dtype`); or an error of the device.
    pub fn masked_update(&mut self, mask: &Self, value: &Self) -> Result<(), Error> {
        self.check_goes_with("value", value)?;
        let dest = View::whole(self.shape());
        let plan = View::whole(value.shape()).masked_update(mask.shape(), &dest, self.dtype())?;
        self.change(&plan, value, Some(mask)).map(drop)
    }

    /// Writes `values` in place of the slices of this tensor that a mask selects, one for each, in row-major order: see
    /// [`Backend::masked_scatter`]. Values behind the last true element are not used, and slices for which there are no
    /// values keep theirs: the count says whether there were as many.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`device_mismatch`, `dtype_mismatch`, `mask_dtype`, `mask_scalar`, `mask_shape`,
    /// `mask_values`); or an error of the device.
    pub fn masked_scatter(&mut self, mask: &Self, values: &Self) -> Result<Count, Error> {
        self.check_goes_with("values", values)?;
        self.check_same_device("mask", mask)?;
        let shape = self.shape().to_vec();
        let (nonzero, scatter) = scatter_of(&shape, mask.shape(), values.shape(), self.dtype())?;
        let (rows, count) = mask.find(&nonzero)?;
        if let Some(scatter) = scatter {
            self.change(&scatter, values, Some(&rows))?;
        }
        Ok(count)
    }
}

impl Tensor {
    /// Runs the two steps of a boolean_mask.
    fn masked(
        &self,
        (nonzero, gather): (Nonzero, Plan),
        mask: &Self,
    ) -> Result<(Self, Count), Error> {
        let (rows, count) = mask.find(&nonzero)?;
        Ok((self.make(&gather, Some(&rows))?.0, count))
    }
}

impl TensorView {
    /// [`Tensor::boolean_mask`] of the selection, with the same errors.
    pub fn boolean_mask(
        &self,
        mask: &Tensor,
        axis: usize,
        capacity: Option<usize>,
    ) -> Result<(Tensor, Count), Error> {
        let tensor = self.tensor();
        tensor.check_same_device("mask", mask)?;
        let steps = self
            .view()
            .boolean_mask(mask.shape(), axis, capacity, self.dtype())?;
        tensor.masked(steps, mask)
    }

    /// [`Tensor::compress`] of the selection, with the same errors. Without an axis, the selection is copied first.
    pub fn compress(
        &self,
        condition: &Tensor,
        axis: Option<isize>,
        capacity: Option<usize>,
    ) -> Result<(Tensor, Count), Error> {
        self.tensor().check_same_device("condition", condition)?;
        let whole = self.to_tensor_without_axis(axis)?;
        let view = whole.view();
        let steps = view.compress(condition.shape(), axis, capacity, self.dtype())?;
        whole.tensor().masked(steps, condition)
    }

    /// The selection itself if there is an axis, otherwise a copy of it.
    fn to_tensor_without_axis(&self, axis: Option<isize>) -> Result<Self, Error> {
        match axis {
            Some(_) => Ok(self.clone()),
            None => Ok(self.to_tensor()?.view()),
        }
    }

    /// [`Tensor::select`] of selections, with the same errors.
    pub fn select(mask: &Tensor, x: &Self, y: &Self) -> Result<Tensor, Error> {
        x.tensor().check_goes_with("y", y.tensor())?;
        x.tensor().check_same_device("mask", mask)?;
        check_mask(mask.dtype())?;
        let (copy, update) = x.view().select(mask.shape(), y.view(), x.dtype())?;
        let mut chosen = y.tensor().make(&copy, None)?.0;
        chosen.change(&update, x.tensor(), Some(mask))?;
        Ok(chosen)
    }
}
