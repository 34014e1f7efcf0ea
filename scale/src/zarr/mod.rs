//! Stores of arrays in chunks: Zarr V3 with sharding, and V2 to read.
