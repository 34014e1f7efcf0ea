use super::*;

/// `input` with a slice replaced.
#[derive(Clone, Debug)]
pub struct StridedSliceUpdate<'a> {
    /// The array that is changed.
    pub input: &'a Tensor,
    /// The slice to replace, in TensorFlow's encoding.
    pub spec: wgslice::spec::TfStridedSlice,
    /// The value that replaces the slice. It is broadcast to the slice's shape.
    pub value: &'a Tensor,
}

impl<'a> Op<'a> for StridedSliceUpdate<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            input: case.tensor("input")?,
            spec: case.arguments().strided_slice()?,
            value: case.tensor("value")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (input, value) = (self.input, self.value);
        let data = reference::strided_slice_update(
            &input.data,
            &input.shape,
            &spec_of(&self.spec),
            &value.data,
            &value.shape,
        )?;
        Ok(answer_in_range((input.shape.clone(), data)))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let (mut input, value) = (
            run.upload_tensor(self.input)?,
            run.upload_tensor(self.value)?,
        );
        input.slice_update(&SliceSpec::try_from(&self.spec)?, &value)?;
        Ok(input.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 8, 0);
        let args = draw_spec(rng, &shape);
        let mut value_shape = shape_of_slice(&shape, &args);
        for size in &mut value_shape {
            if rng.u8(..6) == 0 {
                *size = 1;
            }
        }
        match rng.u8(..6) {
            0 => value_shape = value_shape.split_off(rng.usize(..=value_shape.len())),
            1 => value_shape.insert(0, 1),
            _ => disturb_shape(rng, &mut value_shape),
        }
        let tensors = [
            ("input", draw_tensor(rng, &shape)),
            ("value", draw_tensor(rng, &value_shape)),
        ];
        Case::new(operation, tensors, args)
    }
}
