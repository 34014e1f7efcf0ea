//! `wgslice verify --random`: cases made by chance, answered by the naive reference, and run on every
//! device. A case that fails is made smaller as long as it fails, and printed as a line that `verify`
//! reads.
//!
//! | file | decides |
//! |---|---|
//! | `generate` | which cases there are |
//! | `draw` | which shapes, values, bounds and indices they have |
//! | `reduce` | how a failing one becomes small |

mod draw;
mod generate;
mod reduce;

use super::{
    call::Call,
    case::Case,
    judge::{self, Difference},
    operation::{self, Variant},
    oracle,
    summary::{Failed, Summary},
};
use crate::progress::Counter;
use fastrand::Rng;
use wgslice::Backend;

/// Failing cases that are made smaller. That takes thousands of runs, and many have one cause.
const REDUCED: usize = 5;

/// Runs `count` cases, each on every device in one of its ways.
pub(super) fn run(
    seed: u64,
    count: usize,
    devices: &[Backend],
    summary: &mut Summary,
    progress: &Counter,
) {
    let mut reduced = 0;
    for number in 0..count {
        // Every case of the generator has an answer, and ways to run it: a test says so.
        let Some(case) = answered(generate::case(seed, number)) else {
            continue;
        };
        let Some(variant) = Rng::with_seed(number as u64).choice(variants(&case)) else {
            continue;
        };
        for device in devices {
            progress.advance(1);
            let Some(problem) = wrong(&case, device, &variant) else {
                summary.passed += 1;
                continue;
            };
            reduced += 1;
            let (problem, smallest) = match reduced {
                ..=REDUCED => {
                    let (smallest, problem) = smallest(&case, device, &variant, problem);
                    (problem, Some(smallest.to_line()))
                }
                _ => (problem, None),
            };
            summary.fail(Failed {
                file: format!("seed {seed}"),
                line: number,
                op: case.op.clone(),
                device: device.to_string(),
                difference: Difference {
                    variant: variant.to_string(),
                    problem,
                },
                case: smallest,
            });
        }
    }
}

/// The case, with what the reference says of it.
fn answered(mut case: Case) -> Option<Case> {
    case.expected = oracle::expectation(&case).ok()??;
    Some(case)
}

/// The ways to run it.
fn variants(case: &Case) -> Vec<Variant> {
    match Call::of(case) {
        Ok(Some(call)) => operation::variants(case, &call),
        _ => Vec::new(),
    }
}

/// What is wrong with what the device makes of a case. Nothing where it cannot be run in this way.
fn wrong(case: &Case, device: &Backend, variant: &Variant) -> Option<String> {
    let call = Call::of(case).ok()??;
    let runs = operation::variants(case, &call).contains(variant);
    runs.then(|| judge::check(case, &call, device, variant).err())?
}

/// The case made smaller, and what is then wrong with it.
fn smallest(case: &Case, device: &Backend, variant: &Variant, problem: String) -> (Case, String) {
    let smallest = reduce::reduce(case, |case| {
        let case = answered(case.clone());
        case.is_some_and(|case| wrong(&case, device, variant).is_some())
    });
    let smallest = answered(smallest).unwrap_or_else(|| case.clone());
    let problem = wrong(&smallest, device, variant).unwrap_or(problem);
    (smallest, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::case::{self, Expectation};
    use std::collections::BTreeSet;

    #[test]
    fn every_case_has_an_answer_and_a_way_to_run() {
        let mut operations = BTreeSet::new();
        let mut good = 0;
        for number in 0..3000 {
            let case = generate::case(7, number);
            let answered = answered(case.clone()).unwrap_or_else(|| panic!("{}", case.to_line()));
            assert!(!variants(&answered).is_empty(), "{}", case.to_line());
            let succeeds = matches!(answered.expected, Expectation::Success(_));
            good += usize::from(succeeds);
            operations.insert(case.op);
        }
        assert_eq!(operations.len(), 11, "{operations:?}");
        // Enough errors that they are compared too, and not so many that little else is.
        assert!((1500..2900).contains(&good), "{good}");
    }

    #[test]
    fn a_case_is_the_same_whatever_came_before() {
        let line = |seed, number| generate::case(seed, number).to_line();
        assert_eq!(line(1, 17), line(1, 17));
        assert_ne!(line(1, 17), line(2, 17));
        assert_ne!(line(1, 17), line(1, 18));
    }

    #[test]
    fn lines_are_read_back() {
        for number in 0..300 {
            let case = answered(generate::case(3, number)).unwrap();
            let line = case.to_line();
            let read = case::parse(&line).next().unwrap().unwrap();
            assert_eq!(read.to_line(), line);
            assert_eq!(oracle::expectation(&read).unwrap().unwrap(), case.expected);
        }
    }

    /// A fault that is known: whatever selects element 3 of an axis comes out wrong.
    #[test]
    fn what_fails_becomes_small() {
        let fails = |case: &Case| {
            let Some(case) = answered(case.clone()) else {
                return false;
            };
            let begin = case.arguments().integers("begin").unwrap_or_default();
            matches!(case.expected, Expectation::Success(_)) && begin.contains(&3)
        };
        let mut reduced = 0;
        for number in 0..2000 {
            let case = generate::case(5, number);
            if case.op == "strided_slice" && fails(&case) {
                let smallest = reduce::reduce(&case, fails);
                assert_eq!(smallest.arguments().integers("begin").unwrap(), [3]);
                assert_eq!(smallest.tensor("input").unwrap().shape.len(), 1);
                reduced += 1;
            }
        }
        assert!(reduced > 5, "{reduced}");
    }
}
