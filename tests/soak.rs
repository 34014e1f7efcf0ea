//! Checks that neither the memory of the process nor the memory of the device grows when threads work on a device for
//! minutes, or when a device runs thousands of different plans. `cargo test` leaves these tests out. `bash tests/run
//! soak` runs them.
//!
//! The times and sizes are printed as tables.

#[expect(dead_code, reason = "no thread of this test destroys the device")]
#[path = "stress/worker.rs"]
mod worker;

use std::{
    env, fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use wgslice::{Backend, Gpu};
use wgslice_vectors::{Call, check, random};
use worker::{SharedDevice, Worker};

const THREAD_COUNT: usize = 4;

/// The approximate largest size in bytes of a matrix that a worker uploads.
const MAX_MATRIX_BYTES: usize = 256 << 10;

const SAMPLE_COUNT: u32 = 60;

/// The number of samples at the beginning that are not compared, because the caches of plans, of the driver and of the
/// allocator are still filling.
const WARM_UP_SAMPLES: usize = 15;

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    seconds: u64,
    act_count: usize,
    /// The resident memory of the process, in KiB.
    resident_kib: u64,
    /// The memory allocated on the device, in KiB: tensors, buffers that the pool keeps, and staging.
    device_kib: u64,
    /// The numbers of buffers, bind groups and pipelines in wgpu's report of its objects.
    buffer_count: usize,
    bind_group_count: usize,
    pipeline_count: usize,
}

/// Opens a device of the first Vulkan adapter.
fn open_device() -> (wgpu::Instance, Gpu) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let adapter = adapters.first().expect("a Vulkan adapter");
    let gpu = pollster::block_on(Gpu::from_adapter(adapter)).expect("a device");
    (instance, gpu)
}

/// The number of random cases that run on one device, each with its own plan.
const PLAN_COUNT: usize = 10_000;

/// After 10,000 different plans on one device, the process has at most a quarter more resident memory than after the
/// first 1,000, because the device keeps only recently used pipelines.
#[test]
fn plans_do_not_pile_up() {
    let (instance, gpu) = open_device();
    let (backend, start) = (Backend::from(gpu.clone()), Instant::now());
    println!("{gpu}, {PLAN_COUNT} random cases\n");
    print_heading();
    let mut early_sample = None;
    for number in 1..=PLAN_COUNT {
        let case = random::answered(random::case(11, number)).unwrap();
        let (call, variant) = (Call::of(&case).unwrap(), random::variant(&case).unwrap());
        check(&case, &call, &backend, &variant).unwrap_or_else(|problem| {
            panic!("case {number}: {variant}: {problem}: {}", case.to_line())
        });
        if number % (PLAN_COUNT / 10) == 0 {
            let sample = take_sample(&instance, &gpu, start, number);
            print_row(&sample);
            let early_sample: &Sample = early_sample.get_or_insert(sample);
            assert!(
                sample.resident_kib <= early_sample.resident_kib + early_sample.resident_kib / 4,
                "resident memory grows from {} to {} KiB",
                early_sample.resident_kib,
                sample.resident_kib
            );
        }
    }
}

#[test]
fn memory_stays_flat() {
    let minutes: f64 =
        env::var("WGSLICE_SOAK_MINUTES").map_or(10.0, |text| text.parse().expect("minutes"));
    let duration = Duration::from_secs_f64(60.0 * minutes);
    let (instance, gpu) = open_device();
    println!("{gpu}, {THREAD_COUNT} threads\n");
    print_heading();

    let shared = SharedDevice::new(&gpu);
    Worker::new(&shared, 0, MAX_MATRIX_BYTES).warm_up().unwrap();
    let (is_over, act_count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let start = Instant::now();
    let samples: Vec<Sample> = thread::scope(|scope| {
        for number in 0..THREAD_COUNT {
            let (shared, is_over, act_count) = (&shared, &is_over, &act_count);
            scope.spawn(move || {
                let mut worker = Worker::new(shared, number as u64, MAX_MATRIX_BYTES);
                while !is_over.load(Ordering::Relaxed) {
                    worker.act().unwrap();
                    act_count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let samples = (1..=SAMPLE_COUNT).map(|number| {
            thread::sleep(
                (start + duration * number / SAMPLE_COUNT)
                    .saturating_duration_since(Instant::now()),
            );
            let sample = take_sample(&instance, &gpu, start, act_count.load(Ordering::Relaxed));
            if number % 6 == 0 {
                print_row(&sample);
            }
            sample
        });
        let samples = samples.collect();
        is_over.store(true, Ordering::Relaxed);
        samples
    });

    let warm = &samples[WARM_UP_SAMPLES..];
    check_flat(
        "resident memory",
        warm,
        |sample| sample.resident_kib,
        8 << 10,
    );
    check_flat("device memory", warm, |sample| sample.device_kib, 1 << 10);
    check_flat("buffers", warm, |sample| sample.buffer_count as u64, 16);
    check_flat(
        "bind groups",
        warm,
        |sample| sample.bind_group_count as u64,
        16,
    );
}

fn print_heading() {
    println!("| s | acts | resident, KiB | device, KiB | buffers | bind groups | pipelines |");
    println!("|---|---|---|---|---|---|---|");
}

fn print_row(sample: &Sample) {
    let Sample {
        seconds,
        act_count,
        resident_kib,
        device_kib,
        buffer_count,
        bind_group_count,
        pipeline_count,
    } = sample;
    println!(
        "| {seconds} | {act_count} | {resident_kib} | {device_kib} | {buffer_count} | {bind_group_count} | {pipeline_count} |"
    );
}

fn take_sample(instance: &wgpu::Instance, gpu: &Gpu, start: Instant, act_count: usize) -> Sample {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| {
        line.strip_prefix("VmRSS:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let allocated = gpu.device().generate_allocator_report();
    let instance_report = instance.generate_report().expect("wgpu's own backends");
    let hub = instance_report.hub_report();
    Sample {
        seconds: start.elapsed().as_secs(),
        act_count,
        resident_kib: resident.expect("resident memory"),
        device_kib: allocated.map_or(0, |report| report.total_allocated_bytes >> 10),
        buffer_count: hub.buffers.num_allocated,
        bind_group_count: hub.bind_groups.num_allocated,
        pipeline_count: hub.compute_pipelines.num_allocated,
    }
}

/// Fails if the average of the last third of the samples exceeds the average of the first third by more than 5 % plus
/// `slack`. Averages are compared because single samples vary with the tensors that exist at the time.
fn check_flat(quantity: &str, samples: &[Sample], value_of: impl Fn(&Sample) -> u64, slack: u64) {
    let third = samples.len() / 3;
    let mean =
        |samples: &[Sample]| samples.iter().map(&value_of).sum::<u64>() / samples.len() as u64;
    let (early, late) = (
        mean(&samples[..third]),
        mean(&samples[samples.len() - third..]),
    );
    println!("{quantity}: {early} on average after the warm-up, {late} at the end");
    assert!(
        late <= early + early / 20 + slack,
        "{quantity} grows from {early} to {late}"
    );
}
