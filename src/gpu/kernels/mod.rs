//! Every way in which a result can be written: one ordered table, of which the first kernel that accepts a job runs it.
//!
//! A kernel is a file here and one of the same name in `shaders/`. It says which jobs it accepts, and makes of one
//! what is its own: the vectors that it loads and stores, the grid, its constants, and the numbers of the uniform. The
//! job's row map adds where rows begin. Recording, `explain`, the tests of texts and pipelines and the table in
//! `benches/results/hardware.md` follow this one.
//!
//! What all invocations agree on is a number of the uniform. A constant is what the compiler must know: types, and how
//! many loads are in flight together. So there are few pipelines; [`Kernel::forms`] lists those of each kernel.

mod combine;
mod combine_atomic;
mod combine_subword;
mod pack_bytes;
mod pack_rows;
mod pack_words;
mod row_words;
mod rows_coalesced;
mod rows_serial;
mod scatter_long_lists;
mod scatter_middle_lists;
mod scatter_resolve;
mod scatter_sort;
mod subword;
mod transpose;
mod unaligned;

// What the files of the kernels use too.
pub(crate) use row_words::reaches;

use super::{
    caps::{Kind, Reach, Span, VECTOR},
    grid::{Grid, MOST_LANES},
    job::{Job, Vectors},
    lists::{FOUR, looked_at},
    maps::{MAX_AXES, MAX_PAIR_AXES, Op, Order, RowMap, Tiling, Units},
    program::{Form, Prelude, Program, Reads, Source},
    rule::Rule,
    uniforms::{Uniforms, wrap},
};
use crate::{Error, layout::Axis, pairs::PairAxis, plan::Rows};

/// All kernels, the most specific first.
#[rustfmt::skip]
pub(crate) static KERNELS: [Kernel; 16] = [
    // kernel                   what it writes                               units           adapters
    scatter_resolve::KERNEL, // the slice of each row, the rows of a slice   –               all
    scatter_sort::KERNEL,    // the rows of each slice in ascending order    –               all
    scatter_middle_lists::KERNEL, // up to 256 of them                       –               all
    scatter_long_lists::KERNEL, // more of them                              –               all
    combine_atomic::KERNEL,  // scatters that combine in any order           4 bytes         all
    combine_subword::KERNEL, // scatters that combine                        1, 2 bytes      all
    combine::KERNEL,         // scatters that combine                        4 to 16 bytes   all
    row_words::KERNEL,       // updates, scatters; gradients                 1, 2; 4 bytes   all
    transpose::KERNEL,       // slices whose rows lie apart in the source    1 to 16 bytes   hardware
    pack_rows::KERNEL,       // gathers; slices of rows close to each other  1 to 7; 3 bytes all
    pack_bytes::KERNEL,      // slices and gathers, rows of 1 to 4 bytes     1, 2 bytes      all
    pack_words::KERNEL,      // slices and gathers, rows of 4 to 32 bytes    4 bytes         software, hardware: 4 bytes
    unaligned::KERNEL,       // slices and gathers, contiguous rows          1, 2 bytes      all
    subword::KERNEL,         // slices and gathers                           1, 2 bytes      all
    rows_coalesced::KERNEL,  // all that is moved                            4 to 16 bytes   hardware
    rows_serial::KERNEL,     // all that is moved                            4 to 16 bytes   software
];

/// A way in which rows are moved or combined.
pub(crate) struct Kernel {
    pub(crate) source: Source,
    /// Whether it runs this job.
    accepts: fn(&Job<'_>) -> bool,
    /// What it makes of a job that it accepts. None if the device takes fewer workgroups.
    launch: fn(&Job<'_>) -> Option<Launch>,
    /// All forms in which it may be compiled for an operation, on a kind of adapter.
    pub(crate) forms: fn(Op, Kind) -> Vec<Form>,
}

/// What a kernel makes of a job.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) form: Form,
    pub(crate) grid: Grid,
    /// Source and result as they are bound.
    pub(crate) spans: [Span; 2],
    /// Numbers of the uniform, as `uniforms.wgsl` says.
    pub(crate) run: usize,
    pub(crate) step: isize,
    pub(crate) units: usize,
    pub(crate) source_base: i64,
    pub(crate) dest_base: i64,
    /// Bytes of the elements whose order is reversed within a vector, or of a unit of `row_words.wgsl`; otherwise 0.
    pub(crate) element: usize,
    /// How the row map counts.
    pub(crate) counts: Units,
    /// Bytes of what a tile is counted in.
    pub(crate) tile_unit: usize,
}

impl Launch {
    /// Rows of vectors, of which a tile is counted in vectors too.
    fn of(job: &Job<'_>, vectors: &Vectors, form: Form, grid: Grid) -> Self {
        Self {
            form,
            grid,
            spans: [job.source.span, job.dest.span],
            run: vectors.rows.run,
            step: vectors.rows.step,
            units: vectors.rows.units(),
            source_base: vectors.source_base,
            dest_base: vectors.dest_base,
            element: vectors.reversed,
            counts: Units {
                factor: vectors.factor,
                split_run: None,
                tiling: None,
                quarter: 0,
                four_rows: form.reads != Reads::Words,
                reads_vectors: form.reads != Reads::Words,
            },
            tile_unit: vectors.rows.unit,
        }
    }
}

/// What a kernel for whole vectors calls these.
fn prelude(vectors: &Vectors) -> Prelude {
    match vectors.reversed {
        0 => Prelude::Vector(vectors.rows.unit),
        _ => Prelude::Reversed,
    }
}

/// One dispatch: its pipeline, its uniforms and its bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) program: Program,
    pub(crate) uniforms: Uniforms,
    pub(crate) height: u32,
    /// Bytes of what `uniforms.segment` counts.
    pub(crate) tile_unit: usize,
    /// Source, result and, for a gather, indices; for the steps of a scatter, what each binds.
    pub(crate) spans: [Span; 4],
    /// Whether it counts the index tuples that are out of range. Where several dispatches look at the
    /// same ones, one of them does.
    pub(crate) counts: bool,
    /// The number of its first index tuple, for a gather.
    pub(crate) first_tuple: usize,
}

/// The kernel of a job.
pub(crate) fn kernel(job: &Job<'_>) -> &'static Kernel {
    let accepts = |kernel: &&Kernel| (kernel.accepts)(job);
    // The serial walker accepts whatever no other does.
    KERNELS
        .iter()
        .find(accepts)
        .unwrap_or(&KERNELS[KERNELS.len() - 1])
}

/// The dispatch of a job. None if it is too large for the device.
pub(crate) fn dispatch(job: &Job<'_>) -> Result<Option<Dispatch>, Error> {
    let (kernel, op) = (kernel(job), job.map.op());
    let Some(launch) = (kernel.launch)(job) else {
        return Ok(None);
    };
    let forms = || (kernel.forms)(op, job.reach.kind);
    debug_assert!(
        forms().contains(&launch.form),
        "{op:?}, {:?}: no {:?}",
        kernel.source,
        launch.form
    );
    let Some(map) = job.map.lowered(&launch.counts)? else {
        return Ok(None);
    };
    let ([source, dest], [third, fourth]) = (launch.spans, job.others);
    Ok(Some(Dispatch {
        program: Program {
            source: kernel.source,
            op,
            form: launch.form,
            lookup: map.lookup,
            workgroup: launch.grid.workgroup,
        },
        uniforms: Uniforms {
            run: wrap(launch.run as i64),
            step: wrap(launch.step as i64),
            units: wrap(launch.units as i64),
            tiles: launch.grid.tiles,
            segment: launch.grid.segment,
            grid: launch.grid.word() | wrap(launch.element as i64) << 20,
            source_base: wrap(launch.source_base),
            dest_base: wrap(launch.dest_base),
            map: map.words,
        },
        height: launch.grid.height,
        tile_unit: launch.tile_unit,
        spans: [source, dest, third, fourth],
        counts: false,
        first_tuple: 0,
    }))
}
