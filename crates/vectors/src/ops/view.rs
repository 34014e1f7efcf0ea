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
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            input: case.tensor("input")?,
            steps: case.arguments().steps("steps")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        apply_view_steps(self.input, &self.steps).map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        Ok(run
            .upload_view(self.input, &self.steps)?
            .contiguous()?
            .into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 5, 0);
        let mut args = Map::new();
        args.insert("steps".into(), draw_view_steps(rng, &shape).into());
        Case::new(operation, [("input", draw_tensor(rng, &shape))], args)
    }
}
