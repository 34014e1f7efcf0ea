//! Copies views on the drawn devices and compares the results with the reference.

use super::{DTYPE_OF_EACH_SIZE, Sizes, UNWRITTEN, assert_same, elements, kind, to_bytes};
use wgslice::{Plan, SliceSpec, Tensor, View, spec::TfStridedSlice};
use wgslice_vectors::Step;

/// Returns the step of a slice, which is parsed from a text such as `1:, ::-1`.
pub(crate) fn slice(text: &str) -> Step {
    let spec: SliceSpec = text.parse().unwrap();
    Step::Slice(TfStridedSlice::try_from(&spec).unwrap())
}

pub(crate) fn transpose(permutation: &[usize]) -> Step {
    Step::Transpose(permutation.to_vec())
}

pub(crate) fn broadcast(shape: &[usize]) -> Step {
    Step::Broadcast(shape.to_vec())
}

/// Checks the result of a view's steps against the reference, on tensors and on the caller's memory.
#[track_caller]
pub(crate) fn check_view(shape: &[usize], steps: &[Step], sizes: Sizes) {
    let source = elements(shape.iter().product());
    let whole = (shape.to_vec(), source.clone());
    let expected = steps
        .iter()
        .try_fold(whole, |array, step| step.of_values(array));
    let whole = View::new(shape).unwrap();
    let view = steps
        .iter()
        .try_fold(whole, |view, step| step.of_view(&view));
    let case = || format!("{shape:?} {steps:?}");
    let (view, (result_shape, values)) = match (view, expected) {
        (Ok(view), Ok(expected)) => (view, expected),
        (Err(error), Err(expected)) => {
            assert_eq!(kind(&error), expected.kind, "{}", case());
            return;
        }
        (view, expected) => panic!("{}: {view:?}, {expected:?}", case()),
    };
    assert_eq!(view.shape(), result_shape, "{}", case());
    let devices = sizes.draw_devices();
    for dtype in DTYPE_OF_EACH_SIZE {
        let plan = Plan::contiguous(&view, dtype).unwrap();
        let source = to_bytes(&source, dtype.size());
        let expected = to_bytes(&values, dtype.size());
        for device in devices(dtype) {
            if !device.can_run(source.len(), expected.len()) {
                continue;
            }
            let describe = || format!("{}: {}: {plan}", device.name, case());
            let tensor = Tensor::from_bytes(&device.backend, source.clone(), dtype, shape).unwrap();
            let selected = steps
                .iter()
                .try_fold(tensor, |tensor, step| step.of_tensor(&tensor))
                .unwrap();
            assert_eq!(*selected.layout(), view, "{}", describe());
            let copied = selected.contiguous().unwrap();
            assert_same(&expected, &copied.bytes().unwrap(), dtype.size(), &describe);
            if !device.uses_tensors {
                // Tensors begin at the start of bindings. In these runs, source and result begin 1 or 7 elements later.
                for shift in [dtype.size(), 7 * dtype.size()] {
                    let unwritten = vec![UNWRITTEN; expected.len()];
                    let got = device.run_into(&plan, &source, None, &unwritten, shift);
                    let describe = || format!("{}, {shift} bytes into buffers", describe());
                    assert_same(&expected, &got.unwrap().0, dtype.size(), &describe);
                }
            }
        }
    }
}
