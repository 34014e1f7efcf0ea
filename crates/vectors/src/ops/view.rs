use super::*;

/// `input` after the steps of a view.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The array that is viewed.
    pub input: &'a Tensor,
    /// The steps, in the order in which they apply.
    pub steps: Vec<Step>,
}

impl<'a> Op<'a> for View<'a> {
    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            input: case.tensor("input")?,
            steps: case.arguments().steps("steps")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        viewed(self.input, &self.steps).map(good)
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        Ok(run.view(self.input, &self.steps)?.contiguous()?.into())
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let shape = shape(rng, 5, 0);
        let mut args = Map::new();
        args.insert("steps".into(), steps(rng, &shape).into());
        Case::new(operation, [("input", tensor(rng, &shape))], args)
    }
}
