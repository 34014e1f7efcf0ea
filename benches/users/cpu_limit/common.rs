//! Clocks, tables and loops that several modules need.

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};
use wgslice::{Plan, Report, Tensor, Values, ValuesMut};

/// Runs a plan on the CPU with arrays that are passed as bytes.
pub(crate) fn run_bytes(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    dest: &mut [u8],
) -> Result<Report, wgslice::Error> {
    let source = Values::from_bytes(plan.inputs()[0].dtype, source);
    let inputs = [source, indices.unwrap_or(source)];
    let inputs = &inputs[..1 + usize::from(indices.is_some())];
    plan.run_cpu(inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
}

/// Returns the minimum time of `n` calls.
pub(crate) fn min_time<R>(n: usize, mut f: impl FnMut() -> R) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..n {
        let start = Instant::now();
        let result = f();
        best = best.min(start.elapsed());
        drop(black_box(result));
    }
    best
}

/// Returns the time of a short call in nanoseconds: the smallest of 300 means over 200 calls each.
pub(crate) fn latency<R>(mut f: impl FnMut() -> R) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..300 {
        let start = Instant::now();
        for _ in 0..200 {
            black_box(f());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 200.0);
    }
    best
}

/// Returns the minimum of some times. As a measure of noise, also returns by how many percent the lower quartile
/// exceeds the minimum.
pub(crate) fn min_and_noise(mut times: Vec<Duration>) -> (Duration, f64) {
    times.sort_unstable();
    let quartile = times[times.len() / 4].as_secs_f64();
    (times[0], 100.0 * (quartile / times[0].as_secs_f64() - 1.0))
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A pseudo-random number generator.
pub(crate) struct Random(pub(crate) u32);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0
    }
}

pub(crate) fn fill<T>(out: &mut [T], values: impl Iterator<Item = T>) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = value;
    }
}

/// A name, and a call that makes a tensor.
pub(crate) type Case<'a> = (
    &'a str,
    Box<dyn Fn() -> Result<Tensor, wgslice::Error> + 'a>,
);

/// Prints the time of each case and, for a case with a result, the time of a copy of the result's bytes in percent of
/// this time.
pub(crate) fn time_cases(cases: &[Case<'_>]) -> Result<(), Box<dyn Error>> {
    for (name, run) in cases {
        let result = run()?.bytes()?.into_owned();
        let mut out = vec![0u8; result.len()];
        let (mut copy_times, mut times) = (Vec::new(), Vec::new());
        for _ in 0..9 {
            copy_times.push(min_time(1, || out.copy_from_slice(&result)));
            times.push(min_time(1, || run().expect("arrays that fit")));
        }
        let ((copy_time, _), (time, noise)) = (min_and_noise(copy_times), min_and_noise(times));
        let copy_percent = 100.0 * copy_time.as_secs_f64() / time.as_secs_f64();
        let copy_text = match result.len() {
            // A call that changes a tensor in place returns a scalar.
            ..=4 => String::new(),
            _ => format!(", {copy_percent:4.0} %"),
        };
        println!(
            "{name:24} {:6.2} ms{copy_text}; noise {noise:.0} %",
            ms(time)
        );
    }
    Ok(())
}
