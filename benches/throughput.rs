//! Bytes read plus written per second, by pattern and device.
//!
//! Input, indices and output are resident and reused. A CPU figure is `Plan::run` into the same buffer each
//! time, a GPU figure is recording, submitting and waiting for one plan. Neither includes an upload, a readback
//! or first touches of memory. `copy` is the roof: the same number of bytes by memcpy on one thread, or by the
//! device's own buffer copy; `copy_2_threads` is memcpy on two. On the CPU, `fresh` makes a new tensor for each
//! result, like `Tensor::slice`.
//!
//! `cpu_other` has other steps, element sizes and row lengths.

mod common;

use common::{case, copies, scattered, throughput};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wgslice::{Backend, DType, GatherNd, Indices, Plan, SliceSpec, gpu::DeviceIndices};

type Case = common::Case<What>;

enum What {
    Slice(&'static str),
    /// The number of index tuples, and their depth.
    Gather(usize, usize),
}

use What::{Gather, Slice};

const CASES: [Case; 11] = [
    case(
        "crop",
        DType::F32,
        &[64, 256, 256, 16],
        Slice("8:56, 32:224, 32:224, :"),
    ),
    case("reverse", DType::F32, &[4096, 4096], Slice(":, ::-1")),
    case(
        "downsample",
        DType::F32,
        &[16, 1024, 1024],
        Slice(":, ::2, ::2"),
    ),
    case("every_3rd_row", DType::F32, &[8192, 2048], Slice("::3")),
    case("tiny_rows", DType::F32, &[2_000_000, 4], Slice("::-2, 1:3")),
    case(
        "flip_pixels",
        DType::U8,
        &[64, 512, 512, 3],
        Slice(":, 16:496, 495:15:-1, :"),
    ),
    case("embedding", DType::F32, &[200_000, 128], Gather(100_000, 1)),
    case("scalars", DType::F32, &[2048, 2048], Gather(2_000_000, 2)),
    case("partial", DType::F32, &[64, 64, 32, 32], Gather(20_000, 2)),
    case(
        "embedding_f16",
        DType::F16,
        &[200_000, 128],
        Gather(200_000, 1),
    ),
    case("tiny", DType::F32, &[32, 32], Slice("4:20, ::2")),
];

/// Other steps, element sizes and row lengths.
const OTHERS: [Case; 14] = [
    case("u8_step_-1", DType::U8, &[4096, 8192], Slice(":, ::-1")),
    case("f16_step_-1", DType::F16, &[4096, 4096], Slice(":, ::-1")),
    case(
        "c128_step_-1",
        DType::Complex128,
        &[2048, 1024],
        Slice(":, ::-1"),
    ),
    case("u8_step_2", DType::U8, &[4096, 16384], Slice(":, ::2")),
    case("f32_step_-2", DType::F32, &[4096, 4096], Slice(":, ::-2")),
    case("f32_step_3", DType::F32, &[4096, 4096], Slice(":, ::3")),
    case("u8_step_5", DType::U8, &[4096, 16384], Slice(":, ::5")),
    case(
        "channels_turned",
        DType::U8,
        &[64, 512, 512, 3],
        Slice("..., ::-1"),
    ),
    case("rows_of_5", DType::U8, &[4_000_000, 8], Slice(":, 1:6")),
    case("rows_of_100", DType::F32, &[500_000, 32], Slice(":, 3:28")),
    case(
        "rows_of_1500",
        DType::F32,
        &[30_000, 512],
        Slice(":, 3:378"),
    ),
    case(
        "rank_8",
        DType::F32,
        &[11, 8, 9, 8, 9, 8, 9, 9],
        Slice("1:, ::-1, 1:, ::-1, 1:, ::-1, 1:, ::-1"),
    ),
    case(
        "depth_3",
        DType::F32,
        &[128, 128, 128],
        Gather(2_000_000, 3),
    ),
    case(
        "rows_of_12",
        DType::F32,
        &[1_000_000, 3],
        Gather(1_000_000, 1),
    ),
];

impl Case {
    fn plan(&self) -> Plan {
        match self.what {
            Slice(spec) => {
                let spec: SliceSpec = spec.parse().expect("a spec");
                Plan::strided_slice(self.shape, &spec, self.dtype).expect("a slice")
            }
            Gather(rows, depth) => {
                Plan::gather_nd(self.shape, &[rows, depth], GatherNd::default(), self.dtype)
                    .expect("a gather")
            }
        }
    }

    fn indices(&self) -> Vec<i32> {
        let Gather(rows, depth) = self.what else {
            return Vec::new();
        };
        scattered(rows, &self.shape[..depth])
    }
}

/// Bytes read and written.
fn moved(plan: &Plan) -> u64 {
    2 * plan.result_bytes() as u64
}

fn cpu(c: &mut Criterion) {
    let mut group = c.benchmark_group("cpu");
    for case in &CASES {
        reused(&mut group, case);
        fresh(&mut group, case);
        let bytes = case.plan().result_bytes();
        copies(&mut group, case.name, bytes, <[u8]>::copy_from_slice);
    }
}

fn cpu_other(c: &mut Criterion) {
    let mut group = c.benchmark_group("cpu_other");
    for case in &OTHERS {
        reused(&mut group, case);
    }
}

fn reused(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
    let plan = case.plan();
    let indices = case.indices();
    let source = vec![0x5a; plan.source_bytes()];
    let mut dest = vec![0xa5; plan.result_bytes()];
    throughput(group, moved(&plan));
    group.bench_function(case.name, |b| match case.what {
        Slice(_) => b.iter(|| plan.run(&source, black_box(&mut dest))),
        Gather(..) => b.iter(|| {
            plan.run_with(&source, Indices::I32(&indices), black_box(&mut dest))
                .map(drop)
        }),
    });
}

fn fresh(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
    let backend = Backend::cpu();
    let bytes = vec![0x5a; case.plan().source_bytes()];
    let source = backend.adopt(case.dtype, case.shape, bytes);
    let source = source.expect("bytes of the shape");
    group.bench_function(format!("{}/fresh", case.name), |b| match case.what {
        Slice(spec) => {
            let spec: SliceSpec = spec.parse().expect("a spec");
            b.iter(|| source.slice(&spec));
        }
        Gather(rows, depth) => {
            let indices = backend.upload(&case.indices(), &[rows, depth]);
            let indices = indices.expect("indices of the shape");
            b.iter(|| source.gather_nd(&indices, GatherNd::default()));
        }
    });
}

fn gpu(c: &mut Criterion) {
    let Some(gpu) = common::gpu() else { return };
    let buffer = |bytes| common::buffer(&gpu, bytes);
    let run = |record: &dyn Fn(&mut wgpu::CommandEncoder)| common::run(&gpu, record);
    let mut group = c.benchmark_group("gpu");
    for case in &CASES {
        let plan = case.plan();
        let indices = case.indices();
        let (source, dest) = (buffer(plan.source_bytes()), buffer(plan.result_bytes()));
        let tuples = buffer(indices.len() * 4);
        gpu.queue()
            .write_buffer(&tuples, 0, bytemuck::cast_slice(&indices));
        let record = |encoder: &mut wgpu::CommandEncoder| {
            let (source, dest) = (source.slice(..), dest.slice(..));
            match case.what {
                Slice(_) => gpu.encode(encoder, &plan, source, dest),
                Gather(..) => {
                    let tuples = DeviceIndices::I32(tuples.slice(..));
                    gpu.encode_gather(encoder, &plan, source, tuples, dest)
                        .map(drop)
                }
            }
        };
        if let Err(error) = record(&mut gpu.device().create_command_encoder(&Default::default())) {
            eprintln!("gpu/{}: {error}", case.name);
            continue;
        }
        throughput(&mut group, moved(&plan));
        group.bench_function(case.name, |b| {
            b.iter(|| run(&|encoder| record(encoder).expect("it was recorded before")));
        });
        let copied = plan.result_bytes().min(plan.source_bytes()) as u64;
        group.bench_function(format!("{}/copy", case.name), |b| {
            b.iter(|| run(&|encoder| encoder.copy_buffer_to_buffer(&source, 0, &dest, 0, copied)));
        });
    }
}

criterion_group!(benches, cpu, cpu_other, gpu);
criterion_main!(benches);
