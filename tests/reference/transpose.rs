//! Tests `transpose`: the order of axes, and rejected permutations.

use wgslice_vectors::reference;

use super::{arange, format_outcome};

fn check_table(rows: &[(&[usize], &[usize], &str)]) {
    for (shape, perm, expected) in rows {
        let transposed = format_outcome(reference::transpose(&arange(shape), shape, perm));
        assert_eq!(transposed, *expected, "{shape:?} {perm:?}");
    }
}

#[test]
fn axes_move() {
    check_table(&[
        (&[], &[], "() [7]"),
        (&[3], &[0], "(3,) [0,1,2]"),
        (&[2, 3], &[0, 1], "(2,3) [0,1,2,3,4,5]"),
        (&[2, 3], &[1, 0], "(3,2) [0,3,1,4,2,5]"),
        // Axis i of the result is axis perm[i] of the input. This `perm` is not its own inverse, so the inverse would
        // give another result.
        (
            &[2, 3, 4],
            &[1, 2, 0],
            "(3,4,2) [0,12,1,13,2,14,3,15,4,16,5,17,6,18,7,19,8,20,9,21,10,22,11,23]",
        ),
        (&[2, 1, 2], &[2, 0, 1], "(2,2,1) [0,2,1,3]"),
        (&[2, 0, 3], &[2, 1, 0], "(3,0,2) []"),
    ]);
}

#[test]
fn every_axis_is_named_once() {
    let message = |perm| format!("permutation: perm {perm} does not name each of 2 axes once");
    check_table(&[
        (&[2, 3], &[0], &message("[0]")),
        (&[2, 3], &[0, 1, 1], &message("[0,1,1]")),
        (&[2, 3], &[1, 1], &message("[1,1]")),
        (&[2, 3], &[0, 2], &message("[0,2]")),
    ]);
    let error = reference::transpose(&[1], &[2], &[0]).unwrap_err();
    assert_eq!(error.kind, "data_length");
}

#[test]
fn the_inverse_permutation_restores_the_input() {
    let shape = [2, 3, 4];
    for perm in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut inverse = [0; 3];
        for (axis, &from) in perm.iter().enumerate() {
            inverse[from] = axis;
        }
        let (transposed_shape, values) =
            reference::transpose(&arange(&shape), &shape, &perm).unwrap();
        let restored = reference::transpose(&values, &transposed_shape, &inverse).unwrap();
        assert_eq!(restored, (shape.to_vec(), arange(&shape)));
    }
}
