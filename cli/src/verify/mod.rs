//! `wgslice verify`: golden vectors, run on every device at every width.
//!
//! | file | decides |
//! |---|---|
//! | `case`, `arguments` | what a line of a vector file says |
//! | `call` | which operation that is, and with what |
//! | `oracle` | what the naive reference says of it |
//! | `operation` | which operation a case is, and the ways it can be run |
//! | `elements` | how values become elements of a width, and back |
//! | `judge` | whether what came out is what must come out |
//! | `summary` | what is printed |

#[allow(
    dead_code,
    reason = "the library's tests read these files too, and use the rest"
)]
mod arguments;
#[allow(dead_code, reason = "as for `case`")]
mod call;
#[allow(
    dead_code,
    reason = "the library's tests read these files too, and use the rest"
)]
mod case;
mod elements;
mod judge;
mod operation;
#[allow(dead_code, reason = "as for `case`")]
mod oracle;
mod summary;

use crate::{
    args::{DeviceChoice, Global, Verify},
    device,
    failure::{Failure, WRONG_RESULT},
    print, progress,
};
use case::Case;
use operation::Operation;
use std::{env, fs, path::Path, process::ExitCode};
use summary::{Failed, Summary};
use wgslice::Backend;

pub(crate) fn run(global: &Global, args: &Verify) -> Result<ExitCode, Failure> {
    let mut files = Vec::new();
    for path in &args.cases {
        files.push((path, read(path)?));
    }
    let devices = devices(global)?;

    let mut summary = Summary::new(&devices);
    let lines: usize = files.iter().map(|(_, cases)| cases.len()).sum();
    progress::counted(lines * devices.len(), |progress| {
        for (path, cases) in &files {
            for (case, operation) in cases {
                for device in &devices {
                    match operation {
                        None => summary.skip(&case.op),
                        Some(operation) => match judge::check(case, operation, device) {
                            Ok(()) => summary.passed += 1,
                            Err(difference) => summary.fail(Failed {
                                file: path.display().to_string(),
                                line: case.line,
                                op: case.op.clone(),
                                device: device.to_string(),
                                difference,
                            }),
                        },
                    }
                    progress.advance(1);
                }
            }
        }
    });

    summary.print(global.json)?;
    Ok(match summary.all_passed() {
        true => ExitCode::SUCCESS,
        false => WRONG_RESULT.into(),
    })
}

/// The cases of a file, each with its operation if that exists here.
fn read(path: &Path) -> Result<Vec<(Case, Option<Operation>)>, Failure> {
    let named = |problem: &dyn std::fmt::Display| {
        Failure::usage(format_args!("{}: {problem}", path.display()))
    };
    let text = fs::read_to_string(path).map_err(|error| named(&error))?;
    let cases: Vec<_> = case::parse(&text)
        .map(|case| {
            let case = case?;
            let operation = Operation::of(&case)?;
            Ok((case, operation))
        })
        .collect::<Result<_, _>>()
        .map_err(|bad: case::BadLine| named(&bad))?;
    if cases.is_empty() {
        return Err(named(&"there is no case in it"));
    }
    Ok(cases)
}

fn devices(global: &Global) -> Result<Vec<Backend>, Failure> {
    if device::choice(global, DeviceChoice::All)? != DeviceChoice::All {
        return Ok(vec![device::open(global)?]);
    }
    let adapters = device::all(global)?;
    if adapters.is_empty() {
        if device::named(global).is_some() {
            // Fails, and says what there is.
            device::gpu(global)?;
        }
        if env::var_os("WGSLICE_REQUIRE_GPU").is_some_and(|value| value == "1") {
            return Err(Failure::device(
                "WGSLICE_REQUIRE_GPU=1, but no adapter fits: `wgslice info` lists what there is",
            ));
        }
        print::line_to_stderr("note: no adapter fits, so only the CPU is verified");
    }
    Ok([Backend::cpu()].into_iter().chain(adapters).collect())
}
