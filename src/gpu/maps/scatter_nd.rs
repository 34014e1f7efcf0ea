//! The row maps of a scatter's later steps: `shaders/scatter_nd.wgsl`, `scatter_sort.wgsl` and `combine_atomic.wgsl`.

use super::{Lowered, Resolve, Units};
use crate::gpu::{
    lists::Lists,
    params::{self, Flags},
    rule::Rule,
};

/// Rows of updates go to slices, which are as long and lie as far apart.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    /// Units from one row, and from one slice, to the next.
    pub(crate) pitch: usize,
    /// Where the links between rows begin in what is kept of them.
    pub(crate) links: usize,
    /// The number of the first row.
    pub(crate) first: u32,
    /// Whether nothing is changed if a row is bad.
    pub(crate) strict: bool,
    /// Whether all rows of a slice are combined with it, rather than the last one kept.
    pub(crate) combines: bool,
    pub(crate) rule: Rule,
}

/// The rows of each slice in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub(crate) step: Order,
    pub(crate) lists: Lists,
    /// The number of the first row.
    pub(crate) first: u32,
}

/// Which lists of rows a step puts in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Short,
    /// Those that fit workgroup memory.
    Middle,
    Long,
}

/// Rows are combined with their slices as their tuples are read.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) resolve: Resolve,
    /// Elements of a row, and from one row or slice to the next.
    pub(crate) run: usize,
    pub(crate) pitch: usize,
    pub(crate) rule: Rule,
}

impl Scatter {
    pub(super) fn lowered(&self, units: &Units) -> Lowered {
        let flags = Flags {
            strict: self.strict,
            ..Flags::default()
        };
        Lowered {
            first: self.first,
            ..Lowered::of(
                params::scatter_map([self.pitch / units.factor, self.links, 0]),
                flags,
            )
        }
    }
}

impl Sort {
    pub(super) fn lowered(&self) -> Lowered {
        Lowered {
            first: self.first,
            ..Lowered::of(params::scatter_map(self.lists.map()), Flags::default())
        }
    }
}

impl Atomic {
    pub(super) fn lowered(&self) -> Lowered {
        let mut lowered = self.resolve.lowered();
        lowered.flags.combine = self.rule.combine_number();
        lowered
    }
}
