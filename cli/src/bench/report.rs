//! The results of a run of the benchmark.

use super::{
    auto::Choice,
    cpu,
    devices::Described,
    measured::{Failed, Measured, Quantity},
    sweep::Crossover,
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    /// The day on which the run began, in UTC.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) devices: Vec<Described>,
    pub(crate) results: Vec<Measured>,
    pub(crate) failures: Vec<Failed>,
    /// The measurements of operations at growing sizes.
    pub(crate) sweep: Vec<Measured>,
    /// The failures after which a device was not measured at larger sizes of an operation.
    pub(crate) stopped: Vec<Failed>,
    pub(crate) crossovers: Vec<Crossover>,
    /// The device that the costs choose for each workload, the CPU or hardware. Workloads that fewer than two of these
    /// ran are left out.
    pub(crate) choices: Vec<Choice>,
    /// The meaning of each quantity, by its name.
    quantities: BTreeMap<&'static str, &'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) os: &'static str,
    pub(crate) architecture: &'static str,
    pub(crate) processor: Option<String>,
    pub(crate) threads: usize,
}

impl Report {
    pub(crate) fn new(devices: Vec<Described>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            date: date(now.map_or(0, |time| time.as_secs() / SECONDS_OF_A_DAY)),
            machine: Machine {
                os: std::env::consts::OS,
                architecture: std::env::consts::ARCH,
                processor: processor(),
                threads: cpu::threads(),
            },
            devices,
            results: Vec::new(),
            failures: Vec::new(),
            sweep: Vec::new(),
            stopped: Vec::new(),
            crossovers: Vec::new(),
            choices: Vec::new(),
            quantities: Quantity::ALL
                .map(|quantity| (quantity.name(), quantity.meaning()))
                .into(),
        }
    }

    /// Returns the results of a device, without those of the sweep.
    pub(crate) fn of<'a>(&'a self, device: &'a Described) -> impl Iterator<Item = &'a Measured> {
        let results = self.results.iter();
        results.filter(|measured| measured.peer == device.peer)
    }

    /// Returns the sizes from which a device is faster than the CPU.
    pub(crate) fn crossovers_of(&self, device: &Described) -> impl Iterator<Item = &Crossover> {
        let crossovers = self.crossovers.iter();
        crossovers.filter(|crossover| crossover.peer == device.peer)
    }
}

/// Returns the name of the processor. `None` if the system has no `/proc/cpuinfo` that names it.
fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(": ")
        .map(|(_, name)| name.trim().to_owned())
}

/// Formats the date `days` days after 1 January 1970, as in 2026-11-21. The days are counted from 1 March of the year
/// 0, because a leap day is the last day of a year that begins on 1 March.
fn date(days: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let days = days + DAYS_BEFORE_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = 400 * era + year + later;
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let rows = [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_778, "2026-11-21"),
            (20_818, "2026-12-31"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ];
        for (days, text) in rows {
            assert_eq!(date(days), text);
        }
    }
}
