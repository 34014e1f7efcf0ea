//! Writes `benches/results/hardware.md`: counts, the compiler's results, and estimates from both, in separate tables.

mod peers;

use crate::{
    amd::{Compiled, FAMILIES, Report},
    cases::Case,
    count::{BufferTraffic, KernelCounts},
    estimate::{self, EstimatedTimes},
};
use std::collections::BTreeMap;

/// A kernel of a case, and its results.
#[derive(Debug)]
pub(crate) struct Kernel<'a> {
    case: &'a Case,
    /// True if this is the first kernel of its case.
    is_first_of_case: bool,
    counts: KernelCounts,
    /// The counts for subgroups of 64.
    wide_counts: KernelCounts,
    /// The code for each family, in the order of [`FAMILIES`]; empty without a compiler.
    compiled: Vec<&'a Compiled>,
}

/// The origin of a table's figures.
#[derive(Debug)]
pub(crate) struct TableOrigin {
    /// The date, in the form `2026-11-22`.
    pub(crate) date: String,
    /// The versions of wgpu and naga.
    pub(crate) versions: String,
    pub(crate) reports: Vec<Report>,
}

impl TableOrigin {
    /// Returns the line that names the date, the versions and the compiler, and introduces the command.
    pub(crate) fn line(&self) -> String {
        let compiler = match &self.reports[..] {
            [] => "without AMD's compiler: RADV is not installed here".into(),
            [first, ..] => {
                let families =
                    FAMILIES.map(|family| format!("{} ({})", family.architecture, family.name));
                format!("{} for {}", first.driver, families.join(", "))
            }
        };
        format!(
            "{}, {}, {compiler}. Written by\n\n",
            self.date, self.versions
        )
    }
}

impl<'a> Kernel<'a> {
    /// Joins the counts and the compiled code of each kernel of a case.
    pub(crate) fn join_results(
        case: &'a Case,
        counts: Vec<KernelCounts>,
        wide_counts: &[KernelCounts],
        reports: &'a [Report],
    ) -> Vec<Self> {
        let mut kernels: Vec<Self> = Vec::new();
        for counts in counts {
            let has_label = |other: &&KernelCounts| other.label == counts.label;
            let compiled = |report: &'a Report| {
                let mut kernels = report.compiled.iter();
                kernels.find(|kernel| kernel.case == case.name && kernel.label == counts.label)
            };
            kernels.push(Self {
                case,
                is_first_of_case: kernels.is_empty(),
                wide_counts: wide_counts
                    .iter()
                    .find(has_label)
                    .cloned()
                    .unwrap_or_default(),
                compiled: reports.iter().filter_map(compiled).collect(),
                counts,
            });
        }
        kernels
    }

    fn kernel_name(&self) -> &str {
        kernel_name(&self.counts.label)
    }

    fn estimated_times(&self) -> Option<EstimatedTimes> {
        let [rdna2, _, gcn5] = self.compiled[..] else {
            return None;
        };
        Some(EstimatedTimes::estimate_times(
            &rdna2.path,
            &gcn5.path,
            &self.counts,
        ))
    }

    /// Formats the number of vector instructions of a lane on RDNA 2, and the number for 16 bytes of the result. The
    /// second cell is a dash if the kernel does not write the result.
    fn vector_cells(&self, rdna2: &Compiled) -> [String; 2] {
        let vector = estimate::vector_instructions(&rdna2.path, &self.counts);
        let is_estimated = estimate::is_estimated(&rdna2.path, &self.counts);
        let about_word = if is_estimated { "about " } else { "" };
        let vector_text = |vector: f64| format!("{about_word}{vector:.0}");
        let bytes = self.counts.written.useful_bytes;
        let for_16_bytes = (bytes > 0.0).then(|| vector_text(vector / (bytes / 16.0)));
        [
            vector_text(vector),
            for_16_bytes.unwrap_or_else(|| "–".into()),
        ]
    }

    /// Returns the first cells of a row: the case, its description and the kernel.
    fn name_cells(&self) -> String {
        let description = if self.is_first_of_case {
            &*self.case.description
        } else {
            ""
        };
        format!(
            "| {} | {description} | {} |",
            self.case.name,
            self.kernel_name()
        )
    }
}

/// Returns a kernel's name, which is part of the pipeline's label. The label of a peer's kernel is the peer's name.
pub(crate) fn kernel_name(label: &str) -> &str {
    let (_, kernel) = label.split_once(": ").unwrap_or(("", label));
    kernel.split(" (").next().unwrap_or(kernel)
}

const LEGEND: &str = include_str!("legend.md");
const COUNTED_LEGEND: &str = include_str!("counted.md");
const COMPILED_LEGEND: &str = include_str!("compiled.md");
const ESTIMATED_LEGEND: &str = include_str!("estimated.md");
const TIMES_LEGEND: &str = include_str!("times.md");

const NOT_RUN: &str = "not run";

fn format_number(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), format_number)
}

/// Formats the efficiency in percent for subgroups of 32 and of 64 lanes, as one number if both are equal.
fn format_percents(narrow: &BufferTraffic, wide: &BufferTraffic) -> String {
    let percent = |traffic: &BufferTraffic| {
        traffic
            .sector_efficiency()
            .map(|efficiency| format!("{:.0}", 100.0 * efficiency))
    };
    match (percent(narrow), percent(wide)) {
        (Some(narrow), Some(wide)) if narrow != wide => format!("{narrow}, {wide}"),
        (Some(both), _) => both,
        (None, _) => "–".into(),
    }
}

/// Formats the number of accesses of each width in bytes, the widest first: `4 x 16, 1 x 4`.
fn format_widths(bytes: &[usize]) -> String {
    let mut counts = BTreeMap::new();
    for &bytes in bytes {
        *counts.entry(bytes).or_insert(0) += 1;
    }
    let counted_sizes = counts
        .iter()
        .rev()
        .map(|(bytes, count)| format!("{count} x {bytes}"));
    let size_texts: Vec<_> = counted_sizes.collect();
    if size_texts.is_empty() {
        "–".into()
    } else {
        size_texts.join(", ")
    }
}

fn format_row(kernel: &Kernel<'_>, cells: &[String]) -> String {
    format!("{} {} |\n", kernel.name_cells(), cells.join(" | "))
}

fn counted_row(kernel: &Kernel<'_>) -> String {
    let Kernel {
        counts,
        wide_counts,
        ..
    } = kernel;
    format_row(
        kernel,
        &[
            format_percents(&counts.read, &wide_counts.read),
            format_percents(&counts.written, &wide_counts.written),
            format_percents(&counts.other, &wide_counts.other),
            or_dash(counts.read.mean_access_bytes()),
            or_dash(counts.written.mean_access_bytes()),
            format_number(counts.operations),
            format_number(counts.divisions),
        ],
    )
}

fn compiled_row(kernel: &Kernel<'_>) -> String {
    let [rdna2, rdna3, gcn5] = kernel.compiled[..] else {
        return format_row(kernel, &vec![NOT_RUN.to_owned(); 9]);
    };
    let Compiled {
        path, statistics, ..
    } = rdna2;
    let [vector, for_16_bytes] = kernel.vector_cells(rdna2);
    let registers = match statistics.spilled_registers {
        0 => statistics.vector_registers.to_string(),
        spilled => format!("{} ({spilled} spilled)", statistics.vector_registers),
    };
    format_row(
        kernel,
        &[
            format_widths(&path.loads),
            path.bytes_in_flight.to_string(),
            rdna3.path.bytes_in_flight.to_string(),
            gcn5.path.bytes_in_flight.to_string(),
            registers,
            statistics.waves.to_string(),
            vector,
            for_16_bytes,
            path.scalar_instructions.to_string(),
        ],
    )
}

fn estimated_row(kernel: &Kernel<'_>) -> String {
    let Some(times) = kernel.estimated_times() else {
        return format_row(kernel, &vec![NOT_RUN.to_owned(); 6]);
    };
    // A kernel that returns immediately has no ratios, because it accesses no memory.
    if !estimate::accesses_memory(&kernel.counts) {
        return format_row(kernel, &vec!["–".to_owned(); 6]);
    }
    let (unit, _) = times.h100_bound();
    let times = [
        times.navi21,
        times.mi300x,
        times.h100,
        times.h100_loads,
        times.h100_l2,
    ];
    let mut cells: Vec<_> = times.iter().map(|time| format!("{time:.2}")).collect();
    cells.push(unit.into());
    format_row(kernel, &cells)
}

/// Returns the kernels of each case. The kernels of a case must be consecutive.
fn kernels_by_case<'a, 'k>(kernels: &'a [Kernel<'k>]) -> impl Iterator<Item = &'a [Kernel<'k>]> {
    kernels.chunk_by(|a, b| a.case.name == b.case.name)
}

/// Returns the total time in microseconds that each GPU takes for these kernels, or `None` if they were not compiled.
pub(crate) fn total_microseconds(kernels: &[Kernel<'_>]) -> Option<[f64; 3]> {
    let mut sum = [0.0; 3];
    for kernel in kernels {
        let kernel_times = kernel.estimated_times()?.microseconds(&kernel.counts);
        sum = [0, 1, 2].map(|gpu| sum[gpu] + kernel_times[gpu]);
    }
    Some(sum)
}

/// Formats a number: from 1 on with at least three significant digits, and below 1 with three decimals.
fn format_digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn time_line(kernels: &[Kernel<'_>]) -> String {
    let case = kernels[0].case;
    let megabytes = kernels
        .iter()
        .map(|kernel| estimate::megabytes(&kernel.counts));
    let mut cells = vec![kernels.len().to_string(), format_digits(megabytes.sum())];
    match total_microseconds(kernels) {
        Some(times) => {
            let busy_kernels = kernels
                .iter()
                .filter(|kernel| estimate::accesses_memory(&kernel.counts));
            let instructions = busy_kernels.filter_map(|kernel| {
                let rdna2 = kernel.compiled.first()?;
                let instructions_each = estimate::vector_instructions(&rdna2.path, &kernel.counts);
                Some(instructions_each * kernel.counts.invocations / 1e6)
            });
            cells.push(format_digits(instructions.sum()));
            cells.extend(times.map(format_digits));
        }
        None => cells.extend(vec![NOT_RUN.to_owned(); 4]),
    }
    format!(
        "| {} | {} | {} |\n",
        case.name,
        case.description,
        cells.join(" | ")
    )
}

/// Returns the text of the whole file.
pub(crate) fn table_text(
    origin: &TableOrigin,
    library: &[Kernel<'_>],
    peers: &[Kernel<'_>],
) -> String {
    let mut text = String::from("# The work of the shaders on GPUs, determined without a GPU\n\n");
    text += &origin.line();
    text += LEGEND;
    for (head, line) in [
        (COUNTED_LEGEND, counted_row as fn(&Kernel<'_>) -> String),
        (COMPILED_LEGEND, compiled_row),
        (ESTIMATED_LEGEND, estimated_row),
    ] {
        text += head;
        text.extend(library.iter().map(line));
    }
    text += &fit_description(library);
    text += TIMES_LEGEND;
    text.extend(kernels_by_case(library).map(time_line));
    text + &peers::peer_tables(library, peers)
}

/// Describes how well operations predict instructions in the kernels without loops, for which both are known.
fn fit_description(library: &[Kernel<'_>]) -> String {
    let ratio_without_loops = |kernel: &Kernel<'_>| {
        let [rdna2, ..] = kernel.compiled[..] else {
            return None;
        };
        let instructions_each =
            rdna2.path.vector_instructions as f64 / estimate::operation_count(&kernel.counts);
        (!rdna2.path.has_loop).then_some(instructions_each)
    };
    let mut ratios: Vec<f64> = library.iter().filter_map(ratio_without_loops).collect();
    ratios.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (ratios.first(), ratios.last()) else {
        return String::new();
    };
    format!(
        "\nEstimates from operations assume {} vector instructions for each operation that the interpreter ran, and {} more \
         operations for each division. On the paths of the {} kernels without loops, there are {min:.2} to {max:.2} \
         instructions for each operation, with a median of {:.2}.\n",
        estimate::INSTRUCTIONS_PER_OPERATION,
        estimate::OPERATIONS_PER_DIVISION,
        ratios.len(),
        ratios[ratios.len() / 2],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_counted_the_widest_first() {
        assert_eq!(format_widths(&[4, 16, 16, 4, 16]), "3 x 16, 2 x 4");
        assert_eq!(format_widths(&[]), "–");
    }

    #[test]
    fn percentages_of_both_subgroup_sizes_are_shown_if_they_differ() {
        let traffic = |sectors| BufferTraffic {
            sectors,
            distinct_sectors: 1.0,
            ..BufferTraffic::default()
        };
        assert_eq!(format_percents(&traffic(2.0), &traffic(2.0)), "50");
        assert_eq!(format_percents(&traffic(2.0), &traffic(4.0)), "50, 25");
        assert_eq!(format_percents(&traffic(0.0), &traffic(0.0)), "–");
    }

    #[test]
    fn kernel_names_are_found_in_labels() {
        assert_eq!(
            kernel_name("wgslice scatter_nd, resolve: resolve (CHAINS 1)"),
            "resolve"
        );
        assert_eq!(kernel_name("wgslice scatter_nd, sort: sort"), "sort");
        assert_eq!(
            kernel_name("wgslice gather: packed bytes (ROW_BYTES 3, UNIT_BYTES 1)"),
            "packed bytes"
        );
        assert_eq!(kernel_name("tfjs"), "tfjs");
    }

    #[test]
    fn a_table_without_a_compiler_has_counts_and_says_not_run_elsewhere() {
        let library = crate::cases::library_cases();
        let counts = KernelCounts {
            label: "wgslice strided_slice: coalesced rows (16-byte units, ROWS 1)".into(),
            ..KernelCounts::default()
        };
        let kernels = Kernel::join_results(&library[0], vec![counts], &[], &[]);
        let origin = TableOrigin {
            date: "2026-11-22".into(),
            versions: "wgpu 30".into(),
            reports: Vec::new(),
        };
        let table = table_text(&origin, &kernels, &[]);
        assert!(table.contains("RADV is not installed"));
        assert!(table.contains("| W1 | 4-D crop | coalesced rows | not run | not run |"));
        assert!(
            table.contains("| W1 | 4-D crop | coalesced rows | – | – | – | – | – | 0.0 | 0.0 |")
        );
    }
}
