//! Implements a loader with its own threads: each thread flips and crops images on the CPU, and no operation starts
//! further threads.
//!
//! A program whose threads already keep all cores busy gains nothing from more threads. `Backend::with_threads(1)`
//! keeps each operation on the thread that calls it. A program that runs on rayon builds wgslice with the feature
//! `rayon` instead, and its operations share the pool's threads.
//!
//! ```sh
//! cargo run --example loader_threads
//! ```

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use wgslice::{Backend, slice};

/// The number of rows, columns and channels of an image.
const SHAPE: [usize; 3] = [1080, 1920, 3];
const IMAGES: usize = 6;
const LOADERS: usize = 2;

fn byte(image: usize, i: usize) -> u8 {
    u8::try_from((image * 7 + i) % 251).expect("a small number")
}

fn main() -> Result<(), wgslice::Error> {
    let backend = Backend::cpu().with_threads(1);
    // The spec selects the middle of each image, mirrored.
    let spec = slice![28..1052, 1471..447; -1];
    let next_image = AtomicUsize::new(0);
    let load = || {
        let mut tile_count = 0;
        loop {
            let image = next_image.fetch_add(1, Ordering::Relaxed);
            if image >= IMAGES {
                return Ok(tile_count);
            }
            let bytes: Vec<u8> = (0..SHAPE.iter().product())
                .map(|i| byte(image, i))
                .collect();
            let tile = backend.slice((&bytes, &SHAPE), &spec)?;
            assert_eq!(tile.shape, [1024, 1024, 3]);
            for (i, &tile_byte) in tile.data.iter().enumerate() {
                let (pixel, channel) = (i / 3, i % 3);
                let (row, column) = (28 + pixel / 1024, 1471 - pixel % 1024);
                assert_eq!(
                    tile_byte,
                    byte(image, (row * SHAPE[1] + column) * 3 + channel)
                );
            }
            tile_count += 1;
        }
    };
    let tile_count: usize = thread::scope(|scope| {
        let loaders: Vec<_> = (0..LOADERS).map(|_| scope.spawn(load)).collect();
        let tile_counts = loaders
            .into_iter()
            .map(|loader| loader.join().expect("a loader does not panic"));
        tile_counts.sum::<Result<usize, wgslice::Error>>()
    })?;
    assert_eq!(tile_count, IMAGES);
    println!("{LOADERS} loaders made {tile_count} tiles, each on the thread of its loader");
    Ok(())
}
