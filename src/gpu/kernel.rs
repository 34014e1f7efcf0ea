//! What a dispatch needs of its shader, beside the operation: all that it is compiled for.

use super::{grid::Shape, rule::Rule, width::Width};
use crate::ops::index::IndexType;

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
    /// Whether slices are looked at before they are told of rows.
    pub(crate) looks: bool,
    /// Whether several rows are combined.
    pub(crate) chains: bool,
    pub(crate) rule: Rule,
}

/// What a dispatch of a gather, or one that resolves a scatter, needs of its shader: constants of
/// `indexed.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Indexed {
    /// Coordinates of a tuple that are looked up without a loop.
    pub(crate) unrolled: usize,
    /// 32-bit words of an index.
    pub(crate) words: u32,
    /// Whether all indices into the first dimension are looked at, and all dimensions are shorter than 2^31.
    pub(crate) plain: bool,
    /// Whether the tuples of each four rows fill whole vectors of words, as far as the mover looks at
    /// four.
    pub(crate) quads: bool,
}

impl Indexed {
    /// Coordinates that are looked up without a loop, at most: most tuples have no more.
    const UNROLLED: usize = 2;

    /// For tuples of `depth` indices of this type, where nothing is known of params.
    pub(crate) fn of(depth: usize, index: IndexType) -> Self {
        Self {
            unrolled: depth.min(Self::UNROLLED),
            words: index.words(),
            plain: false,
            quads: false,
        }
    }

    /// The same where the dispatch is plain. Where it is not, params are beyond 2^31 units or one binding: that is
    /// rare, and not worth pipelines without loops.
    pub(crate) fn plain(self, plain: bool) -> Self {
        // Without coordinates nothing is compared, so that it makes no difference.
        let plain = plain && self.unrolled > 0;
        Self {
            unrolled: if plain { self.unrolled } else { 0 },
            plain,
            ..self
        }
    }

    /// The same with vectors of indices, where `aligned` and if all coordinates of a tuple are looked up without a
    /// loop: of four words at most.
    pub(crate) fn quads(self, aligned: bool, depth: usize) -> Self {
        Self {
            quads: aligned && depth > 0 && depth == self.unrolled,
            ..self
        }
    }
}
