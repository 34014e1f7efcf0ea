//! strided_slice: shapes and steps chosen for what they do to the plan.

use crate::harness::{Device, check_slice, devices, elements, to_bytes};
use wgslice::{DType, Error, Plan, SliceSpec, StridedSlice, slice};

#[track_caller]
fn check(shape: &[usize], spec: &str) {
    let spec: SliceSpec = spec.parse().unwrap();
    check_slice(shape, &StridedSlice::try_from(&spec).unwrap());
}

#[test]
fn long_rows_and_short_ones() {
    for run in [
        1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 255, 256, 257, 1023, 5000,
    ] {
        check(&[3, run], "::-1");
        check(&[3, run], ":, ::-1");
        check(&[3, run], "::2, ::2");
        check(&[3, run + 1], ":, 1:");
        check(&[3, run + 3], "::-2, 2:-1");
    }
}

#[test]
fn many_short_rows() {
    for pixel in 1..=5 {
        check(&[40, 50, pixel], "3:-3, ::-1");
        check(&[40, 50, pixel], "3:-3, 4::3");
        check(&[2000, pixel], "::-2, :2");
    }
}

#[test]
fn unaligned_starts_at_every_byte() {
    for begin in 0..9 {
        for end in 20..29 {
            check(&[4, 32], &format!(":, {begin}:{end}"));
        }
    }
}

#[test]
fn rank_8_that_cannot_be_merged() {
    check(&[3; 8], "::2, ::2, ::2, ::2, ::2, ::2, ::2, ::2");
    check(&[2; 8], &["::-1"; 8].join(", "));
    check(
        &[3, 2, 3, 2, 3, 2, 3, 2],
        "1:, ::-1, 1:, ::-1, 1:, ::-1, 1:, ::-1",
    );
}

/// TensorFlow stops at rank 8; here only dimensions that cannot be merged count.
#[test]
fn ranks_above_8_that_can_be_merged() {
    check(&[2; 12], "1");
    check(&[2; 12], "::-1, ..., ::-1");
    check(&[1; 20], &["::-1"; 20].join(", "));
    let nine_axes = [2; 9];
    check(&nine_axes, &["::-1"; 9].join(", "));
}

#[test]
fn a_rank_above_the_shaders_limit_is_an_error_on_a_gpu_and_runs_on_the_cpu() {
    let shape = [3; 10];
    let spec: SliceSpec = ["::2"; 10].join(", ").parse().unwrap();
    let plan = Plan::strided_slice(&shape, &spec, DType::U8).unwrap();
    let source = to_bytes(&elements(3usize.pow(10)), 1);
    for device in devices() {
        let ran = device.run(&plan, &source, None);
        if device.backend.is_cpu() {
            assert_eq!(ran.unwrap().0.len(), 1 << 10);
        } else {
            assert!(matches!(ran, Err(Error::DeviceLimit { .. })), "{ran:?}");
        }
    }
}

#[test]
fn empty_and_scalar() {
    check(&[], "...");
    check(&[], "None, None");
    check(&[0, 3], "::-1, 1");
    check(&[3, 0, 2], "1");
    check(&[5], "3:3");
    check(&[1, 1, 1], "0, 0, 0");
}

#[test]
fn more_workgroups_than_one_dimension_holds() {
    // A single element a row takes an invocation a row on every kind of adapter.
    let rows = 65_536 * 64 + 100u32;
    let plan = Plan::strided_slice(&[rows as usize, 2], &slice![..; -1, 1..2], DType::F32).unwrap();
    let input: Vec<u8> = (0..rows * 2).flat_map(u32::to_le_bytes).collect();
    let expected: Vec<u8> = (0..rows)
        .rev()
        .flat_map(|row| (row * 2 + 1).to_le_bytes())
        .collect();
    for device in devices() {
        let (got, _) = device.run(&plan, &input, None).unwrap();
        assert!(got == expected, "{}", device.name);
    }
}

/// Bits are moved, not values: NaN payloads, negative zeros and subnormals survive.
#[test]
fn bits_survive() {
    let nans = [
        0x7fa0_0001u32,
        0xffc1_2345,
        0x8000_0000,
        0x0000_0001,
        0x7f80_0000,
    ];
    let values: Vec<f32> = nans.iter().map(|&bits| f32::from_bits(bits)).collect();
    for Device { backend, .. } in devices() {
        let reversed = backend
            .strided_slice(&values, &[5], &slice![..; -1])
            .unwrap();
        let bits: Vec<u32> = reversed.data.iter().map(|value| value.to_bits()).collect();
        assert!(bits.iter().eq(nans.iter().rev()), "{backend}: {bits:x?}");
    }
}
