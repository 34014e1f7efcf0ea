//! Prepares training input: crops each image of a batch at random and mirrors about half of the crops, in one dispatch
//! per step.
//!
//! The images stay on the device. Each step uploads only the start indices and the flips of its boxes. If no GPU can be
//! opened, the CPU path runs instead. It is limited to one thread, as in a loader with its own threads.
//!
//! ```sh
//! cargo run --example random_crops
//! ```

use wgslice::{
    Backend,
    gpu::AdapterOptions,
    options::{Boxes, CropOptions},
};

/// The number of images, rows, columns and channels.
const SHAPE: [usize; 4] = [32, 40, 48, 3];
/// The rows and columns of a crop.
const CROP_SIZES: [usize; 2] = [24, 32];
const STEPS: usize = 10;

/// Returns a pseudo-random number below `limit` and advances `state`.
fn random(state: &mut u32, limit: usize) -> usize {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 8) as usize % limit
}

fn texel(image: usize, row: usize, column: usize, channel: usize) -> u8 {
    let value = (image * 89 + row * 53 + column * 3 + channel) % 251;
    u8::try_from(value).expect("a small number")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = match Backend::open_gpu(&AdapterOptions::default()) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("{error}");
            Backend::cpu().with_threads(1)
        }
    };
    println!("on {backend}");

    let [count, rows, columns, channels] = SHAPE;
    let mut images = Vec::new();
    for image in 0..count {
        for row in 0..rows {
            for column in 0..columns {
                images.extend((0..channels).map(|channel| texel(image, row, column, channel)));
            }
        }
    }
    let images = backend.upload((&images, &SHAPE))?;
    let options = CropOptions {
        sizes: CROP_SIZES.to_vec(),
        ..CropOptions::default()
    };

    let mut state = 1;
    let mut mirrored_count = 0;
    for _ in 0..STEPS {
        let mut begins = Vec::new();
        let mut flips = Vec::new();
        for _ in 0..count {
            begins.push(i32::try_from(random(&mut state, rows - CROP_SIZES[0] + 1))?);
            begins.push(i32::try_from(random(
                &mut state,
                columns - CROP_SIZES[1] + 1,
            ))?);
            // Crops are mirrored from left to right, never upside down.
            flips.extend([false, random(&mut state, 2) == 1]);
        }
        mirrored_count += flips.iter().filter(|&&flip| flip).count();
        let begin_tensor = backend.upload((&begins, &[count, 2]))?;
        let flip_tensor = backend.upload((&flips, &[count, 2]))?;
        let boxes = Boxes::new(&begin_tensor).flipped(&flip_tensor);
        let (crops, report) = images.crop(boxes, &options)?;

        let crops = crops.to_array::<u8>()?;
        assert_eq!(crops.shape, [count, CROP_SIZES[0], CROP_SIZES[1], channels]);
        assert_eq!(report.wait()?.out_of_range, 0);
        let mut values = crops.data.into_iter();
        for image in 0..count {
            let (top, left) = (begins[2 * image], begins[2 * image + 1]);
            for row in 0..CROP_SIZES[0] {
                for column in 0..CROP_SIZES[1] {
                    let column = match flips[2 * image + 1] {
                        true => CROP_SIZES[1] - 1 - column,
                        false => column,
                    };
                    let (row, column) =
                        (row + usize::try_from(top)?, column + usize::try_from(left)?);
                    for channel in 0..channels {
                        assert_eq!(values.next(), Some(texel(image, row, column, channel)));
                    }
                }
            }
        }
    }
    println!("{STEPS} × {count} crops are right; {mirrored_count} of them are mirrored");
    Ok(())
}
