//! What scatters have in common.

use super::*;
use std::{collections::HashSet, hash::Hash};

/// The rows of a scatter and where they go.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The index tuples, in the last dimension. In `scatter_elements`, an index for each update.
    pub indices: &'a Tensor,
    /// The rows, one for each tuple.
    pub updates: &'a Tensor,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
    /// The floating-point type of the values, whose bits the tensors hold. `None` if they are integers.
    pub float: Option<DType>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            indexing: case.arguments().indexing()?,
            float: float(&case.dtype),
        })
    }

    pub(super) fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    /// The indices and the updates on a device.
    pub(super) fn on(&self, run: &Run<'_>) -> Result<[wgslice::Tensor; 2], Error> {
        Ok([run.indices(self.indices)?, run.tensor(self.updates)?])
    }

    /// Returns whether no two rows go to the same slice of an array of this shape.
    pub(super) fn are_unique(&self, shape: &[usize]) -> bool {
        let depth = self.indices.shape.last();
        let sizes = depth.and_then(|&depth| shape.get(..depth));
        sizes.is_some_and(|sizes| differ(&self.indices.data, sizes, self.indexing, |_| ()))
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
