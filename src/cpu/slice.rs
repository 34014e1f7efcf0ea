//! The walk of a slice: rows of pieces, rows in blocks, blocks in groups, groups along the other axes.
//!
//! | level | what it is | walked by |
//! |---|---|---|
//! | piece | bytes that lie together in the source | a move of fixed size, or `memcpy` |
//! | row | pieces at a constant distance | the kernel |
//! | block | rows at a constant distance | the kernel |
//! | group | blocks at a constant distance of at most [`NEAR`]; else one block | the kernel |
//! | result | all groups | `groups`, one call for each axis |
//!
//! The kernel has the innermost axes, so that short rows cost no more than their bytes.
//!
//! What costs time between groups is not the call: the processor reads ahead along a stream of cache lines,
//! up or down, and a jump ends the stream. After one it takes several misses to begin the next. So the axes
//! of groups are walked in the direction in which the groups themselves are read, and gaps of at most
//! [`GAP`] are read too, where the source is not in a cache: that takes less time than to jump over them.

use super::{kernel::Kernel, threads, transpose::Tiles};
use crate::{layout::Axis, ops::strided_slice::Map, plan};
use std::{hint::black_box, ops::Range};

/// Bytes that a stream may go back and forth, or leave out, and still be read ahead.
const NEAR: usize = 256;
/// Bytes of the largest gap that takes less time to read than to jump over.
const GAP: usize = 2048;
/// Bytes of a source that may lie in a cache, where jumps cost next to nothing.
const CACHED: usize = 4 << 20;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A single one of whatever lies along an axis.
const ONE: Axis = Axis { size: 1, stride: 0 };

/// A slice, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    unit: usize,
    /// Where the first piece lies.
    offset: usize,
    /// Bytes of a piece.
    piece: usize,
    /// The pieces of a row.
    row: Axis,
    /// The rows of a block.
    block: Axis,
    /// The blocks of a group.
    group: Axis,
    /// The axes of the groups, in units.
    outer: &'a [Axis],
    /// Whether a group is read from lower bytes to higher.
    up: bool,
    /// Whether the other axes are walked in this direction. Else they are in that of the result.
    turns: bool,
    pub(super) kernel: Kernel,
    /// How it is walked instead where it is transposed.
    pub(super) tiles: Option<Tiles<'a>>,
}

impl<'a> Walk<'a> {
    pub(super) fn of(rows: &plan::Rows, map: &'a Map) -> Self {
        let unit = rows.unit;
        let (piece, row, outer) = if rows.step == 1 {
            let (row, outer) = split(unit, &map.axes);
            (rows.run * unit, row, outer)
        } else {
            let row = Axis {
                size: rows.run,
                stride: rows.step,
            };
            (unit, in_bytes(unit, row), map.axes.as_slice())
        };
        Self {
            offset: map.offset * unit,
            tiles: Tiles::of(unit, piece, outer, row),
            ..Self::along(unit, piece, row, outer)
        }
    }

    /// Rows of pieces, in bytes, along these axes, in units.
    pub(super) fn along(unit: usize, piece: usize, row: Axis, axes: &'a [Axis]) -> Self {
        let (block, outer) = split(unit, axes);
        let (group, outer) = match split(unit, outer) {
            (group, outer) if continues(group, block, reach(row) + piece) => (group, outer),
            _ => (ONE, outer),
        };
        let kernel = Kernel::of(piece, row);
        let leading = if group.size > 1 { group } else { block };
        let up = leading.stride >= 0;
        // Long rows of pieces have a direction of their own; loops over steps always read upwards.
        let turns =
            reach(row) <= NEAR || (row.stride >= 0) == up || matches!(kernel, Kernel::Steps { .. });
        Self {
            unit,
            offset: 0,
            piece,
            row,
            block,
            group,
            outer,
            up,
            turns,
            kernel,
            tiles: None,
        }
    }

    /// Writes the bytes of the result from `first` on, with as many threads as they are worth.
    pub(super) fn run(&self, source: &[u8], first: usize, dest: &mut [u8]) {
        let threads = self.threads(dest.len());
        match &self.tiles {
            Some(tiles) if threads > 1 && tiles.bytes() == dest.len() => {
                tiles.run(source, self.offset, dest, threads);
            }
            _ => threads::spread(dest, self.unit, threads, |at, dest| {
                self.part(source, first + at, dest);
            }),
        }
    }

    /// How many threads write so many bytes.
    pub(super) fn threads(&self, bytes: usize) -> usize {
        threads::worth(bytes, self.pieces(bytes))
    }

    /// The pieces of so many bytes that are moved one by one.
    pub(super) fn pieces(&self, bytes: usize) -> usize {
        match self.kernel {
            Kernel::Steps { .. } => 0,
            Kernel::Pieces { .. } | Kernel::Copy { .. } => bytes / self.piece,
        }
    }

    /// The same pieces, the first of them at byte `offset`.
    pub(super) fn beginning_at(&self, offset: usize) -> Self {
        Self { offset, ..*self }
    }

    /// Writes all of the result.
    pub(super) fn whole(&self, source: &[u8], dest: &mut [u8]) {
        self.part(source, 0, dest);
    }

    /// Writes the bytes of the result from `first` on.
    pub(super) fn part(&self, source: &[u8], first: usize, dest: &mut [u8]) {
        if let Some(tiles) = &self.tiles {
            return tiles.part(source, self.offset, first, dest);
        }
        if self.outer.is_empty() && dest.len() == self.group_bytes() {
            return self.whole_group(source, self.offset, dest);
        }
        let trail = &mut Trail::of(self);
        let outer = self.outer.iter().map(|axis| axis.size);
        let bytes = self.group_bytes() * outer.product::<usize>();
        let axes = (self.outer, bytes);
        self.groups(source, axes, self.offset, first, dest, trail);
    }

    /// Writes the bytes from `skip` on of the groups along `axes`, which are so many bytes of the result. The
    /// first begins at `at`.
    fn groups(
        &self,
        source: &[u8],
        (axes, bytes): (&[Axis], usize),
        at: usize,
        skip: usize,
        dest: &mut [u8],
        trail: &mut Trail,
    ) {
        let Some((axis, inner)) = axes.split_first() else {
            trail.reach(source, at);
            if dest.len() == bytes {
                return self.whole_group(source, at, dest);
            }
            return self.part_of_group(source, at, skip, dest);
        };
        let bytes = bytes / axis.size;
        let stride = axis.stride.wrapping_mul(self.unit.cast_signed());
        let (mut at, mut rest) = (at, dest);
        if skip > 0 {
            let (first, skip) = (skip / bytes, skip % bytes);
            at = along(at, stride, first);
            if skip > 0 {
                let part;
                (part, rest) = rest.split_at_mut((bytes - skip).min(rest.len()));
                self.groups(source, (inner, bytes), at, skip, part, trail);
                at = at.wrapping_add_signed(stride);
            }
        }
        let mut each = |at, part: &mut [u8]| {
            self.groups(source, (inner, bytes), at, 0, part, trail);
        };
        if self.turns && (stride >= 0) != self.up {
            for (i, part) in rest.chunks_mut(bytes).enumerate().rev() {
                each(along(at, stride, i), part);
            }
        } else {
            for part in rest.chunks_mut(bytes) {
                each(at, part);
                at = at.wrapping_add_signed(stride);
            }
        }
    }

    fn group_bytes(&self) -> usize {
        self.piece * self.row.size * self.block.size * self.group.size
    }

    /// Writes the group that begins at `at`.
    fn whole_group(&self, source: &[u8], at: usize, dest: &mut [u8]) {
        let stride = self.group.stride;
        self.kernel
            .blocks(source, at, self.row, self.block, stride, dest);
    }

    /// Writes the bytes from `skip` on of the group that begins at `at`.
    fn part_of_group(&self, source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        if self.group.size > 1 {
            let stride = self.group.stride / self.unit.cast_signed();
            let axes = [Axis {
                stride,
                ..self.group
            }];
            let blocks = Self {
                group: ONE,
                ..*self
            };
            let axes = (&axes[..], self.group_bytes());
            blocks.groups(source, axes, at, skip, dest, &mut Trail::of(&blocks));
        } else {
            self.part_of_block(source, at, skip, dest);
        }
    }

    /// Writes the bytes from `skip` on of the block that begins at `at`.
    fn part_of_block(&self, source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let row_bytes = self.row.size * self.piece;
        let pitch = self.block.stride;
        let (first, skip) = (skip / row_bytes, skip % row_bytes);
        let mut at = along(at, pitch, first);
        let mut rest = dest;
        if skip > 0 {
            let part;
            (part, rest) = rest.split_at_mut((row_bytes - skip).min(rest.len()));
            self.part_of_row(source, at, skip, part);
            at = at.wrapping_add_signed(pitch);
        }
        let rows = rest.len() / row_bytes;
        let (whole, rest) = rest.split_at_mut(rows * row_bytes);
        if rows > 0 {
            self.kernel.rows(source, at, self.row, pitch, whole);
        }
        if !rest.is_empty() {
            self.part_of_row(source, along(at, pitch, rows), 0, rest);
        }
    }

    /// Writes the bytes from `skip` on of the row that begins at `at`.
    fn part_of_row(&self, source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let (first, within) = (skip / self.piece, skip % self.piece);
        let mut at = along(at, self.row.stride, first);
        let mut rest = dest;
        if within > 0 {
            let part;
            (part, rest) = rest.split_at_mut((self.piece - within).min(rest.len()));
            part.copy_from_slice(&source[at + within..][..part.len()]);
            at = at.wrapping_add_signed(self.row.stride);
        }
        let size = rest.len() / self.piece;
        let (whole, rest) = rest.split_at_mut(size * self.piece);
        if size > 0 {
            let stride = self.row.stride;
            let row = Axis { size, stride };
            Kernel::of(self.piece, row).rows(source, at, row, 0, whole);
        }
        if !rest.is_empty() {
            let at = along(at, self.row.stride, size);
            rest.copy_from_slice(&source[at..][..rest.len()]);
        }
    }
}

/// Where the walk was last.
struct Trail {
    /// Bytes of a group below the byte where it begins.
    below: usize,
    /// Bytes from the lowest of a group to the highest.
    span: usize,
    up: bool,
    last: Option<usize>,
}

impl Trail {
    fn of(walk: &Walk<'_>) -> Self {
        let axes = [walk.row, walk.block, walk.group];
        let down = axes.iter().filter(|axis| axis.stride < 0);
        Self {
            below: down.map(|&axis| reach(axis)).sum(),
            span: walk.piece + axes.into_iter().map(reach).sum::<usize>(),
            up: walk.up,
            last: None,
        }
    }

    /// Comes to the group that begins at `at`, and reads what lies between where that is little.
    fn reach(&mut self, source: &[u8], at: usize) {
        if source.len() <= CACHED {
            return;
        }
        let last = self.last.replace(at).unwrap_or(at);
        if (at > last) != self.up {
            return;
        }
        let gap = self.between(last.min(at), last.max(at));
        if gap.len() > GAP {
            return;
        }
        // Nobody asks what was read, but it must have been.
        let read = |line: usize| _ = black_box(source[line]);
        let lines = gap.step_by(LINE);
        if self.up {
            lines.for_each(read);
        } else {
            lines.rev().for_each(read);
        }
    }

    /// The bytes between two groups, which begin at these; none where they overlap.
    fn between(&self, lower: usize, higher: usize) -> Range<usize> {
        lower - self.below + self.span..higher - self.below
    }
}

/// Whether blocks along `group` of rows along `block` are read in one stream.
fn continues(group: Axis, block: Axis, row_bytes: usize) -> bool {
    let stride = group.stride.unsigned_abs();
    let onwards = (group.stride >= 0) == (block.stride >= 0);
    stride <= NEAR || onwards && stride <= reach(block) + row_bytes + NEAR
}

/// The innermost of some axes in units, in bytes, and the others.
fn split(unit: usize, axes: &[Axis]) -> (Axis, &[Axis]) {
    match axes.split_last() {
        Some((&last, outer)) => (in_bytes(unit, last), outer),
        None => (ONE, axes),
    }
}

fn in_bytes(unit: usize, axis: Axis) -> Axis {
    let stride = axis.stride.wrapping_mul(unit.cast_signed());
    Axis { stride, ..axis }
}

/// Bytes from where the first along an axis begins to where the last does.
fn reach(axis: Axis) -> usize {
    (axis.size - 1) * axis.stride.unsigned_abs()
}

/// `at + count · stride`. Only the result need lie within the source.
pub(super) fn along(at: usize, stride: isize, count: usize) -> usize {
    at.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Plan, SliceSpec};
    use plan::Map;

    /// What lies between the first two groups of a slice of bytes.
    #[track_caller]
    fn check(shape: &[usize], spec: &str, gap: Range<usize>) {
        let spec: SliceSpec = spec.parse().unwrap();
        let plan = Plan::strided_slice(shape, &spec, DType::U8).unwrap();
        let Map::StridedSlice(map) = &plan.map else {
            panic!("{plan}")
        };
        let walk = Walk::of(&plan.rows, map);
        let next = along(walk.offset, walk.outer.last().unwrap().stride, 1);
        let [lower, higher] = [walk.offset.min(next), walk.offset.max(next)];
        assert_eq!(Trail::of(&walk).between(lower, higher), gap, "{spec}");
    }

    /// Whichever way a group is read, what lies between it and the next is the same.
    #[test]
    fn gaps_lie_between_groups() {
        let shape = &[3, 10, 5, 100];
        // Of each third, bytes 601 to 1895.
        check(shape, ":, 1:4, 1:4, 1:96", 1896..5601);
        check(shape, ":, 3:0:-1, 1:4, 1:96", 1896..5601);
        check(shape, "::-1, 1:4, 3:0:-1, 1:96", 6896..10601);
        check(shape, ":, 1:4, 1:4, 95:0:-1", 1896..5601);
        check(shape, "::-1, 3:0:-1, 3:0:-1, 95:0:-1", 6896..10601);
        // Rows and entries in other directions: each entry is a group, and the last but one comes second.
        check(shape, ":, 3:0:-1, 1:4, 95:0:-1", 1396..1601);
    }
}
