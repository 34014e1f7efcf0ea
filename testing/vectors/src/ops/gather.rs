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

/// A gather of slices of `params` along an axis.
#[derive(Clone, Debug)]
pub struct Gather<'a> {
    /// The array to gather from.
    pub params: Params<'a>,
    /// The indices along `axis`. Each chooses a slice of `params`.
    pub indices: &'a Tensor,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
    /// The number of leading dimensions that `params` and `indices` share. The rank of `indices` is added to a negative
    /// value.
    pub batch_dims: i64,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for Gather<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::of(case)?,
            indices: case.tensor("indices")?,
            axis: case.arguments().integer("axis")?,
            batch_dims: case.arguments().integer("batch_dims")?,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.materialised()?;
        let Tensor { shape, data } = self.indices;
        let (values, from) = (&params.data, &params.shape);
        reference::gather(
            values,
            from,
            data,
            shape,
            self.axis,
            self.batch_dims,
            self.indexing,
        )
        .map(gathered)
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = wgslice::options::GatherOptions {
            axis: Some(isize::try_from(self.axis).unwrap_or(isize::MAX)),
            batch_dims: isize::try_from(self.batch_dims).unwrap_or(isize::MAX),
            ..run.gather(self.indexing)
        };
        run.gathered(&self.params.on(run)?, self.indices, options)
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let source = shape(rng, 5, 1);
        let mut args = Map::new();
        let params = random_view(rng, &source, &mut args);
        let axis = rng.usize(..params.len());
        let batch_dims = if rng.bool() { 0 } else { rng.usize(..=axis) };
        let mut indices = params[..batch_dims].to_vec();
        indices.extend(few(rng, 2));
        let rank = |rng: &mut Rng, at: usize, rank: usize| match rng.u8(..4) {
            0 if at < rank => at as i64 - rank as i64,
            _ => at as i64,
        };
        args.insert("axis".into(), rank(rng, axis, params.len()).into());
        args.insert(
            "batch_dims".into(),
            rank(rng, batch_dims, indices.len()).into(),
        );
        policy(rng, &mut args);
        let mut tuples = tuples(rng, &indices, &params[axis..=axis]);
        tuples.shape = indices;
        let tensors = [("params", tensor(rng, &source)), ("indices", tuples)];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }
}
