//! Slices: loops over rows of pieces, blocks of rows and groups of blocks, and the axes outside of groups.
//!
//! | level | content | loop |
//! |---|---|---|
//! | piece | bytes that are contiguous in the source | a copy of fixed size, or `memcpy` |
//! | row | pieces at a constant distance | the kernel |
//! | block | rows at a constant distance | the kernel |
//! | group | blocks at a constant distance | the kernel |
//! | result | all groups | `groups`, which calls itself at each position of an outer axis |
//!
//! The kernel runs the innermost axes, so that short rows and small blocks do not cost a call of their own.

use super::{
    Dest,
    fixed_copy::FIXED_MAX,
    kernel::Kernel,
    memory::{LINE, NewMemory},
    odometer::Odometer,
    rows::{Axis, PieceRows, along, split, split_pieces},
    short_axes::ShortAxes,
    threads::{self, Threads},
    transpose::Tiles,
};
use crate::prelude::*;
use crate::{
    text::counted,
    walk::{Dim, Walk},
};

/// The size in bytes of the smallest result for which tables of short axes are worth making.
const SMALL: usize = 4 << 10;

/// The loops of a slice.
#[derive(Clone, Copy)]
pub(super) struct LoopNest<'a> {
    pub(super) unit: usize,
    /// The byte of the source where the first piece begins.
    offset: usize,
    /// The size of a piece in bytes.
    piece: usize,
    /// The number of pieces of a row, and the distance from one piece to the next.
    row: Axis,
    /// The number of rows of a block, and the distance from one row to the next.
    block: Axis,
    /// The number of blocks of a group, and the distance from one block to the next.
    group: Axis,
    /// The dimensions outside of rows.
    rows: &'a [Dim],
    /// The dimensions outside of groups.
    outer: &'a [Dim],
    pub(super) kernel: Kernel,
    /// The tiles that replace the loops of a transposed slice. `None` if the slice is not transposed, or if tiles do
    /// not help.
    pub(super) tiles: Option<Tiles<'a>>,
}

impl<'a> LoopNest<'a> {
    /// The loops of a walk without tuples whose result is dense.
    pub(super) fn of(walk: &'a Walk) -> Self {
        let mut nest = Self::dense(walk.unit, &walk.dims);
        nest.offset = walk.from.cast_unsigned() * walk.unit;
        nest
    }

    /// The loops that read units of `unit` bytes at all positions of `dims` and write them one after the other. The
    /// first unit is at byte 0 of the source.
    #[inline]
    pub(super) fn dense(unit: usize, dims: &'a [Dim]) -> Self {
        let (piece, row, outer) = match dims.split_last() {
            Some((run, outer)) if run.from != 1 => (unit, Axis::of(unit, run), outer),
            last => {
                let (run, outer) = last.map_or((1, dims), |(run, outer)| (run.size, outer));
                let (row, outer) = split(unit, outer);
                (run * unit, row, outer)
            }
        };
        let mut nest = Self::along(unit, piece, row, outer);
        nest.tiles = Tiles::of(unit, piece, outer, row);
        nest
    }

    /// The loops that copy pieces of `piece` bytes. A row of pieces lies along `row`. There is a row at each position
    /// of `dims`, in units of `unit` bytes. The first piece is at byte 0 of the source.
    #[inline]
    pub(super) fn along(unit: usize, piece: usize, row: Axis, dims: &'a [Dim]) -> Self {
        let (block, outer) = split(unit, dims);
        let (group, outer) = split(unit, outer);
        let kernel = Kernel::of_block(piece, row, block);
        Self {
            unit,
            offset: 0,
            piece,
            row,
            block,
            group,
            rows: dims,
            outer,
            kernel,
            tiles: None,
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first`, with several threads if the work is large
    /// enough.
    pub(super) fn run(&self, source: &[u8], first: usize, mut dest: Dest<'_>, threads: Threads) {
        let threads = self.threads(dest.len(), threads);
        if let Some(axes) = self.short_axes(dest.len()) {
            return axes.run(source, self.offset, dest.all(), threads);
        }
        if let Some(tiles) = &self.tiles {
            // A part of a tile takes as long as the tile.
            let all = dest.all();
            if threads > 1 && tiles.bytes() == all.len() {
                return tiles.run(source, self.offset, all, threads, self.lanes());
            }
            dest = all.into();
        }
        if threads == 1
            && let Dest::Old(dest) = dest
        {
            return self.part(source, self.offset, first, dest);
        }
        threads::spread_parts(dest, self.unit, threads, &|at, part| match part {
            Dest::New(memory) if self.is_long() => self.copy_pieces(source, first + at, memory),
            part => part.each(self.unit, &mut |skip, bytes| {
                self.part(source, self.offset, first + at + skip, bytes);
            }),
        });
    }

    /// The tiles of a slice of many short axes, if a part of so many bytes is the whole result.
    fn short_axes(&self, bytes: usize) -> Option<ShortAxes> {
        let squares = self.tiles.is_some_and(Tiles::has_small_pieces);
        if bytes < SMALL || squares || !matches!(self.kernel, Kernel::Copy { .. }) {
            return None;
        }
        let axes = ShortAxes::of(self.unit, self.piece, self.rows, self.row);
        axes.filter(|axes| axes.bytes() == bytes)
    }

    /// Whether [`Self::copy_pieces`] writes to new memory. The other loops write to memory that became zeros before. Without
    /// zeros, crops of 64 KiB with rows of 512 bytes take 0.73 of the time.
    fn is_long(&self) -> bool {
        let is_forward = self.row.stride >= 0 && self.rows.iter().all(|dim| dim.from >= 0);
        self.piece > FIXED_MAX && is_forward && self.tiles.is_none()
    }

    /// Copies the pieces of the result from byte `first` on to `dest`.
    fn copy_pieces(&self, source: &[u8], first: usize, mut dest: NewMemory<'_>) {
        let (piece, mut skip) = (first / self.piece, first % self.piece);
        let mut number = piece % self.row.size;
        for row in Odometer::at(self.rows, |dim| dim.from, piece / self.row.size) {
            let mut at = along(self.offset + row * self.unit, self.row.stride, number);
            for _ in number..self.row.size {
                let length = (self.piece - skip).min(dest.len());
                dest.copy(&source[at + skip..][..length]);
                at = at.wrapping_add_signed(self.row.stride);
                skip = 0;
            }
            number = 0;
            if dest.len() == 0 {
                return;
            }
        }
    }

    /// Returns whether every piece is a unit of less than a cache line, in another line than the pieces next to it in the
    /// result.
    pub(super) fn is_scattered(&self) -> bool {
        let near = self.row.stride.unsigned_abs();
        self.piece == self.unit && self.row.size > 1 && near >= LINE
    }

    fn threads(&self, bytes: usize, threads: Threads) -> usize {
        threads.worth_of(bytes, || self.pieces(bytes))
    }

    pub(super) fn explain(&self, bytes: usize, threads: Threads) -> String {
        let threads = self.threads(bytes, threads);
        match self.short_axes(bytes) {
            Some(axes) => threads::explain(threads, axes),
            None => threads::explain(threads, self.how()),
        }
    }

    /// If a slice of `bytes` bytes is transposed and its pieces are not near each other: the number of pieces that are
    /// copied one by one. It is 0 if squares of pieces are transposed. `None` for other slices.
    #[cfg(feature = "gpu")]
    pub(super) fn transposed(&self, bytes: usize) -> Option<usize> {
        let is_far = matches!(Kernel::of(self.piece, self.row), Kernel::Copy { .. });
        match self.short_axes(bytes) {
            Some(_) => Some(bytes / self.piece),
            None => (self.tiles.is_some() && is_far).then_some(0),
        }
    }

    /// Describes how the bytes are moved.
    pub(super) fn how(&self) -> String {
        match &self.tiles {
            Some(tiles) => {
                let bytes = counted(tiles.piece, "byte", "bytes");
                format!("transposed pieces of {bytes} in tiles")
            }
            None => self.kernel.to_string(),
        }
    }

    /// The number of pieces in `bytes` bytes of the result, if the pieces are copied one by one. 0 if shuffles
    /// move them.
    pub(super) fn pieces(&self, bytes: usize) -> usize {
        match self.kernel {
            Kernel::Shuffle(_) | Kernel::Every { .. } => 0,
            Kernel::Copy { .. } => bytes / self.piece,
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. The first piece of the result is at byte `at` of
    /// the source.
    pub(super) fn part(&self, source: &[u8], at: usize, first: usize, dest: &mut [u8]) {
        if let Some(tiles) = &self.tiles {
            return tiles.part(source, at, first, dest, self.lanes());
        }
        if self.outer.is_empty() && dest.len() == self.group_bytes() {
            return self.blocks(source, at, self.group, dest);
        }
        let outer = self.outer.iter().map(|dim| dim.size);
        let bytes = self.group_bytes() * outer.product::<usize>();
        let dims = (self.outer, bytes);
        self.groups(source, dims, at, first, dest);
    }

    /// Writes to `dest` the result of the groups at all positions of `dims`, from byte `skip` of this result on and as
    /// far as `dest` reaches. The result of all these groups has `bytes` bytes, and the first group begins at byte `at`
    /// of the source.
    fn groups(
        &self,
        source: &[u8],
        (dims, bytes): (&[Dim], usize),
        at: usize,
        skip: usize,
        dest: &mut [u8],
    ) {
        let Some((outer, inner)) = dims.split_first() else {
            if dest.len() == bytes {
                return self.blocks(source, at, self.group, dest);
            }
            let axes = [self.group, self.block, self.row];
            return self.some(&axes, source, at, skip, dest);
        };
        let Axis { size, stride } = Axis::of(self.unit, outer);
        let bytes = bytes / size;
        let (mut at, mut rest) = (at, dest);
        if skip > 0 {
            let (first, skip) = (skip / bytes, skip % bytes);
            at = along(at, stride, first);
            if skip > 0 {
                let part;
                (part, rest) = rest.split_at_mut((bytes - skip).min(rest.len()));
                self.groups(source, (inner, bytes), at, skip, part);
                at = at.wrapping_add_signed(stride);
            }
        }
        for part in rest.chunks_mut(bytes) {
            self.groups(source, (inner, bytes), at, 0, part);
            at = at.wrapping_add_signed(stride);
        }
    }

    /// The loop for a part of a lane of tiles: from a byte of the source, and from a byte of the lane on.
    fn lanes(&self) -> impl Fn(&[u8], usize, usize, &mut [u8]) + Sync + Copy + use<'a> {
        let Self {
            unit, piece, row, ..
        } = *self;
        let between = self.tiles.map_or(self.rows, |tiles| tiles.between);
        move |source, at, skip, dest| {
            Self::along(unit, piece, row, between).part(source, at, skip, dest);
        }
    }

    fn group_bytes(&self) -> usize {
        self.piece * self.row.size * self.block.size * self.group.size
    }

    /// Writes the blocks along `group`, the first of which begins at byte `at` of the source.
    fn blocks(&self, source: &[u8], at: usize, group: Axis, dest: &mut [u8]) {
        self.kernel.blocks(PieceRows {
            source,
            at,
            row: self.row,
            pitch: self.block.stride,
            block_bytes: self.piece * self.row.size * self.block.size,
            stride: group.stride,
            dest,
        });
    }

    /// Writes `dest`, which begins at byte `skip` of the pieces at all positions of `axes`. The first of them is at byte
    /// `at` of the source. `axes` are the group, the block and the row, or the last of these.
    fn some(&self, axes: &[Axis], source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let Some((&Axis { stride, .. }, inner)) = axes.split_first() else {
            return dest.copy_from_slice(&source[at + skip..][..dest.len()]);
        };
        let bytes = self.piece * inner.iter().map(|axis| axis.size).product::<usize>();
        let mut at = along(at, stride, skip / bytes);
        let [head, whole, tail] = split_pieces(bytes, skip, dest);
        if !head.is_empty() {
            self.some(inner, source, at, skip % bytes, head);
            at = at.wrapping_add_signed(stride);
        }
        let size = whole.len() / bytes;
        if size > 0 {
            let part = Axis { size, stride };
            match inner {
                [] => Kernel::of(self.piece, part).rows(source, at, part, 0, whole),
                [row] => self.kernel.rows(source, at, *row, stride, whole),
                _ => self.blocks(source, at, part, whole),
            }
            at = along(at, stride, size);
        }
        if !tail.is_empty() {
            self.some(inner, source, at, 0, tail);
        }
    }
}
