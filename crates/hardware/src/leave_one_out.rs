//! Estimates the benefit of each copy kernel: the program runs the kernel's cases in an engine without this kernel,
//! where other kernels run them.
//!
//! The engine (`src/gpu/engine/launch.rs`) does not use the kernels that the environment variable [`REFUSE_VARIABLE`]
//! names. So this program starts itself again for each kernel.

use crate::{
    cases::{self, Case, CaseWork},
    count::KernelCounts,
    device, error_of_case, reports_of,
    table::{self, Kernel},
    table_origin,
};
use std::{collections::BTreeMap, env, fs, path::Path, process::Command, thread};

/// The environment variable with the names of the kernels that the engine must not use.
const REFUSE_VARIABLE: &str = "WGSLICE_REFUSE";

/// The subgroup size, in lanes, for which the times are estimated.
const SUBGROUP: u32 = 32;

const LEGEND: &str = include_str!("table/leave_one_out.md");

/// The run of a case: the names of its kernels, and its time in microseconds on each GPU. The times are `None` if they
/// are not estimated, or if RADV is not installed.
#[derive(Clone, Debug, Default, PartialEq)]
struct CaseRun {
    kernels: Vec<String>,
    times: Option<[f64; 3]>,
}

/// The run of each case, by the case's name.
type RunsByCase = BTreeMap<String, CaseRun>;

/// Writes the table to a file.
pub(crate) fn write_table(file: &str) -> Result<(), String> {
    let runs_with_all = runs_here("kernels", &[])?;
    let mut rows = String::new();
    let mut timed_runs = RunsByCase::new();
    for kernel in copy_kernels(&runs_with_all) {
        let table_line =
            |cells: &str| format!("| {kernel} | {} | {cells} |\n", line_count(&kernel));
        let Some((changed_cases, new_runs)) = runs_without(&kernel, &runs_with_all) else {
            rows += &table_line("all | no other kernel can run its cases | – | – | –");
            continue;
        };
        let missing_cases: Vec<String> = changed_cases
            .iter()
            .filter(|case| !timed_runs.contains_key(*case))
            .cloned()
            .collect();
        if !missing_cases.is_empty() {
            timed_runs.extend(runs_here("times", &missing_cases)?);
        }
        for case in &changed_cases {
            if let (Some(run_with), Some(run_without)) = (timed_runs.get(case), new_runs.get(case))
            {
                rows += &table_line(&table_row(case, run_with, run_without));
            }
        }
    }
    let mut text = String::from("# What each copy kernel is worth\n\n");
    text += &table_origin(reports_of(&["W1"])?)?.line();
    text += LEGEND;
    text += &rows;
    fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}

/// Returns the cases that run differently without a kernel, in their order, and how these cases then run. If they
/// cannot run without this kernel, prints the error and returns `None`.
fn runs_without(kernel: &str, runs_with_all: &RunsByCase) -> Option<(Vec<String>, RunsByCase)> {
    let run = || {
        let runs_without_kernel = runs_refusing(kernel, "kernels", &[])?;
        let mut changed_cases: Vec<String> = cases::library_cases()
            .into_iter()
            .map(|case| case.name)
            .collect();
        changed_cases.retain(|case| runs_without_kernel.get(case) != runs_with_all.get(case));
        let runs = match changed_cases[..] {
            [] => RunsByCase::new(),
            _ => runs_refusing(kernel, "times", &changed_cases)?,
        };
        Ok((changed_cases, runs))
    };
    let outcome: Result<_, String> = run();
    let print_problem = |problem: String| {
        let first_lines: Vec<&str> = problem.lines().take(3).collect();
        eprintln!("without {kernel}: {}", first_lines.join("\n"));
    };
    outcome.map_err(print_problem).ok()
}

/// Formats the cells for a case: its name, the kernels that run it without the omitted kernel, and the ratios of times.
fn table_row(case: &str, run_with: &CaseRun, run_without: &CaseRun) -> String {
    let ratios = match (run_with.times, run_without.times) {
        (Some(times_with), Some(times_without)) => {
            [0, 1, 2].map(|gpu| format!("{:.2}", times_without[gpu] / times_with[gpu]))
        }
        _ => ["not run"; 3].map(str::to_owned),
    };
    let other_kernels = run_without.kernels.join(", ");
    format!("{case} | {other_kernels} | {}", ratios.join(" | "))
}

/// Returns the names of the kernels of all cases except scatters, in the order of their first use in the cases.
fn copy_kernels(runs: &RunsByCase) -> Vec<String> {
    let mut kernels: Vec<String> = Vec::new();
    for case in cases::library_cases() {
        let run = match case.work {
            CaseWork::Move(_) | CaseWork::Gather(..) => runs.get(&case.name),
            CaseWork::Scatter(..) | CaseWork::Peer(..) => None,
        };
        for kernel in run.iter().flat_map(|run| &run.kernels) {
            if !kernels.contains(kernel) {
                kernels.push(kernel.clone());
            }
        }
    }
    kernels
}

/// Calls [`runs_here`] in another process, which must not use this kernel, and returns the result. `detail` is
/// `kernels` or `times`. `cases` has the names of the cases, or is empty for all.
fn runs_refusing(kernel: &str, detail: &str, cases: &[String]) -> Result<RunsByCase, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .arg(detail)
        .args(cases)
        .env(REFUSE_VARIABLE, kernel)
        .output()
        .map_err(|error| format!("could not start: {error}"))?;
    match output.status.success() {
        true => parse_runs(&String::from_utf8_lossy(&output.stdout)),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Prints how this process runs the named cases, or all if no name is given. [`parse_runs`] parses the output.
pub(crate) fn print_runs(detail: &str, names: &[&str]) -> Result<(), String> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    for (case, run) in runs_here(detail, &names)? {
        let times = run
            .times
            .map(|times| times.map(|time| time.to_string()).join("\t"));
        println!(
            "{case}\t{}\t{}",
            run.kernels.join(", "),
            times.unwrap_or_default()
        );
    }
    Ok(())
}

fn parse_runs(text: &str) -> Result<RunsByCase, String> {
    let parse_line = |line: &str| {
        let mut words = line.split('\t');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (case, kernels) = (word(), word());
        let kernels = kernels.split(", ").map(str::to_owned).collect();
        let times = [word(), word(), word()].map(|time| time.parse().ok());
        let times = match times {
            [Some(a), Some(b), Some(c)] => Some([a, b, c]),
            _ => None,
        };
        (case, CaseRun { kernels, times })
    };
    match text.is_empty() {
        true => Err("no case".into()),
        false => Ok(text.lines().map(parse_line).collect()),
    }
}

/// Returns how this process runs the named cases, or all if no name is given. If `detail` is `kernels`, the
/// cases are only recorded and have no times.
fn runs_here(detail: &str, names: &[String]) -> Result<RunsByCase, String> {
    let mut cases = cases::library_cases();
    cases.retain(|case| names.is_empty() || names.contains(&case.name));
    match detail {
        "times" => estimate_runs(&cases, names),
        _ => cases.iter().map(run_case).collect(),
    }
}

fn run_case(case: &Case) -> Result<(String, CaseRun), String> {
    let pipelines =
        device::requested_pipelines(case).map_err(|error| error_of_case(case, &error))?;
    let mut kernels: Vec<String> = Vec::new();
    for pipeline in &pipelines {
        let kernel = table::kernel_name(&pipeline.label).to_owned();
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
    }
    let run = CaseRun {
        kernels,
        times: None,
    };
    Ok((case.name.clone(), run))
}

fn estimate_runs(cases: &[Case], names: &[String]) -> Result<RunsByCase, String> {
    let reports = reports_of(names)?;
    let runs = |cases: &[Case]| -> Result<Vec<(String, CaseRun)>, String> {
        let count_and_run = |case| {
            let counts = KernelCounts::count_kernels(case, SUBGROUP)
                .map_err(|error| error_of_case(case, &error))?;
            let case_kernels = Kernel::join_results(case, counts, &[], &reports);
            let (name, mut run) = run_case(case)?;
            run.times = table::total_microseconds(&case_kernels);
            Ok((name, run))
        };
        cases.iter().map(count_and_run).collect()
    };
    // Two threads each count half of the cases.
    let (first_half, second_half) = cases.split_at(cases.len() / 2);
    let (first_half, second_half) = thread::scope(|scope| {
        let second_thread = scope.spawn(|| runs(second_half));
        (runs(first_half), second_thread.join())
    });
    let second_half = second_half.map_err(|_| "counting panicked")??;
    Ok(first_half?.into_iter().chain(second_half).collect())
}

/// Returns the number of lines in a kernel's file in `shaders/`, or a dash if there is no such file. Its imports also
/// serve other kernels, so they do not count.
fn line_count(kernel: &str) -> String {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shaders");
    match fs::read_to_string(shaders.join(kernel).with_extension("wgsl")) {
        Ok(text) => text.lines().count().to_string(),
        Err(_) => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_runs_are_parsed() {
        let runs = parse_runs("W1\tcoalesced rows\t1.5\t2\t0.25\nsa1\tresolve, sort\t\n").unwrap();
        assert_eq!(
            runs["W1"],
            CaseRun {
                kernels: vec!["coalesced rows".into()],
                times: Some([1.5, 2.0, 0.25]),
            }
        );
        assert_eq!(
            runs["sa1"],
            CaseRun {
                kernels: vec!["resolve".into(), "sort".into()],
                times: None,
            }
        );
        assert_eq!(parse_runs("").unwrap_err(), "no case");
    }

    #[test]
    fn ratios_are_those_of_times() {
        let run = |kernel: &str, times| CaseRun {
            kernels: vec![kernel.into()],
            times,
        };
        let (times_with, times_without) = (Some([1.0, 2.0, 4.0]), Some([1.0, 3.0, 2.0]));
        let text = table_row(
            "W6",
            &run("packed rows", times_with),
            &run("packed bytes", times_without),
        );
        assert_eq!(text, "W6 | packed bytes | 1.00 | 1.50 | 0.50");
        let text = table_row("W6", &run("packed rows", None), &run("packed bytes", None));
        assert_eq!(text, "W6 | packed bytes | not run | not run | not run");
    }

    #[test]
    fn every_kernel_of_a_slice_has_lines() {
        let case = &cases::library_cases()[0];
        let (_, run) = run_case(case).unwrap();
        assert!(!run.kernels.is_empty());
        for kernel in run.kernels {
            assert!(line_count(&kernel).parse::<usize>().is_ok(), "{kernel}");
        }
    }
}
