//! Tests `gather_nd`: index tuples, batch dimensions, tuples out of range, and strings.

use wgslice_vectors::reference::{self, Indexing};

use super::{CLAMP, NUMPY, arange, format_array, format_gathered, format_list, parse_integers};

fn gather(
    params_shape: &[usize],
    indices_shape: &[usize],
    indices: &str,
    batch_dims: usize,
) -> String {
    gather_with(
        Indexing::default(),
        params_shape,
        indices_shape,
        indices,
        batch_dims,
    )
}

fn gather_with(
    indexing: Indexing,
    params_shape: &[usize],
    indices_shape: &[usize],
    indices: &str,
    batch_dims: usize,
) -> String {
    format_gathered(reference::gather_nd(
        &arange(params_shape),
        params_shape,
        &parse_integers(indices),
        indices_shape,
        batch_dims,
        indexing,
    ))
}

/// A row of a table: params shape, indices shape, indices, `batch_dims`, result.
type TableRow<'a> = (&'a [usize], &'a [usize], &'a str, usize, &'a str);

fn check_table(rows: &[TableRow<'_>]) {
    for (params_shape, indices_shape, indices, batch_dims, expected) in rows {
        let row = format!("{params_shape:?} {indices_shape:?} {indices} {batch_dims}");
        assert_eq!(
            gather(params_shape, indices_shape, indices, *batch_dims),
            *expected,
            "{row}"
        );
    }
}

const X34: &[usize] = &[3, 4];
const X234: &[usize] = &[2, 3, 4];

#[test]
fn rows_select_slices() {
    let all_values = format_list(&arange(X234));
    let two_copies = format!("(2,2,3,4) [{all_values},{all_values}]");
    let one_copy = format!("(2,3,4) [{all_values}]");
    let half_of_values = format_list(&arange(&[12]));
    check_table(&[
        (X234, &[2, 0], "[]", 0, &two_copies),
        (
            X234,
            &[2, 1],
            "[0,0]",
            0,
            &format!("(2,3,4) [{half_of_values},{half_of_values}]"),
        ),
        (
            X234,
            &[1],
            "[1]",
            0,
            "(3,4) [12,13,14,15,16,17,18,19,20,21,22,23]",
        ),
        (X234, &[2], "[1,2]", 0, "(4,) [20,21,22,23]"),
        (X234, &[3], "[1,2,3]", 0, "() [23]"),
        (X234, &[0], "[]", 0, &one_copy),
        (X34, &[0, 2], "[]", 0, "(0,) []"),
        (X34, &[0, 1], "[]", 0, "(0,4) []"),
        (X34, &[0, 0], "[]", 0, "(0,3,4) []"),
        (X34, &[2, 0, 1], "[]", 0, "(2,0,4) []"),
        (X34, &[1], "[1]", 0, "(4,) [4,5,6,7]"),
        (X34, &[2], "[1,2]", 0, "() [6]"),
        (
            X34,
            &[2, 0],
            "[]",
            0,
            &gather(X34, &[2, 1, 0], "[]", 0).replace("2,1,", "2,"),
        ),
    ]);
}

#[test]
fn the_first_broken_rule_is_reported() {
    let empty_error = "empty_params: Requested more than 0 entries, but params is empty. \
                 Params shape: [3,0]";
    let depth_error = |found, rank| {
        format!(
            "index_depth: index innermost dimension length must be <= params rank; \
             saw: {found} vs. {rank}"
        )
    };
    check_table(&[
        (
            &[],
            &[0],
            "[]",
            0,
            "params_rank: params must be at least a vector",
        ),
        (
            &[],
            &[],
            "[0]",
            0,
            "params_rank: params must be at least a vector",
        ),
        (
            X34,
            &[],
            "[0]",
            0,
            "indices_rank: indices must be at least a vector",
        ),
        (X34, &[1, 3], "[0,0,0]", 0, &depth_error(3, 2)),
        (X234, &[0, 4], "[]", 0, &depth_error(4, 3)),
        (X234, &[2, 3], "[0,0,0,0,0,0]", 1, &depth_error(4, 3)),
        (&[3, 0], &[1, 1], "[0]", 0, empty_error),
        (&[3, 0], &[1, 1], "[9]", 0, empty_error),
        (&[3, 0], &[1, 0], "[]", 0, empty_error),
        (&[3, 0], &[0, 1], "[]", 0, "(0,0) []"),
    ]);
}

/// TensorFlow's kernels accept index tuples of up to 7 integers. The reference has no limit.
#[test]
fn any_depth_and_rank() {
    check_table(&[
        (&[2; 8], &[1, 8], "[0,0,0,0,0,0,1,1]", 0, "(1,) [3]"),
        (&[2; 9], &[0, 8], "[]", 0, "(0,2) []"),
        (&[1; 12], &[1, 3], "[0,0,0]", 0, "(1,1,1,1,1,1,1,1,1,1) [0]"),
    ]);
}

#[test]
fn bad_tuples_give_zeros() {
    check_table(&[
        (X34, &[1, 2], "[3,0]", 0, "(1,) [0] bad [0]"),
        (X34, &[1, 2], "[-1,0]", 0, "(1,) [0] bad [0]"),
        (X34, &[1], "[5]", 0, "(4,) [0,0,0,0] bad [0]"),
        (
            X34,
            &[4, 2],
            "[0,0,3,0,1,1,9,9]",
            0,
            "(4,) [0,0,5,0] bad [1,3]",
        ),
        (
            X34,
            &[4, 2],
            "[0,1,3,0,2,3,-1,0]",
            0,
            "(4,) [1,0,11,0] bad [1,3]",
        ),
        (
            X34,
            &[4, 2],
            "[0,1,3,0,-1,0,2,9]",
            0,
            "(4,) [1,0,0,0] bad [1,2,3]",
        ),
        (
            X34,
            &[3, 1],
            "[1,3,-1]",
            0,
            "(3,4) [4,5,6,7,0,0,0,0,0,0,0,0] bad [1,2]",
        ),
        (X34, &[1, 2], "[4294967296,0]", 0, "(1,) [0] bad [0]"),
        (
            X34,
            &[2, 1, 1],
            "[-9223372036854775808,2]",
            0,
            "(2,1,4) [0,0,0,0,8,9,10,11] bad [0]",
        ),
        (X234, &[2, 1], "[0,3]", 1, "(2,4) [0,1,2,3,0,0,0,0] bad [1]"),
        (
            X234,
            &[2, 3, 1],
            "[0,0,0,0,0,9]",
            2,
            "(2,3) [0,4,8,12,16,0] bad [5]",
        ),
    ]);
}

#[test]
fn indices_wrap_or_clamp() {
    let both = Indexing {
        wrap: true,
        clamp: true,
    };
    let indices = "[0,1,-1,0,3,0,2,9,-4,-5,-9,2]";
    let rows = [
        (Indexing::default(), "(6,) [1,0,0,0,0,0] bad [1,2,3,4,5]"),
        (NUMPY, "(6,) [1,8,0,0,0,0] bad [2,3,4,5]"),
        (CLAMP, "(6,) [1,0,8,11,0,2]"),
        (both, "(6,) [1,8,8,11,0,2]"),
    ];
    for (indexing, expected) in rows {
        let gathered = gather_with(indexing, X34, &[6, 2], indices, 0);
        assert_eq!(gathered, expected, "{indexing:?}");
    }
    // Indices wrap and clamp within their batch.
    assert_eq!(
        gather_with(NUMPY, X34, &[3, 1], "[-1,-5,-4]", 1),
        "(3,) [3,0,8] bad [1]"
    );
    assert_eq!(
        gather_with(CLAMP, X34, &[3, 1], "[-1,9,1]", 1),
        "(3,) [0,7,9]"
    );
    // TensorFlow's rule for empty params is checked before any index.
    assert!(gather_with(both, &[3, 0], &[1, 1], "[0]", 0).starts_with("empty_params: "));
}

#[test]
fn batch_dimensions_are_shared() {
    let error_start = "batch_shape: params.shape";
    check_table(&[
        (X234, &[2, 1], "[0,2]", 1, "(2,4) [0,1,2,3,20,21,22,23]"),
        (
            X234,
            &[2, 2, 1],
            "[0,1,2,0]",
            1,
            "(2,2,4) [0,1,2,3,4,5,6,7,20,21,22,23,12,13,14,15]",
        ),
        (
            X234,
            &[2, 3, 1],
            "[0,1,2,3,2,1]",
            2,
            "(2,3) [0,5,10,15,18,21]",
        ),
        (X234, &[2, 3, 0], "[]", 2, &gather(X234, &[0], "[]", 0)),
        (
            X234,
            &[2, 1],
            "[0,0]",
            2,
            "batch_dims: Argument `batch_dims` = 2 must be less than rank(`indices`) = 2",
        ),
        (
            X34,
            &[3, 4, 1],
            "[0,0,0,0,0,0,0,0,0,0,0,0]",
            2,
            "batch_dims: Argument `batch_dims` = 2 must be less than rank(`params`) = 2",
        ),
        (
            X234,
            &[3, 1],
            "[0,0,0]",
            1,
            &format!("{error_start}[0]: 2 should be equal to indices.shape[0]: 3"),
        ),
        // TensorFlow reshapes these batch dimensions without an error.
        (
            X234,
            &[3, 2, 1],
            "[0,0,0,0,0,0]",
            2,
            &format!("{error_start}[0]: 2 should be equal to indices.shape[0]: 3"),
        ),
        (
            X234,
            &[6, 1, 1],
            "[0,0,0,0,0,0]",
            2,
            &format!("{error_start}[0]: 2 should be equal to indices.shape[0]: 6"),
        ),
        (
            X234,
            &[2, 9, 0],
            "[]",
            2,
            &format!("{error_start}[1]: 3 should be equal to indices.shape[1]: 9"),
        ),
    ]);
}

/// The examples of TensorFlow's documentation, whose params are strings.
#[test]
fn strings_are_gathered_as_in_the_documentation() {
    let p2: (&[usize], &[&str]) = (&[2, 2], &["a", "b", "c", "d"]);
    let p3: (&[usize], &[&str]) = (
        &[2, 2, 2],
        &["a0", "b0", "c0", "d0", "a1", "b1", "c1", "d1"],
    );
    type Example<'a> = ((&'a [usize], &'a [&'a str]), &'a [usize], &'a str, &'a str);
    let rows: [Example<'_>; 10] = [
        (p2, &[2, 2], "[0,0,1,1]", "(2,) [a,d]"),
        (p2, &[2, 1], "[1,0]", "(2,2) [c,d,a,b]"),
        (p3, &[1, 1], "[1]", "(1,2,2) [a1,b1,c1,d1]"),
        (p3, &[2, 2], "[0,1,1,0]", "(2,2) [c0,d0,a1,b1]"),
        (p3, &[2, 3], "[0,0,1,1,0,1]", "(2,) [b0,b1]"),
        (p2, &[2, 1, 2], "[0,0,0,1]", "(2,1) [a,b]"),
        (p2, &[2, 1, 1], "[1,0]", "(2,1,2) [c,d,a,b]"),
        (
            p3,
            &[2, 1, 1],
            "[1,0]",
            "(2,1,2,2) [a1,b1,c1,d1,a0,b0,c0,d0]",
        ),
        (
            p3,
            &[2, 2, 2],
            "[0,1,1,0,0,0,1,1]",
            "(2,2,2) [c0,d0,a1,b1,a0,b0,c1,d1]",
        ),
        (
            p3,
            &[2, 2, 3],
            "[0,0,1,1,0,1,0,1,1,1,1,0]",
            "(2,2) [b0,b1,d0,c1]",
        ),
    ];
    for ((params_shape, params), indices_shape, indices, expected) in rows {
        let params: Vec<String> = params.iter().map(ToString::to_string).collect();
        let gathered = reference::gather_nd(
            &params,
            params_shape,
            &parse_integers(indices),
            indices_shape,
            0,
            Indexing::default(),
        )
        .unwrap();
        assert!(gathered.bad_rows.is_empty());
        assert_eq!(
            format_array(&gathered.shape, &gathered.values),
            expected,
            "{indices_shape:?} {indices}"
        );
    }
}

#[test]
fn a_bad_row_of_strings_is_empty_strings() {
    let params = ["a".to_owned(), "b".to_owned()];
    let gathered =
        reference::gather_nd(&params, &[2, 1], &[2, 1], &[2, 1], 0, Indexing::default()).unwrap();
    assert_eq!(gathered.values, ["", "b"]);
    assert_eq!(gathered.bad_rows, [0]);
}

#[test]
fn data_must_fill_its_shape_and_the_result_must_fit() {
    let error_kind =
        |params: &[i64], params_shape: &[usize], indices: &[i64], indices_shape: &[usize]| {
            reference::gather_nd(
                params,
                params_shape,
                indices,
                indices_shape,
                0,
                Indexing::default(),
            )
            .unwrap_err()
            .kind
        };
    assert_eq!(error_kind(&[1, 2], &[3], &[0], &[1, 1]), "data_length");
    assert_eq!(error_kind(&[1, 2], &[2], &[0], &[2, 1]), "data_length");
    assert_eq!(
        error_kind(&[1, 2], &[2], &[], &[usize::MAX, 0]),
        "too_large"
    );
    assert_eq!(
        error_kind(&[1, 2], &[2], &[], &[usize::MAX, usize::MAX, 0]),
        "too_large"
    );
    assert_eq!(
        error_kind(&[1], &[1], &[], &[usize::MAX / 2, 0]),
        "too_large"
    );
}
