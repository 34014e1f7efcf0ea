//! `tensor_to_arrow(x)`: the same tensors as Arrow's extension type `arrow.fixed_shape_tensor`, without a copy.
//!
//! The shape is then in the field's metadata, which does not reach other functions on a cluster: this function is for
//! the last step of a query.

use super::{
    call::{Batch, Call, Usage},
    function::{Outside, TensorFunction},
};
use crate::tensor::{Layout, TensorType};
use datafusion::{common::plan_err, error::Result};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorToArrow;

impl TensorFunction for TensorToArrow {
    const USAGE: Usage = Usage {
        name: "tensor_to_arrow",
        example: "tensor_to_arrow(x)",
        tensors: 1,
        texts: 0..=0,
        names_rows: false,
    };
    const TAKES_ANY: bool = true;
    const KEEPS_BYTES: bool = true;

    fn result(call: &Call) -> Result<TensorType> {
        let x = call.tensors[0].clone();
        if x.shape().is_empty() {
            return plan_err!("arrow.fixed_shape_tensor has no scalars: use the column as it is");
        }
        Ok(x.in_layout(Layout::Extension))
    }

    fn run(_: &Call, _: &Batch, _: &mut [u8]) -> Result<Option<Outside>> {
        Ok(None)
    }
}
