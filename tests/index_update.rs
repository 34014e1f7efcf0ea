//! Tests edge cases of updates by index expressions. The modules `devices` and `property` run golden vectors from NumPy
//! and random cases.

use crate::harness::{devices, kind, step_count};
use wgslice::{
    Backend, DType, Plan, View,
    options::Combine,
    slice,
    spec::{IndexItem, IndexSpec},
};

fn parse_spec(text: &str) -> IndexSpec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Each error has the name of the rule, and the shapes or positions that break it.
#[test]
fn shapes_and_positions_that_do_not_fit_are_errors() {
    for (text, value_shape, expected_kind, detail) in [
        ("[0, 2]", &[3, 3][..], "broadcast", "[3,3]"),
        ("[0, 2]", &[2, 1, 3], "broadcast", "[2,1,3]"),
        ("[]", &[3, 3], "broadcast", "[3,3]"),
        ("[4]", &[], "position", "positions are -4 to 3"),
        ("-5, [0]", &[], "position", "-5"),
        ("[True, False]", &[], "mask_shape", "[2]"),
        ("[0, 1], [0, 1, 2]", &[], "array_shapes", "[3]"),
        ("0, 0, 0", &[], "too_many_specs", ""),
    ] {
        let spec = parse_spec(text);
        let plan = Plan::index_update(&[4, 3], &spec, value_shape, Combine::Add, DType::I32);
        let error = plan.unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{text}: {error}");
        assert!(error.to_string().contains(detail), "{text}: {error}");
    }
    let repeated_rows = View::new(&[1, 3]).unwrap().broadcast_to(&[4, 3]).unwrap();
    let update = |x: &View, combine, dtype| {
        let plan = Plan::index_update(x, &parse_spec("[0]"), &[], combine, dtype);
        kind(&plan.unwrap_err()).to_owned()
    };
    assert_eq!(
        update(&repeated_rows, Combine::Update, DType::I32),
        "repeats"
    );
    let x = View::new(&[4, 3]).unwrap();
    assert_eq!(update(&x, Combine::Sub, DType::Bool), "undefined");
    for device in devices() {
        let upload = |values: &[i32], shape: &[usize]| {
            let backend = &device.backend;
            backend.upload((values, shape)).unwrap()
        };
        let mut x = upload(&[1, 2, 3], &[3]);
        let error = x.index_update(
            &parse_spec("[0, 1]"),
            &upload(&[1, 2, 3], &[3]),
            Combine::Add,
        );
        assert_eq!(kind(&error.unwrap_err()), "broadcast", "{}", device.name);
        let wrong_type = device.backend.upload((&[1u8], &[1])).unwrap();
        let error = x.index_update(&parse_spec("[0, 1]"), &wrong_type, Combine::Add);
        assert_eq!(
            kind(&error.unwrap_err()),
            "dtype_mismatch",
            "{}",
            device.name
        );
        assert_eq!(x.to_vec::<i32>().unwrap(), [1, 2, 3], "{}", device.name);
    }
}

/// An expression without arrays is a single move. A value with the shape of the selection is not copied. The plans
/// write the longest possible slices.
#[test]
fn plans_have_as_few_steps_as_possible() {
    let planned = |text: &str, value_shape: &[usize], combine| {
        let plan = Plan::index_update(
            &[4, 5, 6],
            &parse_spec(text),
            value_shape,
            combine,
            DType::F32,
        );
        let plan = plan.unwrap();
        (step_count(&plan), plan.explain())
    };
    assert_eq!(planned("1, ::-1", &[], Combine::Update).0, 1);
    assert_eq!(planned("[0, 2]", &[2, 5, 6], Combine::Update).0, 1);
    assert_eq!(planned("[0, 2]", &[], Combine::Update).0, 2);
    // The slices have 30, 2 and 1 elements.
    for (text, slice) in [
        ("[0, 2]", "[4,30]"),
        (":, [1], 2:4", "[60,2]"),
        (":, :, [0]", "[120,1]"),
    ] {
        let (_, explained) = planned(text, &[], Combine::Add);
        assert!(
            explained.contains(&format!("-> {slice}")),
            "{text}: {explained}"
        );
    }
}

/// Tests elements that are selected twice, with every combination, on drawn devices. In an update, the last value of an
/// element is kept.
#[test]
fn elements_that_are_selected_twice() {
    for device in devices() {
        for (combine, expected) in [
            (Combine::Update, [30, 20, 5, 40]),
            (Combine::Add, [45, 25, 5, 45]),
            (Combine::Sub, [-35, -15, 5, -35]),
            (Combine::Mul, [1500, 100, 5, 200]),
            (Combine::Min, [5, 5, 5, 5]),
            (Combine::Max, [30, 20, 5, 40]),
        ] {
            let x = (&[5, 5, 5, 5], &[4]);
            let value = (&[10, 20, 30, 40], &[4]);
            let spec = parse_spec("[0, 1, 0, -1]");
            let updated = device
                .backend
                .index_update(x, &spec, value, combine)
                .unwrap();
            assert_eq!(updated.data, expected, "{combine} on {}", device.name);
        }
    }
}

/// Tests rows and columns that are selected twice, in so many rows that the CPU writes the columns in ascending order.
/// The value is as large as the selection, is repeated along the rows, or is a single element.
#[test]
fn rows_and_columns_that_are_selected_twice() {
    let rows: Vec<i64> = (0..40).map(|n| n * 7 % 30).collect();
    let columns = vec![5, 1, 5, 0, 1, 3];
    let spec = IndexSpec::new([IndexItem::from(rows.clone()), columns.clone().into()]).outer();
    let numbers: Vec<u8> = (1..=240).collect();
    for shape in [&[40, 6][..], &[40, 1], &[6], &[]] {
        let mut expected = vec![0u8; 30 * 7];
        for (n, row) in rows.iter().enumerate() {
            for (m, column) in columns.iter().enumerate() {
                let number = match shape {
                    [_, 6] => 6 * n + m,
                    [_, 1] => n,
                    [6] => m,
                    _ => 0,
                };
                expected[usize::try_from(7 * row + column).unwrap()] = numbers[number];
            }
        }
        let value = &numbers[..shape.iter().product()];
        for device in devices() {
            let (x, value) = ((&vec![0u8; 30 * 7], &[30, 7]), (value, shape));
            let updated = device
                .backend
                .index_update(x, &spec, value, Combine::Update);
            assert_eq!(
                updated.unwrap().data,
                expected,
                "{shape:?} on {}",
                device.name
            );
        }
    }
}

/// On the devices with the smallest buffers, the positions in this plan do not fit in one buffer.
#[test]
fn positions_beyond_one_buffer() {
    let positions: Vec<i64> = (0..500).map(|n| n * 7 % 999).collect();
    let spec = IndexSpec::new([IndexItem::from(positions.clone())]);
    let value: Vec<u8> = (0..500u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut expected = vec![0u8; 999];
    for (&position, &value) in positions.iter().zip(&value) {
        expected[usize::try_from(position).unwrap()] = value;
    }
    for device in devices() {
        let (x, value) = ((&vec![0u8; 999], &[999]), (&value, &[500]));
        let updated = device
            .backend
            .index_update(x, &spec, value, Combine::Update);
        assert_eq!(updated.unwrap().data, expected, "{}", device.name);
        let x = (&expected, &[999]);
        let selected = device.backend.index(x, &spec).unwrap();
        assert_eq!(selected.data, *value.0, "{}", device.name);
    }
}

/// Tests views of arrays in the caller's memory. Elements outside the view keep their values. The slices of the plan
/// are only as long as the distances between them allow.
#[test]
fn views_are_written_where_they_are() {
    let x = View::new(&[4, 6]).unwrap();
    for (view, text, expected) in [
        // Columns 1 and 2 begin at an odd position, so each slice is one element.
        (slice![.., 1..3], "[0, 2]", [1, 2, 13, 14]),
        (slice![.., 2..4], "[3, 0]", [2, 3, 20, 21]),
        (slice![..; -1, 2..4], "[0, 1]", [14, 15, 20, 21]),
    ] {
        let view = x.slice(&view).unwrap();
        let plan = Plan::index_update(&view, &parse_spec(text), &[], Combine::Update, DType::U8);
        let mut memory = [0u8; 24];
        plan.unwrap()
            .run_cpu(&[(&[9u8]).into()], &mut [(&mut memory).into()])
            .unwrap();
        let written_positions: Vec<usize> =
            (0..24).filter(|&position| memory[position] == 9).collect();
        assert_eq!(written_positions, expected, "{text}");
    }
    for device in devices() {
        let whole = device
            .backend
            .upload((&[1u16, 2, 3, 4, 5, 6], &[2, 3]))
            .unwrap();
        let mut turned = whole.transpose(&[1, 0]).unwrap();
        let value = whole.slice(&slice![.., 0]).unwrap();
        let report = turned
            .index_update(&parse_spec("[2, 0]"), &value, Combine::Update)
            .unwrap();
        // The tensor is a view of shared memory, so it is copied first.
        assert_eq!(report.wait().unwrap().copied, 12, "{}", device.name);
        assert_eq!(
            turned.to_vec::<u16>().unwrap(),
            [1, 4, 2, 5, 1, 4],
            "{}",
            device.name
        );
        assert_eq!(
            whole.to_vec::<u16>().unwrap(),
            [1, 2, 3, 4, 5, 6],
            "{}",
            device.name
        );
    }
}

/// Tests position arrays and masks of several dimensions, arrays next to slices, and outer expressions. The expected
/// elements come from the plan that reads the same selection.
#[test]
fn a_selection_is_written_where_it_is_read() {
    let sizes = [5, 4, 3, 2];
    let x: Vec<i64> = (0..120).collect();
    let backend = Backend::cpu();
    for (text, is_outer) in [
        ("[[0, 4], [2, 1]], :, [0, 2]", false),
        ("[0, 4], None, :, [0, 2]", false),
        ("..., [1, 0]", false),
        (
            "[[True, False, True, False], [True, True, True, True], [False, False, False, False], [True, False, False, False], [False, True, True, True]]",
            false,
        ),
        ("::-2, [3, 1], 1:", false),
        ("[0, 4, 2], 1:3, [2, 0]", true),
        ("[3, 1], :, [True, False, True], [1]", true),
        ("2, ::2", false),
        ("True", false),
    ] {
        let spec = parse_spec(text);
        let spec = if is_outer { spec.outer() } else { spec };
        let positions = backend.index((&x, &sizes), &spec).unwrap();
        let value: Vec<i64> = (1000..).take(positions.data.len()).collect();
        for combine in [Combine::Update, Combine::Add] {
            let updated = backend
                .index_update((&x, &sizes), &spec, (&value, &positions.shape), combine)
                .unwrap();
            let mut expected = x.clone();
            for (&position, &value) in positions.data.iter().zip(&value) {
                let old = &mut expected[usize::try_from(position).unwrap()];
                *old = if combine == Combine::Add {
                    *old + value
                } else {
                    value
                };
            }
            assert_eq!(updated.data, expected, "{text}");
        }
    }
}

/// Tests expressions that are built from arrays of positions, without text.
#[test]
fn expressions_of_items() {
    let spec = IndexSpec::new([IndexItem::from(vec![2, 0]), vec![1, 1].into()]);
    let x = (&[0u8; 6], &[3, 2]);
    let updated = Backend::cpu()
        .index_update(x, &spec, (&[7u8, 8], &[2]), Combine::Max)
        .unwrap();
    assert_eq!(updated.data, [0, 8, 0, 0, 0, 7]);
}

/// If a device cannot combine elements, the error names the reason and suggests the CPU. Nothing is recorded.
#[cfg(feature = "gpu")]
#[test]
fn elements_that_a_device_does_not_combine() {
    for device in devices().iter().filter(|device| !device.backend.is_cpu()) {
        let mut x = device.backend.upload((&[1.0f64, 2.0], &[2])).unwrap();
        let value = device.backend.upload((&[1.0f64], &[])).unwrap();
        let error = x
            .index_update(&parse_spec("[0, 0]"), &value, Combine::Add)
            .unwrap_err();
        assert!(
            matches!(error, wgslice::Error::DTypeOnDevice { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("CPU"), "{error}");
        assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 2.0], "{}", device.name);
    }
}

/// Records an update into a program's own encoder. Value and array are in one buffer.
#[cfg(feature = "gpu")]
#[test]
fn in_a_programs_own_encoder() {
    use crate::harness::{gpu_devices, read_buffer::read_buffer};
    for gpu in gpu_devices() {
        let memory = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 768,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let values: Vec<u32> = (0..192).collect();
        gpu.queue()
            .write_buffer(&memory, 0, bytemuck::cast_slice(&values));
        // The plan adds the value at byte 512 to rows 3, 0 and 3 of a 4 × 16 array at byte 0.
        let plan = Plan::index_update(
            &[4, 16],
            &parse_spec("[3, 0, 3]"),
            &[16],
            Combine::Add,
            DType::U32,
        );
        let plan = gpu.prepare(&plan.unwrap()).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let (value, x) = (memory.slice(512..576), memory.slice(..256));
        let report = gpu.encode(&mut encoder, &plan, &[value], &[x]).unwrap();
        gpu.queue().submit([encoder.finish()]);
        assert_eq!(report.wait().unwrap().out_of_range, 0, "{gpu}");
        let mut expected = values.clone();
        for i in 0..16 {
            expected[i] += values[128 + i];
            expected[48 + i] += 2 * values[128 + i];
        }
        let contents = bytemuck::pod_collect_to_vec::<u8, u32>(&read_buffer(gpu, &memory));
        assert_eq!(contents, expected, "{gpu}");
        let error = gpu.encode(
            &mut gpu.device().create_command_encoder(&Default::default()),
            &plan,
            &[memory.slice(192..256)],
            &[memory.slice(..256)],
        );
        assert!(
            matches!(error.unwrap_err(), wgslice::Error::Buffer { .. }),
            "{gpu}"
        );
    }
}
