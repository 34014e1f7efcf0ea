//! Compares wgslice on the CPU with `memcpy`, plain loops and ndarray.
//!
//! | argument | what it times |
//! |---|---|
//! | `loader` | batches of rows of a memory-mapped `.npy` file, for one epoch |
//! | `small` | slices of 512 bytes to 64 KiB, gathers of 256 bytes to 2 MiB |
//! | `large [THREADS]` | slices, gathers and transposes with results of about 64 MiB |
//! | `crop` | 64 random crops of images |
//! | `paste` | boxes of images written back, and tokens appended to a cache |
//! | `sum` | transposes, and a sum of their results right after them |
//! | `assemble` | concat, stack, pad, roll, tile and repeat with results of 64 to 128 MiB |
//! | `select [THREADS]` | masks, index expressions with arrays, boxes, and XLA's gather and scatter |
//! | `estimate` | workloads of `wgslice bench` and assemblies, compared with estimates; needs the feature `gpu` |
//!
//! Without an argument, it times all of them. `README.md` describes how to run the program.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sizes and positions are small"
)]

mod assemble;
mod common;
mod crop;
#[cfg(feature = "gpu")]
mod estimate;
mod large;
mod loader;
mod paste;
mod select;
mod small;
mod sum;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let wanted_name = arguments.next().unwrap_or("all".into());
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let names = [
        "all", "loader", "small", "large", "crop", "paste", "sum", "assemble", "select", "estimate",
    ];
    if !names.contains(&&*wanted_name) {
        return Err(format!("'{wanted_name}' is not one of {}", names.join(", ")).into());
    }
    if wanted_name == "estimate" && cfg!(not(feature = "gpu")) {
        return Err("'estimate' needs cargo's option --features gpu".into());
    }
    let is_wanted = |name: &str| wanted_name == "all" || wanted_name == name;
    if is_wanted("loader") {
        loader::loader()?;
    }
    if is_wanted("small") {
        small::small()?;
    }
    if is_wanted("large") {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        pool.install(|| large::large(threads))
            .expect("large results");
    }
    if is_wanted("sum") {
        sum::sum()?;
    }
    if is_wanted("crop") {
        crop::crop()?;
    }
    if is_wanted("paste") {
        paste::paste()?;
    }
    if is_wanted("assemble") {
        assemble::assemble()?;
    }
    #[cfg(feature = "gpu")]
    if is_wanted("estimate") {
        estimate::estimate()?;
    }
    if is_wanted("select") {
        select::select(threads)?;
    }
    Ok(())
}
