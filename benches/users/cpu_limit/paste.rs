//! Times pastes of boxes, and compares them with loops.

use crate::common::{Random, min_time, ms, run_bytes};
use std::error::Error;
use wgslice::{
    DType, Plan, Values,
    options::{Boxes, OutOfRange, PasteOptions},
};

/// Pastes boxes into pictures, and appends tokens to a cache.
pub(crate) fn paste() -> Result<(), Box<dyn Error>> {
    println!("-- boxes written in place, one thread, ms");
    let mut generator = Random(3);
    let mut random = |n: u32| ((generator.next() >> 8) % n) as i32;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, shape, sizes, dtype) in [
        (
            "64 boxes of 224 x 224 pixels",
            &[64, 256, 256, 3][..],
            &[224, 224][..],
            DType::U8,
        ),
        (
            "64 boxes of 224 x 224 grey pixels",
            &[64, 256, 256],
            &[224, 224],
            DType::U8,
        ),
        (
            "32 sequences, 16 tokens each",
            &[32, 2048, 512],
            &[16],
            DType::F16,
        ),
        (
            "65,536 boxes of one token",
            &[65536, 4, 32],
            &[1],
            DType::F16,
        ),
    ] {
        let box_count = shape[0];
        let begins: Vec<Vec<i32>> = (0..shape[0])
            .map(|_| {
                let dims = shape[1..].iter().zip(sizes);
                dims.map(|(&end, &size)| random((end - size + 1) as u32))
                    .collect()
            })
            .collect();
        let tuples = begins.concat();
        let element_bytes = dtype.size();
        let mut x = vec![0u8; shape.iter().product::<usize>() * element_bytes];
        // A row of a box is contiguous in x.
        let inner_bytes = shape[1 + sizes.len()..].iter().product::<usize>() * element_bytes;
        let row_bytes = sizes[sizes.len() - 1] * inner_bytes;
        let row_count = shape[0] * sizes[..sizes.len() - 1].iter().product::<usize>();
        let patches: Vec<u8> = (0..row_count * row_bytes)
            .map(|i| (i * 31 % 251) as u8)
            .collect();
        let loop_time = min_time(9, || {
            let item_bytes = x.len() / shape[0];
            let box_rows = row_count / shape[0];
            for (row_number, patch_row) in patches.chunks_exact(row_bytes).enumerate() {
                let (n, y) = (row_number / box_rows, row_number % box_rows);
                let at = match begins[n][..] {
                    [begin] => begin as usize,
                    [first, begin, ..] => (first as usize + y) * shape[2] + begin as usize,
                    [] => 0,
                };
                x[n * item_bytes + at * inner_bytes..][..row_bytes].copy_from_slice(patch_row);
            }
        });
        let expected = std::mem::replace(
            &mut x,
            vec![0; shape.iter().product::<usize>() * element_bytes],
        );
        for out_of_range in [OutOfRange::Ignore, OutOfRange::Clamp] {
            for circular in [false, true] {
                let options = PasteOptions {
                    out_of_range,
                    circular,
                    ..PasteOptions::default()
                };
                let boxes = Boxes::new(&[box_count, sizes.len()]);
                let patches_shape = [&[box_count], sizes, &shape[1 + sizes.len()..]].concat();
                let plan = Plan::paste(shape, &patches_shape, boxes, &options, dtype)?;
                let time = pool.install(|| {
                    min_time(9, || {
                        let tuples = Values::from(&tuples);
                        run_bytes(&plan, &patches, Some(tuples), &mut x).expect("boxes")
                    })
                });
                assert!(x == expected, "{plan}");
                println!(
                    "{name}: {out_of_range:?} circular {circular} {:.3} ms",
                    ms(time)
                );
            }
        }
        println!("{name}: hand loop {:.3} ms", ms(loop_time));
    }
    Ok(())
}
