//! The built command, as a user runs it.

mod bad_input;
mod bench;
mod devices;
mod gather_nd;
mod help;
mod operations;
mod slice;
mod stream;
mod support;
mod verify;
