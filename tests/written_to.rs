//! Tests slices, gathers and crops that write their results to views of larger arrays.

use crate::harness::{devices, kind, run_bytes};
use wgslice::{
    DType, Plan, Tensor, Values, View,
    options::{Boxes, CropOptions, GatherOptions, OutOfRange, ScatterOptions},
    slice,
};

/// Returns the position in the source of each element of the view, in the order of the view.
fn positions(view: &View) -> Vec<usize> {
    let mut positions = vec![view.offset().cast_signed()];
    for (&size, &stride) in view.shape().iter().zip(view.strides()) {
        let positions_along =
            |&position: &isize| (0..size.cast_signed()).map(move |n| position + n * stride);
        positions = positions.iter().flat_map(positions_along).collect();
    }
    positions.into_iter().map(isize::cast_unsigned).collect()
}

/// Returns views of this shape: in the middle of a larger array, with steps, reversed, transposed, a contiguous part,
/// and a whole array.
fn dest_views(shape: &[usize]) -> Vec<View> {
    let rank = shape.len();
    let larger_shape: Vec<usize> = shape.iter().map(|size| 2 * size + 3).collect();
    let whole = View::new(&larger_shape).unwrap();
    let slice_by = |range_text: &dyn Fn(usize) -> String| {
        let spec: Vec<String> = shape.iter().map(|&size| range_text(size)).collect();
        whole.slice(&spec.join(",").parse().unwrap()).unwrap()
    };
    let reversed: Vec<usize> = (0..rank).rev().collect();
    let turned_shape: Vec<usize> = shape.iter().rev().copied().collect();
    let mut longer_shape = shape.to_vec();
    longer_shape[0] += 3;
    let longer_view = View::new(&longer_shape).unwrap();
    let part = longer_view.slice(&format!("2:{}", 2 + shape[0]).parse().unwrap());
    vec![
        slice_by(&|size| format!("1:{}", size + 1)),
        slice_by(&|size| format!("2:{}:2", 2 * size + 1)),
        slice_by(&|size| format!("{}:0:-1", size)),
        View::new(&turned_shape)
            .unwrap()
            .transpose(&reversed)
            .unwrap(),
        part.unwrap(),
        View::new(shape).unwrap(),
    ]
}

/// Runs a plan with several views as destination, each on every second drawn device. Compares the elements of the view
/// with the plan's ordinary result.
fn check(plan: &Plan, source_shape: &[usize], tuples: Option<(&[i32], &[usize])>) {
    let element_size = plan.dtype().size();
    let source: Vec<u8> = (0..plan.inputs()[0].bytes())
        .map(|n| u8::try_from(n * 7 % 251).unwrap())
        .collect();
    let indices = tuples.map(|(tuples, _)| Values::from(tuples));
    let mut result = vec![0; plan.outputs()[0].bytes()];
    let expected_report = run_bytes(plan, &source, indices, &mut result).unwrap();
    for (number, dest) in dest_views(plan.shape()).into_iter().enumerate() {
        let placed = plan.written_to(&dest).unwrap();
        assert!(placed.is_in_place());
        let old_bytes: Vec<u8> = (0..placed.outputs()[0].bytes())
            .map(|n| u8::try_from(n % 13 + 200).unwrap())
            .collect();
        let mut expected = old_bytes.clone();
        for (n, position) in positions(&dest).into_iter().enumerate() {
            expected[position * element_size..][..element_size]
                .copy_from_slice(&result[n * element_size..][..element_size]);
        }
        for device in devices().iter().skip(number % 2).step_by(2) {
            let backend = &device.backend;
            let upload = |bytes: &[u8], shape: &[usize]| {
                Tensor::from_bytes(backend, bytes.to_vec(), plan.dtype(), shape).unwrap()
            };
            let source_tensor = upload(&source, source_shape);
            let tuples = tuples.map(|tuples| backend.upload(tuples).unwrap());
            let mut array = upload(&old_bytes, placed.shape());
            let inputs = [Some(&source_tensor), tuples.as_ref()]
                .into_iter()
                .flatten();
            let inputs: Vec<&Tensor> = inputs.collect();
            let report = Tensor::run_into(&placed, &inputs, &mut [&mut array]).unwrap();
            let description = format!("{placed} on {}", device.name);
            assert_eq!(array.bytes().unwrap(), expected, "{description}");
            assert_eq!(
                report.wait().unwrap().out_of_range,
                expected_report.out_of_range,
                "{description}"
            );
        }
    }
}

const TYPES: [DType; 5] = [
    DType::U8,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::Complex128,
];

#[test]
fn slices_go_to_views() {
    for dtype in TYPES {
        let view = View::new(&[5, 6, 7]).unwrap();
        let view = view.slice(&slice![1.., ..; -2, 2..]).unwrap();
        check(&Plan::contiguous(&view, dtype).unwrap(), &[5, 6, 7], None);
        check(
            &Plan::contiguous(view.transpose(&[2, 0, 1]).unwrap(), dtype).unwrap(),
            &[5, 6, 7],
            None,
        );
        let row = View::new(&[40]).unwrap().slice(&slice![3..]).unwrap();
        check(&Plan::contiguous(&row, dtype).unwrap(), &[40], None);
    }
}

#[test]
fn gathers_go_to_views() {
    for dtype in TYPES {
        let options = GatherOptions::default();
        let rows = Plan::gather(&[6, 5], &[2, 3], options, dtype).unwrap();
        check(&rows, &[6, 5], Some((&[0, 5, 2, 7, -1, 3], &[2, 3])));
        let options = GatherOptions {
            axis: Some(1),
            ..options
        };
        let columns = Plan::gather(&[4, 6, 3], &[5], options, dtype).unwrap();
        check(&columns, &[4, 6, 3], Some((&[0, 5, 2, 9, 3], &[5])));
        let elements =
            Plan::gather_elements(&[4, 6], &[4, 3], 1, Default::default(), dtype).unwrap();
        check(
            &elements,
            &[4, 6],
            Some((&[0, 5, 2, 9, 3, 1, 1, 1, 4, -1, 0, 2], &[4, 3])),
        );
    }
}

#[test]
fn crops_go_to_views() {
    let tuples = [1, 1, 2, 0, 1, 0, 3, 5, 1, 0, 2, -1, 0, 0, 0];
    let shape = [3, 5];
    for out_of_range in [OutOfRange::Ignore, OutOfRange::Clamp] {
        for (source_shape, dtype) in [
            (&[2, 6, 7][..], DType::U8),
            (&[2, 6, 7, 3], DType::U8),
            (&[2, 6, 7], DType::F32),
            (&[2, 6, 7, 3], DType::F16),
            (&[2, 6, 7, 2], DType::F64),
        ] {
            if out_of_range == OutOfRange::Clamp && dtype != DType::F16 {
                continue;
            }
            let options = CropOptions {
                sizes: vec![3, 4],
                out_of_range,
                ..CropOptions::default()
            };
            let boxes = Boxes::of_tuples(&shape, true, true);
            let crops = Plan::crop(source_shape, boxes, &options, dtype).unwrap();
            check(&crops, source_shape, Some((&tuples, &shape)));
        }
    }
}

#[test]
fn an_empty_result_changes_nothing() {
    let no_rows = Plan::gather(&[6, 5], &[0], GatherOptions::default(), DType::F32).unwrap();
    check(&no_rows, &[6, 5], Some((&[], &[0])));
    let no_rows = View::new(&[5, 6]).unwrap().slice(&slice![3..3]).unwrap();
    check(
        &Plan::contiguous(&no_rows, DType::U8).unwrap(),
        &[5, 6],
        None,
    );
}

#[test]
fn plans_and_tensors_that_do_not_fit_are_errors() {
    let dtype = DType::F32;
    let x = View::new(&[3, 4]).unwrap();
    let plan = Plan::contiguous(&x, dtype).unwrap();
    for (dest, expected_kind) in [
        (View::new(&[4, 3]).unwrap(), "dest_shape"),
        (
            View::new(&[4]).unwrap().broadcast_to(&[3, 4]).unwrap(),
            "repeats",
        ),
    ] {
        assert_eq!(kind(&plan.written_to(&dest).unwrap_err()), expected_kind);
    }
    let options = ScatterOptions::default();
    let scatter = Plan::scatter_nd(&[3, 4], &[2, 1], &[2, 4], options, dtype).unwrap();
    assert_eq!(kind(&scatter.written_to(&x).unwrap_err()), "written_to");
    let placed = plan.written_to(&x).unwrap();
    assert_eq!(kind(&placed.written_to(&x).unwrap_err()), "written_to");

    let rows = Plan::gather(&[3, 4], &[2], GatherOptions::default(), dtype).unwrap();
    let dest = View::new(&[5, 4]).unwrap().slice(&slice![..2]).unwrap();
    let rows = rows.written_to(&dest).unwrap();
    for device in devices() {
        let zeros = |shape: &[usize]| {
            let count = shape.iter().product::<usize>();
            device
                .backend
                .upload((&vec![0.0f32; count], shape))
                .unwrap()
        };
        let (source, mut array) = (zeros(&[3, 4]), zeros(&[5, 4]));
        let ids = device.backend.upload((&[0i32, 2], &[2])).unwrap();
        let wrong_ids = device.backend.upload((&[0i32], &[1])).unwrap();
        for (plan, source, indices, expected_kind) in [
            (&plan, &source, None, "dest_mismatch"),
            (&placed, &source, None, "dest_mismatch"),
            (&rows, &array.clone(), Some(&ids), "plan_argument"),
            (&rows, &source, None, "arguments"),
            (&rows, &source, Some(&wrong_ids), "plan_argument"),
            (&rows, &ids, Some(&ids), "dtype_mismatch"),
        ] {
            let inputs: Vec<&Tensor> = [Some(source), indices].into_iter().flatten().collect();
            let error = Tensor::run_into(plan, &inputs, &mut [&mut array]).unwrap_err();
            assert_eq!(kind(&error), expected_kind, "{error}");
        }
        let error = Tensor::run(&rows, &[&source, &ids]).unwrap_err();
        assert_eq!(kind(&error), "in_place");
        Tensor::run_into(&rows, &[&source, &ids], &mut [&mut array]).unwrap();
    }
}
