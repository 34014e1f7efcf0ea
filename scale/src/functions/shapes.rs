//! Functions that return or change the description of tensors, but not their elements:
//!
//! - `tensor_shape(x)`: the shape of the tensors.
//! - `tensor_reshape(x, shape)`: the same elements in another shape, without a copy.
//! - `tensor_from_arrow(x, parameters)`: the tensors of an `arrow.fixed_shape_tensor`, with these parameters instead of
//!   its metadata.
//! - `tensor_to_arrow(x)`: the same tensors as Arrow's extension type `arrow.fixed_shape_tensor`, without a copy. The
//!   shape is then in the field's metadata. On a cluster, this metadata does not reach other functions, so use this
//!   function only in the last step of a query.

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorShape;

impl TensorFunction for TensorShape {
    const USAGE: Usage = Usage::of_tensor("tensor_shape", "tensor_shape(x)", 0..=0);
    const RUNS_ON_NULL_ROWS: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        TensorType::new(DataType::Int64, &[call.tensors[0].shape().len()])
    }

    fn run(call: &Call, _: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let shape = call.tensors[0].shape().iter();
        let row: Vec<u8> = shape
            .flat_map(|&size| (size as i64).to_ne_bytes())
            .collect();
        for bytes in result.chunks_exact_mut(row.len()) {
            bytes.copy_from_slice(&row);
        }
        Ok(None)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorReshape;

impl TensorFunction for TensorReshape {
    const USAGE: Usage =
        Usage::of_tensor("tensor_reshape", "tensor_reshape(x, '3, 224, 224')", 1..=1);
    const RUNS_ON_NULL_ROWS: bool = true;
    const KEEPS_BYTES: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        let x = &call.tensors[0];
        let result = x.with_shape(&integers("the shape", call.text(0))?)?;
        if result.elements() != x.elements() {
            return plan_err!(
                "a tensor of shape {:?} has other elements than shape {:?}",
                x.shape(),
                result.shape()
            );
        }
        Ok(result)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorFromArrow;

impl TensorFunction for TensorFromArrow {
    const USAGE: Usage = Usage::of_tensor(
        "tensor_from_arrow",
        r#"tensor_from_arrow(x, '{"shape": [3, 4], "permutation": [1, 0]}')"#,
        1..=1,
    );
    const RUNS_ON_NULL_ROWS: bool = true;
    const KEEPS_BYTES: bool = true;

    fn retype_arguments(call: &mut Call) -> Result<()> {
        call.tensors[0] = call.tensors[0].with_parameters(call.text(0))?;
        Ok(())
    }

    fn result_type(call: &Call) -> Result<TensorType> {
        let x = &call.tensors[0];
        x.with_shape(x.shape())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorToArrow;

impl TensorFunction for TensorToArrow {
    const USAGE: Usage = Usage::of_tensor("tensor_to_arrow", "tensor_to_arrow(x)", 0..=0);
    const RUNS_ON_NULL_ROWS: bool = true;
    const KEEPS_BYTES: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        let x = call.tensors[0].clone();
        if x.shape().is_empty() {
            return plan_err!("arrow.fixed_shape_tensor has no scalars: use the column as it is");
        }
        Ok(x.in_layout(Layout::Extension))
    }
}
