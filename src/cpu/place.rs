//! Strided writes: the pieces of an update or a gradient, and for a gradient also the zeros between the pieces. Their
//! walk is in ascending order of destinations. So one pass writes both the pieces and the zeros, and the two halves of
//! the walk write to disjoint parts of the destination and can be copied by different threads.

use super::{
    fixed_copy::{CopyKernel, CopyTask, FIXED_MAX, with_copy_kernel},
    kernel::Kernel,
    rows::{Axis, along},
    strided_store,
    threads::{self, Threads},
};
use crate::walk::{Dim, Walk};
use std::borrow::Cow;

/// The number of bytes that are set to zero at once, before short pieces are written to them: fewer than a first-level
/// cache holds, and enough for an efficient `memset`.
const FILL: usize = 4 << 10;

/// The size in bytes of the buffer where units become contiguous before a strided store: small enough to stay in the
/// first-level cache.
const STAGE: usize = 1 << 10;

pub(super) fn explain(walk: &Walk, bytes: usize, most: Threads) -> String {
    let StoreRows {
        piece, row, store, ..
    } = StoreRows::of(walk);
    let how = match store {
        StoreLoop::Repeat => format!("a piece of {piece} bytes again and again"),
        StoreLoop::Contiguous(kernel) => kernel.to_string(),
        StoreLoop::Strided => {
            let step = row.to / piece;
            format!("units of {piece} bytes laid {step} apart by a loop for this step")
        }
        StoreLoop::Each => Kernel::Copy { bytes: piece }.to_string(),
    };
    threads::explain(threads(walk, bytes, most), how)
}

fn threads(walk: &Walk, bytes: usize, most: Threads) -> usize {
    let rows = StoreRows::of(walk);
    let pieces = match rows.store {
        StoreLoop::Each | StoreLoop::Contiguous(Kernel::Copy { .. }) => walk.bytes() / rows.piece,
        StoreLoop::Repeat | StoreLoop::Contiguous(_) | StoreLoop::Strided => 0,
    };
    most.worth(bytes, pieces)
}

/// The loop that writes the pieces of a row.
#[derive(Clone, Copy)]
enum StoreLoop {
    /// The pieces of a row are all the same piece of the source, and are contiguous in the destination.
    Repeat,
    /// The pieces of a row are contiguous in the destination, so the kernel of a slice moves them.
    Contiguous(Kernel),
    /// Pieces of a single unit, a small step apart in the destination. A loop compiled for the unit and the step stores
    /// them.
    Strided,
    /// Pieces at any distance, each copied by itself.
    Each,
}

/// Copies the units of `walk` from `source` to `dest`. With `ZEROS` all other bytes of `dest` become zero, otherwise
/// they are kept.
pub(super) fn run<const ZEROS: bool>(walk: &Walk, source: &[u8], dest: &mut [u8], most: Threads) {
    let bytes = if ZEROS { dest.len() } else { walk.bytes() };
    let threads = threads(walk, bytes, most);
    let mut parts = vec![(Cow::Borrowed(walk), 0, dest)];
    while parts.len() < threads::parts(threads) && parts.iter().any(|part| part.0.units() > 1) {
        parts = parts.into_iter().flat_map(halves).collect();
    }
    threads::share(parts.into_iter(), threads, |(walk, base, dest)| {
        let store = Store::<ZEROS> {
            rows: &StoreRows::of(&walk),
            source,
            base,
            dest,
            written: 0,
        };
        store.run();
    });
}

/// The walk that writes to a part of the destination, the byte where this part begins, and the part.
type Part<'a> = (Cow<'a, Walk>, usize, &'a mut [u8]);

/// The two halves of a part, cut in the middle of the outermost dimension. One part if it is a single unit.
fn halves((walk, base, dest): Part<'_>) -> impl Iterator<Item = Part<'_>> {
    let outermost = walk.dims.iter().position(|dim| dim.size > 1);
    let parts = match outermost {
        None => [Some((walk, base, dest)), None],
        Some(d) => {
            let [head, tail] = walk.split(d, walk.dims[d].size / 2);
            let at = tail.to.cast_unsigned() * tail.unit;
            let (first, second) = dest.split_at_mut(at - base);
            let (head, tail) = (Cow::Owned(head), Cow::Owned(tail));
            [Some((head, base, first)), Some((tail, at, second))]
        }
    };
    parts.into_iter().flatten()
}

/// One dimension of pieces, rows or blocks: how many there are, and the distances in bytes from one to the next in the
/// source and in the destination.
#[derive(Clone, Copy)]
struct PairAxis {
    size: usize,
    from: isize,
    to: usize,
}

impl PairAxis {
    fn of(unit: usize, dim: &Dim) -> Self {
        let Axis { size, stride } = Axis::of(unit, dim);
        Self {
            size,
            from: stride,
            to: dim.to.cast_unsigned() * unit,
        }
    }

    fn single(bytes: usize) -> Self {
        Self {
            size: 1,
            from: bytes.cast_signed(),
            to: bytes,
        }
    }

    fn source(&self) -> Axis {
        Axis {
            size: self.size,
            stride: self.from,
        }
    }
}

/// A walk as rows of pieces. A piece is contiguous both in the source and in the destination.
struct StoreRows<'a> {
    walk: &'a Walk,
    /// The size of a piece in bytes.
    piece: usize,
    /// The pieces of a row.
    row: PairAxis,
    /// The rows of a block, which is written in one call. A block has several rows only if they are contiguous in the
    /// destination.
    block: PairAxis,
    /// The dimensions that number the blocks, outermost first.
    outer: &'a [Dim],
    store: StoreLoop,
}

impl<'a> StoreRows<'a> {
    fn of(walk: &'a Walk) -> Self {
        let unit = walk.unit;
        let contiguous = walk.contiguous();
        let piece = contiguous * unit;
        let inner = match contiguous {
            1 => &walk.dims[..],
            _ => &walk.dims[..walk.dims.len() - 1],
        };
        let (row, outer) = match inner.split_last() {
            Some((row, outer)) if row.size > 1 => (PairAxis::of(unit, row), outer),
            _ => (PairAxis::single(piece), &[][..]),
        };
        let store = if row.to == piece && row.from == 0 {
            StoreLoop::Repeat
        } else if row.to == piece {
            StoreLoop::Contiguous(Kernel::of(piece, row.source()))
        } else if strided_store::supports(piece, row.size, row.to) {
            StoreLoop::Strided
        } else {
            StoreLoop::Each
        };
        let (block, outer) = match (store, outer.split_last()) {
            (StoreLoop::Contiguous(_), Some((block, outer)))
                if block.to.cast_unsigned() * unit == row.size * piece =>
            {
                (PairAxis::of(unit, block), outer)
            }
            _ => (PairAxis::single(row.size * piece), outer),
        };
        Self {
            walk,
            piece,
            row,
            block,
            outer,
            store,
        }
    }

    /// Calls `each` for every block, in ascending order of destinations, with the byte of the source and the byte of
    /// the destination where the block begins.
    fn walk(&self, mut each: impl FnMut(usize, usize)) {
        let Walk { unit, from, to, .. } = *self.walk;
        let (from, to) = (from.cast_unsigned(), to.cast_unsigned());
        visit(self.outer, from, to, &mut |from, to| {
            each(from * unit, to * unit);
        });
    }
}

/// Calls `each` with the source unit and the destination unit at every position of `dims`, in order. `from` and `to`
/// are the units at the first position.
fn visit(dims: &[Dim], mut from: usize, mut to: usize, each: &mut impl FnMut(usize, usize)) {
    match dims.split_first() {
        None => each(from, to),
        Some((outer, inner)) => {
            for _ in 0..outer.size {
                visit(inner, from, to, each);
                // After the last position, the sums may lie outside of the arrays or wrap. They are then not used.
                from = from.wrapping_add_signed(outer.from);
                to = to.wrapping_add_signed(outer.to);
            }
        }
    }
}

/// Writes `rows` to `dest`, the part of the destination that begins at byte `base`.
struct Store<'a, const ZEROS: bool> {
    rows: &'a StoreRows<'a>,
    source: &'a [u8],
    base: usize,
    dest: &'a mut [u8],
    /// With `ZEROS`, the number of bytes at the beginning of `dest` that already hold zeros or pieces. Otherwise
    /// unused.
    written: usize,
}

impl<const ZEROS: bool> Store<'_, ZEROS> {
    fn run(mut self) {
        let StoreRows {
            piece, row, block, ..
        } = *self.rows;
        let source = self.source;
        match self.rows.store {
            StoreLoop::Repeat => self.rows.walk(|from, to| {
                repeat(&source[from..][..piece], self.all(to, row.size * piece));
            }),
            StoreLoop::Contiguous(kernel) => self.rows.walk(|from, to| {
                let dest = self.all(to, block.size * row.size * piece);
                kernel.rows(source, from, row.source(), block.from, dest);
            }),
            StoreLoop::Strided => self.rows.walk(|from, to| {
                staged(source, from, piece, row, |first, units| {
                    let length = (units.len() / piece - 1) * row.to + piece;
                    let dest = self.all(to + first * row.to, length);
                    strided_store::store::<ZEROS>(piece, row.to, units, dest);
                });
            }),
            StoreLoop::Each => return with_copy_kernel(piece, self),
        }
        self.finish();
    }

    /// Returns the `length` bytes from byte `at` of the destination, all of which the caller must write. With `ZEROS`
    /// the gap before these bytes becomes zero.
    #[inline(always)]
    fn all(&mut self, at: usize, length: usize) -> &mut [u8] {
        let at = at - self.base;
        if ZEROS {
            self.dest[self.written..at].fill(0);
            self.written = at + length;
        }
        &mut self.dest[at..][..length]
    }

    /// Returns the `length` bytes from byte `at` of the destination. The caller need not write all of them. With
    /// `ZEROS` these bytes and the gap before them are zero, except where earlier pieces were written.
    #[inline(always)]
    fn some(&mut self, at: usize, length: usize) -> &mut [u8] {
        let at = at - self.base;
        let end = at + length;
        if ZEROS && end > self.written {
            let end = end.max(self.written + FILL).min(self.dest.len());
            self.dest[self.written..end].fill(0);
            self.written = end;
        }
        &mut self.dest[at..end]
    }

    fn finish(self) {
        if ZEROS {
            self.dest[self.written..].fill(0);
        }
    }
}

/// Writes each piece by itself.
impl<const ZEROS: bool> CopyTask for Store<'_, ZEROS> {
    fn run(mut self, kernel: impl CopyKernel) {
        let StoreRows { piece, row, .. } = *self.rows;
        let source = self.source;
        let short = piece <= FIXED_MAX;
        // The number of pieces for one call of `some` or `all`. With `ZEROS`, short pieces are written into about
        // `FILL` bytes that `some` has set to zero, and a long piece is written by itself, after `all` has set the gap
        // before it to zero.
        let group = match (ZEROS, short) {
            (false, _) => row.size,
            (true, true) => (FILL / row.to).clamp(1, row.size),
            (true, false) => 1,
        };
        self.rows.walk(|mut from, mut to| {
            let mut left = row.size;
            while left > 0 {
                let count = group.min(left);
                let length = (count - 1) * row.to + piece;
                let dest = match short {
                    true => self.some(to, length),
                    false => self.all(to, length),
                };
                for number in 0..count {
                    kernel
                        .copy(source, from, &mut dest[number * row.to..][..kernel.bytes()])
                        .expect("a plan's pieces lie within its source");
                    from = from.wrapping_add_signed(row.from);
                }
                to += count * row.to;
                left -= count;
            }
        });
        self.finish();
    }
}

/// Calls `each` with the units of a row in order, one or more at a time. A call gets the number of its first unit,
/// counted from the beginning of the row, and the contiguous bytes of its units. The row begins at byte `from` of the
/// source. If its units are contiguous there, one call gets all of them. Otherwise they are copied to a buffer, at most
/// [`STAGE`] bytes at a time.
fn staged(
    source: &[u8],
    from: usize,
    unit: usize,
    row: PairAxis,
    mut each: impl FnMut(usize, &[u8]),
) {
    let (count, stride) = (row.size, row.from);
    if stride == unit.cast_signed() {
        return each(0, &source[from..][..count * unit]);
    }
    let mut stage = [0; STAGE];
    let most = STAGE / unit;
    for first in (0..count).step_by(most) {
        let size = most.min(count - first);
        let units = &mut stage[..size * unit];
        if stride != 0 {
            let axis = Axis { size, stride };
            let from = along(from, stride, first);
            Kernel::of(unit, axis).rows(source, from, axis, 0, units);
        } else if first == 0 {
            repeat(&source[from..][..unit], units);
        }
        each(first, units);
    }
}

fn repeat(piece: &[u8], dest: &mut [u8]) {
    if let &[byte] = piece {
        return dest.fill(byte);
    }
    let (first, _) = dest.split_at_mut(piece.len());
    first.copy_from_slice(piece);
    let mut done = piece.len();
    while done < dest.len() {
        let more = done.min(dest.len() - done);
        dest.copy_within(..more, done);
        done += more;
    }
}
