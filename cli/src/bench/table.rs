//! The tables on the terminal.

use super::{
    devices::{Described, Kind},
    measured::{Failed, Measured, Quantity},
    report::Report,
    sweep::{Crossover, SHAPES, size},
};
use crate::print;
use std::collections::BTreeSet;

/// The text for a missing value.
const NOTHING: &str = "-";

/// The columns of a terminal, but one.
const COLUMNS: usize = 79;

/// The columns of the name of a workload.
const NAME: usize = 17;

pub(crate) fn print(report: &Report) {
    verdict(report);
    for device in &report.devices {
        let results: Vec<&Measured> = report.of(device).collect();
        print::line(&device.name);
        if print::is_verbose() {
            cold(device);
        }
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

/// Prints what the run shows: where each device is fastest, how near to a copy they come, and whether `auto` is right.
fn verdict(report: &Report) {
    let ids: BTreeSet<&str> = report.results.iter().map(|at| &*at.workload).collect();
    if ids.is_empty() {
        return;
    }
    let fastest = |id: &&str| {
        let results = report.results.iter().filter(|at| at.workload == *id);
        let timed = results.filter_map(|at| Some((at.median(Quantity::HostToHost)?, &*at.peer)));
        timed.min_by(|one, other| one.0.total_cmp(&other.0))
    };
    let fastest: Vec<&str> = ids
        .iter()
        .filter_map(fastest)
        .map(|(_, peer)| peer)
        .collect();
    let wins = |device: &&Described| {
        let wins = fastest.iter().filter(|peer| **peer == device.peer).count();
        (wins > 0).then(|| format!("{} on {wins}", short(&device.name)))
    };
    let wins: Vec<String> = report
        .devices
        .iter()
        .filter_map(|device| wins(&device))
        .collect();
    if !fastest.is_empty() {
        listed(
            &format!("Fastest of {}, from host to host:", fastest.len()),
            &wins,
        );
    }
    let share = |device: &Described| {
        let percents = report.of(device).filter_map(|at| at.percent_of_copy);
        let mut percents: Vec<f64> = percents.collect();
        percents.sort_by(f64::total_cmp);
        let half = percents.get(percents.len() / 2)?;
        Some(format!("{} {half:.0}%", short(&device.name)))
    };
    let shares: Vec<String> = report.devices.iter().filter_map(share).collect();
    if !shares.is_empty() {
        listed("Of the rate of a copy, in the median:", &shares);
    }
    match report.choices.iter().map(|choice| choice.times_the_fastest) {
        _ if report.choices.is_empty() => {
            if !report.devices.iter().any(is_hardware) {
                print::line("--device auto takes the CPU: no hardware GPU was measured");
            }
        }
        times => {
            let (right, worst) = times.fold((0, 1.0), |(right, worst), times| {
                (right + usize::from(times <= 1.0), f64::max(worst, times))
            });
            let all = report.choices.len();
            print::line(format_args!(
                "--device auto is right on {right} of {all}, and at worst takes {worst:.2} times as long"
            ));
        }
    }
    print::line("");
}

fn is_hardware(device: &Described) -> bool {
    match device.kind {
        Kind::Cpu => false,
        #[cfg(feature = "gpu")]
        Kind::Software => false,
        #[cfg(feature = "gpu")]
        Kind::Gpu => true,
    }
}

/// Prints a list, in lines that fit a terminal.
fn listed(title: &str, parts: &[String]) {
    let mut line = title.to_owned();
    for (at, part) in parts.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        if line.chars().count() + comma.len() + 1 + part.chars().count() > COLUMNS {
            print::line(line + comma);
            line = format!("  {part}");
        } else {
            line += &format!("{comma} {part}");
        }
    }
    print::line(line);
}

/// The name of a device without what stands in brackets within it, and not too long.
fn short(name: &str) -> String {
    const SHOWN: usize = 24;
    let first = name.split(" (").next().unwrap_or(name);
    let first: String = first.chars().take(SHOWN).collect();
    match name.rfind(" (") {
        Some(last) => first + &name[last..],
        None => first,
    }
}

fn auto(report: &Report) {
    if report.choices.is_empty() {
        return;
    }
    let name = |peer: &str| {
        let device = report.devices.iter().find(|device| device.peer == peer);
        device.map_or_else(|| peer.to_owned(), |device| short(&device.name))
    };
    print::line("From host to host: as estimated by the costs, and as measured");
    for choice in &report.choices {
        let chosen = name(&choice.chosen);
        print::line(format_args!(
            "  {:<NAME$.NAME$} {chosen} is chosen, {:.2} times the fastest",
            choice.label, choice.times_the_fastest
        ));
        for device in &choice.devices {
            print::line(format_args!(
                "    {:<44} {:>9} {:>9}",
                name(&device.peer),
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
                for line in points.chunks(5) {
                    print::line(format_args!("    {}", line.join(", ")));
                }
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
            "  first result after {}: adapters {}, device {}, result {}",
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
        "  {:<NAME$} {:>5} {:>8} {:>9} {:>7} {:>9} {:>9}",
        "workload", "copy", "MB", "resident", "GB/s", beside, "fresh"
    ));
    for measured in results {
        let Some(times) = measured.seconds.get(&Quantity::Resident) else {
            continue;
        };
        let percent = measured.percent_of_copy;
        let [beside, fresh] = [of_beside, Quantity::Fresh].map(|of| median(measured, of));
        print::line(format_args!(
            "  {:<NAME$.NAME$} {:>5} {:>8} {:>9} {:>7.2} {beside:>9} {fresh:>9}",
            measured.label(),
            percent.map_or(NOTHING.into(), |percent| format!("{percent:.0}%")),
            megabytes(measured.bytes),
            time(times.median()),
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
        print::line(format_args!(
            "  {title:<NAME$}{}",
            names.collect::<String>()
        ));
    }
    for measured in results {
        let medians = columns
            .iter()
            .map(|(_, of)| format!(" {:>9}", median(measured, *of)));
        let (name, medians) = (measured.label(), medians.collect::<String>());
        print::line(format_args!("  {name:<NAME$.NAME$}{medians}"));
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
    fn names_are_short() {
        for (name, text) in [
            ("CPU (2 threads)", "CPU (2 threads)"),
            (
                "llvmpipe (LLVM 15, 256 bits) (software, Gl)",
                "llvmpipe (software, Gl)",
            ),
            (
                "A GPU of a very long name indeed (Vulkan)",
                "A GPU of a very long nam (Vulkan)",
            ),
            ("plain", "plain"),
        ] {
            assert_eq!(short(name), text);
        }
    }

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
