//! Random cases, answered by the naive reference, and the reduction of failing ones.
//!
//! | file | content |
//! |---|---|
//! | `draw` | the shapes, values, bounds and indices of cases |
//! | `rng` | the random numbers, which are the same on every machine |
//! | `reduce` | the reduction of a failing case |

pub(crate) mod draw;
mod reduce;
mod rng;

pub use reduce::reduce;
pub(crate) use rng::Rng;

use crate::{BadLine, Call, Case, Operation, Variant, oracle, variants};
use std::iter::repeat_n;

/// Returns case `number` of a seed's sequence. It does not depend on the cases before it.
pub fn case(seed: u64, number: usize) -> Case {
    let mut rng = rng(seed, number);
    let weighted = |&operation: &Operation| repeat_n(operation, operation.random_weight());
    let operations: Vec<_> = Operation::ALL.iter().flat_map(weighted).collect();
    make_case(operations[rng.usize(..operations.len())], &mut rng, number)
}

/// Returns case `number` of a seed's sequence for this operation.
pub fn case_of(operation: Operation, seed: u64, number: usize) -> Case {
    make_case(operation, &mut rng(seed, number), number)
}

/// Returns the generator for case `number`. The number is added to a random number made from the seed, so that
/// neighbouring seeds give unrelated cases.
fn rng(seed: u64, number: usize) -> Rng {
    let mut rng = Rng::with_seed(seed);
    Rng::with_seed(rng.u64().wrapping_add(number as u64))
}

fn make_case(operation: Operation, rng: &mut Rng, number: usize) -> Case {
    let mut case = operation.random_case(rng);
    case.line = number;
    case
}

/// Sets the expected result of a case to the reference's answer.
///
/// # Errors
///
/// Fails if the case lacks an argument or a tensor of its operation, or has an invalid one.
pub fn answered(mut case: Case) -> Result<Case, BadLine> {
    case.expected = oracle::expectation(&case)?;
    Ok(case)
}

/// Returns one of the variants of a case. The choice depends only on the case's number. `None` if the case is invalid
/// or has no variant.
pub fn variant(case: &Case) -> Option<Variant> {
    let call = Call::of(case).ok()?;
    let mut rng = Rng::with_seed(case.line as u64);
    let mut variants = variants(case, &call);
    // The library has the most special paths for elements smaller than a word, so at least half of the cases, if
    // possible, have such elements.
    let is_small = |variant: &Variant| variant.dtype.size() < 4;
    if rng.bool() && variants.iter().any(is_small) {
        variants.retain(is_small);
    }
    rng.choose(variants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expectation, Operation, parse};
    use std::collections::BTreeSet;

    #[test]
    fn every_case_has_an_answer_and_a_variant() {
        let mut operations = BTreeSet::new();
        let mut success_count = 0;
        for number in 0..3000 {
            let case = case(7, number);
            let answered_case =
                answered(case.clone()).unwrap_or_else(|bad| panic!("{bad}: {}", case.to_line()));
            assert!(variant(&answered_case).is_some(), "{}", case.to_line());
            let succeeds = matches!(answered_case.expected, Expectation::Success(_));
            success_count += usize::from(succeeds);
            operations.insert(case.op);
        }
        assert!(operations.iter().eq(Operation::ALL));
        // At least half of the cases succeed, and at least 100 are errors.
        assert!((1500..2900).contains(&success_count), "{success_count}");
    }

    #[test]
    fn shapes_are_small_without_their_empty_dimensions() {
        let mut rng = Rng::with_seed(3);
        for _ in 0..10_000 {
            let mut shape = draw::draw_shape(&mut rng, 8, 0);
            shape.retain(|&size| size > 0);
            assert!(
                shape.iter().product::<usize>() <= draw::MAX_ELEMENTS,
                "{shape:?}"
            );
        }
    }

    #[test]
    fn a_case_depends_only_on_its_seed_and_number() {
        let line = |seed, number| case(seed, number).to_line();
        assert_eq!(line(1, 17), line(1, 17));
        assert_ne!(line(1, 17), line(2, 17));
        assert_ne!(line(1, 17), line(1, 18));
    }

    #[test]
    fn lines_are_read_back() {
        for number in 0..300 {
            let case = answered(case(3, number)).unwrap();
            let line = case.to_line();
            let reparsed_case = parse(&line).next().unwrap().unwrap();
            assert_eq!(reparsed_case.to_line(), line);
            assert_eq!(oracle::expectation(&reparsed_case).unwrap(), case.expected);
        }
    }

    /// Reduces cases that an assumed bug makes fail: every valid slice with a 3 in `begin` gives a wrong result.
    #[test]
    fn failing_cases_are_reduced() {
        let fails = |case: &Case| {
            let Ok(case) = answered(case.clone()) else {
                return false;
            };
            let begin = case.arguments().integers("begin").unwrap_or_default();
            matches!(case.expected, Expectation::Success(_)) && begin.contains(&3)
        };
        let mut reduced_count = 0;
        for number in 0..2000 {
            let case = case(5, number);
            if case.op == Operation::StridedSlice && fails(&case) {
                let reduced_case = reduce(&case, 4000, fails);
                assert_eq!(reduced_case.arguments().integers("begin").unwrap(), [3]);
                // A new axis has an entry in `begin`, but needs no dimension.
                assert!(reduced_case.tensor("input").unwrap().shape.len() <= 1);
                reduced_count += 1;
            }
        }
        assert!(reduced_count > 5, "{reduced_count}");
    }
}
