//! The tables on the terminal.

use super::{
    devices::{Described, Kind},
    measured::{Failed, Measured, Quantity},
    report::Report,
    sweep::{Crossover, SHAPES, size},
};
use crate::print;

/// The text for a missing value.
const NOTHING: &str = "-";

pub(crate) fn print(report: &Report) {
    for device in &report.devices {
        let results: Vec<&Measured> = report.of(device).collect();
        print::line(&device.name);
        cold(device);
        if !results.is_empty() {
            throughput(device.kind, &results);
            if device.kind != Kind::Cpu {
                stages(&results);
            }
            tiny(&results);
        }
        for failed in &report.failures {
            if failed.peer == device.peer {
                print::line(format_args!(
                    "  {}: error: {}",
                    failed.workload, failed.error
                ));
            }
        }
    }
    auto(report);
    sweep(report);
}

fn auto(report: &Report) {
    if report.choices.is_empty() {
        return;
    }
    print::line("From host to host: as estimated by the costs, and as measured");
    for choice in &report.choices {
        print::line(format_args!(
            "  {:<23.23} {} is chosen, {:.2} times the fastest",
            choice.label, choice.chosen, choice.times_the_fastest
        ));
        for device in &choice.devices {
            print::line(format_args!(
                "    {:<21} {:>9} {:>9}",
                device.peer,
                time(device.estimate),
                time(device.measured)
            ));
        }
    }
}

fn sweep(report: &Report) {
    if report.sweep.is_empty() {
        return;
    }
    print::line("By size of the result, in GB/s");
    for device in &report.devices {
        for shape in SHAPES {
            let points = report.sweep.iter();
            let points = points.filter(|at| at.peer == device.peer && at.workload == shape);
            let points: Vec<String> = points
                .map(|at| format!("{} {:.2}", size(at.bytes / 2), at.gb_per_second))
                .collect();
            if !points.is_empty() {
                print::line(format_args!("  {shape} on {}", device.name));
                print::line(format_args!("    {}", points.join(", ")));
            }
        }
    }
    for stopped in &report.stopped {
        let Failed {
            workload,
            device,
            error,
            ..
        } = stopped;
        print::line(format_args!(
            "  {workload} on {device} ended there: {error}"
        ));
    }
    for device in &report.devices {
        let own: Vec<&Crossover> = report.crossovers_of(device).collect();
        if !own.is_empty() {
            print::line(format_args!("Where {} wins over the CPU", device.name));
        }
        for crossover in own {
            print::line(format_args!("  {crossover}"));
        }
    }
}

fn cold(device: &Described) {
    #[cfg(feature = "gpu")]
    if let Some(cold) = device.cold {
        print::line(format_args!(
            "  first result in this process after {}: adapters {}, device {}, result {}",
            time(cold.total()),
            time(cold.adapters),
            time(cold.device),
            time(cold.first_result),
        ));
    }
    #[cfg(feature = "gpu")]
    if let Some(costs) = device.costs {
        for line in costs.to_string().split("; ") {
            print::line(format_args!("  costs: {line}"));
        }
    }
    #[cfg(not(feature = "gpu"))]
    let _ = device;
}

fn throughput(kind: Kind, results: &[&Measured]) {
    // Plain loops are measured only on the CPU, uploads and readbacks only elsewhere.
    let (beside, of_beside) = match kind {
        Kind::Cpu => ("loop", Quantity::Loop),
        #[cfg(feature = "gpu")]
        Kind::Software | Kind::Gpu => ("e2e", Quantity::E2e),
    };
    print::line(format_args!(
        "  {:<23} {:>5} {:>7} {:>8} {:>15} {:>6} {:>8} {:>8} {:>8}",
        "workload", "copy", "MB", "resident", "quartiles", "GB/s", beside, "fresh", "first"
    ));
    for measured in results {
        let Some(times) = measured.seconds.get(&Quantity::Resident) else {
            continue;
        };
        let [q1, q3] = times.quartiles().map(time);
        let percent = measured.percent_of_copy;
        let [beside, fresh, first] =
            [of_beside, Quantity::Fresh, Quantity::First].map(|of| median(measured, of));
        print::line(format_args!(
            "  {:<23.23} {:>5} {:>7} {:>8} {:>15} {:>6.2} {beside:>8} {fresh:>8} {first:>8}",
            measured.label(),
            percent.map_or(NOTHING.into(), |percent| format!("{percent:.0}%")),
            megabytes(measured.bytes),
            time(times.median()),
            format!("{q1}-{q3}"),
            measured.gb_per_second,
        ));
    }
}

fn stages(results: &[&Measured]) {
    const STAGES: [(&str, Quantity); 6] = [
        ("upload", Quantity::Upload),
        ("encode", Quantity::Encode),
        ("wait", Quantity::Wait),
        ("device", Quantity::Device),
        ("readback", Quantity::Readback),
        ("copy", Quantity::CopyBuffer),
    ];
    columns("stages", &STAGES, results.iter());
}

/// Prints what each of many tiny operations costs, and what each of as many minimal dispatches costs.
fn tiny(results: &[&Measured]) {
    const MANY: [(&str, Quantity); 6] = [
        ("1", Quantity::Resident),
        ("100", Quantity::Pipelined100),
        ("1000", Quantity::Pipelined1000),
        ("barest 1", Quantity::Bare),
        ("100", Quantity::Bare100),
        ("1000", Quantity::Bare1000),
    ];
    let many = |at: &&&Measured| at.seconds.contains_key(&Quantity::Pipelined100);
    columns("each of", &MANY, results.iter().filter(many));
}

/// Prints a table with a row for each result and a column of medians for each quantity.
fn columns<'a>(
    title: &str,
    columns: &[(&str, Quantity)],
    results: impl Iterator<Item = &'a &'a Measured>,
) {
    let mut results = results.peekable();
    if results.peek().is_some() {
        let names = columns.iter().map(|(name, _)| format!(" {name:>9}"));
        print::line(format_args!("  {title:<23}{}", names.collect::<String>()));
    }
    for measured in results {
        let medians = columns
            .iter()
            .map(|(_, of)| format!(" {:>9}", median(measured, *of)));
        let (name, medians) = (measured.label(), medians.collect::<String>());
        print::line(format_args!("  {name:<23.23}{medians}"));
    }
}

fn median(measured: &Measured, quantity: Quantity) -> String {
    measured.median(quantity).map_or(NOTHING.into(), time)
}

/// Formats a time, given in seconds, with a unit. Values up to 999 of that unit have three digits.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{unit}")
}

fn megabytes(bytes: usize) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 0.1 {
        format!("{megabytes:.3}")
    } else {
        format!("{megabytes:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let rows = [
            (1.234, "1.23s"),
            (0.0999, "99.9ms"),
            (0.012345, "12.3ms"),
            (0.000_456_7, "457us"),
            (0.000_001, "1.00us"),
            (0.000_000_05, "50.0ns"),
            (0.0, "0.00ns"),
        ];
        for (seconds, text) in rows {
            assert_eq!(time(seconds), text);
        }
    }
}
