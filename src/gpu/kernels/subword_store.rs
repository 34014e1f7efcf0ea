//! Rows of units of 1 or 2 bytes go to places of their own, word by word: `shaders/subword_store.wgsl`.

use super::{
    Axis, Form, Grid, Job, Kernel, Kind, Launch, MAX_PAIR_AXES, Op, Prelude, RowMap, Rows, Source,
    Units, Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "subword store",
        text: concat!(
            include_str!("../../../shaders/subword_access.wgsl"),
            include_str!("../../../shaders/subword_store.wgsl")
        ),
    },
    accepts: |job| {
        let places = match &job.map {
            RowMap::Update(_) => true,
            RowMap::Scatter(map) => !map.combines,
            _ => false,
        };
        places && job.rows.unit < 4
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>) -> Option<Launch> {
    let unit = job.rows.unit;
    let RowMap::Update(map) = &job.map else {
        return words(job, &job.rows, form(unit));
    };
    // Units that lie a word or more apart are rows of their own, as long as there is room for another dimension.
    let apart = map.run.size > 1 && map.run.to >= 4 / unit;
    if apart && map.axes.len() < MAX_PAIR_AXES {
        let rows = Rows {
            count: job.rows.units(),
            run: 1,
            step: 1,
            ..job.rows
        };
        let run = Axis {
            size: map.run.size,
            stride: map.run.from,
        };
        let launch = words(job, &rows, form(unit))?;
        return Some(Launch {
            counts: Units {
                split_run: Some(run),
                ..launch.counts
            },
            ..launch
        });
    }
    words(job, &job.rows, form(unit))
}

/// The launch of a kernel that walks the words of a row in the result. Its units lie so close together that there is
/// one in every word.
pub(super) fn words(job: &Job<'_>, rows: &Rows, form: Form) -> Option<Launch> {
    let per_word = 4 / rows.unit;
    let step = match &job.map {
        RowMap::Update(map) => map.run.to,
        _ => 1,
    };
    // Wherever in a word a row begins, it lies in at most this many.
    let words = Rows {
        unit: 4,
        count: rows.count,
        run: ((rows.run - 1) * step).div_ceil(per_word) + 1,
        step: 1,
    };
    let units = Vectors {
        rows: *rows,
        ..job.units()
    };
    let grid = Grid::one_by_one(&words, job.reach)?;
    Some(Launch {
        run: words.run,
        units: rows.run,
        tile_unit: 4,
        ..Launch::of(job, &units, form, grid)
    })
}

fn form(unit: usize) -> Form {
    Form::of(Prelude::None).with(&[("UNIT_BYTES", unit)])
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::StridedSliceUpdate | Op::ScatterMove => [1, 2].map(form).to_vec(),
        _ => Vec::new(),
    }
}
