//! Checks requirements on the code that AMD's compiler generates.

use crate::{
    amd::{Compiled, Family, Report},
    cases,
};

/// The bytes that each lane must load at the same time, by case: all loads of the lane from the source. If each lane
/// loaded one value at a time, a small tensor would have too few waves to use the memory's full bandwidth.
///
/// W2 reverses rows word by word, because no kernel reverses vectors. Each lane then has 16 bytes in flight, and the
/// 2,048 lanes of a multiprocessor have 32 KiB. This is enough for the full bandwidth if the tensor is large enough to
/// fill all multiprocessors.
const REQUIRED_BYTES_IN_FLIGHT: [(&str, usize); 8] = [
    ("W1", 64),
    ("W2", 16),
    ("W3", 16),
    ("W4", 64),
    ("W5", 16),
    ("W7", 64),
    ("W9", 64),
    ("W10", 64),
];

/// Returns the problems of all kernels that failed to compile, and of the library's kernels that spill registers or use
/// scratch memory.
pub(crate) fn find_problems(family: Family, report: &Report) -> Vec<String> {
    let peers = cases::peer_cases();
    let is_of_library = |kernel: &&Compiled| peers.iter().all(|peer| peer.name != kernel.case);
    let spill_problem = |kernel: &Compiled| {
        let statistics = &kernel.statistics;
        let (registers, bytes) = (statistics.spilled_registers, statistics.scratch_bytes);
        (registers + bytes > 0).then(|| {
            format!(
                "{}, {}: {registers} registers are spilled, {bytes} bytes of scratch memory used",
                kernel.case, kernel.label
            )
        })
    };
    let spill_problems = report
        .compiled
        .iter()
        .filter(is_of_library)
        .filter_map(spill_problem);
    let failures = report.failed.iter().cloned();
    let with_family = |problem| format!("{}: {problem}", family.name);
    failures.chain(spill_problems).map(with_family).collect()
}

/// Returns a problem if a report has no kernels, because the other checks would then find nothing.
pub(crate) fn nothing_compiled(family: Family, report: &Report) -> Option<String> {
    let is_empty = report.compiled.is_empty() && report.failed.is_empty();
    is_empty.then(|| {
        format!(
            "{}: no kernel was compiled, so none was checked",
            family.name
        )
    })
}

/// Returns the problems of cases in `REQUIRED_BYTES_IN_FLIGHT` that have no kernel, or a kernel with too few bytes in
/// flight.
pub(crate) fn loads_in_flight(family: Family, report: &Report) -> Vec<String> {
    let problem = |(case, required_bytes): (&str, usize)| {
        let kernels = report.compiled.iter().filter(|kernel| kernel.case == case);
        let worst_kernel = kernels.min_by_key(|kernel| kernel.path.bytes_in_flight);
        match worst_kernel {
            None => Some(format!("{case} has no kernel")),
            Some(kernel) if kernel.path.bytes_in_flight < required_bytes => Some(format!(
                "{case}, {}: {} bytes in flight per lane, but {required_bytes} are required",
                kernel.label, kernel.path.bytes_in_flight
            )),
            Some(_) => None,
        }
    };
    let with_family = |problem| format!("{}: {problem}", family.name);
    REQUIRED_BYTES_IN_FLIGHT
        .into_iter()
        .filter_map(problem)
        .map(with_family)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amd::{CountedPath, FAMILIES, Statistics};

    fn test_kernel(case: &str, bytes_in_flight: usize, spilled: u64, scratch: u64) -> Compiled {
        Compiled {
            case: case.into(),
            label: "lanes".into(),
            statistics: Statistics {
                spilled_registers: spilled,
                scratch_bytes: scratch,
                ..Statistics::default()
            },
            path: CountedPath {
                bytes_in_flight,
                ..CountedPath::default()
            },
        }
    }

    #[test]
    fn spills_are_problems_of_the_librarys_kernels() {
        let problems_of = |case, spilled, scratch| {
            let report = Report {
                compiled: vec![test_kernel(case, 4, spilled, scratch)],
                ..Report::default()
            };
            find_problems(FAMILIES[0], &report)
        };
        assert_eq!(problems_of("W6", 0, 0), [""; 0]);
        let message = "navi21: W6, lanes: 1 registers are spilled, 0 bytes of scratch memory used";
        assert_eq!(problems_of("W6", 1, 0), [message]);
        assert_eq!(problems_of("W6", 0, 4).len(), 1);
        // Peers' kernels may spill.
        assert_eq!(problems_of("W1 tfjs", 1, 4), [""; 0]);
    }

    #[test]
    fn a_kernel_that_failed_to_compile_is_a_problem() {
        let report = Report {
            failed: vec!["W1: no".into()],
            ..Report::default()
        };
        assert_eq!(find_problems(FAMILIES[1], &report), ["gfx1100: W1: no"]);
    }

    #[test]
    fn a_report_without_kernels_is_a_problem() {
        let problem = "navi21: no kernel was compiled, so none was checked";
        let mut report = Report::default();
        assert_eq!(
            nothing_compiled(FAMILIES[0], &report).as_deref(),
            Some(problem)
        );
        report.compiled = vec![test_kernel("W6", 4, 0, 0)];
        assert_eq!(nothing_compiled(FAMILIES[0], &report), None);
    }

    #[test]
    fn every_case_must_have_its_loads_in_flight() {
        let good_kernels =
            REQUIRED_BYTES_IN_FLIGHT.map(|(case, bytes)| test_kernel(case, bytes, 0, 0));
        let problems_of = |kernels: &[Compiled]| {
            let report = Report {
                compiled: kernels.to_vec(),
                ..Report::default()
            };
            loads_in_flight(FAMILIES[0], &report)
        };
        assert_eq!(problems_of(&good_kernels), [""; 0]);
        assert_eq!(
            problems_of(&good_kernels[1..]),
            ["navi21: W1 has no kernel"]
        );
        let mut bad_kernels = good_kernels.to_vec();
        bad_kernels.push(test_kernel("W3", 4, 0, 0));
        let problem = "navi21: W3, lanes: 4 bytes in flight per lane, but 16 are required";
        assert_eq!(problems_of(&bad_kernels), [problem]);
    }
}
