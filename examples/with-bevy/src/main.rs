//! A compute node for bevy that slices pixels into an image, without a window.
//!
//! The node records into bevy's own encoder, between the passes of the other nodes: wgslice crops and flips an atlas,
//! and writes the result to the texture of an [`Image`], which materials and sprites could show. This program reads
//! the image back and compares it with plain loops.
//!
//! ```sh
//! cargo run
//! ```

use bevy::{
    app::ScheduleRunnerPlugin,
    asset::RenderAssetUsages,
    prelude::*,
    render::{
        RenderApp, RenderStartup,
        extract_resource::{ExtractResource, ExtractResourcePlugin},
        gpu_readback::{Readback, ReadbackComplete},
        render_asset::RenderAssets,
        render_resource::{
            Buffer, BufferDescriptor, BufferInitDescriptor, BufferUsages, Extent3d,
            TextureDimension, TextureFormat,
        },
        renderer::{RenderContext, RenderDevice, RenderGraph, RenderGraphSystems, RenderQueue},
        texture::GpuImage,
    },
    window::ExitCondition,
};
use wgslice::{DType, Gpu, Plan, gpu::Texels, slice};

/// The width of the atlas in pixels, which is also its height.
const ATLAS: usize = 96;
/// The width and the height of the image in pixels.
const WIDTH: usize = 50;
const HEIGHT: usize = 48;
/// The distance in bytes between the rows that bevy reads back: when wgpu copies a texture to a buffer, rows are a
/// multiple of 256 bytes apart. When wgslice writes to a texture, it pads the rows itself.
const PADDED_ROW_BYTES: usize = 256;
/// The number of frames after which the program gives up: more than it takes to load the image, slice into it and read
/// it back.
const MAX_FRAMES: usize = 300;

fn main() -> AppExit {
    let no_window = WindowPlugin {
        primary_window: None,
        exit_condition: ExitCondition::DontExit,
        ..default()
    };
    App::new()
        .add_plugins((
            DefaultPlugins.set(no_window),
            ScheduleRunnerPlugin::default(),
            SlicePlugin,
        ))
        .add_systems(Startup, setup)
        .add_systems(Update, give_up)
        .run()
}

/// The image that the node slices into.
#[derive(Resource, ExtractResource, Clone)]
#[extract_app(RenderApp)]
struct Target(Handle<Image>);

fn setup(mut commands: Commands, mut images: ResMut<Assets<Image>>) {
    let size = Extent3d {
        width: WIDTH as u32,
        height: HEIGHT as u32,
        ..default()
    };
    let image = images.add(Image::new_uninit(
        size,
        TextureDimension::D2,
        TextureFormat::Rgba8Unorm,
        RenderAssetUsages::RENDER_WORLD,
    ));
    commands
        .spawn(Readback::texture(image.clone()))
        .observe(check_image);
    commands.insert_resource(Target(image));
}

/// Returns the pixel of the atlas at a row and a column: red, green, blue and alpha. Alpha is never 0, so a sliced
/// image is not all zeros.
fn pixel(row: usize, column: usize) -> [u8; 4] {
    [row as u8, column as u8, (row ^ column) as u8, 255]
}

/// Compares the image with the result of plain loops. Until the node has run, the image is all zeros and is ignored.
fn check_image(image: On<ReadbackComplete>, mut exit: MessageWriter<AppExit>) {
    if image.data.iter().all(|&byte| byte == 0) {
        return;
    }
    let rows = (0..HEIGHT).flat_map(|row| (0..WIDTH).map(move |column| (row, column)));
    let expected: Vec<u8> = rows
        .flat_map(|(row, column)| pixel(20 + row, 79 - column))
        .collect();
    let rows = image.data.chunks(PADDED_ROW_BYTES);
    let pixels: Vec<u8> = rows.flat_map(|row| &row[..4 * WIDTH]).copied().collect();
    if pixels == expected {
        println!("the image has the pixels that plain loops compute");
        exit.write(AppExit::Success);
    } else {
        eprintln!("the image has other pixels than plain loops compute");
        exit.write(AppExit::error());
    }
}

fn give_up(mut frames: Local<usize>, mut exit: MessageWriter<AppExit>) {
    *frames += 1;
    if *frames > MAX_FRAMES {
        eprintln!("nothing was read back in {MAX_FRAMES} frames");
        exit.write(AppExit::error());
    }
}

struct SlicePlugin;

impl Plugin for SlicePlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(ExtractResourcePlugin::<Target>::default());
        app.sub_app_mut(RenderApp)
            .add_systems(RenderStartup, make_slicer)
            .add_systems(
                RenderGraph,
                slice_into_image.in_set(RenderGraphSystems::Render),
            );
    }
}

/// wgslice on bevy's device, and the other resources of the node. All of them are made only once.
#[derive(Resource)]
struct Slicer {
    gpu: Gpu,
    /// The plan of `atlas[20:68, 79:29:-1]`, with each pixel as one `u32`.
    plan: Plan,
    atlas: Buffer,
    sliced: Buffer,
}

fn make_slicer(
    mut commands: Commands,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
) -> Result {
    let gpu = Gpu::new(device.wgpu_device(), &queue);
    println!("on {gpu}");
    let spec = slice![20..68, 79..29; -1];
    let rows = (0..ATLAS).flat_map(|row| (0..ATLAS).map(move |column| (row, column)));
    let pixels: Vec<u8> = rows.flat_map(|(row, column)| pixel(row, column)).collect();
    commands.insert_resource(Slicer {
        gpu,
        plan: Plan::slice(&[ATLAS, ATLAS], &spec, DType::U32)?,
        atlas: device.create_buffer_with_data(&BufferInitDescriptor {
            label: Some("atlas"),
            contents: &pixels,
            usage: BufferUsages::STORAGE,
        }),
        sliced: device.create_buffer(&BufferDescriptor {
            label: Some("sliced"),
            size: (HEIGHT * WIDTH * 4) as u64,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        }),
    });
    Ok(())
}

/// Records the slice and the copy to the image. This node is one of the systems that record the frame.
fn slice_into_image(
    mut context: RenderContext,
    slicer: Res<Slicer>,
    target: Option<Res<Target>>,
    images: Res<RenderAssets<GpuImage>>,
) -> Result {
    let image = target.and_then(|target| images.get(&target.0));
    let Some(image) = image else {
        return Ok(()); // not loaded yet
    };
    let Slicer {
        gpu,
        plan,
        atlas,
        sliced,
    } = &*slicer;
    let encoder = context.command_encoder();
    gpu.encode(encoder, plan, &[*atlas.slice(..)], &[*sliced.slice(..)])?;
    gpu.encode_to_texture(encoder, *sliced.slice(..), &Texels::new(&image.texture)?)?;
    Ok(())
}
