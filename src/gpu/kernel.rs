//! What a dispatch needs of its shader, beside the operation: all that it is compiled for.

use super::{grid::Shape, rule::Rule, width::Width};
use crate::ops::index::IndexType;
use std::ops::RangeInclusive;

/// What a dispatch needs of its shader beside the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) width: Width,
    pub(crate) grid: Shape,
    /// Parts of a row, where units hold parts of several; otherwise 0.
    pub(crate) run: usize,
    /// Of a gather.
    pub(crate) indexed: Indexed,
    /// Of a scatter.
    pub(crate) scatter: Scattering,
}

impl Kernel {
    /// Units of this width on such a grid, and nothing else.
    pub(crate) fn of(width: Width, grid: Shape) -> Self {
        Self {
            width,
            grid,
            run: 0,
            indexed: Indexed::default(),
            scatter: Scattering::default(),
        }
    }
}

/// What a dispatch of a scatter needs of its shader: constants of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Scattering {
    /// Whether `head` is read before the atomic that changes it.
    pub(crate) looks: bool,
    /// Whether several rows are combined.
    pub(crate) chains: bool,
    pub(crate) rule: Rule,
}

/// What a dispatch of a gather, or one that resolves a scatter, needs of its shader: constants of
/// `indexed.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Indexed {
    /// `DIMS` of `indexed.wgsl`.
    pub(crate) unrolled: usize,
    /// 32-bit words of an index.
    pub(crate) words: u32,
    /// [`is_plain`](super::params::is_plain).
    pub(crate) plain: bool,
    /// Whether the indices are bound as vectors, each read by a mover that looks up four rows at once.
    pub(crate) quads: bool,
}

impl Indexed {
    /// Coordinates of a tuple that are looked up without a loop: most tuples have no others.
    pub(crate) const UNROLLED: RangeInclusive<usize> = 1..=2;

    /// For indices of this type, with loops.
    pub(crate) fn of(index: IndexType) -> Self {
        Self {
            unrolled: 0,
            words: index.words(),
            plain: false,
            quads: false,
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
    pub(crate) fn quads(self, whole: bool) -> Self {
        Self {
            quads: whole && self.unrolled > 0,
            ..self
        }
    }
}
