//! Repeated times of the same work, and their statistics.

use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::time::{Duration, Instant};

/// The most untimed runs at the beginning.
const WARM_UP: usize = 2;

/// How often work is timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) reps: usize,
    /// The time after which three timed runs are enough. It counts from the first untimed run.
    pub(crate) patience: Duration,
}

impl Effort {
    /// Demands exactly this many timed runs.
    pub(crate) fn times(reps: usize) -> Self {
        let patience = Duration::MAX;
        Self { reps, patience }
    }

    /// Limits the number of timed runs to at most this many.
    #[cfg(feature = "gpu")]
    pub(crate) fn at_most(self, reps: usize) -> Self {
        Self {
            reps: self.reps.min(reps),
            ..self
        }
    }
}

/// The times of the runs in seconds, in the order of the runs. There is at least one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// Makes the times of one run.
    #[cfg(all(test, feature = "gpu"))]
    pub(crate) fn of(seconds: f64) -> Self {
        Self(vec![seconds])
    }

    pub(crate) fn each(&self) -> &[f64] {
        &self.0
    }

    /// Divides each time by `by`: the time of `by` repetitions becomes that of one.
    #[cfg(feature = "gpu")]
    pub(crate) fn divided(self, by: usize) -> Self {
        Self(self.0.into_iter().map(|time| time / by as f64).collect())
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the first and the third quartile. The middle half of all times lies between them.
    pub(crate) fn quartiles(&self) -> [f64; 2] {
        [0.25, 0.75].map(|part| self.quantile(part))
    }

    /// Returns the time below which the fraction `part` of all times lies, interpolated as NumPy does.
    fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let below = (0..last).rev().find(|&at| at as f64 <= part * last as f64);
        let below = below.unwrap_or(0);
        let [low, high] = [below, (below + 1).min(last)].map(|at| sorted[at]);
        low + (high - low) * (part * last as f64 - below as f64)
    }

    fn extremes(&self) -> [f64; 2] {
        let low = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        [low, self.0.iter().copied().fold(0.0, f64::max)]
    }
}

/// Makes `Times` of a single run.
impl From<Duration> for Times {
    fn from(time: Duration) -> Self {
        Self(vec![time.as_secs_f64()])
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ([q1, q3], [min, max]) = (self.quartiles(), self.extremes());
        let mut times = serializer.serialize_struct("Times", 6)?;
        times.serialize_field("median", &self.median())?;
        times.serialize_field("q1", &q1)?;
        times.serialize_field("q3", &q3)?;
        times.serialize_field("min", &min)?;
        times.serialize_field("max", &max)?;
        times.serialize_field("times", &self.0)?;
        times.end()
    }
}

/// Runs `work` up to twice untimed, then times it up to `effort.reps` times. What a run returns is dropped after the
/// clock has stopped.
pub(crate) fn timed<R, E>(
    effort: Effort,
    mut work: impl FnMut() -> Result<R, E>,
) -> Result<Times, E> {
    let [times] = split(effort, || {
        let begin = Instant::now();
        let outcome = work()?;
        Ok((outcome, [begin.elapsed()]))
    })?;
    Ok(times)
}

/// Repeats work that times its own `N` stages, and collects the times of each stage.
pub(crate) fn split<R, E, const N: usize>(
    effort: Effort,
    mut work: impl FnMut() -> Result<(R, [Duration; N]), E>,
) -> Result<[Times; N], E> {
    const ENOUGH: usize = 3;
    let begin = Instant::now();
    for _ in 0..WARM_UP.min(effort.reps) {
        work()?;
        if begin.elapsed() > effort.patience {
            break;
        }
    }
    let mut all = [const { Vec::new() }; N];
    for done in 0..effort.reps {
        if done >= ENOUGH && begin.elapsed() > effort.patience {
            break;
        }
        let (outcome, times) = work()?;
        drop(outcome);
        for (all, time) in all.iter_mut().zip(times) {
            all.push(time.as_secs_f64());
        }
    }
    Ok(all.map(Times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        let times = Times(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(times.median(), 2.5);
        assert_eq!(times.quartiles(), [1.75, 3.25]);
        assert_eq!(times.extremes(), [1.0, 4.0]);
        let one = Times(vec![7.0]);
        assert_eq!((one.median(), one.quartiles()), (7.0, [7.0, 7.0]));
        let three = Times(vec![1.0, 2.0, 9.0]);
        assert_eq!((three.median(), three.quartiles()), (2.0, [1.5, 5.5]));
    }

    #[test]
    fn impatience_ends_after_three() {
        let effort = Effort {
            reps: 100,
            patience: Duration::ZERO,
        };
        let mut runs = 0;
        let times = timed(effort, || {
            runs += 1;
            Ok::<_, ()>(())
        });
        assert_eq!((times.expect("it never fails").each().len(), runs), (3, 4));
    }

    #[test]
    fn the_first_error_ends_it() {
        let mut runs = 0;
        let outcome = timed(Effort::times(5), || {
            runs += 1;
            if runs == 4 { Err(runs) } else { Ok(()) }
        });
        assert_eq!(outcome, Err(4));
    }
}
