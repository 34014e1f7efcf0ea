//! Tests edge cases of `pad`. The modules `devices` and `property` run golden vectors and random cases.

use crate::harness::{devices, kind, step_count};
use wgslice::{Backend, DType, Plan, View, options::Pad};

#[test]
fn paddings_that_do_not_fit_are_errors() {
    for (shape, paddings, mode, expected_kind) in [
        (&[3][..], &[][..], Pad::Edge, "entries"),
        (&[3], &[[0, 0], [0, 0]], Pad::Constant(()), "entries"),
        (&[3], &[[2, 3]], Pad::Reflect, "padding"),
        (&[0, 2], &[[0, 1], [0, 0]], Pad::Reflect, "padding"),
        (&[1], &[[0, 1]], Pad::Reflect, "padding"),
        (&[0, 2], &[[0, 0], [1, 1]], Pad::Reflect, ""),
        (&[3], &[[3, 4]], Pad::Symmetric, "padding"),
        (&[3], &[[4, 0]], Pad::Wrap, "padding"),
        (&[0], &[[0, 1]], Pad::Edge, "padding"),
        (&[3], &[[2, 2]], Pad::Reflect, ""),
        (&[0], &[[1, 1]], Pad::Constant(()), ""),
        (&[], &[], Pad::Symmetric, ""),
    ] {
        let plan = Plan::pad(shape, paddings, mode, DType::F32);
        let error_kind = plan.err().map_or("", |error| kind(&error));
        assert_eq!(
            error_kind, expected_kind,
            "{shape:?} by {paddings:?}, {mode:?}"
        );
    }
    let x = View::new(&[3]).unwrap();
    let error = Plan::pad(&x, &[[3, 0]], Pad::Reflect, DType::F32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dimension 0 of 3 positions is padded by 3, but at most 2 can be reflected: pad less, or pad twice"
    );
    for (size, mode, message) in [
        (
            0,
            Pad::Wrap,
            "dimension 0 is padded by 2, but has no positions that can be wrapped: pad it by 0, or by a constant",
        ),
        (
            0,
            Pad::Reflect,
            "dimension 0 is padded by 2, but has no positions that can be reflected: pad it by 0, or by a constant",
        ),
        (
            1,
            Pad::Reflect,
            "dimension 0 of 1 position is padded by 2, but none can be reflected there: pad it by 0, or in another mode",
        ),
    ] {
        let error = Plan::pad(&[size], &[[0, 2]], mode, DType::F32).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = Plan::pad(&x, &[[usize::MAX, 1]], Pad::Edge, DType::F32).unwrap_err();
    assert!(error.to_string().contains("too many elements"), "{error}");
    let error = Plan::pad(&x, &[[usize::MAX, 1]], Pad::Constant(()), DType::F32).unwrap_err();
    assert!(error.to_string().contains("too many elements"), "{error}");
}

/// A pad of 11 dimensions by edge values would have too many pieces, and is rejected before the pieces are planned. A
/// pad of 25 dimensions by a constant has only 51 steps.
#[test]
fn many_dimensions_are_padded_by_a_constant_only() {
    let padded = |rank, mode| {
        let x = View::new(&vec![2; rank]).unwrap();
        Plan::pad(&x, &vec![[1, 1]; rank], mode, DType::U8)
    };
    assert_eq!(step_count(&padded(10, Pad::Edge).unwrap()), 59_049);
    assert_eq!(kind(&padded(11, Pad::Edge).unwrap_err()), "pieces");
    assert_eq!(step_count(&padded(25, Pad::Constant(())).unwrap()), 51);
}

#[test]
fn host_values_and_tensors_take_a_constant() {
    for device in devices() {
        let backend = &device.backend;
        let padded = backend
            .pad((&[1u8, 2], &[2]), &[[1, 2]], Pad::Constant(7))
            .unwrap();
        assert_eq!(padded.data, [7, 1, 2, 7, 7], "{}", device.name);
        let x = backend.upload((&[1u8, 2], &[2])).unwrap();
        let constant = backend.upload((&[7u8], &[])).unwrap();
        let padded = x.pad(&[[0, 1]], Pad::Constant(&constant)).unwrap();
        assert_eq!(padded.to_vec::<u8>().unwrap(), [1, 2, 7], "{}", device.name);
        let error = x.pad(&[[0, 1]], Pad::Constant(&x)).unwrap_err();
        assert_eq!(kind(&error), "constant");
    }
    let cpu = Backend::cpu();
    let x = cpu.upload((&[1u8, 2], &[2])).unwrap();
    let u16_constant = cpu.upload((&[7u16], &[])).unwrap();
    let error = x.pad(&[[0, 1]], Pad::Constant(&u16_constant)).unwrap_err();
    assert_eq!(kind(&error), "dtype_mismatch");
}
