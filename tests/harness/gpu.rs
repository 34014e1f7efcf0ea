//! Opens the GPUs of the machine and runs plans on them with a caller's buffers.

use super::{
    GUARD_BYTES, Indices, SEED, UNWRITTEN, draw::USES_ALL_DEVICES, read_buffer::read_buffer,
};
use std::{env, panic};
use wgpu::util::DeviceExt;
use wgslice::{
    Error, Gpu, Pending, Plan, Report,
    gpu::{AdapterOptions, FoundAdapter},
};

/// The way in which the tests open and use a device.
#[derive(Clone, Copy, Debug)]
enum DeviceKind {
    /// The adapter's limits, and all of its features that the library uses.
    Full,
    /// WebGPU's default limits and no features, so that uniforms are in buffers. Work is tiled as on a hardware GPU,
    /// even on a software adapter.
    Default,
    /// Bindings of at most 512 bytes, at most 3 workgroups in a dimension, dispatches that write at most 2 KiB, and
    /// shaders whose offsets have 12 bits. Only the smallest plans take a single dispatch.
    Tiny,
    /// Buffers of at most 1 KiB, so that a larger tensor has several. No storage buffer is left for uniforms, so
    /// uniforms are in uniform buffers. Work is tiled as on a hardware GPU.
    Parts,
}

impl DeviceKind {
    /// Returns the kinds of devices that are opened on an adapter.
    fn of(candidate: &FoundAdapter) -> &'static [Self] {
        if candidate.adapter.get_info().name.contains("SwiftShader") {
            // SwiftShader compiles slowly, so only the kinds that tile as on a hardware GPU are tested. SwiftShader is
            // tested at all because it clamps indices outside of a binding, as many GPUs do, whereas lavapipe drops
            // such accesses.
            &[Self::Default, Self::Parts]
        } else if candidate.adapter.get_info().backend == wgpu::Backend::Gl
            && candidate.is_software()
        {
            // Mesa's OpenGL runs shaders with the same code as lavapipe. It is tested because it compiles them from
            // GLSL, and compiles some loops wrongly.
            &[Self::Full, Self::Default, Self::Tiny]
        } else if candidate.is_software() && !*USES_ALL_DEVICES {
            // Strict devices cover the other kinds, and they compile no pipelines.
            &[Self::Full, Self::Default]
        } else {
            &[Self::Full, Self::Default, Self::Tiny, Self::Parts]
        }
    }

    fn open(self, adapter: &wgpu::Adapter) -> Result<Gpu, wgpu::RequestDeviceError> {
        let no_features = wgpu::Features::empty();
        let features = adapter.features() & wgpu::Features::IMMEDIATES;
        let adapter_limits = adapter.limits();
        let defaults = wgpu::Limits {
            max_compute_invocations_per_workgroup: adapter_limits
                .max_compute_invocations_per_workgroup
                .min(wgpu::Limits::default().max_compute_invocations_per_workgroup),
            ..wgpu::Limits::default()
        };
        match self {
            Self::Full => request_device(adapter, features, adapter_limits),
            Self::Default => {
                let gpu = request_device(adapter, no_features, defaults)?.as_hardware();
                // By default pipelines are shared, because compiling one for each number of dimensions would take most
                // of the time of all tests.
                Ok(match *USES_ALL_DEVICES {
                    true => gpu.without_shared_pipelines(),
                    false => gpu,
                })
            }
            Self::Tiny => {
                let limits = wgpu::Limits {
                    max_storage_buffer_binding_size: 512,
                    max_compute_workgroups_per_dimension: 3,
                    ..adapter_limits
                };
                let gpu = request_device(adapter, features, limits)?;
                Ok(gpu.with_dispatch_bytes(2048).with_offset_limit(4095))
            }
            Self::Parts => {
                let limits = wgpu::Limits {
                    max_storage_buffer_binding_size: 1024,
                    max_buffer_size: 1024,
                    max_storage_buffers_per_shader_stage: 4,
                    ..defaults
                };
                Ok(request_device(adapter, no_features, limits)?.as_hardware())
            }
        }
    }
}

/// An open device. If `uses_tensors` is true, plans run on tensors, because the device's buffers can be too small for
/// a case.
pub(super) struct OpenDevice {
    pub(super) name: String,
    pub(super) gpu: Gpu,
    pub(super) uses_tensors: bool,
}

/// Returns every adapter that the library accepts, on all of wgpu's backends except OpenGL. OpenGL is included only
/// under `WGSLICE_TEST_ALL=1`, because its software adapter runs shaders with the same code as lavapipe.
///
/// Panics if there is no such adapter and `WGSLICE_REQUIRE_GPU=1` is set.
pub(crate) fn candidates() -> Vec<FoundAdapter> {
    let backends = match *USES_ALL_DEVICES {
        true => wgpu::Backends::all(),
        false => wgpu::Backends::all() - wgpu::Backends::GL,
    };
    let adapters = fitting_adapters(&AdapterOptions {
        backends: Some(backends),
        ..AdapterOptions::default()
    });
    if adapters.is_empty() {
        assert_ne!(
            env::var("WGSLICE_REQUIRE_GPU").as_deref(),
            Ok("1"),
            "WGSLICE_REQUIRE_GPU=1, but there is no adapter"
        );
        eprintln!("no adapter: the GPU is not tested");
    }
    adapters
}

fn fitting_adapters(options: &AdapterOptions) -> Vec<FoundAdapter> {
    let adapters = pollster::block_on(options.adapters()).expect("options");
    adapters
        .into_iter()
        .filter(|adapter| adapter.refused.is_none())
        .collect()
}

/// Opens devices of several kinds on each of the [`candidates`], and of all kinds on the adapter that interprets
/// shaders.
pub(super) fn gpus() -> Vec<OpenDevice> {
    let mut gpus = Vec::new();
    for candidate in &candidates() {
        let kinds = DeviceKind::of(candidate);
        for kind in kinds {
            let name = format!("{candidate}, {kind:?}");
            let uses_tensors = matches!(kind, DeviceKind::Parts);
            match kind.open(&candidate.adapter) {
                Ok(gpu) => gpus.push(OpenDevice {
                    name,
                    gpu,
                    uses_tensors,
                }),
                Err(error) => eprintln!("not tested: {name}: {error}"),
            }
        }
    }
    for kind in [
        DeviceKind::Full,
        DeviceKind::Default,
        DeviceKind::Tiny,
        DeviceKind::Parts,
    ] {
        let mut options = strict_gpu::Options {
            shuffle: Some(*SEED),
            ..strict_gpu::Options::default()
        };
        // Workgroups are small, because an interpreter runs every invocation.
        options.limits.max_compute_invocations_per_workgroup = 64;
        let adapter = strict_gpu::StrictGpu::new(options).adapter();
        let opened = kind
            .open(&adapter)
            .expect("a device with any features and limits");
        gpus.push(OpenDevice {
            name: format!("strict in order {}, {kind:?}", *SEED),
            gpu: opened,
            uses_tensors: matches!(kind, DeviceKind::Parts),
        });
    }
    gpus
}

/// Returns strict-gpu's default options, with invocations in random order. Each dispatch has its own order, because
/// some mistakes show only in some orders. The order does not depend on the seed of the tests.
pub(crate) fn strict_options() -> strict_gpu::Options {
    strict_gpu::Options {
        shuffle: Some(1),
        ..strict_gpu::Options::default()
    }
}

/// Returns the adapters that the library accepts in a search with default options.
pub(crate) fn adapters() -> Vec<wgpu::Adapter> {
    let found = fitting_adapters(&AdapterOptions::default()).into_iter();
    found.map(|candidate| candidate.adapter).collect()
}

/// Opens a device with wgpu alone, as a program opens its own device, and wraps it.
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

type LowerLimits = fn(&mut wgpu::Limits);

/// The names of limits that can be too low for the shaders, and functions that lower them.
pub(crate) const LOWERED_LIMITS: [(&str, LowerLimits); 5] = [
    ("max_storage_buffers_per_shader_stage", |limits| {
        limits.max_storage_buffers_per_shader_stage = 3;
    }),
    (
        "max_dynamic_storage_buffers_per_pipeline_layout",
        |limits| {
            limits.max_dynamic_storage_buffers_per_pipeline_layout = 0;
        },
    ),
    (
        "max_dynamic_uniform_buffers_per_pipeline_layout",
        |limits| {
            limits.max_dynamic_uniform_buffers_per_pipeline_layout = 0;
            // No storage buffer is left for uniforms, so uniforms are in a uniform buffer.
            limits.max_storage_buffers_per_shader_stage = 4;
        },
    ),
    ("max_bind_groups", |limits| {
        limits.max_bind_groups = 1;
    }),
    ("max_compute_invocations_per_workgroup", |limits| {
        limits.max_compute_invocations_per_workgroup = 32;
    }),
];

/// Opens a device of wgpu's noop backend, which runs no shader. It has WebGPU's default limits, changed by
/// `change_limits`.
pub(crate) fn noop(change_limits: impl FnOnce(&mut wgpu::Limits)) -> Gpu {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
    let mut lowered = wgpu::Limits::default();
    change_limits(&mut lowered);
    request_device(&adapters[0], wgpu::Features::empty(), lowered).unwrap()
}

/// Runs a plan other than a scatter on buffers of the caller, and checks the bytes around the result. `dest` is the old
/// content of the result. Source and result begin `shift` bytes after an aligned position in their buffers.
pub(super) fn run(
    gpu: &Gpu,
    plan: &Plan,
    source: &[u8],
    indices: Option<Indices<'_>>,
    dest: &[u8],
    shift: usize,
) -> Result<(Vec<u8>, Option<Report>), Error> {
    let (bytes, pending) = run_with(gpu, plan, (source, dest, shift), indices)?;
    let report = pending.wait()?;
    Ok((bytes, indices.map(|_| report)))
}

/// Runs a scatter as [`run`] runs other plans. Returns the bytes of the result even if the report is an error.
pub(super) fn run_scatter(
    gpu: &Gpu,
    plan: &Plan,
    updates: &[u8],
    indices: Indices<'_>,
    dest: &[u8],
    shift: usize,
) -> Result<(Vec<u8>, Result<Report, Error>), Error> {
    let (bytes, pending) = run_with(gpu, plan, (updates, dest, shift), Some(indices))?;
    Ok((bytes, pending.wait()))
}

/// Records a plan, in about half of all cases into an open pass, and submits it. In about a third of all cases, all
/// arguments are in one buffer.
fn run_with(
    gpu: &Gpu,
    plan: &Plan,
    (source, dest, shift): (&[u8], &[u8], usize),
    indices: Option<Indices<'_>>,
) -> Result<(Vec<u8>, Pending<Report>), Error> {
    // The buffer has at least 1 byte for the source, because an empty source needs a position too.
    let mut source = GuardedArgument::new(gpu, source, shift, guard_byte(plan, shift), 1);
    let mut tuples = indices.map(|indices| index_buffer(gpu, plan, indices));
    let mut dest = GuardedArgument::new(gpu, dest, shift, UNWRITTEN, 0);
    if (plan.inputs()[0].bytes() + plan.outputs()[0].bytes()).is_multiple_of(3) {
        GuardedArgument::join(gpu, [Some(&mut source), tuples.as_mut(), Some(&mut dest)]);
    }
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let inputs = [Some(&source), tuples.as_ref()].into_iter().flatten();
    let inputs: Vec<_> = inputs.map(GuardedArgument::slice).collect();
    let outputs = [dest.slice()];
    let pending = match (plan.inputs()[0].bytes() + plan.outputs()[0].bytes() / 4) % 2 {
        0 => gpu.encode(&mut encoder, plan, &inputs, &outputs)?,
        _ => {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            gpu.encode(&mut pass, plan, &inputs, &outputs)?
        }
    };
    gpu.queue().submit([encoder.finish()]);
    let written = dest.read(gpu, plan);
    Ok((written, pending))
}

/// Returns the byte that fills the guards of the source and of the indices. The sizes of a plan choose one of two
/// bytes, so that a result that depends on the guards is wrong in some cases. A case has the same byte in each run.
fn guard_byte(plan: &Plan, shift: usize) -> u8 {
    let size_sum = plan.inputs()[0].bytes() / 2 + plan.outputs()[0].bytes() + shift;
    [UNWRITTEN, !UNWRITTEN][(size_sum ^ size_sum >> 2 ^ size_sum >> 4) & 1]
}

/// An argument of a plan between guards, which are filled with `guard_byte`. Guards and argument are in `size`
/// bytes from byte `first` of the buffer on. Within these bytes, the argument has `length` bytes from byte `begin` on.
struct GuardedArgument {
    buffer: wgpu::Buffer,
    first: usize,
    size: usize,
    begin: usize,
    length: usize,
    guard_byte: u8,
}

impl GuardedArgument {
    /// Makes a buffer of a guard, `shift` more guard bytes, `contents` padded to at least `min_length` bytes,
    /// and a second guard. The first guard is at least as long as the alignment of bindings. So a binding can begin at
    /// the end of the first guard without containing any of its bytes.
    fn new(gpu: &Gpu, contents: &[u8], shift: usize, guard_byte: u8, min_length: usize) -> Self {
        let alignment = gpu.device().limits().min_storage_buffer_offset_alignment as usize;
        let begin = alignment.max(GUARD_BYTES) + shift;
        let length = contents.len().max(min_length);
        let mut all = vec![guard_byte; begin];
        all.extend_from_slice(contents);
        all.resize(
            (begin + length).next_multiple_of(4) + GUARD_BYTES,
            guard_byte,
        );
        Self {
            size: all.len(),
            buffer: make_buffer(gpu, all),
            first: 0,
            begin,
            length: contents.len(),
            guard_byte,
        }
    }

    /// Moves arguments to a buffer that they share.
    fn join(gpu: &Gpu, arguments: [Option<&mut Self>; 3]) {
        let alignment = gpu.device().limits().min_storage_buffer_offset_alignment as usize;
        let mut size = 0;
        let mut given_arguments = Vec::new();
        for argument in arguments.into_iter().flatten() {
            argument.first = size;
            size = (size + argument.size).next_multiple_of(alignment);
            given_arguments.push(argument);
        }
        let joined = make_buffer(gpu, vec![UNWRITTEN; size]);
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        for argument in given_arguments {
            let (to, bytes) = (argument.first as u64, argument.size as u64);
            encoder.copy_buffer_to_buffer(&argument.buffer, 0, &joined, to, bytes);
            argument.buffer = joined.clone();
        }
        gpu.queue().submit([encoder.finish()]);
    }

    fn slice(&self) -> wgpu::BufferSlice<'_> {
        let [begin, end] = [self.begin, self.size].map(|at| (self.first + at) as u64);
        self.buffer.slice(begin..end)
    }

    /// Reads the bytes of the argument, and checks that the guards are unchanged.
    fn read(&self, gpu: &Gpu, plan: &Plan) -> Vec<u8> {
        let all = read_buffer(gpu, &self.buffer);
        let mut bytes = all[self.first..self.first + self.size].to_vec();
        let end_guard = bytes.split_off(self.begin + self.length);
        let written = bytes.split_off(self.begin);
        let mut guards = bytes.iter().chain(&end_guard);
        assert!(
            guards.all(|&byte| byte == self.guard_byte),
            "written before or behind, {bytes:x?}, {end_guard:x?}: {plan}"
        );
        written
    }
}

/// Makes a buffer of whole words, at least one word long.
fn make_buffer(gpu: &Gpu, mut contents: Vec<u8>) -> wgpu::Buffer {
    contents.resize(contents.len().max(1).next_multiple_of(4), UNWRITTEN);
    gpu.device()
        .create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: &contents,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
        })
}

fn index_buffer(gpu: &Gpu, plan: &Plan, indices: Indices<'_>) -> GuardedArgument {
    let bytes = match indices {
        Indices::I32(indices) => bytemuck::cast_slice(indices),
        Indices::I64(indices) => bytemuck::cast_slice(indices),
        Indices::U32(indices) => bytemuck::cast_slice(indices),
    };
    GuardedArgument::new(gpu, bytes, 0, guard_byte(plan, 0), 4)
}

/// A write just before or just after a result makes the check panic.
#[test]
fn bytes_around_a_result_are_checked() {
    let plan = Plan::slice(&[16], &wgslice::slice![..], wgslice::DType::U8).unwrap();
    for gpu in super::gpu_devices() {
        let noticed = |offset: isize| {
            let written = GuardedArgument::new(gpu, &[1; 16], 4, UNWRITTEN, 0);
            let at = written.begin.checked_add_signed(offset).unwrap() as u64;
            gpu.queue().write_buffer(&written.buffer, at, &[0; 4]);
            let read = panic::AssertUnwindSafe(|| written.read(gpu, &plan));
            panic::catch_unwind(read).is_err()
        };
        assert_eq!([-4, 0, 12, 16].map(noticed), [true, false, false, true]);
    }
}
