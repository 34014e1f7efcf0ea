//! Measures how long buffer copies and wgslice's kernel take to move contiguous rows. Recording, submitting and waiting
//! are timed together. The rule in `src/gpu/engine/copy.rs` follows from these figures.
//!
//! For each number of rows and each row length in bytes, prints the median time in microseconds, first for a
//! destination that was written before, then for a new one. wgpu clears a new destination for a kernel, but not for
//! copies that cover it. The rows are every second row of the source. Run it with `cargo bench --bench copies`. Without
//! `--bench`, as in tests, every figure is the time of a single run.

use std::time::Instant;
use wgpu::BufferUsages;
use wgslice::{DType, Gpu, Plan, gpu::AdapterOptions, slice};

/// The maximum number of bytes that are moved. The source can have twice as many, 128 MiB, which is WebGPU's default
/// limit for a storage binding.
const MAX_BYTES: usize = 64 << 20;

fn main() {
    let gpu = match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => gpu,
        Err(error) => return println!("no figures: {error}"),
    };
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    println!("microseconds on {gpu}");
    println!("   rows   row bytes |  copies  kernel |  copies  kernel, fresh");
    for row_count in [1, 2, 4, 16, 64, 256, 1024] {
        for row_bytes in [
            64,
            256,
            1 << 10,
            4 << 10,
            16 << 10,
            64 << 10,
            1 << 20,
            16 << 20,
        ] {
            let bytes = row_count * row_bytes;
            if bytes <= MAX_BYTES {
                let repeats = if is_bench {
                    (MAX_BYTES / bytes).clamp(5, 50)
                } else {
                    1
                };
                println!(
                    "{row_count:7} {row_bytes:11} | {}",
                    figures(&gpu, row_count, row_bytes, repeats)
                );
            }
        }
    }
}

fn figures(gpu: &Gpu, row_count: usize, row_bytes: usize, repeats: usize) -> String {
    let shape = [row_count * 2, row_bytes / 4];
    let plan = Plan::slice(&shape, &slice![..; 2], DType::F32).expect("a slice");
    let source = buffer(gpu, plan.inputs()[0].bytes());
    let dest = buffer(gpu, plan.outputs()[0].bytes());
    let copies = |encoder: &mut wgpu::CommandEncoder, dest: &wgpu::Buffer| {
        let size = row_bytes as u64;
        for row in 0..row_count as u64 {
            encoder.copy_buffer_to_buffer(&source, row * 2 * size, dest, row * size, size);
        }
    };
    let kernel = |encoder: &mut wgpu::CommandEncoder, dest: &wgpu::Buffer| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        gpu.encode(&mut pass, &plan, &[source.slice(..)], &[dest.slice(..)])
            .expect("it fits");
    };
    let time = |record: &dyn Fn(&mut wgpu::CommandEncoder, &wgpu::Buffer), is_fresh: bool| {
        let time_once = || {
            let new_dest = is_fresh.then(|| buffer(gpu, plan.outputs()[0].bytes()));
            let start = Instant::now();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            record(&mut encoder, new_dest.as_ref().unwrap_or(&dest));
            gpu.queue().submit([encoder.finish()]);
            let wait = wgpu::PollType::wait_indefinitely();
            gpu.device().poll(wait).expect("the device");
            start.elapsed().as_secs_f64() * 1e6
        };
        time_once();
        let mut times: Vec<f64> = (0..repeats).map(|_| time_once()).collect();
        times.sort_by(f64::total_cmp);
        times[repeats / 2]
    };
    format!(
        "{:7.0} {:7.0} | {:7.0} {:7.0}",
        time(&copies, false),
        time(&kernel, false),
        time(&copies, true),
        time(&kernel, true)
    )
}

fn buffer(gpu: &Gpu, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes as u64,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}
