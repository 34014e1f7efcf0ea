//! The row maps of a scatter's steps that sort, move or combine: `shaders/scatter_nd.wgsl`, `scatter_sort.wgsl` and
//! `combine_atomic.wgsl`. `lists` says what a slice, a block and a link are.

use super::{Buffer, Facts, Lowered, Resolve, Units, indexed::RESOLVE};
use crate::gpu::{lists::Lists, rule::Rule};
use bytemuck::{Pod, Zeroable};

pub(super) const SORT: Facts = Facts {
    name: "scatter_nd, sort",
    // The kernels that sort look up no rows.
    text: "",
    buffers: &[Buffer::changed(Buffer::HEAD), Buffer::changed(Buffer::ROWS)],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: false,
    #[cfg(test)]
    layout: || super::layout!(SortWords: longest, links, long, first_row),
};

pub(super) const MOVE: Facts = Facts {
    name: "scatter_nd",
    text: include_str!("../../../shaders/scatter_nd.wgsl"),
    buffers: &[
        Buffer::SOURCE,
        Buffer::DEST,
        Buffer::read(Buffer::HEAD),
        Buffer::read(Buffer::ROWS),
    ],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(ScatterWords: pitch, links, first_row, quarter, strict),
};

pub(super) const COMBINE: Facts = Facts {
    moves: false,
    ..MOVE
};

pub(super) const ATOMIC: Facts = Facts {
    name: MOVE.name,
    buffers: &[Buffer::SOURCE, Buffer::DEST, Buffer::INDICES],
    ..RESOLVE
};

/// `Map` of `scatter_nd.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct ScatterWords {
    pitch: u32,
    links: u32,
    first_row: u32,
    quarter: u32,
    strict: u32,
    pad: [u32; 19],
}

/// `Map` of `scatter_sort.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct SortWords {
    longest: u32,
    links: u32,
    long: u32,
    first_row: u32,
    pad: [u32; 20],
}

/// The row map of a scatter's last step, which moves rows of updates to slices or combines them with slices. Slices are
/// as long and as far apart as rows.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    /// The distance from one row of the updates to the next, and from one slice to the next, in units.
    pub(crate) pitch: usize,
    /// The position of the first link in the scratch array `rows`, from [`Lists::links`].
    pub(crate) links: usize,
    /// The number that the array `head` gives to the block's first row.
    pub(crate) first: u32,
    /// Whether a single row that is out of range forbids all changes.
    pub(crate) strict: bool,
    /// Whether all rows that go to a slice are combined with it. Otherwise the last of these rows replaces the slice.
    pub(crate) combines: bool,
    /// How rows are combined with slices. Used only if `combines` is set.
    pub(crate) rule: Rule,
}

/// The row map of the steps that put the rows of each slice's list in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub(crate) step: Order,
    pub(crate) lists: Lists,
    /// The number that the array `head` gives to the block's first row.
    pub(crate) first: u32,
}

/// Which lists of rows a step puts in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Lists that one invocation sorts.
    Short,
    /// Lists that are too long for one invocation.
    Long,
}

/// The row map of the step that finds the slice of each row and also combines the row with this slice, by atomics.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) resolve: Resolve,
    /// The number of elements in a row.
    pub(crate) run: usize,
    /// The distance from one row of the updates to the next, and from one slice to the next, in elements.
    pub(crate) pitch: usize,
    pub(crate) rule: Rule,
}

impl Scatter {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        Some(Lowered::of(ScatterWords {
            // A pitch of more than 32 bits becomes 0. It is then not used, because only one row and one slice are
            // bound.
            pitch: u32::try_from(self.pitch / units.factor).unwrap_or_default(),
            links: u32::try_from(self.links).ok()?,
            first_row: self.first,
            quarter: u32::try_from(units.quarter).ok()?,
            strict: self.strict.into(),
            pad: [0; 19],
        }))
    }
}

impl Sort {
    pub(super) fn lowered(&self) -> Option<Lowered> {
        let [longest, links, long] = self.lists.map().map(u32::try_from);
        Some(Lowered::of(SortWords {
            longest: longest.ok()?,
            links: links.ok()?,
            long: long.ok()?,
            first_row: self.first,
            pad: [0; 20],
        }))
    }
}

impl Atomic {
    pub(super) fn lowered(&self) -> Lowered {
        self.resolve.combined(self.rule.combine_number())
    }
}
