//! Checks that many threads can share devices: results equal the CPU's, and a lost device is an error in every thread.
//!
//! Each test takes at least `WGSLICE_STRESS_SECONDS` seconds (2 by default), except the last test, which takes at least
//! half of this time.

mod worker;

use crate::harness::gpu::{adapters, request_device, strict_options};
use std::{
    env,
    sync::{Arc, mpsc::channel},
    thread,
    time::{Duration, Instant},
};
use wgslice::{Backend, Error, Gpu, slice};
use worker::{Random, SharedDevice, Worker};

fn test_duration() -> Duration {
    let seconds = env::var("WGSLICE_STRESS_SECONDS").ok();
    Duration::from_secs(seconds.map_or(2, |text| text.parse().expect("seconds")))
}

/// The approximate largest size in bytes of a matrix that a worker uploads.
const MAX_MATRIX_BYTES: usize = 64 << 10;

fn open_own(adapter: &wgpu::Adapter) -> Gpu {
    pollster::block_on(Gpu::from_adapter(adapter)).expect("a device")
}

/// Opens three devices of each adapter: two with the limits that the library requests, and one with WebGPU's default
/// limits and no features, which is treated as a hardware GPU. Also opens a strict device, which reports races and
/// other faults. Returns each device with the approximate largest size in bytes of a matrix that a worker uploads to
/// it.
fn open_devices() -> Vec<(Gpu, usize)> {
    let mut devices = Vec::new();
    for adapter in adapters() {
        let no_features = wgpu::Features::empty();
        let default_gpu =
            request_device(&adapter, no_features, wgpu::Limits::default()).expect("a device");
        devices.extend(
            [
                open_own(&adapter),
                open_own(&adapter),
                default_gpu.as_hardware(),
            ]
            .map(|gpu| (gpu, MAX_MATRIX_BYTES)),
        );
    }
    let mut options = strict_options();
    options.limits.max_compute_invocations_per_workgroup = 64;
    devices.push((
        open_own(&strict_gpu::StrictGpu::new(options).adapter()),
        1 << 10,
    ));
    devices
}

#[test]
fn threads_share_devices() {
    let deadline = Instant::now() + test_duration();
    let devices: Vec<(SharedDevice, usize)> = open_devices()
        .iter()
        .map(|(gpu, max_matrix_bytes)| (SharedDevice::new(gpu), *max_matrix_bytes))
        .collect();
    let act_count: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..4 * devices.len())
            .map(|number| {
                let (shared, max_matrix_bytes) = &devices[number % devices.len()];
                scope.spawn(move || {
                    let mut worker = Worker::new(shared, number as u64, *max_matrix_bytes);
                    let mut act_count = 0;
                    while act_count == 0 || Instant::now() < deadline {
                        worker.act().unwrap();
                        act_count += 1;
                    }
                    act_count
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    println!("{act_count} acts on {} devices", devices.len());
}

/// Destroys a device while threads work on it, at a random moment at which no thread writes.
#[test]
fn a_device_that_is_lost_is_an_error_in_every_thread() {
    const THREAD_COUNT: usize = 6;
    let deadline = Instant::now() + test_duration();
    for adapter in adapters() {
        let mut random = Random::new(3);
        let mut loss_count = 0;
        while loss_count < 2 || Instant::now() < deadline {
            let gpu = open_own(&adapter);
            // This handler gets the errors of calls that workers make to wgpu directly, and ignores them.
            gpu.device().on_uncaptured_error(Arc::new(|_| {}));
            let shared = Arc::new(SharedDevice::new(&gpu));
            let (sender, receiver) = channel();
            for number in 0..THREAD_COUNT {
                let (shared, sender) = (Arc::clone(&shared), sender.clone());
                thread::spawn(move || {
                    let mut worker = Worker::new(&shared, number as u64, MAX_MATRIX_BYTES);
                    let error = loop {
                        if let Err(error) = worker.act() {
                            break error;
                        }
                    };
                    // A lost device stays lost, so one of 20 further calls must fail too.
                    let later_error = (0..20).find_map(|_| worker.act().err());
                    sender.send((error, later_error)).unwrap();
                });
            }
            drop(sender);
            thread::sleep(Duration::from_millis(random.below(150) as u64));
            shared.destroy();
            for ended_count in 0..THREAD_COUNT {
                let (error, later_error) = receiver
                    .recv_timeout(Duration::from_secs(60))
                    .unwrap_or_else(|_| {
                        panic!("{} threads hang or panicked", THREAD_COUNT - ended_count)
                    });
                assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
                assert!(
                    matches!(later_error, Some(Error::DeviceLost { .. })),
                    "{later_error:?}"
                );
            }
            loss_count += 1;
        }
        // A new device of the adapter works.
        let shared = SharedDevice::new(&open_own(&adapter));
        let mut worker = Worker::new(&shared, 9, MAX_MATRIX_BYTES);
        (0..20).for_each(|_| worker.act().unwrap());
    }
}

/// Tensors, views and reports keep alive the parts of the device that they need.
#[test]
fn values_are_dropped_in_any_order() {
    let deadline = Instant::now() + test_duration() / 2;
    for adapter in adapters() {
        let mut random = Random::new(5);
        let mut round_count = 0;
        while round_count < 8 || Instant::now() < deadline {
            let gpu = open_own(&adapter);
            let backend = Backend::from(gpu.clone());
            let tensor = backend.upload((&[1_u32, 2, 3, 4], &[4])).unwrap();
            let ids = backend.upload((&[3_i32, 9], &[2])).unwrap();
            let (rows, report) = tensor.gather(&ids, Default::default()).unwrap();
            let view = tensor.slice(&slice![..; -1]).unwrap();
            let flipped = rows.slice(&slice![..; -1]).unwrap();
            let reader = thread::spawn({
                let (flipped, report) = (flipped.clone(), report.clone());
                move || (flipped.to_vec::<u32>().unwrap(), report.wait().unwrap())
            });
            let mut values: Vec<Box<dyn Send>> = vec![
                Box::new(gpu),
                Box::new(backend),
                Box::new(tensor),
                Box::new(ids),
                Box::new(rows),
                Box::new(report),
                Box::new(flipped),
            ];
            while !values.is_empty() {
                let value = values.swap_remove(random.below(values.len()));
                if random.below(2) == 0 {
                    thread::spawn(move || drop(value));
                }
            }
            let (elements, report) = reader.join().unwrap();
            assert_eq!((elements, report.out_of_range), (vec![0, 4], 1));
            // The view still works, because it keeps its device alive.
            assert_eq!(view.to_vec::<u32>().unwrap(), [4, 3, 2, 1]);
            round_count += 1;
        }
    }
}
