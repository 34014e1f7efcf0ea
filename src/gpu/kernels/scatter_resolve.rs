//! Finds the slice of each row, and the rows of each slice: `shaders/scatter_resolve.wgsl`.

use super::{FOUR, Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Source};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "resolve",
        text: include_str!("../../../shaders/scatter_resolve.wgsl"),
    },
    accepts: |job| matches!(job.map, RowMap::Resolve(_)),
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    match &job.map {
        RowMap::Resolve(_) => four_rows(job, form(job.reach.kind)),
        _ => None,
    }
}

/// The launch of a kernel that finds the slices of four rows at once.
pub(super) fn four_rows(job: &Job<'_>, form: Form) -> Option<Launch> {
    let vectors = job.vectors();
    let grid = Grid::invocations(job.rows.count.div_ceil(FOUR), job.reach)?;
    Some(Launch::of(job, &vectors, form, grid))
}

/// `LOOKS`: on software adapters the shader reads `head` before the atomic that changes it.
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
