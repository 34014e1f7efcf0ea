//! `gather_nd(params, indices [, options])`: the slices of each tensor that the index tuples select.

use super::{
    call::{Batch, Call, Usage, failed, refused},
    function::{Outside, TensorFunction},
    options::Options,
};
use crate::tensor::TensorType;
use datafusion::error::Result;
use wgslice::{
    Plan,
    options::{GatherNdOptions, OutOfRange},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GatherNd;

impl TensorFunction for GatherNd {
    const USAGE: Usage = Usage {
        name: "gather_nd",
        example: "gather_nd(params, indices, 'negative=wrap, out_of_range=zero')",
        tensors: 2,
        texts: 0..=1,
    };

    fn result(call: &Call) -> Result<TensorType> {
        let [params, indices] = &call.tensors[..] else {
            unreachable!("a call has the tensors of its usage")
        };
        indices.check_integers("indices")?;
        let plan = Plan::gather_nd(
            params.shape(),
            indices.shape(),
            options(call)?,
            params.dtype(),
        );
        params.with_shape(plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<Outside>> {
        let given = options(call)?;
        let params = &call.tensors[0];
        let options = GatherNdOptions {
            batch_dims: given.batch_dims + 1,
            out_of_range: super::reported(given.out_of_range),
            negative: given.negative,
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = view
            .gather_nd(&batch.shape(1), options, params.dtype())
            .map_err(failed)?;
        let integers = batch.integers(1, true)?;
        let report = plan.run_cpu_with(&batch.columns[0].bytes(), integers.indices(), result);
        let report = report.map_err(failed)?;
        Ok(report
            .first
            .filter(|_| given.out_of_range == OutOfRange::Error)
            .map(|first| Outside {
                row: first.position.first().copied(),
                position: first.position[1..].to_vec(),
                tuple: first.index,
                count: report.out_of_range,
                tuples: report.tuples,
                shape: params.shape()[given.batch_dims..].to_vec(),
            }))
    }
}

fn options(call: &Call) -> Result<GatherNdOptions> {
    let given = Options::parse(call.text(0), &["batch_dims", "negative", "out_of_range"])?;
    Ok(GatherNdOptions {
        batch_dims: given.integer("batch_dims")?.unwrap_or(0),
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
    })
}
