//! Tests `strided_slice`, with specs given as text.

use wgslice_vectors::reference::{self, Spec};

use super::{arange, format_outcome, spec_text::OwnedSpec};

fn slice(shape: &[usize], text: &str) -> String {
    let spec = OwnedSpec::parse(text);
    format_outcome(reference::strided_slice(
        &arange(shape),
        shape,
        &spec.spec(),
    ))
}

fn check_table(rows: &[(&[usize], &str, &str)]) {
    for (shape, spec, expected) in rows {
        assert_eq!(slice(shape, spec), *expected, "{shape:?} {spec}");
    }
}

const X5: &[usize] = &[5];
const X34: &[usize] = &[3, 4];
const X234: &[usize] = &[2, 3, 4];

#[test]
fn the_first_broken_rule_is_reported() {
    let vectors_error = |b, e, s| {
        format!(
            "spec_vectors: Expected begin, end, and strides to be 1D equal size tensors, but got \
             shapes [{b}], [{e}], and [{s}] instead."
        )
    };
    let ellipses_error = "multiple_ellipses: Multiple ellipses in slice spec not allowed";
    let too_many_error =
        "too_many_specs: Index out of range using input dim 2; input has only 2 dims";
    let scalar_error = "scalar_input: Attempting to slice scalar input.";
    let zeros = format!("[{}]", ["0"; 32].join(","));
    let thirty_two_entries = format!("b={zeros} e={zeros} s={zeros} na=-1");
    check_table(&[
        (X34, "b=[0,0] e=[1] s=[1,1]", &vectors_error(2, 1, 2)),
        (X34, "b=[0,0] e=[1,1] s=[1]", &vectors_error(2, 2, 1)),
        (X34, "b=[0,0] e=[1] s=[1,1] el=3", &vectors_error(2, 1, 2)),
        (X5, &thirty_two_entries, &vectors_error(32, 32, 32)),
        (X234, "b=[0,0] e=[1,1] s=[1,1] el=3", ellipses_error),
        (X234, "b=[0] e=[1] s=[1] el=3", ellipses_error),
        (
            X34,
            "b=[0,0,0,0,0] e=[1,1,1,1,1] s=[1,1,1,1,1] el=3",
            ellipses_error,
        ),
        (X34, "b=[0,0,0] e=[1,1,1] s=[1,1,1]", too_many_error),
        (X34, "b=[0,0,0] e=[1,1,1] s=[0,1,1]", too_many_error),
        (&[], "b=[0] e=[1] s=[1]", scalar_error),
        (&[], "b=[0] e=[1] s=[0]", scalar_error),
        (
            X5,
            "b=[0] e=[5] s=[0]",
            "stride_zero: strides[0] must be non-zero",
        ),
        (
            X34,
            "b=[0,0,0] e=[0,0,1] s=[0,1,0] na=3",
            "stride_zero: strides[0] must be non-zero",
        ),
        (
            X34,
            "b=[0,0] e=[0,1] s=[1,0] el=1",
            "stride_zero: strides[1] must be non-zero",
        ),
        (
            X5,
            "b=[2] e=[3] s=[-1] sh=1",
            "shrink_stride: only stride 1 allowed on non-range indexing.",
        ),
        (
            X5,
            "b=[9] e=[3] s=[-1] sh=1",
            "shrink_stride: only stride 1 allowed on non-range indexing.",
        ),
        (
            X5,
            "5",
            "shrink_out_of_range: slice index 5 of dimension 0 out of bounds.",
        ),
        (
            X5,
            "-6",
            "shrink_out_of_range: slice index -1 of dimension 0 out of bounds.",
        ),
        (
            X34,
            "b=[9,0] e=[1,1] s=[1,0] sh=1",
            "shrink_out_of_range: slice index 9 of dimension 0 out of bounds.",
        ),
        (
            X234,
            "..., 9",
            "shrink_out_of_range: slice index 9 of dimension 2 out of bounds.",
        ),
        (
            &[1; 9],
            "b=[0] e=[1] s=[0]",
            "stride_zero: strides[0] must be non-zero",
        ),
    ]);
}

#[test]
fn entries_are_matched_with_dimensions() {
    let column = "(2,3,1) [0,4,8,12,16,20]";
    let whole_array = "(3,4) [0,1,2,3,4,5,6,7,8,9,10,11]";
    check_table(&[
        (X234, "b=[9,0] e=[9,1] s=[0,1] el=1 sh=1 na=1 bm=1", column),
        (
            X234,
            "b=[9,0] e=[9,1] s=[0,1] el=1 sh=1 na=1 bm=1 em=1",
            column,
        ),
        (
            X34,
            "b=[99,1] e=[2,2] s=[0,1] na=1 sh=1",
            "(1,1,4) [4,5,6,7]",
        ),
        (X34, "b=[1,1] e=[2,2] s=[1,1] na=1 sh=3", "(1,4) [4,5,6,7]"),
        (X5, "b=[2] e=[3] s=[1] sh=1 bm=1 em=1", "() [2]"),
        (
            X234,
            "b=[1,0,0,2] e=[2,0,3,3] s=[1,1,1,1] el=2",
            "(1,3,1) [14,18,22]",
        ),
        (
            X234,
            "b=[1,0,2] e=[2,0,3] s=[1,1,1] el=2",
            "(1,3,1) [14,18,22]",
        ),
        (
            X234,
            "0:1, ..., 0:1, 0:1, 0:1",
            "too_many_specs: Index out of range using input dim 3; input has only 3 dims",
        ),
        (X234, "..., None, 1", "(2,3,1) [1,5,9,13,17,21]"),
        (
            X234,
            "b=[1,0,1] e=[2,0,2] s=[1,1,1] el=2 na=2 sh=4",
            "(1,3) [13,17,21]",
        ),
        (X34, "b=[0] e=[0] s=[1] el=1 na=-2", whole_array),
        (X34, "b=[0] e=[1] s=[1] na=2", "(1,4) [0,1,2,3]"),
        (X34, "b=[1,99] e=[2,-99] s=[1,0] na=2", "(1,1,4) [4,5,6,7]"),
        (
            X34,
            "..., None, None",
            "(3,4,1,1) [0,1,2,3,4,5,6,7,8,9,10,11]",
        ),
        (
            X34,
            "None, ..., None",
            "(1,3,4,1) [0,1,2,3,4,5,6,7,8,9,10,11]",
        ),
        (X34, "b=[0,0,0] e=[1,1,1] s=[1,1,1] na=2", "(1,1,1) [0]"),
        (X34, ":2, ::-1", "(2,4) [3,2,1,0,7,6,5,4]"),
        (X34, "..., 1, None", "(3,1) [1,5,9]"),
    ]);
    let spec = "1, 2:4, None, ..., :-3:-1, :";
    assert!(slice(&[5; 6], spec).starts_with("(2,1,5,5,2,5) ["));
}

#[test]
fn ranges_are_the_same_as_in_python() {
    let rows = [
        ("1:4:2", "[1,3]"),
        ("-1:-6:-1", "[4,3,2,1,0]"),
        ("4:-1:-1", "[]"),
        ("4:-5:-1", "[4,3,2,1]"),
        ("4:-6:-1", "[4,3,2,1,0]"),
        ("5:0:-1", "[4,3,2,1]"),
        ("100:-100:-3", "[4,1]"),
        ("10:20", "[]"),
        ("-20:-10", "[]"),
        ("-20:-10:-1", "[]"),
        ("-20:-30:-1", "[]"),
        ("20:10:-1", "[]"),
        ("0:-6:-1", "[0]"),
        ("-5:-6:-1", "[0]"),
        ("-6:-7:-1", "[]"),
        ("0:5:7", "[0]"),
        ("-2::-1", "[3,2,1,0]"),
        ("::-1", "[4,3,2,1,0]"),
    ];
    for (spec, values) in rows {
        let result = slice(X5, spec);
        assert_eq!(result.split(' ').nth(1), Some(values), "{spec}: {result}");
    }
}

#[test]
fn masks_open_a_range_in_the_direction_of_its_stride() {
    // Each row has the stride, and the values with no mask, with `end_mask`, with `begin_mask` and with both masks.
    let rows = [
        (1, ["[1,2]", "[1,2,3,4]", "[0,1,2]", "[0,1,2,3,4]"]),
        (2, ["[1]", "[1,3]", "[0,2]", "[0,2,4]"]),
        (-1, ["[]", "[1,0]", "[4]", "[4,3,2,1,0]"]),
        (-2, ["[]", "[1]", "[4]", "[4,2,0]"]),
        (7, ["[1]", "[1]", "[0]", "[0]"]),
        (-7, ["[]", "[1]", "[4]", "[4]"]),
    ];
    for (stride, row) in rows {
        for (masks, values) in ["", "em=1", "bm=1", "bm=1 em=1"].iter().zip(row) {
            let result = slice(X5, &format!("b=[1] e=[3] s=[{stride}] {masks}"));
            assert_eq!(
                result.split(' ').nth(1),
                Some(values),
                "{stride} {masks}: {result}"
            );
        }
    }
}

/// A begin mask of 2^31 does not fit in the type of TensorFlow's attribute, nor in `Spec::begin_mask`.
#[test]
fn mask_bits_beyond_the_spec_are_ignored() {
    for mask in [-1, i32::MAX] {
        check_table(&[(X5, &format!("b=[1] e=[3] s=[1] bm={mask}"), "(3,) [0,1,2]")]);
    }
    for mask in [i32::MIN, -2, 2] {
        check_table(&[(X5, &format!("b=[1] e=[3] s=[1] bm={mask}"), "(2,) [1,2]")]);
    }
    check_table(&[
        (X34, "b=[1] e=[3] s=[1] sh=-1", "(4,) [4,5,6,7]"),
        (
            X34,
            "b=[1] e=[3] s=[1] na=-1",
            "(1,3,4) [0,1,2,3,4,5,6,7,8,9,10,11]",
        ),
    ]);
    for mask in [-1, 3, 6] {
        let ellipses_error = "multiple_ellipses: Multiple ellipses in slice spec not allowed";
        check_table(&[(X5, &format!("b=[1] e=[3] s=[1] el={mask}"), ellipses_error)]);
    }
    for mask in [2, 1 << 30, i32::MIN] {
        check_table(&[(X5, &format!("b=[1] e=[3] s=[1] el={mask}"), "(2,) [1,2]")]);
    }
}

#[test]
fn empty_and_scalar_inputs() {
    for spec in ["0:1", "5:-5:-3", ":", "::-1", "1::7"] {
        check_table(&[(&[0], spec, "(0,) []")]);
    }
    check_table(&[
        (
            &[0],
            "b=[0] e=[1] s=[0]",
            "stride_zero: strides[0] must be non-zero",
        ),
        (
            &[0],
            "0",
            "shrink_out_of_range: slice index 0 of dimension 0 out of bounds.",
        ),
        (
            &[0],
            "-1",
            "shrink_out_of_range: slice index -1 of dimension 0 out of bounds.",
        ),
        (
            &[0, 3],
            ":, 9",
            "shrink_out_of_range: slice index 9 of dimension 1 out of bounds.",
        ),
        (&[0, 3], ":, 1", "(0,) []"),
        (&[0, 3], "b=[0,1] e=[0,2] s=[1,1] sh=2", "(0,) []"),
        (&[3, 0], "1:2", "(1,0) []"),
        (&[3, 0], "1", "(0,) []"),
        (&[2, 0, 3], "::-1, ::-1, ::-1", "(2,0,3) []"),
        (&[], "b=[] e=[] s=[]", "() [7]"),
        (&[], "...", "() [7]"),
        (&[], "None", "(1,) [7]"),
        (&[], "None, None", "(1,1) [7]"),
        (&[], "..., None", "(1,) [7]"),
        (&[], ":", "scalar_input: Attempting to slice scalar input."),
        (&[], "0", "scalar_input: Attempting to slice scalar input."),
    ]);
    // An array without elements can have sizes that no memory could hold.
    check_table(&[(
        &[0, usize::MAX, 4],
        ":, ::-2",
        "(0,9223372036854775808,4) []",
    )]);
}

#[test]
fn extreme_values_of_every_index_type() {
    for (min, max) in [
        (i64::from(i16::MIN), i64::from(i16::MAX)),
        (i64::from(i32::MIN), i64::from(i32::MAX)),
        (i64::MIN, i64::MAX),
    ] {
        let rows: [(&[usize], &str, &str); 10] = [
            (X5, "MIN:MAX", "(5,) [0,1,2,3,4]"),
            (X5, "MAX:MIN:-1", "(5,) [4,3,2,1,0]"),
            (X5, "MAX:MIN:MIN", "(1,) [4]"),
            (X5, "MIN:MAX:MAX", "(1,) [0]"),
            (X5, "3:MIN:MIN", "(1,) [3]"),
            (X5, "0:5:MIN", "(0,) []"),
            (X5, "::MIN", "(1,) [4]"),
            (
                X5,
                "MAX",
                "shrink_out_of_range: slice index MAX of dimension 0 out of bounds.",
            ),
            (
                X5,
                "MIN",
                "shrink_out_of_range: slice index MIN+5 of dimension 0 out of bounds.",
            ),
            (
                X234,
                "MAX:MIN:-1, MAX:MIN:-2, MAX:MIN:-3",
                "(2,2,2) [23,20,15,12,11,8,3,0]",
            ),
        ];
        for (shape, spec, result) in rows {
            let filled = |text: &str| {
                let text = text.replace("MIN+5", &(min + 5).to_string());
                text.replace("MIN", &min.to_string())
                    .replace("MAX", &max.to_string())
            };
            check_table(&[(shape, &filled(spec), &filled(result))]);
        }
    }
}

#[test]
fn the_end_and_the_size_of_the_stride_of_an_index_are_ignored() {
    check_table(&[
        (X5, "b=[2] e=[-99] s=[1] sh=1", "() [2]"),
        (X5, "b=[2] e=[3] s=[100] sh=1", "() [2]"),
        (X5, "b=[2] e=[3] s=[1] sh=1 bm=1", "() [2]"),
        (X5, "-1", "() [4]"),
    ]);
}

/// TensorFlow's kernels reject most slices above rank 8.
#[test]
fn any_rank() {
    check_table(&[
        (&[2; 9], &[":1"; 9].join(","), "(1,1,1,1,1,1,1,1,1) [0]"),
        (&[1; 9], &[":"; 9].join(","), "(1,1,1,1,1,1,1,1,1) [0]"),
        (&[1; 9], "::2", "(1,1,1,1,1,1,1,1,1) [0]"),
        (
            &[4, 3, 1, 1, 1, 1, 1, 1, 1],
            "1:3, 0, ..., 0",
            "(2,1,1,1,1,1,1) [3,6]",
        ),
    ]);
    // Rank 40 is more than the 32 bits of a mask, so the mask cannot have a bit for each dimension.
    let mut shape = vec![1; 40];
    shape[0] = 4;
    shape[39] = 2;
    let result = slice(&shape, "1:2");
    assert!(result.ends_with(",1,2) [2,3]"), "{result}");
    let result = slice(&shape, "::-3, ..., 1");
    assert!(
        result.starts_with("(2,1,") && result.ends_with(",1) [7,1]"),
        "{result}"
    );
}

#[test]
fn values_must_fill_the_shape() {
    for shape in [&[3][..], &[usize::MAX, 2], &[0]] {
        let error = reference::strided_slice(&[1, 2], shape, &Spec::default()).unwrap_err();
        assert_eq!(error.kind, "data_length");
    }
}
