//! Measures workloads on an adapter.
//!
//! Each workload has its own pipelines, so that its first run compiles them. The driver may still cache shaders that it
//! compiled before.

use super::{
    data::{Data, garbage},
    report::Costs,
    times::{Measured, Output, Problem, Quantity, Run, in_turn, nothing},
    workload::Call,
};
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Buffer, CommandEncoder};
use wgslice::{Backend, DType, Error, Gpu, Tensor, cost::CostModel};

/// The arrays of a workload on a device.
struct Arrays {
    /// The data or, for an update, the value.
    source: Tensor,
    indices: Option<Tensor>,
    /// The array that an update changes.
    changed: Option<Tensor>,
}

/// Takes all measurements of a workload on an adapter.
pub(crate) fn measure(gpu: &Gpu, data: &Data<'_>, reps: usize) -> Measured {
    let gpu = &Gpu::new(gpu.device(), gpu.queue());
    let backend = &Backend::from(gpu.clone());
    let failed = failures(gpu.device());
    let (work, plan) = (data.work, &data.work.plan);
    let arrays = upload(data, backend)?;
    let dest = match &arrays.changed {
        Some(changed) => changed.clone(),
        None => Tensor::from_bytes(backend, data.dest()?, work.values.dtype, plan.shape())?,
    };
    let half = work.bytes() / 2;
    let spare = Tensor::from_bytes(backend, garbage(half)?, DType::U8, &[half])?;
    let [source, to, spare] = [&arrays.source, &dest, &spare].map(only);
    let (source, to, spare) = (source?, to?, spare?);
    let indices = arrays.indices.as_ref().map(only).transpose()?;
    let resident = |encoder: &mut CommandEncoder| {
        let inputs = [Some(source), indices].into_iter().flatten();
        let inputs: Vec<_> = inputs.map(|buffer| buffer.slice(..)).collect();
        gpu.encode(encoder, plan, &inputs, &[to.slice(..)])
            .map(drop)
    };
    let copy = |encoder: &mut CommandEncoder| {
        // As on the CPU, garbage is copied to the output, but an update's value is copied to other memory.
        let (from, to) = match plan.is_in_place() {
            true => (source, spare),
            false => (spare, to),
        };
        encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size().min(from.size()));
        Ok(())
    };
    let host = || data.host_to_host(backend);
    let submitted = |record: &dyn Fn(&mut CommandEncoder) -> Result<(), Error>| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder)?;
        gpu.queue().submit([encoder.finish()]);
        wait(gpu, &failed)?;
        Ok(nothing())
    };
    let read = || Ok(Box::new(dest.bytes()?.into_owned()) as Output);
    let send = || {
        let uploaded = upload(data, backend)?;
        backend.wait()?;
        drop(uploaded);
        Ok(nothing())
    };
    let runs: Vec<(Quantity, Run<'_>)> = vec![
        (Quantity::Copy, Box::new(|| submitted(&copy))),
        (Quantity::Resident, Box::new(|| submitted(&resident))),
        (Quantity::Readback, Box::new(read)),
        (Quantity::Upload, Box::new(send)),
        (Quantity::HostToHost, Box::new(host)),
    ];
    let sheet = in_turn(reps, runs, |of, bytes| match of {
        Quantity::Resident => data.check(&dest.bytes()?),
        Quantity::Readback | Quantity::HostToHost => data.check(bytes),
        _ => Ok(()),
    });
    drop((arrays, dest));
    // Frees the memory of this workload before the next one is timed.
    gpu.trim();
    wait(gpu, &failed)?;
    sheet
}

/// Measures the costs on which `auto` would base its choice.
pub(crate) fn costs(gpu: &Gpu) -> Result<Costs, Error> {
    let costs = CostModel::measure(gpu)?;
    Ok(Box::new(move |plan| {
        let estimate = costs.estimate(plan);
        [estimate.cpu, estimate.device]
    }))
}

fn upload(data: &Data<'_>, backend: &Backend) -> Result<Arrays, Error> {
    let dtype = data.work.values.dtype;
    let input = Tensor::from_bytes(backend, data.input.clone(), dtype, &data.work.shape)?;
    let (source, changed) = match &data.work.call {
        Call::Update { value, .. } => {
            let value = Tensor::from_bytes(backend, data.value.clone(), dtype, value)?;
            (value, Some(input))
        }
        _ => (input, None),
    };
    let indices = match data.tuples() {
        [_, 0] => None,
        tuples => Some(backend.upload((&data.indices, &tuples))?),
    };
    Ok(Arrays {
        source,
        indices,
        changed,
    })
}

/// The last error of a device that no call returned.
type Failures = Arc<Mutex<Option<String>>>;

fn failures(device: &wgpu::Device) -> Failures {
    let failures = Failures::default();
    let seen = Arc::clone(&failures);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }));
    failures
}

/// Waits until all submitted work is done.
fn wait(gpu: &Gpu, failures: &Failures) -> Result<(), Problem> {
    let polled = gpu.device().poll(wgpu::PollType::wait_indefinitely());
    polled.map_err(Problem::other)?;
    let mut failure = failures.lock().unwrap_or_else(PoisonError::into_inner);
    failure.take().map(Problem::other).map_or(Ok(()), Err)
}

/// Returns the only buffer of a tensor. A tensor in several buffers is an error.
fn only(tensor: &Tensor) -> Result<&Buffer, Problem> {
    match tensor.buffers()? {
        [buffer] => Ok(buffer),
        buffers => Err(Problem::other(format_args!(
            "a tensor needs {} buffers on this device: choose a smaller workload",
            buffers.len()
        ))),
    }
}
