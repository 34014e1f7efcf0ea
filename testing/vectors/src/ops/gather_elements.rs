use super::{Op, Operation, Params, params::random_view};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    oracle::{Answer, gathered},
    random::{
        Rng,
        draw::{disturb, policy, shape, tensor, tuples},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::Error;

/// A gather of single elements. Each index chooses an element along an axis of `params`. The index's own position gives
/// the other coordinates.
#[derive(Clone, Debug)]
pub struct GatherElements<'a> {
    /// The array to gather from.
    pub params: Params<'a>,
    /// The indices along `axis`, one for each element of the result.
    pub indices: &'a Tensor,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for GatherElements<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::of(case)?,
            indices: case.tensor("indices")?,
            axis: case.arguments().integer("axis")?,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.materialised()?;
        let Tensor { shape, data } = self.indices;
        let (values, from) = (&params.data, &params.shape);
        reference::gather_elements(values, from, data, shape, self.axis, self.indexing)
            .map(gathered)
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let policies = run.gather(self.indexing);
        let options = wgslice::options::GatherOptions {
            axis: Some(isize::try_from(self.axis).unwrap_or(isize::MAX)),
            out_of_range: policies.out_of_range,
            negative: policies.negative,
            batch_dims: 0,
        };
        let params = self.params.on(run)?;
        let (tensor, report) = params.gather_elements(&run.indices(self.indices)?, options)?;
        Ok(Started::new(tensor, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let source = shape(rng, 5, 1);
        let mut args = Map::new();
        let params = random_view(rng, &source, &mut args);
        let axis = rng.usize(..params.len());
        let mut sizes = params.clone();
        for size in &mut sizes {
            if rng.u8(..3) == 0 {
                *size = rng.usize(..=*size);
            }
        }
        sizes[axis] = rng.usize(..6);
        let mut indices = tuples(rng, &sizes, &params[axis..=axis]);
        disturb(rng, &mut sizes);
        indices.data.resize(sizes.iter().product(), 0);
        indices.shape = sizes;
        let from_end = if rng.bool() { params.len() as i64 } else { 0 };
        args.insert("axis".into(), (axis as i64 - from_end).into());
        policy(rng, &mut args);
        let tensors = [("params", tensor(rng, &source)), ("indices", indices)];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }
}
