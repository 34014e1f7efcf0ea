//! The tests, in one binary so that the engines link once.

#[cfg(feature = "cluster")]
mod cluster;
mod functions;
mod random;
mod sql;
mod tables;
