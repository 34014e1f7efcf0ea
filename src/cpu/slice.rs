//! Runs slices with nested loops.
//!
//! | level | content | loop |
//! |---|---|---|
//! | piece | bytes that are contiguous in the source and in the result | a copy of fixed size, or `memcpy` |
//! | row | pieces at a constant distance | the kernel |
//! | block | rows at a constant distance | the kernel |
//! | group | blocks at a constant distance | the kernel |
//! | result | all groups | `write_groups`, which calls itself at each position of an outer axis |
//!
//! One call of the kernel moves a group, so that short rows and small blocks do not need a call each.

use super::{
    Dest, Pieces,
    fixed_copy::FIXED_MAX,
    kernel::Kernel,
    memory::{LINE, NewMemory},
    odometer::Odometer,
    rows::{Axis, PieceRows, along, split_innermost, split_pieces},
    short_axes::ShortAxes,
    shuffle::Shuffle,
    threads::{self, Threads},
    transpose::Tiles,
};
use crate::prelude::*;
use crate::{
    text::counted,
    walk::{Dim, Walk},
};

/// The size in bytes of the smallest result for which the tables of `short_axes.rs` save more time than they take.
const SHORT_AXES_MIN_BYTES: usize = 4 << 10;

/// The size in bytes of the shortest row that [`LoopNest::reverse_rows`] writes. Rows of 4 KiB take two thirds of the time
/// with zeros (AMD EPYC, family 25, model 1). For rows below 1 KiB the measurements differed too much to tell.
const MIN_REVERSED_BYTES: usize = 1 << 10;

/// The loops of a slice.
#[derive(Clone, Copy)]
pub(super) struct LoopNest<'a> {
    pub(super) unit: usize,
    /// The offset in bytes of the first piece in the source.
    offset: usize,
    /// The size of a piece in bytes.
    piece: usize,
    /// The number of pieces of a row, and the distance from one piece to the next.
    row: Axis,
    /// The number of rows of a block, and the distance from one row to the next.
    block: Axis,
    /// The number of blocks of a group, and the distance from one block to the next.
    group: Axis,
    /// The dimensions that number the rows.
    rows: &'a [Dim],
    /// The dimensions that number the groups.
    outer: &'a [Dim],
    pub(super) kernel: Kernel,
    /// The tiles that replace the loops of a transposed slice. `None` if the slice is not transposed, or if tiles do
    /// not help.
    pub(super) tiles: Option<Tiles<'a>>,
}

impl<'a> LoopNest<'a> {
    /// Returns the loops of a walk without index tuples and with a contiguous result.
    pub(super) fn from_walk(walk: &'a Walk) -> Self {
        let mut loop_nest = Self::over_dims(walk.unit, &walk.dims);
        loop_nest.offset = walk.from.cast_unsigned() * walk.unit;
        loop_nest
    }

    /// Returns the loops that read units of `unit` bytes at all positions of `dims` and write them to consecutive
    /// bytes. The first unit is at byte 0 of the source.
    #[inline]
    pub(super) fn over_dims(unit: usize, dims: &'a [Dim]) -> Self {
        let (piece, row, outer) = match dims.split_last() {
            Some((run, outer)) if run.from != 1 => (unit, Axis::from_dim(unit, run), outer),
            last => {
                let (run, outer) = last.map_or((1, dims), |(run, outer)| (run.size, outer));
                let (row, outer) = split_innermost(unit, outer);
                (run * unit, row, outer)
            }
        };
        let mut loop_nest = Self::over_rows(unit, piece, row, outer);
        loop_nest.tiles = Tiles::if_faster(unit, piece, outer, row);
        loop_nest
    }

    /// Returns the loops that copy pieces of `piece` bytes. The pieces of a row are along `row`. There is a row at each
    /// position of `dims`, whose distances count units of `unit` bytes. The first piece is at byte 0 of the source.
    #[inline]
    pub(super) fn over_rows(unit: usize, piece: usize, row: Axis, dims: &'a [Dim]) -> Self {
        let (block, outer) = split_innermost(unit, dims);
        let (group, outer) = split_innermost(unit, outer);
        let kernel = Kernel::for_block(piece, row, block);
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
    pub(super) fn run(&self, source: &[u8], first: usize, dest: Dest<'_>, threads: Threads) {
        let threads = self.thread_count(dest.len(), threads);
        if let Some(axes) = self.short_axes(dest.len()) {
            return axes.run(source, self.offset, dest, threads);
        }
        if let Some(tiles) = &self.tiles {
            let lane_loop = self.lane_loop();
            // Writing a part of a tile takes as long as writing the whole tile, so threads take whole tiles if they
            // can.
            if threads > 1 && tiles.result_bytes() == dest.len() {
                return tiles.run(source, self.offset, dest, threads, lane_loop);
            }
            return threads::write_dest_in_parts(dest, self.unit, threads, &|at, part| {
                tiles.write_part(source, self.offset, first + at, part, lane_loop);
            });
        }
        if threads == 1
            && let Dest::Old(dest) = dest
        {
            return self.write_part(source, self.offset, first, dest);
        }
        let reversal = self.reversal();
        let write = |at, part: Dest<'_>| match (part, reversal) {
            (Dest::New(memory), _) if self.copies_long_pieces() => {
                self.copy_pieces(source, first + at, memory);
            }
            (Dest::New(memory), Some(shuffle)) => {
                self.reverse_rows(shuffle, source, first + at, memory);
            }
            (part, _) => part.for_each_block(self.unit, &mut |skip, bytes| {
                self.write_part(source, self.offset, first + at + skip, bytes);
            }),
        };
        threads::write_dest_in_parts(dest, self.unit, threads, &write);
    }

    /// Returns the tiles of a slice with many short axes. Returns `None` if a part of `bytes` bytes is not the whole
    /// result, or if other loops are as fast.
    fn short_axes(&self, bytes: usize) -> Option<ShortAxes> {
        let squares_are_faster = self.tiles.is_some_and(Tiles::are_better_than_short_axes);
        if bytes < SHORT_AXES_MIN_BYTES
            || squares_are_faster
            || !matches!(self.kernel, Kernel::Copy { .. })
        {
            return None;
        }
        let axes = ShortAxes::find(self.unit, self.piece, self.rows, self.row);
        axes.filter(|axes| axes.bytes() == bytes)
    }

    /// Returns whether [`Self::copy_pieces`] writes to new memory. Except for reversed rows and tiles, all other loops
    /// need memory that was set to zero first. Without these zeros, crops of 64 KiB with rows of 512 bytes take 27 % less
    /// time.
    fn copies_long_pieces(&self) -> bool {
        self.piece > FIXED_MAX && self.tiles.is_none()
    }

    /// Returns whether [`Self::run`] sets the memory of a whole result to zero first.
    pub(super) fn pieces(&self) -> Pieces {
        let group_count = self.outer.iter().map(|dim| dim.size).product::<usize>();
        let writes_lanes = || {
            self.tiles.is_some_and(Tiles::need_no_zeros)
                || self.short_axes(self.group_bytes() * group_count).is_some()
        };
        match self.copies_long_pieces() || self.reversal().is_some() || writes_lanes() {
            true => Pieces::WithoutZeros,
            false => Pieces::WithZeros,
        }
    }

    /// Copies the pieces of the result from byte `first` on to `dest`.
    fn copy_pieces(&self, source: &[u8], first: usize, mut dest: NewMemory<'_>) {
        let (first_piece, mut skip) = (first / self.piece, first % self.piece);
        let mut piece_in_row = first_piece % self.row.size;
        for row in Odometer::at(self.rows, |dim| dim.from, first_piece / self.row.size) {
            let row_start = self.offset.wrapping_add(row.wrapping_mul(self.unit));
            let mut at = along(row_start, self.row.stride, piece_in_row);
            for _ in piece_in_row..self.row.size {
                if dest.len() == 0 {
                    return;
                }
                let length = (self.piece - skip).min(dest.len());
                dest.copy_to_front(&source[at + skip..][..length]);
                at = at.wrapping_add_signed(self.row.stride);
                skip = 0;
            }
            piece_in_row = 0;
        }
    }

    /// Returns the shuffle with which [`Self::reverse_rows`] writes to new memory. A part of a result can begin at any
    /// unit, so pieces must be units.
    fn reversal(&self) -> Option<&Shuffle> {
        let are_rows_long = self.piece * self.row.size >= MIN_REVERSED_BYTES;
        match &self.kernel {
            Kernel::Shuffle(shuffle)
                if are_rows_long && self.piece == self.unit && self.tiles.is_none() =>
            {
                Some(shuffle).filter(|shuffle| shuffle.is_reversal())
            }
            _ => None,
        }
    }

    /// Copies the pieces of the result from byte `first` on to `dest`. The pieces of a row are contiguous in the source,
    /// in reverse order.
    fn reverse_rows(
        &self,
        shuffle: &Shuffle,
        source: &[u8],
        first: usize,
        mut dest: NewMemory<'_>,
    ) {
        debug_assert!((first | dest.len()).is_multiple_of(self.piece));
        let first_piece = first / self.piece;
        let mut skip = first_piece % self.row.size;
        for row in Odometer::at(self.rows, |dim| dim.from, first_piece / self.row.size) {
            if dest.len() == 0 {
                return;
            }
            let row_start = self.offset.wrapping_add(row.wrapping_mul(self.unit));
            let end = along(row_start, self.row.stride, skip) + self.piece;
            let bytes = (self.piece * (self.row.size - skip)).min(dest.len());
            shuffle.reverse(&source[end - bytes..end], &mut dest);
            skip = 0;
        }
    }

    /// Returns whether every piece is a single unit, in another cache line of the source than the pieces next to it in
    /// the result.
    pub(super) fn is_scattered(&self) -> bool {
        let piece_distance = self.row.stride.unsigned_abs();
        self.piece == self.unit && self.row.size > 1 && piece_distance >= LINE
    }

    fn thread_count(&self, bytes: usize, threads: Threads) -> usize {
        threads.count_unless_small(bytes, || self.single_copies(bytes))
    }

    pub(super) fn explain(&self, bytes: usize, threads: Threads) -> String {
        let threads = self.thread_count(bytes, threads);
        match self.short_axes(bytes) {
            Some(axes) => threads::explain(threads, axes),
            None => threads::explain(threads, self.describe()),
        }
    }

    /// For a transposed slice of `bytes` bytes, returns the number of pieces that `short_axes.rs` moves, or 0 if
    /// `transpose.rs` moves the pieces. Returns `None` for other slices, and for pieces that are near each other.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub(super) fn transposed_pieces(&self, bytes: usize) -> Option<usize> {
        let is_far = matches!(Kernel::for_row(self.piece, self.row), Kernel::Copy { .. });
        match self.short_axes(bytes) {
            Some(_) => Some(bytes / self.piece),
            None => (self.tiles.is_some() && is_far).then_some(0),
        }
    }

    /// Describes how the bytes are moved.
    pub(super) fn describe(&self) -> String {
        match &self.tiles {
            Some(tiles) => {
                let bytes = counted(tiles.piece, "byte", "bytes");
                format!("transposed pieces of {bytes} in tiles")
            }
            None => self.kernel.to_string(),
        }
    }

    /// Returns how many of the pieces in `bytes` bytes of the result are copied one by one: 0 if vector operations move
    /// them.
    pub(super) fn single_copies(&self, bytes: usize) -> usize {
        match self.kernel {
            Kernel::Shuffle(_) | Kernel::EverySecond { .. } => 0,
            Kernel::Copy { .. } => bytes / self.piece,
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. The first piece of the result is at byte
    /// `at` of the source.
    pub(super) fn write_part(&self, source: &[u8], at: usize, first: usize, dest: &mut [u8]) {
        if let Some(tiles) = &self.tiles {
            return tiles.write_part(source, at, first, Dest::Old(dest), self.lane_loop());
        }
        if self.outer.is_empty() && dest.len() == self.group_bytes() {
            return self.write_blocks(source, at, self.group, dest);
        }
        let outer_sizes = self.outer.iter().map(|dim| dim.size);
        let bytes = self.group_bytes() * outer_sizes.product::<usize>();
        let dims = (self.outer, bytes);
        self.write_groups(source, dims, at, first, dest);
    }

    /// Writes the groups at all positions of `dims`. The groups have `bytes` bytes in total, and the first group begins
    /// at byte `at` of the source. `dest` is the part of their result that begins at byte `skip`.
    fn write_groups(
        &self,
        source: &[u8],
        (dims, bytes): (&[Dim], usize),
        at: usize,
        skip: usize,
        dest: &mut [u8],
    ) {
        let Some((outer, inner)) = dims.split_first() else {
            if dest.len() == bytes {
                return self.write_blocks(source, at, self.group, dest);
            }
            let axes = [self.group, self.block, self.row];
            return self.write_range(&axes, source, at, skip, dest);
        };
        let Axis { size, stride } = Axis::from_dim(self.unit, outer);
        let bytes = bytes / size;
        let (mut at, mut unwritten) = (at, dest);
        if skip > 0 {
            let (first, skip) = (skip / bytes, skip % bytes);
            at = along(at, stride, first);
            if skip > 0 {
                let part;
                (part, unwritten) = unwritten.split_at_mut((bytes - skip).min(unwritten.len()));
                self.write_groups(source, (inner, bytes), at, skip, part);
                at = at.wrapping_add_signed(stride);
            }
        }
        for part in unwritten.chunks_mut(bytes) {
            self.write_groups(source, (inner, bytes), at, 0, part);
            at = at.wrapping_add_signed(stride);
        }
    }

    /// Returns a loop that writes a part of a tile's lane. Its arguments are the source, the lane's offset in the
    /// source, the part's offset in the lane (both in bytes), and the part.
    fn lane_loop(&self) -> impl Fn(&[u8], usize, usize, &mut [u8]) + Sync + Copy + use<'a> {
        let Self {
            unit, piece, row, ..
        } = *self;
        let between_rows = self.tiles.map_or(self.rows, |tiles| tiles.between);
        move |source, at, skip, dest| {
            Self::over_rows(unit, piece, row, between_rows).write_part(source, at, skip, dest);
        }
    }

    fn group_bytes(&self) -> usize {
        self.piece * self.row.size * self.block.size * self.group.size
    }

    /// Writes the blocks along `group`. The first block begins at byte `at` of the source.
    fn write_blocks(&self, source: &[u8], at: usize, group: Axis, dest: &mut [u8]) {
        self.kernel.move_blocks(PieceRows {
            source,
            at,
            row: self.row,
            pitch: self.block.stride,
            block_bytes: self.piece * self.row.size * self.block.size,
            block_stride: group.stride,
            dest,
        });
    }

    /// Writes a part of a group, a block or a row. `axes` has the axes of the group, the block and the row, or only the
    /// last of them. It is empty for a part of a piece. The first piece is at byte `at` of the source. `dest` begins at
    /// byte `skip` of the result of all pieces.
    fn write_range(&self, axes: &[Axis], source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let Some((&Axis { stride, .. }, inner)) = axes.split_first() else {
            return dest.copy_from_slice(&source[at + skip..][..dest.len()]);
        };
        let bytes = self.piece * inner.iter().map(|axis| axis.size).product::<usize>();
        let mut at = along(at, stride, skip / bytes);
        let [head, middle, tail] = split_pieces(bytes, skip, dest);
        if !head.is_empty() {
            self.write_range(inner, source, at, skip % bytes, head);
            at = at.wrapping_add_signed(stride);
        }
        let size = middle.len() / bytes;
        if size > 0 {
            let whole_axis = Axis { size, stride };
            match inner {
                [] => Kernel::for_row(self.piece, whole_axis)
                    .move_rows(source, at, whole_axis, 0, middle),
                [row] => self.kernel.move_rows(source, at, *row, stride, middle),
                _ => self.write_blocks(source, at, whole_axis, middle),
            }
            at = along(at, stride, size);
        }
        if !tail.is_empty() {
            self.write_range(inner, source, at, 0, tail);
        }
    }
}
