//! Contiguous rows of 1-byte or 2-byte units that begin at any byte, by vectors: `shaders/unaligned.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rows, Source, Span, VECTOR};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "unaligned",
        text: include_str!("../../../shaders/unaligned.wgsl"),
    },
    accepts,
    launch,
    forms,
};

fn accepts(job: &Job<'_>) -> bool {
    let vectors = job.vectors();
    let vector = VECTOR as u64;
    // Addresses are 32 bits with a sign, and go a vector beyond either end.
    let most = job
        .reach
        .binding
        .min(job.reach.units.saturating_sub(vector));
    job.map.is_dense()
        && vectors.rows.unit < 4
        && job.rows.step == 1
        && job.whole_vectors
        && job.reach.alignment.is_multiple_of(vector)
        && spans(job).iter().all(|span| span.bytes <= most)
}

/// Source and result, bound as whole vectors.
fn spans(job: &Job<'_>) -> [Span; 2] {
    [job.source.span, job.dest.span].map(|span| Span {
        bytes: span.bytes.next_multiple_of(VECTOR as u64),
        ..span
    })
}

fn launch(job: &Job<'_>) -> Option<Launch> {
    let units = job.units();
    let packed = Rows {
        unit: VECTOR,
        count: (units.head(VECTOR) + job.rows.units()).div_ceil(VECTOR / job.rows.unit),
        run: 1,
        step: 1,
    };
    let grid = Grid::one_by_one(&packed, job.reach)?;
    Some(Launch {
        spans: spans(job),
        tile_unit: VECTOR,
        ..Launch::of(job, &units, form(job.rows.unit), grid)
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
