//! Links long lists of the rows of a slice anew, in ascending order: `shaders/scatter_long_lists.wgsl`.

use super::{Form, Grid, Job, Kernel, Launch, Order, Prelude, RowMap, Source, scatter_sort};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "long lists",
        text: include_str!("../../../shaders/scatter_long_lists.wgsl"),
    },
    accepts: |job| matches!(&job.map, RowMap::Sort(map) if map.step == Order::Long),
    launch,
    forms: scatter_sort::forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let RowMap::Sort(map) = &job.map else {
        return None;
    };
    let grid = Grid::workgroups(map.lists.long_groups(), job.reach)?;
    Some(Launch::of(job, &job.units(), Form::of(Prelude::None), grid))
}
