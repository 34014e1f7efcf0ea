//! The command `wgslice-scale`.

fn main() {}
