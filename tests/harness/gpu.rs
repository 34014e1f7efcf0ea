//! The GPUs of the machine, and running plans there on the caller's own buffers.

use super::{GUARD_BYTES, UNWRITTEN};
use std::env;
use wgpu::util::DeviceExt;
use wgslice::{
    Error, Gpu, Indices, Plan, Report,
    gpu::{AdapterOptions, DeviceIndices},
};

/// Every adapter that fits, twice: with all that it offers, and with WebGPU's default limits.
///
/// Panics where there is none and `WGSLICE_REQUIRE_GPU=1` demands one.
pub(super) fn gpus() -> Vec<(String, Gpu)> {
    let adapters = pollster::block_on(AdapterOptions::default().adapters()).expect("options");
    let mut gpus = Vec::new();
    for candidate in adapters.iter().filter(|candidate| candidate.fits()) {
        let all = candidate.adapter.features() & wgpu::Features::IMMEDIATES;
        let none = wgpu::Features::empty();
        for (what, features, limits) in [
            ("all limits", all, candidate.adapter.limits()),
            ("default limits", none, wgpu::Limits::default()),
        ] {
            let name = format!("{candidate}, {what}");
            match request_device(&candidate.adapter, features, limits) {
                Ok(gpu) => gpus.push((name, gpu)),
                Err(error) => eprintln!("not tested: {name}: {error}"),
            }
        }
    }
    if gpus.is_empty() {
        assert_ne!(
            env::var("WGSLICE_REQUIRE_GPU").as_deref(),
            Ok("1"),
            "WGSLICE_REQUIRE_GPU=1, but there is no adapter"
        );
        eprintln!("no adapter: the GPU is not tested");
    }
    gpus
}

/// A device of the caller's, as programs bring them.
pub(crate) fn request_device(
    adapter: &wgpu::Adapter,
    required_features: wgpu::Features,
    required_limits: wgpu::Limits,
) -> Result<Gpu, wgpu::RequestDeviceError> {
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_features,
        required_limits,
        ..Default::default()
    }))?;
    Ok(Gpu::new(&device, &queue))
}

/// Runs a plan on buffers of the caller's, and checks what lies around the result.
pub(super) fn run(
    gpu: &Gpu,
    plan: &Plan,
    source: &[u8],
    indices: Option<Indices<'_>>,
) -> Result<(Vec<u8>, Option<Report>), Error> {
    let buffer = |contents: &[u8]| {
        // Whole words, and at least one.
        let mut contents = contents.to_vec();
        contents.resize(contents.len().max(1).next_multiple_of(4), UNWRITTEN);
        gpu.device()
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: &contents,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
            })
    };
    let result = plan.result_bytes();
    let words = result.next_multiple_of(4);
    let source = buffer(source);
    let dest = buffer(&vec![UNWRITTEN; words + GUARD_BYTES]);
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let pending = match indices {
        None => {
            gpu.encode(&mut encoder, plan, source.slice(..), dest.slice(..))?;
            None
        }
        Some(indices) => {
            let (tuples, wide) = match indices {
                Indices::I32(indices) => (buffer(bytemuck::cast_slice(indices)), false),
                Indices::I64(indices) => (buffer(bytemuck::cast_slice(indices)), true),
            };
            let tuples = match wide {
                false => DeviceIndices::I32(tuples.slice(..)),
                true => DeviceIndices::I64(tuples.slice(..)),
            };
            let (params, dest) = (source.slice(..), dest.slice(..));
            Some(gpu.encode_gather(&mut encoder, plan, params, tuples, dest)?)
        }
    };
    gpu.queue().submit([encoder.finish()]);
    let report = pending.map(|pending| pending.read()).transpose()?;
    let mut bytes = read_buffer(gpu, &dest);
    let guard = bytes.split_off(words);
    assert_eq!(
        guard, [UNWRITTEN; GUARD_BYTES],
        "written beyond the end: {plan}"
    );
    let padding = bytes.split_off(result);
    // A copy or an empty result leaves nothing to pad.
    assert!(
        padding.iter().all(|&byte| byte == 0),
        "padding {padding:?}: {plan}"
    );
    Ok((bytes, report))
}

/// The bytes of a buffer.
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
