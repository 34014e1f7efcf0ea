//! A [`wgpu::Device`] that runs compute shaders in an interpreter, without a GPU, and reports their faults. It is for
//! tests of programs that use wgpu. The programs' code and shaders run unchanged.
//!
//! Drivers hide faults. Some drop an access outside of a binding; others clamp its index. Unwritten memory holds zeros
//! or old bytes. Most races are harmless on the machine that runs the test. So a test on one driver cannot show that a
//! shader is correct on all drivers. This device reports, with the line of WGSL if it is known:
//!
//! - an access outside of a binding, or outside of a vector or an array of fixed size;
//! - a use of unwritten memory of a buffer or a workgroup, in an index, a condition or a number that is stored in a
//!   buffer;
//! - a race: two invocations of a dispatch access one word, at least one of them writes it, at least one access is not
//!   atomic, and no barrier orders the accesses;
//! - an index that is negative, or that wrapped when it was computed;
//! - a loop with too many iterations;
//! - a barrier that only some invocations of a workgroup reach.
//!
//! ```should_panic
//! # fn device() -> (wgpu::Device, wgpu::Queue) {
//! use strict_gpu::{Options, StrictGpu};
//!
//! let gpu = StrictGpu::new(Options::default());
//! let (device, queue) = (gpu.device(), gpu.queue());
//! # (device, queue) }
//! # let (device, queue) = device();
//! // The program creates its resources and submits its work as on any other device:
//! let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
//!     label: None,
//!     source: wgpu::ShaderSource::Wgsl(
//!         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
//!          @compute @workgroup_size(64)
//!          fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.x; }"
//!             .into(),
//!     ),
//! });
//! let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
//!     label: Some("numbers"),
//!     layout: None,
//!     module: &module,
//!     entry_point: None,
//!     compilation_options: Default::default(),
//!     cache: None,
//! });
//! let buffer = device.create_buffer(&wgpu::BufferDescriptor {
//!     label: None,
//!     size: 100,
//!     usage: wgpu::BufferUsages::STORAGE,
//!     mapped_at_creation: false,
//! });
//! let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
//!     label: None,
//!     layout: &pipeline.get_bind_group_layout(0),
//!     entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
//! });
//! let mut encoder = device.create_command_encoder(&Default::default());
//! let mut pass = encoder.begin_compute_pass(&Default::default());
//! pass.set_pipeline(&pipeline);
//! pass.set_bind_group(0, &group, &[]);
//! pass.dispatch_workgroups(1, 1, 1);
//! drop(pass);
//! // panics: a write at 100, beyond the end at 100, of `x`, by invocation 25 of workgroup
//! // (0, 0, 0) of "numbers", line 3: …
//! queue.submit([encoder.finish()]);
//! ```
//!
//! The order in which invocations run is the implementation's choice, and a shader can be correct in one order only. So
//! the device can run the invocations in random but repeatable order ([`Options::shuffle`]).
//!
//! The device can also clamp or drop accesses outside of a binding, as drivers do ([`Options::outside`]), and count the
//! memory accesses of shaders ([`Options::counting`]).
//!
//! # How it works
//!
//! wgpu accepts custom implementations of a device (`wgpu::custom`). This implementation parses WGSL with naga, as wgpu
//! does, replaces overrides by their values, and interprets naga's intermediate representation. The invocations of a
//! workgroup run in lockstep. Submitted commands run within `Queue::submit`, one workgroup at a time. `Device::poll`
//! calls the callbacks of finished work.
//!
//! The device supports buffers, bind groups, immediates, compute passes, 32-bit numbers and 64-bit integers. It has no
//! textures, subgroups, queries or rendering. A compute pipeline with an unsupported shader causes a validation error.
//! So does a binding, a workgroup or workgroup memory that exceeds the limits of the device. Most other checks of wgpu
//! are missing, so tests should also run on a real adapter. An unsupported call panics with the name of the missing
//! feature.

mod backend;
mod counts;
mod fault;
mod machine;
mod memory;
mod options;

pub use backend::{PipelineRequest, StrictGpu};
pub use counts::{BindingCounts, Counting, DispatchCounts, LINE, SECTOR};
pub use fault::{Depends, Fault, Wrong};
pub use memory::Access;
pub use options::{Options, Outside, Rewrite};
