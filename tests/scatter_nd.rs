//! Tests of `scatter_nd` and `tensor_scatter_nd`: TensorFlow's tables, duplicates, policies, and combinations of
//! elements of every type.

use crate::harness::{
    Float, ScatterCase, check_scatter, check_scatter_of, check_scatter_of_bytes, combined, devices,
    kind, naive_scatter, refused, run_bytes,
};
use wgslice::{
    Backend, DType, Error, Plan,
    options::{Combine, NegativeIndex, OutOfRange, ScatterOptions},
};

const ADD: ScatterOptions = ScatterOptions {
    combine: Some(Combine::Add),
    out_of_range: OutOfRange::Ignore,
    negative: NegativeIndex::Invalid,
    any_order: false,
    unique: false,
};
const UPDATE: ScatterOptions = ScatterOptions {
    combine: Some(Combine::Update),
    ..ADD
};

/// Checks a scatter that adds and a scatter that updates, into zeros and in place.
fn check_all(
    shape: &[usize],
    (indices, indices_shape): (&[i64], &[usize]),
    updates_shape: &[usize],
    options: ScatterOptions,
) {
    for starts_from_zeros in [true, false] {
        for combine in [Combine::Add, Combine::Update] {
            check_scatter(ScatterCase {
                shape,
                starts_from_zeros,
                indices,
                indices_shape,
                updates_shape,
                options: ScatterOptions {
                    combine: Some(combine),
                    ..options
                },
            });
        }
    }
}

fn check(shape: &[usize], indices: &[i64], indices_shape: &[usize], updates_shape: &[usize]) {
    check_all(shape, (indices, indices_shape), updates_shape, ADD);
}

#[test]
fn tensorflows_table() {
    check(&[4], &[0, 0, 0], &[3, 1], &[3]);
    check(&[4], &[0, 4, -1, 1], &[4, 1], &[4]);
    check(&[5], &[1, 3, 1], &[3, 1], &[3]);
    check(&[5], &[1, 9, -1], &[3, 1], &[3]);
    check(&[3, 4], &[0, 2], &[2, 1], &[2, 4]);
    check(&[3, 4], &[0, 1, 2, 3, 0, 1], &[3, 2], &[3]);
    check(&[3, 4], &[0, 1, 2, 0], &[2, 2, 1], &[2, 2, 4]);
}

#[test]
fn mismatched_and_empty_shapes() {
    check(&[4], &[1], &[], &[1]);
    check(&[4], &[1], &[1, 1], &[]);
    check(&[0], &[0], &[1, 1], &[1]);
    check(&[3, 0], &[0], &[1, 1], &[1, 0]);
    check(&[3], &[], &[2, 0], &[2, 3]);
    check(&[4], &[1, 3], &[2], &[2]);
    check(&[2, 3], &[1], &[1], &[3]);
    check(&[3, 0], &[], &[0], &[3, 0]);
    check(&[4], &[1, 3], &[2, 1], &[3]);
    check(&[3, 4], &[1, 3], &[2, 1], &[2, 2]);
    check(&[3, 4], &[1, 1, 1], &[1, 3], &[1]);
    check(&[3, 4, 2], &[0; 18], &[3, 3, 2], &[3]);
    check(&[], &[0], &[1, 1], &[1]);
    // There are no updates, but the zeros of the result are written.
    check(&[4], &[], &[0, 1], &[0]);
    check(&[3, 4], &[], &[0, 1], &[0, 4]);
    check(&[0], &[], &[0, 1], &[0]);
    check(&[2, 0], &[], &[3, 0, 1], &[3, 0, 0]);
}

/// Tests slices of 1 to 1,024 elements, each with several rows of updates. Short slices share
/// 32-bit words of the result.
#[test]
fn slices_of_every_length() {
    for length in [1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 257, 1024] {
        let indices: Vec<i64> = (0..23).map(|i| i * i % 7 - i % 3).collect();
        check(&[6, length], &indices, &[23, 1], &[23, length]);
    }
}

#[test]
fn every_depth() {
    for depth in 1..=9usize {
        let shape = vec![2; 9];
        let indices: Vec<i64> = (0..5 * depth as i64).map(|i| i * 5 % 3 % 2).collect();
        let updates = [&[5], &shape[depth..]].concat();
        let combine = [Combine::Add, Combine::Update][depth % 2];
        check_scatter(ScatterCase {
            shape: &shape,
            starts_from_zeros: depth % 4 < 2,
            indices: &indices,
            indices_shape: &[5, depth],
            updates_shape: &updates,
            options: ScatterOptions {
                combine: Some(combine),
                ..ADD
            },
        });
    }
}

#[test]
fn tuples_follow_every_policy() {
    let indices = [1, -1, 5, -5, 4, 0, 9, -9, 1 << 33, i64::MIN, -1 << 32, 2];
    for out_of_range in [OutOfRange::Ignore, OutOfRange::Error, OutOfRange::Clamp] {
        for negative in [NegativeIndex::Invalid, NegativeIndex::Wrap] {
            let options = ScatterOptions {
                out_of_range,
                negative,
                ..ADD
            };
            check_all(&[5, 3], (&indices, &[12, 1]), &[12, 3], options);
            check_all(&[5, 4], (&indices[..6], &[3, 2]), &[3], options);
            check_all(&[5, 3], (&[0, 2, 4], &[3, 1]), &[3, 3], options);
            check_all(&[5, 3], (&[-1, 2, -5], &[3, 1]), &[3, 3], options);
        }
    }
}

/// Tests more rows, and more slices, than one dispatch covers on devices with low limits. Several rows go to the same
/// slice.
#[test]
fn many_rows() {
    let indices: Vec<i64> = (0..3000).map(|i| i * i % 911 % 450).collect();
    check(&[450, 2], &indices, &[3000, 1], &[3000, 2]);
    let indices: Vec<i64> = (0..2500).map(|i| i * 7 % 3001 - 1).collect();
    check(&[2999], &indices, &[2500, 1], &[2500]);
    check(&[40, 700], &[3, 39, 3, 0, 17], &[5, 1], &[5, 700]);
    check(&[7], &[6; 900], &[900, 1], &[900]);
}

/// Returns numbers of very different magnitude, whose sum depends on the order of addition.
fn random_floats(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count)
        .map(|_| {
            let exponent = i32::try_from(next() % 24).unwrap() - 12;
            let sign = if next() % 2 == 0 { 1.0 } else { -1.0 };
            sign * (1.0 + next() as f32 / 16_777_216.0) * 2.0f32.powi(exponent)
        })
        .collect()
}

/// On every device, sums of `f32` and of pairs of `f32` have the same bits as the sums of a loop over the rows.
#[test]
fn floats_are_added_in_order() {
    let indices: Vec<i64> = (0..700).map(|i| i * i % 97 % 11 - 1).collect();
    for starts_from_zeros in [true, false] {
        let case = ScatterCase {
            shape: &[10, 6],
            starts_from_zeros,
            indices: &indices,
            indices_shape: &[700, 1],
            updates_shape: &[700, 6],
            options: ADD,
        };
        let (input, updates) = (random_floats(60, 1), random_floats(4200, 2));
        let expected = naive_scatter(case, &input, &updates, |sum, update| *sum += update).unwrap();
        let bytes = |values: &[f32]| bytemuck::cast_slice::<_, u8>(values).to_vec();
        let sums = bytes(&expected.values);
        // Addition in the reverse order gives other values, so the test can notice a wrong order.
        let mut reversed_sums = if starts_from_zeros {
            vec![0.0; 60]
        } else {
            input.clone()
        };
        for row in (0..700).rev().filter(|&row| indices[row] >= 0) {
            let slice = usize::try_from(indices[row]).unwrap();
            for j in 0..6 {
                reversed_sums[slice * 6 + j] += updates[row * 6 + j];
            }
        }
        assert_ne!(
            reversed_sums, expected.values,
            "the order makes no difference"
        );
        for (dtype, slice_shape) in [(DType::F32, &[6][..]), (DType::Complex64, &[3])] {
            let case = ScatterCase {
                shape: &[&[10], slice_shape].concat(),
                updates_shape: &[&[700], slice_shape].concat(),
                ..case
            };
            let expected = Ok((sums.clone(), &expected.bad_rows[..]));
            check_scatter_of_bytes(case, dtype, &bytes(&input), &bytes(&updates), expected);
        }
    }
}

/// Adds a row of two numbers to one of `slice_count` slices for each index, and compares the sums bit by bit with the
/// sums of a loop over the rows.
fn check_sums(backend: &Backend, slice_count: usize, indices: &[i32], name: &str) {
    let row_count = indices.len();
    let (input, updates) = (
        random_floats(2 * slice_count, 5),
        random_floats(2 * row_count, 6),
    );
    let mut expected = input.clone();
    for (&slice, row) in indices.iter().zip(updates.chunks(2)) {
        let Ok(slice) = usize::try_from(slice) else {
            continue;
        };
        expected[2 * slice] += row[0];
        expected[2 * slice + 1] += row[1];
    }
    let (sums, _) = backend
        .tensor_scatter_nd(
            (&input, &[slice_count, 2]),
            (indices, &[row_count, 1]),
            (&updates, &[row_count, 2]),
            ADD,
        )
        .unwrap();
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(sums.data), bits(expected), "{name}");
}

/// Adds more rows than a software adapter combines in one block, because the library limits loops on such adapters. The
/// rows go to all of the 960 slices, to three, or to one. Devices with low limits are left out.
#[test]
fn many_floats_are_added_in_order() {
    for used_slices in [960, 3, 1] {
        let indices: Vec<i32> = (0..40_000).map(|i| i % 9973 * 7 % used_slices).collect();
        for device in devices().iter().filter(|device| !device.is_tiny()) {
            let name = format!("{used_slices} slices, {}", device.name);
            check_sums(&device.backend, 960, &indices, &name);
        }
    }
}

/// Returns lists of indices in various orders, each with a name and a number of slices. Some slices get more rows than
/// one invocation sorts. Rows with the index -1 are dropped.
fn long_lists() -> Vec<(&'static str, usize, Vec<i32>)> {
    let ascending = |row_count: i32, rows_per_slice: i32| {
        (0..row_count)
            .map(|i| i / rows_per_slice)
            .collect::<Vec<_>>()
    };
    let mut descending = ascending(1500, 500);
    descending.reverse();
    // 16, 64 or 256 rows are sorted together. Each slice gets one of these numbers of rows, or one row more.
    let edges = [16, 17, 64, 65, 256, 257].into_iter().enumerate();
    let edges = edges.flat_map(|(slice, row_count)| vec![i32::try_from(slice).unwrap(); row_count]);
    vec![
        ("all to one", 2, vec![1; 1400]),
        ("two in turn", 2, (0..1500).map(|i| i % 2).collect()),
        ("descending", 3, descending),
        ("at the edges", 6, edges.collect()),
        (
            "at the edges, mixed",
            9,
            (0..9 * 256).map(|i| i * 1237 % 2311 % 9).collect(),
        ),
        (
            "middle ones",
            60,
            (0..3000).map(|i| i * i % 3001 % 60).collect(),
        ),
        (
            "a few among many",
            2100,
            (0..2100)
                .map(|i| if i % 3 == 0 { i / 3 % 2 * 2099 } else { i })
                .collect(),
        ),
        ("all of them", 20, ascending(6000, 300)),
        (
            "all of them, mixed",
            20,
            (0..6000).map(|i| i * i % 6007 % 20).collect(),
        ),
        (
            "some dropped",
            2,
            (0..1500).map(|i| i * i % 11 % 3 - 1).collect(),
        ),
        ("the first and the last", 3, {
            let mut indices = vec![1; 4100];
            indices[0] = 2;
            indices[4099] = 2;
            indices
        }),
    ]
}

#[test]
fn long_lists_are_added_in_order() {
    for (name, slice_count, indices) in long_lists() {
        for device in devices().iter().filter(|device| !device.is_tiny()) {
            check_sums(
                &device.backend,
                slice_count,
                &indices,
                &format!("{}: {name}", device.name),
            );
        }
    }
}

/// The rows of long lists are added in order, even if the work is cut into several blocks of rows and of slices.
#[cfg(feature = "gpu")]
#[test]
fn long_lists_of_several_blocks_are_added_in_order() {
    for (is_hardware, binding_bytes) in [(true, 4096), (true, 8192), (false, 1024), (false, 4096)] {
        let gpu = strict_with(|limits| limits.max_storage_buffer_binding_size = binding_bytes);
        let gpu = if is_hardware { gpu.as_hardware() } else { gpu };
        let backend = Backend::from(gpu);
        for (name, slice_count, indices) in long_lists() {
            let name =
                format!("{name}, bindings of {binding_bytes} bytes, as hardware: {is_hardware}");
            check_sums(&backend, slice_count, &indices, &name);
        }
    }
}

/// Opens a strict device with small workgroups and otherwise WebGPU's default limits, changed by `change_limits`.
#[cfg(feature = "gpu")]
fn strict_with(change_limits: impl FnOnce(&mut wgpu::Limits)) -> wgslice::Gpu {
    let adapter = strict_gpu::StrictGpu::new(strict_gpu::Options {
        // A GPU does not limit the iterations of loops, so the strict device allows many.
        most_rounds: 1 << 21,
        ..crate::harness::gpu::strict_options()
    })
    .adapter();
    let mut lowered = wgpu::Limits {
        max_compute_invocations_per_workgroup: 64,
        ..wgpu::Limits::default()
    };
    change_limits(&mut lowered);
    crate::harness::gpu::request_device(&adapter, wgpu::Features::empty(), lowered).unwrap()
}

/// A dispatch of 16 bytes writes the first 8 of the 17 bytes of two slices. It must skip the last 9 bytes of the first
/// slice.
#[cfg(feature = "gpu")]
#[test]
fn parts_of_rows_longer_than_a_dispatch() {
    let indices = [1_i32, 0, 1];
    let updates: Vec<u8> = (0..51).map(|i| i * 5).collect();
    let mut expected = vec![0_u8; 4 * 17];
    for (start, update) in [17, 0, 17].into_iter().zip(updates.chunks(17)) {
        for (sum, update) in expected[start..].iter_mut().zip(update) {
            *sum = sum.wrapping_add(*update);
        }
    }
    for is_hardware in [true, false] {
        let gpu = strict_with(|_| {}).with_dispatch_bytes(16);
        let gpu = if is_hardware { gpu.as_hardware() } else { gpu };
        let sums =
            Backend::from(gpu).scatter_nd(&[4, 17], (&indices, &[3, 1]), (&updates, &[3, 17]), ADD);
        assert_eq!(sums.unwrap().0.data, expected, "as hardware: {is_hardware}");
    }
}

/// Tests the longest lists of rows for one slice that an interpreter walks in a few seconds, with the kernels and grids
/// of a GPU.
#[cfg(feature = "gpu")]
#[test]
fn the_longest_lists_are_added_in_order() {
    let backend = Backend::from(strict_with(|_| {}).as_hardware());
    // In the third case there are more lists than a workgroup links together. In the last case there are more lists
    // than all workgroups sort together.
    for (row_count, slice_count) in [(100_000, 1), (100_000, 2), (21_000, 70), (40_000, 2300)] {
        let indices: Vec<i32> = (0..row_count).map(|i| i % slice_count).collect();
        check_sums(&backend, 2300, &indices, &format!("{slice_count} slices"));
    }
}

/// Sums of 16-bit floating-point numbers are rounded after every row, and have the same bits on every device.
#[test]
fn halves_are_added_in_order() {
    let indices: Vec<i64> = (0..500).map(|i| i * i % 89 % 9).collect();
    let halves = |count: usize, seed: u32, mask: u16| -> Vec<u8> {
        let bits = random_floats(count, seed).into_iter().map(f32::to_bits);
        // The mask clears some bits of the exponent, so that no number is an infinity or a NaN.
        let halves = bits.map(|bits| u16::try_from(bits >> 7 & 0xffff).unwrap() & mask);
        halves.flat_map(u16::to_ne_bytes).collect()
    };
    for (dtype, mask) in [(DType::F16, 0xb3ff), (DType::BF16, 0xbeff)] {
        for (length, starts_from_zeros) in [(1, true), (3, false), (4, false)] {
            let case = ScatterCase {
                shape: &[9, length],
                starts_from_zeros,
                indices: &indices,
                indices_shape: &[500, 1],
                updates_shape: &[500, length],
                options: ADD,
            };
            let (input, updates) = (halves(9 * length, 3, mask), halves(500 * length, 4, mask));
            let plan = Plan::tensor_scatter_nd(&[9, length], &[500, 1], &[500, length], ADD, dtype);
            let mut sums = if starts_from_zeros {
                vec![0; 18 * length]
            } else {
                input.clone()
            };
            run_bytes(&plan.unwrap(), &updates, Some((&indices).into()), &mut sums).unwrap();
            check_scatter_of_bytes(case, dtype, &input, &updates, Ok((sums, &[])));
        }
    }
}

/// Tests the cases of TensorFlow's table of `tensor_scatter_nd_…`, and out-of-range rows.
#[test]
fn every_combination_of_tensorflows_table() {
    let table = [
        (Combine::Update, [0, 7, 20, 100, 40]),
        (Combine::Add, [0, 22, 20, 130, 40]),
        (Combine::Sub, [0, -2, 20, -70, 40]),
        (Combine::Max, [0, 10, 20, 100, 40]),
        (Combine::Min, [0, 5, 20, 30, 40]),
        // ONNX has this combination, but TensorFlow does not.
        (Combine::Mul, [0, 350, 20, 3000, 40]),
    ];
    for backend in devices().iter().map(|device| &device.backend) {
        let scatter = |tensor: &[i32], rows: &[i32], updates: &[i32], combine| {
            let options = ScatterOptions {
                combine: Some(combine),
                ..ADD
            };
            let (shape, count) = ([tensor.len()], rows.len());
            let scattered = backend.tensor_scatter_nd(
                (tensor, &shape),
                (rows, &[count, 1]),
                (updates, &[count]),
                options,
            );
            scattered.unwrap().0.data
        };
        let tensor = [0, 10, 20, 30, 40];
        for (combine, expected) in table {
            let scattered = scatter(&tensor, &[1, 3, 1], &[5, 100, 7], combine);
            assert_eq!(scattered, expected, "{backend}: {combine}");
            let mut with_one_update = tensor;
            with_one_update[1] = scatter(&[10], &[0], &[5], combine)[0];
            let scattered = scatter(&tensor, &[1, 9, -1], &[5, 100, 7], combine);
            assert_eq!(scattered, with_one_update, "{backend}: {combine}");
        }
        let scattered = scatter(&[0, 1, 2, 3, 4], &[1, 1], &[-10, -20], Combine::Min);
        assert_eq!(scattered, [0, -20, 2, 3, 4], "{backend}");
    }
}

/// In a minimum or maximum, a NaN in the destination stays, and a NaN in the updates is ignored. If both numbers are
/// zeros, the zero in the destination stays, whatever the signs.
#[test]
fn nans_and_zeros_of_minimum_and_maximum() {
    let bits = |values: &[f32]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    let tensor = [1.0, f32::NAN, 0.0, -0.0, -1.0, 1.0];
    let (rows, updates) = (
        [0, 1, 2, 3, 4, 4, 5, 5],
        [f32::NAN, 1.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0],
    );
    let table = [
        (Combine::Max, [1.0, f32::NAN, 0.0, -0.0, -0.0, 1.0]),
        (Combine::Min, [1.0, f32::NAN, 0.0, -0.0, -1.0, 0.0]),
    ];
    for backend in devices().iter().map(|device| &device.backend) {
        for (combine, expected) in table {
            let options = ScatterOptions {
                combine: Some(combine),
                ..ADD
            };
            let (scattered, _) = backend
                .tensor_scatter_nd(
                    (&tensor, &[6]),
                    (&rows[..], &[8, 1]),
                    (&updates, &[8]),
                    options,
                )
                .unwrap();
            assert_eq!(
                bits(&scattered.data),
                bits(&expected),
                "{backend}: {combine}"
            );
        }
    }
}

/// Returns random elements that can show faults of a combination. For minimum and maximum, floating-point numbers are
/// of every kind. For arithmetic they are near 1, so that results neither overflow nor become NaN.
fn random_elements(combine: Combine, dtype: DType, count: usize, seed: u64) -> Vec<u128> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u128::from(state >> 32)
    };
    let mut number = |Float {
                          bit_count,
                          fraction_bits,
                      }| {
        let random = next() << 32 | next();
        let sign = random >> 63 << (bit_count - 1);
        let infinity = ((1 << (bit_count - 1 - fraction_bits)) - 1) << fraction_bits;
        let one = (infinity >> 1) & infinity;
        if !matches!(combine, Combine::Min | Combine::Max) {
            let below_one = (random >> 62 & 1) << fraction_bits;
            return sign | (one - below_one + (random & ((1 << fraction_bits) - 1)));
        }
        let magnitude = match next() % 12 {
            0 => 0,
            1 => 1,
            2 => infinity,
            3 => infinity + 1 + random % 7,
            4 => one,
            _ => random % (infinity + 1),
        };
        sign | magnitude
    };
    let float = Float::of(dtype);
    (0..count)
        .map(|_| match (dtype, float) {
            (DType::Complex64 | DType::Complex128, Some(float)) => {
                number(float) | number(float) << float.bit_count
            }
            (_, Some(float)) => number(float),
            // For the other types, except booleans, all bits are valid.
            (DType::Bool, None) => {
                number(Float {
                    bit_count: 64,
                    fraction_bits: 52,
                }) & 1
            }
            (_, None) => number(Float {
                bit_count: 64,
                fraction_bits: 0,
            }),
        })
        .collect()
}

/// Tests every defined combination of every type, with several rows for each slice.
#[test]
fn every_combination_of_every_type() {
    let indices: Vec<i64> = (0..45).map(|i| i * i % 31 % 10).collect();
    for (dtype_number, dtype) in DType::ALL.into_iter().enumerate() {
        for (combine_number, combine) in Combine::ALL.into_iter().enumerate() {
            let length = [1, 3][combine_number % 2];
            let case = ScatterCase {
                shape: &[9, length],
                starts_from_zeros: (dtype_number + combine_number) % 3 == 0,
                indices: &indices,
                indices_shape: &[45, 1],
                updates_shape: &[45, length],
                options: ScatterOptions {
                    combine: Some(combine),
                    ..ADD
                },
            };
            if !combine.is_defined_for(dtype) {
                let plan =
                    Plan::scatter_nd(&[9, length], &[45, 1], &[45, length], case.options, dtype);
                let error = plan.unwrap_err();
                assert_eq!(kind(&error), "undefined");
                let message = format!("Combine::{combine:?} is not defined for {dtype}");
                assert!(error.to_string().contains(&message), "{error}");
                continue;
            }
            let input = random_elements(combine, dtype, 9 * length, 1);
            let updates = random_elements(combine, dtype, 45 * length, 2);
            check_scatter_of(case, dtype, &input, &updates);
        }
    }
}

#[test]
fn undefined_combinations() {
    let undefined: Vec<_> = Combine::ALL
        .into_iter()
        .flat_map(|combine| DType::ALL.map(|dtype| (combine, dtype)))
        .filter(|&(combine, dtype)| !combine.is_defined_for(dtype))
        .collect();
    assert_eq!(
        undefined,
        [
            (Combine::Sub, DType::Bool),
            (Combine::Min, DType::Complex64),
            (Combine::Min, DType::Complex128),
            (Combine::Max, DType::Complex64),
            (Combine::Max, DType::Complex128),
        ]
    );
}

/// Checks the combinations that the tests compute themselves, on numbers that can be verified by hand.
#[test]
fn the_reference_combines() {
    let pair = |re: f32, im: f32| u128::from(re.to_bits()) | u128::from(im.to_bits()) << 32;
    let (a, b) = (pair(1.0, 2.0), pair(3.0, 4.0));
    let product = combined(Combine::Mul, DType::Complex64, a, b);
    assert_eq!(product, pair(-5.0, 10.0));
    // 1 + 2^-11 is halfway between two f16 numbers. The bits of 1 are even, so the result is 1.
    assert_eq!(combined(Combine::Add, DType::F16, 0x3c00, 0x1000), 0x3c00);
    assert_eq!(combined(Combine::Add, DType::F16, 0x3c01, 0x1000), 0x3c02);
    assert_eq!(combined(Combine::Max, DType::I8, 0xff, 1), 1);
    assert_eq!(combined(Combine::Max, DType::U8, 0xff, 1), 0xff);
    assert_eq!(combined(Combine::Sub, DType::U16, 0, 1), 0xffff);
}

#[test]
fn bools_are_ored() {
    for backend in devices().iter().map(|device| &device.backend) {
        let (indices, updates) = ([0i32, 0, 2, 3, 3], [true, true, false, false, true]);
        let (sums, _) = backend
            .scatter_nd(&[5], (&indices[..], &[5, 1]), (&updates, &[5]), ADD)
            .unwrap();
        assert_eq!(sums.data, [true, false, false, true, false], "{backend}");
    }
}

/// Rows that the caller declares unique are written directly to their slices, whatever their elements and combination.
#[test]
fn unique_rows_go_straight_to_their_places() {
    for (dtype, combine) in [
        (DType::F32, Combine::Update),
        (DType::F32, Combine::Add),
        (DType::I32, Combine::Max),
        (DType::U8, Combine::Update),
        (DType::F16, Combine::Add),
    ] {
        let options = ScatterOptions {
            combine: Some(combine),
            unique: true,
            ..ADD
        };
        let plan = Plan::tensor_scatter_nd(&[1000, 3], &[5, 1], &[5, 3], options, dtype).unwrap();
        for device in devices().iter().filter(|device| !device.backend.is_cpu()) {
            let explained = device.backend.explain(&plan);
            let is_direct = explained.contains("each row goes straight to its place");
            assert!(is_direct, "{}: {explained}", device.name);
        }
    }
}

/// Under `any_order` rows are added in any order. All orders of these rows give the same sum.
#[test]
fn sums_in_any_order() {
    let indices: Vec<i64> = (0..900).map(|i| i % 4).collect();
    let options = ScatterOptions {
        any_order: true,
        ..ADD
    };
    for backend in devices().iter().map(|device| &device.backend) {
        let updates = vec![0.25f32; 900];
        let (sums, _) = backend
            .scatter_nd(&[4], (&indices[..], &[900, 1]), (&updates, &[900]), options)
            .unwrap();
        assert_eq!(sums.data, [56.25; 4], "{backend}");
    }
}

/// A GPU rejects an addition of elements that WGSL cannot add. With a fallback, the CPU adds them.
#[test]
fn doubles_are_added_on_the_cpu() {
    let add = |backend: &Backend| {
        let (indices, updates) = ([1i32, 1], [0.5f64, 0.25]);
        backend.scatter_nd(&[2], (&indices[..], &[2, 1]), (&updates, &[2]), ADD)
    };
    for backend in devices().iter().map(|device| &device.backend) {
        let with_fallback = backend.clone().with_fallback();
        assert_eq!(
            add(&with_fallback).unwrap().0.data,
            [0.0, 0.75],
            "{backend}"
        );
        if backend.is_cpu() {
            assert_eq!(add(backend).unwrap().0.data, [0.0, 0.75]);
            continue;
        }
        let error = add(backend).unwrap_err();
        assert!(
            matches!(
                error,
                Error::DTypeOnDevice {
                    dtype: DType::F64,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("f64"), "{error}");
        assert_eq!(with_fallback.last_fallback(), Some(error));
        // Elements that cannot be added can still be moved.
        let table = backend.upload((&[0.0f64; 3], &[3])).unwrap();
        let row = backend.upload((&[2i32], &[1, 1])).unwrap();
        let value = backend.upload((&[1.5f64], &[1])).unwrap();
        let mut updated = table.clone();
        updated.tensor_scatter_nd(&row, &value, UPDATE).unwrap();
        assert_eq!(
            updated.to_array::<f64>().unwrap().data,
            [0.0, 0.0, 1.5],
            "{backend}"
        );
    }
}

#[test]
fn an_error_names_the_first_row_and_changes_nothing() {
    let options = ScatterOptions {
        out_of_range: OutOfRange::Error,
        ..UPDATE
    };
    for backend in devices().iter().map(|device| &device.backend) {
        let mut table = backend.upload((&[1u8, 2, 3, 4], &[4])).unwrap();
        let rows = backend.upload((&[0i64, 7, 1, -2], &[2, 2, 1])).unwrap();
        let updates = backend.upload((&[9u8; 4], &[2, 2])).unwrap();
        let (_, report) = refused(table.tensor_scatter_nd(&rows, &updates, options));
        let (first, out_of_range, tuples) =
            (report.first.unwrap(), report.out_of_range, report.tuples);
        assert_eq!(
            (first.tuple, &first.position[..], &first.index[..]),
            (1, &[0, 1][..], &[7][..])
        );
        assert_eq!((out_of_range, tuples), (2, 4));
        assert_eq!(
            table.to_array::<u8>().unwrap().data,
            [1, 2, 3, 4],
            "{backend}"
        );
    }
}

/// `into_result` turns a report into the error that the scatter returns under `OutOfRange::Error`.
#[test]
fn a_report_becomes_the_error_of_the_scatter() {
    let error = |out_of_range| {
        let options = ScatterOptions {
            out_of_range,
            ..ADD
        };
        let (rows, updates) = ((&[1i32, 4], &[2, 1]), (&[1u32, 2], &[2]));
        let scattered = Backend::cpu().scatter_nd(&[4], rows, updates, options);
        scattered
            .and_then(|(_, report)| report.into_result())
            .unwrap_err()
    };
    let scatter_error = error(OutOfRange::Error);
    assert!(
        matches!(scatter_error, Error::InvalidIndices(_)),
        "{scatter_error}"
    );
    assert_eq!(error(OutOfRange::Ignore), scatter_error);
}

/// Successive scatters, which share the memory for their intermediate results, do not disturb one another.
#[test]
fn scatters_follow_one_another() {
    for backend in devices().iter().map(|device| &device.backend) {
        let mut sums = backend.upload((&[0i32; 8], &[8])).unwrap();
        let ones = backend.upload((&[1i32; 3], &[3])).unwrap();
        let (mut reports, mut expected) = (Vec::new(), [0; 8]);
        for i in 0..20i32 {
            let rows = [i % 8, (i + 1) % 9, i % 8];
            for row in rows {
                let sum = usize::try_from(row)
                    .ok()
                    .and_then(|row| expected.get_mut(row));
                sum.into_iter().for_each(|sum| *sum += 1);
            }
            let rows = backend.upload((&rows, &[3, 1])).unwrap();
            reports.push(sums.tensor_scatter_nd(&rows, &ones, ADD).unwrap());
        }
        assert_eq!(sums.to_array::<i32>().unwrap().data, expected, "{backend}");
        let bad_counts = reports
            .iter()
            .map(|report| report.wait().unwrap().out_of_range);
        assert_eq!(bad_counts.sum::<usize>(), 2, "{backend}");
    }
}

/// Tests TensorFlow 2.21's treatment of indices of rank 1. Its two checks of the shapes contradict each other, so
/// indices of rank 1 fail unless they are empty. For a new array without elements, TensorFlow checks the updates before
/// it checks for emptiness.
#[test]
fn indices_of_rank_1() {
    type TableRow<'a> = (&'a [usize], &'a [usize], &'a [usize], &'a str, &'a str);
    // Each row has the shapes of indices, destination and updates, and the outcomes of `scatter_nd` and
    // `tensor_scatter_nd`.
    let table: [TableRow<'_>; 22] = [
        (&[0], &[0], &[0], "", ""),
        (&[0], &[0, 3], &[0, 3], "", ""),
        (&[0], &[0, 0], &[0, 0], "", ""),
        (&[0], &[3, 0], &[3, 0], "updates_shape", "updates_shape"),
        (&[0], &[0], &[1], "empty_output", "empty_output"),
        (&[0], &[0], &[0, 3], "updates_shape", "updates_shape"),
        (&[0], &[3], &[0], "updates_shape", "updates_shape"),
        (&[0], &[3], &[3], "empty_output", "empty_output"),
        (&[0], &[0, 3], &[0], "updates_shape", "updates_shape"),
        (&[0], &[2, 0, 3], &[0, 3], "updates_shape", "updates_shape"),
        (&[1], &[0], &[0], "empty_output", "empty_output"),
        (&[1], &[0], &[1], "updates_shape", "empty_output"),
        (&[1], &[0, 3], &[3], "empty_output", "empty_output"),
        (&[1], &[0, 3], &[1], "updates_shape", "empty_output"),
        (&[1], &[3, 0], &[3], "updates_shape", "empty_output"),
        (&[1], &[2, 3], &[3], "updates_shape", "updates_shape"),
        (&[1], &[2, 3], &[1, 3], "updates_shape", "updates_shape"),
        (&[1], &[3], &[0], "empty_output", "empty_output"),
        (&[2], &[2, 0, 3], &[3], "empty_output", "empty_output"),
        (&[2], &[2, 0, 3], &[2], "updates_shape", "empty_output"),
        (&[2], &[3], &[2], "updates_shape", "updates_shape"),
        (&[3], &[2, 0, 3, 3], &[3], "empty_output", "empty_output"),
    ];
    for (indices_shape, shape, updates_shape, new_outcome, in_place_outcome) in table {
        let outcomes = [
            Plan::scatter_nd(shape, indices_shape, updates_shape, ADD, DType::I32),
            Plan::tensor_scatter_nd(shape, indices_shape, updates_shape, ADD, DType::I32),
        ];
        let outcomes = outcomes.map(|plan| plan.as_ref().map_or_else(kind, |_| ""));
        let call = format!("{indices_shape:?} into {shape:?}, updates {updates_shape:?}");
        assert_eq!(outcomes, [new_outcome, in_place_outcome], "{call}");
        let values = vec![0; indices_shape.iter().product()];
        check(shape, &values, indices_shape, updates_shape);
    }
}

#[test]
fn wrong_tensors_are_named() {
    let cpu = Backend::cpu();
    let mut table = cpu.upload((&[1i32, 2], &[2])).unwrap();
    let rows = cpu.upload((&[0i32], &[1, 1])).unwrap();
    let floats = cpu.upload((&[0.5f32], &[1])).unwrap();
    let ints = cpu.upload((&[5i32], &[1])).unwrap();
    let error = table.tensor_scatter_nd(&rows, &floats, ADD).unwrap_err();
    assert!(
        error.to_string().starts_with("updates is f32, but"),
        "{error}"
    );
    let error = table.tensor_scatter_nd(&floats, &ints, ADD).unwrap_err();
    assert_eq!(kind(&error), "updates_shape");
    let halves = cpu.upload((&[0i16], &[1, 1])).unwrap();
    let error = table.tensor_scatter_nd(&halves, &ints, ADD).unwrap_err();
    assert!(
        error.to_string().starts_with("indices are i16, but"),
        "{error}"
    );
}

#[test]
fn a_new_array_has_a_dimension_and_is_zeros_without_rows() {
    let plan = |shape: &[usize], indices_shape: &[usize], updates_shape: &[usize]| {
        Plan::scatter_nd(shape, indices_shape, updates_shape, ADD, DType::I32)
    };
    assert_eq!(
        plan(&[], &[1, 1], &[1]).unwrap_err().to_string(),
        "indices of shape [1,1] and updates of shape [1] cannot be scattered into shape []: a new array must have \
         at least one dimension, such as [1]"
    );
    let error = plan(&[4], &[0, 1], &[1]).unwrap_err().to_string();
    assert!(
        error.ends_with("indices and updates must both be"),
        "{error}"
    );

    let zeros = plan(&[4], &[0, 1], &[0]).unwrap().to_string();
    assert_eq!(zeros, "scatter_nd [0] -> [4]: no rows, 16 bytes of zeros");
    let unchanged = Plan::tensor_scatter_nd(&[4], &[0, 1], &[0], ADD, DType::I32).unwrap();
    assert!(unchanged.to_string().ends_with(": empty"), "{unchanged}");
}

/// With `combine: None` the operation decides, as in TensorFlow and ONNX: `scatter_nd` adds, other scatters replace.
#[test]
fn without_a_combination_rows_replace_or_are_added_to_zeros() {
    let options = ScatterOptions::default();
    for device in devices() {
        let backend = &device.backend;
        let (rows, ones) = ((&[1, 1], &[2, 1]), (&[5, 7], &[2]));
        let (array, _) = backend.scatter_nd(&[3], rows, ones, options).unwrap();
        assert_eq!(array.data, [0, 12, 0], "{}", device.name);
        let table = (&[10, 20, 30], &[3]);
        let (array, _) = backend
            .tensor_scatter_nd(table, rows, ones, options)
            .unwrap();
        assert_eq!(array.data, [10, 7, 30], "{}", device.name);
        let (array, _) = backend
            .scatter_elements(table, (&[1, 1], &[2]), ones, 0, options)
            .unwrap();
        assert_eq!(array.data, [10, 7, 30], "{}", device.name);
    }
}
