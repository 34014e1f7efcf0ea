//! Sorts the lists that are too long for `scatter_sort`: those of up to 256 rows in workgroup memory, longer ones by
//! linking them anew. `shaders/scatter_long_lists.wgsl`.

use super::{Form, Grid, Job, Kernel, Launch, Order, Prelude, Source, Vectors, scatter_sort};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "long lists",
        text: include_str!("../../../shaders/scatter_long_lists.wgsl"),
    },
    launch,
    forms: scatter_sort::forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let lists = job.map.lists(Order::Long)?;
    let grid = Grid::workgroups(lists.long_groups(job.reach.workgroup), job.reach);
    Some(Launch::of(job, vectors, Form::of(Prelude::None), grid))
}
