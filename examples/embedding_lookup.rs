//! Looks up embeddings within the caller's submission: token ids in, a vector per sentence out.
//!
//! The table stays on the device. Each step writes the ids of a few sentences. It records the gather of their rows and
//! a shader of the program that averages the rows, and submits both together. Ids outside the table give rows of zeros.
//! The report of such ids is read later, while the device continues to work.
//!
//! ```sh
//! cargo run --example embedding_lookup
//! ```

mod common;

use std::collections::VecDeque;
use wgpu::{BufferUsages, util::DeviceExt};
use wgslice::{DType, Gpu, Plan, Report, gpu::AdapterOptions, options::GatherNdOptions};

const VOCABULARY: usize = 5000;
const DIM: usize = 48;
const SENTENCES: usize = 24;
const TOKENS: usize = 16;
const STEPS: usize = 20;

/// The position of the only id outside the vocabulary: the step, the sentence, and the position in the sentence.
const BAD_POSITION: (usize, usize, usize) = (5, 7, 3);
const BAD_ID: i32 = 70_000;

/// The program's own shader, which computes the mean of each sentence's rows.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> rows: array<f32>;
@group(0) @binding(1) var<storage, read_write> means: array<f32>;

override TOKENS: u32;
override DIM: u32;

@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0.0;
    for (var token = 0u; token < TOKENS; token++) {
        sum += rows[(id.y * TOKENS + token) * DIM + id.x];
    }
    means[id.y * DIM + id.x] = sum * (1.0 / f32(TOKENS));
}
";

/// Returns a value of the table. All values are small multiples of 1/4, and a sentence has 16 tokens, so the means are
/// exact in any order of summation.
fn embedding(id: usize, column: usize) -> f32 {
    f32::from(u16::try_from(id * 31 % 509 + column).expect("a small number")) * 0.25 - 60.0
}

/// Returns the id at a position of a sentence. A real program would call a tokenizer here.
fn token_id(step: usize, sentence: usize, position: usize) -> i32 {
    if (step, sentence, position) == BAD_POSITION {
        return BAD_ID;
    }
    let id = (step * 7919 + sentence * 613 + position * position * 101) % VOCABULARY;
    i32::try_from(id).expect("an id is small")
}

/// Computes the means of a step by plain loops.
fn expected_means(step: usize) -> Vec<f32> {
    let mut means = Vec::new();
    for sentence in 0..SENTENCES {
        for column in 0..DIM {
            let mut sum = 0.0;
            for position in 0..TOKENS {
                // Out-of-range ids count as zeros.
                let id = usize::try_from(token_id(step, sentence, position));
                if let Some(id) = id.ok().filter(|&id| id < VOCABULARY) {
                    sum += embedding(id, column);
                }
            }
            means.push(sum / TOKENS as f32);
        }
    }
    means
}

fn check_report(step: usize, report: &Report) {
    let (bad_step, sentence, position) = BAD_POSITION;
    match &report.first {
        None => assert_ne!(step, bad_step),
        Some(first) => {
            println!(
                "step {step}: {} id is not in the table: {first}",
                report.out_of_range
            );
            assert_eq!((step, report.out_of_range), (bad_step, 1));
            assert_eq!(first.position, [sentence, position]);
            assert_eq!(first.index, [i64::from(BAD_ID)]);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A program with its own device passes it to `Gpu::new`.
    let gpu = Gpu::open(&AdapterOptions::default())?;
    let (device, queue) = (gpu.device(), gpu.queue());
    println!("on {gpu}");

    // The program's buffers.
    let values: Vec<f32> = (0..VOCABULARY)
        .flat_map(|id| (0..DIM).map(move |column| embedding(id, column)))
        .collect();
    let filled_buffer = |label, contents: &[u8], usage| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some(label),
            contents,
            usage,
        })
    };
    let table = filled_buffer(
        "table",
        bytemuck::cast_slice(&values),
        BufferUsages::STORAGE,
    );
    let buffer = |label, floats: usize, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: 4 * floats as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let rows = buffer("rows", SENTENCES * TOKENS * DIM, BufferUsages::STORAGE);
    let means = buffer(
        "means",
        SENTENCES * DIM,
        BufferUsages::STORAGE | BufferUsages::COPY_SRC,
    );
    let staging = buffer(
        "staging",
        STEPS * SENTENCES * DIM,
        BufferUsages::COPY_DST | BufferUsages::MAP_READ,
    );

    // The program's pipeline.
    let constants = [("TOKENS", TOKENS as f64), ("DIM", DIM as f64)];
    let pipeline = common::compute_pipeline(device, "means", SHADER, &constants);
    let bindings = common::bind(device, &pipeline, [&rows, &means]);

    // A token has one index, so tuples have length 1.
    let ids_shape = [SENTENCES, TOKENS, 1];
    let plan = Plan::gather_nd(
        &[VOCABULARY, DIM],
        &ids_shape,
        GatherNdOptions::default(),
        DType::F32,
    )?;
    println!("{}", gpu.explain(&plan));

    let mut pending = VecDeque::new();
    let mut polled_count = 0;
    for step in 0..STEPS {
        let ids: Vec<i32> = (0..SENTENCES)
            .flat_map(|sentence| {
                (0..TOKENS).map(move |position| token_id(step, sentence, position))
            })
            .collect();
        // Each step has its own buffer, because the report can later read a bad id from the buffer.
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let ids = filled_buffer("ids", bytemuck::cast_slice(&ids), usage);

        let mut encoder = device.create_command_encoder(&Default::default());
        let tuples = ids.slice(..);
        let (params, dest) = (table.slice(..), rows.slice(..));
        let report = gpu.encode(&mut encoder, &plan, &[params, tuples], &[dest])?;
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &bindings, &[]);
            pass.dispatch_workgroups(u32::try_from(DIM)?, u32::try_from(SENTENCES)?, 1);
        }
        let staging_offset = step as u64 * means.size();
        encoder.copy_buffer_to_buffer(&means, 0, &staging, staging_offset, means.size());
        queue.submit([encoder.finish()]);
        pending.push_back((step, report));

        // Reads the reports that have arrived, and leaves the others for later steps.
        while let Some((step, report)) = pending.front() {
            let Some(report) = report.poll()? else { break };
            check_report(*step, &report);
            pending.pop_front();
            polled_count += 1;
        }
    }
    println!("{polled_count} of {STEPS} reports came while there was other work to do");
    // The program has no other work, so it waits for the remaining reports.
    for (step, report) in pending {
        check_report(step, &report.wait()?);
    }

    staging.map_async(wgpu::MapMode::Read, .., |mapped| {
        mapped.expect("the means are mapped");
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let mapped = staging.get_mapped_range(..)?;
    let all_means: &[f32] = bytemuck::cast_slice(&mapped);
    for (step, means) in all_means.chunks_exact(SENTENCES * DIM).enumerate() {
        assert_eq!(means, expected_means(step), "step {step}");
    }
    println!("the means of {STEPS} × {SENTENCES} sentences are right");
    Ok(())
}
