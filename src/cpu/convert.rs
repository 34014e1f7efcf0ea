//! Runs plans that convert: finds which element of the source each element of the result is made of, line by line, and
//! converts it.
//!
//! A block has all elements of the one or two innermost dimensions; the walk is looked up once for it. A line is elements at
//! constant distances in source and result that share a table. Where neighbours take different tables in turn, as channels
//! that come last do, the elements of each table are a line.

#![expect(
    clippy::cast_possible_truncation,
    reason = "bits of elements lie at the low end of a word"
)]

use super::{
    Dest,
    locate::{Clip, Located, Locator, NOWHERE, step},
    rows::along,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{
    DType,
    moves::Move,
    number::{bits_of, f32_of},
    ops::{
        convert::{Converted, ENTRIES, Scale, Table},
        index::Index,
    },
    report::Missing,
    walk::{Dim, Walk},
    wide::{Number as _, Reader, Rounding, Wide, reader, writer},
};

/// The largest block, in elements.
const LARGEST: usize = 1 << 18;

/// A block walks its longer dimension in lines if the shorter one has fewer positions than this.
const SHORT_SIDE: usize = 16;

/// The maximum of `turns` in `by_table`, the number of elements after which the tables repeat.
const TURNS: usize = 16;
/// The maximum number of elements in a block of `by_table`'s lines, which stays in the cache.
const AT_ONCE: usize = 4096;

/// The numbers that are between two types at once.
const STAGE: usize = 256;

/// Writes the result of a plan that converts. Returns how many tuples are out of range, and the first of them.
pub(super) fn run<I: Index>(
    plan: &Move,
    walk: &Walk,
    conversion: &Converted,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let nest = Nest::new(plan, walk, conversion, source);
    let outer = walk.dims.len() - nest.dims;
    let locator = Locator::new(walk, plan.policy(), indices, outer);
    let threads = threads.worth(dest.len(), walk.units());
    // A part may begin within a block of one dimension.
    let [rows, _] = nest.axes;
    let grain = if rows.size > 1 { nest.block } else { 1 };
    threads::spread_counting(dest, grain * nest.bytes, threads, |first, dest| {
        let mut missing = Missing::default();
        dest.each(grain * nest.bytes, &mut |at, dest| {
            let first = (first + at) / nest.bytes;
            missing = missing.and(nest.write(&locator, first, dest));
        });
        missing
    })
}

pub(super) fn explain(plan: &Move, threads: Threads) -> String {
    let units = plan.walk().map_or(0, Walk::units);
    let how = match plan.conversion.as_ref().map(|conversion| &conversion.table) {
        Some(Some(_)) => "converted by tables",
        _ => "converted one by one",
    };
    threads::explain(threads.worth(plan.result_bytes(), units), how)
}

/// `count` elements, `step` apart in the source from element `from` on, and `apart` apart in the result.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: usize,
    step: isize,
    apart: usize,
    count: usize,
}

/// Converts the elements of a line of the source into the result, which begins with the first of them.
type Convert<'a> = Box<dyn Fn(&[u8], Line, &mut [u8]) + Sync + 'a>;

fn line_of(conversion: &Converted, to: DType) -> Convert<'_> {
    let Converted {
        from,
        table,
        scale,
        rule,
    } = conversion;
    match (table, scale) {
        (Some(table), _) => match (to, to.size()) {
            (DType::I64, _) => by_table(table, |entry| {
                i64::of_float::<false>(f32::from_bits(entry).into()).to_ne_bytes()
            }),
            (DType::U64, _) => by_table(table, |entry| {
                u64::of_float::<false>(f32::from_bits(entry).into()).to_ne_bytes()
            }),
            (DType::F64, _) => by_table(table, |entry| {
                let sign = u64::from(entry >> 31) << 63;
                let size = f64::from(f32::from_bits(entry & 0x7fff_ffff));
                f64::of_float::<false>(f64::from_bits(size.to_bits() & !(1 << 63) | sign))
                    .to_ne_bytes()
            }),
            (_, 1) => by_table(table, |entry| [entry as u8]),
            (_, 2) => by_table(table, |entry| (entry as u16).to_ne_bytes()),
            _ => by_table(table, u32::to_ne_bytes),
        },
        (None, Some(scale)) => scaled(*from, scale, to),
        (None, None) if *rule == Rounding::Nearest => {
            by_f32(*from, to).unwrap_or_else(|| staged(*from, *rule, to))
        }
        (None, None) => staged(*from, *rule, to),
    }
}

/// The shorter way through `f32`, if there is one.
fn by_f32(from: DType, to: DType) -> Option<Convert<'static>> {
    macro_rules! by {
        ($bytes:literal $read:ident: $($from:ident)*) => {
            match (from, to) {
                $((DType::$from, DType::U8) => by!($bytes $read $from 1 u8 U8),
                (DType::$from, DType::I8) => by!($bytes $read $from 1 u8 I8),
                (DType::$from, DType::U16) => by!($bytes $read $from 2 u16 U16),
                (DType::$from, DType::I16) => by!($bytes $read $from 2 u16 I16),
                (DType::$from, DType::F16) => by!($bytes $read $from 2 u16 F16),
                (DType::$from, DType::BF16) => by!($bytes $read $from 2 u16 BF16),
                (DType::$from, DType::F32) => by!($bytes $read $from 4 u32 F32),)*
                _ => return None,
            }
        };
        ($bytes:literal $read:ident $from:ident $of_result:literal $write:ident $to:ident) => {
            Box::new(|source, line, dest| {
                convert::<$bytes, $of_result>(source, line, dest, |bits| {
                    let value = f32_of(DType::$from, $read::from_ne_bytes(bits).into());
                    (bits_of(DType::$to, value) as $write).to_ne_bytes()
                });
            })
        };
    }
    Some(match from.size() {
        2 => by!(2 u16: U16 I16 F16 BF16),
        _ => by!(4 u32: F32),
    })
}

/// Converts the elements of a line through a wide type.
fn staged(from: DType, rule: Rounding, to: DType) -> Convert<'static> {
    fn staged_as<W: Wide + 'static>(
        read: fn(&[u8], usize, isize, &mut [W]),
        to: DType,
        rule: Rounding,
    ) -> Convert<'static> {
        let write = writer::<W>(to, rule);
        Box::new(move |source, line, dest| {
            in_stages(
                source,
                line,
                dest,
                to.size(),
                |source, from, step, stage| {
                    read(source, from, step, stage);
                },
                write,
            );
        })
    }
    match reader(from) {
        Reader::Signed(read) => staged_as(read, to, rule),
        Reader::Unsigned(read) => staged_as(read, to, rule),
        Reader::Float(read) => staged_as(read, to, rule),
    }
}

/// Converts the elements of a line by scale and bias.
fn scaled(from: DType, scale: &Scale, to: DType) -> Convert<'_> {
    let (reader, write) = (reader(from), writer::<f64>(to, Rounding::Nearest));
    // Their numbers are `f32` numbers.
    let is_single = from.size() < 4 || from == DType::F32;
    let period = scale.inner * scale.positions;
    let read = move |source: &[u8], from: usize, step: isize, stage: &mut [f64]| {
        read_floats(&reader, source, from, step, stage);
        let advance = step.rem_euclid(period.cast_signed()).cast_unsigned();
        let mut at = from % period;
        for x in stage {
            let position = if scale.inner == 1 {
                at
            } else {
                at / scale.inner
            };
            let [factor, term] = scale.entries[position].map(f32::from_bits);
            *x = match is_single {
                true => (*x as f32 * factor + term).into(),
                false => *x * f64::from(factor) + f64::from(term),
            };
            at += advance;
            at -= if at >= period { period } else { 0 };
        }
    };
    Box::new(move |source, line, dest| in_stages(source, line, dest, to.size(), read, write))
}

/// Reads elements of any type as `f64`: integers of 64 bits as the nearest.
fn read_floats(reader: &Reader, source: &[u8], from: usize, step: isize, stage: &mut [f64]) {
    fn through<W: Copy + Default>(
        read: fn(&[u8], usize, isize, &mut [W]),
        (source, from, step): (&[u8], usize, isize),
        stage: &mut [f64],
        float: impl Fn(W) -> f64,
    ) {
        let mut integers = [W::default(); STAGE];
        let integers = &mut integers[..stage.len()];
        read(source, from, step, integers);
        for (x, &integer) in stage.iter_mut().zip(&*integers) {
            *x = float(integer);
        }
    }
    let of = (source, from, step);
    match *reader {
        Reader::Signed(read) => through(read, of, stage, f64::of_signed::<false>),
        Reader::Unsigned(read) => through(read, of, stage, f64::of_unsigned::<false>),
        Reader::Float(read) => read(source, from, step, stage),
    }
}

/// Reads the elements of a line, and writes them as elements of `size` bytes, some at a time.
fn in_stages<W: Copy + Default>(
    source: &[u8],
    line: Line,
    dest: &mut [u8],
    size: usize,
    read: impl Fn(&[u8], usize, isize, &mut [W]),
    write: fn(&[W], usize, &mut [u8]),
) {
    let mut stage = [W::default(); STAGE];
    for first in (0..line.count).step_by(STAGE) {
        let stage = &mut stage[..(line.count - first).min(STAGE)];
        read(source, along(line.from, line.step, first), line.step, stage);
        let begin = first * line.apart;
        let end = begin + (stage.len() - 1) * line.apart + 1;
        write(stage, line.apart, &mut dest[begin * size..end * size]);
    }
}

/// Converts the elements of a line by their tables.
fn by_table<const N: usize>(
    table: &Table,
    entry: impl Fn(u32) -> [u8; N] + Copy + Sync + 'static,
) -> Convert<'_> {
    let (tables, _) = table.entries.as_chunks::<ENTRIES>();
    let period = table.period();
    Box::new(move |source, line, dest| {
        let Line {
            from,
            step,
            apart,
            count,
        } = line;
        let distance = step.unsigned_abs();
        let entries = |from: usize| &tables[from / table.inner % table.positions];
        let last = along(from, step, count - 1);
        if distance.is_multiple_of(period) || from / table.inner == last / table.inner {
            let entries = entries(from);
            return convert::<1, N>(source, line, dest, |[byte]| {
                entry(entries[usize::from(byte)])
            });
        }
        // `turns`: the number of elements after which the tables repeat; elements `turns` apart share a table and are
        // converted as one line. `at_once`: the number of elements converted before the next block, so that a block
        // stays in the cache. In all other cases every element is converted alone.
        let (turns, at_once) = match period / distance {
            turns @ 1..=TURNS if period.is_multiple_of(distance) => {
                (turns, AT_ONCE / turns * turns)
            }
            _ => (count, count),
        };
        for begin in (0..count).step_by(at_once) {
            let end = count.min(begin + at_once);
            for first in begin..end.min(begin + turns) {
                let from = along(from, step, first);
                let line = Line {
                    from,
                    step: step.wrapping_mul(turns.cast_signed()),
                    apart: apart * turns,
                    count: (end - first).div_ceil(turns),
                };
                let entries = entries(from);
                convert::<1, N>(source, line, &mut dest[first * apart * N..], |[byte]| {
                    entry(entries[usize::from(byte)])
                });
            }
        }
    })
}

/// Converts the elements of a line, of `M` bytes in the source and `N` in the result.
#[inline(always)]
fn convert<const M: usize, const N: usize>(
    source: &[u8],
    line: Line,
    dest: &mut [u8],
    element: impl Fn([u8; M]) -> [u8; N],
) {
    let Line {
        from,
        step,
        apart,
        count,
    } = line;
    let (source, _) = source.as_chunks::<M>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    let reach = (count - 1) * step.unsigned_abs();
    let source = match step < 0 {
        true => &source[from - reach..=from],
        false => &source[from..=from + reach],
    };
    let dest = &mut dest[..=(count - 1) * apart];
    // The common distances are known to the compiler.
    match (step, apart) {
        (1, 1) => forward::<1, M, N>(source, dest, element),
        (2, 1) => forward::<2, M, N>(source, dest, element),
        (3, 1) => forward::<3, M, N>(source, dest, element),
        (4, 1) => forward::<4, M, N>(source, dest, element),
        (-1, 1) => backward::<1, M, N>(source, dest, element),
        (-3, 1) => backward::<3, M, N>(source, dest, element),
        (-4, 1) => backward::<4, M, N>(source, dest, element),
        (0, _) => {
            let made = element(source[0]);
            dest.iter_mut().step_by(apart).for_each(|to| *to = made);
        }
        _ => {
            let begin = if step < 0 { reach } else { 0 };
            for n in 0..count {
                let at = begin.wrapping_add_signed(step * n.cast_signed());
                dest[n * apart] = element(source[at]);
            }
        }
    }
}

/// Converts every `S`-th element of the source, from the first to the last.
#[inline(always)]
fn forward<const S: usize, const M: usize, const N: usize>(
    source: &[[u8; M]],
    dest: &mut [[u8; N]],
    element: impl Fn([u8; M]) -> [u8; N],
) {
    let (whole, rest) = source.as_chunks::<S>();
    for (to, from) in dest.iter_mut().zip(whole) {
        *to = element(from[0]);
    }
    if let [from, ..] = rest {
        dest[whole.len()] = element(*from);
    }
}

/// Converts every `S`-th element of the source, from the last to the first.
#[inline(always)]
fn backward<const S: usize, const M: usize, const N: usize>(
    source: &[[u8; M]],
    dest: &mut [[u8; N]],
    element: impl Fn([u8; M]) -> [u8; N],
) {
    let (rest, whole) = source.as_rchunks::<S>();
    for (to, from) in dest.iter_mut().zip(whole.iter().rev()) {
        *to = element(from[S - 1]);
    }
    if let [.., from] = rest {
        dest[whole.len()] = element(*from);
    }
}

/// One of the innermost dimensions, in one block.
#[derive(Clone, Copy, Debug)]
struct Extent {
    size: usize,
    /// The distance between neighbours in the source.
    step: isize,
    /// The positions that have a source.
    low: usize,
    high: usize,
}

struct Nest<'a> {
    walk: &'a Walk,
    source: &'a [u8],
    line: Convert<'a>,
    /// The size in bytes of an element of the source, and of one of the result.
    unit: usize,
    bytes: usize,
    /// How many dimensions are within a block, rows and columns, and these.
    dims: usize,
    axes: [Extent; 2],
    /// The elements of a block.
    block: usize,
}

impl<'a> Nest<'a> {
    fn new(plan: &Move, walk: &'a Walk, conversion: &'a Converted, source: &'a [u8]) -> Self {
        let mut axes = [Extent {
            size: 1,
            step: 0,
            low: 0,
            high: 1,
        }; 2];
        let (mut dims, mut block) = (0, 1);
        let inner = walk.dims.iter().rev().take_while(|dim| dim.tuple == 0);
        for (axis, &Dim { size, from, .. }) in axes.iter_mut().rev().zip(inner) {
            if dims > 0 && block * size > LARGEST {
                break;
            }
            *axis = Extent {
                size,
                step: from,
                low: 0,
                high: size,
            };
            (dims, block) = (dims + 1, block * size);
        }
        Self {
            walk,
            source,
            line: line_of(conversion, plan.dtype()),
            unit: walk.unit,
            bytes: plan.dtype().size(),
            dims,
            axes,
            block,
        }
    }

    /// Writes the elements of the result from number `first` on, and counts the tuples that are out of range.
    fn write<I: Index>(
        &self,
        locator: &Locator<'_, I>,
        first: usize,
        mut dest: &mut [u8],
    ) -> Missing {
        let mut missing = Missing::default();
        let (mut number, mut begin) = (first / self.block, first % self.block);
        let counted = first.div_ceil(self.block);
        let mut found = Located::default();
        while !dest.is_empty() {
            let count = (begin + dest.len() / self.bytes)
                .div_ceil(self.block)
                .min(AT_ONCE / 4);
            locator.find((number, count), counted, &mut found, &mut missing);
            for (n, &place) in found.places.iter().enumerate() {
                let count = (self.block - begin).min(dest.len() / self.bytes);
                let part;
                (part, dest) = dest.split_at_mut(count * self.bytes);
                let clips = found
                    .boxes
                    .get(n)
                    .map_or(&[][..], |&(_, clip)| match place {
                        NOWHERE => &[],
                        _ => locator.clips(&found, clip),
                    });
                match place {
                    NOWHERE => part.fill(0),
                    _ => self.write_block(place / self.unit, self.clipped(clips), begin, part),
                }
                begin = 0;
            }
            number += count;
        }
        missing
    }

    /// The dimensions of a block whose boxes are clipped like this.
    fn clipped(&self, clips: &[Clip]) -> [Extent; 2] {
        let mut axes = self.axes;
        let cropped = self.walk.coordinates.iter().rev().zip(clips.iter().rev());
        for (coordinate, clip) in cropped {
            let d = coordinate.along.map_or(0, |along| along.dim) + 2 - self.walk.dims.len();
            (axes[d].low, axes[d].high) = (clip.from, clip.to);
            axes[d].step = step(coordinate, clip);
        }
        axes
    }

    /// Writes the elements of a block from number `begin` on; zeros where they have no source. `from` is the first that has
    /// one.
    fn write_block(
        &self,
        from: usize,
        [rows, columns]: [Extent; 2],
        begin: usize,
        dest: &mut [u8],
    ) {
        let bytes = self.bytes;
        if columns.size < SHORT_SIDE && columns.size < rows.size {
            if [rows, columns]
                .iter()
                .any(|axis| axis.high - axis.low < axis.size)
            {
                dest.fill(0);
            }
            for column in columns.low..columns.high {
                let down = Line {
                    from: along(from, columns.step, column - columns.low),
                    step: rows.step,
                    apart: columns.size,
                    count: rows.high - rows.low,
                };
                let first = rows.low * columns.size + column;
                (self.line)(self.source, down, &mut dest[first * bytes..]);
            }
            return;
        }
        for (row, dest) in dest.chunks_mut(columns.size * bytes).enumerate() {
            let end = begin + dest.len() / bytes;
            let (low, high) = (
                columns.low.clamp(begin, end),
                columns.high.clamp(begin, end),
            );
            if row < rows.low || row >= rows.high || low >= high {
                dest.fill(0);
                continue;
            }
            dest[..(low - begin) * bytes].fill(0);
            dest[(high - begin) * bytes..].fill(0);
            let from = along(from, rows.step, row - rows.low);
            let line = Line {
                from: along(from, columns.step, low - columns.low),
                step: columns.step,
                apart: 1,
                count: high - low,
            };
            (self.line)(self.source, line, &mut dest[(low - begin) * bytes..]);
        }
    }
}
