//! Tests with arrays of ndarray as arguments and results. The expected results are ndarray's, for many slices of small
//! arrays and for arrays of every layout.

use crate::harness::{devices, kind};
use ndarray::{
    Array1, Array3, ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, Slice, SliceInfoElem, s,
};
use wgslice::{
    Array, ArrayRef, Backend, Element, Error, SliceSpec,
    options::{GatherNdOptions, GatherOptions, OutOfRange},
    slice,
};

/// Slices an array of ndarray and returns the slice as an array of ndarray.
fn slice_array<'a, T: Element>(
    backend: &Backend,
    array: impl Into<ArrayRef<'a, T>>,
    spec: &SliceSpec,
) -> Result<ArrayD<T>, Error> {
    backend.slice(array, spec)?.try_into()
}

#[test]
fn every_slice_of_small_arrays() {
    for size in 0..=5isize {
        let x = Array1::from_iter((0..size).map(|n| n as i64)).into_dyn();
        let bounds = -size..=size;
        for start in bounds.clone() {
            for end in bounds.clone().map(Some).chain([None]) {
                for step in [1, 2, 3, 9, isize::MAX, -1, -2, -3, -9, isize::MIN] {
                    let elements = [SliceInfoElem::Slice { start, end, step }];
                    let spec = SliceSpec::from(&elements[..]);
                    assert_eq!(
                        slice_array(&Backend::cpu(), &x, &spec).unwrap(),
                        x.slice(&elements[..]),
                        "{start}..{end:?};{step} of {size} as {spec}"
                    );
                }
            }
        }
        for index in -size..size {
            let elements = [SliceInfoElem::Index(index), SliceInfoElem::NewAxis];
            let result = slice_array(&Backend::cpu(), &x, &elements[..].into());
            assert_eq!(result.unwrap(), x.slice(&elements[..]));
        }
    }
}

/// Tests bounds at which ndarray panics. wgslice first clamps a range to the dimension. A single index outside of the
/// dimension is an error.
#[test]
fn bounds_outside_the_array() {
    let x = Array1::from_iter(0..5);
    let backend = Backend::cpu();
    let cases = [
        (s![2..9], vec![2, 3, 4]),
        (s![2..9;-1], vec![4, 3, 2]),
        (s![2..9;-2], vec![4, 2]),
        (s![-9..2;-1], vec![1, 0]),
        (s![isize::MIN..isize::MAX;-1], vec![4, 3, 2, 1, 0]),
        (s![9..;-1], vec![]),
        (s![..-9;-1], vec![]),
        (s![..isize::MIN;-1], vec![]),
    ];
    for (info, expected) in cases {
        let result = slice_array(&backend, &x, &info.into()).unwrap();
        assert_eq!(result, Array1::from(expected).into_dyn(), "{info:?}");
    }
    let error = slice_array(&backend, &x, &s![5].into()).unwrap_err();
    assert_eq!(kind(&error), "shrink_out_of_range");
    let elements = [SliceInfoElem::Slice {
        start: 0,
        end: None,
        step: 0,
    }];
    let error = slice_array(&backend, &x, &elements[..].into()).unwrap_err();
    assert_eq!(kind(&error), "stride_zero");
}

/// Calls `check` with views of every layout: axes in any order and direction, with and without gaps, broadcast,
/// of size 1 and empty.
fn for_each_layout(mut check: impl FnMut(&str, ArrayViewD<'_, u16>)) {
    let x = Array3::from_shape_vec((4, 3, 6), (0..72).collect())
        .unwrap()
        .into_dyn();
    let gap = Slice::new(0, None, 2);
    let cuts: [(&str, ArrayViewD<'_, u16>); 7] = [
        ("dense", x.view()),
        ("rows", x.slice_axis(Axis(0), Slice::from(1..3))),
        ("outer gap", x.slice_axis(Axis(0), gap)),
        ("inner gap", x.slice_axis(Axis(2), gap)),
        ("columns", x.slice_axis(Axis(2), Slice::from(1..4))),
        ("single", x.slice_axis(Axis(1), Slice::from(1..2))),
        ("empty", x.slice_axis(Axis(1), Slice::from(1..1))),
    ];
    for (name, cut) in &cuts {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            for inverted in [0b000, 0b001, 0b110] {
                let mut view = cut.clone().permuted_axes(IxDyn(&order));
                for axis in (0..3).filter(|axis| inverted >> axis & 1 == 1) {
                    view.invert_axis(Axis(axis));
                }
                check(
                    &format!("{name}, axes {order:?}, inverted {inverted:03b}"),
                    view,
                );
            }
        }
    }
    let repeated = x.index_axis(Axis(1), 2);
    for column in [repeated.view(), repeated.t(), x.index_axis(Axis(0), 1)] {
        let mut shape = column.shape().to_vec();
        shape.insert(0, 3);
        check("repeated", column.broadcast(shape).unwrap());
    }
    let scalar = ArrayD::from_elem(IxDyn(&[]), 7);
    check("scalar", scalar.broadcast([2, 3, 2]).unwrap().into_dyn());
}

fn to_list(elements: [SliceInfoElem; 3]) -> Vec<SliceInfoElem> {
    elements.into()
}

/// Returns whether ndarray accepts the slice rather than panicking.
fn is_accepted(elements: &[SliceInfoElem], shape: &[usize]) -> bool {
    let sliced_elements = elements.iter().filter(|element| !element.is_new_axis());
    sliced_elements
        .zip(shape)
        .all(|(element, &size)| match *element {
            SliceInfoElem::Index(_) => size > 0,
            SliceInfoElem::Slice { start, end, .. } => {
                let size = size.cast_signed();
                start <= size && end.is_none_or(|end| end <= size)
            }
            SliceInfoElem::NewAxis => true,
        })
}

#[test]
fn slices_of_every_layout() {
    let specs = [
        to_list([(..).into(), (..).into(), (..).into()]),
        to_list([
            Slice::new(0, None, -1).into(),
            (..).into(),
            Slice::new(1, None, 2).into(),
        ]),
        to_list([(1..2).into(), (..0).into(), (..).into()]),
        vec![
            (..).into(),
            SliceInfoElem::NewAxis,
            Slice::new(0, None, -1).into(),
            SliceInfoElem::Index(-1),
            SliceInfoElem::NewAxis,
        ],
    ];
    for_each_layout(|name, view| {
        for elements in &specs {
            if !is_accepted(elements, view.shape()) {
                continue;
            }
            let expected = view.slice(&elements[..]);
            for device in devices() {
                let result = slice_array(&device.backend, &view, &elements[..].into());
                assert_eq!(result.unwrap(), expected, "{name} on {}", device.name);
            }
        }
        for device in devices() {
            let tensor = device.backend.upload(&view).unwrap();
            let result: ArrayD<u16> = tensor.to_array().unwrap().try_into().unwrap();
            assert_eq!(result, view, "{name} on {}", device.name);
        }
    });
}

/// Tests features that TensorFlow has and ndarray lacks, such as an ellipsis, on views with and without gaps. Errors
/// come in the order of TensorFlow's checks.
#[test]
fn the_slices_that_ndarray_lacks() {
    let x = Array3::from_shape_vec((2, 3, 8), (0..48).collect::<Vec<i32>>()).unwrap();
    let gaps = x.slice(s![.., .., ..;2]);
    let dense = gaps.to_owned();
    let backend = Backend::cpu();
    for text in [
        "..., 1",
        "1, ...",
        "None, ..., ::-3, None",
        "",
        ":, :, 9:",
        "-9:, ..., 2:0:-1",
    ] {
        let spec: SliceSpec = text.parse().unwrap();
        let result = slice_array(&backend, &gaps, &spec).unwrap();
        assert_eq!(
            result,
            slice_array(&backend, &dense, &spec).unwrap(),
            "{text}"
        );
        let values = backend
            .slice((dense.as_slice().unwrap(), &[2, 3, 4]), &spec)
            .unwrap();
        assert_eq!(result, ArrayD::try_from(values).unwrap(), "{text}");
    }
    for text in ["5, ::0", "::0, 5", "0, 0, 0, 0", "..., ...", "0, 0, 4"] {
        let spec: SliceSpec = text.parse().unwrap();
        let error = spec.view(&[2, 3, 4]).unwrap_err();
        assert_eq!(
            slice_array(&backend, &gaps, &spec),
            Err(error.clone()),
            "{text}"
        );
        assert_eq!(slice_array(&backend, &dense, &spec), Err(error), "{text}");
    }
}

#[test]
fn bools_and_complex_numbers_are_sliced() {
    let backend = Backend::cpu();
    let flags = Array1::from(vec![true, false, true, true]);
    let gaps = flags.slice(s![..;2]);
    let result = slice_array(&backend, &gaps, &slice![..; -1]).unwrap();
    assert_eq!(result, Array1::from(vec![true, true]).into_dyn());
    let complex = Array1::from(vec![[1.0f64, 2.0], [3.0, -0.0], [5.0, 6.0]]);
    let result = slice_array(&backend, &complex.slice(s![1..;-1]), &slice![1..]).unwrap();
    assert_eq!(
        result[0].map(f64::to_bits),
        [3.0f64, -0.0].map(f64::to_bits)
    );
}

#[test]
fn gathers_take_any_layout() {
    let params = Array3::from_shape_vec((4, 3, 2), (1..=24).collect::<Vec<u32>>()).unwrap();
    let indices = ndarray::array![[3i64, 0, 9, 1], [2, 2, 0, 0]];
    let tuples = indices.t();
    for params in [
        params.view(),
        params.view().reversed_axes(),
        params.slice(s![..;-1, .., ..;2]),
    ] {
        for device in devices() {
            let (result, report) = device
                .backend
                .gather_nd(&params, &tuples, GatherNdOptions::default())
                .unwrap();
            let result = ArrayD::try_from(result).unwrap();
            assert_eq!(result.shape(), [4, params.shape()[2]]);
            for (row, tuple) in result.outer_iter().zip(tuples.outer_iter()) {
                let index = |k: usize| usize::try_from(tuple[k]).unwrap();
                match params.get((index(0), index(1), 0)) {
                    Some(_) => assert_eq!(row, params.slice(s![index(0), index(1), ..]).into_dyn()),
                    None => assert!(row.iter().all(|&value| value == 0)),
                }
            }
            let bad_tuples = tuples.outer_iter().filter(|tuple| {
                let index = |k: usize| usize::try_from(tuple[k]).unwrap();
                params.get((index(0), index(1), 0)).is_none()
            });
            assert_eq!(
                report.out_of_range,
                bad_tuples.count(),
                "on {}",
                device.name
            );
        }
    }
    let options = GatherNdOptions {
        out_of_range: OutOfRange::Error,
        ..GatherNdOptions::default()
    };
    let error = Backend::cpu().gather_nd(&params, &tuples, options);
    assert!(matches!(error, Err(Error::InvalidIndices(_))));
}

/// Gathers from views of every layout give the result of ndarray's `select`.
#[test]
fn gathers_along_every_axis_of_every_layout() {
    for_each_layout(|name, view| {
        for axis in 0..3 {
            let size = view.len_of(Axis(axis));
            if size == 0 {
                continue;
            }
            let positions: Vec<usize> = (0..5).map(|n| n * 7 % size).collect();
            let expected = view.select(Axis(axis), &positions);
            let indices = Array1::from_iter(
                positions
                    .iter()
                    .map(|&position| u32::try_from(position).unwrap()),
            );
            let options = GatherOptions {
                axis: Some(axis.cast_signed()),
                ..GatherOptions::default()
            };
            for device in devices() {
                let result = device.backend.gather(&view, &indices, options);
                let (result, report) = result.unwrap();
                let result = ArrayD::try_from(result).unwrap();
                assert_eq!(result, expected, "{name}, axis {axis} on {}", device.name);
                assert_eq!(report.out_of_range, 0);
            }
        }
    });
}

/// Conversions keep the values, even those of an array that uses only a part of its memory.
#[test]
fn arrays_become_one_another() {
    let x = ndarray::array![[1, 2, 3], [4, 5, 6]];
    let layouts = [
        x.clone(),
        x.clone().slice_move(s![1.., 1..]),
        x.clone().slice_move(s![.., ..;-1]),
        x.clone().slice_move(s![1..1, ..]),
        ndarray::Array2::from_shape_vec((2, 3).f(), vec![1, 4, 2, 5, 3, 6]).unwrap(),
    ];
    for array in layouts {
        let converted = Array::from(array.clone());
        assert_eq!(converted.shape, array.shape());
        assert_eq!(converted.data, array.iter().copied().collect::<Vec<_>>());
        let mut longer = converted.clone();
        longer.data.push(7);
        let error = ArrayD::try_from(longer).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Length {
                    argument: "data",
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(ArrayD::try_from(converted).unwrap(), array.into_dyn());
    }
}
