//! Packs short rows of 4-byte units into whole vectors of the result: `shaders/pack_words.wgsl`.

use super::{
    Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Rows, Source, VECTOR,
    Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "packed words",
        text: include_str!("../../../shaders/pack_words.wgsl"),
    },
    launch,
    forms,
};

/// The most units of a row that is packed on software adapters. Longer rows are left to `rows_serial`.
pub(super) const MAX_RUN: usize = 8;

/// The number of units in a vector.
pub(super) const PARTS: usize = 4;

/// Whether the kernel packs the rows. On hardware it packs only gathered rows of one unit, and only if
/// `Gather::is_listed` holds. On software adapters, where every invocation, loop and store costs time, it packs all
/// short rows that fill whole vectors.
fn accepts(job: &Job<'_>, vectors: &Vectors) -> bool {
    let is_listed = match &job.map {
        RowMap::Gather(map) => vectors.rows.run == 1 && map.is_listed(),
        _ => false,
    };
    (job.reach.kind == Kind::Software || is_listed)
        && job.map.is_dense()
        && vectors.rows.unit == 4
        && vectors.rows.run <= MAX_RUN
        && vectors.rows.units().is_multiple_of(PARTS)
        && vectors.dest_base % PARTS as i64 == 0
}

/// The number of vectors that an invocation builds: two in a gather or a crop on a software adapter, so that the cache
/// misses of eight units overlap, otherwise one.
fn vectors_each(op: Op, kind: Kind) -> usize {
    match (op.facts().reports, kind) {
        (true, Kind::Software) => 2,
        _ => 1,
    }
}

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    if !accepts(job, vectors) {
        return None;
    }
    let (op, kind) = (job.map.op(), job.reach.kind);
    let count = (vectors.rows.units() / PARTS).div_ceil(vectors_each(op, kind));
    let packed = Rows::single(VECTOR, count);
    let grid = Grid::one_by_one(&packed, job.reach);
    Some(Launch {
        dest_base: vectors.dest_base / PARTS as i64,
        tile_unit: VECTOR,
        ..Launch::of(job, vectors, form(op, vectors.rows.run, kind), grid)
    })
}

fn form(op: Op, run: usize, kind: Kind) -> Form {
    // In gathers and crops, rows of two or more units share a pipeline, because each pipeline takes long to compile.
    let constant = match (op.facts().reports, run) {
        (true, 2..) => 0,
        _ => run,
    };
    let constants = [("RUN", constant), ("UNITS", vectors_each(op, kind))];
    let form = Form::of(Prelude::Gathered).with(&constants);
    match run {
        1 if kind == Kind::Software => form.reading(Reads::Either),
        1 => form.reading(Reads::Vectors),
        _ => form,
    }
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    match (op, kind) {
        (op, Kind::Software) if op.facts().is_dense => {
            (1..=MAX_RUN).map(|run| form(op, run, kind)).collect()
        }
        (Op::Gather, Kind::Hardware) => vec![form(op, 1, kind)],
        _ => Vec::new(),
    }
}
