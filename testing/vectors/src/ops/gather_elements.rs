use super::*;

/// A gather of single elements. Each index chooses an element along an axis of `params`. The index's own position gives
/// the other coordinates.
#[derive(Clone, Debug)]
pub struct GatherElements<'a> {
    /// The params, and the indices along `axis`, one for each element of the result.
    pub from: Gathering<'a>,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
}

impl<'a> Op<'a> for GatherElements<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::of(case)?,
            axis: case.arguments().integer("axis")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        self.from.answer(|params, indices, indexing| {
            reference::gather_elements(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.axis,
                indexing,
            )
        })
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        self.from
            .run(run, Some(self.axis), 0, TensorView::gather_elements)
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let (source, params, mut args) = random_params(rng);
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
        self.from.tuples()
    }
}
