//! The accesses that each kernel's shader may make, computed from the words of the uniforms: items 5, 6 and 8 of the
//! contract.

use super::{Access, Bytes, Hull, Refusal, lists, require, rows, transpose};
use crate::gpu::{kernels::Dispatch, maps::Op, program::Prelude};

/// The accesses that a dispatch may make to its bindings.
pub(super) fn accesses(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    match dispatch.program.source.name {
        "serial rows" | "coalesced rows" => rows_of_units(dispatch),
        "row words" => row_words(dispatch),
        "transpose" => transpose::accesses(dispatch),
        "packed bytes" | "packed rows" | "packed words" | "unaligned" => packed(dispatch),
        "gathered units" => gathered_units(dispatch),
        "subword" => subword(dispatch),
        "combine" | "subword combine" => combine(dispatch),
        "atomic combine" => combine_atomic(dispatch),
        "resolve" | "sort" | "long lists" => lists::accesses(dispatch),
        name => Err(format!("nobody has said what the kernel {name} accesses")),
    }
}

/// The value of an override constant of the pipeline.
pub(super) fn constant(dispatch: &Dispatch, name: &str) -> Result<i128, Refusal> {
    let constants = dispatch.program.constants();
    let found = constants.iter().find(|(other, _)| *other == name);
    let found = found.and_then(|(_, value)| format!("{value}").parse().ok());
    found.ok_or_else(|| format!("no constant {name}"))
}

/// Reads a base of the uniforms: the unit, counted from the beginning of the binding, to which a shader adds offsets
/// modulo 2^32. A base may lie before the binding, and is then negative, if every sum with an offset lies in the
/// binding.
pub(super) fn base(word: u32) -> i128 {
    rows::signed(word)
}

pub(super) fn moved(what: &'static str, binding: usize, bytes: Bytes, block: i128) -> Access {
    Access {
        what,
        binding,
        touched: bytes.whole(block),
        moved: Some(bytes),
    }
}

/// The units of the source, counted from the beginning of the binding, that rows `0..rows` of `run` units may read.
/// `None` if they read none. If a unit of a row consists of several `parts`, the result counts parts. `guarded` says
/// whether the shader skips units beyond the bound ones.
pub(super) fn source_units(
    dispatch: &Dispatch,
    rows: i128,
    run: i128,
    parts: i128,
    guarded: bool,
) -> Result<Option<Hull>, Refusal> {
    let starts = rows::starts(dispatch, rows, run)?;
    let (units, step) = starts.of_row;
    let hull = starts.from.map(|hull| {
        hull.along(units - 1, step * parts)
            .along(parts - 1, step)
            .plus(base(dispatch.uniforms.source_base))
    });
    let Some(hull) = hull else { return Ok(None) };
    match starts.bound {
        Some(bound) if guarded => {
            require(hull.low >= bound - (1 << 32) && hull.high < 1 << 32, || {
                format!("units {hull:?} wrap into {bound} bound ones")
            })?;
            let within = Hull {
                low: hull.low.max(0),
                high: hull.high.min(bound - 1),
            };
            Ok((within.low <= within.high).then_some(within))
        }
        Some(bound) => {
            require(hull.high < bound, || {
                format!("units {hull:?}, but {bound} are bound")
            })?;
            Ok(Some(hull))
        }
        None => Ok(Some(hull)),
    }
}

/// The accesses to the source, whose units of `unit` bytes are loaded in whole blocks of `block` bytes.
fn source(units: Option<Hull>, unit: i128, block: i128) -> impl Iterator<Item = Access> {
    // For a unit without a source, shaders load the first word or vector of the binding instead.
    let first = Access {
        what: "the first of the source",
        binding: 0,
        touched: Hull::to(0).bytes(block.max(unit)),
        moved: None,
    };
    let units = units.map(|hull| moved("source", 0, hull.bytes(unit), block.max(unit)));
    [first].into_iter().chain(units)
}

fn tuples(dispatch: &Dispatch, rows: i128) -> Result<Option<Access>, Refusal> {
    let vectors = dispatch.program.lookup.vectors;
    let tuples = rows::tuples(dispatch, rows)?;
    Ok(tuples.map(|tuples| tuples.access(vectors)))
}

/// Where rows `0..rows` of `run` units begin in the result, in units relative to `dest_base`, and the distance in
/// units between neighbouring units of a row.
fn dest_rows(dispatch: &Dispatch, rows: i128, run: i128) -> Result<(Hull, i128), Refusal> {
    let words = &dispatch.uniforms.map[..];
    let hull = Hull::to(0);
    Ok(match dispatch.program.op {
        op if op.facts().is_dense => (hull.along(rows - 1, run), 1),
        Op::StridedSliceGrad => (hull.along(rows - 1, words[2].into()), 1),
        Op::StridedSliceUpdate => (rows::update(words, rows, 2)?, words[1].into()),
        Op::ScatterMove | Op::ScatterCombine => {
            (hull.along(lists::slices(dispatch) - 1, words[0].into()), 1)
        }
        op => return Err(format!("{op:?} moves no rows")),
    })
}

/// The accesses of `rows_serial.wgsl` and `rows_coalesced.wgsl`.
fn rows_of_units(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let (part, unit) = match dispatch.program.form.prelude {
        Prelude::Vector(bytes) => (bytes as i128, bytes as i128),
        Prelude::Reversed => (16, 16),
        Prelude::Gathered => (4, 16),
        prelude => return Err(format!("units of {prelude:?}")),
    };
    let parts = unit / part;
    let run = i128::from(uniforms.run);
    let several =
        dispatch.program.source.name == "coalesced rows" && constant(dispatch, "ROWS")? == 4;
    let rows = match several {
        true => uniforms.tiles.into(),
        false => rows::of_segments(dispatch)?,
    };
    let (to, step) = dest_rows(dispatch, rows, run)?;
    let to = to.along(run - 1, step).plus(base(uniforms.dest_base));
    // If a unit has several parts, the shader compares only the first part with the bound.
    let units = source_units(dispatch, rows, run, parts, parts == 1)?;
    let all = source(units, part, part).chain([moved("result", 1, to.bytes(unit), unit)]);
    let all = all.chain(tuples(dispatch, rows)?);
    Ok(all.chain(lists::heads(dispatch, rows)).collect())
}

/// The accesses of `row_words.wgsl`.
fn row_words(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let unit = i128::from(uniforms.grid >> 20 & 15);
    let rows = rows::of_segments(dispatch)?;
    let run = i128::from(uniforms.units);
    let (to, step) = dest_rows(dispatch, rows, run)?;
    let words = &uniforms.map[..];
    let (length, quarter) = match dispatch.program.op {
        Op::StridedSliceGrad => (words[2].into(), words[1]),
        Op::StridedSliceUpdate => ((run - 1) * step + 1, words[2]),
        _ => (run, words[3]),
    };
    let quarter = i128::from(quarter);
    // An invocation writes four words together only if all four lie in its segment.
    let segment = i128::from(uniforms.segment);
    require(
        quarter > 0 && (segment % (4 * quarter) == 0 || quarter == segment),
        || format!("four words {quarter} apart in segments of {segment}"),
    )?;
    let to = to.along(length - 1, 1).plus(base(uniforms.dest_base));
    let units = source_units(dispatch, rows, run, 1, false)?;
    // The last of the four words may lie up to three times `quarter` words after the end.
    for hull in [units, Some(to)].into_iter().flatten() {
        let end = hull.bytes(unit).end + 16 * quarter.min(1 << 12);
        require(end < 1 << 31, || format!("byte {end}"))?;
    }
    let all = source(units, unit, 4).chain([moved("result", 1, to.bytes(unit), 4)]);
    Ok(all.chain(lists::heads(dispatch, rows)).collect())
}

/// The number of rows that a dispatch writes, one after the other, and the number of units in each.
pub(super) fn whole_rows(dispatch: &Dispatch) -> Result<(i128, i128), Refusal> {
    let [run, units] = [dispatch.uniforms.run, dispatch.uniforms.units].map(i128::from);
    require(run > 0 && units > 0 && units % run == 0, || {
        format!("{units} units in rows of {run}")
    })?;
    Ok((units / run, run))
}

/// The accesses of the kernels that write a contiguous result in words or vectors, and bind all units that any row may
/// read.
fn packed(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let [tiles, to] = [uniforms.tiles, uniforms.dest_base].map(i128::from);
    let name = dispatch.program.source.name;
    // The size of a unit in bytes, the number of rows, the number of units in a row, the bytes of the binding that the
    // result occupies, and the sizes in bytes of the blocks that are loaded and stored.
    let (unit, rows, run, result, blocks) = match name {
        "packed words" => {
            let (rows, run) = whole_rows(dispatch)?;
            let constant_run = constant(dispatch, "RUN")?;
            require(constant_run == 0 || constant_run == run, || {
                format!("rows of {constant_run}, but of {run}")
            })?;
            let each = constant(dispatch, "UNITS")?;
            let vectors = rows * run / 4;
            require(rows * run % 4 == 0 && (tiles - 1) * each < vectors, || {
                format!("{tiles} tiles for {vectors} vectors")
            })?;
            (
                4,
                rows,
                run,
                Hull::to(vectors - 1).plus(to).bytes(16),
                [4, 16],
            )
        }
        "unaligned" => {
            let unit = constant(dispatch, "UNIT_BYTES")?;
            let (rows, run) = whole_rows(dispatch)?;
            let result = Hull::to(rows * run - 1).plus(to).bytes(unit);
            (unit, rows, run, result, [16, 16])
        }
        _ => {
            let unit = constant(dispatch, "UNIT_BYTES")?;
            let row = constant(dispatch, "ROW_BYTES")?;
            let (each, rows, block, load) = match name {
                "packed bytes" => (4, 4 * tiles, 4, 4),
                _ => {
                    let is_near = dispatch.program.op == Op::StridedSlice;
                    let load = if is_near { 16 } else { 4 };
                    (constant(dispatch, "ROWS")?, uniforms.units.into(), 16, load)
                }
            };
            // Where vectors of 16 bytes are loaded, the last tile need not be full, but the rows of a tile lie at no
            // more than two positions of the outer dimensions. Where words are loaded, rows come in fours.
            let inner = uniforms.map[2 + 2 * uniforms.map[0].clamp(1, 8) as usize];
            let fits = match load {
                16 if constant(dispatch, "EVEN")? == 0 => i128::from(inner) >= each,
                16 => i128::from(inner) % each == 0,
                _ => rows % 4 == 0,
            };
            require(fits && (tiles - 1) * each < rows, || {
                format!("{tiles} tiles of {each} for {rows} rows")
            })?;
            let begin = to * block;
            let end = begin + rows * row;
            (unit, rows, row / unit, Bytes { begin, end }, [load, 4])
        }
    };
    // Except for packed words, the units of a row are contiguous in the source, whatever the uniforms' `step`.
    let units = match name {
        "packed words" => source_units(dispatch, rows, run, 1, false)?,
        _ => {
            let mut contiguous = *dispatch;
            contiguous.uniforms.step = 1;
            source_units(&contiguous, rows, run, 1, false)?
        }
    };
    let [load, store] = blocks;
    let touched = [units.map_or(0, |hull| hull.bytes(unit).end), result.end];
    require(touched.iter().all(|&end| end < 1 << 31), || {
        format!("bytes up to {touched:?}")
    })?;
    let store = Access {
        what: "result",
        binding: 1,
        // A vector that is not written whole is stored in words.
        touched: result.whole(store.min(4)),
        moved: Some(result),
    };
    let whole = (load == 16 || name == "unaligned" || name == "packed rows").then(|| {
        dispatch.spans[..2]
            .iter()
            .zip([load, 16])
            .all(|(span, block)| i128::from(span.bytes) % block == 0)
    });
    require(whole != Some(false), || {
        "bindings of no whole vectors".to_owned()
    })?;
    let all = source(units, unit, load).chain([store]);
    Ok(all.chain(tuples(dispatch, rows)?).collect())
}

/// The accesses of `subword.wgsl`.
fn subword(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let unit = constant(dispatch, "UNIT_BYTES")?;
    let (rows, run) = whole_rows(dispatch)?;
    let to = Hull::to(rows * run - 1).plus(base(dispatch.uniforms.dest_base));
    let units = source_units(dispatch, rows, run, 1, true)?;
    let all = source(units, unit, 4).chain([moved("result", 1, to.bytes(unit), 4)]);
    Ok(all.chain(tuples(dispatch, rows)?).collect())
}

/// The accesses of `gather_units.wgsl`.
fn gathered_units(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let rows = rows::of_segments(dispatch)? * i128::from(uniforms.run);
    let (size, stride) = (i128::from(uniforms.map[6]), uniforms.map[7]);
    let most = 16 * i128::from(dispatch.program.workgroup);
    require(
        size > 0 && size % 4 == 0 && size <= most && stride == 1,
        || format!("rows of {size} units, {stride} apart"),
    )?;
    let units = source_units(dispatch, rows, 1, 1, false)?;
    require(units.is_some_and(|hull| hull.low % 4 == 0), || {
        format!("rows that begin at {units:?}")
    })?;
    let to = Hull::to(rows - 1).plus(base(uniforms.dest_base));
    let all = source(units, 4, 16).chain([moved("result", 1, to.bytes(4), 4)]);
    Ok(all.chain(tuples(dispatch, rows)?).collect())
}

/// The accesses of `combine.wgsl` and `combine_subword.wgsl`.
fn combine(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let rows = rows::of_segments(dispatch)?;
    let (unit, run, block) = match dispatch.program.form.prelude {
        Prelude::Words(bytes) => (bytes as i128, i128::from(uniforms.run), bytes as i128),
        _ => (constant(dispatch, "UNIT_BYTES")?, uniforms.units.into(), 4),
    };
    let (to, step) = dest_rows(dispatch, rows, run)?;
    let to = to.along(run - 1, step).plus(base(uniforms.dest_base));
    let units = source_units(dispatch, rows, run, 1, false)?;
    let all = source(units, unit, block).chain([moved("result", 1, to.bytes(unit), block)]);
    let all = all.chain(lists::heads(dispatch, rows));
    Ok(all.chain(lists::links(dispatch, rows)).collect())
}

/// The accesses of `combine_atomic.wgsl`.
fn combine_atomic(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let uniforms = &dispatch.uniforms;
    let rows = i128::from(uniforms.units);
    require((i128::from(uniforms.tiles) - 1) * 4 < rows, || {
        format!("{} tiles for {rows} rows", uniforms.tiles)
    })?;
    let [pitch, run, slices] = [uniforms.step, uniforms.run, uniforms.map[3]].map(i128::from);
    let of = |count: i128, first: u32| {
        Hull::to(0)
            .along(count - 1, pitch)
            .along(run - 1, 1)
            .plus(base(first))
            .bytes(4)
    };
    let all = [
        moved("updates", 0, of(rows, uniforms.source_base), 4),
        moved("slices", 1, of(slices, uniforms.dest_base), 4),
    ];
    Ok(all.into_iter().chain(tuples(dispatch, rows)?).collect())
}
