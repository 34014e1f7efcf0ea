//! Tests of plans that are recorded into the caller's encoder, with the caller's buffers.

use crate::harness::{
    elements, gpu::request_device, gpu_devices, read_buffer::read_buffer, to_bytes,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake},
    time::{Duration, Instant},
};
use wgslice::{
    Backend, DType, Plan, View,
    gpu::AdapterOptions,
    options::{GatherNdOptions, ScatterOptions},
    slice,
};

/// `encode` rejects a plan with indices if the indices are missing, even a plan without tuples, which would write only
/// zeros or nothing.
#[test]
fn plans_with_indices_are_refused_without_them() {
    let plans = [
        Plan::gather_nd(&[3, 2], &[4, 1], GatherNdOptions::default(), DType::U32),
        Plan::gather_nd(&[3, 2], &[0, 1], GatherNdOptions::default(), DType::U32),
        Plan::scatter_nd(&[3], &[0, 1], &[0], ScatterOptions::default(), DType::U8),
    ];
    for gpu in gpu_devices() {
        let device = gpu.device();
        let [source, dest] = [(); 2].map(|()| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 64,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            })
        });
        for plan in plans.each_ref().map(|plan| plan.as_ref().unwrap()) {
            let mut encoder = device.create_command_encoder(&Default::default());
            let encoded = gpu.encode(&mut encoder, plan, &[source.slice(..)], &[dest.slice(..)]);
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let in_pass = gpu.encode(&mut pass, plan, &[source.slice(..)], &[dest.slice(..)]);
            for outcome in [encoded, in_pass] {
                let error = outcome.unwrap_err().to_string();
                assert!(
                    error.contains("the number of inputs must be 2, but the call has 1"),
                    "{plan}: {error}"
                );
            }
        }
    }
}

#[test]
fn buffers_that_do_not_fit_are_named() {
    for gpu in gpu_devices() {
        let device = gpu.device();
        let buffer = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let plan = Plan::slice(&[64], &slice![..; -1], DType::F32).unwrap();
        let (good_buffer, other_buffer) = (buffer(512, storage), buffer(512, storage));
        let short_buffer = buffer(252, storage);
        let copy_buffer = buffer(
            256,
            wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        );
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut encode = |source: wgpu::BufferSlice<'_>, dest: wgpu::BufferSlice<'_>| {
            gpu.encode(&mut encoder, &plan, &[source], &[dest])
                .unwrap_err()
                .to_string()
        };
        let check_error = |buffer: &'static str, text: String, detail: &str| {
            assert!(text.contains(buffer) && text.contains(detail), "{text}");
        };
        check_error(
            "source",
            encode(short_buffer.slice(..), good_buffer.slice(..)),
            "252 bytes",
        );
        check_error(
            "dest",
            encode(good_buffer.slice(..), short_buffer.slice(..)),
            "needs 256",
        );
        check_error(
            "source",
            encode(good_buffer.slice(..), good_buffer.slice(..)),
            "copy the result back",
        );
        check_error(
            "source",
            encode(copy_buffer.slice(..), good_buffer.slice(..)),
            "STORAGE",
        );
        check_error(
            "dest",
            encode(good_buffer.slice(..), other_buffer.slice(260..)),
            "has 252 bytes",
        );
        gpu.queue().submit([encoder.finish()]);
    }
}

/// A plan is recorded at an offset in the caller's buffers, and changes no byte outside of its result.
#[test]
fn recorded_into_the_callers_encoder_at_an_offset() {
    use wgpu::util::DeviceExt;
    for gpu in gpu_devices() {
        let plan = Plan::slice(&[5], &slice![..; -1], DType::U8).unwrap();
        let mut contents = vec![7u8; 512];
        contents[256..261].copy_from_slice(&[1, 2, 3, 4, 5]);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let make = |contents: &[u8]| {
            let label = None;
            let descriptor = wgpu::util::BufferInitDescriptor {
                label,
                contents,
                usage,
            };
            gpu.device().create_buffer_init(&descriptor)
        };
        let (source, dest) = (make(&contents), make(&[9; 768]));
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        gpu.encode(
            &mut encoder,
            &plan,
            &[source.slice(256..)],
            &[dest.slice(512..)],
        )
        .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let bytes = read_buffer(gpu, &dest);
        assert_eq!(bytes[512..520], [5, 4, 3, 2, 1, 9, 9, 9]);
        assert!(
            bytes[..512]
                .iter()
                .chain(&bytes[520..])
                .all(|&byte| byte == 9)
        );
    }
}

/// Buffer slices can begin at any byte. Units become as small as the offsets require.
#[test]
fn every_offset_of_the_callers_buffers() {
    use wgpu::util::DeviceExt;
    let values = to_bytes(&elements(40), 4);
    let expected: Vec<u8> = values.chunks(4).rev().flatten().copied().collect();
    for gpu in gpu_devices() {
        for dtype in [DType::F32, DType::U8] {
            let (shape, spec) = match dtype {
                DType::F32 => (vec![40], slice![..; -1]),
                _ => (vec![40, 4], slice![..; -1]),
            };
            let plan = Plan::slice(&shape, &spec, dtype).unwrap();
            for (from, to) in (0..9).flat_map(|from| [0, 1, 2, 4, 7].map(|to| (from, to))) {
                let make = |contents: &[u8]| {
                    gpu.device()
                        .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                            label: None,
                            contents,
                            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                        })
                };
                let mut contents = vec![3; 172];
                contents[from..from + 160].copy_from_slice(&values);
                let (source, dest) = (make(&contents), make(&[9; 172]));
                let mut encoder = gpu.device().create_command_encoder(&Default::default());
                let (a, b) = (source.slice(from as u64..), dest.slice(to as u64..));
                gpu.encode(&mut encoder, &plan, &[a], &[b]).unwrap();
                gpu.queue().submit([encoder.finish()]);
                let bytes = read_buffer(gpu, &dest);
                assert!(bytes[to..to + 160] == expected, "{from} {to} {dtype}");
                let guards = bytes[..to].iter().chain(&bytes[to + 160..]);
                assert!(guards.copied().all(|byte| byte == 9), "{from} {to} {dtype}");
            }
        }
    }
}

/// Reports of gathers that are recorded in an open pass can be polled, waited for and awaited.
#[test]
fn reports_arrive_later() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3, 4, 5, 6], &[3, 2])).unwrap();
        let indices = backend.upload((&[0i64, 7, 2, -1], &[4, 1])).unwrap();
        let dest = backend.upload((&[9u32; 8], &[4, 2])).unwrap();
        let tuples = (&[4, 1], DType::I64);
        let plan =
            Plan::gather_nd(&[3, 2], tuples, GatherNdOptions::default(), DType::U32).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        let mut record = || {
            let tuples = indices.buffers().unwrap()[0].slice(..);
            let (params, dest) = (
                params.buffers().unwrap()[0].slice(..),
                dest.buffers().unwrap()[0].slice(..),
            );
            gpu.encode(&mut pass, &plan, &[params, tuples], &[dest])
                .unwrap()
        };
        let [polled, waited, awaited] = [record(), record(), record()];
        drop(pass);
        gpu.queue().submit([encoder.finish()]);
        let waited = waited.wait().unwrap();
        assert_eq!((waited.out_of_range, waited.tuples), (2, 4));
        assert_eq!(waited.first.as_ref().unwrap().index, [7]);
        assert_eq!(pollster::block_on(awaited).unwrap(), waited);
        let polled = loop {
            if let Some(report) = polled.poll().unwrap() {
                break report;
            }
        };
        assert_eq!(polled, waited);
        let values = pollster::block_on(dest.to_array_async::<u32>()).unwrap();
        assert_eq!(values.data, [1, 2, 0, 0, 5, 6, 0, 0]);
    }
}

/// A thousand slices are recorded in one open pass and submitted together.
#[test]
fn a_thousand_slices_in_one_submission() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let input = backend
            .upload((&[1u16, 2, 3, 4, 5, 6, 7, 8], &[8]))
            .unwrap();
        let outputs = [0; 3].map(|_| backend.upload((&[0u16; 4], &[4])).unwrap());
        let plan = Plan::slice(&[8], &slice![..; -2], DType::U16).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for number in 0..1000 {
            let output = outputs[number % 3].buffers().unwrap()[0].slice(..);
            gpu.encode(
                &mut pass,
                &plan,
                &[input.buffers().unwrap()[0].slice(..)],
                &[output],
            )
            .unwrap();
        }
        drop(pass);
        gpu.queue().submit([encoder.finish()]);
        for output in outputs {
            assert_eq!(output.to_array::<u16>().unwrap().data, [8, 6, 4, 2]);
        }
        gpu.trim();
    }
}

/// After the first recording, recording a slice allocates no device memory, as wgpu's allocator reports. Recording
/// gathers allocates at most once for every 64 gathers.
#[test]
fn recording_again_allocates_nothing() {
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).unwrap();
    for candidate in candidates
        .iter()
        .filter(|candidate| candidate.refused.is_none())
    {
        let adapter = &candidate.adapter;
        let immediates = adapter.features() & wgpu::Features::IMMEDIATES;
        for features in [immediates, wgpu::Features::empty()] {
            let gpu = request_device(adapter, features, adapter.limits()).unwrap();
            let allocations = || {
                let report = gpu.device().generate_allocator_report();
                report.map(|report| report.allocations.len())
            };
            if allocations().is_none() {
                eprintln!("not tested: {candidate} has no report of its allocations");
                continue;
            }
            let [source, dest, tuples] = [(); 3].map(|()| {
                gpu.device().create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: 1024,
                    usage: wgpu::BufferUsages::STORAGE,
                    mapped_at_creation: false,
                })
            });
            let slice = Plan::slice(&[16, 16], &slice![..; -1], DType::F32).unwrap();
            let gather =
                Plan::gather_nd(&[16, 16], &[4, 1], GatherNdOptions::default(), DType::F32)
                    .unwrap();
            let (source, dest) = (source.slice(..), dest.slice(..));
            let tuples = tuples.slice(..);
            let allocated_by = |slice_count, gather_count| {
                let mut encoder = gpu.device().create_command_encoder(&Default::default());
                let old_count = allocations().unwrap();
                for _ in 0..slice_count {
                    gpu.encode(&mut encoder, &slice, &[source], &[dest])
                        .unwrap();
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    gpu.encode(&mut pass, &slice, &[source], &[dest]).unwrap();
                }
                for _ in 0..gather_count {
                    gpu.encode(&mut encoder, &gather, &[source, tuples], &[dest])
                        .unwrap();
                }
                let allocated = allocations().unwrap() - old_count;
                gpu.queue().submit([encoder.finish()]);
                let wait = wgpu::PollType::wait_indefinitely();
                gpu.device().poll(wait).unwrap();
                allocated
            };
            assert!(allocated_by(4, 640) > 0);
            assert_eq!(allocated_by(100, 0), 0);
            assert!(allocated_by(0, 640) <= 10);
            assert_eq!(allocated_by(100, 0), 0);
        }
    }
}

/// Indices can be in a buffer without the usage COPY_SRC. The report then lacks the indices of the first out-of-range
/// tuple, but nothing else.
#[test]
fn a_report_without_the_tuple() {
    use wgpu::util::DeviceExt;
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let dest = backend.upload((&[9u32; 2], &[2])).unwrap();
        let indices = gpu
            .device()
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: bytemuck::cast_slice(&[1i32, 5]),
                usage: wgpu::BufferUsages::STORAGE,
            });
        let plan = Plan::gather_nd(&[3], &[2, 1], GatherNdOptions::default(), DType::U32).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let tuples = indices.slice(..);
        let (params, to) = (
            params.buffers().unwrap()[0].slice(..),
            dest.buffers().unwrap()[0].slice(..),
        );
        let report = gpu
            .encode(&mut encoder, &plan, &[params, tuples], &[to])
            .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let first = report.wait().unwrap().first.unwrap();
        assert_eq!(
            (first.tuple, first.position, first.index),
            (1, vec![1], vec![])
        );
        assert_eq!(dest.to_array::<u32>().unwrap().data, [2, 0]);
    }
}

/// Moves rows within one buffer, as in a KV cache, in an encoder and in a pass. The rows begin at any byte of a word.
/// If the old and the new rows overlap, the error contains both ranges and nothing is recorded.
#[test]
fn rows_move_within_one_buffer() {
    use wgpu::{BufferUsages, util::DeviceExt};
    for gpu in gpu_devices() {
        let move_plan = |from: usize, to: usize| {
            let dest_view = View::new(&[37, 3])?.slice(&slice![to..to + 5; 1])?;
            Plan::slice(&[37, 3], &slice![from..from + 5; 1], DType::U8)?.written_to(&dest_view)
        };
        let contents: Vec<u8> = (0..112).collect();
        let copy_usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        for (number, (from, to)) in [(31, 0), (1, 7), (8, 3)].into_iter().enumerate() {
            let plan = move_plan(from, to).unwrap();
            let cache = gpu
                .device()
                .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                    label: None,
                    contents: &contents,
                    usage: BufferUsages::STORAGE | copy_usage,
                });
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            let (inputs, outputs) = ([cache.slice(..)], [cache.slice(..)]);
            if number == 0 {
                gpu.encode(&mut encoder, &plan, &inputs, &outputs).unwrap();
            } else {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                gpu.encode(&mut pass, &plan, &inputs, &outputs).unwrap();
            }
            let overlaps = move_plan(10, 14).unwrap();
            let error = gpu
                .encode(&mut encoder, &overlaps, &inputs, &outputs)
                .unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("30..45, overlap") && error.contains("42..57"),
                "{error}"
            );
            gpu.queue().submit([encoder.finish()]);
            let mut expected = contents.clone();
            expected.copy_within(3 * from..3 * (from + 5), 3 * to);
            assert_eq!(read_buffer(gpu, &cache), expected, "{from} to {to}");
            let explanation = gpu.explain(&plan);
            assert!(
                explanation.ends_with("15 bytes go through scratch memory first"),
                "{explanation}"
            );
        }
    }
}

/// A waker that notes whether it was called.
#[derive(Default)]
struct WokenFlag(AtomicBool);

impl Wake for WokenFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Every task that awaits a report is woken, even if a thread blocks to wait for the same report.
#[test]
fn every_task_that_awaits_a_report_is_woken() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let indices = backend.upload((&[0i32, 7], &[2, 1])).unwrap();
        let (_, report) = params
            .gather_nd(&indices, GatherNdOptions::default())
            .unwrap();
        let mut tasks =
            [(); 2].map(|()| (Box::pin(report.clone()), Arc::new(WokenFlag::default())));
        let was_pending = tasks.each_mut().map(|(report, woken)| {
            let waker = Arc::clone(woken).into();
            let polled = report.as_mut().poll(&mut Context::from_waker(&waker));
            polled.is_pending()
        });
        let report = report.wait().unwrap();
        for ((task, woken), was_pending) in tasks.into_iter().zip(was_pending) {
            // The callback that wakes the tasks can still be running on another thread.
            let deadline = Instant::now() + Duration::from_secs(20);
            while was_pending && !woken.0.load(Ordering::SeqCst) && Instant::now() < deadline {
                std::thread::yield_now();
            }
            assert!(!was_pending || woken.0.load(Ordering::SeqCst), "not woken");
            if was_pending {
                assert_eq!(pollster::block_on(task).unwrap(), report);
            }
        }
    }
}

/// In one encoder or one pass, records a search in a mask that begins at byte 3 of its buffer, a gather by the same
/// mask, and an update by a copy of the mask. Nothing is read back between these calls, and the bytes around the
/// results stay unchanged.
#[test]
fn a_mask_selects_without_a_read_back() {
    let length = 700;
    let mask: Vec<u8> = (0..length).map(|n| (n * n % 5 == 1) as u8 * 200).collect();
    let true_positions: Vec<u32> = (0..)
        .zip(&mask)
        .filter(|(_, byte)| **byte > 0)
        .map(|(position, _)| position)
        .collect();
    let x: Vec<u32> = (1000..).take(length).collect();
    for (gpu, capacity) in gpu_devices().flat_map(|gpu| [(gpu, 5), (gpu, 290)]) {
        let device = gpu.device();
        // The buffers of this test do not fit a device with such a low limit.
        if device.limits().max_buffer_size < 1 << 14 {
            continue;
        }
        let buffer = |bytes: &[u8], extra_usage| {
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes.len() as u64,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | extra_usage,
                mapped_at_creation: false,
            });
            gpu.queue().write_buffer(&buffer, 0, bytes);
            buffer
        };
        let (copy_source, no_usage) = (wgpu::BufferUsages::COPY_SRC, wgpu::BufferUsages::empty());
        let nonzero = Plan::nonzero(&[length], Some(capacity), DType::U32).unwrap();
        let nonzero = nonzero.with_count().unwrap();
        let gather = Plan::boolean_mask(&[length], &[length], 0, Some(capacity), DType::U32);
        let gather = gather.unwrap();
        let update = Plan::masked_update(&[], &[length], &[length], DType::U32).unwrap();
        for in_pass in [false, true] {
            let padded_mask = [&[7; 3][..], &mask, &[7; 1]].concat();
            let mask_buffer = buffer(&padded_mask, no_usage);
            let aligned_mask = buffer(&mask, no_usage);
            let source = buffer(bytemuck::cast_slice(&x), no_usage);
            let nines = buffer(&[9; 4], no_usage);
            let rows = buffer(&vec![0x55; 4 * capacity + 8], copy_source);
            let count = buffer(&[0x55; 44], copy_source | wgpu::BufferUsages::INDIRECT);
            let unreadable_count = buffer(&[0; 32], no_usage);
            let selected = buffer(&vec![0x55; 4 * capacity], copy_source);
            let dest = buffer(bytemuck::cast_slice(&x), copy_source);
            let mask_slice = mask_buffer.slice(3..3 + length as u64);
            let to_rows = rows.slice(4..4 + 4 * capacity as u64);
            let to_count = count.slice(4..36);
            let (inputs, outputs) = ([nines.slice(..), aligned_mask.slice(..)], [dest.slice(..)]);
            let mut encoder = device.create_command_encoder(&Default::default());
            let (count_report, unreadable_report, gather_report) = if in_pass {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                let unreadable_report = gpu
                    .encode(
                        &mut pass,
                        &nonzero,
                        &[mask_slice],
                        &[to_rows, unreadable_count.slice(..)],
                    )
                    .unwrap();
                let count_report = gpu
                    .encode(&mut pass, &nonzero, &[mask_slice], &[to_rows, to_count])
                    .unwrap();
                let from = [source.slice(..), mask_slice];
                let gather_report = gpu
                    .encode(&mut pass, &gather, &from, &[selected.slice(..)])
                    .unwrap();
                gpu.encode(&mut pass, &update, &inputs, &outputs).unwrap();
                (count_report, unreadable_report, gather_report)
            } else {
                let unreadable_report = gpu
                    .encode(
                        &mut encoder,
                        &nonzero,
                        &[mask_slice],
                        &[to_rows, unreadable_count.slice(..)],
                    )
                    .unwrap();
                let count_report = gpu
                    .encode(&mut encoder, &nonzero, &[mask_slice], &[to_rows, to_count])
                    .unwrap();
                let from = [source.slice(..), mask_slice];
                let gather_report = gpu
                    .encode(&mut encoder, &gather, &from, &[selected.slice(..)])
                    .unwrap();
                gpu.encode(&mut encoder, &update, &inputs, &outputs)
                    .unwrap();
                (count_report, unreadable_report, gather_report)
            };
            gpu.queue().submit([encoder.finish()]);
            let words = |buffer| bytemuck::pod_collect_to_vec::<u8, u32>(&read_buffer(gpu, buffer));
            let mut expected: Vec<u32> = true_positions.iter().copied().take(capacity).collect();
            expected.resize(capacity, u32::MAX);
            let expected = [&[0x5555_5555][..], &expected, &[0x5555_5555]].concat();
            assert_eq!(words(&rows), expected, "{gpu}");
            let to_u32 = |count: usize| u32::try_from(count).unwrap();
            let used_rows = to_u32(true_positions.len().min(capacity));
            let true_count = to_u32(true_positions.len());
            let expected = [
                0x5555_5555,
                used_rows.div_ceil(64),
                1,
                1,
                used_rows,
                true_count,
                0,
                0,
                0,
            ];
            assert_eq!(words(&count)[..9], expected, "{gpu}");
            assert_eq!(words(&count)[9..], [0x5555_5555; 2], "{gpu}");
            let mut expected: Vec<u32> = true_positions
                .iter()
                .take(capacity)
                .map(|n| n + 1000)
                .collect();
            expected.resize(capacity, 0);
            assert_eq!(words(&selected), expected, "{gpu}");
            let changed = (0..length).map(|n| if mask[n] > 0 { 0x0909_0909 } else { x[n] });
            assert!(words(&dest).into_iter().eq(changed), "{gpu}");
            for report in [count_report, gather_report] {
                let report = report.wait().unwrap();
                assert_eq!(report.found.unwrap(), true_positions.len());
                assert_eq!(report.out_of_range, 0, "unused rows are not out of range");
            }
            let error = unreadable_report.wait().unwrap_err().to_string();
            assert!(
                error.contains("count buffer lacks the usage COPY_SRC"),
                "{error}"
            );
            // Errors name buffers that do not fit. With few rows, the buffers are shorter than the mask, so this is not
            // tested.
            if capacity < 290 {
                continue;
            }
            let rejection = |mask, rows, count| {
                let mut encoder = device.create_command_encoder(&Default::default());
                let outcome = gpu.encode(&mut encoder, &nonzero, &[mask], &[rows, count]);
                outcome.unwrap_err().to_string()
            };
            let (rows_slice, count_slice) = (to_rows, to_count);
            for (error, message) in [
                (
                    rejection(mask_buffer.slice(8..), rows_slice, count_slice),
                    "mask buffer has 696 bytes",
                ),
                (
                    rejection(mask_slice, rows.slice(12..), count_slice),
                    "rows buffer has 1156 bytes",
                ),
                (
                    rejection(mask_slice, rows.slice(2..), count_slice),
                    "rows buffer begins in the middle",
                ),
                (
                    rejection(mask_slice, rows_slice, count.slice(16..)),
                    "count buffer has 28 bytes",
                ),
                (
                    rejection(mask_slice, rows_slice, count.slice(5..)),
                    "count buffer begins in the middle",
                ),
                (
                    rejection(rows.slice(..), rows_slice, count_slice),
                    "mask buffer is also rows",
                ),
                (
                    rejection(mask_slice, rows_slice, rows.slice(..)),
                    "rows buffer is also count",
                ),
            ] {
                assert!(error.contains(message), "{message}: {error}");
            }
        }
    }
    let many_axes = Plan::nonzero(&[1; 31], None, DType::I64).unwrap();
    for gpu in gpu_devices() {
        let tensor = Backend::from(gpu.clone())
            .upload((&[1u8], &[1; 31]))
            .unwrap();
        let error = tensor.nonzero(None).unwrap_err().to_string();
        assert!(error.contains("dimensions of a mask needs 31"), "{error}");
    }
    assert_eq!(many_axes.shape(), [1, 31]);
}

/// An argument without bytes can also be in the buffer of the destination. This argument is the indices of a gather of
/// the whole array: their only tuple is empty.
#[test]
fn empty_indices_in_the_buffer_of_the_destination() {
    use wgpu::{BufferUsages, util::DeviceExt};
    for gpu in gpu_devices() {
        for size in [256, 512, 1024, 2048, 4096] {
            let contents: Vec<u8> = (0..=250).cycle().take(2 * size + 256).collect();
            let byte_count = contents.len() as u64;
            if byte_count > gpu.device().limits().max_buffer_size {
                continue;
            }
            let plan = Plan::gather_nd(&[size], &[0], GatherNdOptions::default(), DType::U8);
            let plan = plan.unwrap();
            let buffer = gpu
                .device()
                .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                    label: None,
                    contents: &contents,
                    usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
                });
            let part = |begin: usize, end: usize| buffer.slice(begin as u64..end as u64);
            let (inputs, outputs) = (
                [part(0, size), part(2 * size, contents.len())],
                [part(size, 2 * size)],
            );
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            gpu.encode(&mut encoder, &plan, &inputs, &outputs).unwrap();
            gpu.queue().submit([encoder.finish()]);
            let mut expected = contents.clone();
            expected.copy_within(..size, size);
            assert_eq!(read_buffer(gpu, &buffer), expected, "{size}");
        }
    }
}

/// A step of a plan must not read bytes that an earlier step has written into the same buffer.
#[test]
fn a_plan_of_several_steps_within_one_buffer() {
    let views = [View::new(&[2]).unwrap(), View::new(&[2]).unwrap()];
    let concat = Plan::concat(&views, 0, DType::U32).unwrap();
    for gpu in gpu_devices() {
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage,
            mapped_at_creation: false,
        });
        let values: Vec<u32> = (0..16).collect();
        gpu.queue()
            .write_buffer(&buffer, 0, bytemuck::cast_slice(&values));
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        // Each step alone reads no byte that it writes, but the first step overwrites bytes that the second step reads.
        let inputs = [buffer.slice(32..40), buffer.slice(0..8)];
        let outcome = gpu.encode(&mut encoder, &concat, &inputs, &[buffer.slice(0..16)]);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("overlap those that are written"), "{error}");
        gpu.encode(&mut encoder, &concat, &inputs, &[buffer.slice(16..32)])
            .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let words = bytemuck::pod_collect_to_vec::<u8, u32>(&read_buffer(gpu, &buffer));
        assert_eq!(words[..8], [0, 1, 2, 3, 8, 9, 0, 1], "{gpu}");
    }
}
