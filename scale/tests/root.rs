//! Contains all integration tests in one binary, so that the engines are linked only once.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "sql")]
mod columns;
mod concat;
mod conversion;
mod crop;
#[cfg(feature = "sql")]
mod functions;
mod gather;
mod index;
mod lengths;
#[cfg(feature = "sql")]
mod masks;
mod metadata;
#[cfg(not(feature = "cluster"))]
mod missing_features;
mod ndsel;
#[cfg(feature = "object-stores")]
mod objects;
mod random;
mod slice;
#[cfg(feature = "sql")]
mod sql;
mod stores;
#[cfg(feature = "sql")]
mod tables;
#[cfg(feature = "sql")]
mod tensor_convert;
#[cfg(any(
    feature = "cluster",
    feature = "object-stores",
    all(feature = "sql", target_os = "linux")
))]
mod wait;
mod zarr;
