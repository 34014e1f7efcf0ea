use super::*;

/// A gather of slices of `params` along an axis.
#[derive(Clone, Debug)]
pub struct Gather<'a> {
    /// The params, and the indices along `axis`. Each chooses a slice of the params.
    pub from: Gathering<'a>,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
    /// The number of leading dimensions that `params` and `indices` share. The rank of `indices` is added to a negative
    /// value.
    pub batch_dims: i64,
}

impl<'a> Op<'a> for Gather<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::of(case)?,
            axis: case.arguments().integer("axis")?,
            batch_dims: case.arguments().integer("batch_dims")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        self.from.answer(|params, indices, indexing| {
            reference::gather(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.axis,
                self.batch_dims,
                indexing,
            )
        })
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        self.from
            .run(run, Some(self.axis), self.batch_dims, TensorView::gather)
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let (source, params, mut args) = random_params(rng);
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
        self.from.tuples()
    }
}
