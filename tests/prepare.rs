//! Tests `supports`, prepared plans, and the objects that programs with their own wgpu code share with the library. A
//! prepared plan gives the same results as its plan.

use crate::harness::{
    elements,
    gpu::{LOWERED_LIMITS, adapters, noop, request_device},
    gpu_devices,
    read_buffer::read_buffer,
    run_bytes, to_bytes,
};
use wgpu::util::DeviceExt;
use wgslice::{
    Backend, DType, Error, Gpu, Plan, Tensor,
    gpu::Prepared,
    options::{Combine, GatherNdOptions, GatherOptions, ScatterOptions},
    slice,
};

/// Makes a caller's buffer that holds these bytes from byte `shift` on.
fn make_buffer(gpu: &Gpu, bytes: &[u8], shift: usize) -> wgpu::Buffer {
    let mut contents = [&vec![7; shift], bytes].concat();
    contents.resize(contents.len().max(1).next_multiple_of(4), 7);
    gpu.device()
        .create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: &contents,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        })
}

/// Returns plans of slices, an update, gradients, gathers and scatters, for indices of this type, each with its
/// indices.
fn plans_to_prepare(index_type: DType) -> Vec<(Plan, Vec<i32>)> {
    let f32 = DType::F32;
    let gather_nd_options = GatherNdOptions::default();
    let tuples = (&[4, 1], index_type);
    let scatter = |combine| ScatterOptions {
        combine: Some(combine),
        ..ScatterOptions::default()
    };
    // Index 9 is out of range, and index 2 occurs twice.
    let rows = vec![2, 9, 0, 2];
    vec![
        (
            Plan::slice(&[24, 20], &slice![..; -1, ..; 2], f32).unwrap(),
            vec![],
        ),
        (
            Plan::slice(&[60, 21], &slice![.., 1..; 3], DType::U8).unwrap(),
            vec![],
        ),
        // This slice would be a buffer copy if the buffers had the usages for it.
        (Plan::slice(&[24, 20], &slice![3..21], f32).unwrap(), vec![]),
        (Plan::slice(&[24, 20], &slice![3..3], f32).unwrap(), vec![]),
        (
            Plan::slice_update(&[24, 20], &slice![..; 3, ..; -2], &[8, 10], f32).unwrap(),
            vec![],
        ),
        (
            Plan::slice_grad(&[24, 20], &slice![1..; 3, ..; -2], &[8, 10], f32).unwrap(),
            vec![],
        ),
        (
            Plan::gather_nd(&[5, 70], tuples, gather_nd_options, f32).unwrap(),
            rows.clone(),
        ),
        (
            Plan::gather_nd(&[5, 7], tuples, gather_nd_options, DType::U8).unwrap(),
            rows.clone(),
        ),
        (
            Plan::gather(
                &[30, 5, 3],
                (&[4], index_type),
                GatherOptions {
                    axis: Some(1),
                    ..Default::default()
                },
                f32,
            )
            .unwrap(),
            rows.clone(),
        ),
        (
            Plan::tensor_scatter_nd(&[5, 70], tuples, &[4, 70], scatter(Combine::Update), f32)
                .unwrap(),
            rows.clone(),
        ),
        (
            Plan::tensor_scatter_nd(
                &[5, 70],
                tuples,
                &[4, 70],
                scatter(Combine::Add),
                DType::U32,
            )
            .unwrap(),
            rows.clone(),
        ),
        (
            Plan::tensor_scatter_nd(&[5, 7], tuples, &[4, 7], scatter(Combine::Add), DType::U16)
                .unwrap(),
            rows.clone(),
        ),
        (
            Plan::scatter_nd(&[5, 70], tuples, &[4, 70], scatter(Combine::Add), DType::U8).unwrap(),
            rows,
        ),
    ]
}

/// Records a prepared plan with new buffers, and compares the result and the report with the CPU's. Source and result
/// begin at byte `shift` of their buffers. `salt` varies the bytes.
fn check_prepared(gpu: &Gpu, prepared: &Prepared, indices: &[i32], shift: usize, salt: u8) {
    let plan: &Plan = prepared;
    let bytes = |len: usize| -> Vec<u8> {
        let bytes = to_bytes(&elements(len), 1);
        bytes
            .iter()
            .map(|byte| byte.wrapping_mul(3) ^ salt)
            .collect()
    };
    let (source, old_bytes) = (
        bytes(plan.inputs()[0].bytes()),
        bytes(plan.outputs()[0].bytes()),
    );
    let description = format!("{plan}, {shift} bytes into its buffers, on {gpu}");
    let mut expected = old_bytes.clone();
    let as_i64: Vec<i64> = indices.iter().map(|&index| index.into()).collect();
    let tuples = (!indices.is_empty()).then(|| indices.into());
    let expected_report = run_bytes(plan, &source, tuples, &mut expected).unwrap();
    let is_wide = plan.inputs().last().unwrap().dtype == DType::I64;
    // No index is negative, so the bits are the same as i32 and as u32.
    let tuples = match is_wide {
        true => make_buffer(gpu, bytemuck::cast_slice(&as_i64), 0),
        false => make_buffer(gpu, bytemuck::cast_slice(indices), 0),
    };
    let (from, to) = (
        make_buffer(gpu, &source, shift),
        make_buffer(gpu, &old_bytes, shift),
    );
    let (from, into) = (from.slice(shift as u64..), to.slice(shift as u64..));
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let tuples = (!indices.is_empty()).then(|| tuples.slice(..));
    let inputs: Vec<_> = [Some(from), tuples].into_iter().flatten().collect();
    let pending = gpu
        .encode(&mut encoder, prepared, &inputs, &[into])
        .unwrap();
    gpu.queue().submit([encoder.finish()]);
    let got = read_buffer(gpu, &to);
    assert_eq!(
        got[shift..shift + expected.len()],
        expected,
        "{description}"
    );
    assert!(got[..shift].iter().all(|&byte| byte == 7), "{description}");
    if !indices.is_empty() {
        let report = pending.wait().unwrap();
        assert_eq!(
            (report.out_of_range, report.tuples),
            (expected_report.out_of_range, expected_report.tuples),
            "{description}"
        );
        assert_eq!(report.out_of_range, 1, "{description}");
    }
}

/// Prepared plans are recorded at offsets that they are prepared for (multiples of 256 bytes) and at another offset,
/// with different bytes each time. Devices with low limits need several dispatches.
#[test]
fn prepared_plans_give_the_results_of_their_plans() {
    for gpu in gpu_devices() {
        let types = [DType::I32, DType::I64, DType::U32];
        for (number, (plan, indices)) in types.into_iter().flat_map(plans_to_prepare).enumerate() {
            assert_eq!(gpu.supports(&plan), Ok(()), "{plan} on {gpu}");
            let prepared = gpu.prepare(&plan).unwrap();
            assert_eq!(*prepared, plan);
            for (shift, salt) in [(0, number), (256, 1), (0, 2), (4, 3)] {
                check_prepared(gpu, &prepared, &indices, shift, salt.to_le_bytes()[0]);
            }
        }
    }
}

/// Prepared plans can be recorded in an open pass, even after the device has dropped its caches.
#[test]
fn prepared_plans_are_recorded_into_an_open_pass() {
    for gpu in gpu_devices() {
        let plan = Plan::slice(&[6], &slice![..; -1], DType::U8).unwrap();
        let prepared = gpu.prepare_async(&plan).wait().unwrap();
        let gather = Plan::gather_nd(&[6], &[2, 1], GatherNdOptions::default(), DType::U8).unwrap();
        let gather = pollster::block_on(gpu.prepare_async(&gather)).unwrap();
        let source = make_buffer(gpu, &[1, 2, 3, 4, 5, 6], 0);
        let tuples = make_buffer(gpu, bytemuck::cast_slice(&[4i32, 9]), 0);
        let (reversed, gathered) = (make_buffer(gpu, &[9; 8], 0), make_buffer(gpu, &[9; 8], 0));
        let mut reports = Vec::new();
        for _ in 0..3 {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for _ in 0..3 {
                let (from, tuples) = (source.slice(..), tuples.slice(..));
                gpu.encode(&mut pass, &prepared, &[from], &[reversed.slice(..)])
                    .unwrap();
                let report = gpu.encode(&mut pass, &gather, &[from, tuples], &[gathered.slice(..)]);
                reports.push(report.unwrap());
            }
            drop(pass);
            gpu.queue().submit([encoder.finish()]);
            gpu.trim();
        }
        assert_eq!(read_buffer(gpu, &reversed), [6, 5, 4, 3, 2, 1, 9, 9]);
        assert_eq!(read_buffer(gpu, &gathered), [5, 0, 9, 9, 9, 9, 9, 9]);
        for report in reports {
            assert_eq!(report.wait().unwrap().out_of_range, 1);
        }
    }
}

/// Recording a prepared plan fails with the same errors as recording the plan itself.
#[test]
fn prepared_plans_check_their_buffers() {
    for gpu in gpu_devices() {
        let plan = Plan::slice(&[64], &slice![..; -1], DType::F32).unwrap();
        let prepared = gpu.prepare(&plan).unwrap();
        let (short_buffer, long_buffer) = (
            make_buffer(gpu, &[0; 252], 0),
            make_buffer(gpu, &[0; 256], 0),
        );
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let mut encode = |from: &wgpu::Buffer, to: &wgpu::Buffer| {
            let recorded = gpu.encode(&mut encoder, &prepared, &[from.slice(..)], &[to.slice(..)]);
            recorded.unwrap_err().to_string()
        };
        assert!(encode(&short_buffer, &long_buffer).contains("source"));
        assert!(encode(&long_buffer, &short_buffer).contains("dest"));
        assert!(encode(&long_buffer, &long_buffer).contains("overlap"));
        let indices = short_buffer.slice(..);
        let error = gpu.encode(
            &mut encoder,
            &prepared,
            &[long_buffer.slice(..), indices],
            &[short_buffer.slice(..)],
        );
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("the number of inputs must be 1, but the call has 2")
        );
    }
}

/// `supports` rejects the same plans as `prepare`, and both name the limit without compiling anything.
#[test]
fn plans_that_a_device_cannot_run_are_refused_by_name() {
    let reversed = Plan::slice(&[8], &slice![..; -1], DType::U32).unwrap();
    let gather = Plan::gather_nd(&[8], &[4, 1], GatherNdOptions::default(), DType::U32).unwrap();
    for (limit, lower) in LOWERED_LIMITS {
        let gpu = noop(lower);
        for plan in [&gather, &reversed] {
            let error = gpu.supports(plan).unwrap_err();
            let Error::DeviceLimit { limit: named, .. } = error else {
                panic!("{limit}: {error:?}");
            };
            assert_eq!(named, limit);
            assert_eq!(gpu.prepare(plan).unwrap_err(), error);
            assert_eq!(gpu.prepare_async(plan).wait().unwrap_err(), error);
        }
    }
    let gpu = noop(|_| {});
    assert_eq!(gpu.supports(&gather), Ok(()));
    let deep_plan =
        Plan::gather_nd(&[2; 10], &[1, 10], GatherNdOptions::default(), DType::U8).unwrap();
    assert!(matches!(
        gpu.supports(&deep_plan),
        Err(Error::DeviceLimit { .. })
    ));
    let narrow_gpu = noop(|limits| limits.max_storage_buffer_binding_size = 8);
    let wide_plan = Plan::slice(&[20, 2], &slice![.., ..; -1], DType::Complex128).unwrap();
    assert!(matches!(
        narrow_gpu.supports(&wide_plan),
        Err(Error::DeviceLimit { .. })
    ));
    let add = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let sums = Plan::tensor_scatter_nd(&[8], &[4, 1], &[4], add, DType::F64).unwrap();
    assert!(matches!(
        gpu.supports(&sums),
        Err(Error::DTypeOnDevice { .. })
    ));
    assert_eq!(
        gpu.prepare(&sums).unwrap_err(),
        gpu.supports(&sums).unwrap_err()
    );
}

/// A caller's buffer becomes a tensor without a copy. Updates of the tensor are written into the buffer, as long as no
/// clone shares it.
#[test]
fn buffers_of_the_caller_as_tensors() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let make = |contents: &[u8], usage| {
            let label = None;
            let descriptor = wgpu::util::BufferInitDescriptor {
                label,
                contents,
                usage,
            };
            gpu.device().create_buffer_init(&descriptor)
        };
        let bytes: Vec<u8> = (0..28).collect();
        let shared_buffer = make(&bytes, usage);
        let mut tensor =
            Tensor::from_buffer(&backend, shared_buffer.clone(), DType::U8, &[5, 5]).unwrap();
        assert_eq!(
            tensor.buffers().unwrap(),
            std::slice::from_ref(&shared_buffer)
        );
        assert_eq!(tensor.to_vec::<u8>().unwrap(), bytes[..25]);
        let flipped = tensor.slice(&slice![..; -4, ..; -1]).unwrap();
        assert_eq!(
            flipped.to_vec::<u8>().unwrap(),
            [24, 23, 22, 21, 20, 4, 3, 2, 1, 0]
        );
        drop(flipped);

        let row = backend.upload((&[90u8, 91, 92, 93, 94], &[5])).unwrap();
        tensor.slice_update(&slice![1], &row).unwrap();
        assert_eq!(
            read_buffer(gpu, &shared_buffer)[4..11],
            [4, 90, 91, 92, 93, 94, 10]
        );
        // If a clone shares the buffer, an update makes a new buffer.
        let clone = tensor.clone();
        tensor.slice_update(&slice![0], &row).unwrap();
        assert_ne!(
            tensor.buffers().unwrap(),
            std::slice::from_ref(&shared_buffer)
        );
        assert_eq!(read_buffer(gpu, &shared_buffer)[..5], [0, 1, 2, 3, 4]);
        assert_eq!(clone.to_vec::<u8>().unwrap()[..6], [0, 1, 2, 3, 4, 90]);
        drop((tensor, clone));
        // The pool of buffers does not reuse the caller's buffer.
        let later_tensors = [(); 3].map(|()| backend.upload((&[1u8; 28], &[28])).unwrap());
        assert!(
            later_tensors
                .iter()
                .all(|other| other.buffers().unwrap()[0] != shared_buffer)
        );

        let rejection = |buffer, shape: &[usize]| {
            let outcome = Tensor::from_buffer(&backend, buffer, DType::U8, shape);
            outcome.unwrap_err().to_string()
        };
        assert!(
            rejection(shared_buffer.clone(), &[29]).contains("has 28 bytes, but u8 [29] needs 32")
        );
        let storage = make(&bytes, wgpu::BufferUsages::STORAGE);
        // Arguments of plans need only the usage STORAGE, but reading back needs COPY_SRC.
        let tensor = Tensor::from_buffer(&backend, storage, DType::U8, &[28]).unwrap();
        let last = tensor.slice(&slice![-1]).unwrap();
        assert_eq!(last.to_vec::<u8>().unwrap(), [27]);
        let error = tensor.to_vec::<u8>().unwrap_err().to_string();
        assert!(
            error.contains("28 bytes lacks the usage COPY_SRC"),
            "{error}"
        );
        let error =
            Tensor::from_buffer(&Backend::cpu(), shared_buffer, DType::U8, &[28]).unwrap_err();
        assert!(
            error.to_string().contains("the backend is the CPU"),
            "{error}"
        );
    }
}

/// On a device with the features and limits that the library requests, plans run as on a device that the library opens.
#[test]
fn a_device_with_the_requested_features_and_limits() {
    for adapter in adapters() {
        let descriptor = Gpu::device_descriptor(&adapter);
        let limits = descriptor.required_limits.clone();
        let gpu = request_device(&adapter, descriptor.required_features, limits.clone()).unwrap();
        let library_gpu = pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let plan = Plan::slice(&[1 << 16, 1 << 12], &slice![.., ..; -1], DType::F32).unwrap();
        assert_eq!(gpu.explain(&plan), library_gpu.explain(&plan));
        assert_eq!(limits.max_buffer_size, adapter.limits().max_buffer_size);
        assert!(limits.check_limits(&adapter.limits()));
    }
}

/// Every object that the library makes on a device has a label. The labels of objects that an operation records contain
/// the operation's name, and the labels of objects that a kernel needs contain the kernel's name.
#[test]
fn everything_has_a_label() {
    let strict = strict_gpu::StrictGpu::new(strict_gpu::Options::default());
    // The second device reads its walks from a uniform buffer.
    for storage_buffers in [8, 4] {
        let limits = wgpu::Limits {
            max_storage_buffers_per_shader_stage: storage_buffers,
            ..wgpu::Limits::default()
        };
        let gpu = request_device(&strict.adapter(), wgpu::Features::empty(), limits).unwrap();
        let backend = Backend::from(gpu.clone());
        let table = backend.upload((&[1u32, 2, 3, 4, 5, 6], &[3, 2])).unwrap();
        let ids = backend.upload((&[2i32, 7], &[2, 1])).unwrap();
        let flipped = table.slice(&slice![.., ..; -1]).unwrap();
        let (rows, report) = table.gather_nd(&ids, GatherNdOptions::default()).unwrap();
        assert_eq!(report.wait().unwrap().out_of_range, 1);
        let scatter = Tensor::scatter_nd(&[3, 2], &ids, &rows, ScatterOptions::default()).unwrap();
        let values = [flipped, scatter.0].map(|tensor| tensor.to_vec::<u32>().unwrap());
        assert_eq!(values, [[2, 1, 4, 3, 6, 5], [0, 0, 0, 0, 5, 6]]);
    }
    let labels = strict.take_labels();
    for label in &labels {
        let (_, name) = label
            .split_once(' ')
            .unwrap_or_else(|| panic!("a {label} without a label"));
        assert!(name.starts_with("wgslice "), "{label}");
    }
    let operations = ["strided_slice", "gather", "scatter_nd"];
    let kernels = ["kernel: copy", "kernel: atomic"];
    for (objects, names) in [
        (["pass", "encoder"], &operations[..]),
        (["pipeline", "shader"], &kernels[..]),
        (["group", "group"], &["copy", "atomic"][..]),
    ] {
        for (object, name) in objects
            .iter()
            .flat_map(|object| names.iter().map(move |name| (object, name)))
        {
            let prefix = format!("{object} wgslice {name}");
            assert!(
                labels.iter().any(|label| label.starts_with(&prefix)),
                "{prefix}: {labels:?}"
            );
        }
    }
    for object in ["layout", "buffer"] {
        assert!(
            labels.iter().any(|label| label.starts_with(object)),
            "{object}: {labels:?}"
        );
    }
}
