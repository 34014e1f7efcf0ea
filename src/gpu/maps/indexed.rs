//! The row map of a gather, and how a scatter finds its slices: `shaders/indexed.wgsl`.

use super::{Lowered, Units, scaled, strides};
use crate::{
    Error,
    gpu::params::{self, Flags, IndexedMap, wrap},
    layout::Axis,
    ops::{
        index::{IndexType, Policy},
        indexed::Dimension,
    },
};
use std::ops::RangeInclusive;

/// Rows begin where index tuples point.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    pub(crate) coordinates: Vec<Axis>,
    /// The dimensions that number the rows beside the tuples.
    pub(crate) walk: Vec<Dimension>,
    pub(crate) policy: Policy,
    pub(crate) index: IndexType,
    /// The first word of the tuples in their binding.
    pub(crate) index_base: u32,
    /// Units of params that are bound, and whether they are all that the rows may point at.
    pub(crate) bound: u64,
    pub(crate) binds_all: bool,
    /// The indices into the first dimension that this dispatch looks at.
    pub(crate) first: u64,
    pub(crate) count: u32,
}

/// Slices are found where index tuples point.
#[derive(Clone, Debug)]
pub(crate) struct Resolve {
    /// The coordinates, with the first pair left open.
    pub(crate) map: IndexedMap,
    pub(crate) depth: usize,
    /// The policy, and whether the dispatch is plain: see `is_plain`.
    pub(crate) policy: Policy,
    pub(crate) is_plain: bool,
    pub(crate) index: IndexType,
    pub(crate) index_base: u32,
    /// Whether the tuples of each four rows are whole vectors of the binding.
    pub(crate) whole_fours: bool,
    /// The slices that are bound: the first, and how many.
    pub(crate) slices: (usize, usize),
    /// Whether rows are looked at for bad ones alone.
    pub(crate) checks: bool,
    /// Whether the rows of a slice are chained.
    pub(crate) chains: bool,
}

/// How a shader reads index tuples: constants of `indexed.wgsl`, and which file reads the words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Lookup {
    /// `DIMS`: coordinates of a tuple that are looked up without a loop, or 0.
    pub(crate) unrolled: usize,
    /// `INDEX_WORDS`.
    pub(crate) words: u32,
    /// `PLAIN`.
    pub(crate) plain: bool,
    /// Whether the indices are bound as vectors, and the tuples of four rows read at once.
    pub(crate) vectors: bool,
}

impl Lookup {
    /// Coordinates of a tuple that are looked up without a loop: most tuples have no others.
    const UNROLLED: RangeInclusive<usize> = 1..=2;

    /// For indices of this type, with loops.
    pub(crate) fn of(index: IndexType) -> Self {
        Self {
            unrolled: 0,
            words: index.words(),
            plain: false,
            vectors: false,
        }
    }

    /// The same for a plain dispatch. `alone` says that each tuple of `depth` indices is one row; tuples of one or two
    /// then need no loop. Dispatches that are not plain are rare, and always loop.
    pub(crate) fn plain(self, depth: usize, alone: bool) -> Self {
        let unrolled = alone && Self::UNROLLED.contains(&depth);
        Self {
            unrolled: if unrolled { depth } else { 0 },
            plain: true,
            ..self
        }
    }

    /// The same with indices read as vectors, if `whole`: the tuples of four rows are whole, aligned vectors.
    pub(crate) fn vectors(self, whole: bool) -> Self {
        Self {
            vectors: whole && self.unrolled > 0,
            ..self
        }
    }
}

impl Gather {
    /// Bits of all distances between places that rows begin or end at: a row may begin wherever an index points, and
    /// ends with the binding.
    pub(super) fn distances(&self) -> i64 {
        let walk = self.walk.iter().map(|dimension| dimension.stride as i64);
        // Where no unit is bound, there is no room for a wider one either.
        let bound = self.bound.cast_signed().max(1);
        walk.fold(strides(&self.coordinates) | bound, |all, stride| {
            all | stride
        })
    }

    /// Whether the tuples are all that numbers the rows.
    fn is_alone(&self) -> bool {
        match &self.walk[..] {
            [] => true,
            [only] => only.stride == 0 && !only.repeats,
            _ => false,
        }
    }

    fn lookup(&self) -> Lookup {
        let lookup = Lookup::of(self.index);
        match params::is_plain(&self.coordinates, self.first, self.count, self.policy) {
            false => lookup,
            true => lookup.plain(self.coordinates.len(), self.is_alone()),
        }
    }

    /// Whether the tuples of each four rows are whole vectors, and looked up without loops.
    pub(crate) fn is_listed(&self) -> bool {
        let fours = self.is_alone() && self.index_base.is_multiple_of(4);
        fours && self.lookup().unrolled > 0
    }

    pub(super) fn lowered(&self, units: &Units) -> Result<Lowered, Error> {
        let coordinates = scaled(self.coordinates.iter().copied(), units.factor);
        let axis = |&Dimension { size, stride, .. }: &Dimension| Axis { size, stride };
        let walk = scaled(self.walk.iter().map(axis), units.factor);
        let alone = self.is_alone();
        let bits = self.walk.iter().zip(0..);
        let flags = Flags {
            dims: coordinates.len(),
            walked: if alone { 0 } else { walk.len() },
            repeats: bits.fold(0, |bits, (dimension, d)| {
                bits | u32::from(dimension.repeats) << d
            }),
            index: self.index,
            policy: self.policy,
            ..Flags::default()
        };
        let lookup = self
            .lookup()
            .vectors(units.reads_vectors && self.is_listed());
        let words = params::indexed_map(&coordinates, &walk, self.index_base, self.first)?;
        Ok(Lowered {
            lookup,
            window: wrap(self.bound.cast_signed() / units.factor as i64),
            first: wrap(self.first.cast_signed()),
            count: self.count,
            ..Lowered::of(words, flags)
        })
    }
}

impl Resolve {
    pub(super) fn lowered(&self) -> Lowered {
        let (first, slices) = self.slices;
        let mut map = self.map;
        map.axes[0] = [self.index_base, wrap(first as i64)];
        let lookup = Lookup::of(self.index);
        let plain = lookup.plain(self.depth, true);
        // Pipelines without loops are worth it where all is plain.
        let unrolled = self.is_plain && plain.unrolled > 0;
        Lowered {
            lookup: if unrolled {
                plain.vectors(self.whole_fours)
            } else {
                lookup
            },
            window: wrap(slices as i64),
            ..Lowered::of(
                bytemuck::cast(map),
                Flags {
                    dims: self.depth,
                    index: self.index,
                    policy: self.policy,
                    checks: self.checks,
                    ..Flags::default()
                },
            )
        }
    }
}
