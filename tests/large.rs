//! Tests of tensors beyond the limits of bindings, of buffers and of 32 bits, on the CPU and the best adapter. The
//! tests need 16 GB of memory and some minutes, so `cargo test` leaves them out. `bash tests/run large` runs them.

#![cfg(target_pointer_width = "64")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions are not negative, and an address has 64 bits"
)]

use std::time::{Duration, Instant};
use wgslice::{
    Backend, DType, Gpu, Plan, SliceSpec, Tensor,
    gpu::AdapterOptions,
    options::{Boxes, CropOptions, GatherNdOptions, NegativeIndex, OutOfRange},
    slice,
};

/// An odd length in bytes, above 2^32.
const LONG_BYTES: usize = (1 << 32) + 87_654_321;

const GIB: usize = 1 << 30;

/// Opens a device of the best adapter. Without an adapter, returns `None`, or panics if `WGSLICE_REQUIRE_GPU=1` is set.
fn gpu() -> Option<Gpu> {
    match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let is_required = std::env::var("WGSLICE_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!is_required, "WGSLICE_REQUIRE_GPU=1, but: {error}");
            eprintln!("the GPU is not tested: {error}");
            None
        }
    }
}

/// Returns the value at a position of the source.
fn byte_at(place: usize) -> u8 {
    (place as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .to_be_bytes()[0]
}

fn long_bytes() -> Vec<u8> {
    let mut bytes = vec![0; LONG_BYTES];
    std::thread::scope(|scope| {
        for (number, part) in bytes.chunks_mut(LONG_BYTES / 2 + 1).enumerate() {
            scope.spawn(move || {
                let first = number * (LONG_BYTES / 2 + 1);
                for (place, value) in part.iter_mut().enumerate() {
                    *value = byte_at(first + place);
                }
            });
        }
    });
    bytes
}

/// Compares a tensor, read back in parts, with the expected values.
#[track_caller]
fn assert_values(tensor: &Tensor, description: &str, expected: impl Fn(usize) -> u8) {
    let length: usize = tensor.shape().iter().product();
    const PART_LENGTH: usize = 256 << 20;
    for first in (0..length).step_by(PART_LENGTH) {
        let end = (first + PART_LENGTH).min(length);
        let part = tensor.slice(&slice![first as i64..end as i64]).unwrap();
        let bytes = part.bytes().unwrap();
        let difference = bytes
            .iter()
            .enumerate()
            .find(|&(place, &value)| value != expected(first + place));
        assert_eq!(
            difference,
            None,
            "{description} from {first} on {}",
            tensor.backend()
        );
    }
}

fn check_slices_and_gathers(tensor: &Tensor) {
    assert_values(tensor, "the upload", byte_at);
    let reversed = tensor.slice(&slice![..; -1]).unwrap();
    assert_values(&reversed, "::-1", |place| byte_at(LONG_BYTES - 1 - place));
    drop(reversed);
    let third = tensor.slice(&slice![5..; 3]).unwrap();
    assert_values(&third, "5::3", |place| byte_at(5 + 3 * place));
    drop(third);
    let shifted = tensor.slice(&slice![77..]).unwrap();
    assert_values(&shifted, "77:", |place| byte_at(77 + place));
    drop(shifted);

    let row_count = 3_000_000;
    let index = |row: usize| row.wrapping_mul(0x2545_f491_4f6c_dd1d) % (LONG_BYTES + 1000);
    let indices: Vec<i64> = (0..row_count).map(|row| index(row) as i64).collect();
    let bad_count = (0..row_count)
        .filter(|&row| index(row) >= LONG_BYTES)
        .count();
    let indices = tensor
        .backend()
        .upload((&indices, &[row_count, 1]))
        .unwrap();
    let gathered = tensor
        .gather_nd(&indices, GatherNdOptions::default())
        .unwrap();
    assert_values(&gathered.0, "a gather", |row| match index(row) {
        place if place < LONG_BYTES => byte_at(place),
        _ => 0,
    });
    assert_eq!(gathered.1.wait().unwrap().out_of_range, bad_count);
    drop((indices, gathered));
    check_wraps_and_boxes(tensor);
}

/// Tests indices beyond 2^32 that wrap or are clamped, and boxes with such start indices.
fn check_wraps_and_boxes(tensor: &Tensor) {
    let (length, high) = (LONG_BYTES as i64, 1i64 << 32);
    let index_values = [
        -1,
        -length,
        -length - 1,
        -high - 9,
        high,
        high - 1,
        length - 1,
        length,
        2 * high + 3,
        i64::MIN,
    ];
    let indices = tensor
        .backend()
        .upload((&index_values, &[index_values.len(), 1]))
        .unwrap();
    for (negative, out_of_range) in [
        (NegativeIndex::Wrap, OutOfRange::Ignore),
        (NegativeIndex::Invalid, OutOfRange::Clamp),
        (NegativeIndex::Wrap, OutOfRange::Clamp),
    ] {
        let options = GatherNdOptions {
            negative,
            out_of_range,
            ..GatherNdOptions::default()
        };
        let gathered = tensor.gather_nd(&indices, options).unwrap();
        let found = gathered.0.to_vec::<u8>().unwrap();
        let expected = index_values.map(|index| {
            let wrapped = if negative == NegativeIndex::Wrap && index < 0 {
                index + length
            } else {
                index
            };
            match out_of_range {
                OutOfRange::Clamp => byte_at(wrapped.clamp(0, length - 1) as usize),
                _ if (0..length).contains(&wrapped) => byte_at(wrapped as usize),
                _ => 0,
            }
        });
        assert_eq!(
            found,
            expected,
            "{negative:?} {out_of_range:?} on {}",
            tensor.backend()
        );
    }

    const BOX_LENGTH: usize = 300;
    let begins = [
        0,
        high - 150,
        high + 7,
        length - 300,
        length - 100,
        length,
        -100,
        -high,
    ];
    let uploaded = tensor
        .backend()
        .upload((&begins, &[begins.len(), 1]))
        .unwrap();
    let whole = tensor.reshape(&[1, LONG_BYTES]).unwrap();
    let box_indices = tensor.backend().upload((&[0i64; 8], &[8])).unwrap();
    for out_of_range in [OutOfRange::Ignore, OutOfRange::Clamp] {
        let options = CropOptions {
            sizes: vec![BOX_LENGTH],
            out_of_range,
            ..CropOptions::default()
        };
        let (boxes, report) = whole
            .crop(Boxes::new(&uploaded).of_items(&box_indices), &options)
            .unwrap();
        let expected: Vec<u8> = begins
            .iter()
            .flat_map(|&begin| {
                let begin = match out_of_range {
                    OutOfRange::Clamp => begin.clamp(0, length - BOX_LENGTH as i64),
                    _ => begin,
                };
                (begin..begin + BOX_LENGTH as i64).map(|at| {
                    if (0..length).contains(&at) {
                        byte_at(at as usize)
                    } else {
                        0
                    }
                })
            })
            .collect();
        assert!(
            boxes.to_vec::<u8>().unwrap() == expected,
            "{out_of_range:?} on {}",
            tensor.backend()
        );
        let bad_count = if out_of_range == OutOfRange::Ignore {
            4
        } else {
            0
        };
        assert_eq!(report.wait().unwrap().out_of_range, bad_count);
    }
}

#[test]
fn beyond_32_bits_on_the_cpu() {
    let tensor = Tensor::from_bytes(&Backend::cpu(), long_bytes(), DType::U8, &[LONG_BYTES]);
    check_slices_and_gathers(&tensor.unwrap());
}

#[test]
fn beyond_32_bits_on_the_gpu() {
    let Some(gpu) = gpu() else { return };
    let tensor = Tensor::from_bytes(&Backend::from(gpu), long_bytes(), DType::U8, &[LONG_BYTES]);
    check_slices_and_gathers(&tensor.unwrap());
}

/// Tests a mask with few true elements, the last of them beyond 2^32, and a mask with more than 2^32 true elements. The
/// search in the second mask keeps only the first of these elements.
fn check_searches(backend: &Backend) {
    const CAPACITY: usize = 5000;
    let mut positions: Vec<usize> = (0..4000).map(|row| row * (LONG_BYTES / 4000)).collect();
    positions.extend([(1 << 32) - 1, 1 << 32, LONG_BYTES - 1]);
    positions.sort_unstable();
    let mut mask = vec![0; LONG_BYTES];
    for &position in &positions {
        mask[position] = byte_at(position) | 1;
    }
    let sparse_mask = Tensor::from_bytes(backend, mask, DType::U8, &[LONG_BYTES]).unwrap();
    let (rows, count) = sparse_mask.nonzero(Some(CAPACITY)).unwrap();
    // Rows without a position hold -1.
    let mut expected: Vec<_> = positions.iter().map(|&position| position as i64).collect();
    expected.resize(CAPACITY, -1);
    assert_eq!(rows.to_vec::<i64>().unwrap(), expected, "{backend}");
    assert_eq!(
        count.wait().unwrap().found.unwrap(),
        positions.len(),
        "{backend}"
    );
    // In this mask the long dimension is not the first.
    let (rows, _) = sparse_mask
        .reshape(&[1, LONG_BYTES])
        .unwrap()
        .nonzero(Some(CAPACITY))
        .unwrap();
    let rows = rows.to_vec::<i64>().unwrap();
    for (row, &position) in rows.chunks(2).zip(&positions) {
        assert_eq!(row, [0, position as i64], "{backend}");
    }
    let (selected, _) = sparse_mask
        .boolean_mask(&sparse_mask, 0, Some(CAPACITY))
        .unwrap();
    assert_values(&selected, "a selection", |row| {
        positions
            .get(row)
            .map_or(0, |&position| byte_at(position) | 1)
    });
    drop(sparse_mask);

    let dense_mask = Tensor::from_bytes(backend, long_bytes(), DType::U8, &[LONG_BYTES]).unwrap();
    let (rows, count) = dense_mask.nonzero(Some(CAPACITY)).unwrap();
    let expected = (0..LONG_BYTES).filter(|&position| byte_at(position) != 0);
    let expected: Vec<_> = expected
        .take(CAPACITY)
        .map(|position| position as i64)
        .collect();
    assert_eq!(rows.to_vec::<i64>().unwrap(), expected, "{backend}");
    let count = count.wait().unwrap().found.unwrap();
    let expected = (0..LONG_BYTES)
        .filter(|&position| byte_at(position) != 0)
        .count();
    assert!(expected > 1 << 32);
    assert_eq!(count, expected, "{backend}");
}

#[test]
fn masks_beyond_32_bits() {
    check_searches(&Backend::cpu());
    if let Some(gpu) = gpu() {
        check_searches(&Backend::from(gpu));
    }
}

/// Slices into an existing result four times and returns the shortest duration. In new memory, mapping a page takes
/// longer than writing its bytes, and the duration depends on the state of the machine's memory.
fn shortest_time(tensor: &Tensor, spec: &SliceSpec) -> Duration {
    let mut dest = tensor.slice(spec).unwrap();
    let mut time = || {
        tensor.backend().wait().unwrap();
        let start = Instant::now();
        tensor.slice_into(spec, &mut dest).unwrap();
        tensor.backend().wait().unwrap();
        start.elapsed()
    };
    let fastest = (0..4).map(|_| time()).min();
    drop(dest);
    tensor.backend().wait().unwrap();
    fastest.unwrap_or_default()
}

/// Above each limit, a byte takes less than 1.15 times as long as below the limit.
///
/// In the last slice, rows of the result are shorter than rows of the source. If both had rows of equal length, either
/// all rows or none would have the same alignment in source and result, which changes lavapipe's time by half at any
/// size.
#[test]
fn no_cliff_at_any_limit() {
    const MAX_RATIO: f64 = 1.15;
    let Some(gpu) = gpu() else { return };
    let backend = Backend::from(gpu);
    let specs = [
        ("::-1", slice![..; -1]),
        ("1:", slice![1..]),
        (":, :3:-1", slice![.., ..3; -1]),
    ];
    for limit in [GIB / 8, 2 * GIB, 4 * GIB] {
        let tensors = [limit / 8 * 7, limit / 8 * 9].map(|bytes| {
            let shape = [bytes / 1024, 256];
            backend
                .upload((&vec![0u32; shape.iter().product()], &shape))
                .unwrap()
        });
        for (text, spec) in &specs {
            let ratio = || {
                let [below, above] = tensors.each_ref().map(|tensor| {
                    let plan = Plan::slice(tensor.shape(), spec, DType::U32).unwrap();
                    let time = shortest_time(tensor, spec).as_secs_f64();
                    time / plan.outputs()[0].bytes() as f64
                });
                println!(
                    "{text} around {} MiB on {backend}: {:.2} and {:.2} GB/s written",
                    limit >> 20,
                    1e-9 / below,
                    1e-9 / above
                );
                above / below
            };
            // Other programs might disturb one measurement, but hardly three.
            let is_flat = (0..3).any(|_| ratio() < MAX_RATIO);
            assert!(is_flat, "{text} around {} MiB", limit >> 20);
        }
    }
}
