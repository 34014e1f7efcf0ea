use super::{
    Op, Operation,
    scatter_nd::{differ, random_rows},
};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    combine::{combine, float},
    oracle::{Answer, scattered},
    random::{
        Rng,
        draw::{shape, sometimes_floats, tensor},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::{DType, Error, options::Combine};

/// `tensor` with the rows of `updates` combined into the slices that index tuples point at.
#[derive(Clone, Debug)]
pub struct TensorScatterNd<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The index tuples, in the last dimension.
    pub indices: &'a Tensor,
    /// The rows to combine, one for each tuple.
    pub updates: &'a Tensor,
    /// How a row is combined with its slice.
    pub combine: Combine,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
    /// The floating-point type of the values, whose bits the tensors hold. `None` if they are integers.
    pub float: Option<DType>,
}

impl<'a> Op<'a> for TensorScatterNd<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            combine: match case.op {
                Operation::TensorScatterNdAdd => Combine::Add,
                Operation::TensorScatterNdSub => Combine::Sub,
                Operation::TensorScatterNdMin => Combine::Min,
                Operation::TensorScatterNdMax => Combine::Max,
                _ => Combine::Update,
            },
            indexing: case.arguments().indexing()?,
            float: float(&case.dtype),
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
            |old, new| *old = combine(self.combine, self.float, *old, *new),
        )?;
        Ok(scattered(scattered_rows, &tensor.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = run.scatter(self.combine, self.indexing);
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
        sometimes_floats(rng, Case::new(operation, tensors, args))
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    fn is_unique(&self) -> bool {
        let depth = self.indices.shape.last();
        let sizes = depth.and_then(|&depth| self.tensor.shape.get(..depth));
        sizes.is_some_and(|sizes| differ(&self.indices.data, sizes, self.indexing, |_| ()))
    }

    fn computes(&self) -> bool {
        self.combine != Combine::Update
    }

    fn float(&self) -> Option<DType> {
        self.float
    }
}
