//! Runs `scatter_elements` on drawn devices and compares the results with the reference.

use crate::harness::{check_case, devices, kind};
use serde_json::{Map, json};
use wgslice::{
    DType, Plan,
    options::{Combine, OutOfRange, ScatterOptions},
};
use wgslice_vectors::{Case, Operation, Tensor};

/// Makes a case with indices from -2 to the size of the axis plus 1. `case_number` chooses the policy.
fn make_case(
    shape: &[usize],
    indices_shape: &[usize],
    axis: i64,
    is_add: bool,
    case_number: usize,
) -> Case {
    let filled = |shape: &[usize], value_of: &dyn Fn(i64) -> i64| Tensor {
        shape: shape.to_vec(),
        data: (0..shape.iter().product::<usize>() as i64)
            .map(value_of)
            .collect(),
    };
    let dim = axis.rem_euclid(shape.len() as i64);
    let axis_size = shape[usize::try_from(dim).unwrap()] as i64;
    let mut args = Map::new();
    args.insert("axis".into(), axis.into());
    if is_add {
        args.insert("combine".into(), json!("add"));
    }
    match case_number % 3 {
        1 => drop(args.insert("negative".into(), json!("wrap"))),
        2 => drop(args.insert("out_of_range".into(), json!("clamp"))),
        _ => {}
    }
    let tensors = [
        ("tensor", filled(shape, &|n| n % 50 + 1)),
        (
            "indices",
            filled(indices_shape, &|n| n * 7 % (axis_size + 4) - 2),
        ),
        ("updates", filled(indices_shape, &|n| n % 3)),
    ];
    let mut case = Case::new(Operation::ScatterElements, tensors, args);
    case.line = case_number;
    case
}

/// Tests every axis, along which there are no indices, one index, or more indices than positions. The number of the
/// case chooses element size, index type and policy.
#[test]
fn every_axis() {
    let shape = [4, 5, 6];
    let mut case_number = 0;
    for axis in -3..3_i64 {
        let dim = usize::try_from(axis.rem_euclid(3)).unwrap();
        for length in [0, 1, 9] {
            for is_add in [false, true] {
                let mut indices_shape = [4, 3, 6];
                indices_shape[dim] = length;
                check_case(&make_case(
                    &shape,
                    &indices_shape,
                    axis,
                    is_add,
                    case_number,
                ));
                case_number += 1;
            }
        }
    }
}

/// Tests fewer indices than positions along every dimension except one, at ranks 5 and 6, whether that dimension is the
/// axis or not.
#[test]
fn fewer_indices_along_all_dimensions_but_one() {
    let mut case_number = 0;
    for shape in [&[3, 4, 3, 5, 3][..], &[3, 4, 2, 3, 3, 3]] {
        for full_dim in 0..shape.len() {
            let mut indices_shape: Vec<usize> = shape.iter().map(|size| size - 1).collect();
            indices_shape[full_dim] = shape[full_dim];
            for axis in 0..shape.len() {
                check_case(&make_case(
                    shape,
                    &indices_shape,
                    axis as i64,
                    case_number % 2 == 0,
                    case_number,
                ));
                case_number += 1;
            }
            indices_shape[full_dim] = 2 * shape[full_dim] + 1;
            check_case(&make_case(
                shape,
                &indices_shape,
                full_dim as i64,
                case_number % 2 == 0,
                case_number,
            ));
            case_number += 1;
        }
    }
}

/// Tests the largest number of dimensions that a shader supports, none of which can be merged.
#[test]
fn many_dimensions() {
    let (shape, indices_shape) = ([2, 3, 3, 3, 3, 3, 3, 3], [2; 8]);
    for (case_number, axis) in [0, 3, 7].into_iter().enumerate() {
        check_case(&make_case(
            &shape,
            &indices_shape,
            axis,
            case_number % 2 == 0,
            case_number,
        ));
    }
}

/// Tests more rows than a block holds under the lowest limits, so that rows are cut into blocks.
#[test]
fn many_rows() {
    for (axis, indices_shape) in [(0, [300, 3]), (1, [130, 7])] {
        for case_number in 0..2 {
            check_case(&make_case(
                &[200, 5],
                &indices_shape,
                axis,
                case_number % 2 == 0,
                case_number,
            ));
        }
    }
}

#[test]
fn floats_are_added_in_order() {
    let options = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    // 2^24 + 1 is rounded to 2^24, so the order of additions changes the sum.
    let big = 16_777_216.0_f32;
    let updates: [f32; 8] = [big, 1.0, 1.0, -big, 1.0, 1.0, big, -big];
    let columns = [2_i32, 2, 2, 2, 0, 0, 0, 0];
    for device in devices() {
        let backend = &device.backend;
        let (sums, _) = backend
            .scatter_elements(
                (&[0.0; 6], &[2, 3]),
                (&columns[..], &[2, 4]),
                (&updates, &[2, 4]),
                1,
                options,
            )
            .unwrap();
        assert_eq!(sums.data, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0], "{}", device.name);
    }
}

/// Under `OutOfRange::Error`, a single out-of-range index leaves the array unchanged.
#[test]
fn an_index_out_of_range_changes_nothing() {
    let options = ScatterOptions {
        out_of_range: OutOfRange::Error,
        combine: Some(Combine::Update),
        ..ScatterOptions::default()
    };
    for device in devices() {
        let upload = |data: &[i32]| device.backend.upload((data, &[2, 2])).unwrap();
        let (mut tensor, indices) = (upload(&[1, 2, 3, 4]), upload(&[0, 1, 2, 0]));
        let report = tensor.scatter_elements(&indices, &upload(&[5, 6, 7, 8]), 0, options);
        let error = report.and_then(|report| report.wait()).unwrap_err();
        assert_eq!(kind(&error), "out_of_range", "{}: {error}", device.name);
        assert_eq!(tensor.to_array::<i32>().unwrap().data, [1, 2, 3, 4]);
    }
}

#[test]
fn shapes_that_do_not_match_are_errors() {
    for (shape, indices_shape, axis, expected_kind) in [
        (&[][..], &[][..], 0, "axis"),
        (&[3], &[3], 1, "axis"),
        (&[3, 4], &[3], 0, "elements_shape"),
        (&[3, 4], &[3, 5], 0, "elements_shape"),
        (&[3, 4], &[4, 4], -1, "elements_shape"),
    ] {
        let options = ScatterOptions::default();
        let error = Plan::scatter_elements(
            shape,
            indices_shape,
            indices_shape,
            axis,
            options,
            DType::F32,
        );
        let error = error.unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{error}");
        let names_scalar = shape.is_empty() && error.to_string().contains("is a scalar");
        assert_eq!(names_scalar, shape.is_empty(), "{error}");
    }
    let backend = wgslice::Backend::cpu();
    let mut tensor = backend.upload((&[0i32; 4], &[2, 2])).unwrap();
    let indices = backend.upload((&[0i32; 2], &[1, 2])).unwrap();
    let updates = backend.upload((&[0i32; 2], &[2, 1])).unwrap();
    let error = tensor
        .scatter_elements(&indices, &updates, 0, ScatterOptions::default())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "updates have shape [2,1], but there must be one for each index: indices have shape [1,2]"
    );
}

/// Shaders support fewer dimensions in one dispatch than these arrays have, so there are several dispatches.
#[test]
fn more_dimensions_than_shaders_walk() {
    let options = ScatterOptions {
        combine: Some(Combine::Update),
        ..ScatterOptions::default()
    };
    let (shape, indices_shape) = ([3; 9], [2; 9]);
    for device in devices() {
        let (values, zeros) = ([7_u8; 512], vec![0; 3_usize.pow(9)]);
        let outcome = device.backend.scatter_elements(
            (&zeros, &shape),
            (&[1_i32; 512][..], &indices_shape),
            (&values, &indices_shape),
            0,
            options,
        );
        let result = outcome.unwrap().0.data;
        let written_count = result.iter().filter(|&&value| value == 7).count();
        assert_eq!(written_count, 256, "{}", device.name);
    }
}
