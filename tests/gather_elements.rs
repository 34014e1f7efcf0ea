//! Runs `gather_elements` on drawn devices and compares the results with the reference.

use crate::harness::{GatherForm, check_policies, kind};
use wgslice::{DType, Plan, View, options::GatherElementsOptions};
use wgslice_vectors::Step;

fn form_along(axis: isize) -> GatherForm {
    GatherForm::GatherElements(axis, GatherElementsOptions::default())
}

/// Returns indices into an axis of this size. They range from -2 to `size` + 1.
fn make_indices(count: usize, size: usize) -> Vec<i64> {
    let size = size as i64;
    (0..count as i64).map(|n| n * 7 % (size + 4) - 2).collect()
}

#[test]
fn every_axis() {
    let params_shape = [4, 5, 6];
    let mut case_number = 0;
    for axis in -3..3isize {
        let dim = axis.rem_euclid(3).cast_unsigned();
        for length in [0, 1, 9] {
            let mut indices_shape = [4, 3, 6];
            indices_shape[dim] = length;
            let indices = make_indices(indices_shape.iter().product(), params_shape[dim]);
            check_policies(
                case_number,
                (&params_shape, &[]),
                (&indices, &indices_shape),
                form_along(axis),
            );
            case_number += 1;
        }
    }
}

/// Tests fewer indices than positions along every dimension except one, at ranks 5 and 6, whether that dimension is the
/// axis or not.
#[test]
fn fewer_indices_along_all_dimensions_but_one() {
    let mut case_number = 0;
    let mut check = |params_shape: &[usize], indices_shape: &[usize], axis: usize| {
        let indices = make_indices(indices_shape.iter().product(), params_shape[axis]);
        let axis = axis.cast_signed();
        check_policies(
            case_number,
            (params_shape, &[]),
            (&indices, indices_shape),
            form_along(axis),
        );
        case_number += 1;
    };
    for params_shape in [&[3, 4, 3, 5, 3][..], &[3, 4, 2, 3, 3, 3]] {
        for full_dim in 0..params_shape.len() {
            let mut indices_shape: Vec<usize> = params_shape.iter().map(|size| size - 1).collect();
            indices_shape[full_dim] = params_shape[full_dim];
            for axis in 0..params_shape.len() {
                check(params_shape, &indices_shape, axis);
            }
            indices_shape[full_dim] = 2 * params_shape[full_dim] + 1;
            check(params_shape, &indices_shape, full_dim);
        }
    }
}

#[test]
fn views_are_not_copied() {
    let steps = [
        Step::Transpose(vec![2, 0, 1]),
        Step::Broadcast(vec![2, 6, 4, 5]),
    ];
    for (case_number, axis) in (0..4).enumerate() {
        let indices_shape = [2, 5, 4, 3];
        let indices = make_indices(120, [2, 6, 4, 5][axis]);
        let axis = axis.cast_signed();
        check_policies(
            case_number,
            (&[4, 5, 6], &steps),
            (&indices, &indices_shape),
            form_along(axis),
        );
    }
}

#[test]
fn shapes_that_do_not_match_are_errors() {
    for (params_shape, indices_shape, axis, expected_kind) in [
        (&[][..], &[][..], 0, "params_rank"),
        (&[3], &[3], 1, "axis"),
        (&[3], &[3], isize::MIN, "axis"),
        (&[3, 4], &[3], 0, "elements_shape"),
        (&[3, 4], &[3, 5], 0, "elements_shape"),
        (&[3, 4], &[4, 4], -1, "elements_shape"),
    ] {
        let options = GatherElementsOptions::default();
        let error = Plan::gather_elements(params_shape, indices_shape, axis, options, DType::F32)
            .unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{error}");
    }
    let view = View::new(&[3, 4]).unwrap();
    let error =
        Plan::gather_elements(&view, &[3, 5], 0, Default::default(), DType::F32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "indices of shape [3,5] must have as many dimensions as params [3,4], and can be longer only \
         along dimension 0, the axis"
    );
}
