//! `wgslice bench`: times slices, gathers, transposes, crops and updates on each device, and shows where the time
//! goes.
//!
//! | file | decides |
//! |---|---|
//! | `workload` | the workloads: the built-in set, or a file |
//! | `data`, `checksum` | the data, and whether a result is correct |
//! | `devices`, `adapter` | the measured devices |
//! | `cpu`, `gpu`, `plain` | what is timed on each, and the plain loops beside the CPU |
//! | `stamps`, `bare` | the device's own time, and the minimal cost of a dispatch |
//! | `times`, `memory` | how often work is timed, and the peak memory |
//! | `measured`, `report` | the results |
//! | `auto` | whether measured costs predict the fastest device |
//! | `sweep` | measurements at growing sizes, and from which size a device is faster |
//! | `table`, `jsonl`, `csv` | output on the terminal and in files |
//! | `page`, `plots` | one HTML page with plots |

#[cfg(feature = "gpu")]
mod adapter;
mod auto;
#[cfg(feature = "gpu")]
mod bare;
mod checksum;
mod cpu;
mod csv;
mod data;
mod devices;
#[cfg(feature = "gpu")]
mod gpu;
mod jsonl;
mod measured;
mod memory;
mod page;
mod plain;
mod plots;
mod report;
#[cfg(feature = "gpu")]
mod stamps;
mod sweep;
mod table;
mod times;
mod workload;

use crate::{
    args::Global,
    failure::{Failure, WRONG_RESULT},
    files::Document,
    print,
    progress::{self, Counter},
};
use bytesize::ByteSize;
use data::Loaded;
use devices::Device;
use jsonl::Lines;
use measured::{Failed, Problem};
use report::Report;
use std::{fs, num::NonZero, path::PathBuf, process::ExitCode};
use times::Effort;
use workload::Workload;

/// Measure slices, gathers, transposes, crops and updates on the CPU and on every adapter
///
/// The workloads are a built-in set, or your own. Their data is made by a formula, and a time counts
/// only if the checksum of the result is right. GB/s count bytes read plus bytes written; `copy` is
/// the workload's rate as a percentage of the rate at which the same device copies the same number
/// of bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice bench
  wgslice bench --device cpu --only W1,W7 --reps 20
  wgslice bench --html results.html --sweep-to 1GiB
  wgslice bench --workloads mine.json --device gpu --jsonl results.jsonl")]
pub(crate) struct Bench {
    /// Measure what this file describes, in the form of the built-in set
    /// (cli/src/bench/workloads.json): operations are
    /// slice, gather_nd, transpose, crop and update
    #[arg(long, value_name = "FILE.json")]
    pub(crate) workloads: Option<PathBuf>,
    /// Measure only the workloads with these names
    #[arg(long, value_name = "W1,W3,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Time everything this often
    #[arg(long, value_name = "N", default_value = "9", value_parser = crate::args::number::<NonZero<usize>>)]
    pub(crate) reps: NonZero<usize>,
    /// Append a line for each workload and mode to this file
    #[arg(long, value_name = "OUT.jsonl")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Write all results, as --json prints them
    #[arg(long, value_name = "OUT.json")]
    pub(crate) json_out: Option<PathBuf>,
    /// Write a line for each kind of time, with its median, for spreadsheets
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Write one page with plots: GB/s by size and by workload, and where the time goes
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
    /// Also measure results of 64 KiB up to this size, and say from which on each device wins;
    /// 0 for none [default: 256MiB; 0 with --only or --workloads]
    #[arg(long, value_name = "SIZE")]
    sweep_to: Option<ByteSize>,
}

impl Bench {
    /// The largest result of the sweep, in bytes. 0 for no sweep.
    pub(crate) fn sweep_to(&self) -> usize {
        const MOST: ByteSize = ByteSize::mib(256);
        let chosen = self.workloads.is_some() || !self.only.is_empty();
        let default = if chosen { ByteSize(0) } else { MOST };
        let ByteSize(bytes) = self.sweep_to.unwrap_or(default);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

pub(crate) fn run(global: &Global, args: &Bench) -> Result<ExitCode, Failure> {
    if global.threads.is_some() {
        return Err(Failure::usage(
            "--threads bounds other commands: bench measures the CPU on all cores that it may use, \
             which `taskset` restricts",
        ));
    }
    let workloads = workloads(args)?;
    let sizes: Vec<usize> = sweep::sizes(args.sweep_to()).collect();
    // Unwritable outputs fail before anything is measured.
    let mut lines = Lines::append_to(args.jsonl.as_deref())?;
    let json = args.json_out.as_deref().map(Document::create).transpose()?;
    let csv = args.csv.as_deref().map(Document::create).transpose()?;
    let html = args.html.as_deref().map(Document::create).transpose()?;

    let (devices, described): (Vec<Device>, Vec<_>) = devices::open(global)?.into_iter().unzip();
    for device in &described {
        lines.version(device)?;
    }
    let mut report = Report::new(described);
    let points = workloads.len() + sweep::SHAPES.len() * sizes.len();
    progress::counted(points * devices.len(), |progress| {
        measure(
            &workloads,
            &devices,
            args,
            &mut report,
            &mut lines,
            progress,
        )?;
        sweep_over(&sizes, &devices, &mut report, progress)
    })?;
    report.crossovers = sweep::crossovers(&report.devices, &report.sweep);

    if let Some(json) = json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::usage)?;
        json.finish(&(text + "\n"))?;
    }
    if let Some(csv) = csv {
        csv.finish(&csv::render(&report))?;
    }
    if let Some(html) = html {
        html.finish(&page::render(&report)?)?;
    }
    if global.json {
        print::json(&report)?;
    } else {
        table::print(&report);
    }
    Ok(verdict(&report))
}

fn measure(
    workloads: &[Workload],
    devices: &[Device],
    args: &Bench,
    report: &mut Report,
    lines: &mut Lines,
    progress: &Counter,
) -> Result<(), Failure> {
    let effort = Effort::times(args.reps.get());
    for work in workloads {
        let loaded = Loaded::new(work).map_err(Problem::from);
        for (device, described) in devices.iter().zip(&report.devices) {
            match device.measure(described, work, &loaded, effort) {
                Ok(measured) => {
                    lines.measured(&measured)?;
                    report.results.push(measured);
                }
                Err(failed) => {
                    lines.failed(&failed)?;
                    report.failures.push(failed);
                }
            }
            progress.advance(1);
        }
        report.choices.extend(auto::choice(work, report));
    }
    Ok(())
}

/// Measures the operations of the sweep at each size. If a device fails at a size other than by a wrong result, it is
/// not measured at larger sizes of the same operation.
fn sweep_over(
    sizes: &[usize],
    devices: &[Device],
    report: &mut Report,
    progress: &Counter,
) -> Result<(), Failure> {
    for shape in sweep::SHAPES {
        for &size in sizes {
            let work = sweep::workload(shape, size).map_err(Failure::refused(shape))?;
            let loaded = Loaded::new(&work).map_err(Problem::from);
            for (device, described) in devices.iter().zip(&report.devices) {
                let stopped =
                    |failed: &Failed| failed.workload == shape && failed.peer == described.peer;
                if !report.stopped.iter().any(stopped) {
                    match device.measure(described, &work, &loaded, sweep::EFFORT) {
                        Ok(measured) => report.sweep.push(measured),
                        Err(failed) if failed.wrong => report.failures.push(failed),
                        Err(failed) => report.stopped.push(failed),
                    }
                }
                progress.advance(1);
            }
        }
    }
    Ok(())
}

fn workloads(args: &Bench) -> Result<Vec<Workload>, Failure> {
    let all = match &args.workloads {
        None => workload::built_in().map_err(Failure::usage)?,
        Some(path) => {
            let named = |problem: &dyn std::fmt::Display| {
                Failure::usage(format_args!("{}: {problem}", path.display()))
            };
            let text = fs::read_to_string(path).map_err(|error| named(&error))?;
            workload::parse(&text).map_err(|problem| named(&problem))?
        }
    };
    workload::only(all, &args.only).map_err(Failure::usage)
}

/// Returns the exit code. A wrong result takes precedence over a measurement that failed.
fn verdict(report: &Report) -> ExitCode {
    let failures = &report.failures;
    if failures.iter().any(|failed| failed.wrong) {
        WRONG_RESULT.into()
    } else if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        Failure::device("").exit_code()
    }
}
