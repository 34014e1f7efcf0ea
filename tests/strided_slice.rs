//! Tests of `strided_slice`: shapes and steps that lead to different plans.

use crate::harness::{DTYPE_OF_EACH_SIZE, Device, Sizes, check_slice, devices, elements, to_bytes};
use wgslice::{Backend, DType, Plan, SliceSpec, Tensor, slice, spec::TfStridedSlice};

#[track_caller]
fn check(shape: &[usize], spec: &str) {
    let spec: SliceSpec = spec.parse().unwrap();
    check_slice(shape, &TfStridedSlice::try_from(&spec).unwrap(), Sizes::All);
}

#[test]
fn long_rows_and_short_ones() {
    for length in [
        1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 255, 256, 257, 1023, 5000,
    ] {
        check(&[3, length], "::-1");
        check(&[3, length], ":, ::-1");
        check(&[3, length], "::2, ::2");
        check(&[3, length + 1], ":, 1:");
        check(&[3, length + 3], "::-2, 2:-1");
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

/// Tests rows that begin at any byte. Some rows end at the end of a vector of the result, and other rows share their
/// last vector with the next row.
#[test]
fn rows_begin_at_any_byte() {
    let lengths = [31, 33, 47, 64, 101].into_iter();
    let cases = lengths.flat_map(|length| [0, 1, 6, 19].map(|skipped| (length, skipped)));
    for ((length, skipped), step) in cases.flat_map(|case| [(case, 1), (case, 2)]) {
        let end = skipped + length * step;
        let width = end + skipped % 3;
        let backwards = match skipped {
            0 => format!("{}::-{step}", end - 1),
            _ => format!("{}:{}:-{step}", end - 1, skipped - 1),
        };
        let forwards = format!("{skipped}:{end}:{step}");
        check(&[32, width], &format!(":, {forwards}"));
        check(&[32, width], &format!("::-1, {backwards}"));
        check(&[4, 3, 8, width], &format!("::-1, 1:, ::2, {forwards}"));
    }
    for length in [1000, 1001, 40_000] {
        check(&[33, length + 7], &format!("1:, 5:{}", length + 5));
        check(&[33, length + 7], &format!("1:, {}:4:-1", length + 4));
    }
    // With elements of 1 byte, the result does not fill its last word.
    check(&[1031, 1050], "1:, 3:1040");
}

/// Tests short rows that are close to one another. Rows begin at every byte of a word, and run in both directions.
#[test]
fn rows_close_to_one_another() {
    for width in [16, 112, 20] {
        for skipped in 0..4 {
            for step in 1..=4 {
                let end = skipped + width * step;
                check(&[3, end], &format!(":, {skipped}::{step}"));
                check(&[3, end], &format!("::2, :{skipped}:-{step}"));
            }
            for pixel in [3, 4] {
                check(&[3, width + skipped, pixel], &format!(":, {skipped}:, :3"));
                check(&[3, width + skipped, pixel], &format!("1:, {skipped}:, 2"));
                let backwards = match skipped {
                    0 => String::new(),
                    _ => (skipped - 1).to_string(),
                };
                check(
                    &[2, width + skipped, pixel],
                    &format!(":, :{backwards}:-1, :3"),
                );
            }
        }
    }
    check(&[2, 5, 256, 3], "::-1, 1:, 16:240:-1, :");
    check(&[2, 5, 256, 3], "::-1, 1:, 239:15:-1, :");
}

/// Tests so many short rows that several workgroups move them. The last workgroup has fewer rows.
#[test]
fn workgroups_of_rows_close_to_one_another() {
    let row_count: usize = 3000;
    for skipped in [0, 3, 14] {
        for step in 3..=4 {
            let end = skipped + row_count * step;
            let spec = format!("::2, {skipped}:{end}:{step}");
            check(&[3, end.next_multiple_of(16)], &spec);
        }
        let end = skipped + row_count;
        for first in 0..2 {
            let spec = format!("1:, {skipped}:{end}, {first}:{}", first + 3);
            check(&[3, end.next_multiple_of(4), 4], &spec);
        }
    }
    // After merging, these slices have one dimension of single elements, two or four elements apart.
    check(&[2, 2 * row_count], ":, 1::2");
    check(&[4 * 8192 + 16], &format!("15:{}:4", 15 + 4 * 8192));
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

/// TensorFlow rejects ranks above 8. The library merges dimensions first, so an array of a higher rank can need at most
/// 8 dimensions.
#[test]
fn ranks_above_8_that_can_be_merged() {
    check(&[2; 12], "1");
    check(&[2; 12], "::-1, ..., ::-1");
    check(&[1; 20], &["::-1"; 20].join(", "));
    let nine_axes = [2; 9];
    check(&nine_axes, &["::-1"; 9].join(", "));
}

/// Shaders support more than 8 dimensions that cannot be merged, unlike TensorFlow.
#[test]
fn rank_10_that_cannot_be_merged() {
    check(&[3, 3, 2, 2, 2, 2, 2, 2, 2, 3], &["::-1"; 10].join(", "));
    check(
        &[2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2],
        "::-1, 1:, ::-1, 1:, ::-1, 1:, ::-1, 1:, ::-1, 1:, ::-1",
    );
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
    // With a single element in each row, every kind of adapter uses an invocation for each row.
    let row_count = 65_536 * 64 + 100u32;
    let plan = Plan::slice(&[row_count as usize, 2], &slice![..; -1, 1..2], DType::F32).unwrap();
    let input: Vec<u8> = (0..row_count * 2).flat_map(u32::to_le_bytes).collect();
    let expected: Vec<u8> = (0..row_count)
        .rev()
        .flat_map(|row| (row * 2 + 1).to_le_bytes())
        .collect();
    // Devices with tiny bindings would need a million dispatches. They are left out, as are strict devices. With tiny
    // bindings, other tests use several dimensions of workgroups, even on a strict device.
    let can_run = |device: &&Device| device.can_run(input.len(), expected.len());
    for device in devices().iter().filter(can_run) {
        let (got, _) = device.run(&plan, &input, None).unwrap();
        assert!(got == expected, "{}", device.name);
    }
}

/// Bits are moved unchanged: NaN payloads, negative zeros and subnormals.
#[test]
fn bits_are_moved_unchanged() {
    let patterns = [
        0x7fa0_0001u32,
        0xffc1_2345,
        0x8000_0000,
        0x0000_0001,
        0x7f80_0000,
    ];
    let values: Vec<f32> = patterns.iter().map(|&bits| f32::from_bits(bits)).collect();
    for Device { backend, .. } in devices() {
        let reversed = backend.slice((&values, &[5]), &slice![..; -1]).unwrap();
        let bits: Vec<u32> = reversed.data.iter().map(|value| value.to_bits()).collect();
        assert!(
            bits.iter().eq(patterns.iter().rev()),
            "{backend}: {bits:x?}"
        );
    }
}

/// Slices into a tensor with other values: long rows, which are copied, short rows, the whole tensor and an empty
/// slice. On the CPU the results are written in place. `tests/gpu.rs` tests this on GPUs.
#[test]
fn slices_into_an_existing_tensor() {
    let shape = [7, 5, 3, 11];
    let values = elements(shape.iter().product());
    for (Device { backend, name, .. }, dtype) in devices_and_dtypes() {
        let bytes = to_bytes(&values, dtype.size());
        let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let tensor = Tensor::from_bytes(backend, bytes.clone(), dtype, &shape).unwrap();
        let other_tensor = Tensor::from_bytes(backend, inverted, dtype, &shape).unwrap();
        let on_cpu = Tensor::from_bytes(&Backend::cpu(), bytes, dtype, &shape).unwrap();
        for spec in ["1:6", "::-1, ::2", "..., ::-2", "2, None, 1:", "3:3", "..."] {
            let spec: SliceSpec = spec.parse().unwrap();
            let expected = on_cpu.slice(&spec).unwrap();
            let mut dest = other_tensor.slice(&spec).unwrap().contiguous().unwrap();
            let old_address = dest.bytes().unwrap().as_ptr();
            tensor.slice_into(&spec, &mut dest).unwrap();
            let describe = || format!("{spec} of {dtype} on {name}");
            assert!(
                dest.bytes().unwrap() == expected.bytes().unwrap(),
                "{}",
                describe()
            );
            assert_eq!(dest.shape(), expected.shape());
            if backend.is_cpu() {
                let is_in_place = dest.bytes().unwrap().as_ptr() == old_address;
                // A slice of the whole tensor shares the tensor's memory, so the old memory is not kept.
                assert_eq!(
                    is_in_place,
                    spec != slice![wgslice::spec::SliceItem::Ellipsis],
                    "{}",
                    describe()
                );
            }
        }
    }
}

fn devices_and_dtypes() -> impl Iterator<Item = (&'static Device, DType)> {
    let pairs = |device| DTYPE_OF_EACH_SIZE.map(|dtype| (device, dtype));
    devices().iter().flat_map(pairs)
}

/// Overwriting a tensor changes neither its clones, nor other tensors that share its memory, nor the caller's bytes.
#[test]
fn shared_memory_is_not_written() {
    let reversed = slice![..; -1];
    for Device { backend, .. } in devices() {
        let tensor = backend.upload((&[1u16, 2, 3, 4, 5], &[5])).unwrap();
        let values = |tensor: &Tensor| tensor.to_array::<u16>().unwrap().data;
        let mut dest = tensor.slice(&slice![..; -1]).unwrap();
        let (clone, row) = (
            dest.clone(),
            dest.slice(&slice![wgslice::spec::SliceItem::NewAxis, ..])
                .unwrap(),
        );
        tensor.slice_into(&slice![..], &mut dest).unwrap();
        assert_eq!(values(&dest), [1, 2, 3, 4, 5]);
        assert_eq!(values(&clone), [5, 4, 3, 2, 1]);
        assert_eq!(values(&row), [5, 4, 3, 2, 1]);

        let mut overwritten = tensor.clone();
        tensor.slice_into(&reversed, &mut overwritten).unwrap();
        assert_eq!(values(&overwritten), [5, 4, 3, 2, 1]);
        assert_eq!(values(&tensor), [1, 2, 3, 4, 5]);

        let lent_bytes: &'static [u8] = &[9; 10];
        let mut adopted = Tensor::from_bytes(backend, lent_bytes, DType::U16, &[5]).unwrap();
        tensor.slice_into(&reversed, &mut adopted).unwrap();
        assert_eq!(values(&adopted), [5, 4, 3, 2, 1]);
    }
}

/// A slice into a tensor that cannot receive the result returns an error that explains it, and leaves the tensor
/// unchanged.
#[test]
fn tensors_that_do_not_fit_the_result() {
    for Device { backend, .. } in devices() {
        let tensor = backend.upload((&[1u32, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let mut dest = backend.upload((&[7u32, 8, 9], &[3])).unwrap();
        let message = |spec: &SliceSpec, dest: &mut Tensor| {
            let error = tensor.slice_into(spec, dest).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(&slice![.., 0], &mut dest),
            "dest is u32 [3], but the result is u32 [2]: \
             pass a tensor of that shape and type, or let Tensor::slice make one"
        );
        let shape_message = message(&slice![0..1], &mut dest);
        assert!(shape_message.contains("u32 [1,3]"), "{shape_message}");
        let spec_message = message(&slice![2], &mut dest);
        assert!(spec_message.contains("out of bounds"), "{spec_message}");
        assert_eq!(dest.to_array::<u32>().unwrap().data, [7, 8, 9]);
        let mut floats = backend.upload((&[7.0f32, 8.0, 9.0], &[3])).unwrap();
        let dtype_message = message(&slice![0], &mut floats);
        assert!(
            dtype_message.contains("dest is f32 [3], but"),
            "{dtype_message}"
        );

        let other_device = devices()
            .iter()
            .find(|other| other.backend.is_cpu() != backend.is_cpu());
        if let Some(Device { backend, .. }) = other_device {
            let mut dest = backend.upload((&[7u32, 8, 9], &[3])).unwrap();
            let error = tensor.slice_into(&slice![0], &mut dest).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with("dest lives on another device")
            );
        }
    }
}
