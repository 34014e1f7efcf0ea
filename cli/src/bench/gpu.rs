//! Measures workloads on an adapter.
//!
//! Each workload has its own pipelines, so that its first run compiles them. The driver may still cache shaders that it
//! compiled before.

use super::{
    data::{WorkloadData, garbage_bytes},
    report::CostEstimate,
    times::{Measured, Output, Problem, Quantity, TimedRun, measure_alternately, no_output},
    workload::Call,
};
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Buffer, CommandEncoder};
use wgslice::{Backend, DType, Error, Gpu, Tensor, cost::CostModel};

/// The arrays of a workload on a device.
struct DeviceArrays {
    /// The data or, for an update, the value.
    source: Tensor,
    indices: Option<Tensor>,
    /// The array that an update changes.
    changed: Option<Tensor>,
}

/// Takes all measurements of a workload on an adapter.
pub(crate) fn measure_on_gpu(gpu: &Gpu, data: &WorkloadData<'_>, reps: usize) -> Measured {
    let gpu = &Gpu::new(gpu.device(), gpu.queue());
    let backend = &Backend::from(gpu.clone());
    let failed = record_failures(gpu.device());
    let (work, plan) = (data.work, &data.work.plan);
    let arrays = upload_arrays(data, backend)?;
    let dest = match &arrays.changed {
        Some(changed) => changed.clone(),
        None => Tensor::from_bytes(
            backend,
            data.result_memory()?,
            work.values.dtype,
            plan.shape(),
        )?,
    };
    let half = work.bytes() / 2;
    let spare_tensor = Tensor::from_bytes(backend, garbage_bytes(half)?, DType::U8, &[half])?;
    let [source, to, spare_tensor] = [&arrays.source, &dest, &spare_tensor].map(only_buffer);
    let (source, to, spare_tensor) = (source?, to?, spare_tensor?);
    let indices = arrays.indices.as_ref().map(only_buffer).transpose()?;
    let resident = |encoder: &mut CommandEncoder| {
        let inputs = [Some(source), indices].into_iter().flatten();
        let inputs: Vec<_> = inputs.map(|buffer| buffer.slice(..)).collect();
        gpu.encode(encoder, plan, &inputs, &[to.slice(..)])
            .map(drop)
    };
    let copy = |encoder: &mut CommandEncoder| {
        // As on the CPU, garbage is copied to the output, but an update's value is copied to other memory.
        let (from, to) = match plan.is_in_place() {
            true => (source, spare_tensor),
            false => (spare_tensor, to),
        };
        encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size().min(from.size()));
        Ok(())
    };
    let host = || data.host_to_host(backend);
    let submitted = |record: &dyn Fn(&mut CommandEncoder) -> Result<(), Error>| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder)?;
        gpu.queue().submit([encoder.finish()]);
        wait_for_work(gpu, &failed)?;
        Ok(no_output())
    };
    let read = || Ok(Box::new(dest.bytes()?.into_owned()) as Output);
    let run_host_to_host = || {
        let uploaded = upload_arrays(data, backend)?;
        backend.wait()?;
        drop(uploaded);
        Ok(no_output())
    };
    let runs: Vec<(Quantity, TimedRun<'_>)> = vec![
        (Quantity::Copy, Box::new(|| submitted(&copy))),
        (Quantity::Resident, Box::new(|| submitted(&resident))),
        (Quantity::Readback, Box::new(read)),
        (Quantity::Upload, Box::new(run_host_to_host)),
        (Quantity::HostToHost, Box::new(host)),
    ];
    let sheet = measure_alternately(reps, runs, |of, bytes| match of {
        Quantity::Resident => data.check_result(&dest.bytes()?),
        Quantity::Readback | Quantity::HostToHost => data.check_result(bytes),
        _ => Ok(()),
    });
    drop((arrays, dest));
    // Frees the memory of this workload before the next one is timed.
    gpu.trim();
    wait_for_work(gpu, &failed)?;
    sheet
}

/// Measures the costs on which `auto` would base its choice.
pub(crate) fn measure_costs(gpu: &Gpu) -> Result<CostEstimate, Error> {
    let costs = CostModel::measure(gpu)?;
    Ok(Box::new(move |plan| {
        let estimate = costs.estimate(plan);
        [estimate.cpu, estimate.device]
    }))
}

fn upload_arrays(data: &WorkloadData<'_>, backend: &Backend) -> Result<DeviceArrays, Error> {
    let dtype = data.work.values.dtype;
    let input = Tensor::from_bytes(backend, data.input.clone(), dtype, &data.work.shape)?;
    let (source, changed) = match &data.work.call {
        Call::Update { value, .. } => {
            let value = Tensor::from_bytes(backend, data.value.clone(), dtype, value)?;
            (value, Some(input))
        }
        _ => (input, None),
    };
    let indices = match data.tuple_shape() {
        [_, 0] => None,
        tuples => Some(backend.upload((&data.indices, &tuples))?),
    };
    Ok(DeviceArrays {
        source,
        indices,
        changed,
    })
}

/// The device's last error that no call returned.
type LastFailure = Arc<Mutex<Option<String>>>;

fn record_failures(device: &wgpu::Device) -> LastFailure {
    let failures = LastFailure::default();
    let shared_failures = Arc::clone(&failures);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        *shared_failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }));
    failures
}

/// Waits until all submitted work is done.
fn wait_for_work(gpu: &Gpu, failures: &LastFailure) -> Result<(), Problem> {
    let polled = gpu.device().poll(wgpu::PollType::wait_indefinitely());
    polled.map_err(Problem::other_problem)?;
    let mut failure = failures.lock().unwrap_or_else(PoisonError::into_inner);
    failure
        .take()
        .map(Problem::other_problem)
        .map_or(Ok(()), Err)
}

/// Returns the only buffer of a tensor. A tensor in several buffers is an error.
fn only_buffer(tensor: &Tensor) -> Result<&Buffer, Problem> {
    match tensor.buffers()? {
        [buffer] => Ok(buffer),
        buffers => Err(Problem::other_problem(format_args!(
            "a tensor needs {} buffers on this device: choose a smaller workload",
            buffers.len()
        ))),
    }
}
