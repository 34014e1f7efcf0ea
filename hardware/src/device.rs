//! The device on which cases are recorded: one of `strict-gpu`'s that says of itself what AMD's and NVIDIA's drivers
//! say.

use crate::cases::Case;
use strict_gpu::{Counting, Options, PipelineRequest, StrictGpu};
use wgslice::{Error, Gpu};

/// A device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) strict: StrictGpu,
    pub(crate) gpu: Gpu,
}

impl Device {
    /// With nothing compiled yet.
    pub(crate) fn new(counting: Option<Counting>) -> Self {
        let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, wgpu::Backend::Vulkan);
        info.name = "a GPU that is reckoned with".into();
        let strict = StrictGpu::new(Options {
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
        let gpu = Gpu::new(&strict.device(), &strict.queue());
        Self { strict, gpu }
    }
}

/// The pipelines of a case. Nothing is run.
pub(crate) fn pipelines(case: &Case) -> Result<Vec<PipelineRequest>, Error> {
    let device = Device::new(None);
    let mut encoder = device
        .gpu
        .device()
        .create_command_encoder(&Default::default());
    case.record(&device.gpu, &mut encoder)?;
    Ok(device.strict.take_pipelines())
}
