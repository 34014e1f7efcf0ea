//! Provokes failures of devices. Each failure returns an error that explains it, and no call hangs. Afterwards another
//! device can be opened and the CPU path works.

use crate::harness::{
    gpu::{LOWERED_LIMITS, adapters, noop, request_device},
    texture::texture,
};
use std::{
    panic,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};
use wgslice::{
    Array, Backend, DType, Error, Gpu, Pending, Plan, Report, Tensor,
    cost::CostModel,
    gpu::{AdapterOptions, Texels},
    options::{GatherNdOptions, ScatterOptions},
    slice,
};

/// Runs `work`. Panics if `work` takes more than a minute, which means that it hangs.
#[track_caller]
fn finish_within_a_minute<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(RecvTimeoutError::Disconnected) => {
            panic::resume_unwind(thread.join().expect_err("a panic"))
        }
    }
}

/// Checks that the CPU still works and, if there is an adapter, that a newly opened device works.
#[track_caller]
fn assert_cpu_and_new_device_work() {
    let works = |backend: &Backend| {
        let tensor = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let sliced = tensor.slice(&slice![..; -1]).unwrap();
        assert_eq!(sliced.to_array::<u32>().unwrap().data, [3, 2, 1]);
    };
    works(&Backend::cpu());
    match Backend::open_gpu(&AdapterOptions::default()) {
        Ok(backend) => works(&backend),
        Err(error) => assert!(matches!(error, Error::NoAdapter(_)), "{error}"),
    }
}

/// Tiles a row to more bytes than a process can address. Fewer bytes would not do: the driver of a software adapter
/// grants more memory than the machine has, and the system kills the process that writes to it.
#[test]
fn out_of_memory() {
    let is_software =
        |adapter: &wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    for adapter in adapters().into_iter().filter(is_software) {
        let backend = Backend::from(pollster::block_on(Gpu::from_adapter(&adapter)).unwrap());
        let row = backend.upload((&[7u8; 100], &[100])).unwrap();
        let tile = |times| {
            let row = row.clone();
            finish_within_a_minute(move || row.tile(&[times]))
        };
        let error = tile(1 << 41).unwrap_err();
        assert!(
            matches!(error, Error::OutOfDeviceMemory { .. }),
            "{error:?}"
        );
        // Existing tensors still work, and memory can be allocated again.
        assert_eq!(tile(2).unwrap().bytes().unwrap()[..], [7; 200]);
    }
    assert_cpu_and_new_device_work();
}

/// Records a slice, or a gather if `is_gather`, on the caller's buffers, and submits it.
fn record_on_buffers(gpu: &Gpu, is_gather: bool) -> Result<(), Error> {
    let buffer = || {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 256,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    let (source, indices, dest) = (buffer(), buffer(), buffer());
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let (plan, indices) = match is_gather {
        true => {
            let indices = indices.slice(..);
            let plan = Plan::gather_nd(&[8], &[4, 1], GatherNdOptions::default(), DType::U32)?;
            (plan, Some(indices))
        }
        false => (Plan::slice(&[8], &slice![..; -1], DType::U32)?, None),
    };
    let inputs: Vec<_> = [Some(source.slice(..)), indices]
        .into_iter()
        .flatten()
        .collect();
    let outputs = [dest.slice(..)];
    let recorded = gpu.encode(&mut encoder, &plan, &inputs, &outputs).map(drop);
    // A failed recording leaves the encoder unchanged, so the encoder can still be finished and submitted.
    gpu.queue().submit([encoder.finish()]);
    recorded
}

/// The limits of the caller's device can be too low for the shaders. The library then returns an error, and the
/// device's error handler, which would panic, is not called.
#[test]
fn a_device_that_refuses_the_shaders() {
    for (limit, lower) in LOWERED_LIMITS {
        let gpu = noop(lower);
        for is_gather in [false, true] {
            let first_error = record_on_buffers(&gpu, is_gather).unwrap_err();
            let Error::DeviceLimit { limit: named, .. } = &first_error else {
                panic!("{limit}: {first_error:?}");
            };
            assert_eq!(*named, limit);
            assert_eq!(record_on_buffers(&gpu, is_gather).unwrap_err(), first_error);
        }
    }
    assert_cpu_and_new_device_work();
}

/// Too little space for immediates is not a failure, because uniforms are then put in a buffer.
#[test]
fn few_immediates() {
    for adapter in adapters() {
        let immediates = adapter.features() & wgpu::Features::IMMEDIATES;
        let limits = wgpu::Limits {
            max_immediate_size: adapter.limits().max_immediate_size.min(64),
            ..wgpu::Limits::default()
        };
        let backend = Backend::from(request_device(&adapter, immediates, limits).unwrap());
        let tensor = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let sliced = tensor.slice(&slice![..; -1]).unwrap();
        assert_eq!(sliced.to_array::<u32>().unwrap().data, [3, 2, 1]);
    }
}

/// Operations on host values run where their estimated cost is lowest. The device is lost, so an operation that used
/// the device would fail.
#[test]
fn a_device_that_costs_too_much_is_not_used() {
    let mut fast_device = CostModel::HARDWARE;
    fast_device.submission = 0.0;
    let plan = Plan::slice(&[3], &slice![..; -1], DType::U32).unwrap();
    assert_eq!(Backend::cpu().with_costs(fast_device).estimate(&plan), None);
    for adapter in adapters() {
        let gpu = pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let backend = Backend::from(gpu.clone());
        assert_eq!(backend.estimate(&plan), None);
        gpu.device().destroy();
        for (costs, is_on_cpu) in [(CostModel::HARDWARE, true), (fast_device, false)] {
            let backend = backend.clone().with_costs(costs);
            let estimate = backend.estimate(&plan).unwrap();
            assert_eq!(estimate.prefers_cpu(), is_on_cpu, "{estimate}");
            let results = finish_within_a_minute(move || {
                let [values, two_values] = [(&[1u32, 2, 3][..], &[3][..]), (&[8, 9], &[2])];
                let indices = (&[2i32, 0], &[2, 1]);
                let (gather_options, scatter_options) =
                    (GatherNdOptions::default(), ScatterOptions::default());
                let ends = slice![..; 2];
                let without_report = |outcome: Result<(Array<u32>, Report), Error>| Ok(outcome?.0);
                [
                    backend.slice(values, &slice![..; -1]),
                    backend.slice_update(values, &ends, two_values),
                    backend.slice_grad(&[3], &ends, two_values),
                    without_report(backend.gather_nd(values, indices, gather_options)),
                    without_report(backend.scatter_nd(&[3], indices, two_values, scatter_options)),
                    without_report(backend.tensor_scatter_nd(
                        values,
                        indices,
                        two_values,
                        scatter_options,
                    )),
                ]
            });
            let expected = [
                ("strided_slice", &[3, 2, 1][..]),
                ("strided_slice_update", &[8, 2, 9]),
                ("strided_slice_grad", &[8, 0, 9]),
                ("gather_nd", &[3, 1]),
                ("scatter_nd", &[9, 0, 8]),
                ("tensor_scatter_nd", &[9, 2, 8]),
            ];
            for (result, (name, data)) in results.into_iter().zip(expected) {
                match is_on_cpu {
                    true => assert_eq!(result.unwrap().data, data, "{name}"),
                    false => assert_lost(&result.unwrap_err(), name),
                }
            }
        }
    }
    assert_cpu_and_new_device_work();
}

/// Submits a gather. Returns the result, and the report, which has not been read back yet.
fn submit_gather(gpu: &Gpu) -> (Tensor, Pending<Report>) {
    let backend = Backend::from(gpu.clone());
    let params = backend.upload((&[1u32, 2, 3, 4], &[4])).unwrap();
    let indices = backend.upload((&[3i32, 7], &[2, 1])).unwrap();
    let dest = backend.upload((&[9u32; 2], &[2])).unwrap();
    let plan = Plan::gather_nd(&[4], &[2, 1], GatherNdOptions::default(), DType::U32).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let tuples = indices.buffers().unwrap()[0].slice(..);
    let (from, to) = (
        params.buffers().unwrap()[0].slice(..),
        dest.buffers().unwrap()[0].slice(..),
    );
    let report = gpu
        .encode(&mut encoder, &plan, &[from, tuples], &[to])
        .unwrap();
    gpu.queue().submit([encoder.finish()]);
    (dest, report)
}

/// A lost device maps no buffers, so every call that waits for a buffer returns an error.
#[test]
fn a_mapping_that_fails() {
    for adapter in adapters() {
        let open_own = || pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let no_features = wgpu::Features::empty();
        let open_as_caller =
            || request_device(&adapter, no_features, wgpu::Limits::default()).unwrap();
        let poll = |report: Pending<Report>| {
            loop {
                if let Some(report) = report.poll()? {
                    break Ok(report);
                }
                thread::yield_now();
            }
        };
        type FinishReport = fn(Pending<Report>) -> Result<Report, Error>;
        let ways: [(&str, FinishReport); 3] = [
            ("wait", |report| report.wait()),
            ("await", |report| pollster::block_on(report)),
            ("poll", poll),
        ];
        for (way, finish) in ways {
            for (gpu, polls_first) in [
                (open_own(), false),
                (open_as_caller(), false),
                (open_own(), true),
            ] {
                let (dest, report) = submit_gather(&gpu);
                let was_ready = polls_first && report.poll().unwrap().is_some();
                gpu.device().destroy();
                match finish_within_a_minute(move || finish(report)) {
                    // `Ok` is right only if `poll` had already found the report before the device was destroyed.
                    Ok(report) => {
                        assert!(was_ready && report.out_of_range == 1, "{way}: {report:?}");
                    }
                    Err(error) => assert_lost(&error, way),
                }
                assert_lost(
                    &finish_within_a_minute(move || dest.to_array::<u32>()).unwrap_err(),
                    way,
                );
            }
        }
    }
    assert_cpu_and_new_device_work();
}

#[track_caller]
fn assert_lost(error: &Error, way: &str) {
    assert!(
        matches!(error, Error::DeviceLost { .. }),
        "{way}: {error:?}"
    );
}

/// Recording on a lost device returns an error, even if it would create buffers, and no call panics.
#[test]
fn recording_on_a_lost_device() {
    for adapter in adapters() {
        let gpu = pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let texture = texture(
            &gpu,
            wgpu::TextureFormat::Rgba8Unorm,
            wgpu::TextureDimension::D2,
            1,
            [1, 3, 5],
            wgpu::TextureUsages::COPY_SRC,
        );
        let texels = Texels::new(&texture)
            .unwrap()
            .channels(&[2, 1, 0, 3])
            .unwrap();
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3, 4], &[4])).unwrap();
        let tuples = backend.upload((&[3i32, 9], &[2, 1])).unwrap();
        gpu.device().destroy();
        let (read, gathered) = finish_within_a_minute(move || {
            (
                Tensor::from_texture(&backend, &texels).map(drop),
                params.gather_nd(&tuples, Default::default()).map(drop),
            )
        });
        assert_lost(&read.unwrap_err(), "from_texture");
        assert_lost(&gathered.unwrap_err(), "gather_nd");
    }
    assert_cpu_and_new_device_work();
}

/// Makes buffers of a device: source, indices and dest.
fn three_buffers(device: &wgpu::Device) -> [wgpu::Buffer; 3] {
    [(); 3].map(|()| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 256,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    })
}

/// Records a gather in an encoder or a pass, with a different plan for each, and returns the error.
fn record_gather(gpu: &Gpu, [source, indices, dest]: [&wgpu::Buffer; 3], in_pass: bool) -> Error {
    let row_count = if in_pass { 5 } else { 6 };
    let plan = Plan::gather_nd(
        &[8],
        &[row_count, 1],
        GatherNdOptions::default(),
        DType::U32,
    )
    .unwrap();
    let (inputs, outputs) = ([source.slice(..), indices.slice(..)], [dest.slice(..)]);
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let recorded = match in_pass {
        true => {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            gpu.encode(&mut pass, &plan, &inputs, &outputs)
        }
        false => gpu.encode(&mut encoder, &plan, &inputs, &outputs),
    };
    recorded.map(drop).unwrap_err()
}

/// On a lost device, no call succeeds and no call panics, whether this crate or the caller opened the device, and
/// whether pipelines were compiled before or not.
#[test]
fn a_lost_device_neither_panics_nor_says_ok() {
    for adapter in adapters() {
        for (is_opened_by_crate, is_prepared) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let gpu = match is_opened_by_crate {
                true => pollster::block_on(Gpu::from_adapter(&adapter)).unwrap(),
                false => {
                    let features = wgpu::Features::empty();
                    request_device(&adapter, features, wgpu::Limits::default()).unwrap()
                }
            };
            let plan = Plan::slice(&[8], &slice![..; -1], DType::U32).unwrap();
            if is_prepared {
                gpu.prepare(&plan).unwrap();
            }
            let buffers = three_buffers(gpu.device());
            gpu.device().destroy();
            let case =
                format!("opened by the crate: {is_opened_by_crate}, prepared: {is_prepared}");
            assert_lost(&gpu.prepare(&plan).unwrap_err(), &case);
            assert_lost(&gpu.prepare_async(&plan).wait().unwrap_err(), &case);
            assert_lost(&Backend::from(gpu.clone()).wait().unwrap_err(), &case);
            let waited = pollster::block_on(Backend::from(gpu.clone()).wait_async());
            assert_lost(&waited.unwrap_err(), &case);
            for in_pass in [false, true] {
                assert_lost(&record_gather(&gpu, buffers.each_ref(), in_pass), &case);
            }
        }
    }
    assert_cpu_and_new_device_work();
}

/// The error names the argument with a destroyed buffer or a buffer of another device, and nothing panics. The device
/// still works afterwards.
#[test]
fn buffers_that_are_destroyed_or_of_another_device_are_named() {
    for adapter in adapters() {
        let gpu = pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let other_gpu = pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        for (number, name) in ["source", "indices", "dest"].into_iter().enumerate() {
            let good = three_buffers(gpu.device());
            let destroyed = three_buffers(gpu.device());
            destroyed[number].destroy();
            let foreign = three_buffers(other_gpu.device());
            for bad in [&destroyed, &foreign] {
                for in_pass in [false, true] {
                    let mut buffers = good.each_ref();
                    buffers[number] = &bad[number];
                    let error = record_gather(&gpu, buffers, in_pass);
                    let is_named =
                        matches!(&error, Error::Buffer { argument, .. } if *argument == name);
                    assert!(is_named, "{name}: {error}");
                    assert!(error.to_string().contains("destroyed"), "{error}");
                }
            }
        }
        record_on_buffers(&gpu, false).unwrap();
        record_on_buffers(&gpu, true).unwrap();
    }
    assert_cpu_and_new_device_work();
}
