//! Makes the jobs of crops and pastes, and replaces the library's names for boxes in their errors.

use super::{
    conversion::{WantedConversion, convert_job, convert_plan},
    upload_to_backend_of,
};
use crate::{
    args::{Integers, Policy},
    failure::Failure,
    files::{self, Array, Indices, Source},
    job::{self, Job},
};
use wgslice::{
    DType, Error, Plan, Tensor,
    options::{Boxes, CropOptions, PasteOptions},
};

/// The arrays and numbers that describe boxes, in addition to their starts.
#[derive(Debug, clap::Args)]
pub(crate) struct BoxArguments {
    /// The item of each box, counted from 0 [default: item n for box n]
    #[arg(long, value_name = "FILE")]
    box_indices: Option<Source>,
    /// The dimensions in which each box is reversed: an array of bool or uint8 with the shape of BEGINS
    #[arg(long, value_name = "FILE")]
    flips: Option<Source>,
    /// The distance between neighbouring elements of a box along each of its dimensions [default: 1]
    #[arg(long, value_name = "N,M,...", allow_hyphen_values = true)]
    strides: Option<Integers>,
}

impl BoxArguments {
    pub(super) fn options(&self, sizes: &[usize], policy: Policy) -> Result<CropOptions, Failure> {
        let strides = self.strides.as_ref().map(Integers::to_isizes);
        Ok(CropOptions {
            sizes: sizes.to_vec(),
            strides: strides.transpose()?.unwrap_or_default(),
            out_of_range: policy.into(),
        })
    }

    /// Reads the arrays of `--box-indices` and `--flips`.
    fn read(&self) -> Result<[Option<Array>; 2], Failure> {
        let read = |source: &Option<Source>| source.as_ref().map(job::read_typed_array).transpose();
        Ok([read(&self.box_indices)?, read(&self.flips)?])
    }
}

/// Returns the shape of a batch that consists of one item with this shape.
fn batch_shape(item_shape: &[usize]) -> Vec<usize> {
    [&[1], item_shape].concat()
}

/// Returns the start indices of boxes and the item index of each box, converted to one integer type.
fn unify_index_types(
    begins: &Tensor,
    item_indices: Option<&Array>,
) -> Result<(Tensor, Option<Tensor>), Error> {
    let backend = begins.backend();
    let Some(item_indices) = item_indices else {
        return Ok((begins.clone(), None));
    };
    let shape = item_indices.shape();
    let to_i64 = |indices: Vec<i32>| indices.into_iter().map(i64::from).collect::<Vec<_>>();
    Ok(match (begins.dtype(), files::to_indices(item_indices)) {
        (DType::I32, Ok(Indices::I64(item_indices))) => {
            let begins = backend.upload((&to_i64(begins.to_vec()?), begins.shape()))?;
            (begins, Some(backend.upload((&item_indices, shape))?))
        }
        (DType::I64, Ok(Indices::I32(item_indices))) => (
            begins.clone(),
            Some(backend.upload((&to_i64(item_indices), shape))?),
        ),
        (_, Ok(Indices::I32(item_indices))) => (
            begins.clone(),
            Some(backend.upload((&item_indices, shape))?),
        ),
        (_, Ok(Indices::I64(item_indices))) => (
            begins.clone(),
            Some(backend.upload((&item_indices, shape))?),
        ),
        // The library rejects types other than integers.
        (_, Err(_)) => (
            begins.clone(),
            Some(upload_to_backend_of(item_indices, begins)?),
        ),
    })
}

/// Makes the job of a crop. With `is_single_item`, `input` is a single item, and `begins` is the start of its only box.
pub(super) fn crop_job<'a>(
    input: &'a Source,
    begins: &'a Source,
    box_arguments: &'a BoxArguments,
    options: CropOptions,
    wanted_conversion: Option<WantedConversion<'a>>,
    is_single_item: bool,
) -> Result<Job<'a>, Failure> {
    let [item_indices, flips] = box_arguments.read()?;
    let (has_item_indices, has_flips) = (item_indices.is_some(), flips.is_some());
    let crop_options = options.clone();
    let plan = move |x: &[usize], count, dtype| {
        let depth = tuple_length(options.sizes.len(), has_item_indices, has_flips);
        let boxes = Boxes::of_tuples(&[count, depth], has_item_indices, has_flips);
        convert_plan(
            Plan::crop(x, boxes, &options, dtype)?,
            wanted_conversion,
            dtype,
        )
    };
    let job = Job::new([input], move |s| match is_single_item {
        true => plan(&batch_shape(&s[0]), 1, s.dtype),
        false => plan(&s[0], s.indices.first().copied().unwrap_or(0), s.dtype),
    });
    let job = job.with_work(move |t, plan| {
        let begins = begins_of(t.indices(), is_single_item)?;
        let (begins, item_indices) = &unify_index_types(&begins, item_indices.as_ref())?;
        let x = as_batch(&t[0], is_single_item)?;
        let flip_tensor = flips
            .as_ref()
            .map(|flips| as_batch(&upload_to_backend_of(flips, begins)?, is_single_item));
        let flip_tensor = flip_tensor.transpose()?;
        let (crops, report) = match have_right_shapes(
            begins,
            item_indices.as_ref(),
            flip_tensor.as_ref(),
            &crop_options,
        ) {
            true => {
                let flips = flips.as_ref().map(|flips| flips_as_numbers(flips, begins));
                let tuples =
                    box_tuples(begins, item_indices.as_ref(), flips.transpose()?.as_ref())?;
                let (mut results, report) = Tensor::run(plan, &[&x, &tuples])?;
                (results.swap_remove(0), report)
            }
            // The library rejects arrays that do not fit.
            false => x.crop(
                boxes_of(begins, item_indices.as_ref(), flip_tensor.as_ref()),
                &crop_options,
            )?,
        };
        match is_single_item {
            true => Ok((crops.reshape(&crops.shape()[1..])?, report)),
            false => Ok((crops, report)),
        }
    });
    let job = job.with_indices(begins, "boxes extend outside and are zeros there");
    let job = job.with_item_indices(box_arguments.box_indices.as_ref());
    let job = match job::source_name(input) {
        Some(name) => job.with_argument_name("the array", name),
        None => job,
    };
    let job = match (has_item_indices, job::source_name(begins)) {
        (true, Some(name)) => {
            let with_item = format!("the first, with its item, at {name}");
            job.with_argument_name("the first at indices", with_item)
        }
        _ => job,
    };
    let job = with_box_words(job).with_argument_name(
        "box_indices with the item of each box",
        "--box-indices with the item of each box, or --at for a single item such as a picture",
    );
    Ok(convert_job(job, wanted_conversion))
}

/// Returns the array as a batch. With `is_single_item`, the array is the only item of that batch.
fn as_batch(x: &Tensor, is_single_item: bool) -> Result<Tensor, Error> {
    match is_single_item {
        true => x.reshape(&batch_shape(x.shape())),
        false => Ok(x.clone()),
    }
}

/// Returns the start indices as a row for each box. With `is_single_item`, they are one row.
fn begins_of(begins: &Tensor, is_single_item: bool) -> Result<Tensor, Error> {
    match is_single_item {
        true => begins.reshape(&[1, begins.shape().iter().product()]),
        false => Ok(begins.clone()),
    }
}

/// In errors, replaces the library's names for the options of a crop by the command's names.
fn with_box_words(job: Job<'_>) -> Job<'_> {
    let names = [
        ("box_indices", "--box-indices"),
        ("flips", "--flips"),
        ("strides are", "--strides are"),
        ("the sizes", "--size"),
        ("pass", "give"),
    ];
    names.into_iter().fold(job, |job, (library, command)| {
        job.with_argument_name(library, command)
    })
}

/// Adapts the errors of a job with one box and one item.
pub(super) fn with_only_box<'a>(job: Job<'a>, input: &Source) -> Job<'a> {
    let name = job::source_name(input).unwrap_or_else(|| "the array".into());
    let names = [
        ("begins has shape [1,", "--at has shape [".to_owned()),
        ("but must have [1,", "but must have [".into()),
        ("begins", "--at".into()),
        ("x [1,", format!("{name} [")),
        ("1 of 1 boxes extend", "the box extends".into()),
        ("and are zeros", "and is zero".into()),
        ("and were not written", "and is not written".into()),
        (", the first at indices[0] =", ", which begins at".into()),
        ("correct them", "correct it".into()),
    ];
    names
        .into_iter()
        .rev()
        .fold(job, |job, (library, command)| {
            job.with_argument_name(library, command)
        })
}

/// Returns the number of integers in a box's tuple.
fn tuple_length(dims: usize, has_item_indices: bool, has_flips: bool) -> usize {
    usize::from(has_item_indices) + dims * (1 + usize::from(has_flips))
}

/// Returns the boxes with these start indices and, if given, item indices and flips.
fn boxes_of<'t>(
    begins: &'t Tensor,
    item_indices: Option<&'t Tensor>,
    flips: Option<&'t Tensor>,
) -> Boxes<&'t Tensor> {
    let boxes = Boxes::new(begins);
    let boxes = item_indices.map_or(boxes, |item_indices| boxes.of_items(item_indices));
    flips.map_or(boxes, |flips| boxes.flipped(flips))
}

/// Returns whether the arrays that describe boxes have the shapes that this crop needs, the item indices have the type
/// of `begins`, and the flips are bool or uint8.
fn have_right_shapes(
    begins: &Tensor,
    item_indices: Option<&Tensor>,
    flips: Option<&Tensor>,
    options: &CropOptions,
) -> bool {
    let &[count, dims] = begins.shape() else {
        return false;
    };
    let has_flag_type = |flips: &Tensor| matches!(flips.dtype(), DType::Bool | DType::U8);
    dims == options.sizes.len()
        && item_indices.is_none_or(|item_indices| {
            item_indices.shape() == [count] && item_indices.dtype() == begins.dtype()
        })
        && flips.is_none_or(|flips| flips.shape() == [count, dims] && has_flag_type(flips))
}

/// Returns the flips as numbers 0 and 1, with the type and shape of `begins`.
fn flips_as_numbers(flips: &Array, begins: &Tensor) -> Result<Tensor, Error> {
    let flags = flips.bytes().iter().map(|&flag| flag != 0);
    let (backend, shape) = (begins.backend(), begins.shape());
    match begins.dtype() {
        DType::I64 => backend.upload((&flags.map(i64::from).collect::<Vec<_>>(), shape)),
        _ => backend.upload((&flags.map(i32::from).collect::<Vec<_>>(), shape)),
    }
}

/// Returns an index tuple for each box: its item index, its start indices and its flips.
fn box_tuples(
    begins: &Tensor,
    item_indices: Option<&Tensor>,
    flips: Option<&Tensor>,
) -> Result<Tensor, Error> {
    let column = |item_indices: &Tensor| item_indices.reshape(&[item_indices.shape()[0], 1]);
    let item_indices = item_indices.map(column).transpose()?;
    let columns = [item_indices.as_ref(), Some(begins), flips];
    Tensor::concat(&columns.into_iter().flatten().collect::<Vec<_>>(), 1)
}

/// Makes the job that pastes the second of `arrays` into a copy of the first. With `is_single_item`, the arrays are a
/// single item and its only box.
pub(super) fn paste_job<'a>(
    arrays: [&'a Source; 2],
    begins: &'a Source,
    box_arguments: &'a BoxArguments,
    options: PasteOptions,
    is_single_item: bool,
) -> Result<Job<'a>, Failure> {
    let [item_indices, flips] = box_arguments.read()?;
    let (has_item_indices, has_flips) = (item_indices.is_some(), flips.is_some());
    let plan_options = options.clone();
    let job = Job::new(arrays, move |s| {
        let (x, patches, begins) = match is_single_item {
            true => (
                batch_shape(&s[0]),
                batch_shape(&s[1]),
                vec![1, s.indices.iter().product()],
            ),
            false => (s[0].to_vec(), s[1].to_vec(), s.indices.clone()),
        };
        let boxes = match begins[..] {
            [count, dims] => {
                let depth = tuple_length(dims, has_item_indices, has_flips);
                Boxes::of_tuples(&[count, depth], has_item_indices, has_flips)
            }
            _ => Boxes::new(&begins),
        };
        Plan::paste(&x, &patches, boxes, &plan_options, s.dtype)
    });
    let job = job.with_work(move |t, _| {
        let (begins, item_indices) = unify_index_types(
            &begins_of(t.indices(), is_single_item)?,
            item_indices.as_ref(),
        )?;
        let flips = flips
            .as_ref()
            .map(|flips| as_batch(&upload_to_backend_of(flips, &begins)?, is_single_item));
        let flips = flips.transpose()?;
        let boxes = boxes_of(&begins, item_indices.as_ref(), flips.as_ref());
        let mut x = as_batch(&t[0], is_single_item)?;
        let report = x.paste(&as_batch(&t[1], is_single_item)?, boxes, &options)?;
        match is_single_item {
            true => Ok((x.reshape(&x.shape()[1..])?, report)),
            false => Ok((x, report)),
        }
    });
    let job = job.with_indices(begins, "boxes extend outside and were not written there");
    let job = job.with_item_indices(box_arguments.box_indices.as_ref());
    let job = job.with_argument_name(
        "box_indices with the item of each box",
        "--box-indices with the item of each box, or --at for a single item such as a picture",
    );
    let names = [
        ("patches", job::source_name(arrays[1])),
        ("the array", job::source_name(arrays[0])),
    ];
    let job = names
        .into_iter()
        .fold(with_box_words(job), |job, (library, name)| match name {
            Some(name) => job.with_argument_name(library, name),
            None => job,
        });
    Ok(match is_single_item {
        true => with_only_box(job.without_first_dim(), arrays[0]),
        false => job,
    })
}
