//! Tests edge cases of `roll`. The modules `devices` and `property` run golden vectors and random cases.

use crate::harness::kind;
use wgslice::{Backend, DType, Plan};

#[test]
fn bad_axes_and_shifts_are_errors() {
    for (shape, shifts, axes, expected_kind) in [
        (&[][..], &[][..], &[][..], "axis"),
        (&[3], &[1, 2], &[0], "shifts"),
        (&[3], &[1], &[1], "axis"),
        (&[3], &[1], &[isize::MIN], "axis"),
        (&[0, 3], &[1], &[0], ""),
        (&[3], &[], &[], ""),
    ] {
        let rolled = Plan::roll(shape, shifts, axes, DType::F32);
        let error_kind = rolled.err().map_or("", |error| kind(&error));
        assert_eq!(
            error_kind, expected_kind,
            "{shape:?} by {shifts:?} along {axes:?}"
        );
    }
}

/// Shifts beyond the range of int32 are applied in full, whereas TensorFlow takes shifts modulo 2^32.
#[test]
fn shifts_beyond_32_bits_are_applied_in_full() {
    let x = (&[1, 2, 3], &[3]);
    for (shift, expected) in [
        (1 << 62, [3, 1, 2]),
        (i64::MIN, [3, 1, 2]),
        (i64::MAX, [3, 1, 2]),
        (-3_000_000_001, [2, 3, 1]),
    ] {
        let rolled = Backend::cpu().roll(x, &[shift], &[0]).unwrap();
        let position = usize::try_from(shift.rem_euclid(3)).unwrap();
        assert_eq!(rolled.data[position], 1);
        assert_eq!(rolled.data, expected, "by {shift}");
    }
}
