//! `wgslice bench`: times slices, gathers, transposes, crops and updates on each device, and compares them with a copy.
//!
//! | file | content |
//! |---|---|
//! | `workload` | the workloads: the built-in set, or a file |
//! | `data`, `loops` | the data, and the correct result, which plain loops compute |
//! | `times` | the kinds of times, and how measurements are repeated |
//! | `cpu`, `gpu` | the calls that are timed on the CPU and on a GPU |
//! | `report` | the results, and the verdict |
//! | `table`, `page` | the results in the terminal, and as one HTML page |

mod cpu;
mod data;
#[cfg(feature = "gpu")]
mod gpu;
mod loops;
mod page;
mod report;
mod table;
mod times;
mod workload;

use crate::{
    args::Global,
    device,
    failure::{EXIT_WRONG_RESULT, Failure},
    files::Document,
    print, progress,
    text::read_text,
};
use data::WorkloadData;
use report::{CostEstimate, Device, Kind, Report, Row};
use std::{num::NonZero, path::PathBuf, process::ExitCode};
use times::{Measured, Problem};
use wgslice::Backend;
use workload::Workload;

/// Time slices, gathers, crops and updates on the CPU and all adapters
///
/// The workloads are a built-in set, or your own. A formula defines their data, and a time counts only if every bit of
/// the result is correct. The output begins with a summary. `of copy` is the workload's rate as a percentage of the
/// rate at which the same device copies the same number of bytes; GB/s count bytes read plus bytes written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice bench
  wgslice bench --device cpu --only W1,W7 --reps 20
  wgslice bench --html results.html
  wgslice bench --workloads mine.json --device gpu --json > results.json")]
pub(crate) struct Bench {
    /// Measure the workloads in this file, which has the format of the built-in set (cli/src/bench/workloads.json).
    /// Operations are slice, gather_nd, transpose, crop and update
    #[arg(long, value_name = "FILE.json")]
    workloads: Option<PathBuf>,
    /// Measure only the workloads with these names
    #[arg(long, value_name = "W1,W3,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Repeat each measurement N times
    #[arg(long, value_name = "N", default_value = "9", value_parser = crate::args::parse_number::<NonZero<usize>>)]
    reps: NonZero<usize>,
    /// Also write an HTML page with bars, tables and the JSON
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
}

pub(crate) fn run(global: &Global, args: &Bench) -> Result<ExitCode, Failure> {
    if global.threads.is_some() {
        return Err(Failure::usage(
            "--threads limits other commands: bench measures the CPU on all cores that it may use, \
             which `taskset` restricts",
        ));
    }
    let workloads = chosen_workloads(args)?;
    // The page is created first, so that an unwritable path fails before anything is measured.
    let html = args.html.as_deref().map(Document::create).transpose()?;
    let backends = device::open_each(global, "measured")?;
    let report = measure_all(&workloads, &backends, args.reps.get())?;
    if let Some(html) = html {
        html.finish(&page::render_page(&report)?)?;
    }
    if global.json {
        print::print_json(&report)?;
    } else {
        table::print(&report);
    }
    let rows = report.devices.iter().flat_map(|device| &device.rows);
    let failures = rows.filter(|row| row.error.is_some());
    // A wrong result takes precedence over a measurement that failed.
    Ok(match failures.map(|row| row.wrong).max() {
        Some(true) => EXIT_WRONG_RESULT.into(),
        Some(false) => Failure::device("").exit_code(),
        None => ExitCode::SUCCESS,
    })
}

fn chosen_workloads(args: &Bench) -> Result<Vec<Workload>, Failure> {
    let workloads = match &args.workloads {
        None => workload::built_in().map_err(Failure::usage)?,
        Some(path) => {
            let parsed = read_text(path).and_then(|text| workload::parse_workloads(&text));
            parsed.map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?
        }
    };
    workload::select_workloads(workloads, &args.only).map_err(Failure::usage)
}

/// Measures every workload on every device.
fn measure_all(
    workloads: &[Workload],
    backends: &[Backend],
    reps: usize,
) -> Result<Report, Failure> {
    let devices: Result<Vec<Device>, Failure> = backends.iter().map(describe_device).collect();
    let mut devices = devices?;
    progress::run_counted(workloads.len() * backends.len(), |progress| {
        for work in workloads {
            let data = WorkloadData::new(work);
            for (backend, device) in backends.iter().zip(&mut devices) {
                let data = data.as_ref().map_err(Problem::clone);
                let measured = data.and_then(|data| measure_on_device(backend, data, reps));
                let estimate = device.costs.as_ref().map(|costs| costs(&work.plan));
                device.rows.push(Row::new(work, measured, estimate));
                progress.advance_by(1);
            }
        }
    });
    Ok(Report::new(workloads, devices))
}

/// Describes a device, with no results yet.
fn describe_device(backend: &Backend) -> Result<Device, Failure> {
    let (name, kind, costs): (_, _, Option<CostEstimate>) = match gpu_of(backend) {
        None => (
            format!("CPU ({} threads)", cpu::thread_count()),
            Kind::Cpu,
            None,
        ),
        #[cfg(feature = "gpu")]
        Some(gpu) if gpu.is_software() => (backend.to_string(), Kind::Software, None),
        #[cfg(feature = "gpu")]
        Some(gpu) => {
            let costs = gpu::measure_costs(gpu).map_err(Failure::with_context(backend))?;
            (backend.to_string(), Kind::Gpu, Some(costs))
        }
    };
    Ok(Device {
        name,
        kind,
        costs,
        rows: Vec::new(),
    })
}

/// Takes all measurements of a workload on a device.
fn measure_on_device(backend: &Backend, data: &WorkloadData<'_>, reps: usize) -> Measured {
    match gpu_of(backend) {
        None => cpu::measure_on_cpu(data, reps),
        #[cfg(feature = "gpu")]
        Some(gpu) => gpu::measure_on_gpu(gpu, data, reps),
    }
}

#[cfg(feature = "gpu")]
fn gpu_of(backend: &Backend) -> Option<&wgslice::Gpu> {
    backend.gpu()
}

#[cfg(not(feature = "gpu"))]
fn gpu_of(_: &Backend) -> Option<std::convert::Infallible> {
    None
}
