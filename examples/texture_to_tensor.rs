//! Converts a rendered frame to a tensor, and a mask back to a texture, without passing pixels through the CPU.
//!
//! The program renders a triangle to a BGRA texture. In one dispatch, wgslice turns this frame into a cropped RGB
//! tensor of half the width and height, with the channels first, as neural networks expect. One plane of that tensor is
//! then written as a mask to another texture. At the end, plain loops compare the tensor and the mask with the rendered
//! frame.
//!
//! ```sh
//! cargo run --example texture_to_tensor
//! ```

mod common;

use wgslice::{Backend, Gpu, Tensor, gpu::Texels, slice};

// A row of 500 texels has 2,000 bytes, which is not a multiple of 256, so texture copies must pad it.
const WIDTH: u32 = 500;
const HEIGHT: u32 = 301;

/// Draws a triangle whose corners are red, green and blue.
const SHADER: &str = "
struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec3<f32>,
}

@vertex
fn corner(@builtin(vertex_index) number: u32) -> Corner {
    let right = f32(number == 1u);
    let top = f32(number == 2u);
    let position = vec4(right * 1.8 - 0.9, top * 1.8 - 0.9, 0.0, 1.0);
    return Corner(position, vec3(1.0 - right - top, right, top));
}

@fragment
fn colour(corner: Corner) -> @location(0) vec4<f32> {
    return vec4(corner.colour, 1.0);
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The program's device, and wgslice on it.
    let (device, queue) = common::open()?;
    let backend = Backend::from(Gpu::new(&device, &queue));

    let frame = render(&device, &queue);

    // The frame is [height, width, BGRA]. Every second texel from row 1 and column 20 on, as RGB, gives [3, 150, 230].
    let texels = Texels::new(&frame)?
        .slice(&slice![0, 1..;2, 20..480;2, 2..;-1])?
        .transpose(&[2, 0, 1])?;
    let tensor = Tensor::from_texture(&backend, &texels)?;
    println!("{tensor:?}");
    assert_eq!(tensor.shape(), [3, 150, 230]);

    // In a real program, a neural network makes the mask. In this example, the green plane is the mask.
    let mask = tensor.slice(&slice![1])?;

    // The mask is written to the upper left corner of a texture with one channel.
    let overlay = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("mask"),
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        ..texture_descriptor(wgpu::TextureFormat::R8Unorm)
    });
    let corner_texels = Texels::new(&overlay)?.slice(&slice![0, ..150, ..230, 0])?;
    mask.write_texture(&corner_texels)?;

    let rendered = common::read_texture(&device, &queue, &frame)?;
    let masked = common::read_texture(&device, &queue, &overlay)?;
    let values = tensor.to_vec::<u8>()?;
    let mut lit_count = 0;
    for row in 0..150 {
        for column in 0..230 {
            let texel = (1 + row * 2) * WIDTH as usize + 20 + column * 2;
            let [blue, green, red] = [0, 1, 2].map(|channel| rendered[texel * 4 + channel]);
            let place = row * 230 + column;
            let converted = [0, 1, 2].map(|plane| values[plane * 150 * 230 + place]);
            assert_eq!(converted, [red, green, blue], "row {row}, column {column}");
            assert_eq!(masked[row * WIDTH as usize + column], green);
            lit_count += usize::from(green > 0);
        }
    }
    assert!(lit_count > 5000, "the triangle is in the picture");
    println!("tensor and mask match the frame; the mask covers {lit_count} texels");
    Ok(())
}

fn texture_descriptor(format: wgpu::TextureFormat) -> wgpu::TextureDescriptor<'static> {
    wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width: WIDTH,
            height: HEIGHT,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::empty(),
        view_formats: &[],
    }
}

/// Renders the triangle to a new texture.
fn render(device: &wgpu::Device, queue: &wgpu::Queue) -> wgpu::Texture {
    let format = wgpu::TextureFormat::Bgra8Unorm;
    let frame = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("frame"),
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        ..texture_descriptor(format)
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("triangle"),
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("triangle"),
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("corner"),
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("colour"),
            compilation_options: Default::default(),
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let view = frame.create_view(&Default::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: Default::default(),
            })],
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        pass.draw(0..3, 0..1);
    }
    queue.submit([encoder.finish()]);
    frame
}
