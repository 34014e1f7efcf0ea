//! Opens devices, with timestamp queries if the adapter has them, and times the first result.

use super::{measured::Problem, stamps::Stamps};
use crate::{
    args::{DeviceChoice, Global},
    device,
    failure::Failure,
    print,
};
use serde::Serialize;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use wgpu::Features;
use wgslice::{
    Backend, Gpu, SliceSpec,
    cost::CostModel,
    gpu::{Candidate, SoftwareAdapters},
};

/// A device to measure.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) name: String,
    pub(crate) software: bool,
    pub(crate) cold: Cold,
    pub(crate) costs: CostModel,
    /// `None` if the adapter has no timestamp queries.
    pub(crate) stamps: Option<Stamps>,
    /// The last uncaptured error of the device, until `wait` returns it.
    last_error: Arc<Mutex<Option<String>>>,
}

/// The seconds that each step up to the first result of a tiny slice takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cold {
    /// The time to load the drivers and list the adapters.
    pub(crate) adapters: f64,
    /// The time to open the device.
    pub(crate) device: f64,
    /// The time to upload, compile, slice and read back.
    pub(crate) first_result: f64,
}

impl Cold {
    pub(crate) fn total(&self) -> f64 {
        self.adapters + self.device + self.first_result
    }
}

/// Opens adapters that the options allow, best first. `All` opens every adapter that fits, and names those that fail to
/// open on stderr. Every other choice opens at most one adapter.
pub(crate) fn open(global: &Global, choice: DeviceChoice) -> Result<Vec<Adapter>, Failure> {
    let begin = Instant::now();
    let candidates = match choice {
        DeviceChoice::Cpu => Vec::new(),
        DeviceChoice::All => device::candidates(global, SoftwareAdapters::Allow)?,
        DeviceChoice::Gpu => device::adapters(&device::options(global))?,
        DeviceChoice::Auto => {
            let mut options = device::options(global);
            options.software = SoftwareAdapters::Refuse;
            device::adapters(&options)?
        }
    };
    let listed = begin.elapsed().as_secs_f64();
    let most = if choice == DeviceChoice::All {
        usize::MAX
    } else {
        1
    };
    let mut adapters = Vec::new();
    for candidate in candidates
        .iter()
        .filter(|candidate| candidate.refused.is_none())
        .take(most)
    {
        match Adapter::open(candidate, listed) {
            Ok(adapter) => adapters.push(adapter),
            Err(problem) if choice == DeviceChoice::All => {
                print::aside(format_args!("note: not used: {candidate}: {problem}"));
            }
            Err(problem) => return Err(Failure::device(format_args!("{candidate}: {problem}"))),
        }
    }
    Ok(adapters)
}

impl Adapter {
    fn open(candidate: &Candidate, listed: f64) -> Result<Self, Problem> {
        let adapter = &candidate.adapter;
        let stamps = Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        let offered = adapter.features();
        let mut features = offered & Features::IMMEDIATES;
        if offered.contains(stamps) {
            features |= stamps;
        }
        let begin = Instant::now();
        let opening = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("wgslice bench"),
            required_features: features,
            required_limits: adapter.limits(),
            ..Default::default()
        });
        let (device, queue) =
            pollster::block_on(opening).map_err(|error| Problem::Device(error.to_string()))?;
        let opened = begin.elapsed().as_secs_f64();

        let last_error = Arc::new(Mutex::new(None));
        let handler_error = Arc::clone(&last_error);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            *handler_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }));
        let begin = Instant::now();
        let gpu = Gpu::new(&device, &queue);
        first_result(&gpu)?;
        let cold = Cold {
            adapters: listed,
            device: opened,
            first_result: begin.elapsed().as_secs_f64(),
        };
        let mut costs = CostModel::measure(&gpu)?;
        costs.opening = cold.total();
        Ok(Self {
            stamps: features
                .contains(stamps)
                .then(|| Stamps::new(&device, queue.get_timestamp_period())),
            name: candidate.to_string(),
            software: candidate.is_software(),
            cold,
            costs,
            device,
            queue,
            last_error,
        })
    }

    /// Waits until all submitted work is done. Fails if the device has reported an error since the last call, and
    /// returns the last such error.
    pub(crate) fn wait(&self) -> Result<(), Problem> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        polled.map_err(|error| Problem::Device(error.to_string()))?;
        let last_error = self.last_error.lock();
        match last_error.unwrap_or_else(PoisonError::into_inner).take() {
            Some(last_error) => Err(Problem::Device(last_error)),
            None => Ok(()),
        }
    }
}

fn first_result(gpu: &Gpu) -> Result<(), Problem> {
    let spec: SliceSpec = "4:20, ::2".parse()?;
    let values = [0.0f32; 32 * 32];
    let tensor = Backend::from(gpu.clone()).upload((&values, &[32, 32]))?;
    tensor.slice(&spec)?.bytes()?;
    Ok(())
}
