//! Measures the rates of this machine with a small amount of each kind of work.

use super::{CostModel, Throughput};
use crate::{
    Array, Backend, DType, Error, Gpu, Plan, Tensor, View, options::GatherNdOptions, slice,
};
use std::time::Instant;

/// The size in bytes of the arrays that the measurements transfer, and of the table for [`Throughput::row`]: larger than
/// the private caches of a core.
const COPIED_BYTES: usize = 16 << 20;

/// The size in bytes of the arrays that the measurements slice, and of the table for [`Throughput::far_row`], which is
/// larger than most caches. Slices of 16 MiB stayed in a cache of 32 MiB, so that larger slices took twice the estimate.
const FAR_BYTES: usize = 64 << 20;

/// The size in bytes of the result by which the rate of new memory is measured.
const NEW_BYTES: usize = 64 << 20;

impl CostModel {
    /// Measures this machine's CPU and an open device, in about 0.4 s and with 250 MB of memory. [`CostModel::opening`]
    /// is not measured, but copied from [`CostModel::of`].
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn measure(gpu: &Gpu) -> Result<Self, Error> {
        let backend = Backend::from(gpu.clone());
        let host = Self::measure_cpu()?;
        let (submission, device) = measure_rates(&backend)?;
        let values = vec![1u8; COPIED_BYTES];
        let upload = shortest_time(|| {
            let tensor = backend.upload((&values, &[COPIED_BYTES]))?;
            backend.wait()?;
            Ok(tensor)
        })?;
        let tensor = backend.upload((&values, &[COPIED_BYTES]))?;
        let readback = shortest_time(|| Ok(tensor.bytes()?.len()))?;
        let rate = |seconds: f64| COPIED_BYTES as f64 / seconds;
        Ok(Self {
            device,
            upload: rate(upload),
            readback: rate(readback),
            submission,
            opening: Self::of(gpu).opening,
            ..host
        })
    }

    /// Measures this machine's CPU, in about 0.2 s and with 250 MB of memory. The rates of a device are taken from
    /// [`CostModel::HARDWARE`].
    ///
    /// # Errors
    ///
    /// [`Error::OutOfHostMemory`].
    pub fn measure_cpu() -> Result<Self, Error> {
        let (_, cpu) = measure_rates(&Backend::cpu())?;
        let (call, new_memory) = probe_host()?;
        Ok(Self {
            cpu,
            new_memory,
            call,
            ..Self::HARDWARE
        })
    }
}

/// Measures the time of a tiny slice on a backend, in seconds, and the rates of moving bytes in the backend's memory.
fn measure_rates(backend: &Backend) -> Result<(f64, Throughput), Error> {
    let reversed = slice![..; -1];
    let slice = |source: &Tensor| {
        let mut dest = source.slice(&reversed)?;
        shortest_time(|| {
            source.slice_into(&reversed, &mut dest)?;
            backend.wait()
        })
    };
    let least = slice(&backend.upload((&[1u32; 64], &[64]))?)?;
    let table = |bytes: usize| {
        backend.upload((&vec![1u32; bytes / 4], &[bytes / ROW_BYTES, ROW_BYTES / 4]))
    };
    let far = table(FAR_BYTES)?;
    let whole = slice(&far)?;
    // If the large slice takes hardly longer than the tiny one, the difference is mostly noise. At least a tenth of the
    // large slice's time therefore counts as moving bytes, so that the device does not seem infinitely fast.
    let bytes = 2.0 * FAR_BYTES as f64 / (whole - least).max(whole / 10.0);
    let near = table(COPIED_BYTES)?;
    let [row, far_row] =
        [time_gather(backend, &near)?, time_gather(backend, &far)?].map(|(seconds, moved)| {
            let row = (seconds - least - moved / bytes) / GATHERED_SCALARS as f64;
            row.max(0.0)
        });
    Ok((
        least,
        Throughput {
            bytes,
            row,
            far_row,
        },
    ))
}

/// The size of a row of a table in bytes.
const ROW_BYTES: usize = 4 << 10;

/// The number of scalars gathered from a table.
const GATHERED_SCALARS: usize = 1 << 20;

/// Gathers scalars that are scattered over a table. Returns the time in seconds and the number of bytes that the gather
/// moves.
fn time_gather(backend: &Backend, table: &Tensor) -> Result<(f64, f64), Error> {
    let shape = table.shape();
    let scattered: Vec<i32> = (0u32..)
        .map(|place| place.wrapping_mul(0x9e37_79b1) >> 8)
        .zip(shape.iter().cycle())
        .map(|(hash, &dim)| i32::try_from(hash as usize % dim).unwrap_or(0))
        .take(2 * GATHERED_SCALARS)
        .collect();
    let options = GatherNdOptions::default();
    let indices = backend.upload((&scattered, &[GATHERED_SCALARS, 2]))?;
    let plan = Plan::gather_nd(shape, &[GATHERED_SCALARS, 2], options, DType::U32)?;
    let seconds = shortest_time(|| {
        let gathered = table.gather_nd(&indices, options)?;
        backend.wait()?;
        Ok(gathered)
    })?;
    Ok((seconds, plan.only().map_or(0.0, crate::moves::Move::moved)))
}

/// Measures the time of a tiny slice of host values, in seconds, and the rate at which the host provides new memory, in
/// bytes per second.
fn probe_host() -> Result<(f64, f64), Error> {
    let cpu = Backend::cpu();
    let values = [1u32; 64];
    // A single call is shorter than some clocks' resolution.
    let calls = 1000;
    let call = shortest_time(|| {
        for _ in 0..calls {
            cpu.slice((&values, &[64]), &slice![..; -1])?;
        }
        Ok(())
    })?;
    // The source is a single row, which the view repeats and which stays in the cache.
    let row = [0u8; 4 << 10];
    let rows = View::new(&[1, row.len()])?.broadcast_to(&[NEW_BYTES / row.len(), row.len()])?;
    let plan = Plan::of_layout(&rows, DType::U8);
    let run = |result: &mut [u8]| plan.run_cpu(&[(&row).into()], &mut [result.into()]);
    let collect = || Array::<u8>::collect(plan.shape(), |dest| run(dest.all()));
    let new = shortest_time(collect)?;
    let (mut kept, _) = collect()?;
    let again = shortest_time(|| run(&mut kept.data))?;
    Ok((
        call / f64::from(calls),
        NEW_BYTES as f64 / (new - again).max(new / 10.0),
    ))
}

/// Runs `work` four times and returns the shortest time in seconds, because other programs on the machine can only make
/// a run longer.
fn shortest_time<R>(mut work: impl FnMut() -> Result<R, Error>) -> Result<f64, Error> {
    let mut least = f64::INFINITY;
    for _ in 0..4 {
        let begin = Instant::now();
        let done = work()?;
        least = least.min(begin.elapsed().as_secs_f64());
        drop(done);
    }
    Ok(least)
}
