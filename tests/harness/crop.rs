//! Runs crops on drawn devices and compares the results with the reference. If a crop reads a view, the reference crops
//! a copy of the elements that the view selects.

use super::{
    DTYPE_OF_EACH_SIZE, Device, assert_same,
    call::out_of_range,
    devices, elements,
    gather::{TypedIndices, view},
    kind, to_bytes,
};
use wgslice::{
    DType, Error, Plan, Report, Tensor,
    options::{Boxes, OutOfRange},
};
use wgslice_vectors::Crop;

/// Checks a crop on drawn devices against the reference. `case_number` chooses the only element size, index type and
/// policy of the check, because every shader takes a while to compile.
#[track_caller]
pub(crate) fn check_crop(case_number: usize, crop: &Crop<'_>) {
    let dtype = DTYPE_OF_EACH_SIZE[case_number % DTYPE_OF_EACH_SIZE.len()];
    let mut typed_indices = TypedIndices::in_all_types(&crop.from.indices.data);
    let typed_indices =
        typed_indices.swap_remove(case_number / DTYPE_OF_EACH_SIZE.len() % typed_indices.len());
    let boxes = crop
        .boxes
        .of(crop.sizes.len(), typed_indices.borrow().dtype());
    let options = crop.options(out_of_range(crop.from.indexing, case_number));
    let (shape, steps) = (&crop.from.params.tensor.shape, &crop.from.params.view);
    let source = elements(shape.iter().product());
    let whole = (shape.to_vec(), source.clone());
    let viewed = steps.iter().try_fold(whole, |at, step| step.of_values(at));
    let expected = viewed.and_then(|(shape, values)| crop.cropped(&values, &shape));
    let plan = view(shape, steps).and_then(|view| Plan::crop(view, boxes, &options, dtype));
    let (plan, expected) = match (plan, &expected) {
        (Ok(plan), Ok(expected)) => (plan, expected),
        (Err(error), Err(expected)) => {
            return assert_eq!(kind(&error), expected.kind, "{crop:?}: {error}");
        }
        (plan, expected) => panic!("{crop:?}: {plan:?}, {expected:?}"),
    };
    assert_eq!(plan.shape(), expected.shape, "{crop:?}");
    let values = to_bytes(&expected.values, dtype.size());
    let source = to_bytes(&source, dtype.size());
    let (depth, index_count) = (crop.from.indices.shape[1], crop.from.indices.data.len());
    // A GPU can reject a crop with more than four dimensions in addition to the dimension of the boxes, or with offsets
    // beyond the range of i32.
    let reach = |(&size, &stride): (&usize, &i64)| {
        (size.max(1) as u64 - 1).saturating_mul(stride.unsigned_abs())
    };
    let max_reach = crop.sizes.iter().zip(&crop.strides).map(reach).max();
    let can_exceed_limits = plan.shape().len() > 5 || max_reach > Some(i32::MAX as u64);
    let can_run = |device: &&Device| device.can_run(source.len(), values.len());
    for device in devices().iter().filter(can_run) {
        let describe = || format!("{}: {crop:?}: {typed_indices:?}: {plan}", device.name);
        let outcome = match device.uses_tensors {
            true => device.crop(dtype, &source, &typed_indices, crop, options.out_of_range),
            false => device
                .run(&plan, &source, Some(typed_indices.borrow()))
                .map(|(bytes, report)| (bytes, report.expect("a crop reports"))),
        };
        let (first, out_of_range_count) = match outcome {
            Ok((got, report)) => {
                let is_error_policy = options.out_of_range == OutOfRange::Error;
                assert!(
                    !is_error_policy || expected.bad_rows.is_empty(),
                    "{}",
                    describe()
                );
                assert_same(&values, &got, dtype.size(), &describe);
                let valid_counts = [0, crop.boxes.count];
                assert!(valid_counts.contains(&report.tuples), "{}", describe());
                (report.first, report.out_of_range)
            }
            Err(Error::InvalidIndices(report)) if options.out_of_range == OutOfRange::Error => {
                (report.first, report.out_of_range)
            }
            Err(Error::DeviceLimit { .. }) if can_exceed_limits && !device.backend.is_cpu() => {
                continue;
            }
            Err(Error::DeviceLimit { .. }) if device.splits_tuples(depth, index_count) => continue,
            Err(error) => panic!("{}: {error}", describe()),
        };
        assert_eq!(
            out_of_range_count,
            expected.bad_rows.len(),
            "{}",
            describe()
        );
        let tuple = |&tuple_number: &usize| {
            let depth = crop.from.indices.shape[1];
            let reported_length = usize::from(crop.boxes.box_indices) + crop.sizes.len();
            wgslice::error::InvalidIndex {
                tuple: tuple_number,
                position: vec![tuple_number],
                index: crop.from.indices.data[tuple_number * depth..][..reported_length].to_vec(),
                shape: view(shape, steps).unwrap().shape().to_vec(),
            }
        };
        assert_eq!(
            first.map(|first| *first),
            expected.bad_rows.first().map(tuple),
            "{}",
            describe()
        );
    }
}

/// Makes boxes from start indices and, if given, box indices and flips.
pub(crate) fn boxes_of<'t>(
    begins: &'t Tensor,
    box_indices: Option<&'t Tensor>,
    flips: Option<&'t Tensor>,
) -> Boxes<&'t Tensor> {
    let boxes = Boxes::new(begins);
    let boxes = box_indices.map_or(boxes, |box_indices| boxes.of_items(box_indices));
    flips.map_or(boxes, |flips| boxes.flipped(flips))
}

impl Device {
    /// Runs a crop on tensors. Start indices, box indices and flips are separate tensors.
    fn crop(
        &self,
        dtype: DType,
        source: &[u8],
        typed_indices: &TypedIndices,
        crop: &Crop<'_>,
        policy: OutOfRange,
    ) -> Result<(Vec<u8>, Report), Error> {
        let shape = &crop.from.params.tensor.shape;
        let mut params = Tensor::from_bytes(&self.backend, source.to_vec(), dtype, shape)?;
        for step in &crop.from.params.view {
            params = step.of_tensor(&params)?;
        }
        let [box_indices, begins, flips] = crop.parts();
        let upload = |part: &wgslice_vectors::Tensor| {
            let (data, shape) = (&part.data, &part.shape);
            match typed_indices {
                TypedIndices::I32(_) => self.backend.upload((&cast::<i32>(data), shape)),
                TypedIndices::U32(_) => self.backend.upload((&cast::<u32>(data), shape)),
                TypedIndices::I64(_) => self.backend.upload((data, shape)),
            }
        };
        let box_indices = crop
            .boxes
            .box_indices
            .then(|| upload(&box_indices))
            .transpose()?;
        let bits: Vec<bool> = flips.data.iter().map(|&flip| flip != 0).collect();
        let upload_flips = || self.backend.upload((&bits, &flips.shape));
        let flips = crop.boxes.flips.then(upload_flips).transpose()?;
        let begins = upload(&begins)?;
        let boxes = boxes_of(&begins, box_indices.as_ref(), flips.as_ref());
        let (result, report) = params.crop(boxes, &crop.options(policy))?;
        Ok((result.bytes()?.into_owned(), report.wait()?))
    }
}

fn cast<T: TryFrom<i64>>(values: &[i64]) -> Vec<T> {
    let cast = |&value| T::try_from(value).ok();
    let values: Option<Vec<T>> = values.iter().map(cast).collect();
    values.expect("the type holds all values")
}
