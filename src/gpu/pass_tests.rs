//! Tests how many submissions and compute passes an operation on tensors takes, on wgpu's noop backend.

use super::cache_tests::open_noop;
use crate::{
    Backend, Error, Tensor,
    options::{Boxes, CropOptions, Pad},
    spec::{IndexItem, IndexSpec},
};
use std::cell::Cell;

thread_local! {
    static SUBMISSION_COUNT: Cell<usize> = const { Cell::new(0) };
    static PASS_COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts a submission of commands on this thread.
pub(super) fn count_submission() {
    SUBMISSION_COUNT.set(SUBMISSION_COUNT.get() + 1);
}

/// Counts a compute pass on this thread.
pub(super) fn count_pass() {
    PASS_COUNT.set(PASS_COUNT.get() + 1);
}

/// Returns the number of submissions and the number of passes of a call.
fn count_passes<T>(call: impl FnOnce() -> Result<T, Error>) -> (usize, usize) {
    SUBMISSION_COUNT.set(0);
    PASS_COUNT.set(0);
    call().unwrap();
    (SUBMISSION_COUNT.get(), PASS_COUNT.get())
}

#[test]
fn an_operation_of_several_steps_is_one_submission() {
    let backend = Backend::from(open_noop(8));
    let words = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        backend.upload((&vec![0u32; count], shape)).unwrap()
    };
    let tuples = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        backend.upload((&vec![0i32; count], shape)).unwrap()
    };
    let bools = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        backend.upload((&vec![false; count], shape)).unwrap()
    };
    let x = words(&[4, 6, 8]);
    let mask = bools(&[4, 6]);
    assert_eq!(count_passes(|| x.boolean_mask(&mask, 0, None)).0, 1);
    assert_eq!(count_passes(|| x.boolean_mask(&mask, 0, Some(3))).0, 1);
    assert_eq!(count_passes(|| mask.nonzero(None)).0, 1);
    let [one, other] = [(); 2].map(|()| words(&[4, 6]));
    assert_eq!(count_passes(|| Tensor::select(&mask, &one, &other)).0, 1);

    let options = CropOptions {
        sizes: vec![2, 3],
        ..CropOptions::default()
    };
    let (begins, items, flips) = (tuples(&[5, 2]), tuples(&[5]), bools(&[5, 2]));
    let crop = || {
        x.crop(
            Boxes::new(&begins).of_items(&items).flipped(&flips),
            &options,
        )
    };
    assert_eq!(count_passes(crop).0, 1);
    let outer = IndexSpec::new([
        IndexItem::from(vec![2, 0]),
        IndexItem::from(vec![true, false, true, false, false, true]),
    ]);
    assert_eq!(count_passes(|| x.index(&outer.clone().outer())).0, 1);

    // These arrays have too many rows for buffer copies.
    let parts = [(); 4].map(|()| words(&[64, 6]));
    let concat = || Tensor::concat(&parts.each_ref(), 1);
    assert_eq!(count_passes(concat), (1, 1));
    let zero = words(&[]);
    let pad = || parts[0].pad(&[[1, 2], [3, 1]], Pad::Constant(&zero));
    assert_eq!(count_passes(pad), (1, 1));
    assert_eq!(
        count_passes(|| parts[0].pad(&[[1, 2], [3, 1]], Pad::Reflect)),
        (1, 1)
    );
    assert_eq!(count_passes(|| parts[0].roll(&[1, -2], &[0, 1])), (1, 1));
}

/// Slices, transposes, broadcasts and splits of tensors move no data until they are read.
#[test]
fn a_view_is_no_submission() {
    let backend = Backend::from(open_noop(8));
    let x = backend.upload((&[0u32; 24], &[4, 6])).unwrap();
    assert_eq!(
        count_passes(|| x.slice(&crate::slice![1.., ..; -1])),
        (0, 0)
    );
    assert_eq!(count_passes(|| x.transpose(&[1, 0])), (0, 0));
    assert_eq!(count_passes(|| x.broadcast_to(&[3, 4, 6])), (0, 0));
    assert_eq!(count_passes(|| x.split(&[2, 4], 1)), (0, 0));
    let flipped = x.slice(&crate::slice![.., ..; -1]).unwrap();
    assert_eq!(count_passes(|| flipped.contiguous()), (1, 1));
}
