//! Tests `strided_slice_update`: the replaced elements, and the valid shapes of values.

use wgslice_vectors::reference;

use super::{arange, format_list, format_outcome, parse_integers, spec_text::OwnedSpec};

fn update(shape: &[usize], spec: &str, value_shape: &[usize], value: &str) -> String {
    let (input, spec, value) = (arange(shape), OwnedSpec::parse(spec), parse_integers(value));
    let values = reference::strided_slice_update(&input, shape, &spec.spec(), &value, value_shape);
    format_outcome(values.map(|values| (shape.to_vec(), values)))
}

/// A row of a table: shape, spec, shape of the value, value, result.
type TableRow<'a> = (&'a [usize], &'a str, &'a [usize], &'a str, &'a str);

fn check_table(rows: &[TableRow<'_>]) {
    for (shape, spec, value_shape, value, expected) in rows {
        let row = format!("{shape:?} {spec} {value_shape:?} {value}");
        assert_eq!(update(shape, spec, value_shape, value), *expected, "{row}");
    }
}

const X5: &[usize] = &[5];
const X34: &[usize] = &[3, 4];
/// A spec that selects the whole of a matrix, with a new axis between rows and columns.
const NEW_AXIS: &str = ":, None";

#[test]
fn values_are_replaced() {
    check_table(&[
        (X5, "3:0:-1", &[3], "[1,2,3]", "(5,) [0,3,2,1,4]"),
        (X5, "1:4", &[1, 3], "[1,2,3]", "(5,) [0,1,2,3,4]"),
        (X5, "2", &[], "[9]", "(5,) [0,1,9,3,4]"),
        (
            X34,
            "::-1, ::-2",
            &[3, 2],
            "[1,2,3,4,5,6]",
            "(3,4) [0,6,2,5,4,4,6,3,8,2,10,1]",
        ),
        (
            X34,
            NEW_AXIS,
            &[3, 1, 1],
            "[1,2,3]",
            "(3,4) [1,1,1,1,2,2,2,2,3,3,3,3]",
        ),
        (&[], "b=[] e=[] s=[]", &[], "[9]", "() [9]"),
        (&[], "b=[] e=[] s=[]", &[1], "[9]", "() [9]"),
    ]);
}

#[test]
fn values_are_broadcast() {
    for (value_shape, value) in [(&[][..], "[9]"), (&[1], "[9]"), (&[1, 1], "[9]")] {
        check_table(&[
            (X5, "1:4", value_shape, value, "(5,) [0,9,9,9,4]"),
            (X5, "2", value_shape, value, "(5,) [0,1,9,3,4]"),
        ]);
    }
    for value_shape in [&[4][..], &[1, 4], &[1, 1, 4]] {
        let one_row_changed = "(3,4) [0,1,2,3,50,51,52,53,8,9,10,11]";
        check_table(&[(X34, "1", value_shape, "[50,51,52,53]", one_row_changed)]);
        let all_rows_changed = "(3,4) [50,51,52,53,50,51,52,53,50,51,52,53]";
        check_table(&[(
            X34,
            "b=[] e=[] s=[]",
            value_shape,
            "[50,51,52,53]",
            all_rows_changed,
        )]);
        check_table(&[(
            X34,
            NEW_AXIS,
            value_shape,
            "[50,51,52,53]",
            all_rows_changed,
        )]);
    }
    let twelve_values = format_list(&(50..62).collect::<Vec<i64>>());
    for (spec, value_shape) in [
        ("b=[] e=[] s=[]", &[3, 4][..]),
        ("b=[] e=[] s=[]", &[1, 3, 4]),
        (NEW_AXIS, &[3, 1, 4]),
    ] {
        let value = format!("[{twelve_values}]");
        check_table(&[(X34, spec, value_shape, &value, &format!("(3,4) {value}"))]);
    }
}

#[test]
fn values_that_do_not_broadcast() {
    let rows: [(&[usize], &str, &[usize], &str); 9] = [
        (X5, "1:4", &[2], "[2] into final shape [3]"),
        (X5, "1:4", &[3, 1], "[3,1] into final shape [3]"),
        (X5, "1:4", &[0], "[0] into final shape [3]"),
        (X5, "1:4", &[2, 1, 3], "[2,1,3] into final shape [3]"),
        (X5, "2", &[2], "[2] into final shape []"),
        (X34, NEW_AXIS, &[3, 4], "[3,4] into final shape [3,1,4]"),
        (X34, NEW_AXIS, &[3, 1], "[3,1] into final shape [3,1,4]"),
        (X34, "...", &[2, 3, 4], "[2,3,4] into final shape [3,4]"),
        (
            X34,
            "...",
            &[1, 1, 3, 1, 4],
            "[1,1,3,1,4] into final shape [3,4]",
        ),
    ];
    for (shape, spec, value_shape, error_end) in rows {
        let value = format!("[{}]", format_list(&arange(value_shape)));
        let error = format!("broadcast: Cannot broadcast input shape {error_end}");
        check_table(&[(shape, spec, value_shape, &value, &error)]);
    }
}

/// An empty slice accepts a value of any shape, and no element is replaced.
#[test]
fn an_empty_slice_takes_any_value() {
    let unchanged = "(5,) [0,1,2,3,4]";
    let values = format!("[{}]", format_list(&arange(&[343])));
    check_table(&[
        (X5, "3:1", &[2, 2], "[1,2,3,4]", unchanged),
        (X5, "3:1", &[7, 7, 7], &values, unchanged),
        (X5, "3:1", &[0], "[]", unchanged),
        (&[2, 0], "1", &[5], "[1,2,3,4,5]", "(2,0) []"),
        // The rules of the spec still apply if the value is not used.
        (
            X5,
            "b=[0] e=[5] s=[0]",
            &[5],
            "[1,2,3,4,5]",
            "stride_zero: strides[0] must be non-zero",
        ),
    ]);
}

/// TensorFlow rejects more than 8 dimensions, even if the slice is the whole input. The reference accepts any number.
#[test]
fn any_rank() {
    let shape = [1, 1, 1, 1, 1, 1, 1, 1, 3];
    check_table(&[
        (
            &shape,
            "..., ::-2",
            &[2],
            "[8,9]",
            "(1,1,1,1,1,1,1,1,3) [9,1,8]",
        ),
        (
            &shape,
            "...",
            &[3],
            "[7,8,9]",
            "(1,1,1,1,1,1,1,1,3) [7,8,9]",
        ),
    ]);
}

#[test]
fn data_must_fill_its_shape() {
    let spec = reference::Spec::default();
    let error_kind = |input: &[i64], value: &[i64]| {
        reference::strided_slice_update(input, &[2], &spec, value, &[2])
            .unwrap_err()
            .kind
    };
    assert_eq!(error_kind(&[1], &[1, 2]), "data_length");
    assert_eq!(error_kind(&[1, 2], &[1]), "data_length");
}
