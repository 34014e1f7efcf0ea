//! Tests of `gather`: axes, batches, indices of various shapes and types, views, and the policies for out-of-range
//! indices.

use crate::harness::{
    GatherForm, broadcast, check_gather_from_view, check_policies, devices, kind, refused, slice,
    transpose,
};
use wgslice::{
    Backend, DType, Plan,
    options::{GatherOptions, NegativeIndex, OutOfRange},
    slice,
};
use wgslice_vectors::{Expectation, Operation, Step, parse};

fn test_backends() -> impl Iterator<Item = &'static Backend> {
    devices().iter().map(|device| &device.backend)
}

/// The options of TensorFlow's `batch_gather` with indices of rank 2.
const BATCH_OPTIONS: GatherOptions = GatherOptions {
    axis: None,
    batch_dims: 1,
    out_of_range: OutOfRange::Ignore,
    negative: NegativeIndex::Invalid,
};

fn options_along(axis: isize, batch_dims: isize) -> GatherOptions {
    GatherOptions {
        axis: Some(axis),
        batch_dims,
        ..GatherOptions::default()
    }
}

/// Checks a gather at one element size and with one index type. The shapes and the axis choose both.
#[track_caller]
fn check_gather(
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    options: GatherOptions,
) {
    let form = GatherForm::Gather(options);
    let case_number = params_shape.iter().chain(indices_shape).sum::<usize>()
        + options.axis.unwrap_or(9).unsigned_abs();
    check_gather_from_view(
        case_number,
        (params_shape, &[]),
        (indices, indices_shape),
        form,
    );
}

#[test]
fn every_axis() {
    for axis in -4..4 {
        check_gather(
            &[3, 4, 5, 6],
            &[2, 0, 1, 2, 2],
            &[5],
            options_along(axis, 0),
        );
        check_gather(
            &[3, 4, 5, 6],
            &[2, 0, 1, 2, -1, 7],
            &[3, 2],
            options_along(axis, 0),
        );
        check_gather(&[3, 4, 5, 6], &[1], &[], options_along(axis, 0));
    }
}

#[test]
fn indices_of_every_shape() {
    check_gather(&[7], &[], &[0], options_along(0, 0));
    check_gather(&[7], &[3], &[1, 1, 1], options_along(0, 0));
    check_gather(
        &[7, 3],
        &[6, 5, 4, 3, 2, 1],
        &[3, 1, 2],
        options_along(0, 0),
    );
    check_gather(
        &[2, 7],
        &[6, 0, 6, 1, 2, 1, 9, -1],
        &[2, 2, 2],
        options_along(1, 0),
    );
    check_gather(&[1, 7, 1], &[6, 0], &[2], options_along(-2, 0));
}

#[test]
fn slices_of_every_length() {
    for length in [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 64, 255, 256, 1000] {
        let indices = [3, -1, 0, 4, 2, 2, 1];
        check_gather(&[2, 4, length], &indices, &[7], options_along(1, 0));
        check_gather(&[4, length], &indices, &[7], options_along(0, 0));
        check_gather(&[length, 4], &indices, &[7], options_along(1, 0));
    }
}

#[test]
fn each_batch_is_gathered_by_its_own_indices() {
    check_gather(&[2, 3, 4], &[0, 2, 1, 1], &[2, 2], options_along(1, 1));
    check_gather(&[2, 3, 4], &[0, 2, 1, 1], &[2, 2], options_along(2, 1));
    check_gather(
        &[2, 3, 4],
        &[0, 2, 1, 1, 3, 9],
        &[2, 3],
        options_along(2, 2),
    );
    check_gather(
        &[2, 3, 4],
        &[0, 2, 1, 1, 3, 9],
        &[2, 3],
        options_along(-1, -1),
    );
    check_gather(&[3, 4], &[0, 3, 2], &[3], options_along(1, 1));
    check_gather(
        &[2, 5, 3, 4],
        &[0, 2, 1, -1, 3, 0],
        &[2, 1, 3],
        options_along(2, 1),
    );
    // The default axis is the number given as `batch_dims`. If the number is negative, the axis counts from the end of
    // params.
    let without_axis = |batch_dims| GatherOptions {
        batch_dims,
        ..GatherOptions::default()
    };
    check_gather(&[2, 3, 4], &[0, 2, 1, 1], &[2, 2], without_axis(1));
    check_gather(&[2, 2, 4], &[0, 2, 1, 3], &[2, 2], without_axis(-1));
}

#[test]
fn every_policy() {
    let indices = [0, -1, 4, -4, 2, -5, 3, 5, -3, 1, 9, -9];
    let extreme_indices = [i64::MIN, i64::MAX, 1 << 32, -(1 << 32) + 1, 2, -3];
    for (case_number, (axis, batch_dims, shape)) in [
        (0, 0, [3, 4]),
        (1, 0, [3, 4]),
        (2, 0, [2, 6]),
        (2, 1, [3, 4]),
    ]
    .into_iter()
    .enumerate()
    {
        let form = GatherForm::Gather(options_along(axis, batch_dims));
        let params = (&[3, 4, 5][..], &[][..]);
        check_policies(case_number + 5, params, (&indices, &shape), form);
        if batch_dims == 0 {
            check_policies(case_number, params, (&extreme_indices, &[2, 3]), form);
        }
    }
}

/// Tests short rows of params from which many tuples select. Not all rows are a whole number of vectors of 4 elements.
/// A GPU moves the units of a row in one or several segments.
#[test]
fn many_tuples_of_short_rows() {
    for (row_length, tuple_count) in [
        (8, 520),
        (4096, 1030),
        (4100, 1030),
        (1028, 1030),
        (1024, 4099),
        (1000, 250),
        (6, 510),
    ] {
        let end = i64::try_from(row_length).unwrap() + 3;
        let indices: Vec<i64> = (0..2 * tuple_count).map(|n| n * 5 % end - 1).collect();
        let (index_count, half_count) = (indices.len(), indices.len() / 2);
        // Both case numbers choose elements of 4 bytes. The index type is 64 bits wide for one and 32 bits for the
        // other.
        for case_number in [2, 7] {
            let shared_tuples = GatherForm::Gather(options_along(-1, 0));
            check_gather_from_view(
                case_number,
                (&[3, row_length], &[]),
                (&indices, &[index_count]),
                shared_tuples,
            );
            let own_tuples = GatherForm::Gather(options_along(-1, 1));
            check_gather_from_view(
                case_number,
                (&[2, row_length], &[]),
                (&indices, &[2, half_count]),
                own_tuples,
            );
        }
        // All, none or some of the rows begin at whole vectors.
        let (indices, tuples_shape, form) = (
            &indices[..half_count],
            &[half_count],
            GatherForm::Gather(options_along(2, 0)),
        );
        let width = (row_length + 5).next_multiple_of(4);
        for (begin, width) in [(4, width), (1, width), (2, width + 1)] {
            let selection = [slice(&format!("::-1, 1:, {begin}:{}", row_length + begin))];
            check_gather_from_view(
                7,
                (&[4, 3, width], &selection),
                (indices, tuples_shape),
                form,
            );
        }
        check_policies(
            2,
            (&[2, row_length], &[]),
            (indices, tuples_shape),
            GatherForm::Gather(options_along(1, 0)),
        );
    }
}

/// An out-of-range index counts once, however many slices it selects and however many dispatches gather the slices.
#[test]
fn bad_indices_count_once() {
    for outer_size in [1, 2, 7, 40, 300] {
        check_gather(
            &[outer_size, 3, 5],
            &[0, 3, 2, -1],
            &[4],
            options_along(1, 0),
        );
        check_gather(&[outer_size, 3], &[3], &[], options_along(1, 0));
    }
    check_gather(
        &[20, 30, 3],
        &[7, 3, 3, 7, 2, -1, 0, 1],
        &[8],
        options_along(2, 0),
    );
}

#[test]
fn params_are_views() {
    let views: [(&[usize], Vec<Step>); 6] = [
        (&[5, 6, 7], vec![slice("::-1, ::2, ::-1")]),
        (&[6, 7, 5], vec![transpose(&[2, 0, 1])]),
        (&[5, 7], vec![broadcast(&[6, 5, 7])]),
        (&[5, 1, 1], vec![broadcast(&[5, 6, 7])]),
        (&[5, 6, 16], vec![slice(":, 1:, ::-1")]),
        (
            &[4, 5, 6, 3],
            vec![transpose(&[1, 2, 3, 0]), slice("::-1, 2:, ..., ::-2")],
        ),
    ];
    let indices = [1, 0, 2, 7, -1, 2];
    let mut case_number = 0;
    for (shape, selection) in &views {
        for axis in 0..3 {
            for indices_shape in [&[6][..], &[2, 3], &[6, 1]] {
                case_number += 1;
                let form = GatherForm::Gather(options_along(axis, 0));
                let params = (*shape, &selection[..]);
                check_gather_from_view(case_number, params, (&indices, indices_shape), form);
            }
        }
    }
    let batches = vec![transpose(&[1, 0]), slice("::-1, ::-1")];
    let form = GatherForm::Gather(BATCH_OPTIONS);
    check_gather_from_view(2, (&[7, 3], &batches), (&indices, &[3, 2]), form);
}

/// Views that are too large for the offsets of shaders are cut along the outer dimension, along the indexed dimension,
/// or along both. Some strides are negative.
#[test]
fn views_beyond_the_reach_of_offsets() {
    let indices = [199, 0, 100, 41, 42, 200, -1, 3];
    let views: [(&[usize], &str, isize); 5] = [
        (&[40, 200, 3], "...", 1),
        (&[40, 200, 3], "::-1, ::-1, ::-1", 1),
        (&[100, 201], ":, ::-1", 1),
        (&[3, 200, 41], "::-1, ::-1", 1),
        (&[200, 101], "::-1, ::-1", 0),
    ];
    for (shape, spec, axis) in views {
        let selection = [slice(spec)];
        for count in [1, 2, 8] {
            let form = GatherForm::Gather(options_along(axis, 0));
            let indices = (&indices[..count], &[count][..]);
            check_gather_from_view(0, (shape, &selection), indices, form);
        }
    }
}

#[test]
fn a_result_without_elements_looks_at_no_index() {
    check_gather(&[3, 0], &[5], &[1], options_along(0, 0));
    check_gather(&[0, 3], &[-1], &[1], options_along(1, 0));
    check_gather(&[0, 3], &[], &[0], options_along(0, 0));
    for backend in test_backends() {
        let options = GatherOptions {
            out_of_range: OutOfRange::Error,
            ..options_along(0, 0)
        };
        let no_values: [f32; 0] = [];
        let (array, report) = backend
            .gather((&no_values, &[3, 0]), (&[5i32][..], &[1]), options)
            .unwrap();
        assert_eq!(
            (array.shape, report.tuples, report.out_of_range),
            (vec![1, 0], 0, 0)
        );
    }
}

/// No index into an empty dimension is valid, under any policy: the dimension has no end to clamp to or to count from.
#[test]
fn a_dimension_without_elements_has_no_index() {
    let form = GatherForm::Gather(options_along(0, 0));
    for case_number in 0..5 {
        check_policies(case_number, (&[0, 3], &[]), (&[0, -1, 2], &[3]), form);
    }
    // The params are an empty view of a source that can be smaller than a unit of the shaders.
    let nothing = [slice("0:0")];
    for case_number in 0..5 {
        check_policies(case_number, (&[1], &nothing), (&[0, -1], &[2]), form);
        check_policies(case_number, (&[1, 16], &nothing), (&[0], &[]), form);
    }
    let form = GatherForm::Gather(options_along(2, 0));
    check_policies(9, (&[2, 3, 0, 4], &[]), (&[0, -1], &[2]), form);
}

#[test]
fn batch_gather_stays_in_its_batch() {
    for backend in test_backends() {
        let params: Vec<i16> = (0..12).collect();
        let (array, report) = backend
            .gather(
                (&params, &[3, 4]),
                (&[0i32, 4, -1][..], &[3, 1]),
                BATCH_OPTIONS,
            )
            .unwrap();
        assert_eq!((array.shape, array.data), (vec![3, 1], vec![0, 0, 0]));
        assert_eq!((report.out_of_range, report.first.unwrap().tuple), (2, 1));
        let table = backend.upload((&params, &[3, 4])).unwrap();
        let ids = backend.upload((&[3u32, 0, 1, 2, 2, 1], &[3, 2])).unwrap();
        let gathered = table.gather(&ids, BATCH_OPTIONS).unwrap().0;
        assert_eq!(
            gathered.to_array::<i16>().unwrap().data,
            [3, 0, 5, 6, 10, 9]
        );
        let scalar = backend.upload((&[0i32], &[])).unwrap();
        assert_eq!(
            kind(&table.gather(&scalar, BATCH_OPTIONS).unwrap_err()),
            "batch_dims"
        );
    }
}

/// A gather can read a view of a tensor, and a view can be copied into its own tensor.
#[test]
fn tensors_are_selected_from() {
    for backend in test_backends() {
        let table = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let view = table.transpose(&[1, 0]).unwrap();
        let view = view.slice(&slice![..; -1]).unwrap();
        assert_eq!((view.shape(), view.dtype()), (&[3, 2][..], DType::U8));
        assert_eq!(
            view.contiguous().unwrap().to_array::<u8>().unwrap().data,
            [3, 6, 2, 5, 1, 4]
        );
        let ids = backend.upload((&[1i64, -1], &[2])).unwrap();
        let wrap_options = GatherOptions {
            negative: NegativeIndex::Wrap,
            ..GatherOptions::default()
        };
        let (rows, report) = view.gather(&ids, wrap_options).unwrap();
        assert_eq!(rows.to_array::<u8>().unwrap().data, [2, 5, 1, 4]);
        assert_eq!(report.wait().unwrap().out_of_range, 0);
        let wide = view.broadcast_to(&[2, 3, 2]).unwrap();
        let axis_options = GatherOptions {
            axis: Some(1),
            ..wrap_options
        };
        let rows = wide.gather(&ids, axis_options).unwrap().0;
        assert_eq!(
            rows.to_array::<u8>().unwrap().data,
            [2, 5, 1, 4, 2, 5, 1, 4]
        );
        // The view of a whole tensor becomes a tensor with the same elements.
        assert_eq!(
            table.contiguous().unwrap().to_array::<u8>().unwrap().data[0],
            1
        );
    }
}

#[test]
fn errors_explain_wrong_arguments() {
    let plan_error = |params_shape: &[usize], indices_shape: &[usize], options| {
        Plan::gather(params_shape, indices_shape, options, DType::F32).unwrap_err()
    };
    for (error, expected_kind, detail) in [
        (
            plan_error(&[], &[1], options_along(0, 0)),
            "params_rank",
            "params is a scalar",
        ),
        (
            plan_error(&[3], &[1], options_along(1, 0)),
            "axis",
            "axis is 1, but params has 1",
        ),
        (
            plan_error(&[3, 4], &[1], options_along(-3, 0)),
            "axis",
            "must be in [-2, 2)",
        ),
        (
            plan_error(&[3, 4], &[3], options_along(isize::MIN, 0)),
            "axis",
            "axis is -9223",
        ),
        (
            plan_error(
                &[3, 4],
                &[3, 4, 5],
                GatherOptions {
                    batch_dims: 2,
                    ..GatherOptions::default()
                },
            ),
            "axis",
            "takes batch_dims as the axis",
        ),
        (
            plan_error(&[3, 4], &[], options_along(1, 1)),
            "batch_dims",
            "must be 0, as indices is a scalar",
        ),
        (
            plan_error(&[3, 4], &[3], options_along(0, 1)),
            "batch_dims",
            "not above axis (0)",
        ),
        (
            plan_error(&[3, 4], &[3], options_along(1, 2)),
            "batch_dims",
            "in [-1, 1]",
        ),
        (
            plan_error(&[3, 4], &[3], options_along(1, -2)),
            "batch_dims",
            "batch_dims is -2",
        ),
        (
            plan_error(&[3, 4], &[2], options_along(1, 1)),
            "batch_shape",
            "must be equal",
        ),
    ] {
        let message = error.to_string();
        assert_eq!(kind(&error), expected_kind, "{message}");
        assert!(message.contains(detail), "{message}");
    }
}

#[test]
fn errors_are_the_same_everywhere() {
    let mut messages = Vec::new();
    for backend in test_backends() {
        let params: Vec<u16> = (0..24).collect();
        let options = GatherOptions {
            out_of_range: OutOfRange::Error,
            ..options_along(1, 0)
        };
        let indices = [0u32, 3, 2, 7];
        let outcome = backend.gather((&params, &[2, 3, 4]), (&indices[..], &[2, 2]), options);
        let (message, report) = refused(outcome);
        let (first, out_of_range, tuples) =
            (report.first.unwrap(), report.out_of_range, report.tuples);
        assert_eq!(
            (&first.position[..], &first.index[..]),
            (&[0, 1][..], &[3][..])
        );
        assert_eq!((first.tuple, out_of_range, tuples), (1, 2, 4));
        messages.push(message);
    }
    assert!(
        messages.iter().all(|message| *message == messages[0]),
        "{messages:?}"
    );
}

/// Runs TensorFlow's vectors of `gather` on drawn devices.
#[test]
fn gathers_give_the_results_of_tensorflow() {
    let mut case_count = 0;
    for case in parse(include_str!("vectors/seed1.jsonl")) {
        let case = case.unwrap();
        if case.op != Operation::Gather {
            continue;
        }
        let integer = |name| isize::try_from(case.arguments().integer(name).unwrap()).unwrap();
        let options = options_along(integer("axis"), integer("batch_dims"));
        let params = case.tensor("params").unwrap();
        let indices = case.tensor("indices").unwrap();
        let (zero_fill, is_out_of_range) = match &case.expected {
            Expectation::Success(tensor) => (Some(tensor), false),
            Expectation::Error {
                kind: expected,
                zero_fill,
                ..
            } if expected == "out_of_range" => (zero_fill.as_ref(), true),
            Expectation::Error { kind: expected, .. } => {
                let planned = Plan::gather(&params.shape, &indices.shape, options, DType::I64);
                assert_eq!(kind(&planned.unwrap_err()), expected, "line {}", case.line);
                case_count += 1;
                continue;
            }
        };
        for backend in test_backends() {
            let outcome = backend.gather(
                (&params.data, &params.shape),
                (&indices.data[..], &indices.shape),
                options,
            );
            let (array, report) = outcome.unwrap_or_else(|e| panic!("line {}: {e}", case.line));
            assert_eq!(
                report.out_of_range > 0,
                is_out_of_range,
                "line {} on {backend}",
                case.line
            );
            if let Some(tensor) = zero_fill {
                assert_eq!(
                    (&array.shape, &array.data),
                    (&tensor.shape, &tensor.data),
                    "line {} on {backend}",
                    case.line
                );
            }
        }
        case_count += 1;
    }
    assert!(case_count > 150, "{case_count}");
}

/// In a gather along axis 1, all positions along axis 0 share the tuples. The CPU looks the tuples up once, unless a
/// tuple is out of range. The expected values come from a loop over all positions.
#[test]
fn rows_that_share_their_tuples() {
    for (row_count, size, width) in [(3000, 400, 1), (1000, 90, 3), (900, 40, 16), (700, 30, 17)] {
        let x: Vec<u32> = (1..).take(row_count * size * width).collect();
        for has_bad_index in [false, true] {
            let mut positions: Vec<usize> = (0..250).map(|n| (n * n * 13 + n) % size).collect();
            if has_bad_index {
                positions[77] = size;
            }
            let indices: Vec<i64> = positions.iter().map(|&position| position as i64).collect();
            let mut expected = Vec::new();
            for row in x.chunks(size * width) {
                for &position in &positions {
                    match row.get(position * width..(position + 1) * width) {
                        Some(group) => expected.extend_from_slice(group),
                        None => expected.extend(vec![0; width]),
                    }
                }
            }
            for thread_count in [1, 3] {
                let backend = Backend::cpu().with_threads(thread_count);
                let (result, report) = backend
                    .gather(
                        (&x, &[row_count, size, width]),
                        (&indices, &[250]),
                        options_along(1, 0),
                    )
                    .unwrap();
                assert_eq!(result.shape, [row_count, 250, width]);
                assert!(
                    result.data == expected,
                    "{width} {has_bad_index} {thread_count}"
                );
                assert_eq!(report.out_of_range, usize::from(has_bad_index));
            }
        }
    }
}
