//! Opens devices that interpret the shaders and differ in how they tile and split work. On four devices, an access
//! outside a binding, a read of unwritten memory or a race is a fault and panics. The other two devices clamp or drop
//! accesses outside bindings, as drivers do.

use crate::{args::Global, device, failure::Failure};
use strict_gpu::{Options, Outside, StrictGpu};
use wgslice::{Backend, Gpu};

/// Returns the options that the devices have in common. The devices run invocations in the random order of this seed,
/// and their names include the seed. Workgroups are limited to 64 invocations, because each invocation is interpreted.
fn strict_options(name: &str, seed: u64) -> Options {
    let mut options = Options {
        shuffle: Some(seed),
        ..Options::default()
    };
    options.info.name = format!("strict, {name}, seed {seed}");
    options.limits.max_compute_invocations_per_workgroup = 64;
    options
}

fn open_strict(options: Options) -> Result<Gpu, Failure> {
    let adapter = StrictGpu::new(options).adapter();
    pollster::block_on(Gpu::from_adapter(&adapter)).map_err(Failure::device)
}

/// Opens the devices, which run invocations in the random order of `seed`. Rejects options that select other devices.
pub(super) fn open_devices(global: &Global, seed: u64) -> Result<Vec<Backend>, Failure> {
    let device = global.device.map(|_| "--device");
    if let Some(option) = device.or(device::adapter_option(global)) {
        return Err(Failure::usage(format_args!(
            "{option} chooses a device of the machine, but --strict interprets the shaders \
             instead: drop one of them"
        )));
    }
    let plain_options = |name| Options {
        features: wgpu::Features::empty(),
        ..strict_options(name, seed)
    };
    let mut tiny_windows = strict_options("tiny windows", seed);
    // A gather can need a dispatch for each pair of a window of params and a window of the result, so smaller windows
    // would take too long.
    tiny_windows.limits.max_storage_buffer_binding_size = 4096;
    tiny_windows.limits.max_compute_workgroups_per_dimension = 3;
    let mut small_buffers = plain_options("buffers of 4 KiB");
    small_buffers.limits.max_buffer_size = 4096;
    small_buffers.limits.max_storage_buffer_binding_size = 4096;
    small_buffers.limits.max_storage_buffers_per_shader_stage = 4;
    let options_of = |outside, name| Options {
        outside,
        ..plain_options(name)
    };
    Ok([
        open_strict(strict_options("as software", seed))?,
        open_strict(plain_options("as a GPU"))?
            .as_hardware()
            .without_shared_pipelines(),
        open_strict(tiny_windows)?
            .with_dispatch_bytes(16 << 10)
            .with_offset_limit(4095)
            .without_shared_pipelines(),
        open_strict(small_buffers)?.as_hardware(),
        open_strict(options_of(Outside::Clamp, "clamping"))?
            .as_hardware()
            .without_shared_pipelines(),
        open_strict(options_of(Outside::Drop, "dropping"))?.as_hardware(),
    ]
    .map(Backend::from)
    .to_vec())
}
