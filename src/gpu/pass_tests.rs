//! Tests how many submissions and compute passes an operation on tensors takes, on wgpu's noop backend.

use super::cache_tests::noop;
use crate::{
    Backend, Error, Tensor,
    options::{Boxes, CropOptions, Pad},
    spec::{IndexItem, IndexSpec},
};
use std::cell::Cell;

thread_local! {
    static SUBMISSIONS: Cell<usize> = const { Cell::new(0) };
    static PASSES: Cell<usize> = const { Cell::new(0) };
}

/// Counts a submission of commands on this thread.
pub(super) fn count_submission() {
    SUBMISSIONS.set(SUBMISSIONS.get() + 1);
}

/// Counts a compute pass on this thread.
pub(super) fn count_pass() {
    PASSES.set(PASSES.get() + 1);
}

/// Returns the number of submissions and the number of passes of a call.
fn counted<T>(call: impl FnOnce() -> Result<T, Error>) -> (usize, usize) {
    SUBMISSIONS.set(0);
    PASSES.set(0);
    call().unwrap();
    (SUBMISSIONS.get(), PASSES.get())
}

#[test]
fn an_operation_of_several_steps_is_one_submission() {
    let backend = Backend::from(noop(8));
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
    assert_eq!(counted(|| x.boolean_mask(&mask, 0, None)).0, 1);
    assert_eq!(counted(|| x.boolean_mask(&mask, 0, Some(3))).0, 1);
    assert_eq!(counted(|| mask.nonzero(None)).0, 1);
    let [one, other] = [(); 2].map(|()| words(&[4, 6]));
    assert_eq!(counted(|| Tensor::select(&mask, &one, &other)).0, 1);

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
    assert_eq!(counted(crop).0, 1);
    let outer = IndexSpec::new([
        IndexItem::from(vec![2, 0]),
        IndexItem::from(vec![true, false, true, false, false, true]),
    ]);
    assert_eq!(counted(|| x.index(&outer.clone().outer())).0, 1);

    // These arrays have too many rows for buffer copies.
    let parts = [(); 4].map(|()| words(&[64, 6]));
    let concat = || Tensor::concat(&parts.each_ref(), 1);
    assert_eq!(counted(concat), (1, 1));
    let zero = words(&[]);
    let pad = || parts[0].pad(&[[1, 2], [3, 1]], Pad::Constant(&zero));
    assert_eq!(counted(pad), (1, 1));
    assert_eq!(
        counted(|| parts[0].pad(&[[1, 2], [3, 1]], Pad::Reflect)),
        (1, 1)
    );
    assert_eq!(counted(|| parts[0].roll(&[1, -2], &[0, 1])), (1, 1));
}

/// A slice, a transpose, a broadcast and a split move no data until they are read.
#[test]
fn a_view_is_no_submission() {
    let backend = Backend::from(noop(8));
    let x = backend.upload((&[0u32; 24], &[4, 6])).unwrap();
    assert_eq!(counted(|| x.slice(&crate::slice![1.., ..; -1])), (0, 0));
    assert_eq!(counted(|| x.transpose(&[1, 0])), (0, 0));
    assert_eq!(counted(|| x.broadcast_to(&[3, 4, 6])), (0, 0));
    assert_eq!(counted(|| x.split(&[2, 4], 1)), (0, 0));
    let flipped = x.slice(&crate::slice![.., ..; -1]).unwrap();
    assert_eq!(counted(|| flipped.contiguous()), (1, 1));
}
