//! xla_gather and xla_scatter: XLA's general gather and scatter, with the dimension numbers of StableHLO.
//!
//! ```text
//! operand       the source of the windows, which all have the same size
//! start_indices the start of each window: an index tuple along index_vector_dim
//! result        batch dimensions, which number the windows, and window dimensions, in any order
//! ```
//!
//! A [`Walk`] describes both operations. In it, a dimension of the result that numbers windows has its own tuples. If
//! it is a batching dimension, it also steps along a dimension of the operand. A dimension within windows steps along
//! the operand, and its positions share a tuple. A coordinate has `size - window + 1` positions: the starts of all
//! windows inside the operand. So a window is in range, clamped or dropped as a whole, as in XLA. The same holds for a
//! scatter, in which the operand is the destination.
//!
//! Moves take tuples along the last dimension of the indices. If `index_vector_dim` is another dimension, a first step
//! moves the tuples to the last dimension.

use super::{
    index::{IndexShape, NegativeIndex, OutOfRange, Policy},
    methods::{host_methods, tensor_methods},
    scatter_nd::{Combine, ScatterOptions},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, View,
    error::{self, xla::dimension_numbers},
    moves::{CombineOptions, Effect, IndexTensor, Move, Operation, Scatter},
    plan::{ArraySpec, Operand, Steps},
    shape,
    text::counted,
    walk::{Coordinate, Dim, MAX_UNIT, Side, Walk},
};
use alloc::borrow::Cow;

/// The dimension numbers of StableHLO's `gather`, with StableHLO's names and constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherDims {
    /// The dimensions of the result that are dimensions of windows, in ascending order: one for each operand dimension
    /// that is neither collapsed nor a batching dimension.
    pub offset_dims: Vec<usize>,
    /// The collapsed dimensions of the operand, in ascending order. The result lacks them, because windows have one
    /// position in them.
    pub collapsed_slice_dims: Vec<usize>,
    /// The batching dimensions of the operand, in ascending order. Entry `i` corresponds to entry `i` of
    /// `start_indices_batching_dims`.
    pub operand_batching_dims: Vec<usize>,
    /// The batching dimensions of the indices. Entry `i` corresponds to entry `i` of `operand_batching_dims`.
    pub start_indices_batching_dims: Vec<usize>,
    /// For each integer of a tuple, the dimension of the operand in which it is a position.
    pub start_index_map: Vec<usize>,
    /// The dimension of the indices that holds the tuples. If each index is a tuple of one integer, this is the rank of
    /// the indices.
    pub index_vector_dim: usize,
    /// The size of windows in each dimension of the operand.
    pub slice_sizes: Vec<usize>,
}

/// The dimension numbers of StableHLO's `scatter`, with StableHLO's names and constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScatterDims {
    /// The dimensions of the updates that are dimensions of windows, in ascending order: one for each operand dimension
    /// that is neither inserted nor a batching dimension.
    pub update_window_dims: Vec<usize>,
    /// The inserted dimensions of the operand, in ascending order. The updates lack them, because windows have one
    /// position in them.
    pub inserted_window_dims: Vec<usize>,
    /// The batching dimensions of the operand, in ascending order. Entry `i` corresponds to entry `i` of
    /// `scatter_indices_batching_dims`.
    pub input_batching_dims: Vec<usize>,
    /// The batching dimensions of the indices. Entry `i` corresponds to entry `i` of `input_batching_dims`.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// For each integer of a tuple, the dimension of the operand in which it is a position.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// The dimension of the indices that holds the tuples. If each index is a tuple of one integer, this is the rank of
    /// the indices.
    pub index_vector_dim: usize,
}

/// Options of `xla_scatter`: the combination of updates, and the treatment of windows that extend beyond the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct XlaScatterOptions {
    /// The combination of an element of the updates with its element of the operand. `None` stands for
    /// [`Combine::Update`].
    pub combine: Option<Combine>,
    /// The treatment of windows that extend beyond the operand. A negative index is outside the operand.
    pub out_of_range: OutOfRange,
    /// The same as [`ScatterOptions::any_order`].
    pub any_order: bool,
    /// The same as [`ScatterOptions::unique`]: no two windows have an element in common. XLA calls this
    /// `unique_indices`.
    pub unique: bool,
}

impl XlaScatterOptions {
    fn combine_options(self, dtype: DType) -> Result<CombineOptions, Error> {
        let options = ScatterOptions {
            combine: self.combine,
            out_of_range: self.out_of_range,
            negative: NegativeIndex::Invalid,
            any_order: self.any_order,
            unique: self.unique,
        };
        options.combine_options(Combine::Update, dtype)
    }
}

impl GatherDims {
    fn numbers(&self) -> DimensionNumbers<'_> {
        DimensionNumbers {
            names: [
                "offset_dims",
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
            ],
            windows: &self.offset_dims,
            dropped: &self.collapsed_slice_dims,
            batching: &self.operand_batching_dims,
            index_batching: &self.start_indices_batching_dims,
            map: &self.start_index_map,
            index_vector_dim: self.index_vector_dim,
        }
    }

    /// Returns the indices with the tuples along the last dimension, and the dimension numbers for these indices.
    fn with_tuples_last(&self, indices: &View) -> Result<(View, Cow<'_, Self>), Error> {
        let rank = indices.shape.len();
        let Some((order, start_indices_batching_dims)) = self.numbers().tuples_last(rank) else {
            return Ok((indices.clone(), Cow::Borrowed(self)));
        };
        let dims = Self {
            start_indices_batching_dims,
            index_vector_dim: rank - 1,
            ..self.clone()
        };
        Ok((indices.transpose(&order)?, Cow::Owned(dims)))
    }
}

impl ScatterDims {
    fn numbers(&self) -> DimensionNumbers<'_> {
        DimensionNumbers {
            names: [
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
            ],
            windows: &self.update_window_dims,
            dropped: &self.inserted_window_dims,
            batching: &self.input_batching_dims,
            index_batching: &self.scatter_indices_batching_dims,
            map: &self.scatter_dims_to_operand_dims,
            index_vector_dim: self.index_vector_dim,
        }
    }

    /// Does the same as [`GatherDims::with_tuples_last`].
    fn with_tuples_last(&self, indices: &View) -> Result<(View, Cow<'_, Self>), Error> {
        let rank = indices.shape.len();
        let Some((order, scatter_indices_batching_dims)) = self.numbers().tuples_last(rank) else {
            return Ok((indices.clone(), Cow::Borrowed(self)));
        };
        let dims = Self {
            scatter_indices_batching_dims,
            index_vector_dim: rank - 1,
            ..self.clone()
        };
        Ok((indices.transpose(&order)?, Cow::Owned(dims)))
    }
}

/// The dimension numbers of either operation, and the operation's names for the lists.
struct DimensionNumbers<'a> {
    names: [&'static str; 5],
    /// The dimensions of the result or of the updates that are dimensions of windows.
    windows: &'a [usize],
    /// The dimensions of the operand that the result or the updates lack.
    dropped: &'a [usize],
    /// The batching dimensions of the operand.
    batching: &'a [usize],
    /// The batching dimensions of the indices.
    index_batching: &'a [usize],
    /// For each integer of a tuple, the dimension of the operand in which it is a position.
    map: &'a [usize],
    index_vector_dim: usize,
}

/// A dimension of the result of a gather, or of the updates of a scatter.
enum ResultDim {
    /// A dimension of windows, which steps along this dimension of the operand.
    Window(usize),
    /// A dimension that numbers windows: the number of windows and, if there is one, the batching dimension of the
    /// operand that corresponds to this dimension.
    Tuples(usize, Option<usize>),
}

impl DimensionNumbers<'_> {
    /// Returns the permutation of indices of this rank that moves the tuples to the last dimension, and the batching
    /// dimensions after the permutation. Returns `None` if the tuples need no move.
    fn tuples_last(&self, rank: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let tuple_dim = self.index_vector_dim;
        if tuple_dim + 1 >= rank {
            return None;
        }
        let order: Vec<usize> = (0..rank)
            .filter(|&d| d != tuple_dim)
            .chain([tuple_dim])
            .collect();
        let new_position = |d: &usize| order.iter().position(|dim| dim == d).unwrap_or(*d);
        let batching = self.index_batching.iter().map(new_position).collect();
        Some((order, batching))
    }

    /// Checks the numbers for an operand and for indices whose tuples come last. Returns the dimensions of the result
    /// of a gather, or of the updates of a scatter.
    fn axes(&self, operand: &[usize], indices: &[usize]) -> Result<Vec<ResultDim>, Error> {
        let rank = indices.len();
        if self.index_vector_dim > rank {
            let rule = format!(
                "the indices have rank {rank}: it must be a dimension of theirs, or {rank} if each index is a tuple"
            );
            let found_list = &[self.index_vector_dim];
            return Err(dimension_numbers("index_vector_dim", found_list, &rule));
        }
        let (lead_shape, tuple_shape) = indices.split_at(self.index_vector_dim);
        let depth = tuple_shape.first().copied().unwrap_or(1);
        let operand_rank = ("the operand", operand.len());
        let result_rank = lead_shape.len() + self.windows.len();
        let [
            windows_name,
            dropped_name,
            batching_name,
            index_batching_name,
            map_name,
        ] = self.names;
        check_list(
            windows_name,
            self.windows,
            ("the result or the updates", result_rank),
            true,
            &[],
        )?;
        check_list(
            dropped_name,
            self.dropped,
            operand_rank,
            true,
            self.batching,
        )?;
        check_list(batching_name, self.batching, operand_rank, true, self.map)?;
        check_list(map_name, self.map, operand_rank, false, &[])?;
        check_list(
            index_batching_name,
            self.index_batching,
            ("the indices", lead_shape.len()),
            false,
            &[],
        )?;
        if self.map.len() != depth {
            let integer_count = counted(depth, "integer", "integers");
            let rule = format!("index tuples have {integer_count}: it must have an entry for each");
            return Err(dimension_numbers(map_name, self.map, &rule));
        }
        let sizes = |dims: &[usize], shape: &[usize]| dims.iter().map(|&d| shape[d]).collect();
        let [operand_sizes, index_sizes]: [Vec<usize>; 2] = [
            sizes(self.batching, operand),
            sizes(self.index_batching, lead_shape),
        ];
        if operand_sizes != index_sizes {
            let rule = format!(
                "these have sizes {index_sizes:?} in the indices, and {operand_sizes:?} in the operand: they must be equal"
            );
            return Err(dimension_numbers(
                index_batching_name,
                self.index_batching,
                &rule,
            ));
        }
        let is_kept = |d: &usize| !self.dropped.contains(d) && !self.batching.contains(d);
        let kept_dims: Vec<usize> = (0..operand.len()).filter(is_kept).collect();
        if self.windows.len() != kept_dims.len() {
            let rule = format!(
                "the operand has {} dimensions besides {dropped_name} and {batching_name}: it must have an entry for each",
                kept_dims.len()
            );
            return Err(dimension_numbers(windows_name, self.windows, &rule));
        }
        let mut tuple_dims = lead_shape.iter().enumerate().map(|(index_dim, &size)| {
            let batching_index = self.index_batching.iter().position(|&d| d == index_dim);
            ResultDim::Tuples(
                size,
                batching_index.map(|batching_index| self.batching[batching_index]),
            )
        });
        let mut kept_dims = kept_dims.into_iter().map(ResultDim::Window);
        let axes = (0..result_rank).filter_map(|d| match self.windows.contains(&d) {
            true => kept_dims.next(),
            false => tuple_dims.next(),
        });
        Ok(axes.collect())
    }

    /// Returns a coordinate for each integer of a tuple. Its positions are the starts of all windows inside an operand
    /// with these `sizes` and `strides`. `window_sizes` has the sizes of the windows.
    fn coordinates(
        &self,
        sizes: &[usize],
        strides: &[isize],
        window_sizes: &[usize],
    ) -> Vec<Coordinate> {
        let begins = self.map.iter().enumerate().map(|(column, &d)| {
            let position_count = sizes[d] - window_sizes[d] + 1;
            // The stride of a single position does not matter, and the real stride could be too large.
            let stride = if position_count == 1 { 0 } else { strides[d] };
            Coordinate::indexed(position_count, stride, column)
        });
        begins.collect()
    }

    fn indices(&self, shape: &[usize], dtype: DType, policy: Policy) -> Result<IndexTensor, Error> {
        IndexTensor::new((shape, dtype).into(), self.index_vector_dim, policy)
    }
}

/// Checks that the entries of a list are different dimensions of an array of this rank, in ascending order if
/// `must_ascend` is true, and that none of them is in `excluded_dims`.
fn check_list(
    name: &'static str,
    list: &[usize],
    (array, rank): (&str, usize),
    must_ascend: bool,
    excluded_dims: &[usize],
) -> Result<(), Error> {
    let mut sorted_list = list.to_vec();
    sorted_list.sort_unstable();
    let are_different = sorted_list.is_sorted_by(|a, b| a < b);
    let are_inside = sorted_list.last().is_none_or(|&last| last < rank);
    let order = if must_ascend {
        ", in ascending order"
    } else {
        ""
    };
    if are_different
        && are_inside
        && (!must_ascend || sorted_list == list)
        && !excluded_dims.iter().any(|d| list.contains(d))
    {
        return Ok(());
    }
    let exception = match excluded_dims {
        [] => String::new(),
        excluded_dims => format!(", none of {excluded_dims:?}"),
    };
    let rule =
        format!("it must name different dimensions of {array}, of rank {rank}{order}{exception}");
    Err(dimension_numbers(name, list, &rule))
}

impl Plan {
    /// Plans XLA's gather from an operand. The inputs are the operand and the indices. `start_indices` is the shape and
    /// the type of the indices. The operand can be a view and is not copied. A window that extends beyond the operand
    /// is shifted into it under [`OutOfRange::Clamp`], as in XLA and StableHLO. Under [`OutOfRange::Ignore`] it becomes
    /// zeros, as in JAX's mode `fill`, and under [`OutOfRange::Error`] the call fails.
    ///
    /// ```
    /// use wgslice::{options::{GatherDims, OutOfRange}, DType, Plan};
    ///
    /// // Two windows of 3 from a row of 5: one begins at 1, and XLA shifts the other from 4 to 2.
    /// let dims = GatherDims {
    ///     offset_dims: vec![1],
    ///     start_index_map: vec![0],
    ///     index_vector_dim: 1,
    ///     slice_sizes: vec![3],
    ///     ..GatherDims::default()
    /// };
    /// let plan = Plan::xla_gather(&[5], &[2], &dims, OutOfRange::Clamp, DType::I32)?;
    /// let mut windows = [0; 6];
    /// plan.run_cpu(&[(&[0, 1, 2, 3, 4]).into(), (&[1, 4]).into()], &mut [(&mut windows).into()])?;
    /// assert_eq!(windows, [1, 2, 3, 2, 3, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    pub fn xla_gather(
        operand: impl IntoView,
        start_indices: impl Into<IndexShape>,
        dims: &GatherDims,
        out_of_range: OutOfRange,
        dtype: DType,
    ) -> Result<Self, Error> {
        let operand = operand.into_view()?;
        let IndexShape {
            shape,
            dtype: index_dtype,
        } = start_indices.into();
        let start_indices = View::new(&shape)?;
        let (tuples, dims) = dims.with_tuples_last(&start_indices)?;
        let numbers = dims.numbers();
        let axes = numbers.axes(&operand.shape, &tuples.shape)?;
        let sizes = &dims.slice_sizes;
        let has_one_position =
            |d: &usize| numbers.dropped.contains(d) || numbers.batching.contains(d);
        let is_size_valid = |d: usize| {
            sizes[d] <= operand.shape[d].min(if has_one_position(&d) { 1 } else { usize::MAX })
        };
        let rank = operand.shape.len();
        let axis_size = |axis: &ResultDim| match *axis {
            ResultDim::Window(d) => sizes[d],
            ResultDim::Tuples(size, _) => size,
        };
        let has_windows = sizes.len() == rank && (0..rank).all(is_size_valid);
        // Windows without elements cannot fill a result with elements.
        if !has_windows || sizes.contains(&0) && !axes.iter().map(axis_size).any(|size| size == 0) {
            let shape = &operand.shape;
            let rule = format!(
                "it must have an entry for each dimension of the operand {shape:?}, none larger, and 1 in those of {} and {}",
                numbers.names[1], numbers.names[2]
            );
            return Err(dimension_numbers("slice_sizes", sizes, &rule));
        }
        let walk_dims = axes.iter().map(|axis| match *axis {
            ResultDim::Window(d) => Dim::shared(sizes[d], operand.strides[d]),
            ResultDim::Tuples(size, d) => {
                Dim::with_own_tuples(size, d.map_or(0, |d| operand.strides[d]))
            }
        });
        let walk_dims = walk_dims.collect();
        let coordinates = numbers.coordinates(&operand.shape, &operand.strides, sizes);
        let policy = Policy {
            out_of_range,
            ..Policy::default()
        };
        let indices = numbers.indices(&tuples.shape, index_dtype, policy)?;
        let gather = Move::of_gather(
            Operation::XlaGather,
            operand.clone(),
            walk_dims,
            coordinates,
            indices,
            dtype,
        )?;
        Ok(Self::with_ordered_tuples(gather, &operand, &tuples))
    }

    /// Plans XLA's scatter into an operand of this shape, in place. `scatter_indices` is the shape and the type of the
    /// indices. The inputs are the updates and the indices. The elements of the updates take effect in row-major order.
    /// A window that extends beyond the operand is dropped under [`OutOfRange::Ignore`], as in XLA. Under
    /// [`OutOfRange::Clamp`] it is shifted into the operand, as in JAX's mode `clip`, and under [`OutOfRange::Error`]
    /// the call fails.
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterDims, XlaScatterOptions}, DType, Plan};
    ///
    /// // Two windows of 3 are added to a row of 5. The third begins at 4, so XLA drops it.
    /// let dims = ScatterDims {
    ///     update_window_dims: vec![1],
    ///     scatter_dims_to_operand_dims: vec![0],
    ///     index_vector_dim: 1,
    ///     ..ScatterDims::default()
    /// };
    /// let options = XlaScatterOptions { combine: Some(Combine::Add), ..Default::default() };
    /// let plan = Plan::xla_scatter(&[5], &[3], &[3, 3], &dims, options, DType::I32)?;
    /// let mut row = [0; 5];
    /// let updates = [1, 2, 3, 10, 20, 30, 7, 7, 7];
    /// plan.run_cpu(&[(&updates).into(), (&[0, 2, 4]).into()], &mut [(&mut row).into()])?;
    /// assert_eq!(row, [1, 2, 13, 20, 30]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias = "scatter_add")]
    pub fn xla_scatter(
        operand: &[usize],
        scatter_indices: impl Into<IndexShape>,
        updates: &[usize],
        dims: &ScatterDims,
        options: XlaScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let IndexShape {
            shape,
            dtype: index_dtype,
        } = scatter_indices.into();
        let elements = shape::elements(operand)?;
        let scatter_indices = View::new(&shape)?;
        let source = View::new(updates)?;
        let (tuples, dims) = dims.with_tuples_last(&scatter_indices)?;
        let numbers = dims.numbers();
        let axes = numbers.axes(operand, &tuples.shape)?;
        let window_shape = window_sizes(&axes, operand, updates)?;
        if elements == 0 && !updates.contains(&0) {
            let indices = &scatter_indices.shape;
            return Err(error::scatter::empty_output(indices, updates, operand));
        }
        let options = options.combine_options(dtype)?;
        let strides: Vec<isize> = shape::row_major_strides(operand)
            .iter()
            .map(|&s| s.cast_signed())
            .collect();
        let mut effect = Scatter {
            slices: elements,
            starts_from_zeros: false,
            dtype,
            options,
        };
        let walk = (!updates.contains(&0)).then(|| {
            let coordinates = numbers.coordinates(operand, &strides, &window_shape);
            let (walk, row_elements) =
                scatter_walk(&axes, &strides, updates, coordinates, &effect, &numbers);
            effect.slices = elements / row_elements;
            walk
        });
        let scatter = Move {
            operation: Operation::XlaScatter,
            shape: operand.to_vec(),
            dtype,
            source: updates.to_vec(),
            walk,
            effect: Effect::Scatter(effect),
            conversion: None,
            indices: Some(numbers.indices(&tuples.shape, index_dtype, options.policy)?),
        };
        Ok(Self::with_ordered_tuples(scatter, &source, &tuples))
    }

    /// Returns the plan of a move from a view by index tuples. If the tuples are not in row-major order, a first step
    /// copies them into this order.
    fn with_ordered_tuples(step_move: Move, source: &View, tuples: &View) -> Self {
        if tuples.is_all() {
            return Self::from_view(step_move, source);
        }
        let index_dtype = step_move.index_dtype();
        let inputs = vec![
            ArraySpec::new("source", source, step_move.dtype),
            ArraySpec::indices("indices", tuples, index_dtype),
        ];
        let output = ArraySpec::result(&step_move.shape, step_move.dtype);
        let mut plan = Steps::new(step_move.operation, inputs, output);
        if step_move.is_in_place() {
            plan = plan.in_place();
        }
        let ordered_tuples = plan.temp(&tuples.shape, index_dtype);
        let ordering_move = Move::from_view(tuples.clone(), index_dtype);
        plan.push(
            ordering_move,
            Operand::Input(1),
            None,
            ordered_tuples.clone(),
        );
        plan.push_reporting(
            step_move,
            Operand::Input(0),
            ordered_tuples,
            Operand::Output(0),
        );
        plan.plan()
    }
}

/// Checks the shape of updates that have these dimensions. Returns the sizes of windows in the dimensions of the
/// operand.
fn window_sizes(
    axes: &[ResultDim],
    operand: &[usize],
    updates: &[usize],
) -> Result<Vec<usize>, Error> {
    let mut sizes = vec![1; operand.len()];
    let needed_shape = axes.iter().map(|axis| match axis {
        ResultDim::Window(d) => operand[*d],
        ResultDim::Tuples(size, _) => *size,
    });
    let needed_shape: Vec<usize> = needed_shape.collect();
    let mut is_valid = axes.len() == updates.len();
    for (axis, &size) in axes.iter().zip(updates) {
        is_valid &= match *axis {
            ResultDim::Window(d) => {
                sizes[d] = size;
                size <= operand[d]
            }
            ResultDim::Tuples(count, _) => size == count,
        };
    }
    if is_valid {
        return Ok(sizes);
    }
    let rule = format!("it must be {needed_shape:?}, or smaller along update_window_dims");
    Err(dimension_numbers("the shape of updates", updates, &rule))
}

/// Returns the walk of a scatter that is not empty, and the number of elements in a row. A row has the innermost
/// dimensions that neither number tuples nor have start positions that vary between tuples. Without such dimensions, a
/// row has one element. The distances between rows are multiples of the number of elements in a row.
fn scatter_walk(
    axes: &[ResultDim],
    strides: &[isize],
    updates: &[usize],
    coordinates: Vec<Coordinate>,
    effect: &Scatter,
    numbers: &DimensionNumbers<'_>,
) -> (Walk, usize) {
    let mut inner_tuples = 1;
    let dims = axes
        .iter()
        .zip(updates)
        .zip(shape::row_major_strides(updates))
        .rev();
    let dims = dims.map(|((axis, &size), from)| {
        let dim = Dim::shared(size, from.cast_signed());
        match *axis {
            ResultDim::Window(d) => Dim {
                to: strides[d],
                ..dim
            },
            ResultDim::Tuples(_, batching) => {
                let tuple_distance = inner_tuples;
                inner_tuples *= size;
                Dim {
                    to: batching.map_or(0, |d| strides[d]),
                    tuple: tuple_distance,
                    ..dim
                }
            }
        }
    });
    let mut dims: Vec<Dim> = dims.collect();
    dims.reverse();
    let is_tuple_dependent = |axis: &ResultDim| match axis {
        ResultDim::Tuples(..) => true,
        ResultDim::Window(d) => {
            let column = numbers.map.iter().position(|mapped| mapped == d);
            column.is_some_and(|column| coordinates[column].size > 1)
        }
    };
    let outer_dim_count = axes
        .iter()
        .rposition(is_tuple_dependent)
        .map_or(0, |last| last + 1);
    let element_bytes = effect.dtype.size();
    let mut walk = Walk::strided(element_bytes, 0, 0, dims.split_off(outer_dim_count));
    walk.merge();
    let mut outer_walk = Walk::strided(element_bytes, 0, 0, dims);
    outer_walk.merge();
    walk.dims.splice(0..0, outer_walk.dims);
    walk.columns = coordinates.len();
    walk.coordinates = coordinates;
    walk.points = Side::Dest;
    walk.counts_tuples = true;
    let run = walk.dims[walk.dims.len() - 1];
    let distances = walk.dims.iter().rev().skip(1).map(|dim| dim.to);
    let distances = distances.chain(walk.coordinates.iter().map(|c| c.stride));
    let fits_row = |distance: isize| distance.unsigned_abs().is_multiple_of(run.size);
    let is_row =
        run.to == 1 && effect.slices.is_multiple_of(run.size) && { distances }.all(fits_row);
    let row_elements = if is_row { run.size } else { 1 };
    if !is_row {
        walk.dims.push(Dim::ONE_POSITION);
    } else if !effect.options.combine.is_computation() {
        let dim_count = walk.dims.len();
        walk.widen_units(MAX_UNIT);
        if walk.dims.len() < dim_count {
            walk.dims.push(Dim::ONE_POSITION);
        }
    }
    (walk, row_elements)
}

host_methods! {
    /// Runs XLA's gather on host values: see [`Plan::xla_gather`]. The report counts the windows that extend beyond the
    /// operand.
    ///
    /// ```
    /// use wgslice::{options::{GatherDims, OutOfRange}, Backend};
    ///
    /// // jax.numpy.take_along_axis(x, columns, axis=1): rows are a batching dimension.
    /// let dims = GatherDims {
    ///     collapsed_slice_dims: vec![1],
    ///     operand_batching_dims: vec![0],
    ///     start_indices_batching_dims: vec![0],
    ///     start_index_map: vec![1],
    ///     index_vector_dim: 2,
    ///     slice_sizes: vec![1, 1],
    ///     ..GatherDims::default()
    /// };
    /// let (x, columns) = ((&[1, 2, 3, 4, 5, 6], &[2, 3]), (&[2, 0, 1, 1], &[2, 2]));
    /// let (taken, _) = Backend::cpu().xla_gather(x, columns, &dims, OutOfRange::Clamp)?;
    /// assert_eq!(taken.data, [3, 1, 5, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::gather_nd`](crate::Backend::gather_nd).
    fn xla_gather<I: IndexElement>(
        view operand: T, rows start_indices: I, by dims: &GatherDims, by out_of_range: OutOfRange)
        -> reported = |dtype| Plan::xla_gather(operand, (start_indices, I::DTYPE), dims, out_of_range, dtype),
        [operand, start_indices];

    /// Runs XLA's scatter into a copy of `operand`: see [`Plan::xla_scatter`]. The report counts the windows that
    /// extend beyond the operand.
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::scatter_nd`](crate::Backend::scatter_nd).
    #[doc(alias = "scatter_add")]
    fn xla_scatter<I: IndexElement>(
        rows operand: T, rows scatter_indices: I, rows updates: T, by dims: &ScatterDims, by options: XlaScatterOptions)
        -> reported = |dtype| Plan::xla_scatter(operand, (scatter_indices, I::DTYPE), updates, dims, options, dtype),
        [updates, scatter_indices, operand];
}

tensor_methods! {
    /// Runs XLA's gather from this tensor: see [`Plan::xla_gather`].
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::gather_nd`](crate::Tensor::gather_nd).
    fn xla_gather(self operand, rows start_indices, by dims: &GatherDims, by out_of_range: OutOfRange)
        -> reported = |dtype| Plan::xla_gather(operand.layout(), start_indices, dims, out_of_range, dtype),
        [operand, start_indices];

    /// Runs XLA's scatter into this tensor, in place: see [`Plan::xla_scatter`].
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::tensor_scatter_nd`](crate::Tensor::tensor_scatter_nd).
    #[doc(alias = "scatter_add")]
    fn xla_scatter(
        self operand, rows scatter_indices, like updates, by dims: &ScatterDims, by options: XlaScatterOptions)
        -> changed = |dtype| Plan::xla_scatter(
            operand.shape(), scatter_indices, updates.shape(), dims, options, dtype),
        [updates, scatter_indices];
}
