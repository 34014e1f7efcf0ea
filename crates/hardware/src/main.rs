//! Examines the shaders' memory accesses and machine code without a GPU.
//!
//! ```text
//! wgslice-hardware table [FILE [CASE …]]  writes all results for all cases, or these, as Markdown
//! wgslice-hardware check [FAMILY …]       checks registers and loads in flight in code for AMD's GPUs; default: all families
//! wgslice-hardware vectors [FAMILY …]     checks that the pipelines of the golden vectors spill no registers
//! wgslice-hardware pipelines              counts the pipelines of W1 to W16 and of the golden vectors
//! wgslice-hardware leave-one-out FILE     writes the times without each kernel that copies, as Markdown
//! ```
//!
//! `check` and `vectors` print a message and exit with 77 if RADV is not installed.
//!
//! # How it works
//!
//! A *case* is an operation on a shape. The cases are the benchmark's workloads, further shapes, and the workloads
//! again in kernels modelled on other projects' kernels (`cases`). Each is recorded on a device of `strict-gpu` that
//! poses as a GPU (`device`). The device keeps the requested pipelines, which are:
//!
//! - **Counted** (`count`): the device's interpreter runs some workgroups of each dispatch, and counts sectors,
//!   lines and operations.
//! - **Compiled** (`amd`): Mesa's driver for AMD compiles the pipelines for GPUs that are not present, and prints the
//!   code and statistics. The instructions of a lane and its bytes in flight are counted in the code.
//! - **Estimated** (`estimate`): times on some GPUs, by formulas.
//!
//! `table` shows all three, and `leave-one-out` shows times without one of the engine's kernels. `check` checks the
//! code of the library's pipelines, and `vectors` checks the code of the golden vectors' pipelines.

mod amd;
mod cases;
mod check;
mod count;
mod device;
mod estimate;
mod leave_one_out;
mod table;
mod vectors;

use amd::{FAMILIES, Family, Report};
use cases::Case;
use count::KernelCounts;
use device::Device;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    process::{Command, ExitCode},
    thread,
};
use strict_gpu::PipelineRequest;
use table::{Kernel, TableOrigin};

/// The exit code of a skipped command.
const EXIT_SKIPPED: u8 = 77;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["table"] => table("/dev/stdout", &[]),
        ["table", file, ref names @ ..] => table(file, names),
        ["check", ref names @ ..] => check_families(names, "cases"),
        ["vectors", ref names @ ..] => check_families(names, "vectors"),
        ["pipelines"] => count_pipelines(),
        ["leave-one-out", file] => leave_one_out::write_table(file),
        // The program starts itself with these arguments, and environment variables of RADV or of the engine.
        ["compile", "cases", ref names @ ..] => compile_cases(names),
        [detail @ ("kernels" | "times"), ref names @ ..] => {
            leave_one_out::print_runs(detail, names)
        }
        ["compile", "vectors"] => {
            let device = Device::new(None).without_shared_pipelines();
            vectors::vector_pipelines(&device).and_then(amd::compile_here)
        }
        _ => Err(
            "usage: wgslice-hardware table [FILE [CASE …]] | check [FAMILY …] | vectors [FAMILY …] \
             | pipelines | leave-one-out FILE"
                .into(),
        ),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) if problem == amd::NOT_INSTALLED => {
            eprintln!("{problem}");
            ExitCode::from(EXIT_SKIPPED)
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn compile_cases(names: &[&str]) -> Result<(), String> {
    let mut pipelines = Vec::new();
    let is_chosen = |case: &&Case| names.is_empty() || names.contains(&&*case.name);
    let all_cases = [cases::library_cases(), cases::peer_cases()].concat();
    for case in all_cases.iter().filter(is_chosen) {
        let case_pipelines =
            device::requested_pipelines(case).map_err(|error| error_of_case(case, &error))?;
        pipelines.extend(
            case_pipelines
                .into_iter()
                .map(|pipeline| (case.name.clone(), pipeline)),
        );
    }
    amd::compile_here(pipelines)
}

/// Prints how many different pipelines W1 to W16 and the golden vectors of [`vectors`] create on a GPU, and how many
/// each kernel has.
fn count_pipelines() -> Result<(), String> {
    let is_workload = |case: &&Case| {
        let workload_number = case.name.strip_prefix('W').map(str::parse::<u32>);
        workload_number.is_some_and(|workload_number| workload_number.is_ok())
    };
    let mut labels_by_key = HashMap::new();
    let mut add = |pipelines: Vec<PipelineRequest>| {
        let mut keys = HashSet::new();
        for pipeline in pipelines {
            let key = vectors::pipeline_key(&pipeline);
            keys.insert(key.clone());
            labels_by_key.insert(key, pipeline.label);
        }
        keys.len()
    };
    let mut workload_pipelines = Vec::new();
    for case in cases::library_cases().iter().filter(is_workload) {
        workload_pipelines.extend(
            device::requested_pipelines(case).map_err(|error| error_of_case(case, &error))?,
        );
    }
    let vector_pipelines = vectors::vector_pipelines(&Device::new(None))?
        .into_iter()
        .map(|(_, pipeline)| pipeline);
    let counts = [add(workload_pipelines), add(vector_pipelines.collect())];
    println!(
        "{} pipelines of W1 to W16, {} of the golden vectors, {} together",
        counts[0],
        counts[1],
        labels_by_key.len()
    );
    let mut kernels = BTreeMap::new();
    for label in labels_by_key.into_values() {
        let kernel = label.split(" (").next().unwrap_or_default().to_owned();
        *kernels.entry(kernel).or_insert(0) += 1;
    }
    for (kernel, count) in kernels {
        println!("{count:4} {kernel}");
    }
    Ok(())
}

fn error_of_case(case: &Case, error: &wgslice::Error) -> String {
    format!("{}: {error}", case.name)
}

/// Compiles kernels for the named families, or for all families if `names` is empty. The error lists the problems
/// found.
fn check_families(names: &[&str], kernel_set: &str) -> Result<(), String> {
    for name in names {
        if FAMILIES.iter().all(|family| family.name != *name) {
            let family_names = FAMILIES.map(|family| family.name).join(", ");
            return Err(format!("no family {name:?}: there are {family_names}"));
        }
    }
    let mut problems = Vec::new();
    for family in FAMILIES {
        if names.is_empty() || names.contains(&family.name) {
            let report = amd::compile(family, kernel_set, &[])?;
            println!(
                "{}: {} kernels compiled",
                family.name,
                report.compiled.len()
            );
            problems.extend(check::nothing_compiled(family, &report));
            problems.extend(check::find_problems(family, &report));
            if kernel_set == "cases" {
                problems.extend(check::loads_in_flight(family, &report));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n")),
    }
}

/// Writes the table of all cases, or of the cases with these names.
fn table(file: &str, names: &[&str]) -> Result<(), String> {
    let reports = reports_of(names)?;
    let is_chosen = |case: &Case| names.is_empty() || names.contains(&case.name.as_str());
    let chosen_cases = |cases: Vec<Case>| cases.into_iter().filter(is_chosen).collect::<Vec<_>>();
    let (library, peers) = (
        chosen_cases(cases::library_cases()),
        chosen_cases(cases::peer_cases()),
    );
    let library = count_cases(&library, &reports)?;
    let peers = count_cases(&peers, &reports)?;
    let origin = table_origin(reports.clone())?;
    let text = table::table_text(&origin, &library, &peers);
    std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}

fn table_origin(reports: Vec<Report>) -> Result<TableOrigin, String> {
    let versions = ["wgpu", "naga"].map(|name| format!("{name} {}", locked_version(name)));
    Ok(TableOrigin {
        date: current_date()?,
        versions: versions.join(", "),
        reports,
    })
}

/// Returns the compiler's report on these cases, or on all if no name is given, for each family. Returns no reports if
/// RADV is not installed.
fn reports_of<Name: AsRef<str>>(names: &[Name]) -> Result<Vec<Report>, String> {
    let names: Vec<&str> = names.iter().map(Name::as_ref).collect();
    let compile = |family: Family| {
        let report = amd::compile(family, "cases", &names)?;
        match &report.failed[..] {
            [] => Ok(report),
            failed => Err(failed.join("\n")),
        }
    };
    match FAMILIES.into_iter().map(compile).collect() {
        Err(problem) if problem == amd::NOT_INSTALLED => {
            eprintln!("{problem}: the table has 'not run' in place of its results");
            Ok(Vec::new())
        }
        other => other,
    }
}

/// Returns the kernels of these cases. The counts for subgroups of 32 and of 64 are made in parallel.
fn count_cases<'a>(cases: &'a [Case], reports: &'a [Report]) -> Result<Vec<Kernel<'a>>, String> {
    let counts_of_size = |subgroup| {
        let kernel_counts = cases.iter().map(|case| {
            KernelCounts::count_kernels(case, subgroup).map_err(|error| error_of_case(case, &error))
        });
        kernel_counts.collect::<Result<Vec<_>, _>>()
    };
    let (narrow_counts, wide_counts) = thread::scope(|scope| {
        let wide_thread = scope.spawn(|| counts_of_size(64));
        (counts_of_size(32), wide_thread.join())
    });
    let wide_counts = wide_counts.map_err(|_| "counting panicked")??;
    let cases_with_counts = cases.iter().zip(narrow_counts?).zip(wide_counts);
    let kernels = cases_with_counts.flat_map(|((case, narrow_counts), wide_counts)| {
        Kernel::join_results(case, narrow_counts, &wide_counts, reports)
    });
    Ok(kernels.collect())
}

/// Returns the version of a package in `Cargo.lock`.
fn locked_version(name: &str) -> &'static str {
    const LOCKED: &str = include_str!("../../../Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"");
    let after_entry = LOCKED
        .split_once(&entry)
        .map(|(_, after_entry)| after_entry);
    after_entry
        .and_then(|after_entry| after_entry.split('"').next())
        .unwrap_or("of an unknown version")
}

fn current_date() -> Result<String, String> {
    let output = Command::new("date")
        .arg("+%Y-%m-%d")
        .output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_come_from_the_lock_file() {
        for name in ["wgpu", "naga"] {
            assert!(super::locked_version(name).starts_with("30."), "{name}");
        }
        assert_eq!(
            super::locked_version("no such package"),
            "of an unknown version"
        );
    }
}
