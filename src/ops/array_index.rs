//! NumPy's index expressions with arrays, `x[[0, 2], :, [[1], [3]]]`, and outer ones, as of `numpy.ix_` and Zarr's
//! `oindex`.
//!
//! The slices among the entries make a view, in which a dimension that an array indexes stays whole. Arrays that walk
//! together are one gather from this view: its index tuples are the arrays, broadcast against each other, and the
//! dimensions of the tuples stand wherever NumPy wants them. An outer expression is a gather along each indexed
//! dimension, first along the one that keeps the smallest share, so that the product of its arrays exists nowhere. On the
//! CPU, `cpu/outer.rs` does all of an outer expression's gathers at once.
//!
//! Positions are checked and counted from the beginning here, so the gathers find all of them in range.

use super::{
    gather::GatherOptions,
    index::Policy,
    indexed::{added, indexed, kept},
};
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, Indices, Plan, SliceSpec, Tensor, TensorView,
    View,
    backend::{Device, Inputs},
    cpu::{Dest, Threads, outer},
    element::zeroed,
    error,
    plan::{IndexTensor, Operation},
    shape,
    spec::{IndexItem, IndexSpec, SliceItem},
};

/// An array, or a single position next to arrays.
struct Entry {
    /// Its number in the expression, and the dimension that it indexes: of x, and of the view. A mask without
    /// dimensions indexes none.
    item: usize,
    dim: Option<[usize; 2]>,
    positions: Vec<i64>,
    shape: Vec<usize>,
}

/// What the entries of an expression select.
struct Selection {
    view: View,
    entries: Vec<Entry>,
    /// The number of the view's dimensions before those of the arrays that are not indexed.
    before: usize,
}

/// An outer expression: a view, and the positions that are taken along some of its dimensions, counted from the beginning.
/// The dimension that keeps the smallest share comes first.
#[derive(Clone)]
struct Outer {
    view: View,
    lists: Vec<(usize, Vec<i64>)>,
}

impl View {
    /// Plans NumPy's `x[…]` of this view. The source of the first plan is the view's, and that of each other plan is the
    /// result before it. Each has the index tuples that it takes, which are empty if it takes none. There is one plan, or
    /// in an outer expression one for each array.
    ///
    /// ```
    /// use wgslice::{DType, Indices, View};
    ///
    /// // Of each of two images, the pixels at two places, with all channels.
    /// let images = View::new(&[2, 480, 640, 3])?;
    /// let steps = images.index(&":, [10, 20], [30, 40]".parse()?, DType::U8)?;
    /// let (plan, tuples) = &steps[0];
    /// assert_eq!(plan.shape(), [2, 2, 3]);
    /// assert_eq!(tuples, &[10, 30, 20, 40]);
    /// let mut pixels = vec![0; 12];
    /// plan.run_cpu(&vec![1u8; 2 * 480 * 640 * 3], Some(Indices::I64(tuples)), &mut pixels)?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], as NumPy's `IndexError`: those of [`View::slice`], then `values`, `outer_rank`, `mask_shape`,
    /// `array_shapes` and `position`; [`Error::ShapeTooLarge`]; [`Error::OutOfHostMemory`]. As in NumPy, positions of
    /// arrays are not checked if nothing is selected because another array is empty.
    pub fn index(&self, spec: &IndexSpec, dtype: DType) -> Result<Vec<(Plan, Vec<i64>)>, Error> {
        let is_array = |item: &IndexItem| !matches!(item, IndexItem::Slice(_));
        let has_arrays = spec.items().iter().any(is_array);
        let selection = self.selection(spec, has_arrays && !spec.is_outer())?;
        match (has_arrays, spec.is_outer()) {
            (false, _) => Ok(vec![(selection.view.plan(dtype), Vec::new())]),
            (true, false) => Ok(vec![selection.together(dtype)?]),
            (true, true) => selection.outer()?.steps(dtype),
        }
    }

    /// The outer expression that this is, if several of its entries are arrays.
    fn outer(&self, spec: &IndexSpec) -> Result<Option<Outer>, Error> {
        if !spec.is_outer() {
            return Ok(None);
        }
        let outer = self.selection(spec, false)?.outer()?;
        Ok((outer.lists.len() > 1).then_some(outer))
    }

    /// Applies the slices of an expression. `singles` says whether single positions count as arrays.
    fn selection(&self, spec: &IndexSpec, singles: bool) -> Result<Selection, Error> {
        let mut items = Vec::new();
        for (item, entry) in spec.items().iter().enumerate() {
            match entry {
                IndexItem::Slice(SliceItem::Index { stride: 1.., .. }) if singles => {
                    items.push(SliceItem::FULL);
                }
                IndexItem::Slice(slice) => items.push(*slice),
                IndexItem::Positions { values, shape } => {
                    check_array(item, values.len(), shape, spec.is_outer())?;
                    items.push(SliceItem::FULL);
                }
                IndexItem::Mask { values, shape } => {
                    check_array(item, values.len(), shape, spec.is_outer())?;
                    items.extend(shape.iter().map(|_| SliceItem::FULL));
                }
            }
        }
        let taken = items.iter().filter(|item| item.takes_dimension()).count();
        let items = SliceSpec::new(items);
        let view = self.slice(&items)?;
        let ellipsis = self.shape.len() - taken;
        let (mut dim, mut at) = (0, 0);
        let mut entries: Vec<Entry> = Vec::new();
        // Where the first array stands, and whether another entry has followed it, and an array that.
        let (mut first, mut left, mut apart) = (None, false, false);
        for (item, entry) in spec.items().iter().enumerate() {
            let before = at - entries.iter().filter(|entry| entry.dim.is_some()).count();
            let mut met = |dim, positions, shape| {
                first.get_or_insert(before);
                apart |= left;
                entries.push(Entry {
                    item,
                    dim,
                    positions,
                    shape,
                });
            };
            match entry {
                IndexItem::Slice(SliceItem::Index { index, .. }) if singles => {
                    let from_begin = position(item, *index, dim, self.shape[dim])?;
                    met(Some([dim, at]), vec![from_begin], Vec::new());
                    (dim, at) = (dim + 1, at + 1);
                }
                IndexItem::Slice(slice) => {
                    left |= first.is_some();
                    match slice {
                        SliceItem::Index { .. } => dim += 1,
                        SliceItem::Range { .. } => (dim, at) = (dim + 1, at + 1),
                        SliceItem::NewAxis => at += 1,
                        SliceItem::Ellipsis => (dim, at) = (dim + ellipsis, at + ellipsis),
                    }
                }
                IndexItem::Positions { values, shape } => {
                    met(Some([dim, at]), values.clone(), shape.clone());
                    (dim, at) = (dim + 1, at + 1);
                }
                IndexItem::Mask { values, shape } => {
                    let sizes = &self.shape[dim..dim + shape.len()];
                    if shape != sizes {
                        return Err(error::index::mask_shape(item, shape, dim, sizes));
                    }
                    let count = values.iter().filter(|&&truth| truth).count();
                    let ones = || (0..values.len()).filter(|&number| values[number]);
                    let strides = shape::strides(shape);
                    for (d, (&size, stride)) in shape.iter().zip(strides).enumerate() {
                        let positions = ones().map(|n| (n / stride % size) as i64).collect();
                        met(Some([dim + d, at + d]), positions, vec![count]);
                    }
                    if shape.is_empty() {
                        met(None, vec![0; count], vec![count]);
                    }
                    (dim, at) = (dim + shape.len(), at + shape.len());
                }
            }
        }
        let before = if apart { 0 } else { first.unwrap_or(0) };
        Ok(Selection {
            view,
            entries,
            before,
        })
    }
}

impl Selection {
    /// The gather of arrays that walk together.
    fn together(self, dtype: DType) -> Result<(Plan, Vec<i64>), Error> {
        let mut sizes = Vec::new();
        for entry in &self.entries {
            let (item, found) = (entry.item, &entry.shape);
            sizes = shape::broadcast(&sizes, found)
                .ok_or_else(|| error::index::array_shapes(item, found, &sizes))?;
        }
        let count = shape::elements(&sizes)?;
        let columns = self.entries.iter().filter_map(|e| Some((e, e.dim?)));
        let columns: Vec<_> = columns.collect();
        let mut tuples = zeroed(count.saturating_mul(columns.len()))?;
        let mut coordinates = Vec::new();
        for (column, &(entry, [axis, at])) in columns.iter().enumerate() {
            let size = self.view.shape[at];
            let mut positions = zeroed(count)?;
            let broadcast = View::whole(&entry.shape).broadcast_to(&sizes)?;
            broadcast
                .plan(DType::I64)
                .run_cpu(&entry.positions, None, &mut positions)?;
            for (tuple, found) in tuples.chunks_exact_mut(columns.len()).zip(positions) {
                tuple[column] = position(entry.item, found, axis, size)?;
            }
            coordinates.extend(indexed(&self.view, at..at + 1, column));
        }
        let is_indexed = |at: &usize| columns.iter().any(|(_, [_, indexed])| indexed == at);
        let dims: Vec<_> = (0..self.view.shape.len())
            .filter(|at| !is_indexed(at))
            .flat_map(|at| kept(&self.view, at..at + 1))
            .collect();
        let (before, after) = dims.split_at(self.before);
        let dims = before
            .iter()
            .copied()
            .chain(added(&sizes))
            .chain(after.iter().copied());
        let tuple_dims = sizes.len();
        let mut indices = sizes.clone();
        indices.push(columns.len());
        let indices = IndexTensor::of(&indices, tuple_dims, Policy::default());
        let coordinates = coordinates.into_iter();
        let plan = Plan::of_gather(
            Operation::ArrayIndex,
            &self.view,
            dims,
            coordinates,
            indices,
            dtype,
        )?;
        Ok((plan, tuples))
    }

    /// All combinations of the arrays' positions.
    fn outer(self) -> Result<Outer, Error> {
        let Self { view, entries, .. } = self;
        let mut lists = Vec::new();
        for mut entry in entries {
            // Arrays of an outer expression have one dimension, so each indexes one.
            let Some([axis, at]) = entry.dim else {
                continue;
            };
            for value in &mut entry.positions {
                *value = position(entry.item, *value, axis, view.shape[at])?;
            }
            lists.push((at, entry.positions));
        }
        // The share of a dimension that an array keeps, as a fraction of 2^32.
        lists.sort_by_key(|(at, positions)| {
            ((positions.len() as u128) << 32) / (view.shape[*at].max(1) as u128)
        });
        Ok(Outer { view, lists })
    }
}

impl Outer {
    /// A gather for each list, along its dimension.
    fn steps(self, dtype: DType) -> Result<Vec<(Plan, Vec<i64>)>, Error> {
        let mut steps = Vec::new();
        let mut view = self.view;
        for (at, positions) in self.lists {
            let options = GatherOptions {
                axis: Some(at.cast_signed()),
                ..GatherOptions::default()
            };
            let plan = view.gather(&[positions.len()], options, dtype)?;
            view = View::new(plan.shape())?;
            steps.push((plan, positions));
        }
        Ok(steps)
    }

    /// The shape of the result.
    fn shape(&self) -> Result<Vec<usize>, Error> {
        let mut shape = self.view.shape.clone();
        for (at, positions) in &self.lists {
            shape[*at] = positions.len();
        }
        shape::elements(&shape)?;
        Ok(shape)
    }

    /// Writes the result to `dest`, on the CPU.
    fn run(&self, dtype: DType, source: &[u8], dest: Dest<'_>, threads: Threads) {
        let elements = (&self.view, dtype.size());
        outer::run(elements, &self.lists, source, dest, threads);
    }
}

/// Counts a position from the beginning of a dimension.
fn position(item: usize, position: i64, axis: usize, size: usize) -> Result<i64, Error> {
    // Sizes of a shape are far below 2^63.
    let from_begin = position.saturating_add(if position < 0 { size as i64 } else { 0 });
    match (0..size as i64).contains(&from_begin) {
        true => Ok(from_begin),
        false => Err(error::index::position(item, position, axis, size)),
    }
}

/// The tuples as numbers of 32 bits, half the memory, unless a position needs more.
fn narrow(tuples: &[i64]) -> Option<Vec<i32>> {
    let numbers = tuples.iter().map(|&position| i32::try_from(position).ok());
    numbers.collect()
}

/// Fails if an array does not have as many values as its shape says or, in an outer expression, not one dimension.
fn check_array(item: usize, values: usize, shape: &[usize], outer: bool) -> Result<(), Error> {
    if shape::elements(shape)? != values {
        return Err(error::index::values(item, values, shape));
    }
    match outer && shape.len() != 1 {
        true => Err(error::index::outer_rank(item, shape.len())),
        false => Ok(()),
    }
}

impl Backend {
    /// NumPy's `x[…]`, with arrays of positions and masks: see [`IndexSpec`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let x = (&[0, 1, 2, 3, 4, 5], &[2, 3]);
    /// let result = Backend::cpu().index(x, &"::-1, [[0, 2], [1, 1]]".parse()?)?;
    /// assert_eq!(result.shape, [2, 2, 2]);
    /// assert_eq!(result.data, [3, 5, 4, 4, 0, 2, 1, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`View::index`]; [`Error::Length`]; or an error of the device.
    pub fn index<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        spec: &IndexSpec,
    ) -> Result<Array<T>, Error> {
        let (values, view) = x.into().memory("x")?;
        let mut made: Option<Array<T>> = None;
        let outer = view.outer(spec)?;
        let steps = match &outer {
            Some(outer) => outer.clone().steps(T::DTYPE)?,
            None => view.index(spec, T::DTYPE)?,
        };
        let on_cpu = |(plan, _): &(Plan, _)| *self.device_for(plan) == Device::Cpu;
        if let Some(outer) = outer.filter(|_| steps.iter().all(on_cpu)) {
            let fill = |result: Dest<'_>| {
                outer.run(T::DTYPE, T::as_bytes(&values), result, self.threads);
                Ok(())
            };
            return Ok(Array::collect(&outer.shape()?, fill)?.0);
        }
        for (plan, tuples) in steps {
            let source = made.as_ref().map_or(&values[..], |made| &made.data);
            let narrow = narrow(&tuples);
            let indices = narrow
                .as_deref()
                .map_or(Indices::I64(&tuples), Indices::I32);
            let inputs = Inputs {
                indices: plan.tuples().map(|_| indices),
                ..Inputs::of(source)
            };
            made = Some(self.run(plan, inputs)?.0);
        }
        Ok(made.unwrap_or_else(|| Array {
            shape: vec![0],
            data: Vec::new(),
        }))
    }
}

impl Tensor {
    /// NumPy's `x[…]` of this tensor: see [`IndexSpec`]. On a GPU the work is submitted, not waited for.
    ///
    /// # Errors
    ///
    /// As [`View::index`]; or an error of the device.
    pub fn index(&self, spec: &IndexSpec) -> Result<Self, Error> {
        self.view().index(spec)
    }
}

impl TensorView {
    /// NumPy's `x[…]` of the selection, without copying it first: see [`IndexSpec`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::index`].
    pub fn index(&self, spec: &IndexSpec) -> Result<Tensor, Error> {
        let mut made = self.tensor().clone();
        let backend = made.backend.clone();
        if backend.is_cpu()
            && let Some(outer) = self.view().outer(spec)?
        {
            let (dtype, shape, source) = (made.dtype(), outer.shape()?, made.bytes()?);
            let bytes = shape.iter().product::<usize>() * dtype.size();
            let fill = |result: Dest<'_>| {
                outer.run(dtype, &source, result, backend.threads);
                Ok(())
            };
            let (storage, ()) = backend.host_storage(bytes, fill)?;
            return Ok(Tensor::new(&backend, dtype, shape, storage));
        }
        for (plan, tuples) in self.view().index(spec, self.dtype())? {
            let upload = |needed: &[usize]| match narrow(&tuples) {
                Some(tuples) => made.backend.upload((&tuples, needed)),
                None => made.backend.upload((&tuples, needed)),
            };
            let indices = plan.tuples().map(|needed| upload(needed.indices));
            made = made.make(&plan, indices.transpose()?.as_ref())?.0;
        }
        Ok(made)
    }
}
