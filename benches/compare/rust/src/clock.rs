//! What is measured: the time on the wall, or that of the processor for this thread.

use rustix::time::{ClockId, clock_gettime};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Wall,
    /// Without the time in which the processor did other programs' work.
    Thread,
}

impl Clock {
    /// The time of a call, and its result.
    pub fn time<R>(self, call: impl FnOnce() -> R) -> (Duration, R) {
        match self {
            Self::Wall => {
                let begin = Instant::now();
                let made = black_box(call());
                (begin.elapsed(), made)
            }
            Self::Thread => {
                let begin = of_thread();
                let made = black_box(call());
                (of_thread() - begin, made)
            }
        }
    }
}

fn of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
