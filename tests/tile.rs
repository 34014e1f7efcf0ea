//! Tests edge cases of `tile` and `repeat`. The modules `devices` and `property` run golden vectors and random cases.

use crate::harness::{devices, kind, step_count};
use wgslice::{DType, Plan, View};

#[test]
fn copies_that_do_not_fit_are_errors() {
    let x = View::new(&[2, 3]).unwrap();
    let tile = |multiples: &[usize]| Plan::tile(&x, multiples, DType::F32);
    assert_eq!(kind(&tile(&[2]).unwrap_err()), "entries");
    let error = tile(&[usize::MAX, 2]).unwrap_err();
    assert!(error.to_string().contains("too many elements"), "{error}");
    let error = Plan::repeat(&x, 2, 2, DType::F32).unwrap_err();
    assert_eq!(kind(&error), "axis");
    let error = Plan::repeat(&x, usize::MAX, 0, DType::F32).unwrap_err();
    assert!(error.to_string().contains("too many elements"), "{error}");
    assert_eq!(step_count(&tile(&[0, usize::MAX / 1024]).unwrap()), 0);
}

/// Tests more dimensions than shaders support in one dispatch, none of which can be merged.
#[test]
fn many_dimensions_are_tiled() {
    for device in devices() {
        let x = device
            .backend
            .upload((&[1u8, 2, 3, 4, 5, 6, 7, 8], &[2, 2, 2, 1, 1]))
            .unwrap();
        let tiled = x.tile(&[2, 2, 2, 2, 2]).unwrap().to_vec::<u8>().unwrap();
        let expected = (0..256).map(|n: usize| {
            let digit = |d: usize| n >> d & 1;
            // The lowest two bits are the copies of the dimensions of size 1. The other dimensions have two bits each:
            // the position and the copy.
            1 + digit(2) + 2 * digit(4) + 4 * digit(6)
        });
        let is_equal = tiled.iter().map(|&value| usize::from(value)).eq(expected);
        assert!(is_equal, "{}: {tiled:?}", device.name);
    }
}
