//! Prints the tables in the terminal.

use super::{
    report::{Device, Kind, Report, Row},
    times::Quantity,
};
use crate::{print, units};

/// The width of a workload's name, in characters.
const NAME_WIDTH: usize = 21;

/// A column to the right of the workload's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    width: usize,
    content: ColumnContent,
}

#[derive(Clone, Copy, Debug)]
enum ColumnContent {
    Share,
    Rate,
    Time(Quantity),
}

/// Returns the columns for a device of this kind.
pub(crate) fn columns_for(kind: Kind) -> Vec<Column> {
    let column = |heading, width, content| Column {
        heading,
        width,
        content,
    };
    let time = |heading, width, quantity| column(heading, width, ColumnContent::Time(quantity));
    let mut columns = vec![
        column("of copy", 8, ColumnContent::Share),
        column("GB/s", 7, ColumnContent::Rate),
        time("resident", 10, Quantity::Resident),
    ];
    columns.extend(match kind {
        Kind::Cpu => vec![time("loops", 9, Quantity::Loop)],
        Kind::Software | Kind::Gpu => vec![
            time("upload", 9, Quantity::Upload),
            time("readback", 10, Quantity::Readback),
        ],
    });
    columns.push(time("end to end", 12, Quantity::HostToHost));
    columns
}

/// Returns the columns of all devices, each column once.
pub(crate) fn all_columns(report: &Report) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let devices = report.devices.iter();
    for column in devices.flat_map(|device| columns_for(device.kind)) {
        if columns.iter().all(|known| known.heading != column.heading) {
            columns.push(column);
        }
    }
    columns
}

impl Column {
    /// Returns the cell of a row. It is empty if nothing was measured.
    pub(crate) fn format_cell(&self, row: &Row) -> String {
        let cell = match self.content {
            ColumnContent::Share => row.percent_of_copy.map(|percent| format!("{percent:.0}%")),
            ColumnContent::Rate => row.gb_per_second.map(|rate| format!("{rate:.2}")),
            ColumnContent::Time(quantity) => row.median(quantity).map(units::format_seconds),
        };
        cell.unwrap_or_default()
    }

    pub(crate) fn meaning(&self) -> &'static str {
        match self.content {
            ColumnContent::Share => "the rate with resident data, as a share of the rate of a copy",
            ColumnContent::Rate => "bytes read plus bytes written, per second, with resident data",
            ColumnContent::Time(quantity) => quantity.meaning(),
        }
    }
}

pub(crate) fn print(report: &Report) {
    print::print_line(report.verdict().join("\n"));
    report.devices.iter().for_each(print_device);
    print::print_line("\nMedian times; every bit was checked.");
    for column in all_columns(report) {
        print::print_line(format_args!("  {}: {}", column.heading, column.meaning()));
    }
}

fn print_device(device: &Device) {
    print::print_line(format_args!("\n{}", device.name));
    let columns = columns_for(device.kind);
    let row_text = |cell: &dyn Fn(&Column) -> String| -> String {
        let cells = columns
            .iter()
            .map(|column| format!("{:>1$}", cell(column), column.width));
        cells.collect()
    };
    let headings = row_text(&|column| column.heading.into());
    print::print_line(format_args!("  {:NAME_WIDTH$}{headings}", "workload"));
    for row in &device.rows {
        match &row.error {
            Some(error) => print::print_line(format_args!("  {}: error: {error}", row.workload)),
            None => {
                let row_text = row_text(&|column| column.format_cell(row));
                print::print_line(format_args!(
                    "  {:NAME_WIDTH$.NAME_WIDTH$}{row_text}",
                    row.label
                ));
            }
        }
    }
}
