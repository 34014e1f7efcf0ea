//! Measures the stages of a run.

use crate::{progress, units};
use serde::{Serialize, Serializer};
use std::{
    fmt,
    time::{Duration, Instant},
};

/// The stages of a run, in order. If a run works piece by piece, a stage's time is the time that the host spends on it;
/// meanwhile the device can work on another piece. On the CPU, nothing is uploaded or read back, and a memory-mapped
/// file is read during `Dispatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Read,
    Upload,
    Dispatch,
    Readback,
    Write,
}

impl Stage {
    pub(crate) const ALL: [Self; 5] = [
        Self::Read,
        Self::Upload,
        Self::Dispatch,
        Self::Readback,
        Self::Write,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Upload => "upload",
            Self::Dispatch => "dispatch",
            Self::Readback => "readback",
            Self::Write => "write",
        }
    }
}

/// The time of each stage.
#[derive(Debug, Default)]
pub(crate) struct Times([Duration; Stage::ALL.len()]);

impl Times {
    /// Runs and times a stage. A progress bar appears if the stage takes long.
    pub(crate) fn measure<R>(&mut self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let outcome = progress::run_stage(stage, work);
        self.add(stage, begin.elapsed());
        outcome
    }

    /// Adds a measured time to a stage.
    pub(crate) fn add(&mut self, stage: Stage, time: impl Into<Duration>) {
        self.0[stage as usize] += time.into();
    }

    /// Returns the time of all stages, in seconds.
    pub(crate) fn total_seconds(&self) -> f64 {
        self.0.iter().sum::<Duration>().as_secs_f64()
    }

    fn named_times(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let seconds = self.0.iter().map(Duration::as_secs_f64);
        Stage::ALL.into_iter().map(Stage::name).zip(seconds)
    }
}

/// Adds up the times of work that is done in steps.
#[derive(Debug, Default)]
pub(crate) struct Timer(Duration);

impl Timer {
    pub(crate) fn measure<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let outcome = work();
        self.0 += begin.elapsed();
        outcome
    }
}

impl From<Timer> for Duration {
    fn from(timer: Timer) -> Self {
        timer.0
    }
}

/// Serializes the seconds of each stage, by its name.
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.named_times())
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (stage, seconds)) in self.named_times().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{stage} {}", units::format_seconds(seconds))?;
        }
        Ok(())
    }
}
