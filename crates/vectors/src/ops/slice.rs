use super::*;

/// A block of `input`, given by its start and its size.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// The array that is sliced.
    pub input: &'a Tensor,
    /// The first selected position in each dimension.
    pub begin: Vec<i64>,
    /// The number of selected positions in each dimension. -1 means all from `begin` on.
    pub size: Vec<i64>,
}

impl<'a> Op<'a> for Slice<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            input: case.tensor("input")?,
            begin: case.arguments().integers("begin")?,
            size: case.arguments().integers("size")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let Tensor { shape, data } = self.input;
        reference::slice(data, shape, &self.begin, &self.size).map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let block = SliceSpec::block(&self.input.shape, &self.begin, &self.size)?;
        Ok(run.upload_tensor(self.input)?.slice(&block)?.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let shape = draw_shape(rng, 6, 0);
        let (mut begin, mut size) = (Vec::new(), Vec::new());
        for &dim_size in &shape {
            let first_position = draw_integer(rng, 0, dim_size);
            let max_size = dim_size.saturating_sub(usize::try_from(first_position).unwrap_or(0));
            begin.push(draw_rarely(rng, first_position, -1));
            let drawn_size = draw_integer(rng, 0, max_size);
            size.push(match rng.u8(..10) {
                0..3 => -1,
                _ => draw_rarely(rng, drawn_size, max_size as i64 + 1),
            });
        }
        let mut args = Map::new();
        args.insert("begin".into(), begin.into());
        args.insert("size".into(), size.into());
        Case::new(operation, [("input", draw_tensor(rng, &shape))], args)
    }
}
