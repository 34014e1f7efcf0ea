use super::*;

/// Repeats an array, or each of its positions along an axis.
#[derive(Clone, Debug)]
pub struct Tile<'a> {
    /// The array.
    pub params: Params<'a>,
    /// The number of copies along each dimension or, with an axis, along that axis.
    pub multiples: Vec<usize>,
    /// The axis of `repeat`. `None` in `tile`.
    pub axis: Option<i64>,
}

impl<'a> Op<'a> for Tile<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let repeats = case.op == Operation::Repeat;
        Ok(Self {
            params: Params::from_case(case)?,
            multiples: case.arguments().sizes("multiples")?,
            axis: repeats
                .then(|| case.arguments().integer("axis"))
                .transpose()?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.reference_array()?;
        let (values, shape) = (&params.data, &params.shape);
        let tiled = match self.axis {
            Some(axis) => reference::repeat(values, shape, self.multiples[0], axis),
            None => reference::tile(values, shape, &self.multiples),
        };
        tiled.map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let params = self.params.upload(run)?;
        let tiled = match self.axis {
            Some(axis) => params.repeat(
                self.multiples[0],
                isize::try_from(axis).unwrap_or(isize::MAX),
            ),
            None => params.tile(&self.multiples),
        };
        Ok(tiled?.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let source_shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let params_shape = random_view(rng, &source_shape, &mut args);
        let rank = params_shape.len() as i64;
        let multiple_count = if operation == Operation::Repeat {
            1
        } else {
            params_shape.len()
        };
        let mut multiples: Vec<usize> = (0..multiple_count).map(|_| rng.usize(..4)).collect();
        if operation == Operation::Repeat {
            let excess = i64::from(rng.u8(..30) == 0);
            args.insert("axis".into(), rng.i64(-rank - excess..rank + excess).into());
        } else if rng.u8(..40) == 0 {
            multiples.push(1);
        }
        args.insert("multiples".into(), json!(multiples));
        Case::new(
            operation,
            [("params", draw_tensor(rng, &source_shape))],
            args,
        )
    }
}
