//! Tests `gather` and `batch_gather`: axes, batch dimensions, and indices out of range.

use wgslice_vectors::reference::{self, Indexing};

use super::{CLAMP, NUMPY, arange, format_gathered, parse_integers};

/// A row of a table: params shape, indices shape, indices, axis, `batch_dims`, result.
type TableRow<'a> = (&'a [usize], &'a [usize], &'a str, i64, i64, &'a str);

fn check_with(indexing: Indexing, rows: &[TableRow<'_>]) {
    for &(params_shape, indices_shape, indices, axis, batch_dims, expected) in rows {
        let gathered = reference::gather(
            &arange(params_shape),
            params_shape,
            &parse_integers(indices),
            indices_shape,
            axis,
            batch_dims,
            indexing,
        );
        let row = format!(
            "{params_shape:?} {indices_shape:?} {indices} {axis} {batch_dims} {indexing:?}"
        );
        assert_eq!(format_gathered(gathered), expected, "{row}");
    }
}

fn check_table(rows: &[TableRow<'_>]) {
    check_with(Indexing::default(), rows);
}

const X5: &[usize] = &[5];
const X34: &[usize] = &[3, 4];
const X234: &[usize] = &[2, 3, 4];

#[test]
fn positions_along_an_axis() {
    check_table(&[
        (X34, &[2], "[2,0]", 1, 0, "(3,2) [2,0,6,4,10,8]"),
        (X34, &[2], "[2,0]", -1, 0, "(3,2) [2,0,6,4,10,8]"),
        (X34, &[2], "[2,0]", -2, 0, "(2,4) [8,9,10,11,0,1,2,3]"),
        (X34, &[], "[1]", 0, 0, "(4,) [4,5,6,7]"),
        (X34, &[], "[1]", 1, 0, "(3,) [1,5,9]"),
        (X5, &[], "[4]", 0, 0, "() [4]"),
        (X5, &[2, 2], "[0,4,4,1]", 0, 0, "(2,2) [0,4,4,1]"),
        (X34, &[1, 2], "[1,3]", 1, 0, "(3,1,2) [1,3,5,7,9,11]"),
        (
            X234,
            &[2],
            "[2,0]",
            1,
            0,
            "(2,2,4) [8,9,10,11,0,1,2,3,20,21,22,23,12,13,14,15]",
        ),
        (X34, &[0], "[]", 1, 0, "(3,0) []"),
        (
            &[1; 12],
            &[2],
            "[0,0]",
            11,
            0,
            "(1,1,1,1,1,1,1,1,1,1,1,2) [0,0]",
        ),
    ]);
}

#[test]
fn batch_dimensions_are_shared() {
    let columns = "(2,3,2) [0,2,4,6,8,10,13,13,17,17,21,21]";
    let rows = "(2,2,4) [0,1,2,3,8,9,10,11,16,17,18,19,16,17,18,19]";
    check_table(&[
        (X34, &[3, 2], "[0,1,2,3,1,1]", 1, 1, "(3,2) [0,1,6,7,9,9]"),
        (X34, &[3], "[0,3,2]", 1, 1, "(3,) [0,7,10]"),
        (X34, &[3], "[0,3,2]", -1, -1, "(3,3) [0,3,2,4,7,6,8,11,10]"),
        (X34, &[3, 1], "[0,3,2]", -1, -1, "(3,1) [0,7,10]"),
        (X234, &[2, 2], "[0,2,1,1]", 2, 1, columns),
        (X234, &[2, 2], "[0,2,1,1]", 2, -1, columns),
        (X234, &[2, 2], "[0,2,1,1]", 1, -1, rows),
        (X234, &[2, 2], "[0,2,1,1]", 1, 1, rows),
        (
            X234,
            &[2, 3],
            "[3,2,1,0,1,2]",
            2,
            2,
            "(2,3) [3,6,9,12,17,22]",
        ),
        // All dimensions of the indices are batch dimensions, so the result has no dimension in place of the axis.
        (X234, &[2], "[2,0]", 1, 1, "(2,4) [8,9,10,11,12,13,14,15]"),
    ]);
}

#[test]
fn the_first_broken_rule_is_reported() {
    let axis_error =
        |min_rank, rank| format!("axis: Shape must be at least rank {min_rank} but is rank {rank}");
    let batch_dims_error = |first, last, got| {
        format!("batch_dims: Expected batch_dims in the range [{first}, {last}], but got {got}")
    };
    check_table(&[
        (
            &[],
            &[1],
            "[0]",
            0,
            0,
            "params_rank: params must be at least 1 dimensional",
        ),
        (
            &[],
            &[1],
            "[0]",
            5,
            5,
            "params_rank: params must be at least 1 dimensional",
        ),
        (X34, &[2], "[0,0]", 2, 0, &axis_error("3", 2)),
        (X34, &[2], "[0,0]", -5, 0, &axis_error("5", 2)),
        (
            X34,
            &[2],
            "[0,0]",
            i64::MIN,
            0,
            &axis_error("9223372036854775808", 2),
        ),
        (
            X34,
            &[2],
            "[0,0]",
            i64::MAX,
            9,
            &axis_error("9223372036854775808", 2),
        ),
        (
            X34,
            &[3, 1],
            "[0,0,0]",
            1,
            3,
            &batch_dims_error("-2", 2, "3"),
        ),
        (
            X34,
            &[3, 1],
            "[0,0,0]",
            1,
            -3,
            &batch_dims_error("-2", 2, "-3"),
        ),
        (X34, &[], "[0]", 1, 1, &batch_dims_error("0", 0, "1")),
        (
            X34,
            &[],
            "[0]",
            1,
            i64::MIN,
            &batch_dims_error("0", 0, "-9223372036854775808"),
        ),
        (
            X234,
            &[2, 3, 4],
            &format!("[{}]", ["0"; 24].join(",")),
            0,
            3,
            "batch_dims: batch_dims (3) must be less than rank(params) (3).",
        ),
        (
            X34,
            &[3, 1],
            "[0,0,0]",
            0,
            1,
            "batch_dims: batch_dims (1) must be less than or equal to axis (0).",
        ),
        (
            X234,
            &[3, 1],
            "[0,0,0]",
            1,
            1,
            "batch_shape: params.shape[0]: 2 should be equal to indices.shape[0]: 3",
        ),
        // The batch dimensions must be equal one by one. An equal product is not enough.
        (
            X234,
            &[3, 2],
            "[0,0,0,0,0,0]",
            2,
            2,
            "batch_shape: params.shape[0]: 2 should be equal to indices.shape[0]: 3",
        ),
    ]);
}

#[test]
fn bad_indices_give_zeros() {
    check_table(&[
        (X5, &[3], "[0,7,-3]", 0, 0, "(3,) [0,0,0] bad [1,2]"),
        (X5, &[], "[5]", 0, 0, "() [0] bad [0]"),
        (X34, &[2], "[4,1]", 1, 0, "(3,2) [0,1,0,5,0,9] bad [0]"),
        (X34, &[2], "[-1,1]", 0, 0, "(2,4) [0,0,0,0,4,5,6,7] bad [0]"),
        (
            X234,
            &[2, 2],
            "[0,2,1,3]",
            1,
            1,
            "(2,2,4) [0,1,2,3,8,9,10,11,16,17,18,19,0,0,0,0] bad [3]",
        ),
        (X5, &[2], "[4294967296,1]", 0, 0, "(2,) [0,1] bad [0]"),
        (
            X5,
            &[2],
            &format!("[{},{}]", i64::MIN, i64::MAX),
            0,
            0,
            "(2,) [0,0] bad [0,1]",
        ),
    ]);
}

/// Unlike `gather_nd`, `gather` accepts empty params. If the result is empty too, the values of indices are not
/// checked.
#[test]
fn the_indices_of_an_empty_result_are_not_checked() {
    check_table(&[
        (&[3, 0], &[1], "[5]", 0, 0, "(1,0) []"),
        (&[0, 3], &[1], "[-1]", 1, 0, "(0,1) []"),
        (&[0, 3], &[1], "[0]", 0, 0, "(1,3) [0,0,0] bad [0]"),
        (&[0, 3], &[0], "[]", 0, 0, "(0,3) []"),
    ]);
}

#[test]
fn indices_wrap_or_clamp() {
    let both = Indexing {
        wrap: true,
        clamp: true,
    };
    check_with(
        NUMPY,
        &[(X5, &[4], "[0,7,-3,-6]", 0, 0, "(4,) [0,0,2,0] bad [1,3]")],
    );
    check_with(CLAMP, &[(X5, &[4], "[0,7,-3,-6]", 0, 0, "(4,) [0,4,0,0]")]);
    check_with(both, &[(X5, &[4], "[0,7,-3,-6]", 0, 0, "(4,) [0,4,2,0]")]);
    // A dimension of size 0 has no position to clamp to.
    check_with(both, &[(&[0, 2], &[1], "[0]", 0, 0, "(1,2) [0,0] bad [0]")]);
}

#[test]
fn gather_along_the_first_axis_is_gather_nd() {
    let indices = [1, -1, 0, 2, 1, 5];
    for params_shape in [X5, X34, &[2, 3, 1, 2]] {
        let values = arange(params_shape);
        for indexing in [Indexing::default(), NUMPY, CLAMP] {
            assert_eq!(
                reference::gather(&values, params_shape, &indices, &[2, 3], 0, 0, indexing),
                reference::gather_nd(&values, params_shape, &indices, &[2, 3, 1], 0, indexing),
            );
        }
    }
}

#[test]
fn a_batch_is_looked_up_by_its_own_indices() {
    let rows: [(&[usize], &[usize], &str, &str); 9] = [
        (X34, &[3, 1], "[0,3,2]", "(3,1) [0,7,10]"),
        (X5, &[2], "[4,0]", "(2,) [4,0]"),
        (X234, &[2, 1], "[2,0]", "(2,1,4) [8,9,10,11,12,13,14,15]"),
        // Where the reference gives 0, TensorFlow reads 8 and 3 from the neighbouring batches.
        (X34, &[3, 1], "[0,4,0]", "(3,1) [0,0,8] bad [1]"),
        (X34, &[3, 1], "[0,-1,0]", "(3,1) [0,0,8] bad [1]"),
        (
            X34,
            &[],
            "[0]",
            "batch_dims: Expected batch_dims in the range [0, 0], but got -1",
        ),
        // The rank of params is checked before other rules, as in TensorFlow.
        (
            &[],
            &[],
            "[0]",
            "params_rank: params must be at least 1 dimensional",
        ),
        (
            X5,
            &[5, 1],
            "[0,0,0,0,0]",
            "axis: Shape must be at least rank 2 but is rank 1",
        ),
        (
            X34,
            &[2, 1],
            "[0,0]",
            "batch_shape: params.shape[0]: 3 should be equal to indices.shape[0]: 2",
        ),
    ];
    for (params_shape, indices_shape, indices, expected) in rows {
        let gathered = reference::batch_gather(
            &arange(params_shape),
            params_shape,
            &parse_integers(indices),
            indices_shape,
            Indexing::default(),
        );
        assert_eq!(
            format_gathered(gathered),
            expected,
            "{params_shape:?} {indices_shape:?} {indices}"
        );
    }
}

#[test]
fn data_must_fill_its_shape_and_the_result_must_fit() {
    let error_kind = |params: &[i64], indices: &[i64], indices_shape: &[usize]| {
        reference::gather(params, &[2, 1], indices, indices_shape, 1, 0, NUMPY)
            .unwrap_err()
            .kind
    };
    assert_eq!(error_kind(&[1], &[0], &[1]), "data_length");
    assert_eq!(error_kind(&[1, 2], &[0], &[2]), "data_length");
    let outcome = reference::gather::<i64>(&[], &[usize::MAX, 0], &[0], &[1], 1, 0, CLAMP);
    assert_eq!(outcome.unwrap_err().kind, "too_large");
}
