//! Tests `strided_slice_grad`: every value of `dy` is written to the position that the slice reads for it.

use wgslice_vectors::reference::{self, Spec};

use super::{format_outcome, parse_integers, spec_text::OwnedSpec};

fn grad(shape: &[usize], spec: &str, dy_shape: &[usize], dy: &str) -> String {
    let spec = OwnedSpec::parse(spec);
    let values = reference::strided_slice_grad(shape, &spec.spec(), &parse_integers(dy), dy_shape);
    format_outcome(values.map(|values| (shape.to_vec(), values)))
}

/// A row of a table: shape, spec, shape of dy, dy, result.
type TableRow<'a> = (&'a [usize], &'a str, &'a [usize], &'a str, &'a str);

fn check_table(rows: &[TableRow<'_>]) {
    for (shape, spec, dy_shape, dy, expected) in rows {
        let row = format!("{shape:?} {spec} {dy_shape:?} {dy}");
        assert_eq!(grad(shape, spec, dy_shape, dy), *expected, "{row}");
    }
}

const X5: &[usize] = &[5];

#[test]
fn values_are_written_to_their_positions() {
    check_table(&[
        (X5, "4:-6:-2", &[3], "[1,2,3]", "(5,) [3,0,2,0,1]"),
        (X5, "2", &[], "[9]", "(5,) [0,0,9,0,0]"),
        (X5, "b=[2] e=[3] s=[1] sh=1", &[], "[9]", "(5,) [0,0,9,0,0]"),
        (&[2, 3], "1, :", &[3], "[1,2,3]", "(2,3) [0,0,0,1,2,3]"),
        (X5, "0:0", &[0], "[]", "(5,) [0,0,0,0,0]"),
        (&[], "None", &[1], "[1]", "() [1]"),
        (&[], "...", &[], "[1]", "() [1]"),
        (
            &[2, 3],
            "::-1, None, ::2",
            &[2, 1, 2],
            "[1,2,3,4]",
            "(2,3) [3,0,4,1,0,2]",
        ),
        (&[2, 0], ":, ::-1", &[2, 0], "[]", "(2,0) []"),
        (
            &[0, usize::MAX],
            ":, 1",
            &[0],
            "[]",
            "(0,18446744073709551615) []",
        ),
    ]);
}

#[test]
fn dy_has_the_shape_of_the_slice() {
    for (dy_shape, dy) in [
        (&[1][..], "[1]"),
        (&[], "[1]"),
        (&[3], "[1,2,3]"),
        (&[1, 2], "[1,2]"),
    ] {
        let error = grad(X5, "1:4:2", dy_shape, dy);
        let (prefix, suffix) = ("dy_shape: shape of dy was [", "] instead of [2]");
        assert!(
            error.starts_with(prefix) && error.ends_with(suffix),
            "{error}"
        );
    }
    check_table(&[
        (
            X5,
            "1:4:2",
            &[1],
            "[1]",
            "dy_shape: shape of dy was [1] instead of [2]",
        ),
        (
            X5,
            "2",
            &[1],
            "[1]",
            "dy_shape: shape of dy was [1] instead of []",
        ),
        (
            X5,
            "0:0",
            &[],
            "[1]",
            "dy_shape: shape of dy was [] instead of [0]",
        ),
        // The rules of the spec are checked before the shape of dy.
        (
            X5,
            "b=[0] e=[5] s=[0]",
            &[7],
            "[1,2,3,4,5,6,7]",
            "stride_zero: strides[0] must be non-zero",
        ),
        (
            &[],
            "0",
            &[1],
            "[1]",
            "scalar_input: Attempting to slice scalar input.",
        ),
    ]);
}

/// For a rank above 8 TensorFlow returns unwritten memory.
#[test]
fn any_rank() {
    check_table(&[(
        &[1, 1, 1, 1, 1, 1, 1, 1, 3],
        "..., ::-2",
        &[1, 1, 1, 1, 1, 1, 1, 1, 2],
        "[1,2]",
        "(1,1,1,1,1,1,1,1,3) [2,0,1]",
    )]);
}

#[test]
fn a_slice_of_the_gradient_is_dy() {
    let shape = [3, 4];
    for spec in [
        ":",
        "::-1, 1:4:2",
        "-1, ::-3",
        "..., None, 2",
        "1:0, :",
        "2:0:-1, -1",
    ] {
        let spec = OwnedSpec::parse(spec);
        let spec = spec.spec();
        let input: Vec<i64> = (1..=12).collect();
        let (dy_shape, dy) = reference::strided_slice(&input, &shape, &spec).unwrap();
        let values = reference::strided_slice_grad(&shape, &spec, &dy, &dy_shape).unwrap();
        assert_eq!(
            reference::strided_slice(&values, &shape, &spec).unwrap(),
            (dy_shape, dy.clone())
        );
        // Positions that the slice does not read are zero.
        let expected = input
            .iter()
            .map(|value| if dy.contains(value) { *value } else { 0 });
        assert_eq!(values, expected.collect::<Vec<_>>());
    }
}

#[test]
fn strings_become_empty_and_sizes_must_fit() {
    let spec = Spec {
        begin: &[1],
        end: &[2],
        strides: &[1],
        ..Spec::default()
    };
    let dy = ["a".to_owned()];
    let values = reference::strided_slice_grad(&[3], &spec, &dy, &[1]).unwrap();
    assert_eq!(values, ["", "a", ""]);
    let error_kind = |shape: &[usize], dy_shape: &[usize]| {
        reference::strided_slice_grad(shape, &spec, &dy, dy_shape)
            .unwrap_err()
            .kind
    };
    assert_eq!(error_kind(&[3], &[2]), "data_length");
    assert_eq!(error_kind(&[usize::MAX], &[1]), "too_large");
}
