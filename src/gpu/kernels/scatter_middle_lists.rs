//! Sorts lists of up to 256 rows of a slice in workgroup memory: `shaders/scatter_middle_lists.wgsl`.

use super::{Form, Grid, Job, Kernel, Launch, Order, Prelude, RowMap, Source, scatter_sort};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "middle lists",
        text: include_str!("../../../shaders/scatter_middle_lists.wgsl"),
    },
    accepts: |job| matches!(&job.map, RowMap::Sort(map) if map.step == Order::Middle),
    launch,
    forms: scatter_sort::forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let RowMap::Sort(map) = &job.map else {
        return None;
    };
    let grid = Grid::workgroups(map.lists.middle_groups(job.reach.workgroup), job.reach)?;
    Some(Launch::of(job, &job.units(), Form::of(Prelude::None), grid))
}
