//! What is written into places of the destination: pieces from the source, and for a gradient zeros
//! between them.
//!
//! Pairs come in the ascending order of their destinations. So one walk writes both what is placed and
//! what lies between, and halves of the pairs write into parts of the destination that are split from
//! each other, a thread each.

use super::{
    kernel::Kernel,
    mover::{Mover, SHORT, Task, with_mover},
    threads,
};
use crate::pairs::{PairAxis, Pairs, walk};

/// Bytes that are filled with zeros before short pieces are placed among them: less than a cache of
/// the first level, and long enough for `memset`.
const FILL: usize = 4 << 10;

/// Writes pairs, and nothing else of the destination.
pub(super) fn update(pairs: &Pairs, source: &[u8], dest: &mut [u8]) {
    let bytes = pairs.units() * pairs.unit;
    run(pairs, source, dest, false, threads(pairs, bytes));
}

/// Writes pairs, and zeros everywhere else.
pub(super) fn grad(pairs: Option<&Pairs>, source: &[u8], dest: &mut [u8]) {
    match pairs {
        None => dest.fill(0),
        Some(pairs) => run(pairs, source, dest, true, threads(pairs, dest.len())),
    }
}

/// How many threads write so many bytes.
pub(super) fn threads(pairs: &Pairs, bytes: usize) -> usize {
    let pieces = pairs.units() * pairs.unit / Pieces::of(pairs).bytes;
    threads::worth(bytes, pieces)
}

/// The loop that places them.
pub(super) fn kernel(pairs: &Pairs) -> Kernel {
    Kernel::of_piece(Pieces::of(pairs).bytes)
}

fn run(pairs: &Pairs, source: &[u8], dest: &mut [u8], fill: bool, threads: usize) {
    let mut parts = vec![(pairs.clone(), 0, dest)];
    while parts.len() < threads::parts(threads) && parts.iter().any(|part| part.0.units() > 1) {
        parts = parts.into_iter().flat_map(halves).collect();
    }
    threads::share(parts.into_iter(), threads, |(pairs, base, dest)| {
        let pieces = Pieces::of(&pairs);
        let place = Place {
            pieces: &pieces,
            pairs: &pairs,
            source,
            base,
            dest,
        };
        if fill {
            with_mover(pieces.bytes, Filling(place));
        } else {
            with_mover(pieces.bytes, place);
        }
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
struct Pieces<'a> {
    /// Bytes of a piece.
    bytes: usize,
    /// The pieces of a row, in units.
    row: PairAxis,
    /// The axes of the rows.
    outer: &'a [PairAxis],
}

impl<'a> Pieces<'a> {
    fn of(pairs: &'a Pairs) -> Self {
        let (run, outer) = pairs.run();
        if (run.from, run.to) != (1, 1) {
            return Self {
                bytes: pairs.unit,
                row: run,
                outer,
            };
        }
        let bytes = run.size * pairs.unit;
        let single = PairAxis { size: 1, ..run };
        match outer.split_last() {
            Some((&row, outer)) => Self { bytes, row, outer },
            None => Self {
                bytes,
                row: single,
                outer,
            },
        }
    }
}

/// Pieces placed into a part of the destination, which begins at byte `base`.
struct Place<'a> {
    pieces: &'a Pieces<'a>,
    pairs: &'a Pairs,
    source: &'a [u8],
    base: usize,
    dest: &'a mut [u8],
}

impl Task for Place<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        let Self {
            pieces,
            pairs,
            source,
            base,
            dest,
        } = self;
        let (bytes, unit, row) = (pieces.bytes, pairs.unit, pieces.row);
        let same = row.from == 0 && row.to * unit == bytes;
        walk(pieces.outer, pairs.from, pairs.to, &mut |from, to| {
            let row_dest = &mut dest[to * unit - base..];
            if same {
                let piece = &source[from * unit..][..bytes];
                repeat(piece, &mut row_dest[..row.size * bytes]);
            } else {
                place(mover, source, from * unit, row, unit, 0..row.size, row_dest);
            }
        });
    }
}

/// [`Place`], and zeros between and around the pieces.
struct Filling<'a>(Place<'a>);

impl Task for Filling<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        let Place {
            pieces,
            pairs,
            source,
            base,
            dest,
        } = self.0;
        let (bytes, unit, row) = (pieces.bytes, pairs.unit, pieces.row);
        let pitch = row.to * unit;
        // Short gaps are filled many at a time, before the pieces are placed.
        let group = match bytes < SHORT {
            true => (FILL / pitch).clamp(1, row.size),
            false => 1,
        };
        let mut written = 0;
        walk(pieces.outer, pairs.from, pairs.to, &mut |from, to| {
            let at = to * unit - base;
            for first in (0..row.size).step_by(group) {
                let last = (first + group).min(row.size);
                let (begin, end) = (at + first * pitch, at + (last - 1) * pitch + bytes);
                let filled = if group == 1 { begin } else { end };
                dest[written..filled].fill(0);
                let pieces = first..last;
                place(
                    mover,
                    source,
                    from * unit,
                    row,
                    unit,
                    pieces,
                    &mut dest[at..],
                );
                written = end;
            }
        });
        dest[written..].fill(0);
    }
}

/// Places some pieces of a row, which begins at byte `from` of the source and at the beginning of
/// `dest`.
#[inline(always)]
fn place<M: Mover>(
    mover: M,
    source: &[u8],
    from: usize,
    row: PairAxis,
    unit: usize,
    pieces: std::ops::Range<usize>,
    dest: &mut [u8],
) {
    let stride = row.from.wrapping_mul(unit.cast_signed());
    let pitch = row.to * unit;
    let mut from = from.wrapping_add_signed(stride.wrapping_mul(pieces.start.cast_signed()));
    for piece in pieces {
        mover
            .copy(source, from, &mut dest[piece * pitch..][..mover.bytes()])
            .expect("a plan's pieces lie within its source");
        from = from.wrapping_add_signed(stride);
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
