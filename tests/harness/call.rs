//! Runs the calls of golden vectors and of random cases on drawn devices.

use super::{
    GatherForm, ScatterCase, Sizes, check_block, check_crop, check_gather_from_view, check_grad,
    check_scatter, check_slice, check_update, check_view, devices,
};
use wgslice::options::{
    Combine, GatherNdOptions, GatherOptions, NegativeIndex, OutOfRange, ScatterOptions,
};
use wgslice_vectors::reference::Indexing;
use wgslice_vectors::{
    BatchGather, Call, Case, Gather as GatherCall, GatherNd as GatherNdCall, Gathering, Rows,
    ScatterNd, Slice, StridedSlice, StridedSliceGrad, StridedSliceUpdate, View, check, random,
};

/// Checks on drawn devices that a case has the reference's result. The case determines shapes, indices and arguments,
/// and the harness replaces the elements. Cases of operations without a check in the harness keep their elements and
/// run in one variant.
///
/// The number of the case chooses options that the case leaves open: whether out-of-range indices are an error, how and
/// in which order a scatter combines rows, whether it promises unique rows, and the index type and the element size of
/// a gather or a crop.
#[track_caller]
pub(crate) fn check_case(case: &Case) {
    let number = case.line;
    let sizes = Sizes::One;
    let call = Call::of(case).unwrap();
    match &call {
        Call::StridedSlice(StridedSlice { input, spec }) => check_slice(&input.shape, spec, sizes),
        Call::View(View { input, steps }) => check_view(&input.shape, steps, sizes),
        Call::Slice(Slice { input, begin, size }) => check_block(&input.shape, begin, size, sizes),
        Call::StridedSliceGrad(StridedSliceGrad { shape, spec, dy }) => {
            check_grad(shape, spec, &dy.shape, sizes);
        }
        Call::StridedSliceUpdate(StridedSliceUpdate { input, spec, value }) => {
            check_update(&input.shape, spec, &value.shape, sizes);
        }
        Call::GatherNd(GatherNdCall { from, batch_dims }) => {
            let options = GatherNdOptions {
                batch_dims: (*batch_dims).cast_signed(),
                out_of_range: out_of_range(from.indexing, number),
                negative: negative(from.indexing),
            };
            gather(number, from, GatherForm::GatherNd(options));
        }
        Call::Gather(GatherCall {
            from,
            axis,
            batch_dims,
        }) => {
            let axis = (*axis).try_into().unwrap();
            let options =
                gather_options(number, from, Some(axis), (*batch_dims).try_into().unwrap());
            gather(number, from, GatherForm::Gather(options));
        }
        Call::BatchGather(BatchGather { from }) => {
            let batch_dims = from.indices.shape.len().cast_signed() - 1;
            let options = gather_options(number, from, None, batch_dims);
            gather(number, from, GatherForm::BatchGather(options));
        }
        Call::ScatterNd(ScatterNd { rows, shape }) => {
            // In one of four cases, rows are written into zeros rather than added. No operation of TensorFlow does
            // this.
            let combine = match number % 4 {
                3 => Combine::Update,
                _ => Combine::Add,
            };
            scatter(number, call.is_unique(), shape, rows, true, combine);
        }
        Call::TensorScatterNdUpdate(scattered) | Call::TensorScatterNdAdd(scattered) => {
            let (shape, combine) = (&scattered.tensor.shape, scattered.combine);
            scatter(
                number,
                call.is_unique(),
                shape,
                &scattered.rows,
                false,
                combine,
            );
        }
        Call::Crop(crop) => check_crop(number, crop),
        call => {
            let case = random::answered(case.clone()).unwrap();
            let variant = random::variant(&case).unwrap();
            // A search writes an index tuple for each true element.
            let [depth, count] = match call {
                Call::Nonzero(search) => [search.mask.shape.len(), search.mask.data.len()],
                _ => [0, 0],
            };
            for device in devices() {
                let outcome = check(&case, call, &device.backend, &variant);
                let can_split = device.splits_tuples(depth, depth * count);
                let is_split_tuple = |problem: &String| problem.contains("an index tuple needs");
                if can_split && outcome.as_ref().is_err_and(is_split_tuple) {
                    continue;
                }
                outcome.unwrap_or_else(|problem| panic!("{}: {variant}: {problem}", device.name));
            }
        }
    }
}

fn gather_options(
    number: usize,
    from: &Gathering<'_>,
    axis: Option<isize>,
    batch_dims: isize,
) -> GatherOptions {
    GatherOptions {
        axis,
        batch_dims,
        out_of_range: out_of_range(from.indexing, number),
        negative: negative(from.indexing),
    }
}

#[track_caller]
fn gather(number: usize, from: &Gathering<'_>, form: GatherForm) {
    let params = (&from.params.tensor.shape[..], &from.params.view[..]);
    check_gather_from_view(
        number,
        params,
        (&from.indices.data, &from.indices.shape),
        form,
    );
}

#[track_caller]
fn scatter(
    number: usize,
    is_unique: bool,
    shape: &[usize],
    rows: &Rows<'_>,
    starts_from_zeros: bool,
    combine: Combine,
) {
    check_scatter(ScatterCase {
        shape,
        starts_from_zeros,
        indices: &rows.indices.data,
        indices_shape: &rows.indices.shape,
        updates_shape: &rows.updates.shape,
        options: ScatterOptions {
            combine: Some(combine),
            out_of_range: out_of_range(rows.indexing, number),
            negative: negative(rows.indexing),
            any_order: number / 2 % 2 == 1,
            unique: is_unique && number / 4 % 2 == 1,
        },
    });
}

pub(super) fn out_of_range(indexing: Indexing, number: usize) -> OutOfRange {
    match indexing.clamp {
        true => OutOfRange::Clamp,
        false => [OutOfRange::Ignore, OutOfRange::Error][number % 2],
    }
}

fn negative(indexing: Indexing) -> NegativeIndex {
    match indexing.wrap {
        true => NegativeIndex::Wrap,
        false => NegativeIndex::Invalid,
    }
}
