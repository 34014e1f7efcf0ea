//! Estimates the time of a plan on the CPU and on a device. The estimates decide where host values are processed.
//!
//! Operations move bytes. A row that begins in another cache line than the previous row takes a little longer. A
//! transpose is slower too: if it moves squares of pieces, it moves fewer bytes per second; if it moves tiles with many
//! short axes, it copies each piece separately. An estimate is the sum of four times:
//!
//! | | on the CPU | on a device |
//! |---|---|---|
//! | fetch the data | if an array is changed in place: 2 · its bytes / `cpu.byte_rate` | uploaded bytes / `upload_rate` |
//! | do the work | bytes read and written / `cpu.byte_rate` or `cpu.transposed_rate` + single pieces · `cpu.piece_seconds` + rows · `cpu.row_seconds` or `cpu.far_row_seconds` + `call_seconds` | the same with rates of `device`, and `submission` instead of `call_seconds` |
//! | deliver the result | | bytes of the result / `readback_rate` |
//! | get memory for a result of 32 MiB or more | bytes of the result / `new_memory_rate` | the same |
//!
//! `count` counts these bytes and rows in a plan, and `measure` measures the rates of a machine. The estimate assumes
//! that nothing overlaps. It is coarse, but if the times on the CPU and on the device are close, either choice is good.

mod count;
mod measure;

use crate::{Gpu, Plan, moves::Move};
use std::{fmt, time::Duration};

/// The rates of moving bytes on the CPU, on a device, and between them.
///
/// [`CostModel::of`] returns typical rates for a kind of adapter, and [`CostModel::measure`] measures the rates of this
/// machine. A backend [with costs](crate::Backend::with_costs) chooses the CPU or the device by these rates.
///
/// ```
/// use wgslice::{cost::CostModel, slice, DType, Plan};
///
/// let costs = CostModel::HARDWARE;
/// let plan = Plan::slice(&[4096, 4096], &slice![.., ..; -1], DType::F32)?;
/// // Flipping an array once is not worth the transfers to a GPU and back.
/// assert!(costs.estimate(&plan).prefers_cpu());
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CostModel {
    /// Rates within the memory of the host, on the CPU.
    pub(crate) cpu: Throughput,
    /// Rates within the memory of the device.
    pub(crate) device: Throughput,
    /// Bytes per second from the host to the device.
    pub(crate) upload_rate: f64,
    /// Bytes per second from the device to the host.
    pub(crate) readback_rate: f64,
    /// Bytes per second at which the host provides new memory: the operating system zeroes and maps each page when it
    /// is first written. This rate applies only to results of at least 32 MiB, because allocators reuse the memory of
    /// smaller results that were dropped.
    pub(crate) new_memory_rate: f64,
    /// Seconds that a call on the CPU takes in addition to moving bytes.
    pub(crate) call_seconds: f64,
    /// Seconds from an empty submission to its completion.
    pub submission: f64,
    /// Seconds to open a device and complete its first submission.
    pub opening: f64,
}

/// The rates of moving bytes within one memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Bytes per second, read plus written.
    byte_rate: f64,
    /// Bytes per second, read plus written, if a slice is transposed.
    transposed_rate: f64,
    /// Additional seconds for each piece of a transpose that `cpu/short_axes.rs` runs.
    piece_seconds: f64,
    /// Additional seconds for each row that begins in another cache line than the previous row.
    row_seconds: f64,
    /// Replaces `row_seconds` if indices select the rows of an array of more than 32 MiB, which does not fit in caches.
    far_row_seconds: f64,
}

/// The estimated time of a plan, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The time on the CPU.
    pub cpu: f64,
    /// The time on the device.
    pub device: f64,
}

impl Estimate {
    /// Returns whether the CPU is estimated to be at least as fast as the device. Also returns `true` if invalid rates,
    /// such as 0, make either time NaN or make the device's time infinite or negative.
    pub fn prefers_cpu(&self) -> bool {
        // The range does not contain a device time that is negative, infinite or NaN.
        !(0.0..self.cpu).contains(&self.device)
    }
}

/// Prints `the CPU takes about 3.1ms and the device 12.0ms`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cpu, device] = [self.cpu, self.device]
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        write!(
            f,
            "the CPU takes about {cpu:.1?} and the device {device:.1?}"
        )
    }
}

/// Rates of the CPU, measured on 2 cores of an AMD EPYC processor.
const CPU: Throughput = Throughput {
    byte_rate: 25e9,
    transposed_rate: 20e9,
    piece_seconds: 1e-9,
    row_seconds: 3e-9,
    far_row_seconds: 8e-9,
};

/// The rate of new memory in bytes per second, measured on the same machine as [`CALL`] and [`CPU`].
const NEW_MEMORY: f64 = 4.4e9;
/// The time of a call in seconds, in addition to moving bytes.
const CALL: f64 = 400e-9;

/// The size in bytes of the smallest result that counts as new memory. Allocators get large blocks from the system and
/// return them when they are freed: glibc does so for every block of 32 MiB or more, and sometimes for smaller blocks.
const NEW_FROM_BYTES: f64 = (32 << 20) as f64;

impl CostModel {
    /// Rates for a hardware GPU. The rates of the device and of transfers are estimated, not measured, for a mid-range
    /// card on 8 lanes of PCIe 3.
    pub const HARDWARE: Self = Self {
        cpu: CPU,
        device: Throughput {
            byte_rate: 200e9,
            transposed_rate: 200e9,
            piece_seconds: 0.0,
            row_seconds: 0.1e-9,
            far_row_seconds: 0.2e-9,
        },
        upload_rate: 5e9,
        readback_rate: 5e9,
        new_memory_rate: NEW_MEMORY,
        call_seconds: CALL,
        submission: 50e-6,
        opening: 0.2,
    };

    /// Rates for a software adapter: lavapipe, measured on 2 cores of an AMD EPYC processor.
    pub(crate) const SOFTWARE: Self = Self {
        cpu: CPU,
        device: Throughput {
            byte_rate: 12e9,
            transposed_rate: 10e9,
            piece_seconds: 0.0,
            row_seconds: 5e-9,
            far_row_seconds: 10e-9,
        },
        upload_rate: 8e9,
        readback_rate: 5e9,
        new_memory_rate: NEW_MEMORY,
        call_seconds: CALL,
        submission: 100e-6,
        opening: 0.05,
    };

    /// Returns typical rates: for a software adapter the rates of lavapipe, otherwise [`Self::HARDWARE`].
    pub fn of(gpu: &Gpu) -> Self {
        if gpu.is_software() {
            Self::SOFTWARE
        } else {
            Self::HARDWARE
        }
    }

    /// Estimates the time of a plan with inputs and result in host memory. The estimate of a search assumes that the
    /// number of true elements equals the capacity.
    pub fn estimate(&self, plan: &Plan) -> Estimate {
        let result_bytes = plan.result_bytes() as f64;
        let seconds_of_steps = |costs: Throughput, line_starts: fn(&Move) -> f64| -> f64 {
            let seconds_of_move = |step_move: &Move| {
                let row_seconds = if step_move.is_far() {
                    costs.far_row_seconds
                } else {
                    costs.row_seconds
                };
                let (rate, pieces) = match step_move.transposed_pieces() {
                    Some(pieces) => (costs.transposed_rate, pieces),
                    None => (costs.byte_rate, 0),
                };
                step_move.moved_byte_count() / rate
                    + pieces as f64 * costs.piece_seconds
                    + line_starts(step_move) * row_seconds
            };
            plan.steps()
                .map(|(step_move, _)| seconds_of_move(step_move))
                .sum()
        };
        let mut cpu = seconds_of_steps(self.cpu, Move::starts_on_cpu) + self.call_seconds;
        let mut device = seconds_of_steps(self.device, Move::line_starts) + self.submission;
        device += plan.uploaded_bytes() / self.upload_rate + result_bytes / self.readback_rate;
        if plan.is_in_place() {
            // The CPU copies the array and changes the copy.
            cpu += 2.0 * result_bytes / self.cpu.byte_rate;
        }
        // A smaller result reuses memory that the process already has.
        let new_memory_seconds = if result_bytes < NEW_FROM_BYTES {
            0.0
        } else {
            result_bytes / self.new_memory_rate
        };
        Estimate {
            cpu: cpu + new_memory_seconds,
            device: device + new_memory_seconds,
        }
    }
}

/// Prints `the CPU moves 25.0 GB/s, transposes 20.0 GB/s and takes 3.0 ns for a row, and new memory comes at 4.4 GB/s;
/// the device …`.
impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bytes: f64| bytes / 1e9;
        let time = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        write!(
            f,
            "the CPU moves {:.1} GB/s, transposes {:.1} GB/s and takes {:.1} ns for a row, and new memory comes at \
             {:.1} GB/s; the device moves {:.1} GB/s, transposes {:.1} GB/s and takes {:.1} ns for a row; upload \
             {:.1} GB/s, readback {:.1} GB/s, submission {:.1?}, opening {:.1?}",
            rate(self.cpu.byte_rate),
            rate(self.cpu.transposed_rate),
            self.cpu.row_seconds * 1e9,
            rate(self.new_memory_rate),
            rate(self.device.byte_rate),
            rate(self.device.transposed_rate),
            self.device.row_seconds * 1e9,
            rate(self.upload_rate),
            rate(self.readback_rate),
            time(self.submission),
            time(self.opening),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{count::tests::plan, *};
    use crate::{
        DType, Plan, View,
        options::{Boxes, CropOptions, GatherNdOptions},
    };

    /// Rates for which the expected times are round numbers.
    const ROUND_RATES: CostModel = CostModel {
        cpu: Throughput {
            byte_rate: 1e9,
            transposed_rate: 0.5e9,
            piece_seconds: 2e-9,
            row_seconds: 1e-9,
            far_row_seconds: 3e-9,
        },
        device: Throughput {
            byte_rate: 10e9,
            transposed_rate: 5e9,
            piece_seconds: 0.0,
            row_seconds: 0.0,
            far_row_seconds: 0.0,
        },
        upload_rate: 2e9,
        readback_rate: 0.5e9,
        new_memory_rate: 4e9,
        call_seconds: 1e-6,
        submission: 1e-3,
        opening: 0.0,
    };

    #[test]
    fn bytes_and_rows_are_counted_where_they_move() {
        // 1000 rows of 1000 bytes.
        let crop = plan(&[1000, 2000], ":, 500:1500");
        let (cpu, device) = (2e-3 + 1e-6 + 1e-6, 0.2e-3 + 1e-3);
        let estimate = ROUND_RATES.estimate(&crop);
        let is_close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(is_close(estimate.cpu, cpu), "{estimate:?}");
        let transfer_seconds = 0.5e-3 + 2e-3;
        assert!(
            is_close(estimate.device, device + transfer_seconds),
            "{estimate:?}"
        );
    }

    #[test]
    fn transposes_have_their_own_rates() {
        let estimate_seconds = |shape: &[usize], axes: &[usize]| {
            let view = View::new(shape).unwrap().transpose(axes).unwrap();
            let plan = Plan::contiguous(view, DType::F32).unwrap();
            let moved_bytes = 2.0 * plan.result_bytes() as f64;
            let Estimate { cpu, device } = ROUND_RATES.estimate(&plan);
            // The times without transfers and rows.
            let rows = plan.only_move().line_starts() * 1e-9;
            let transfer_seconds = moved_bytes / 2.0 / 2e9 + moved_bytes / 2.0 / 0.5e9;
            let cpu = cpu - rows - 1e-6;
            [cpu, device - transfer_seconds - 1e-3].map(|seconds| seconds / moved_bytes * 1e9)
        };
        let assert_close = |found: [f64; 2], expected: [f64; 2]| {
            let pairs = found.into_iter().zip(expected);
            assert!(
                pairs
                    .clone()
                    .all(|(found, expected)| (found / expected - 1.0).abs() < 1e-6),
                "{found:?} {expected:?}"
            );
        };
        assert_close(estimate_seconds(&[1000, 1000], &[1, 0]), [2.0, 0.2]);
        // The order of rows of 512 bytes changes.
        assert_close(estimate_seconds(&[50, 70, 128], &[1, 0, 2]), [1.0, 0.1]);
        // The pieces of a pixel are near each other.
        assert_close(estimate_seconds(&[100, 1000, 2], &[2, 0, 1]), [1.0, 0.1]);
        // Each piece of 4 bytes takes 2 ns, and 8 bytes are moved for it.
        let reversed: Vec<usize> = (0..18).rev().collect();
        assert_close(
            estimate_seconds(&[2; 18], &reversed),
            [2.0 + 2.0 / 8.0, 0.2],
        );
    }

    #[test]
    fn far_rows_and_the_lines_of_crops_have_their_own_times() {
        let is_close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        let difference = |rows: [usize; 2]| {
            let [near, far] = rows.map(|rows| {
                let options = GatherNdOptions::default();
                let gather = Plan::gather_nd(&[rows], &[1000, 1], options, DType::U8).unwrap();
                ROUND_RATES.estimate(&gather).cpu
            });
            far - near
        };
        // The difference is 1000 rows that take 3 ns each instead of 1 ns.
        assert!(is_close(difference([32 << 20, (32 << 20) + 1]), 2e-6));
        let boxes = Boxes::new(&[5, 2]);
        let sizes = vec![20, 30];
        let options = CropOptions {
            sizes,
            ..CropOptions::default()
        };
        let crop = Plan::crop(&[5, 100, 100], boxes, &options, DType::U8).unwrap();
        let [lines, pixels] = [1.0, 0.0].map(|row| {
            let mut costs = ROUND_RATES;
            (costs.cpu.row_seconds, costs.device.row_seconds) = (row, 1.0 - row);
            costs.estimate(&crop)
        });
        let base_estimate = ROUND_RATES.estimate(&crop);
        assert!((lines.cpu - base_estimate.cpu - 5.0 * 20.0).abs() < 1e-3);
        assert!((pixels.device - base_estimate.device - 5.0 * 20.0 * 30.0).abs() < 1e-3);
    }

    #[test]
    fn a_search_reads_its_mask_twice() {
        let nonzero = Plan::nonzero(&[1000], Some(100), DType::I64).unwrap();
        let estimate = ROUND_RATES.estimate(&nonzero);
        // The CPU reads 2000 bytes, writes 800 bytes, and handles 100 positions.
        let cpu = 2.8e-6 + 0.1e-6 + 1e-6;
        assert!((estimate.cpu / cpu - 1.0).abs() < 1e-9, "{estimate:?}");
        let transfer_seconds = 0.5e-6 + 1.6e-6;
        let device = 0.28e-6 + transfer_seconds + 1e-3;
        assert!(
            (estimate.device / device - 1.0).abs() < 1e-9,
            "{estimate:?}"
        );
    }

    #[test]
    fn only_large_results_on_the_host_are_new_memory() {
        for (bytes, is_new) in [((32 << 20) - 1, false), (32 << 20, true)] {
            let plan = plan(&[bytes], "::-1");
            let costs = CostModel {
                new_memory_rate: ROUND_RATES.new_memory_rate / 2.0,
                ..ROUND_RATES
            };
            let [slow, fast] = [costs, ROUND_RATES].map(|costs| costs.estimate(&plan));
            let memory_seconds = if is_new {
                bytes as f64 / ROUND_RATES.new_memory_rate
            } else {
                0.0
            };
            let is_close = |found: f64| (found - memory_seconds).abs() < 1e-9;
            assert!(is_close(slow.cpu - fast.cpu), "{bytes}");
            assert!(is_close(slow.device - fast.device), "{bytes}");
        }
    }

    #[test]
    fn data_on_the_host_goes_to_a_device_if_it_pays() {
        let prefers_cpu = |costs: &CostModel, plan: &Plan| costs.estimate(plan).prefers_cpu();
        let flip = plan(&[4096, 4096], ":, ::-1");
        let tiny = plan(&[16, 16], "1:");
        // The transpose of an array: it moves each byte once.
        let table = View::new(&[4096, 4096])
            .unwrap()
            .transpose(&[1, 0])
            .unwrap();
        let table = Plan::contiguous(table, DType::F32).unwrap();
        for plan in [&flip, &tiny, &table] {
            for costs in [CostModel::HARDWARE, CostModel::SOFTWARE] {
                assert!(prefers_cpu(&costs, plan));
            }
        }
        // A gather of scalars from a table of 4 MiB: few bytes are transferred, and the CPU needs additional time for
        // each scalar.
        let costs = CostModel {
            upload_rate: 50e9,
            readback_rate: 50e9,
            ..CostModel::HARDWARE
        };
        let scalars = |count| {
            Plan::gather_nd(
                &[1 << 20],
                &[count, 1],
                GatherNdOptions::default(),
                DType::F32,
            )
            .unwrap()
        };
        assert!(!prefers_cpu(&costs, &scalars(10_000_000)));
        assert!(prefers_cpu(&costs, &scalars(1000)));
        assert!(prefers_cpu(&CostModel::SOFTWARE, &scalars(10_000_000)));
    }

    #[test]
    fn invalid_rates_choose_the_cpu() {
        for upload_rate in [0.0, -0.0, f64::NAN] {
            let costs = CostModel {
                upload_rate,
                ..ROUND_RATES
            };
            for shape in [[1000, 1000], [0, 0]] {
                let estimate = costs.estimate(&plan(&shape, "::-1"));
                assert!(estimate.prefers_cpu(), "{estimate}");
            }
        }
    }
}
