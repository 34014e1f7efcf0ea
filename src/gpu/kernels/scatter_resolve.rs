//! Finds the slice of each row, and the rows of each slice: `shaders/scatter_resolve.wgsl`.

use super::{
    FOUR, Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Source, Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "resolve",
        text: include_str!("../../../shaders/scatter_resolve.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let resolves = matches!(job.map, RowMap::Resolve(_));
    resolves.then(|| four_rows(job, vectors, form(job.reach.kind)))
}

/// The launch of a kernel whose invocations each find the slices of four rows.
pub(super) fn four_rows(job: &Job<'_>, vectors: &Vectors, form: Form) -> Launch {
    let grid = Grid::invocations(job.rows.count.div_ceil(FOUR), job.reach);
    Launch::of(job, vectors, form, grid)
}

/// On software adapters, `LOOKS` makes invocations load entries of `head` before the atomics that change them. The
/// loads wait for memory together, whereas the atomics would wait one by one.
fn form(kind: Kind) -> Form {
    let looks = usize::from(kind == Kind::Software);
    Form::of(Prelude::None)
        .reading(Reads::Either)
        .with(&[("LOOKS", looks)])
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    match op {
        Op::ScatterResolve => vec![form(kind)],
        _ => Vec::new(),
    }
}
