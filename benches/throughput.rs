//! Bytes read plus written per second, by pattern and device.
//!
//! Input, indices and output are resident and reused: a CPU figure is `Plan::run` into the same
//! buffer each time, a GPU figure is recording, submitting and waiting for one plan. Neither holds
//! an upload, a readback or a first touch of memory. `copy` is the roof: the same number of bytes by
//! memcpy on one thread, or by the device's own buffer copy.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wgslice::{
    DType, Gpu, Indices, Plan, SliceSpec,
    gpu::{AdapterOptions, DeviceIndices},
};

struct Case {
    name: &'static str,
    dtype: DType,
    shape: &'static [usize],
    what: What,
}

enum What {
    Slice(&'static str),
    /// Index tuples: how many, and their depth.
    Gather(usize, usize),
}

use What::{Gather, Slice};

const fn case(name: &'static str, dtype: DType, shape: &'static [usize], what: What) -> Case {
    Case {
        name,
        dtype,
        shape,
        what,
    }
}

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

impl Case {
    fn plan(&self) -> Plan {
        match self.what {
            Slice(spec) => {
                let spec: SliceSpec = spec.parse().expect("a spec");
                Plan::strided_slice(self.shape, &spec, self.dtype).expect("a slice")
            }
            Gather(rows, depth) => {
                Plan::gather_nd(self.shape, &[rows, depth], 0, self.dtype).expect("a gather")
            }
        }
    }

    /// Scattered tuples, the same on every run.
    fn indices(&self) -> Vec<i32> {
        let Gather(rows, depth) = self.what else {
            return Vec::new();
        };
        let hash = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        (0..rows * depth)
            .map(|i| i32::try_from(hash(i) % self.shape[i % depth] as u64).expect("a dimension"))
            .collect()
    }
}

fn cpu(c: &mut Criterion) {
    let mut group = c.benchmark_group("cpu");
    for case in &CASES {
        let plan = case.plan();
        let indices = case.indices();
        let source = vec![0x5a; plan.source_bytes()];
        let mut dest = vec![0xa5; plan.result_bytes()];
        throughput(&mut group, &plan);
        group.bench_function(case.name, |b| match case.what {
            Slice(_) => b.iter(|| plan.run(&source, black_box(&mut dest))),
            Gather(..) => b.iter(|| {
                plan.run_with(&source, Indices::I32(&indices), black_box(&mut dest))
                    .map(drop)
            }),
        });
        let copied = plan.result_bytes().min(source.len());
        group.bench_function(format!("{}/copy", case.name), |b| {
            b.iter(|| black_box(&mut dest)[..copied].copy_from_slice(&source[..copied]));
        });
    }
}

fn gpu(c: &mut Criterion) {
    let gpu = match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => gpu,
        Err(error) => return eprintln!("no GPU figures: {error}"),
    };
    eprintln!("GPU figures are of {gpu}");
    let buffer = |bytes: usize| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.max(16).next_multiple_of(16) as u64,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    };
    let run = |record: &dyn Fn(&mut wgpu::CommandEncoder)| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder);
        gpu.queue().submit([encoder.finish()]);
        gpu.device()
            .poll(wgpu::PollType::wait_indefinitely())
            .expect("the device");
    };
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
        throughput(&mut group, &plan);
        group.bench_function(case.name, |b| {
            b.iter(|| run(&|encoder| record(encoder).expect("it was recorded before")));
        });
        let copied = plan.result_bytes().min(plan.source_bytes()) as u64;
        group.bench_function(format!("{}/copy", case.name), |b| {
            b.iter(|| run(&|encoder| encoder.copy_buffer_to_buffer(&source, 0, &dest, 0, copied)));
        });
    }
}

fn throughput(group: &mut BenchmarkGroup<'_, WallTime>, plan: &Plan) {
    group.sample_size(10);
    group.throughput(Throughput::Bytes(2 * plan.result_bytes() as u64));
}

criterion_group!(benches, cpu, gpu);
criterion_main!(benches);
