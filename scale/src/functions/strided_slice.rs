//! `strided_slice(x, spec)`: the slice of each tensor.

use super::{
    call::{Batch, Call, Usage, failed, refused},
    function::{Outside, TensorFunction},
};
use crate::tensor::TensorType;
use datafusion::{common::plan_err, error::Result};
use wgslice::{Plan, SliceSpec, spec::SliceItem};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StridedSlice;

impl TensorFunction for StridedSlice {
    const USAGE: Usage = Usage {
        name: "strided_slice",
        example: "strided_slice(x, '1:-1, ..., ::-1')",
        tensors: 1,
        texts: 1..=1,
        names_rows: false,
    };
    const TAKES_ANY: bool = true;

    fn result(call: &Call) -> Result<TensorType> {
        let x = &call.tensors[0];
        let plan = Plan::slice(x.shape(), &spec(call)?, x.dtype()).map_err(refused)?;
        x.with_shape(plan.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<Outside>> {
        let spec = spec(call)?;
        let whole = [SliceItem::FULL];
        let spec: SliceSpec = whole.iter().chain(spec.items()).copied().collect();
        let view = batch
            .view(0)
            .and_then(|view| view.slice(&spec))
            .map_err(failed)?;
        let plan = view.plan(call.tensors[0].dtype());
        plan.run_cpu_bytes(&batch.columns[0].bytes(), None, result)
            .map_err(failed)?;
        Ok(None)
    }
}

fn spec(call: &Call) -> Result<SliceSpec> {
    match call.text(0).parse() {
        Ok(spec) => Ok(spec),
        Err(error) => plan_err!("{error}"),
    }
}
