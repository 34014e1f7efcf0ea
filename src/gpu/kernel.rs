//! What a dispatch needs of its shader, beside the operation: all that it is compiled for.

use super::{grid::Shape, rule::Rule, width::Width};
use crate::ops::index::{IndexType, Policy};

/// What a dispatch needs of its shader beside the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) width: Width,
    pub(crate) grid: Shape,
    /// Parts of a row, where units hold parts of several; otherwise 0.
    pub(crate) run: usize,
    /// Dimensions that the map of a slice walks, or coordinates of an index tuple.
    pub(crate) dims: usize,
    /// Of a gather.
    pub(crate) indexed: Indexed,
    /// Whether each four neighbouring rows lie evenly apart, as far as the mover looks at several.
    pub(crate) even: bool,
    /// Whether units of a row that have a source lie apart in a gradient.
    pub(crate) stepped: bool,
    /// Of a scatter.
    pub(crate) scatter: Scattering,
}

impl Kernel {
    /// Units of this width, with so many dimensions, on such a grid, and nothing else.
    pub(crate) fn of(width: Width, dims: usize, grid: Shape) -> Self {
        Self {
            width,
            grid,
            run: 0,
            dims,
            indexed: Indexed::default(),
            even: false,
            stepped: false,
            scatter: Scattering::default(),
        }
    }
}

/// What a dispatch of a scatter needs of its shader: constants of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Scattering {
    /// Whether rows are only checked.
    pub(crate) checks: bool,
    /// Whether slices are looked at before they are told of rows.
    pub(crate) looks: bool,
    /// Whether several rows are combined.
    pub(crate) chains: bool,
    /// Whether nothing is changed where a row is bad.
    pub(crate) strict: bool,
    pub(crate) rule: Rule,
}

/// What a dispatch of a gather, or one that resolves a scatter, needs of its shader: constants of
/// `indexed.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Indexed {
    /// Dimensions that are walked, and a bit for each that repeats the tuples.
    pub(crate) walk: usize,
    pub(crate) repeats: u32,
    pub(crate) index: IndexType,
    pub(crate) policy: Policy,
    /// Whether all indices into the first dimension are looked at, and all dimensions are shorter than 2^31.
    pub(crate) plain: bool,
    /// Whether the tuples of each four rows fill whole vectors of words, as far as the mover looks at
    /// four.
    pub(crate) quads: bool,
}
