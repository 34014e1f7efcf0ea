//! Compares results with expectations.

use crate::{
    case::{Case, Expectation, Tensor},
    kind::kind,
    ops::{Call, Operation},
    oracle::{self, Answer},
    variant::{self, Outcome, Variant},
};
use wgslice::{Backend, Error, options::OutOfRange};

/// The first variant of a case that gave a wrong result.
#[derive(Debug, serde::Serialize)]
pub struct Difference {
    /// The variant that gave the result, as text.
    pub variant: String,
    /// How the result differs from the expected one.
    pub problem: String,
}

/// The tags of errors with which TensorFlow reports limits that wgslice does not have.
const LIFTED_LIMITS: [&str; 3] = [
    "empty_unsupported",
    "index_depth_unsupported",
    "rank_unsupported",
];

/// Runs a case on a device in each of its variants, until one gives a wrong result.
///
/// # Errors
///
/// Fails with the first wrong result.
pub fn check_all(case: &Case, call: &Call<'_>, device: &Backend) -> Result<(), Difference> {
    for variant in variant::variants(case, call) {
        check(case, call, device, &variant).map_err(|problem| Difference {
            variant: variant.to_string(),
            problem,
        })?;
    }
    Ok(())
}

/// Runs a case on a device in one variant, and compares the result with the expected one.
///
/// # Errors
///
/// Fails with a description of the difference.
pub fn check(
    case: &Case,
    call: &Call<'_>,
    device: &Backend,
    variant: &Variant,
) -> Result<(), String> {
    judge(
        case,
        call,
        device,
        variant,
        variant::run(call, device, variant),
    )
}

/// Compares `outcome`, the result of a case on a device in one variant, with the expected result.
///
/// # Errors
///
/// Fails with a description of the difference.
pub fn judge(
    case: &Case,
    call: &Call<'_>,
    device: &Backend,
    variant: &Variant,
    outcome: Result<Outcome, Error>,
) -> Result<(), String> {
    let is_beyond_bindings = case.op == Operation::Convert
        && matches!(outcome, Err(Error::DeviceLimit { .. }))
        && !device.is_cpu();
    if is_beyond_addresses(&outcome) || is_beyond_shaders(&outcome, device) || is_beyond_bindings {
        return Ok(());
    }
    let bad_count = outcome.as_ref().map_or(0, |outcome| outcome.bad);
    match &case.expected {
        Expectation::Error { kind, .. } if LIFTED_LIMITS.contains(&kind.as_str()) => {
            judge_lifted_limit(case, call, device, variant, outcome)
        }
        expected => check_expected(expected, variant, outcome),
    }?;
    // A vector only records that tuples are out of range. The reference counts them.
    if bad_count > 0
        && let Ok(Answer::Tensor { bad_rows, .. }) = call.reference_answer()
        && bad_count != bad_rows
    {
        return Err(format!(
            "{bad_count} tuples are reported out of range, but {bad_rows} are"
        ));
    }
    Ok(())
}

/// Returns whether a shape was correctly rejected as too large for 32-bit addresses. The product of its sizes other
/// than 0 must be at least 2^27, which is 2^31 bytes in elements of 16 bytes. Always false if addresses are longer.
fn is_beyond_addresses(outcome: &Result<Outcome, Error>) -> bool {
    let Err(Error::ShapeTooLarge { shape }) = outcome else {
        return false;
    };
    let sizes = shape.iter().filter(|&&size| size > 0);
    cfg!(target_pointer_width = "32")
        && sizes.map(|&size| size as f64).product::<f64>() >= 2_f64.powi(27)
}

/// Returns whether a GPU refused to compute with elements of a type, or to convert them. Other tests check which types
/// GPUs reject.
fn is_beyond_shaders(outcome: &Result<Outcome, Error>, device: &Backend) -> bool {
    let is_refused = matches!(
        outcome,
        Err(Error::DTypeOnDevice { .. } | Error::ConversionOnDevice { .. })
    );
    is_refused && !device.is_cpu()
}

fn check_expected(
    expected: &Expectation,
    variant: &Variant,
    outcome: Result<Outcome, Error>,
) -> Result<(), String> {
    // True if the call succeeds even if a tuple is out of range. This includes clamping, because an index into an empty
    // dimension cannot be clamped and stays out of range.
    let tolerates_bad_tuples = variant
        .indices
        .is_some_and(|(_, policy)| policy != OutOfRange::Error);
    match (expected, outcome) {
        (Expectation::Success(tensor), Ok(outcome)) => {
            check_same(tensor, &outcome)?;
            match outcome.bad {
                0 => Ok(()),
                bad_count => Err(format!(
                    "{bad_count} tuples are reported out of range, but none is"
                )),
            }
        }
        (
            Expectation::Error {
                zero_fill: Some(tolerant_result),
                ..
            }
            | Expectation::Error {
                ignore: Some(tolerant_result),
                ..
            },
            Ok(outcome),
        ) if tolerates_bad_tuples => {
            check_same(tolerant_result, &outcome)?;
            match outcome.bad {
                0 => Err("no tuple is reported out of range, but some are".into()),
                _ => Ok(()),
            }
        }
        // Vector files have no result for a `gather` along an axis of size 0. Every element of that result is 0.
        (
            Expectation::Error {
                kind,
                zero_fill: None,
                ignore: None,
                ..
            },
            Ok(outcome),
        ) if tolerates_bad_tuples && kind == "out_of_range" => {
            match (outcome.values.iter().all(|&value| value == 0), outcome.bad) {
                (true, 1..) => Ok(()),
                (true, 0) => Err("no tuple is reported out of range, but some are".into()),
                (false, _) => Err("expected zeros, got other values".into()),
            }
        }
        (Expectation::Success(tensor), Err(error)) => {
            let (shape, kind) = (&tensor.shape, kind(&error));
            Err(format!(
                "expected a result of shape {shape:?}, got the error {kind}: {error}"
            ))
        }
        (
            Expectation::Error {
                zero_fill: Some(_), ..
            }
            | Expectation::Error {
                ignore: Some(_), ..
            },
            Err(error),
        ) if tolerates_bad_tuples => {
            let kind = kind(&error);
            Err(format!(
                "expected the result without the bad rows, got the error {kind}: {error}"
            ))
        }
        (
            Expectation::Error {
                kind: expected,
                message,
                ..
            },
            Ok(outcome),
        ) => {
            let shape = outcome.shape;
            Err(format!(
                "expected the error {expected} ({message}), got a result of shape {shape:?}"
            ))
        }
        (Expectation::Error { kind: expected, .. }, Err(error)) => match kind(&error) {
            kind if kind == expected => Ok(()),
            kind => Err(format!(
                "expected the error {expected}, got {kind}: {error}"
            )),
        },
    }
}

/// Judges a case that is an error only because of a limit of TensorFlow. The reference has no such limit and gives the
/// expected result. A device other than the CPU can also report its own limit.
fn judge_lifted_limit(
    case: &Case,
    call: &Call<'_>,
    device: &Backend,
    variant: &Variant,
    outcome: Result<Outcome, Error>,
) -> Result<(), String> {
    if matches!(outcome, Err(Error::DeviceLimit { .. })) && !device.is_cpu() {
        return Ok(());
    }
    let answer = call.reference_answer().unwrap_or_else(Answer::Error);
    check_expected(
        &oracle::into_expectation(answer, case.op.drops_invalid_rows()),
        variant,
        outcome,
    )
}

fn check_same(expected: &Tensor, outcome: &Outcome) -> Result<(), String> {
    if expected.shape != outcome.shape {
        return Err(shape_difference(&expected.shape, &outcome.shape));
    }
    let values: Vec<i128> = expected.data.iter().copied().map(i128::from).collect();
    check_same_values(&expected.shape, &values, &outcome.values)
}

fn shape_difference(expected: &[usize], actual: &[usize]) -> String {
    format!("expected the shape {expected:?}, got {actual:?}")
}

fn check_same_values(shape: &[usize], expected: &[i128], actual: &[i128]) -> Result<(), String> {
    if expected.len() != actual.len() {
        let (expected, actual) = (expected.len(), actual.len());
        return Err(format!("expected {expected} elements, got {actual}"));
    }
    match expected
        .iter()
        .zip(actual)
        .position(|(expected, actual)| expected != actual)
    {
        None => Ok(()),
        Some(position) => {
            let (expected, actual) = (expected[position], actual[position]);
            let element = coordinates_of(position, shape);
            Err(format!(
                "element {element:?}: expected {expected}, got {actual}"
            ))
        }
    }
}

fn coordinates_of(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, &size) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = position % size.max(1);
        position /= size.max(1);
    }
    coordinates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_beyond_a_limit_of_tensorflow_is_judged_by_the_reference() {
        let cpu = Backend::cpu();
        let mut judged_count = 0;
        for case in crate::parse(include_str!("../../../tests/vectors/seed1.jsonl")) {
            let case = case.expect("a case");
            let Expectation::Error { kind, .. } = &case.expected else {
                continue;
            };
            if !LIFTED_LIMITS.contains(&kind.as_str()) {
                continue;
            }
            let call = Call::of(&case).expect("a call");
            for variant in variant::variants(&case, &call) {
                let run = || variant::run(&call, &cpu, &variant);
                assert_eq!(judge(&case, &call, &cpu, &variant, run()), Ok(()));
                let Ok(mut wrong_outcome) = run() else {
                    continue;
                };
                wrong_outcome.bad += 1;
                let verdict = judge(&case, &call, &cpu, &variant, Ok(wrong_outcome));
                assert!(verdict.is_err(), "line {}, {variant}", case.line);
                let mut wrong_outcome = run().expect("a result");
                if let Some(value) = wrong_outcome.values.first_mut() {
                    *value += 1;
                    judged_count += 1;
                    let verdict = judge(&case, &call, &cpu, &variant, Ok(wrong_outcome));
                    assert!(verdict.is_err(), "line {}, {variant}", case.line);
                }
            }
        }
        assert!(judged_count > 0);
    }
}
