use super::*;

/// A slice of `input`.
#[derive(Clone, Debug)]
pub struct StridedSlice<'a> {
    /// The array that is sliced.
    pub input: &'a Tensor,
    /// The slice to take, in TensorFlow's encoding.
    pub spec: wgslice::spec::TfStridedSlice,
}

impl<'a> Op<'a> for StridedSlice<'a> {
    const RANDOM_WEIGHT: usize = 2;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            input: case.tensor("input")?,
            spec: case.arguments().strided_slice()?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let Tensor { shape, data } = self.input;
        reference::strided_slice(data, shape, &spec_of(&self.spec)).map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let sliced = run
            .upload_tensor(self.input)?
            .slice(&SliceSpec::try_from(&self.spec)?)?;
        Ok(sliced.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 8, 0);
        let args = draw_spec(rng, &shape);
        Case::new(operation, [("input", draw_tensor(rng, &shape))], args)
    }
}
