//! Tests of `gather_nd`: depths, batches, row lengths, index widths and the policies for out-of-range indices.

#[cfg(feature = "gpu")]
use crate::harness::gpu::{adapters, request_device};
use crate::harness::{
    GatherForm, broadcast, check_gather, check_gather_from_view, check_policies, devices, kind,
    refused, slice, transpose,
};
use wgslice::{
    Backend, DType, Plan,
    options::{GatherNdOptions, NegativeIndex, OutOfRange},
    slice,
};
use wgslice_vectors::Step;

fn test_backends() -> impl Iterator<Item = &'static Backend> {
    devices().iter().map(|device| &device.backend)
}

const ERROR_OPTIONS: GatherNdOptions = GatherNdOptions {
    batch_dims: 0,
    out_of_range: OutOfRange::Error,
    negative: NegativeIndex::Invalid,
};

#[test]
fn every_depth() {
    let shape = [2, 3, 4, 5];
    check_gather(&shape, &[], &[3, 0], 0);
    check_gather(&shape, &[1, 0, 1], &[3, 1], 0);
    check_gather(&shape, &[1, 2, 0, 0], &[2, 2], 0);
    check_gather(&shape, &[1, 2, 3, 0, 1, 2], &[2, 3], 0);
    check_gather(&shape, &[1, 2, 3, 4, 0, 0, 0, 0, 1, 1, 1, 1], &[3, 4], 0);
    check_gather(&[2; 8], &[1, 0, 1, 0, 1, 0, 1, 0], &[8], 0);
}

#[test]
fn slices_of_every_length() {
    for length in [
        1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 33, 64, 100, 255, 256, 257, 1024, 3001,
    ] {
        check_gather(&[4, length], &[3, -1, 0, 4, 2, 2, 1], &[7, 1], 0);
    }
}

/// Rows begin at any byte of a word, and some rows are out of range.
#[test]
fn unaligned_rows() {
    let index = |i: usize| (i * 5 % 11) as i64 - 1;
    for length in [31, 33, 64, 77, 1001] {
        let indices: Vec<i64> = (0..32).map(index).collect();
        check_gather(&[9, length], &indices, &[32, 1], 0);
        check_gather(&[2, 9, length], &indices, &[2, 16, 1], 1);
        check_gather(&[2, 5, length], &indices, &[16, 2], 0);
    }
    let indices: Vec<i64> = (0..1031).map(index).collect();
    check_gather(&[9, 1031], &indices, &[1031, 1], 0);
    // These params are views whose rows have steps 2, -2 and -1.
    let indices: Vec<i64> = (0..32).map(index).collect();
    let form = GatherForm::GatherNd(GatherNdOptions::default());
    for spec in ["1:, 3::2", "1:, :2:-2", "1:, ::-1"] {
        let selection = [slice(spec)];
        for case_number in 0..5 {
            check_gather_from_view(
                case_number,
                (&[16, 208], &selection),
                (&indices, &[32, 1]),
                form,
            );
        }
    }
}

/// Rows are so short that an invocation packs 8 or 16 rows together. The last invocation can have fewer rows. Any row
/// of an invocation can be out of range.
#[test]
fn short_rows() {
    for (start, length) in (1..=7).enumerate() {
        for row_count in [4, 12, 20, 28, 2052] {
            let index = |i: usize| ((i + start) * 5 % 11) as i64 - 1;
            let indices: Vec<i64> = (0..row_count).map(index).collect();
            check_gather(&[9, length], &indices, &[row_count, 1], 0);
            if row_count < 64 {
                check_gather(
                    &[9, length],
                    &indices[..row_count - 1],
                    &[row_count - 1, 1],
                    0,
                );
                check_gather(&[2, 5, length], &indices, &[row_count / 2, 2], 0);
                let valid_indices: Vec<i64> = (0..row_count).map(|i| (i * 7 % 9) as i64).collect();
                check_gather(&[9, length], &valid_indices, &[row_count, 1], 0);
            }
        }
    }
    // The params are empty, or end within a word.
    check_gather(&[0, 5], &[0; 16], &[16, 1], 0);
    check_gather(&[1, 7], &[0; 16], &[16, 1], 0);
    check_gather(&[3, 1], &[2; 16], &[16, 1], 0);
}

#[test]
fn each_batch_is_gathered_by_its_own_tuples() {
    check_gather(&[2, 3, 4], &[0, 2], &[2, 1], 1);
    check_gather(&[2, 3, 4], &[0, 2, 1, 3], &[2, 2, 1], 1);
    check_gather(&[2, 3, 4], &[0, 1, 2, 3, 2, 1], &[2, 3, 1], 2);
    check_gather(&[2, 3, 4], &[], &[2, 3, 0], 2);
    check_gather(&[3, 2, 5], &[0, 4, 1, 5, -1, 0], &[3, 1, 2], 1);
    check_gather(&[2, 3], &[0, 0, 0], &[3, 1], 1); // batch dimensions differ
    check_gather(&[2, 3], &[0], &[1], 1); // batch_dims too large
    check_gather(&[3, 3], &[0; 8], &[2, 2, 2], 1); // batch dimensions differ, and tuples are too long
}

#[test]
fn mismatched_and_empty_shapes() {
    check_gather(&[], &[0], &[1], 0);
    check_gather(&[3], &[0], &[], 0);
    check_gather(&[3, 4], &[0, 0, 0], &[1, 3], 0);
    check_gather(&[3, 0], &[0], &[1, 1], 0);
    check_gather(&[3, 0], &[], &[0, 1], 0);
    check_gather(&[0, 3], &[], &[4, 0], 0);
}

/// Tests every policy at several depths, with one batch and with several.
#[test]
fn tuples_follow_every_policy() {
    let form = |batch_dims| {
        GatherForm::GatherNd(GatherNdOptions {
            batch_dims,
            ..GatherNdOptions::default()
        })
    };
    let indices = [0, -1, 4, -4, 2, -5, 3, 5, -3, 1, 9, -9];
    for (number, (shape, batch_dims)) in [
        ([12, 1], 0),
        ([6, 2], 0),
        ([4, 3], 0),
        ([3, 4], 0),
        ([3, 4], 1),
    ]
    .into_iter()
    .enumerate()
    {
        let params = (&[3, 4, 3, 2, 4][..], &[][..]);
        check_policies(3 * number, params, (&indices, &shape), form(batch_dims));
    }
}

/// An index wraps at most once, and the sum of an index and a size does not overflow.
#[test]
fn policies_at_the_ends_of_the_integers() {
    let form = GatherForm::GatherNd(GatherNdOptions::default());
    let indices = [
        i64::MIN,
        i64::MIN + 1,
        i64::MAX,
        (1 << 32) - 3,
        -(1 << 32),
        -(1 << 31) - 1,
        i64::from(u32::MAX),
        -3,
        -4,
        2,
        3,
        0,
    ];
    for shape in [[12, 1], [6, 2]] {
        check_policies(1, (&[3, 3], &[]), (&indices, &shape), form);
    }
    let large_indices = [u32::MAX.into(), 1 << 31, 2, 3, 0];
    for case_number in [5, 7, 0] {
        check_policies(case_number, (&[3, 5], &[]), (&large_indices, &[5, 1]), form);
    }
}

/// Params can be views with any strides.
#[test]
fn params_are_views() {
    let views: [(&[usize], Vec<Step>); 14] = [
        (&[5, 6], vec![slice("::-1")]),
        (&[5, 6], vec![slice("..., ::-1")]),
        (&[5, 6], vec![slice("1::2, ::-2")]),
        (&[6, 5], vec![transpose(&[1, 0])]),
        (&[5, 4, 6], vec![slice(":, ::-1, 1:4")]),
        (&[5, 4, 6], vec![slice(":, ::3, ::-1")]),
        (&[6, 4, 5], vec![transpose(&[2, 0, 1])]),
        (&[4, 6, 5], vec![transpose(&[2, 1, 0]), slice("::-1, 1:")]),
        (&[6], vec![broadcast(&[5, 6])]),
        (&[5, 1], vec![broadcast(&[2, 5, 3])]),
        (&[1], vec![broadcast(&[5, 4])]),
        (&[5, 3, 8, 16], vec![slice(":, ::-1, ::2, ::-1")]),
        (&[5, 3, 8, 16], vec![slice(":, :, ::-1, 4:12")]),
        (
            &[3, 5, 2, 3, 4],
            vec![transpose(&[1, 3, 0, 2, 4]), slice("::-1, ..., ::-1")],
        ),
    ];
    let indices = [4, 0, 2, -1, 1, 3, 5, 0, 1, 2, 4, 3, 0, 1, 9, 2];
    let mut case_number = 0;
    for (shape, selection) in &views {
        let params = (*shape, &selection[..]);
        for (tuple_count, depth) in [(1, 0), (3, 0), (12, 1), (1, 1), (6, 2), (2, 2)] {
            let form = GatherForm::GatherNd(GatherNdOptions::default());
            let indices = (&indices[..tuple_count * depth], &[tuple_count, depth][..]);
            case_number += 1;
            check_gather_from_view(case_number, params, indices, form);
        }
    }
    // These are batches of a view, with positive or negative strides along batch dimensions.
    let images = [transpose(&[3, 0, 1, 2]), slice("::-1, ::-1, ..., ::-1")];
    for batch_dims in [1, 2] {
        let form = GatherForm::GatherNd(GatherNdOptions {
            batch_dims,
            ..GatherNdOptions::default()
        });
        let shape = match batch_dims {
            1 => vec![3, 4, 1],
            _ => vec![3, 2, 2, 1],
        };
        let params = (&[2, 4, 5, 3][..], &images[..]);
        let index_count: usize = shape.iter().product();
        for case_number in 0..5 {
            check_gather_from_view(case_number, params, (&indices[..index_count], &shape), form);
        }
    }
}

/// Params that are too large for the offsets of shaders are cut. Some are cut along the first coordinate, and some have
/// negative strides.
#[test]
fn views_beyond_the_reach_of_offsets() {
    let indices = [199, 0, 100, 41, 42, 200, -1, 3, 80, 160, 120, 7];
    let views: [(&[usize], &str); 6] = [
        (&[200, 101], ":"),
        (&[200, 101], "::-1"),
        (&[200, 101], "::-1, ::-1"),
        (&[400, 55], "::-2, ::-3"),
        (&[200, 3, 41], "::-1, ::-1, :"),
        (&[200, 5, 25], "::-1, :, ::-1"),
    ];
    for (shape, spec) in views {
        let selection = [slice(spec)];
        let form = GatherForm::GatherNd(GatherNdOptions::default());
        for (tuple_count, depth) in [(3, 1), (1, 1), (6, 2)] {
            let indices = (&indices[..tuple_count * depth], &[tuple_count, depth][..]);
            check_gather_from_view(0, (shape, &selection), indices, form);
            check_gather_from_view(5, (shape, &selection), indices, form);
        }
    }
}

/// In a broadcast dimension of more than 2^32 positions, indices are compared, added and clamped on the CPU. A dispatch
/// takes fewer than 2^32 positions, so a GPU rejects the gather, and the error names the CPU. (`tests/large.rs` has
/// dimensions of more than 2^32 positions that are not broadcast.)
#[test]
fn a_dimension_beyond_32_bits() {
    let size = (1usize << 33) + 7;
    let n = size as i64;
    let good_indices = [
        0,
        1,
        n - 1,
        1 << 32,
        (1 << 32) - 1,
        (1 << 32) + 1,
        n - (1 << 32),
    ];
    let negative_indices = [-1, -n, -(1 << 32), -(1 << 32) - 1, -(1 << 31)];
    let too_large = [n, n + 1, 1 << 34, (1 << 33) + (1 << 32), i64::MAX];
    let too_negative = [-n - 1, -n - (1 << 32), i64::MIN];
    let all_indices = [
        &good_indices[..],
        &negative_indices,
        &too_large,
        &too_negative,
    ]
    .concat();
    let (bad_unless_wrapped_count, always_bad_count) =
        (negative_indices.len(), too_large.len() + too_negative.len());
    for backend in test_backends() {
        let only_row = backend.upload((&[7u32, 9], &[1, 2])).unwrap();
        let table = only_row.broadcast_to(&[size, 2]).unwrap();
        let indices = backend
            .upload((&all_indices, &[all_indices.len(), 1]))
            .unwrap();
        for (negative, out_of_range, bad_count) in [
            (
                NegativeIndex::Invalid,
                OutOfRange::Ignore,
                bad_unless_wrapped_count + always_bad_count,
            ),
            (NegativeIndex::Wrap, OutOfRange::Ignore, always_bad_count),
            (NegativeIndex::Invalid, OutOfRange::Clamp, 0),
            (NegativeIndex::Wrap, OutOfRange::Clamp, 0),
        ] {
            let options = GatherNdOptions {
                batch_dims: 0,
                out_of_range,
                negative,
            };
            let gathered = table.gather_nd(&indices, options);
            if !backend.is_cpu() {
                let message = gathered.unwrap_err().to_string();
                let expected = "an indexed dimension, which the CPU path (Backend::cpu) can index";
                assert!(message.contains(expected), "{backend}: {message}");
                continue;
            }
            let gathered = gathered.unwrap();
            assert_eq!(
                gathered.1.wait().unwrap().out_of_range,
                bad_count,
                "{backend}: {options:?}"
            );
            let rows = gathered.0.to_array::<u32>().unwrap().data;
            let good_row_count = rows.chunks(2).filter(|row| *row == [7, 9]).count();
            assert_eq!(
                good_row_count,
                all_indices.len() - bad_count,
                "{backend}: {options:?}"
            );
        }
    }
}

/// `gather_nd` from an empty view succeeds if there are no tuples, and fails otherwise.
#[test]
fn empty_views() {
    let empty_view = wgslice::View::new(&[4, 3]).unwrap();
    let empty_view = empty_view.slice(&slice![2..2]).unwrap();
    let plan = |indices_shape: &[usize]| {
        Plan::gather_nd(
            &empty_view,
            indices_shape,
            GatherNdOptions::default(),
            DType::F32,
        )
    };
    assert_eq!(plan(&[0, 1]).unwrap().shape(), [0, 3]);
    let error = plan(&[2, 1]).unwrap_err();
    assert_eq!(kind(&error), "empty_params");
    assert_eq!(
        error.to_string(),
        "params of shape [0,3] has no elements, but there are 2 index tuples: pass no tuples, or params with elements"
    );
}

/// All 64 bits of an index are compared, not only the low word: 2^32 is not 0.
#[test]
fn wide_indices_are_exact() {
    let indices = [
        1i64 << 32,
        -1 << 32,
        (1 << 32) + 1,
        i64::MAX,
        i64::MIN,
        1 << 31,
        -1,
        0,
        1,
        2,
    ];
    check_gather(&[3, 5], &indices, &[10, 1], 0);
    check_gather(&[3, 5], &indices, &[5, 2], 0);
}

#[test]
fn rows_out_of_range_are_zeros_and_reported() {
    for backend in test_backends() {
        let params: Vec<f64> = (0..12).map(|i| f64::from(i) + 0.5).collect();
        let indices = [1i32, 3, -1, 2];
        let (array, report) = backend
            .gather_nd(
                (&params, &[3, 4]),
                (&indices[..], &[2, 2, 1]),
                GatherNdOptions::default(),
            )
            .unwrap();
        assert_eq!(array.shape, [2, 2, 4]);
        assert_eq!(array.data[..4], [4.5, 5.5, 6.5, 7.5]);
        assert_eq!(
            array.data[4..12].iter().map(|v| v.to_bits()).sum::<u64>(),
            0
        );
        assert_eq!(array.data[12..], [8.5, 9.5, 10.5, 11.5]);
        assert_eq!((report.tuples, report.out_of_range), (4, 2), "{backend}");
        let first = report.first.unwrap();
        assert_eq!(
            (first.tuple, first.position, first.index),
            (1, vec![0, 1], vec![3])
        );
    }
}

#[test]
fn errors_are_the_same_everywhere() {
    let mut messages = Vec::new();
    for backend in test_backends() {
        let params: Vec<u16> = (0..24).collect();
        let indices = [0i64, 0, 1, 3, 2, 0, -7, 1];
        let outcome = backend.gather_nd(
            (&params, &[2, 3, 4]),
            (&indices[..], &[4, 2]),
            ERROR_OPTIONS,
        );
        let (message, report) = refused(outcome);
        let (first, out_of_range, tuples) =
            (report.first.unwrap(), report.out_of_range, report.tuples);
        assert_eq!(
            (first.tuple, &first.index[..], out_of_range, tuples),
            (1, &[1, 3][..], 3, 4)
        );
        messages.push(message);
    }
    assert!(
        messages[0].contains("indices[1] = [1, 3]"),
        "{}",
        messages[0]
    );
    assert!(
        messages.iter().all(|message| *message == messages[0]),
        "{messages:?}"
    );
}

#[test]
fn the_error_policy_accepts_good_indices() {
    for backend in test_backends() {
        let (array, report) = backend
            .gather_nd(
                (&[1u8, 2, 3], &[3]),
                (&[2i32, 0][..], &[2, 1]),
                ERROR_OPTIONS,
            )
            .unwrap();
        assert_eq!(
            (array.data, report.out_of_range, report.first),
            (vec![3, 1], 0, None)
        );
    }
}

#[test]
fn tensors_stay_on_their_device() {
    for backend in test_backends() {
        let table = backend
            .upload((&[1i16, 2, 3, 4, 5, 6, 7, 8], &[4, 2]))
            .unwrap();
        let ids = backend.upload((&[3i64, 9, 0, 1], &[4, 1])).unwrap();
        let first_ids = ids.slice(&slice![..3]).unwrap();
        let gathered = table
            .gather_nd(&first_ids, GatherNdOptions::default())
            .unwrap();
        let reversed = gathered.0.slice(&slice![.., ..; -1]).unwrap();
        assert_eq!(
            reversed.to_array::<i16>().unwrap().data,
            [8, 7, 0, 0, 2, 1],
            "{backend}"
        );
        assert_eq!(gathered.1.wait().unwrap().first.unwrap().index, [9]);
    }
}

/// There are so many rows that a software adapter reads them from several windows, the parts of params that fit a
/// binding. A row is in one window or in two, or its step is longer than a window. Some steps are negative. Tuples are
/// read four at a time, or are too long for that.
#[cfg(feature = "gpu")]
#[test]
fn many_rows_from_several_windows() {
    // Each case has the sizes of the dimensions before the dimension that is cut into windows, the number of elements
    // of a row, and the step between these elements.
    let cases: [(&[usize], usize, isize); 13] = [
        (&[], 1, 1),
        (&[3, 7, 5], 1, 1),
        (&[], 2, 1),
        (&[], 3, -1),
        (&[3, 2], 5, 1),
        (&[], 8, -1),
        (&[2, 3, 5], 8, 1),
        (&[], 16, 1),
        (&[], 33, -1),
        (&[], 64, 1),
        (&[], 3, 30_000),
        (&[], 1, 1),
        (&[3, 7], 2, 1),
    ];
    for adapter in adapters() {
        for ((front_sizes, width, step), tuple_count) in
            cases.into_iter().zip([9000, 9001].into_iter().cycle())
        {
            // A binding holds the whole result, but at most a third of the params.
            let binding_bytes = (tuple_count * width * 4).next_power_of_two();
            let limits = wgpu::Limits {
                max_storage_buffer_binding_size: binding_bytes as u64,
                ..wgpu::Limits::default()
            };
            let gpu = request_device(&adapter, wgpu::Features::empty(), limits).unwrap();
            let backend = Backend::from(gpu);
            let pitch = (width - 1) * step.unsigned_abs() + 1;
            let front_count: usize = front_sizes.iter().product();
            let cut_size = (3 * binding_bytes / 4).div_ceil(front_count * pitch) + 1;
            let shape = [front_sizes, &[cut_size, pitch]].concat();
            let element_count = u32::try_from(front_count * cut_size * pitch).unwrap();
            let params: Vec<u32> = (1..=element_count).collect();

            // Every seventh row is out of range.
            let row = |i: usize| (i % 7 < 6).then_some(i * 7919 % (front_count * cut_size));
            let mut indices = Vec::new();
            let mut expected = Vec::new();
            for i in 0..tuple_count {
                let mut quotient = row(i).unwrap_or(front_count * cut_size);
                let mut tuple = vec![(quotient % cut_size) as i64; front_sizes.len() + 1];
                quotient /= cut_size;
                for (index, &size) in tuple.iter_mut().zip(front_sizes).rev() {
                    *index = (quotient % size) as i64;
                    quotient /= size;
                }
                if row(i).is_none() {
                    tuple[0] = -1;
                }
                indices.extend(tuple);
                expected.extend((0..width).map(|j| {
                    let j = if step < 0 { width - 1 - j } else { j };
                    let offset = j * step.unsigned_abs();
                    row(i).map_or(0, |row| params[row * pitch + offset])
                }));
            }

            let table = backend.upload((&params, &shape)).unwrap();
            let rows = table.slice(&slice![wgslice::spec::SliceItem::Ellipsis, ..; step as i64]);
            let tuples = backend
                .upload((&indices, &[tuple_count, front_sizes.len() + 1]))
                .unwrap();
            // The result reuses this tensor's memory, in which every bit is 1, so that unwritten bytes show.
            drop(
                backend
                    .upload((&vec![u32::MAX; tuple_count * width], &[tuple_count, width]))
                    .unwrap(),
            );
            let gathered = rows
                .unwrap()
                .gather_nd(&tuples, GatherNdOptions::default())
                .unwrap();
            let got = gathered.0.to_array::<u32>().unwrap().data;
            assert!(
                got == expected,
                "{front_sizes:?}, {width}, {step} on {backend}"
            );
            let report = gathered.1.wait().unwrap();
            assert_eq!(report.out_of_range, tuple_count / 7);
            assert_eq!(report.first.unwrap().tuple, 6);
        }
    }
}

#[test]
fn wrong_tensors_are_named() {
    let cpu = Backend::cpu();
    let params = cpu.upload((&[1.0f32, 2.0], &[2])).unwrap();
    let floats = cpu.upload((&[0.0f32], &[1, 1])).unwrap();
    let error = params
        .gather_nd(&floats, GatherNdOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("f32"), "{error}");
    let error = params.to_array::<i32>().unwrap_err();
    assert!(error.to_string().contains("i32"), "{error}");
    let error = cpu
        .gather_nd(
            (&[1u8, 2], &[2]),
            (&[0i32, 1][..], &[3, 1]),
            GatherNdOptions::default(),
        )
        .unwrap_err();
    assert!(
        error.to_string().contains("indices has 2 elements"),
        "{error}"
    );
}
