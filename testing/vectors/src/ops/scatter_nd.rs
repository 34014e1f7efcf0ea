use super::{Op, Operation};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    combine::{combine, float},
    oracle::{Answer, scattered},
    random::{
        Rng,
        draw::{MOST, disturb, few, policy, shape, sometimes_floats, spread, tensor, tuples},
    },
    variant::{Run, Started},
};
use serde_json::{Map, Value};
use std::{collections::HashSet, hash::Hash};
use wgslice::{DType, Error, options::Combine};

/// An array of zeros, with the rows of `updates` added to the slices that index tuples point at.
#[derive(Clone, Debug)]
pub struct ScatterNd<'a> {
    /// The index tuples, in the last dimension.
    pub indices: &'a Tensor,
    /// The rows to add, one for each tuple.
    pub updates: &'a Tensor,
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
    /// The floating-point type of the updates, whose bits the tensor holds. `None` if they are integers.
    pub float: Option<DType>,
}

impl<'a> Op<'a> for ScatterNd<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            shape: case.arguments().sizes("shape")?,
            indexing: case.arguments().indexing()?,
            float: float(&case.dtype),
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let (indices, updates) = (self.indices, self.updates);
        let scattered_rows = reference::scatter_nd(
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            &self.shape,
            self.indexing,
            |sum, value| *sum = combine(Combine::Add, self.float, *sum, *value),
        )?;
        Ok(scattered(scattered_rows, &self.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = run.scatter(Combine::Add, self.indexing);
        let (updates, indices) = (run.tensor(self.updates)?, run.indices(self.indices)?);
        let (sums, report) = wgslice::Tensor::scatter_nd(&self.shape, &indices, &updates, options)?;
        Ok(Started::new(sums, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let mut shape = shape(rng, 4, 1);
        let mut args = Map::new();
        let (indices, updates) = random_rows(rng, &mut shape, &mut args);
        args.insert("shape".into(), shape.into());
        let tensors = [("indices", indices), ("updates", updates)];
        sometimes_floats(rng, Case::new(operation, tensors, args))
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    fn is_unique(&self) -> bool {
        let sizes = self
            .indices
            .shape
            .last()
            .and_then(|&depth| self.shape.get(..depth));
        sizes.is_some_and(|sizes| differ(&self.indices.data, sizes, self.indexing, |_| ()))
    }

    fn computes(&self) -> bool {
        true
    }

    fn float(&self) -> Option<DType> {
        self.float
    }
}

/// Returns whether the tuples that are in range differ, or what `row` says of the numbers of their rows. `sizes` are the
/// sizes of the dimensions that they point into.
pub(super) fn differ<R: Hash + Eq>(
    tuples: &[i64],
    sizes: &[usize],
    indexing: Indexing,
    row: impl Fn(usize) -> R,
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
    let mut seen = HashSet::new();
    let mut rows = tuples.chunks_exact(sizes.len().max(1)).enumerate();
    rows.all(|(number, tuple)| {
        let place: Option<Vec<i64>> = tuple.iter().zip(sizes).map(position).collect();
        place.is_none_or(|place| seen.insert((row(number), place)))
    })
}

/// Draws index tuples that point into a shape, and an update for each tuple. Many tuples are equal. In some cases the
/// indices are an empty vector, and the first size of the shape becomes 0 in half of these.
pub(super) fn random_rows(
    rng: &mut Rng,
    shape: &mut [usize],
    args: &mut Map<String, Value>,
) -> (Tensor, Tensor) {
    if rng.u8(..24) == 0 {
        if rng.bool() {
            shape[0] = 0;
        }
        let mut updates = shape.to_vec();
        disturb(rng, &mut updates);
        return (tuples(rng, &[], &[]), tensor(rng, &updates));
    }
    // Some cases have more rows than a workgroup of 64 invocations links (256), of one element each.
    let (depth, lead) = match rng.u8(..8) {
        0 => (shape.len(), vec![rng.usize(257..700)]),
        1..4 => (1 + rng.usize(..shape.len()), vec![rng.usize(..40)]),
        _ => (1 + rng.usize(..shape.len()), few(rng, 3)),
    };
    let mut updates = [&lead, &shape[depth..]].concat();
    if updates.iter().product::<usize>() > MOST {
        updates = [&lead[..0], &shape[depth..]].concat();
        updates.insert(0, 1);
        let indices = tuples(rng, &[1], &shape[..depth]);
        return (indices, tensor(rng, &updates));
    }
    // In half of the cases, valid tuples point only at the first 4 positions of each dimension, so that many are equal.
    let mut places = shape[..depth].to_vec();
    if rng.bool() {
        places.iter_mut().for_each(|size| *size = (*size).min(4));
    }
    let mut indices = tuples(rng, &lead, &places);
    if rng.u8(..3) == 0 {
        spread(rng, &mut indices.data, &places);
    }
    disturb(rng, &mut updates);
    policy(rng, args);
    let mut updates = tensor(rng, &updates);
    // Small values, so that the sum of a few updates fits in the smallest elements.
    updates.data.iter_mut().for_each(|value| *value %= 8);
    (indices, updates)
}
