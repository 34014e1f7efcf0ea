//! Implements the sliders of a tensor viewer: any 2-D slice of an n-d tensor becomes a texture.
//!
//! Instead of this: each time a slider moves, permute and index the array on the CPU, copy its elements individually,
//! pad the rows and upload them.
//!
//! Write this: upload the tensor once. A slider then selects a slice of the tensor on the device, and `write_texture`
//! copies this slice to the texture without the CPU.
//!
//! ```sh
//! cargo run --example tensor_slider
//! ```

mod common;

use wgslice::{Backend, Error, Gpu, Tensor, gpu::Texels, slice, spec::SliceItem};

const SHAPE: [u32; 5] = [3, 2, 4, 10, 75];

/// Copies a 2-D slice to a texture. `axes` are the axes of its rows and columns, and `sliders` the positions along the
/// other axes.
fn show_slice(
    tensor: &Tensor,
    axes: [usize; 2],
    sliders: [u32; 5],
    texture: &wgpu::Texture,
) -> Result<(), Error> {
    let items = (0..SHAPE.len()).map(|axis| match axes.contains(&axis) {
        true => SliceItem::from(..),
        false => SliceItem::from(i64::from(sliders[axis])),
    });
    let mut plane = tensor.slice(&items.collect())?;
    if axes[0] > axes[1] {
        plane = plane.transpose(&[1, 0])?;
    }
    plane.write_texture(&Texels::new(texture)?.slice(&slice![0, .., .., 0])?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (device, queue) = common::open()?;
    let backend = Backend::from(Gpu::new(&device, &queue));
    let values: Vec<f32> = (0..18_000u16).map(f32::from).collect();
    let tensor = backend.upload((&values, &SHAPE.map(|size| size as usize)))?;

    let sliders = [2, 1, 3, 7, 50];
    for (rows, columns) in (0..25).map(|pair| (pair / 5, pair % 5)) {
        if rows == columns {
            continue;
        }
        let size = [SHAPE[columns], SHAPE[rows]];
        let texture = common::texture(&device, wgpu::TextureFormat::R32Float, size);
        show_slice(&tensor, [rows, columns], sliders, &texture)?;

        let shown = common::read_texture(&device, &queue, &texture)?;
        let mut shown = bytemuck::pod_collect_to_vec::<u8, f32>(&shown).into_iter();
        let mut position = sliders;
        for row in 0..SHAPE[rows] {
            for column in 0..SHAPE[columns] {
                (position[rows], position[columns]) = (row, column);
                let element =
                    (0..5).fold(0, |element, axis| element * SHAPE[axis] + position[axis]);
                assert_eq!(
                    shown.next(),
                    Some(values[element as usize]),
                    "at {position:?}"
                );
            }
        }
    }
    println!("slices along all 20 pairs of axes are right");
    Ok(())
}
