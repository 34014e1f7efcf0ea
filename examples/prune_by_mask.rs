//! Prunes six arrays by one mask on the device, without waiting until the CPU has read the mask or the number of rows
//! that stay.
//!
//! Instead of this: read the mask back, list its true positions on the CPU, upload the list, and select these rows of
//! each array. The device is idle while the CPU waits and lists.
//!
//! Write this: `nonzero` lists the positions on the device, and a gather for each array uses the list unchanged.
//! Results have as many rows as the mask has elements. Rows after the last one that stays are zeros.
//!
//! ```sh
//! cargo run --example prune_by_mask
//! ```

use wgslice::{Backend, gpu::AdapterOptions, options::GatherNdOptions};

const POINTS: u16 = 3000;

/// The number of values for a point in each array: position, rotation, scale, colours, opacity, and age.
const WIDTHS: [usize; 6] = [3, 4, 3, 48, 1, 1];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::open_gpu(&AdapterOptions::default())?;
    println!("on {backend}");

    // In a real program, earlier work on the device usually makes these tensors.
    let points = usize::from(POINTS);
    let is_kept: Vec<bool> = (0..points).map(|point| point * point % 7 < 2).collect();
    let mask = backend.upload((&is_kept, &[points]))?;
    let row = |point: u16, width: usize| vec![f32::from(point) + 0.5; width];
    let mut arrays = Vec::new();
    for width in WIDTHS {
        let values: Vec<f32> = (0..POINTS).flat_map(|point| row(point, width)).collect();
        arrays.push(backend.upload((&values, &[points, width]))?);
    }

    let (rows, report) = mask.nonzero(Some(points))?;
    let mut pruned = Vec::new();
    for array in &arrays {
        pruned.push(array.gather_nd(&rows, GatherNdOptions::default())?.0);
    }
    // All work is submitted, and nothing has waited for it. The number of rows arrives later.
    let kept_count = report.wait()?.found.ok_or("the report has no number")?;

    let kept_points = (0..POINTS).filter(|&point| is_kept[usize::from(point)]);
    assert_eq!(kept_points.clone().count(), kept_count);
    for (array, width) in pruned.iter().zip(WIDTHS) {
        let mut expected: Vec<f32> = kept_points
            .clone()
            .flat_map(|point| row(point, width))
            .collect();
        expected.resize(points * width, 0.0);
        assert_eq!(array.to_vec::<f32>()?, expected);
    }
    println!(
        "{kept_count} of {POINTS} points stay, in all {} arrays",
        WIDTHS.len()
    );
    Ok(())
}
