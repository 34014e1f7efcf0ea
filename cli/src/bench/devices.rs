//! The devices that the benchmark measures.

#[cfg(feature = "gpu")]
use super::{
    adapter::{self, Adapter},
    auto, gpu,
};
use super::{
    cpu,
    data::Loaded,
    measured::{Failed, Measured, Problem, Sheet},
    memory,
    times::Effort,
    workload::Workload,
};
use crate::{
    args::{DeviceChoice, Global},
    device,
    failure::Failure,
    print,
};
use serde::Serialize;
use std::env;

#[derive(Debug)]
pub(crate) enum Device {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(Box<Adapter>),
}

/// The description of a device.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Described {
    pub(crate) name: String,
    /// The device's short name in comparisons.
    pub(crate) peer: String,
    pub(crate) kind: Kind,
    /// Whether the device has timestamp queries.
    timestamps: bool,
    /// The seconds of each step up to the first result in this process. `None` if the device is the CPU.
    #[cfg(feature = "gpu")]
    pub(crate) cold: Option<adapter::Cold>,
    /// The measured costs of the device and of the CPU. `None` if the device is the CPU.
    #[cfg(feature = "gpu")]
    #[serde(serialize_with = "auto::costs")]
    pub(crate) costs: Option<wgslice::cost::CostModel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Cpu,
    #[cfg(feature = "gpu")]
    Software,
    #[cfg(feature = "gpu")]
    Gpu,
}

/// Opens the devices to measure, and returns each with its description. The CPU is first if it is one of them.
pub(crate) fn open(global: &Global) -> Result<Vec<(Device, Described)>, Failure> {
    let choice = device::choice(global, DeviceChoice::All)?;
    let gpus = gpus(global, choice)?;
    if gpus.is_empty() {
        match choice {
            // No adapter could be opened above, so this call fails. Its error says why.
            DeviceChoice::Gpu => drop(device::gpu(global)?),
            DeviceChoice::All if device::named(global).is_some() => drop(device::gpu(global)?),
            DeviceChoice::All => {
                if env::var_os("WGSLICE_REQUIRE_GPU").is_some_and(|value| value == "1") {
                    return Err(Failure::device(
                        "WGSLICE_REQUIRE_GPU=1, but no adapter fits: `wgslice info` lists what \
                         there is",
                    ));
                }
                print::aside("note: no adapter fits, so only the CPU is measured");
            }
            DeviceChoice::Auto | DeviceChoice::Cpu => {}
        }
    }
    let cpu = match choice {
        DeviceChoice::Gpu => false,
        DeviceChoice::Auto => gpus.is_empty(),
        DeviceChoice::Cpu | DeviceChoice::All => true,
    };
    let devices = cpu.then_some(Device::Cpu).into_iter().chain(gpus);
    let mut gpus = 0;
    let described = devices.map(|device| {
        let mut described = device.describe();
        gpus += usize::from(described.kind != Kind::Cpu);
        if gpus > 1 {
            described.peer += &format!("-{gpus}");
        }
        (device, described)
    });
    Ok(described.collect())
}

#[cfg(feature = "gpu")]
fn gpus(global: &Global, choice: DeviceChoice) -> Result<Vec<Device>, Failure> {
    let adapters = adapter::open(global, choice)?.into_iter();
    Ok(adapters
        .map(|adapter| Device::Gpu(Box::new(adapter)))
        .collect())
}

#[cfg(not(feature = "gpu"))]
fn gpus(_: &Global, _: DeviceChoice) -> Result<Vec<Device>, Failure> {
    Ok(Vec::new())
}

impl Device {
    pub(super) fn describe(&self) -> Described {
        match self {
            Self::Cpu => Described {
                name: format!("CPU ({} threads)", cpu::threads()),
                peer: "wgslice-cpu".into(),
                kind: Kind::Cpu,
                timestamps: false,
                #[cfg(feature = "gpu")]
                cold: None,
                #[cfg(feature = "gpu")]
                costs: None,
            },
            #[cfg(feature = "gpu")]
            Self::Gpu(adapter) => Described {
                name: adapter.name.clone(),
                peer: "wgslice-gpu".into(),
                kind: if adapter.software {
                    Kind::Software
                } else {
                    Kind::Gpu
                },
                timestamps: adapter.stamps.is_some(),
                cold: Some(adapter.cold),
                costs: Some(adapter.costs),
            },
        }
    }

    /// Takes all measurements of a workload on this device.
    pub(crate) fn measure(
        &self,
        described: &Described,
        work: &Workload,
        loaded: &Result<Loaded<'_>, Problem>,
        effort: Effort,
    ) -> Result<Measured, Failed> {
        memory::forget_peak();
        let failed = |problem: &Problem| Failed {
            workload: work.id.clone(),
            device: described.name.clone(),
            peer: described.peer.clone(),
            error: problem.to_string(),
            wrong: matches!(problem, Problem::Wrong(_)),
        };
        let loaded = loaded.as_ref().map_err(failed)?;
        let sheet = self
            .sheet(loaded, effort)
            .map_err(|problem| failed(&problem))?;
        let (name, peer) = (&described.name, &described.peer);
        let (sum, memory) = (loaded.expected, memory::peak());
        Ok(Measured::new(work, name, peer, sum, memory, sheet))
    }

    fn sheet(&self, loaded: &Loaded<'_>, effort: Effort) -> Result<Sheet, Problem> {
        match self {
            Self::Cpu => cpu::measure(loaded, effort),
            #[cfg(feature = "gpu")]
            Self::Gpu(adapter) => gpu::measure(adapter, loaded, effort),
        }
    }
}
