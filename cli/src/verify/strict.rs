//! Devices that interpret the shaders, with all ways of tiling and splitting the work. An access outside of a
//! binding, a read of unwritten memory or a race is a fault, and a fault is a panic. Two more devices clamp or
//! drop accesses outside, as drivers do.

use crate::failure::Failure;
use strict_gpu::{Options, Outside, StrictGpu};
use wgslice::{Backend, Gpu};

/// The common options. Workgroups are small, because every invocation is interpreted.
fn options(name: &str) -> Options {
    let mut options = Options::default();
    options.info.name = format!("strict, {name}");
    options.limits.max_compute_invocations_per_workgroup = 64;
    options
}

fn open(options: Options) -> Result<Gpu, Failure> {
    let adapter = StrictGpu::new(options).adapter();
    pollster::block_on(Gpu::from_adapter(&adapter)).map_err(Failure::device)
}

pub(super) fn devices() -> Result<Vec<Backend>, Failure> {
    let plain = |name| Options {
        features: wgpu::Features::empty(),
        ..options(name)
    };
    let mut tiny = options("tiny windows");
    // The number of dispatches grows with the product of the sizes of params and result, divided by this number.
    tiny.limits.max_storage_buffer_binding_size = 4096;
    tiny.limits.max_compute_workgroups_per_dimension = 3;
    let mut parts = plain("buffers of 4 KiB");
    parts.limits.max_buffer_size = 4096;
    parts.limits.max_storage_buffer_binding_size = 4096;
    parts.limits.max_storage_buffers_per_shader_stage = 4;
    let of = |outside, name| Options {
        outside,
        ..plain(name)
    };
    Ok([
        open(options("as software"))?,
        open(plain("as a GPU"))?.as_hardware(),
        open(tiny)?
            .with_dispatch_bytes(16 << 10)
            .with_offset_limit(4095),
        open(parts)?.as_hardware(),
        open(of(Outside::Clamp, "clamping"))?.as_hardware(),
        open(of(Outside::Drop, "dropping"))?.as_hardware(),
    ]
    .map(Backend::from)
    .to_vec())
}
