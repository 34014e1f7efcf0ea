//! Transposes by tiles in workgroup memory: `shaders/transpose.wgsl`.
//!
//! In the source of a slice that this kernel runs, neighbouring units of a row lie apart, and neighbouring units along
//! another dimension, the *near* one, are contiguous. A tile consists of *lines*: contiguous ranges of the source
//! along the near dimension, one for each of several neighbouring units of a row.
//!
//! | distance of lines | tile |
//! |---|---|
//! | large | as many bytes along the source as along the result, unless a dimension is too short |
//! | so small that nearly all sectors in between are needed | one contiguous range of the source, with as many units of a row as fit; not for units of 1 and 2 bytes |
//!
//! If all lines lie in the same way relative to cache lines of the source, tiles begin at these cache lines, unless
//! that takes many more tiles. The same holds for rows and the cache lines of the result.

use super::{
    Axis, Form, Grid, INVOCATION_MEMORY, Job, Kernel, Kind, Launch, MAX_AXES, Op, Prelude, RowMap,
    Rows, Source, Tiling, Units, Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "transpose",
        text: include_str!("../../../shaders/transpose.wgsl"),
    },
    launch,
    forms,
};

/// The tiles of a job. `None` if the kernel does not accept the job.
fn of_job(job: &Job<'_>) -> Option<Tiles> {
    let RowMap::Slice(map) = &job.map else {
        return None;
    };
    let fits = job.reach.kind == Kind::Hardware && map.axes.len() <= MAX_AXES;
    let (source, dest) = (job.source.base, job.dest.base);
    fits.then(|| tiles(&job.rows, &map.axes, source, dest, job.reach.workgroup))?
}

fn launch(job: &Job<'_>, _: &Vectors) -> Option<Launch> {
    let tiles = of_job(job)?;
    let grid = Grid::workgroups(tiles.count, job.reach);
    let form = form(job.rows.unit, tiles.shifts);
    let launch = Launch::of(job, &job.units(), form, grid);
    Some(Launch {
        tile_unit: word(job.rows.unit) * loads(job.rows.unit) * job.reach.workgroup as usize,
        counts: Units {
            tiling: Some(tiles.tiling),
            ..launch.counts
        },
        ..launch
    })
}

fn form(unit: usize, shifts: bool) -> Form {
    let loads = loads(unit);
    let form = Form::of(Prelude::Tile { unit, loads });
    match unit {
        ..4 => form.with(&[("SHIFTS", shifts)]),
        _ => form,
    }
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    if op != Op::StridedSlice || kind == Kind::Software {
        return Vec::new();
    }
    let words = [4, 8, 16].map(|unit| form(unit, false));
    let small = [1, 2]
        .into_iter()
        .flat_map(|unit| [false, true].map(|shifts| form(unit, shifts)));
    words.into_iter().chain(small).collect()
}

/// The number of bytes that an invocation moves if units have 4 bytes or more. With workgroups of 256 a tile has 8 KiB,
/// so that the 64 KiB of workgroup memory of an AMD compute unit hold as many workgroups as its registers do.
const BYTES: usize = 32;

/// The number of words that an invocation moves if units are smaller: they fill [`INVOCATION_MEMORY`]. Where lines
/// begin within sectors, larger tiles load fewer sectors twice.
const SUBWORD_LOADS: usize = INVOCATION_MEMORY as usize / 4;

/// The size in bytes of a sector: a GPU's memory transfers whole sectors.
const SECTOR: usize = 32;

/// The size of a cache line in bytes.
const LINE: usize = 128;

/// Lines that begin at most this many bytes, two sectors, apart are loaded as one contiguous range. If they begin more
/// than [`SECTOR`] bytes apart, they must also fill at least half of the range. Gaps are then at most one sector long,
/// so nearly all sectors of the range are needed anyway.
const CLOSE: usize = 64;

/// The number of banks of workgroup memory, each of which serves one word at a time.
const BANKS: usize = 32;

/// The tiles of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiles {
    tiling: Tiling,
    /// Whether lines or rows may begin within words.
    shifts: bool,
    count: usize,
}

/// The size in bytes of what a load moves: a unit, but at least a word.
fn word(unit: usize) -> usize {
    unit.max(4)
}

/// The number of loads that an invocation makes if units have `unit` bytes: of words if units are smaller, otherwise of
/// units.
fn loads(unit: usize) -> usize {
    match unit {
        ..4 => SUBWORD_LOADS,
        _ => BYTES / unit,
    }
}

/// The tiles for these rows and a workgroup of `workgroup` invocations. The first row begins at unit `source_base` of
/// the source and at unit `dest_base` of the result, and `axes` number the rows. `None` if no dimension is near, the
/// units of a row do not lie apart, rows are shorter than two words or two units, another kernel is faster, or tiles
/// would be mostly empty.
fn tiles(
    rows: &Rows,
    axes: &[Axis],
    source_base: i64,
    dest_base: i64,
    workgroup: u32,
) -> Option<Tiles> {
    let is_near = |axis: &Axis| axis.stride.unsigned_abs() == 1 && axis.size > 1;
    let near_dim = axes.iter().position(is_near)?;
    let near = axes[near_dim];
    let distance = rows.step.unsigned_abs();
    if distance < 2 || rows.run < 2 * 4_usize.div_ceil(rows.unit) {
        return None;
    }
    let first = match near.stride {
        1 => source_base,
        _ => source_base - (near.size as i64 - 1),
    };
    let first = usize::try_from(first).ok()? * rows.unit;
    let dest_first = usize::try_from(dest_base).ok()? * rows.unit;
    let word = word(rows.unit);
    let per_word = word / rows.unit;
    let tile = loads(rows.unit) * workgroup as usize;

    // The distances between all lines, and those between all rows, are multiples of these numbers of bytes.
    let outer = axes.iter().enumerate().filter(|&(d, _)| d != near_dim);
    let strides = outer.map(|(_, axis)| axis.stride.unsigned_abs());
    let lines_align = strides.clone().fold(distance, |all, stride| all | stride);
    let lines_align = power_of_two(lines_align * rows.unit).min(LINE);
    let rows_align = power_of_two(rows.run * rows.unit).min(LINE);
    let lines_shift = lines_align < word;
    let rows_shift = rows_align < word;
    let head = match rows_shift {
        true => per_word - 1,
        false => dest_first % word / rows.unit,
    };
    // The most words that a row touches.
    let row_words = (head + rows.run).div_ceil(per_word);

    let span = distance * rows.unit;
    let is_close =
        near.size <= distance && (span <= SECTOR || span <= CLOSE && 2 * near.size >= distance);
    // For units of 1 and 2 bytes in close lines, `pack_bytes` takes fewer instructions.
    if is_close && per_word > 1 {
        return None;
    }
    let (line_log2, words_log2);
    if is_close {
        // The number of units by which a range is extended so that it begins at a sector: 0 if all ranges are known to
        // begin at sectors. If units are read backwards, only the ends of ranges can be known to lie at sectors.
        let forwards = rows.step > 0 && dest_first.is_multiple_of(rows_align);
        let mut begins = strides.map(|stride| stride * rows.unit).chain([first]);
        let aligned = forwards && begins.all(|bytes| bytes.is_multiple_of(SECTOR));
        let slack = if aligned { 0 } else { SECTOR / rows.unit };
        words_log2 = (tile.checked_sub(slack)? / distance).checked_ilog2()?;
        line_log2 = tile.ilog2();
    } else {
        // A tile takes as many bytes of a line as of a row, if both are long enough. Where two shapes are equally close
        // to that, lines that begin within words get the longer one.
        let square = ((tile / per_word).ilog2() + u32::from(lines_shift)) / 2;
        let near_words = (near.size + per_word - 1).div_ceil(per_word);
        let longest = (near_words + usize::from(lines_shift))
            .next_power_of_two()
            .ilog2();
        let most_lines = row_words.next_power_of_two() * per_word;
        let least = (tile / most_lines.min(tile)).ilog2();
        // A line is no longer than one load of a workgroup, so that the loads of an invocation are whole lines apart.
        let most = workgroup.ilog2();
        let wanted = square.max(least).min(longest).min(most);
        // In `transpose_subword.wgsl` a round of an invocation's loads or stores lies in one column, so a tile has no
        // more words of a row than a workgroup has invocations.
        line_log2 = match per_word {
            1 => wanted,
            _ => wanted.max((tile / per_word / workgroup as usize).ilog2()),
        };
        words_log2 = (tile >> line_log2).checked_div(per_word)?.checked_ilog2()?;
    }
    let line_units = per_word * ((1 << line_log2) - usize::from(lines_shift));
    let tile_words = (1_usize << words_log2) - usize::from(rows_shift);

    // Returns how far before position 0 the first tile begins, and the number of tiles of `each` positions that cover
    // `size` positions. `phase` is the shift with which tiles begin at cache lines. If it adds more than an eighth to
    // the number of tiles, the shift is `least` instead, the smallest that the shader allows.
    let shifted = |phase: usize, size: usize, least: usize, each: usize| {
        let plain = (size + least).div_ceil(each);
        let more = (size + phase).div_ceil(each);
        if more <= plain + plain / 8 {
            (phase, more)
        } else {
            (least, plain)
        }
    };
    let (near_shift, near_tiles) = match is_close {
        true => (0, 1),
        false if lines_shift => (0, near.size.div_ceil(line_units)),
        false => {
            let phase = first % lines_align / rows.unit;
            shifted(phase, near.size, phase % per_word, line_units)
        }
    };
    let (row_shift, row_tiles) = match rows_shift {
        true => (0, row_words.div_ceil(tile_words.max(1))),
        false => shifted(dest_first % rows_align / word, row_words, 0, tile_words),
    };
    let others = rows.count / near.size;
    let count = near_tiles.checked_mul(row_tiles)?.checked_mul(others)?;

    // At least a quarter of the space in the tiles must be filled, as it is if half of it is filled in each direction.
    let filled = near.size * rows.run * rows.unit;
    let all = near_tiles * row_tiles * tile * word;
    if tile_words == 0 || filled < all / 4 {
        return None;
    }
    Some(Tiles {
        tiling: Tiling {
            near_dim,
            line_log2,
            words_log2,
            swizzle: swizzle(rows.unit, is_close, line_log2, words_log2),
            is_stretch: is_close,
            lines_shift,
            rows_shift,
            near_shift,
            row_shift,
            near_tiles: u32::try_from(near_tiles).ok()?,
            row_tiles: u32::try_from(row_tiles).ok()?,
        },
        shifts: lines_shift || rows_shift || head > 0,
        count,
    })
}

/// The number of bits by which `transpose_units.wgsl` shifts the position of a unit in the tile, before it XORs the
/// result with the position. Without this, invocations that store neighbouring units of a row would read the same bank.
/// Returns 0 for units of 1 and 2 bytes, whose shader places words in another way.
fn swizzle(unit: usize, is_close: bool, line_log2: u32, words_log2: u32) -> u32 {
    if unit < 4 {
        return 0;
    }
    let banks = (BANKS * 4 / unit).ilog2();
    if is_close {
        return banks;
    }
    (line_log2 + words_log2.min(banks))
        .saturating_sub(banks)
        .max(1)
}

/// The largest power of two that divides a number, or that fits in a `usize` if the number is 0.
fn power_of_two(number: usize) -> usize {
    1 << number.trailing_zeros().min(usize::BITS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tiles of rows for a workgroup of 256. `axes` are the sizes and strides of the dimensions that number rows.
    fn of(unit: usize, (run, step): (usize, isize), axes: &[(usize, isize)]) -> Option<Tiles> {
        at((0, 0), unit, (run, step), axes)
    }

    fn at(
        (source_base, dest_base): (i64, i64),
        unit: usize,
        (run, step): (usize, isize),
        axes: &[(usize, isize)],
    ) -> Option<Tiles> {
        let axes: Vec<_> = axes
            .iter()
            .map(|&(size, stride)| Axis { size, stride })
            .collect();
        let rows = Rows {
            unit,
            count: axes.iter().map(|axis| axis.size).product(),
            run,
            step,
        };
        tiles(&rows, &axes, source_base, dest_base, 256)
    }

    #[test]
    fn tiles_are_as_long_along_the_source_as_along_the_result() {
        for (unit, columns, words) in [(1, 5, 5), (2, 5, 6), (4, 5, 6), (8, 5, 5), (16, 4, 5)] {
            let tiles = of(unit, (4096, 4096), &[(4096, 1)]).unwrap();
            let Tiling {
                line_log2,
                words_log2,
                ..
            } = tiles.tiling;
            assert_eq!((line_log2, words_log2), (columns, words), "{unit}");
            let per_word = 4_usize.div_ceil(unit);
            assert_eq!(per_word << (columns + words), loads(unit) * 256, "{unit}");
            let bytes = 256 * loads(unit) * word(unit);
            assert_eq!(tiles.count, 4096 * 4096 * unit / bytes, "{unit}");
        }
        let shifted = [1, 2].map(|unit| {
            let tiling = of(unit, (4095, 4095), &[(4093, 1)]).unwrap().tiling;
            (tiling.line_log2, tiling.words_log2)
        });
        assert_eq!(shifted, [(5, 5), (6, 5)]);
    }

    /// `transpose_subword.wgsl` needs this, so that a round of an invocation's loads, squares or stores lies in one
    /// column.
    #[test]
    fn tiles_of_small_units_have_no_more_columns_than_invocations() {
        for unit in [1, 2] {
            for workgroup in [32, 64, 128, 256] {
                for (run, near) in [(8, 5000), (9, 4999), (5000, 9), (4999, 13), (300, 301)] {
                    let rows = Rows {
                        unit,
                        count: near,
                        run,
                        step: near.cast_signed(),
                    };
                    let axes = [Axis {
                        size: near,
                        stride: 1,
                    }];
                    let Some(tiles) = tiles(&rows, &axes, 0, 0, workgroup) else {
                        continue;
                    };
                    let Tiling {
                        line_log2,
                        words_log2,
                        ..
                    } = tiles.tiling;
                    let most = workgroup.ilog2();
                    assert!(
                        line_log2 <= most && words_log2 <= most,
                        "{unit} {run} {near}"
                    );
                    let words = (4 / unit) << (line_log2 + words_log2);
                    assert_eq!(words, SUBWORD_LOADS * workgroup as usize);
                }
            }
        }
    }

    #[test]
    fn tiles_are_longer_where_the_other_dimension_is_short() {
        let few_lines = of(4, (16, 5000), &[(5000, 1)]).unwrap().tiling;
        assert_eq!((few_lines.line_log2, few_lines.words_log2), (7, 4));
        let short_lines = of(4, (5000, 100), &[(10, 1)]).unwrap().tiling;
        assert_eq!((short_lines.line_log2, short_lines.words_log2), (4, 7));
    }

    #[test]
    fn lines_close_together_are_one_range() {
        let of_rgb = |step| of(4, (5000, step), &[(3, 1)]).unwrap().tiling;
        assert!(of_rgb(3).is_stretch && of_rgb(-3).is_stretch && of_rgb(8).is_stretch);
        assert_eq!(of_rgb(3).words_log2, 9);
        assert!(!of_rgb(9).is_stretch);
        // Lines of four 4-byte units fill a tile exactly, if all ranges begin at sectors.
        let of_rgba = |bases| {
            at(bases, 4, (5000, 4), &[(4, 1)])
                .unwrap()
                .tiling
                .words_log2
        };
        assert_eq!(
            (of_rgba((0, 0)), of_rgba((1, 0)), of_rgba((0, 1))),
            (9, 8, 8)
        );
        let backwards = of(4, (5000, -4), &[(4, 1)]).unwrap();
        assert_eq!(backwards.tiling.words_log2, 8);
    }

    #[test]
    fn tiles_begin_with_cache_lines() {
        let tiling = |bases| at(bases, 4, (4096, 4096), &[(4000, 1)]).unwrap().tiling;
        let shifts = |bases| (tiling(bases).near_shift, tiling(bases).row_shift);
        assert_eq!(shifts((0, 0)), (0, 0));
        assert_eq!(shifts((33, 7)), (1, 7));
        // The last unit of a backward line comes first in the source.
        let backwards = at((3999, 0), 4, (4096, 4096), &[(4000, -1)]).unwrap();
        assert_eq!(backwards.tiling.near_shift, 0);
        // Tiles are not aligned where that would make many more of them.
        let small = at((1, 1), 4, (64, 64), &[(9, 64), (32, 1)]).unwrap().tiling;
        assert_eq!((small.near_shift, small.row_shift), (0, 0));
    }

    #[test]
    fn small_units_begin_anywhere_in_a_word() {
        let tiles = of(1, (4096, 4095), &[(4096, 1)]).unwrap();
        assert!(tiles.shifts && tiles.tiling.lines_shift && !tiles.tiling.rows_shift);
        let tiles = of(2, (4095, 4096), &[(4096, 1)]).unwrap();
        assert!(tiles.shifts && !tiles.tiling.lines_shift && tiles.tiling.rows_shift);
        let tiles = of(2, (4096, 4096), &[(4096, 1)]).unwrap();
        assert!(!tiles.shifts);
        // All rows begin at the same unit of a word, but not at its first unit.
        let tiles = at((0, 1), 2, (4096, 4096), &[(4096, 1)]).unwrap();
        assert!(tiles.shifts && !tiles.tiling.lines_shift && !tiles.tiling.rows_shift);
    }

    #[test]
    fn rows_that_do_not_fill_tiles_are_rejected() {
        assert_eq!(
            of(4, (4096, 1), &[(4096, 4096)]),
            None,
            "rows are contiguous"
        );
        assert_eq!(of(4, (4096, 2), &[(40, 8192)]), None, "nothing is near");
        assert_eq!(of(4, (8, 8), &[(1000, 64), (8, 1)]), None, "small matrices");
        assert!(of(4, (32, 32), &[(1000, 1024), (32, 1)]).is_some());
        assert_eq!(of(1, (5000, 3), &[(3, 1)]), None, "packed bytes");
    }
}
