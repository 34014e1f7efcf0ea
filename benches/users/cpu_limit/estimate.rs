//! Compares the estimated time of a plan on the CPU with the measured time, for the workloads of `wgslice bench` and
//! for assembled arrays.

use crate::common::{Random, min_time};
use std::{error::Error, hint::black_box, time::Instant};
use wgslice::{
    Backend, DType, Plan, Values, View,
    cost::CostModel,
    options::{Boxes, CropOptions, GatherNdOptions},
};

pub(crate) fn estimate() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let costs = CostModel::measure_cpu()?;
    let measuring_time = start.elapsed();
    println!("-- estimates and medians of 9 calls, from host values to a new result, all threads");
    println!(
        "rates of the CPU, measured in {measuring_time:.1?}, and typical rates of a device: {costs}"
    );
    let f32 = DType::F32;
    let sliced = |shape: &[usize], spec: &str, dtype| -> Result<Plan, wgslice::Error> {
        Plan::slice(shape, &spec.parse()?, dtype)
    };
    let transposed = |shape: &[usize], axes: &[usize], dtype| {
        Plan::contiguous(View::new(shape)?.transpose(axes)?, dtype)
    };
    let gathered = |shape: &[usize], indices_shape: [usize; 2], dtype| {
        Plan::gather_nd(shape, &indices_shape, GatherNdOptions::default(), dtype)
    };
    // The numbers of each box are its first row and column, and whether it is flipped along each axis.
    let boxes = Boxes::of_tuples(&[256, 4], false, true);
    let crop_options = CropOptions {
        sizes: vec![224, 224],
        ..CropOptions::default()
    };
    let token_spec = "0, :, 1234, :".parse()?;
    let (square, tile) = (View::new(&[4096, 4096])?, View::new(&[1024, 1024])?);
    let plane = View::new(&[64, 512, 682])?;
    let plans = [
        (
            "W1",
            sliced(&[64, 256, 256, 16], "8:56, 32:224, 32:224", f32)?,
        ),
        ("W2", sliced(&[4096, 4096], ":, ::-1", f32)?),
        ("W3", sliced(&[16, 1024, 1024], ":, ::2, ::2", f32)?),
        ("W4", sliced(&[8192, 2048], "::3", f32)?),
        ("W5", sliced(&[2_000_000, 4], "::-2, 1:3", f32)?),
        (
            "W6",
            sliced(&[64, 512, 512, 3], ":, 16:496, 495:15:-1", DType::U8)?,
        ),
        ("W7", gathered(&[200_000, 128], [100_000, 1], f32)?),
        ("W8", gathered(&[2048, 2048], [2_000_000, 2], f32)?),
        ("W9", gathered(&[64, 64, 32, 32], [20_000, 2], f32)?),
        ("W10", gathered(&[200_000, 128], [200_000, 1], DType::U16)?),
        ("W11", sliced(&[32, 32], "4:20, ::2", f32)?),
        ("W12", transposed(&[4096, 4096], &[1, 0], f32)?),
        (
            "W13",
            transposed(&[64, 512, 512, 3], &[0, 3, 1, 2], DType::U8)?,
        ),
        ("W14", transposed(&[16, 64, 512, 64], &[0, 2, 1, 3], f32)?),
        (
            "W15",
            Plan::crop(&[256, 256, 256, 3], boxes, &crop_options, DType::U8)?,
        ),
        (
            "W16",
            Plan::slice_update(&[1, 32, 4096, 128], &token_spec, &[32, 128], f32)?,
        ),
        (
            "concat, axis 0",
            Plan::concat(&[square.clone(), square.clone()], 0, f32)?,
        ),
        (
            "concat, axis 1",
            Plan::concat(&[square.clone(), square.clone()], 1, f32)?,
        ),
        (
            "stack, last axis",
            Plan::stack(&[square.clone(), square.clone()], -1, f32)?,
        ),
        (
            "3 planes to pixels, u8",
            Plan::stack(&[plane.clone(), plane.clone(), plane], -1, DType::U8)?,
        ),
        ("roll, axis 1", Plan::roll(&square, &[101], &[1], f32)?),
        ("tile, 4 x 4", Plan::tile(&tile, &[4, 4], f32)?),
        ("repeat, last axis", Plan::repeat(&square, 2, 1, f32)?),
    ];
    let (backend, plan_count) = (Backend::cpu(), plans.len());
    let (mut max_factor, mut outlier_count) = (1f64, 0);
    for (name, plan) in plans {
        let (inputs, mut random) = (plan.inputs().into_owned(), Random(7));
        // The exclusive upper bound of the random indices: row numbers, or start indices that keep boxes inside the
        // images.
        let index_bound = match name {
            "W7" | "W10" => 200_000,
            "W8" => 2048,
            "W9" => 64,
            _ => 32,
        };
        let input_bytes: Vec<(DType, Vec<u8>)> = inputs
            .iter()
            .enumerate()
            .map(|(n, spec)| match n {
                1 if spec.dtype == DType::I32 => {
                    let mut next = || random.next() >> 8;
                    // Crops are flipped along their columns only.
                    let indices = (0..spec.bytes() / 4).map(|number| match (name, number % 4) {
                        ("W15", 2) => 0,
                        ("W15", 3) => next() % 2,
                        _ => next() % index_bound,
                    });
                    (spec.dtype, indices.flat_map(u32::to_le_bytes).collect())
                }
                _ => (spec.dtype, vec![1; spec.bytes()]),
            })
            .collect();
        let changed_bytes = vec![
            2u8;
            if plan.is_in_place() {
                plan.outputs()[0].bytes()
            } else {
                0
            }
        ];
        let mut values: Vec<Values<'_>> = input_bytes
            .iter()
            .map(|(dtype, bytes)| Values::from_bytes(*dtype, bytes))
            .collect();
        if plan.is_in_place() {
            values.push(Values::from_bytes(plan.dtype(), &changed_bytes));
        }
        let repeats = if name == "W11" { 1000 } else { 1 };
        let run = || -> Result<(), wgslice::Error> {
            for _ in 0..repeats {
                match plan.dtype() {
                    DType::F32 => drop(black_box(backend.run::<f32>(&plan, &values)?)),
                    DType::U8 => drop(black_box(backend.run::<u8>(&plan, &values)?)),
                    _ => drop(black_box(backend.run::<u16>(&plan, &values)?)),
                }
            }
            Ok(())
        };
        run()?;
        let mut times: Vec<f64> = (0..9)
            .map(|_| min_time(1, &run).as_secs_f64() / f64::from(repeats))
            .collect();
        times.sort_by(f64::total_cmp);
        let (time, estimated_time) = (times[4], costs.estimate(&plan).cpu);
        let ratio = time / estimated_time;
        max_factor = max_factor.max(ratio.max(1.0 / ratio));
        outlier_count += u32::from(!(1.0 / 1.5..=1.5).contains(&ratio));
        println!(
            "{name:24} {:10.5} ms, estimated {:10.5} ms, {ratio:4.2} times the estimate",
            time * 1e3,
            estimated_time * 1e3
        );
    }
    println!(
        "{outlier_count} of {plan_count} times differ from the estimate by more than a factor of 1.5; the largest \
         factor is {max_factor:.2}"
    );
    Ok(())
}
