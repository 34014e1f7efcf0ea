//! Packs four rows of 1 to 4 bytes into whole words of the result: `shaders/pack_bytes.wgsl`.

use super::{
    Axis, Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Reads, RowMap, Rows, Source, Units,
    Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "packed bytes",
        text: include_str!("../../../shaders/pack_bytes.wgsl"),
    },
    launch,
    forms,
};

/// The number of rows that an invocation packs.
const ROWS: usize = 4;

/// Whether every four rows fill whole words of the result.
fn fills_words(vectors: &Vectors) -> bool {
    let Rows { unit, count, .. } = vectors.rows;
    count.is_multiple_of(ROWS) && (vectors.dest_base * unit as i64) % 4 == 0
}

/// Returns the rows to pack. These are the job's rows if the units of each row are contiguous. Otherwise each unit of
/// a slice's rows becomes a row, and the former run is returned too, as a dimension. `None` if the map is not dense,
/// units have 4 bytes or more, the rows to pack are longer than 4 bytes, `fills` is false for them, or the map has no
/// room for the dimension.
pub(super) fn rows(
    job: &Job<'_>,
    vectors: &Vectors,
    fills: impl Fn(&Vectors) -> bool,
) -> Option<(Vectors, Option<Axis>)> {
    if !job.map.is_dense() || vectors.rows.unit >= 4 {
        return None;
    }
    let fill = |vectors: &Vectors| {
        let Rows {
            unit, run, step, ..
        } = vectors.rows;
        let contiguous = step == 1 || run == 1;
        contiguous && run * unit <= 4 && fills(vectors)
    };
    if fill(vectors) {
        return Some((*vectors, None));
    }
    // If the units of a run lie apart, each may be packed as a row.
    let RowMap::Slice(map) = &job.map else {
        return None;
    };
    if job.rows.step == 1 || job.rows.run == 1 {
        return None;
    }
    let (rows, run) = map.split(&job.rows)?;
    let split = Vectors {
        rows,
        ..job.units()
    };
    fill(&split).then_some((split, Some(run)))
}

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let (vectors, split_run) = rows(job, vectors, fills_words)?;
    let Rows {
        unit, count, run, ..
    } = vectors.rows;
    let row = run * unit;
    let packed = Rows::single(row * ROWS, count / ROWS);
    let grid = Grid::one_by_one(&packed, job.reach);
    let launch = Launch::of(job, &vectors, form(row, unit, job.reach.kind), grid);
    Some(Launch {
        counts: Units {
            split_run,
            four_rows: true,
            ..launch.counts
        },
        // The shader counts the result in words.
        dest_base: vectors.dest_base * unit as i64 / 4,
        tile_unit: packed.unit,
        ..launch
    })
}

/// The form for rows of `row` bytes. On hardware, the kernel reads index tuples only word by word: `pack_rows` takes
/// most jobs with tuples, so a second pipeline that reads vectors would seldom run.
fn form(row: usize, unit: usize, kind: Kind) -> Form {
    let reads = match kind {
        Kind::Hardware => Reads::Words,
        Kind::Software => Reads::Either,
    };
    Form::of(Prelude::None)
        .reading(reads)
        .with(&[("ROW_BYTES", row), ("UNIT_BYTES", unit)])
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    if !op.facts().is_dense {
        return Vec::new();
    }
    let rows = [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (4, 2)];
    rows.map(|(row, unit)| form(row, unit, kind)).to_vec()
}
