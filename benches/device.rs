//! Measures GPU workloads relative to two copies on the same device: wgpu's `copy_buffer_to_buffer`, and a kernel of a
//! few lines.
//!
//! ```sh
//! cargo bench --bench device          # 30 s on lavapipe; no GPU has run it yet
//! cargo bench --bench device -- 4     # results four times as long, for a GPU with a large cache
//! ```
//!
//! The workloads are W1, W7 to W10 (gathers) and W12 to W15 of `wgslice bench`, and transposes of elements of 1 to
//! 16 bytes with results of 64 MiB. Each copy moves as many bytes as the result has. A single dispatch would take less
//! time than its submission. So a figure is the time from the submission of many dispatches to their completion,
//! divided by their number. A workload and both copies are measured alternately, and the table has medians. Every
//! result is compared with the CPU's. `WGPU_ADAPTER_NAME` chooses an adapter. Without `--bench`, as in tests,
//! everything runs once on small arrays.

use std::time::{Duration, Instant};
use wgpu::{Buffer, CommandEncoder, ComputePipeline};
use wgslice::{
    Backend, DType, Error, Gpu, Plan, Tensor, Values, ValuesMut, View,
    gpu::AdapterOptions,
    options::{Boxes, CropOptions, GatherNdOptions},
};

/// The work of a measurement is repeated until the measurement takes about this long.
const MEASURED_TIME: Duration = Duration::from_millis(50);
const ROUNDS: usize = 9;

/// One invocation copies 16 bytes.
const COPY_SHADER: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> dest: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let place = id.y * groups.x * 256u + id.x;
    if place < arrayLength(&dest) {
        dest[place] = source[place];
    }
}
";

/// Records the work the given number of times.
type Record<'a> = &'a dyn Fn(&mut CommandEncoder, u32) -> Result<(), Error>;

struct Case {
    name: &'static str,
    plan: Plan,
    indices: Vec<i32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let factor = arguments.iter().find_map(|argument| argument.parse().ok());
    let gpu = match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("no figures: {error}");
            return Ok(());
        }
    };
    let start = Instant::now();
    println!("on {gpu}");
    if gpu.is_software() {
        println!(
            "software: it copies and computes on the CPU, so these shares mean little for a GPU"
        );
    }
    println!(
        "{:30} {:>8} {:>7} {:>9} {:>12} {:>6}",
        "", "ms", "GB/s", "API copy", "kernel copy", "noise"
    );
    let copy_pipeline = copy_kernel(gpu.device());
    for case in cases(is_bench, factor.unwrap_or(1))? {
        match figures(&gpu, &copy_pipeline, &case, is_bench) {
            Ok(figures) => println!("{:30} {figures}", case.name),
            Err(error @ Error::DeviceLimit { .. }) => println!("{:30} {error}", case.name),
            Err(error) => return Err(error.into()),
        }
    }
    println!(
        "GB/s: bytes of the result, read and written. API copy, kernel copy: the time of this copy ÷ the\n\
         time of the workload. noise: how much longer the slower quarter took. {:.0} s in all.",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn cases(is_bench: bool, factor: usize) -> Result<Vec<Case>, Error> {
    // Scales the size of an array's first dimension, or a number of index tuples, for this run.
    let scaled = |count: usize| match is_bench {
        true => count * factor,
        false => count.div_ceil(64),
    };
    let transposed = |shape: &[usize], axes: &[usize], dtype| {
        Plan::contiguous(View::new(shape)?.transpose(axes)?, dtype)
    };
    let gathered = |shape: &[usize], indices_shape: [usize; 2], dtype| -> Result<_, Error> {
        let plan = Plan::gather_nd(shape, &indices_shape, GatherNdOptions::default(), dtype)?;
        let [tuple_count, depth] = indices_shape;
        Ok((plan, scattered(tuple_count * depth, &shape[..depth])))
    };
    let crop_count = scaled(256);
    let boxes = Boxes::of_tuples(&[crop_count, 4], false, true);
    let options = CropOptions {
        sizes: vec![224, 224],
        ..CropOptions::default()
    };
    let crop = Plan::crop(&[crop_count, 256, 256, 3], boxes, &options, DType::U8)?;
    // Each box has four numbers: its first row, its first column and the flip flags of its two axes. Rows are never
    // flipped; the columns of some boxes are.
    let crop_boxes = scattered(crop_count * 4, &[33, 33, 1, 2]);
    let matrix_transpose =
        |rows, columns, dtype| transposed(&[scaled(rows), columns], &[1, 0], dtype);
    let (f32, u8) = (DType::F32, DType::U8);
    let image_count = scaled(64);
    let crop_spec = format!(
        "{}:{}, 32:224, 32:224",
        image_count / 8,
        image_count - image_count / 8
    );
    let view_cases = [
        (
            "W1, crop of four dimensions",
            Plan::slice(&[image_count, 256, 256, 16], &crop_spec.parse()?, f32)?,
        ),
        (
            "W12, transpose, 4 bytes",
            matrix_transpose(4096, 4096, f32)?,
        ),
        (
            "W13, pixels to planes, u8",
            transposed(&[scaled(64), 512, 512, 3], &[0, 3, 1, 2], u8)?,
        ),
        (
            "W14, heads swapped, 4 bytes",
            transposed(&[scaled(16), 64, 512, 64], &[0, 2, 1, 3], f32)?,
        ),
        ("transpose, 1 byte", matrix_transpose(8192, 8192, u8)?),
        (
            "transpose, 2 bytes",
            matrix_transpose(8192, 4096, DType::F16)?,
        ),
        (
            "transpose, 8 bytes",
            matrix_transpose(4096, 2048, DType::F64)?,
        ),
        (
            "transpose, 16 bytes",
            matrix_transpose(2048, 2048, DType::Complex128)?,
        ),
    ];
    let indexed_cases = [
        ("W15, crops of 224 x 224, u8", (crop, crop_boxes)),
        (
            "W7, rows of 512 bytes",
            gathered(&[200_000, 128], [scaled(100_000), 1], f32)?,
        ),
        (
            "W8, scalars of 4 bytes",
            gathered(&[2048, 2048], [scaled(2_000_000), 2], f32)?,
        ),
        (
            "W9, blocks of 4 KiB",
            gathered(&[64, 64, 32, 32], [scaled(20_000), 2], f32)?,
        ),
        (
            "W10, rows of 256 bytes",
            gathered(&[200_000, 128], [scaled(200_000), 1], DType::F16)?,
        ),
    ];
    let view_cases = view_cases.map(|(name, plan)| Case {
        name,
        plan,
        indices: Vec::new(),
    });
    let indexed_cases = indexed_cases.map(|(name, (plan, indices))| Case {
        name,
        plan,
        indices,
    });
    Ok(view_cases.into_iter().chain(indexed_cases).collect())
}

/// Returns indices that are scattered over dimensions of these sizes. The indices are the same in every run.
fn scattered(index_count: usize, sizes: &[usize]) -> Vec<i32> {
    let hash = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let sizes = sizes.iter().cycle();
    (0..index_count)
        .zip(sizes)
        .map(|(n, &size)| i32::try_from(hash(n) % size as u64).expect("a small dimension"))
        .collect()
}

fn figures(
    gpu: &Gpu,
    pipeline: &ComputePipeline,
    case: &Case,
    is_bench: bool,
) -> Result<String, Error> {
    let (plan, backend) = (&case.plan, Backend::from(gpu.clone()));
    let (inputs, outputs) = (plan.inputs(), plan.outputs());
    let (input, output) = (&inputs[0], &outputs[0]);
    let source_bytes: Vec<u8> = (0..=250).cycle().take(input.bytes()).collect();
    let mut expected = vec![0; output.bytes()];
    let mut values = vec![Values::from_bytes(input.dtype, &source_bytes)];
    if !case.indices.is_empty() {
        values.push((&case.indices).into());
    }
    plan.run_cpu(
        &values,
        &mut [ValuesMut::from_bytes(output.dtype, &mut expected)],
    )?;
    let dest = vec![0; output.bytes()];
    let dest = Tensor::from_bytes(&backend, dest, output.dtype, &output.shape)?;
    let uploaded_indices: &[i32] = match &case.indices[..] {
        [] => &[0],
        indices => indices,
    };
    let indices = backend.upload((uploaded_indices, &[uploaded_indices.len()]))?;
    let source = Tensor::from_bytes(&backend, source_bytes, input.dtype, &input.shape)?;
    let ([from], [to], [index_buffer]) = (source.buffers()?, dest.buffers()?, indices.buffers()?)
    else {
        return Ok("an array does not fit one buffer of this device".into());
    };
    let plan = &gpu.prepare(plan)?;
    let mut inputs = vec![from.slice(..)];
    if !case.indices.is_empty() {
        inputs.push(index_buffer.slice(..));
    }
    let workload = |encoder: &mut CommandEncoder, repeats: u32| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for _ in 0..repeats {
            gpu.encode(&mut pass, plan, &inputs, &[to.slice(..)])?;
        }
        Ok(())
    };
    // Copies have their own buffers, because the result of a gather can be larger than its source.
    let copy_bytes = output.bytes() as u64 / 16 * 16;
    let [copy_source, copy_dest] = ["the source of copies", "the dest of copies"].map(|label| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: copy_bytes,
            usage: to.usage(),
            mapped_at_creation: false,
        })
    });
    let api_copy = |encoder: &mut CommandEncoder, repeats: u32| {
        for _ in 0..repeats {
            encoder.copy_buffer_to_buffer(&copy_source, 0, &copy_dest, 0, copy_bytes);
        }
        Ok(())
    };
    let bind_group = bind(
        gpu.device(),
        pipeline,
        [&copy_source, &copy_dest],
        copy_bytes,
    );
    let workgroups = u32::try_from(copy_bytes.div_ceil(16 * 256)).expect("a small number");
    let workgroup_rows = workgroups.div_ceil(65_535);
    let kernel_copy = |encoder: &mut CommandEncoder, repeats: u32| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        for _ in 0..repeats {
            pass.dispatch_workgroups(workgroups.div_ceil(workgroup_rows), workgroup_rows, 1);
        }
        Ok(())
    };
    let records: [Record<'_>; 3] = [&workload, &api_copy, &kernel_copy];
    let mut runs = Vec::new();
    for record in records {
        // The first run compiles the kernel.
        run(gpu, record, 1)?;
        let fitting_repeats = MEASURED_TIME.as_nanos() / run(gpu, record, 1)?.as_nanos().max(1);
        let repeats = match is_bench {
            true => u32::try_from(fitting_repeats.clamp(1, 2000)).expect("a small number"),
            false => 1,
        };
        runs.push((record, repeats, Vec::new()));
    }
    for _ in 0..if is_bench { ROUNDS } else { 1 } {
        for (record, repeats, times) in &mut runs {
            let time = run(gpu, *record, *repeats)? / *repeats;
            times.push(time.as_secs_f64());
        }
    }
    assert!(
        dest.bytes()?[..] == expected,
        "{}: not the result of the CPU",
        case.name
    );
    gpu.trim();
    let mut sorted_times = runs.into_iter().map(|(.., mut times)| {
        times.sort_by(f64::total_cmp);
        times
    });
    let [times, api_times, kernel_times] = [(); 3].map(|()| sorted_times.next().expect("three"));
    let (middle, upper_quartile) = (times.len() / 2, times.len() * 3 / 4);
    let time = times[middle];
    Ok(format!(
        "{:8.3} {:7.1} {:7.0} % {:10.0} % {:4.0} %",
        time * 1e3,
        2e-9 * output.bytes() as f64 / time,
        100.0 * api_times[middle] / time,
        100.0 * kernel_times[middle] / time,
        100.0 * (times[upper_quartile] / time - 1.0),
    ))
}

/// Records commands and returns the time from their submission to their completion.
fn run(gpu: &Gpu, record: Record<'_>, repeats: u32) -> Result<Duration, Error> {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    record(&mut encoder, repeats)?;
    let commands = encoder.finish();
    let start = Instant::now();
    gpu.queue().submit([commands]);
    let wait = wgpu::PollType::wait_indefinitely();
    gpu.device().poll(wait).expect("the device");
    Ok(start.elapsed())
}

fn copy_kernel(device: &wgpu::Device) -> ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("copy"),
        source: wgpu::ShaderSource::Wgsl(COPY_SHADER.into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("copy"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    })
}

fn bind(
    device: &wgpu::Device,
    pipeline: &ComputePipeline,
    [from, to]: [&Buffer; 2],
    size: u64,
) -> wgpu::BindGroup {
    let entries = [(0, from), (1, to)].map(|(binding, buffer)| wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: 0,
            size: std::num::NonZero::new(size),
        }),
    });
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}
