//! Checks slice updates, gradients of slices, and slices by start index and size against the reference, on drawn
//! devices.

use super::{DTYPE_OF_EACH_SIZE, Device, Sizes, UNWRITTEN, assert_same, elements, kind, to_bytes};
use std::borrow::Cow;
use wgslice::{DType, Error, Plan, SliceSpec, Tensor, spec::TfStridedSlice};
use wgslice_vectors::reference::{self, ReferenceError};
use wgslice_vectors::spec_of;

/// The elements of the reference's result, or its error.
type Expected = Result<Vec<u128>, ReferenceError>;

/// Checks an update in place against the reference.
#[track_caller]
pub(crate) fn check_update(
    shape: &[usize],
    encoded: &TfStridedSlice,
    value_shape: &[usize],
    sizes: Sizes,
) {
    let input = elements(shape.iter().product());
    let value: Vec<u128> = elements(value_shape.iter().product())
        .iter()
        .map(|element| !element | 1)
        .collect();
    let spec = spec_of(encoded);
    let expected = reference::strided_slice_update(&input, shape, &spec, &value, value_shape);
    let case = || format!("{shape:?} {encoded:?} = {value_shape:?}");
    let devices = sizes.draw_devices();
    for dtype in DTYPE_OF_EACH_SIZE {
        let plan = |spec: &SliceSpec| Plan::slice_update(shape, spec, value_shape, dtype);
        let Some((plan, spec, expected)) = plan_and_expected(encoded, plan, &expected, &case)
        else {
            continue;
        };
        assert!(plan.is_in_place() && plan.shape() == shape, "{}", case());
        let bytes = |elements: &[u128]| to_bytes(elements, dtype.size());
        let (input, value, expected) = (bytes(&input), bytes(&value), bytes(expected));
        let can_run = |device: &&Device| device.can_run(value.len(), expected.len());
        for device in devices(dtype).into_iter().filter(can_run) {
            let describe = || format!("{}: {}: {plan}", device.name, case());
            let array = (dtype, shape, &input[..]);
            match device.update(array, (&spec, &plan), (value_shape, &value)) {
                Ok(got) => assert_same(&expected, &got, dtype.size(), &describe),
                Err(error) => panic!("{}: {error}", describe()),
            }
        }
    }
}

/// Checks the gradient of a slice against the reference.
#[track_caller]
pub(crate) fn check_grad(
    shape: &[usize],
    encoded: &TfStridedSlice,
    dy_shape: &[usize],
    sizes: Sizes,
) {
    let dy = elements(dy_shape.iter().product());
    let expected = reference::strided_slice_grad(shape, &spec_of(encoded), &dy, dy_shape);
    let case = || format!("{shape:?} {encoded:?} of {dy_shape:?}");
    let devices = sizes.draw_devices();
    for dtype in DTYPE_OF_EACH_SIZE {
        let plan = |spec: &SliceSpec| Plan::slice_grad(shape, spec, dy_shape, dtype);
        let Some((plan, spec, expected)) = plan_and_expected(encoded, plan, &expected, &case)
        else {
            continue;
        };
        assert!(!plan.is_in_place() && plan.shape() == shape, "{}", case());
        let bytes = |elements: &[u128]| to_bytes(elements, dtype.size());
        let (dy, expected) = (bytes(&dy), bytes(expected));
        let can_run = |device: &&Device| device.can_run(dy.len(), expected.len());
        for device in devices(dtype).into_iter().filter(can_run) {
            let describe = || format!("{}: {}: {plan}", device.name, case());
            match device.grad((dtype, shape), (&spec, &plan), (dy_shape, &dy)) {
                Ok(got) => assert_same(&expected, &got, dtype.size(), &describe),
                Err(error) => panic!("{}: {error}", describe()),
            }
        }
    }
}

/// Checks a slice by start index and size against the reference.
#[track_caller]
pub(crate) fn check_block(shape: &[usize], begin: &[i64], size: &[i64], sizes: Sizes) {
    let input = elements(shape.iter().product());
    let expected = reference::slice(&input, shape, begin, size);
    let case = || format!("{shape:?} from {begin:?} of {size:?}");
    let devices = sizes.draw_devices();
    for dtype in DTYPE_OF_EACH_SIZE {
        let planned = SliceSpec::block(shape, begin, size)
            .and_then(|block| Ok((Plan::slice(shape, &block, dtype)?, block)));
        let ((plan, block), (result_shape, values)) = match (planned, &expected) {
            (Ok(plan), Ok(expected)) => (plan, expected),
            (Err(error), Err(expected)) => {
                assert_eq!(kind(&error), expected.kind, "{}", case());
                continue;
            }
            (plan, expected) => panic!("{}: {plan:?}, {expected:?}", case()),
        };
        assert_eq!(plan.shape(), result_shape, "{}", case());
        let (source, values) = (
            to_bytes(&input, dtype.size()),
            to_bytes(values, dtype.size()),
        );
        let can_run = |device: &&Device| device.can_run(source.len(), values.len());
        for device in devices(dtype).into_iter().filter(can_run) {
            let describe = || format!("{}: {}: {plan}", device.name, case());
            let got = if device.uses_tensors {
                let tensor =
                    Tensor::from_bytes(&device.backend, source.clone(), dtype, shape).unwrap();
                let block = tensor.slice(&block).unwrap();
                block.bytes().unwrap().into_owned()
            } else {
                device.run(&plan, &source, None).unwrap().0
            };
            assert_same(&values, &got, dtype.size(), &describe);
        }
    }
}

/// Returns the plan, the slice and the expected elements, or `None` if library and reference report the same error.
#[track_caller]
fn plan_and_expected<'a>(
    encoded: &TfStridedSlice,
    make_plan: impl Fn(&SliceSpec) -> Result<Plan, Error>,
    expected: &'a Expected,
    case: &dyn Fn() -> String,
) -> Option<(Plan, SliceSpec, &'a [u128])> {
    let planned =
        SliceSpec::try_from(encoded).and_then(|spec| make_plan(&spec).map(|plan| (plan, spec)));
    match (planned, expected) {
        (Ok((plan, spec)), Ok(expected)) => Some((plan, spec, expected)),
        (Err(error), Err(expected)) => {
            assert_eq!(kind(&error), expected.kind, "{}", case());
            None
        }
        (planned, expected) => panic!("{}: {planned:?}, {expected:?}", case()),
    }
}

impl Device {
    fn update(
        &self,
        (dtype, shape, input): (DType, &[usize], &[u8]),
        (spec, plan): (&SliceSpec, &Plan),
        (value_shape, value): (&[usize], &[u8]),
    ) -> Result<Vec<u8>, Error> {
        if self.uses_tensors {
            let original = Tensor::from_bytes(&self.backend, input.to_vec(), dtype, shape)?;
            let value = Tensor::from_bytes(&self.backend, value.to_vec(), dtype, value_shape)?;
            let mut updated = original.clone();
            updated.slice_update(spec, &value)?;
            assert!(original.bytes()? == input, "{plan}: another tensor changed");
            // The first update gives `updated` its own memory. The second update writes to this memory.
            updated.slice_update(spec, &value)?;
            return updated.bytes().map(Cow::into_owned);
        }
        self.run_at_two_places(plan, value, input, dtype.size())
    }

    fn grad(
        &self,
        (dtype, shape): (DType, &[usize]),
        (spec, plan): (&SliceSpec, &Plan),
        (dy_shape, dy): (&[usize], &[u8]),
    ) -> Result<Vec<u8>, Error> {
        if self.uses_tensors {
            let dy = Tensor::from_bytes(&self.backend, dy.to_vec(), dtype, dy_shape)?;
            let gradient = Tensor::slice_grad(shape, spec, &dy)?;
            return gradient.bytes().map(Cow::into_owned);
        }
        self.run_at_two_places(
            plan,
            dy,
            &vec![UNWRITTEN; plan.outputs()[0].bytes()],
            dtype.size(),
        )
    }

    /// Runs a plan at an aligned position of its buffers. On a GPU, also runs the plan one element later, where units
    /// larger than an element are misaligned, and checks that the results are equal.
    fn run_at_two_places(
        &self,
        plan: &Plan,
        source: &[u8],
        dest: &[u8],
        element_size: usize,
    ) -> Result<Vec<u8>, Error> {
        let (aligned, _) = self.run_into(plan, source, None, dest, 0)?;
        if !self.backend.is_cpu() {
            let (shifted, _) = self.run_into(plan, source, None, dest, element_size)?;
            assert!(
                aligned == shifted,
                "{}: {plan}: one element further on",
                self.name
            );
        }
        Ok(aligned)
    }
}
