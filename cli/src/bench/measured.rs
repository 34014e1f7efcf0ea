//! The measurements of a workload on a device, and the figures derived from them.

use super::{
    checksum::Wrong,
    data::OutOfMemory,
    times::Times,
    workload::{Operation, Workload},
};
use serde::Serialize;
use std::collections::BTreeMap;
use wgslice::Error;

/// The stage or mode that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    First,
    Resident,
    Fresh,
    E2e,
    Upload,
    Encode,
    Device,
    Wait,
    Readback,
    Loop,
    CopyOne,
    CopyAll,
    CopyBuffer,
    CopyDevice,
    Pipelined100,
    Pipelined1000,
    Bare,
    Bare100,
    Bare1000,
    HostToHost,
}

impl Quantity {
    pub(crate) const ALL: [Self; 20] = [
        Self::First,
        Self::Resident,
        Self::Fresh,
        Self::E2e,
        Self::Upload,
        Self::Encode,
        Self::Device,
        Self::Wait,
        Self::Readback,
        Self::Loop,
        Self::CopyOne,
        Self::CopyAll,
        Self::CopyBuffer,
        Self::CopyDevice,
        Self::Pipelined100,
        Self::Pipelined1000,
        Self::Bare,
        Self::Bare100,
        Self::Bare1000,
        Self::HostToHost,
    ];

    /// The name of the quantity in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Resident => "resident",
            Self::Fresh => "fresh",
            Self::E2e => "e2e",
            Self::Upload => "upload",
            Self::Encode => "encode",
            Self::Device => "device",
            Self::Wait => "wait",
            Self::Readback => "readback",
            Self::Loop => "loop",
            Self::CopyOne => "copy_one",
            Self::CopyAll => "copy_all",
            Self::CopyBuffer => "copy_buffer",
            Self::CopyDevice => "copy_device",
            Self::Pipelined100 => "pipelined100",
            Self::Pipelined1000 => "pipelined1000",
            Self::Bare => "bare",
            Self::Bare100 => "bare100",
            Self::Bare1000 => "bare1000",
            Self::HostToHost => "host_to_host",
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::First => "the first call, cold: on a device it compiles the shader",
            Self::Resident => "input and output stay where they are and are reused; completed",
            Self::Fresh => "as resident, into a new output each time",
            Self::E2e => "from host memory to host memory: upload, operation, readback",
            Self::Upload => "input and indices from the host to new tensors on the device",
            Self::Encode => "of resident: recording and finishing the commands, on the host",
            Self::Device => "of the operation on the device, by its timestamps",
            Self::Wait => "of resident: from submission to completion",
            Self::Readback => "the result from the device to new memory on the host",
            Self::Loop => "plain loops that a user would write, one thread; as resident",
            Self::CopyOne => "memcpy of as many bytes, one thread",
            Self::CopyAll => "memcpy of as many bytes, all threads",
            Self::CopyBuffer => "buffer copy of as many bytes on the device, as resident",
            Self::CopyDevice => "the same by the device's timestamps",
            Self::Pipelined100 => "one of 100 operations in one submission",
            Self::Pipelined1000 => "one of 1000 operations in one submission",
            Self::Bare => "the least that a dispatch costs: a shader that copies as many words",
            Self::Bare100 => "one of 100 such dispatches in one submission",
            Self::Bare1000 => "one of 1000 such dispatches in one submission",
            Self::HostToHost => "from host values to host values in new memory",
        }
    }

    /// Returns whether the quantity is a mode: the time of a complete run, which other programs in a comparison measure
    /// too.
    pub(crate) fn is_mode(self) -> bool {
        matches!(
            self,
            Self::Resident | Self::Fresh | Self::E2e | Self::Pipelined100 | Self::Pipelined1000
        )
    }
}

/// The times of a workload on a device, by quantity.
pub(crate) type Sheet = BTreeMap<Quantity, Times>;

/// A workload that was measured on a device with a correct result.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) workload: String,
    pub(crate) what: String,
    pub(crate) op: &'static str,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) result_shape: Vec<usize>,
    /// The bytes read plus the bytes written.
    pub(crate) bytes: usize,
    pub(crate) device: String,
    pub(crate) peer: String,
    pub(crate) checksum: f64,
    /// The peak memory of the process during the measurement, in bytes. It includes the input of the workload. `None`
    /// if the system does not report it.
    pub(crate) peak_memory: Option<u64>,
    pub(crate) gb_per_second: f64,
    /// The workload's rate, as a percentage of the rate at which the device copies the same number of bytes. `None` if
    /// no copy was timed.
    pub(crate) percent_of_copy: Option<f64>,
    pub(crate) seconds: Sheet,
}

/// A workload that was not measured, or whose result was wrong.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failed {
    pub(crate) workload: String,
    pub(crate) device: String,
    pub(crate) peer: String,
    pub(crate) error: String,
    /// Whether the result was wrong. Otherwise an error ended the measurement.
    pub(crate) wrong: bool,
}

/// Why a workload has no valid measurement.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Wrong(#[from] Wrong),
    #[error(transparent)]
    Library(#[from] Error),
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    #[cfg(feature = "gpu")]
    #[error("{0}")]
    Device(String),
}

impl Measured {
    pub(crate) fn new(
        work: &Workload,
        device: &str,
        peer: &str,
        checksum: f64,
        peak_memory: Option<u64>,
        seconds: Sheet,
    ) -> Self {
        let median = |quantity| seconds.get(&quantity).map(Times::median);
        let resident = median(Quantity::Resident).unwrap_or(f64::NAN);
        let by_device = median(Quantity::Device).zip(median(Quantity::CopyDevice));
        let by_host = copy(&seconds).map(|copy| (resident, copy));
        let percent = |(own, copy): (f64, f64)| 100.0 * copy / own;
        Self {
            workload: work.id.clone(),
            what: work.what.clone(),
            op: match work.operation {
                Operation::Slice { .. } => "slice",
                Operation::Gather { .. } => "gather_nd",
                Operation::Transpose { .. } => "transpose",
                Operation::Crop { .. } => "crop",
                Operation::Update { .. } => "update",
            },
            dtype: work.values.name,
            shape: work.shape.clone(),
            result_shape: work.plan.shape().to_vec(),
            bytes: work.bytes(),
            device: device.to_owned(),
            peer: peer.to_owned(),
            checksum,
            peak_memory,
            gb_per_second: work.bytes() as f64 / resident / 1e9,
            percent_of_copy: by_device.or(by_host).map(percent),
            seconds,
        }
    }

    /// The workload's name and description.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.workload, self.what)
    }

    /// Returns the time in seconds in which the device copies the same number of bytes. `None` if no copy was timed.
    pub(crate) fn copy(&self) -> Option<f64> {
        copy(&self.seconds)
    }

    pub(crate) fn median(&self, quantity: Quantity) -> Option<f64> {
        self.seconds.get(&quantity).map(Times::median)
    }
}

/// Returns the median time in seconds of the fastest way to copy the same number of bytes, by the clock of the host.
fn copy(seconds: &Sheet) -> Option<f64> {
    let copies = [Quantity::CopyOne, Quantity::CopyAll, Quantity::CopyBuffer];
    let medians = copies
        .iter()
        .filter_map(|copy| seconds.get(copy).map(Times::median));
    medians.reduce(f64::min)
}
