//! Defines the kinds of times, and repeats and stores measurements.

use serde::Serialize;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use wgslice::Error;

/// A kind of time that is measured for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    First,
    Resident,
    Copy,
    Loop,
    HostToHost,
    Tensors,
    Upload,
    Readback,
}

impl Quantity {
    pub(crate) const ALL: [Self; 8] = [
        Self::First,
        Self::Resident,
        Self::Copy,
        Self::Loop,
        Self::HostToHost,
        Self::Tensors,
        Self::Upload,
        Self::Readback,
    ];

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::First => "the first run, which on a device compiles the shader",
            Self::Resident => "data in the device's memory, into an existing output",
            Self::Copy => {
                "a plain copy of as many bytes on the device; on the CPU, on one thread or all, whichever is faster"
            }
            Self::Loop => "plain loops that a user would write, on one thread",
            Self::HostToHost => "from host memory to new host memory",
            Self::Tensors => "from tensors to a new tensor, in the memory of an earlier one",
            Self::Upload => "data and indices from the host to the device",
            Self::Readback => "the result from the device to new host memory",
        }
    }
}

/// The times of a workload on a device.
pub(crate) type TimesByQuantity = BTreeMap<Quantity, Times>;

/// The bytes of a run's result, if they are on the host. Otherwise empty.
pub(crate) type Output = Box<dyn AsRef<[u8]>>;

/// Returns the empty output of a run whose result stays in other memory.
pub(crate) fn no_output() -> Output {
    Box::new([0; 0])
}

/// The reason why a workload has no valid measurement.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) text: String,
    /// True if the result was wrong. If not, an error ended the measurement.
    pub(crate) is_wrong: bool,
}

impl Problem {
    pub(crate) fn wrong_result(text: impl ToString) -> Self {
        let (text, is_wrong) = (text.to_string(), true);
        Self { text, is_wrong }
    }

    pub(crate) fn other_problem(text: impl ToString) -> Self {
        let (text, is_wrong) = (text.to_string(), false);
        Self { text, is_wrong }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::other_problem(error)
    }
}

/// The times of a workload on a device, or the reason why there are none.
pub(crate) type Measured = Result<TimesByQuantity, Problem>;

/// The times of the runs in seconds, in the order of the runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) times: Vec<f64>,
}

impl Times {
    pub(crate) fn new(times: Vec<f64>) -> Self {
        Self {
            median: median_of(times.clone()).unwrap_or(f64::NAN),
            times,
        }
    }
}

/// Returns the median, which is the mean of the two middle numbers if the number of numbers is even. Returns `None` if
/// there are no numbers.
pub(crate) fn median_of(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let upper_middle = *numbers.get(numbers.len() / 2)?;
    Some((numbers[(numbers.len() - 1) / 2] + upper_middle) / 2.0)
}

/// A call that is timed.
pub(crate) type TimedRun<'a> = Box<dyn FnMut() -> Result<Output, Problem> + 'a>;

/// Warms up each of `runs` in two rounds. The first round of [`Quantity::Resident`] gives [`Quantity::First`]. Then
/// times all runs alternately in `reps` rounds, so that disturbances of the machine affect all of them alike. Calls
/// `check` with the results of the warm-up and of the last round. Results are checked and dropped after the clock has
/// stopped. Short runs are repeated before the clock is read again.
pub(crate) fn measure_alternately(
    reps: usize,
    runs: Vec<(Quantity, TimedRun<'_>)>,
    mut check: impl FnMut(Quantity, &[u8]) -> Result<(), Problem>,
) -> Measured {
    const WARM_UP_ROUNDS: usize = 2;
    /// The minimum time that is measured. It is long compared with reading the clock, and with the effect of caches
    /// that other runs have filled.
    const MIN_DURATION: Duration = Duration::from_millis(1);
    const MAX_CALLS: u128 = 1000;
    let mut times_by_quantity: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    let mut runs: Vec<_> = runs
        .into_iter()
        .map(|(quantity, run)| (quantity, run, 1))
        .collect();
    for round in 0..WARM_UP_ROUNDS + reps {
        for (quantity, run, calls_per_round) in &mut runs {
            let mut outputs = Vec::with_capacity(*calls_per_round);
            let begin = Instant::now();
            for _ in 0..*calls_per_round {
                outputs.push(run()?);
            }
            let time = begin.elapsed();
            if round < WARM_UP_ROUNDS || round + 1 == WARM_UP_ROUNDS + reps {
                let last_output = outputs.last();
                check(
                    *quantity,
                    last_output.map_or(&[], |output| (**output).as_ref()),
                )?;
            }
            let seconds = time.as_secs_f64() / outputs.len() as f64;
            let mut record_time =
                |quantity| times_by_quantity.entry(quantity).or_default().push(seconds);
            match round {
                0 if *quantity == Quantity::Resident => record_time(Quantity::First),
                0 => {}
                1 => {
                    let call_count = MIN_DURATION.as_nanos() / time.as_nanos().max(1);
                    *calls_per_round = usize::try_from(call_count.clamp(1, MAX_CALLS)).unwrap_or(1);
                }
                _ => record_time(*quantity),
            }
        }
    }
    let times_by_quantity = times_by_quantity.into_iter();
    Ok(times_by_quantity
        .map(|(quantity, times)| (quantity, Times::new(times)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, thread};

    #[test]
    fn medians_are_numpys() {
        assert_eq!(median_of(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median_of(vec![2.0, 9.0, 1.0]), Some(2.0));
        assert_eq!(median_of(vec![]), None);
    }

    #[test]
    fn runs_alternate_and_are_checked_at_both_ends() {
        let call_log = RefCell::new(String::new());
        let work = |name: char| {
            let call_log = &call_log;
            Box::new(move || {
                thread::sleep(Duration::from_millis(2));
                call_log.borrow_mut().push(name);
                Ok(Box::new([7u8]) as Output)
            })
        };
        let runs: Vec<(Quantity, TimedRun<'_>)> =
            vec![(Quantity::Copy, work('c')), (Quantity::Resident, work('r'))];
        let check = |_, bytes: &[u8]| {
            assert_eq!(bytes, [7]);
            call_log.borrow_mut().push('!');
            Ok(())
        };
        let times = measure_alternately(3, runs, check).expect("no problem");
        assert_eq!(*call_log.borrow(), "c!r!c!r!crcrc!r!");
        let quantities = [Quantity::First, Quantity::Copy, Quantity::Resident];
        assert_eq!(
            quantities.map(|quantity| times[&quantity].times.len()),
            [1, 3, 3]
        );
        assert!(times.values().all(|times| times.median >= 2e-3));
    }
}
