//! `wgslice verify --random`: runs random cases on every device. The first failing cases are reduced while they still
//! fail, and are printed as lines that `verify` reads.

use super::{
    Verify,
    summary::{FailedCase, Summary},
};
use crate::progress::ProgressCounter;
use wgslice::Backend;
use wgslice_vectors::{
    Call, Case, Difference, Variant, check,
    random::{answered, case, reduce, variant},
    variants,
};

/// The maximum number of failures that are reduced. Reducing a failure takes thousands of runs, and failures often
/// share a cause.
const MAX_REDUCED_CASES: usize = 5;

/// The maximum number of candidates that are tried to reduce a failing case.
const MAX_TRIES: usize = 4000;

/// Runs `count` cases. Each case runs in one of its variants, the same on every device.
pub(super) fn run_random_cases(
    &Verify { seed, first, .. }: &Verify,
    count: usize,
    devices: &[Backend],
    summary: &mut Summary,
    progress: &ProgressCounter,
) {
    let mut failure_count = 0;
    for number in 0..count {
        // A test ensures that every generated case has an answer and a variant.
        let Ok(case) = answered(case(seed, number)) else {
            continue;
        };
        let Some(variant) = variant(&case) else {
            continue;
        };
        for device in devices {
            if first && !summary.all_passed() {
                return;
            }
            progress.advance_by(1);
            let Some(problem) = describe_fault(&case, device, &variant) else {
                summary.passed += 1;
                continue;
            };
            failure_count += 1;
            let (problem, smallest_line) = match failure_count {
                ..=MAX_REDUCED_CASES if !first => {
                    let (smallest_case, problem) = reduce_case(&case, device, &variant, problem);
                    (problem, Some(smallest_case.to_line()))
                }
                _ => (problem, None),
            };
            summary.add_failure(FailedCase {
                file: format!("seed {seed}"),
                line: number,
                op: case.op.name(),
                device: device.to_string(),
                difference: Difference {
                    variant: variant.to_string(),
                    problem,
                },
                case: smallest_line,
            });
        }
    }
}

/// Runs this variant of a case on the device, and describes the fault of the result. Returns `None` if the result is
/// correct or if the case has no such variant.
fn describe_fault(case: &Case, device: &Backend, variant: &Variant) -> Option<String> {
    let call = Call::of(case).ok()?;
    let has_variant = variants(case, &call).contains(variant);
    has_variant.then(|| check(case, &call, device, variant).err())?
}

/// Reduces a failing case. Returns the smaller case and the fault of its result.
fn reduce_case(
    case: &Case,
    device: &Backend,
    variant: &Variant,
    problem: String,
) -> (Case, String) {
    let smallest_case = reduce(case, MAX_TRIES, |case| {
        let case = answered(case.clone());
        case.is_ok_and(|case| describe_fault(&case, device, variant).is_some())
    });
    let smallest_case = answered(smallest_case).unwrap_or_else(|_| case.clone());
    let problem = describe_fault(&smallest_case, device, variant).unwrap_or(problem);
    (smallest_case, problem)
}
