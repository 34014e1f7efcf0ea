//! Moves 1-byte or 2-byte units, one word of the result after the other: `shaders/subword.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "subword",
        text: include_str!("../../../shaders/subword.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    if !job.map.op().facts().is_dense || vectors.rows.unit >= 4 {
        return None;
    }
    let grid = Grid::word_by_word(&vectors.rows, vectors.head(4), job.reach);
    Some(Launch {
        tile_unit: 4,
        ..Launch::of(job, vectors, form(vectors.rows.unit), grid)
    })
}

fn form(unit: usize) -> Form {
    Form::of(Prelude::Subword).with(&[("UNIT_BYTES", unit)])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op.facts().is_dense {
        true => [1, 2].map(form).to_vec(),
        false => Vec::new(),
    }
}
