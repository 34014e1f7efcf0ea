//! Scatters of rows, and of single elements.

use super::*;
use std::{collections::HashSet, hash::Hash};

/// The rows of a scatter, and the indices of their slices.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The index tuples, along the last dimension. In `scatter_elements`, an index for each update.
    pub indices: &'a Tensor,
    /// The rows, one for each tuple.
    pub updates: &'a Tensor,
    /// The meaning of negative and out-of-range indices.
    pub indexing: Indexing,
    /// The floating-point type of the values, whose bits the tensors hold. `None` if they are integers.
    pub float: Option<DType>,
}

impl<'a> Rows<'a> {
    pub(super) fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            indexing: case.arguments().indexing()?,
            float: float_type(&case.dtype),
        })
    }

    pub(super) fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    /// Returns the indices and the updates on a device.
    pub(super) fn upload(&self, run: &DeviceRun<'_>) -> Result<[wgslice::Tensor; 2], Error> {
        Ok([
            run.upload_indices(self.indices)?,
            run.upload_tensor(self.updates)?,
        ])
    }

    /// Returns whether no two rows go to the same slice of an array of this shape.
    pub(super) fn are_unique(&self, shape: &[usize]) -> bool {
        let depth = self.indices.shape.last();
        let sizes = depth.and_then(|&depth| shape.get(..depth));
        sizes.is_some_and(|sizes| {
            are_targets_unique(&self.indices.data, sizes, self.indexing, |_| ())
        })
    }
}

/// Returns whether no two tuples that are in range have the same target. The target of a tuple consists of its
/// positions and the result of `row_key` for the number of its row. `sizes` are the sizes of the dimensions that the
/// tuples index.
pub(super) fn are_targets_unique<R: Hash + Eq>(
    tuples: &[i64],
    sizes: &[usize],
    indexing: Indexing,
    row_key: impl Fn(usize) -> R,
) -> bool {
    let position = |(&index, &size): (&i64, &usize)| {
        let size = size as i64;
        let wraps = indexing.wrap && index < 0;
        let index = if wraps { index + size } else { index };
        match indexing.clamp && size > 0 {
            true => Some(index.clamp(0, size - 1)),
            false => Some(index).filter(|index| (0..size).contains(index)),
        }
    };
    let mut seen_targets = HashSet::new();
    let mut rows = tuples.chunks_exact(sizes.len().max(1)).enumerate();
    rows.all(|(row_number, tuple)| {
        let positions: Option<Vec<i64>> = tuple.iter().zip(sizes).map(position).collect();
        positions.is_none_or(|positions| seen_targets.insert((row_key(row_number), positions)))
    })
}

/// Draws index tuples for a shape, and an update for each tuple. Many tuples are equal. In some cases the indices are
/// an empty vector, and in half of these the first size of the shape becomes 0.
pub(super) fn random_rows(
    rng: &mut Rng,
    shape: &mut [usize],
    args: &mut Map<String, Value>,
) -> (Tensor, Tensor) {
    if rng.u8(..24) == 0 {
        if rng.bool() {
            shape[0] = 0;
        }
        let mut updates_shape = shape.to_vec();
        disturb_shape(rng, &mut updates_shape);
        return (draw_tuples(rng, &[], &[]), draw_tensor(rng, &updates_shape));
    }
    // A workgroup of 64 invocations links 256 rows. Some cases have more rows, each of one element. In half of these
    // cases there are so many slices that most slices have no row.
    let (depth, leading_sizes) = match rng.u8(..8) {
        0 if rng.bool() => {
            shape.fill(1);
            shape[0] = rng.usize(2200..MAX_ELEMENTS);
            (shape.len(), vec![rng.usize(257..275)])
        }
        0 => (shape.len(), vec![rng.usize(257..700)]),
        1..4 => (1 + rng.usize(..shape.len()), vec![rng.usize(..40)]),
        _ => (1 + rng.usize(..shape.len()), draw_few_dims(rng, 3)),
    };
    let mut updates_shape = [&leading_sizes, &shape[depth..]].concat();
    if updates_shape.iter().product::<usize>() > MAX_ELEMENTS {
        updates_shape = [&leading_sizes[..0], &shape[depth..]].concat();
        updates_shape.insert(0, 1);
        let indices = draw_tuples(rng, &[1], &shape[..depth]);
        return (indices, draw_tensor(rng, &updates_shape));
    }
    // In half of the cases, valid tuples use only the first 4 positions of each dimension, so that many are equal.
    let mut used_sizes = shape[..depth].to_vec();
    if rng.bool() {
        used_sizes
            .iter_mut()
            .for_each(|size| *size = (*size).min(4));
    }
    let mut indices = draw_tuples(rng, &leading_sizes, &used_sizes);
    if rng.u8(..3) == 0 {
        make_tuples_differ(rng, &mut indices.data, &used_sizes);
    }
    disturb_shape(rng, &mut updates_shape);
    draw_policy(rng, args);
    let mut updates = draw_tensor(rng, &updates_shape);
    // The values are small, so that the sum of a few updates fits the smallest element type.
    updates.data.iter_mut().for_each(|value| *value %= 8);
    (indices, updates)
}

/// Adds the rows of `updates` to an array of zeros, at the slices that index tuples select.
#[derive(Clone, Debug)]
pub struct ScatterNd<'a> {
    /// The rows to add.
    pub rows: Rows<'a>,
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl<'a> Op<'a> for ScatterNd<'a> {
    const DROPS_INVALID_ROWS: bool = true;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            rows: Rows::from_case(case)?,
            shape: case.arguments().sizes("shape")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let Rows {
            indices,
            updates,
            indexing,
            float,
        } = self.rows;
        let scattered = reference::scatter_nd(
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            &self.shape,
            indexing,
            |sum, value| *sum = combine_values(Combine::Add, float, *sum, *value),
        )?;
        Ok(scatter_answer(scattered, &self.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let options = run.scatter_options(Combine::Add, self.rows.indexing);
        let [indices, updates] = self.rows.upload(run)?;
        let (sums, report) = wgslice::Tensor::scatter_nd(&self.shape, &indices, &updates, options)?;
        Ok(Started::new(sums, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let mut shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let (indices, updates) = random_rows(rng, &mut shape, &mut args);
        args.insert("shape".into(), shape.into());
        let tensors = [("indices", indices), ("updates", updates)];
        sometimes_floats(rng, Case::new(operation, tensors, args))
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.rows.tuples_and_indexing()
    }

    fn is_unique(&self) -> bool {
        self.rows.are_unique(&self.shape)
    }

    fn combination(&self) -> Combine {
        Combine::Add
    }

    fn float_type(&self) -> Option<DType> {
        self.rows.float
    }
}

/// Combines the rows of `updates` into the slices of `tensor` that index tuples select.
#[derive(Clone, Debug)]
pub struct TensorScatterNd<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The rows to combine.
    pub rows: Rows<'a>,
    /// How a row is combined with its slice.
    pub combine: Combine,
}

impl<'a> Op<'a> for TensorScatterNd<'a> {
    const DROPS_INVALID_ROWS: bool = true;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            rows: Rows::from_case(case)?,
            combine: match case.op {
                Operation::TensorScatterNdAdd => Combine::Add,
                Operation::TensorScatterNdSub => Combine::Sub,
                Operation::TensorScatterNdMin => Combine::Min,
                Operation::TensorScatterNdMax => Combine::Max,
                _ => Combine::Update,
            },
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices, updates) = (self.tensor, self.rows.indices, self.rows.updates);
        let scattered = reference::tensor_scatter_nd(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            self.rows.indexing,
            |old, new| *old = combine_values(self.combine, self.rows.float, *old, *new),
        )?;
        Ok(scatter_answer(scattered, &tensor.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let options = run.scatter_options(self.combine, self.rows.indexing);
        let mut tensor = run.upload_tensor(self.tensor)?;
        let [indices, updates] = self.rows.upload(run)?;
        let report = tensor.tensor_scatter_nd(&indices, &updates, options)?;
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let mut shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let (indices, updates) = random_rows(rng, &mut shape, &mut args);
        let tensor = draw_tensor(rng, &shape);
        let tensors = [
            ("tensor", tensor),
            ("indices", indices),
            ("updates", updates),
        ];
        let case = sometimes_unsigned(rng, Case::new(operation, tensors, args));
        sometimes_floats(rng, case)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.rows.tuples_and_indexing()
    }

    fn is_unique(&self) -> bool {
        self.rows.are_unique(&self.tensor.shape)
    }

    fn combination(&self) -> Combine {
        self.combine
    }

    fn float_type(&self) -> Option<DType> {
        self.rows.float
    }
}

/// Replaces single elements of `tensor` or combines updates with them. Each index selects an element along an axis. The
/// index's own position gives the other coordinates.
#[derive(Clone, Debug)]
pub struct ScatterElements<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The updates, and an index along `axis` for each.
    pub rows: Rows<'a>,
    /// The indexed dimension of `tensor`. A negative value counts from the end.
    pub axis: i64,
    /// How an update is combined with its element.
    pub combine: Combine,
}

impl<'a> Op<'a> for ScatterElements<'a> {
    const DROPS_INVALID_ROWS: bool = true;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            rows: Rows::from_case(case)?,
            axis: case.arguments().integer("axis")?,
            combine: case.arguments().combination("combine")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices, updates) = (self.tensor, self.rows.indices, self.rows.updates);
        let scattered_elements = reference::scatter_elements(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            self.axis,
            self.rows.indexing,
            |old, new| *old = combine_values(self.combine, None, *old, *new),
        )?;
        Ok(scatter_answer(scattered_elements, &tensor.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let options = run.scatter_options(self.combine, self.rows.indexing);
        let mut tensor = run.upload_tensor(self.tensor)?;
        let [indices, updates] = self.rows.upload(run)?;
        let report = tensor.scatter_elements(&indices, &updates, narrow(self.axis), options)?;
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 5, 1);
        let axis = rng.usize(..shape.len());
        let mut sizes = shape.clone();
        for size in &mut sizes {
            if rng.u8(..3) == 0 {
                *size = rng.usize(..=*size);
            }
        }
        sizes[axis] = rng.usize(..6);
        let mut indices = draw_tuples(rng, &sizes, &shape[axis..=axis]);
        if rng.u8(..3) == 0 && sizes[axis] <= shape[axis] {
            // Makes the indices of each line along the axis differ.
            let inner_count: usize = sizes[axis + 1..].iter().product();
            let first_position = rng.usize(..shape[axis].max(1));
            for (n, index) in indices.data.iter_mut().enumerate() {
                *index = ((first_position + n / inner_count % sizes[axis]) % shape[axis]) as i64;
            }
        }
        disturb_shape(rng, &mut sizes);
        indices.data.resize(sizes.iter().product(), 0);
        let mut updates_shape = sizes.clone();
        disturb_shape(rng, &mut updates_shape);
        let mut updates = draw_tensor(rng, &updates_shape);
        let combine = match rng.u8(..12) {
            0..4 => "add",
            4 => "sub",
            5 => "mul",
            6 => "min",
            7 => "max",
            _ => "update",
        };
        // The values are small, so that the result of a few updates fits the smallest element type.
        let limit = if combine == "mul" { 2 } else { 8 };
        updates.data.iter_mut().for_each(|value| *value %= limit);
        indices.shape = sizes;
        let mut args = Map::new();
        let from_end = if rng.bool() { shape.len() as i64 } else { 0 };
        args.insert("axis".into(), (axis as i64 - from_end).into());
        if combine != "update" {
            args.insert("combine".into(), combine.into());
        }
        draw_policy(rng, &mut args);
        let tensor = draw_tensor(rng, &shape);
        let tensors = [
            ("tensor", tensor),
            ("indices", indices),
            ("updates", updates),
        ];
        sometimes_unsigned(rng, Case::new(operation, tensors, args))
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.rows.tuples_and_indexing()
    }

    fn is_unique(&self) -> bool {
        let Ok(axis) = usize::try_from(self.axis.rem_euclid(self.tensor.shape.len().max(1) as i64))
        else {
            return false;
        };
        let sizes = &self.rows.indices.shape;
        let (Some(&line_length), Some(&size)) = (sizes.get(axis), self.tensor.shape.get(axis))
        else {
            return false;
        };
        // Elements of different lines along the axis go to different places.
        let inner_count: usize = sizes[axis + 1..].iter().product();
        let line = |row: usize| (row / (line_length * inner_count), row % inner_count);
        are_targets_unique(&self.rows.indices.data, &[size], self.rows.indexing, line)
    }

    fn combination(&self) -> Combine {
        self.combine
    }
}
