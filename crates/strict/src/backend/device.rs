//! Creates resources and opens and closes error scopes.

use super::{
    ErrorScope, SharedState, StrictGpu,
    bind::{StrictGroup, StrictGroupLayout, StrictPipelineLayout},
    buffer::StrictBuffer,
    commands::StrictEncoder,
    lock, panic_for_missing,
    pipeline::{StrictPipeline, StrictShader},
    queue::StrictQueue,
};
use std::{future::ready, pin::Pin, sync::Arc};
use wgpu::custom::{
    AdapterInterface, BoxDeviceLostCallback, DeviceInterface, DispatchBindGroup,
    DispatchBindGroupLayout, DispatchBlas, DispatchBuffer, DispatchCommandEncoder,
    DispatchComputePipeline, DispatchDevice, DispatchExternalTexture, DispatchPipelineCache,
    DispatchPipelineLayout, DispatchQuerySet, DispatchQueue, DispatchRenderBundleEncoder,
    DispatchRenderPipeline, DispatchSampler, DispatchShaderModule, DispatchSurface,
    DispatchTexture, DispatchTlas, PopErrorScopeFuture, RequestDeviceFuture,
};

/// The adapter of a [`StrictGpu`], with the features and limits of its device.
#[derive(Debug)]
pub(super) struct StrictAdapter(pub(super) Arc<SharedState>);

impl AdapterInterface for StrictAdapter {
    fn request_device(
        &self,
        descriptor: &wgpu::DeviceDescriptor<'_>,
    ) -> Pin<Box<dyn RequestDeviceFuture>> {
        let SharedState { options, log, .. } = &*self.0;
        let (features, limits) = (
            descriptor.required_features,
            descriptor.required_limits.clone(),
        );
        let shared = Arc::new(SharedState::new(
            Arc::clone(options),
            Arc::clone(log),
            features,
            limits,
        ));
        let gpu = StrictGpu { shared };
        let device = DispatchDevice::custom(StrictDevice(Arc::clone(&gpu.shared)));
        let queue = DispatchQueue::custom(StrictQueue(gpu.shared));
        Box::pin(ready(Ok((device, queue))))
    }

    fn is_surface_supported(&self, _surface: &DispatchSurface) -> bool {
        false
    }

    fn features(&self) -> wgpu::Features {
        self.0.features
    }

    fn limits(&self) -> wgpu::Limits {
        self.0.limits.clone()
    }

    fn downlevel_capabilities(&self) -> wgpu::DownlevelCapabilities {
        wgpu::DownlevelCapabilities::default()
    }

    fn get_info(&self) -> wgpu::AdapterInfo {
        self.0.options.info.clone()
    }

    fn get_texture_format_features(
        &self,
        _format: wgpu::TextureFormat,
    ) -> wgpu::TextureFormatFeatures {
        panic_for_missing("textures")
    }

    fn get_presentation_timestamp(&self) -> wgpu::PresentationTimestamp {
        wgpu::PresentationTimestamp::INVALID_TIMESTAMP
    }

    fn cooperative_matrix_properties(&self) -> Vec<wgpu::wgt::CooperativeMatrixProperties> {
        Vec::new()
    }
}

#[derive(Debug)]
pub(super) struct StrictDevice(pub(super) Arc<SharedState>);

impl DeviceInterface for StrictDevice {
    fn features(&self) -> wgpu::Features {
        self.0.features
    }

    fn limits(&self) -> wgpu::Limits {
        self.0.limits.clone()
    }

    fn adapter_info(&self) -> wgpu::AdapterInfo {
        self.0.options.info.clone()
    }

    fn create_shader_module(
        &self,
        descriptor: wgpu::ShaderModuleDescriptor<'_>,
        _checks: wgpu::ShaderRuntimeChecks,
    ) -> DispatchShaderModule {
        self.0.record_label("shader", descriptor.label);
        DispatchShaderModule::custom(StrictShader::new(&self.0, descriptor))
    }

    fn create_bind_group_layout(
        &self,
        descriptor: &wgpu::BindGroupLayoutDescriptor<'_>,
    ) -> DispatchBindGroupLayout {
        self.0.record_label("layout", descriptor.label);
        DispatchBindGroupLayout::custom(StrictGroupLayout::new(descriptor))
    }

    fn create_bind_group(&self, descriptor: &wgpu::BindGroupDescriptor<'_>) -> DispatchBindGroup {
        self.0.record_label("group", descriptor.label);
        DispatchBindGroup::custom(StrictGroup::new(&self.0, descriptor))
    }

    fn create_pipeline_layout(
        &self,
        descriptor: &wgpu::PipelineLayoutDescriptor<'_>,
    ) -> DispatchPipelineLayout {
        self.0.record_label("layout", descriptor.label);
        DispatchPipelineLayout::custom(StrictPipelineLayout::new(descriptor))
    }

    fn create_compute_pipeline(
        &self,
        descriptor: &wgpu::ComputePipelineDescriptor<'_>,
    ) -> DispatchComputePipeline {
        self.0.record_label("pipeline", descriptor.label);
        DispatchComputePipeline::custom(StrictPipeline::new(&self.0, descriptor))
    }

    fn create_buffer(&self, descriptor: &wgpu::BufferDescriptor<'_>) -> DispatchBuffer {
        self.0.record_label("buffer", descriptor.label);
        let max_bytes = self.0.limits.max_buffer_size;
        if descriptor.size > max_bytes {
            self.0.report_invalid(format!(
                "a buffer of {} bytes, more than {max_bytes}",
                descriptor.size
            ));
        }
        DispatchBuffer::custom(StrictBuffer::new(&self.0, descriptor))
    }

    fn create_command_encoder(
        &self,
        descriptor: &wgpu::CommandEncoderDescriptor<'_>,
    ) -> DispatchCommandEncoder {
        self.0.record_label("encoder", descriptor.label);
        DispatchCommandEncoder::custom(StrictEncoder {
            shared: Arc::clone(&self.0),
            commands: Arc::default(),
        })
    }

    fn set_device_lost_callback(&self, _callback: BoxDeviceLostCallback) {}

    fn on_uncaptured_error(&self, handler: Arc<dyn wgpu::UncapturedErrorHandler>) {
        *lock(&self.0.uncaptured_error_handler) = Some(handler);
    }

    fn push_error_scope(&self, filter: wgpu::ErrorFilter) -> u32 {
        let mut scopes = lock(&self.0.scopes);
        let own_scopes = scopes.entry(std::thread::current().id()).or_default();
        own_scopes.push(ErrorScope {
            filter,
            error: None,
        });
        u32::try_from(own_scopes.len() - 1).expect("a few scopes")
    }

    fn pop_error_scope(&self, index: u32) -> Pin<Box<dyn PopErrorScopeFuture>> {
        let mut scopes = lock(&self.0.scopes);
        let own_scopes = scopes.entry(std::thread::current().id()).or_default();
        // After a panic, scopes can be closed in any order, so closing a scope also closes the scopes within it.
        let scope = own_scopes
            .drain((index as usize).min(own_scopes.len())..)
            .next();
        Box::pin(ready(scope.and_then(|scope| scope.error)))
    }

    fn poll(
        &self,
        poll_type: wgpu::wgt::PollType<u64>,
    ) -> Result<wgpu::PollStatus, wgpu::PollError> {
        // A callback can add further callbacks, which this loop also runs.
        loop {
            let due_callbacks = std::mem::take(&mut *lock(&self.0.due_callbacks));
            if due_callbacks.is_empty() {
                break;
            }
            due_callbacks.into_iter().for_each(|callback| callback());
        }
        Ok(match poll_type {
            wgpu::wgt::PollType::Poll => wgpu::PollStatus::Poll,
            wgpu::wgt::PollType::Wait { .. } => wgpu::PollStatus::QueueEmpty,
        })
    }

    fn get_internal_counters(&self) -> wgpu::InternalCounters {
        wgpu::InternalCounters::default()
    }

    fn generate_allocator_report(&self) -> Option<wgpu::AllocatorReport> {
        None
    }

    fn destroy(&self) {}

    unsafe fn create_shader_module_passthrough(
        &self,
        _descriptor: &wgpu::ShaderModuleDescriptorPassthrough<'_>,
    ) -> DispatchShaderModule {
        panic_for_missing("shaders other than WGSL")
    }

    fn create_render_pipeline(
        &self,
        _descriptor: &wgpu::RenderPipelineDescriptor<'_>,
    ) -> DispatchRenderPipeline {
        panic_for_missing("render pipelines")
    }

    fn create_mesh_pipeline(
        &self,
        _descriptor: &wgpu::MeshPipelineDescriptor<'_>,
    ) -> DispatchRenderPipeline {
        panic_for_missing("render pipelines")
    }

    unsafe fn create_pipeline_cache(
        &self,
        _descriptor: &wgpu::PipelineCacheDescriptor<'_>,
    ) -> DispatchPipelineCache {
        panic_for_missing("pipeline caches")
    }

    fn create_texture(&self, _descriptor: &wgpu::TextureDescriptor<'_>) -> DispatchTexture {
        panic_for_missing("textures")
    }

    fn create_external_texture(
        &self,
        _descriptor: &wgpu::ExternalTextureDescriptor<'_>,
        _planes: &[&wgpu::TextureView],
    ) -> DispatchExternalTexture {
        panic_for_missing("textures")
    }

    fn create_blas(
        &self,
        _descriptor: &wgpu::CreateBlasDescriptor<'_>,
        _sizes: wgpu::BlasGeometrySizeDescriptors,
    ) -> (Option<u64>, DispatchBlas) {
        panic_for_missing("ray tracing")
    }

    fn create_tlas(&self, _descriptor: &wgpu::CreateTlasDescriptor<'_>) -> DispatchTlas {
        panic_for_missing("ray tracing")
    }

    fn create_sampler(&self, _descriptor: &wgpu::SamplerDescriptor<'_>) -> DispatchSampler {
        panic_for_missing("samplers")
    }

    fn create_query_set(&self, _descriptor: &wgpu::QuerySetDescriptor<'_>) -> DispatchQuerySet {
        panic_for_missing("queries")
    }

    fn create_render_bundle_encoder(
        &self,
        _descriptor: &wgpu::RenderBundleEncoderDescriptor<'_>,
    ) -> DispatchRenderBundleEncoder {
        panic_for_missing("render bundles")
    }

    unsafe fn start_graphics_debugger_capture(&self) {}
    unsafe fn stop_graphics_debugger_capture(&self) {}
}
