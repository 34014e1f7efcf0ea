//! Compares `gather_elements` on every device with the reference.

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
    let params = [4, 5, 6];
    let mut number = 0;
    for axis in -3..3isize {
        let position = axis.rem_euclid(3).cast_unsigned();
        for length in [0, 1, 9] {
            let mut shape = [4, 3, 6];
            shape[position] = length;
            let indices = make_indices(shape.iter().product(), params[position]);
            check_policies(number, (&params, &[]), (&indices, &shape), form_along(axis));
            number += 1;
        }
    }
}

/// Tests fewer indices than positions along every dimension except one, at ranks 5 and 6, whether that dimension is the
/// axis or not.
#[test]
fn fewer_indices_along_all_dimensions_but_one() {
    let mut number = 0;
    let mut check = |params: &[usize], sizes: &[usize], axis: usize| {
        let indices = make_indices(sizes.iter().product(), params[axis]);
        let axis = axis.cast_signed();
        check_policies(number, (params, &[]), (&indices, sizes), form_along(axis));
        number += 1;
    };
    for params in [&[3, 4, 3, 5, 3][..], &[3, 4, 2, 3, 3, 3]] {
        for full_dim in 0..params.len() {
            let mut sizes: Vec<usize> = params.iter().map(|size| size - 1).collect();
            sizes[full_dim] = params[full_dim];
            for axis in 0..params.len() {
                check(params, &sizes, axis);
            }
            sizes[full_dim] = 2 * params[full_dim] + 1;
            check(params, &sizes, full_dim);
        }
    }
}

#[test]
fn views_are_not_copied() {
    let steps = [
        Step::Transpose(vec![2, 0, 1]),
        Step::Broadcast(vec![2, 6, 4, 5]),
    ];
    for (number, axis) in (0..4).enumerate() {
        let shape = [2, 5, 4, 3];
        let indices = make_indices(120, [2, 6, 4, 5][axis]);
        let axis = axis.cast_signed();
        check_policies(
            number,
            (&[4, 5, 6], &steps),
            (&indices, &shape),
            form_along(axis),
        );
    }
}

#[test]
fn shapes_that_do_not_match_are_errors() {
    for (params, indices, axis, tag) in [
        (&[][..], &[][..], 0, "params_rank"),
        (&[3], &[3], 1, "axis"),
        (&[3], &[3], isize::MIN, "axis"),
        (&[3, 4], &[3], 0, "elements_shape"),
        (&[3, 4], &[3, 5], 0, "elements_shape"),
        (&[3, 4], &[4, 4], -1, "elements_shape"),
    ] {
        let options = GatherElementsOptions::default();
        let error = Plan::gather_elements(params, indices, axis, options, DType::F32).unwrap_err();
        assert_eq!(kind(&error), tag, "{error}");
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
