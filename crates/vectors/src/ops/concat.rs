use super::*;

/// Concatenates arrays along an axis, or stacks them along a new axis.
#[derive(Clone, Debug)]
pub struct Concat<'a> {
    /// The tensors `x0`, `x1`, ...
    pub arrays: Vec<&'a Tensor>,
    /// The steps of the view of the first array. Empty for the whole array.
    pub view: Vec<Step>,
    /// The axis along which the arrays are joined, or the new axis.
    pub axis: i64,
    /// True if the arrays are stacked.
    pub stacks: bool,
}

impl<'a> Op<'a> for Concat<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let names = (0..case.tensors.len()).map(|number| format!("x{number}"));
        let arrays = names.map(|name| case.tensor(&name));
        Ok(Self {
            arrays: arrays.collect::<Result<_, _>>()?,
            view: case.arguments().steps("view")?,
            axis: case.arguments().integer("axis")?,
            stacks: case.op == Operation::Stack,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (first, rest) = self.arrays.split_first().unzip();
        let first_view = first
            .map(|tensor| apply_view_steps(tensor, &self.view))
            .transpose()?;
        let tensors = first_view.iter().chain(rest.into_iter().flatten().copied());
        let tensors: Vec<_> = tensors.map(|x| (&x.shape[..], &x.data[..])).collect();
        let joined = match self.stacks {
            true => reference::stack(&tensors, self.axis),
            false => reference::concat(&tensors, self.axis),
        };
        joined.map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let upload_input = |(number, tensor): (usize, &&Tensor)| match number {
            0 => run.upload_view(tensor, &self.view),
            _ => run.upload_view(tensor, &[]),
        };
        let views: Vec<wgslice::Tensor> = self
            .arrays
            .iter()
            .enumerate()
            .map(upload_input)
            .collect::<Result<_, _>>()?;
        let views: Vec<_> = views.iter().collect();
        let axis = isize::try_from(self.axis).unwrap_or(isize::MAX);
        let joined = match self.stacks {
            true => wgslice::Tensor::stack(&views, axis),
            false => wgslice::Tensor::concat(&views, axis),
        };
        Ok(joined?.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let is_stack = operation == Operation::Stack;
        let source_shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let first_shape = random_view(rng, &source_shape, &mut args);
        let rank = first_shape.len() + usize::from(is_stack);
        let axis = rng.usize(..rank);
        let mut tensors = vec![draw_tensor(rng, &source_shape)];
        for _ in 1..rng.usize(1..5) {
            let mut sizes = first_shape.clone();
            if !is_stack {
                sizes[axis] = rng.usize(..8);
            }
            disturb_shape(rng, &mut sizes);
            tensors.push(draw_tensor(rng, &sizes));
        }
        let from_end = if rng.bool() { rank as i64 } else { 0 };
        let excess = if rng.u8(..40) == 0 { 9 } else { 0 };
        args.insert("axis".into(), (axis as i64 - from_end + excess).into());
        let mut case = Case::new(operation, [], args);
        let numbered_tensors = tensors.into_iter().enumerate();
        case.tensors = numbered_tensors
            .map(|(n, tensor)| (format!("x{n}"), tensor))
            .collect();
        case
    }
}
