//! What work costs on the CPU and on a device, and so where it is done.
//!
//! Slices and gathers move bytes, and beginning a row elsewhere in memory costs a little more. So a
//! time is a sum of quotients:
//!
//! | on the CPU | on a device |
//! |---|---|
//! | of data on a device: all of it / `readback` + `submission` | of data on the host: what is sent / `upload` |
//! | bytes read and written / `cpu.bytes` + rows · `cpu.row` | bytes read and written / `device.bytes` + rows · `device.row` + `submission` |
//! | for a device: result / `upload` | for the host: result / `readback` |
//!
//! What is counted of a plan is in `cost/count.rs`, and how the rates of a machine are measured in
//! `cost/measure.rs`. Nothing is taken to overlap. That is coarse, and enough: where both take about as
//! long, either will do.

mod count;
mod measure;

use crate::{Gpu, Plan};
use std::{fmt, time::Duration};

/// What moving bytes costs on the CPU, on a device, and between them.
///
/// [`Costs::of`] gives figures for a kind of adapter, and [`Costs::measure`] those of this machine.
/// A backend [with costs](crate::Backend::with_costs) goes by them.
///
/// ```
/// use wgslice::{slice, Costs, DType, Place, Plan};
///
/// let costs = Costs::HARDWARE;
/// let plan = Plan::strided_slice(&[4096, 4096], &slice![.., ..; -1], DType::F32)?;
/// // Nobody sends an array to a GPU and back to flip it once.
/// assert!(costs.estimate(&plan, Place::Host, Place::Host).prefers_cpu());
/// assert!(!costs.estimate(&plan, Place::Device, Place::Device).prefers_cpu());
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// The CPU.
    pub cpu: Moving,
    /// The device.
    pub device: Moving,
    /// Bytes a second from the host to the device.
    pub upload: f64,
    /// Bytes a second from the device to the host.
    pub readback: f64,
    /// Seconds from a submission to its completion, however little there is to do.
    pub submission: f64,
    /// Seconds until a device that is not open has done something.
    pub opening: f64,
}

/// What moving bytes costs where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moving {
    /// Bytes a second, read plus written.
    pub bytes: f64,
    /// Seconds more for each row: it lies somewhere else than the one before.
    pub row: f64,
}

/// Where data is, or is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In memory of the host.
    Host,
    /// In memory of the device.
    Device,
}

/// Seconds that an operation takes, about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// On the CPU.
    pub cpu: f64,
    /// On the device.
    pub device: f64,
}

impl Estimate {
    /// Whether the CPU is to do it.
    pub fn prefers_cpu(&self) -> bool {
        // Rates that make no sense, 0 for example, speak for no device.
        !(0.0..self.cpu).contains(&self.device)
    }
}

/// As in `the CPU takes about 3.1ms and the device 12.0ms`.
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

/// As measured on 2 cores of an AMD EPYC processor.
const CPU: Moving = Moving {
    bytes: 25e9,
    row: 3e-9,
};

impl Costs {
    /// For a GPU. Not measured: what a card of the middle does behind 8 lanes of PCIe 3.
    pub const HARDWARE: Self = Self {
        cpu: CPU,
        device: Moving {
            bytes: 200e9,
            row: 0.1e-9,
        },
        upload: 5e9,
        readback: 5e9,
        submission: 50e-6,
        opening: 0.2,
    };

    /// For a software adapter: lavapipe, as measured on the same 2 cores.
    pub const SOFTWARE: Self = Self {
        cpu: CPU,
        device: Moving {
            bytes: 12e9,
            row: 5e-9,
        },
        upload: 8e9,
        readback: 5e9,
        submission: 100e-6,
        opening: 0.05,
    };

    /// The figures for a device of this kind.
    pub fn of(gpu: &Gpu) -> Self {
        if gpu.is_software() {
            Self::SOFTWARE
        } else {
            Self::HARDWARE
        }
    }

    /// Seconds that an operation takes on the CPU and on the device, of data that lies in one place and
    /// is wanted in another.
    pub fn estimate(&self, plan: &Plan, from: Place, to: Place) -> Estimate {
        let result = plan.result_bytes() as f64;
        let [mut cpu, mut device] = [self.cpu, self.device]
            .map(|costs| plan.moved() / costs.bytes + plan.starts() * costs.row);
        device += self.submission;
        match from {
            Place::Host => device += plan.sent() / self.upload,
            Place::Device => cpu += plan.held() / self.readback + self.submission,
        }
        match to {
            Place::Host => device += result / self.readback,
            Place::Device => cpu += result / self.upload,
        }
        Estimate { cpu, device }
    }
}

#[cfg(test)]
mod tests {
    use super::{count::tests::plan, *};
    use crate::{DType, GatherNd};
    use Place::{Device, Host};

    /// Rates that make for round figures.
    const ROUND: Costs = Costs {
        cpu: Moving {
            bytes: 1e9,
            row: 1e-9,
        },
        device: Moving {
            bytes: 10e9,
            row: 0.0,
        },
        upload: 2e9,
        readback: 0.5e9,
        submission: 1e-3,
        opening: 0.0,
    };

    #[track_caller]
    fn assert_takes(estimate: Estimate, cpu: f64, device: f64) {
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(
            close(estimate.cpu, cpu) && close(estimate.device, device),
            "{estimate:?}"
        );
    }

    #[test]
    fn every_byte_and_every_row_is_counted_where_it_moves() {
        // 1000 rows of 1000 bytes.
        let crop = plan(&[1000, 2000], ":, 500:1500");
        let (cpu, device) = (2e-3 + 1e-6, 0.2e-3 + 1e-3);
        assert_takes(
            ROUND.estimate(&crop, Device, Device),
            cpu + 5e-3 + 0.5e-3,
            device,
        );
        assert_takes(
            ROUND.estimate(&crop, Host, Device),
            cpu + 0.5e-3,
            device + 0.5e-3,
        );
        assert_takes(
            ROUND.estimate(&crop, Device, Host),
            cpu + 5e-3,
            device + 2e-3,
        );
        assert_takes(
            ROUND.estimate(&crop, Host, Host),
            cpu,
            device + 0.5e-3 + 2e-3,
        );
    }

    #[test]
    fn what_is_on_a_device_stays_there_and_what_comes_from_the_host_is_worth_it_or_not() {
        let prefers_cpu =
            |costs: &Costs, plan: &Plan, from, to| costs.estimate(plan, from, to).prefers_cpu();
        let flip = plan(&[4096, 4096], ":, ::-1");
        let tiny = plan(&[16, 16], "1:");
        for plan in [&flip, &tiny] {
            for costs in [Costs::HARDWARE, Costs::SOFTWARE] {
                assert!(prefers_cpu(&costs, plan, Host, Host));
                assert!(!prefers_cpu(&costs, plan, Device, Device));
            }
        }
        // Scalars from a small table: the CPU jumps for each, and the bus carries few bytes.
        let costs = Costs {
            upload: 50e9,
            readback: 50e9,
            ..Costs::HARDWARE
        };
        let scalars = |count| {
            Plan::gather_nd(&[1 << 20], &[count, 1], GatherNd::default(), DType::F32).unwrap()
        };
        assert!(!prefers_cpu(&costs, &scalars(10_000_000), Host, Host));
        assert!(prefers_cpu(&costs, &scalars(1000), Host, Host));
        assert!(prefers_cpu(
            &Costs::SOFTWARE,
            &scalars(10_000_000),
            Host,
            Host
        ));
    }

    #[test]
    fn rates_that_make_no_sense_speak_for_the_cpu() {
        for upload in [0.0, -0.0, f64::NAN] {
            let costs = Costs { upload, ..ROUND };
            for shape in [[1000, 1000], [0, 0]] {
                let estimate = costs.estimate(&plan(&shape, "::-1"), Host, Host);
                assert!(estimate.prefers_cpu(), "{estimate}");
            }
        }
    }
}
