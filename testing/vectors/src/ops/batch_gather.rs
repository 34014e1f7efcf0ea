use super::{Op, Operation, Params};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    oracle::{Answer, gathered},
    random::{
        Rng,
        draw::{policy, shape, tensor, tuples},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::Error;

/// A gather in which all dimensions of `indices` but the last are batch dimensions. The indexed dimension of `params`
/// is the one after the batch dimensions.
#[derive(Clone, Debug)]
pub struct BatchGather<'a> {
    /// The array to gather from.
    pub params: Params<'a>,
    /// The indices into the dimension of `params` after the batch dimensions.
    pub indices: &'a Tensor,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for BatchGather<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::of(case)?,
            indices: case.tensor("indices")?,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.materialised()?;
        let Tensor { shape, data } = self.indices;
        let (values, from) = (&params.data, &params.shape);
        reference::batch_gather(values, from, data, shape, self.indexing).map(gathered)
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let policies = run.gather(self.indexing);
        let options = wgslice::options::GatherOptions {
            out_of_range: policies.out_of_range,
            negative: policies.negative,
            ..wgslice::options::GatherOptions::batch(self.indices.shape.len())
        };
        run.gathered(&self.params.on(run)?, self.indices, options)
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
        Some((self.indices, self.indexing))
    }
}
