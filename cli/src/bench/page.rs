//! The results as one HTML page. The page loads no other files, so that it can be stored and sent. The style sheet
//! draws its bars as boxes; only their widths depend on the results.

use super::{
    report::{Device, Report, Row},
    table::{Column, all_columns, columns_for},
    times::Quantity,
};
use crate::{failure::Failure, units};

const STYLE_SHEET: &str = include_str!("page.css");

/// The number of device colours in the style sheet.
const COLOUR_COUNT: usize = 4;

/// The scale of the bars, which maps numbers to lengths between 0 and 1.
struct BarScale {
    /// The labels at the ends of equal steps, beginning with the label at 0.
    labels: Vec<String>,
    length_of: Box<dyn Fn(f64) -> f64>,
}

impl BarScale {
    /// Returns a scale of percentages. Bars beyond its end are cut.
    fn for_percents() -> Self {
        Self {
            labels: ["0%", "50%", "100%", "150%"].map(str::to_owned).into(),
            length_of: Box::new(|percent| (percent / 150.0).min(1.0)),
        }
    }

    /// Returns a logarithmic scale of seconds. It begins and ends at powers of ten, and begins at 1 s or less.
    fn for_times(times: &[f64]) -> Self {
        let decimal_logs = times.iter().filter(|&&time| time > 0.0);
        let decimal_logs = decimal_logs.map(|time| time.log10());
        let first_decade = decimal_logs.clone().fold(0.0, f64::min).floor();
        let last_decade = decimal_logs.fold(first_decade + 1.0, f64::max).ceil();
        let decades = std::iter::successors(Some(first_decade), |decade| Some(decade + 1.0));
        let decades = decades.take_while(|&decade| decade <= last_decade);
        let labels = decades.map(|decade| units::format_seconds(10f64.powf(decade)));
        Self {
            labels: labels.collect(),
            length_of: Box::new(move |time| {
                ((time.log10() - first_decade) / (last_decade - first_decade)).clamp(0.0, 1.0)
            }),
        }
    }
}

pub(crate) fn render_page(report: &Report) -> Result<String, Failure> {
    let [headline, comparison, auto] = report.verdict().map(|line| escape_html(&line));
    let date = &report.date;
    let origin = escape_html(&format!("wgslice {}, {}", report.version, report.machine));
    let json = serde_json::to_string(report).map_err(Failure::usage)?;
    let mut body = format!(
        "<p class=\"soft\">wgslice bench, {date}</p>\n<h1>{headline}</h1>\n<p>{comparison}</p>\n\
         <p>{auto}</p>\n<p class=\"soft\">{origin}</p>\n<p><a download=\"wgslice-bench-{date}.json\" \
         href=\"data:application/json,{}\">All times as JSON</a></p>\n",
        escape_url(&json)
    );
    let percent: NumberOfRow = |row| row.percent_of_copy;
    let percent_text = |percent| format!("{percent:.0}%");
    let shares = render_bars(report, percent, &BarScale::for_percents(), percent_text);
    body += &render_section(
        "As a share of the speed of a copy",
        "With data in the device's memory. 100% is the rate at which the same device copies as many bytes.",
        &shares,
    );
    let time: NumberOfRow = |row| row.median(Quantity::HostToHost);
    let rows = report.devices.iter().flat_map(|device| &device.rows);
    let scale = BarScale::for_times(&rows.filter_map(time).collect::<Vec<_>>());
    let times = render_bars(report, time, &scale, units::format_seconds);
    body += &render_section(
        "From host memory to host memory",
        "Shorter is faster. The scale is logarithmic. An adapter's time includes upload and readback.",
        &times,
    );
    for device in &report.devices {
        body += &render_section(&escape_html(&device.name), "", &render_table(device));
    }
    let meaning =
        |column: Column| format!("<dt>{}</dt><dd>{}</dd>\n", column.heading, column.meaning());
    let meanings: String = all_columns(report).into_iter().map(meaning).collect();
    let meanings = format!("<dl>\n{meanings}</dl>\n");
    let note = "Median times. A time counts only if every bit of the result is right.";
    body += &render_section("Meaning of the headings", note, &meanings);
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>wgslice bench, {date}</title>\n<style>\n{STYLE_SHEET}</style>\n</head>\n<body>\n{body}\
         </body>\n</html>\n"
    ))
}

fn render_section(title: &str, note: &str, content: &str) -> String {
    format!("<section>\n<h2>{title}</h2>\n<p class=\"soft\">{note}</p>\n{content}</section>\n")
}

/// A function that returns the number that a row's bar shows.
type NumberOfRow = fn(&Row) -> Option<f64>;

/// Draws a bar for each workload and device, with its number.
fn render_bars(
    report: &Report,
    value: NumberOfRow,
    scale: &BarScale,
    text: fn(f64) -> String,
) -> String {
    let legend_entry = |(device_index, device): (usize, &Device)| {
        let (colour, name) = (
            device_index % COLOUR_COUNT,
            escape_html(&device.short_name()),
        );
        format!("<span><i style=\"background: var(--d{colour})\"></i>{name}</span>\n")
    };
    let legend: String = report
        .devices
        .iter()
        .enumerate()
        .map(legend_entry)
        .collect();
    let steps = scale.labels.len() - 1;
    let mut html =
        format!("<p class=\"legend\">\n{legend}</p>\n<div style=\"--steps: {steps}\">\n");
    let row_count = report.devices.first().map_or(0, |device| device.rows.len());
    for at in 0..row_count {
        let label = escape_html(&report.devices[0].rows[at].label);
        html += &format!("<div class=\"row\"><div>{label}</div><div>\n");
        for (device_index, device) in report.devices.iter().enumerate() {
            let (name, colour) = (escape_html(&device.name), device_index % COLOUR_COUNT);
            let (length, text) = match value(&device.rows[at]) {
                Some(value) => ((scale.length_of)(value), text(value)),
                None => (0.0, "not measured".into()),
            };
            html += &format!(
                "<div class=\"track\" title=\"{name}\" style=\"--at: {length:.3}; --colour: var(--d{colour})\">\
                 <i></i>{text}</div>\n"
            );
        }
        html += "</div></div>\n";
    }
    let label_html = |(step, label): (usize, &String)| {
        let left_percent = 100.0 * step as f64 / steps as f64;
        format!("<span style=\"left: {left_percent:.1}%\">{label}</span>")
    };
    let labels: String = scale.labels.iter().enumerate().map(label_html).collect();
    html + &format!(
        "<div class=\"row\"><div></div><div class=\"scale\">{labels}</div></div>\n</div>\n"
    )
}

fn render_table(device: &Device) -> String {
    let columns = columns_for(device.kind);
    let headings = columns.iter().map(|column| {
        let (heading, meaning) = (column.heading, column.meaning());
        format!("<th title=\"{meaning}\">{heading}</th>")
    });
    let headings: String = headings.collect();
    let mut rows = format!("<tr><th>workload</th>{headings}</tr>\n");
    for row in &device.rows {
        let cell = |column: &Column| format!("<td>{}</td>", column.format_cell(row));
        let cells = match &row.error {
            Some(error) => format!(
                "<td class=\"error\" colspan=\"9\">{}</td>",
                escape_html(error)
            ),
            None => columns.iter().map(cell).collect(),
        };
        rows += &format!("<tr><th>{}</th>{cells}</tr>\n", escape_html(&row.label));
    }
    format!("<div class=\"scroll\" tabindex=\"0\"><table>\n{rows}</table></div>\n")
}

/// Escapes a text for HTML.
fn escape_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes a text for a URL within an attribute.
fn escape_url(text: &str) -> String {
    let escaped = ["%", "\"", "#", "&", "<", ">", "'", " "].iter();
    escaped.fold(text.to_owned(), |text, &part| {
        text.replace(part, &format!("%{:02X}", part.as_bytes()[0]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape_html("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
        assert_eq!(escape_url("{\"a\": \"50%\"}"), "{%22a%22:%20%2250%25%22}");
    }

    #[test]
    fn scales_begin_and_end_with_round_numbers() {
        let times = BarScale::for_times(&[2e-6, 0.5]);
        let labels = "1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s";
        assert_eq!(times.labels.join(", "), labels);
        assert_eq!([1e-6, 1e-3, 1.0].map(&times.length_of), [0.0, 0.5, 1.0]);
        assert_eq!(BarScale::for_times(&[]).labels, ["1 s", "10 s"]);
        let shares = BarScale::for_percents().length_of;
        assert_eq!([0.0, 75.0, 900.0].map(shares), [0.0, 0.5, 1.0]);
    }
}
