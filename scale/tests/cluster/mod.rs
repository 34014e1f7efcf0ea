//! Runs queries and jobs on a cluster of real processes: a scheduler, and executors of one core each.

mod harness;
mod jobs;
#[cfg(feature = "object-stores")]
mod objects;
mod queries;
mod scaling;
