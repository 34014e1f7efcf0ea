//! NumPy's index expressions with arrays, such as `x[[0, 2], :, [[1], [3]]]`, and outer expressions, as with
//! `numpy.ix_` and Zarr's `oindex`.
//!
//! The slice entries select a view, in which the dimensions that arrays index stay whole. Arrays that are broadcast
//! against each other become the index tuples of one gather from this view. The result has the dimensions of these
//! arrays where NumPy puts them. An outer expression becomes one gather along each indexed dimension, so no list of all
//! combinations of positions is in memory. The dimension that keeps the smallest share of its positions comes first. On
//! the CPU, `cpu/outer.rs` does all gathers of an outer expression in one pass.
//!
//! This module checks positions and converts negative positions, so the gathers get only positions in range.

use super::{
    gather::GatherOptions,
    index::Policy,
    indexed::{added_dims, coordinates_for, kept_dims},
    methods::{host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, SliceSpec, View,
    cpu::{Dest, Threads, outer},
    element::zeroed,
    error,
    moves::{IndexTensor, Move, Operation},
    plan::{ArraySpec, HeldTuples, Operand, Shortcut, Steps},
    shape,
    spec::{IndexItem, IndexSpec, SliceItem},
};
use alloc::sync::Arc;

/// Positions along one dimension: an array, one dimension of a mask, or a single position in an expression with arrays.
struct ArrayEntry {
    /// The number of the entry in the expression, from 0.
    entry_index: usize,
    /// The number of the indexed dimension in x, and its number in the view. `None` for a mask without dimensions.
    dim: Option<[usize; 2]>,
    positions: Vec<i64>,
    shape: Vec<usize>,
}

/// The number of a view's dimension, and the positions to select along it.
type ArrayColumn = (usize, Vec<i64>);

/// The selection of an expression: a view, and entries that are arrays.
struct Selection {
    view: View,
    entries: Vec<ArrayEntry>,
    /// The number of the view's unindexed dimensions that come before the dimensions of the arrays in the result.
    dims_before: usize,
}

/// An outer expression: a view, and lists of non-negative positions to select along some of its dimensions. The list of
/// the dimension that keeps the smallest share of its positions comes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outer {
    view: View,
    lists: Vec<ArrayColumn>,
}

impl Plan {
    /// Plans NumPy's `x[…]`. The only input is x; the plan holds the arrays.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// // From each of two images, the pixels (10, 30) and (20, 40) with all channels.
    /// let plan = Plan::index(&[2, 480, 640, 3], &":, [10, 20], [30, 40]".parse()?, DType::U8)?;
    /// assert_eq!(plan.shape(), [2, 2, 3]);
    /// let (images, mut pixels) = (vec![1u8; 2 * 480 * 640 * 3], vec![0u8; 12]);
    /// plan.run_cpu(&[(&images).into()], &mut [(&mut pixels).into()])?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where NumPy raises `IndexError`: the kinds of [`View::slice`], then `Values`, `OuterRank`,
    /// `MaskShape`, `ArrayShapes` and `Position`; [`Error::ShapeTooLarge`]; [`Error::OutOfHostMemory`]. As in NumPy,
    /// positions of arrays are not checked if the result is empty because another array is empty.
    #[doc(alias("fancy_index", "ix_", "oindex"))]
    pub fn index(x: impl IntoView, spec: &IndexSpec, dtype: DType) -> Result<Self, Error> {
        let x = x.into_view()?;
        let has_arrays = has_arrays(spec);
        let selection = x.apply_slices(spec)?;
        match (has_arrays, spec.is_outer()) {
            (false, _) => Ok(Self::from_view(Move::from_view(selection.view, dtype), &x)),
            (true, false) => selection.plan_broadcast_gather(&x, dtype),
            (true, true) => selection.outer()?.plan(&x, dtype),
        }
    }
}

fn has_arrays(spec: &IndexSpec) -> bool {
    let is_array = |item: &IndexItem| !matches!(item, IndexItem::Slice(_));
    spec.items().iter().any(is_array)
}

/// The locations of the elements that an expression selects.
pub(super) struct SelectedElements {
    /// The shape of the selection.
    pub(super) shape: Vec<usize>,
    /// The elements as a view, if the expression has no arrays.
    pub(super) view: Option<View>,
    /// The offset, in elements, of the view that the arrays select from.
    pub(super) offset: usize,
    /// The selectors of distances in elements. An element's distance from `offset` is the sum of one distance from each
    /// selector. In row-major order of the selection, the last selector varies fastest.
    pub(super) selectors: Vec<ArraySelector>,
}

pub(super) enum ArraySelector {
    /// A dimension: the number of positions, and the distance in elements between neighbours.
    Dim(usize, isize),
    /// The distances that arrays select.
    List(Vec<isize>),
}

impl View {
    /// Returns the locations of the elements that an expression selects.
    pub(super) fn selected_elements(&self, spec: &IndexSpec) -> Result<SelectedElements, Error> {
        let selection = self.apply_slices(spec)?;
        let dim = |view: &Self, view_dim: usize| {
            ArraySelector::Dim(view.shape[view_dim], view.strides[view_dim])
        };
        // Sizes and distances within an array are far below 2^63.
        let distance =
            |position: i64, stride: isize| isize::try_from(position).unwrap_or(0) * stride;
        let offset = selection.view.offset;
        if !has_arrays(spec) {
            let view = selection.view;
            return Ok(SelectedElements {
                shape: view.shape.clone(),
                selectors: (0..view.shape.len())
                    .map(|view_dim| dim(&view, view_dim))
                    .collect(),
                view: Some(view),
                offset,
            });
        }
        if spec.is_outer() {
            let outer = selection.outer()?;
            let view = &outer.view;
            let selector = |view_dim| match outer.lists.iter().find(|list| list.0 == view_dim) {
                None => dim(view, view_dim),
                Some((_, list)) => {
                    let stride = view.strides[view_dim];
                    ArraySelector::List(
                        list.iter()
                            .map(|&position| distance(position, stride))
                            .collect(),
                    )
                }
            };
            return Ok(SelectedElements {
                shape: outer.shape()?,
                view: None,
                offset,
                selectors: (0..view.shape.len()).map(selector).collect(),
            });
        }
        let (sizes, columns) = selection.broadcast_columns()?;
        let view = &selection.view;
        let mut distances = zeroed(shape::elements(&sizes)?)?;
        for (view_dim, positions) in &columns {
            for (sum, &position) in distances.iter_mut().zip(positions) {
                *sum += distance(position, view.strides[*view_dim]);
            }
        }
        let kept_dims: Vec<usize> = selection.kept_dims(&columns).collect();
        let (dims_before, dims_after) = kept_dims.split_at(selection.dims_before);
        let size = |&view_dim: &usize| view.shape[view_dim];
        let shape: Vec<usize> = dims_before
            .iter()
            .map(size)
            .chain(sizes)
            .chain(dims_after.iter().map(size))
            .collect();
        shape::elements(&shape)?;
        let selectors_before = dims_before.iter().map(|&view_dim| dim(view, view_dim));
        let selectors_after = dims_after.iter().map(|&view_dim| dim(view, view_dim));
        Ok(SelectedElements {
            shape,
            view: None,
            offset,
            selectors: selectors_before
                .chain([ArraySelector::List(distances)])
                .chain(selectors_after)
                .collect(),
        })
    }

    /// Applies the slice entries of an expression and collects its arrays. Single positions count as arrays in an
    /// expression with arrays that is not outer.
    fn apply_slices(&self, spec: &IndexSpec) -> Result<Selection, Error> {
        let singles_are_arrays = has_arrays(spec) && !spec.is_outer();
        let mut items = Vec::new();
        for (entry_index, entry) in spec.items().iter().enumerate() {
            match entry {
                IndexItem::Slice(SliceItem::Index { stride: 1.., .. }) if singles_are_arrays => {
                    items.push(SliceItem::FULL);
                }
                IndexItem::Slice(slice) => items.push(*slice),
                IndexItem::Positions { values, shape } => {
                    check_array(entry_index, values.len(), shape, spec.is_outer())?;
                    items.push(SliceItem::FULL);
                }
                IndexItem::Mask { values, shape } => {
                    check_array(entry_index, values.len(), shape, spec.is_outer())?;
                    items.extend(shape.iter().map(|_| SliceItem::FULL));
                }
            }
        }
        let taken_dims = items.iter().filter(|item| item.takes_dimension()).count();
        let items = SliceSpec::new(items);
        let view = self.slice(&items)?;
        let ellipsis_dims = self.shape.len() - taken_dims;
        let (mut dim, mut view_dim) = (0, 0);
        let mut entries: Vec<ArrayEntry> = Vec::new();
        // `dims_before_arrays` is the number of unindexed dimensions before the first array. `are_arrays_apart` becomes
        // true if a slice entry is between two arrays.
        let mut dims_before_arrays = None;
        let (mut has_slice_after_array, mut are_arrays_apart) = (false, false);
        for (entry_index, entry) in spec.items().iter().enumerate() {
            let unindexed_dims =
                view_dim - entries.iter().filter(|entry| entry.dim.is_some()).count();
            let mut add_list = |dim, positions, shape| {
                dims_before_arrays.get_or_insert(unindexed_dims);
                are_arrays_apart |= has_slice_after_array;
                entries.push(ArrayEntry {
                    entry_index,
                    dim,
                    positions,
                    shape,
                });
            };
            match entry {
                IndexItem::Slice(SliceItem::Index { index, .. }) if singles_are_arrays => {
                    let position = nonnegative_position(entry_index, *index, dim, self.shape[dim])?;
                    add_list(Some([dim, view_dim]), vec![position], Vec::new());
                    (dim, view_dim) = (dim + 1, view_dim + 1);
                }
                IndexItem::Slice(slice) => {
                    has_slice_after_array |= dims_before_arrays.is_some();
                    match slice {
                        SliceItem::Index { .. } => dim += 1,
                        SliceItem::Range { .. } => (dim, view_dim) = (dim + 1, view_dim + 1),
                        SliceItem::NewAxis => view_dim += 1,
                        SliceItem::Ellipsis => {
                            (dim, view_dim) = (dim + ellipsis_dims, view_dim + ellipsis_dims);
                        }
                    }
                }
                IndexItem::Positions { values, shape } => {
                    add_list(Some([dim, view_dim]), values.clone(), shape.clone());
                    (dim, view_dim) = (dim + 1, view_dim + 1);
                }
                IndexItem::Mask { values, shape } => {
                    let sizes = &self.shape[dim..dim + shape.len()];
                    if shape != sizes {
                        return Err(error::index::mask_shape(entry_index, shape, dim, sizes));
                    }
                    let count = values.iter().filter(|&&truth| truth).count();
                    let true_numbers = || (0..values.len()).filter(|&number| values[number]);
                    let strides = shape::row_major_strides(shape);
                    for (d, (&size, stride)) in shape.iter().zip(strides).enumerate() {
                        let positions =
                            true_numbers().map(|n| (n / stride % size) as i64).collect();
                        add_list(Some([dim + d, view_dim + d]), positions, vec![count]);
                    }
                    if shape.is_empty() {
                        add_list(None, vec![0; count], vec![count]);
                    }
                    (dim, view_dim) = (dim + shape.len(), view_dim + shape.len());
                }
            }
        }
        let dims_before = if are_arrays_apart {
            0
        } else {
            dims_before_arrays.unwrap_or(0)
        };
        Ok(Selection {
            view,
            entries,
            dims_before,
        })
    }
}

impl Selection {
    /// Returns the shape to which the arrays are broadcast and, for each array, the dimension of the view that it
    /// indexes and its positions.
    fn broadcast_columns(&self) -> Result<(Vec<usize>, Vec<ArrayColumn>), Error> {
        let mut sizes = Vec::new();
        for entry in &self.entries {
            sizes = shape::broadcast(&sizes, &entry.shape).ok_or_else(|| {
                error::index::array_shapes(entry.entry_index, &entry.shape, &sizes)
            })?;
        }
        let count = shape::elements(&sizes)?;
        let mut columns = Vec::new();
        for entry in &self.entries {
            let Some([axis, view_dim]) = entry.dim else {
                continue;
            };
            let mut positions = zeroed(count)?;
            let broadcast_view = View::whole(&entry.shape).broadcast_to(&sizes)?;
            let (from, to) = (&entry.positions, bytemuck::cast_slice_mut(&mut positions));
            let (from, to) = (bytemuck::cast_slice(from), Dest::Old(to));
            broadcast_view.copy(DType::I64, from, to, Threads::default());
            for position in &mut positions {
                *position = nonnegative_position(
                    entry.entry_index,
                    *position,
                    axis,
                    self.view.shape[view_dim],
                )?;
            }
            columns.push((view_dim, positions));
        }
        Ok((sizes, columns))
    }

    /// Returns the dimensions of the view that no array indexes.
    fn kept_dims(&self, columns: &[ArrayColumn]) -> impl Iterator<Item = usize> {
        let is_indexed = |view_dim: usize| columns.iter().any(|(indexed, _)| *indexed == view_dim);
        (0..self.view.shape.len()).filter(move |&view_dim| !is_indexed(view_dim))
    }

    /// Plans the gather of arrays that are broadcast against each other.
    fn plan_broadcast_gather(self, x: &View, dtype: DType) -> Result<Plan, Error> {
        let (sizes, columns) = self.broadcast_columns()?;
        let count = shape::elements(&sizes)?;
        let mut tuples = zeroed(count.saturating_mul(columns.len()))?;
        let mut coordinates = Vec::new();
        for (column, (view_dim, positions)) in columns.iter().enumerate() {
            for (tuple, &position) in tuples.chunks_exact_mut(columns.len()).zip(positions) {
                tuple[column] = position;
            }
            coordinates.extend(coordinates_for(&self.view, *view_dim..view_dim + 1, column));
        }
        let dims = self
            .kept_dims(&columns)
            .flat_map(|view_dim| kept_dims(&self.view, view_dim..view_dim + 1));
        let dims: Vec<_> = dims.collect();
        let (dims_before, dims_after) = dims.split_at(self.dims_before);
        let dims = dims_before
            .iter()
            .copied()
            .chain(added_dims(&sizes))
            .chain(dims_after.iter().copied())
            .collect();
        let tuple_dims = sizes.len();
        let mut indices_shape = sizes.clone();
        indices_shape.push(columns.len());
        let indices = IndexTensor::new((&indices_shape).into(), tuple_dims, Policy::default())?;
        let gather = Move::of_gather(
            Operation::Named("array_index"),
            self.view,
            dims,
            coordinates,
            indices,
            dtype,
        )?;
        let input = ArraySpec::new("x", x, dtype);
        let output = ArraySpec::result(&gather.shape, dtype);
        let mut plan = Steps::new(Operation::Named("array_index"), vec![input], output);
        plan.push_at(gather, &tuples, Operand::Input(0), Operand::Output(0))?;
        Ok(plan.plan())
    }

    /// Returns the outer expression: all combinations of the arrays' positions.
    fn outer(self) -> Result<Outer, Error> {
        let Self { view, entries, .. } = self;
        let mut lists = Vec::new();
        for mut entry in entries {
            // Arrays of an outer expression have one dimension and index one dimension.
            let Some([axis, view_dim]) = entry.dim else {
                continue;
            };
            for value in &mut entry.positions {
                *value =
                    nonnegative_position(entry.entry_index, *value, axis, view.shape[view_dim])?;
            }
            lists.push((view_dim, entry.positions));
        }
        // The key is the share of its dimension that a list keeps, times 2^32.
        lists.sort_by_key(|(view_dim, positions)| {
            ((positions.len() as u128) << 32) / (view.shape[*view_dim].max(1) as u128)
        });
        Ok(Outer { view, lists })
    }
}

impl Outer {
    /// Plans a gather for each list, along its dimension, with temporary memory between gathers. The CPU does all
    /// gathers in one pass.
    fn plan(self, x: &View, dtype: DType) -> Result<Plan, Error> {
        let input = ArraySpec::new("x", x, dtype);
        let output = ArraySpec::result(&self.shape()?, dtype);
        let mut plan = Steps::new(Operation::Named("array_index"), vec![input], output);
        let (mut view, mut from) = (self.view.clone(), Operand::Input(0));
        for (list_index, (view_dim, positions)) in self.lists.iter().enumerate() {
            let options = GatherOptions {
                axis: Some(view_dim.cast_signed()),
                ..GatherOptions::default()
            };
            let Some(gather) =
                Plan::gather(&view, &[positions.len()], options, dtype)?.into_single_move()
            else {
                return Err(error::value::steps(
                    "a step of an index expression",
                    "a gather",
                ));
            };
            view = View::new(&gather.shape)?;
            let to = match list_index + 1 == self.lists.len() {
                true => Operand::Output(0),
                false => plan.temp(&gather.shape, dtype),
            };
            plan.push_at(gather, positions, from, to.clone())?;
            from = to;
        }
        let has_several = self.lists.len() > 1;
        let shortcut = has_several.then(|| Shortcut::Outer(Arc::new(self)));
        Ok(plan.with_shortcut(shortcut).plan())
    }

    /// Returns the shape of the result.
    fn shape(&self) -> Result<Vec<usize>, Error> {
        let mut shape = self.view.shape.clone();
        for (view_dim, positions) in &self.lists {
            shape[*view_dim] = positions.len();
        }
        shape::elements(&shape)?;
        Ok(shape)
    }

    /// Writes the result to `dest`, on the CPU.
    pub(crate) fn run(&self, dtype: DType, source: &[u8], dest: Dest<'_>, threads: Threads) {
        let elements = (&self.view, dtype.size());
        outer::run(elements, &self.lists, source, dest, threads);
    }
}

/// Returns a position counted from the beginning of a dimension. A negative `position` counts from the end.
fn nonnegative_position(
    entry_index: usize,
    position: i64,
    axis: usize,
    size: usize,
) -> Result<i64, Error> {
    // Sizes of a shape are far below 2^63.
    let position_from_start = position.saturating_add(if position < 0 { size as i64 } else { 0 });
    match (0..size as i64).contains(&position_from_start) {
        true => Ok(position_from_start),
        false => Err(error::index::position_out_of_range(
            entry_index,
            position,
            axis,
            size,
        )),
    }
}

impl Steps {
    /// Adds a gather or a scatter by tuples that the plan holds. It holds them as 32-bit integers, to halve the memory,
    /// unless a position needs more bits.
    pub(super) fn push_at(
        &mut self,
        step_move: Move,
        tuples: &[i64],
        from: Operand,
        to: Operand,
    ) -> Result<(), Error> {
        let narrow_tuples = tuples.iter().map(|&position| i32::try_from(position).ok());
        let (index_dtype, bytes): (_, Arc<[u8]>) = match narrow_tuples.collect::<Option<Vec<i32>>>()
        {
            Some(narrow) => (DType::I32, bytemuck::cast_slice(&narrow).into()),
            None => (DType::I64, bytemuck::cast_slice(tuples).into()),
        };
        self.push_tuples(step_move, (index_dtype, HeldTuples::Bytes(bytes)), from, to)
    }

    /// Adds a gather or a scatter by index tuples of type `index_dtype` that the plan holds.
    pub(super) fn push_tuples(
        &mut self,
        step_move: Move,
        (index_dtype, tuples): (DType, HeldTuples),
        from: Operand,
        to: Operand,
    ) -> Result<(), Error> {
        let indices = Some(Operand::Const(tuples));
        self.push(step_move.for_indices(index_dtype)?, from, indices, to);
        Ok(())
    }
}

/// Fails if the number of values of an array does not match its shape or, in an outer expression, if the array does not
/// have one dimension.
fn check_array(
    entry_index: usize,
    value_count: usize,
    shape: &[usize],
    is_outer: bool,
) -> Result<(), Error> {
    if shape::elements(shape)? != value_count {
        return Err(error::index::wrong_value_count(
            entry_index,
            value_count,
            shape,
        ));
    }
    match is_outer && shape.len() != 1 {
        true => Err(error::index::outer_rank(entry_index, shape.len())),
        false => Ok(()),
    }
}

host_methods! {
    /// Selects from host values by NumPy's `x[…]`, with arrays of positions and masks: see [`IndexSpec`].
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
    /// The errors of [`Plan::index`]; [`Error::Length`]; or an error of the device.
    #[doc(alias("fancy_index", "ix_", "oindex"))]
    fn index(view x: T, by spec: &IndexSpec) -> made = |dtype| Plan::index(x, spec, dtype), [x];
}

tensor_methods! {
    /// Selects from this tensor by NumPy's `x[…]`: see [`IndexSpec`]. On a GPU the call submits the work and does not
    /// wait for it.
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::index`], or an error of the device.
    #[doc(alias("fancy_index", "ix_", "oindex"))]
    fn index(self x, by spec: &IndexSpec) -> made = |dtype| Plan::index(x.layout(), spec, dtype), [x];
}
