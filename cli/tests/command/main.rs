//! Tests the built command as a user runs it.

mod bad_input;
mod bench;
mod compare;
mod devices;
mod eyes;
#[cfg(target_os = "linux")]
mod files;
mod formats;
mod gather_nd;
mod help;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod operations;
mod pipes;
#[cfg(target_os = "linux")]
mod signals;
mod slice;
#[cfg(target_os = "linux")]
mod stdout;
mod stream;
mod support;
mod typed;
mod types;
mod verify;
