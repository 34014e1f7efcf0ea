//! Counts and prints the outcomes of a verification.

use crate::{failure::Failure, print};
use serde::Serialize;
use std::fmt;
use wgslice::Backend;
use wgslice_vectors::Difference;

/// The maximum number of failures listed in the terminal. JSON has all of them.
const MAX_SHOWN_FAILURES: usize = 20;

/// The outcomes of all cases. Each case counts once for each device.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) passed: usize,
    failed: usize,
    devices: Vec<String>,
    failures: Vec<FailedCase>,
}

/// A case that gave a wrong result on a device.
#[derive(Debug, Serialize)]
pub(crate) struct FailedCase {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) op: &'static str,
    pub(crate) device: String,
    #[serde(flatten)]
    pub(crate) difference: Difference,
    /// The reduced case, as a line of a vector file. `None` if the case is from a file or was not reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) case: Option<String>,
}

impl Summary {
    pub(crate) fn new(devices: &[Backend]) -> Self {
        Self {
            passed: 0,
            failed: 0,
            devices: devices.iter().map(Backend::to_string).collect(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn add_failure(&mut self, failure: FailedCase) {
        self.failed += 1;
        self.failures.push(failure);
    }

    pub(crate) fn all_passed(&self) -> bool {
        self.failed == 0
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print::print_json(self);
        }
        print::print_line(format_args!("verified on {}", self.devices.join(" and ")));
        for failure in self.failures.iter().take(MAX_SHOWN_FAILURES) {
            print::print_line(failure);
        }
        if self.failed > MAX_SHOWN_FAILURES {
            print::print_line(format_args!(
                "… and {} more",
                self.failed - MAX_SHOWN_FAILURES
            ));
        }
        let Self { passed, failed, .. } = self;
        print::print_line(format_args!("{passed} passed, {failed} failed"));
        Ok(())
    }
}

impl fmt::Display for FailedCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            op,
            device,
            difference,
            case,
        } = self;
        let Difference { variant, problem } = difference;
        write!(f, "{file}:{line}: {op} on {device}, {variant}: {problem}")?;
        match case {
            Some(case) => write!(
                f,
                "\n  the smallest failing case, as a line for a file of CASES:\n{case}"
            ),
            None => Ok(()),
        }
    }
}
