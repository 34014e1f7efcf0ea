//! Times arrays that are assembled from other arrays.

use crate::common::{Case, time_cases};
use std::error::Error;
use wgslice::{Backend, Tensor, options::Pad, slice};

/// Prints the time of each case, and the time of a copy of the result's bytes into warm memory in percent of the case's
/// time. The results are tensors, and their memory is reused.
pub(crate) fn assemble() -> Result<(), Box<dyn Error>> {
    println!(
        "-- assembled arrays, one thread; time of copy_from_slice of the result's bytes in percent"
    );
    let backend = Backend::cpu().with_threads(1);
    let values: Vec<f32> = (0..1 << 24).map(|n| n as f32).collect();
    let x = backend.upload((&values, &[4096, 4096]))?;
    let tile = backend.upload((&values[..1 << 20], &[1024, 1024]))?;
    let bytes: Vec<u8> = (0..64 * 512 * 682 * 3).map(|n| n as u8).collect();
    let images = backend.upload((&bytes, &[64, 512, 682, 3]))?;
    let (zero, black) = (
        backend.upload((&[0f32], &[]))?,
        backend.upload((&[0u8], &[]))?,
    );
    let plane = images.slice(&slice![.., .., .., 0])?.contiguous()?;
    let frame = [[0, 0], [8, 8], [8, 8], [0, 0]];
    let cases: [Case<'_>; 13] = [
        (
            "concat f32, axis 0",
            Box::new(|| Tensor::concat(&[&x, &x], 0)),
        ),
        (
            "concat f32, axis 1",
            Box::new(|| Tensor::concat(&[&x, &x], 1)),
        ),
        (
            "stack f32, axis 0",
            Box::new(|| Tensor::stack(&[&x, &x], 0)),
        ),
        (
            "stack f32, last axis",
            Box::new(|| Tensor::stack(&[&x, &x], -1)),
        ),
        (
            "3 planes to pixels, u8",
            Box::new(|| Tensor::stack(&[&plane; 3], -1)),
        ),
        (
            "pad f32 by zeros",
            Box::new(|| x.pad(&[[8, 8]; 2], Pad::Constant(&zero))),
        ),
        (
            "pad f32, reflected",
            Box::new(|| x.pad(&[[8, 8]; 2], Pad::Reflect)),
        ),
        (
            "pad pixels by zeros",
            Box::new(|| images.pad(&frame, Pad::Constant(&black))),
        ),
        (
            "pad pixels, reflected",
            Box::new(|| images.pad(&frame, Pad::Reflect)),
        ),
        ("roll f32, axis 1", Box::new(|| x.roll(&[101], &[1]))),
        ("tile f32, 4 x 4", Box::new(|| tile.tile(&[4, 4]))),
        ("repeat f32, axis 0", Box::new(|| tile.repeat(16, 0))),
        ("repeat f32, last axis", Box::new(|| x.repeat(2, 1))),
    ];
    time_cases(&cases)
}
