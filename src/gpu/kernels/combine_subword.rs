//! Rows of elements of 1 or 2 bytes are combined with slices, word by word: `shaders/combine_subword.wgsl`.

use super::{Form, Job, Kernel, Kind, Launch, Op, Prelude, RowMap, Rule, Source, subword_store};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "subword combine",
        text: concat!(
            include_str!("../../../shaders/subword_access.wgsl"),
            include_str!("../../../shaders/combine_subword.wgsl")
        ),
    },
    accepts: |job| matches!(&job.map, RowMap::Scatter(map) if map.combines && job.rows.unit < 4),
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    match &job.map {
        RowMap::Scatter(map) => subword_store::words(job, &job.rows, form(job.rows.unit, map.rule)),
        _ => None,
    }
}

fn form(unit: usize, rule: Rule) -> Form {
    Form::of(Prelude::None).with(&[("UNIT_BYTES", unit), ("RULE", rule.of_parts())])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    let rules = Rule::all().filter(|(_, element)| op == Op::ScatterCombine && *element < 4);
    rules.map(|(rule, element)| form(element, rule)).collect()
}
