//! `tensor_shape(x)`: the shape of the tensors.

use super::{
    call::{Batch, Call, Usage},
    function::{Outside, TensorFunction},
};
use crate::tensor::TensorType;
use datafusion::{arrow::datatypes::DataType, error::Result};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorShape;

impl TensorFunction for TensorShape {
    const USAGE: Usage = Usage {
        name: "tensor_shape",
        example: "tensor_shape(x)",
        tensors: 1,
        texts: 0..=0,
        names_rows: false,
    };
    const TAKES_ANY: bool = true;

    fn result(call: &Call) -> Result<TensorType> {
        TensorType::new(DataType::Int64, &[call.tensors[0].shape().len()])
    }

    fn run(call: &Call, _: &Batch, result: &mut [u8]) -> Result<Option<Outside>> {
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
