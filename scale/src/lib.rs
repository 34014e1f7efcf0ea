//! Slices arrays and tables larger than one machine, with TensorFlow's semantics, on DataFusion and Ballista.
//!
//! Two kinds of data outgrow one machine, and each half of this crate is for one of them:
//!
//! - **One array** in a Zarr store. A job makes a result store from a source store, shard by shard: one task reads the
//!   chunks that its shard needs, slices or gathers their elements, and writes the shard under its key in one step. No
//!   task needs the result of another, so tasks may be retried, run twice, or left for a later run.
//! - **A table** with a tensor in each row. In SQL, scalar functions slice and gather columns of tensors. All tensors
//!   of a column have one shape, which is part of the column's type.
//!
//! Jobs and SQL both run as queries: in this process by DataFusion, or unchanged on a Ballista cluster.
//!
//! | module | content |
//! |---|---|
//! | [`engine`] | runs queries in this process or on a cluster; starts schedulers and executors |
//! | [`functions`] | the functions for SQL, one file each |
//! | [`tensor`] | columns of tensors: their types, their values |
//! | [`zarr`] | opens and makes stores; reads chunks and writes shards; reads `.npy` files |
//! | [`job`] | makes a result from a source: the list of tasks, one task, a whole run, its explanation; writes `.npy` files |
//! | [`partial`] | the names of files that are not complete yet |
//!
//! The command is in `src/main.rs` and `src/commands/`, one file for each subcommand.
#![forbid(unsafe_code)]

pub mod engine;
pub mod functions;
pub mod job;
pub mod partial;
pub mod tensor;
pub mod zarr;
