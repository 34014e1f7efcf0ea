//! Tests `broadcast_to`, which follows NumPy's rules.

use wgslice_vectors::reference;

use super::{arange, format_outcome};

fn check_table(rows: &[(&[usize], &[usize], &str)]) {
    for (shape, new_shape, expected) in rows {
        let values = reference::broadcast_to(&arange(shape), shape, new_shape);
        let expected = match expected.split_once(' ') {
            None => format!(
                "broadcast: Cannot broadcast input shape {expected} into final shape {}",
                format!("{new_shape:?}").replace(' ', "")
            ),
            Some(_) => (*expected).to_owned(),
        };
        let row = format!("{shape:?} to {new_shape:?}");
        assert_eq!(
            format_outcome(values.map(|values| (new_shape.to_vec(), values))),
            expected,
            "{row}"
        );
    }
}

#[test]
fn axes_of_size_one_are_repeated() {
    check_table(&[
        (&[], &[], "() [7]"),
        (&[], &[2, 2], "(2,2) [7,7,7,7]"),
        (&[3], &[3], "(3,) [0,1,2]"),
        (&[3], &[2, 3], "(2,3) [0,1,2,0,1,2]"),
        (&[2, 1], &[2, 3], "(2,3) [0,0,0,1,1,1]"),
        (&[1, 2, 1], &[2, 2, 2], "(2,2,2) [0,0,1,1,0,0,1,1]"),
        (&[2, 1, 2], &[2, 2, 2], "(2,2,2) [0,1,0,1,2,3,2,3]"),
        (&[1], &[0], "(0,) []"),
        (&[], &[0, 2], "(0,2) []"),
        (&[0, 1], &[2, 0, 3], "(2,0,3) []"),
    ]);
}

/// A result without a space stands for an error: it is the input's shape as the error's message prints it.
#[test]
fn other_axes_cannot_be_repeated() {
    check_table(&[
        (&[2], &[3], "[2]"),
        (&[3], &[1], "[3]"),
        (&[3], &[3, 1], "[3]"),
        (&[0], &[1], "[0]"),
        (&[2], &[], "[2]"),
        // NumPy does not drop leading axes in `broadcast_to`, unlike in an assignment to a slice.
        (&[1, 3], &[3], "[1,3]"),
        (&[1], &[], "[1]"),
    ]);
}

#[test]
fn data_must_fill_its_shape_and_the_result_must_fit() {
    let error_kind = |shape: &[usize], new_shape: &[usize]| {
        reference::broadcast_to(&[1], shape, new_shape)
            .unwrap_err()
            .kind
    };
    assert_eq!(error_kind(&[2], &[2]), "data_length");
    assert_eq!(error_kind(&[1], &[usize::MAX, usize::MAX]), "too_large");
    assert_eq!(error_kind(&[1], &[usize::MAX / 2]), "too_large");
}
