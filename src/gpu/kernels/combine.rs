//! Combines rows of 4-byte to 16-byte units with slices, unit by unit: `shaders/combine.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rule, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "combine",
        text: include_str!("../../../shaders/combine.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let rule = job.map.rule().filter(|_| job.rows.unit >= 4)?;
    let grid = Grid::unit_by_unit(&vectors.rows, job.reach);
    let form = form(vectors.rows.unit, rule);
    Some(Launch::of(job, vectors, form, grid))
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
