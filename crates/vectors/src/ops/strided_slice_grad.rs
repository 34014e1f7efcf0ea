use super::*;

/// Makes the gradient of an array from the gradient of one of its slices.
#[derive(Clone, Debug)]
pub struct StridedSliceGrad<'a> {
    /// The shape of the array that was sliced, and of the result.
    pub shape: Vec<usize>,
    /// The slice of the array, in TensorFlow's encoding.
    pub spec: wgslice::spec::TfStridedSlice,
    /// The gradient of the slice. It must have the slice's shape.
    pub dy: &'a Tensor,
}

impl<'a> Op<'a> for StridedSliceGrad<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            shape: case.arguments().sizes("shape")?,
            spec: case.arguments().strided_slice()?,
            dy: case.tensor("dy")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (dy, shape) = (self.dy, &self.shape);
        let data = reference::strided_slice_grad(shape, &spec_of(&self.spec), &dy.data, &dy.shape)?;
        Ok(answer_in_range((shape.clone(), data)))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let dy = run.upload_tensor(self.dy)?;
        let spec = SliceSpec::try_from(&self.spec)?;
        let grad = wgslice::Tensor::slice_grad(&self.shape, &spec, &dy)?;
        Ok(grad.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 8, 0);
        let mut args = draw_spec(rng, &shape);
        let mut dy_shape = shape_of_slice(&shape, &args);
        disturb_shape(rng, &mut dy_shape);
        args.insert("shape".into(), shape.into());
        Case::new(operation, [("dy", draw_tensor(rng, &dy_shape))], args)
    }
}
