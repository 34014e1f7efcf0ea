//! What is written into places of the destination: pieces from the source, and for a gradient zeros
//! between them.
//!
//! Pairs come in the ascending order of their destinations. So one walk writes both what is placed and
//! what lies between, and halves of the pairs write into parts of the destination that are split from
//! each other, a thread each.

use super::{
    gaps,
    kernel::Kernel,
    mover::{Mover, SHORT, Task, with_mover},
    threads,
};
use crate::{
    layout::Axis,
    pairs::{PairAxis, Pairs, walk},
};

/// Bytes that are filled with zeros before short pieces are placed among them: less than a cache of
/// the first level, and long enough for `memset`.
const FILL: usize = 4 << 10;

/// Bytes of a row that are put in order before they are laid apart.
const STAGE: usize = 1 << 10;

/// Writes pairs, and nothing else of the destination.
pub(super) fn update(pairs: &Pairs, source: &[u8], dest: &mut [u8]) {
    let bytes = pairs.units() * pairs.unit;
    run::<false>(pairs, source, dest, threads(pairs, bytes));
}

/// Writes pairs, and zeros everywhere else.
pub(super) fn grad(pairs: Option<&Pairs>, source: &[u8], dest: &mut [u8]) {
    match pairs {
        None => dest.fill(0),
        Some(pairs) => run::<true>(pairs, source, dest, threads(pairs, dest.len())),
    }
}

/// How many threads write so many bytes.
pub(super) fn threads(pairs: &Pairs, bytes: usize) -> usize {
    let rows = Rows::of(pairs);
    let pieces = match rows.how {
        How::Each(_) | How::Slice(Kernel::Pieces { .. } | Kernel::Copy { .. }) => {
            pairs.units() * pairs.unit / rows.piece
        }
        How::Repeat { .. } | How::Slice(_) | How::Gaps { .. } => 0,
    };
    threads::worth(bytes, pieces)
}

/// Which loop places the pieces of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// They are one and the same, and lie together in the destination.
    Repeat { bytes: usize },
    /// They lie together in the destination: a row of a slice.
    Slice(Kernel),
    /// Single units a small step apart, many at a time.
    Gaps { unit: usize, pitch: usize },
    /// Each by itself.
    Each(Kernel),
}

impl How {
    pub(super) fn of(pairs: &Pairs) -> Self {
        Rows::of(pairs).how
    }
}

/// Writes pairs, and zeros between and around them if `ZEROS`.
fn run<const ZEROS: bool>(pairs: &Pairs, source: &[u8], dest: &mut [u8], threads: usize) {
    let mut parts = vec![(pairs.clone(), 0, dest)];
    while parts.len() < threads::parts(threads) && parts.iter().any(|part| part.0.units() > 1) {
        parts = parts.into_iter().flat_map(halves).collect();
    }
    threads::share(parts.into_iter(), threads, |(pairs, base, dest)| {
        let place = Place::<ZEROS> {
            rows: &Rows::of(&pairs),
            source,
            base,
            dest,
            written: 0,
        };
        place.run();
    });
}

/// Pairs, the byte where the part of the destination begins that they are written into, and that part.
type Part<'a> = (Pairs, usize, &'a mut [u8]);

fn halves((pairs, base, dest): Part<'_>) -> impl Iterator<Item = Part<'_>> {
    let parts = match pairs.halves() {
        None => [Some((pairs, base, dest)), None],
        Some([head, tail]) => {
            let at = tail.to * tail.unit;
            let (first, second) = dest.split_at_mut(at - base);
            [Some((head, base, first)), Some((tail, at, second))]
        }
    };
    parts.into_iter().flatten()
}

/// Pairs as rows of pieces: bytes that lie together on both sides.
struct Rows<'a> {
    pairs: &'a Pairs,
    /// Bytes of a piece.
    piece: usize,
    /// The pieces of a row, in bytes.
    row: PairAxis,
    /// Rows that lie together in the destination, where the loop takes several, in bytes.
    block: PairAxis,
    /// The axes of the blocks, in units.
    outer: &'a [PairAxis],
    how: How,
}

impl<'a> Rows<'a> {
    fn of(pairs: &'a Pairs) -> Self {
        let unit = pairs.unit;
        let in_bytes = |axis: PairAxis| PairAxis {
            size: axis.size,
            from: axis.from.wrapping_mul(unit.cast_signed()),
            to: axis.to * unit,
        };
        let single = |bytes: usize| PairAxis {
            size: 1,
            from: bytes.cast_signed(),
            to: bytes,
        };
        let (run, outer) = pairs.run();
        let (piece, row, outer) = if (run.from, run.to) == (1, 1) {
            let piece = run.size * unit;
            match outer.split_last() {
                Some((&row, outer)) => (piece, in_bytes(row), outer),
                None => (piece, single(piece), outer),
            }
        } else {
            (unit, in_bytes(run), outer)
        };
        let how = if row.to == piece && row.from == 0 {
            How::Repeat { bytes: piece }
        } else if row.to == piece {
            let (size, stride) = (row.size, row.from);
            How::Slice(Kernel::of(piece, Axis { size, stride }))
        } else if gaps::has(piece, row.size, row.to) {
            let (unit, pitch) = (piece, row.to);
            How::Gaps { unit, pitch }
        } else {
            How::Each(Kernel::of_piece(piece))
        };
        let (block, outer) = match (how, outer.split_last()) {
            (How::Slice(_), Some((&block, outer))) if block.to * unit == row.size * piece => {
                (in_bytes(block), outer)
            }
            _ => (single(row.size * piece), outer),
        };
        Self {
            pairs,
            piece,
            row,
            block,
            outer,
            how,
        }
    }

    /// Calls `each` with the byte where each block begins, in the source and in the destination.
    fn walk(&self, mut each: impl FnMut(usize, usize)) {
        let Pairs { unit, from, to, .. } = *self.pairs;
        walk(self.outer, from, to, &mut |from, to| {
            each(from * unit, to * unit);
        });
    }
}

/// Rows placed into a part of the destination, which begins at byte `base`.
struct Place<'a, const ZEROS: bool> {
    rows: &'a Rows<'a>,
    source: &'a [u8],
    base: usize,
    dest: &'a mut [u8],
    /// How far zeros and pieces have been written, if zeros are.
    written: usize,
}

impl<const ZEROS: bool> Place<'_, ZEROS> {
    fn run(mut self) {
        let Rows {
            piece, row, block, ..
        } = *self.rows;
        let source = self.source;
        match self.rows.how {
            How::Repeat { .. } => self.rows.walk(|from, to| {
                repeat(&source[from..][..piece], self.all(to, row.size * piece));
            }),
            How::Slice(kernel) => {
                let (size, stride) = (row.size, row.from);
                let row = Axis { size, stride };
                self.rows.walk(|from, to| {
                    let dest = self.all(to, block.size * size * piece);
                    kernel.rows(source, from, row, block.from, dest);
                });
            }
            How::Gaps { unit, pitch } => self.rows.walk(|from, to| {
                staged(source, from, unit, row, |first, units| {
                    let length = (units.len() / unit - 1) * pitch + unit;
                    let dest = self.all(to + first * pitch, length);
                    gaps::lay::<ZEROS>(unit, pitch, units, dest);
                });
            }),
            How::Each(_) => return with_mover(piece, self),
        }
        self.finish();
    }

    /// A stretch that is about to be written all over.
    #[inline(always)]
    fn all(&mut self, at: usize, length: usize) -> &mut [u8] {
        let at = at - self.base;
        if ZEROS {
            self.dest[self.written..at].fill(0);
            self.written = at + length;
        }
        &mut self.dest[at..][..length]
    }

    /// A stretch of which some is about to be written.
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

/// Each piece by itself.
impl<const ZEROS: bool> Task for Place<'_, ZEROS> {
    type Outcome = ();

    fn run<M: Mover>(mut self, mover: M) {
        let Rows { piece, row, .. } = *self.rows;
        let source = self.source;
        // Short gaps are filled many at a time, before the pieces are placed.
        let group = match (ZEROS, piece <= SHORT) {
            (false, _) => row.size,
            (true, true) => (FILL / row.to).clamp(1, row.size),
            (true, false) => 1,
        };
        let length = |count: usize| (count - 1) * row.to + piece;
        self.rows.walk(|mut from, mut to| {
            let mut left = row.size;
            while left > group {
                let dest = match piece <= SHORT {
                    true => self.some(to, length(group)),
                    false => self.all(to, length(group)),
                };
                from = place(mover, source, from, row, group, dest);
                to += group * row.to;
                left -= group;
            }
            let dest = match piece <= SHORT {
                true => self.some(to, length(left)),
                false => self.all(to, length(left)),
            };
            place(mover, source, from, row, left, dest);
        });
        self.finish();
    }
}

/// Places `count` pieces of a row from byte `from` of the source on. Where the next one lies.
#[inline(always)]
fn place<M: Mover>(
    mover: M,
    source: &[u8],
    mut from: usize,
    row: PairAxis,
    count: usize,
    dest: &mut [u8],
) -> usize {
    for piece in 0..count {
        mover
            .copy(source, from, &mut dest[piece * row.to..][..mover.bytes()])
            .expect("a plan's pieces lie within its source");
        from = from.wrapping_add_signed(row.from);
    }
    from
}

/// Calls `each` with the units of a row in their order, some at a time, and the number of the first.
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
            let from = from.wrapping_add_signed(stride.wrapping_mul(first.cast_signed()));
            Kernel::of(unit, axis).rows(source, from, axis, 0, units);
        } else if first == 0 {
            repeat(&source[from..][..unit], units);
        }
        each(first, units);
    }
}

/// Fills `dest` with copies of a piece.
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
