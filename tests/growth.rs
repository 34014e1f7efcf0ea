//! Checks on the CPU and the best adapter that large tensors take the same time per byte as small tensors, and that
//! tensors with many dimensions take at most twice as long as tensors with few. Other programs on the machine disturb
//! the times, so `cargo test` leaves these tests out. `bash tests/run large` runs them. The tests need 3 GB of memory.

use std::time::{Duration, Instant};
use wgslice::{DType, Gpu, Plan, SliceSpec, Values, ValuesMut, gpu::AdapterOptions};

const MIB: usize = 1 << 20;

/// The highest allowed ratio between times per byte that should be equal.
const MAX_EQUAL_RATIO: f64 = 1.15;

/// Returns the CPU, and a device of the best adapter if there is an adapter.
fn test_devices() -> Vec<(String, Option<Gpu>)> {
    let mut devices = vec![("CPU".to_owned(), None)];
    match Gpu::open(&AdapterOptions::default()) {
        Ok(gpu) => devices.push((gpu.to_string(), Some(gpu))),
        Err(error) => {
            let is_required = std::env::var("WGSLICE_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!is_required, "WGSLICE_REQUIRE_GPU=1, but: {error}");
            eprintln!("the GPU is not tested: {error}");
        }
    }
    devices
}

/// A source and a destination. All compared plans share this memory, because times differ by some percent between
/// memory locations.
enum TestMemory {
    Host(Vec<u8>, Vec<u8>),
    Device(Box<Gpu>, wgpu::Buffer, wgpu::Buffer),
}

impl TestMemory {
    /// Makes a source and a destination of `bytes` bytes each, and writes both once.
    fn new(gpu: Option<&Gpu>, bytes: usize) -> Self {
        let Some(gpu) = gpu else {
            return Self::Host(vec![0x5a; bytes], vec![0xa5; bytes]);
        };
        let buffer = || {
            let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes as u64,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            encoder.clear_buffer(&buffer, 0, None);
            gpu.queue().submit([encoder.finish()]);
            buffer
        };
        Self::Device(Box::new(gpu.clone()), buffer(), buffer())
    }

    /// Runs a plan on one part of the memory after another. Each part is as long as the plan's source. Returns the time
    /// of all runs.
    fn run(&mut self, plan: &Plan) -> Duration {
        let (source_bytes, result_bytes) = (plan.inputs()[0].bytes(), plan.outputs()[0].bytes());
        let start = Instant::now();
        match self {
            Self::Host(source, dest) => {
                for (source, dest) in source
                    .chunks_exact(source_bytes)
                    .zip(dest.chunks_exact_mut(source_bytes))
                {
                    let (dtype, dest) = (plan.dtype(), &mut dest[..result_bytes]);
                    let source = Values::from_bytes(dtype, source);
                    plan.run_cpu(&[source], &mut [ValuesMut::from_bytes(dtype, dest)])
                        .unwrap();
                }
            }
            Self::Device(gpu, source, dest) => {
                let (source_length, result_length) = (source_bytes as u64, result_bytes as u64);
                for offset in
                    (0..source.size() / source_length).map(|number| number * source_length)
                {
                    let mut encoder = gpu.device().create_command_encoder(&Default::default());
                    let (source, dest) = (
                        source.slice(offset..offset + source_length),
                        dest.slice(offset..offset + result_length),
                    );
                    gpu.encode(&mut encoder, plan, &[source], &[dest]).unwrap();
                    gpu.queue().submit([encoder.finish()]);
                }
                let wait = wgpu::PollType::wait_indefinitely();
                gpu.device().poll(wait).unwrap();
            }
        }
        start.elapsed()
    }

    /// Returns the shortest time of each plan, in nanoseconds per byte of its result. The plans alternate, so that
    /// changes in the machine's speed affect all plans alike.
    fn race(&mut self, plans: &[Plan]) -> Vec<f64> {
        let memory_bytes = match self {
            Self::Host(source, _) => source.len(),
            Self::Device(_, source, _) => usize::try_from(source.size()).unwrap(),
        };
        let mut shortest_times = vec![Duration::MAX; plans.len()];
        for _ in 0..6 {
            for (shortest_time, plan) in shortest_times.iter_mut().zip(plans) {
                *shortest_time = self.run(plan).min(*shortest_time);
            }
        }
        let per_byte = |(time, plan): (Duration, &Plan)| {
            let written_bytes = memory_bytes / plan.inputs()[0].bytes() * plan.outputs()[0].bytes();
            1e9 * time.as_secs_f64() / written_bytes as f64
        };
        shortest_times
            .into_iter()
            .zip(plans)
            .map(per_byte)
            .collect()
    }
}

fn slice_plan(shape: &[usize], spec: &str) -> Plan {
    let spec: SliceSpec = spec.parse().unwrap();
    Plan::slice(shape, &spec, DType::U32).unwrap()
}

/// Compares the times of plans up to three times, because other programs might disturb one comparison, but hardly
/// three. Panics if the ratio of the times exceeds `max_ratio` in each comparison.
#[track_caller]
fn assert_within(
    max_ratio: f64,
    description: &str,
    (memory, plans): (&mut TestMemory, &[Plan]),
    ratio_of: impl Fn(&[f64]) -> f64,
) {
    let mut is_within = || {
        let times = memory.race(plans);
        let ratio = ratio_of(&times);
        println!("{description}: {times:.3?} ns a byte, {ratio:.2} apart");
        ratio <= max_ratio
    };
    assert!((0..3).any(|_| is_within()), "{description}");
}

/// Returns the longest time divided by the shortest.
fn longest_to_shortest(times: &[f64]) -> f64 {
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    times.iter().copied().fold(0.0, f64::max) / shortest
}

/// Moves a gigabyte, as one tensor or as several smaller tensors in order. The small tensors thus come from memory
/// rather than from a cache, like the large one.
///
/// Rows of the result are shorter than rows of the source. If they were equally long, lavapipe's time would depend on
/// the location of source and result.
#[test]
fn a_byte_takes_as_long_up_to_a_gigabyte() {
    for (device, gpu) in test_devices() {
        let mut memory = TestMemory::new(gpu.as_ref(), 1024 * MIB);
        // With 16 MiB, lavapipe takes a fifth longer per byte, because each dispatch costs half a millisecond.
        let min_mib = if gpu.is_some_and(|gpu| gpu.is_software()) {
            64
        } else {
            16
        };
        for spec in [":, :3:-1", ":, 3:", ":, :-3:2"] {
            let sizes = [16, 64, 256, 1024]
                .into_iter()
                .filter(|&mib| mib >= min_mib);
            let plans: Vec<Plan> = sizes
                .map(|mib| slice_plan(&[mib * MIB / 4096, 1024], spec))
                .collect();
            let description = format!("{spec} of {min_mib} MiB to 1 GiB on {device}");
            assert_within(
                MAX_EQUAL_RATIO,
                &description,
                (&mut memory, &plans),
                longest_to_shortest,
            );
        }
    }
}

/// A tensor of more dimensions takes no longer if its dimensions merge.
#[test]
fn ranks_that_merge_cost_the_same() {
    let shapes: [&[usize]; 8] = [
        &[1 << 24],
        &[1 << 12, 1 << 12],
        &[1 << 8, 1 << 8, 1 << 8],
        &[64, 64, 64, 64],
        &[16, 16, 16, 64, 64],
        &[16, 16, 16, 16, 16, 16],
        &[4, 16, 16, 16, 16, 16, 4],
        &[8, 8, 8, 8, 8, 8, 8, 8],
    ];
    let plans = shapes.map(|shape| slice_plan(shape, &vec!["::-1"; shape.len()].join(", ")));
    for (device, gpu) in test_devices() {
        let mut memory = TestMemory::new(gpu.as_ref(), 256 * MIB);
        let description = format!("ranks 1 to 8, reversed, on {device}");
        assert_within(
            MAX_EQUAL_RATIO,
            &description,
            (&mut memory, &plans),
            longest_to_shortest,
        );
    }
}

/// Dimensions that do not merge cost time for every row. For rows of 32 bytes or more, this time is at most the time
/// that it takes to move the row.
#[test]
fn rank_8_costs_at_most_twice_rank_2() {
    let shape = |row_length| [7, 6, 7, 6, 7, 6, 7, row_length];
    for (device, gpu) in test_devices() {
        let mut memory = TestMemory::new(gpu.as_ref(), 384 * MIB);
        for (row_length, inner_spec) in [
            (9, "1:"),
            (33, "1:"),
            (33, "::-1"),
            (129, "1:"),
            (129, "::-1"),
        ] {
            let row_count = shape(1).iter().product();
            let rank_2 = slice_plan(&[row_count, row_length], &format!("1:, {inner_spec}"));
            let outer_spec = "1:, 1:, 1:, 1:, 1:, 1:, 1:";
            let rank_8 = slice_plan(&shape(row_length), &format!("{outer_spec}, {inner_spec}"));
            let description =
                format!("rank 8 beside rank 2, {inner_spec} of rows of {row_length} on {device}");
            let ratio = |times: &[f64]| times[1] / times[0];
            assert_within(2.0, &description, (&mut memory, &[rank_2, rank_8]), ratio);
        }
    }
}
