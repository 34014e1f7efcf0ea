//! Moves 1-byte or 2-byte units, one word of the result after the other: `shaders/subword.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, RowMap, Source};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "subword",
        text: concat!(
            include_str!("../../../shaders/subword_access.wgsl"),
            include_str!("../../../shaders/subword.wgsl")
        ),
    },
    accepts: |job| {
        let dense = matches!(job.map, RowMap::Slice(_) | RowMap::Gather(_));
        dense && job.vectors().rows.unit < 4
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let vectors = job.vectors();
    let grid = Grid::word_by_word(&vectors.rows, vectors.head(4), job.reach)?;
    Some(Launch {
        tile_unit: 4,
        ..Launch::of(job, &vectors, form(vectors.rows.unit), grid)
    })
}

fn form(unit: usize) -> Form {
    Form::of(Prelude::None).with(&[("UNIT_BYTES", unit)])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::StridedSlice | Op::Gather => [1, 2].map(form).to_vec(),
        _ => Vec::new(),
    }
}
