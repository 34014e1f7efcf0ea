use super::*;

/// A gather of the slices of `params` that index tuples point at.
#[derive(Clone, Debug)]
pub struct GatherNd<'a> {
    /// The params and the index tuples.
    pub from: Gathering<'a>,
    /// The number of leading dimensions that `params` and `indices` share.
    pub batch_dims: usize,
}

impl<'a> Op<'a> for GatherNd<'a> {
    const WEIGHT: usize = 2;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::of(case)?,
            batch_dims: case.arguments().size("batch_dims")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        self.from.answer(|params, indices, indexing| {
            reference::gather_nd(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.batch_dims,
                indexing,
            )
        })
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        self.from
            .run(run, None, self.batch_dims as i64, TensorView::gather_nd)
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let (source, params, mut args) = random_params(rng);
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
        self.from.tuples()
    }
}
