#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers are rounded, and bits taken apart"
)]

use super::*;
use wgslice::{Conversion, Plan, View};

/// An operation whose elements are also converted. The case has the operation's tensors and arguments, and the
/// operation's name in the argument `of`.
#[derive(Clone, Debug)]
pub struct Convert<'a> {
    operation: ConvertedOperation<'a>,
    from: DType,
    to: DType,
    /// The axis along which scale and bias vary, then the scale and the bias, both as bits of `float32`. `None` if
    /// elements are not scaled.
    scaling: Option<(i64, Vec<i64>, Vec<i64>)>,
    /// True if the conversion follows the rules of NumPy's `astype`.
    is_cast: bool,
}

#[derive(Clone, Debug)]
enum ConvertedOperation<'a> {
    View(super::View<'a>),
    Gather(Gather<'a>),
    GatherNd(GatherNd<'a>),
    GatherElements(GatherElements<'a>),
    Crop(Crop<'a>),
}

/// The types that can be converted. Shaders convert the first seven to each other.
const CONVERTIBLE_TYPES: [DType; 13] = [
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::Bool,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F64,
];

fn reference_numbers(dtype: DType) -> reference::Numbers {
    use reference::Numbers;
    match dtype {
        DType::U8 => Numbers::Unsigned(8),
        DType::I8 => Numbers::Signed(8),
        DType::U16 => Numbers::Unsigned(16),
        DType::I16 => Numbers::Signed(16),
        DType::F16 => Numbers::Float(5, 10),
        DType::BF16 => Numbers::Float(8, 7),
        DType::Bool => Numbers::Truths,
        DType::I32 => Numbers::Signed(32),
        DType::U32 => Numbers::Unsigned(32),
        DType::I64 => Numbers::Signed(64),
        DType::U64 => Numbers::Unsigned(64),
        DType::F64 => Numbers::Float(11, 52),
        _ => Numbers::Float(8, 23),
    }
}

impl<'a> ConvertedOperation<'a> {
    fn as_gather(&self) -> Option<&Gathering<'a>> {
        match self {
            Self::View(_) => None,
            Self::Gather(gather) => Some(&gather.from),
            Self::GatherNd(gather) => Some(&gather.from),
            Self::GatherElements(gather) => Some(&gather.from),
            Self::Crop(crop) => Some(&crop.from),
        }
    }

    /// Returns the source, and the steps of its view.
    fn source_and_steps(&self) -> (&'a Tensor, &[Step]) {
        match (self, self.as_gather()) {
            (Self::View(view), _) => (view.input, &view.steps),
            (_, Some(from)) => (from.params.tensor, &from.params.view),
            (_, None) => unreachable!("all others gather"),
        }
    }

    /// Returns the same operation on another source.
    fn on_source<'b>(&'b self, source: &'b Tensor) -> ConvertedOperation<'b> {
        let with_source = |from: &'b Gathering<'a>| Gathering {
            params: Params {
                tensor: source,
                view: from.params.view.clone(),
            },
            indices: from.indices,
            indexing: from.indexing,
        };
        match self {
            Self::View(view) => ConvertedOperation::View(super::View {
                input: source,
                steps: view.steps.clone(),
            }),
            Self::Gather(gather) => ConvertedOperation::Gather(Gather {
                from: with_source(&gather.from),
                ..*gather
            }),
            Self::GatherNd(gather) => ConvertedOperation::GatherNd(GatherNd {
                from: with_source(&gather.from),
                ..*gather
            }),
            Self::GatherElements(gather) => ConvertedOperation::GatherElements(GatherElements {
                from: with_source(&gather.from),
                ..*gather
            }),
            Self::Crop(crop) => ConvertedOperation::Crop(Crop {
                from: with_source(&crop.from),
                sizes: crop.sizes.clone(),
                strides: crop.strides.clone(),
                ..*crop
            }),
        }
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        match self {
            Self::View(view) => view.reference_answer(),
            Self::Gather(gather) => gather.reference_answer(),
            Self::GatherNd(gather) => gather.reference_answer(),
            Self::GatherElements(gather) => gather.reference_answer(),
            Self::Crop(crop) => crop.reference_answer(),
        }
    }

    fn plan(&self, run: &DeviceRun<'_>, dtype: DType) -> Result<Plan, Error> {
        let (source, steps) = self.source_and_steps();
        let whole_view = View::new(&source.shape)?;
        let x = steps
            .iter()
            .try_fold(whole_view, |view, step| step.of_view(&view))?;
        let Some(from) = self.as_gather() else {
            return Plan::contiguous(x, dtype);
        };
        let (indices, policies) = (&from.indices.shape, from.case_policies(run));
        match self {
            Self::Crop(crop) => {
                let boxes = crop.boxes.of(crop.sizes.len(), DType::I32);
                Plan::crop(x, boxes, &crop.options(run.out_of_range_policy()), dtype)
            }
            Self::GatherNd(gather) => Plan::gather_nd(x, indices, gather.options(policies), dtype),
            Self::GatherElements(gather) => {
                Plan::gather_elements(x, indices, narrow(gather.axis), policies, dtype)
            }
            Self::Gather(gather) => {
                Plan::gather(x, indices, gather.gather_options(policies), dtype)
            }
            _ => Plan::contiguous(x, dtype),
        }
    }
}

impl<'a> Op<'a> for Convert<'a> {
    const RANDOM_WEIGHT: usize = 4;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let args = case.arguments();
        let dtype_argument = |name: &str| {
            let is_named = |dtype: &&DType| args.args.get(name) == Some(&dtype.name().into());
            let named_type = CONVERTIBLE_TYPES.iter().find(is_named);
            named_type.copied().ok_or_else(|| {
                case.bad(format!(
                    "argument `{name}` is not a type that can be converted"
                ))
            })
        };
        let scaling = match args.args.get("axis_of_scale") {
            None => None,
            Some(_) => Some((
                args.integer("axis_of_scale")?,
                args.integers("scale")?,
                args.integers("bias")?,
            )),
        };
        Ok(Self {
            operation: match args.args.get("of").and_then(Value::as_str) {
                Some("view") => ConvertedOperation::View(super::View::from_case(case)?),
                Some("gather") => ConvertedOperation::Gather(Gather::from_case(case)?),
                Some("gather_nd") => ConvertedOperation::GatherNd(GatherNd::from_case(case)?),
                Some("gather_elements") => {
                    ConvertedOperation::GatherElements(GatherElements::from_case(case)?)
                }
                Some("crop") => ConvertedOperation::Crop(Crop::from_case(case)?),
                _ => return Err(case.bad("argument `of` is not an operation that can convert")),
            },
            from: dtype_argument("from")?,
            to: dtype_argument("to")?,
            scaling,
            is_cast: args.args.contains_key("astype"),
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let unconverted_answer = self.operation.reference_answer()?;
        if let Answer::Error(_) = unconverted_answer {
            return Ok(unconverted_answer);
        }
        let (source, _) = self.operation.source_and_steps();
        let scaling = self.scaling.as_ref();
        let conversion = reference::Conversion {
            from: reference_numbers(self.from),
            to: reference_numbers(self.to),
            scaled: scaling.map(|(axis, scale, bias)| (*axis, &scale[..], &bias[..])),
            cast: self.is_cast,
        };
        let converted = Tensor {
            shape: source.shape.clone(),
            data: reference::convert(&source.data, &source.shape, conversion)?,
        };
        self.operation.on_source(&converted).reference_answer()
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let conversion = match &self.scaling {
            None if self.is_cast => Conversion::astype(self.to),
            None => Conversion::to(self.to),
            Some((axis, scale, bias)) => {
                let floats = |list: &[i64]| -> Vec<f32> {
                    list.iter()
                        .map(|&bits| f32::from_bits(bits as u32))
                        .collect()
                };
                let axis = isize::try_from(*axis).unwrap_or(isize::MAX);
                Conversion::scaled(self.to, axis, &floats(scale), &floats(bias))
            }
        };
        let plan = self
            .operation
            .plan(run, self.from)?
            .converted(&conversion)?;
        let indices = self
            .operation
            .as_gather()
            .map(|from| run.upload_indices(from.indices));
        let indices = indices.transpose()?;
        let source = run.upload_tensor(self.operation.source_and_steps().0)?;
        let inputs: Vec<_> = [Some(&source), indices.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let (mut results, report) = wgslice::Tensor::run(&plan, &inputs)?;
        let tensor = results.swap_remove(0);
        Ok(match indices {
            None => tensor.into(),
            Some(_) => Started::new(tensor, report),
        })
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let inner_operation = [
            Operation::View,
            Operation::Gather,
            Operation::GatherNd,
            Operation::GatherElements,
            Operation::Crop,
            Operation::Crop,
        ][rng.usize(..6)];
        let mut case = inner_operation.random_case(rng);
        case.op = operation;
        // Most sources have elements of 8 bits, because the library converts these by tables. In at least half of the
        // cases, shaders can convert between the two types.
        let types = if rng.bool() {
            &CONVERTIBLE_TYPES[..7]
        } else {
            &CONVERTIBLE_TYPES[..]
        };
        let from = match rng.bool() {
            true if types.len() > 7 => [DType::Bool, DType::U8, DType::I8][rng.usize(..3)],
            true => types[rng.usize(..2)],
            false => types[rng.usize(..types.len())],
        };
        from.name().clone_into(&mut case.dtype);
        for (name, value) in [
            ("of", inner_operation.name()),
            ("from", from.name()),
            ("to", types[rng.usize(..types.len())].name()),
        ] {
            case.args.insert(name.into(), value.into());
        }
        let width = 8 * from.size() as u32;
        let sources = case
            .tensors
            .iter_mut()
            .filter(|(name, _)| *name != "indices");
        let mut shape = Vec::new();
        for (_, tensor) in sources {
            shape.clone_from(&tensor.shape);
            for value in &mut tensor.data {
                // These numbers are near the limits of 16-bit floats and integers, or near rounding boundaries.
                let mut draw_near_limit = || {
                    let size = rng.i64(-70_000..70_000) as f64;
                    size / [1.0, 2.0, 65_536.0, 1e9, 1e-9, 1e-14][rng.usize(..6)]
                };
                let bits = match from {
                    DType::F32 => i64::from((draw_near_limit() as f32).to_bits()),
                    DType::F64 => draw_near_limit().to_bits() as i64,
                    _ => rng.u64() as i64 >> rng.u8(..width as u8),
                };
                let bits = if rng.u8(..3) > 0 {
                    rng.u64() as i64
                } else {
                    bits
                };
                *value = bits << (64 - width) >> (64 - width);
            }
        }
        // Shaders scale only elements of 8 bits.
        let is_scaled = match from.size() {
            1 => rng.u8(..4) > 0,
            _ => rng.u8(..6) == 0,
        };
        if !is_scaled && rng.u8(..3) == 0 {
            case.args.insert("astype".into(), "yes".into());
        }
        if is_scaled && !shape.is_empty() {
            let axis = rng.usize(..shape.len());
            let mut draw_numbers = || {
                let count = match rng.u8(..20) {
                    0 => shape[axis] + 1,
                    1..8 => 1,
                    _ => shape[axis],
                };
                let draw_bits = |_| {
                    let number = rng.i64(-999..1000) as f32 / [3.0, 100.0, 7e6][rng.usize(..3)];
                    i64::from(number.to_bits().cast_signed())
                };
                (0..count).map(draw_bits).collect::<Vec<i64>>()
            };
            let (scale, bias) = (draw_numbers(), draw_numbers());
            let rank = shape.len() as i64;
            let axis = axis as i64 - if rng.bool() { rank } else { 0 };
            let axis = draw_rarely(rng, axis, rank);
            case.args.insert("axis_of_scale".into(), axis.into());
            case.args.insert("scale".into(), scale.into());
            case.args.insert("bias".into(), bias.into());
        }
        case
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.operation.as_gather()?.tuples_and_indexing()
    }

    fn float_type(&self) -> Option<DType> {
        Some(self.from)
    }
}
