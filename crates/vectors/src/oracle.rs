//! Computes the naive reference's answer to a case.

use crate::reference::{Gathered, ReferenceError, Scattered};
use crate::{
    case::{BadLine, Case, Expectation, Tensor},
    ops::Call,
    step::Step,
};

/// The reference's answer to a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result. Rows of out-of-range tuples are zeros in a gather and are left out in a scatter.
    Tensor {
        /// The result's shape and values.
        tensor: Tensor,
        /// The number of out-of-range index tuples. 0 for operations without index tuples.
        bad_rows: usize,
    },
    /// The reference rejects the call with this error.
    Error(ReferenceError),
}

/// Returns the reference's answer to a case.
///
/// # Errors
///
/// Fails if the case lacks an argument or a tensor, or has an invalid one. The error has the line number.
pub fn answer(case: &Case) -> Result<Answer, BadLine> {
    let call = Call::of(case)?;
    Ok(call.reference_answer().unwrap_or_else(Answer::Error))
}

/// Returns the reference's answer as the expected result in a vector file.
///
/// # Errors
///
/// Fails if the case lacks an argument or a tensor, or has an invalid one. The error has the line number.
pub fn expectation(case: &Case) -> Result<Expectation, BadLine> {
    Ok(into_expectation(
        answer(case)?,
        case.op.drops_invalid_rows(),
    ))
}

/// Returns an answer as an expected result. `drops_invalid_rows` is true for a scatter.
pub(crate) fn into_expectation(answer: Answer, drops_invalid_rows: bool) -> Expectation {
    match answer {
        Answer::Tensor {
            tensor,
            bad_rows: 0,
        } => Expectation::Success(tensor),
        Answer::Tensor { tensor, bad_rows } => Expectation::Error {
            kind: "out_of_range".into(),
            message: format!("{bad_rows} rows are out of range"),
            zero_fill: (!drops_invalid_rows).then(|| tensor.clone()),
            ignore: drops_invalid_rows.then_some(tensor),
        },
        Answer::Error(ReferenceError { kind, message, .. }) => Expectation::Error {
            kind: kind.into(),
            message,
            zero_fill: None,
            ignore: None,
        },
    }
}

/// Returns the tensor that the steps of a view select from `source` in the reference.
pub(crate) fn apply_view_steps(source: &Tensor, steps: &[Step]) -> Result<Tensor, ReferenceError> {
    let whole_array = (source.shape.clone(), source.data.clone());
    let view_values = steps
        .iter()
        .try_fold(whole_array, |array, step| step.of_values(array));
    view_values.map(Tensor::from)
}

/// Returns the answer for a result without out-of-range tuples.
pub(crate) fn answer_in_range(tensor: impl Into<Tensor>) -> Answer {
    Answer::Tensor {
        tensor: tensor.into(),
        bad_rows: 0,
    }
}

impl From<(Vec<usize>, Vec<i64>)> for Tensor {
    fn from((shape, data): (Vec<usize>, Vec<i64>)) -> Self {
        Self { shape, data }
    }
}

pub(crate) fn gather_answer(gathered: Gathered<i64>) -> Answer {
    Answer::Tensor {
        bad_rows: gathered.bad_rows.len(),
        tensor: (gathered.shape, gathered.values).into(),
    }
}

pub(crate) fn scatter_answer(scattered: Scattered<i64>, shape: &[usize]) -> Answer {
    Answer::Tensor {
        bad_rows: scattered.bad_rows.len(),
        tensor: (shape.to_vec(), scattered.values).into(),
    }
}
