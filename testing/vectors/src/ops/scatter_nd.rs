use super::*;

/// An array of zeros, with the rows of `updates` added to the slices that index tuples point at.
#[derive(Clone, Debug)]
pub struct ScatterNd<'a> {
    /// The rows to add.
    pub rows: Rows<'a>,
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl<'a> Op<'a> for ScatterNd<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            rows: Rows::of(case)?,
            shape: case.arguments().sizes("shape")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let Rows {
            indices,
            updates,
            indexing,
            float,
        } = self.rows;
        let scattered_rows = reference::scatter_nd(
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            &self.shape,
            indexing,
            |sum, value| *sum = combine(Combine::Add, float, *sum, *value),
        )?;
        Ok(scattered(scattered_rows, &self.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = run.scatter(Combine::Add, self.rows.indexing);
        let [indices, updates] = self.rows.on(run)?;
        let (sums, report) = wgslice::Tensor::scatter_nd(&self.shape, &indices, &updates, options)?;
        Ok(Started::new(sums, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let mut shape = shape(rng, 4, 1);
        let mut args = Map::new();
        let (indices, updates) = random_rows(rng, &mut shape, &mut args);
        args.insert("shape".into(), shape.into());
        let tensors = [("indices", indices), ("updates", updates)];
        sometimes_floats(rng, Case::new(operation, tensors, args))
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        self.rows.tuples()
    }

    fn is_unique(&self) -> bool {
        self.rows.are_unique(&self.shape)
    }

    fn computes(&self) -> bool {
        true
    }

    fn float(&self) -> Option<DType> {
        self.rows.float
    }
}
