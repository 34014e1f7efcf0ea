//! `wgslice slice-update`.

use crate::{
    args::{Global, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

/// Overwrite a slice of a copy of IN with VALUE: x[SPEC] = VALUE
///
/// VALUE has the slice's shape, or one that broadcasts to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice slice-update photo.png '100:400, ::-1' patch.png -o patched.png
  wgslice slice-update x.npy '..., 0' zero.npy -o cleared.npy --device cpu")]
pub(crate) struct SliceUpdate {
    /// The array
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// The content of the brackets of x[...] in Python
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
    /// The values
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &SliceUpdate) -> Result<ExitCode, Failure> {
    let spec = args.spec.parse().map_err(Failure::refused("SPEC"))?;
    let job = Job {
        values: &[&args.input, &args.value],
        indices: None,
        to: &args.to,
        bad: "",
    };
    job.run(
        global,
        |shapes| {
            let [input, value] = [&shapes.values[0], &shapes.values[1]];
            Plan::slice_update(input, &spec, value, shapes.dtype)
        },
        |tensors| {
            let mut updated = tensors.value(0).clone();
            updated.slice_update(&spec, tensors.value(1))?;
            Ok(updated)
        },
    )
}
