//! Six arrays pruned by one mask on the device. The CPU does not read the mask, nor the number of rows that stay.
//!
//! Instead of this: read the mask back, list its true positions on the CPU, upload the list, and select these rows of each
//! array. The device is idle while the CPU waits and lists.
//!
//! Write this: `nonzero` lists the positions on the device, and a gather of each array takes the list as it is. Results
//! have as many rows as the mask has elements. Those after the last row that stays are zeros.
//!
//! ```sh
//! cargo run --example prune_by_mask
//! ```

use wgslice::{Backend, gpu::AdapterOptions, options::GatherNdOptions};

const POINTS: u16 = 3000;

/// The numbers that a point has in each array: position, rotation, scale, colours, opacity, and age.
const WIDTHS: [usize; 6] = [3, 4, 3, 48, 1, 1];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::open_gpu(&AdapterOptions::default())?;
    println!("on {backend}");

    // In a real program, earlier work on the device has usually made these tensors.
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
    // All of this is submitted, and nothing has waited. The number of rows arrives later.
    let found = report.wait()?.found.ok_or("a search has a number")?;

    let kept = (0..POINTS).filter(|&point| is_kept[usize::from(point)]);
    assert_eq!(kept.clone().count(), found);
    for (array, width) in pruned.iter().zip(WIDTHS) {
        let mut expected: Vec<f32> = kept.clone().flat_map(|point| row(point, width)).collect();
        expected.resize(points * width, 0.0);
        assert_eq!(array.to_vec::<f32>()?, expected);
    }
    println!(
        "{found} of {POINTS} points stay, in all {} arrays",
        WIDTHS.len()
    );
    Ok(())
}
