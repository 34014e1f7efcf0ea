//! `wgslice crop`.

use crate::{
    args::{Global, Integers, Policy, Sizes, To},
    failure::Failure,
    files::{self, Array, Indices},
    job::Job,
};
use std::process::ExitCode;
use wgslice::{
    Backend, DType, Error, Plan, Tensor,
    options::{Boxes, CropOptions},
};

/// Crop a box out of each item of IN: jax.lax.dynamic_slice for a whole batch, with strides and flips
///
/// IN, BEGINS and the other files are .npy, .png or FILE.safetensors#TENSOR. The first dimension of
/// IN numbers the items. BEGINS has a row for each box and a column for each number of --size.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice crop images.npy begins.npy --size 224,224 -o crops.npy
  wgslice crop images.npy begins.npy --size 224,224 --flips flips.npy -o crops.npy
  wgslice crop frames.npy begins.npy --size 64,64 --box-indices frame.npy \\
    --out-of-range clamp -o crops.npy")]
pub(crate) struct Crop {
    /// The array to crop
    #[arg(value_name = "IN")]
    input: String,
    /// Where each box begins
    begins: String,
    /// The size of all boxes along the dimensions after the first
    #[arg(long, value_name = "N,M,...")]
    size: Sizes,
    /// Which item each box is of, from 0 [default: box n is of item n]
    #[arg(long, value_name = "FILE")]
    box_indices: Option<String>,
    /// Along which dimensions each box is reversed: an array of bool or uint8, of the shape of BEGINS
    #[arg(long, value_name = "FILE")]
    flips: Option<String>,
    /// The distance between neighbouring elements of a box along these dimensions [default: 1]
    #[arg(long, value_name = "N,M,...", allow_hyphen_values = true)]
    strides: Option<Integers>,
    /// What to do with a box that reaches outside: its elements there become zeros, with a warning;
    /// the command fails; or the box is shifted until it lies inside
    #[arg(long, value_enum, default_value_t = Policy::Zero, value_name = "POLICY", hide_possible_values = true)]
    out_of_range: Policy,
    #[command(flatten)]
    to: To,
}

pub(crate) fn run(global: &Global, args: &Crop) -> Result<ExitCode, Failure> {
    let strides = args.strides.iter().flat_map(|Integers(strides)| strides);
    let stride = |&stride: &i64| {
        let beyond =
            format_args!("--strides has {stride}, beyond the largest stride of this machine")
                .to_string();
        isize::try_from(stride).map_err(|_| Failure::usage(beyond))
    };
    let options = CropOptions {
        sizes: args.size.0.clone(),
        strides: strides.map(stride).collect::<Result<_, _>>()?,
        out_of_range: args.out_of_range.into(),
    };
    let read = |path: &Option<String>| path.as_deref().map(files::read).transpose();
    let (items, flips) = (read(&args.box_indices)?, read(&args.flips)?);
    let job = Job {
        values: &[&args.input],
        indices: Some(&args.begins),
        to: &args.to,
        bad: "became zeros where they lie outside",
    };
    job.run(
        global,
        |shapes| {
            let boxes = Boxes {
                count: shapes.indices.first().copied().unwrap_or(0),
                box_indices: items.is_some(),
                flips: flips.is_some(),
            };
            Plan::crop(&shapes.values[0], boxes, &options, shapes.dtype)
        },
        |tensors| {
            let (x, begins) = (tensors.value(0), tensors.indices());
            let on_device = |array: &Option<Array>, dtype| {
                let upload = |array| upload(array, dtype, x.backend());
                array.as_ref().map(upload).transpose()
            };
            let items = on_device(&items, Some(begins.dtype()))?;
            let flips = on_device(&flips, None)?;
            x.crop(begins, items.as_ref(), flips.as_ref(), &options)
        },
    )
}

/// Uploads an array. If `index` is given, integers are uploaded as indices: of type `index`, or as 64-bit integers if
/// `index` does not hold every value of their element type. Every other array is uploaded unchanged.
fn upload(array: &Array, index: Option<DType>, backend: &Backend) -> Result<Tensor, Error> {
    let shape = array.shape();
    match (index, files::to_indices(array)) {
        (Some(DType::I64), Ok(Indices::I32(indices))) => {
            let wide: Vec<i64> = indices.into_iter().map(i64::from).collect();
            backend.upload((&wide, shape))
        }
        (Some(DType::I32), Ok(Indices::I32(indices))) => backend.upload((&indices, shape)),
        (Some(_), Ok(Indices::I64(indices))) => backend.upload((&indices, shape)),
        _ => Tensor::from_bytes(backend, array.bytes().to_vec(), array.dtype(), shape),
    }
}
