//! Converts a video frame in NV12, as decoders return it, to planes of luma and chroma, without the CPU.
//!
//! Instead of this: a shader that samples both planes of the frame and writes bytes, four in a word. Or a readback, and
//! a loop that separates the pairs of chroma.
//!
//! Write this: wgpu copies each plane of the frame to a texture with the plane's format. A selection of texels then
//! separates the two channels of chroma into two planes.
//!
//! ```sh
//! cargo run --example nv12_planes
//! ```

mod common;

use wgpu::{Features, TextureAspect, TextureFormat};
use wgslice::{
    Backend, Gpu, Tensor,
    gpu::{AdapterOptions, Texels},
    slice,
};

const WIDTH: u32 = 70;
const HEIGHT: u32 = 46;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A decoder needs only the first feature. With the second, this program can write a frame itself.
    let features =
        Features::TEXTURE_FORMAT_NV12 | Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES;
    let candidates = pollster::block_on(AdapterOptions::default().adapters())?;
    let fitting = candidates
        .iter()
        .filter(|candidate| candidate.refused.is_none());
    let mut adapters = fitting.map(|candidate| &candidate.adapter);
    let Some(adapter) = adapters.find(|adapter| adapter.features().contains(features)) else {
        println!("no adapter here has textures in NV12 that a program can write");
        return Ok(());
    };
    let descriptor = wgpu::DeviceDescriptor {
        required_features: features,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
    let backend = Backend::from(Gpu::new(&device, &queue));
    let frame = common::texture(&device, TextureFormat::NV12, [WIDTH, HEIGHT]);
    let bytes: Vec<u8> = (0..=250).cycle().take((WIDTH * HEIGHT) as usize).collect();

    let copy_plane = |aspect, format, size| {
        let plane = common::texture(&device, format, size);
        let mut frame_plane = frame.as_image_copy();
        frame_plane.aspect = aspect;
        let layout = wgpu::TexelCopyBufferLayout {
            bytes_per_row: Some(WIDTH),
            ..Default::default()
        };
        queue.write_texture(frame_plane, &bytes, layout, plane.size());
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_texture_to_texture(frame_plane, plane.as_image_copy(), plane.size());
        queue.submit([encoder.finish()]);
        plane
    };
    let (luma_size, chroma_size) = ([WIDTH, HEIGHT], [WIDTH / 2, HEIGHT / 2]);
    let y = copy_plane(TextureAspect::Plane0, TextureFormat::R8Unorm, luma_size);
    let uv = copy_plane(TextureAspect::Plane1, TextureFormat::Rg8Unorm, chroma_size);
    let y = Texels::new(&y)?.slice(&slice![0, .., .., 0])?;
    let uv = Texels::new(&uv)?.slice(&slice![0])?.transpose(&[2, 0, 1])?;
    let [luma, chroma] = [y, uv].map(|texels| Tensor::from_texture(&backend, &texels));
    let (luma, chroma) = (luma?, chroma?);

    assert_eq!(luma.to_vec::<u8>()?, bytes);
    let pairs = bytes
        .chunks(2)
        .take((chroma_size[0] * chroma_size[1]) as usize);
    let [u, v] = [0, 1].map(|channel| pairs.clone().map(move |pair| pair[channel]));
    assert_eq!(chroma.to_vec::<u8>()?, u.chain(v).collect::<Vec<_>>());
    println!("a frame of {WIDTH} x {HEIGHT} became planes of luma and chroma");
    Ok(())
}
