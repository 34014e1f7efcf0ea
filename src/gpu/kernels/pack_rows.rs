//! Packs rows of at most 7 bytes into whole vectors of the result: `shaders/pack_rows.wgsl`.
//!
//! An invocation packs as many rows as fill whole vectors: 16 rows of an odd number of bytes, or 8 of an even number.
//!
//! | rows | loads | file |
//! |---|---|---|
//! | of a gather or a crop | the words of each row | `load_rows.wgsl` |
//! | of a slice, close to one another: see [`STRIDES`] | the vectors that contain all rows of an invocation, or of a workgroup: see [`is_staged`] | `load_near.wgsl` |

use super::{
    Axis, Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Rows, Source, Units,
    VECTOR, Vectors, pack_bytes,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "packed rows",
        text: include_str!("../../../shaders/pack_rows.wgsl"),
    },
    launch,
    forms,
};

const ANYWHERE: Source = Source {
    name: "anywhere",
    text: include_str!("../../../shaders/load_rows.wgsl"),
};

const NEAR: Source = Source {
    name: "near",
    text: include_str!("../../../shaders/load_near.wgsl"),
};

/// The size in bytes of the longest row of a gather that is packed: 16 such rows, and the words loaded for them, fit in
/// 64 registers. Rows of 4 bytes are not packed here, because they are units of 4 bytes unless a tensor begins in the
/// middle of a word.
const MOST_BYTES: usize = 7;

/// The slices whose rows lie close together. Each entry has the size of a row, the size of a unit of the source, and
/// the distances from one row to the next, all in bytes. The first two entries select every second, third or fourth
/// element of 1 or 2 bytes, or all elements backwards. The third selects pixels of four bytes without the last byte,
/// or pixels of three bytes backwards. There are two pipelines for each distance, so these are only the most common
/// ones.
const STRIDES: [(usize, usize, &[isize]); 3] = [
    (1, 1, &[2, 3, 4, -1]),
    (2, 2, &[4, 6, 8, -2]),
    (3, 1, &[4, -3]),
];

/// The number of rows of `bytes` bytes that an invocation packs, so that they fill whole vectors.
fn rows_at_once(bytes: usize) -> usize {
    match bytes % 2 {
        0 => 8,
        _ => 16,
    }
}

/// The rows of a job as the kernel packs them.
struct Packed {
    vectors: Vectors,
    /// The job's run as a dimension, if each unit of the job is packed as a row.
    split_run: Option<Axis>,
    /// The distance in bytes from one row of a slice to the next; `None` in a gather.
    stride: Option<isize>,
    /// Whether the rows of each invocation are evenly spaced in the source. Always true for a gather, which does not
    /// use this.
    even: bool,
}

/// The rows that the kernel packs. `None` if the kernel does not accept the job.
fn packed(job: &Job<'_>, vectors: &Vectors) -> Option<Packed> {
    job.whole_spans()?;
    let packed = match &job.map {
        RowMap::Gather(map) if map.tuples.binds_all && map.tuples.bound > 0 && map.is_listed() => {
            anywhere(job, vectors)?
        }
        RowMap::Slice(map) => near(job, vectors, map.axes.last().copied())?,
        _ => return None,
    };
    let Rows { unit, .. } = packed.vectors.rows;
    let is_aligned = (packed.vectors.dest_base * unit as i64) % VECTOR as i64 == 0;
    is_aligned.then_some(packed)
}

/// The rows of a gather. `None` if their units lie apart, if they have exactly 4 bytes or more than [`MOST_BYTES`], if
/// they have an even number of bytes in 1-byte units, or if the number of rows is not a multiple of four. Also `None`
/// on software adapters, where compiling the shader takes longer than the shader saves. Rows of crops are left to
/// `pack_bytes`: looking up a row takes so many instructions that wider stores save no time, and a shader that looks
/// up sixteen rows takes seconds to compile.
fn anywhere(job: &Job<'_>, vectors: &Vectors) -> Option<Packed> {
    if job.reach.kind == Kind::Software {
        return None;
    }
    let Rows {
        unit, run, count, ..
    } = vectors.rows;
    let row = unit * run;
    let contiguous = job.rows.step == 1 || job.rows.run == 1;
    // Rows of an even number of bytes have 1-byte units only in tensors that begin at an odd byte. Such tensors are
    // rare and left to other kernels, so that each length of a row has one pipeline.
    let usual = unit == 2 - row % 2;
    let short = row <= MOST_BYTES && row != 4;
    (short && usual && contiguous && count.is_multiple_of(4)).then_some(Packed {
        vectors: *vectors,
        split_run: None,
        stride: None,
        even: true,
    })
}

/// The rows of a slice whose map has the innermost dimension `inner`. `None` if the rows are not among [`STRIDES`], or
/// the rows of an invocation may lie at more than two positions of the other dimensions.
fn near(job: &Job<'_>, vectors: &Vectors, inner: Option<Axis>) -> Option<Packed> {
    let (vectors, split_run) = pack_bytes::rows(job, vectors, |_| true)?;
    let Rows { unit, run, .. } = vectors.rows;
    let inner = split_run.or(inner)?;
    let stride = inner.stride / vectors.factor.cast_signed();
    let stride = stride.checked_mul(unit.cast_signed())?;
    let row = unit * run;
    let known = STRIDES
        .iter()
        .any(|&(bytes, of, strides)| (bytes, of) == (row, unit) && strides.contains(&stride));
    (known && inner.size >= rows_at_once(row)).then_some(Packed {
        vectors,
        split_run,
        stride: Some(stride),
        even: inner.size.is_multiple_of(rows_at_once(row)),
    })
}

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let Packed {
        vectors,
        split_run,
        stride,
        even,
    } = packed(job, vectors)?;
    let Rows {
        unit, run, count, ..
    } = vectors.rows;
    let row = unit * run;
    let grid = Rows::single(VECTOR, count.div_ceil(rows_at_once(row)));
    let grid = Grid::one_by_one(&grid, job.reach);
    let launch = Launch::of(
        job,
        &vectors,
        form(row, unit, stride, even, job.reach.kind),
        grid,
    );
    Some(Launch {
        spans: job.whole_spans()?,
        units: count,
        dest_base: vectors.dest_base * unit as i64 / VECTOR as i64,
        tile_unit: rows_at_once(row) * row,
        counts: Units {
            split_run,
            ..launch.counts
        },
        ..launch
    })
}

/// Whether a workgroup whose rows are all evenly spaced copies their source to workgroup memory, as `load_near.wgsl`
/// explains. Slices of every second byte, and slices read backwards, mostly shrink or flip images line by line, so the
/// rows of a workgroup are seldom evenly spaced. On software adapters, the copy costs barriers and saves nothing.
fn is_staged(stride: isize, kind: Kind) -> bool {
    stride > 2 && kind == Kind::Hardware
}

fn form(row: usize, unit: usize, stride: Option<isize>, even: bool, kind: Kind) -> Form {
    let rows = rows_at_once(row);
    let constants = [
        ("ROW_BYTES", row),
        ("UNIT_BYTES", unit),
        ("ROWS", rows),
        ("EVEN", even.into()),
    ];
    match stride {
        None => Form::of(Prelude::File(ANYWHERE))
            .with(&constants)
            .reading(Reads::Vectors),
        Some(stride) => Form::of(Prelude::File(NEAR)).with(&constants).with(&[
            ("STRIDE", stride),
            ("STAGED", is_staged(stride, kind).into()),
        ]),
    }
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    match op {
        Op::Gather if kind == Kind::Hardware => {
            let rows = (1..=MOST_BYTES).filter(|&row| row != 4);
            rows.map(|row| form(row, 2 - row % 2, None, true, kind))
                .collect()
        }
        Op::StridedSlice => {
            let of = |&(row, unit, strides): &(usize, usize, &'static [isize])| {
                strides.iter().flat_map(move |&stride| {
                    [true, false].map(|even| form(row, unit, Some(stride), even, kind))
                })
            };
            STRIDES.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invocation_packs_whole_vectors_and_groups_of_four_rows() {
        let rows = (1..=MOST_BYTES).chain(STRIDES.iter().map(|&(row, ..)| row));
        for row in rows.filter(|&row| row != 4) {
            assert_eq!(rows_at_once(row) * row % VECTOR, 0, "{row}");
            assert_eq!(rows_at_once(row) % 4, 0, "{row}");
        }
    }

    /// `load_near.wgsl` loads four vectors for the rows of an invocation.
    #[test]
    fn four_vectors_contain_rows_that_lie_close_together() {
        for (row, unit, strides) in STRIDES {
            for stride in strides.iter().map(|stride| stride.unsigned_abs()) {
                let bytes = (rows_at_once(row) - 1) * stride + row;
                assert!(bytes <= 4 * VECTOR, "{row} bytes, {stride} apart");
                assert!(stride.is_multiple_of(unit) && row <= 4, "{row} bytes");
                // In workgroup memory, the rows of every invocation begin at the same byte of a vector.
                let pitch = rows_at_once(row) * stride;
                assert!(pitch.is_multiple_of(VECTOR), "{row} bytes, {stride} apart");
                assert_eq!(
                    pitch / VECTOR,
                    bytes.div_ceil(VECTOR),
                    "{row} bytes, {stride} apart"
                );
            }
        }
    }
}
