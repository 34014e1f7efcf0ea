//! Cases, devices and copies for the benchmark `writes`. The speed of a copy on the CPU is the upper limit for the
//! cases on the CPU.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Throughput};
use std::{hint::black_box, thread};
use wgslice::{DType, Gpu, gpu::AdapterOptions};

/// A benchmarked operation on an array of this type and shape.
pub(crate) struct Case<Operation> {
    pub(crate) name: &'static str,
    pub(crate) dtype: DType,
    pub(crate) shape: &'static [usize],
    pub(crate) operation: Operation,
}

pub(crate) const fn case<Operation>(
    name: &'static str,
    dtype: DType,
    shape: &'static [usize],
    operation: Operation,
) -> Case<Operation> {
    Case {
        name,
        dtype,
        shape,
        operation,
    }
}

/// Returns the indices of `tuple_count` index tuples, which select scattered positions in dimensions of these sizes.
/// The indices are the same in every run.
pub(crate) fn scattered(tuple_count: usize, sizes: &[usize]) -> Vec<i32> {
    let hash = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let depth = sizes.len();
    (0..tuple_count * depth)
        .map(|i| i32::try_from(hash(i) % sizes[i % depth] as u64).expect("a dimension"))
        .collect()
}

/// Returns `rows` if the program runs with `--bench`. Otherwise every case runs only once, and the result is a 64th of
/// `rows`, rounded up.
pub(crate) fn scaled_rows(rows: usize) -> usize {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    if is_bench { rows } else { rows.div_ceil(64) }
}

/// Sets ten samples for each benchmark, and a throughput of `bytes` bytes for each iteration.
pub(crate) fn set_throughput(group: &mut BenchmarkGroup<'_, WallTime>, bytes: u64) {
    group.sample_size(10);
    group.throughput(Throughput::Bytes(bytes));
}

/// Measures the upper limit on the CPU: the time that one thread and two threads take to copy `bytes` bytes.
pub(crate) fn time_copies(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    bytes: usize,
    copy: impl Fn(&mut [u8], &[u8]) + Sync,
) {
    let source = vec![0x5a; bytes];
    let mut dest = vec![0xa5; bytes];
    group.bench_function(format!("{name}/copy"), |b| {
        b.iter(|| copy(black_box(&mut dest), &source));
    });
    group.bench_function(format!("{name}/copy_2_threads"), |b| {
        b.iter(|| {
            let halves = black_box(&mut dest).split_at_mut(bytes / 2);
            let (first, second) = source.split_at(bytes / 2);
            thread::scope(|scope| {
                scope.spawn(|| copy(halves.1, second));
                copy(halves.0, first);
            });
        });
    });
}

/// Opens the GPU to measure and prints its name. If none can be opened, prints the reason.
pub(crate) fn gpu() -> Option<Gpu> {
    match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => {
            eprintln!("GPU figures are of {gpu}");
            Some(gpu)
        }
        Err(error) => {
            eprintln!("no GPU figures: {error}");
            None
        }
    }
}

/// Creates a buffer of `bytes` bytes, rounded up to a multiple of 16, but at least 16 bytes.
pub(crate) fn buffer(gpu: &Gpu, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.max(16).next_multiple_of(16) as u64,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Records commands, submits them, and waits until they are done.
pub(crate) fn run(gpu: &Gpu, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    record(&mut encoder);
    gpu.queue().submit([encoder.finish()]);
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("the device");
}
