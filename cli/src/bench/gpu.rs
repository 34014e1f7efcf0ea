//! Measures workloads on a device.
//!
//! Each workload has its own pipelines, so that its first call compiles them. The driver may still cache shaders that
//! it compiled before. The benchmark cannot control this cache.

use super::{
    adapter::Adapter,
    bare::Bare,
    cpu,
    data::{Loaded, Tensors},
    measured::{Problem, Quantity, Sheet},
    times::{Effort, Times, split, timed},
};
use std::time::{Duration, Instant};
use wgpu::{Buffer, CommandEncoder};
use wgslice::{
    Backend, Gpu, Plan, Tensor,
    gpu::{Buffers, DeviceIndices},
};

/// Results of up to this many bytes are tiny: most of their time is the fixed cost of an operation.
const TINY: usize = 64 << 10;

/// The most uploads, readbacks and runs from host to host that are timed.
const TRANSFERS: usize = 5;

/// Takes all measurements of a workload on an adapter.
pub(crate) fn measure(
    adapter: &Adapter,
    loaded: &Loaded<'_>,
    effort: Effort,
) -> Result<Sheet, Problem> {
    let bench = Bench::new(adapter, loaded);
    let mut sheet = Sheet::new();
    sheet.insert(Quantity::Upload, bench.upload(effort.at_most(TRANSFERS))?);
    let tensors = loaded.upload(&bench.backend)?;
    let dest = bench.dest()?;
    {
        let work = Recording::new(&bench.gpu, &loaded.work.plan, &tensors, &dest)?;
        let [_, _, first] = bench.submit(|encoder| work.record(encoder))?;
        sheet.insert(Quantity::First, first.into());
        loaded.verify(&dest.bytes()?)?;
        if !loaded.work.plan.is_in_place() {
            // These copies fill the whole output, so they would overwrite what an update keeps.
            work.copies(&bench, effort, &mut sheet)?;
        }
        work.resident(&bench, effort, &mut sheet)?;
        if loaded.work.plan.result_bytes() <= TINY {
            work.pipelined(&bench, effort, &mut sheet)?;
        }
    }
    loaded.verify(&dest.bytes()?)?;
    let readback = timed(effort.at_most(TRANSFERS), || {
        dest.bytes().map(|bytes| bytes.len())
    });
    sheet.insert(Quantity::Readback, readback?);
    drop(dest);
    bench.gpu.trim();
    sheet.insert(Quantity::Fresh, bench.fresh(&tensors, effort)?);
    drop(tensors);
    bench.gpu.trim();
    if loaded.work.e2e {
        sheet.insert(Quantity::E2e, bench.e2e(effort)?);
    }
    let effort = effort.at_most(TRANSFERS);
    let times = cpu::host_to_host(loaded, &bench.backend, effort)?;
    sheet.insert(Quantity::HostToHost, times);
    // Polls now, so that wgpu frees dropped resources before the next workload is timed.
    adapter.wait()?;
    Ok(sheet)
}

/// A workload on a device.
struct Bench<'a> {
    adapter: &'a Adapter,
    loaded: &'a Loaded<'a>,
    gpu: Gpu,
    backend: Backend,
}

impl<'a> Bench<'a> {
    fn new(adapter: &'a Adapter, loaded: &'a Loaded<'a>) -> Self {
        let gpu = Gpu::new(&adapter.device, &adapter.queue);
        Self {
            adapter,
            loaded,
            backend: Backend::from(gpu.clone()),
            gpu,
        }
    }

    /// Creates an output for several runs.
    fn dest(&self) -> Result<Tensor, Problem> {
        let work = self.loaded.work;
        let dest = Tensor::from_bytes(
            &self.backend,
            self.loaded.dest()?,
            work.values.dtype(),
            work.plan.shape(),
        )?;
        self.backend.wait()?;
        Ok(dest)
    }

    /// Records work, submits it and waits for the device. Returns the time to record, the time from then until the
    /// work is done, and their sum.
    fn submit(
        &self,
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Problem>,
    ) -> Result<[Duration; 3], Problem> {
        let begin = Instant::now();
        let device = &self.adapter.device;
        let mut encoder = device.create_command_encoder(&Default::default());
        record(&mut encoder)?;
        let commands = encoder.finish();
        let encoded = begin.elapsed();
        self.adapter.queue.submit([commands]);
        self.adapter.wait()?;
        let all = begin.elapsed();
        Ok([encoded, all - encoded, all])
    }

    fn upload(&self, effort: Effort) -> Result<Times, Problem> {
        timed(effort, || {
            let tensors = self.loaded.upload(&self.backend)?;
            self.backend.wait()?;
            Ok(tensors)
        })
    }

    fn fresh(&self, tensors: &Tensors<'_>, effort: Effort) -> Result<Times, Problem> {
        self.loaded.verify(&tensors.run()?.bytes()?)?;
        timed(effort, || {
            let result = tensors.run()?;
            self.backend.wait()?;
            Ok(result)
        })
    }

    fn e2e(&self, effort: Effort) -> Result<Times, Problem> {
        let run = || {
            let result = self.loaded.upload(&self.backend)?.run()?;
            Ok::<_, Problem>(result.bytes()?.into_owned())
        };
        self.loaded.verify(&run()?)?;
        timed(effort, run)
    }
}

/// The operation with its plan and buffers, ready to be recorded.
struct Recording<'a> {
    gpu: &'a Gpu,
    plan: &'a Plan,
    source: &'a Buffer,
    indices: Option<&'a Buffer>,
    dest: &'a Buffer,
}

impl<'a> Recording<'a> {
    fn new(
        gpu: &'a Gpu,
        plan: &'a Plan,
        tensors: &'a Tensors<'_>,
        dest: &'a Tensor,
    ) -> Result<Self, Problem> {
        let (source, indices) = match tensors {
            Tensors::Slice { input, .. } | Tensors::Transpose { input, .. } => (input, None),
            Tensors::Gather { params, indices } => (params, Some(indices)),
            Tensors::Crop { input, boxes, .. } => (input, Some(&boxes[2])),
            Tensors::Update { value, .. } => (value, None),
        };
        Ok(Self {
            gpu,
            plan,
            source: only(source)?,
            indices: indices.map(only).transpose()?,
            dest: only(dest)?,
        })
    }

    fn buffers(&self) -> Buffers<'_> {
        Buffers {
            source: self.source.slice(..),
            indices: self
                .indices
                .map(|indices| DeviceIndices::I32(indices.slice(..))),
            dest: self.dest.slice(..),
        }
    }

    fn record(&self, encoder: &mut CommandEncoder) -> Result<(), Problem> {
        self.gpu.encode(encoder, self.plan, self.buffers())?;
        Ok(())
    }

    /// Records the operation `count` times in one pass.
    fn record_many(&self, encoder: &mut CommandEncoder, count: usize) -> Result<(), Problem> {
        let pass = &mut encoder.begin_compute_pass(&Default::default());
        for _ in 0..count {
            self.gpu.encode(pass, self.plan, self.buffers())?;
        }
        Ok(())
    }

    fn resident(&self, bench: &Bench<'_>, effort: Effort, to: &mut Sheet) -> Result<(), Problem> {
        let [encode, wait, resident] = split(effort, || {
            Ok::<_, Problem>(((), bench.submit(|encoder| self.record(encoder))?))
        })?;
        to.insert(Quantity::Encode, encode);
        to.insert(Quantity::Wait, wait);
        to.insert(Quantity::Resident, resident);
        if let Some(device) = on_device(bench, effort, |encoder| self.record(encoder))? {
            to.insert(Quantity::Device, device);
        }
        Ok(())
    }

    /// Times buffer copies of as many bytes as the result has. If the source buffer is shorter than the result, it is
    /// copied repeatedly.
    fn copies(&self, bench: &Bench<'_>, effort: Effort, to: &mut Sheet) -> Result<(), Problem> {
        let copy = |encoder: &mut CommandEncoder| {
            let (size, most) = (self.dest.size(), self.source.size());
            let mut done = 0;
            while done < size {
                let now = most.min(size - done);
                encoder.copy_buffer_to_buffer(self.source, 0, self.dest, done, now);
                done += now;
            }
            Ok(())
        };
        to.insert(Quantity::CopyBuffer, timed(effort, || bench.submit(copy))?);
        if let Some(device) = on_device(bench, effort, copy)? {
            to.insert(Quantity::CopyDevice, device);
        }
        Ok(())
    }

    /// Times submissions of 100 and of 1000 operations, and of 1, 100 and 1000 minimal dispatches. Each time is divided
    /// by the number of operations or dispatches.
    fn pipelined(&self, bench: &Bench<'_>, effort: Effort, to: &mut Sheet) -> Result<(), Problem> {
        // The minimal dispatch writes to an output of its own, so that the result of the workload stays intact.
        let output = bench.dest()?;
        let bare = Bare::new(bench.adapter, self.source, only(&output)?);
        let many = [
            (1, None, Quantity::Bare),
            (100, Some(Quantity::Pipelined100), Quantity::Bare100),
            (1000, Some(Quantity::Pipelined1000), Quantity::Bare1000),
        ];
        for (count, own, barest) in many {
            if let Some(own) = own {
                let times = timed(effort, || {
                    bench.submit(|encoder| self.record_many(encoder, count))
                })?;
                to.insert(own, times.divided(count));
            }
            let times = timed(effort, || {
                bench.submit(|encoder| bare.record(encoder, count))
            })?;
            to.insert(barest, times.divided(count));
        }
        Ok(())
    }
}

/// Returns the buffer of a tensor. A tensor in several buffers is an error.
fn only(tensor: &Tensor) -> Result<&Buffer, Problem> {
    match tensor.buffers() {
        [buffer] => Ok(buffer),
        buffers => Err(Problem::Device(format!(
            "a tensor lies in {} buffers on this device: choose a smaller workload",
            buffers.len()
        ))),
    }
}

/// Times recorded work by the timestamps of the device. `None` if the device has no timestamp queries.
fn on_device(
    bench: &Bench<'_>,
    effort: Effort,
    record: impl Fn(&mut CommandEncoder) -> Result<(), Problem>,
) -> Result<Option<Times>, Problem> {
    let Some(stamps) = &bench.adapter.stamps else {
        return Ok(None);
    };
    let [times] = split(effort, || {
        Ok::<_, Problem>(((), [stamps.time(bench.adapter, &record)?]))
    })?;
    Ok(Some(times))
}
