//! Opens RADV's device without a GPU and compiles pipelines as wgpu does.
//!
//! wgpu itself cannot open the device: wgpu requires a fence, and a device that runs nothing has none. So this file
//! uses wgpu-hal, the layer below, which generates the SPIR-V. Its functions are unsafe because they check nothing. All
//! unsafe code of this package is in this file.

use std::borrow::Cow;
use strict_gpu::PipelineRequest;
use wgpu::{
    hal::{self, Adapter as _, Device as _, api::Vulkan},
    naga::{self, back::PipelineConstants},
};

type Device = <Vulkan as hal::Api>::Device;
type GroupLayout = <Vulkan as hal::Api>::BindGroupLayout;
type PipelineLayout = <Vulkan as hal::Api>::PipelineLayout;

/// The device of a driver that only compiles.
pub(super) struct Driver {
    /// The driver's name and version.
    pub(super) version: String,
    device: Device,
}

impl Driver {
    /// Opens the first device that the Vulkan loader lists. The environment variables that `super::compile` sets make
    /// this RADV's device.
    pub(super) fn open() -> Result<Self, String> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        // Without flags, wgpu-hal leaves names out of the SPIR-V.
        descriptor.flags = wgpu::InstanceFlags::empty();
        let instance = wgpu::Instance::new(descriptor);
        let adapters = instance.enumerate_adapters(wgpu::Backends::VULKAN);
        let adapter = pollster::block_on(adapters).into_iter().next();
        let adapter = adapter.ok_or("the driver has no device")?;
        let info = adapter.get_info();
        let features = adapter.features() & wgpu::Features::IMMEDIATES;
        let (limits, hints) = (adapter.limits(), wgpu::MemoryHints::default());
        // SAFETY: `hal_adapter` is dropped at the end of this function, and nothing destroys its handle directly.
        let hal_adapter =
            unsafe { adapter.as_hal::<Vulkan>() }.ok_or("not an adapter of Vulkan")?;
        // SAFETY: the adapter reports these features and limits.
        let open_device = unsafe { hal_adapter.open(features, &limits, &hints) };
        let hal::OpenDevice { device, .. } = open_device.map_err(|error| error.to_string())?;
        Ok(Self {
            version: format!("{} {}", info.driver, info.driver_info),
            device,
        })
    }

    /// Compiles a kernel. The driver prints its report to standard error.
    pub(super) fn compile(&self, kernel: &PipelineRequest) -> Result<(), String> {
        let mut groups = Vec::new();
        let outcome = self.compile_with_groups(kernel, &mut groups);
        for group in groups {
            // SAFETY: the only pipeline layout with this group layout is destroyed, or was never created.
            unsafe { self.device.destroy_bind_group_layout(group) };
        }
        outcome
    }

    /// Compiles a kernel, and appends the layouts of its bind groups to `groups`. The caller must destroy the layouts.
    fn compile_with_groups(
        &self,
        kernel: &PipelineRequest,
        groups: &mut Vec<GroupLayout>,
    ) -> Result<(), String> {
        for entries in &kernel.groups {
            groups.push(self.group_layout(entries)?);
        }
        let groups: Vec<_> = groups.iter().map(Some).collect();
        let descriptor = hal::PipelineLayoutDescriptor {
            label: None,
            flags: hal::PipelineLayoutFlags::empty(),
            bind_group_layouts: &groups,
            immediate_size: kernel.immediate_size,
        };
        // SAFETY: the groups' layouts belong to this device.
        let layout = unsafe { self.device.create_pipeline_layout(&descriptor) };
        let layout = layout.map_err(|error| error.to_string())?;
        let outcome = self.compile_with_layout(kernel, &layout);
        // SAFETY: the only pipeline with this layout is destroyed, or was never created.
        unsafe { self.device.destroy_pipeline_layout(layout) };
        outcome
    }

    fn compile_with_layout(
        &self,
        kernel: &PipelineRequest,
        layout: &PipelineLayout,
    ) -> Result<(), String> {
        let (module, info) = parse_and_validate(&kernel.source)?;
        let shader = hal::ShaderInput::Naga(hal::NagaShader {
            module: Cow::Owned(module),
            info,
            debug_source: None,
        });
        let descriptor = hal::ShaderModuleDescriptor {
            label: None,
            runtime_checks: wgpu::ShaderRuntimeChecks::default(),
        };
        // SAFETY: the shader was validated.
        let module = unsafe { self.device.create_shader_module(&descriptor, shader) };
        let module = module.map_err(|error| error.to_string())?;
        let constants: PipelineConstants = kernel.constants.iter().cloned().collect();
        let descriptor = hal::ComputePipelineDescriptor {
            label: None,
            layout,
            stage: hal::ProgrammableStage {
                module: &module,
                entry_point: &kernel.entry_point,
                constants: &constants,
                zero_initialize_workgroup_memory: kernel.zero_initialize_workgroup_memory,
            },
            cache: None,
        };
        // SAFETY: the module and the layout belong to this device, and the layout contains all bindings of the shader:
        // `strict-gpu` has created a pipeline from both.
        let pipeline = unsafe { self.device.create_compute_pipeline(&descriptor) };
        let outcome = pipeline.map(|pipeline| {
            // SAFETY: no commands use the pipeline.
            unsafe { self.device.destroy_compute_pipeline(pipeline) };
        });
        // SAFETY: the only pipeline with this module is destroyed, or was never created.
        unsafe { self.device.destroy_shader_module(module) };
        outcome.map_err(|error| error.to_string())
    }

    fn group_layout(&self, entries: &[wgpu::BindGroupLayoutEntry]) -> Result<GroupLayout, String> {
        let descriptor = hal::BindGroupLayoutDescriptor {
            label: None,
            flags: hal::BindGroupLayoutFlags::empty(),
            entries,
        };
        // SAFETY: the entries are buffers, in the order of their bindings.
        let layout = unsafe { self.device.create_bind_group_layout(&descriptor) };
        layout.map_err(|error| error.to_string())
    }
}

/// Parses and validates the shader, as wgpu does before it passes the shader to a backend.
fn parse_and_validate(source: &str) -> Result<(naga::Module, naga::valid::ModuleInfo), String> {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(source);
    let module = module.map_err(|error| error.emit_to_string(source))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module);
    let info = info.map_err(|error| error.emit_to_string(source))?;
    Ok((module, info))
}
