//! Combines rows of 1-byte or 2-byte elements with slices, word by word: `shaders/combine_subword.wgsl`.

use super::{Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rows, Rule, Source, Vectors};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "subword combine",
        text: include_str!("../../../shaders/combine_subword.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, _: &Vectors) -> Option<Launch> {
    let rule = job.map.rule().filter(|_| job.rows.unit < 4)?;
    // `run` is the most words that a slice touches, wherever in a word it begins.
    let words = Rows {
        unit: 4,
        run: (job.rows.run - 1).div_ceil(4 / job.rows.unit) + 1,
        ..job.rows
    };
    let grid = Grid::unit_by_unit(&words, job.reach);
    let form = form(job.rows.unit, rule);
    Some(Launch {
        run: words.run,
        units: job.rows.run,
        tile_unit: 4,
        ..Launch::of(job, &job.units(), form, grid)
    })
}

fn form(unit: usize, rule: Rule) -> Form {
    Form::of(Prelude::Subword).with(&[("UNIT_BYTES", unit), ("RULE", rule.of_parts())])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    let rules = Rule::all().filter(|(_, element)| op == Op::ScatterCombine && *element < 4);
    rules.map(|(rule, element)| form(element, rule)).collect()
}
