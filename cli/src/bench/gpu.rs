//! Measures workloads on an adapter.
//!
//! Each workload has its own pipelines, so that its first run compiles them. The driver might still have cached
//! compiled shaders.

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
    update_target: Option<Tensor>,
}

/// Takes all measurements of a workload on an adapter.
pub(crate) fn measure_on_gpu(gpu: &Gpu, data: &WorkloadData<'_>, reps: usize) -> Measured {
    let gpu = &Gpu::new(gpu.device(), gpu.queue());
    let backend = &Backend::from(gpu.clone());
    let last_failure = record_failures(gpu.device());
    let (work, plan) = (data.work, &data.work.plan);
    let arrays = upload_arrays(data, backend)?;
    let dest = match &arrays.update_target {
        Some(update_target) => update_target.clone(),
        None => Tensor::from_bytes(
            backend,
            data.result_memory()?,
            work.values.dtype,
            plan.shape(),
        )?,
    };
    let half_bytes = work.bytes() / 2;
    let spare_tensor = Tensor::from_bytes(
        backend,
        garbage_bytes(half_bytes)?,
        DType::U8,
        &[half_bytes],
    )?;
    let [source, to, spare_buffer] = [&arrays.source, &dest, &spare_tensor].map(only_buffer);
    let (source, to, spare_buffer) = (source?, to?, spare_buffer?);
    let indices = arrays.indices.as_ref().map(only_buffer).transpose()?;
    let record_plan = |encoder: &mut CommandEncoder| {
        let inputs = [Some(source), indices].into_iter().flatten();
        let inputs: Vec<_> = inputs.map(|buffer| buffer.slice(..)).collect();
        gpu.encode(encoder, plan, &inputs, &[to.slice(..)])
            .map(drop)
    };
    let record_copy = |encoder: &mut CommandEncoder| {
        // As on the CPU, garbage is copied to the output, but an update's value is copied to other memory.
        let (from, to) = match plan.is_in_place() {
            true => (source, spare_buffer),
            false => (spare_buffer, to),
        };
        encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size().min(from.size()));
        Ok(())
    };
    let run_host_to_host = || data.host_to_host(backend);
    let submit = |record: &dyn Fn(&mut CommandEncoder) -> Result<(), Error>| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder)?;
        gpu.queue().submit([encoder.finish()]);
        wait_for_work(gpu, &last_failure)?;
        Ok(no_output())
    };
    let read_back = || Ok(Box::new(dest.bytes()?.into_owned()) as Output);
    let upload = || {
        let new_arrays = upload_arrays(data, backend)?;
        backend.wait()?;
        drop(new_arrays);
        Ok(no_output())
    };
    let runs: Vec<(Quantity, TimedRun<'_>)> = vec![
        (Quantity::Copy, Box::new(|| submit(&record_copy))),
        (Quantity::Resident, Box::new(|| submit(&record_plan))),
        (Quantity::Readback, Box::new(read_back)),
        (Quantity::Upload, Box::new(upload)),
        (Quantity::HostToHost, Box::new(run_host_to_host)),
    ];
    let times = measure_alternately(reps, runs, |quantity, bytes| match quantity {
        Quantity::Resident => data.check_result(&dest.bytes()?),
        Quantity::Readback | Quantity::HostToHost => data.check_result(bytes),
        _ => Ok(()),
    });
    drop((arrays, dest));
    // Frees the memory of this workload before the next one is timed.
    gpu.trim();
    wait_for_work(gpu, &last_failure)?;
    times
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
    let (source, update_target) = match &data.work.call {
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
        update_target,
    })
}

/// The device's last error that no call returned.
type LastFailure = Arc<Mutex<Option<String>>>;

fn record_failures(device: &wgpu::Device) -> LastFailure {
    let last_failure = LastFailure::default();
    let shared_failures = Arc::clone(&last_failure);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        *shared_failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }));
    last_failure
}

/// Waits until all submitted work is done.
fn wait_for_work(gpu: &Gpu, last_failure: &LastFailure) -> Result<(), Problem> {
    let poll_outcome = gpu.device().poll(wgpu::PollType::wait_indefinitely());
    poll_outcome.map_err(Problem::other_problem)?;
    let mut failure = last_failure.lock().unwrap_or_else(PoisonError::into_inner);
    failure
        .take()
        .map(Problem::other_problem)
        .map_or(Ok(()), Err)
}

/// Returns the only buffer of a tensor. Fails if the tensor has several buffers.
fn only_buffer(tensor: &Tensor) -> Result<&Buffer, Problem> {
    match tensor.buffers()? {
        [buffer] => Ok(buffer),
        buffers => Err(Problem::other_problem(format_args!(
            "a tensor needs {} buffers on this device: choose a smaller workload",
            buffers.len()
        ))),
    }
}
