//! `gather_nd(params, indices [, options])`: the slices of each tensor that the index tuples select.

use super::{
    call::{Batch, Call, Usage, failed, refused},
    function::{Outside, TensorFunction},
    options::Options,
};
use crate::tensor::TensorType;
use datafusion::error::Result;
use wgslice::{Plan, options::GatherOptions};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GatherNd;

impl TensorFunction for GatherNd {
    const USAGE: Usage = Usage {
        name: "gather_nd",
        example: "gather_nd(params, indices, 'negative=wrap, out_of_range=zero')",
        tensors: 2,
        texts: 0..=1,
        names_rows: true,
    };

    fn result(call: &Call) -> Result<TensorType> {
        let (params, indices) = call.two();
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
        let options = GatherOptions {
            batch_dims: given.batch_dims + 1,
            out_of_range: super::reported(given.out_of_range),
            negative: given.negative,
            ..GatherOptions::default()
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = view
            .gather_nd(&batch.shape(1), options, params.dtype())
            .map_err(failed)?;
        let integers = batch.integers(1, true)?;
        let report =
            plan.run_cpu_bytes(&batch.columns[0].bytes(), Some(integers.indices()), result);
        let report = report.map_err(failed)?;
        let indexed = &params.shape()[given.batch_dims.unsigned_abs()..];
        Ok(Outside::of(report, given.out_of_range, indexed, |first| {
            let (row, position) = (first.position[0], &first.position[1..]);
            (Some(row), position.to_vec(), first.index.clone())
        }))
    }
}

fn options(call: &Call) -> Result<GatherOptions> {
    let given = Options::parse(call.text(0), &["batch_dims", "negative", "out_of_range"])?;
    Ok(GatherOptions {
        batch_dims: given.integer("batch_dims")?.unwrap_or(0),
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
        ..GatherOptions::default()
    })
}
