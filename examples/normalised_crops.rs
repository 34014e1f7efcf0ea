//! Crops each image of a batch at random, mirrors some crops, and writes normalised planes of `f32`, in one dispatch.
//!
//! Instead of this: a shader that reads pixels of three bytes at any byte of a word, mirrors some boxes, checks their
//! bounds, puts the channels first and normalises. Or a crop, and then a second shader that normalises.
//!
//! Write this: a view that puts the channels first, a crop of it, and a conversion. All of it is one plan.
//!
//! ```sh
//! cargo run --example normalised_crops
//! ```

mod common;

use wgslice::{
    Conversion, DType, Gpu, Plan, View,
    options::{Boxes, CropOptions},
};

/// The number of images, and the rows and columns of each.
const IMAGES_SHAPE: [usize; 3] = [8, 40, 48];
/// The rows and columns of a crop.
const CROP_SIZES: [usize; 2] = [24, 32];
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [count, rows, columns] = IMAGES_SHAPE;
    let planes = View::new(&[count, rows, columns, 3])?.transpose(&[0, 3, 1, 2])?;
    // A box has three start indices and three flips: for the channel, the row and the column.
    let boxes = Boxes::of_tuples(&[count, 6], false, true);
    let options = CropOptions {
        sizes: vec![3, CROP_SIZES[0], CROP_SIZES[1]],
        ..CropOptions::default()
    };
    let normalised = |channel: usize, x: f32| (x / 255.0 - MEAN[channel]) / DEVIATION[channel];
    let conversion = Conversion::table(DType::U8, DType::F32, -1, 3, normalised)?;
    let plan = Plan::crop(planes, boxes, &options, DType::U8)?.converted(&conversion)?;

    let (device, queue) = common::open()?;
    let gpu = Gpu::new(&device, &queue);
    let pixels = (0..=250u8).cycle().take(count * rows * columns * 3);
    let pixels: Vec<u8> = pixels.collect();
    let images = common::buffer(&device, &pixels);
    let box_tuples =
        [0u32, 1, 2, 3, 4, 5, 6, 7].map(|n| [0, n * 37 % 17, n * 29 % 17, 0, 0, n % 2]);
    let tuples = common::buffer(&device, bytemuck::cast_slice(&box_tuples));
    let crops = common::buffer(&device, &vec![0; plan.outputs()[0].bytes()]);

    let mut encoder = device.create_command_encoder(&Default::default());
    let inputs = [images.slice(..), tuples.slice(..)];
    let report = gpu.encode(&mut encoder, &plan, &inputs, &[crops.slice(..)])?;
    queue.submit([encoder.finish()]);

    assert_eq!(report.wait()?.out_of_range, 0);
    let bytes = common::read_buffer(&device, &queue, &crops)?;
    let mut values = bytemuck::pod_collect_to_vec::<u8, f32>(&bytes).into_iter();
    for (image, tuple) in box_tuples.iter().enumerate() {
        let [_, top, left, .., mirrored] = tuple.map(|number| number as usize);
        for channel in 0..3 {
            for place in 0..CROP_SIZES[0] * CROP_SIZES[1] {
                let (row, column) = (place / CROP_SIZES[1], place % CROP_SIZES[1]);
                let column = [column, CROP_SIZES[1] - 1 - column][mirrored];
                let pixel = (image * rows + row + top) * columns + column + left;
                let expected = normalised(channel, f32::from(pixels[pixel * 3 + channel]));
                assert_eq!(values.next(), Some(expected), "of crop {image}");
            }
        }
    }
    println!("{count} crops are right");
    Ok(())
}
