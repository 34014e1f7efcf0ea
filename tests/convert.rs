//! Tests edge cases of conversions: tables with a function for each position of an axis, rounding, errors, and long
//! rows. Random cases compare every device with the reference, and golden vectors check the reference.

use crate::harness::{Device, devices, kind, run_tensors};
use wgslice::{
    Backend, Conversion, DType, Error, Plan, View,
    options::{Boxes, Combine, CropOptions, GatherOptions, ScatterOptions},
    slice,
};
use wgslice_vectors::{Call, Operation, judge, parse, random, run, variants};

/// Tests random conversions on drawn devices. Devices with low limits cut conversions into many dispatches.
#[test]
fn conversions_agree_with_the_reference() {
    for case_number in 0..80 {
        let case = random::answered(random::case_of(Operation::Convert, 11, case_number)).unwrap();
        let (call, variant) = (Call::of(&case).unwrap(), random::variant(&case).unwrap());
        for device in devices() {
            if let Err(difference) = wgslice_vectors::check(&case, &call, &device.backend, &variant)
            {
                panic!(
                    "{}, {variant}: {difference}\n{}",
                    device.name,
                    case.to_line()
                );
            }
        }
    }
}

/// Returns the result of a backend, or `None` if its limit on the number or size of bindings is too low for tables.
#[track_caller]
fn within_limits<T>(outcome: Result<T, Error>, backend: &Backend) -> Option<T> {
    match outcome {
        Err(Error::DeviceLimit { .. }) if !backend.is_cpu() => None,
        outcome => Some(outcome.unwrap()),
    }
}

/// Tests tables with a function for each position of an axis, even if a view reorders or cuts the axis.
#[test]
fn tables_follow_the_axis_of_the_source() {
    let shape = [5, 9, 4, 3];
    let source: Vec<u8> = (0..540).map(|n: u32| (n * 7).to_le_bytes()[0]).collect();
    let whole = View::new(&shape).unwrap();
    let views = [
        whole.clone(),
        whole.transpose(&[0, 3, 1, 2]).unwrap(),
        whole.transpose(&[3, 2, 1, 0]).unwrap(),
        whole.slice(&slice![1..; 2, ..; -1, 1, ..]).unwrap(),
        whole.slice(&slice![.., 2..5, .., ..; -1]).unwrap(),
        whole
            .slice(&slice![2..3, .., 1..2, ..])
            .unwrap()
            .broadcast_to(&[2, 3, 9, 4, 3])
            .unwrap(),
    ];
    for (axis, size) in shape.into_iter().enumerate() {
        let function = |position: usize, x: f32| x + 1000.0 * position as f32;
        let axis = axis.cast_signed();
        let table = Conversion::table(DType::U8, DType::F32, axis, size, function).unwrap();
        for view in &views {
            // A copy of the elements' numbers through the same view gives the position of each element along the axis.
            let inner_size: usize = shape[axis.unsigned_abs() + 1..].iter().product();
            let numbers: Vec<u32> = (0..540).collect();
            let mut expected = vec![0u32; view.len()];
            let copy = Plan::contiguous(view, DType::U32).unwrap();
            copy.run_cpu(&[(&numbers).into()], &mut [(&mut expected).into()])
                .unwrap();
            let expected: Vec<f32> = expected
                .iter()
                .map(|&n| function(n as usize / inner_size % size, source[n as usize].into()))
                .collect();
            let plan = Plan::contiguous(view, DType::U8).unwrap();
            let plan = plan.converted(&table).unwrap();
            for device in devices() {
                let outcome = device.backend.run::<f32>(&plan, &[(&source).into()]);
                let Some((result, _)) = within_limits(outcome, &device.backend) else {
                    continue;
                };
                assert_eq!(result.shape, view.shape());
                assert!(
                    result.data == expected,
                    "{}: {plan} along {axis}",
                    device.name
                );
            }
        }
    }
}

/// Tests pictures that are large enough for the kernels of large data: crops with flips that extend beyond the picture,
/// with channels first and last, converted to f32 and f16.
#[test]
fn crops_of_pictures_convert() {
    let shape = [3, 40, 90, 3];
    let source: Vec<u8> = (0..32_400)
        .map(|n: u32| (n * 31 % 251).to_le_bytes()[0])
        .collect();
    for (channels_first, sizes) in [(true, vec![3, 32, 70]), (false, vec![32, 71])] {
        let options = CropOptions {
            sizes,
            ..CropOptions::default()
        };
        let view = View::new(&shape).unwrap();
        let view = match channels_first {
            true => view.transpose(&[0, 3, 1, 2]).unwrap(),
            false => view,
        };
        let tuples: &[i32] = match channels_first {
            true => &[0, 3, 9, 0, 0, 0, 0, -5, 30, 0, 0, 1, 0, 20, 11, 0, 1, 0],
            false => &[3, 9, 0, 0, -5, 30, 0, 1, 20, 11, 1, 0],
        };
        let boxes = Boxes::of_tuples(&[3, tuples.len() / 3], false, true);
        let crop = Plan::crop(view, boxes, &options, DType::U8).unwrap();
        let mut bytes = vec![0u8; crop.outputs()[0].bytes()];
        crop.run_cpu(
            &[(&source).into(), (tuples).into()],
            &mut [(&mut bytes).into()],
        )
        .unwrap();
        // Elements outside the picture are not converted and stay 0. This function maps 0 to 0, so the expected
        // elements can be computed from the cropped bytes, which are 0 there.
        let function = |c: usize, x: f32| x * (c + 1) as f32;
        let channel_of = |n: usize| {
            if channels_first {
                n / (32 * 70) % 3
            } else {
                n % 3
            }
        };
        let expected = bytes
            .iter()
            .enumerate()
            .map(|(n, &byte)| function(channel_of(n), byte.into()));
        let expected: Vec<f32> = expected.collect();
        for to_dtype in [DType::F32, DType::F16] {
            let table = Conversion::table(DType::U8, to_dtype, -1, 3, function).unwrap();
            let plan = crop.converted(&table).unwrap();
            for device in devices() {
                let source = device.backend.upload((&source, &shape)).unwrap();
                let indices = device
                    .backend
                    .upload((tuples, &[3, tuples.len() / 3]))
                    .unwrap();
                let outcome = run_tensors(&plan, &[&source, &indices]);
                let Some((found, report)) = within_limits(outcome, &device.backend) else {
                    continue;
                };
                assert_eq!(report.wait().unwrap().out_of_range, 2, "{}", device.name);
                let bytes = found.bytes().unwrap();
                let found: Vec<f32> = match to_dtype {
                    DType::F32 => bytemuck::pod_collect_to_vec(&bytes),
                    _ => bytemuck::pod_collect_to_vec::<u8, half::f16>(&bytes)
                        .into_iter()
                        .map(f32::from)
                        .collect(),
                };
                let difference = found
                    .iter()
                    .zip(&expected)
                    .position(|(found, expected)| found != expected);
                let difference = difference.map(|n| (n, found[n], expected[n]));
                assert_eq!(difference, None, "{}: {plan} to {to_dtype}", device.name);
            }
        }
    }
}

/// Tests numbers that show rounding, saturation and the treatment of NaNs.
#[test]
fn numbers_round_to_even_and_saturate() {
    let floats = [
        0.5f32,
        1.5,
        2.5,
        -0.5,
        -1.5,
        255.5,
        300.0,
        -300.0,
        f32::NAN,
        f32::INFINITY,
        65_519.9,
        65_520.0,
    ];
    let view = View::new(&[12]).unwrap();
    let plan_to = |dtype| {
        Plan::contiguous(&view, DType::F32)
            .unwrap()
            .converted(&Conversion::to(dtype))
    };
    let [to_u8, to_i8, to_f16] =
        [DType::U8, DType::I8, DType::F16].map(|dtype| plan_to(dtype).unwrap());
    for Device { backend, .. } in devices() {
        let outcome = backend.run::<u8>(&to_u8, &[(&floats).into()]);
        if let Some((result, _)) = within_limits(outcome, backend) {
            assert_eq!(result.data, [0, 2, 2, 0, 0, 255, 255, 0, 0, 255, 255, 255]);
        }
        let outcome = backend.run::<i8>(&to_i8, &[(&floats).into()]);
        if let Some((result, _)) = within_limits(outcome, backend) {
            assert_eq!(
                result.data,
                [0, 2, 2, 0, -2, 127, 127, -128, 0, 127, 127, 127]
            );
        }
        let source = backend.upload((&floats, &[12])).unwrap();
        let outcome = run_tensors(&to_f16, &[&source]);
        if let Some((result, _)) = within_limits(outcome, backend) {
            let bits: Vec<u16> = bytemuck::pod_collect_to_vec(&result.bytes().unwrap());
            assert_eq!(bits[8..], [0x7e00, 0x7c00, 0x7bff, 0x7c00]);
        }
    }
}

#[test]
fn wrong_conversions_are_refused() {
    let plan = Plan::slice(&[4, 3], &slice![..], DType::U8).unwrap();
    let scaled = |axis, scale: &[f32]| Conversion::scaled(DType::F32, axis, scale, &[0.0]);
    let error_kind =
        |plan: &Plan, conversion: &Conversion| kind(&plan.converted(conversion).unwrap_err());
    let to_f32 = Conversion::to(DType::F32);
    for complex in [DType::Complex64, DType::Complex128] {
        assert_eq!(error_kind(&plan, &Conversion::to(complex)), "convert_dtype");
        assert_eq!(
            error_kind(&plan, &Conversion::astype(complex)),
            "convert_dtype"
        );
        let source = Plan::slice(&[4], &slice![..], complex).unwrap();
        let error = source.converted(&to_f32).unwrap_err();
        assert!(error.to_string().contains("pass their parts"), "{error}");
    }
    assert_eq!(error_kind(&plan, &scaled(2, &[1.0])), "axis");
    assert_eq!(
        error_kind(&plan, &scaled(-1, &[1.0; 4])),
        "convert_positions"
    );
    assert_eq!(error_kind(&plan, &scaled(-1, &[])), "convert_positions");
    let floats = Plan::slice(&[4], &slice![..], DType::F32).unwrap();
    assert_eq!(error_kind(&floats, &scaled(1, &[1.0])), "axis");
    assert_eq!(
        error_kind(&floats, &scaled(0, &[1.0; 3])),
        "convert_positions"
    );
    let table = Conversion::table(DType::I8, DType::F32, 0, 1, |_, x| x).unwrap();
    assert_eq!(error_kind(&plan, &table), "convert_source");
    let table = Conversion::table(DType::U16, DType::F32, 0, 1, |_, x| x);
    assert_eq!(kind(&table.unwrap_err()), "convert_table");
    let converted = plan.converted(&to_f32).unwrap();
    assert_eq!(error_kind(&converted, &to_f32), "convert_operation");
    let add = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let scatter = Plan::tensor_scatter_nd(&[4], &[2, 1], &[2], add, DType::U8).unwrap();
    let error = scatter.converted(&to_f32).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("tensor_scatter_nd does not convert: slices"),
        "{text}"
    );
    let update = Plan::slice_update(&[4], &slice![..2], &[2], DType::U8).unwrap();
    assert_eq!(error_kind(&update, &to_f32), "convert_operation");
    let place = View::new(&[4, 3]).unwrap();
    assert_eq!(
        kind(&converted.written_to(&place).unwrap_err()),
        "written_to"
    );

    let backend = Backend::cpu();
    let error = backend
        .run::<u8>(&converted, &[(&[0u8; 12]).into()])
        .unwrap_err();
    assert_eq!(kind(&error), "dtype_mismatch");
    let outcome = backend.run::<f32>(&converted, &[(&[0u8; 11]).into()]);
    assert!(matches!(outcome, Err(Error::Length { .. })), "{outcome:?}");
    let gather = Plan::gather(&[4], &[2], GatherOptions::default(), DType::U8).unwrap();
    let gather = gather.converted(&to_f32).unwrap();
    let tensor = backend.upload((&[1u8; 4], &[4])).unwrap();
    assert!(run_tensors(&gather, &[&tensor]).is_err());
    let part = gather
        .part(std::slice::from_ref(&(0..1)), Some((&[0, 1]).into()))
        .unwrap_err();
    assert_eq!(kind(&part), "no_parts");
    assert!(converted.part(&[0..1, 0..1], None).is_err());
    assert!(
        converted
            .run_cpu(&[(&[0u8; 12]).into()], &mut [(&mut [0; 12]).into()])
            .is_err()
    );
}

/// Tests every pair of types by both rules, to the nearest and `astype`, and with scale and bias, against NumPy and
/// exact fractions. GPUs run the conversions that shaders support and reject the other conversions.
#[test]
fn numbers_of_any_width() {
    const SHADER_TYPES: [&str; 7] = [
        "uint8", "int8", "uint16", "int16", "float16", "bfloat16", "float32",
    ];
    let mut rejection_count = 0;
    for case in parse(include_str!("vectors/numbers.jsonl")) {
        let case = case.unwrap();
        let call = Call::of(&case).unwrap();
        let argument = |name: &str| case.args[name].as_str().unwrap();
        let (from, to) = (argument("from"), argument("to"));
        let is_byte = ["bool", "uint8", "int8"].contains(&from);
        let is_rounded = !case.args.contains_key("axis_of_scale")
            && (!case.args.contains_key("astype") || to.contains("float"));
        let is_wide = ["int64", "uint64", "float64"].contains(&to);
        let is_on_gpu = (from == to && !case.args.contains_key("axis_of_scale"))
            || is_byte && !is_wide
            || is_rounded && SHADER_TYPES.contains(&from) && SHADER_TYPES.contains(&to);
        for device in devices() {
            for variant in variants(&case, &call) {
                let outcome = run(&call, &device.backend, &variant);
                match &outcome {
                    Err(Error::ConversionOnDevice { .. }) => {
                        let error = outcome.as_ref().unwrap_err().to_string();
                        assert!(
                            !is_on_gpu && !device.backend.is_cpu(),
                            "{from} to {to}: {error}"
                        );
                        assert!(error.contains("run it on the CPU"), "{error}");
                        rejection_count += 1;
                    }
                    _ => assert!(
                        is_on_gpu || device.backend.is_cpu(),
                        "{from} to {to} on {}",
                        device.name
                    ),
                }
                if let Err(difference) = judge(&case, &call, &device.backend, &variant, outcome) {
                    panic!(
                        "{}: {from} to {to}: {difference}\n{}",
                        device.name,
                        case.to_line()
                    );
                }
            }
        }
    }
    assert!(rejection_count > 0 || devices().iter().all(|device| device.backend.is_cpu()));
}

/// On a backend with a fallback, the CPU converts the types that the shaders do not convert.
#[test]
fn conversions_that_shaders_lack_fall_back() {
    let plan = Plan::slice(&[3], &slice![..; -1], DType::F64).unwrap();
    let plan = plan.converted(&Conversion::to(DType::F32)).unwrap();
    for device in devices() {
        let backend = device.backend.clone().with_fallback();
        let (result, _) = backend
            .run::<f32>(&plan, &[(&[0.1f64, -2.0, 1e300]).into()])
            .unwrap();
        assert_eq!(result.data, [f32::INFINITY, -2.0, 0.1], "{}", device.name);
    }
}

/// Tests scales along every axis of a transposed view, with more positions than the CPU converts together. All
/// positions have the same bias.
#[test]
fn floats_scale_along_the_axis_of_the_source() {
    let shape = [3, 40, 300];
    let source: Vec<f32> = (0..36_000u16).map(|n| f32::from(n) / 7.0).collect();
    let view = View::new(&shape).unwrap().transpose(&[2, 0, 1]).unwrap();
    let view = view.slice(&slice![..; -1, .., 1..; 3]).unwrap();
    for (axis, size) in shape.into_iter().enumerate() {
        let scale: Vec<f32> = (0..size).map(|n| n as f32 - 1.5).collect();
        let scaled = Conversion::scaled(DType::F32, axis.cast_signed(), &scale, &[0.25]);
        let plan = Plan::contiguous(&view, DType::F32).unwrap();
        let plan = plan.converted(&scaled).unwrap();
        let (found, _) = Backend::cpu()
            .run::<f32>(&plan, &[(&source).into()])
            .unwrap();
        let mut found = found.data.into_iter();
        for column in (0..300).rev() {
            for item in 0..3 {
                for row in (1..40).step_by(3) {
                    let position = [item, row, column][axis];
                    let x = source[(item * 40 + row) * 300 + column];
                    assert_eq!(found.next(), Some(x * scale[position] + 0.25));
                }
            }
        }
    }
}

/// Boxes of a source without elements are zeros, whatever scale and bias are.
#[test]
fn a_source_without_elements_looks_nothing_up() {
    let options = CropOptions {
        sizes: vec![2, 3],
        ..CropOptions::default()
    };
    for (shape, axis) in [([2, 3, 0], 0), ([2, 3, 0], 1), ([2, 0, 3], 2)] {
        let crop = Plan::crop(&shape, Boxes::new(&[2, 2]), &options, DType::U8).unwrap();
        let scale = vec![2.0; shape[axis]];
        let scaled = Conversion::scaled(DType::F32, axis.cast_signed(), &scale, &[1.0]);
        let plan = crop.converted(&scaled).unwrap();
        for device in devices() {
            let source = device.backend.upload((&[0u8; 0], &shape)).unwrap();
            let begins = device.backend.upload((&[0i32; 4], &[2, 2])).unwrap();
            let outcome = run_tensors(&plan, &[&source, &begins]);
            if let Some((found, _)) = within_limits(outcome, &device.backend) {
                assert_eq!(found.to_vec::<f32>().unwrap(), [0.0; 12], "{}", device.name);
            }
        }
    }
}

/// Tests rows that are so long that an invocation of a GPU writes several groups of words.
#[cfg(feature = "gpu")]
#[test]
fn long_conversions_as_on_a_hardware_gpu() {
    use crate::harness::gpu::{candidates, request_device};
    let [rows, columns] = [1100, 4099];
    let source: Vec<u8> = (0..rows * columns)
        .map(|n: usize| n.to_le_bytes()[0])
        .collect();
    let view = View::new(&[rows, columns]).unwrap();
    let view = view.slice(&slice![.., 1..]).unwrap();
    let scaled = Conversion::scaled(DType::F32, 0, &[0.5], &[1.0]);
    let plan = Plan::contiguous(&view, DType::U8)
        .unwrap()
        .converted(&scaled)
        .unwrap();
    let selected = source.chunks(columns).flat_map(|row| &row[1..]);
    let expected: Vec<f32> = selected.map(|&x| f32::from(x) * 0.5 + 1.0).collect();
    for candidate in candidates() {
        let limits = candidate.adapter.limits();
        let gpu = request_device(&candidate.adapter, wgpu::Features::empty(), limits).unwrap();
        let gpu = gpu.as_hardware();
        let outcome = Backend::from(gpu).run::<f32>(&plan, &[(&source).into()]);
        let found = outcome.unwrap().0.data;
        assert!(found == expected, "{:?}", candidate.adapter.get_info());
    }
}
