use super::{Op, Operation, Params, params::random_view};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    oracle::{Answer, gathered},
    random::{
        Rng,
        draw::{few, policy, shape, tensor, tuples},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::Error;

/// A gather of the slices of `params` that index tuples point at.
#[derive(Clone, Debug)]
pub struct GatherNd<'a> {
    /// The array to gather from.
    pub params: Params<'a>,
    /// The index tuples, in the last dimension.
    pub indices: &'a Tensor,
    /// The number of leading dimensions that `params` and `indices` share.
    pub batch_dims: usize,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for GatherNd<'a> {
    const WEIGHT: usize = 2;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::of(case)?,
            indices: case.tensor("indices")?,
            batch_dims: case.arguments().size("batch_dims")?,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.materialised()?;
        let Tensor { shape, data } = self.indices;
        let (values, from) = (&params.data, &params.shape);
        reference::gather_nd(values, from, data, shape, self.batch_dims, self.indexing)
            .map(gathered)
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = wgslice::options::GatherOptions {
            batch_dims: self.batch_dims.cast_signed(),
            out_of_range: run.policy(),
            negative: run.negative(self.indexing),
            axis: None,
        };
        let params = self.params.on(run)?;
        let (tensor, report) = params.gather_nd(&run.indices(self.indices)?, options)?;
        Ok(Started::new(tensor, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let source = shape(rng, 5, 1);
        let mut args = Map::new();
        let params = random_view(rng, &source, &mut args);
        let batch_dims = match params.len() {
            2.. if rng.u8(..3) == 0 => rng.usize(..params.len()),
            _ => 0,
        };
        let depth = rng.usize(..=params.len() - batch_dims);
        let mut lead = params[..batch_dims].to_vec();
        lead.extend(few(rng, 3));
        let indices = tuples(rng, &lead, &params[batch_dims..batch_dims + depth]);
        args.insert("batch_dims".into(), batch_dims.into());
        policy(rng, &mut args);
        let tensors = [("params", tensor(rng, &source)), ("indices", indices)];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }
}
