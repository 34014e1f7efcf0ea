//! Short rows of 4-byte units fill whole vectors of the result: `shaders/pack_words.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rows, Source, VECTOR};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "packed words",
        text: include_str!("../../../shaders/pack_words.wgsl"),
    },
    accepts,
    launch,
    forms,
};

/// Units of the longest row.
pub(super) const MAX_RUN: usize = 8;

/// Units of a vector.
pub(super) const PARTS: usize = 4;

fn accepts(job: &Job<'_>) -> bool {
    let vectors = job.vectors();
    job.reach.kind == Kind::Software
        && job.map.is_dense()
        && vectors.rows.unit == 4
        && vectors.rows.run <= MAX_RUN
        && vectors.rows.units().is_multiple_of(PARTS)
        && vectors.dest_base % PARTS as i64 == 0
}

/// Vectors that an invocation builds: in a gather two, so that eight cache misses overlap.
fn vectors_each(op: Op) -> usize {
    match op {
        Op::Gather => 2,
        _ => 1,
    }
}

fn launch(job: &Job<'_>) -> Option<Launch> {
    let (vectors, op) = (job.vectors(), job.map.op());
    let packed = Rows {
        unit: VECTOR,
        count: (vectors.rows.units() / PARTS).div_ceil(vectors_each(op)),
        run: 1,
        step: 1,
    };
    let grid = Grid::one_by_one(&packed, job.reach)?;
    Some(Launch {
        dest_base: vectors.dest_base / PARTS as i64,
        tile_unit: VECTOR,
        ..Launch::of(job, &vectors, form(op, vectors.rows.run), grid)
    })
}

fn form(op: Op, run: usize) -> Form {
    let form = Form::of(Prelude::Gathered).with(&[("RUN", run), ("UNITS", vectors_each(op))]);
    match run {
        1 => form.looking_up_four(),
        _ => form,
    }
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    match (op, kind) {
        (Op::StridedSlice | Op::Gather, Kind::Software) => {
            (1..=MAX_RUN).map(|run| form(op, run)).collect()
        }
        _ => Vec::new(),
    }
}
