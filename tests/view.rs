//! Tests that views compose: several slices, transposes and broadcasts make one plan. On every device its result equals
//! the reference's, which applies the steps in order.

#[cfg(feature = "gpu")]
use crate::harness::Device;
use crate::harness::{Sizes, broadcast, check_view, devices, elements, kind, slice, transpose};
use wgslice::{
    Backend, Conversion, DType, Plan, View,
    options::{Boxes, CropOptions, GatherOptions},
};
use wgslice_vectors::Step;

#[track_caller]
fn check(shape: &[usize], steps: &[Step]) {
    check_view(shape, steps, Sizes::All);
}

#[test]
fn slices_of_slices() {
    check(
        &[9, 8],
        &[slice("1:8"), slice("::-2, 2:"), slice("1:, ::-1")],
    );
    check(
        &[40],
        &[slice("::-1"), slice("3:30:3"), slice("::-2"), slice("1")],
    );
    check(
        &[6, 7, 5],
        &[slice("..., 1"), slice("None, ::-1"), slice("0, :, ::3")],
    );
    // Empty views stay empty.
    check(&[4, 5], &[slice("2:2"), slice("..., ::-1"), slice("None")]);
}

#[test]
fn transposes_and_broadcasts() {
    check(&[4, 5, 6], &[transpose(&[2, 0, 1]), transpose(&[1, 2, 0])]);
    check(&[7, 33], &[transpose(&[1, 0]), slice("::-1, 2:")]);
    check(
        &[5, 1, 3],
        &[broadcast(&[2, 5, 4, 3]), slice("1, ::-2, 1:, ::-1")],
    );
    check(&[1], &[broadcast(&[70]), slice("3:")]);
    check(&[], &[broadcast(&[3, 4]), transpose(&[1, 0])]);
    check(&[3, 0], &[transpose(&[1, 0]), broadcast(&[2, 0, 3])]);
    let steps = [
        slice("1:, ::-1"),
        transpose(&[1, 0, 2]),
        slice("None, 2:, ..., ::2"),
    ];
    check(&[3, 6, 16], &steps);
}

/// Tests transposes that are large enough for tiles: one tile, several tiles and parts of tiles. Rows begin at various
/// offsets, and run forwards and backwards.
#[test]
fn transposes_in_tiles() {
    for (rows, columns) in [
        (64, 64),
        (61, 43),
        (130, 21),
        (24, 129),
        (9, 270),
        (270, 9),
        (515, 6),
        (8, 513),
        (280, 140),
    ] {
        check(&[rows, columns], &[transpose(&[1, 0])]);
        check(
            &[rows, columns],
            &[slice("::-1, 1:"), transpose(&[1, 0]), slice("::-1, 2:")],
        );
        let steps = [slice("1:, 1:-1"), transpose(&[1, 0]), slice("..., ::-2")];
        check(&[rows, columns], &steps);
    }
    // Planes of the result begin at any byte of a word.
    check(&[3, 37, 29], &[transpose(&[0, 2, 1])]);
    check(&[3, 37, 29], &[transpose(&[2, 0, 1]), slice("::-1, 1:")]);
    check(&[3, 36, 28], &[transpose(&[2, 0, 1]), slice("::-1, :, 2:")]);
    check(&[2, 3, 20, 33], &[transpose(&[3, 1, 0, 2])]);
    check(
        &[2, 20, 3, 33],
        &[transpose(&[3, 2, 0, 1]), slice("1:, ::-1, ::-1, ::-1")],
    );
    check(
        &[2, 3, 2, 12, 24],
        &[
            slice("::-1, :, ::-1, 1:, ::-1"),
            transpose(&[1, 4, 2, 0, 3]),
        ],
    );
    check(&[24, 40], &[transpose(&[1, 0]), broadcast(&[3, 40, 24])]);
}

/// Returns three permutations of axes: the reversed order and two pseudo-random orders.
fn permutations(rank: usize) -> [Vec<usize>; 3] {
    let sorted = |odd_factor: u64| {
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.sort_by_key(|&axis| (axis as u64 + 1).wrapping_mul(odd_factor) >> 40);
        axes
    };
    [
        (0..rank).rev().collect(),
        sorted(0x9e37_79b9_7f4a_7c15),
        sorted(0xd134_2543_de82_ef95),
    ]
}

/// Tests permutations of axes of size 2 in which no two axes can be merged.
#[test]
fn permutations_of_many_axes() {
    for rank in 9..=16 {
        let sizes = if rank > 12 { Sizes::One } else { Sizes::All };
        for permutation in permutations(rank) {
            check_view(&vec![2; rank], &[transpose(&permutation)], sizes);
        }
    }
    // The axes have different sizes, and one is reversed.
    let shape = [2, 3, 2, 1, 2, 3, 2, 2, 2, 4, 2];
    for permutation in permutations(shape.len()) {
        let steps = [transpose(&permutation), slice("..., ::-1, :, 1:")];
        check_view(&shape, &steps, Sizes::All);
    }
}

/// Permutations of up to 24 axes take one dispatch. The number of an element in the result has the bits of its number
/// in the source, permuted like the axes.
#[cfg(feature = "gpu")]
#[test]
fn permutations_of_many_axes_are_one_dispatch() {
    let is_not_tiny = |device: &&Device| !device.is_tiny();
    for device in devices().iter().filter(is_not_tiny) {
        let Some(gpu) = device.backend.gpu() else {
            continue;
        };
        for rank in 9..=24 {
            for permutation in permutations(rank) {
                let view = View::new(&vec![2; rank]).unwrap();
                let view = view.transpose(&permutation).unwrap();
                for dtype in [DType::U8, DType::F32] {
                    let plan = Plan::contiguous(&view, dtype).unwrap();
                    let explanation = gpu.explain(&plan);
                    assert!(
                        explanation.contains(": 1 dispatch of"),
                        "{rank}: {explanation}"
                    );
                }
            }
        }
        let rank = if device.name.starts_with("strict") {
            12
        } else {
            20
        };
        let numbers: Vec<u32> = (0..1 << rank).collect();
        let tensor = device.backend.upload((&numbers, &vec![2; rank])).unwrap();
        for permutation in permutations(rank) {
            let result = tensor.transpose(&permutation).unwrap();
            let result = result.to_vec::<u32>().unwrap();
            let source_of = |number: usize| {
                let axes = permutation.iter().enumerate();
                let bits = axes.map(|(position, axis)| {
                    (number >> (rank - 1 - position) & 1) << (rank - 1 - axis)
                });
                bits.sum::<usize>()
            };
            let first_difference = (0..)
                .zip(&result)
                .find(|&(number, &source)| source_of(number) != source as usize);
            assert_eq!(first_difference, None, "{}: {permutation:?}", device.name);
        }
    }
}

/// Tests transposes that move channels to planes. Rows of the source are shorter than one memory access, and are close
/// together.
#[test]
fn channels_become_planes() {
    for channels in [2, 3, 4, 5, 7, 16, 17, 33] {
        check(&[2, 8, 32, channels], &[transpose(&[0, 3, 1, 2])]);
        check(&[601, channels], &[transpose(&[1, 0]), slice("::-1, 3:")]);
        let steps = [
            slice("1:, :, ::-1, 1:"),
            transpose(&[3, 0, 1, 2]),
            slice("..., ::-1"),
        ];
        check(&[3, 5, 41, channels], &steps);
    }
    check(&[700, 4], &[slice(":, :3"), transpose(&[1, 0])]);
    // These slices have whole rows of the source or parts of rows. In most slices, the order of rows is reversed.
    check(&[600, 4], &[slice("::-1"), transpose(&[1, 0])]);
    check(&[600, 8], &[slice("1:, :"), transpose(&[1, 0])]);
    check(&[700, 4], &[slice("::-1, 1:3"), transpose(&[1, 0])]);
    check(&[90, 40], &[slice("::-1, 5:9"), transpose(&[1, 0])]);
}

/// In a transpose, the lanes of a tile fill a memory sector of 32 bytes of the result, unless whole rows of the source
/// stay together.
#[cfg(feature = "gpu")]
#[test]
fn transposes_fill_sectors() {
    let explained = |gpu: &wgslice::Gpu, shape: &[usize], axes: &[usize]| {
        let view = View::new(shape).unwrap().transpose(axes).unwrap();
        gpu.as_hardware()
            .explain(&Plan::contiguous(&view, DType::F32).unwrap())
    };
    let devices = devices().iter();
    for gpu in devices
        .filter(|device| !device.is_tiny())
        .filter_map(|device| device.backend.gpu())
    {
        let sector = "8 lanes and 8 units of 4 bytes a tile";
        for (shape, axes) in [
            (&[64, 64][..], &[1, 0][..]),
            (&[40, 700], &[1, 0]),
            (&[5, 40, 3, 40], &[0, 3, 2, 1]),
        ] {
            let explanation = explained(gpu, shape, axes);
            assert!(explanation.contains(sector), "{explanation}");
        }
        let explanation = explained(gpu, &[16, 16, 16], &[1, 0, 2]);
        assert!(!explanation.contains(sector), "{explanation}");
    }
}

/// A step on a view fails with the error that it gives on an array of the view's shape.
#[test]
fn steps_that_do_not_fit_are_errors() {
    let view = View::new(&[3, 1, 4]).unwrap().slice(&"1:".parse().unwrap());
    let values = (vec![2, 1, 4], elements(8));
    for step in [
        slice("5"),
        slice("::0"),
        slice("0, 0, 0, 0"),
        transpose(&[0, 1]),
        transpose(&[0, 1, 1]),
        broadcast(&[2, 1, 5]),
        broadcast(&[1, 4]),
    ] {
        let error = step.of_view(view.as_ref().unwrap()).unwrap_err();
        let expected = step.of_values(values.clone()).unwrap_err();
        assert_eq!(kind(&error), expected.kind, "{step:?}");
    }
}

/// Tensors take other shapes and orders of dimensions. A change of one tensor leaves other tensors unchanged, even if
/// they share memory.
#[test]
fn tensors_take_other_shapes() {
    for device in devices() {
        let tensor = device
            .backend
            .upload((&[1u16, 2, 3, 4, 5, 6], &[2, 1, 3]))
            .unwrap();
        let flat = tensor.reshape(&[6]).unwrap();
        let squeezed = tensor.reshape(&[2, 3]).unwrap();
        assert_eq!((flat.shape(), squeezed.shape()), (&[6][..], &[2, 3][..]));
        assert_eq!(flat.to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
        let turned = squeezed.transpose(&[1, 0]).unwrap();
        assert_eq!(turned.to_vec::<u16>().unwrap(), [1, 4, 2, 5, 3, 6]);
        let mut changed = tensor.reshape(&[3, 2]).unwrap();
        let row = device.backend.upload((&[7u16, 8], &[2])).unwrap();
        changed.slice_update(&"1".parse().unwrap(), &row).unwrap();
        assert_eq!(changed.to_vec::<u16>().unwrap(), [1, 2, 7, 8, 5, 6]);
        assert_eq!(flat.to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
        let scalar = device
            .backend
            .upload((&[9u16], &[1, 1]))
            .unwrap()
            .reshape(&[])
            .unwrap();
        assert_eq!(scalar.shape(), [0usize; 0]);
        let error = tensor.reshape(&[4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a tensor of shape [2,1,3] cannot be reshaped to [4]: both must have equally many elements"
        );
    }
}

/// If a view of a CPU tensor has all elements in order, `contiguous` returns a tensor with the same memory, and
/// otherwise a copy.
#[test]
fn a_view_of_everything_in_order_shares_memory() {
    let values: Vec<u16> = (0..12).collect();
    let tensor = Backend::cpu().upload((&values, &[3, 1, 4])).unwrap();
    for (spec, order, expects_sharing) in [
        ("...", [0, 1, 2], true),
        ("...", [1, 0, 2], true),
        ("0:, :, -4:", [0, 2, 1], true),
        ("...", [2, 1, 0], false),
        ("::-1", [0, 1, 2], false),
        ("1:", [0, 1, 2], false),
        (":2", [0, 1, 2], false),
        ("..., ::2", [0, 1, 2], false),
    ] {
        let view = tensor.slice(&spec.parse().unwrap()).unwrap();
        let view = view.transpose(&order).unwrap();
        let contiguous = view.contiguous().unwrap();
        let address = |bytes: &[u8]| bytes.as_ptr();
        let is_shared = address(&contiguous.bytes().unwrap()) == address(&tensor.bytes().unwrap());
        assert_eq!(is_shared, expects_sharing, "{spec} {order:?}");
        let plan = Plan::contiguous(view.layout(), DType::U16).unwrap();
        let (expected, _) = Backend::cpu()
            .run::<u16>(&plan, &[(&values).into()])
            .unwrap();
        assert_eq!(
            contiguous.to_vec::<u16>().unwrap(),
            expected.data,
            "{spec} {order:?}"
        );
    }
    let repeated = tensor.slice(&"1:2".parse().unwrap()).unwrap();
    let repeated = repeated
        .broadcast_to(&[3, 1, 4])
        .unwrap()
        .contiguous()
        .unwrap();
    assert_eq!(repeated.to_vec::<u16>().unwrap(), [4, 5, 6, 7].repeat(3));
}

/// Returns the position in memory of each element of the view, in the order of the view.
fn positions(view: &View) -> Vec<usize> {
    let mut positions = vec![view.offset()];
    for (&size, &stride) in view.shape().iter().zip(view.strides()) {
        let positions_along = |&position: &usize| {
            (0..size.cast_signed()).map(move |n| position.wrapping_add_signed(n * stride))
        };
        positions = positions.iter().flat_map(positions_along).collect();
    }
    positions
}

/// Returns views with random strides, positive, negative or 0. In some views elements overlap, in other views
/// dimensions are interleaved.
fn random_views() -> Vec<View> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        isize::try_from(state % end).unwrap()
    };
    let mut view = || {
        let rank = random(4) + 1;
        let shape: Vec<usize> = (0..rank)
            .map(|_| usize::try_from(random(6) + 1).unwrap())
            .collect();
        let max_stride = [3, 9, 60][usize::try_from(random(3)).unwrap()];
        let strides: Vec<isize> = (0..rank)
            .map(|_| random(max_stride) * (1 - 2 * random(2)))
            .collect();
        let reach = |sign: isize| -> usize {
            let extent = |(&size, &stride): (&usize, &isize)| {
                (stride * sign).max(0) * (size.cast_signed() - 1)
            };
            shape
                .iter()
                .zip(&strides)
                .map(extent)
                .sum::<isize>()
                .unsigned_abs()
        };
        let offset = reach(-1) + random(5).unsigned_abs();
        let memory_length = offset + reach(1) + 1 + random(5).unsigned_abs();
        View::from_strides(&shape, &strides, offset, memory_length).unwrap()
    };
    (0..60).map(|_| view()).collect()
}

fn make_bytes(count: usize, step: usize) -> Vec<u8> {
    (0..count)
        .map(|n| (n * step % 251).to_le_bytes()[0])
        .collect()
}

/// On every device, views with any strides can be read. They can be written if no element is selected twice.
#[test]
fn views_from_strides_are_read_and_written() {
    const DTYPES: [DType; 5] = [
        DType::U8,
        DType::U16,
        DType::F32,
        DType::I64,
        DType::Complex128,
    ];
    let (mut written_count, mut interleaved_count, mut rejected_count) = (0, 0, 0);
    for (number, view) in random_views().into_iter().enumerate() {
        let dtype = DTYPES[number % 5];
        let (element_size, positions) = (dtype.size(), positions(&view));
        let memory_bytes = view.source_shape()[0] * element_size;
        let (source, old_bytes, values) = (
            make_bytes(memory_bytes, 7),
            make_bytes(memory_bytes, 13),
            make_bytes(positions.len() * element_size, 3),
        );
        let element = |array: &[u8], n: usize| array[n * element_size..][..element_size].to_vec();
        let selected: Vec<u8> = positions
            .iter()
            .flat_map(|&n| element(&source, n))
            .collect();
        let mut expected = old_bytes.clone();
        for (n, &position) in positions.iter().enumerate() {
            expected[position * element_size..][..element_size]
                .copy_from_slice(&element(&values, n));
        }
        let read_plan = Plan::contiguous(&view, dtype).unwrap();
        let write_plan = Plan::contiguous(&view.shape().to_vec(), dtype)
            .unwrap()
            .written_to(&view);
        let mut distinct_positions = positions.clone();
        distinct_positions.sort_unstable();
        distinct_positions.dedup();
        if distinct_positions.len() < positions.len() {
            assert_eq!(kind(&write_plan.unwrap_err()), "repeats", "{view:?}");
            rejected_count += 1;
        } else {
            let write_plan = write_plan.unwrap();
            written_count += 1;
            let mut strides_and_sizes: Vec<_> = view
                .strides()
                .iter()
                .map(|s| s.unsigned_abs())
                .zip(view.shape())
                .collect();
            strides_and_sizes.sort_unstable();
            let mut reach = 0;
            interleaved_count += usize::from(strides_and_sizes.iter().any(|&(stride, &size)| {
                let is_interleaved = size > 1 && stride <= reach;
                reach += stride * (size - 1);
                is_interleaved
            }));
            // Even few bytes are cut into parts for two threads.
            let two_threads = Backend::cpu().with_threads_for_any_work(2);
            let backends = devices().iter().map(|device| &device.backend);
            for backend in backends.chain([&two_threads]) {
                let upload = |bytes: &[u8], shape: &[usize]| {
                    wgslice::Tensor::from_bytes(backend, bytes.to_vec(), dtype, shape).unwrap()
                };
                let source_tensor = upload(&values, view.shape());
                let mut dest_tensor = upload(&old_bytes, view.source_shape());
                let report = wgslice::Tensor::run_into(
                    &write_plan,
                    &[&source_tensor],
                    &mut [&mut dest_tensor],
                )
                .unwrap();
                report.wait().unwrap();
                assert!(
                    dest_tensor.bytes().unwrap() == expected,
                    "{}: {write_plan} of {view:?}",
                    backend.explain(&write_plan)
                );
            }
        }
        for device in devices() {
            let source_tensor = wgslice::Tensor::from_bytes(
                &device.backend,
                source.clone(),
                dtype,
                view.source_shape(),
            );
            let (results, _) =
                wgslice::Tensor::run(&read_plan, &[&source_tensor.unwrap()]).unwrap();
            assert!(
                results[0].bytes().unwrap() == selected,
                "{}: {read_plan} of {view:?}",
                device.name
            );
        }
    }
    assert!(
        written_count > 10 && interleaved_count > 2 && rejected_count > 10,
        "{written_count} {interleaved_count} {rejected_count}"
    );
}

/// Operations that take a view give the same result for a view from strides and for its copy in row-major order.
#[test]
fn operations_take_views_from_strides() {
    let options = GatherOptions {
        axis: Some(0),
        ..GatherOptions::default()
    };
    for view in random_views()
        .into_iter()
        .filter(|view| view.shape().len() > 1)
        .take(16)
    {
        let memory: Vec<f32> = (0..view.source_shape()[0])
            .map(|n| n as f32 / 4.0)
            .collect();
        let copied: Vec<f32> = positions(&view).iter().map(|&n| memory[n]).collect();
        let shape = view.shape().to_vec();
        let first_size = i32::try_from(shape[0]).unwrap();
        let indices = [first_size - 1, 0, first_size, 0];
        let crop_options = CropOptions {
            sizes: vec![2],
            ..CropOptions::default()
        };
        let begins = vec![1i32; shape[0]];
        let mask: Vec<bool> = (0..copied.len()).map(|n| n % 3 == 0).collect();
        let whole = View::new(&shape).unwrap();
        let plans = |x: &View| {
            let gather = Plan::gather(x, &[4], options, DType::F32).unwrap();
            let slice = wgslice::slice![1.., ..; -1];
            [
                gather.clone(),
                gather.converted(&Conversion::to(DType::U8)).unwrap(),
                Plan::crop(x, Boxes::new(&[shape[0], 1]), &crop_options, DType::F32).unwrap(),
                Plan::concat(&[x.clone(), x.clone()], 1, DType::F32).unwrap(),
                Plan::contiguous(x.slice(&slice).unwrap(), DType::F32).unwrap(),
                Plan::boolean_mask(x, &shape, 0, Some(copied.len()), DType::F32).unwrap(),
            ]
        };
        for device in devices() {
            for (number, (strided, contiguous)) in
                plans(&view).into_iter().zip(plans(&whole)).enumerate()
            {
                let run = |plan: &Plan, x: &[f32]| {
                    let input_tensor = |input: &wgslice::ArraySpec| match number {
                        0 | 1 => device.backend.upload((&indices, &[4])).unwrap(),
                        2 => device.backend.upload((&begins, &input.shape)).unwrap(),
                        5 => device.backend.upload((&mask, &input.shape)).unwrap(),
                        _ => device.backend.upload((x, &input.shape)).unwrap(),
                    };
                    let inputs = plan.inputs();
                    let mut tensors = vec![device.backend.upload((x, &inputs[0].shape)).unwrap()];
                    tensors.extend(inputs[1..].iter().map(input_tensor));
                    let tensors: Vec<_> = tensors.iter().collect();
                    let (results, report) = wgslice::Tensor::run(plan, &tensors)?;
                    let bytes = results[0].bytes()?.into_owned();
                    Ok::<_, wgslice::Error>((bytes, report.wait()?.out_of_range))
                };
                match (run(&strided, &memory), run(&contiguous, &copied)) {
                    (Err(wgslice::Error::DeviceLimit { .. }), _) if !device.backend.is_cpu() => {}
                    (outcome, expected) => {
                        assert_eq!(outcome, expected, "{}: {strided} of {view:?}", device.name);
                    }
                }
            }
        }
    }
}

/// Windows begin `step` positions apart. A reshape keeps the order of elements, or fails if no strides describe the new
/// shape.
#[test]
fn windows_and_shapes_keep_their_elements() {
    for view in random_views() {
        let positions = positions(&view);
        for (d, &size) in view.shape().iter().enumerate() {
            let inner_size: usize = view.shape()[d + 1..].iter().product();
            for (width, step) in [(1, 1), (size, 2), (size.div_ceil(2), 1), (2.min(size), 3)] {
                let windows = view.windows(d.cast_signed(), width, step).unwrap();
                let window_count = (size - width) / step + 1;
                let mut expected = Vec::new();
                for outer in 0..positions.len() / (size * inner_size) {
                    for window in 0..window_count {
                        for inner_position in 0..inner_size {
                            let position_of = |n: usize| {
                                positions[(outer * size + window * step + n) * inner_size
                                    + inner_position]
                            };
                            expected.extend((0..width).map(position_of));
                        }
                    }
                }
                assert_eq!(self::positions(&windows), expected, "{view:?} along {d}");
            }
        }
        let count = positions.len();
        for a in (1..=count).filter(|a| count.is_multiple_of(*a)) {
            let shape = [1, a, count / a];
            match view.reshape(&shape) {
                Ok(reshaped) => assert_eq!(
                    self::positions(&reshaped),
                    positions,
                    "{view:?} as {shape:?}"
                ),
                Err(error) => {
                    assert_eq!(kind(&error), "reshape_strides");
                    // The strides from the first element to its neighbours in the new shape do not fit all elements.
                    let stride = |n: usize| match n < count {
                        true => positions[n].wrapping_sub(positions[0]).cast_signed(),
                        false => 0,
                    };
                    let strides = [stride(count / a), stride(1)];
                    let position = |n: usize| {
                        let (line, inner_position) = (n / shape[2], n % shape[2]);
                        positions[0].cast_signed()
                            + line.cast_signed() * strides[0]
                            + inner_position.cast_signed() * strides[1]
                    };
                    let fits_strides =
                        (0..count).all(|n| position(n) == positions[n].cast_signed());
                    assert!(!fits_strides, "{view:?} as {shape:?}");
                }
            }
        }
    }
}

/// `wgslice::copy` makes the same copy as a plan, for typed values and for bytes, and rejects arguments that do not
/// fit.
#[test]
fn one_call_makes_a_view_contiguous() {
    for view in random_views() {
        let source: Vec<u16> = (0..).take(view.source_shape()[0]).collect();
        let positions = positions(&view);
        let expected: Vec<u16> = positions.iter().map(|&n| source[n]).collect();
        let mut result = vec![0u16; positions.len()];
        wgslice::copy(&source, &view, &mut result).unwrap();
        assert_eq!(result, expected, "{view:?}");
        let mut result = vec![0; positions.len() * 2];
        let from = wgslice::Values::from_bytes(DType::BF16, bytemuck::cast_slice(&source));
        let to = wgslice::ValuesMut::from_bytes(DType::BF16, &mut result);
        wgslice::copy(from, &view, to).unwrap();
        assert_eq!(
            result,
            bytemuck::cast_slice::<u16, u8>(&expected),
            "{view:?}"
        );
        let truths: Vec<bool> = source.iter().map(|n| n % 3 == 0).collect();
        let mut result = vec![false; positions.len()];
        wgslice::copy(&truths, &view, &mut result).unwrap();
        assert!(
            result
                .iter()
                .zip(&positions)
                .all(|(&result, &n)| result == truths[n])
        );
    }
    let view = View::new(&[2, 3]).unwrap();
    let long_source = wgslice::copy(&[0u8; 7], &view, &mut [0u8; 6]);
    assert!(matches!(
        long_source,
        Err(wgslice::Error::Length {
            argument: "source",
            ..
        })
    ));
    let short_dest = wgslice::copy(&[0u8; 6], &view, &mut [0u8; 5]);
    assert!(matches!(
        short_dest,
        Err(wgslice::Error::Length {
            argument: "dest",
            ..
        })
    ));
    let wrong_type = wgslice::copy(&[0u8; 6], &view, &mut [0i8; 6]);
    assert_eq!(kind(&wrong_type.unwrap_err()), "dtype_mismatch");
    let bytes = [0u8; 23];
    let partial_element = wgslice::copy(
        wgslice::Values::from_bytes(DType::F32, &bytes),
        &view,
        &mut [0f32; 6],
    );
    assert!(matches!(
        partial_element,
        Err(wgslice::Error::Length { .. })
    ));
}

#[test]
fn wrong_strides_are_named() {
    let from_strides = |shape: &[usize], strides: &[isize], offset, element_count| {
        View::from_strides(shape, strides, offset, element_count)
    };
    for (outcome, expected_kind) in [
        (from_strides(&[2, 3], &[1], 0, 6), "strides"),
        (from_strides(&[2, 3], &[3, 1], 1, 6), "outside"),
        (from_strides(&[2, 3], &[3, -1], 1, 6), "outside"),
        (from_strides(&[2], &[isize::MIN], 0, 6), "outside"),
        (
            from_strides(&[1 << 20; 2], &[isize::MAX; 2], 0, 6),
            "outside",
        ),
        (from_strides(&[], &[], 0, 0), "outside"),
        (from_strides(&[0], &[1], 1, 0), "outside"),
    ] {
        assert_eq!(kind(&outcome.unwrap_err()), expected_kind);
    }
    let too_large = from_strides(&[usize::MAX, 2], &[0, 0], 0, 6);
    assert!(matches!(
        too_large,
        Err(wgslice::Error::ShapeTooLarge { .. })
    ));
    let too_large = from_strides(&[2], &[1], 0, usize::MAX);
    assert!(matches!(
        too_large,
        Err(wgslice::Error::ShapeTooLarge { .. })
    ));
    assert!(
        from_strides(&[0, 3], &[isize::MAX, 1], 6, 6)
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        from_strides(&[1], &[isize::MAX], 5, 6).unwrap().strides(),
        [0]
    );
    let error = from_strides(&[2, 3], &[4, 1], 0, 6)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("from element 0 to 6, outside of memory of 6 elements"),
        "{error}"
    );

    let view = View::new(&[4, 5]).unwrap();
    for (axis, size, step, expected_kind) in [
        (2, 1, 1, "axis"),
        (0, 0, 1, "windows"),
        (1, 6, 1, "windows"),
        (-1, 2, 0, "windows"),
    ] {
        assert_eq!(
            kind(&view.windows(axis, size, step).unwrap_err()),
            expected_kind
        );
    }
    assert_eq!(kind(&view.reshape(&[21]).unwrap_err()), "reshape");
    let strides: Vec<isize> = (0..24).map(|n| (1 << 40) + (1 << n)).collect();
    if cfg!(target_pointer_width = "64") {
        let dest = from_strides(&[2; 24], &strides, 0, 1 << 50).unwrap();
        let plan = Plan::contiguous(&[2; 24], DType::U8).unwrap();
        assert_eq!(kind(&plan.written_to(&dest).unwrap_err()), "undecided");
    }
}
