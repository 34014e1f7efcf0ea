//! Stores of chunked arrays: reads and writes Zarr V3, including sharding, and reads Zarr V2 and `.npy` files.
//!
//! | module | content |
//! |---|---|
//! | `error` | the errors of stores and jobs; only failed reads and writes are tried again |
//! | `allocate` | memory whose size users and stores choose |
//! | `buffer` | the memory in which a shard is made |
//! | `dtype` | which element types of Zarr are element types of wgslice |
//! | `location` | the location of a store: a folder, or a URL |
//! | `store` | reads values under keys, and defines the operations of a place for values |
//! | `folder` | a folder as a place for values |
//! | `objects` | an object store as a place for values |
//! | `ahead` | requests to remote stores before their answers are needed |
//! | `cache` | decoded chunks that several shards need |
//! | `codec` | how the chunks of a new store are compressed |
//! | `codecs` | codecs that `zarrs` lacks or has in a slow form |
//! | `consolidated` | groups whose consolidated metadata is out of date |
//! | `metadata` | the metadata of an array, in one form for all writers |
//! | `numcodecs` | the codecs of numcodecs |
//! | `open` | opens arrays, or explains why a name is not an array |
//! | `source` | an array that is read chunk by chunk |
//! | `target` | a new array that is written shard by shard |
//! | `encode` | the bytes of a shard as they are stored |
//! | `excerpt` | copies of parts of chunks |
//! | `index` | the index of a shard |
//! | `npy` | arrays in `.npy` files |

mod ahead;
pub(crate) mod allocate;
mod buffer;
mod cache;
mod codec;
mod codecs;
mod consolidated;
mod dtype;
mod encode;
mod error;
mod excerpt;
mod folder;
mod index;
mod location;
mod metadata;
pub mod npy;
mod numcodecs;
#[cfg(feature = "object-stores")]
pub(crate) mod objects;
mod open;
mod source;
mod store;
mod target;

pub use cache::Chunk;
pub use codec::Codec;
pub use consolidated::stale;
pub use error::Error;
pub use location::is_store;
pub use source::{Reader, Source};
pub use target::{Layout, Target};

pub(crate) use ahead::{Ahead, Need, Needs};
pub(crate) use buffer::{Buffer, SHARD_PURPOSE};
pub(crate) use cache::Cache;
pub(crate) use encode::Tile;
pub(crate) use excerpt::{Excerpt, Positions};
pub(crate) use folder::Folder;
pub(crate) use location::{Location, is_url};
pub(crate) use store::{JOB_FOLDER, JOB_RECORD, Piece, Place, Store, Unread, place};

/// Returns the number of elements in an array of this shape, or of chunks in a grid of this shape.
pub(crate) fn product(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Returns, for each dimension of an array in row-major order, the distance in elements between neighbouring positions.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim];
    }
    strides
}

/// Returns the coordinates of element `number` in row-major order.
pub(crate) fn coordinates(mut number: usize, shape: &[usize]) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (at, &size) in at.iter_mut().zip(shape).rev() {
        *at = number % size.max(1);
        number /= size.max(1);
    }
    at
}

/// Returns the number of chunks in each dimension of an array. The last chunks can extend beyond the array's end.
pub(crate) fn grid(shape: &[usize], chunk: &[usize]) -> Vec<usize> {
    let sizes = shape.iter().zip(chunk);
    sizes.map(|(&size, &chunk)| size.div_ceil(chunk)).collect()
}
