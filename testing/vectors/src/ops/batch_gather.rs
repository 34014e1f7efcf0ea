use super::*;

/// A gather in which all dimensions of `indices` but the last are batch dimensions. The indexed dimension of `params`
/// is the one after the batch dimensions.
#[derive(Clone, Debug)]
pub struct BatchGather<'a> {
    /// The params, and the indices into their dimension after the batch dimensions.
    pub from: Gathering<'a>,
}

impl<'a> Op<'a> for BatchGather<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::of(case)?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        self.from.answer(|params, indices, indexing| {
            reference::batch_gather(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                indexing,
            )
        })
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        self.from.run(
            run,
            None,
            self.from.indices.shape.len() as i64 - 1,
            TensorView::gather,
        )
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let params = shape(rng, 4, 1);
        let batch_dims = rng.usize(..params.len());
        let mut indices = params[..batch_dims].to_vec();
        indices.push(rng.usize(..6));
        let mut args = Map::new();
        policy(rng, &mut args);
        let mut tuples = tuples(rng, &indices, &params[batch_dims..=batch_dims]);
        tuples.shape = indices;
        let tensors = [("params", tensor(rng, &params)), ("indices", tuples)];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples()
    }
}
