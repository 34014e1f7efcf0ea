//! Crops and pastes: boxes of arrays, and what the command calls their parts.

use super::{
    conversion::{converted, converting},
    upload,
};
use crate::{
    args::{Integers, Policy},
    failure::Failure,
    files::{self, Array, Indices, Source},
    job::{self, Job},
};
use wgslice::{
    Conversion, DType, Error, Plan, Tensor,
    options::{Boxes, CropOptions, PasteOptions},
};

/// The arrays and numbers that describe boxes, besides where they begin.
#[derive(Debug, clap::Args)]
pub(crate) struct Described {
    /// Which item each box is of, from 0 [default: box n is of item n]
    #[arg(long, value_name = "FILE")]
    box_indices: Option<Source>,
    /// Along which dimensions each box is reversed: an array of bool or uint8, of the shape of BEGINS
    #[arg(long, value_name = "FILE")]
    flips: Option<Source>,
    /// The distance between neighbouring elements of a box along these dimensions [default: 1]
    #[arg(long, value_name = "N,M,...", allow_hyphen_values = true)]
    strides: Option<Integers>,
}

impl Described {
    pub(super) fn options(&self, sizes: &[usize], policy: Policy) -> Result<CropOptions, Failure> {
        let strides = self.strides.as_ref().map(Integers::sized);
        Ok(CropOptions {
            sizes: sizes.to_vec(),
            strides: strides.transpose()?.unwrap_or_default(),
            out_of_range: policy.into(),
        })
    }

    /// The items and the flips, as read.
    fn read(&self) -> Result<[Option<Array>; 2], Failure> {
        let read = |source: &Option<Source>| source.as_ref().map(job::array).transpose();
        Ok([read(&self.box_indices)?, read(&self.flips)?])
    }
}

/// The shape of a batch of one item of this shape.
fn batch(item: &[usize]) -> Vec<usize> {
    [&[1], item].concat()
}

/// Where boxes begin, and their items, as integers of one type.
fn indices(begins: &Tensor, items: Option<&Array>) -> Result<(Tensor, Option<Tensor>), Error> {
    let backend = begins.backend();
    let Some(items) = items else {
        return Ok((begins.clone(), None));
    };
    let shape = items.shape();
    let wide = |narrow: Vec<i32>| narrow.into_iter().map(i64::from).collect::<Vec<_>>();
    Ok(match (begins.dtype(), files::to_indices(items)) {
        (DType::I32, Ok(Indices::I64(items))) => {
            let begins = backend.upload((&wide(begins.to_vec()?), begins.shape()))?;
            (begins, Some(backend.upload((&items, shape))?))
        }
        (DType::I64, Ok(Indices::I32(items))) => {
            (begins.clone(), Some(backend.upload((&wide(items), shape))?))
        }
        (_, Ok(Indices::I32(items))) => (begins.clone(), Some(backend.upload((&items, shape))?)),
        (_, Ok(Indices::I64(items))) => (begins.clone(), Some(backend.upload((&items, shape))?)),
        // What is no integer is refused by the library.
        (_, Err(_)) => (begins.clone(), Some(upload(items, begins)?)),
    })
}

/// With `only`, `input` is the only item, and `begins` the begin of its only box.
pub(super) fn crop<'a>(
    input: &'a Source,
    begins: &'a Source,
    described: &Described,
    options: CropOptions,
    conversion: Option<(DType, Conversion)>,
    only: bool,
) -> Result<Job<'a>, Failure> {
    let [items, flips] = described.read()?;
    let (box_indices, flipped) = (items.is_some(), flips.is_some());
    let result = conversion.as_ref().map(|&(result, _)| result);
    let needed = options.clone();
    let plan = move |x: &[usize], count, dtype| {
        let boxes = Boxes {
            count,
            box_indices,
            flips: flipped,
        };
        converted(Plan::crop(x, boxes, &options, dtype)?, conversion.as_ref())
    };
    let job = Job::new([input], move |s| match only {
        true => plan(&batch(&s[0]), 1, s.dtype),
        false => plan(&s[0], s.indices.first().copied().unwrap_or(0), s.dtype),
    });
    let job = job.working(move |t, plan| {
        let one = |x: &Tensor| match only {
            true => x.reshape(&batch(x.shape())),
            false => Ok(x.clone()),
        };
        let begins = match only {
            true => t
                .indices()
                .reshape(&[1, t.indices().shape().iter().product()])?,
            false => t.indices().clone(),
        };
        let (begins, items) = &indices(&begins, items.as_ref())?;
        let x = one(&t[0])?;
        let flags = flips.as_ref().map(|flips| one(&upload(flips, begins)?));
        let flags = flags.transpose()?;
        let (crops, report) = match fit(begins, items.as_ref(), flags.as_ref(), &needed) {
            true => {
                let flips = flips.as_ref().map(|flips| numbers(flips, begins));
                let tuples = tuples(begins, items.as_ref(), flips.transpose()?.as_ref())?;
                let (mut made, report) = Tensor::run(plan, &[&x, &tuples])?;
                (made.swap_remove(0), report)
            }
            // The library refuses arrays that do not fit.
            false => x.crop(begins, items.as_ref(), flags.as_ref(), &needed)?,
        };
        match only {
            true => Ok((crops.reshape(&crops.shape()[1..])?, report)),
            false => Ok((crops, report)),
        }
    });
    let job = job.by(begins, "boxes reach outside and are zeros there");
    let job = match job::name(input) {
        Some(name) => job.calling("the array", name),
        None => job,
    };
    let job = match (box_indices, job::name(begins)) {
        (true, Some(name)) => {
            let with_item = format!("the first, with its item, at {name}");
            job.calling("the first at indices", with_item)
        }
        _ => job,
    };
    let job = boxed(job).calling(
        "box_indices that say of which item each box is",
        "--box-indices that say of which item each box is, or --at for a single item such as a picture",
    );
    Ok(converting(job, result))
}

/// A job whose options the library knows by other names.
fn boxed(job: Job<'_>) -> Job<'_> {
    let names = [
        ("box_indices", "--box-indices"),
        ("flips", "--flips"),
        ("strides are", "--strides are"),
        ("the sizes", "--size"),
        ("pass", "give"),
    ];
    names
        .into_iter()
        .fold(job, |job, (library, command)| job.calling(library, command))
}

/// A crop of one box, of the whole array.
pub(super) fn of_the_only_box<'a>(job: Job<'a>, input: &Source) -> Job<'a> {
    let name = job::name(input).unwrap_or_else(|| "the array".into());
    let names = [
        ("begins has shape [1,", "--at has shape [".to_owned()),
        ("but must have [1,", "but must have [".into()),
        ("begins", "--at".into()),
        ("x [1,", format!("{name} [")),
        ("1 of 1 boxes reach", "the box reaches".into()),
        ("and are zeros", "and is zero".into()),
        (", the first at indices[0] =", ", which begins at".into()),
        ("correct them", "correct it".into()),
    ];
    names
        .into_iter()
        .rev()
        .fold(job, |job, (library, command)| job.calling(library, command))
}

/// Whether the arrays of boxes have the shapes that such a crop needs, and flips their type.
fn fit(begins: &Tensor, items: Option<&Tensor>, flips: Option<&Tensor>, of: &CropOptions) -> bool {
    let &[count, dims] = begins.shape() else {
        return false;
    };
    let is_flag = |flips: &Tensor| matches!(flips.dtype(), DType::Bool | DType::U8);
    dims == of.sizes.len()
        && items.is_none_or(|items| items.shape() == [count] && items.dtype() == begins.dtype())
        && flips.is_none_or(|flips| flips.shape() == [count, dims] && is_flag(flips))
}

/// Flips as numbers, 0 or 1, of the type and shape of `begins`.
fn numbers(flips: &Array, begins: &Tensor) -> Result<Tensor, Error> {
    let flags = flips.bytes().iter().map(|&flag| flag != 0);
    let (backend, shape) = (begins.backend(), begins.shape());
    match begins.dtype() {
        DType::I64 => backend.upload((&flags.map(i64::from).collect::<Vec<_>>(), shape)),
        _ => backend.upload((&flags.map(i32::from).collect::<Vec<_>>(), shape)),
    }
}

/// The tuples of boxes: the item, where the box begins, and its flips.
fn tuples(
    begins: &Tensor,
    items: Option<&Tensor>,
    flips: Option<&Tensor>,
) -> Result<Tensor, Error> {
    let column = |items: &Tensor| items.reshape(&[items.shape()[0], 1]);
    let items = items.map(column).transpose()?;
    let columns = [items.as_ref(), Some(begins), flips];
    Tensor::concat(&columns.into_iter().flatten().collect::<Vec<_>>(), 1)
}

/// Writes the second of `arrays` into a copy of the first.
pub(super) fn paste<'a>(
    arrays: [&'a Source; 2],
    begins: &'a Source,
    described: &Described,
    options: PasteOptions,
) -> Result<Job<'a>, Failure> {
    let [items, flips] = described.read()?;
    let (box_indices, flipped) = (items.is_some(), flips.is_some());
    let planned = options.clone();
    let job = Job::new(arrays, move |s| {
        let count = s.indices.first().copied().unwrap_or(0);
        let boxes = Boxes {
            count,
            box_indices,
            flips: flipped,
        };
        let dims = s.indices.get(1).copied().unwrap_or(0);
        let mut planned = planned.clone();
        planned.crop.sizes = s[1].get(1..=dims).unwrap_or_default().to_vec();
        Plan::paste(&s[0], &s[1], boxes, &planned, s.dtype)
    });
    let job = job.working(move |t, _| {
        let (begins, items) = indices(t.indices(), items.as_ref())?;
        let flips = flips.as_ref().map(|flips| upload(flips, &begins));
        let flips = flips.transpose()?;
        let (items, flips) = (items.as_ref(), flips.as_ref());
        let mut x = t[0].clone();
        let report = x.paste(&t[1], &begins, items, flips, &options)?;
        Ok((x, report))
    });
    let job = job.by(begins, "boxes reach outside and were not written there");
    Ok(boxed(match job::name(arrays[1]) {
        Some(name) => job.calling("patches", name),
        None => job,
    }))
}
