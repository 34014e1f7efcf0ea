//! All that a run of the benchmark found out.

use super::{
    cpu,
    devices::Described,
    measured::{Failed, Measured, Quantity},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    /// Seconds since 1970.
    unix_time: u64,
    pub(crate) machine: Machine,
    pub(crate) devices: Vec<Described>,
    pub(crate) results: Vec<Measured>,
    pub(crate) failures: Vec<Failed>,
    /// What the names of the times mean.
    quantities: BTreeMap<&'static str, &'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    os: &'static str,
    architecture: &'static str,
    processor: Option<String>,
    threads: usize,
}

impl Report {
    pub(crate) fn new(devices: Vec<Described>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            unix_time: now.map_or(0, |time| time.as_secs()),
            machine: Machine {
                os: std::env::consts::OS,
                architecture: std::env::consts::ARCH,
                processor: processor(),
                threads: cpu::threads(),
            },
            devices,
            results: Vec::new(),
            failures: Vec::new(),
            quantities: Quantity::ALL
                .map(|quantity| (quantity.name(), quantity.meaning()))
                .into(),
        }
    }

    /// The results of a device.
    pub(crate) fn of<'a>(&'a self, device: &'a Described) -> impl Iterator<Item = &'a Measured> {
        let results = self.results.iter();
        results.filter(|measured| measured.peer == device.peer)
    }
}

/// The processor's name, where the system tells: Linux.
fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(": ")
        .map(|(_, name)| name.trim().to_owned())
}
