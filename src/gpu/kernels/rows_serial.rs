//! Moves rows of 4-byte to 16-byte units, one invocation for each segment of a row: `shaders/rows_serial.wgsl`.

use super::{
    Form, Grid, Job, Kernel, Kind, Launch, Op, Prelude, Rows, Source, VECTOR, Vectors,
    pack_words::{MAX_RUN, PARTS},
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "serial rows",
        text: include_str!("../../../shaders/rows_serial.wgsl"),
    },
    launch,
    forms,
};

fn launch(job: &Job<'_>, vectors: &Vectors) -> Option<Launch> {
    let gathered = gathered(job, vectors);
    let (rows, prelude) = match gathered {
        Some(rows) => (rows, Prelude::Gathered),
        None => (vectors.rows, super::prelude(vectors)),
    };
    let grid = Grid::one_by_one(&rows, job.reach);
    let launch = Launch::of(job, vectors, Form::of(prelude), grid);
    Some(match gathered {
        // The result is counted in vectors, the source in units.
        Some(rows) => Launch {
            run: rows.run,
            dest_base: vectors.dest_base / PARTS as i64,
            tile_unit: rows.unit,
            ..launch
        },
        None => launch,
    })
}

/// The job's rows with vectors as units, if the kernel gathers each vector of the result from four 4-byte units of the
/// source, which may lie apart. Four units then take one store. `None` if units do not have 4 bytes, if rows have at
/// most [`MAX_RUN`] units or are not whole vectors of the result, or if the map is not dense.
fn gathered(job: &Job<'_>, vectors: &Vectors) -> Option<Rows> {
    let Rows { unit, run, .. } = vectors.rows;
    let fits = job.map.is_dense()
        && unit == 4
        && run > MAX_RUN
        && run.is_multiple_of(PARTS)
        && vectors.dest_base % PARTS as i64 == 0;
    fits.then_some(Rows {
        unit: VECTOR,
        run: run / PARTS,
        ..vectors.rows
    })
}

fn forms(op: Op, kind: Kind) -> Vec<Form> {
    if kind == Kind::Hardware || !op.facts().moves {
        return Vec::new();
    }
    let mut preludes = Prelude::of_vectors(op);
    if op.facts().is_dense {
        preludes.push(Prelude::Gathered);
    }
    preludes.into_iter().map(Form::of).collect()
}
