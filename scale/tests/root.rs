//! All tests, in one binary, so that the engines are linked only once.

#[cfg(feature = "cluster")]
mod cluster;
mod functions;
mod gather;
#[cfg(feature = "object-stores")]
mod objects;
mod random;
mod slice;
mod sql;
mod tables;
#[cfg(any(feature = "cluster", feature = "object-stores"))]
mod wait;
mod zarr;
