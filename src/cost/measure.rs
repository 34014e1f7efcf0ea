//! Measures the rates of this machine by a short run of each kind of work.

use super::{CostModel, Throughput};
use crate::{
    Backend, DType, Error, Gpu, Plan, Tensor, View, moves::Move, options::GatherNdOptions, slice,
};
use std::{iter, time::Instant};

/// The size in bytes of the arrays that the measurements transfer, and of the table for
/// [`Throughput::row_seconds`]. It is larger than the private caches of a core.
const COPIED_BYTES: usize = 16 << 20;

/// The size in bytes of the arrays that the measurements slice and transpose, of the result in new memory, and of the
/// table for [`Throughput::far_row_seconds`]. It is larger than most caches. In a test with 16 MiB, slices stayed in a
/// cache of 32 MiB, and larger slices then took twice the estimated time.
const FAR_BYTES: usize = 64 << 20;

impl CostModel {
    /// Measures this machine's CPU and an open device, in about 1.5 s and with 250 MB of memory. [`CostModel::opening`]
    /// is not measured, but copied from [`CostModel::of`].
    ///
    /// # Errors
    ///
    /// The errors of [`CostModel::measure_cpu`]; an error of the device.
    pub fn measure(gpu: &Gpu) -> Result<Self, Error> {
        let backend = Backend::from(gpu.clone());
        let host = Self::measure_cpu()?;
        let (submission, device) = measure_rates(|plan, values, indices| {
            let source = backend.upload((values, &plan.inputs()[0].shape))?;
            let indices = match indices {
                [] => None,
                _ => Some(backend.upload((indices, &plan.inputs()[1].shape))?),
            };
            let inputs: Vec<&Tensor> = iter::once(&source).chain(&indices).collect();
            let (mut outputs, _) = Tensor::run(plan, &inputs)?;
            shortest_time(|| {
                Tensor::run_into(plan, &inputs, &mut [&mut outputs[0]])?;
                backend.wait()
            })
        })?;
        let values = vec![1u8; COPIED_BYTES];
        let upload_seconds = shortest_time(|| {
            let tensor = backend.upload((&values, &[COPIED_BYTES]))?;
            backend.wait()?;
            Ok(tensor)
        })?;
        let tensor = backend.upload((&values, &[COPIED_BYTES]))?;
        let readback_seconds = shortest_time(|| Ok(tensor.bytes()?.len()))?;
        let rate = |seconds: f64| COPIED_BYTES as f64 / seconds;
        Ok(Self {
            device,
            upload_rate: rate(upload_seconds),
            readback_rate: rate(readback_seconds),
            submission,
            opening: Self::of(gpu).opening,
            ..host
        })
    }

    /// Measures this machine's CPU, in about 0.9 s and with 250 MB of memory. The rates of a device are taken from
    /// [`CostModel::HARDWARE`].
    ///
    /// # Errors
    ///
    /// [`Error::OutOfHostMemory`].
    pub fn measure_cpu() -> Result<Self, Error> {
        let cpu = Backend::cpu();
        // The results are in memory that the library allocated: in large pages, if the system has them.
        let (_, rates) = measure_rates(|plan, values, indices| {
            let inputs = [values.into(), indices.into()];
            let inputs = &inputs[..plan.inputs().len()];
            let (mut result, _) = cpu.run::<u32>(plan, inputs)?;
            shortest_time(|| cpu.run_into(plan, inputs, &mut result.data))
        })?;
        // A single call can be shorter than the resolution of the clock, so many calls are timed together.
        let call_count = 1000;
        let tiny_plan = Plan::slice(&[8, 8], &slice![2..6, 2..6], DType::U32)?;
        let calls_seconds = shortest_time(|| {
            for _ in 0..call_count {
                cpu.run::<u32>(&tiny_plan, &[(&[1u32; 64]).into()])?;
            }
            Ok(())
        })?;
        // The cost of new memory depends on the order in which pages are touched. So it is the mean of two orders.
        let values = vec![1u32; FAR_BYTES / 4];
        let inputs = [(&values).into()];
        let mut new_memory_seconds = 0.0;
        for plan in [reverse_rows(SQUARE)?, transpose(SQUARE)?] {
            let (mut result, _) = cpu.run::<u32>(&plan, &inputs)?;
            let repeated_time = shortest_time(|| cpu.run_into(&plan, &inputs, &mut result.data))?;
            // The first results get pages that the CPU has not touched for a long time, or never. Later results get the
            // pages of earlier results, as in a program that makes results repeatedly. The median is used because the
            // time that the system takes for pages differs from call to call.
            let new_memory_times = sorted_times(9, || cpu.run::<u32>(&plan, &inputs))?;
            let new_memory_time = new_memory_times[4];
            new_memory_seconds +=
                (new_memory_time - repeated_time).max(new_memory_time / 10.0) / 2.0;
        }
        Ok(Self {
            cpu: rates,
            new_memory_rate: FAR_BYTES as f64 / new_memory_seconds,
            call_seconds: calls_seconds / f64::from(call_count),
            ..Self::HARDWARE
        })
    }
}

/// The shape of a square matrix of [`FAR_BYTES`] bytes.
const SQUARE: &[usize] = &[4 << 10, 4 << 10];

/// A shape with many short axes, of [`COPIED_BYTES`] bytes.
const SHORT_AXES: &[usize] = &[4; 11];

/// Returns a plan that reverses each row of an array of `u32`.
fn reverse_rows(shape: &[usize]) -> Result<Plan, Error> {
    Plan::slice(shape, &slice![.., ..; -1], DType::U32)
}

/// Returns a plan that reverses the order of the axes of an array of `u32`.
fn transpose(shape: &[usize]) -> Result<Plan, Error> {
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    Plan::contiguous(View::new(shape)?.transpose(&axes)?, DType::U32)
}

/// Measures the time of a tiny slice in seconds, and the rates of moving bytes. `time_plan` gets a plan, its values,
/// and its indices if it has any. It returns the time of this plan with a result in memory that was used before.
fn measure_rates(
    time_plan: impl Fn(&Plan, &[u32], &[i32]) -> Result<f64, Error>,
) -> Result<(f64, Throughput), Error> {
    let ones = vec![1u32; FAR_BYTES / 4];
    let time = |plan: &Plan, indices: &[i32]| {
        time_plan(plan, &ones[..plan.inputs()[0].bytes() / 4], indices)
    };
    let tiny_slice_seconds = time(&reverse_rows(&[1, 64])?, &[])?;
    let moved_bytes = |plan: &Plan| plan.single_move().map_or(0.0, Move::moved_byte_count);
    // If a large slice takes hardly longer than the tiny slice, the difference is mostly noise. So at least a tenth of
    // the large slice's time counts as moving bytes; otherwise the device could seem infinitely fast.
    let rate = |plan: &Plan| -> Result<f64, Error> {
        let slice_time = time(plan, &[])?;
        Ok(moved_bytes(plan) / (slice_time - tiny_slice_seconds).max(slice_time / 10.0))
    };
    let byte_rate = rate(&reverse_rows(SQUARE)?)?;
    let transposed_rate = rate(&transpose(SQUARE)?)?;
    // Subtracts the time of a tiny slice and of moving bytes from the time of a plan, and returns the rest divided by
    // the number of parts.
    let seconds_per_part =
        |plan: &Plan, indices: &[i32], rate: f64, part_count: usize| -> Result<f64, Error> {
            let seconds = time(plan, indices)? - tiny_slice_seconds - moved_bytes(plan) / rate;
            Ok(seconds.max(0.0) / part_count as f64)
        };
    let piece_count = COPIED_BYTES / 4;
    let piece_seconds =
        seconds_per_part(&transpose(SHORT_AXES)?, &[], transposed_rate, piece_count)?;
    let seconds_per_scalar = |table_bytes: usize| {
        let (plan, indices) = plan_gather(table_bytes)?;
        seconds_per_part(&plan, &indices, byte_rate, GATHERED_SCALARS)
    };
    let (row_seconds, far_row_seconds) = (
        seconds_per_scalar(COPIED_BYTES)?,
        seconds_per_scalar(FAR_BYTES)?,
    );
    let rates = Throughput {
        byte_rate,
        transposed_rate,
        piece_seconds,
        row_seconds,
        far_row_seconds,
    };
    Ok((tiny_slice_seconds, rates))
}

/// The size of a row of a table in bytes.
const ROW_BYTES: usize = 4 << 10;

/// The number of scalars gathered from a table.
const GATHERED_SCALARS: usize = 1 << 20;

/// Returns a gather of scalars that are spread over a table of `table_bytes` bytes, and its indices.
fn plan_gather(table_bytes: usize) -> Result<(Plan, Vec<i32>), Error> {
    let shape = [table_bytes / ROW_BYTES, ROW_BYTES / 4];
    let indices = (0u32..)
        .map(|number| number.wrapping_mul(0x9e37_79b1) >> 8)
        .zip(shape.iter().cycle())
        .map(|(hash, &size)| i32::try_from(hash as usize % size).unwrap_or(0))
        .take(2 * GATHERED_SCALARS)
        .collect();
    let options = GatherNdOptions::default();
    let plan = Plan::gather_nd(&shape, &[GATHERED_SCALARS, 2], options, DType::U32)?;
    Ok((plan, indices))
}

/// Runs `work` four times and returns the shortest time in seconds. The shortest time is the most accurate, because
/// other programs on the machine can only make a run longer.
fn shortest_time<R>(work: impl FnMut() -> Result<R, Error>) -> Result<f64, Error> {
    Ok(sorted_times(4, work)?[0])
}

/// Runs `work` `count` times and returns the times in seconds, the shortest first.
fn sorted_times<R>(
    count: usize,
    mut work: impl FnMut() -> Result<R, Error>,
) -> Result<Vec<f64>, Error> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = Instant::now();
        let result = work()?;
        times.push(begin.elapsed().as_secs_f64());
        drop(result);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
