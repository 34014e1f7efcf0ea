//! Moves rows of 4-byte to 16-byte units, with four loads of each invocation in flight: `shaders/rows_coalesced.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "coalesced rows",
        text: include_str!("../../../shaders/rows_coalesced.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let (grid, rows) = Grid::in_flight(&vectors.rows, job.reach);
    let form = form(super::prelude(vectors), rows);
    let is_hardware = job.reach.kind == Kind::Hardware;
    is_hardware.then(|| Launch::of(job, vectors, form, grid))
}

/// The form in which the four units of an invocation belong to `rows` rows: one or four.
fn form(prelude: Prelude, rows: usize) -> Form {
    Form::of(prelude).with(&[("ROWS", rows)])
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    if kind == Kind::Software || !op.facts().moves {
        return Vec::new();
    }
    let each = |prelude| [1, 4].map(|rows| form(prelude, rows));
    let preludes = Prelude::of_vectors(op).into_iter();
    // `row_words` takes gradients of 4-byte units.
    let taken = |prelude: &Prelude| op == Op::StridedSliceGrad && *prelude == Prelude::Vector(4);
    preludes
        .filter(|prelude| !taken(prelude))
        .flat_map(each)
        .collect()
}
