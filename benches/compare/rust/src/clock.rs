//! Measures wall time, or this thread's processor time.

use rustix::time::{ClockId, clock_gettime};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Wall,
    /// The processor time of this thread, without the time that other programs use.
    Thread,
}

impl Clock {
    /// Runs a call, and returns its time and its result.
    pub fn time<R>(self, call: impl FnOnce() -> R) -> (Duration, R) {
        match self {
            Self::Wall => {
                let start = Instant::now();
                let result = black_box(call());
                (start.elapsed(), result)
            }
            Self::Thread => {
                let start = thread_time();
                let result = black_box(call());
                (thread_time() - start, result)
            }
        }
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
