//! Combines short rows of 4-byte integers by atomics, in any order: `shaders/combine_atomic.wgsl`.

use super::{Form, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "atomic combine",
        text: include_str!("../../../shaders/combine_atomic.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let RowMap::Atomic(map) = &job.map else {
        return None;
    };
    Some(Launch {
        run: map.run,
        step: map.pitch.cast_signed(),
        ..super::scatter_resolve::four_rows(job, vectors, form())
    })
}

fn form() -> Form {
    Form::of(Prelude::None).reading(Reads::Either)
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::ScatterAtomic => vec![form()],
        _ => Vec::new(),
    }
}
