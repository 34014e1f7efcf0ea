//! One self-contained HTML page: it loads nothing, so that it can be kept and sent.

use super::{
    devices::{Described, Kind},
    measured::{Measured, Quantity},
    plots,
    report::Report,
    sweep,
    table::time,
};
use crate::failure::Failure;
use plotters::style::RGBColor;

const STYLE: &str = include_str!("page.css");

pub(crate) fn render(report: &Report) -> Result<String, Failure> {
    let mut body = head(report);
    let mut section = |title: &str, content: String| {
        body += &format!(
            "<section>\n<h2>{}</h2>\n{content}</section>\n",
            escaped(title)
        );
    };
    if !report.sweep.is_empty() {
        section("Where a device begins to win", crossovers(report));
        for shape in sweep::SHAPES {
            let of = |measured: &&Measured| measured.workload == shape;
            if let Some(measured) = report.sweep.iter().find(of) {
                let caption = "Thick, filled: data where the device works. Thin, hollow: from host \
                               memory to new host memory. Dashed: how fast the device copies as \
                               many bytes, the roof.";
                let picture = figure(plots::by_size(report, shape), &devices(report), caption)?;
                section(&format!("By size: {}", measured.what), picture);
            }
        }
    }
    if !report.results.is_empty() {
        let caption = "Data where the device works, into an output that is reused. The black mark \
                       is how fast the same device copies as many bytes, the roof.";
        let picture = figure(plots::throughput(report), &devices(report), caption)?;
        section("By workload", picture);
    }
    for device in &report.devices {
        let results: Vec<&Measured> = report.of(device).collect();
        if results.is_empty() {
            continue;
        }
        let mut content = String::new();
        if device.kind != Kind::Cpu {
            let legend = legend(plots::STAGES.map(|(stage, colour)| {
                let name = match stage {
                    Quantity::Encode => "encode (on the host)",
                    Quantity::Wait => "device (submission to completion)",
                    other => other.name(),
                };
                (name.to_owned(), colour)
            }));
            let caption = "Shares of what it takes from the host to the host, each stage waited \
                           for by itself; their sum at the right.";
            content += &figure(plots::stages(report, device), &legend, caption)?;
        }
        content += &table(&results);
        section(&device.name, content);
    }
    section("What the names mean", meanings());
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>wgslice bench, {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}\
         </body>\n</html>\n",
        report.date
    ))
}

fn head(report: &Report) -> String {
    let machine = &report.machine;
    let processor = machine.processor.as_deref().unwrap_or("unknown processor");
    let mut head = format!(
        "<h1>wgslice bench</h1>\n<p>wgslice {}, {}, {} {}, {} ({} threads)</p>\n",
        report.version,
        report.date,
        machine.os,
        machine.architecture,
        escaped(processor),
        machine.threads,
    );
    head += "<p>Every result was checked. Rates are bytes read plus bytes written, medians of \
             repeated runs.</p>\n";
    for device in &report.devices {
        #[cfg(feature = "gpu")]
        if let Some(cold) = device.cold {
            head += &format!(
                "<p>{}: first result in this process after {} (adapters {}, device {}, result \
                 {}).</p>\n",
                escaped(&device.name),
                time(cold.total()),
                time(cold.adapters),
                time(cold.device),
                time(cold.first_result),
            );
        }
        #[cfg(not(feature = "gpu"))]
        let _ = device;
    }
    for failed in &report.failures {
        head += &format!(
            "<p class=\"error\">{} on {}: {}</p>\n",
            escaped(&failed.workload),
            escaped(&failed.device),
            escaped(&failed.error)
        );
    }
    head
}

fn crossovers(report: &Report) -> String {
    let line = |text: String| format!("<p>{}</p>\n", escaped(&text));
    let mut lines = String::new();
    for device in &report.devices {
        let own = report.crossovers_of(device);
        let items = own.map(|at| format!("<li>{}</li>\n", escaped(at.to_string())));
        let items: String = items.collect();
        if !items.is_empty() {
            lines += &line(format!("{} wins over the CPU", device.name));
            lines += &format!("<ul>\n{items}</ul>\n");
        }
    }
    if lines.is_empty() {
        lines = line("There are no two devices to compare.".into());
    }
    for stopped in &report.stopped {
        let (shape, device) = (&stopped.workload, &stopped.device);
        lines += &line(format!(
            "{shape} on {device} ended early: {}",
            stopped.error
        ));
    }
    lines
}

/// A legend with the name and the colour of each device.
fn devices(report: &Report) -> String {
    let named = |(at, device): (usize, &Described)| (device.name.clone(), plots::colour(at));
    legend(report.devices.iter().enumerate().map(named))
}

fn legend(entries: impl IntoIterator<Item = (String, RGBColor)>) -> String {
    let entry = |(name, RGBColor(r, g, b))| {
        let name: String = escaped(name);
        format!("<span><i style=\"background: rgb({r}, {g}, {b})\"></i>{name}</span>\n")
    };
    let entries: String = entries.into_iter().map(entry).collect();
    format!("<p class=\"legend\">\n{entries}</p>\n")
}

fn figure(
    picture: Result<String, Box<dyn std::error::Error>>,
    legend: &str,
    caption: &str,
) -> Result<String, Failure> {
    let picture =
        picture.map_err(|error| Failure::usage(format_args!("a plot failed: {error}")))?;
    Ok(format!(
        "<figure>\n{legend}{picture}\n<figcaption>{}</figcaption>\n</figure>\n",
        escaped(caption)
    ))
}

/// A table of the medians, with a column for each quantity that at least one of the results has.
fn table(results: &[&Measured]) -> String {
    let there = |quantity: &Quantity| results.iter().any(|at| at.seconds.contains_key(quantity));
    let quantities: Vec<Quantity> = Quantity::ALL.into_iter().filter(there).collect();
    let mut head = ["workload", "MB", "GB/s", "of copy"]
        .map(str::to_owned)
        .to_vec();
    head.extend(quantities.iter().map(|quantity| quantity.name().to_owned()));
    head.push("peak memory".into());
    let mut rows = row("th", &head);
    for measured in results {
        let mut cells = vec![
            measured.label(),
            format!("{:.3}", measured.bytes as f64 / 1e6),
            format!("{:.2}", measured.gb_per_second),
            measured
                .percent_of_copy
                .map_or_else(String::new, |percent| format!("{percent:.0}%")),
        ];
        let median =
            |quantity: &Quantity| measured.median(*quantity).map_or_else(String::new, time);
        cells.extend(quantities.iter().map(median));
        let memory = measured.peak_memory;
        let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
        cells.push(memory.map_or_else(String::new, megabytes));
        rows += &row("td", &cells);
    }
    format!("<div class=\"scroll\"><table>\n{rows}</table></div>\n")
}

fn meanings() -> String {
    let rows = Quantity::ALL.map(|quantity| {
        let (name, meaning) = (quantity.name(), quantity.meaning());
        format!("<tr><td>{name}</td><td style=\"text-align: left\">{meaning}</td></tr>\n")
    });
    format!(
        "<div class=\"scroll\"><table>\n{}</table></div>\n",
        rows.concat()
    )
}

fn row(tag: &str, cells: &[String]) -> String {
    let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escaped(cell));
    let cells: String = cells.iter().map(cell).collect();
    format!("<tr>{cells}</tr>\n")
}

/// Escapes a text for HTML.
fn escaped(text: impl AsRef<str>) -> String {
    let mut escaped = String::new();
    for character in text.as_ref().chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
