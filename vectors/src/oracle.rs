//! The answer of the naive reference to a case.

use crate::{
    call::{Call, Params},
    case::{BadLine, Case, Expectation, Tensor},
    step::{Step, spec_of},
};
use wgslice::reference::{self, Gathered, ReferenceError, Scattered};

/// The outcome of an operation. Bad rows are zeros, or dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result.
    Tensor {
        /// The result.
        tensor: Tensor,
        /// The number of out-of-range index tuples.
        bad_rows: usize,
    },
    /// No result.
    Error(ReferenceError),
}

type Answered = Result<Answer, ReferenceError>;

/// The reference's answer.
///
/// # Errors
///
/// An error with the line number.
pub fn answer(case: &Case) -> Result<Answer, BadLine> {
    let call = Call::of(case)?;
    Ok(run(&call).unwrap_or_else(Answer::Error))
}

fn run(call: &Call<'_>) -> Answered {
    match call {
        Call::StridedSlice { input, spec } => {
            let sliced = reference::strided_slice(&input.data, &input.shape, &spec_of(spec))?;
            Ok(good(sliced.into()))
        }
        Call::View { input, steps } => viewed(input, steps).map(good),
        Call::Slice { input, begin, size } => {
            let sliced = reference::slice(&input.data, &input.shape, begin, size)?;
            Ok(good(sliced.into()))
        }
        Call::StridedSliceGrad { shape, spec, dy } => {
            let data = reference::strided_slice_grad(shape, &spec_of(spec), &dy.data, &dy.shape)?;
            Ok(good((shape.clone(), data).into()))
        }
        Call::StridedSliceUpdate { input, spec, value } => {
            let data = reference::strided_slice_update(
                &input.data,
                &input.shape,
                &spec_of(spec),
                &value.data,
                &value.shape,
            )?;
            Ok(good((input.shape.clone(), data).into()))
        }
        Call::GatherNd {
            params,
            indices: Tensor { shape, data },
            batch_dims,
            indexing,
        } => {
            let params = params.materialised()?;
            let (values, from) = (&params.data, &params.shape);
            reference::gather_nd(values, from, data, shape, *batch_dims, *indexing).map(gathered)
        }
        Call::Gather {
            params,
            indices: Tensor { shape, data },
            axis,
            batch_dims,
            indexing,
        } => {
            let params = params.materialised()?;
            let (values, from) = (&params.data, &params.shape);
            reference::gather(values, from, data, shape, *axis, *batch_dims, *indexing)
                .map(gathered)
        }
        Call::BatchGather {
            params,
            indices: Tensor { shape, data },
            indexing,
        } => {
            let params = params.materialised()?;
            let (values, from) = (&params.data, &params.shape);
            reference::batch_gather(values, from, data, shape, *indexing).map(gathered)
        }
        Call::ScatterNd {
            indices,
            updates,
            shape,
            indexing,
        } => reference::scatter_nd(
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            shape,
            *indexing,
            add,
        )
        .map(|made| scattered(made, shape)),
        Call::TensorScatterNd {
            tensor,
            indices,
            updates,
            adds,
            indexing,
        } => reference::tensor_scatter_nd(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            *indexing,
            if *adds { add } else { put },
        )
        .map(|made| scattered(made, &tensor.shape)),
    }
}

/// The answer in the form of a vector file.
///
/// # Errors
///
/// An error with the line number.
pub fn expectation(case: &Case) -> Result<Expectation, BadLine> {
    let scatters = case.op.scatters();
    Ok(match answer(case)? {
        Answer::Tensor {
            tensor,
            bad_rows: 0,
        } => Expectation::Success(tensor),
        Answer::Tensor { tensor, bad_rows } => Expectation::Error {
            kind: "out_of_range".into(),
            message: format!("{bad_rows} rows are out of range"),
            zero_fill: (!scatters).then(|| tensor.clone()),
            ignore: scatters.then_some(tensor),
        },
        Answer::Error(ReferenceError { kind, message, .. }) => Expectation::Error {
            kind: kind.into(),
            message,
            zero_fill: None,
            ignore: None,
        },
    })
}

/// A tensor after the steps of a view.
pub(crate) fn viewed(source: &Tensor, steps: &[Step]) -> Result<Tensor, ReferenceError> {
    let whole = (source.shape.clone(), source.data.clone());
    let viewed = steps.iter().try_fold(whole, |at, step| step.of_values(at));
    viewed.map(Tensor::from)
}

impl Params<'_> {
    fn materialised(&self) -> Result<Tensor, ReferenceError> {
        viewed(self.tensor, &self.view)
    }
}

fn put(old: &mut i64, new: &i64) {
    *old = *new;
}

fn add(sum: &mut i64, value: &i64) {
    *sum = sum.wrapping_add(*value);
}

impl From<(Vec<usize>, Vec<i64>)> for Tensor {
    fn from((shape, data): (Vec<usize>, Vec<i64>)) -> Self {
        Self { shape, data }
    }
}

fn good(tensor: Tensor) -> Answer {
    Answer::Tensor {
        tensor,
        bad_rows: 0,
    }
}

fn gathered(gathered: Gathered<i64>) -> Answer {
    Answer::Tensor {
        bad_rows: gathered.bad_rows.len(),
        tensor: (gathered.shape, gathered.values).into(),
    }
}

fn scattered(scattered: Scattered<i64>, shape: &[usize]) -> Answer {
    Answer::Tensor {
        bad_rows: scattered.bad_rows.len(),
        tensor: (shape.to_vec(), scattered.values).into(),
    }
}
