//! Tests selections by mask: counts, capacities, masks of many chunks, views and errors. The modules `devices` and
//! `property` run golden vectors and random cases.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are small, or any bits will do"
)]

use crate::harness::{devices, kind, step_count};
use wgslice::{
    Array, Backend, DType, Element, Error, Plan, Tensor, Values, View,
    options::{GatherNdOptions, GatherOptions, NegativeIndex},
    slice,
};
use wgslice_vectors::reference;

/// Makes a pseudorandom mask of `length` bytes. On average, `trues_in_64` of 64 elements are true. A true element is
/// any byte except 0.
fn random_mask(length: usize, trues_in_64: u32) -> Vec<u8> {
    let mut state = length as u32 * 7 + trues_in_64;
    let mut next = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        state >> 16
    };
    (0..length)
        .map(|_| {
            if next() % 64 < trues_in_64 {
                (next() % 255 + 1) as u8
            } else {
                0
            }
        })
        .collect()
}

fn mask_values(mask: &[u8]) -> Vec<bool> {
    mask.iter().map(|&byte| byte != 0).collect()
}

fn kind_of<T>(outcome: Result<T, Error>) -> &'static str {
    match outcome {
        Ok(_) => "no error",
        Err(error) => kind(&error),
    }
}

/// Tests masks of less than a chunk, of one chunk, of several chunks, and of more chunks than a workgroup adds up at a
/// time. A chunk is the part of a mask that one workgroup searches.
#[test]
fn positions_and_counts_are_the_references() {
    for (shape, capacities) in [
        (&[0][..], &[0, 3][..]),
        (&[], &[0, 1, 5]),
        (&[1], &[1]),
        (&[3, 0, 2], &[2]),
        (&[7, 3], &[0, 5, 21, 30]),
        (&[1021], &[600, 1021]),
        (&[5, 1024], &[5120, 100]),
        (&[2, 3, 2, 2, 1, 3, 5], &[360]),
        (&[70_001], &[70_001, 1000]),
        (&[1_100_000], &[1000]),
    ] {
        let length = shape.iter().product();
        for trues_in_64 in [0, 1, 32, 64] {
            let mask = random_mask(length, trues_in_64);
            let count = mask.iter().filter(|&&byte| byte != 0).count();
            for &capacity in capacities {
                let (rows_shape, rows) =
                    reference::nonzero(&mask_values(&mask), shape, Some(capacity)).unwrap();
                for device in devices() {
                    // Low limits cut large masks into too many dispatches, an interpreter is slow, and positions of
                    // many dimensions do not fit the smallest buffers.
                    let name_has = |name| device.name.contains(name);
                    let is_low = name_has("Tiny") || name_has("Parts");
                    let max_length = match (trues_in_64, capacity) {
                        (32, 1000) if !is_low => usize::MAX,
                        (32, _) => 6000,
                        _ => 1100,
                    };
                    if (is_low || name_has("strict")) && length > max_length
                        || name_has("Parts") && shape.len() > 4
                    {
                        continue;
                    }
                    let describe = || format!("{} {shape:?} {trues_in_64} {capacity}", device.name);
                    let tensor = device.backend.upload((&mask, shape)).unwrap();
                    let plan = Plan::nonzero(shape, Some(capacity), DType::I64).unwrap();
                    let (without_count, report) = Tensor::run(&plan, &[&tensor]).unwrap();
                    assert_eq!(without_count.len(), 1, "{}", describe());
                    assert!(
                        without_count[0].to_vec::<i64>().unwrap() == rows,
                        "{}",
                        describe()
                    );
                    assert_eq!(report.wait().unwrap().found.unwrap(), count);
                    let plan = plan.with_count().unwrap();
                    assert_eq!(kind_of(plan.clone().with_count()), "count");
                    let (with_count, pending) = Tensor::run(&plan, &[&tensor]).unwrap();
                    let found_rows = &with_count[0];
                    assert_eq!(found_rows.shape(), rows_shape, "{}", describe());
                    assert!(
                        found_rows.to_vec::<i64>().unwrap() == rows,
                        "{}",
                        describe()
                    );
                    let used_rows = count.min(capacity);
                    let words = with_count[1].to_vec::<u32>().unwrap();
                    let group_count = used_rows.div_ceil(64) as u32;
                    let expected = [
                        group_count,
                        group_count.min(1),
                        1,
                        used_rows as u32,
                        count as u32,
                        0,
                        0,
                        0,
                    ];
                    assert_eq!(words, expected, "{}", describe());
                    let report = pending.wait().unwrap();
                    assert_eq!(report.found, Some(count), "{}", describe());
                    assert_eq!(report.into_result().is_ok(), count <= capacity);
                }
            }
        }
    }
}

/// Without a capacity the result has a row for every element of the mask. Unused rows are zeros, or -1 in a list of
/// positions.
#[test]
fn the_default_capacity_is_the_length_of_the_mask() {
    for device in devices() {
        let x = device.backend.upload((&[1.5f32, 2.5, 3.5], &[3])).unwrap();
        let mask = device.backend.upload((&[false, true, true], &[3])).unwrap();
        let (selected, count) = x.boolean_mask(&mask, 0, None).unwrap();
        assert_eq!(
            selected.to_vec::<f32>().unwrap(),
            [2.5, 3.5, 0.0],
            "{}",
            device.name
        );
        assert_eq!(count.wait().unwrap().found.unwrap(), 2);
        let (rows, _) = mask.nonzero(None).unwrap();
        assert_eq!(rows.to_vec::<i64>().unwrap(), [1, 2, -1]);
    }
}

/// Unused rows of positions are out of range for gathers, which write zeros for these rows and count them.
#[test]
fn positions_are_index_tuples() {
    for device in devices() {
        let table = device
            .backend
            .upload((&[10u16, 20, 30, 40], &[2, 2]))
            .unwrap();
        let mask = device.backend.upload((&[0u8, 9, 9, 0], &[2, 2])).unwrap();
        let (rows, _) = mask.nonzero(Some(3)).unwrap();
        let (gathered, report) = table.gather_nd(&rows, GatherNdOptions::default()).unwrap();
        assert_eq!(
            gathered.to_vec::<u16>().unwrap(),
            [20, 30, 0],
            "{}",
            device.name
        );
        assert_eq!(report.wait().unwrap().out_of_range, 1);
        let wrap_options = GatherNdOptions {
            negative: NegativeIndex::Wrap,
            ..GatherNdOptions::default()
        };
        let (gathered, _) = table.gather_nd(&rows, wrap_options).unwrap();
        assert_eq!(gathered.to_vec::<u16>().unwrap(), [20, 30, 40]);
    }
}

/// Results of calls on host values have exactly one row for each true element, on every device.
#[test]
fn host_values_are_selected_exactly() {
    for device in devices() {
        let backend = &device.backend;
        let x: Vec<i32> = (0..24).collect();
        let x = (&x, &[2, 3, 4]);
        let mask = (&[true, false, false, false, true, true], &[2, 3]);
        let positions = backend.nonzero(mask).unwrap();
        assert_eq!(
            (positions.shape, positions.data),
            (vec![3, 2], vec![0, 0, 1, 1, 1, 2])
        );
        let rows = backend.boolean_mask(x, mask, 0).unwrap();
        assert_eq!(rows.shape, [3, 4]);
        assert_eq!(rows.data, [0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23]);
        let columns = backend.boolean_mask(x, (&[0u8, 0, 5, 0], &[4]), 2).unwrap();
        assert_eq!(
            (columns.shape, columns.data),
            (vec![2, 3, 1], vec![2, 6, 10, 14, 18, 22])
        );
        let no_rows = backend.boolean_mask(x, (&[0u8, 0], &[2]), 0).unwrap();
        assert_eq!((no_rows.shape, no_rows.data.len()), (vec![0, 3, 4], 0));
        let selected = backend.compress(x, (&[0u8, 1, 1], &[3]), None).unwrap();
        assert_eq!((selected.shape, selected.data), (vec![2], vec![1, 2]));
        let selected = backend.compress(x, (&[1u8], &[1]), Some(-1)).unwrap();
        assert_eq!(
            (selected.shape, selected.data),
            (vec![2, 3, 1], vec![0, 4, 8, 12, 16, 20])
        );
        let chosen = backend.select((&[true, false], &[2, 1, 1]), x, (&[-1, -2, -3, -4], &[4]));
        let chosen = chosen.unwrap();
        let expected: Vec<i32> = (0..12).chain([-1, -2, -3, -4].repeat(3)).collect();
        assert_eq!((chosen.shape, chosen.data), (vec![2, 3, 4], expected));
        let values = (&[90, 91, 92, 93], &[1, 4]);
        let last_row_mask = (&[0u8, 0, 0, 0, 0, 1], &[2, 3]);
        let changed = backend.masked_scatter(x, last_row_mask, values).unwrap();
        let expected: Vec<i32> = (0..20).chain(90..94).collect();
        assert_eq!(
            (changed.shape, changed.data),
            (vec![2, 3, 4], expected),
            "{}",
            device.name
        );
        assert_eq!(
            kind_of(backend.masked_scatter(x, mask, values)),
            "mask_count"
        );
        let flags = backend.select((&[1u8, 0], &[2]), (&[true], &[]), (&[false], &[1]));
        assert_eq!(flags.unwrap().data, [true, false]);
    }
}

/// Checks that exactly the selected elements are written, at every position in a word, even between elements that are
/// not selected.
fn check_updates<T: Element + PartialEq + std::fmt::Debug>(value_of: impl Fn(usize) -> T) {
    let [rows, columns] = [13, 21];
    let old_values: Vec<T> = (0..rows * columns).map(&value_of).collect();
    let new_values: Vec<T> = (0..columns).map(|n| value_of(n + 100)).collect();
    for (begin, step) in [(0, 1), (1, 1), (3, 2), (2, 5)] {
        let view = View::new(&[rows, columns]).unwrap();
        let view = view
            .slice(&slice![1.., begin as i64..; step as i64])
            .unwrap();
        let width = view.shape()[1];
        for (mask_shape, value_shape) in [
            (vec![rows - 1, width], vec![]),
            (vec![width], vec![width]),
            (vec![rows - 1, 1], vec![rows - 1, width]),
            (vec![], vec![width]),
        ] {
            let mask = random_mask(mask_shape.iter().product(), 30);
            let source = new_values.iter().copied().cycle();
            let source: Vec<T> = source.take(value_shape.iter().product()).collect();
            let plan = Plan::masked_update(&value_shape, &mask_shape, &view, T::DTYPE).unwrap();
            let mut expected = old_values.clone();
            for row in 0..rows - 1 {
                for column in 0..width {
                    let index_in = |shape: &[usize]| match shape {
                        [] => 0,
                        [_] => column,
                        [_, 1] => row,
                        _ => row * width + column,
                    };
                    if mask[index_in(&mask_shape)] != 0 {
                        expected[(row + 1) * columns + begin + column * step] =
                            source[index_in(&value_shape)];
                    }
                }
            }
            for device in devices() {
                let mut changed = device
                    .backend
                    .upload((&old_values, &[rows, columns]))
                    .unwrap();
                let source = device.backend.upload((&source, &value_shape)).unwrap();
                let mask = device.backend.upload((&mask, &mask_shape)).unwrap();
                Tensor::run_into(&plan, &[&source, &mask], &mut [&mut changed]).unwrap();
                let changed = changed.to_vec::<T>().unwrap();
                assert_eq!(changed, expected, "{} {plan}", device.name);
            }
        }
    }
}

#[test]
fn updates_go_into_views_and_nowhere_else() {
    check_updates(|n| n as u8);
    check_updates(|n| (n % 250) as u16 * 257);
    check_updates(|n| n as u32 * 1_000_003);
    check_updates(|n| [n as f32, -1.0]);
    check_updates(|n| [n as f64, -1.0]);
}

/// Tests views as arguments: transposed, reversed and broadcast views, whose dimensions have no common stride.
#[test]
fn views_are_selected_from() {
    let x: Vec<u16> = (0..60).collect();
    for device in devices() {
        let x = device.backend.upload((&x, &[3, 4, 5])).unwrap();
        let turned = x.transpose(&[2, 0, 1]).unwrap();
        let turned = turned.slice(&slice![..; -2, .., 1..]).unwrap();
        let flat = turned.to_vec::<u16>().unwrap();
        let shape = turned.shape().to_vec();
        for axis in 0..3 {
            for end in axis + 1..=3 {
                let mask = random_mask(shape[axis..end].iter().product(), 30);
                let shaped_mask = mask_values(&mask);
                let shaped_mask = (&shaped_mask[..], &shape[axis..end]);
                let expected = reference::boolean_mask(&flat, &shape, shaped_mask, axis, Some(7));
                let mask = device.backend.upload((&mask, &shape[axis..end])).unwrap();
                let axis = axis.cast_signed() - if end == 3 { 3 } else { 0 };
                let (selected, _) = turned.boolean_mask(&mask, axis, Some(7)).unwrap();
                let selected = (selected.shape().to_vec(), selected.to_vec::<u16>().unwrap());
                assert_eq!(selected, expected.unwrap(), "{}", device.name);
            }
        }
        let row = device.backend.upload((&[1u16, 2, 3, 4, 5], &[5])).unwrap();
        let mask = device.backend.upload((&[1u8, 0, 1, 0], &[4, 1])).unwrap();
        let repeated = row.broadcast_to(&[3, 4, 5]).unwrap();
        let chosen = Tensor::select(&mask, &repeated, &x).unwrap();
        let expected = (0..60).map(|n: u16| {
            if (n / 5).is_multiple_of(2) {
                n % 5 + 1
            } else {
                n
            }
        });
        assert!(
            chosen.to_vec::<u16>().unwrap().into_iter().eq(expected),
            "{}",
            device.name
        );
    }
}

/// Values are used up to the last true element or to the last value, whichever comes first. The report has the number
/// of true elements.
#[test]
fn too_few_and_too_many_values() {
    for device in devices() {
        let mask = device.backend.upload((&[1u8, 0, 1, 1], &[4])).unwrap();
        for (values, expected) in [
            (&[9u8][..], [9, 2, 3, 4]),
            (&[9, 8, 7], [9, 2, 8, 7]),
            (&[9, 8, 7, 6, 5], [9, 2, 8, 7]),
        ] {
            let mut x = device.backend.upload((&[1u8, 2, 3, 4], &[4])).unwrap();
            let original = x.clone();
            let values = device.backend.upload((values, &[values.len()])).unwrap();
            let count = x.masked_scatter(&mask, &values).unwrap();
            assert_eq!(x.to_vec::<u8>().unwrap(), expected, "{}", device.name);
            assert_eq!(original.to_vec::<u8>().unwrap(), [1, 2, 3, 4]);
            let report = count.wait().unwrap();
            assert_eq!(report.found, Some(3));
            assert_eq!(report.into_result().is_ok(), values.shape()[0] >= 3);
        }
    }
}

/// Without an axis, `compress` reads a view in row-major order: without a copy if it has a single stride, otherwise
/// from a copy that a step makes.
#[test]
fn compress_flattens_views() {
    let mask = [false, true, true, false, true];
    for device in devices() {
        let x: Vec<u16> = (0..12).collect();
        let x = device.backend.upload((&x, &[3, 4])).unwrap();
        let repeated = device.backend.upload((&[20u16, 21, 22, 23, 24, 25], &[6]));
        let repeated = repeated.unwrap().broadcast_to(&[3, 6]).unwrap();
        let condition = device.backend.upload((&mask, &[5])).unwrap();
        for (view, expected_steps, expected) in [
            (x.clone(), 2, [1, 2, 4]),
            (x.slice(&slice![.., 1]).unwrap(), 2, [5, 9, 0]),
            (x.slice(&slice![.., ..; 2]).unwrap(), 2, [2, 4, 8]),
            (x.slice(&slice![..; -1, ..; -1]).unwrap(), 2, [10, 9, 7]),
            (x.transpose(&[1, 0]).unwrap(), 3, [4, 8, 5]),
            (x.slice(&slice![.., ..2]).unwrap(), 3, [1, 4, 8]),
            // This view has as many elements as its source, but not the same ones.
            (repeated.slice(&slice![.., 1..3]).unwrap(), 3, [22, 21, 21]),
        ] {
            let element_count = view.layout().len();
            let cut_condition = condition.slice(&slice![..element_count as i64]).unwrap();
            let length = cut_condition.shape().to_vec();
            let plan = Plan::compress(view.layout(), &length, None, Some(3), DType::U16);
            assert_eq!(step_count(&plan.unwrap()), expected_steps, "{view:?}");
            let (selected, _) = view.compress(&cut_condition, None, Some(3)).unwrap();
            let selected = selected.to_vec::<u16>().unwrap();
            assert_eq!(selected, expected, "{view:?} on {}", device.name);
        }
    }
}

#[test]
fn masks_that_do_not_fit_are_errors() {
    for device in devices() {
        let upload = |shape: &[usize]| {
            let values = vec![1u8; shape.iter().product()];
            device.backend.upload((&values, shape)).unwrap()
        };
        let mut x = upload(&[2, 3]);
        let floats = device.backend.upload((&[1.0f32, 0.0], &[2])).unwrap();
        let select_kind =
            |x: &Tensor, mask: &Tensor, axis| kind_of(x.boolean_mask(mask, axis, None));
        assert_eq!(select_kind(&x, &upload(&[]), 0), "mask_scalar");
        assert_eq!(select_kind(&x, &upload(&[3]), 0), "mask_shape");
        assert_eq!(select_kind(&x, &upload(&[2]), 1), "mask_shape");
        assert_eq!(select_kind(&x, &upload(&[2]), -1), "mask_shape");
        assert_eq!(select_kind(&x, &upload(&[2]), -3), "axis");
        assert_eq!(select_kind(&x, &upload(&[3]), isize::MAX), "axis");
        assert_eq!(select_kind(&x, &upload(&[2, 3, 1]), 0), "mask_shape");
        assert_eq!(select_kind(&x, &floats, 0), "mask_dtype");
        assert_eq!(kind_of(floats.nonzero(None)), "mask_dtype");
        let compress_kind = |mask: &Tensor, axis| kind_of(x.compress(mask, axis, None));
        assert_eq!(compress_kind(&upload(&[3]), Some(0)), "condition");
        assert_eq!(compress_kind(&upload(&[2, 3]), None), "condition");
        assert_eq!(compress_kind(&upload(&[2, 3]), Some(9)), "condition");
        assert_eq!(compress_kind(&upload(&[2]), Some(2)), "axis");
        assert_eq!(compress_kind(&upload(&[2]), Some(isize::MIN)), "axis");
        assert_eq!(kind_of(Tensor::select(&upload(&[2]), &x, &x)), "broadcast");
        assert_eq!(kind_of(Tensor::select(&floats, &x, &x)), "mask_dtype");
        let column = floats.reshape(&[2, 1]).unwrap();
        assert_eq!(kind_of(Tensor::select(&column, &x, &x)), "mask_dtype");
        assert_eq!(kind_of(Tensor::select(&x, &x, &column)), "dtype_mismatch");
        let mask = upload(&[2]);
        assert_eq!(kind_of(x.masked_update(&mask, &upload(&[]))), "broadcast");
        assert_eq!(
            kind_of(x.masked_update(&upload(&[3]), &column)),
            "dtype_mismatch"
        );
        assert_eq!(
            kind_of(x.masked_update(&upload(&[3]), &upload(&[4]))),
            "broadcast"
        );
        assert_eq!(
            kind_of(x.masked_scatter(&mask, &upload(&[2]))),
            "mask_values"
        );
        assert_eq!(
            kind_of(x.masked_scatter(&mask, &upload(&[]))),
            "mask_values"
        );
        assert_eq!(
            kind_of(x.masked_scatter(&upload(&[3]), &upload(&[1, 3]))),
            "mask_shape"
        );
        assert_eq!(x.to_vec::<u8>().unwrap(), [1; 6]);
    }
    let nonzero_kind =
        |mask: &[usize], index_type| kind_of(Plan::nonzero(mask, Some(0), index_type));
    assert_eq!(nonzero_kind(&[2], DType::F32), "index_dtype");
    assert_eq!(nonzero_kind(&[1 << 31], DType::I32), "mask_index");
    assert_eq!(nonzero_kind(&[1 << 31], DType::U32), "no error");
    let plan = Plan::nonzero(&[3; 8], Some(usize::MAX), DType::I64);
    assert!(matches!(plan, Err(Error::ShapeTooLarge { .. })));
}

/// A plan accepts either index tuples or a mask, and rejects the other.
#[test]
fn masks_and_index_tuples_are_distinguished() {
    let x = View::new(&[3]).unwrap();
    let update = Plan::masked_update(&x, &[3], &x, DType::U8).unwrap();
    let gather = Plan::gather(&[3], &[3], GatherOptions::default(), DType::U8).unwrap();
    let (source, mut dest) = ([7u8, 8, 9], [1u8, 2, 3]);
    let mut run = |plan: &Plan, indices: &[Values<'_>]| {
        let inputs = [&[(&source).into()], indices].concat();
        kind_of(plan.run_cpu(&inputs, &mut [(&mut dest).into()]))
    };
    assert_eq!(run(&update, &[(&[1i32, 0, 1]).into()]), "mask_dtype");
    assert_eq!(run(&update, &[]), "arguments");
    assert_eq!(run(&gather, &[(&[1u8, 0, 1]).into()]), "index_dtype");
    assert_eq!(dest, [1, 2, 3]);
    assert_eq!(kind_of(update.written_to(&x)), "written_to");
    let repeated = View::new(&[1]).unwrap().broadcast_to(&[3]).unwrap();
    assert_eq!(
        kind_of(Plan::masked_update(&x, &[3], &repeated, DType::U8)),
        "repeats"
    );
}

/// The result does not depend on the number of threads.
#[test]
fn threads_share_an_update() {
    let x: Vec<u32> = (0..5 * 777).collect();
    let mask = random_mask(777, 20);
    let select_on = |threads| -> Array<u32> {
        let backend = Backend::cpu().with_threads_for_any_work(threads);
        let y = (&[1_000_000u32], &[1, 1]);
        backend.select((&mask, &[777]), (&x, &[5, 777]), y).unwrap()
    };
    let on_one_thread = select_on(1);
    assert_eq!(
        on_one_thread
            .data
            .iter()
            .filter(|&&value| value == 1_000_000)
            .count()
            % 5,
        0
    );
    assert_eq!(select_on(3), on_one_thread);
}

/// On the CPU, short pieces are selected in one pass. Tests blocks with all, some or no pieces selected, incomplete
/// blocks, smaller and larger capacities, and parts for threads.
#[test]
fn short_pieces_are_kept_in_one_pass() {
    let mut seed = 7_u32;
    let mut next_byte = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed.to_be_bytes()[0]
    };
    let cpu = Backend::cpu();
    for (row_count, piece_length) in [
        (1, 1),
        (8, 3),
        (9, 4),
        (40, 12),
        (203, 16),
        (64, 32),
        (64, 33),
        (100_003, 1),
        (9_001, 24),
    ] {
        let x: Vec<u8> = (0..row_count * piece_length).map(|_| next_byte()).collect();
        for share in [0, 20, 128, 240, 256] {
            // Any byte except 0 is true.
            let mut mask: Vec<u8> = (0..row_count)
                .map(|_| (u16::from(next_byte()) < share).into())
                .collect();
            if let Some(last) = mask.iter_mut().rfind(|byte| **byte == 1) {
                *last = 128;
            }
            let selected: Vec<u8> = x
                .chunks(piece_length)
                .zip(&mask)
                .filter(|(_, byte)| **byte != 0)
                .flat_map(|(bytes, _)| bytes.to_vec())
                .collect();
            let count = selected.len() / piece_length;
            let description = format!("{row_count} pieces of {piece_length} bytes, {count} true");
            let (x_array, mask_array) = ((&x, &[row_count, piece_length]), (&mask, &[row_count]));
            for thread_count in [1, 3] {
                let cpu = cpu.clone().with_threads_for_any_work(thread_count);
                let result = cpu.boolean_mask(x_array, mask_array, 0).unwrap();
                assert_eq!(result.shape, [count, piece_length], "{description}");
                assert!(
                    result.data == selected,
                    "{description}, {thread_count} threads"
                );
                for capacity in [count / 2, count, count + 3] {
                    let shape = [row_count, piece_length];
                    let plan =
                        Plan::boolean_mask(&shape, &[row_count], 0, Some(capacity), DType::U8)
                            .and_then(Plan::with_count)
                            .unwrap();
                    let is_one_pass = cpu.explain(&plan).contains("instead of the steps");
                    assert_eq!(is_one_pass, piece_length <= 32, "{description}");
                    let (mut dest, mut words) = (vec![9_u8; capacity * piece_length], [9_u32; 8]);
                    let report = plan
                        .run_cpu(
                            &[(&x).into(), (&mask).into()],
                            &mut [(&mut dest).into(), (&mut words).into()],
                        )
                        .unwrap();
                    assert_eq!(
                        report.found,
                        Some(count),
                        "{description}, capacity {capacity}"
                    );
                    let counts = (words[3] as usize, words[4] as usize);
                    assert_eq!(
                        counts,
                        (count.min(capacity), count),
                        "{description}, capacity {capacity}"
                    );
                    let mut expected = selected.clone();
                    expected.resize(capacity * piece_length, 0);
                    assert!(dest == expected, "{description}, capacity {capacity}");
                }
            }
        }
    }
}
