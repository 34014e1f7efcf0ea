//! Runs plans that convert: finds which element of the source each element of the result is made of, line by line, and
//! converts it.
//!
//! A block is what the one or two innermost dimensions number; the walk is looked up once for it. A line is elements at
//! constant distances in source and result that share a table. Where neighbours take different tables in turn, as channels
//! that come last do, the elements of each table are a line.

#![expect(
    clippy::cast_possible_truncation,
    reason = "bits of elements lie at the low end of a word"
)]

use super::{
    Dest, crop,
    threads::{self, Threads},
};
use crate::{
    DType, Plan,
    number::{bits_of, f32_of},
    ops::{
        convert::{Converted, ENTRIES, Table},
        index::{Index, Policy},
    },
    report::Missing,
    walk::{Dim, Walk},
};

/// The largest block, in elements.
const LARGEST: usize = 1 << 18;

/// A block walks its longer dimension in lines if the shorter one has fewer positions than this.
const SHORT: usize = 16;

/// The most tables that neighbours take in turn for each to have a line of its own, and the elements of the result that are
/// made of such lines at once, while they stay in the cache.
const TURNS: usize = 16;
const AT_ONCE: usize = 4096;

/// Writes the result of a plan that converts. Returns how many tuples are out of range, and the first of them.
pub(super) fn run<I: Index>(
    plan: &Plan,
    walk: &Walk,
    conversion: &Converted,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let nest = Nest::new(plan, walk, indices);
    let line = line_of(conversion, plan.dtype());
    let bytes = plan.dtype().size();
    // A part may begin within a block of one dimension.
    let grain = if nest.inner == 2 { nest.block } else { 1 };
    let threads = threads.worth(dest.len(), walk.units());
    threads::spread(dest, grain * bytes, threads, |first, dest| {
        nest.write(first / bytes, bytes, dest, &|line_at, dest| {
            line(source, line_at, dest);
        });
    });
    nest.missing(plan)
}

pub(super) fn explain(plan: &Plan, threads: Threads) -> String {
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

impl Line {
    /// The line's elements from number `first` on, each `every` of them.
    fn each(self, first: usize, every: usize) -> Self {
        Self {
            from: self
                .from
                .wrapping_add_signed(self.step.wrapping_mul(first.cast_signed())),
            step: self.step.wrapping_mul(every.cast_signed()),
            apart: self.apart * every,
            count: self.count.saturating_sub(first).div_ceil(every),
        }
    }
}

/// Converts the elements of a line of the source into the result, which begins with the first of them.
type Convert<'a> = Box<dyn Fn(&[u8], Line, &mut [u8]) + Sync + 'a>;

fn line_of(conversion: &Converted, to: DType) -> Convert<'_> {
    macro_rules! by {
        ($bytes:literal $read:ident: $($from:ident)*) => {
            match (conversion.from, to) {
                $((DType::$from, DType::U8) => by!($bytes $read $from 1 u8 U8),
                (DType::$from, DType::I8) => by!($bytes $read $from 1 u8 I8),
                (DType::$from, DType::U16) => by!($bytes $read $from 2 u16 U16),
                (DType::$from, DType::I16) => by!($bytes $read $from 2 u16 I16),
                (DType::$from, DType::F16) => by!($bytes $read $from 2 u16 F16),
                (DType::$from, DType::BF16) => by!($bytes $read $from 2 u16 BF16),
                (DType::$from, _) => by!($bytes $read $from 4 u32 F32),)*
                _ => unreachable!("plans convert these types only"),
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
    match &conversion.table {
        Some(table) => match to.size() {
            1 => Box::new(|source, line, dest| by_table(table, source, line, dest, |e| [e as u8])),
            2 => Box::new(|source, line, dest| {
                by_table(table, source, line, dest, |e| (e as u16).to_ne_bytes());
            }),
            _ => Box::new(|source, line, dest| {
                by_table(table, source, line, dest, u32::to_ne_bytes);
            }),
        },
        None if conversion.from.size() == 2 => by!(2 u16: U16 I16 F16 BF16),
        None => by!(4 u32: F32),
    }
}

/// Converts the elements of a line by their tables.
fn by_table<const N: usize>(
    table: &Table,
    source: &[u8],
    line: Line,
    dest: &mut [u8],
    entry: impl Fn(u32) -> [u8; N] + Copy,
) {
    let (tables, _) = table.entries.as_chunks::<ENTRIES>();
    let of = |from: usize| &tables[from / table.inner % table.positions];
    let Line {
        from, step, count, ..
    } = line;
    let period = table.period();
    let distance = step.unsigned_abs();
    let last = from.wrapping_add_signed(step.wrapping_mul(count.cast_signed() - 1));
    if distance.is_multiple_of(period) || from / table.inner == last / table.inner {
        let entries = of(from);
        return convert::<1, N>(source, line, dest, |[byte]| {
            entry(entries[usize::from(byte)])
        });
    }
    let turns = period / distance.max(1);
    if !period.is_multiple_of(distance) || turns > TURNS {
        for n in 0..count {
            let one = Line {
                count: 1,
                ..line.each(n, 1)
            };
            let entries = of(one.from);
            let dest = &mut dest[n * line.apart * N..];
            convert::<1, N>(source, one, dest, |[byte]| {
                entry(entries[usize::from(byte)])
            });
        }
        return;
    }
    let at_once = AT_ONCE / turns * turns;
    for begin in (0..count).step_by(at_once) {
        let some = Line {
            count: at_once.min(count - begin),
            ..line.each(begin, 1)
        };
        for turn in 0..turns.min(some.count) {
            let entries = of(some.each(turn, turns).from);
            let dest = &mut dest[(begin + turn) * line.apart * N..];
            convert::<1, N>(source, some.each(turn, turns), dest, |[byte]| {
                entry(entries[usize::from(byte)])
            });
        }
    }
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
struct Axis {
    size: usize,
    /// The distance between neighbours in the source.
    step: isize,
    /// The positions that have a source.
    low: usize,
    high: usize,
}

struct Nest<'a, I> {
    walk: &'a Walk,
    policy: Policy,
    indices: &'a [I],
    /// The dimensions that number blocks, and the number of those inside.
    outer: &'a [Dim],
    inner: usize,
    /// The elements of a block.
    block: usize,
}

impl<'a, I: Index> Nest<'a, I> {
    fn new(plan: &Plan, walk: &'a Walk, indices: &'a [I]) -> Self {
        let mut inner = 0;
        let mut block = 1;
        for dim in walk.dims.iter().rev().take(2) {
            if dim.tuple > 0 || inner == 1 && block * dim.size > LARGEST {
                break;
            }
            inner += 1;
            block *= dim.size;
        }
        Self {
            walk,
            policy: plan.policy(),
            indices,
            outer: &walk.dims[..walk.dims.len() - inner],
            inner,
            block,
        }
    }

    /// Writes the elements of the result from number `first` on, of `bytes` bytes each.
    fn write(
        &self,
        mut first: usize,
        bytes: usize,
        mut dest: &mut [u8],
        line: &impl Fn(Line, &mut [u8]),
    ) {
        while !dest.is_empty() {
            let (number, begin) = (first / self.block, first % self.block);
            let count = (self.block - begin).min(dest.len() / bytes);
            let (part, rest) = dest.split_at_mut(count * bytes);
            (first, dest) = (first + count, rest);
            match self.locate(number) {
                None => part.fill(0),
                Some((from, [rows, columns])) if rows.size == 1 => {
                    write_line(from, columns, begin, bytes, part, line);
                }
                Some((from, [rows, columns])) => {
                    write_plane(from, rows, columns, bytes, part, line);
                }
            }
        }
    }

    /// The first element of a block that has a source, and its dimensions. `None` if the block has no source.
    fn locate(&self, number: usize) -> Option<(usize, [Axis; 2])> {
        let (mut rest, mut tuple, mut from) = (number, 0, self.walk.from);
        for dim in self.outer.iter().rev() {
            let digit = rest % dim.size;
            rest /= dim.size;
            tuple += digit * dim.tuple;
            from += digit.cast_signed() * dim.from;
        }
        let mut axes = [Axis {
            size: 1,
            step: 0,
            low: 0,
            high: 1,
        }; 2];
        let outer = self.outer.len();
        for (axis, dim) in axes[2 - self.inner..]
            .iter_mut()
            .zip(&self.walk.dims[outer..])
        {
            *axis = Axis {
                size: dim.size,
                step: dim.from,
                low: 0,
                high: dim.size,
            };
        }
        let tuple = self.tuple(tuple);
        for (c, coordinate) in self.walk.coordinates.iter().enumerate() {
            let (part, position) = self.place(c, tuple)?;
            from += position.cast_signed() * coordinate.stride;
            let Some(along) = coordinate.along else {
                continue;
            };
            // A step to the only element inside, which may be larger than x, is not used.
            let step = match part.flipped {
                true => along.step.wrapping_neg(),
                false => along.step,
            };
            let step = step.wrapping_mul(coordinate.stride);
            if along.dim >= outer {
                let axis = &mut axes[2 - self.inner + along.dim - outer];
                (axis.step, axis.low, axis.high) = (step, part.from, part.to);
                continue;
            }
            let digit = self.digit(number, along.dim);
            if digit < part.from || digit >= part.to {
                return None;
            }
            from += (digit - part.from).cast_signed() * step;
        }
        Some((from.cast_unsigned(), axes))
    }

    /// The digit of a block along an outer dimension.
    fn digit(&self, number: usize, d: usize) -> usize {
        let inside = self.outer[d + 1..].iter().map(|dim| dim.size);
        number / inside.product::<usize>() % self.outer[d].size
    }

    fn tuple(&self, number: usize) -> &[I] {
        &self.indices[number * self.walk.columns..][..self.walk.columns]
    }

    /// The part of a coordinate's dimension that a tuple names, and the position of its first element: a single position,
    /// or where a box lies inside. `None` if there is no such position.
    fn place(&self, c: usize, tuple: &[I]) -> Option<(crop::Inside, usize)> {
        let coordinate = &self.walk.coordinates[c];
        let number = crop::number(tuple, coordinate);
        let (wraps, clamps) = (self.policy.wraps(), self.policy.clamps());
        match coordinate.along {
            None => {
                let position = number.within(coordinate.size, wraps, clamps)?;
                let whole = crop::Inside {
                    from: 0,
                    to: 1,
                    flipped: false,
                };
                Some((whole, position))
            }
            Some(along) => {
                let flipped = crop::is_flipped(tuple, along);
                let size = coordinate.size;
                let place = crop::inside(along, number.into(), size, flipped, clamps);
                Some(place).filter(|(part, _)| part.from < part.to)
            }
        }
    }

    /// Counts the tuples that are out of range.
    fn missing(&self, plan: &Plan) -> Missing {
        let mut missing = Missing::default();
        let tuples = plan
            .tuples()
            .map_or(0, |tuples| tuples.shape.iter().product());
        for number in 0..tuples {
            let is_whole = |(c, place): (usize, Option<(crop::Inside, usize)>)| {
                let extent = self.walk.coordinates[c]
                    .along
                    .map_or(1, |along| along.extent);
                place.is_some_and(|(part, _)| part.from == 0 && part.to == extent)
            };
            let tuple = self.tuple(number);
            let mut places = (0..self.walk.coordinates.len()).map(|c| (c, self.place(c, tuple)));
            if !places.all(is_whole) {
                missing.add(number);
            }
        }
        missing
    }
}

/// Writes the positions of an axis from `begin` on, as many as `dest` has; zeros where they have no source. `from` is the
/// element of the first position that has one.
fn write_line(
    from: usize,
    axis: Axis,
    begin: usize,
    bytes: usize,
    dest: &mut [u8],
    line: &impl Fn(Line, &mut [u8]),
) {
    let end = begin + dest.len() / bytes;
    let (low, high) = (axis.low.clamp(begin, end), axis.high.clamp(begin, end));
    if low >= high {
        return dest.fill(0);
    }
    dest[..(low - begin) * bytes].fill(0);
    dest[(high - begin) * bytes..].fill(0);
    let whole = Line {
        from,
        step: axis.step,
        apart: 1,
        count: axis.high - axis.low,
    };
    let part = Line {
        count: high - low,
        ..whole.each(low - axis.low, 1)
    };
    line(part, &mut dest[(low - begin) * bytes..]);
}

/// Writes a block of two dimensions.
fn write_plane(
    from: usize,
    rows: Axis,
    columns: Axis,
    bytes: usize,
    dest: &mut [u8],
    line: &impl Fn(Line, &mut [u8]),
) {
    let whole = rows.low == 0 && rows.high == rows.size;
    let filled = columns.low == 0 && columns.high == columns.size;
    if columns.size < SHORT && columns.size < rows.size {
        if !(whole && filled) {
            dest.fill(0);
        }
        for column in columns.low..columns.high {
            let begin = (column - columns.low).cast_signed() * columns.step;
            let down = Line {
                from: from.wrapping_add_signed(begin),
                step: rows.step,
                apart: columns.size,
                count: rows.high - rows.low,
            };
            line(
                down,
                &mut dest[(rows.low * columns.size + column) * bytes..],
            );
        }
        return;
    }
    for (row, dest) in dest.chunks_exact_mut(columns.size * bytes).enumerate() {
        if row < rows.low || row >= rows.high {
            dest.fill(0);
            continue;
        }
        let begin = (row - rows.low).cast_signed() * rows.step;
        write_line(
            from.wrapping_add_signed(begin),
            columns,
            0,
            bytes,
            dest,
            line,
        );
    }
}
