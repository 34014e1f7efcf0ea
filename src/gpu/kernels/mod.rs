//! All kernels in one ordered table. The first that accepts a job runs it.
//!
//! A kernel is a file here and a file of the same name in `shaders/`. The file here decides which jobs the kernel runs,
//! and how: the vectors that it loads and stores, the grid, its constants, and all numbers of the uniforms except those
//! that say where rows begin, which the job's row map writes. Recording, `explain`, the tests of texts and pipelines
//! and the table in `benches/results/hardware.md` follow this table.
//!
//! Values that are the same for all invocations are numbers of the uniforms. Only what the compiler must know is a
//! constant, such as how many loads are in flight together. So there are few pipelines. [`Kernel::forms`] lists the
//! variants of each kernel.

mod combine;
mod combine_atomic;
mod combine_subword;
mod gather_units;
mod pack_bytes;
mod pack_rows;
mod pack_words;
mod row_words;
mod rows_coalesced;
mod rows_serial;
mod scatter_long_lists;
mod scatter_resolve;
mod scatter_sort;
mod subword;
mod transpose;
mod unaligned;

pub(crate) use row_words::reaches;

use super::{
    caps::{INVOCATION_MEMORY, Kind, Reach, Span, VECTOR},
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
    // kernel                        writes                                         in units of    adapters
    scatter_resolve::KERNEL,      // the slice of each row, the list of each slice –              all
    scatter_sort::KERNEL,         // short lists in ascending order                –              all
    scatter_long_lists::KERNEL,   // longer lists in ascending order               –              all
    combine_atomic::KERNEL,       // scatters that combine in any order            4 bytes        all
    combine_subword::KERNEL,      // scatters that combine                         1, 2 bytes     all
    combine::KERNEL,              // scatters that combine                         4 to 16 bytes  all
    row_words::KERNEL,            // updates, scatters, gradients                  1, 2 bytes     all; gradients of 4 bytes: hardware
    transpose::KERNEL,            // slices whose rows lie apart in the source     1 to 16 bytes  hardware
    pack_rows::KERNEL,            // slices and gathers, rows of 1 to 7 bytes      1, 2 bytes     all; gathers: hardware
    pack_bytes::KERNEL,           // slices and gathers, rows of 1 to 4 bytes      1, 2 bytes     all
    pack_words::KERNEL,           // slices and gathers, rows of 4 to 32 bytes     4 bytes        software; gathers of 4 bytes: all
    gather_units::KERNEL,         // gathers from short rows along the inner axis  4 bytes        hardware
    unaligned::KERNEL,            // slices and gathers, contiguous rows           1, 2 bytes     all
    subword::KERNEL,              // slices and gathers                            1, 2 bytes     all
    rows_coalesced::KERNEL,       // every other result                            4 to 16 bytes  hardware
    rows_serial::KERNEL,          // every other result                            4 to 16 bytes  software
];

/// A shader, and the jobs that it runs.
pub(crate) struct Kernel {
    pub(crate) source: Source,
    /// Describes how the kernel runs a job whose rows are divided into the given vectors. `None` if the kernel does not
    /// accept the job.
    launch: fn(&Job<'_>, &Vectors) -> Option<Launch>,
    /// All forms in which the kernel can be compiled for an operation on a kind of adapter.
    pub(crate) forms: fn(Op, Kind) -> Vec<Form>,
}

/// How a kernel runs a job.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) form: Form,
    /// `None` if the job must be cut, because it needs too many workgroups or its bindings are too large for the
    /// kernel.
    pub(crate) grid: Option<Grid>,
    /// The bindings of source and result.
    pub(crate) spans: [Span; 2],
    /// This field and the next four are numbers of the uniforms, under the same names. `uniforms.wgsl` says what each
    /// means.
    pub(crate) run: usize,
    pub(crate) step: isize,
    pub(crate) units: usize,
    pub(crate) source_base: i64,
    pub(crate) dest_base: i64,
    /// The size in bytes of the elements whose order is reversed within each vector; 0 if no order is reversed. In
    /// `row_words`, the size in bytes of a unit.
    pub(crate) element: usize,
    /// How the row map's part of the uniforms counts units and rows.
    pub(crate) counts: Units,
    /// The size in bytes of the units in which the length of tiles is measured.
    pub(crate) tile_unit: usize,
}

impl Launch {
    /// The launch of a kernel that moves rows by vectors, and measures tiles in vectors too.
    fn of(job: &Job<'_>, vectors: &Vectors, form: Form, grid: Option<Grid>) -> Self {
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

/// The prelude of a kernel that moves these vectors.
fn prelude(vectors: &Vectors) -> Prelude {
    match vectors.reversed {
        0 => Prelude::Vector(vectors.rows.unit),
        _ => Prelude::Reversed,
    }
}

/// Whether the environment variable `WGSLICE_REFUSE` has the kernel's name, among others between commas. Such a kernel
/// accepts no job, so that the next takes it: `bash tests/run-hardware --leave-one-out` measures so what each is worth.
#[cfg(feature = "test-seams")]
fn is_refused(kernel: &Kernel) -> bool {
    static REFUSED: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let refused = REFUSED.get_or_init(|| std::env::var("WGSLICE_REFUSE").unwrap_or_default());
    refused.split(',').any(|name| name == kernel.source.name)
}

#[cfg(not(feature = "test-seams"))]
fn is_refused(_: &Kernel) -> bool {
    false
}

/// A dispatch: its program, uniforms, grid and bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) program: Program,
    pub(crate) uniforms: Uniforms,
    /// The number of workgroups along y. The uniforms hold that along x.
    pub(crate) height: u32,
    /// The size in bytes of the units that `uniforms.segment` counts.
    pub(crate) tile_unit: usize,
    /// Bindings 0 to 3 of the shader: source, result and, in a gather or a crop, the index tuples. Each shader of a
    /// scatter declares what its bindings are.
    pub(crate) spans: [Span; 4],
    /// Whether the report of this dispatch is read. If several dispatches process the same index tuples, only one of
    /// their reports is.
    pub(crate) counts: bool,
    /// The number of the dispatch's first index tuple; 0 for a plan without tuples.
    pub(crate) first_tuple: usize,
}

/// The dispatch of a job by the first kernel that accepts the job. `None` if the caller must cut the job, because the
/// dispatch would exceed the device's limits. An error if a gather or a crop has too many or too long dimensions for a
/// shader.
pub(crate) fn dispatch(job: &Job<'_>) -> Result<Option<Dispatch>, Error> {
    let (vectors, op) = (job.vectors(), job.map.op());
    let run = |kernel: &'static Kernel| Some((kernel, (kernel.launch)(job, &vectors)?));
    // The last kernels of the table, `rows_coalesced` and `rows_serial`, accept every job that reaches them on their
    // kind of adapter.
    let allowed = KERNELS.iter().filter(|kernel| !is_refused(kernel));
    let Some((kernel, launch)) = allowed.filter_map(run).next() else {
        return Ok(None);
    };
    let Some(grid) = launch.grid else {
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
            workgroup: grid.workgroup,
        },
        uniforms: Uniforms {
            run: wrap(launch.run as i64),
            step: wrap(launch.step as i64),
            units: wrap(launch.units as i64),
            tiles: grid.tiles,
            segment: grid.segment,
            grid: grid.word() | wrap(launch.element as i64) << 20,
            source_base: wrap(launch.source_base),
            dest_base: wrap(launch.dest_base),
            map: map.words,
        },
        height: grid.height,
        tile_unit: launch.tile_unit,
        spans: [source, dest, third, fourth],
        counts: false,
        first_tuple: 0,
    }))
}
