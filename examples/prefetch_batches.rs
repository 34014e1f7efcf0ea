//! Crops and flips batches of images on the device while the host decodes later batches.
//!
//! The host writes each batch into the mapped upload memory of a slot of a ring. One submission per batch copies the
//! batch to the device, crops and flips it with wgslice, and runs a shader of the program on the result. When the
//! device is done with a batch, the upload memory of its slot is mapped again. The host waits only for the slot that it
//! needs next. In a ring with a single slot, that is the slot of the previous batch, and nothing overlaps.
//!
//! ```sh
//! cargo run --release --example prefetch_batches
//! ```

mod common;

use std::time::{Duration, Instant};
use wgpu::BufferUsages;
use wgslice::{DType, Gpu, Plan, SliceSpec, gpu::AdapterOptions, slice};

const BATCHES: usize = 48;
const IMAGES: usize = 16;
const HEIGHT: usize = 96;
const WIDTH: usize = 128;
const CROP: usize = 64;
const CHANNELS: usize = 3;

const IMAGE_BYTES: usize = HEIGHT * WIDTH * CHANNELS;
const CROPPED_BYTES: usize = CROP * CROP * CHANNELS;

/// The program's own shader, which replaces a training step. It folds the bytes of each image, in order and four at a
/// time, into a state. Each position in a batch has its own state, which is kept from batch to batch.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> pixels: array<u32>;
@group(0) @binding(1) var<storage, read_write> states: array<u32>;

override WORDS: u32;

@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var state = states[id.x];
    for (var word = 0u; word < WORDS; word++) {
        state = state * 31u + pixels[id.x * WORDS + word];
    }
    states[id.x] = state;
}
";

/// The resources that one batch uses, from decoding to training.
struct Slot {
    /// Upload memory, mapped while the host writes.
    upload: wgpu::Buffer,
    raw: wgpu::Buffer,
    cropped: wgpu::Buffer,
    bindings: wgpu::BindGroup,
    /// The last submission that used this slot. `None` before the first.
    last_submission: Option<wgpu::SubmissionIndex>,
}

/// Returns the bytes of an image. These pseudo-random numbers replace decoding a file.
fn decode(batch: usize, image: usize) -> Vec<u8> {
    let mut state = u32::try_from(batch * IMAGES + image).expect("there are few images");
    let bytes = (0..IMAGE_BYTES).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    bytes.collect()
}

/// Returns the first row and column of a batch's crop, and whether it is flipped.
fn augmentation(batch: usize) -> (usize, usize, bool) {
    (
        batch * 7 % 32,
        1 + batch * 11 % 63,
        !batch.is_multiple_of(3),
    )
}

fn crop_spec(batch: usize) -> SliceSpec {
    let (top, left, is_flipped) = augmentation(batch);
    let rows = top..top + CROP;
    if is_flipped {
        slice![.., rows.start..rows.end, left + CROP - 1..left - 1; -1]
    } else {
        slice![.., rows.start..rows.end, left..left + CROP]
    }
}

/// Computes the states after all batches by plain loops.
fn expected_states() -> Vec<u32> {
    let mut states = vec![0u32; IMAGES];
    for batch in 0..BATCHES {
        let (top, left, is_flipped) = augmentation(batch);
        for (image, state) in states.iter_mut().enumerate() {
            let pixels = decode(batch, image);
            let mut cropped = Vec::with_capacity(CROPPED_BYTES);
            for y in 0..CROP {
                for x in 0..CROP {
                    let x = if is_flipped { CROP - 1 - x } else { x };
                    let first = ((top + y) * WIDTH + left + x) * CHANNELS;
                    cropped.extend_from_slice(&pixels[first..first + CHANNELS]);
                }
            }
            for word in cropped.as_chunks().0 {
                *state = state
                    .wrapping_mul(31)
                    .wrapping_add(u32::from_le_bytes(*word));
            }
        }
    }
    states
}

/// Sends all batches through a ring of `slots` slots. Returns the states, the total time, and the time for which the
/// host waited.
fn train(
    gpu: &Gpu,
    pipeline: &wgpu::ComputePipeline,
    slots: usize,
) -> Result<(Vec<u32>, Duration, Duration), Box<dyn std::error::Error>> {
    let (device, queue) = (gpu.device(), gpu.queue());
    let buffer = |label, bytes: usize, usage, mapped_at_creation| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes as u64,
            usage,
            mapped_at_creation,
        })
    };
    let states = buffer(
        "states",
        4 * IMAGES,
        BufferUsages::STORAGE | BufferUsages::COPY_SRC,
        false,
    );
    let new_slot = || {
        let upload_usage = BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC;
        let raw_usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let cropped = buffer(
            "cropped",
            IMAGES * CROPPED_BYTES,
            BufferUsages::STORAGE,
            false,
        );
        let bindings = common::bind(device, pipeline, [&cropped, &states]);
        Slot {
            upload: buffer("upload", IMAGES * IMAGE_BYTES, upload_usage, true),
            raw: buffer("raw", IMAGES * IMAGE_BYTES, raw_usage, false),
            cropped,
            bindings,
            last_submission: None,
        }
    };
    let mut ring: Vec<Slot> = (0..slots).map(|_| new_slot()).collect();

    let start = Instant::now();
    let mut wait_time = Duration::ZERO;
    for batch in 0..BATCHES {
        let slot = &mut ring[batch % slots];

        // The only wait in this loop. When the slot's last submission is done, the slot's upload memory is mapped
        // again.
        let wait_start = Instant::now();
        if let Some(submission) = slot.last_submission.take() {
            device.poll(wgpu::PollType::Wait {
                submission_index: Some(submission),
                timeout: None,
            })?;
        }
        wait_time += wait_start.elapsed();

        // While the host decodes, the device works on the batches of the other slots.
        let mut mapped = slot.upload.get_mapped_range_mut(..)?;
        for image in 0..IMAGES {
            let bytes = image * IMAGE_BYTES..(image + 1) * IMAGE_BYTES;
            mapped.slice(bytes).copy_from_slice(&decode(batch, image));
        }
        drop(mapped);
        slot.upload.unmap();

        // One submission uploads, crops, flips and trains. Plans are cheap, so every batch can have its own.
        let shape = [IMAGES, HEIGHT, WIDTH, CHANNELS];
        let plan = Plan::slice(&shape, &crop_spec(batch), DType::U8)?;
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&slot.upload, 0, &slot.raw, 0, slot.raw.size());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            gpu.encode(
                &mut pass,
                &plan,
                &[slot.raw.slice(..)],
                &[slot.cropped.slice(..)],
            )?;
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &slot.bindings, &[]);
            pass.dispatch_workgroups(u32::try_from(IMAGES)?, 1, 1);
        }
        slot.last_submission = Some(queue.submit([encoder.finish()]));
        slot.upload.map_async(wgpu::MapMode::Write, .., |mapped| {
            mapped.expect("the upload memory is mapped again");
        });
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let total_time = start.elapsed();

    let staging = buffer(
        "staging",
        4 * IMAGES,
        BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        false,
    );
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&states, 0, &staging, 0, staging.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| {
        mapped.expect("the states are mapped");
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let states = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?);
    Ok((states, total_time, wait_time))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A program with its own device passes it to `Gpu::new`.
    let gpu = Gpu::open(&AdapterOptions::default())?;
    println!("on {gpu}");

    // The program's pipeline.
    let device = gpu.device();
    let constants = [("WORDS", (CROPPED_BYTES / 4) as f64)];
    let pipeline = common::compute_pipeline(device, "train", SHADER, &constants);

    let expected = expected_states();
    // The first run also compiles wgslice's pipelines.
    for slots in [3, 1, 3] {
        let (states, total_time, wait_time) = train(&gpu, &pipeline, slots)?;
        println!(
            "a ring of {slots}: {:.0} batches of {IMAGES} images a second, the host waited {:.0} of \
             {:.0} ms",
            BATCHES as f64 / total_time.as_secs_f64(),
            wait_time.as_secs_f64() * 1e3,
            total_time.as_secs_f64() * 1e3,
        );
        assert_eq!(states, expected, "a ring of {slots}");
    }
    Ok(())
}
