//! A device with buffers, and methods that time the recording of commands for it.

use crate::bare::{Bare, buffer};
use criterion::Bencher;
use std::time::{Duration, Instant};
use wgpu::{BufferUsages, CommandEncoder, ComputePass};
use wgslice::Gpu;

/// The size of each buffer in bytes: 32 x 32 elements of 4 bytes.
const BUFFER_BYTES: u64 = 32 * 32 * 4;

/// A device, and the pipelines of the minimal commands of a slice and of a gather.
pub(crate) struct Rig {
    pub(crate) gpu: Gpu,
    pub(crate) slice: Bare,
    pub(crate) gather: Bare,
}

/// A pair of buffers, and their bind group for the minimal dispatch of a slice.
pub(crate) struct Pair {
    pub(crate) source: wgpu::Buffer,
    pub(crate) dest: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
}

impl Pair {
    /// Returns the inputs of a plan without indices.
    pub(crate) fn inputs(&self) -> [wgpu::BufferSlice<'_>; 1] {
        [self.source.slice(..)]
    }

    pub(crate) fn outputs(&self) -> [wgpu::BufferSlice<'_>; 1] {
        [self.dest.slice(..)]
    }
}

impl Rig {
    pub(crate) fn new(adapter: &wgpu::Adapter, uses_immediates: bool) -> Self {
        let descriptor = if uses_immediates {
            wgpu::DeviceDescriptor {
                required_features: wgpu::Features::IMMEDIATES,
                required_limits: adapter.limits(),
                ..Default::default()
            }
        } else {
            wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        let bare = |gather| Bare::new(&device, gather, uses_immediates);
        let (slice, gather) = (bare(false), bare(true));
        let gpu = Gpu::new(&device, &queue);
        Self { gpu, slice, gather }
    }

    pub(crate) fn device(&self) -> &wgpu::Device {
        self.gpu.device()
    }

    pub(crate) fn buffer(&self) -> wgpu::Buffer {
        buffer(self.device(), BUFFER_BYTES, BufferUsages::STORAGE)
    }

    pub(crate) fn pair(&self) -> Pair {
        let (source, dest) = (self.buffer(), self.buffer());
        let group = self.slice.group(self.device(), &[&source, &dest]);
        Pair {
            source,
            dest,
            group,
        }
    }

    /// Submits commands and waits until they are done.
    pub(crate) fn run(&self, commands: wgpu::CommandBuffer) {
        self.gpu.queue().submit([commands]);
        let wait = wgpu::PollType::wait_indefinitely();
        self.device().poll(wait).expect("the device");
    }

    /// Times `record` and the encoder's `finish` together. `record` gets the output of `prepare`. The times of
    /// `prepare` and of the submission are excluded.
    pub(crate) fn measure<T>(
        &self,
        bencher: &mut Bencher<'_>,
        mut prepare: impl FnMut() -> T,
        mut record: impl FnMut(&T, &mut CommandEncoder),
    ) {
        let mut time_once = || {
            let prepared = prepare();
            let mut encoder = self.device().create_command_encoder(&Default::default());
            let start = Instant::now();
            record(&prepared, &mut encoder);
            let commands = encoder.finish();
            let elapsed = start.elapsed();
            self.run(commands);
            elapsed
        };
        bencher.iter_custom(|iterations| (0..iterations).map(|_| time_once()).sum::<Duration>());
    }

    /// Times `record` in one compute pass, together with the encoder's `finish`. The time of the submission is
    /// excluded.
    pub(crate) fn measure_pass(
        &self,
        bencher: &mut Bencher<'_>,
        mut record: impl FnMut(&mut ComputePass<'_>),
    ) {
        self.measure(
            bencher,
            || (),
            |(), encoder| {
                record(&mut encoder.begin_compute_pass(&Default::default()));
            },
        );
    }
}
