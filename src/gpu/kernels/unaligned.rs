//! Moves contiguous rows of 1-byte or 2-byte units in vectors, although rows may begin at any unit:
//! `shaders/unaligned.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rows, Source, VECTOR, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "unaligned",
        text: include_str!("../../../shaders/unaligned.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let is_subword = vectors.rows.unit < 4;
    if !job.map.is_dense() || !is_subword || job.rows.step != 1 {
        return None;
    }
    let spans = job.whole_spans()?;
    let units = job.units();
    let count = (units.head(VECTOR) + job.rows.units()).div_ceil(VECTOR / job.rows.unit);
    let packed = Rows::single(VECTOR, count);
    let grid = Grid::one_by_one(&packed, job.reach);
    Some(Launch {
        spans,
        tile_unit: VECTOR,
        ..Launch::of(job, &units, form(job.rows.unit), grid)
    })
}

fn form(unit: usize) -> Form {
    Form::of(Prelude::None).with(&[("UNIT_BYTES", unit)])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op.facts().is_dense {
        true => [1, 2].map(form).to_vec(),
        false => Vec::new(),
    }
}
