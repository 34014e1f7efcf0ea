//! XLA's general gather and scatter.

use super::*;
use crate::reference::XlaDims;
use wgslice::options::{GatherDims, ScatterDims, XlaScatterOptions};

/// For a gather and for a scatter, the names of the arguments with the lists in [`DimensionNumbers`], in their order.
const ARGUMENT_NAMES: [[&str; 5]; 2] = [
    [
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    ],
    [
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    ],
];

/// Dimension numbers: the window dimensions of the result, the dropped and the batching dimensions of the operand, the
/// batching dimensions of the indices, and the operand dimension that each integer of a tuple indexes.
#[derive(Clone, Debug)]
pub struct DimensionNumbers {
    lists: [Vec<usize>; 5],
    index_vector_dim: usize,
}

impl DimensionNumbers {
    fn from_case(case: &Case, names: [&str; 5]) -> Result<Self, BadLine> {
        let args = case.arguments();
        let lists = names.map(|name| args.sizes(name));
        let [window, dropped, batching, indices_batching, map] = lists;
        Ok(Self {
            lists: [window?, dropped?, batching?, indices_batching?, map?],
            index_vector_dim: args.size("index_vector_dim")?,
        })
    }

    fn dims(&self) -> XlaDims<'_> {
        let [window, dropped, batching, indices_batching, map] = &self.lists;
        XlaDims {
            window,
            dropped,
            batching,
            indices_batching,
            map,
            index_vector_dim: self.index_vector_dim,
        }
    }
}

/// XLA's gather.
#[derive(Clone, Debug)]
pub struct XlaGather<'a> {
    /// The operand, and the index tuples.
    pub from: Gathering<'a>,
    /// The dimension numbers.
    pub numbers: DimensionNumbers,
    /// The size of windows in each dimension of the operand.
    pub slice_sizes: Vec<usize>,
}

impl XlaGather<'_> {
    /// Returns the dimension numbers in the library's form.
    pub fn dims(&self) -> GatherDims {
        let [window, dropped, batching, indices_batching, map] = self.numbers.lists.clone();
        GatherDims {
            offset_dims: window,
            collapsed_slice_dims: dropped,
            operand_batching_dims: batching,
            start_indices_batching_dims: indices_batching,
            start_index_map: map,
            index_vector_dim: self.numbers.index_vector_dim,
            slice_sizes: self.slice_sizes.clone(),
        }
    }

    /// Returns the reference's result for an operand with these values.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the reference.
    pub fn gathered<T: Clone + Default>(
        &self,
        values: &[T],
        shape: &[usize],
    ) -> Result<Gathered<T>, ReferenceError> {
        let (indices, clamp) = (self.from.indices, self.from.indexing.clamp);
        let sizes = &self.slice_sizes;
        let dims = self.numbers.dims();
        reference::xla_gather(
            values,
            shape,
            &indices.data,
            &indices.shape,
            dims,
            sizes,
            clamp,
        )
    }
}

impl<'a> Op<'a> for XlaGather<'a> {
    const RANDOM_WEIGHT: usize = 2;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::from_case(case)?,
            numbers: DimensionNumbers::from_case(case, ARGUMENT_NAMES[0])?,
            slice_sizes: case.arguments().sizes("slice_sizes")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from
            .reference_answer(|operand, _, _| self.gathered(&operand.data, &operand.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let (operand, indices) = (
            self.from.params.upload(run)?,
            run.upload_indices(self.from.indices)?,
        );
        let (tensor, report) =
            operand.xla_gather(&indices, &self.dims(), run.out_of_range_policy())?;
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let (source_shape, operand_shape, mut args) = random_params(rng);
        let drawn = DrawnXla::draw_for(rng, &operand_shape);
        drawn.insert(ARGUMENT_NAMES[0], &mut args);
        args.insert("slice_sizes".into(), drawn.window_sizes.into());
        draw_clamp(rng, &mut args);
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("indices", drawn.indices),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}

/// XLA's scatter into `tensor`.
#[derive(Clone, Debug)]
pub struct XlaScatter<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The windows to combine, and the index tuples.
    pub rows: Rows<'a>,
    /// The dimension numbers.
    pub numbers: DimensionNumbers,
    /// How an update is combined with its element.
    pub combine: Combine,
}

impl XlaScatter<'_> {
    /// Returns the dimension numbers in the library's form.
    pub fn dims(&self) -> ScatterDims {
        let [window, dropped, batching, indices_batching, map] = self.numbers.lists.clone();
        ScatterDims {
            update_window_dims: window,
            inserted_window_dims: dropped,
            input_batching_dims: batching,
            scatter_indices_batching_dims: indices_batching,
            scatter_dims_to_operand_dims: map,
            index_vector_dim: self.numbers.index_vector_dim,
        }
    }

    /// Returns the reference's result for a tensor and updates with these values.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the reference.
    pub fn scattered<T: Clone>(
        &self,
        values: &[T],
        updates: &[T],
        combine: impl FnMut(&mut T, &T),
    ) -> Result<Scattered<T>, ReferenceError> {
        let (indices, clamp) = (self.rows.indices, self.rows.indexing.clamp);
        reference::xla_scatter(
            values,
            &self.tensor.shape,
            &indices.data,
            &indices.shape,
            updates,
            &self.rows.updates.shape,
            self.numbers.dims(),
            clamp,
            combine,
        )
    }
}

impl<'a> Op<'a> for XlaScatter<'a> {
    const DROPS_INVALID_ROWS: bool = true;
    const RANDOM_WEIGHT: usize = 3;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            rows: Rows::from_case(case)?,
            numbers: DimensionNumbers::from_case(case, ARGUMENT_NAMES[1])?,
            combine: case.arguments().combination("combine")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let updates = &self.rows.updates.data;
        let answer = self.scattered(&self.tensor.data, updates, |old, new| {
            *old = combine_values(self.combine, self.rows.float, *old, *new);
        })?;
        Ok(scatter_answer(answer, &self.tensor.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let options = XlaScatterOptions {
            combine: Some(self.combine),
            out_of_range: run.out_of_range_policy(),
            any_order: false,
            unique: run.is_unique(),
        };
        let mut tensor = run.upload_tensor(self.tensor)?;
        let [indices, updates] = self.rows.upload(run)?;
        let report = tensor.xla_scatter(&indices, &updates, &self.dims(), options)?;
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let operand_shape = draw_shape(rng, 4, 1);
        let drawn = DrawnXla::draw_for(rng, &operand_shape);
        let mut args = Map::new();
        drawn.insert(ARGUMENT_NAMES[1], &mut args);
        draw_clamp(rng, &mut args);
        let combine = match rng.u8(..12) {
            0..3 => "add",
            3 => "sub",
            4 => "mul",
            5 => "min",
            6 => "max",
            _ => "update",
        };
        if combine != "update" {
            args.insert("combine".into(), combine.into());
        }
        let mut updates_shape = drawn.result_shape;
        disturb_shape(rng, &mut updates_shape);
        let mut updates = draw_tensor(rng, &updates_shape);
        // The values are small, so that the result of a few updates fits the smallest element type.
        let limit = if combine == "mul" { 2 } else { 8 };
        updates.data.iter_mut().for_each(|value| *value %= limit);
        let tensors = [
            ("tensor", draw_tensor(rng, &operand_shape)),
            ("indices", drawn.indices),
            ("updates", updates),
        ];
        let case = sometimes_unsigned(rng, Case::new(operation, tensors, args));
        match combine {
            "mul" => case,
            _ => sometimes_floats(rng, case),
        }
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.rows.tuples_and_indexing()
    }

    /// Returns whether no element is changed twice.
    fn is_unique(&self) -> bool {
        let counts = vec![0; self.tensor.data.len()];
        let ones = vec![1; self.rows.updates.data.len()];
        let update_counts = self.scattered(&counts, &ones, |count, one| *count += one);
        update_counts
            .is_ok_and(|update_counts| update_counts.values.iter().all(|&count| count <= 1))
    }

    fn combination(&self) -> Combine {
        self.combine
    }

    fn float_type(&self) -> Option<DType> {
        self.rows.float
    }
}

fn draw_clamp(rng: &mut Rng, args: &mut Map<String, Value>) {
    args.remove("negative");
    if rng.bool() {
        args.insert("out_of_range".into(), "clamp".into());
    }
}

/// The drawn dimension numbers, window sizes and index tuples for an operand, and the shape of the result or the
/// updates.
struct DrawnXla {
    numbers: DimensionNumbers,
    window_sizes: Vec<usize>,
    indices: Tensor,
    result_shape: Vec<usize>,
}

impl DrawnXla {
    fn draw_for(rng: &mut Rng, operand_shape: &[usize]) -> Self {
        let rank = operand_shape.len();
        let mut indices_shape = draw_few_dims(rng, 2);
        let (mut dropped, mut batching, mut map) = (Vec::new(), Vec::new(), Vec::new());
        let mut window_sizes = Vec::new();
        let mut kept_dims = Vec::new();
        for (d, &size) in operand_shape.iter().enumerate() {
            let role = rng.u8(..10);
            if role == 0 {
                batching.push(d);
                window_sizes.push(size.min(1));
                continue;
            }
            if (1..7).contains(&role) {
                map.push(d);
            }
            if (1..5).contains(&role) {
                dropped.push(d);
                window_sizes.push(size.min(1));
            } else {
                kept_dims.push(d);
                window_sizes.push(match rng.u8(..12) {
                    0 => 0,
                    1..6 => size,
                    _ => rng.usize(..=size.min(6)),
                });
            }
        }
        rng.shuffle(&mut map);
        // Draws where each batching dimension is inserted into the indices.
        let mut batch_dims_of_indices: Vec<Option<usize>> = vec![None; indices_shape.len()];
        for (batch_number, &d) in batching.iter().enumerate() {
            let at = rng.usize(..=indices_shape.len());
            indices_shape.insert(at, operand_shape[d]);
            batch_dims_of_indices.insert(at, Some(batch_number));
        }
        let has_few_elements = |window_sizes: &[usize], indices_shape: &[usize]| {
            kept_dims
                .iter()
                .map(|&d| window_sizes[d])
                .chain(indices_shape.iter().copied())
                .product::<usize>()
                <= 2 * MAX_ELEMENTS
        };
        while !has_few_elements(&window_sizes, &indices_shape) {
            let longest_dim = kept_dims.iter().copied().max_by_key(|&d| window_sizes[d]);
            match longest_dim.filter(|&d| window_sizes[d] > 1) {
                Some(d) => window_sizes[d] /= 2,
                None => break,
            }
        }
        let mut data = Vec::new();
        let may_be_outside = rng.bool();
        let tuple_count: usize = indices_shape.iter().product();
        for _ in 0..tuple_count {
            for &d in &map {
                let size = operand_shape[d] as i64;
                let last_start = size - window_sizes[d] as i64;
                data.push(match rng.u8(..if may_be_outside { 24 } else { 1 }) {
                    20 => rng.i64(-2 * size - 1..=2 * size + 1),
                    21 => last_start + rng.i64(0..=2),
                    22 => (1 << 32) + rng.i64(0..=size),
                    23 => [i64::MIN, i64::MAX, -1, -1 << 32][rng.usize(..4)],
                    _ => rng.i64(0..=last_start.max(0)),
                });
            }
        }
        let is_axis_implicit = map.len() == 1 && rng.bool();
        let index_vector_dim = match (is_axis_implicit, rng.bool()) {
            (true, _) | (_, false) => indices_shape.len(),
            _ => rng.usize(..=indices_shape.len()),
        };
        let mut indices_batching = vec![0; batching.len()];
        for (at, batch_number) in batch_dims_of_indices.iter().enumerate() {
            if let Some(batch_number) = batch_number {
                let is_after_vector = !is_axis_implicit && at >= index_vector_dim;
                indices_batching[*batch_number] = at + usize::from(is_after_vector);
            }
        }
        let indices = match is_axis_implicit {
            true => Tensor {
                shape: indices_shape.clone(),
                data,
            },
            false => move_tuple_axis(&data, &indices_shape, map.len(), index_vector_dim),
        };
        // Inserts the window dimensions into the result.
        let mut result_shape = indices_shape.clone();
        let mut window = Vec::new();
        let mut places: Vec<usize> = (0..indices_shape.len() + kept_dims.len()).collect();
        match rng.u8(..3) {
            0 => rng.shuffle(&mut places),
            1 => places.rotate_left(indices_shape.len()),
            _ => {}
        }
        places.truncate(kept_dims.len());
        places.sort_unstable();
        for (&at, &d) in places.iter().zip(&kept_dims) {
            result_shape.insert(at, window_sizes[d]);
            window.push(at);
        }
        let mut lists = [window, dropped, batching, indices_batching, map];
        if rng.u8(..20) == 0 {
            let at = rng.usize(..lists.len());
            match rng.bool() {
                true => lists[at].push(rng.usize(..=rank)),
                false => drop(lists[at].pop()),
            }
        }
        Self {
            numbers: DimensionNumbers {
                lists,
                index_vector_dim,
            },
            window_sizes,
            indices,
            result_shape,
        }
    }

    fn insert(&self, names: [&str; 5], args: &mut Map<String, Value>) {
        for (name, list) in names.into_iter().zip(&self.numbers.lists) {
            args.insert(name.into(), list.clone().into());
        }
        let dim = self.numbers.index_vector_dim;
        args.insert("index_vector_dim".into(), dim.into());
    }
}

/// Makes a tensor from tuples of `depth` integers, which are consecutive in `data`. In the tensor, each tuple is along
/// dimension `at`, and the other dimensions have these sizes.
fn move_tuple_axis(data: &[i64], other_sizes: &[usize], depth: usize, at: usize) -> Tensor {
    let mut shape = other_sizes.to_vec();
    shape.insert(at, depth);
    let inner_count: usize = other_sizes[at..].iter().product();
    let outer_count: usize = other_sizes[..at].iter().product();
    let mut transposed = Vec::new();
    for o in 0..outer_count {
        for column in 0..depth {
            transposed
                .extend((0..inner_count).map(|i| data[(o * inner_count + i) * depth + column]));
        }
    }
    Tensor {
        shape,
        data: transposed,
    }
}
