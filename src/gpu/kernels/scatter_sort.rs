//! Sorts the rows of each slice: `shaders/scatter_sort.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, RowMap, Rows, Source};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "sort",
        text: include_str!("../../../shaders/scatter_sort.wgsl"),
    },
    accepts: |job| matches!(job.map, RowMap::Sort(_)),
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    // A software adapter pays for each invocation.
    let looked_at = match job.reach.kind {
        Kind::Hardware => 1,
        Kind::Software => 16,
    };
    let tiles = Rows {
        count: job.rows.count.div_ceil(looked_at),
        ..job.rows
    };
    let mut grid = Grid::one_by_one(&tiles, job.reach)?;
    grid.segment = u32::try_from(looked_at).ok()?;
    Some(Launch::of(
        job,
        &job.vectors(),
        Form::of(Prelude::None),
        grid,
    ))
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::ScatterSort => vec![Form::of(Prelude::None)],
        _ => Vec::new(),
    }
}
