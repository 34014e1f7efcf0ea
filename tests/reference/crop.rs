//! Tests `crop`: boxes inside the array, each compared with a strided slice, and boxes that extend beyond it. An item
//! is the part of the array at one position along the first dimension.

use super::arange;
use wgslice_vectors::reference::{Boxes, Spec, crop, paste, strided_slice};

/// Each box is a strided slice of its item. A flipped box is a strided slice of the box that is not flipped.
#[test]
fn boxes_inside_are_strided_slices() {
    let (shape, item_shape) = ([2, 7, 6, 2], [7, 6, 2]);
    let values = arange(&shape);
    let (box_indices, begins) = ([1, 0, 1], [1, 5, 0, 4, 2, 5]);
    let (sizes, strides) = ([3, 2], [2, -3]);
    let flips = [false, true, true, false, true, true];
    let boxes = Boxes {
        begins: &begins,
        box_indices: Some(&box_indices),
        flips: Some(&flips),
        count: 3,
        sizes: &sizes,
        strides: &strides,
        ..Boxes::default()
    };
    let cropped = crop(&values, &shape, boxes).unwrap();
    assert_eq!(cropped.shape, [3, 3, 2, 2]);
    assert_eq!(cropped.bad_rows, [0; 0]);
    let mut expected = Vec::new();
    for box_number in 0..3 {
        let item = &values[if box_indices[box_number] == 1 { 84 } else { 0 }..][..84];
        let (begin, flip) = (
            &begins[2 * box_number..][..2],
            &flips[2 * box_number..][..2],
        );
        // The slice must end one position after the last element of the box. If that would be -1, which counts from the
        // end of the dimension, the end is i64::MIN instead.
        let end = |d: usize| match begin[d] + strides[d] * (sizes[d] as i64 - 1) {
            last if strides[d] > 0 => last + 1,
            0 => i64::MIN,
            last => last - 1,
        };
        let spec = Spec {
            begin,
            end: &[end(0), end(1)],
            strides: &strides,
            ..Spec::default()
        };
        let (shape, values) = strided_slice(item, &item_shape, &spec).unwrap();
        assert_eq!(shape, [3, 2, 2]);
        let direction = |flip: bool| if flip { -1 } else { 1 };
        let spec = Spec {
            begin: &[0, 0],
            end: &[0, 0],
            strides: &[direction(flip[0]), direction(flip[1])],
            begin_mask: 3,
            end_mask: 3,
            ..Spec::default()
        };
        expected.extend(strided_slice(&values, &shape, &spec).unwrap().1);
    }
    assert_eq!(cropped.values, expected);
}

/// Cropped boxes that are pasted into zeros restore the array inside the boxes.
#[test]
fn cropping_pasted_boxes_returns_them() {
    let shape = [2, 7, 6, 2];
    let values = arange(&shape);
    let boxes = Boxes {
        begins: &[1, 5, 0, 4, 2, 5],
        box_indices: Some(&[1, 0, 1]),
        flips: Some(&[false, true, true, false, true, true]),
        count: 3,
        sizes: &[3, 2],
        strides: &[2, -3],
        ..Boxes::default()
    };
    for circular in [false, true] {
        let boxes = Boxes { circular, ..boxes };
        let cropped = crop(&values, &shape, boxes).unwrap();
        let zeros = vec![0; values.len()];
        let pasted = paste(&zeros, &shape, &cropped.values, &cropped.shape, boxes).unwrap();
        assert_eq!(pasted.bad_rows, [0; 0]);
        let is_zero_or_same = |(&pasted, &value): (&i64, &i64)| pasted == 0 || pasted == value;
        assert!(pasted.values.iter().zip(&values).all(is_zero_or_same));
        assert_eq!(crop(&pasted.values, &shape, boxes).unwrap(), cropped);
    }
}

#[test]
fn boxes_outside_are_padded_or_shifted() {
    let values = [1, 2, 3, 4, 5, 6];
    let crop_boxes = |begins: &[i64], clamp| {
        let boxes = Boxes {
            begins,
            count: 2,
            sizes: &[2],
            strides: &[1],
            clamp,
            ..Boxes::default()
        };
        crop(&values, &[2, 3], boxes).unwrap()
    };
    let padded = crop_boxes(&[-1, 2], false);
    assert_eq!(padded.values, [0, 1, 6, 0]);
    assert_eq!(padded.bad_rows, [0, 1]);
    let shifted = crop_boxes(&[-1, 2], true);
    assert_eq!(shifted.values, [1, 2, 5, 6]);
    assert_eq!(shifted.bad_rows, [0; 0]);
    assert_eq!(crop_boxes(&[i64::MIN, i64::MAX], false).values, [0; 4]);
}
