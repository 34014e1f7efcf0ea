//! Tests `scatter_nd` and `tensor_scatter_nd`: rows in order, ways to combine, and rows out of range.

use wgslice_vectors::reference::{self, Gathered, Indexing, ReferenceError, Scattered};

use super::{CLAMP, NUMPY, arange, format_gathered, parse_integers};

fn add(sum: &mut i64, update: &i64) {
    *sum += update;
}

fn replace(old: &mut i64, new: &i64) {
    *old = *new;
}

/// Formats the result of a scatter as `format_gathered` formats the result of a gather.
fn format_scattered(result: Result<Scattered<i64>, ReferenceError>, shape: &[usize]) -> String {
    format_gathered(result.map(|scattered| Gathered {
        shape: shape.to_vec(),
        values: scattered.values,
        bad_rows: scattered.bad_rows,
    }))
}

/// A row of a table: shape, indices shape, indices, updates shape, updates, result.
type TableRow<'a> = (
    &'a [usize],
    &'a [usize],
    &'a str,
    &'a [usize],
    &'a str,
    &'a str,
);

fn check_with(indexing: Indexing, rows: &[TableRow<'_>]) {
    for &(shape, indices_shape, indices, updates_shape, updates, expected) in rows {
        let scattered = reference::scatter_nd(
            &parse_integers(indices),
            indices_shape,
            &parse_integers(updates),
            updates_shape,
            shape,
            indexing,
            add,
        );
        let row = format!("{shape:?} {indices_shape:?} {indices} {updates_shape:?} {updates}");
        assert_eq!(
            format_scattered(scattered, shape),
            expected,
            "{row} {indexing:?}"
        );
    }
}

fn check_table(rows: &[TableRow<'_>]) {
    check_with(Indexing::default(), rows);
}

/// Runs `tensor_scatter_nd` on the `element_count` values 0, 10, 20 and so on, with one update for each index.
fn scatter_into(
    element_count: usize,
    indices: &str,
    updates: &str,
    combine: impl FnMut(&mut i64, &i64),
) -> String {
    let tensor: Vec<i64> = arange(&[element_count])
        .iter()
        .map(|value| value * 10)
        .collect();
    let (indices, updates) = (parse_integers(indices), parse_integers(updates));
    let scattered = reference::tensor_scatter_nd(
        &tensor,
        &[element_count],
        &indices,
        &[indices.len(), 1],
        &updates,
        &[updates.len()],
        Indexing::default(),
        combine,
    );
    format_scattered(scattered, &[element_count])
}

#[test]
fn tuples_select_slices() {
    check_table(&[
        (&[4], &[3, 1], "[0,0,0]", &[3], "[1,2,3]", "(4,) [6,0,0,0]"),
        (
            &[2, 3],
            &[2, 2],
            "[1,2,0,0]",
            &[2],
            "[5,6]",
            "(2,3) [6,0,0,0,0,5]",
        ),
        (
            &[2, 3],
            &[2, 1],
            "[1,1]",
            &[2, 3],
            "[1,2,3,4,5,6]",
            "(2,3) [0,0,0,5,7,9]",
        ),
        (
            &[3, 2],
            &[2, 1, 1],
            "[2,0]",
            &[2, 1, 2],
            "[1,2,3,4]",
            "(3,2) [3,4,0,0,1,2]",
        ),
        (&[4], &[0, 1], "[]", &[0], "[]", "(4,) [0,0,0,0]"),
        (&[3, 0], &[0, 1], "[]", &[0, 0], "[]", "(3,0) []"),
        // TensorFlow accepts an empty vector as indices.
        (&[0], &[0], "[]", &[0], "[]", "(0,) []"),
        (&[0, 3], &[0], "[]", &[0, 3], "[]", "(0,3) []"),
    ]);
}

#[test]
fn the_first_broken_rule_is_reported() {
    let rank_error =
        |name| format!("updates_rank: {name} shape must have rank at least one. Found:[]");
    let empty_error = "empty_output: Indices and updates specified for empty output shape";
    let outer_error = "updates_shape: Dimensions [0,1) of indices[shape=[2,1]] must match dimensions \
                 [0,1) of updates[shape=[3]]";
    let inner_error = "updates_shape: Dimensions [1,2) of input[shape=[4,3]] must match dimensions [1,2) \
                 of updates[shape=[2,2]]";
    check_table(&[
        (&[3], &[], "[0]", &[1], "[0]", &rank_error("Indices")),
        (&[3], &[1], "[0]", &[], "[0]", &rank_error("Updates")),
        (&[0], &[1, 1], "[0]", &[1], "[1]", empty_error),
        (&[3], &[2, 0], "[]", &[2, 3], "[1,2,3,4,5,6]", empty_error),
        (&[3, 0], &[1, 1], "[0]", &[1, 0], "[]", empty_error),
        (&[], &[1, 1], "[0]", &[1], "[1]", empty_error),
        (&[4], &[2, 1], "[0,0]", &[3], "[1,2,3]", outer_error),
        (&[4, 3], &[2, 1], "[0,0]", &[2, 2], "[1,2,3,4]", inner_error),
        (
            &[4],
            &[2],
            "[1,3]",
            &[2],
            "[1,2]",
            "updates_shape: Dimensions [2,1) of input[shape=[4]] must match dimensions [0,1) of \
             updates[shape=[2]]",
        ),
        // TensorFlow checks a vector of indices twice: as one tuple, and as tuples of one integer each.
        (&[2, 0, 3], &[2], "[0,0]", &[3], "[1,2,3]", empty_error),
        (
            &[3, 0],
            &[0],
            "[]",
            &[3, 0],
            "[]",
            "updates_shape: Dimensions [0,1) of indices[shape=[0]] = 0 must match dimensions [0,1) \
             of updates[shape=[3,0]] = 3",
        ),
        (
            &[3],
            &[2, 2],
            "[0,0,0,0]",
            &[2],
            "[1,2]",
            "updates_shape: Dimensions [2,1) of input[shape=[3]] must match dimensions [1,1) of \
             updates[shape=[2]]",
        ),
        // The output is empty, and the updates have a wrong shape. `scatter_nd` reports the shape.
        (
            &[0, 3],
            &[2, 1],
            "[0,0]",
            &[2, 4],
            "[1,2,3,4,5,6,7,8]",
            "updates_shape: Dimensions [1,2) of input[shape=[0,3]] must match dimensions [1,2) of \
             updates[shape=[2,4]]",
        ),
    ]);
}

/// TensorFlow rejects indices that are a single tuple without a leading dimension, whatever the shape of the updates.
#[test]
fn a_single_row_needs_an_axis() {
    for (shape, updates_shape, updates) in [
        (&[3][..], &[1][..], "[1]"),
        (&[3, 3], &[3], "[1,2,3]"),
        (&[1, 3], &[3], "[1,2,3]"),
    ] {
        let outcome = reference::scatter_nd(
            &[0],
            &[1],
            &parse_integers(updates),
            updates_shape,
            shape,
            Indexing::default(),
            add,
        );
        assert_eq!(outcome.unwrap_err().kind, "updates_shape");
    }
}

/// The updates have fewer dimensions than the indices have leading dimensions. TensorFlow crashes, and the reference
/// reports an error.
#[test]
fn updates_of_too_low_a_rank() {
    let indices = [0; 18];
    let scattered = reference::scatter_nd(
        &indices,
        &[3, 3, 2],
        &[1, 2, 3],
        &[3],
        &[4, 4],
        Indexing::default(),
        add,
    );
    let updated = reference::tensor_scatter_nd(
        &arange(&[4, 4]),
        &[4, 4],
        &indices,
        &[3, 3, 2],
        &[1, 2, 3],
        &[3],
        Indexing::default(),
        add,
    );
    for error in [scattered.unwrap_err(), updated.unwrap_err()] {
        assert_eq!(error.kind, "updates_shape");
    }
}

#[test]
fn bad_rows_are_dropped() {
    check_table(&[
        (
            &[4],
            &[4, 1],
            "[0,4,-1,1]",
            &[4],
            "[1,2,3,4]",
            "(4,) [1,4,0,0] bad [1,2]",
        ),
        (
            &[2, 2],
            &[2, 2, 2],
            "[0,0,0,2,1,1,2,0]",
            &[2, 2],
            "[1,2,3,4]",
            "(2,2) [1,0,0,3] bad [1,3]",
        ),
        (
            &[2, 2],
            &[2, 1],
            "[4294967296,1]",
            &[2, 2],
            "[1,2,3,4]",
            "(2,2) [0,0,3,4] bad [0]",
        ),
    ]);
}

#[test]
fn indices_wrap_or_clamp() {
    let both = Indexing {
        wrap: true,
        clamp: true,
    };
    let rows = [
        (NUMPY, "(4,) [1,0,0,8] bad [1,3]"),
        (CLAMP, "(4,) [13,0,0,2]"),
        (both, "(4,) [5,0,0,10]"),
    ];
    for (indexing, expected) in rows {
        check_with(
            indexing,
            &[(&[4], &[4, 1], "[0,4,-1,-5]", &[4], "[1,2,8,4]", expected)],
        );
    }
}

/// TensorFlow's kernels accept index tuples of 1 to 7 integers. The reference accepts any number of integers.
#[test]
fn any_depth() {
    check_table(&[
        (
            &[1; 8],
            &[1, 8],
            "[0,0,0,0,0,0,0,0]",
            &[1],
            "[3]",
            "(1,1,1,1,1,1,1,1) [3]",
        ),
        (&[3], &[0, 0], "[]", &[0, 3], "[]", "(3,) [0,0,0]"),
        (&[0], &[2, 0], "[]", &[2, 0], "[]", "(0,) []"),
    ]);
    let outcome = reference::scatter_nd(
        &[],
        &[usize::MAX, 0],
        &[],
        &[usize::MAX, 0],
        &[0],
        Indexing::default(),
        add,
    );
    assert!(outcome.unwrap().values.is_empty());
}

#[test]
fn rows_take_effect_in_their_order() {
    let (indices, updates) = ("[1,3,1]", "[5,100,7]");
    let combined = |combine: fn(&mut i64, &i64)| scatter_into(5, indices, updates, combine);
    assert_eq!(combined(replace), "(5,) [0,7,20,100,40]");
    assert_eq!(combined(add), "(5,) [0,22,20,130,40]");
    assert_eq!(combined(|a, b| *a -= b), "(5,) [0,-2,20,-70,40]");
    assert_eq!(
        combined(|a, b| *a = *a.max(&mut b.clone())),
        "(5,) [0,10,20,100,40]"
    );
    assert_eq!(
        combined(|a, b| *a = *a.min(&mut b.clone())),
        "(5,) [0,5,20,30,40]"
    );
    assert_eq!(
        scatter_into(5, "[0,0,0]", "[10,20,30]", replace),
        "(5,) [30,10,20,30,40]"
    );
    assert_eq!(
        scatter_into(5, "[1,9,-1]", "[11,20,30]", replace),
        "(5,) [0,11,20,30,40] bad [1,2]"
    );
}

#[test]
fn tensors_keep_their_shape_rules() {
    let error_kind = |shape: &[usize], indices_shape: &[usize], updates_shape: &[usize]| {
        reference::tensor_scatter_nd(
            &vec![0; shape.iter().product()],
            shape,
            &vec![0; indices_shape.iter().product()],
            indices_shape,
            &vec![0; updates_shape.iter().product()],
            updates_shape,
            Indexing::default(),
            add,
        )
        .map_or_else(|error| error.kind, |_| "")
    };
    assert_eq!(error_kind(&[3, 4], &[2, 1], &[2, 4]), "");
    assert_eq!(error_kind(&[3, 4], &[2, 1], &[2, 1]), "updates_shape");
    assert_eq!(error_kind(&[3, 4], &[2, 1], &[1, 4]), "updates_shape");
    assert_eq!(error_kind(&[3, 4], &[2, 1], &[2]), "updates_shape");
    assert_eq!(error_kind(&[3], &[1], &[1]), "updates_shape");
    assert_eq!(error_kind(&[3], &[], &[1]), "updates_rank");
    assert_eq!(error_kind(&[3], &[1], &[]), "updates_rank");
    assert_eq!(error_kind(&[3], &[2, 0], &[2, 3]), "empty_output");
    assert_eq!(error_kind(&[0], &[1, 1], &[1]), "empty_output");
    // `tensor_scatter_nd` reports an empty output before a wrong shape.
    assert_eq!(error_kind(&[0, 3], &[2, 1], &[2, 4]), "empty_output");
    assert_eq!(error_kind(&[0], &[0, 1], &[0]), "");
}

fn sum<T: Clone + Default>(updates: &[T], add: impl FnMut(&mut T, &T)) -> T {
    let (update_count, indexing) = (updates.len(), Indexing::default());
    let indices = vec![0; update_count];
    let Scattered { mut values, .. } = reference::scatter_nd(
        &indices,
        &[update_count, 1],
        updates,
        &[update_count],
        &[1],
        indexing,
        add,
    )
    .unwrap();
    values.remove(0)
}

#[test]
fn sums_of_every_kind() {
    assert_eq!(
        sum(&[i32::MAX, 1], |a, b| *a = a.wrapping_add(*b)),
        i32::MIN
    );
    assert_eq!(sum(&[100i8, 100], |a, b| *a = a.wrapping_add(*b)), -56);
    assert_eq!(sum(&[200u8, 100], |a, b| *a = a.wrapping_add(*b)), 44);
    assert!(sum(&[true, true], |a, b| *a |= b));
    let words = ["a".to_owned(), "b".to_owned()];
    assert_eq!(sum(&words, |a, b| a.push_str(b)), "ab");
    // Updates are added in the order of their rows.
    assert_eq!(sum(&[1e8f32, 1.0, -1e8], |a, b| *a += b), 0.0);
    assert_eq!(sum(&[1e8f32, -1e8, 1.0], |a, b| *a += b), 1.0);
    // The sum starts from 0, and 0 + -0 is 0.
    assert!(sum(&[-0.0f32], |a, b| *a += b).is_sign_positive());
}

#[test]
fn data_must_fill_its_shape_and_the_result_must_fit() {
    let error_kind = |indices: &[i64], updates: &[i64], shape: &[usize]| {
        let indexing = Indexing::default();
        reference::scatter_nd(indices, &[1, 1], updates, &[1], shape, indexing, add)
            .unwrap_err()
            .kind
    };
    assert_eq!(error_kind(&[], &[1], &[1]), "data_length");
    assert_eq!(error_kind(&[0], &[1, 2], &[1]), "data_length");
    assert_eq!(error_kind(&[0], &[1], &[usize::MAX]), "too_large");
    let no_indices: [i64; 0] = [];
    let outcome = reference::tensor_scatter_nd(
        &[1],
        &[2],
        &no_indices,
        &[0, 1],
        &[],
        &[0],
        Indexing::default(),
        add,
    );
    assert_eq!(outcome.unwrap_err().kind, "data_length");
}
