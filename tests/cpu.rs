//! Tests the CPU path, at sizes around the thresholds between its loops.

use crate::harness::{check_gather_on_cpu, check_slice_on_cpu, elements, run_bytes, to_bytes};
use wgslice::{
    Backend, DType, Element, Plan, SliceSpec, View,
    options::{Combine, GatherNdOptions, ScatterOptions},
    slice,
    spec::TfStridedSlice,
};
use wgslice_vectors::reference;

#[track_caller]
fn check_slice(shape: &[usize], spec: &str) {
    let spec: SliceSpec = spec.parse().unwrap();
    check_slice_on_cpu(shape, &TfStridedSlice::try_from(&spec).unwrap());
}

/// Run lengths in elements: around the lengths of vectors, of copies of a fixed size, and of rows for which a vector
/// loop is used.
const RUN_LENGTHS: [usize; 17] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];

#[test]
fn every_step_at_every_run_length() {
    for run_length in RUN_LENGTHS {
        for step in [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5] {
            let width = run_length * 5 + 1;
            // Selects `run_length` elements of each row: upwards from position 1, or downwards from the last position.
            let reach = i64::try_from(run_length).unwrap() * step;
            let spec = if step > 0 {
                format!(":, 1:{}:{step}", 1 + reach)
            } else {
                match width as i64 - 1 + reach {
                    ..0 => format!(":, ::{step}"),
                    end => format!(":, :{end}:{step}"),
                }
            };
            check_slice(&[4, width], &spec);
            check_slice(&[2, 3, width], &format!("::-1, ::2{}", &spec[1..]));
        }
    }
}

/// Tests contiguous pieces of 1 to 39 elements, and of lengths around powers of two. The distance from one piece to the
/// next is constant or changes.
#[test]
fn every_piece_length() {
    for piece_length in (1..40).chain([63, 64, 65, 127, 128, 129, 130, 511, 512, 513]) {
        let width = piece_length + 3;
        for rows_spec in ["::-1", "::2", "1:"] {
            check_slice(&[5, width], &format!("{rows_spec}, 2:{}", 2 + piece_length));
            check_slice(
                &[2, 3, width],
                &format!("::-1, {rows_spec}, 1:{}", 1 + piece_length),
            );
        }
    }
}

/// Tests pixels of 1 to 6 channels, in rows of several lengths. Rows are flipped, and channels are reversed.
#[test]
fn channels_of_pixels_are_reversed() {
    for channels in 1..=6 {
        for width in [1, 2, 3, 4, 15, 16, 17, 40] {
            check_slice(&[3, width, channels], ":, ::-1, :");
            check_slice(&[3, width, channels], "::-1, :, ::-1");
            check_slice(&[3, width, channels], "1:, ::-2, ::-1");
            check_slice(&[3, width, channels + 1], ":, 1:, -2::-1");
        }
    }
}

/// Tests lengths around those at which the CPU path changes to another copy kernel.
#[test]
fn long_pieces() {
    for bytes in [1023, 1024, 1025, 2111, 2112, 2113, 5000] {
        check_slice(&[3, bytes + 1], "::-1, 1:");
    }
}

/// Tests results that several threads write. The results are cut within rows, between rows and within contiguous
/// pieces.
#[test]
fn results_that_are_written_in_parts() {
    check_slice(&[70_001, 3], "::-1, :");
    check_slice(&[70_001, 3], ":, ::-1");
    check_slice(&[2, 300_007], ":, ::-1");
    check_slice(&[3, 200_001], "::2, 1:");
    check_slice(&[400_003], "::-2");
    check_slice(&[7, 11, 1301, 3], "::2, ::-1, 1:, 1:");
}

/// Tests slices that read short groups of elements from a source larger than the caches. The loop for such
/// slices also reads the gaps between the groups, but no byte before or after the source.
#[test]
fn gaps_of_a_large_source() {
    for spec in [
        ":, 1:, :, 1:, :20",
        "::-1, :22, ::-1, 4::-1, ::-1",
        ":, ::-1, :, ::-1, 10:",
        "::-1, 1:, ::2, :, ::-2",
        "1::2, ::-3, :, ::2, 9::-3",
    ] {
        check_slice(&[23, 23, 4, 6, 24], spec);
    }
}

#[test]
fn gathers_that_are_written_in_parts() {
    let (row_count, slice_count) = (60_000, 5000);
    let index = |i: usize| (i * 7919 % (slice_count + 2)) as i64 - 1;
    for width in [1, 3, 5] {
        let indices: Vec<i64> = (0..row_count).map(index).collect();
        check_gather_on_cpu(&[slice_count, width], &indices, &[row_count, 1], 0);
    }
}

/// Rows are longer than the part that one thread writes. The out-of-range row is counted once, although several threads
/// can write it.
#[test]
fn rows_that_are_cut_between_parts_count_once() {
    let width = 3 << 20;
    let plan =
        Plan::gather_nd(&[2, width], &[3, 1], GatherNdOptions::default(), DType::U8).unwrap();
    let source = to_bytes(&elements(2 * width), 1);
    let mut dest = vec![0xa5; plan.outputs()[0].bytes()];
    let report = run_bytes(&plan, &source, Some((&[1i64, 9, 0]).into()), &mut dest);
    let report = report.unwrap();
    assert_eq!((report.out_of_range, report.first.unwrap().tuple), (1, 1));
    assert!(dest[..width] == source[width..]);
    assert!(dest[width..2 * width].iter().all(|&byte| byte == 0));
    assert!(dest[2 * width..] == source[..width]);
}

/// The gathered slices of views are larger than the part that one thread writes, so each slice is cut in the middle of
/// its loops.
#[test]
fn slices_of_views_that_are_cut_between_parts() {
    let view = |shape: &[usize]| View::new(shape).unwrap();
    let flipped = view(&[3, 1 << 20]).slice(&slice![.., ..; -1]).unwrap();
    let turned = view(&[700, 3, 501]).transpose(&[1, 2, 0]).unwrap();
    let stepped = view(&[3, 90, 17, 999])
        .slice(&slice![.., ..; -1, ..; 2, ..; -3])
        .unwrap();
    let indices = (&[1, 9, 0, 2, 2]).into();
    for params in [flipped, turned, stepped] {
        for dtype in [DType::U8, DType::F32, DType::Complex128] {
            let source = to_bytes(
                &elements(params.source_shape().iter().product()),
                dtype.size(),
            );
            let plan = Plan::contiguous(&params, dtype).unwrap();
            let mut selected = vec![0xa5; plan.outputs()[0].bytes()];
            run_bytes(&plan, &source, None, &mut selected).unwrap();
            let gather =
                Plan::gather_nd(&params, &[5, 1], GatherNdOptions::default(), dtype).unwrap();
            let mut dest = vec![0xa5; gather.outputs()[0].bytes()];
            let report = run_bytes(&gather, &source, Some(indices), &mut dest).unwrap();
            assert_eq!((report.out_of_range, report.first.unwrap().tuple), (1, 1));
            let slice_bytes = selected.len() / 3;
            let zeros = vec![0; slice_bytes];
            let slices: Vec<&[u8]> = selected.chunks(slice_bytes).collect();
            for (got, expected) in dest
                .chunks(slice_bytes)
                .zip([slices[1], &zeros, slices[0], slices[2], slices[2]])
            {
                assert!(got == expected, "{gather}");
            }
        }
    }
}

/// Returns the position in the source of each element that a view selects.
fn selected_positions(view: &View) -> Vec<usize> {
    let mut positions = Vec::with_capacity(view.len());
    let mut coordinates = vec![0; view.shape().len()];
    for _ in 0..view.len() {
        let coordinates_and_strides = coordinates.iter().zip(view.strides());
        let position = coordinates_and_strides
            .fold(view.offset().cast_signed(), |position, (&i, &stride)| {
                position + i as isize * stride
            });
        positions.push(position.cast_unsigned());
        for (i, &dimension) in coordinates.iter_mut().zip(view.shape()).rev() {
            *i += 1;
            if *i < dimension {
                break;
            }
            *i = 0;
        }
    }
    positions
}

#[track_caller]
fn check_view(view: &View) {
    let source = elements(view.source_shape().iter().product());
    let expected: Vec<u128> = selected_positions(view)
        .iter()
        .map(|&position| source[position])
        .collect();
    for dtype in [
        DType::U8,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::Complex128,
    ] {
        let plan = Plan::contiguous(view, dtype).unwrap();
        let mut dest = vec![0xa5; plan.outputs()[0].bytes()];
        run_bytes(&plan, &to_bytes(&source, dtype.size()), None, &mut dest).unwrap();
        assert!(
            dest == to_bytes(&expected, dtype.size()),
            "{plan}, {view:?}"
        );
    }
}

/// Tests sizes around the sizes of vectors, cache lines and tiles, in both dimensions.
#[test]
fn transposed_matrices() {
    for rows in [2, 3, 4, 5, 15, 16, 17, 31, 63, 65, 130] {
        for columns in [2, 3, 4, 5, 7, 16, 33, 64, 127, 129, 257] {
            let view = View::new(&[rows, columns]).unwrap();
            check_view(&view.transpose(&[1, 0]).unwrap());
            let turned = view.slice(&slice![1.., ..; -1]).unwrap();
            check_view(&turned.transpose(&[1, 0]).unwrap());
            let turned = view.slice(&slice![..; -1, 1..; 2]).unwrap();
            check_view(&turned.transpose(&[1, 0]).unwrap());
        }
    }
}

/// Tests every permutation of arrays of rank 4, with offsets, steps and broadcasts.
#[test]
fn transposed_arrays() {
    let whole = View::new(&[5, 18, 3, 21]).unwrap();
    let cut = whole.slice(&slice![1.., ..; -1, .., 2..19]).unwrap();
    let stepped = whole.slice(&slice![..; 2, 1..; 3, ..; -2, ..; -1]).unwrap();
    let repeated = View::new(&[4, 1, 35, 2])
        .unwrap()
        .broadcast_to(&[4, 3, 35, 2])
        .unwrap();
    for view in [whole, cut, stepped, repeated] {
        for code in 0..256usize {
            let order = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
            if let Ok(view) = view.transpose(&order) {
                check_view(&view);
            }
        }
    }
}

/// Tests results that several threads write. A thread writes whole planes, some lanes of a plane, or a part of a lane.
/// `src/cpu/transpose.rs` defines lanes.
#[test]
fn transposed_arrays_that_are_written_in_parts() {
    for (shape, order) in [
        (&[31, 67, 71, 3][..], &[0, 3, 1, 2][..]),
        (&[501, 403, 3], &[2, 0, 1]),
        (&[601, 403], &[1, 0]),
        (&[512, 384], &[1, 0]),
        (&[83, 1101], &[1, 0]),
        (&[3, 211_001], &[1, 0]),
        (&[17, 11_013, 2], &[2, 1, 0]),
        (&[5, 33, 69, 37], &[0, 2, 1, 3]),
        (&[5, 33, 69, 37], &[3, 1, 0, 2]),
        (&[3, 501, 9, 37], &[0, 2, 1, 3]),
    ] {
        let view = View::new(shape).unwrap();
        check_view(&view.transpose(order).unwrap());
        let cut = view.slice(&slice![1.., 1..; -1]).unwrap();
        check_view(
            &cut.slice(&slice![.., ..; -1])
                .unwrap()
                .transpose(order)
                .unwrap(),
        );
    }
}

/// Transposes an array of at least 32 MiB on one thread and on two, as on both kinds of processors. Axes with `true` in
/// `are_reversed` are reversed first. Elements are `value` of their positions.
#[track_caller]
fn check_large_transpose<T: Element + PartialEq>(
    shape: &[usize],
    are_reversed: &[bool],
    order: &[usize],
    value: impl Fn(usize) -> T,
) {
    let count: usize = shape.iter().product();
    let elements: Vec<T> = (0..count).map(&value).collect();
    let steps = are_reversed.iter().map(|is_reversed| match is_reversed {
        true => "::-1",
        false => ":",
    });
    let spec: SliceSpec = steps.collect::<Vec<_>>().join(", ").parse().unwrap();
    let view = View::new(shape).unwrap().slice(&spec).unwrap();
    let plan = Plan::contiguous(view.transpose(order).unwrap(), T::DTYPE).unwrap();
    assert!(plan.outputs()[0].bytes() >= 32 << 20);
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let place = |axis: usize, index: usize| match are_reversed[axis] {
        true => (shape[axis] - 1 - index) * stride(axis),
        false => index * stride(axis),
    };
    let (&row_axis, outer_axes) = order.split_last().unwrap();
    let mut expected = Vec::with_capacity(count);
    for mut number in 0..count / shape[row_axis] {
        let mut start = 0;
        for &axis in outer_axes.iter().rev() {
            start += place(axis, number % shape[axis]);
            number /= shape[axis];
        }
        expected.extend((0..shape[row_axis]).map(|index| value(start + place(row_axis, index))));
    }
    for (thread_count, is_other) in [(1, true), (2, true), (1, false), (2, false)] {
        let backend = Backend::cpu().with_threads(thread_count);
        let backend = backend.with_other_processor(is_other);
        let (result, _) = backend.run::<T>(&plan, &[elements[..].into()]).unwrap();
        assert!(
            result.data == expected,
            "{plan} of {shape:?} on {thread_count} threads"
        );
    }
}

/// Tests large results with rows that begin at the same place in each cache line, and with rows that do not; with short
/// rows; with elements of all sizes; and with axes that are reversed, adjacent in neither array, or short.
#[test]
fn large_transposed_arrays() {
    let position = |position: usize| position as u64;
    check_large_transpose(&[2048, 2056], &[false, false], &[1, 0], position);
    check_large_transpose(&[2051, 2050], &[true, false], &[1, 0], position);
    check_large_transpose(&[32, 2050, 64], &[false; 3], &[2, 1, 0], position);
    check_large_transpose(
        &[64, 64, 32, 33],
        &[false, true, false, false],
        &[3, 2, 1, 0],
        position,
    );
    check_large_transpose(
        &[3, 1201, 1203],
        &[false, false, true],
        &[0, 2, 1],
        position,
    );
    check_large_transpose(&[600, 28_001], &[false, true], &[1, 0], |position| {
        u16::try_from(position % 65_521).unwrap()
    });
    let byte = |position: usize| u8::try_from(position % 251).unwrap();
    check_large_transpose(&[5800, 5801], &[false, false], &[1, 0], byte);
    let wide = |position: usize| [position as f64, 0.5];
    check_large_transpose(&[1450, 1460], &[true, true], &[1, 0], wide);
    // Pieces of 3 elements.
    check_large_transpose(
        &[1900, 1601, 3],
        &[false, true, false],
        &[1, 0, 2],
        |position| u32::try_from(position).unwrap(),
    );
    check_large_transpose(&[3400, 3301, 3], &[true, false, false], &[1, 0, 2], byte);
    // Pieces of 200 bytes.
    check_large_transpose(&[401, 449, 25], &[false, true, false], &[1, 0, 2], position);
}

/// Tests all depths of tuples, with and without batches. The CPU path has its own loops for some depths.
#[test]
fn every_depth() {
    let params = [3, 4, 5, 2, 3];
    for depth in 0..=5 {
        for batch_dims in [0, 1] {
            let depth = depth.min(5 - batch_dims);
            let dim_sizes = &params[batch_dims..][..depth];
            let mut shape = params[..batch_dims].to_vec();
            shape.extend([130, depth]);
            let tuple_count: usize = shape[..shape.len() - 1].iter().product();
            let indices: Vec<i64> = (0..tuple_count * depth)
                .map(|i| {
                    (i * 31 + i / 7) as i64 % (dim_sizes[i % depth] as i64 + 1) - i64::from(i == 9)
                })
                .collect();
            check_gather_on_cpu(&params, &indices, &shape, batch_dims);
        }
    }
}

#[test]
fn explanations_name_the_loop() {
    let explain = |shape: &[usize], spec: &str, dtype| {
        let spec: SliceSpec = spec.parse().unwrap();
        let plan = Plan::slice(shape, &spec, dtype).unwrap();
        Backend::cpu().explain(&plan)
    };
    for (shape, spec, dtype, expected) in [
        (&[4, 6][..], "2:2", DType::U8, "nothing to move"),
        (
            &[64, 300],
            ":, 1:",
            DType::U8,
            "pieces of 299 bytes by memcpy",
        ),
        (
            &[64, 30],
            ":, 1:",
            DType::U8,
            "pieces of 29 bytes by fixed moves",
        ),
        (
            &[64, 900],
            ":, ::90",
            DType::F32,
            "pieces of 4 bytes by fixed moves",
        ),
    ] {
        let line = explain(shape, spec, dtype);
        assert!(line.ends_with(expected), "{line}, not {expected}");
    }
    // Not all processors have byte shuffles.
    for (shape, spec, dtype, piece_bytes) in [
        (&[64, 30][..], ":, ::-1", DType::F32, 4),
        (&[64, 30, 3], ":, ::-1", DType::U8, 3),
        (&[64, 30, 3], "..., ::-1", DType::U8, 1),
    ] {
        let line = explain(shape, spec, dtype);
        let is_shuffled = line.ends_with(" by byte shuffles");
        let is_copied = line.ends_with(" by fixed moves");
        let has_pieces = line.contains(&format!("pieces of {piece_bytes} byte"));
        assert!(has_pieces && (is_shuffled || is_copied), "{line}");
    }
    let gather = Plan::gather_nd(
        &[1000, 100],
        &[500_000, 1],
        GatherNdOptions::default(),
        DType::F32,
    )
    .unwrap();
    let line = Backend::cpu().explain(&gather);
    assert!(line.contains("pieces of 400 bytes by memcpy"), "{line}");
    let view = View::new(&[60, 50]).unwrap().transpose(&[1, 0]).unwrap();
    let line = Backend::cpu().explain(&Plan::contiguous(&view, DType::F16).unwrap());
    assert!(
        line.ends_with("transposed pieces of 2 bytes in tiles"),
        "{line}"
    );
}

/// Tests results that are large enough for several threads. Each thread writes a part of the destination.
#[test]
fn threads_write_in_parts() {
    let (shape, cpu) = ([500, 7, 90], Backend::cpu());
    let input: Vec<u32> = (0..500 * 7 * 90).collect();
    let spec: SliceSpec = "::-1, 1:, ::-2".parse().unwrap();
    let encoded = TfStridedSlice::try_from(&spec).unwrap();
    let reference_spec = reference::Spec {
        begin: &encoded.begin,
        end: &encoded.end,
        strides: &encoded.strides,
        begin_mask: encoded.begin_mask,
        end_mask: encoded.end_mask,
        ..Default::default()
    };
    let value: Vec<u32> = (1_000_000..).take(500 * 6 * 45).collect();
    let value_shape = [500, 6, 45];
    let updated = cpu.slice_update((&input, &shape), &spec, (&value, &value_shape));
    let expected =
        reference::strided_slice_update(&input, &shape, &reference_spec, &value, &value_shape)
            .unwrap();
    assert!(updated.unwrap().data == expected);
    let gradient = cpu.slice_grad(&shape, &spec, (&value, &value_shape));
    let expected =
        reference::strided_slice_grad(&shape, &reference_spec, &value, &value_shape).unwrap();
    assert!(gradient.unwrap().data == expected);

    let rows: Vec<i64> = (0..70_000).map(|i| i * i % 1009 % 500).collect();
    type CombineRule = fn(u32, u32) -> u32;
    let rules: [(Combine, CombineRule); 2] = [
        (Combine::Add, u32::wrapping_add),
        (Combine::Update, |_, update| update),
    ];
    for (combine, rule) in rules {
        let options = ScatterOptions {
            combine: Some(combine),
            ..ScatterOptions::default()
        };
        let updates: Vec<u32> = (5..).take(70_000).collect();
        let (sums, _) = cpu
            .tensor_scatter_nd(
                (&input[..500], &[500]),
                (&rows[..], &[70_000, 1]),
                (&updates, &[70_000]),
                options,
            )
            .unwrap();
        let mut expected = input[..500].to_vec();
        for (row, update) in rows.iter().zip(&updates) {
            let sum = &mut expected[usize::try_from(*row).unwrap()];
            *sum = rule(*sum, *update);
        }
        assert!(sums.data == expected);
    }
}
