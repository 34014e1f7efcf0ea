//! Measures how many bytes updates, gradients and scatters read and write per second.
//!
//! Values, indices and destination stay in memory and are reused. A CPU figure is the time of `Plan::run_cpu`, which
//! writes to the same buffer each time. A GPU figure is the time to record one plan, submit it and wait for it. These
//! bytes are counted: an update reads the value and writes as many bytes; a fill writes the slice; a gradient reads the
//! value and writes the whole result; a scatter reads the updates and writes as many bytes, and if it adds, it also
//! reads as many from the destination. Indices are not counted. `copy` shows the upper limit: it reads and writes the
//! same total of bytes, by memcpy on one thread or two, or by the device's own buffer copy.
//!
//! `cpu_other` and `gpu_other` time cases with further steps, element sizes and row lengths. Every case's result is
//! checked before the case is timed. Without `--bench`, as in tests, everything is smaller and runs without timing.

mod common;
#[path = "../tests/harness/read_buffer.rs"]
mod read_buffer;

use common::{case, scaled_rows, scattered, set_throughput, time_copies};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use read_buffer::read_buffer;
use std::hint::black_box;
use wgslice::{
    DType, Plan, SliceSpec, Values, ValuesMut,
    options::{Combine, ScatterOptions},
};

type Case = common::Case<Operation>;

#[derive(Clone, Copy)]
enum Operation {
    /// Writes a value with the slice's shape into the slice.
    Update(&'static str),
    /// Writes a scalar into the slice.
    Fill(&'static str),
    Grad(&'static str),
    /// Writes this many rows to scattered positions along the first dimension. Each row is combined with the row of the
    /// destination at its position.
    Scatter(usize, Combine),
}

use Operation::{Fill, Grad, Scatter as Rows, Update};

/// The shapes of the arrays: 64 MiB of f32, 64 MiB of u8, a table of rows, and an array of scalars.
const F32_SHAPE: &[usize] = &[4096, 4096];
const U8_SHAPE: &[usize] = &[4096, 16384];
const TABLE_SHAPE: &[usize] = &[200_000, 64];
const SCALARS_SHAPE: &[usize] = &[4 << 20];

const CASES: [Case; 11] = [
    case("update_rows", DType::F32, F32_SHAPE, Update("::2")),
    case("update_f32_step_2", DType::F32, F32_SHAPE, Update(":, ::2")),
    case(
        "update_f32_step_-1",
        DType::F32,
        F32_SHAPE,
        Update(":, ::-1"),
    ),
    case("update_u8_step_2", DType::U8, U8_SHAPE, Update(":, ::2")),
    case("update_u8_step_-1", DType::U8, U8_SHAPE, Update(":, ::-1")),
    case("grad_f32_step_2", DType::F32, F32_SHAPE, Grad(":, ::2")),
    case("grad_u8_step_2", DType::U8, U8_SHAPE, Grad(":, ::2")),
    case(
        "scatter_update_rows",
        DType::F32,
        TABLE_SHAPE,
        Rows(100_000, Combine::Update),
    ),
    case(
        "scatter_add_rows",
        DType::F32,
        TABLE_SHAPE,
        Rows(100_000, Combine::Add),
    ),
    case(
        "scatter_update_scalars",
        DType::F32,
        SCALARS_SHAPE,
        Rows(1_000_000, Combine::Update),
    ),
    case(
        "scatter_add_scalars",
        DType::F32,
        SCALARS_SHAPE,
        Rows(1_000_000, Combine::Add),
    ),
];

const OTHER_CASES: [Case; 23] = [
    case(
        "update_f32_step_-2",
        DType::F32,
        F32_SHAPE,
        Update(":, ::-2"),
    ),
    case(
        "update_f32_step_3",
        DType::F32,
        F32_SHAPE,
        Update(":, 1::3"),
    ),
    case("update_f32_step_5", DType::F32, F32_SHAPE, Update(":, ::5")),
    case(
        "update_f64_step_2",
        DType::F64,
        &[4096, 2048],
        Update(":, ::2"),
    ),
    case(
        "update_f16_step_2",
        DType::F16,
        &[4096, 8192],
        Update(":, 1::2"),
    ),
    case("update_u8_step_3", DType::U8, U8_SHAPE, Update(":, ::3")),
    case("update_u8_step_-4", DType::U8, U8_SHAPE, Update(":, ::-4")),
    case("update_u8_step_7", DType::U8, U8_SHAPE, Update(":, ::7")),
    case(
        "update_pixels_flipped",
        DType::U8,
        &[64, 512, 512, 3],
        Update(":, :, ::-1"),
    ),
    case(
        "update_every_other_pixel",
        DType::U8,
        &[64, 512, 512, 3],
        Update(":, :, ::2"),
    ),
    case(
        "update_channel",
        DType::U8,
        &[64, 512, 512, 3],
        Update("..., 1"),
    ),
    case(
        "update_rows_of_3",
        DType::U8,
        &[8_000_000, 5],
        Update(":, ::2"),
    ),
    case(
        "update_rows_of_2",
        DType::F32,
        &[2_000_000, 4],
        Update(":, 1:3"),
    ),
    case(
        "update_odd_rows",
        DType::F32,
        &[16_000, 1023],
        Update(":, ::2"),
    ),
    case("fill_f32_step_2", DType::F32, F32_SHAPE, Fill(":, ::2")),
    case("fill_u8_step_2", DType::U8, U8_SHAPE, Fill(":, ::2")),
    case("grad_f32_step_-2", DType::F32, F32_SHAPE, Grad(":, ::-2")),
    case("grad_f32_step_3", DType::F32, F32_SHAPE, Grad(":, 1::3")),
    case("grad_u8_step_3", DType::U8, U8_SHAPE, Grad(":, 2::3")),
    case("grad_f16_step_4", DType::F16, &[4096, 8192], Grad(":, ::4")),
    case("grad_2_axes", DType::F32, F32_SHAPE, Grad("::2, 1::2")),
    case("grad_crop", DType::F32, F32_SHAPE, Grad("8:-8, 13:-13")),
    case(
        "scatter_add_i32_scalars",
        DType::I32,
        SCALARS_SHAPE,
        Rows(1_000_000, Combine::Add),
    ),
];

impl Case {
    fn plan(&self) -> Plan {
        let (shape, dtype) = (&self.shape()[..], self.dtype);
        match self.operation {
            Update(_) => {
                let value = self.slice_plan();
                Plan::slice_update(shape, &self.spec(), value.shape(), dtype)
            }
            Fill(_) => Plan::slice_update(shape, &self.spec(), &[], dtype),
            Grad(_) => Plan::slice_grad(shape, &self.spec(), self.slice_plan().shape(), dtype),
            Rows(rows, combine) => {
                let rows = scaled_rows(rows);
                let options = ScatterOptions {
                    combine: Some(combine),
                    ..ScatterOptions::default()
                };
                let updates = [&[rows], &shape[1..]].concat();
                Plan::tensor_scatter_nd(shape, &[rows, 1], &updates, options, dtype)
            }
        }
        .expect("a plan")
    }

    fn shape(&self) -> Vec<usize> {
        let mut shape = self.shape.to_vec();
        shape[0] = scaled_rows(shape[0]);
        shape
    }

    fn spec(&self) -> SliceSpec {
        match self.operation {
            Update(spec) | Fill(spec) | Grad(spec) => spec.parse().expect("a spec"),
            Rows(..) => unreachable!("a scatter has indices"),
        }
    }

    fn slice_plan(&self) -> Plan {
        Plan::slice(&self.shape(), &self.spec(), self.dtype).expect("a slice")
    }

    /// Returns the positions to which a scatter writes its rows. Empty for other cases.
    fn indices(&self) -> Vec<i32> {
        match self.operation {
            Rows(rows, _) => scattered(scaled_rows(rows), &self.shape()[..1]),
            Update(_) | Fill(_) | Grad(_) => Vec::new(),
        }
    }

    /// Returns the bytes of the values to write. No byte is 0, so that `check` can count the written bytes. As `f32`,
    /// all values are normal numbers.
    fn source(&self, plan: &Plan) -> Vec<u8> {
        (1..=127).cycle().take(plan.inputs()[0].bytes()).collect()
    }

    /// Returns the total number of bytes that the case reads and writes. Indices are not counted.
    fn bytes(&self, plan: &Plan) -> u64 {
        let input_bytes = plan.inputs()[0].bytes();
        let bytes = match self.operation {
            Update(_) | Rows(_, Combine::Update) => 2 * input_bytes,
            Fill(_) => self.slice_plan().outputs()[0].bytes(),
            Grad(_) => input_bytes + plan.outputs()[0].bytes(),
            Rows(..) => 3 * input_bytes,
        };
        bytes as u64
    }

    /// Panics if `result` is not the case's result on a destination of zeros.
    fn check(&self, plan: &Plan, result: &[u8]) {
        let source = self.source(plan);
        let name = self.name;
        match self.operation {
            Update(_) | Fill(_) | Grad(_) => {
                let slice = self.slice_plan();
                let mut values = vec![0; slice.outputs()[0].bytes()];
                run_bytes(&slice, result, &[], &mut values);
                for values in values.chunks(source.len()) {
                    assert!(values == source, "{name}: other values");
                }
                let written_count = result.iter().filter(|&&byte| byte != 0).count();
                assert_eq!(
                    written_count,
                    values.len(),
                    "{name}: bytes that are not zeros"
                );
            }
            Rows(_, combine) => {
                let row_len = source.len() / self.indices().len() / 4;
                let (updates, _) = source.as_chunks::<4>();
                let mut expected = vec![0u32; result.len() / 4];
                for (at, update) in self.indices().into_iter().zip(updates.chunks(row_len)) {
                    let at = usize::try_from(at).expect("an index") * row_len;
                    for (to, &update) in expected[at..][..row_len].iter_mut().zip(update) {
                        let update = u32::from_ne_bytes(update);
                        *to = match (combine, self.dtype) {
                            (Combine::Update, _) => update,
                            (_, DType::I32) => to.wrapping_add(update),
                            _ => (f32::from_bits(*to) + f32::from_bits(update)).to_bits(),
                        };
                    }
                }
                let expected: &[u8] = bytemuck::cast_slice(&expected);
                assert!(result == expected, "{name}: other values");
            }
        }
    }
}

fn cpu(c: &mut Criterion) {
    let mut group = c.benchmark_group("writes/cpu");
    for case in &CASES {
        on_cpu(&mut group, case);
        let bytes = case.bytes(&case.plan()) / 2;
        let bytes = usize::try_from(bytes).expect("memory");
        time_copies(&mut group, case.name, bytes, copy);
    }
}

fn cpu_other(c: &mut Criterion) {
    let mut group = c.benchmark_group("writes/cpu_other");
    for case in &OTHER_CASES {
        on_cpu(&mut group, case);
    }
}

fn on_cpu(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
    let plan = case.plan();
    let indices = case.indices();
    let source = case.source(&plan);
    let mut dest = vec![0; plan.outputs()[0].bytes()];
    let run = |dest: &mut [u8]| {
        run_bytes(&plan, &source, &indices, dest);
    };
    run(&mut dest);
    case.check(&plan, &dest);
    set_throughput(group, case.bytes(&plan));
    group.bench_function(case.name, |b| b.iter(|| run(black_box(&mut dest))));
}

/// Runs a plan on the CPU, on bytes.
fn run_bytes(plan: &Plan, source: &[u8], indices: &[i32], dest: &mut [u8]) {
    let source = Values::from_bytes(plan.dtype(), source);
    let inputs = [source, indices.into()];
    let inputs = &inputs[..1 + usize::from(!indices.is_empty())];
    plan.run_cpu(inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
        .expect("lengths of the plan");
}

/// The size in bytes of one memcpy. A larger memcpy can bypass the caches, which is several times slower on some
/// machines.
const MEMCPY_BYTES: usize = 1 << 20;

fn copy(dest: &mut [u8], source: &[u8]) {
    for (dest, source) in dest
        .chunks_mut(MEMCPY_BYTES)
        .zip(source.chunks(MEMCPY_BYTES))
    {
        dest.copy_from_slice(source);
    }
}

fn gpu(c: &mut Criterion) {
    on_gpu(&mut c.benchmark_group("writes/gpu"), &CASES, true);
}

fn gpu_other(c: &mut Criterion) {
    on_gpu(
        &mut c.benchmark_group("writes/gpu_other"),
        &OTHER_CASES,
        false,
    );
}

fn on_gpu(group: &mut BenchmarkGroup<'_, WallTime>, cases: &[Case], with_copies: bool) {
    let Some(gpu) = common::gpu() else { return };
    let buffer = |bytes| common::buffer(&gpu, bytes);
    let run = |record: &dyn Fn(&mut wgpu::CommandEncoder)| common::run(&gpu, record);
    for case in cases {
        let plan = case.plan();
        let (source, dest) = (
            buffer(plan.inputs()[0].bytes()),
            buffer(plan.outputs()[0].bytes()),
        );
        let indices = case.indices();
        let tuples = buffer(indices.len() * 4);
        let values = case.source(&plan);
        let padded_length = values.len().next_multiple_of(4);
        let padded = values.into_iter().chain([0; 3]).take(padded_length);
        let padded: Vec<u8> = padded.collect();
        gpu.queue().write_buffer(&source, 0, &padded);
        gpu.queue()
            .write_buffer(&tuples, 0, bytemuck::cast_slice(&indices));
        let record = |encoder: &mut wgpu::CommandEncoder| {
            let tuples = tuples.slice(..);
            let all_inputs = [source.slice(..), tuples];
            let inputs = &all_inputs[..1 + usize::from(matches!(case.operation, Rows(..)))];
            gpu.encode(encoder, &plan, inputs, &[dest.slice(..)])
                .map(drop)
        };
        if let Err(error) = record(&mut gpu.device().create_command_encoder(&Default::default())) {
            eprintln!("gpu/{}: {error}", case.name);
            continue;
        }
        let run_once = || run(&|encoder| record(encoder).expect("it was recorded before"));
        run_once();
        case.check(
            &plan,
            &read_buffer(&gpu, &dest)[..plan.outputs()[0].bytes()],
        );
        let bytes = case.bytes(&plan);
        set_throughput(group, bytes);
        group.bench_function(case.name, |b| b.iter(run_once));
        if with_copies {
            let bytes = bytes / 8 * 4;
            let size = usize::try_from(bytes).expect("a size");
            let (from, to) = (buffer(size), buffer(size));
            group.bench_function(format!("{}/copy", case.name), |b| {
                b.iter(|| run(&|encoder| encoder.copy_buffer_to_buffer(&from, 0, &to, 0, bytes)));
            });
        }
    }
}

criterion_group!(benches, cpu, cpu_other, gpu, gpu_other);
criterion_main!(benches);
