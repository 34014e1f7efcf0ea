//! Tests `slice`, in which no index wraps or is clamped.

use wgslice_vectors::reference::{self, Spec};

use super::{arange, format_outcome, parse_integers};

fn slice(shape: &[usize], begin: &str, size: &str) -> String {
    let (begin, size) = (parse_integers(begin), parse_integers(size));
    format_outcome(reference::slice(&arange(shape), shape, &begin, &size))
}

/// A row of a table: shape, begin, size, result.
type TableRow<'a> = (&'a [usize], &'a str, &'a str, &'a str);

fn check_table(rows: &[TableRow<'_>]) {
    for (shape, begin, size, expected) in rows {
        assert_eq!(
            slice(shape, begin, size),
            *expected,
            "{shape:?} {begin} {size}"
        );
    }
}

const X5: &[usize] = &[5];
const X34: &[usize] = &[3, 4];

#[test]
fn blocks_have_a_begin_and_a_size() {
    check_table(&[
        (X5, "[1]", "[3]", "(3,) [1,2,3]"),
        (X5, "[1]", "[-1]", "(4,) [1,2,3,4]"),
        (X5, "[5]", "[-1]", "(0,) []"),
        (X5, "[5]", "[0]", "(0,) []"),
        (X34, "[1,1]", "[-1,2]", "(2,2) [5,6,9,10]"),
        (X34, "[3,0]", "[-1,-1]", "(0,4) []"),
        (&[], "[]", "[]", "() [7]"),
        (&[0], "[0]", "[0]", "(0,) []"),
        (&[0], "[0]", "[-1]", "(0,) []"),
        (
            &[0, usize::MAX],
            "[0,1]",
            "[0,-1]",
            "(0,18446744073709551614) []",
        ),
    ]);
}

#[test]
fn the_first_broken_rule_is_reported() {
    let vectors_error = |b, s| {
        format!(
            "slice_vectors: Expected begin and size arguments to be 1-D tensors of size 2, but got \
             shapes [{b}] and [{s}] instead."
        )
    };
    let begin_error = |got| format!("slice_begin: Expected begin[0] in [0, 5], but got {got}");
    let size_error =
        |max_size, got| format!("slice_size: Expected size[0] in [0, {max_size}], but got {got}");
    let empty_error = |begin, size| {
        format!(
            "slice_begin: Expected begin[0] == 0 (got {begin}) and size[0] == 0 (got {size}) when \
             input.dim_size(0) == 0"
        )
    };
    check_table(&[
        (X34, "[0]", "[1]", &vectors_error(1, 1)),
        (X34, "[9,9]", "[1,1,1]", &vectors_error(2, 3)),
        (X5, "[6]", "[-1]", &begin_error(6)),
        (X5, "[6]", "[0]", &begin_error(6)),
        (X5, "[-1]", "[1]", &begin_error(-1)),
        (X5, "[-1]", "[-1]", &begin_error(-1)),
        (X5, "[5]", "[1]", &size_error(0, 1)),
        (X5, "[0]", "[6]", &size_error(5, 6)),
        (X5, "[3]", "[3]", &size_error(2, 3)),
        (X5, "[0]", "[-2]", &size_error(5, -2)),
        (&[0], "[0]", "[1]", &empty_error(0, 1)),
        (&[0], "[1]", "[-1]", &empty_error(1, -1)),
        // Dimensions are checked in order: the size in the first dimension before the start in the second.
        (&[5, 5], "[3,9]", "[3,1]", &size_error(2, 3)),
        (
            &[5, 5],
            "[3,9]",
            "[2,1]",
            "slice_begin: Expected begin[1] in [0, 5], but got 9",
        ),
    ]);
}

/// With begin 1 and size `i64::MAX` their sum overflows in TensorFlow's check, so TensorFlow accepts the size and tries
/// to allocate the result. The reference reports an error.
#[test]
fn extreme_values() {
    for value in [i64::MIN, i64::MAX] {
        check_table(&[
            (
                X5,
                "[1]",
                &format!("[{value}]"),
                &format!("slice_size: Expected size[0] in [0, 4], but got {value}"),
            ),
            (
                X5,
                &format!("[{value}]"),
                "[-1]",
                &format!("slice_begin: Expected begin[0] in [0, 5], but got {value}"),
            ),
        ]);
    }
}

/// TensorFlow's kernel accepts up to 8 dimensions. The reference accepts any number.
#[test]
fn any_rank() {
    check_table(&[(
        &[2; 9],
        "[1,0,1,1,1,1,1,1,0]",
        "[1,-1,1,1,1,1,1,-1,1]",
        "(1,2,1,1,1,1,1,1,1) [382,510]",
    )]);
}

#[test]
fn a_valid_block_is_a_strided_slice() {
    for shape in [[0, 3], [3, 2]] {
        let input = arange(&shape);
        let blocks = shape.map(|n| (0..=n).flat_map(move |b| (0..=n - b).map(move |s| (b, s))));
        let [rows, columns] = blocks.map(|blocks| blocks.collect::<Vec<_>>());
        for (rows, columns) in rows
            .iter()
            .flat_map(|r| columns.iter().map(move |c| (r, c)))
        {
            let to_i64 = |value: usize| i64::try_from(value).unwrap();
            let begin = [to_i64(rows.0), to_i64(columns.0)];
            let size = [to_i64(rows.1), to_i64(columns.1)];
            let end = [begin[0] + size[0], begin[1] + size[1]];
            let spec = Spec {
                begin: &begin,
                end: &end,
                strides: &[1, 1],
                ..Spec::default()
            };
            assert_eq!(
                reference::slice(&input, &shape, &begin, &size),
                reference::strided_slice(&input, &shape, &spec),
            );
        }
    }
}

#[test]
fn values_must_fill_the_shape() {
    let error = reference::slice(&[1, 2], &[3], &[], &[]).unwrap_err();
    assert_eq!(error.kind, "data_length");
}
