//! `tensor_convert(x, dtype [, options])`: the elements of each tensor in another type. Elements of 8 bits can also be
//! scaled: `x * scale + bias`, with one scale and bias for all elements or one for each position of an axis.

use super::*;
use wgslice::Conversion;

/// The types of elements that can be converted, and of results, each with Arrow's type.
const CONVERTIBLE_TYPES: [(DType, DataType); 6] = [
    (DType::U8, DataType::UInt8),
    (DType::I8, DataType::Int8),
    (DType::U16, DataType::UInt16),
    (DType::I16, DataType::Int16),
    (DType::F16, DataType::Float16),
    (DType::F32, DataType::Float32),
];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorConvert;

impl TensorFunction for TensorConvert {
    const USAGE: Usage = Usage::of_tensor(
        "tensor_convert",
        "tensor_convert(x, 'float32', 'scale=0.5, bias=[0, 1, 2], axis=-1')",
        1..=2,
    );
    const RUNS_ON_NULL_ROWS: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        let x = &call.tensors[0];
        let (_, element) = result_element(call)?;
        if !CONVERTIBLE_TYPES
            .iter()
            .any(|(dtype, _)| *dtype == x.dtype())
        {
            return plan_err!(
                "x is {}, but must be UInt8, Int8, UInt16, Int16, Float16 or Float32: arrow_cast makes one of the other",
                x.element()
            );
        }
        plan(call, None).map_err(|error| match error {
            DataFusionError::Execution(problem) => DataFusionError::Plan(problem),
            other => other,
        })?;
        TensorType::new(element, x.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        batch.run(&plan(call, Some(batch.rows))?, None, result)?;
        Ok(None)
    }
}

/// Plans the conversion of one tensor or, with `rows`, of this number of rows.
fn plan(call: &Call, rows: Option<usize>) -> Result<Plan> {
    let x = &call.tensors[0];
    let given = Options::parse(call.text(1), &["axis", "bias", "scale"])?;
    let (scale, bias) = (given.floats("scale")?, given.floats("bias")?);
    let axis: isize = given.integer("axis")?.unwrap_or(-1);
    let (dtype, _) = result_element(call)?;
    // A nonnegative axis does not count the dimension of rows, which comes first.
    let batch_axis = axis + isize::from(rows.is_some() && axis >= 0);
    let conversion = match (&scale, &bias) {
        (None, None) => Conversion::to(dtype),
        _ => Conversion::scaled(
            dtype,
            batch_axis,
            scale.as_deref().unwrap_or(&[1.0]),
            bias.as_deref().unwrap_or(&[0.0]),
        ),
    };
    // A scalar has no axis, but the library needs one.
    let own_shape = if x.shape().is_empty() {
        &[1]
    } else {
        x.shape()
    };
    let shape = [rows.as_slice(), own_shape].concat();
    let plan = Plan::contiguous(&shape, x.dtype()).and_then(|plan| plan.converted(&conversion));
    plan.map_err(failed)
}

/// Returns the type of the result, which the first text of the call names.
fn result_element(call: &Call) -> Result<(DType, DataType)> {
    let name = call.text(0);
    let mut types = CONVERTIBLE_TYPES.into_iter();
    match types.find(|(dtype, _)| dtype.name() == name || dtype.to_string() == name) {
        Some(found) => Ok(found),
        None => plan_err!(
            "the type is {name:?}, but must be one of {}",
            CONVERTIBLE_TYPES.map(|(dtype, _)| dtype.name()).join(", ")
        ),
    }
}
