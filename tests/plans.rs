//! Runs plans with one step and with several steps in every way: on host values, on tensors, and in a program's own
//! encoder.

use crate::harness::{devices, kind};
#[cfg(feature = "gpu")]
use crate::harness::{gpu_devices, read_buffer::read_buffer};
use wgslice::{
    Backend, Conversion, DType, Error, Plan, Tensor, Values, ValuesMut, View,
    options::{
        Boxes, CropOptions, GatherDims, GatherOptions, OutOfRange, Pad, PasteOptions, ScatterDims,
        ScatterOptions,
    },
    slice,
    spec::IndexSpec,
};

/// The element type of the first output of each plan of [`plans_of_operations`].
const U8: DType = DType::U8;

/// Returns plans of all operations except `index_update` and `nonzero`. The booleans are true if the result of the plan
/// can be converted and written to a view. This is possible if one step writes the result, and the plan neither
/// scatters nor changes an array.
fn plans_of_operations() -> Vec<(&'static str, Plan, bool)> {
    let (x, ids) = (View::new(&[4, 3]).unwrap(), &[2][..]);
    let (gather_options, scatter_options) = (GatherOptions::default(), ScatterOptions::default());
    let crop_options = CropOptions {
        sizes: vec![2],
        ..CropOptions::default()
    };
    let boxes = || Boxes::new(&[4, 1]);
    let gather_dims = GatherDims {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 3],
        ..GatherDims::default()
    };
    let scatter_dims = ScatterDims {
        update_window_dims: vec![1],
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..ScatterDims::default()
    };
    let spec = |text: &str| -> IndexSpec { text.parse().unwrap() };
    let (scalar, row) = (View::new(&[]).unwrap(), View::new(&[3]).unwrap());
    let plans = [
        ("slice", Plan::slice(&x, &slice![1..], U8), true),
        (
            "contiguous",
            Plan::contiguous(x.transpose(&[1, 0]).unwrap(), U8),
            true,
        ),
        ("gather", Plan::gather(&x, ids, gather_options, U8), true),
        (
            "gather_nd",
            Plan::gather_nd(&x, &[2, 1], Default::default(), U8),
            true,
        ),
        (
            "gather_elements",
            Plan::gather_elements(&x, &[2, 3], 0, Default::default(), U8),
            true,
        ),
        ("crop", Plan::crop(&x, boxes(), &crop_options, U8), true),
        (
            "xla_gather",
            Plan::xla_gather(&x, ids, &gather_dims, OutOfRange::Ignore, U8),
            true,
        ),
        ("index", Plan::index(&x, &spec("[0, 2], [1, 1]"), U8), true),
        (
            "index, outer",
            Plan::index(&x, &spec("[0, 2], [1, 1, 0]").outer(), U8),
            true,
        ),
        (
            "boolean_mask",
            Plan::boolean_mask(&x, &[4], 0, Some(3), U8),
            true,
        ),
        (
            "compress",
            Plan::compress(&x, &[3], Some(1), None, U8),
            true,
        ),
        (
            "slice_grad",
            Plan::slice_grad(&[4, 3], &slice![1..3], &[2, 3], U8),
            false,
        ),
        (
            "scatter_nd",
            Plan::scatter_nd(&[4, 3], &[2, 1], &[2, 3], scatter_options, U8),
            false,
        ),
        (
            "concat",
            Plan::concat(&[x.clone(), x.clone()], 0, U8),
            false,
        ),
        ("stack", Plan::stack(&[x.clone(), x.clone()], 0, U8), false),
        (
            "pad",
            Plan::pad(&x, &[[1, 1], [2, 0]], Pad::Constant(()), U8),
            false,
        ),
        ("roll", Plan::roll(&x, &[1], &[0], U8), false),
        ("tile", Plan::tile(&x, &[2, 1], U8), false),
        ("repeat", Plan::repeat(&x, 2, 0, U8), false),
        ("select", Plan::select(&[4, 1], &x, &scalar, U8), false),
        (
            "slice_update",
            Plan::slice_update(&[4, 3], &slice![1], &row, U8),
            false,
        ),
        (
            "crop of items",
            Plan::crop(&x, Boxes::new(&[2, 1]).of_items(&[2]), &crop_options, U8),
            true,
        ),
        (
            "paste",
            Plan::paste(&x, &[4, 2], boxes(), &PasteOptions::default(), U8),
            false,
        ),
        (
            "tensor_scatter_nd",
            Plan::tensor_scatter_nd(&[4, 3], &[2, 1], &[2, 3], scatter_options, U8),
            false,
        ),
        (
            "scatter_elements",
            Plan::scatter_elements(&[4, 3], &[2, 3], &[2, 3], 0, scatter_options, U8),
            false,
        ),
        (
            "xla_scatter",
            Plan::xla_scatter(&[4, 3], ids, &[2, 3], &scatter_dims, Default::default(), U8),
            false,
        ),
        (
            "masked_update",
            Plan::masked_update(&scalar, &[4, 1], &x, U8),
            false,
        ),
        (
            "masked_scatter",
            Plan::masked_scatter(&[4, 3], &[4], &[2, 3], U8),
            false,
        ),
    ];
    plans
        .into_iter()
        .map(|(name, plan, is_convertible)| {
            (
                name,
                plan.unwrap_or_else(|e| panic!("{name}: {e}")),
                is_convertible,
            )
        })
        .collect()
}

/// Returns the bytes of the inputs of a plan, and of the array that the plan changes, if it changes one.
fn input_bytes(plan: &Plan) -> Vec<Vec<u8>> {
    let bytes = |count: usize| (1..=250).cycle().take(count).collect();
    let inputs = plan.inputs();
    let inputs = inputs.iter().map(|input| match input.dtype {
        DType::I32 => vec![0; input.bytes()],
        _ if input.name.contains("mask") => {
            (0..input.bytes()).map(|n| u8::from(n % 2 == 1)).collect()
        }
        _ => bytes(input.bytes()),
    });
    let changed = plan.is_in_place().then(|| bytes(plan.outputs()[0].bytes()));
    inputs.chain(changed).collect()
}

/// Returns the arrays of [`input_bytes`] as values of their types.
fn as_values<'a>(plan: &Plan, arrays: &'a [Vec<u8>]) -> Vec<Values<'a>> {
    let inputs = plan.inputs();
    let types = inputs.iter().map(|input| input.dtype).chain([U8]);
    let typed_arrays = types.zip(arrays);
    typed_arrays
        .map(|(dtype, bytes)| Values::from_bytes(dtype, bytes))
        .collect()
}

/// Runs a plan on the CPU and returns its result.
fn result_on_cpu(plan: &Plan, arrays: &[Vec<u8>]) -> Vec<u8> {
    let input_count = plan.inputs().len();
    let mut dest = match arrays.get(input_count) {
        Some(changed) => changed.clone(),
        None => vec![0xa5; plan.outputs()[0].bytes()],
    };
    let values = as_values(plan, arrays);
    plan.run_cpu(
        &values[..input_count],
        &mut [ValuesMut::from_bytes(plan.dtype(), &mut dest)],
    )
    .unwrap();
    dest
}

/// Every plan runs in every way, and gives the same bytes.
#[test]
fn every_operation_runs_in_every_way() {
    for (name, plan, _) in plans_of_operations() {
        let arrays = input_bytes(&plan);
        let values = as_values(&plan, &arrays);
        let expected = result_on_cpu(&plan, &arrays);
        for device in devices() {
            let (backend, description) = (&device.backend, format!("{name} on {}", device.name));
            let (array, _) = backend.run::<u8>(&plan, &values).unwrap();
            assert_eq!(
                (array.shape, array.data),
                (plan.shape().to_vec(), expected.clone()),
                "{description}"
            );
            let inputs = plan.inputs();
            let old_bytes = arrays.get(inputs.len()).cloned();
            let old_bytes = old_bytes.unwrap_or_else(|| vec![9; expected.len()]);
            let mut existing = old_bytes.clone();
            let input_values = &values[..inputs.len()];
            backend
                .run_into(&plan, input_values, &mut existing)
                .unwrap();
            assert_eq!(
                existing, expected,
                "{description}, into memory that is kept"
            );
            #[cfg(feature = "gpu")]
            {
                let running = backend.run_async::<u8>(&plan, &values);
                assert_eq!(
                    pollster::block_on(running).unwrap().0.data,
                    expected,
                    "{description}"
                );
            }
            let tensors: Vec<Tensor> = inputs
                .iter()
                .zip(&arrays)
                .map(|(input, bytes)| {
                    let shape = &input.shape;
                    Tensor::from_bytes(backend, bytes.clone(), input.dtype, shape).unwrap()
                })
                .collect();
            let tensors: Vec<&Tensor> = tensors.iter().collect();
            let mut dest = Tensor::from_bytes(backend, old_bytes, U8, plan.shape()).unwrap();
            Tensor::run_into(&plan, &tensors, &mut [&mut dest]).unwrap();
            assert_eq!(
                dest.bytes().unwrap(),
                expected,
                "{description}, into a tensor"
            );
            match Tensor::run(&plan, &tensors) {
                Ok((results, _)) => {
                    assert_eq!(
                        results[0].bytes().unwrap(),
                        expected,
                        "{description}, tensors"
                    );
                }
                Err(error) => {
                    assert!(plan.is_in_place(), "{description}: {error}");
                    assert_eq!(kind(&error), "in_place");
                }
            }
        }
    }
}

/// The caller's memory is checked before it is written, and it can hold booleans.
#[test]
fn kept_memory_is_checked() {
    let flip = Plan::slice(&[4], &slice![..; -1], DType::I32).unwrap();
    let update = Plan::slice_update(&[4], &slice![1..3], &[2], DType::Bool).unwrap();
    for device in devices() {
        let backend = &device.backend;
        let x = [1, 2, 3, 4];
        let mut memory = vec![9; 3];
        let error = backend
            .run_into(&flip, &[(&x).into()], &mut memory)
            .unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
        assert!(error.to_string().contains("result"), "{error}");
        let error = backend
            .slice_into((&x, &[4]), &slice![..2], &mut memory)
            .unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
        let error = backend
            .run_into(&flip, &[(&x).into()], &mut [0f32; 4])
            .unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{error}");
        let error = backend.run_into(&update, &[], &mut [false; 4]).unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{error}");
        assert_eq!(memory, [9; 3]);
        let mut flags = [true, true, true, false];
        backend
            .run_into(&update, &[(&[false, true]).into()], &mut flags)
            .unwrap();
        assert_eq!(flags, [true, false, true, false]);
        backend
            .slice_into((&[true, false], &[2]), &slice![..; -1], &mut flags[..2])
            .unwrap();
        assert_eq!(flags, [false, true, true, false]);
    }
}

/// Every plan is recorded by one call, in an encoder and in a pass.
#[cfg(feature = "gpu")]
#[test]
fn every_operation_is_recorded() {
    for gpu in gpu_devices() {
        for (name, plan, _) in plans_of_operations() {
            let arrays = input_bytes(&plan);
            let expected = result_on_cpu(&plan, &arrays);
            let (device, queue) = (gpu.device(), gpu.queue());
            let buffer = |bytes: &[u8]| {
                let size = bytes.len().next_multiple_of(16).max(16);
                let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: size as u64,
                    usage: wgpu::BufferUsages::STORAGE
                        | wgpu::BufferUsages::COPY_SRC
                        | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                let padded: Vec<u8> = bytes.iter().copied().chain([0; 16]).take(size).collect();
                queue.write_buffer(&buffer, 0, &padded);
                buffer
            };
            let input_count = plan.inputs().len();
            let inputs: Vec<_> = arrays[..input_count]
                .iter()
                .map(|bytes| buffer(bytes))
                .collect();
            let inputs: Vec<_> = inputs.iter().map(|buffer| buffer.slice(..)).collect();
            let prepared = gpu.prepare(&plan).unwrap();
            for in_pass in [false, true] {
                let nines = vec![9; expected.len()];
                let dest = buffer(arrays.get(input_count).unwrap_or(&nines));
                let outputs = [dest.slice(..)];
                let mut encoder = device.create_command_encoder(&Default::default());
                let report = match in_pass {
                    false => gpu.encode(&mut encoder, &prepared, &inputs, &outputs),
                    true => {
                        let mut pass = encoder.begin_compute_pass(&Default::default());
                        gpu.encode(&mut pass, &prepared, &inputs, &outputs)
                    }
                };
                let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
                queue.submit([encoder.finish()]);
                report.wait().unwrap();
                let contents = read_buffer(gpu, &dest);
                assert_eq!(
                    contents[..expected.len()],
                    expected,
                    "{name} on {gpu}, in a pass: {in_pass}"
                );
            }
        }
    }
}

/// If one step writes the result, the same step can convert it and write it to a view. For other plans, the error names
/// the operation.
#[test]
fn results_of_one_step_convert_and_go_into_views() {
    for (name, plan, is_convertible) in plans_of_operations() {
        let halved = Conversion::scaled(DType::F32, 0, &[0.5], &[0.0]);
        let larger_shape = [&[2], plan.shape()].concat();
        let dest_view = View::new(&larger_shape).unwrap().slice(&slice![1]).unwrap();
        let (converted, placed) = (plan.converted(&halved), plan.written_to(&dest_view));
        if !is_convertible {
            for error in [converted.unwrap_err(), placed.unwrap_err()] {
                let expected_kinds = ["steps", "convert_operation", "written_to"];
                assert!(expected_kinds.contains(&kind(&error)), "{name}: {error}");
                assert!(
                    error
                        .to_string()
                        .contains(plan.to_string().split(' ').next().unwrap())
                );
            }
            continue;
        }
        let (converted, placed) = (converted.unwrap(), placed.unwrap());
        let arrays = input_bytes(&plan);
        let result = result_on_cpu(&plan, &arrays);
        let floats: Vec<f32> = result.iter().map(|&byte| f32::from(byte) / 2.0).collect();
        let mut larger = vec![9; 2 * result.len()];
        let values = [&as_values(&plan, &arrays)[..], &[(&larger).into()]].concat();
        let mut expected = larger.clone();
        expected[result.len()..].copy_from_slice(&result);
        // The tables of conversions do not fit the smallest bindings.
        let is_tiny = |name: &str| ["Tiny", "Parts"].iter().any(|tiny| name.contains(tiny));
        for device in devices() {
            let description = format!("{name} on {}", device.name);
            if !is_tiny(&device.name) {
                let (array, _) = device
                    .backend
                    .run::<f32>(&converted, &values[..values.len() - 1])
                    .unwrap();
                assert_eq!(array.data, floats, "{description}");
            }
            let (array, _) = device.backend.run::<u8>(&placed, &values).unwrap();
            assert_eq!(array.data, expected, "{description}");
        }
        larger.clear();
    }
}

fn tensor_integers(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec().unwrap()
}

/// Tensors are values, never aliases: a change of one tensor does not change another tensor.
#[test]
fn slices_share_and_changes_do_not_show() {
    for device in devices() {
        let (backend, device_name) = (&device.backend, &device.name);
        // A slice that is written gets its own memory.
        let x = backend.upload((&[1, 2, 3, 4, 5, 6], &[3, 2])).unwrap();
        let mut row = x.slice(&slice![1]).unwrap();
        x.slice_into(&slice![2, ..; -1], &mut row).unwrap();
        assert_eq!(tensor_integers(&row), [6, 5], "{device_name}");
        assert_eq!(tensor_integers(&x), [1, 2, 3, 4, 5, 6], "{device_name}");
        assert!(row.is_contiguous());
        // An update of memory that a slice shares leaves the slice unchanged, and the report has the number of copied
        // bytes.
        let mut y = x.clone();
        let head = y.slice(&slice![..2]).unwrap();
        let nine = backend.upload((&[9], &[])).unwrap();
        let report = y.slice_update(&slice![.., 0], &nine).unwrap();
        assert_eq!(report.wait().unwrap().copied, 24, "{device_name}");
        assert_eq!(tensor_integers(&y), [9, 2, 9, 4, 9, 6], "{device_name}");
        assert_eq!(tensor_integers(&head), [1, 2, 3, 4], "{device_name}");
        // A tensor can be updated with a slice of itself, and an update of a slice changes only the slice.
        let shifted = y.slice(&slice![1..]).unwrap();
        y.slice_update(&slice![..2], &shifted).unwrap();
        assert_eq!(tensor_integers(&y), [9, 4, 9, 6, 9, 6], "{device_name}");
        let mut column = y.slice(&slice![.., 1]).unwrap();
        let report = column.slice_update(&slice![0], &nine).unwrap();
        assert_eq!(report.wait().unwrap().copied, 12, "{device_name}");
        assert_eq!(tensor_integers(&column), [9, 6, 6], "{device_name}");
        assert_eq!(tensor_integers(&y), [9, 4, 9, 6, 9, 6], "{device_name}");
        // An error of the arguments leaves an output that is a slice unchanged.
        let mut row = x.slice(&slice![1]).unwrap();
        assert!(x.slice_into(&slice![.., 0], &mut row).is_err());
        assert_eq!(tensor_integers(&row), [3, 4], "{device_name}");
    }
}

/// Appending to a cache copies nothing, even if copies of its slices exist. If a slice shares the memory, the next
/// append copies the whole cache once.
#[test]
fn appends_to_a_cache_copy_nothing() {
    for device in devices() {
        let (backend, device_name) = (&device.backend, &device.name);
        let mut cache = backend.upload((&[0.0f32; 32], &[16, 2])).unwrap();
        let row = backend.upload((&[1.0f32, 2.0], &[1, 2])).unwrap();
        let mut windows = Vec::new();
        for position in 0..8 {
            let report = cache
                .slice_update(&slice![position..position + 1], &row)
                .unwrap();
            assert_eq!(report.wait().unwrap().copied, 0, "{device_name}");
            windows.push(
                cache
                    .slice(&slice![..position + 1])
                    .unwrap()
                    .contiguous()
                    .unwrap(),
            );
        }
        let window = cache.slice(&slice![..4]).unwrap();
        assert!(
            format!("{window:?}").contains("view of [16,2]"),
            "{window:?}"
        );
        let mut append = || {
            let report = cache.slice_update(&slice![8..9], &row).unwrap();
            report.wait().unwrap().copied
        };
        assert_eq!([append(), append()], [128, 0], "{device_name}");
        assert_eq!(
            window.to_vec::<f32>().unwrap(),
            [1.0, 2.0].repeat(4),
            "{device_name}"
        );
        assert_eq!(
            windows[7].to_vec::<f32>().unwrap(),
            [1.0, 2.0].repeat(8),
            "{device_name}"
        );
    }
}

#[test]
fn layouts_compose_without_copies() {
    for device in devices() {
        let (backend, device_name) = (&device.backend, &device.name);
        let x = backend.upload((&[1, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let turned = x
            .transpose(&[1, 0])
            .unwrap()
            .slice(&slice![..; -1])
            .unwrap();
        assert!(!turned.is_contiguous());
        assert_eq!(
            (turned.shape(), tensor_integers(&turned)),
            (&[3, 2][..], vec![3, 6, 2, 5, 1, 4]),
            "{device_name}"
        );
        #[cfg(feature = "gpu")]
        assert!(
            turned
                .buffers()
                .unwrap_err()
                .to_string()
                .contains("contiguous"),
            "{device_name}"
        );
        let ids = backend
            .upload((&[7, 2, 0, 7], &[4]))
            .unwrap()
            .slice(&slice![1..3])
            .unwrap();
        let (rows, _) = turned.gather(&ids, GatherOptions::default()).unwrap();
        assert_eq!(tensor_integers(&rows), [1, 4, 3, 6], "{device_name}");
        // A plan of a shape runs on any tensor of that shape. A view is copied first.
        let flip = Plan::slice(&[3, 2], &slice![.., ..; -1], DType::I32).unwrap();
        let (results, _) = Tensor::run(&flip, &[&turned]).unwrap();
        assert_eq!(
            tensor_integers(&results[0]),
            [6, 3, 5, 2, 4, 1],
            "{device_name}"
        );
        let error = Tensor::run(&flip, &[&x]).unwrap_err();
        assert_eq!(kind(&error), "plan_argument", "{error}");
        assert_eq!(
            tensor_integers(&turned.reshape(&[6]).unwrap()),
            [3, 6, 2, 5, 1, 4]
        );
        let repeated = turned
            .slice(&slice![0])
            .unwrap()
            .broadcast_to(&[2, 2])
            .unwrap();
        assert_eq!(
            tensor_integers(&Tensor::concat(&[&repeated, &turned], 0).unwrap())[..6],
            [3, 6, 3, 6, 3, 6]
        );
        // This is an empty slice of memory that is not empty.
        let empty = x.slice(&slice![2..]).unwrap();
        assert_eq!(tensor_integers(&empty), [0; 0], "{device_name}");
        assert_eq!(
            empty.contiguous().unwrap().bytes().unwrap().len(),
            0,
            "{device_name}"
        );
        assert_eq!(
            tensor_integers(&empty.reshape(&[3, 0]).unwrap()),
            [0; 0],
            "{device_name}"
        );
    }
}

/// Tests typical programs, each with one plan.
#[test]
fn typical_programs_are_single_plans() {
    // The tables of conversions do not fit the smallest bindings.
    let is_tiny = |name: &str| ["Tiny", "Parts"].iter().any(|tiny| name.contains(tiny));
    for device in devices().iter().filter(|device| !is_tiny(&device.name)) {
        let (backend, device_name) = (&device.backend, &device.name);
        // Selects reversed rows of a table on tensors, and rows on host values.
        let table = [0.0f32, 0.1, 1.0, 1.1, 2.0, 2.1];
        let ids = backend.upload((&[2u32, 0], &[2])).unwrap();
        let rows = backend.upload((&table, &[3, 2])).unwrap();
        let rows = rows.slice(&slice![.., ..; -1]).unwrap();
        let (rows, _) = rows.gather(&ids, GatherOptions::default()).unwrap();
        assert_eq!(
            rows.to_vec::<f32>().unwrap(),
            [2.1, 2.0, 0.1, 0.0],
            "{device_name}"
        );
        let plan = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::F32).unwrap();
        let (rows, _) = backend
            .run::<f32>(&plan, &[(&table).into(), (&[2i64, 0]).into()])
            .unwrap();
        assert_eq!(rows.data, [2.0, 2.1, 0.0, 0.1], "{device_name}");

        // Appends two tokens to a cache of keys in place, and concatenates into existing memory.
        let mut cache = backend.upload((&[0.0f32; 8], &[4, 2])).unwrap();
        let new = backend.upload((&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])).unwrap();
        let append = Plan::slice_update(&[4, 2], &slice![1..3], &[2, 2], DType::F32).unwrap();
        Tensor::run_into(&append, &[&new], &mut [&mut cache]).unwrap();
        assert_eq!(
            cache.to_vec::<f32>().unwrap()[2..6],
            [1.0, 2.0, 3.0, 4.0],
            "{device_name}"
        );
        let mut joined = backend.upload((&[0.0f32; 12], &[6, 2])).unwrap();
        let views = [cache.layout(), new.layout()].map(View::clone);
        let concat = Plan::concat(&views, 0, DType::F32).unwrap();
        Tensor::run_into(&concat, &[&cache, &new], &mut [&mut joined]).unwrap();
        assert_eq!(
            joined.to_vec::<f32>().unwrap()[8..],
            [1.0, 2.0, 3.0, 4.0],
            "{device_name}"
        );

        // Crops at a random position and converts to floats.
        let frame = backend
            .upload((&[1u8, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 3, 3]))
            .unwrap();
        let begins = backend.upload((&[0i32, 1], &[1, 2])).unwrap();
        let options = CropOptions {
            sizes: vec![2, 2],
            ..CropOptions::default()
        };
        let crop = Plan::crop(frame.layout(), Boxes::new(&begins), &options, DType::U8).unwrap();
        let crop = crop.converted(&Conversion::to(DType::F32)).unwrap();
        let (results, report) = Tensor::run(&crop, &[&frame, &begins]).unwrap();
        assert_eq!(
            results[0].to_vec::<f32>().unwrap(),
            [2.0, 3.0, 5.0, 6.0],
            "{device_name}"
        );
        assert_eq!(report.wait().unwrap().out_of_range, 0, "{device_name}");

        // Selects x[mask] and converts it in the last step.
        let keep = backend.upload((&[false, true, true], &[3])).unwrap();
        let x = backend.upload((&[1u8, 2, 3], &[3])).unwrap();
        let plan = Plan::boolean_mask(x.layout(), &[3], 0, None, DType::U8).unwrap();
        let plan = plan.converted(&Conversion::to(DType::F32)).unwrap();
        let (results, report) = Tensor::run(&plan, &[&x, &keep]).unwrap();
        assert_eq!(
            results[0].to_vec::<f32>().unwrap(),
            [2.0, 3.0, 0.0],
            "{device_name}"
        );
        let report = report.wait().unwrap();
        assert_eq!(
            (report.found.unwrap(), report.out_of_range),
            (2, 0),
            "{device_name}"
        );
    }
}

/// Records x[mask] into a program's own encoder: one call, with a buffer for each array, and one report.
#[cfg(feature = "gpu")]
#[test]
fn a_mask_in_a_programs_own_encoder() {
    for gpu in gpu_devices() {
        let x: Vec<u32> = (0..64).collect();
        let mask: Vec<u8> = (0..64).map(|n| u8::from(n % 3 == 0)).collect();
        let buffer = |size| {
            gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let [source, mask_buffer, selected, count] = [256, 64, 40, 32].map(buffer);
        gpu.queue()
            .write_buffer(&source, 0, bytemuck::cast_slice(&x));
        gpu.queue().write_buffer(&mask_buffer, 0, &mask);
        let plan = Plan::boolean_mask(&[64], &[64], 0, Some(10), DType::U32).unwrap();
        let plan_with_count = gpu.prepare(&plan.clone().with_count().unwrap()).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let inputs = [source.slice(..), mask_buffer.slice(..)];
        let outputs = [selected.slice(..), count.slice(..)];
        let reports = [
            gpu.encode(&mut encoder, &plan, &inputs, &outputs[..1])
                .unwrap(),
            gpu.encode(&mut encoder, &plan_with_count, &inputs, &outputs)
                .unwrap(),
        ];
        let error = gpu
            .encode(&mut encoder, &plan, &inputs, &outputs)
            .unwrap_err();
        assert_eq!(kind(&error), "arguments", "{error}");
        gpu.queue().submit([encoder.finish()]);
        for report in reports {
            assert_eq!(report.wait().unwrap().found.unwrap(), 22, "{gpu}");
        }
        let words = |buffer| bytemuck::pod_collect_to_vec::<u8, u32>(&read_buffer(gpu, buffer));
        assert!(words(&selected).into_iter().eq((0..30).step_by(3)), "{gpu}");
        assert_eq!(words(&count)[..6], [1, 1, 1, 10, 22, 0], "{gpu}");
    }
}

/// Tests boxes with box indices and flips in separate tensors, which steps join to index tuples. The report has the
/// first invalid tuple, even after other crops have used the memory between steps.
#[test]
fn boxes_are_joined_by_steps() {
    for device in devices() {
        let (backend, device_name) = (&device.backend, &device.name);
        let lines = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let options = CropOptions {
            sizes: vec![2],
            ..CropOptions::default()
        };
        for is_wide in [false, true] {
            let upload = |numbers: &[i32], shape: &[usize]| match is_wide {
                false => backend.upload((numbers, shape)).unwrap(),
                true => {
                    let wide: Vec<i64> = numbers.iter().map(|&number| number.into()).collect();
                    backend.upload((&wide, shape)).unwrap()
                }
            };
            let begins = upload(&[0, 2, 1], &[3, 1]);
            let box_indices = upload(&[1, 0, 7], &[3]);
            let flips = backend.upload((&[true, false, true], &[3, 1])).unwrap();
            let crop = || {
                lines
                    .crop(
                        Boxes::new(&begins).of_items(&box_indices).flipped(&flips),
                        &options,
                    )
                    .unwrap()
            };
            let (crops, report) = crop();
            let later_crops: Vec<_> = (0..3).map(|_| crop()).collect();
            assert_eq!(
                crops.to_vec::<u8>().unwrap(),
                [5, 4, 3, 0, 0, 0],
                "{device_name}"
            );
            let report = report.wait().unwrap();
            let first = report.first.unwrap();
            assert_eq!(
                (report.out_of_range, first.index),
                (2, vec![0, 2]),
                "{device_name}"
            );
            drop(later_crops);
            let (crops, _) = lines
                .crop(Boxes::new(&begins).of_items(&box_indices), &options)
                .unwrap();
            assert_eq!(
                crops.to_vec::<u8>().unwrap(),
                [4, 5, 3, 0, 0, 0],
                "{device_name}"
            );
            let mut x = lines.clone();
            let patches = backend.upload((&[7u8, 8, 9, 10, 11, 12], &[3, 2])).unwrap();
            let paste_options = PasteOptions::default();
            let report = x
                .paste(
                    &patches,
                    Boxes::new(&begins).of_items(&box_indices).flipped(&flips),
                    &paste_options,
                )
                .unwrap();
            assert_eq!(report.wait().unwrap().out_of_range, 2, "{device_name}");
            assert_eq!(
                x.to_vec::<u8>().unwrap(),
                [1, 2, 9, 8, 7, 6],
                "{device_name}"
            );
            assert_eq!(
                lines.to_vec::<u8>().unwrap(),
                [1, 2, 3, 4, 5, 6],
                "{device_name}"
            );
        }
    }
    let cpu = Backend::cpu();
    let x = cpu.upload((&[1u8; 3], &[1, 3])).unwrap();
    let begins = cpu.upload((&[0i32], &[1, 1])).unwrap();
    let flips = cpu.upload((&[0.5f32], &[1, 1])).unwrap();
    let options = CropOptions {
        sizes: vec![1],
        ..CropOptions::default()
    };
    let error = x
        .crop(Boxes::new(&begins).flipped(&flips), &options)
        .unwrap_err();
    assert_eq!(kind(&error), "dtype_mismatch", "{error}");
}
