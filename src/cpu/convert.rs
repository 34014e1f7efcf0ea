//! Runs plans that convert elements to another type. For each element of the result, these loops find the element of
//! the source, convert it and write it.
//!
//! A block has all elements of the one or two innermost dimensions. The place of a block in the source is computed
//! once. A line is a sequence of elements at a constant distance, both in the source and in the result. If elements of
//! a line have different tables, the line is divided. For example, if the channels of an image come last, each channel
//! of a row becomes a line.

#![expect(
    clippy::cast_possible_truncation,
    reason = "bits of elements are at the low end of a word"
)]

use super::{
    Dest,
    locate::{Clip, Located, Locator, NOWHERE, clipped_step},
    rows::along,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{
    DType,
    moves::Move,
    number::{bits_of, f32_of},
    ops::{
        convert::{PlanConversion, PositionScales, PositionTables, TABLE_ENTRIES},
        index::Index,
    },
    report::Missing,
    walk::{Dim, Walk},
    wide::{ElementReader, Number as _, RoundingRule, WideElement, element_reader, element_writer},
};

/// The maximum number of elements of a block of two dimensions.
const MAX_BLOCK_ELEMENTS: usize = 1 << 18;

/// If the shorter dimension of a block has fewer positions than this, lines extend along the longer dimension.
const SHORT_SIDE: usize = 16;

/// If the tables repeat after at most this many elements, [`table_converter`] converts all elements with the same
/// table as one line.
const MAX_TABLE_CYCLE: usize = 16;
/// [`table_converter`] converts at most this many elements by all of their tables before it continues with the next
/// elements. So the elements stay in the cache from one table to the next.
const CACHED_ELEMENTS: usize = 4096;

/// The number of elements of a stage, an array of a wider type through which elements are converted.
const STAGE_ELEMENTS: usize = 256;

/// Writes the result of a plan that converts. Returns how many tuples are out of range, and the first of them.
pub(super) fn run<I: Index>(
    step_move: &Move,
    walk: &Walk,
    conversion: &PlanConversion,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let loops = ConvertLoops::new(step_move, walk, conversion, source);
    let outer_dims = walk.dims.len() - loops.block_dims;
    let locator = Locator::new(walk, step_move.policy(), indices, outer_dims);
    let threads = threads.count_for(dest.len(), walk.units());
    // If blocks have one dimension, a thread's part of the result can begin within a block.
    let [rows, _] = loops.axes;
    let grain_elements = if rows.size > 1 {
        loops.block_elements
    } else {
        1
    };
    threads::write_counting_missing(
        dest,
        grain_elements * loops.result_element_bytes,
        threads,
        |first, dest| {
            let mut missing = Missing::default();
            dest.for_each_block(
                grain_elements * loops.result_element_bytes,
                &mut |at, dest| {
                    let first = (first + at) / loops.result_element_bytes;
                    missing = missing.combine_with(loops.write(&locator, first, dest));
                },
            );
            missing
        },
    )
}

pub(super) fn explain(step_move: &Move, threads: Threads) -> String {
    let units = step_move.walk().map_or(0, Walk::units);
    let description = match step_move
        .conversion
        .as_ref()
        .map(|conversion| &conversion.table)
    {
        Some(Some(_)) => "converted by tables",
        _ => "converted one by one",
    };
    threads::explain(
        threads.count_for(step_move.result_bytes(), units),
        description,
    )
}

/// A line of `count` elements. The first is element `from` of the source. Neighbours are `step` elements apart in the
/// source and `dest_step` elements apart in the result.
#[derive(Clone, Copy, Debug)]
struct StridedLine {
    from: usize,
    step: isize,
    dest_step: usize,
    count: usize,
}

/// Converts a line. The arguments are the source, the line, and the part of the result that begins with the line's
/// first element.
type LineConverter<'a> = Box<dyn Fn(&[u8], StridedLine, &mut [u8]) + Sync + 'a>;

fn line_converter(conversion: &PlanConversion, to: DType) -> LineConverter<'_> {
    let PlanConversion {
        from,
        table,
        scale,
        rule,
    } = conversion;
    match (table, scale) {
        (Some(table), _) => match (to, to.size()) {
            (DType::I64, _) => table_converter(table, |entry| {
                i64::from_float::<false>(f32::from_bits(entry).into()).to_ne_bytes()
            }),
            (DType::U64, _) => table_converter(table, |entry| {
                u64::from_float::<false>(f32::from_bits(entry).into()).to_ne_bytes()
            }),
            (DType::F64, _) => table_converter(table, |entry| {
                let sign = u64::from(entry >> 31) << 63;
                let magnitude = f64::from(f32::from_bits(entry & 0x7fff_ffff));
                f64::from_float::<false>(f64::from_bits(magnitude.to_bits() & !(1 << 63) | sign))
                    .to_ne_bytes()
            }),
            (_, 1) => table_converter(table, |entry| [entry as u8]),
            (_, 2) => table_converter(table, |entry| (entry as u16).to_ne_bytes()),
            _ => table_converter(table, u32::to_ne_bytes),
        },
        (None, Some(scale)) => scale_converter(*from, scale, to),
        (None, None) if *rule == RoundingRule::Nearest => {
            f32_converter(*from, to).unwrap_or_else(|| wide_converter(*from, *rule, to))
        }
        (None, None) => wide_converter(*from, *rule, to),
    }
}

/// Returns a converter that computes in `f32`, which is faster than a wider type. Returns `None` for types that need a
/// wider type.
fn f32_converter(from: DType, to: DType) -> Option<LineConverter<'static>> {
    macro_rules! converter {
        ($bytes:literal $read:ident: $($from:ident)*) => {
            match (from, to) {
                $((DType::$from, DType::U8) => converter!($bytes $read $from 1 u8 U8),
                (DType::$from, DType::I8) => converter!($bytes $read $from 1 u8 I8),
                (DType::$from, DType::U16) => converter!($bytes $read $from 2 u16 U16),
                (DType::$from, DType::I16) => converter!($bytes $read $from 2 u16 I16),
                (DType::$from, DType::F16) => converter!($bytes $read $from 2 u16 F16),
                (DType::$from, DType::BF16) => converter!($bytes $read $from 2 u16 BF16),
                (DType::$from, DType::F32) => converter!($bytes $read $from 4 u32 F32),)*
                _ => return None,
            }
        };
        ($bytes:literal $read:ident $from:ident $of_result:literal $write:ident $to:ident) => {
            Box::new(|source, line, dest| {
                convert_line::<$bytes, $of_result>(source, line, dest, |bits| {
                    let value = f32_of(DType::$from, $read::from_ne_bytes(bits).into());
                    (bits_of(DType::$to, value) as $write).to_ne_bytes()
                });
            })
        };
    }
    Some(match from.size() {
        2 => converter!(2 u16: U16 I16 F16 BF16),
        _ => converter!(4 u32: F32),
    })
}

/// Returns a converter that reads elements as `i64`, `u64` or `f64` and rounds these to the type of the result.
fn wide_converter(from: DType, rule: RoundingRule, to: DType) -> LineConverter<'static> {
    fn wide_converter_as<W: WideElement + 'static>(
        read: fn(&[u8], usize, isize, &mut [W]),
        to: DType,
        rule: RoundingRule,
    ) -> LineConverter<'static> {
        let write = element_writer::<W>(to, rule);
        Box::new(move |source, line, dest| {
            convert_in_stages(
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
    match element_reader(from) {
        ElementReader::Signed(read) => wide_converter_as(read, to, rule),
        ElementReader::Unsigned(read) => wide_converter_as(read, to, rule),
        ElementReader::Float(read) => wide_converter_as(read, to, rule),
    }
}

/// Returns a converter that multiplies by a scale and adds a bias.
fn scale_converter(from: DType, scale: &PositionScales, to: DType) -> LineConverter<'_> {
    let (reader, write) = (
        element_reader(from),
        element_writer::<f64>(to, RoundingRule::Nearest),
    );
    // An `f32` can hold every value of these types exactly.
    let fits_f32 = from.size() < 4 || from == DType::F32;
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
            *x = match fits_f32 {
                true => (*x as f32 * factor + term).into(),
                false => *x * f64::from(factor) + f64::from(term),
            };
            at += advance;
            at -= if at >= period { period } else { 0 };
        }
    };
    Box::new(move |source, line, dest| {
        convert_in_stages(source, line, dest, to.size(), read, write);
    })
}

/// Reads elements of any type as `f64`. A 64-bit integer becomes the nearest `f64`.
fn read_floats(reader: &ElementReader, source: &[u8], from: usize, step: isize, stage: &mut [f64]) {
    fn read_integers<W: Copy + Default>(
        read: fn(&[u8], usize, isize, &mut [W]),
        (source, from, step): (&[u8], usize, isize),
        stage: &mut [f64],
        float: impl Fn(W) -> f64,
    ) {
        let mut integers = [W::default(); STAGE_ELEMENTS];
        let integers = &mut integers[..stage.len()];
        read(source, from, step, integers);
        for (x, &integer) in stage.iter_mut().zip(&*integers) {
            *x = float(integer);
        }
    }
    let source_line = (source, from, step);
    match *reader {
        ElementReader::Signed(read) => {
            read_integers(read, source_line, stage, f64::from_signed::<false>);
        }
        ElementReader::Unsigned(read) => {
            read_integers(read, source_line, stage, f64::from_unsigned::<false>);
        }
        ElementReader::Float(read) => read(source, from, step, stage),
    }
}

/// Reads the elements of a line and writes them as elements of `size` bytes, at most [`STAGE_ELEMENTS`] at a time.
fn convert_in_stages<W: Copy + Default>(
    source: &[u8],
    line: StridedLine,
    dest: &mut [u8],
    size: usize,
    read: impl Fn(&[u8], usize, isize, &mut [W]),
    write: fn(&[W], usize, &mut [u8]),
) {
    let mut stage = [W::default(); STAGE_ELEMENTS];
    for first in (0..line.count).step_by(STAGE_ELEMENTS) {
        let stage = &mut stage[..(line.count - first).min(STAGE_ELEMENTS)];
        read(source, along(line.from, line.step, first), line.step, stage);
        let begin = first * line.dest_step;
        let end = begin + (stage.len() - 1) * line.dest_step + 1;
        write(stage, line.dest_step, &mut dest[begin * size..end * size]);
    }
}

/// Returns a converter that looks up each element in the table of its position.
fn table_converter<const N: usize>(
    table: &PositionTables,
    encode_entry: impl Fn(u32) -> [u8; N] + Copy + Sync + 'static,
) -> LineConverter<'_> {
    let (tables, _) = table.entries.as_chunks::<TABLE_ENTRIES>();
    let period = table.repeat_period();
    Box::new(move |source, line, dest| {
        let StridedLine {
            from,
            step,
            dest_step,
            count,
        } = line;
        let distance = step.unsigned_abs();
        let table_at = |from: usize| &tables[from / table.inner % table.positions];
        let last_source = along(from, step, count - 1);
        if distance.is_multiple_of(period) || from / table.inner == last_source / table.inner {
            let entries = table_at(from);
            return convert_line::<1, N>(source, line, dest, |[byte]| {
                encode_entry(entries[usize::from(byte)])
            });
        }
        // `cycle` is the number of elements after which the tables repeat. Elements at a distance of `cycle` share a
        // table and are converted as one line. `elements_at_once` is the number of elements that are converted by all
        // their tables before the loop continues with the next elements, so that they stay in the cache. If the tables
        // do not repeat soon, each element is a line.
        let (cycle, elements_at_once) = match period / distance {
            cycle @ 1..=MAX_TABLE_CYCLE if period.is_multiple_of(distance) => {
                (cycle, CACHED_ELEMENTS / cycle * cycle)
            }
            _ => (count, count),
        };
        for begin in (0..count).step_by(elements_at_once) {
            let end = count.min(begin + elements_at_once);
            for first in begin..end.min(begin + cycle) {
                let line_start = along(from, step, first);
                let line = StridedLine {
                    from: line_start,
                    step: step.wrapping_mul(cycle.cast_signed()),
                    dest_step: dest_step * cycle,
                    count: (end - first).div_ceil(cycle),
                };
                let entries = table_at(line_start);
                convert_line::<1, N>(
                    source,
                    line,
                    &mut dest[first * dest_step * N..],
                    |[byte]| encode_entry(entries[usize::from(byte)]),
                );
            }
        }
    })
}

/// Converts a line of elements that have `M` bytes in the source and `N` bytes in the result.
#[inline(always)]
fn convert_line<const M: usize, const N: usize>(
    source: &[u8],
    line: StridedLine,
    dest: &mut [u8],
    convert_element: impl Fn([u8; M]) -> [u8; N],
) {
    let StridedLine {
        from,
        step,
        dest_step,
        count,
    } = line;
    let (source, _) = source.as_chunks::<M>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    let line_reach = (count - 1) * step.unsigned_abs();
    let source = match step < 0 {
        true => &source[from - line_reach..=from],
        false => &source[from..=from + line_reach],
    };
    let dest = &mut dest[..=(count - 1) * dest_step];
    // The common distances are constants, so that the compiler can vectorize the loops.
    match (step, dest_step) {
        (1, 1) => convert_forward::<1, M, N>(source, dest, convert_element),
        (2, 1) => convert_forward::<2, M, N>(source, dest, convert_element),
        (3, 1) => convert_forward::<3, M, N>(source, dest, convert_element),
        (4, 1) => convert_forward::<4, M, N>(source, dest, convert_element),
        (-1, 1) => convert_backward::<1, M, N>(source, dest, convert_element),
        (-3, 1) => convert_backward::<3, M, N>(source, dest, convert_element),
        (-4, 1) => convert_backward::<4, M, N>(source, dest, convert_element),
        (0, _) => {
            let converted_element = convert_element(source[0]);
            dest.iter_mut()
                .step_by(dest_step)
                .for_each(|to| *to = converted_element);
        }
        _ => {
            let begin = if step < 0 { line_reach } else { 0 };
            for n in 0..count {
                let at = begin.wrapping_add_signed(step * n.cast_signed());
                dest[n * dest_step] = convert_element(source[at]);
            }
        }
    }
}

/// Converts every `S`-th element of the source, from the first to the last.
#[inline(always)]
fn convert_forward<const S: usize, const M: usize, const N: usize>(
    source: &[[u8; M]],
    dest: &mut [[u8; N]],
    convert_element: impl Fn([u8; M]) -> [u8; N],
) {
    let (chunks, remainder) = source.as_chunks::<S>();
    for (to, from) in dest.iter_mut().zip(chunks) {
        *to = convert_element(from[0]);
    }
    if let [from, ..] = remainder {
        dest[chunks.len()] = convert_element(*from);
    }
}

/// Converts every `S`-th element of the source, from the last to the first.
#[inline(always)]
fn convert_backward<const S: usize, const M: usize, const N: usize>(
    source: &[[u8; M]],
    dest: &mut [[u8; N]],
    convert_element: impl Fn([u8; M]) -> [u8; N],
) {
    let (remainder, chunks) = source.as_rchunks::<S>();
    for (to, from) in dest.iter_mut().zip(chunks.iter().rev()) {
        *to = convert_element(from[S - 1]);
    }
    if let [.., from] = remainder {
        dest[chunks.len()] = convert_element(*from);
    }
}

/// One dimension of a block.
#[derive(Clone, Copy, Debug)]
struct BlockAxis {
    size: usize,
    /// The distance between neighbouring positions in the source, in elements.
    step: isize,
    /// The first position that has a source. The result is zero at positions without a source.
    low: usize,
    /// The position after the last position that has a source.
    high: usize,
}

struct ConvertLoops<'a> {
    walk: &'a Walk,
    source: &'a [u8],
    converter: LineConverter<'a>,
    /// The size in bytes of an element of the source.
    unit: usize,
    /// The size in bytes of an element of the result.
    result_element_bytes: usize,
    /// The number of dimensions of a block, 1 or 2.
    block_dims: usize,
    /// The rows and the columns of a block.
    axes: [BlockAxis; 2],
    /// The number of elements of a block.
    block_elements: usize,
}

impl<'a> ConvertLoops<'a> {
    fn new(
        step_move: &Move,
        walk: &'a Walk,
        conversion: &'a PlanConversion,
        source: &'a [u8],
    ) -> Self {
        let mut axes = [BlockAxis {
            size: 1,
            step: 0,
            low: 0,
            high: 1,
        }; 2];
        let (mut block_dims, mut block_elements) = (0, 1);
        let inner_dims = walk.dims.iter().rev().take_while(|dim| dim.tuple == 0);
        for (axis, &Dim { size, from, .. }) in axes.iter_mut().rev().zip(inner_dims) {
            if block_dims > 0 && block_elements * size > MAX_BLOCK_ELEMENTS {
                break;
            }
            *axis = BlockAxis {
                size,
                step: from,
                low: 0,
                high: size,
            };
            (block_dims, block_elements) = (block_dims + 1, block_elements * size);
        }
        Self {
            walk,
            source,
            converter: line_converter(conversion, step_move.dtype()),
            unit: walk.unit,
            result_element_bytes: step_move.dtype().size(),
            block_dims,
            axes,
            block_elements,
        }
    }

    /// Writes the elements of the result from number `first` on. Returns how many tuples are out of range, and the
    /// first of them.
    fn write<I: Index>(
        &self,
        locator: &Locator<'_, I>,
        first: usize,
        mut dest: &mut [u8],
    ) -> Missing {
        let mut missing = Missing::default();
        let (mut block_number, mut begin) =
            (first / self.block_elements, first % self.block_elements);
        let first_counted = first.div_ceil(self.block_elements);
        let mut located = Located::default();
        while !dest.is_empty() {
            let count = (begin + dest.len() / self.result_element_bytes)
                .div_ceil(self.block_elements)
                .min(CACHED_ELEMENTS / 4);
            locator.find_groups(
                (block_number, count),
                first_counted,
                &mut located,
                &mut missing,
            );
            for (n, &place) in located.places.iter().enumerate() {
                let count =
                    (self.block_elements - begin).min(dest.len() / self.result_element_bytes);
                let part;
                (part, dest) = dest.split_at_mut(count * self.result_element_bytes);
                let clips =
                    located
                        .box_numbers
                        .get(n)
                        .map_or(&[][..], |&(_, clip_set)| match place {
                            NOWHERE => &[],
                            _ => locator.clips_at(&located, clip_set),
                        });
                match place {
                    NOWHERE => part.fill(0),
                    _ => self.write_block(place / self.unit, self.clipped_axes(clips), begin, part),
                }
                begin = 0;
            }
            block_number += count;
        }
        missing
    }

    /// Returns the dimensions of a clipped block: only the positions within `clips` have a source.
    fn clipped_axes(&self, clips: &[Clip]) -> [BlockAxis; 2] {
        let mut axes = self.axes;
        let cropped_clips = self.walk.coordinates.iter().rev().zip(clips.iter().rev());
        for (coordinate, clip) in cropped_clips {
            let d = coordinate.along.map_or(0, |along| along.dim) + 2 - self.walk.dims.len();
            (axes[d].low, axes[d].high) = (clip.begin, clip.end);
            axes[d].step = clipped_step(coordinate, clip);
        }
        axes
    }

    /// Writes the elements of a block, starting with element `begin`. Elements without a source become zero. The
    /// block's first element that has a source is element `from` of the source.
    fn write_block(
        &self,
        from: usize,
        [rows, columns]: [BlockAxis; 2],
        begin: usize,
        dest: &mut [u8],
    ) {
        let bytes = self.result_element_bytes;
        if columns.size < SHORT_SIDE && columns.size < rows.size {
            if [rows, columns]
                .iter()
                .any(|axis| axis.high - axis.low < axis.size)
            {
                dest.fill(0);
            }
            for column in columns.low..columns.high {
                let column_line = StridedLine {
                    from: along(from, columns.step, column - columns.low),
                    step: rows.step,
                    dest_step: columns.size,
                    count: rows.high - rows.low,
                };
                let first_element = rows.low * columns.size + column;
                (self.converter)(self.source, column_line, &mut dest[first_element * bytes..]);
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
            let line = StridedLine {
                from: along(from, columns.step, low - columns.low),
                step: columns.step,
                dest_step: 1,
                count: high - low,
            };
            (self.converter)(self.source, line, &mut dest[(low - begin) * bytes..]);
        }
    }
}
