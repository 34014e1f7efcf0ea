//! Writes one line of CSV for each quantity that was timed for a workload on a device.

use super::{measured::Measured, report::Report, times::Times};

const HEADER: &str = "part,workload,what,device,quantity,bytes,runs,median_s,q1_s,q3_s,gb_per_s\n";

pub(crate) fn render(report: &Report) -> String {
    let mut csv = String::from(HEADER);
    let parts = [("workloads", &report.results), ("sweep", &report.sweep)];
    for (part, results) in parts {
        for measured in results {
            for (quantity, times) in &measured.seconds {
                csv += &line(part, measured, quantity.name(), times);
            }
        }
    }
    csv
}

fn line(part: &str, measured: &Measured, quantity: &str, times: &Times) -> String {
    let (median, [q1, q3]) = (times.median(), times.quartiles());
    let fields = [
        part.to_owned(),
        quoted(&measured.workload),
        quoted(&measured.what),
        quoted(&measured.device),
        quantity.to_owned(),
        measured.bytes.to_string(),
        times.each().len().to_string(),
        median.to_string(),
        q1.to_string(),
        q3.to_string(),
        // A time of zero has no rate.
        match measured.bytes as f64 / median / 1e9 {
            rate if rate.is_finite() => rate.to_string(),
            _ => String::new(),
        },
    ];
    fields.join(",") + "\n"
}

/// Quotes a text for a CSV field, if it needs quotes.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes_stay_within_their_field() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
