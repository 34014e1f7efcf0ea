//! Tests of devices' limits. If a plan cannot be cut to fit a device, the error names the limit. Most tests use wgpu's
//! noop backend, which needs no driver. It makes copies, but runs no shader.

use crate::harness::gpu::noop;
use wgslice::{
    Backend, DType, Error, Gpu, Plan, View,
    gpu::{AdapterOptions, SoftwareAdapters},
    options::{Combine, GatherNdOptions, OutOfRange, ScatterOptions},
    slice,
};

/// Dispatches are cut to stay within limits on sizes. If such a limit is below the size of a single unit, the plan is
/// rejected.
#[test]
fn a_unit_that_does_not_fit_is_refused_by_name() {
    let gpu = noop(|limits| limits.max_storage_buffer_binding_size = 8);
    let backend = Backend::from(gpu);
    let tensor = backend.upload((&[[0f64; 2]; 40], &[20, 2])).unwrap();
    let flipped = tensor.slice(&slice![.., ..; -1]).unwrap();
    let error = flipped.contiguous().unwrap_err();
    assert!(matches!(error, Error::DeviceLimit { .. }), "{error}");
    assert!(error.to_string().contains("Backend::cpu"), "{error}");
}

/// The result of a search has rows of 200 bytes. With buffers of at most 1 KiB, one of the rows is in two buffers.
#[test]
fn an_index_tuple_in_two_buffers_is_refused_by_name() {
    let backend = Backend::from(noop(|limits| limits.max_buffer_size = 1024));
    let shape: Vec<usize> = std::iter::once(11).chain([1; 24]).collect();
    let mask = backend.upload((&[1u8; 11], &shape)).unwrap();
    let error = mask.nonzero(Some(11)).unwrap_err();
    let message = "an index tuple needs 1200, above the device's max_buffer_size of 1024";
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn an_index_depth_beyond_the_shaders_is_refused_by_name() {
    let backend = Backend::from(noop(|_| {}));
    let params = backend.upload((&[7u8; 1024], &[2; 10])).unwrap();
    let indices = backend.upload((&[1i32; 10], &[1, 10])).unwrap();
    let error = params
        .gather_nd(&indices, GatherNdOptions::default())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("coordinates in an index tuple needs 10"),
        "{error}"
    );
}

/// The view has 11 dimensions that do not merge: one is indexed, one is the run, and the rest are walked.
#[test]
fn a_gather_of_many_dimensions_is_one_dispatch() {
    let gpu = noop(|_| {});
    let view = View::new(&[3; 11]).unwrap();
    let view = view
        .slice(&["::2"; 11].join(", ").parse().unwrap())
        .unwrap();
    let plan = Plan::gather_nd(view, &[2, 1], GatherNdOptions::default(), DType::U8).unwrap();
    let explained = gpu.explain(&plan);
    assert!(explained.contains(" 1 dispatch of the"), "{explained}");
}

/// Scratch memory is rounded up to a power of two, which can exceed the limit on bindings. A scatter must not bind more
/// than the limit.
#[test]
fn a_checked_scatter_binds_no_more_scratch_memory_than_the_device_allows() {
    let backend = Backend::from(noop(|limits| limits.max_storage_buffer_binding_size = 640));
    let mut tensor = backend.upload((&[0f32; 150], &[150])).unwrap();
    let indices = backend.upload((&[7i32], &[1, 1])).unwrap();
    let updates = backend.upload((&[1f32], &[1])).unwrap();
    let options = ScatterOptions {
        out_of_range: OutOfRange::Error,
        ..ScatterOptions::default()
    };
    tensor
        .tensor_scatter_nd(&indices, &updates, options)
        .unwrap();
}

/// A tensor larger than the largest buffer has several buffers.
#[test]
fn a_tensor_in_parts_comes_back() {
    let backend = Backend::from(noop(|limits| {
        limits.max_buffer_size = 1024;
        limits.max_storage_buffer_binding_size = 1024;
    }));
    for bytes in [1, 16, 1023, 1024, 1025, 5000] {
        let values: Vec<u8> = (0..=250).cycle().take(bytes).collect();
        let tensor = backend.upload((&values, &[bytes])).unwrap();
        assert_eq!(tensor.buffers().unwrap().len(), bytes.div_ceil(1024));
        assert_eq!(tensor.to_array::<u8>().unwrap().data, values, "{bytes}");
    }
}

/// A contiguous slice is copied, which needs no binding, so it can be larger than the largest binding.
#[test]
fn a_contiguous_slice_is_a_copy() {
    let gpu = noop(|limits| limits.max_storage_buffer_binding_size = 1024);
    let backend = Backend::from(gpu);
    let values: Vec<u32> = (0..2000).collect();
    let tensor = backend.upload((&values, &[20, 100])).unwrap();
    let rows = tensor.slice(&slice![3..17]).unwrap();
    assert_eq!(rows.to_array::<u32>().unwrap().data, values[300..1700]);
}

#[test]
fn the_error_for_a_missing_adapter_lists_all_adapters() {
    let options = AdapterOptions {
        name: Some("no such adapter".into()),
        ..AdapterOptions::default()
    };
    let error = Backend::open_gpu(&options).unwrap_err().to_string();
    assert!(error.contains("no such adapter"), "{error}");
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).unwrap();
    for candidate in candidates {
        assert!(error.contains(&candidate.to_string()), "{error}");
    }
    // `auto_with` chooses the CPU and gives the reason.
    let auto = Backend::auto_with(&options);
    assert!(
        auto.is_cpu() && auto.reason().contains("no hardware GPU"),
        "{}",
        auto.reason()
    );
    // `auto_for_plan` also chooses the CPU and gives the same reason, even for a plan that would be worth a GPU: a
    // gather of a billion scalars from a small table.
    let scalars = Plan::gather_nd(
        &[1 << 20],
        &[1 << 30, 1],
        GatherNdOptions::default(),
        DType::F32,
    )
    .unwrap();
    let auto = Backend::auto_for_plan(&scalars, &options);
    assert_eq!(auto.reason(), Backend::auto_with(&options).reason());
    // For a few scalars, `auto_for_plan` chooses the CPU without looking for a GPU.
    let few_scalars = Plan::gather_nd(
        &[1 << 20],
        &[1 << 10, 1],
        GatherNdOptions::default(),
        DType::F32,
    )
    .unwrap();
    let auto = Backend::auto_for_plan(&few_scalars, &options);
    assert!(auto.is_cpu(), "{auto}");
    let reason = auto.reason();
    assert!(
        reason.contains("the CPU takes about") && reason.contains("opened first"),
        "{reason}"
    );
}

/// The options allow, require or refuse software adapters.
#[test]
fn software_adapters_are_a_choice() {
    let open = |software| {
        Gpu::open(&AdapterOptions {
            software,
            ..AdapterOptions::default()
        })
    };
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).unwrap();
    for (software, expects_software) in [
        (SoftwareAdapters::Require, true),
        (SoftwareAdapters::Refuse, false),
    ] {
        let is_available = candidates
            .iter()
            .any(|candidate| candidate.is_software() == expects_software);
        match open(software) {
            Ok(gpu) => assert!(
                is_available && gpu.is_software() == expects_software,
                "{gpu}"
            ),
            Err(error) => assert!(
                !is_available && matches!(error, Error::NoAdapter(_)),
                "{error}"
            ),
        }
    }
    assert_eq!(
        open(SoftwareAdapters::Allow).is_ok(),
        !candidates.is_empty()
    );
}

/// `explain` describes what would be recorded for a plan.
#[test]
fn plans_are_explained() {
    let gpu = noop(|limits| limits.max_storage_buffer_binding_size = 1 << 20);
    let explain = |shape: &[usize], spec: &str, dtype| {
        let plan = Plan::slice(shape, &spec.parse().unwrap(), dtype).unwrap();
        gpu.explain(&plan)
    };
    let check = |text: String, expected_part: &str| assert!(text.contains(expected_part), "{text}");
    check(explain(&[4, 5], "...", DType::F32), "nothing is moved");
    check(explain(&[4, 5], "...", DType::F32), "1 buffer copy of 80");
    check(explain(&[4, 5], "3:3", DType::F32), "nothing is recorded");
    let nothing = slice![3..3];
    let zeros = Plan::slice_grad(&[4, 5], &nothing, &[0, 5], DType::F32).unwrap();
    check(gpu.explain(&zeros), "80 bytes are cleared");
    let no_updates =
        Plan::scatter_nd(&[5], &[0, 1], &[0], ScatterOptions::default(), DType::F32).unwrap();
    check(gpu.explain(&no_updates), "20 bytes are cleared");
    // A binding holds 1 MiB, so the mask of 3 MiB is halved twice, into 4 parts. Each part takes one dispatch to count
    // and one to search. One more dispatch scans the counts, and one fills the unused rows of the result.
    let nonzero = Plan::nonzero(&[3, 1 << 20], Some(40), DType::I32).unwrap();
    let explanation = gpu.explain(&nonzero);
    check(
        explanation.clone(),
        "nonzero [3,1048576] -> [40,2]: a search in a mask: 10 dispatches",
    );
    check(
        explanation,
        "4 of the mask_count kernel, 1 of the mask_scan kernel, 5 of the mask_rows",
    );
    let explanation = Backend::cpu().explain(&nonzero);
    check(
        explanation.clone(),
        "form   positions of true elements, in row-major order",
    );
    check(explanation.clone(), "3145728 read, 320 written");
    check(explanation, "CPU: 3145728 bytes of a mask on 1 thread");
    check(
        explain(&[9, 64], "2:5", DType::U8),
        "1 buffer copy of 192 bytes",
    );
    check(explain(&[9, 64], ":, :32", DType::U8), "9 buffer copies");
    check(
        explain(&[99, 64], ":, :32", DType::U8),
        "1 dispatch of the copy kernel",
    );
    check(
        explain(&[9, 7], ":, 1:", DType::U8),
        "1 dispatch of the copy_words kernel",
    );
    check(
        explain(&[1 << 20], "::-1", DType::F32),
        "4 dispatches of the copy kernel",
    );
    check(
        explain(&[1 << 50], "::-1", DType::F32),
        "limit on dispatches of 262144",
    );
}

/// A plan that would need more dispatches than a host has memory for is rejected immediately.
#[test]
fn too_many_dispatches_are_refused_by_name() {
    let gpu = noop(|_| {});
    let slices = Plan::slice(&[1 << 50], &slice![..; -1], DType::F32).unwrap();
    let strided = Plan::slice(&[1 << 58], &slice![..; 1 << 30], DType::F32).unwrap();
    let gather_options = GatherNdOptions::default();
    let gathers = Plan::gather_nd(&[1 << 50, 3], &[1 << 30, 1], gather_options, DType::U8).unwrap();
    for plan in [slices, strided, gathers] {
        for outcome in [gpu.supports(&plan), gpu.prepare(&plan).map(drop)] {
            let is_refused = matches!(
                outcome,
                Err(Error::DeviceLimit {
                    limit: "limit on dispatches",
                    ..
                })
            );
            assert!(is_refused, "{plan}: {outcome:?}");
        }
    }
}

/// A scatter without updates computes nothing, so `supports` and recording accept every element type.
#[test]
fn a_scatter_without_updates_needs_no_arithmetic() {
    let add = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let plan = Plan::tensor_scatter_nd(&[10], &[0, 1], &[0], add, DType::F64).unwrap();
    let gpu = noop(|_| {});
    gpu.supports(&plan).unwrap();
    let buffer = || {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 80,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    let [updates, indices, dest] = [buffer(), buffer(), buffer()];
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let indices = indices.slice(..);
    let report = gpu.encode(
        &mut encoder,
        &plan,
        &[updates.slice(..), indices],
        &[dest.slice(..)],
    );
    assert_eq!(report.unwrap().wait().unwrap().out_of_range, 0);
}

/// Few rows, or long rows, are copied if they are contiguous, and copies do not need the buffer usage STORAGE. Other
/// rows need dispatches, which need STORAGE.
#[test]
fn few_or_long_rows_are_copied() {
    // The noop backend counts as a software adapter.
    let software = noop(|_| {});
    let hardware = software.as_hardware();
    for (gpu, row_count, row_bytes, is_copied) in [
        (&software, 16, 64, true),
        (&software, 17, 64, false),
        (&software, 17, (16 << 10) - 4, false),
        (&software, 17, 16 << 10, true),
        (&hardware, 1, 64, true),
        (&hardware, 2, (1 << 20) - 4, false),
        (&hardware, 2, 1 << 20, true),
    ] {
        let plan =
            Plan::slice(&[row_count * 2, row_bytes / 4], &slice![..; 2], DType::F32).unwrap();
        let explanation = gpu.explain(&plan);
        let copies = if row_count == 1 { "copy" } else { "copies" };
        let expected = format!("{row_count} buffer {copies} of {row_bytes} bytes");
        assert_eq!(explanation.contains(&expected), is_copied, "{explanation}");
        assert_eq!(
            explanation.contains("1 dispatch of"),
            !is_copied,
            "{explanation}"
        );
        let [source, dest] = [plan.inputs()[0].bytes(), plan.outputs()[0].bytes()].map(|size| {
            gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: size as u64,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let (source, dest) = (source.slice(..), dest.slice(..));
        let recorded = gpu.encode(&mut encoder, &plan, &[source], &[dest]);
        assert_eq!(recorded.is_ok(), is_copied, "{recorded:?}");
    }
}
