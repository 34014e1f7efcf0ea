//! A viewer of a volume of 512 × 512 × 512 voxels. Each frame shows a plane at a position along one axis, flipped or
//! not, and the program's own shader draws it.
//!
//! The plane comes from a texture, from a tensor by a call, or from a tensor by a recorded plan. For each of these ways
//! and each axis, the program prints the times of a frame and of its recording, and compares the last frame with the
//! voxels' formula. `README.md` describes how to run the program.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "voxels are cut to 16 bits and colours to 8, and positions are small"
)]

use std::{
    error::Error,
    fs::File,
    io::BufWriter,
    time::{Duration, Instant},
};
use wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindingResource, BufferDescriptor, BufferUsages,
    ColorTargetState, CommandEncoder, Device, Extent3d, FragmentState, Instance,
    InstanceDescriptor, Operations, PollType, PrimitiveState, RenderPassColorAttachment,
    RenderPassDescriptor, RenderPipelineDescriptor, RequestAdapterOptions, ShaderModuleDescriptor,
    ShaderSource, TexelCopyBufferLayout, Texture, TextureDescriptor, TextureDimension,
    TextureFormat, TextureUsages, TextureViewDescriptor, VertexState,
};
use wgslice::{Backend, DType, Gpu, Plan, SliceSpec, Tensor, gpu::Texels, slice};

/// The number of voxels along each axis.
const N: u32 = 512;

const SHOW: &str = "
@group(0) @binding(0) var plane: texture_2d<u32>;
@vertex fn v(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}
@fragment fn f(@builtin(position) p: vec4<f32>) -> @location(0) vec4<f32> {
    let v = f32(textureLoad(plane, vec2<i32>(p.xy), 0).x) / 65535.0;
    return vec4(v, v, v, 1.0);
}";

fn voxel(x: usize, y: usize, z: usize) -> u16 {
    let (a, b, c) = (x as i32 - 200, y as i32 - 256, z as i32 - 300);
    ((a * a + 2 * b * b + 3 * c * c) / 9) as u16
}

/// The ways to copy a plane from the volume to the texture that is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Texture,
    Queue,
    Plan,
}

impl Way {
    const ALL: [(Self, &str); 3] = [
        (Self::Texture, "texture, encode_from_texture"),
        (Self::Queue, "tensor, write_texture (queue)"),
        (Self::Plan, "tensor, plan.encode + encode_to_texture"),
    ];
}

/// A plane: its axis (0 for z, 1 for y, 2 for x), its position, and whether it is flipped vertically and horizontally.
#[derive(Clone, Copy)]
struct Plane {
    axis: usize,
    at: usize,
    is_flipped_vertically: bool,
    is_flipped_horizontally: bool,
}

impl Plane {
    /// Returns the plane as a slice of voxels of shape `[z, y, x]`.
    fn spec(self) -> SliceSpec {
        let step = |flipped| if flipped { -1 } else { 1 };
        let (v, h) = (
            step(self.is_flipped_vertically),
            step(self.is_flipped_horizontally),
        );
        let at = self.at as i64;
        match self.axis {
            0 => slice![at, ..; v, ..; h],
            1 => slice![..; v, at, ..; h],
            _ => slice![..; v, ..; h, at],
        }
    }

    /// Returns the voxel at a row and a column of the plane.
    fn voxel(self, row: usize, column: usize) -> u16 {
        let position = |at: usize, flipped| if flipped { N as usize - 1 - at } else { at };
        let (row, column) = (
            position(row, self.is_flipped_vertically),
            position(column, self.is_flipped_horizontally),
        );
        match self.axis {
            0 => voxel(column, row, self.at),
            1 => voxel(column, self.at, row),
            _ => voxel(self.at, column, row),
        }
    }
}

fn texture(
    device: &Device,
    label: &str,
    depth: u32,
    format: TextureFormat,
    usage: TextureUsages,
) -> Texture {
    device.create_texture(&TextureDescriptor {
        label: Some(label),
        size: Extent3d {
            width: N,
            height: N,
            depth_or_array_layers: depth,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: match depth {
            1 => TextureDimension::D2,
            _ => TextureDimension::D3,
        },
        format,
        usage,
        view_formats: &[],
    })
}

/// Returns the minimum and the median of the times.
fn min_and_median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[0], times[times.len() / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&RequestAdapterOptions::default()))?;
    let (device, queue) =
        pollster::block_on(adapter.request_device(&Gpu::device_descriptor(&adapter)))?;
    let gpu = Gpu::new(&device, &queue);
    let backend = Backend::from(gpu.clone());
    let n = N as usize;
    let mut voxels = Vec::with_capacity(n * n * n);
    for z in 0..n {
        for y in 0..n {
            voxels.extend((0..n).map(|x| voxel(x, y, z)));
        }
    }

    let sampled = TextureUsages::COPY_DST | TextureUsages::TEXTURE_BINDING;
    let volume = texture(
        &device,
        "volume",
        N,
        TextureFormat::R16Uint,
        sampled | TextureUsages::COPY_SRC,
    );
    queue.write_texture(
        volume.as_image_copy(),
        bytemuck::cast_slice(&voxels),
        TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(N * 2),
            rows_per_image: Some(N),
        },
        volume.size(),
    );
    queue.submit([]);
    device.poll(PollType::wait_indefinitely())?;
    let tensor = backend.upload((&voxels, &[n, n, n]))?;
    println!("tensor in {} buffers", tensor.buffers()?.len());
    let plane = texture(&device, "plane", 1, TextureFormat::R16Uint, sampled);
    let target = texture(
        &device,
        "target",
        1,
        TextureFormat::Rgba8Unorm,
        TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
    );
    let draw = prepare_drawing(&device, &plane, &target);
    let plane_buffer = device.create_buffer(&BufferDescriptor {
        label: None,
        size: (n * n * 2) as u64,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });

    let plane_texels = Texels::new(&plane)?.slice(&slice![0, .., .., 0])?;
    for (axis, name) in ["z", "y", "x"].iter().enumerate() {
        for (way, way_name) in Way::ALL {
            let mut frame_times = vec![];
            let mut recording_times = vec![];
            let frame_count = if way == Way::Texture && axis > 0 {
                10
            } else {
                24
            };
            let frame = |number: usize| Plane {
                axis,
                at: number * 20,
                is_flipped_vertically: number % 2 == 1,
                is_flipped_horizontally: number % 3 == 1,
            };
            for number in 0..frame_count {
                let spec = frame(number).spec();
                let start = Instant::now();
                let mut encoder = device.create_command_encoder(&Default::default());
                match way {
                    Way::Texture => {
                        // Texels have the shape [z, y, x, channels].
                        let voxels = Texels::new(&volume)?.slice(&slice![.., .., .., 0])?;
                        let texels = voxels.slice(&spec)?;
                        gpu.encode_from_texture(&mut encoder, &texels, plane_buffer.slice(..))?;
                        gpu.encode_to_texture(&mut encoder, plane_buffer.slice(..), &plane_texels)?;
                    }
                    Way::Queue => tensor.slice(&spec)?.write_texture(&plane_texels)?,
                    Way::Plan => {
                        let plan = Plan::slice(&[n, n, n], &spec, DType::U16)?;
                        let source = tensor.buffers()?[0].slice(..);
                        gpu.encode(&mut encoder, &plan, &[source], &[plane_buffer.slice(..)])?;
                        gpu.encode_to_texture(&mut encoder, plane_buffer.slice(..), &plane_texels)?;
                    }
                }
                draw(&mut encoder);
                recording_times.push(start.elapsed());
                queue.submit([encoder.finish()]);
                device.poll(PollType::wait_indefinitely())?;
                frame_times.push(start.elapsed());
            }
            check(&backend, &target, frame(frame_count - 1), name)?;
            let memory = device.get_internal_counters().hal.buffer_memory.read() >> 20;
            println!(
                "along {name}, {way_name}: frame min/median {:.2?}, recording {:.2?}, first {:.2?}; \
                 buffer memory {memory} MB",
                min_and_median(frame_times.clone()),
                min_and_median(recording_times),
                frame_times[0],
            );
        }
    }
    Ok(())
}

/// Returns a function that records commands to draw `plane` to `target`.
fn prepare_drawing(
    device: &Device,
    plane: &Texture,
    target: &Texture,
) -> impl Fn(&mut CommandEncoder) {
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: None,
        source: ShaderSource::Wgsl(SHOW.into()),
    });
    let colours: &[Option<ColorTargetState>] = &[Some(TextureFormat::Rgba8Unorm.into())];
    let pipeline = device.create_render_pipeline(&RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: VertexState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: PrimitiveState::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(FragmentState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            targets: colours,
        }),
        multiview_mask: None,
        cache: None,
    });
    let group = device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[BindGroupEntry {
            binding: 0,
            resource: BindingResource::TextureView(
                &plane.create_view(&TextureViewDescriptor::default()),
            ),
        }],
    });
    let view = target.create_view(&TextureViewDescriptor::default());
    move |encoder| {
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: Operations::default(),
            })],
            ..RenderPassDescriptor::default()
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Compares the drawing with the voxels, and saves it as a picture.
fn check(
    backend: &Backend,
    target: &Texture,
    plane: Plane,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    let n = N as usize;
    let pixels = Tensor::from_texture(backend, &Texels::new(target)?)?.to_vec::<u8>()?;
    for row in 0..n {
        for column in 0..n {
            let value = f32::from(plane.voxel(row, column));
            let expected = (value / 65535.0 * 255.0).round() as i32;
            let actual = i32::from(pixels[(row * n + column) * 4]);
            let axis = plane.axis;
            assert!(
                (expected - actual).abs() <= 1,
                "{axis} {row} {column}: {expected} {actual}"
            );
        }
    }
    let file = BufWriter::new(File::create(format!("plane_{name}.png"))?);
    let mut encoder = png::Encoder::new(file, N, N);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}
