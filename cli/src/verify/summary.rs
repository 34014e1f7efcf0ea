//! What a verification prints.

use super::judge::Difference;
use crate::{failure::Failure, print};
use serde::Serialize;
use std::{collections::BTreeMap, fmt};
use wgslice::Backend;

/// Failures that are spelled out on the terminal. JSON has them all.
const SHOWN: usize = 20;

/// How the lines fared, each counted once for each device.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) passed: usize,
    failed: usize,
    skipped: usize,
    devices: Vec<String>,
    /// Lines of operations that do not exist here.
    skipped_operations: BTreeMap<String, usize>,
    failures: Vec<Failed>,
}

/// A line that came out wrong on a device.
#[derive(Debug, Serialize)]
pub(crate) struct Failed {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) op: String,
    pub(crate) device: String,
    #[serde(flatten)]
    pub(crate) difference: Difference,
}

impl Summary {
    pub(crate) fn new(devices: &[Backend]) -> Self {
        Self {
            passed: 0,
            failed: 0,
            skipped: 0,
            devices: devices.iter().map(Backend::to_string).collect(),
            skipped_operations: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn skip(&mut self, op: &str) {
        self.skipped += 1;
        *self.skipped_operations.entry(op.to_owned()).or_default() += 1;
    }

    pub(crate) fn fail(&mut self, failure: Failed) {
        self.failed += 1;
        self.failures.push(failure);
    }

    pub(crate) fn all_passed(&self) -> bool {
        self.failed == 0
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print::json(self);
        }
        print::line(format_args!("verified on {}", self.devices.join(" and ")));
        if self.skipped > 0 {
            let operations: Vec<String> = self
                .skipped_operations
                .iter()
                .map(|(op, count)| format!("{op} {count}"))
                .collect();
            let operations = operations.join(", ");
            print::line_to_stderr(format_args!(
                "note: skipped, because there is no such operation here: {operations}"
            ));
        }
        for failure in self.failures.iter().take(SHOWN) {
            print::line(failure);
        }
        if self.failed > SHOWN {
            print::line(format_args!("… and {} more", self.failed - SHOWN));
        }
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        print::line(format_args!(
            "{passed} passed, {failed} failed, {skipped} skipped"
        ));
        Ok(())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            op,
            device,
            difference,
        } = self;
        let Difference { variant, problem } = difference;
        write!(f, "{file}:{line}: {op} on {device}, {variant}: {problem}")
    }
}
