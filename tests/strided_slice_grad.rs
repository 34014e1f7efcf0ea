//! Tests of `strided_slice_grad`: TensorFlow's table, and slices of many patterns.

use crate::harness::{Sizes, check_grad, devices};
use wgslice::{SliceSpec, Tensor, slice, spec::TfStridedSlice};

fn check_dy(shape: &[usize], spec: &str, dy_shape: &[usize]) {
    let spec: SliceSpec = spec.parse().unwrap();
    check_grad(
        shape,
        &TfStridedSlice::try_from(&spec).unwrap(),
        dy_shape,
        Sizes::All,
    );
}

/// Checks a gradient at one element size on each device, because all devices run the same kernels.
fn check_gradient(shape: &[usize], spec: &str) {
    check_at(Sizes::One, shape, spec);
}

fn check_at(sizes: Sizes, shape: &[usize], spec: &str) {
    let spec: SliceSpec = spec.parse().unwrap();
    let encoded = TfStridedSlice::try_from(&spec).unwrap();
    check_grad(shape, &encoded, spec.view(shape).unwrap().shape(), sizes);
}

#[test]
fn tensorflows_table() {
    check_dy(&[5], "4:-6:-2", &[3]);
    check_dy(&[5], "2", &[]);
    check_dy(&[2, 3], "1, :", &[3]);
    check_dy(&[5], "0:0", &[0]);
    check_dy(&[], "None", &[1]);
    for dy_shape in [&[1][..], &[], &[3]] {
        check_dy(&[5], "1:4:2", dy_shape);
    }
    check_dy(&[5], "7", &[1]);
    check_dy(&[0, 3], "...", &[0, 3]);
    check_dy(&[2, 0], "1", &[0]);
    check_dy(&[3, 4], "1:1", &[0, 4]);
}

#[test]
fn gradients_match_the_reference() {
    for spec in [
        "...",
        "::2, ::3",
        "1::3, ::-2",
        ":, 3:9",
        "2, :",
        ":, 5",
        "::-1, 1::5",
        "1:4, 2:30:7",
        "::-1",
        "1:, 1:",
        "3",
        ":, ::4",
        "::2",
    ] {
        for shape in [[5, 33], [6, 64], [4, 31], [5, 48]] {
            check_gradient(&shape, spec);
        }
    }
    for spec in [
        "1::2, ::-1, 2:7:2",
        ":, 1, ::3",
        "::3, 2:4, 1:",
        "3, ::2, :",
        ":, ::3, :",
        "..., 1",
    ] {
        check_gradient(&[7, 6, 8], spec);
        check_gradient(&[5, 4, 3], spec);
    }
}

/// Tests rows of 3 to 42 elements. If elements have 1 byte, the slices begin and end at every byte of a word, and a
/// word can contain elements of several rows.
#[test]
fn short_rows() {
    for length in (1..=12).chain([15, 16, 17, 31, 32, 33, 40]) {
        for spec in [
            ":, 1:-1",
            "::2, 2:",
            ":, :-1",
            ":, 1:-1:2",
            ":, -2::-1",
            "1:, ::3",
        ] {
            check_at(Sizes::of_length(length), &[3, length + 2], spec);
        }
    }
}

/// Tests units so far apart that their words are not neighbours, and rows that take several iterations of a loop on a
/// GPU.
#[test]
fn wide_rows() {
    for step in [5, 17, 64, 129, 650] {
        check_gradient(&[4, 1301], &format!("1::2, 3::{step}"));
        check_gradient(&[4, 1301], &format!(":, 1290::-{step}"));
    }
    check_gradient(&[10_000], "7::5001");
    check_gradient(&[9, 1601], "1:, 1:1600");
    check_gradient(&[9, 1601], "1:, 1::2");
    check_gradient(&[9, 1601], "1:, 1:1600:3");
}

/// Tests more dimensions than fit the uniforms of a shader, and more than TensorFlow accepts.
#[test]
fn gradients_of_many_dimensions_match_the_reference() {
    check_gradient(&[2; 9], "::-1, ..., :1");
    check_gradient(&[3; 8], &["::2"; 8].join(", "));
    check_gradient(&[3; 8], &["::-2"; 8].join(", "));
    check_gradient(&[2; 9], &["1"; 9].join(", "));
}

/// Tests long rows and wide gaps, which are cut into tiles and several dispatches.
#[test]
fn long_rows() {
    check_gradient(&[2, 1301], ":, ::2");
    check_gradient(&[2, 1301], ":, 1:1299");
    check_gradient(&[2, 1301], ":, 650:652");
    check_gradient(&[900, 3], ":, 1");
    check_gradient(&[900, 3], "510");
    check_gradient(&[2100], "1050:1050");
    check_gradient(&[2100], "5::1049");
}

#[test]
fn host_values_and_tensors() {
    for backend in devices().iter().map(|device| &device.backend) {
        let gradient = backend.slice_grad(&[5], &slice![..; -2], (&[1u8, 2, 3], &[3]));
        assert_eq!(gradient.unwrap().data, [3, 0, 2, 0, 1], "{backend}");
        let dy = backend.upload((&[1.5f64, 2.5], &[2])).unwrap();
        let gradient = Tensor::slice_grad(&[2, 3], &slice![1, 1..], &dy).unwrap();
        assert_eq!(
            gradient.to_array::<f64>().unwrap().data,
            [0.0, 0.0, 0.0, 0.0, 1.5, 2.5]
        );
    }
}
