//! A program that prepares images for a neural network: it crops each of 64 images at a random position, flips half of
//! them, puts the channels first, and converts the bytes to normalised floats.
//!
//! wgslice does all of it in one dispatch, with a crop that converts. For comparison, the program times a crop by
//! wgslice followed by its own normalising shader, one shader of its own that does everything, single steps of the
//! work, a slice for each image, and a plain loop. It compares the results with the loop's. `README.md` describes how
//! to run it.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sizes and positions are small"
)]

use std::{
    borrow::Cow,
    error::Error,
    time::{Duration, Instant},
};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages,
    CommandEncoderDescriptor, ComputePass, ComputePassDescriptor, ComputePipeline,
    ComputePipelineDescriptor, Device, DeviceDescriptor, Instance, InstanceDescriptor, MapMode,
    PipelineCompilationOptions, PollType, Queue, RequestAdapterOptions, ShaderModuleDescriptor,
    ShaderSource,
    util::{BufferInitDescriptor, DeviceExt},
};
use wgslice::{
    Backend, Conversion, DType, Gpu, Plan, Tensor, View,
    options::{Boxes, CropOptions, OutOfRange},
    slice,
};

/// The number of images, their height and width in pixels, their channels, and the height and width of a crop.
const N: usize = 64;
const H: usize = 256;
const W: usize = 256;
const C: usize = 3;
const S: usize = 224;

/// The mean and the standard deviation of each channel.
const MEAN: [f32; C] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; C] = [0.229, 0.224, 0.225];

/// Normalises bytes with the channels first. A plane has a multiple of 4 bytes, so all bytes of a word belong to one
/// channel.
const NORM: &str = "
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
const MEAN = array<f32,3>(0.485, 0.456, 0.406);
const STD = array<f32,3>(0.229, 0.224, 0.225);
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 64u;
    if (i >= arrayLength(&src)) { return; }
    let c = (i / 12544u) % 3u;
    var m = MEAN; var s = STD;
    dst[i] = (unpack4x8unorm(src[i]) - m[c]) / s[c];
}";

/// Reads bytes with the channels last, and writes floats with the channels first.
const NORM_NHWC: &str = "
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
const MEAN = array<f32,3>(0.485, 0.456, 0.406);
const STD = array<f32,3>(0.229, 0.224, 0.225);
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 64u;
    if (i >= arrayLength(&dst)) { return; }
    let p = i % 50176u; let c = (i / 50176u) % 3u; let b = i / 150528u;
    let at = (b * 50176u + p) * 3u + c;
    let v = f32((src[at / 4u] >> (8u * (at % 4u))) & 255u) / 255.0;
    var m = MEAN; var s = STD;
    dst[i] = (v - m[c]) / s[c];
}";

/// Crops, flips and normalises in one shader, as a program without wgslice would.
const FUSED: &str = "
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<storage, read> boxes: array<array<i32, 6>>;
const MEAN = array<f32,3>(0.485, 0.456, 0.406);
const STD = array<f32,3>(0.229, 0.224, 0.225);
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 64u;
    if (i >= arrayLength(&dst)) { return; }
    let x = i % 224u; let y = (i / 224u) % 224u; let c = (i / 50176u) % 3u; let b = i / 150528u;
    let sx = u32(boxes[b][2]) + select(x, 223u - x, boxes[b][5] != 0);
    let sy = u32(boxes[b][1]) + y;
    let at = ((b * 256u + sy) * 256u + sx) * 3u + c;
    let v = f32((src[at / 4u] >> (8u * (at % 4u))) & 255u) / 255.0;
    var m = MEAN; var s = STD;
    dst[i] = (v - m[c]) / s[c];
}";

/// The program's own device.
struct OwnDevice {
    device: Device,
    queue: Queue,
}

impl OwnDevice {
    fn buffer(&self, label: &str, size: usize, usage: BufferUsages) -> Buffer {
        self.device.create_buffer(&BufferDescriptor {
            label: Some(label),
            size: size as u64,
            usage,
            mapped_at_creation: false,
        })
    }

    fn filled_buffer(&self, label: &str, contents: &[u8], usage: BufferUsages) -> Buffer {
        self.device.create_buffer_init(&BufferInitDescriptor {
            label: Some(label),
            contents,
            usage,
        })
    }

    fn shader(&self, text: &str, buffers: &[&Buffer], invocations: usize) -> Shader {
        let module = self.device.create_shader_module(ShaderModuleDescriptor {
            label: None,
            source: ShaderSource::Wgsl(Cow::Borrowed(text)),
        });
        let pipeline = self
            .device
            .create_compute_pipeline(&ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: None,
                compilation_options: PipelineCompilationOptions::default(),
                cache: None,
            });
        let numbered_buffers = (0..).zip(buffers);
        let entries: Vec<_> = numbered_buffers
            .map(|(binding, buffer)| BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = self.device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Shader {
            pipeline,
            group,
            workgroup_count: invocations.div_ceil(64) as u32,
        }
    }

    /// Records a compute pass, runs it and waits. Returns the total time, and the time of recording.
    fn pass(
        &self,
        record: impl FnOnce(&mut ComputePass<'_>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(Duration, Duration), Box<dyn Error>> {
        let start = Instant::now();
        let mut encoder = self
            .device
            .create_command_encoder(&CommandEncoderDescriptor::default());
        record(&mut encoder.begin_compute_pass(&ComputePassDescriptor::default()))?;
        let recording = start.elapsed();
        self.queue.submit([encoder.finish()]);
        self.device.poll(PollType::wait_indefinitely())?;
        Ok((start.elapsed(), recording))
    }
}

/// One of the program's shaders with its buffers.
struct Shader {
    pipeline: ComputePipeline,
    group: BindGroup,
    workgroup_count: u32,
}

impl Shader {
    fn dispatch(&self, pass: &mut ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(
            self.workgroup_count.min(1024),
            self.workgroup_count.div_ceil(1024),
            1,
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor::default()))?;
    println!("{}", adapter.get_info().name);
    let own = OwnDevice { device, queue };

    let mut state = 7u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) % below
    };
    let images: Vec<u8> = (0..N * H * W * C).map(|_| random(256) as u8).collect();
    let storage = BufferUsages::STORAGE;
    let result_usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let bytes = N * C * S * S;
    let src = own.filled_buffer("images", &images, storage);
    let chw = own.buffer("chw u8", bytes, storage);
    let hwc = own.buffer("hwc u8", bytes, storage);
    let out = own.buffer("out f32", bytes * 4, result_usage);
    let out_converted = own.buffer("out f32 converted", bytes * 4, result_usage);
    let out_fused = own.buffer("out f32 fused", bytes * 4, result_usage);
    let out_hwc = own.buffer("out f32 nhwc", bytes * 4, result_usage);

    // Each box has 6 numbers: the channel, the row and the column at which it starts, and whether it is flipped along
    // each of these dimensions.
    let mut boxes: Vec<i32> = vec![];
    for _ in 0..N {
        let [row, column] = [H, W].map(|size| random((size - S + 1) as u32) as i32);
        boxes.extend([0, row, column, 0, 0, random(2) as i32]);
    }
    let buffer_of_entries = |label, entries: &[usize]| {
        let choose = |box_numbers: &[i32]| {
            entries
                .iter()
                .map(|&entry| box_numbers[entry])
                .collect::<Vec<_>>()
        };
        let chosen: Vec<i32> = boxes.chunks(6).flat_map(choose).collect();
        own.filled_buffer(label, bytemuck::cast_slice(&chosen), result_usage)
    };
    let boxes_chw = buffer_of_entries("boxes", &[0, 1, 2, 3, 4, 5]);
    let boxes_hwc = buffer_of_entries("boxes2", &[1, 2, 4, 5]);
    let boxes_plain = buffer_of_entries("boxes3", &[1, 2]);

    let gpu = Gpu::new(&own.device, &own.queue);
    let to_chw_crop = CropOptions {
        sizes: vec![C, S, S],
        out_of_range: OutOfRange::Clamp,
        ..CropOptions::default()
    };
    let flip_boxes = |dims: usize| Boxes::of_tuples(&[N, 2 * dims], false, true);
    let planes = View::new(&[N, H, W, C])?.transpose(&[0, 3, 1, 2])?;
    let plan = Plan::crop(planes, flip_boxes(3), &to_chw_crop, DType::U8)?;
    println!("{plan}\n{}", gpu.explain(&plan));
    assert_eq!(plan.shape(), [N, C, S, S]);
    let start = Instant::now();
    let crop_chw = gpu.prepare(&plan)?;
    println!("prepare {:?}", start.elapsed());

    let normalised = |c: usize, x: f32| (x / 255.0 - MEAN[c]) / DEVIATION[c];
    let normalised = Conversion::table(DType::U8, DType::F32, -1, C, normalised)?;
    let converted_crop = plan.converted(&normalised)?;
    println!("{}", gpu.explain(&converted_crop));
    let converted_crop = gpu.prepare(&converted_crop)?;

    let hwc_crop = CropOptions {
        sizes: vec![S, S],
        ..to_chw_crop.clone()
    };
    let plan = Plan::crop(&[N, H, W, C], flip_boxes(2), &hwc_crop, DType::U8)?;
    println!("{}", gpu.explain(&plan));
    let crop_hwc = gpu.prepare(&plan)?;
    let unflipped_crop_plan = Plan::crop(&[N, H, W, C], Boxes::new(&[N, 2]), &hwc_crop, DType::U8)?;
    println!("{}", gpu.explain(&unflipped_crop_plan));
    let to_chw = View::new(&[N, S, S, C])?.transpose(&[0, 3, 1, 2])?;
    let to_chw = Plan::contiguous(to_chw, DType::U8)?;
    println!("{}", gpu.explain(&to_chw));
    let norm = own.shader(NORM, &[&chw, &out], bytes / 4);
    let norm_hwc = own.shader(NORM_NHWC, &[&hwc, &out_hwc], bytes);
    let fused = own.shader(FUSED, &[&src, &out_fused, &boxes_chw], bytes);

    let mut times = [vec![], vec![]];
    for _ in 0..12 {
        let (time, _) = own.pass(|pass| {
            let indices = boxes_chw.slice(..);
            gpu.encode(
                pass,
                &converted_crop,
                &[src.slice(..), indices],
                &[out_converted.slice(..)],
            )?;
            Ok(())
        })?;
        times[0].push(time);
        let (time, _) = own.pass(|pass| {
            fused.dispatch(pass);
            Ok(())
        })?;
        times[1].push(time);
    }
    // The first pass of each kind is a warm-up, so its time is removed.
    let [converted_time, by_hand_time] = times.map(|mut times| {
        times.remove(0);
        times.sort();
        times[times.len() / 2]
    });
    println!(
        "medians of alternating measurements: one dispatch of wgslice {converted_time:?}, hand-fused {by_hand_time:?}"
    );

    for round in 0..4 {
        let mut report = None;
        let (crop_and_norm, recording) = own.pass(|pass| {
            let indices = boxes_chw.slice(..);
            let (src, chw) = (src.slice(..), chw.slice(..));
            report = Some(gpu.encode(pass, &crop_chw, &[src, indices], &[chw])?);
            norm.dispatch(pass);
            Ok(())
        })?;
        let (by_hand_time, _) = own.pass(|pass| {
            fused.dispatch(pass);
            Ok(())
        })?;
        let (plain_crop, _) = own.pass(|pass| {
            let indices = boxes_plain.slice(..);
            gpu.encode(
                pass,
                &unflipped_crop_plan,
                &[src.slice(..), indices],
                &[hwc.slice(..)],
            )?;
            Ok(())
        })?;
        let (flipped_crop, _) = own.pass(|pass| {
            let indices = boxes_hwc.slice(..);
            gpu.encode(pass, &crop_hwc, &[src.slice(..), indices], &[hwc.slice(..)])?;
            Ok(())
        })?;
        let (norm_time, _) = own.pass(|pass| {
            norm_hwc.dispatch(pass);
            Ok(())
        })?;
        let (transpose_time, _) = own.pass(|pass| {
            gpu.encode(pass, &to_chw, &[hwc.slice(..)], &[chw.slice(..)])?;
            Ok(())
        })?;
        let (crop_alone, _) = own.pass(|pass| {
            let indices = boxes_chw.slice(..);
            gpu.encode(pass, &crop_chw, &[src.slice(..), indices], &[chw.slice(..)])?;
            Ok(())
        })?;
        println!(
            "   HWC crop without flips {plain_crop:?}, with flips {flipped_crop:?}, CHW crop with flips \
             {crop_alone:?}, my norm + CHW {norm_time:?}, transpose to CHW by wgslice {transpose_time:?}"
        );
        for is_chw in [false, true] {
            let (time, recording) = own.pass(|pass| {
                for (n, box_numbers) in boxes.chunks(6).enumerate() {
                    let view = View::new(&[N, H, W, C])?.slice(&one_crop(n, box_numbers))?;
                    let view = match is_chw {
                        true => view.transpose(&[2, 0, 1])?,
                        false => view,
                    };
                    assert_eq!(view.len(), S * S * C, "{box_numbers:?} {:?}", view.shape());
                    let image = (S * S * C) as u64;
                    let dest = chw.slice(n as u64 * image..(n as u64 + 1) * image);
                    gpu.encode(
                        pass,
                        &Plan::contiguous(&view, DType::U8)?,
                        &[src.slice(..)],
                        &[dest],
                    )?;
                }
                // In the last round the slices are normalised, so that the check at the end tests their results.
                if is_chw && round == 3 {
                    norm.dispatch(pass);
                }
                Ok(())
            })?;
            println!("   64 slices instead, CHW {is_chw}: {time:?} (recording {recording:?})");
        }
        let out_of_range = match &report {
            Some(report) => report.wait()?.out_of_range,
            None => 0,
        };
        println!(
            "round {round}: wgslice crop + my norm {crop_and_norm:?} (recording {recording:?}), hand-fused \
             {by_hand_time:?}; report {out_of_range:?}"
        );
    }

    let start = Instant::now();
    let expected = plain_loop(&images, &boxes);
    println!("naive CPU loop, 1 thread {:?}", start.elapsed());
    for threads in [1, 2] {
        // This backend reuses the memory of its results.
        let cpu = Backend::cpu().with_threads(threads);
        let source = cpu.upload((&images, &[N, H, W, C]))?;
        let indices = cpu.upload((&boxes, &[N, 6]))?;
        let mut fastest = Duration::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            let (floats, _) = Tensor::run(&converted_crop, &[&source, &indices])?;
            fastest = fastest.min(start.elapsed());
            assert!(
                floats[0].to_vec::<f32>()? == expected,
                "other bits than the loop"
            );
        }
        println!("one call of wgslice on the CPU, threads {threads}: {fastest:?}");
    }
    assert!(
        worst_difference(&own, &out_converted, &expected)? == 0.0,
        "other bits than the loop"
    );
    for buffer in [&out, &out_fused, &out_hwc] {
        let worst = worst_difference(&own, buffer, &expected)?;
        println!("worst difference {worst:e}");
        assert!(worst < 1e-5);
    }
    Ok(())
}

/// Returns the slice that crops image `n` by the numbers of its box, and flips the image if the box is flipped.
fn one_crop(n: usize, box_numbers: &[i32]) -> wgslice::SliceSpec {
    let (n, row, column, size) = (
        n as i64,
        i64::from(box_numbers[1]),
        i64::from(box_numbers[2]),
        S as i64,
    );
    if box_numbers[5] == 0 {
        return slice![n, row..row + size, column..column + size];
    }
    // A reversed range down to column 0 would end at -1, which would mean the last column.
    let end = column - 1 - if column == 0 { W as i64 } else { 0 };
    slice![n, row..row + size, column + size - 1..end; -1]
}

fn plain_loop(images: &[u8], boxes: &[i32]) -> Vec<f32> {
    let mut expected = vec![0f32; N * C * S * S];
    let mut i = 0;
    for (n, box_numbers) in boxes.chunks(6).enumerate() {
        let (row, column) = (box_numbers[1] as usize, box_numbers[2] as usize);
        for c in 0..C {
            for y in 0..S {
                for x in 0..S {
                    let x = column + if box_numbers[5] != 0 { S - 1 - x } else { x };
                    let byte = images[((n * H + row + y) * W + x) * C + c];
                    expected[i] = (f32::from(byte) / 255.0 - MEAN[c]) / DEVIATION[c];
                    i += 1;
                }
            }
        }
    }
    expected
}

fn worst_difference(
    own: &OwnDevice,
    buffer: &Buffer,
    expected: &[f32],
) -> Result<f32, Box<dyn Error>> {
    let usage = BufferUsages::COPY_DST | BufferUsages::MAP_READ;
    let size = usize::try_from(buffer.size())?;
    let staging = own.buffer("staging", size, usage);
    let mut encoder = own
        .device
        .create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, staging.size());
    own.queue.submit([encoder.finish()]);
    staging.map_async(MapMode::Read, .., |mapped| mapped.expect("mapped"));
    own.device.poll(PollType::wait_indefinitely())?;
    let mapped = staging.get_mapped_range(..)?;
    let actual: &[f32] = bytemuck::cast_slice(&mapped);
    let differences = actual.iter().zip(expected).map(|(a, b)| (a - b).abs());
    Ok(differences.fold(0f32, f32::max))
}
