//! Measures the same operations at growing sizes, and finds the size from which a device is faster than the CPU.
//!
//! With data on the device, the operation on the device is compared with the operation on the CPU with its data in
//! host memory, both into a reused output. With data on the host, upload, operation and readback are compared with the
//! operation on the CPU, both into new host memory.

use super::{
    data::Values,
    devices::{Described, Kind},
    measured::{Measured, Quantity},
    times::Effort,
    workload::{Operation, Workload},
};
use bytesize::ByteSize;
use serde::Serialize;
use std::{fmt, time::Duration};
use wgslice::Error;

/// The smallest result in bytes, and the factor to the next size.
const SMALLEST: usize = 64 << 10;
const GROWTH: usize = 4;

/// The number of runs of each measurement. Runs at large sizes take long, so a time limit ends them earlier.
pub(crate) const EFFORT: Effort = Effort {
    reps: 9,
    patience: Duration::from_millis(300),
};

/// The operations of the sweep, by the names of their workloads.
pub(crate) const SHAPES: [&str; 2] = ["crop", "gather"];

/// Returns the sizes of the sweep's results in bytes, up to `most`.
pub(crate) fn sizes(most: usize) -> impl Iterator<Item = usize> {
    let next = |&size: &usize| size.checked_mul(GROWTH);
    std::iter::successors(Some(SMALLEST), next).take_while(move |&size| size <= most)
}

/// Makes the workload named `shape`, with a result of `size` bytes.
pub(crate) fn workload(shape: &str, size: usize) -> Result<Workload, Error> {
    const F32: usize = 4;
    let (what, dims, operation) = if shape == "crop" {
        let rows = size / (1024 * F32);
        let bounds = vec![[None; 3], [Some(128), Some(128 + 1024), None]];
        let operation = Operation::slice(bounds)?;
        ("rows of 4 KiB cut from 5 KiB", vec![rows, 1280], operation)
    } else {
        let rows = size / (128 * F32);
        let operation = Operation::Gather { rows, depth: 1 };
        ("rows of 512 bytes by index", vec![2 * rows, 128], operation)
    };
    let mut workload = Workload::new(shape, what, Values::F32, dims, operation)?;
    workload.e2e = true;
    Ok(workload)
}

/// The size of the result from which a device is faster than the CPU at an operation.
#[derive(Debug, Serialize)]
pub(crate) struct Crossover {
    shape: &'static str,
    device: String,
    /// The device's short name, which tells it from another of the same name.
    pub(crate) peer: String,
    data: Place,
    /// The smallest size of a result, in bytes, from which on the device was faster at every measured size. `None` if
    /// the device was not faster at the largest size.
    from: Option<usize>,
    /// The smallest and the largest size of a result that both the CPU and the device were measured at, in bytes.
    measured: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Host,
    Device,
}

impl Place {
    /// Returns the quantities to compare: first the CPU's, then the device's.
    fn quantities(self) -> [Quantity; 2] {
        match self {
            Self::Host => [Quantity::Fresh, Quantity::E2e],
            Self::Device => [Quantity::Resident, Quantity::Resident],
        }
    }
}

pub(crate) fn crossovers(devices: &[Described], sweep: &[Measured]) -> Vec<Crossover> {
    let Some(cpu) = devices.iter().find(|device| device.kind == Kind::Cpu) else {
        return Vec::new();
    };
    let mut crossovers = Vec::new();
    for device in devices.iter().filter(|device| device.kind != Kind::Cpu) {
        for shape in SHAPES {
            for data in [Place::Host, Place::Device] {
                let [on_cpu, on_device] = data.quantities();
                let times = |peer: &str, quantity| {
                    let points = sweep.iter();
                    let points = points.filter(|at| at.workload == shape && at.peer == peer);
                    let time = |at: &Measured| Some((at.bytes / 2, at.median(quantity)?));
                    points.filter_map(time).collect::<Vec<_>>()
                };
                let (cpu, gpu) = (times(&cpu.peer, on_cpu), times(&device.peer, on_device));
                let both: Vec<(usize, bool)> = gpu
                    .iter()
                    .filter_map(|&(size, gpu)| {
                        let (_, cpu) = cpu.iter().find(|(other, _)| *other == size)?;
                        Some((size, gpu < *cpu))
                    })
                    .collect();
                if let (Some(&(first, _)), Some(&(last, _))) = (both.first(), both.last()) {
                    crossovers.push(Crossover {
                        shape,
                        device: device.name.clone(),
                        peer: device.peer.clone(),
                        data,
                        from: wins_from(&both),
                        measured: [first, last],
                    });
                }
            }
        }
    }
    crossovers
}

/// Returns the smallest size such that the device is faster than the CPU at this size and at all larger ones. `sizes`
/// is in ascending order; each entry says whether the device is faster. `None` if the device is not faster at the
/// largest size, or if there are no sizes.
fn wins_from(sizes: &[(usize, bool)]) -> Option<usize> {
    let won = sizes.iter().rev().take_while(|(_, won)| *won);
    won.last().map(|&(size, _)| size)
}

/// Writes one line, without the name of the device.
impl fmt::Display for Crossover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, from, .. } = self;
        let place = match self.data {
            Place::Host => "host",
            Place::Device => "device",
        };
        let [least, most] = self.measured;
        write!(f, "{shape}, data on the {place}: ")?;
        match *from {
            Some(from) if from == least => {
                write!(f, "at every size from {} to {}", size(least), size(most))
            }
            Some(from) => write!(f, "from {} on", size(from)),
            None => write!(f, "at no size up to {}", size(most)),
        }
    }
}

/// Formats the size of a result, as in `64 KiB`.
pub(crate) fn size(bytes: usize) -> String {
    let text = ByteSize(bytes as u64).display().iec().to_string();
    text.replace(".0 ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_size_that_was_asked_for() {
        let sizes: Vec<usize> = sizes(5 << 20).collect();
        assert_eq!(sizes, [64 << 10, 256 << 10, 1 << 20, 4 << 20]);
        for shape in SHAPES {
            for &size in &sizes {
                let workload = workload(shape, size).expect("a workload");
                assert_eq!(workload.plan.result_bytes(), size, "{shape}");
            }
        }
    }

    /// Two devices of one name: the first is faster than the CPU, the second is not.
    #[cfg(feature = "gpu")]
    #[test]
    fn devices_of_one_name_have_their_own_crossovers() {
        use crate::bench::{devices::Device, report::Report, times::Times};
        let cpu = Device::Cpu.describe();
        let gpu = |peer: &str| {
            let mut gpu = cpu.clone();
            (gpu.name, gpu.peer, gpu.kind) = ("a GPU".into(), peer.into(), Kind::Gpu);
            gpu
        };
        let devices = vec![cpu.clone(), gpu("wgslice-gpu"), gpu("wgslice-gpu-2")];
        let work = workload("crop", SMALLEST).expect("a workload");
        let measured = |(device, seconds): (&Described, f64)| {
            let sheet = [(Quantity::Resident, Times::of(seconds))].into();
            Measured::new(&work, &device.name, &device.peer, 0.0, None, sheet)
        };
        let points: Vec<Measured> = devices.iter().zip([2.0, 1.0, 3.0]).map(measured).collect();
        let mut report = Report::new(devices);
        report.crossovers = crossovers(&report.devices, &points);
        let own = |at: usize| {
            let own = report.crossovers_of(&report.devices[at]);
            own.map(|at| at.from).collect::<Vec<_>>()
        };
        assert_eq!(
            [own(0), own(1), own(2)],
            [vec![], vec![Some(SMALLEST)], vec![None]]
        );
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size(3 << 19), "1.5 MiB");
    }

    #[test]
    fn a_win_counts_only_if_it_lasts() {
        assert_eq!(wins_from(&[(1, false), (2, true), (3, true)]), Some(2));
        assert_eq!(wins_from(&[(1, true), (2, false), (3, true)]), Some(3));
        assert_eq!(wins_from(&[(1, true), (2, true), (3, false)]), None);
        assert_eq!(wins_from(&[(1, true), (2, true)]), Some(1));
        assert_eq!(wins_from(&[]), None);
    }
}
