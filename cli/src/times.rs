//! The stages of a run, and how long each took.

use crate::{failure::Failure, progress};
use serde::{Serialize, Serializer};
use std::{
    fmt,
    time::{Duration, Instant},
};

/// What a run does, in this order. On the CPU nothing is uploaded or read back, and a file that is
/// mapped into memory is read while it is worked on.
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
    pub(crate) fn measure<R>(
        &mut self,
        stage: Stage,
        work: impl FnOnce() -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let begin = Instant::now();
        let outcome = progress::shown(stage, work);
        self.0[stage as usize] = begin.elapsed();
        outcome
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let seconds = self.0.iter().map(Duration::as_secs_f64);
        Stage::ALL.into_iter().map(Stage::name).zip(seconds)
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
