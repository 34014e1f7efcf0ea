//! Sorts the short lists of rows (see `lists`), each by one invocation: `shaders/scatter_sort.wgsl`.

use super::{
    Form, Grid, Job, Kernel, Kind, Launch, Op, Order, Prelude, Source, Vectors, looked_at,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "sort",
        text: include_str!("../../../shaders/scatter_sort.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    job.map.lists(Order::Short)?;
    let looked_at = looked_at(job.reach.kind);
    let tiles = job.rows.count.div_ceil(looked_at);
    let grid = Grid::new(job.reach, 1, 1, looked_at, tiles);
    Some(Launch::of(job, vectors, Form::of(Prelude::None), grid))
}

pub(super) fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::ScatterSort => vec![Form::of(Prelude::None)],
        _ => Vec::new(),
    }
}
