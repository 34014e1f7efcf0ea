use super::{Op, Operation, scatter_nd::random_rows};
use crate::{
    case::{BadLine, Case, Tensor},
    oracle::{Answer, add, put, scattered},
    random::{
        Rng,
        draw::{shape, tensor},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::{
    Error,
    options::Combine,
    reference::{self, Indexing, ReferenceError},
};

/// `tensor` with the rows of `updates` written or added to the slices that index tuples point at.
#[derive(Clone, Debug)]
pub struct TensorScatterNd<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The index tuples, in the last dimension.
    pub indices: &'a Tensor,
    /// The rows to write or add, one for each tuple.
    pub updates: &'a Tensor,
    /// Whether updates are added rather than written.
    pub adds: bool,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for TensorScatterNd<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            adds: case.op == Operation::TensorScatterNdAdd,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices, updates) = (self.tensor, self.indices, self.updates);
        let scattered_rows = reference::tensor_scatter_nd(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            self.indexing,
            if self.adds { add } else { put },
        )?;
        Ok(scattered(scattered_rows, &tensor.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let combine = if self.adds {
            Combine::Add
        } else {
            Combine::Update
        };
        let options = run.scatter(combine, self.indexing);
        let (mut tensor, updates) = (run.tensor(self.tensor)?, run.tensor(self.updates)?);
        let indices = run.indices(self.indices)?;
        let report = tensor.tensor_scatter_nd(&indices, &updates, options)?;
        Ok(Started::new(tensor, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let mut shape = shape(rng, 4, 1);
        let mut args = Map::new();
        let (indices, updates) = random_rows(rng, &mut shape, &mut args);
        let tensor = tensor(rng, &shape);
        let tensors = [
            ("tensor", tensor),
            ("indices", indices),
            ("updates", updates),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    fn adds(&self) -> bool {
        self.adds
    }
}
