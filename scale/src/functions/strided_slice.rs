//! `strided_slice(x, spec)`: the slice of each tensor.

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StridedSlice;

impl TensorFunction for StridedSlice {
    const USAGE: Usage = Usage::of_tensor(
        "strided_slice",
        "strided_slice(x, '1:-1, ..., ::-1')",
        1..=1,
    );
    const RUNS_ON_NULL_ROWS: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        let x = &call.tensors[0];
        let plan = Plan::slice(x.shape(), &spec(call)?, x.dtype()).map_err(refused)?;
        x.with_shape(plan.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let spec = spec(call)?;
        let all_rows = [SliceItem::from(..)];
        let spec: SliceSpec = all_rows.iter().chain(spec.items()).copied().collect();
        let view = batch
            .view(0)
            .and_then(|view| view.slice(&spec))
            .map_err(failed)?;
        let plan = Plan::contiguous(view, call.tensors[0].dtype()).map_err(failed)?;
        batch.run(&plan, None, result)?;
        Ok(None)
    }
}

fn spec(call: &Call) -> Result<SliceSpec> {
    match call.text(0).parse() {
        Ok(spec) => Ok(spec),
        Err(error) => plan_err!("{error}"),
    }
}
