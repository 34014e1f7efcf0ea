use super::*;

/// An operation on a mask.
#[derive(Clone, Debug)]
pub struct Masked<'a> {
    /// The operation.
    pub operation: Operation,
    /// The mask. An element is true if its value is not 0.
    pub mask: &'a Tensor,
    /// The array that is selected from or changed, or `x` of `select`. `None` in `nonzero`.
    pub params: Option<Params<'a>>,
    /// `y` of `select`, `value` of `masked_update` or `values` of `masked_scatter`. `None` in the other operations.
    pub other: Option<&'a Tensor>,
    /// The axis. `None` in `compress` of all elements, and in operations without an axis.
    pub axis: Option<i64>,
    /// The number of rows of the result. With `None`, there is a row for each true element.
    pub capacity: Option<usize>,
}

impl Masked<'_> {
    fn mask_values(&self) -> Vec<bool> {
        self.mask.data.iter().map(|&value| value != 0).collect()
    }

    fn reference_params(&self) -> Result<Tensor, ReferenceError> {
        let empty_tensor = Tensor::from((vec![0], vec![]));
        let params = self.params.as_ref();
        params.map_or(Ok(empty_tensor), Params::reference_array)
    }

    /// Returns the mask on a device. It has type bool if all elements are 0 or 1, otherwise uint8.
    fn upload_mask(&self, run: &DeviceRun<'_>) -> Result<wgslice::Tensor, Error> {
        let byte = |&value: &i64| u8::try_from(value).unwrap_or(1);
        let bytes: Vec<u8> = self.mask.data.iter().map(byte).collect();
        let dtype = match bytes.iter().all(|&byte| byte < 2) {
            true => DType::Bool,
            false => DType::U8,
        };
        run.upload_bytes(bytes, dtype, &self.mask.shape)
    }
}

impl<'a> Op<'a> for Masked<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let arguments = case.arguments();
        let has_arg = |name: &str| case.args.contains_key(name);
        Ok(Self {
            operation: case.op,
            mask: case.tensor("mask")?,
            params: (case.op != Operation::Nonzero)
                .then(|| Params::from_case(case))
                .transpose()?,
            other: case.tensors.get("other"),
            axis: has_arg("axis")
                .then(|| arguments.integer("axis"))
                .transpose()?,
            capacity: has_arg("capacity")
                .then(|| arguments.size("capacity"))
                .transpose()?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let (mask_values, params) = (self.mask_values(), self.reference_params()?);
        let mask = (&mask_values[..], &self.mask.shape[..]);
        let Tensor { shape, data } = &params;
        let other_tensor = self.other.unwrap_or(&params);
        let other_tensor = (&other_tensor.data[..], &other_tensor.shape[..]);
        match self.operation {
            Operation::Nonzero => reference::nonzero(mask.0, mask.1, self.capacity),
            Operation::BooleanMask => {
                let axis = self.axis.and_then(|axis| usize::try_from(axis).ok());
                reference::boolean_mask(data, shape, mask, axis.unwrap_or(0), self.capacity)
            }
            Operation::Compress => reference::compress(data, shape, mask, self.axis, self.capacity),
            Operation::Select => reference::select(mask, (data, shape), other_tensor),
            Operation::MaskedScatter => {
                let answer = reference::masked_scatter(data, shape, mask, other_tensor);
                answer.map(|answer| (shape.clone(), answer))
            }
            // `masked_update` is a `select` with the array as `y`, and the result must have the array's shape.
            _ => {
                reference::broadcast_to(mask.0, mask.1, shape)?;
                reference::broadcast_to(other_tensor.0, other_tensor.1, shape)?;
                reference::select(mask, other_tensor, (data, shape))
            }
        }
        .map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let mask = self.upload_mask(run)?;
        let true_count = self
            .mask_values()
            .iter()
            .filter(|&&is_true| is_true)
            .count();
        let capacity = Some(self.capacity.unwrap_or(true_count));
        let Some(params) = &self.params else {
            return Ok(mask.nonzero(capacity)?.0.into());
        };
        let params = params.upload(run)?;
        let other_tensor = self
            .other
            .map(|other_tensor| run.upload_tensor(other_tensor))
            .transpose()?;
        let other_tensor = other_tensor.as_ref();
        let axis = self
            .axis
            .map(|axis| isize::try_from(axis).unwrap_or(isize::MAX));
        let result = match (self.operation, other_tensor) {
            (Operation::BooleanMask, _) => {
                params.boolean_mask(&mask, axis.unwrap_or(0), capacity)?.0
            }
            (Operation::Select, Some(other_tensor)) => {
                wgslice::Tensor::select(&mask, &params, other_tensor)?
            }
            (Operation::MaskedScatter, Some(other_tensor)) => {
                let mut result = params;
                result.masked_scatter(&mask, other_tensor)?;
                result
            }
            (Operation::MaskedUpdate, Some(other_tensor)) => {
                let mut result = params;
                result.masked_update(&mask, other_tensor)?;
                result
            }
            _ => params.compress(&mask, axis, capacity)?.0,
        };
        Ok(result.into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let mut source_shape = draw_shape(rng, 4, usize::from(operation != Operation::Nonzero));
        let mut capacity = 200;
        match rng.u8(..8) {
            // A search for true elements supports at most 30 dimensions.
            0 if operation == Operation::Nonzero => source_shape.resize(30, 1),
            // With so many elements, devices with small limits scan the counts of true elements in several dispatches.
            1 if operation == Operation::Nonzero => {
                source_shape = vec![rng.usize(4200..4300)];
                capacity = 4;
            }
            _ => {}
        }
        let mut args = Map::new();
        let mut tensors = Vec::new();
        let mask_shape = if operation == Operation::Nonzero {
            source_shape
        } else {
            let params_shape = random_view(rng, &source_shape, &mut args);
            tensors.push(("params", draw_tensor(rng, &source_shape)));
            let rank = params_shape.len();
            match operation {
                Operation::BooleanMask | Operation::MaskedScatter => {
                    let axis = match operation {
                        Operation::BooleanMask => rng.usize(..rank),
                        _ => 0,
                    };
                    let end_dim = rng.usize(axis + 1..=rank);
                    let mut sizes = params_shape[axis..end_dim].to_vec();
                    disturb_shape(rng, &mut sizes);
                    if operation == Operation::BooleanMask {
                        args.insert("axis".into(), axis.into());
                    } else {
                        let row_count = rng.usize(..=sizes.iter().product::<usize>().min(40));
                        let mut values_shape = vec![row_count];
                        values_shape.extend(&params_shape[end_dim..]);
                        disturb_shape(rng, &mut values_shape);
                        tensors.push(("other", draw_tensor(rng, &values_shape)));
                    }
                    sizes
                }
                Operation::Compress => {
                    let axis = rng.usize(..rank);
                    let mut size = params_shape[axis];
                    if rng.u8(..3) == 0 {
                        size = params_shape.iter().product();
                    } else {
                        let from_end = if rng.bool() { rank as i64 } else { 0 };
                        let axis = draw_rarely(rng, axis as i64 - from_end, 9);
                        args.insert("axis".into(), axis.into());
                    }
                    let shorter_size = rng.usize(..=size);
                    let mut sizes = vec![if rng.bool() { size } else { shorter_size }];
                    disturb_shape(rng, &mut sizes);
                    sizes
                }
                _ => {
                    let mut draw_broadcast_shape = || {
                        let mut sizes = params_shape.clone();
                        for size in sizes.iter_mut().filter(|_| rng.u8(..3) == 0) {
                            *size = 1;
                        }
                        sizes.drain(..rng.usize(..=rank) * usize::from(rng.bool()));
                        disturb_shape(rng, &mut sizes);
                        sizes
                    };
                    let (mask_shape, other_shape) =
                        (draw_broadcast_shape(), draw_broadcast_shape());
                    tensors.push(("other", draw_tensor(rng, &other_shape)));
                    mask_shape
                }
            }
        };
        let true_frequency = rng.usize(..5);
        let mut mask = draw_tensor(rng, &mask_shape);
        let true_value = if rng.bool() { 1 } else { 77 };
        for value in &mut mask.data {
            *value = match true_frequency {
                0 => 0,
                1 => i64::from(*value % 16 == 0),
                2 => *value & 1,
                3 => i64::from(*value % 16 != 0),
                _ => 1,
            } * true_value;
        }
        let takes_capacity = matches!(
            operation,
            Operation::Nonzero | Operation::BooleanMask | Operation::Compress
        );
        if takes_capacity && (capacity < 200 || rng.bool()) {
            let max_count = mask.data.len() + 2;
            args.insert(
                "capacity".into(),
                rng.usize(..=max_count.min(capacity)).into(),
            );
        }
        tensors.push(("mask", mask));
        let mut case = Case::new(operation, [], args);
        let named_tensors = tensors.into_iter();
        case.tensors = named_tensors
            .map(|(name, tensor)| (name.into(), tensor))
            .collect();
        case
    }
}
