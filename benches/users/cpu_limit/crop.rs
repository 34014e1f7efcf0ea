//! Times random crops of images, and compares them with loops.

use crate::common::{Random, fill, min_time, ms, run_bytes};
use std::{error::Error, time::Duration};
use wgslice::{
    DType, Plan, Values, View,
    options::{Boxes, CropOptions, OutOfRange},
};

/// The size of a crop of 224 × 224 pixels, in bytes.
const CROP_BYTES: usize = 224 * 224 * 3;

pub(crate) fn crop() -> Result<(), Box<dyn Error>> {
    println!("-- 64 random crops [64,256,256,3] u8 -> 224 x 224, one thread, reused output, ms");
    let images: Vec<u8> = (0..64usize * 256 * 256 * 3)
        .map(|i| (i * 31 % 251) as u8)
        .collect();
    let mut out = vec![0u8; 64 * CROP_BYTES];
    let mut generator = Random(3);
    let mut random = |n: u32| ((generator.next() >> 8) % n) as i32;
    // Each crop has the row and the column at which it begins, and 1 if it is flipped, otherwise 0.
    let crops: Vec<[i32; 3]> = (0..64)
        .map(|_| [random(33), random(33), random(2)])
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| {
        for policy in [OutOfRange::Ignore, OutOfRange::Clamp, OutOfRange::Error] {
            for has_flips in [false, true] {
                for is_chw in [false, true] {
                    let (plan, indices) = crop_plan(&crops, policy, has_flips, is_chw);
                    let [mut time, mut loop_time] = [Duration::MAX; 2];
                    let mut expected = Vec::new();
                    for _ in 0..40 {
                        time = time.min(min_time(1, || {
                            let indices = Values::from(&indices);
                            run_bytes(&plan, &images, Some(indices), &mut out)
                                .expect("crops")
                        }));
                        if expected.is_empty() {
                            expected.clone_from(&out);
                        }
                        loop_time = loop_time.min(min_time(1, || {
                            for (n, out) in out.chunks_exact_mut(CROP_BYTES).enumerate() {
                                let [y, x, flip] = crops[n].map(|number| number as usize);
                                let image = &images[((n * 256 + y) * 256 + x) * 3..];
                                crop_by_hand(image, has_flips && flip == 1, is_chw, out);
                            }
                        }));
                    }
                    assert!(out == expected, "the loop has another result");
                    println!(
                        "{policy:?} flips {has_flips} CHW {is_chw}: {:.2} ms, plain loop {:.2} ms   ({plan})",
                        ms(time),
                        ms(loop_time)
                    );
                }
            }
        }
    });
    Ok(())
}

/// Crops an image with loops. `image` begins with the first pixel of the crop, and its rows are 256 pixels apart.
fn crop_by_hand(image: &[u8], is_flipped: bool, is_chw: bool, out: &mut [u8]) {
    let rows = image.chunks(768).map(|row| &row[..672]);
    if is_chw {
        for (c, out) in out.chunks_exact_mut(CROP_BYTES / 3).enumerate() {
            for (out, row) in out.chunks_exact_mut(224).zip(rows.clone()) {
                let pixels = row.as_chunks::<3>().0.iter().map(|pixel| pixel[c]);
                match is_flipped {
                    true => fill(out, pixels.rev()),
                    false => fill(out, pixels),
                }
            }
        }
    } else {
        for (out, row) in out.chunks_exact_mut(672).zip(rows) {
            match is_flipped {
                true => fill(
                    out.as_chunks_mut::<3>().0,
                    row.as_chunks::<3>().0.iter().copied().rev(),
                ),
                false => out.copy_from_slice(row),
            }
        }
    }
}

/// Returns the plan of 64 crops, with channels first or last, and its indices.
fn crop_plan(
    crops: &[[i32; 3]],
    policy: OutOfRange,
    has_flips: bool,
    is_chw: bool,
) -> (Plan, Vec<i32>) {
    let sizes = if is_chw {
        vec![3, 224, 224]
    } else {
        vec![224, 224]
    };
    let options = CropOptions {
        sizes,
        out_of_range: policy,
        ..CropOptions::default()
    };
    let images = View::new(&[64, 256, 256, 3]).expect("images");
    let images = match is_chw {
        true => images.transpose(&[0, 3, 1, 2]).expect("channels first"),
        false => images,
    };
    let depth = options.sizes.len() * if has_flips { 2 } else { 1 };
    let boxes = Boxes::of_tuples(&[64, depth], false, has_flips);
    let plan = Plan::crop(images, boxes, &options, DType::U8).expect("crops");
    let mut indices = vec![];
    let channel: &[i32] = if is_chw { &[0] } else { &[] };
    for &[y, x, flip] in crops {
        indices.extend(channel);
        indices.extend([y, x]);
        if has_flips {
            indices.extend(channel);
            indices.extend([0, flip]);
        }
    }
    (plan, indices)
}
