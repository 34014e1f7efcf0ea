//! Estimates times from counts. Each estimate is a ratio: the time for which a kernel keeps a GPU's units of one kind
//! busy, divided by the time in which memory transfers the kernel's sectors at full bandwidth. The units with the
//! largest ratio are the bottleneck. If no ratio exceeds 1, memory is the bottleneck.
//!
//! - Navi21 (RX 6900 XT) has 512 GB/s and 160 SIMDs at 2.25 GHz. Each SIMD runs a vector instruction of a wave of 64
//!   lanes in 2 clocks, and a multiplication of whole words in 8. Instructions are counted in the code for RDNA 2.
//! - MI300X has 5.3 TB/s and 304 compute units at 2.1 GHz. Each unit runs an instruction of a wave of 64 lanes in a
//!   clock. Vector instructions, loads and stores are counted in the code for GCN 5.
//! - H100 has 3.35 TB/s and 528 schedulers at 1.7 GHz. Each scheduler runs an instruction of a warp of 32 lanes in a
//!   clock, but a vector instruction in 2. All instructions are counted in the code for RDNA 2.
//!
//! The H100 has two more limits: each of its 132 load units takes a line of 128 bytes a clock, and L2 delivers 5.5
//! TB/s. For L2, each workgroup is assumed to request a sector once.
//!
//! No code is compiled for NVIDIA. For the MI300X, only code for a related architecture is compiled. Estimates from
//! instructions are accurate to a factor of 1.5 on these GPUs.

use crate::{amd::CountedPath, count::KernelCounts};

/// The size of a sector in bytes.
const SECTOR_BYTES: f64 = 32.0;

struct GpuFigures {
    /// The number of bytes that memory transfers in a second.
    bandwidth: f64,
    /// The number of clock cycles in a second.
    clock: f64,
    /// The number of units. Each executes the instructions of one subgroup at a time.
    units: f64,
    /// The number of lanes of a subgroup.
    subgroup: f64,
}

const NAVI21: GpuFigures = GpuFigures {
    bandwidth: 512e9,
    clock: 2.25e9,
    units: 160.0,
    subgroup: 64.0,
};
const MI300X: GpuFigures = GpuFigures {
    bandwidth: 5.3e12,
    clock: 2.1e9,
    units: 304.0,
    subgroup: 64.0,
};
const H100: GpuFigures = GpuFigures {
    bandwidth: 3.35e12,
    clock: 1.7e9,
    units: 132.0 * 4.0,
    subgroup: 32.0,
};

impl GpuFigures {
    const fn bytes_per_clock(&self) -> f64 {
        self.bandwidth / self.clock
    }
}

const H100_LOAD_UNITS: f64 = 132.0;
const H100_L2_BYTES_PER_CLOCK: f64 = 5.5e12 / 1.7e9;
const LINE_BYTES: f64 = 128.0;

/// The number of vector instructions for each operation that the interpreter counts, fitted to the kernels without
/// loops. The table of results shows how well the number fits.
pub(crate) const INSTRUCTIONS_PER_OPERATION: f64 = 0.7;
/// The number of operations that a division counts for in addition to itself, fitted in the same way.
pub(crate) const OPERATIONS_PER_DIVISION: f64 = 12.0;

/// The GPUs with estimates.
pub(crate) const GPUS: [&str; 3] = ["Navi21", "MI300X", "H100"];

/// The times of a kernel on each GPU, divided by the time of its memory transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EstimatedTimes {
    /// The time for instructions on each GPU.
    pub(crate) navi21: f64,
    pub(crate) mi300x: f64,
    pub(crate) h100: f64,
    /// The times of the H100's load units and of its L2.
    pub(crate) h100_loads: f64,
    pub(crate) h100_l2: f64,
}

/// Returns the number of vector instructions that a lane executes: the larger of the number on the counted path and an
/// estimate from the operations that the interpreter ran. Each covers what the other misses. The path does not show how
/// many iterations loops run, nor what lanes execute outside the path, such as the ends of rows. The operations show
/// neither what the compiler adds nor which lanes wait for other lanes. The number is too large if the compiler has
/// unrolled a rare part with many stores, because the path goes through this part. The same rule applies to all
/// kernels.
pub(crate) fn vector_instructions(path: &CountedPath, counts: &KernelCounts) -> f64 {
    let operation_estimate = operation_count(counts) * INSTRUCTIONS_PER_OPERATION;
    operation_estimate.max(path.vector_instructions as f64)
}

/// Returns whether [`vector_instructions`] returns an estimate from operations. The table marks such a number with
/// "about".
pub(crate) fn is_estimated(path: &CountedPath, counts: &KernelCounts) -> bool {
    vector_instructions(path, counts) > path.vector_instructions as f64
}

/// Returns the number of operations, where each division counts as several.
pub(crate) fn operation_count(counts: &KernelCounts) -> f64 {
    counts.operations + OPERATIONS_PER_DIVISION * counts.divisions
}

/// Returns the bytes of the sectors that an invocation accesses. A sector that several invocations share is divided
/// among them.
pub(crate) fn memory_bytes(counts: &KernelCounts) -> f64 {
    let sectors = counts
        .buffer_traffic()
        .map(|traffic| traffic.distinct_sectors);
    SECTOR_BYTES * sectors.iter().sum::<f64>()
}

/// Returns whether a kernel accesses enough memory for meaningful ratios to the time of its transfers.
pub(crate) fn accesses_memory(counts: &KernelCounts) -> bool {
    memory_bytes(counts) >= 1.0
}

/// Returns the size in megabytes of the sectors that all invocations of a kernel access.
pub(crate) fn megabytes(counts: &KernelCounts) -> f64 {
    memory_bytes(counts) * counts.invocations / 1e6
}

impl EstimatedTimes {
    /// Estimates times from the code for RDNA 2 and for GCN 5, and from the counts for subgroups of 32.
    pub(crate) fn estimate_times(
        rdna2: &CountedPath,
        gcn5: &CountedPath,
        counts: &KernelCounts,
    ) -> Self {
        let memory = memory_bytes(counts);
        let ratio_to_memory = |gpu: &GpuFigures, instructions: f64| {
            let clocks = gpu.subgroup * memory / gpu.bytes_per_clock();
            instructions / gpu.units / clocks
        };
        let accesses = |path: &CountedPath| (path.loads.len() + path.stores.len()) as f64;
        let vector = vector_instructions(rdna2, counts);
        let slow_instructions =
            vector * rdna2.multiplications as f64 / (rdna2.vector_instructions.max(1)) as f64;
        let one_clock_instructions =
            (rdna2.scalar_instructions + rdna2.branches) as f64 + accesses(rdna2);
        let sum = |figure: fn(&crate::count::BufferTraffic) -> f64| {
            counts.buffer_traffic().iter().map(figure).sum::<f64>()
        };
        let lines = sum(|traffic| traffic.lines.max(traffic.bytes / LINE_BYTES));
        let l2_bytes = SECTOR_BYTES * sum(|traffic| traffic.workgroup_sectors);
        let h100_clocks = memory / H100.bytes_per_clock();
        Self {
            navi21: ratio_to_memory(
                &NAVI21,
                2.0 * (vector - slow_instructions) + 8.0 * slow_instructions,
            ),
            mi300x: ratio_to_memory(&MI300X, vector_instructions(gcn5, counts) + accesses(gcn5)),
            h100: ratio_to_memory(&H100, 2.0 * vector + one_clock_instructions),
            h100_loads: lines / H100_LOAD_UNITS / h100_clocks,
            h100_l2: l2_bytes / H100_L2_BYTES_PER_CLOCK / h100_clocks,
        }
    }

    /// Returns the largest ratio on each GPU, in the order of [`GPUS`]. It is at least 1, the ratio of memory.
    pub(crate) fn largest_ratios(&self) -> [f64; 3] {
        [
            self.navi21.max(1.0),
            self.mi300x.max(1.0),
            self.h100_bound().1,
        ]
    }

    /// Returns the time in microseconds in which each GPU, in the order of [`GPUS`], runs all invocations of a kernel
    /// with these counts. It is 0 for a kernel with negligible memory accesses, such as a kernel that returns
    /// immediately.
    pub(crate) fn microseconds(&self, counts: &KernelCounts) -> [f64; 3] {
        let transferred_megabytes = megabytes(counts);
        let bandwidths = [NAVI21, MI300X, H100].map(|gpu| gpu.bandwidth);
        let ratios = self.largest_ratios();
        [0, 1, 2].map(|gpu| match accesses_memory(counts) {
            true => transferred_megabytes * ratios[gpu] * 1e12 / bandwidths[gpu],
            false => 0.0,
        })
    }

    /// Returns the bottleneck of an H100, and its ratio.
    pub(crate) fn h100_bound(&self) -> (&'static str, f64) {
        let units = [
            ("memory", 1.0),
            ("instructions", self.h100),
            ("loads", self.h100_loads),
            ("L2", self.h100_l2),
        ];
        let slowest_unit = units
            .into_iter()
            .reduce(|a, b| if b.1 > a.1 { b } else { a });
        slowest_unit.unwrap_or(units[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::BufferTraffic;

    /// Returns the counts of an ideal copy, in which each lane copies 16 bytes.
    fn ideal_copy() -> KernelCounts {
        let traffic = BufferTraffic {
            accesses: 1.0,
            bytes: 16.0,
            useful_bytes: 16.0,
            sectors: 0.5,
            workgroup_sectors: 0.5,
            distinct_sectors: 0.5,
            lines: 0.125,
        };
        KernelCounts {
            read: traffic,
            written: traffic,
            operations: 40.0,
            divisions: 2.0,
            ..KernelCounts::default()
        }
    }

    fn test_path(vector_instructions: usize, multiplications: usize) -> CountedPath {
        CountedPath {
            vector_instructions,
            multiplications,
            scalar_instructions: 7,
            branches: 1,
            loads: vec![16],
            stores: vec![16],
            ..CountedPath::default()
        }
    }

    #[track_caller]
    fn assert_near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs(), "{a} and {b}");
    }

    #[test]
    fn times_follow_the_formulas_of_the_legend() {
        let times =
            EstimatedTimes::estimate_times(&test_path(60, 12), &test_path(70, 4), &ideal_copy());
        // 64 lanes of 32 bytes each at 512 / 2.25 bytes a clock take 9 clocks. 48 of the 60 instructions take 2 clocks
        // each, and 12 take 8 clocks each.
        assert_near(times.navi21, (48.0 * 2.0 + 12.0 * 8.0) / 160.0 / 9.0);
        assert_near(times.mi300x, 72.0 / 304.0 / (64.0 * 32.0 / (5300.0 / 2.1)));
        let memory = 32.0 * 32.0 / (3350.0 / 1.7);
        assert_near(times.h100, (120.0 + 10.0) / 528.0 / memory);
        assert_near(times.h100_loads, 32.0 * 0.25 / 132.0 / memory);
        assert_near(times.h100_l2, 3.35 / 5.5);
        assert_eq!(times.h100_bound(), ("memory", 1.0));
        assert_eq!(times.largest_ratios(), [1.0; 3]);
    }

    #[test]
    fn the_time_of_a_case_is_that_of_all_its_invocations() {
        let mut counts = ideal_copy();
        counts.invocations = 1e6;
        // 32 MB, in kernels whose bottleneck is memory.
        let [navi21, mi300x, h100] =
            EstimatedTimes::estimate_times(&test_path(20, 4), &test_path(30, 4), &counts)
                .microseconds(&counts);
        assert_near(navi21, 32e12 / 512e9);
        assert_near(mi300x, 32e12 / 5.3e12);
        assert_near(h100, 32e12 / 3.35e12);
        let slow_times =
            EstimatedTimes::estimate_times(&test_path(2000, 0), &test_path(30, 4), &counts);
        assert_near(
            slow_times.microseconds(&counts)[0],
            navi21 * slow_times.navi21,
        );
        let idle_counts = KernelCounts::default();
        assert_eq!(slow_times.microseconds(&idle_counts), [0.0; 3]);
    }

    #[test]
    fn the_bottleneck_is_the_slowest_unit() {
        let many_instructions =
            EstimatedTimes::estimate_times(&test_path(2000, 0), &test_path(30, 4), &ideal_copy());
        assert_eq!(
            many_instructions.h100_bound(),
            ("instructions", many_instructions.h100)
        );
        assert_eq!(
            many_instructions.largest_ratios(),
            [many_instructions.navi21, 1.0, many_instructions.h100]
        );
        let mut scattered_counts = ideal_copy();
        scattered_counts.read.lines = 8.0;
        let scattered_times =
            EstimatedTimes::estimate_times(&test_path(20, 4), &test_path(30, 4), &scattered_counts);
        assert_eq!(
            scattered_times.h100_bound(),
            ("loads", scattered_times.h100_loads)
        );
        let mut rereading_counts = ideal_copy();
        rereading_counts.read.workgroup_sectors = 4.0;
        let rereading_times =
            EstimatedTimes::estimate_times(&test_path(20, 4), &test_path(30, 4), &rereading_counts);
        assert_eq!(
            rereading_times.h100_bound(),
            ("L2", rereading_times.h100_l2)
        );
    }

    #[test]
    fn instructions_are_the_larger_of_the_path_and_of_an_estimate_from_operations() {
        let operation_estimate = 64.0 * 0.7;
        let short_path = test_path(20, 5);
        assert_near(
            vector_instructions(&short_path, &ideal_copy()),
            operation_estimate,
        );
        assert!(is_estimated(&short_path, &ideal_copy()));
        // The share of multiplications comes from the counted path.
        let times = EstimatedTimes::estimate_times(&short_path, &test_path(30, 4), &ideal_copy());
        assert_near(
            times.navi21,
            operation_estimate * (0.75 * 2.0 + 0.25 * 8.0) / 160.0 / 9.0,
        );
        let long_path = test_path(200, 5);
        assert_eq!(vector_instructions(&long_path, &ideal_copy()), 200.0);
        assert!(!is_estimated(&long_path, &ideal_copy()));
    }
}
