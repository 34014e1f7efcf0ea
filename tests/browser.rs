//! Tests of the calls that a program in a browser makes. In a browser no call may wait for the device. These tests run
//! on the machine's devices and forbid waiting, as in a browser.

use crate::harness::{
    gpu::{candidates, request_device},
    gpu_devices, kind,
};
use wgslice::{
    Backend, Conversion, DType, Error, Gpu, Pending, Plan, Report, Tensor, View,
    options::{
        Boxes, Combine, CropOptions, GatherElementsOptions, GatherNdOptions, GatherOptions,
        OutOfRange, ScatterOptions,
    },
    slice,
};

const ERROR_POLICY: OutOfRange = OutOfRange::Error;

/// Calls tensor methods under `OutOfRange::Error`, on a table of 4 rows of 2 elements. The last three calls are
/// scatters: one makes a new tensor from updates, and two change the table.
fn calls_under_error_policy(
    table: &mut Tensor,
    ids: [i32; 2],
) -> Vec<(&'static str, Result<Pending<Report>, Error>)> {
    let backend = table.backend().clone();
    let ints = |values: &[i32], shape: &[usize]| backend.upload((values, shape)).unwrap();
    let (rows, tuples) = (ints(&ids, &[2]), ints(&ids, &[2, 1]));
    let begins = ints(&[ids[0], 0, ids[1], 0], &[2, 2]);
    let zeros = ints(&[0, 0], &[2]);
    let updates = backend.upload((&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])).unwrap();
    let cells = ints(&[ids[0], 0, 0, ids[1]], &[2, 2]);
    let gather_options = GatherOptions {
        out_of_range: ERROR_POLICY,
        ..GatherOptions::default()
    };
    let gather_nd_options = GatherNdOptions {
        out_of_range: ERROR_POLICY,
        ..GatherNdOptions::default()
    };
    let gather_elements_options = GatherElementsOptions {
        out_of_range: ERROR_POLICY,
        ..GatherElementsOptions::default()
    };
    let scatter_options = ScatterOptions {
        combine: Some(Combine::Add),
        out_of_range: ERROR_POLICY,
        ..ScatterOptions::default()
    };
    let crop_options = CropOptions {
        sizes: vec![1, 2],
        out_of_range: ERROR_POLICY,
        ..CropOptions::default()
    };
    let image = table.reshape(&[1, 4, 2]).unwrap();
    let report = |outcome: Result<(Tensor, _), _>| outcome.map(|(_, report)| report);
    let mut calls = vec![
        ("gather", report(table.gather(&rows, gather_options))),
        (
            "gather_nd",
            report(table.gather_nd(&tuples, gather_nd_options)),
        ),
        (
            "gather_elements",
            report(table.gather_elements(&cells, 0, gather_elements_options)),
        ),
        (
            "crop",
            report(image.crop(Boxes::new(&begins).of_items(&zeros), &crop_options)),
        ),
        (
            "scatter_nd",
            report(Tensor::scatter_nd(
                &[4, 2],
                &tuples,
                &updates,
                scatter_options,
            )),
        ),
    ];
    drop(image);
    calls.push((
        "tensor_scatter_nd",
        table.tensor_scatter_nd(&tuples, &updates, scatter_options),
    ));
    let shared = table.clone();
    calls.push((
        "scatter_elements",
        table.scatter_elements(&cells, &updates, 0, scatter_options),
    ));
    drop(shared);
    calls
}

const TABLE: [f32; 8] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5];

fn tensor_values(tensor: &Tensor) -> Vec<f32> {
    pollster::block_on(tensor.to_array_async()).unwrap().data
}

/// Where blocking is not allowed, a call under `OutOfRange::Error` fails before it changes anything, even if all tuples
/// are in range.
#[test]
fn calls_under_error_policy_fail_where_blocking_is_not_allowed() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.without_blocking());
        let mut table = backend.upload((&TABLE, &[4, 2])).unwrap();
        for (name, outcome) in calls_under_error_policy(&mut table, [3, 1]) {
            let error = outcome.err();
            let Some(Error::WouldBlock { instead, .. }) = error else {
                panic!("{name} on {backend}: {error:?}");
            };
            assert!(instead.contains("Backend::with_late_errors"), "{instead}");
        }
        assert_eq!(tensor_values(&table), TABLE, "{backend}");
    }
}

/// With late errors, the report returns the error, not the call. A scatter with an out-of-range tuple leaves its tensor
/// unchanged.
#[test]
fn late_errors_are_returned_by_reports() {
    for gpu in gpu_devices() {
        for gpu in [gpu.clone(), gpu.without_blocking()] {
            let backend = Backend::from(gpu).with_late_errors();
            let mut table = backend.upload((&TABLE, &[4, 2])).unwrap();
            for (name, report) in calls_under_error_policy(&mut table, [1, 4]) {
                let error = pollster::block_on(report.unwrap()).unwrap_err();
                assert!(
                    matches!(error, Error::InvalidIndices(_)),
                    "{name} on {backend}: {error}"
                );
            }
            assert_eq!(tensor_values(&table), TABLE, "{backend}");

            for (name, report) in calls_under_error_policy(&mut table, [3, 1]) {
                let report = pollster::block_on(report.unwrap());
                assert_eq!(report.unwrap().out_of_range, 0, "{name} on {backend}");
            }
            // `tensor_scatter_nd` adds [1, 2] to row 3 and [3, 4] to row 1. Then `scatter_elements` adds 1 and 3 to two
            // elements of column 0, and 2 and 4 to two elements of column 1.
            let expected = [3.5, 3.5, 5.5, 11.5, 4.5, 5.5, 8.5, 9.5];
            assert_eq!(tensor_values(&table), expected, "{backend}");
        }
    }
}

/// Opens devices for one test alone. On a shared device, another test that waits could run this test's callbacks at any
/// time.
fn own_devices() -> impl Iterator<Item = Gpu> {
    candidates().into_iter().map(|candidate| {
        let (no_features, limits) = (wgpu::Features::empty(), candidate.adapter.limits());
        request_device(&candidate.adapter, no_features, limits).unwrap()
    })
}

/// Every call that would wait fails, and its error names the call to use instead.
#[test]
fn errors_of_calls_that_would_wait_name_another_call() {
    for gpu in own_devices() {
        let backend = Backend::from(gpu.without_blocking());
        let table = backend.upload((&TABLE, &[4, 2])).unwrap();
        let ids = backend.upload((&[3i32, 4], &[2, 1])).unwrap();
        let report = table.gather_nd(&ids, GatherNdOptions::default()).unwrap().1;
        for (outcome, instead) in [
            (table.to_array::<f32>().map(drop), "Tensor::to_array_async"),
            (table.bytes().map(drop), "bytes_async"),
            (backend.wait(), "Backend::wait_async"),
            (table.read_into(&mut [0f32; 8]), "read_into_async"),
            (
                (backend.slice((&TABLE, &[8]), &slice![..; -1])).map(drop),
                "Backend::run_async",
            ),
            (report.wait().map(drop), ".await"),
        ] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::WouldBlock { .. }), "{error}");
            assert!(error.to_string().contains(instead), "{error}");
        }
        let report = pollster::block_on(report).unwrap();
        assert_eq!(report.first.unwrap().index, [4]);
        let flipped = table.slice(&slice![..; -1, ..]).unwrap();
        assert_eq!(tensor_values(&flipped)[..2], TABLE[6..]);
    }
}

/// `run_async` runs plans on host values, on the CPU and on devices with and without blocking.
#[test]
fn plans_run_on_host_values() {
    let mut backends = vec![Backend::cpu()];
    for gpu in gpu_devices() {
        backends.extend([gpu.clone(), gpu.without_blocking()].map(Backend::from));
    }
    for backend in backends {
        let run = |plan: &Plan, source: &[f32], indices: Option<&[i32]>, dest: Option<&[f32]>| {
            let mut values = vec![source.into()];
            values.extend(indices.map(wgslice::Values::from));
            values.extend(dest.map(wgslice::Values::from));
            let running = backend.run_async::<f32>(plan, &values);
            pollster::block_on(require_send(running))
        };
        let flip = Plan::slice(&[4, 2], &slice![..; -2, ..], DType::F32).unwrap();
        let flipped = run(&flip, &TABLE, None, None).unwrap().0;
        assert_eq!(flipped.shape, [2, 2]);
        assert_eq!(flipped.data, [6.5, 7.5, 2.5, 3.5], "{backend}");

        let options = GatherOptions {
            out_of_range: ERROR_POLICY,
            ..GatherOptions::default()
        };
        let gather = Plan::gather(&[4, 2], &[2], options, DType::F32).unwrap();
        let (rows, report) = run(&gather, &TABLE, Some(&[2, 0]), None).unwrap();
        assert_eq!(rows.data, [4.5, 5.5, 0.5, 1.5], "{backend}");
        assert_eq!(report.tuples, 2);
        let error = run(&gather, &TABLE, Some(&[2, 4]), None).unwrap_err();
        let Error::InvalidIndices(report) = error else {
            panic!("{backend}: {error}");
        };
        assert_eq!((report.out_of_range, report.tuples), (1, 2), "{backend}");
        let first = report.first.unwrap();
        assert_eq!(
            (first.tuple, first.position, first.index, first.shape),
            (1, vec![1], vec![4], vec![4, 2])
        );

        let add_options = ScatterOptions {
            combine: Some(Combine::Add),
            ..ScatterOptions::default()
        };
        let add =
            Plan::tensor_scatter_nd(&[4, 2], &[1, 1], &[1, 2], add_options, DType::F32).unwrap();
        let (sums, _) = run(&add, &[1.0, 2.0], Some(&[3]), Some(&TABLE)).unwrap();
        assert_eq!(sums.data[..6], TABLE[..6], "{backend}");
        assert_eq!(sums.data[6..], [7.5, 9.5], "{backend}");

        // Arguments that do not fit the plan are errors.
        for (argument, outcome) in [
            ("source", run(&flip, &TABLE[1..], None, None)),
            ("indices", run(&gather, &TABLE, Some(&[1]), None)),
            (
                "dest",
                run(&add, &[1.0, 2.0], Some(&[3]), Some(&TABLE[1..])),
            ),
        ] {
            let error = outcome.unwrap_err();
            assert!(
                matches!(error, Error::Length { argument: named, .. } if named == argument),
                "{argument}: {error}"
            );
        }
        let as_f64 = pollster::block_on(backend.run_async::<f64>(&flip, &[(&[0f64; 8]).into()]));
        assert!(kind(&as_f64.unwrap_err()) == "dtype_mismatch");
        let values = [(&[1i32, 2]).into(), (&[3i32]).into(), (&[0i32; 8]).into()];
        let as_i32 = pollster::block_on(backend.run_async::<i32>(&add, &values));
        assert!(kind(&as_i32.unwrap_err()) == "dtype_mismatch");
    }
}

/// Where blocking is not allowed, the error of every call on host values names `Backend::run_async`, which runs the
/// plan of the same operation, even a plan that converts or has several steps.
#[test]
fn plans_run_where_blocking_is_not_allowed() {
    let bytes = [1u8, 2, 3, 4, 5, 6];
    let (x, mask) = (
        (&bytes, &[6]),
        (&[true, false, true, false, true, true], &[6]),
    );
    let gather = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::U8).unwrap();
    let floats = gather.converted(&Conversion::to(DType::F32)).unwrap();
    let gathered = [(&bytes).into(), (&[2i32, 7]).into()];
    let rolled = Plan::roll(View::new(&[6]).unwrap(), &[1], &[0], DType::U8).unwrap();
    // The conversion needs a table of 1 KiB, which must fit a binding.
    let holds_table = |gpu: &&Gpu| gpu.device().limits().max_storage_buffer_binding_size >= 1024;
    for gpu in gpu_devices().filter(holds_table) {
        let backend = Backend::from(gpu.without_blocking());
        for outcome in [
            backend.run::<f32>(&floats, &gathered).map(drop),
            backend.boolean_mask(x, mask, 0).map(drop),
            backend.select(mask, x, x).map(drop),
            backend.roll(x, &[1], &[0]).map(drop),
        ] {
            let error = outcome.unwrap_err();
            assert!(
                matches!(error, Error::WouldBlock { .. }),
                "{backend}: {error}"
            );
            assert!(
                error.to_string().contains("use Backend::run_async"),
                "{error}"
            );
        }
        let running = require_send(backend.run_async::<f32>(&floats, &gathered));
        let (rows, report) = pollster::block_on(running).unwrap();
        assert_eq!(
            (rows.shape, rows.data),
            (vec![2, 2], vec![5.0, 6.0, 0.0, 0.0])
        );
        assert_eq!(report.out_of_range, 1, "{backend}");
        let values = [(&bytes).into()];
        let running = require_send(backend.run_async::<u8>(&rolled, &values));
        let (rolled, _) = pollster::block_on(running).unwrap();
        assert_eq!(rolled.data, [6, 1, 2, 3, 4, 5], "{backend}");
    }
}

/// Requires that a future can move to another thread, as in async runtimes.
fn require_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn values_are_awaited_into_existing_memory() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.without_blocking());
        let values: Vec<u16> = (0..1000).collect();
        let tensor = backend.upload((&values, &[10, 100])).unwrap();
        let mut read = vec![9u16; 1000];
        pollster::block_on(require_send(tensor.read_into_async(&mut read))).unwrap();
        assert_eq!(read, values);
        let flags = backend.upload((&[true, false, true], &[3])).unwrap();
        let mut read = [false; 3];
        pollster::block_on(flags.read_into_async(&mut read)).unwrap();
        assert_eq!(read, [true, false, true]);
        let array = pollster::block_on(flags.to_array_async::<bool>()).unwrap();
        assert_eq!(array.data, [true, false, true]);
        let bytes = vec![0u8, 7, 1];
        let flags_of_bytes = Tensor::from_bytes(&backend, bytes, DType::Bool, &[3]).unwrap();
        let reversed = flags_of_bytes.slice(&slice![..; -1]).unwrap();
        let read = pollster::block_on(require_send(reversed.bytes_async())).unwrap();
        assert_eq!(*read, [1, 7, 0]);
        let error = pollster::block_on(flags.read_into_async(&mut [false; 2])).unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
        let error = pollster::block_on(flags.read_into_async(&mut [0u8; 3])).unwrap_err();
        assert!(kind(&error) == "dtype", "{error}");
    }
}

/// When `wait_async` ends, all earlier submissions are done. (Their callbacks can still be running: `wait_async` waits
/// for a mapped buffer, and wgpu calls the callbacks of mapped buffers before the callbacks of
/// `on_submitted_work_done`.)
#[test]
fn the_device_is_awaited() {
    for gpu in own_devices() {
        let backend = Backend::from(gpu.without_blocking());
        let table = backend.upload((&[7u32; 1 << 22], &[1 << 22])).unwrap();
        for _ in 0..4 {
            table.slice(&slice![..; -1]).unwrap();
        }
        pollster::block_on(require_send(backend.wait_async())).unwrap();
        let status = gpu.device().poll(wgpu::PollType::Poll);
        assert!(
            matches!(status, Ok(wgpu::PollStatus::QueueEmpty)),
            "{backend}: {status:?}"
        );
    }
    pollster::block_on(Backend::cpu().wait_async()).unwrap();
}
