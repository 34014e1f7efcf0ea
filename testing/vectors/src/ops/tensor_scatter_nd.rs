use super::*;

/// `tensor` with the rows of `updates` combined into the slices that index tuples point at.
#[derive(Clone, Debug)]
pub struct TensorScatterNd<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The rows to combine.
    pub rows: Rows<'a>,
    /// How a row is combined with its slice.
    pub combine: Combine,
}

impl<'a> Op<'a> for TensorScatterNd<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            rows: Rows::of(case)?,
            combine: match case.op {
                Operation::TensorScatterNdAdd => Combine::Add,
                Operation::TensorScatterNdSub => Combine::Sub,
                Operation::TensorScatterNdMin => Combine::Min,
                Operation::TensorScatterNdMax => Combine::Max,
                _ => Combine::Update,
            },
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices, updates) = (self.tensor, self.rows.indices, self.rows.updates);
        let scattered_rows = reference::tensor_scatter_nd(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            self.rows.indexing,
            |old, new| *old = combine(self.combine, self.rows.float, *old, *new),
        )?;
        Ok(scattered(scattered_rows, &tensor.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = run.scatter(self.combine, self.rows.indexing);
        let mut tensor = run.tensor(self.tensor)?;
        let [indices, updates] = self.rows.on(run)?;
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
        self.rows.tuples()
    }

    fn is_unique(&self) -> bool {
        self.rows.are_unique(&self.tensor.shape)
    }

    fn computes(&self) -> bool {
        self.combine != Combine::Update
    }

    fn float(&self) -> Option<DType> {
        self.rows.float
    }
}
