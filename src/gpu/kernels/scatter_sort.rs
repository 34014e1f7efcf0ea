//! Sorts short lists of the rows of a slice: `shaders/scatter_sort.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Order, Prelude, RowMap, Source, looked_at};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "sort",
        text: include_str!("../../../shaders/scatter_sort.wgsl"),
    },
    accepts: |job| matches!(&job.map, RowMap::Sort(map) if map.step == Order::Short),
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let looked_at = looked_at(job.reach.kind);
    let mut grid = Grid::invocations(job.rows.count.div_ceil(looked_at), job.reach)?;
    grid.segment = u32::try_from(looked_at).ok()?;
    Some(Launch::of(job, &job.units(), Form::of(Prelude::None), grid))
}

pub(super) fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::ScatterSort => vec![Form::of(Prelude::None)],
        _ => Vec::new(),
    }
}
