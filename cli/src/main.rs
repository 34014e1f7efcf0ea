//! The `wgslice` command.

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        unused_imports,
        reason = "called by the command, which comes next"
    )
)]
mod files;

fn main() {}
