//! The walk of a slice: rows of pieces, rows in blocks, blocks by an odometer.
//!
//! | level | what it is | walked by |
//! |---|---|---|
//! | piece | bytes that lie together in the source | a move of fixed size, or `memcpy` |
//! | row | pieces at a constant distance | the kernel |
//! | block | rows at a constant distance | the kernel |
//! | result | all blocks | the odometer |
//!
//! The kernel has the two innermost axes, so that short rows cost no more than their bytes.

use super::{kernel::Kernel, threads};
use crate::{
    layout::Axis,
    ops::strided_slice::{Map, Odometer},
    plan,
};

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
    /// The axes of the blocks, in units.
    outer: &'a [Axis],
    pub(super) kernel: Kernel,
}

impl<'a> Walk<'a> {
    pub(super) fn of(rows: &plan::Rows, map: &'a Map) -> Self {
        let unit = rows.unit;
        let in_bytes = |axis: Axis| Axis {
            size: axis.size,
            stride: axis.stride.wrapping_mul(unit.cast_signed()),
        };
        let split = |axes: &'a [Axis]| match axes.split_last() {
            Some((&last, outer)) => (in_bytes(last), outer),
            None => (Axis { size: 1, stride: 0 }, axes),
        };
        let (piece, row, outer) = if rows.step == 1 {
            let (row, outer) = split(&map.axes);
            (rows.run * unit, row, outer)
        } else {
            let row = Axis {
                size: rows.run,
                stride: rows.step,
            };
            (unit, in_bytes(row), map.axes.as_slice())
        };
        let (block, outer) = split(outer);
        Self {
            unit,
            offset: map.offset * unit,
            piece,
            row,
            block,
            outer,
            kernel: Kernel::of(piece, row),
        }
    }

    /// Writes the bytes of the result from `first` on, with as many threads as they are worth.
    pub(super) fn run(&self, source: &[u8], first: usize, dest: &mut [u8]) {
        threads::spread(dest, self.unit, self.threads(dest.len()), |at, dest| {
            self.part(source, first + at, dest);
        });
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
        if self.outer.is_empty() {
            let pitch = self.block.stride;
            self.kernel.rows(source, self.offset, self.row, pitch, dest);
        } else {
            self.part(source, 0, dest);
        }
    }

    /// Writes the bytes of the result from `first` on.
    pub(super) fn part(&self, source: &[u8], first: usize, mut dest: &mut [u8]) {
        let row_bytes = self.row.size * self.piece;
        let (row, mut skip) = (first / row_bytes, first % row_bytes);
        let (block, mut row) = (row / self.block.size, row % self.block.size);
        let blocks = Odometer::at(self.outer, self.offset / self.unit, block);
        for at in blocks.map(|units| units.wrapping_mul(self.unit)) {
            while row < self.block.size {
                if dest.is_empty() {
                    return;
                }
                let at = along(at, self.block.stride, row);
                let rows = (dest.len() / row_bytes).min(self.block.size - row);
                let part;
                if skip == 0 && rows > 0 {
                    (part, dest) = dest.split_at_mut(rows * row_bytes);
                    self.kernel
                        .rows(source, at, self.row, self.block.stride, part);
                    row += rows;
                } else {
                    let rest = (row_bytes - skip).min(dest.len());
                    (part, dest) = dest.split_at_mut(rest);
                    self.part_of_row(source, at, skip, part);
                    skip = 0;
                    row += 1;
                }
            }
            row = 0;
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

/// `at + count · stride`. Only the result need lie within the source.
fn along(at: usize, stride: isize, count: usize) -> usize {
    at.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}
