//! Gathers 4-byte units along the innermost axis of params, if the rows of params are short and many tuples point into
//! each: `shaders/gather_units.wgsl`. A workgroup first stages a row: it copies the row to workgroup memory.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, RowMap, Rows, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "gathered units",
        text: include_str!("../../../shaders/gather_units.wgsl"),
    },
    launch,
    forms,
};

/// The number of units in a vector. The kernel only takes rows of params that consist of whole vectors.
const PARTS: usize = 4;

/// The most units that a workgroup stages per invocation, and the most that it gathers per invocation. The staged units
/// of 256 invocations take 16 KiB, all the workgroup memory that WebGPU guarantees.
const EACH: usize = 16;

/// The smallest number of staged plus gathered units per invocation. With fewer, `rows_coalesced` is as fast.
const LEAST_EACH: usize = 8;

/// The number of tuples that point into each row of params. `None` if the kernel does not accept the job: it accepts
/// only gathers of single 4-byte units along the innermost axis, from rows of whole vectors that are short enough to
/// stage, with enough tuples for staging to pay.
fn tuples(job: &Job<'_>, vectors: &Vectors) -> Option<usize> {
    let RowMap::Gather(map) = &job.map else {
        return None;
    };
    let ([axis], Some((tuples, outer))) = (&map.coordinates[..], map.walk.split_last()) else {
        return None;
    };
    let Rows {
        unit, run, count, ..
    } = vectors.rows;
    let workgroup = job.reach.workgroup as usize;
    let is_row = unit == 4 && run == 1 && axis.stride == 1 && map.tuples.binds_all;
    let is_whole = axis.size.is_multiple_of(PARTS)
        && vectors.source_base % PARTS as i64 == 0
        && outer
            .iter()
            .all(|dimension| dimension.stride % PARTS.cast_signed() == 0);
    let is_short = (1..=EACH * workgroup).contains(&axis.size);
    // A sector has 8 units. With one tuple for every four units of a row, random tuples need most sectors of the row.
    let are_many =
        tuples.size >= axis.size / 4 && tuples.size + axis.size >= LEAST_EACH * workgroup;
    let are_listed = tuples.stride == 0 && !tuples.repeats && count.is_multiple_of(tuples.size);
    (is_row && is_whole && is_short && are_many && are_listed).then_some(tuples.size)
}

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    if job.reach.kind == Kind::Software {
        return None;
    }
    let tuples = tuples(job, vectors)?;
    let workgroup = job.reach.workgroup as usize;
    let segment = EACH * workgroup;
    let tiles = vectors.rows.count / tuples * tuples.div_ceil(segment);
    let grid = Grid::new(job.reach, 1, workgroup, segment, tiles);
    Some(Launch {
        spans: job.whole_spans()?,
        run: tuples,
        ..Launch::of(job, vectors, form(), grid)
    })
}

fn form() -> Form {
    Form::of(Prelude::None)
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    match (op, kind) {
        (Op::Gather, Kind::Hardware) => vec![form()],
        _ => Vec::new(),
    }
}
