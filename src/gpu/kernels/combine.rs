//! Combines rows of 4-byte to 16-byte units with slices, unit by unit: `shaders/combine.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, RowMap, Rule, Source};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "combine",
        text: include_str!("../../../shaders/combine.wgsl"),
    },
    accepts: |job| matches!(&job.map, RowMap::Scatter(map) if map.combines && job.rows.unit >= 4),
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let RowMap::Scatter(map) = &job.map else {
        return None;
    };
    let vectors = job.vectors();
    let grid = Grid::unit_by_unit(&vectors.rows, job.reach)?;
    Some(Launch::of(
        job,
        &vectors,
        form(vectors.rows.unit, map.rule),
        grid,
    ))
}

fn form(unit: usize, rule: Rule) -> Form {
    let [combine, numbers] = rule.of_words();
    Form::of(Prelude::Words(unit)).with(&[("COMBINE", combine), ("NUMBERS", numbers)])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    if op != Op::ScatterCombine {
        return Vec::new();
    }
    let units = |(rule, element)| {
        [4, 8, 16].map(|unit| (unit >= element && element >= 4).then(|| form(unit, rule)))
    };
    Rule::all().flat_map(units).flatten().collect()
}
