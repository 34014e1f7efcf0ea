//! The stages of a run, and how long each took.

use crate::progress;
use serde::{Serialize, Serializer};
use std::{
    fmt,
    time::{Duration, Instant},
};

/// What a run does, in this order, or piece by piece: then the times are those of the host, and the
/// device works meanwhile. On the CPU nothing is uploaded or read back, and a file that is mapped into
/// memory is read while it is worked on.
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

/// How long each stage took.
#[derive(Debug, Default)]
pub(crate) struct Times([Duration; Stage::ALL.len()]);

impl Times {
    /// Does the work of a stage, showing that it is under way if it takes long.
    pub(crate) fn measure<R>(&mut self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let outcome = progress::shown(stage, work);
        self.add(stage, begin.elapsed());
        outcome
    }

    /// Adds time that was measured elsewhere.
    pub(crate) fn add(&mut self, stage: Stage, time: impl Into<Duration>) {
        self.0[stage as usize] += time.into();
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let seconds = self.0.iter().map(Duration::as_secs_f64);
        Stage::ALL.into_iter().map(Stage::name).zip(seconds)
    }
}

/// Adds up the time of work that is done bit by bit.
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

/// Seconds by the names of the stages.
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each())
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (stage, seconds)) in self.each().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            if seconds < 1.0 {
                write!(f, "{comma}{stage} {:.1} ms", seconds * 1e3)?;
            } else {
                write!(f, "{comma}{stage} {seconds:.2} s")?;
            }
        }
        Ok(())
    }
}
