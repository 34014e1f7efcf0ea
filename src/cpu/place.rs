//! Writes pieces with gaps between them: the pieces of an update, of a gradient, or of a box of a crop or a paste. In
//! gradients and crops the gaps become zero. The pieces are written in ascending order of destinations, except in views
//! with interleaved rows. So the same loop can write the zeros, and two threads can write the two halves of the pieces
//! to disjoint parts of the destination.

use super::{
    fixed_copy::{CopyKernel, CopyTask, FIXED_MAX, with_copy_kernel},
    kernel::Kernel,
    processor::Processor,
    rows::{Axis, along, fill_with_piece},
    slice::LoopNest,
    strided_store,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::walk::{Dim, Walk};
use core::cmp::Reverse;

/// The size in bytes of the buffer to which units are copied, so that they are contiguous, before a strided store. It
/// stays in the first-level cache.
const STAGE_BYTES: usize = 1 << 10;

pub(super) fn explain(walk: &Walk, bytes: usize, max_threads: Threads) -> String {
    let rows = StoreRows::from_walk(walk);
    threads::explain(
        max_threads.count_for(bytes, rows.single_copies()),
        rows.describe(),
    )
}

/// The loop that writes the pieces of a row.
#[derive(Clone, Copy)]
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::large_enum_variant, reason = "a value serves a whole walk")
)]
enum StoreLoop<'a> {
    /// The pieces of a row are all the same piece of the source and are contiguous in the destination.
    Repeat,
    /// The pieces of several rows are contiguous in the destination, so the loops of a slice move them.
    Contiguous(LoopNest<'a>),
    /// Each piece is a single unit, and the pieces are a small step apart in the destination. A loop compiled for the
    /// size of the unit and the step stores them.
    Strided,
    /// Pieces at any distance. Each piece is copied by itself.
    Each,
}

/// Copies the units of `walk` from `source` to `dest`. With `ZEROS` all other bytes of `dest` become zero, otherwise
/// they are kept.
pub(super) fn run<const ZEROS: bool>(
    walk: &Walk,
    source: &[u8],
    dest: &mut [u8],
    max_threads: Threads,
) {
    if walk.is_ascending() {
        return StoreRows::from_walk(walk).write_rows::<ZEROS>(
            source,
            walk.from.cast_unsigned(),
            dest,
            max_threads,
        );
    }
    // The destination is transposed. Sorting the dimensions makes the destinations ascend, unless rows are interleaved.
    let mut walk = walk.clone();
    walk.dims.sort_by_key(|dim| Reverse(dim.to));
    StoreRows::from_walk(&walk).write_rows::<ZEROS>(
        source,
        walk.from.cast_unsigned(),
        dest,
        max_threads,
    );
}

/// Splits a part of the destination in the middle of the walk's outermost dimension of more than one position. Returns
/// the part unchanged if the walk has a single unit. A part consists of the walk that writes to it, its offset in bytes
/// in the destination, and its bytes.
fn split_part((walk, base, dest): (Walk, usize, &mut [u8])) -> Vec<(Walk, usize, &mut [u8])> {
    let Some(d) = walk.dims.iter().position(|dim| dim.size > 1) else {
        return vec![(walk, base, dest)];
    };
    let [head, tail] = walk.split(d, walk.dims[d].size / 2);
    let at = tail.to.cast_unsigned() * tail.unit;
    let (first, second) = dest.split_at_mut(at - base);
    vec![(head, base, first), (tail, at, second)]
}

/// A walk as rows of pieces. A piece is contiguous both in the source and in the destination.
pub(super) struct StoreRows<'a> {
    walk: &'a Walk,
    /// The size of a piece in bytes.
    piece: usize,
    /// The number of pieces of a row, and their distance in the source.
    row: Axis,
    /// The distance in bytes between neighbouring pieces of a row in the destination.
    pitch: usize,
    /// The number of bytes that one call of the loop writes: the size of several rows if they are contiguous in the
    /// destination, otherwise the size of one row's pieces.
    call_bytes: usize,
    /// The dimensions that number the calls of the loop, outermost first.
    outer: &'a [Dim],
    store_loop: StoreLoop<'a>,
}

impl<'a> StoreRows<'a> {
    pub(super) fn from_walk(walk: &'a Walk) -> Self {
        let unit = walk.unit;
        let contiguous_units = walk.contiguous();
        let piece = contiguous_units * unit;
        let inner_dims = match contiguous_units {
            1 => &walk.dims[..],
            _ => &walk.dims[..walk.dims.len() - 1],
        };
        let (row, pitch, mut outer) = match inner_dims.split_last() {
            Some((row, outer)) if row.size > 1 => (
                Axis::from_dim(unit, row),
                row.to.cast_unsigned() * unit,
                outer,
            ),
            _ => (
                Axis {
                    size: 1,
                    stride: piece.cast_signed(),
                },
                piece,
                &[][..],
            ),
        };
        let mut call_bytes = row.size * piece;
        let store_loop = if pitch == piece && row.stride == 0 {
            StoreLoop::Repeat
        } else if pitch == piece {
            while let Some((dim, next_outer)) = outer.split_last()
                && dim.to.cast_unsigned() * unit == call_bytes
            {
                call_bytes *= dim.size;
                outer = next_outer;
            }
            StoreLoop::Contiguous(LoopNest::over_dims(unit, &walk.dims[outer.len()..]))
        } else if strided_store::is_supported(piece, row.size, pitch) {
            StoreLoop::Strided
        } else {
            StoreLoop::Each
        };
        Self {
            walk,
            piece,
            row,
            pitch,
            call_bytes,
            outer,
            store_loop,
        }
    }

    /// Returns the number of pieces that are copied one by one.
    pub(super) fn single_copies(&self) -> usize {
        match self.store_loop {
            StoreLoop::Each => self.walk.bytes() / self.piece,
            StoreLoop::Contiguous(nest) => nest.single_copies(self.walk.bytes()),
            StoreLoop::Repeat | StoreLoop::Strided => 0,
        }
    }

    pub(super) fn describe(&self) -> String {
        let piece = self.piece;
        match self.store_loop {
            StoreLoop::Repeat => format!("a piece of {piece} bytes again and again"),
            StoreLoop::Contiguous(nest) => nest.describe(),
            StoreLoop::Strided => {
                let step = self.pitch / piece;
                format!("units of {piece} bytes laid {step} apart by a loop for this step")
            }
            StoreLoop::Each => Kernel::Copy { bytes: piece }.to_string(),
        }
    }

    /// Writes the rows to `dest`. With `ZEROS` all other bytes of `dest` become zero. The first piece is at unit `from`
    /// of the source.
    pub(super) fn write_rows<const ZEROS: bool>(
        &self,
        source: &[u8],
        from: usize,
        dest: &mut [u8],
        max_threads: Threads,
    ) {
        let bytes = if ZEROS { dest.len() } else { self.walk.bytes() };
        // If destinations do not ascend, the halves of the walk do not write to disjoint parts, so one thread writes
        // all.
        let threads = match self.walk.is_ascending() {
            true => max_threads.count_for(bytes, self.single_copies()),
            false => 1,
        };
        if threads == 1 {
            return self.store_rows::<ZEROS>(source, from, 0, dest);
        }
        let mut walk = self.walk.clone();
        walk.from = from.cast_signed();
        let mut parts = vec![(walk, 0, dest)];
        while parts.len() < threads::min_parts(threads)
            && parts.iter().any(|part| part.0.units() > 1)
        {
            parts = parts.into_iter().flat_map(split_part).collect();
        }
        threads::share(parts.into_iter(), threads, |(walk, base, dest)| {
            let from = walk.from.cast_unsigned();
            StoreRows::from_walk(&walk).store_rows::<ZEROS>(source, from, base, dest);
        });
    }

    /// Writes the rows to `dest`, the part of the destination that begins at byte `base`.
    fn store_rows<const ZEROS: bool>(
        &self,
        source: &[u8],
        from: usize,
        base: usize,
        dest: &mut [u8],
    ) {
        let row_storer = RowStorer::<ZEROS> {
            rows: self,
            source,
            from,
            base,
            dest,
            written_bytes: 0,
        };
        row_storer.run();
    }

    /// Calls `each` for all positions of the outer dimensions, in row-major order. The arguments are the offsets in
    /// bytes of this position's first piece, in the source and in the destination.
    fn for_each_store(&self, from: usize, mut each: impl FnMut(usize, usize)) {
        let Walk { unit, to, .. } = *self.walk;
        for_each_position(self.outer, from, to.cast_unsigned(), &mut |from, to| {
            each(from * unit, to * unit);
        });
    }
}

/// Calls `each` with the source unit and the destination unit at every position of `dims`, in order. `from` and `to`
/// are the units at the first position.
fn for_each_position(
    dims: &[Dim],
    mut from: usize,
    mut to: usize,
    each: &mut impl FnMut(usize, usize),
) {
    match dims.split_first() {
        None => each(from, to),
        Some((outer, inner)) => {
            for _ in 0..outer.size {
                for_each_position(inner, from, to, each);
                // After the last position, the sums can be outside the arrays or wrap. They are then not used.
                from = from.wrapping_add_signed(outer.from);
                to = to.wrapping_add_signed(outer.to);
            }
        }
    }
}

/// The state of [`StoreRows::store_rows`].
struct RowStorer<'a, const ZEROS: bool> {
    rows: &'a StoreRows<'a>,
    source: &'a [u8],
    from: usize,
    base: usize,
    dest: &'a mut [u8],
    /// With `ZEROS`, the number of bytes at the beginning of `dest` that already contain zeros or pieces. Unused
    /// otherwise.
    written_bytes: usize,
}

impl<const ZEROS: bool> RowStorer<'_, ZEROS> {
    fn run(mut self) {
        let StoreRows {
            piece,
            row,
            pitch,
            call_bytes,
            ..
        } = *self.rows;
        let (source, first) = (self.source, self.from);
        match self.rows.store_loop {
            StoreLoop::Repeat => self.rows.for_each_store(first, |from, to| {
                fill_with_piece(&source[from..][..piece], self.next_written(to, call_bytes));
            }),
            StoreLoop::Contiguous(nest) => self.rows.for_each_store(first, |from, to| {
                nest.write_part(source, from, 0, self.next_written(to, call_bytes));
            }),
            StoreLoop::Strided => self.rows.for_each_store(first, |from, to| {
                for_staged_units(source, from, piece, row, |first, units| {
                    let length = (units.len() / piece - 1) * pitch + piece;
                    let dest = self.next_written(to + first * pitch, length);
                    strided_store::store_units::<ZEROS>(piece, pitch, units, dest);
                });
            }),
            StoreLoop::Each => return with_copy_kernel(piece, self),
        }
        self.zero_rest();
    }

    /// Returns the `length` bytes from byte `at` of the destination. The caller must write all of them. With `ZEROS`
    /// the gap before these bytes becomes zero.
    #[inline(always)]
    fn next_written(&mut self, at: usize, length: usize) -> &mut [u8] {
        let at = at - self.base;
        if ZEROS {
            self.dest[self.written_bytes..at].fill(0);
            self.written_bytes = at + length;
        }
        &mut self.dest[at..][..length]
    }

    /// Returns the `length` bytes from byte `at` of the destination. The caller need not write all of them. With
    /// `ZEROS` these bytes and the gap before them are zero, except where earlier pieces were written.
    #[inline(always)]
    fn next_zeroed(&mut self, at: usize, length: usize) -> &mut [u8] {
        let at = at - self.base;
        let end = at + length;
        if ZEROS && end > self.written_bytes {
            let end = end
                .max(self.written_bytes + Processor::here().zeroed_bytes())
                .min(self.dest.len());
            self.dest[self.written_bytes..end].fill(0);
            self.written_bytes = end;
        }
        &mut self.dest[at..end]
    }

    fn zero_rest(self) {
        if ZEROS {
            self.dest[self.written_bytes..].fill(0);
        }
    }
}

/// Writes each piece by itself.
impl<const ZEROS: bool> CopyTask for RowStorer<'_, ZEROS> {
    fn run(mut self, kernel: impl CopyKernel) {
        let StoreRows {
            piece, row, pitch, ..
        } = *self.rows;
        let (source, first) = (self.source, self.from);
        let is_short = piece <= FIXED_MAX;
        // The number of pieces for one call of `next_zeroed` or `next_written`. With `ZEROS`, `next_zeroed` sets about
        // `zeroed_bytes` bytes to zero, and short pieces are written into them. A long piece is written by itself,
        // after `next_written` has set the gap before it to zero.
        let pieces_per_call = match (ZEROS, is_short) {
            (false, _) => row.size,
            (true, true) => (Processor::here().zeroed_bytes() / pitch).clamp(1, row.size),
            (true, false) => 1,
        };
        self.rows.for_each_store(first, |mut from, mut to| {
            let mut pieces_left = row.size;
            while pieces_left > 0 {
                let count = pieces_per_call.min(pieces_left);
                let length = (count - 1) * pitch + piece;
                let dest = match is_short {
                    true => self.next_zeroed(to, length),
                    false => self.next_written(to, length),
                };
                for number in 0..count {
                    kernel
                        .copy(source, from, &mut dest[number * pitch..][..kernel.bytes()])
                        .expect("a plan's pieces are within its source");
                    from = from.wrapping_add_signed(row.stride);
                }
                to += count * pitch;
                pieces_left -= count;
            }
        });
        self.zero_rest();
    }
}

/// Calls `each` with the units of a row in order, one or more at a time, as contiguous bytes. The first argument is the
/// number of the first of these units in the row. The row begins at byte `from` of the source. If the units are
/// contiguous in the source, `each` is called once. Otherwise this function copies them to a buffer, at most
/// [`STAGE_BYTES`] bytes at a time.
fn for_staged_units(
    source: &[u8],
    from: usize,
    unit: usize,
    row: Axis,
    mut each: impl FnMut(usize, &[u8]),
) {
    let (count, stride) = (row.size, row.stride);
    if stride == unit.cast_signed() {
        return each(0, &source[from..][..count * unit]);
    }
    let mut stage = [0; STAGE_BYTES];
    let max_units = STAGE_BYTES / unit;
    for first in (0..count).step_by(max_units) {
        let size = max_units.min(count - first);
        let units = &mut stage[..size * unit];
        if stride != 0 {
            let axis = Axis { size, stride };
            let from = along(from, stride, first);
            Kernel::for_row(unit, axis).move_rows(source, from, axis, 0, units);
        } else if first == 0 {
            fill_with_piece(&source[from..][..unit], units);
        }
        each(first, units);
    }
}
