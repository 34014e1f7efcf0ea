//! `wgslice verify`: runs golden vectors and random cases on every device. Vectors run at every element size.
//!
//! | file | content |
//! |---|---|
//! | `random` | which random cases run, and which failing cases are reduced |
//! | `strict` | the devices that interpret the shaders |
//! | `summary` | the output |
//!
//! The package `wgslice-vectors` reads, generates, runs and judges cases.

mod random;
#[cfg(feature = "strict")]
mod strict;
mod summary;

use crate::{
    args::Global,
    device,
    failure::{EXIT_WRONG_RESULT, Failure},
    progress,
    text::read_text,
};
use std::{
    num::NonZero,
    path::{Path, PathBuf},
    process::ExitCode,
};
use summary::{FailedCase, Summary};
use wgslice::Backend;
use wgslice_vectors::{BadLine, Call, Case, check_all, parse};

/// Run golden vectors or random cases, and compare every bit
///
/// CASES are JSON lines made by TensorFlow. Each line runs on each device at every element size
/// (1 to 16 bytes) that can hold its values, or in its floating-point type. Gathers and scatters
/// also run with every index type that holds their indices, and under both policies for indices
/// out of range. A line on a device counts as one case, and passes if all of these runs pass.
///
/// --random generates cases of all operations and compares their results with a naive reference.
/// Each case runs once on each device. For the first five failures, the case is reduced while it still fails, and is
/// printed as a line for a file of CASES.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "wgslice verify [OPTIONS] <CASES>...\n       wgslice verify [OPTIONS] --random <N>"
)]
#[command(after_help = "\
Examples:
  wgslice verify tests/vectors/seed1.jsonl
  wgslice verify tests/vectors/*.jsonl --device cpu
  wgslice verify --random 100000 --seed 7
  WGSLICE_REQUIRE_GPU=1 wgslice verify cases.jsonl

Without an adapter, `--device all` verifies only the CPU and prints a note; with
WGSLICE_REQUIRE_GPU=1, it fails.")]
pub(crate) struct Verify {
    /// Vector files
    #[arg(required_unless_present = "random")]
    pub(crate) cases: Vec<PathBuf>,
    /// Also run N random cases
    #[arg(long, value_name = "N", value_parser = crate::args::parse_number::<NonZero<usize>>)]
    pub(crate) random: Option<NonZero<usize>>,
    /// The seed: equal seeds generate equal cases
    #[cfg(not(feature = "strict"))]
    #[arg(long, value_name = "S", default_value_t = 1, requires = "random")]
    pub(crate) seed: u64,
    /// The seed: equal seeds generate equal cases, and --strict runs invocations in the same order
    #[cfg(feature = "strict")]
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop at the first failure, and do not reduce it
    #[arg(long)]
    pub(crate) first: bool,
    /// Verify the shaders in an interpreter that reports every fault, instead of on the devices
    /// of the machine; not with --device, --adapter or --backend
    #[cfg(feature = "strict")]
    #[arg(long)]
    pub(crate) strict: bool,
}

pub(crate) fn run(global: &Global, args: &Verify) -> Result<ExitCode, Failure> {
    let mut files = Vec::new();
    for path in &args.cases {
        files.push((path, read_cases(path)?));
    }
    #[cfg(not(feature = "strict"))]
    let devices = device::open_each(global, "verified")?;
    #[cfg(feature = "strict")]
    let devices = if args.strict {
        strict::open_devices(global, args.seed)?
    } else {
        device::open_each(global, "verified")?
    };

    let mut summary = Summary::new(&devices);
    let line_count: usize = files.iter().map(|(_, cases)| cases.len()).sum();
    let random_count = args.random.map_or(0, NonZero::get);
    let case_count = line_count + random_count;
    progress::run_counted(case_count * devices.len(), |progress| {
        for (path, cases) in &files {
            for case in cases {
                if args.first && !summary.all_passed() {
                    return;
                }
                check_case(path, case, &devices, &mut summary);
                progress.advance_by(devices.len());
            }
        }
        random::run_random_cases(args, random_count, &devices, &mut summary, progress);
    });

    summary.print(global.json)?;
    Ok(match summary.all_passed() {
        true => ExitCode::SUCCESS,
        false => EXIT_WRONG_RESULT.into(),
    })
}

/// Runs a case of the file on every device in every variant, such as each element size.
fn check_case(path: &Path, case: &Case, devices: &[Backend], summary: &mut Summary) {
    // `read_cases` rejects invalid cases, so every case has a call.
    let Ok(call) = Call::of(case) else {
        return;
    };
    for device in devices {
        match check_all(case, &call, device) {
            Ok(()) => summary.passed += 1,
            Err(difference) => summary.add_failure(FailedCase {
                file: path.display().to_string(),
                line: case.line,
                op: case.op.name(),
                device: device.to_string(),
                difference,
                case: None,
            }),
        }
    }
}

/// Reads the cases of a file. Fails if a line is not a case or lacks a field that its operation needs, or if the file
/// has no cases.
fn read_cases(path: &Path) -> Result<Vec<Case>, Failure> {
    let file_failure = |problem: &dyn std::fmt::Display| {
        Failure::usage(format_args!("{}: {problem}", path.display()))
    };
    let text = read_text(path).map_err(|error| file_failure(&error))?;
    let cases: Vec<_> = parse(&text)
        .map(|case| {
            let case = case?;
            Call::of(&case)?;
            Ok(case)
        })
        .collect::<Result<_, _>>()
        .map_err(|bad: BadLine| file_failure(&bad))?;
    if cases.is_empty() {
        return Err(file_failure(&"it contains no cases"));
    }
    Ok(cases)
}
