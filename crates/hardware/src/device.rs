//! The device on which cases are recorded: a `strict-gpu` that reports the features and limits of AMD's and NVIDIA's
//! drivers.

use crate::cases::Case;
use strict_gpu::{Counting, Options, PipelineRequest, StrictGpu};
use wgslice::{Error, Gpu};

/// A device of `strict-gpu`, and the library's [`Gpu`] that uses it.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) strict: StrictGpu,
    pub(crate) gpu: Gpu,
}

impl Device {
    /// Makes a device that counts what `counting` describes, or nothing if it is `None`.
    pub(crate) fn new(counting: Option<Counting>) -> Self {
        let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, wgpu::Backend::Vulkan);
        info.name = "counting GPU".into();
        let strict_gpu = StrictGpu::new(Options {
            info,
            features: wgpu::Features::IMMEDIATES,
            limits: wgpu::Limits {
                max_storage_buffer_binding_size: (1 << 31) - 4,
                max_buffer_size: (1 << 31) - 1,
                min_storage_buffer_offset_alignment: 32,
                max_compute_invocations_per_workgroup: 1024,
                max_compute_workgroup_size_x: 1024,
                max_immediate_size: 128,
                ..wgpu::Limits::default()
            },
            counting,
            keeps_pipelines: true,
            ..Options::default()
        });
        let gpu = Gpu::new(&strict_gpu.device(), &strict_gpu.queue());
        Self {
            strict: strict_gpu,
            gpu,
        }
    }

    /// Returns the device after changing its [`Gpu`], so that plans on small data run the pipelines for large data.
    pub(crate) fn without_shared_pipelines(mut self) -> Self {
        self.gpu = self.gpu.without_shared_pipelines();
        self
    }
}

/// Returns the pipelines that a case requests, without running them.
pub(crate) fn requested_pipelines(case: &Case) -> Result<Vec<PipelineRequest>, Error> {
    let device = Device::new(None);
    let mut encoder = device
        .gpu
        .device()
        .create_command_encoder(&Default::default());
    case.record(&device.gpu, &mut encoder)?;
    Ok(device.strict.take_pipelines())
}
