//! Chooses the shapes of a result's shards and chunks if the user gives none, and checks the shapes that the user
//! gives.

use super::prepared::Form;
use crate::zarr::{Error, product};
use serde_json::{Value, json};
use std::fmt::Display;
use wgslice::DType;

/// The maximum decoded size in bytes of a shard for which this module chooses the shape, unless a given chunk is
/// larger. If the source has chunks, it is also the maximum size of a chosen chunk.
const MAX_SHARD_BYTES: usize = 32 << 20;
/// The maximum decoded size in bytes of a chosen chunk if the source is an `.npy` file, which has no chunks.
const MAX_CHUNK_BYTES_OF_NPY: usize = 1 << 20;

/// Returns the shape of a result's shards and the shape of its chunks. For each dimension of the result, `chunk_sizes`
/// has a size of chunks that suits the source's chunks, or `None` if the source has no chunks. Fails if the result is
/// too large, or if the shapes in `form` do not fit it.
pub(super) fn choose(
    shape: &[usize],
    element_bytes: usize,
    chunk_sizes: &[Option<usize>],
    form: &Form,
) -> Result<(Vec<usize>, Vec<usize>), Error> {
    let bytes = |sizes: &[usize]| {
        let bytes = sizes
            .iter()
            .try_fold(element_bytes, |n, &size| n.checked_mul(size.max(1)));
        bytes.filter(|&bytes| bytes <= isize::MAX.unsigned_abs())
    };
    if bytes(shape).is_none() {
        return Err(Error::usage(format_args!(
            "the result would have shape {shape:?}, which is larger than a machine can count: make it smaller"
        )));
    }
    for (option, sizes) in [("--shard", &form.shard), ("--chunk", &form.chunk)] {
        let Some(sizes) = sizes else { continue };
        let unfit = |rule: &dyn Display| {
            Error::usage(format_args!("{option} is {sizes:?}, but must have {rule}"))
        };
        if sizes.len() != shape.len() {
            let rule = format!(
                "a size for each of the {} dimensions of the result {shape:?}",
                shape.len()
            );
            return Err(unfit(&rule));
        }
        if sizes.contains(&0) || bytes(sizes).is_none() {
            return Err(unfit(
                &"sizes of 1 or more, of no more bytes than a machine can address",
            ));
        }
    }
    let mut chunk_shape = match &form.chunk {
        Some(chunk_shape) => chunk_shape.clone(),
        None => chunk_shape_like(shape, element_bytes, chunk_sizes),
    };
    match &form.shard {
        Some(shard_shape) if form.chunk.is_some() => {
            let fits = shard_shape
                .iter()
                .zip(&chunk_shape)
                .all(|(shard, chunk)| shard % chunk == 0);
            if !fits {
                return Err(Error::usage(format_args!(
                    "--shard {shard_shape:?} must be multiples of --chunk {chunk_shape:?}"
                )));
            }
            Ok((shard_shape.clone(), chunk_shape))
        }
        Some(shard_shape) => {
            for (chunk, &shard) in chunk_shape.iter_mut().zip(shard_shape) {
                *chunk = (1..=shard.min(*chunk))
                    .rev()
                    .find(|&size| shard % size == 0)
                    .unwrap_or(1);
            }
            Ok((shard_shape.clone(), chunk_shape))
        }
        None => Ok((
            grow_to_shard(shape, element_bytes, &chunk_shape),
            chunk_shape,
        )),
    }
}

/// Chooses the shape of a chunk. Starts with the shape of the source's chunks or, if the source has none, with the
/// shape of the result. Halves the largest dimension repeatedly until the chunk is small enough.
fn chunk_shape_like(
    shape: &[usize],
    element_bytes: usize,
    chunk_sizes: &[Option<usize>],
) -> Vec<usize> {
    let sizes = shape.iter().zip(chunk_sizes);
    let mut chunk_shape: Vec<usize> = sizes
        .map(|(&size, chunk)| chunk.unwrap_or(size).min(size).max(1))
        .collect();
    let has_source_chunks = chunk_sizes.iter().all(Option::is_some);
    let max_bytes = if has_source_chunks {
        MAX_SHARD_BYTES
    } else {
        MAX_CHUNK_BYTES_OF_NPY
    };
    while product(&chunk_shape) * element_bytes > max_bytes {
        // If several dimensions are the largest, the last of them is halved.
        let Some(largest_size) = chunk_shape.iter_mut().max_by_key(|size| **size) else {
            break;
        };
        *largest_size = largest_size.div_ceil(2);
    }
    chunk_shape
}

/// Chooses the shape of a shard. Repeatedly doubles the number of chunks along the dimension with the fewest chunks, up
/// to the result's size, until one more doubling would exceed [`MAX_SHARD_BYTES`]. Shards are large because a source
/// chunk that several shards need is read for each of them.
fn grow_to_shard(shape: &[usize], element_bytes: usize, chunk_shape: &[usize]) -> Vec<usize> {
    let mut chunk_counts = vec![1; chunk_shape.len()];
    loop {
        let max_count = |dim: usize| shape[dim].div_ceil(chunk_shape[dim]);
        let shard_shape = |counts: &[usize]| -> Vec<usize> {
            counts
                .iter()
                .zip(chunk_shape)
                .map(|(count, chunk)| count * chunk)
                .collect()
        };
        let next_dim = (0..chunk_shape.len()).filter(|&dim| chunk_counts[dim] < max_count(dim));
        let Some(next_dim) = next_dim.min_by_key(|&dim| chunk_counts[dim]) else {
            return shard_shape(&chunk_counts);
        };
        let mut larger_counts = chunk_counts.clone();
        larger_counts[next_dim] = (2 * larger_counts[next_dim]).min(max_count(next_dim));
        if product(&shard_shape(&larger_counts)) * element_bytes > MAX_SHARD_BYTES {
            return shard_shape(&chunk_counts);
        }
        chunk_counts = larger_counts;
    }
}

/// Returns the fill value zero, as in Zarr's JSON.
pub(super) fn zero(dtype: DType) -> Value {
    match dtype {
        DType::Bool => json!(false),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => json!(0.0),
        DType::Complex64 | DType::Complex128 => json!([0.0, 0.0]),
        _ => json!(0),
    }
}
