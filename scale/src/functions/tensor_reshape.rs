//! `tensor_reshape(x, shape)`: the same elements in another shape, without a copy.

use super::{
    call::{Batch, Call, Usage},
    function::{Outside, TensorFunction},
    options::integers,
};
use crate::tensor::TensorType;
use datafusion::{common::plan_err, error::Result};

pub(super) const NAME: &str = "tensor_reshape";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorReshape;

impl TensorFunction for TensorReshape {
    const USAGE: Usage = Usage {
        name: NAME,
        example: "tensor_reshape(x, '3, 224, 224')",
        tensors: 1,
        texts: 1..=1,
        names_rows: false,
    };
    const TAKES_ANY: bool = true;
    const KEEPS_BYTES: bool = true;

    fn result(call: &Call) -> Result<TensorType> {
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

    fn run(_: &Call, _: &Batch, _: &mut [u8]) -> Result<Option<Outside>> {
        Ok(None)
    }
}
