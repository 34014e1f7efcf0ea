use super::*;

/// Moves elements along axes. Elements that leave an axis at one end enter it at the other end.
#[derive(Clone, Debug)]
pub struct Roll<'a> {
    /// The array.
    pub params: Params<'a>,
    /// The number of positions by which elements move, for each axis.
    pub shifts: Vec<i64>,
    /// The axis of each shift.
    pub axes: Vec<i64>,
}

impl<'a> Op<'a> for Roll<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::from_case(case)?,
            shifts: case.arguments().integers("shifts")?,
            axes: case.arguments().integers("axes")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.reference_array()?;
        let rolled = reference::roll(&params.data, &params.shape, &self.shifts, &self.axes)?;
        Ok(answer_in_range((params.shape, rolled)))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let axes = self
            .axes
            .iter()
            .map(|&axis| isize::try_from(axis).unwrap_or(isize::MAX));
        let axes: Vec<isize> = axes.collect();
        Ok(self.params.upload(run)?.roll(&self.shifts, &axes)?.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let source_shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let rank = random_view(rng, &source_shape, &mut args).len() as i64;
        let excess = i64::from(rng.u8(..30) == 0);
        let axis_count = rng.usize(..4);
        let axes: Vec<i64> = (0..axis_count)
            .map(|_| rng.i64(-rank - excess..rank + excess))
            .collect();
        let mut shifts: Vec<i64> = (0..axis_count)
            .map(|_| match rng.u8(..30) {
                0 => i64::MIN,
                1 => i64::MAX,
                _ => rng.i64(-20..20),
            })
            .collect();
        if rng.u8(..40) == 0 {
            shifts.push(1);
        }
        args.insert("shifts".into(), json!(shifts));
        args.insert("axes".into(), json!(axes));
        Case::new(
            operation,
            [("params", draw_tensor(rng, &source_shape))],
            args,
        )
    }
}
