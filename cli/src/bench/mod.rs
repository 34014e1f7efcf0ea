//! `wgslice bench`: how long slices and gathers take, where, and why.
//!
//! | file | decides |
//! |---|---|
//! | `workload` | what is measured: the built-in set, or a file |
//! | `data`, `checksum` | what the data is, and whether a result is right |
//! | `devices`, `adapter` | what is measured on |
//! | `cpu`, `gpu` | what is timed there |
//! | `stamps`, `bare` | the device's own time, and the least that a dispatch costs |
//! | `times`, `memory` | how often work is timed, and the most memory held meanwhile |
//! | `measured`, `report` | what is found out |
//! | `table`, `jsonl` | how it is told |

#[cfg(feature = "gpu")]
mod adapter;
#[cfg(feature = "gpu")]
mod bare;
mod checksum;
mod cpu;
mod data;
mod devices;
#[cfg(feature = "gpu")]
mod gpu;
mod jsonl;
mod measured;
mod memory;
mod report;
#[cfg(feature = "gpu")]
mod stamps;
mod table;
mod times;
mod workload;

use crate::{
    args::{Bench, Global},
    failure::{Failure, WRONG_RESULT},
    print, progress,
};
use data::Loaded;
use devices::Device;
use jsonl::Lines;
use measured::Problem;
use report::Report;
use std::{fs, process::ExitCode};
use times::Effort;
use workload::Workload;

pub(crate) fn run(global: &Global, args: &Bench) -> Result<ExitCode, Failure> {
    let workloads = workloads(args)?;
    let mut lines = Lines::append_to(args.jsonl.as_deref())?;
    let (devices, described): (Vec<Device>, Vec<_>) = devices::open(global)?.into_iter().unzip();
    for device in &described {
        lines.version(device)?;
    }
    let mut report = Report::new(described);

    let effort = Effort::times(args.reps.get());
    progress::counted(workloads.len() * devices.len(), |progress| {
        for work in &workloads {
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
        }
        Ok::<_, Failure>(())
    })?;

    if global.json {
        print::json(&report)?;
    } else {
        table::print(&report);
    }
    Ok(verdict(&report))
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

/// A wrong result counts for more than one that there is none of.
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
