//! Slices arrays and tables that are larger than the memory of one machine, with TensorFlow's semantics.
//!
//! Two kinds of data can exceed the memory of one machine. Each half of this crate handles one of them:
//!
//! - **One array** in a Zarr store. A job makes a result store from a source store, shard by shard: one task reads the
//!   chunks that its shard needs, slices or gathers their elements, and writes the shard under its key in one step. No
//!   task needs another's result, so tasks can be retried, run twice, or left for a later run.
//! - **A table** with a tensor in each row. In SQL, scalar functions slice and gather columns of tensors. All tensors
//!   of a column have one shape, which is part of the column's type.
//!
//! A job runs on threads of this process or, with the feature `cluster`, as a query on a Ballista cluster whose tasks
//! call the same function. With the feature `sql`, queries run in this process on DataFusion, or unchanged on such a
//! cluster.
//!
//! | module | content | feature |
//! |---|---|---|
//! | [`zarr`] | opens and makes stores; reads chunks and writes shards; reads `.npy` files | |
//! | [`job`] | computes a result from a source, one shard or all; counts reads in advance; writes `.npy` files | |
//! | [`partial`] | names files that are not complete yet | |
//! | `engine` | runs queries in this process or on a cluster; starts schedulers and executors | `sql` |
//! | `functions` | the functions for SQL, one file each | `sql` |
//! | `tensor` | defines columns of tensors: their types and their values | `sql` |
//!
//! The command is in `src/main.rs` and `src/commands/`, one file for each subcommand.
#![forbid(unsafe_code)]

#[cfg(feature = "sql")]
pub mod engine;
#[cfg(feature = "sql")]
pub mod functions;
pub mod job;
pub mod partial;
#[cfg(feature = "sql")]
pub mod tensor;
pub mod zarr;
