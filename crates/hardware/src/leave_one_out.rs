//! Measures the value of each copy kernel: runs its cases in the engine without it, so that other kernels take them.
//!
//! The engine does not use the kernels that [`REFUSE`] names in the process's environment (`src/gpu/engine/launch.rs`).
//! So this program starts itself again for each kernel.

use crate::{
    cases::{self, Case, Work},
    count::Counts,
    device, named, origin, reports_of,
    table::{self, Kernel},
};
use std::{collections::BTreeMap, env, fs, path::Path, process::Command, thread};

/// The environment variable with the names of the kernels that the engine must not use.
const REFUSE: &str = "WGSLICE_REFUSE";

/// The subgroup size, in lanes, for which the times are estimated.
const SUBGROUP: u32 = 32;

const LEGEND: &str = include_str!("table/leave_one_out.md");

/// How a case is run: the names of its kernels and, unless there is no compiler, the time in microseconds on each GPU.
#[derive(Clone, Debug, Default, PartialEq)]
struct Run {
    kernels: Vec<String>,
    times: Option<[f64; 3]>,
}

/// How each case is run, by the case's name.
type Runs = BTreeMap<String, Run>;

/// Writes the table to a file.
pub(crate) fn write(file: &str) -> Result<(), String> {
    let with_all = here("kernels", &[])?;
    let mut rows = String::new();
    let mut times = Runs::new();
    for kernel in copy_kernels(&with_all) {
        let named = |cells: &str| format!("| {kernel} | {} | {cells} |\n", lines(&kernel));
        let Some((changed, without)) = without(&kernel, &with_all) else {
            rows += &named("all | no other kernel can run its cases | – | – | –");
            continue;
        };
        let missing: Vec<String> = changed
            .iter()
            .filter(|case| !times.contains_key(*case))
            .cloned()
            .collect();
        if !missing.is_empty() {
            times.extend(here("times", &missing)?);
        }
        for case in &changed {
            if let (Some(before), Some(after)) = (times.get(case), without.get(case)) {
                rows += &named(&row(case, before, after));
            }
        }
    }
    let mut text = String::from("# What each copy kernel is worth\n\n");
    text += &origin(reports_of(&["W1"])?)?.line();
    text += LEGEND;
    text += &rows;
    fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}

/// Returns the cases that run differently without a kernel, in their order, and how they run then. Prints the reason
/// and returns `None` if this is impossible, because no other kernel takes the cases, or one that does is wrong on
/// them.
fn without(kernel: &str, with_all: &Runs) -> Option<(Vec<String>, Runs)> {
    let run = || {
        let otherwise = refusing(kernel, "kernels", &[])?;
        let mut changed: Vec<String> = cases::library().into_iter().map(|case| case.name).collect();
        changed.retain(|case| otherwise.get(case) != with_all.get(case));
        let runs = match changed[..] {
            [] => Runs::new(),
            _ => refusing(kernel, "times", &changed)?,
        };
        Ok((changed, runs))
    };
    let outcome: Result<_, String> = run();
    let says = |problem: String| {
        let first: Vec<&str> = problem.lines().take(3).collect();
        eprintln!("without {kernel}: {}", first.join("\n"));
    };
    outcome.map_err(says).ok()
}

/// Formats the cells for a case: its name, its kernels with and without the omitted one, and the ratios of times.
fn row(case: &str, before: &Run, after: &Run) -> String {
    let ratios = match (before.times, after.times) {
        (Some(before), Some(after)) => {
            [0, 1, 2].map(|gpu| format!("{:.2}", after[gpu] / before[gpu]))
        }
        _ => ["not run"; 3].map(str::to_owned),
    };
    let after = after.kernels.join(", ");
    format!("{case} | {after} | {}", ratios.join(" | "))
}

/// Returns the names of the kernels of slices, updates, gradients, gathers and crops, in the order in which cases first
/// have them.
fn copy_kernels(runs: &Runs) -> Vec<String> {
    let mut kernels: Vec<String> = Vec::new();
    for case in cases::library() {
        let run = match case.work {
            Work::Move(_) | Work::Gather(..) => runs.get(&case.name),
            Work::Scatter(..) | Work::Peer(..) => None,
        };
        for kernel in run.iter().flat_map(|run| &run.kernels) {
            if !kernels.contains(kernel) {
                kernels.push(kernel.clone());
            }
        }
    }
    kernels
}

/// Disables a kernel in another process. That process prints what [`here`] returns for `what`, `kernels` or `times`,
/// and for these cases or all.
fn refusing(kernel: &str, what: &str, cases: &[String]) -> Result<Runs, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .arg(what)
        .args(cases)
        .env(REFUSE, kernel)
        .output()
        .map_err(|error| format!("could not start: {error}"))?;
    match output.status.success() {
        true => read(&String::from_utf8_lossy(&output.stdout)),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Prints how this process runs these cases, or all. [`read`] parses each line.
pub(crate) fn print(what: &str, names: &[&str]) -> Result<(), String> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    for (case, run) in here(what, &names)? {
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

fn read(text: &str) -> Result<Runs, String> {
    let line = |line: &str| {
        let mut words = line.split('\t');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (case, kernels) = (word(), word());
        let kernels = kernels.split(", ").map(str::to_owned).collect();
        let times = [word(), word(), word()].map(|time| time.parse().ok());
        let times = match times {
            [Some(a), Some(b), Some(c)] => Some([a, b, c]),
            _ => None,
        };
        (case, Run { kernels, times })
    };
    match text.is_empty() {
        true => Err("no case".into()),
        false => Ok(text.lines().map(line).collect()),
    }
}

/// Returns how this process runs the named cases, or all if no name is given. `kernels` only records the cases and
/// omits times.
fn here(what: &str, names: &[String]) -> Result<Runs, String> {
    let mut cases = cases::library();
    cases.retain(|case| names.is_empty() || names.contains(&case.name));
    match what {
        "times" => times(&cases, names),
        _ => cases.iter().map(kernels).collect(),
    }
}

fn kernels(case: &Case) -> Result<(String, Run), String> {
    let pipelines = device::pipelines(case).map_err(|error| named(case, &error))?;
    let mut kernels: Vec<String> = Vec::new();
    for pipeline in &pipelines {
        let kernel = table::kernel_name(&pipeline.label).to_owned();
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
    }
    let run = Run {
        kernels,
        times: None,
    };
    Ok((case.name.clone(), run))
}

fn times(cases: &[Case], names: &[String]) -> Result<Runs, String> {
    let reports = reports_of(names)?;
    let runs = |cases: &[Case]| -> Result<Vec<(String, Run)>, String> {
        let run = |case| {
            let counts = Counts::of(case, SUBGROUP).map_err(|error| named(case, &error))?;
            let counted = Kernel::of(case, counts, &[], &reports);
            let (name, mut run) = kernels(case)?;
            run.times = table::microseconds(&counted);
            Ok((name, run))
        };
        cases.iter().map(run).collect()
    };
    // Two threads each count half of the cases.
    let (left, right) = cases.split_at(cases.len() / 2);
    let (left, right) = thread::scope(|scope| {
        let right = scope.spawn(|| runs(right));
        (runs(left), right.join())
    });
    let right = right.map_err(|_| "counting panicked")??;
    Ok(left?.into_iter().chain(right).collect())
}

/// Returns the number of lines in a kernel's file in `shaders/`. Its imports also serve other kernels, so they do not
/// count.
fn lines(kernel: &str) -> String {
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
    fn what_a_process_prints_is_read() {
        let runs = read("W1\tcoalesced rows\t1.5\t2\t0.25\nsa1\tresolve, sort\t\n").unwrap();
        assert_eq!(
            runs["W1"],
            Run {
                kernels: vec!["coalesced rows".into()],
                times: Some([1.5, 2.0, 0.25]),
            }
        );
        assert_eq!(
            runs["sa1"],
            Run {
                kernels: vec!["resolve".into(), "sort".into()],
                times: None,
            }
        );
        assert_eq!(read("").unwrap_err(), "no case");
    }

    #[test]
    fn ratios_are_those_of_times() {
        let run = |kernel: &str, times| Run {
            kernels: vec![kernel.into()],
            times,
        };
        let (before, after) = (Some([1.0, 2.0, 4.0]), Some([1.0, 3.0, 2.0]));
        let text = row(
            "W6",
            &run("packed rows", before),
            &run("packed bytes", after),
        );
        assert_eq!(text, "W6 | packed bytes | 1.00 | 1.50 | 0.50");
        let text = row("W6", &run("packed rows", None), &run("packed bytes", None));
        assert_eq!(text, "W6 | packed bytes | not run | not run | not run");
    }

    #[test]
    fn every_kernel_of_a_slice_has_lines() {
        let case = &cases::library()[0];
        let (_, run) = kernels(case).unwrap();
        assert!(!run.kernels.is_empty());
        for kernel in run.kernels {
            assert!(lines(&kernel).parse::<usize>().is_ok(), "{kernel}");
        }
    }
}
