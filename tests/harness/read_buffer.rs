//! Reads buffers back with wgpu alone.

use wgslice::Gpu;

/// Returns the bytes of a buffer, which must have the usage `COPY_SRC`.
pub(crate) fn read_buffer(gpu: &Gpu, buffer: &wgpu::Buffer) -> Vec<u8> {
    let staging = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("mapping"));
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("polling");
    staging.get_mapped_range(..).expect("mapped").to_vec()
}
