//! The results of a run of the benchmark, and their summary in three lines.

use super::{
    cpu,
    times::{Measured, Quantity, TimesByQuantity, median_of},
    workload::Workload,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env::consts,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};
use wgslice::Plan;

/// The maximum length of a line in characters: the columns of a terminal, minus one.
pub(crate) const COLUMNS: usize = 79;

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    /// The day when the run began, in UTC.
    pub(crate) date: String,
    /// The machine, in one line.
    pub(crate) machine: String,
    workloads: Vec<Value>,
    /// The measured devices, at least one. The CPU is first if it was measured.
    pub(crate) devices: Vec<Device>,
    /// The choices of `--device auto`, compared with the times. `None` if no CPU or no hardware GPU was measured.
    auto: Option<Auto>,
    /// The meaning of each time, by its name.
    quantities: BTreeMap<Quantity, &'static str>,
}

/// Estimates the seconds that a plan takes from host to host on the CPU and on the GPU.
pub(crate) type CostEstimate = Box<dyn Fn(&Plan) -> [f64; 2]>;

/// A device, with one row for each workload, in the order of the workloads.
#[derive(Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Estimates plans as `auto` would. `None` if the device is not a hardware GPU.
    #[serde(skip)]
    pub(crate) costs: Option<CostEstimate>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "only the CPU"))]
pub(crate) enum Kind {
    Cpu,
    Software,
    Gpu,
}

/// The times of a workload on a device, or the reason why it has none.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    pub(crate) workload: String,
    /// The workload's name and description.
    #[serde(skip)]
    pub(crate) label: String,
    pub(crate) error: Option<String>,
    /// True if the result was wrong. Any other `error` ended the measurement.
    pub(crate) wrong: bool,
    /// The bytes read plus the bytes written, in GB per second, with data in the device's memory.
    pub(crate) gb_per_second: Option<f64>,
    /// The rate as a percentage of the rate at which the device copies the same number of bytes.
    pub(crate) percent_of_copy: Option<f64>,
    /// The seconds that the GPU's costs predict for the CPU and the GPU.
    pub(crate) estimate: Option<[f64; 2]>,
    pub(crate) seconds: TimesByQuantity,
}

#[derive(Debug, Serialize)]
struct Auto {
    /// The number of workloads for which the faster device would have been chosen.
    right: usize,
    /// The number of workloads with times on both devices.
    of: usize,
    /// The maximum over all workloads of the time on the chosen device ÷ the time on the faster device.
    worst: f64,
}

impl Row {
    pub(crate) fn new(work: &Workload, measured: Measured, estimate: Option<[f64; 2]>) -> Self {
        let mut row = Self {
            workload: work.id.clone(),
            label: format!("{} {}", work.id, work.description),
            ..Self::default()
        };
        match measured {
            Ok(seconds) => {
                row.seconds = seconds;
                row.estimate = estimate;
                let [resident, copy] =
                    [Quantity::Resident, Quantity::Copy].map(|quantity| row.median(quantity));
                row.gb_per_second = resident.map(|resident| work.bytes() as f64 / resident / 1e9);
                row.percent_of_copy = resident
                    .zip(copy)
                    .map(|(resident, copy)| 100.0 * copy / resident);
            }
            Err(problem) => {
                row.error = Some(problem.text);
                row.wrong = problem.is_wrong;
            }
        }
        row
    }

    /// Returns the median of one kind of time, in seconds.
    pub(crate) fn median(&self, quantity: Quantity) -> Option<f64> {
        self.seconds.get(&quantity).map(|times| times.median)
    }
}

impl Device {
    /// Returns at most 24 characters of the name and, for an adapter, the last part in parentheses.
    pub(crate) fn short_name(&self) -> String {
        const SHOWN_CHARS: usize = 24;
        let short_name = self.name.split(" (").next().unwrap_or(&self.name);
        let short_name: String = short_name.chars().take(SHOWN_CHARS).collect();
        match self.name.rfind(" (") {
            Some(last) if self.kind != Kind::Cpu => short_name + &self.name[last..],
            _ => short_name,
        }
    }

    /// Returns the median of a value over the workloads. Returns `None` if no workload has the value.
    fn median_of_workloads(&self, value: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        median_of(self.rows.iter().filter_map(value).collect())
    }
}

impl Report {
    pub(crate) fn new(workloads: &[Workload], devices: Vec<Device>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let workload_json = |work: &Workload| {
            json!({
                "id": work.id, "what": work.description, "dtype": work.values.name, "shape": work.shape,
                "result_shape": work.plan.shape(), "bytes": work.bytes(),
            })
        };
        let processor = processor_name().unwrap_or_else(|| "unknown processor".into());
        let (os, arch, threads) = (consts::OS, consts::ARCH, cpu::thread_count());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            date: format_date(now.map_or(0, |time| time.as_secs())),
            machine: format!("{os} {arch}, {processor}, {threads} threads"),
            workloads: workloads.iter().map(workload_json).collect(),
            auto: compare_auto(&devices),
            devices,
            quantities: Quantity::ALL
                .map(|quantity| (quantity, quantity.meaning()))
                .into(),
        }
    }

    /// Returns the summary in three lines: the speed of the first device compared with a copy, on how many workloads
    /// the second device is faster than the CPU, and the choices of `auto`.
    pub(crate) fn verdict(&self) -> [String; 3] {
        let first_device = &self.devices[0];
        let count = self.workloads.len();
        let share = match first_device.median_of_workloads(|row| row.percent_of_copy) {
            Some(percent) => format!("{percent:.0}% of the speed of a copy"),
            None => "nothing was measured".into(),
        };
        let loop_ratio = |row: &Row| {
            let [resident, loops] =
                [Quantity::Resident, Quantity::Loop].map(|quantity| row.median(quantity));
            Some(loops? / resident?)
        };
        let loop_comparison = match first_device.median_of_workloads(loop_ratio) {
            Some(times) => format!(", {times:.1} times that of plain loops"),
            None => String::new(),
        };
        let comparison_line = match &self.devices[..] {
            [cpu, other, ..] if cpu.kind == Kind::Cpu => {
                let win_count = |quantity| {
                    let rows = cpu.rows.iter().zip(&other.rows);
                    let times = rows.filter_map(|(cpu, other)| {
                        cpu.median(quantity).zip(other.median(quantity))
                    });
                    times
                        .filter(|(cpu_time, other_time)| other_time < cpu_time)
                        .count()
                };
                let (resident_wins, host_wins) = (
                    win_count(Quantity::Resident),
                    win_count(Quantity::HostToHost),
                );
                let wins = format!("{resident_wins} of {count}, on {host_wins} from host to host");
                let comparison = format!(": beats the CPU on {wins}");
                let name = other.short_name();
                let shown = name.chars().take(COLUMNS - comparison.len());
                shown.collect::<String>() + &comparison
            }
            _ => "Measured alone: --device all compares the CPU and all adapters".into(),
        };
        let auto_line = match self.auto {
            Some(Auto { right, of, worst }) => format!(
                "--device auto takes the faster on {right} of {of}; at worst {worst:.2} times as long"
            ),
            None if self.devices.iter().any(|device| device.kind == Kind::Gpu) => {
                "--device auto was not judged: that needs the CPU and a hardware GPU".into()
            }
            None => "--device auto takes the CPU: no hardware GPU was measured".into(),
        };
        let first_line = format!(
            "{}: {share}{loop_comparison} (medians of {count})",
            first_device.short_name()
        );
        [
            first_line.chars().take(COLUMNS).collect(),
            comparison_line,
            auto_line,
        ]
    }
}

/// Compares the choice that `auto` makes between the CPU and the first hardware GPU with the faster of the two. Returns
/// `None` if one of the devices was not measured, or if no workload has times on both.
fn compare_auto(devices: &[Device]) -> Option<Auto> {
    let cpu = devices.iter().find(|device| device.kind == Kind::Cpu)?;
    let gpu = devices.iter().find(|device| device.kind == Kind::Gpu)?;
    let rows = cpu.rows.iter().zip(&gpu.rows).filter_map(|(cpu, gpu)| {
        let [on_cpu, on_gpu] = [cpu, gpu].map(|row| row.median(Quantity::HostToHost));
        let ([estimate_cpu, estimate_gpu], on_cpu, on_gpu) = (gpu.estimate?, on_cpu?, on_gpu?);
        let chosen_time = [on_cpu, on_gpu][usize::from(estimate_gpu < estimate_cpu)];
        Some(chosen_time / on_cpu.min(on_gpu))
    });
    let quotients: Vec<f64> = rows.collect();
    (!quotients.is_empty()).then(|| Auto {
        right: quotients
            .iter()
            .filter(|&&quotient| quotient <= 1.0)
            .count(),
        of: quotients.len(),
        worst: quotients.iter().copied().fold(1.0, f64::max),
    })
}

/// Returns the name of the processor, or `None` if the system has no `/proc/cpuinfo` that names it.
fn processor_name() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.trim().to_owned())
}

/// Formats the date of a time in seconds since 1970, as in 2026-11-21.
fn format_date(seconds: u64) -> String {
    let (mut year, mut month, mut day) = (1970u64, 1, seconds / (24 * 60 * 60) + 1);
    loop {
        let is_leap = match year.is_multiple_of(100) {
            true => year.is_multiple_of(400),
            false => year.is_multiple_of(4),
        };
        let days = match month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if day <= days {
            return format!("{year:04}-{month:02}-{day:02}");
        }
        day -= days;
        (year, month) = (year + month / 12, month % 12 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{times::Times, workload::built_in};

    /// Returns a device that takes these numbers of seconds for the first two workloads from host to host, and a tenth
    /// of them with resident data.
    fn test_device(name: &str, kind: Kind, seconds: [f64; 2]) -> Device {
        let row = |(work, seconds): (&Workload, f64)| {
            let times = [
                (Quantity::HostToHost, seconds),
                (Quantity::Resident, seconds / 10.0),
                (Quantity::Loop, seconds / 5.0),
                (Quantity::Copy, seconds / 20.0),
            ];
            let times = times.map(|(quantity, seconds)| (quantity, Times::new(vec![seconds])));
            Row::new(work, Ok(times.into()), Some([2.0, 3.0]))
        };
        let workload_set = built_in().expect("the set");
        Device {
            name: name.into(),
            kind,
            costs: None,
            rows: workload_set.iter().zip(seconds).map(row).collect(),
        }
    }

    fn verdict(devices: Vec<Device>) -> [String; 3] {
        let works: Vec<Workload> = built_in().expect("the set").into_iter().take(2).collect();
        Report::new(&works, devices).verdict()
    }

    #[test]
    fn the_verdict_has_three_lines() {
        let cpu = || test_device("CPU (2 threads)", Kind::Cpu, [2.0, 3.0]);
        let cpu_lines = [
            "CPU: 50% of the speed of a copy, 2.0 times that of plain loops (medians of 2)",
            "Measured alone: --device all compares the CPU and all adapters",
            "--device auto takes the CPU: no hardware GPU was measured",
        ];
        assert_eq!(verdict(vec![cpu()]), cpu_lines);
        // With the estimates of `test_device`, `auto` chooses the CPU even where the GPU is faster.
        let name = "A GPU of a very long name indeed (of some kind) (discrete GPU, Vulkan)";
        let compared = [
            cpu_lines[0],
            "A GPU of a very long nam (disc: beats the CPU on 1 of 2, on 1 from host to host",
            "--device auto takes the faster on 1 of 2; at worst 2.00 times as long",
        ];
        let gpu = test_device(name, Kind::Gpu, [1.0, 4.0]);
        assert_eq!(verdict(vec![cpu(), gpu]), compared);
        // `auto` never chooses a software adapter, even a faster one.
        let name = "llvmpipe (LLVM 15) (software, Gl)";
        let software = test_device(name, Kind::Software, [1.0, 1.0]);
        let [_, second, third] = verdict(vec![cpu(), software]);
        assert_eq!(third, cpu_lines[2]);
        let expected = "llvmpipe (software, Gl): beats the CPU on 2 of 2, on 2 from host to host";
        assert_eq!(second, expected);
    }

    #[test]
    fn days_have_dates() {
        let date_of = |days: u64| format_date(days * 24 * 60 * 60 + 5);
        assert_eq!([0, 59].map(date_of), ["1970-01-01", "1970-03-01"]);
        assert_eq!([11_016, 47_541].map(date_of), ["2000-02-29", "2100-03-01"]);
        assert_eq!([20_818, 20_819].map(date_of), ["2026-12-31", "2027-01-01"]);
    }
}
