//! Reads RADV's report on each pipeline. RADV writes it to standard error (`RADV_DEBUG=shaders,shaderstats`), between
//! lines by which this program separates pipelines.

use super::code::{CountedPath, LoadCounter};
use std::{collections::BTreeMap, io::BufRead};

/// The prefix of this program's lines.
const PROGRESS_MARK: &str = "wgslice-hardware:";

/// A line that this program writes between the lines of RADV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkLine {
    /// The driver's name and version.
    Driver(String),
    /// The start of a kernel's report, with the kernel's case and label.
    Kernel { case: String, label: String },
    /// The kernel of the last `Kernel` line failed to compile, for this reason.
    Refused(String),
    /// The end of the last kernel's report.
    End,
}

impl MarkLine {
    pub(super) fn write(&self) {
        let to_field = |text: &str| text.replace(['\t', '\n'], " ");
        eprintln!(
            "{PROGRESS_MARK}{}",
            match self {
                Self::Driver(version) => format!("driver\t{}", to_field(version)),
                Self::Kernel { case, label } =>
                    format!("kernel\t{}\t{}", to_field(case), to_field(label)),
                Self::Refused(problem) => format!("refused\t{}", to_field(problem)),
                Self::End => "end".to_owned(),
            }
        );
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(PROGRESS_MARK)?.split('\t');
        let keyword = words.next()?;
        let mut next_word = || words.next().unwrap_or_default().to_owned();
        Some(match keyword {
            "driver" => Self::Driver(next_word()),
            "kernel" => Self::Kernel {
                case: next_word(),
                label: next_word(),
            },
            "refused" => Self::Refused(next_word()),
            _ => Self::End,
        })
    }
}

/// The driver's results for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) case: String,
    pub(crate) label: String,
    pub(crate) statistics: Statistics,
    pub(crate) path: CountedPath,
}

/// The driver's statistics on the code that it compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) vector_registers: u64,
    pub(crate) spilled_registers: u64,
    /// The size of the scratch memory of each lane, in bytes.
    pub(crate) scratch_bytes: u64,
    pub(crate) code_bytes: u64,
    /// The number of waves that a SIMD unit holds at the same time.
    pub(crate) waves: u64,
    /// The estimated number of clock cycles from a wave's first instruction to its last.
    pub(crate) latency: u64,
    /// The estimated number of clock cycles for which a wave occupies a SIMD's busiest unit.
    pub(crate) inverse_throughput: u64,
}

/// The output of a run of the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) driver: String,
    pub(crate) compiled: Vec<Compiled>,
    /// Kernels that failed to compile or whose report cannot be read, with the reason.
    pub(crate) failed: Vec<String>,
}

/// The part of a kernel's report that has been read.
#[derive(Debug, Default)]
struct PartialReport {
    case: String,
    label: String,
    code: String,
    statistics: BTreeMap<String, u64>,
    refusal: Option<String>,
    part: ReportPart,
}

#[derive(Clone, Copy, Debug, Default)]
enum ReportPart {
    #[default]
    Other,
    Code,
    Statistics,
}

impl Report {
    /// Reads the output of a run of the compiler.
    pub(super) fn read(lines: impl BufRead, counter: LoadCounter) -> Result<Self, String> {
        let mut report = Self::default();
        let mut current_report: Option<PartialReport> = None;
        let mut has_ended = false;
        for line in lines.split(b'\n') {
            let line = line.map_err(|error| error.to_string())?;
            let line = String::from_utf8_lossy(&line);
            match (MarkLine::read(&line), &mut current_report) {
                (Some(MarkLine::Driver(version)), _) => report.driver = version,
                (Some(MarkLine::Refused(problem)), Some(current_report)) => {
                    current_report.refusal = Some(problem);
                }
                (Some(MarkLine::Kernel { case, label }), _) => {
                    let next_report = PartialReport {
                        case,
                        label,
                        ..PartialReport::default()
                    };
                    report.add(current_report.replace(next_report), counter);
                }
                (Some(_), _) => {
                    report.add(current_report.take(), counter);
                    has_ended = true;
                }
                (None, Some(current_report)) => current_report.add_line(&line),
                (None, None) => {}
            }
        }
        match has_ended {
            true => Ok(report),
            false => Err("the compiler stopped before the end".into()),
        }
    }

    fn add(&mut self, current_report: Option<PartialReport>, counter: LoadCounter) {
        let Some(current_report) = current_report else {
            return;
        };
        let name = format!("{}: {}", current_report.case, current_report.label);
        match current_report.into_compiled(counter) {
            Ok(compiled) => self.compiled.push(compiled),
            Err(problem) => self.failed.push(format!("{name}: {problem}")),
        }
    }
}

impl PartialReport {
    fn add_line(&mut self, line: &str) {
        match (self.part, line.trim()) {
            (_, "disasm:") => self.part = ReportPart::Code,
            (_, "*** SHADER STATS ***") => self.part = ReportPart::Statistics,
            (_, "") => self.part = ReportPart::Other,
            (ReportPart::Code, _) => {
                self.code += line;
                self.code.push('\n');
            }
            (ReportPart::Statistics, line) => {
                if let Some((name, value)) = line.split_once(": ")
                    && let Ok(value) = value.parse()
                {
                    self.statistics.insert(name.to_owned(), value);
                }
            }
            (ReportPart::Other, _) => {}
        }
    }

    fn into_compiled(self, counter: LoadCounter) -> Result<Compiled, String> {
        if let Some(problem) = self.refusal {
            return Err(problem);
        }
        if self.code.is_empty() {
            return Err("the driver printed no machine code".into());
        }
        let statistic = |name: &str| {
            let value = self.statistics.get(name).copied();
            value.ok_or_else(|| format!("the driver did not print {name:?}"))
        };
        let statistics = Statistics {
            vector_registers: statistic("VGPRs")?,
            spilled_registers: statistic("Spilled VGPRs")? + statistic("Spilled SGPRs")?,
            scratch_bytes: statistic("Scratch size")?,
            code_bytes: statistic("Code size")?,
            waves: statistic("Subgroups per SIMD")?,
            latency: statistic("Latency")?,
            inverse_throughput: statistic("Inverse Throughput")?,
        };
        Ok(Compiled {
            path: CountedPath::from_text(&self.code, counter)?,
            case: self.case,
            label: self.label,
            statistics,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
error: something of the loader's
wgslice-hardware:driver\tRADV NAVI21
wgslice-hardware:kernel\tW1\tlanes
BB0
/* of another form */
disasm:
BB0:
\tv_mov_b32 v0, 0     ; 7e0202c1
\ts_endpgm            ; bf810000

Compute Shader:
*** SHADER STATS ***
Driver pipeline hash: 18446744073709551615
SGPRs: 128
VGPRs: 16
Spilled SGPRs: 1
Spilled VGPRs: 2
Code size: 264
Scratch size: 3
Subgroups per SIMD: 32
Latency: 2639
Inverse Throughput: 179
********************
";

    #[test]
    fn the_output_for_each_kernel_is_read() {
        let text = format!(
            "{PRINTED}wgslice-hardware:kernel\tW2\tpacked bytes\nwgslice-hardware:refused\tno\n\
             wgslice-hardware:kernel\tW3\tother\nwgslice-hardware:end\n"
        );
        let report = Report::read(text.as_bytes(), LoadCounter::Loads).unwrap();
        assert_eq!(report.driver, "RADV NAVI21");
        assert_eq!(
            report.failed,
            [
                "W2: packed bytes: no",
                "W3: other: the driver printed no machine code"
            ]
        );
        let [compiled] = &report.compiled[..] else {
            panic!("{report:?}");
        };
        assert_eq!((&*compiled.case, &*compiled.label), ("W1", "lanes"));
        assert_eq!(compiled.path.vector_instructions, 1);
        assert_eq!(
            compiled.statistics,
            Statistics {
                vector_registers: 16,
                spilled_registers: 3,
                scratch_bytes: 3,
                code_bytes: 264,
                waves: 32,
                latency: 2639,
                inverse_throughput: 179,
            }
        );
    }

    #[test]
    fn a_missing_statistic_is_named() {
        let text = PRINTED.replace("Latency: 2639\n", "") + "wgslice-hardware:end\n";
        let report = Report::read(text.as_bytes(), LoadCounter::Loads).unwrap();
        assert_eq!(
            report.failed,
            ["W1: lanes: the driver did not print \"Latency\""]
        );
    }

    #[test]
    fn a_compiler_that_stops_is_an_error() {
        let stopped_report = Report::read(PRINTED.as_bytes(), LoadCounter::Loads);
        assert_eq!(
            stopped_report.unwrap_err(),
            "the compiler stopped before the end"
        );
    }
}
