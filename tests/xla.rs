//! Tests edge cases of `xla_gather` and `xla_scatter`. The module `property` runs random cases, and `golden` compares
//! the reference with golden vectors of XLA.

use crate::harness::{devices, kind, refused, step_count};
use wgslice::{
    Backend, DType, Error, Plan, Tensor, View,
    options::{Combine, GatherDims, GatherOptions, OutOfRange, ScatterDims, XlaScatterOptions},
    slice,
};

/// Returns the dimensions of a gather of windows of two rows of a matrix. Each tuple is a single row number.
fn row_gather_dims() -> GatherDims {
    GatherDims {
        offset_dims: vec![1, 2],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![2, 3],
        ..GatherDims::default()
    }
}

/// Returns the dimensions of a scatter of windows of rows. Each tuple is a single row number.
fn row_scatter_dims() -> ScatterDims {
    ScatterDims {
        update_window_dims: vec![1, 2],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..ScatterDims::default()
    }
}

fn plan_error(dims: &GatherDims, indices_shape: &[usize]) -> String {
    let planned = Plan::xla_gather(&[4, 3], indices_shape, dims, OutOfRange::Clamp, DType::F32);
    let error = planned.unwrap_err();
    assert_eq!(kind(&error), "dimension_numbers", "{error}");
    error.to_string()
}

#[test]
fn numbers_that_contradict_each_other_are_errors() {
    let error_after = |change: fn(&mut GatherDims)| {
        let mut dims = row_gather_dims();
        change(&mut dims);
        plan_error(&dims, &[5])
    };
    for (change, text) in [
        (
            (|dims| dims.offset_dims = vec![2, 1]) as fn(&mut GatherDims),
            "offset_dims is [2, 1], but it must name different dimensions of the result or the updates, of rank 3, in \
             ascending order",
        ),
        (
            |dims| dims.offset_dims = vec![1],
            "offset_dims is [1], but the operand has 2 dimensions besides collapsed_slice_dims and \
             operand_batching_dims: it must have an entry for each",
        ),
        (
            |dims| dims.collapsed_slice_dims = vec![2],
            "collapsed_slice_dims is [2], but it must name different dimensions of the operand, of rank 2, in ascending \
             order",
        ),
        (
            |dims| dims.start_index_map = vec![0, 1],
            "start_index_map is [0, 1], but index tuples have 1 integer: it must have an entry for each",
        ),
        (
            |dims| dims.operand_batching_dims = vec![0],
            "operand_batching_dims is [0], but it must name different dimensions of the operand, of rank 2, in \
             ascending order, none of [0]",
        ),
        (
            |dims| dims.start_indices_batching_dims = vec![1],
            "start_indices_batching_dims is [1], but it must name different dimensions of the indices, of rank 1",
        ),
        (
            |dims| dims.slice_sizes = vec![5, 3],
            "slice_sizes is [5, 3], but it must have an entry for each dimension of the operand [4, 3], none larger, and \
             1 in those of collapsed_slice_dims and operand_batching_dims",
        ),
        (
            |dims| dims.index_vector_dim = 2,
            "index_vector_dim is [2], but the indices have rank 1: it must be a dimension of theirs, or 1 if each index is a \
             tuple",
        ),
    ] {
        assert_eq!(error_after(change), text);
    }
    let scatter_error = |updates_shape: &[usize], options| {
        Plan::xla_scatter(
            &[4, 3],
            &[5],
            updates_shape,
            &row_scatter_dims(),
            options,
            DType::F32,
        )
        .unwrap_err()
    };
    let options = XlaScatterOptions::default();
    assert_eq!(
        scatter_error(&[5, 5, 3], options).to_string(),
        "the shape of updates is [5, 5, 3], but it must be [5, 4, 3], or smaller along update_window_dims"
    );
}

/// Tests tuples along the first dimension of the indices, on host values, on tensors and from a view.
#[test]
fn tuples_along_any_dimension() {
    let dims = GatherDims {
        offset_dims: vec![0],
        collapsed_slice_dims: vec![0],
        operand_batching_dims: vec![2],
        start_indices_batching_dims: vec![1],
        start_index_map: vec![0, 1],
        index_vector_dim: 0,
        slice_sizes: vec![1, 2, 1],
    };
    let values: Vec<i32> = (0..24).collect();
    // Each of the two positions of the last dimension of `x` has a tuple: a row, and the first of two columns.
    let starts = (&[2, 0, 1, 5], &[2, 2]);
    let element_at = |row: i32, column: i32, batch: i32| row * 8 + column * 2 + batch;
    // Position 0: row 2, column 1. Position 1: row 0, column 5, which is shifted to 2.
    let expected = [
        element_at(2, 1, 0),
        element_at(0, 2, 1),
        element_at(2, 2, 0),
        element_at(0, 3, 1),
    ];
    for device in devices() {
        let backend = &device.backend;
        let x = (&values, &[3, 4, 2]);
        let (array, report) = backend
            .xla_gather(x, starts, &dims, OutOfRange::Clamp)
            .unwrap();
        assert_eq!((array.shape, array.data), (vec![2, 2], expected.to_vec()));
        assert_eq!((report.tuples, report.out_of_range), (2, 0));
        let (x, starts) = (backend.upload(x).unwrap(), backend.upload(starts).unwrap());
        let (gathered, _) = x.xla_gather(&starts, &dims, OutOfRange::Ignore).unwrap();
        let ignored = [expected[0], 0, expected[2], 0];
        assert_eq!(
            gathered.to_vec::<i32>().unwrap(),
            ignored,
            "{}",
            device.name
        );
        let flipped = x.slice(&slice![..; -1]).unwrap();
        let (gathered, _) = flipped
            .xla_gather(&starts, &dims, OutOfRange::Clamp)
            .unwrap();
        let expected_flipped = [
            element_at(0, 1, 0),
            element_at(2, 2, 1),
            element_at(0, 2, 0),
            element_at(2, 3, 1),
        ];
        assert_eq!(
            gathered.to_vec::<i32>().unwrap(),
            expected_flipped,
            "{}",
            device.name
        );
    }
}

/// A step of the plan transposes tuples that are along the first dimension of the indices, without changing their type.
/// The report has the original tuples.
#[test]
fn tuples_are_transposed_by_a_step() {
    let dims = GatherDims {
        collapsed_slice_dims: vec![0, 1],
        start_index_map: vec![0, 1],
        slice_sizes: vec![1, 1],
        ..GatherDims::default()
    };
    let plan = Plan::xla_gather(&[3, 4], &[2, 3], &dims, OutOfRange::Ignore, DType::U8).unwrap();
    assert_eq!(step_count(&plan), 2);
    let values: Vec<u8> = (10..22).collect();
    // The tuples (2, 3), (0, 1) and (1, 9).
    let (as_i64, as_i32) = ([2i64, 0, 1, 3, 1, 9], [2i32, 0, 1, 3, 1, 9]);
    for indices in [(&as_i64).into(), (&as_i32).into()] {
        let mut gathered = [7u8; 3];
        let inputs = [(&values).into(), indices];
        let report = plan
            .run_cpu(&inputs, &mut [(&mut gathered).into()])
            .unwrap();
        assert_eq!((gathered, report.out_of_range), ([21, 11, 0], 1));
        assert_eq!(report.first.unwrap().index, [1, 9]);
    }
    let scatter_dims = ScatterDims {
        inserted_window_dims: vec![0, 1],
        scatter_dims_to_operand_dims: vec![0, 1],
        ..ScatterDims::default()
    };
    for device in devices() {
        let backend = &device.backend;
        let x = backend.upload((&values, &[3, 4])).unwrap();
        for tuples in [
            backend.upload((&as_i64, &[2, 3])).unwrap(),
            backend.upload((&as_i32, &[2, 3])).unwrap(),
        ] {
            let (gathered, report) = x.xla_gather(&tuples, &dims, OutOfRange::Ignore).unwrap();
            assert_eq!(
                gathered.to_vec::<u8>().unwrap(),
                [21, 11, 0],
                "{}",
                device.name
            );
            let first = report.wait().unwrap().first.unwrap();
            assert_eq!(first.index, [1, 9], "{}", device.name);
            let mut x = x.clone();
            let updates = backend.upload((&[1u8, 2, 3], &[3])).unwrap();
            let options = XlaScatterOptions::default();
            let report = x
                .xla_scatter(&tuples, &updates, &scatter_dims, options)
                .unwrap();
            let expected = [10, 2, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1];
            assert_eq!(x.to_vec::<u8>().unwrap(), expected, "{}", device.name);
            assert_eq!(report.wait().unwrap().out_of_range, 1, "{}", device.name);
        }
    }
}

/// Overlapping windows are combined in row-major order of the updates. A window that does not fit is dropped as a
/// whole. Under `OutOfRange::Error`, nothing changes.
#[test]
fn windows_are_dropped_whole() {
    let dims = row_scatter_dims();
    let updates: Vec<i32> = (1..=18).collect();
    for device in devices() {
        let backend = &device.backend;
        let x = backend.upload((&[0; 12], &[4, 3])).unwrap();
        let begins = backend.upload((&[1, 3, 2], &[3])).unwrap();
        let updates = backend.upload((&updates, &[3, 2, 3])).unwrap();
        let scattered = |combine, out_of_range| {
            let mut changed = x.clone();
            let options = XlaScatterOptions {
                combine: Some(combine),
                out_of_range,
                ..XlaScatterOptions::default()
            };
            let report = changed.xla_scatter(&begins, &updates, &dims, options);
            let report = report.and_then(|report| report.wait());
            (report, changed.to_vec::<i32>().unwrap())
        };
        let (report, values) = scattered(Combine::Update, OutOfRange::Ignore);
        assert_eq!(
            values,
            [0, 0, 0, 1, 2, 3, 13, 14, 15, 16, 17, 18],
            "{}",
            device.name
        );
        let report = report.unwrap();
        assert_eq!((report.tuples, report.out_of_range), (3, 1));
        let first = report.first.unwrap();
        assert_eq!(
            (first.tuple, first.position, first.index),
            (1, vec![1], vec![3])
        );
        let (_, values) = scattered(Combine::Add, OutOfRange::Clamp);
        assert_eq!(
            values,
            [0, 0, 0, 1, 2, 3, 24, 27, 30, 26, 28, 30],
            "{}",
            device.name
        );
        let (report, values) = scattered(Combine::Max, OutOfRange::Error);
        assert_eq!(values, [0; 12], "{}", device.name);
        let (message, _) = refused(report);
        assert_eq!(
            message,
            "1 of 3 windows extend beyond operand [4,3], the first at indices[1] = [3]: correct them, or choose \
             OutOfRange::Ignore or OutOfRange::Clamp"
        );
    }
}

#[test]
fn elements_that_a_device_does_not_combine_are_an_error_there() {
    for device in devices() {
        let backend = &device.backend;
        let mut x = backend.upload((&[2u8; 4], &[4])).unwrap();
        let begins = backend.upload((&[1], &[1])).unwrap();
        let updates = backend.upload((&[3u8, 4], &[1, 2])).unwrap();
        let dims = ScatterDims {
            update_window_dims: vec![1],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..ScatterDims::default()
        };
        let options = XlaScatterOptions {
            combine: Some(Combine::Mul),
            ..XlaScatterOptions::default()
        };
        match x.xla_scatter(&begins, &updates, &dims, options) {
            Ok(_) => assert_eq!(x.to_vec::<u8>().unwrap(), [2, 6, 8, 2], "{}", device.name),
            Err(Error::DTypeOnDevice { .. }) => assert!(!backend.is_cpu()),
            Err(error) => panic!("{}: {error}", device.name),
        }
    }
}

/// A gather can be cut into parts, and written into a view of a larger array.
#[test]
fn parts_and_views_of_results() {
    let plan = Plan::xla_gather(
        &[9, 3],
        &[4],
        &row_gather_dims(),
        OutOfRange::Clamp,
        DType::I32,
    )
    .unwrap();
    let values: Vec<i32> = (0..27).collect();
    let begins = [7, 0, 9, 3];
    let mut whole = [0; 24];
    plan.run_cpu(
        &[(&values).into(), (&begins).into()],
        &mut [(&mut whole).into()],
    )
    .unwrap();
    assert_eq!(whole[..6], [21, 22, 23, 24, 25, 26]);
    assert_eq!(whole[12..18], whole[..6]);
    let ranges = [1..4, 1..2, 0..3];
    assert_eq!(
        plan.part_of_indices(&ranges).unwrap().as_slice(),
        &ranges[..1]
    );
    let part = plan.part(&ranges, Some((&begins[1..]).into())).unwrap();
    let rows = part.source[0].clone();
    assert_eq!(part.source, [1..9, 0..3]);
    let mut dest = [0; 9];
    let source = &values[rows.start * 3..rows.end * 3];
    part.plan
        .run_cpu(
            &[(source).into(), (&part.indices).into()],
            &mut [(&mut dest).into()],
        )
        .unwrap();
    assert_eq!(dest, [3, 4, 5, 24, 25, 26, 12, 13, 14]);

    let dest_view = View::new(&[4, 2, 6])
        .unwrap()
        .slice(&slice![.., .., 3..])
        .unwrap();
    let placed = plan.written_to(&dest_view).unwrap();
    for device in devices() {
        let backend = &device.backend;
        let mut larger = backend.upload((&[-1; 48], &[4, 2, 6])).unwrap();
        let x = backend.upload((&values, &[9, 3])).unwrap();
        let begins = backend.upload((&begins, &[4])).unwrap();
        Tensor::run_into(&placed, &[&x, &begins], &mut [&mut larger]).unwrap();
        let half = |number: usize| {
            let half = slice![.., .., number as i64 * 3..number as i64 * 3 + 3];
            larger.slice(&half).unwrap().to_vec::<i32>().unwrap()
        };
        assert_eq!(half(0), [-1; 24], "{}", device.name);
        assert_eq!(half(1), whole, "{}", device.name);
    }
}

/// An `xla_gather` of rows by their numbers has the plan of an ordinary gather, except for the name and the order of
/// the checks.
#[test]
fn rows_are_an_ordinary_gather() {
    let dims = GatherDims {
        offset_dims: vec![1, 2],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 3, 8],
        ..GatherDims::default()
    };
    let xla_plan =
        Plan::xla_gather(&[9, 3, 8], &[5], &dims, OutOfRange::Clamp, DType::F16).unwrap();
    let clamp_options = GatherOptions {
        out_of_range: OutOfRange::Clamp,
        ..GatherOptions::default()
    };
    let gather_plan = Plan::gather(&[9, 3, 8], &[5], clamp_options, DType::F16).unwrap();
    assert_eq!(
        xla_plan.explain(),
        gather_plan.explain().replace("gather", "xla_gather")
    );
}

/// A gather from an array without elements and a scatter of updates without elements move nothing.
#[test]
fn empty_arrays() {
    let backend = Backend::cpu();
    let empty = Tensor::from_bytes(&backend, vec![], DType::F32, &[0, 3]).unwrap();
    let no_indices = Tensor::from_bytes(&backend, vec![], DType::I32, &[0]).unwrap();
    let dims = GatherDims {
        slice_sizes: vec![0, 3],
        ..row_gather_dims()
    };
    let (gathered, report) = empty
        .xla_gather(&no_indices, &dims, OutOfRange::Error)
        .unwrap();
    assert_eq!(
        (gathered.shape(), report.wait().unwrap().tuples),
        (&[0, 0, 3][..], 0)
    );
    let dims = ScatterDims {
        update_window_dims: vec![1],
        inserted_window_dims: vec![0],
        ..row_scatter_dims()
    };
    let options = XlaScatterOptions::default();
    let updates =
        |count| Plan::xla_scatter(&[0, 3], &[count], &[count, 3], &dims, options, DType::F32);
    assert_eq!(
        updates(0).unwrap().to_string(),
        "xla_scatter [0,3] -> [0,3]: empty"
    );
    assert_eq!(kind(&updates(2).unwrap_err()), "empty_output");
}
