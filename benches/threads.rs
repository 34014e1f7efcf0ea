//! Measures how the time of a CPU operation depends on the number of threads, which are either wgslice's own or
//! rayon's.
//!
//!     cargo bench --bench threads
//!     cargo bench --bench threads --features rayon
//!
//! `crop` copies rows of 750 bytes, and `gather` copies rows of 256 bytes, both into memory that is reused. `jobs` runs
//! 16 crops as jobs of a rayon pool with one thread for each core. A name ends in `1` if an operation can use only one
//! thread, and in `all` if it can use any number of threads. Without `--bench`, as in tests, only the smallest size
//! runs, and nothing is timed.

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use criterion::{Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use std::{env, hint::black_box};
use wgslice::{Backend, Tensor, options::GatherOptions, slice};

/// The approximate sizes of the results in bytes. The 16 crops of `jobs` have this size in total.
const SIZES: [usize; 7] = [
    64 << 10,
    256 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
    16 << 20,
    64 << 20,
];
/// The number of bytes in a row of an image. A crop copies three quarters of each row.
const ROW_BYTES: usize = 1000;

fn threads(c: &mut Criterion) {
    let pool_name = if cfg!(feature = "rayon") {
        "rayon"
    } else {
        "own"
    };
    let is_bench = env::args().any(|argument| argument == "--bench");
    let sizes = if is_bench { &SIZES[..] } else { &SIZES[..1] };
    for &size in sizes {
        let mut group = c.benchmark_group(format!("{pool_name}/{} KiB", size >> 10));
        group.throughput(Throughput::Bytes(size as u64));
        for (name, threads) in [("1", 1), ("all", 0)] {
            let cpu = Backend::cpu().with_threads(threads);
            crop(&mut group, name, &cpu, size);
            gather(&mut group, name, &cpu, size);
            jobs(&mut group, name, &cpu, size / 16);
        }
        group.finish();
    }
}

/// Returns an image, and a tensor for the result of a crop with about `size` bytes.
fn image_and_result(cpu: &Backend, size: usize) -> (Tensor, Tensor) {
    let row_count = size / (ROW_BYTES * 3 / 4);
    let image = cpu.upload((&vec![1u8; row_count * ROW_BYTES], &[row_count, ROW_BYTES]));
    let result = cpu.upload((
        &vec![0u8; row_count * ROW_BYTES * 3 / 4],
        &[row_count, ROW_BYTES * 3 / 4],
    ));
    (image.expect("an image"), result.expect("a result"))
}

fn slice_into((image, result): &mut (Tensor, Tensor)) {
    let spec = slice![.., 100..850];
    image.slice_into(&spec, black_box(result)).expect("a crop");
}

fn crop(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, cpu: &Backend, size: usize) {
    let mut pair = image_and_result(cpu, size);
    group.bench_function(format!("crop/{name}"), |b| {
        b.iter(|| slice_into(&mut pair));
    });
}

fn jobs(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, cpu: &Backend, size: usize) {
    let mut pairs: Vec<_> = (0..16).map(|_| image_and_result(cpu, size)).collect();
    group.bench_function(format!("jobs/{name}"), |b| {
        b.iter(|| pairs.par_iter_mut().for_each(slice_into));
    });
}

fn gather(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, cpu: &Backend, size: usize) {
    let (row_count, index_count) = (100_000, size / 256);
    let table = cpu
        .upload((&vec![1f32; row_count * 64], &[row_count, 64]))
        .expect("a table");
    let indices = (0..index_count).map(|i| i64::try_from(i * 7919 % row_count).expect("a row"));
    let indices = cpu
        .upload((&indices.collect::<Vec<_>>(), &[index_count]))
        .expect("indices");
    group.bench_function(format!("gather/{name}"), |b| {
        b.iter(|| {
            table
                .gather(&indices, GatherOptions::default())
                .expect("rows")
        });
    });
}

criterion_group!(benches, threads);
criterion_main!(benches);
