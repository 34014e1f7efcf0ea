//! Converts images of any size to one batch of normalised `f32` planes, `[N, 3, H, W]`, as image models expect.
//!
//! Instead of this: convert each image to floats, then divide, subtract and permute them, where each step processes
//! four times as many bytes as the image has. Or set each element by an index of four numbers.
//!
//! Write this: resize each image with `fast_image_resize`, directly into its place in one array of bytes. One plan puts
//! the channels first and normalises the whole batch. It runs on a GPU or on the CPU, with the same results.
//!
//! ```sh
//! cargo run --example image_batch
//! ```

use fast_image_resize::{
    PixelType::U8x3,
    Resizer,
    images::{Image, ImageRef},
};
use wgslice::{Backend, Conversion, DType, Plan, View};

const HEIGHT: u32 = 48;
const WIDTH: u32 = 64;
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each image has a width, a height and RGB bytes, as a decoder returns them.
    let images = [(100, 80), (64, 48), (31, 200)].map(|(width, height)| {
        let bytes = (0..=255).cycle().take(width as usize * height as usize * 3);
        (width, height, bytes.collect::<Vec<u8>>())
    });

    let (height, width) = (HEIGHT as usize, WIDTH as usize);
    let mut resized = vec![0; images.len() * height * width * 3];
    let mut resizer = Resizer::new();
    for ((from_width, from_height, bytes), place) in
        images.iter().zip(resized.chunks_mut(height * width * 3))
    {
        let image = ImageRef::new(*from_width, *from_height, bytes, U8x3)?;
        let mut place = Image::from_slice_u8(WIDTH, HEIGHT, place, U8x3)?;
        resizer.resize(&image, &mut place, None)?;
    }

    // The plan is made once and used for each batch.
    let normalised = |channel, x| (x / 255.0 - MEAN[channel]) / DEVIATION[channel];
    let normalise = Conversion::table(DType::U8, DType::F32, -1, 3, normalised)?;
    let planes = View::new(&[images.len(), height, width, 3])?.transpose(&[0, 3, 1, 2])?;
    let plan = Plan::contiguous(planes, DType::U8)?.converted(&normalise)?;
    let backend = Backend::auto();

    let (batch, _) = backend.run::<f32>(&plan, &[(&resized).into()])?;

    assert_eq!(batch.shape, [3, 3, height, width]);
    // An image that already has the right size stays unchanged.
    let image_len = height * width * 3;
    assert_eq!(resized[image_len..2 * image_len], images[1].2);
    let mut values = batch.data.into_iter();
    for image in resized.chunks(height * width * 3) {
        for channel in 0..3 {
            for pixel in image.chunks(3) {
                let unit = f32::from(pixel[channel]) / 255.0;
                let expected = (unit - MEAN[channel]) / DEVIATION[channel];
                assert_eq!(values.next(), Some(expected));
            }
        }
    }
    println!("{} images in a batch on {backend}", images.len());
    Ok(())
}
