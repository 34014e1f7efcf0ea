//! The plots of the page, as SVG.
//!
//! The page draws the legends, so that no plot depends on the width of a font.

use super::{
    devices::Described,
    measured::{Measured, Quantity},
    report::Report,
    sweep,
    table::time,
};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// The result of drawing into a string.
type Picture = Result<String, Box<dyn std::error::Error>>;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Colours by Okabe and Ito, chosen to stay distinct for readers with colour blindness.
const DEVICES: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// The stages of work on a device, in their order, and the colour of each.
pub(super) const STAGES: [(Quantity, RGBColor); 4] = [
    (Quantity::Upload, RGBColor(86, 180, 233)),
    (Quantity::Encode, RGBColor(90, 90, 90)),
    (Quantity::Wait, RGBColor(213, 94, 0)),
    (Quantity::Readback, RGBColor(230, 159, 0)),
];

const WIDTH: u32 = 960;
const FONT: &str = "sans-serif";
const GRID: RGBColor = RGBColor(225, 225, 225);

/// The colour of device number `at`. The colours repeat if there are more devices than colours.
pub(super) fn colour(at: usize) -> RGBColor {
    DEVICES[at % DEVICES.len()]
}

/// Returns the rate in GB/s, where a GB has 10⁹ bytes.
fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}

/// Returns the rate from host memory to new host memory, in GB/s. `None` if it was not measured.
fn on_host(at: &Measured) -> Option<f64> {
    let seconds = at.median(Quantity::E2e).or(at.median(Quantity::Fresh));
    Some(rate(at.bytes, seconds?))
}

/// Returns the rate at which the device copies the same number of bytes, in GB/s. `None` if no copy was timed.
fn roof(at: &Measured) -> Option<f64> {
    Some(rate(at.bytes, at.copy()?))
}

/// The lines that [`by_size`] draws for each device: resident data, from host to host, and the roof.
const LINES: [fn(&Measured) -> Option<f64>; 3] = [|at| Some(at.gb_per_second), on_host, roof];

/// Plots GB/s by the size of the result. Thick lines show resident data, and thin lines show data from host memory to
/// new host memory. Dashed lines show the roof: the rate at which the device copies.
pub(super) fn by_size(report: &Report, shape: &str) -> Picture {
    let points = report.sweep.iter().filter(|at| at.workload == shape);
    let points: Vec<&Measured> = points.collect();
    let size = |at: &Measured| at.bytes as f64 / 2.0;
    let sizes = range(points.iter().map(|at| size(at)));
    let rates = points.iter().flat_map(|at| LINES.map(|line| line(at)));
    let rates = range(rates.flatten());
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, 400)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(sizes.log_scale().base(4.0), rates.log_scale().base(2.0))?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_labels(12)
            .y_labels(12)
            .x_label_formatter(&|&bytes| sweep::size(whole(bytes)))
            .y_label_formatter(&|&rate| format!("{rate}"))
            .x_desc("size of the result")
            .y_desc("GB/s, read plus written")
            .axis_desc_style((FONT, 15))
            .label_style((FONT, 15))
            .draw()?;
        for (at, device) in report.devices.iter().enumerate() {
            let colour = colour(at);
            let own = points.iter().filter(|at| at.peer == device.peer);
            let [resident, on_host, roof] = LINES.map(|line| {
                let point = |at: &&Measured| Some((size(at), line(at)?));
                own.clone().filter_map(point).collect::<Vec<_>>()
            });
            chart.draw_series(DashedLineSeries::new(roof, 3, 5, colour.stroke_width(2)))?;
            chart.draw_series(LineSeries::new(on_host, colour.stroke_width(1)).point_size(3))?;
            let dots = resident
                .iter()
                .map(|&at| Circle::new(at, 4, colour.filled()));
            chart.draw_series(dots)?;
            chart.draw_series(LineSeries::new(resident, colour.stroke_width(3)))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// Returns the range from slightly below the minimum to slightly above the maximum, so that no line touches the frame.
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    0.8 * least..1.25 * most
}

/// Plots a bar for each workload and device: GB/s of resident data, with a mark at the device's copy rate, the roof.
pub(super) fn throughput(report: &Report) -> Picture {
    let rows = rows(&report.results);
    let rates = report
        .results
        .iter()
        .flat_map(|at| [Some(at.gb_per_second), roof(at)]);
    let most = rates.flatten().fold(0.0, f64::max);
    let bar = 13;
    let bars = stacked(bar, report.devices.len());
    let height = bars + 12;
    let mut svg = String::new();
    {
        let tall = TOP + stacked(height, rows.len()) + 34;
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH, tall.unsigned_abs())).into_drawing_area();
        let at = |rate: f64| LEFT + pixels(f64::from(RIGHT - LEFT) * rate / most);
        let bottom = TOP + stacked(height, rows.len());
        for (tick, name) in ticks(most) {
            let x = at(tick);
            area.draw(&PathElement::new([(x, TOP - 4), (x, bottom)], GRID))?;
            text(&area, &name, (x, bottom + 6), BELOW)?;
        }
        text(&area, "GB/s", (RIGHT + 40, bottom + 6), BELOW)?;
        for (row, name) in (0..).zip(&rows) {
            let top = TOP + row * height;
            let middle = top + bars / 2;
            text(&area, name, (LEFT - 10, middle), TO_THE_LEFT)?;
            for (place, device) in report.devices.iter().enumerate() {
                let own = report.of(device).find(|at| at.label() == *name);
                let Some(measured) = own else { continue };
                let y = top + stacked(bar, place);
                let corners = [(LEFT, y + 1), (at(measured.gb_per_second), y + bar - 1)];
                area.draw(&Rectangle::new(corners, colour(place).filled()))?;
                if let Some(roof) = roof(measured) {
                    let ends = [(at(roof), y), (at(roof), y + bar)];
                    area.draw(&PathElement::new(ends, BLACK.stroke_width(2)))?;
                }
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// Plots the stages of each workload on a device as shares of their total time, which stands at the right.
pub(super) fn stages(report: &Report, device: &Described) -> Picture {
    let results: Vec<&Measured> = report.of(device).collect();
    let height = 26;
    let mut svg = String::new();
    {
        let tall = TOP + stacked(height, results.len()) + 8;
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH, tall.unsigned_abs())).into_drawing_area();
        for (row, measured) in (0..).zip(&results) {
            let top = TOP + row * height;
            let middle = top + height / 2 - 2;
            let seconds = STAGES.map(|(stage, _)| measured.median(stage).unwrap_or(0.0));
            let all: f64 = seconds.iter().sum();
            text(&area, &measured.label(), (LEFT - 10, middle), TO_THE_LEFT)?;
            text(&area, &time(all), (RIGHT + 10, middle), TO_THE_RIGHT)?;
            let mut from = LEFT;
            let mut sum = 0.0;
            for ((_, colour), seconds) in STAGES.iter().zip(seconds) {
                sum += seconds;
                let to = LEFT + pixels(f64::from(RIGHT - LEFT) * sum / all);
                let corners = [(from, top), (to, top + height - 6)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
                from = to;
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// The x coordinates, in pixels, where bars begin and where the longest may end.
const LEFT: i32 = 190;
const RIGHT: i32 = 870;
const TOP: i32 = 10;

/// The height of `count` bars that are `height` pixels tall each.
fn stacked(height: i32, count: usize) -> i32 {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    height.saturating_mul(count)
}

/// The labels of the workloads. The results of a workload follow one another, so each label remains once.
fn rows(results: &[Measured]) -> Vec<String> {
    let mut rows: Vec<String> = results.iter().map(Measured::label).collect();
    rows.dedup();
    rows
}

/// Returns four to ten round values from zero up to `most`, and their labels. If `most` is zero, returns only zero.
fn ticks(most: f64) -> Vec<(f64, String)> {
    let rough = most / 9.0;
    let decade = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    let Some(step) = steps.into_iter().find(|&step| step >= rough && step > 0.0) else {
        // There is no scale if all results are empty.
        return vec![(0.0, "0".into())];
    };
    let digits = if step < 1.0 {
        whole(-step.log10().floor())
    } else {
        0
    };
    let ticks = (0u32..).map(|i| f64::from(i) * step);
    ticks
        .take_while(|&tick| tick <= most)
        .map(|tick| (tick, format!("{tick:.digits$}")))
        .collect()
}

/// Where a text stands relative to its position.
const BELOW: Pos = Pos {
    h_pos: HPos::Center,
    v_pos: VPos::Top,
};
const TO_THE_LEFT: Pos = Pos {
    h_pos: HPos::Right,
    v_pos: VPos::Center,
};
const TO_THE_RIGHT: Pos = Pos {
    h_pos: HPos::Left,
    v_pos: VPos::Center,
};

fn text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    stands: Pos,
) -> Result<(), Box<dyn std::error::Error>> {
    let style = TextStyle::from((FONT, 15)).pos(stands);
    area.draw(&Text::new(text, at, style))?;
    Ok(())
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a place within the picture; `as` saturates"
)]
fn pixels(at: f64) -> i32 {
    at.round() as i32
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size that was measured; `as` saturates"
)]
fn whole(bytes: f64) -> usize {
    bytes.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let names = |most| {
            let names: Vec<String> = ticks(most).into_iter().map(|(_, name)| name).collect();
            names.join(" ")
        };
        assert_eq!(names(24.0), "0 5 10 15 20");
        assert_eq!(names(4300.0), "0 500 1000 1500 2000 2500 3000 3500 4000");
        assert_eq!(names(0.75), "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7");
        assert_eq!(names(0.0), "0");
    }
}
