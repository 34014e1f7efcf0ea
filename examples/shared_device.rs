//! Slices on the caller's device, for the caller's own shader, in one submission.
//!
//! The program owns the device, the queue, the buffers and the encoder. wgslice records the middle of the work: it
//! copies every second row of a matrix, with the columns reversed, to a buffer that a compute shader of the program
//! then reads.
//!
//! ```sh
//! cargo run --example shared_device
//! ```

mod common;

use wgpu::util::DeviceExt;
use wgslice::{DType, Gpu, Plan, slice};

const ROWS: usize = 6;
const COLUMNS: usize = 5;

/// The program's own shader: subtracts the last column of each row from the first.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> rows: array<f32>;
@group(0) @binding(1) var<storage, read_write> differences: array<f32>;

@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * 5u;
    differences[id.x] = rows[first] - rows[first + 4u];
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The program's device. Its limits are WebGPU's defaults.
    let (device, queue) = common::open()?;

    // The program's buffers.
    let values: Vec<f32> = (0u8..30).map(f32::from).collect();
    let input = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("input"),
        contents: bytemuck::cast_slice(&values),
        usage: wgpu::BufferUsages::STORAGE,
    });
    let buffer = |label, floats: usize, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: 4 * floats as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let sliced = buffer("sliced", ROWS / 2 * COLUMNS, wgpu::BufferUsages::STORAGE);
    let differences = buffer(
        "differences",
        ROWS / 2,
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    );
    let staging = buffer(
        "staging",
        ROWS / 2,
        wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
    );

    // The program's pipeline.
    let pipeline = common::compute_pipeline(&device, "differences", SHADER, &[]);
    let bindings = common::bind(&device, &pipeline, [&sliced, &differences]);

    // wgslice uses the program's device. A program makes the plan and `gpu` once, and uses them many times.
    let gpu = Gpu::new(&device, &queue);
    let plan = Plan::slice(&[ROWS, COLUMNS], &slice![..; 2, ..; -1], DType::F32)?;
    println!("{}", gpu.explain(&plan));

    // One pass contains the slice and the program's shader.
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        gpu.encode(&mut pass, &plan, &[input.slice(..)], &[sliced.slice(..)])?;
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(3, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&differences, 0, &staging, 0, staging.size());
    queue.submit([encoder.finish()]);

    staging.map_async(wgpu::MapMode::Read, .., |mapped| {
        mapped.expect("the copy is mapped");
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let mapped = staging.get_mapped_range(..)?;
    let differences: &[f32] = bytemuck::cast_slice(&mapped);
    println!("last minus first of every second row: {differences:?}");
    assert_eq!(differences, [4.0; 3]);
    Ok(())
}
