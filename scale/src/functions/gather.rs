//! `gather(params, indices [, options])`: the slices of each tensor that the indices select along one dimension.

use super::{
    call::{Batch, Call, Usage, failed, refused},
    function::{Outside, TensorFunction},
    options::Options,
};
use crate::tensor::TensorType;
use datafusion::error::Result;
use wgslice::{Plan, options::GatherOptions};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gather;

impl TensorFunction for Gather {
    const USAGE: Usage = Usage {
        name: "gather",
        example: "gather(params, indices, 'axis=1, out_of_range=zero')",
        tensors: 2,
        texts: 0..=1,
        names_rows: true,
    };

    fn result(call: &Call) -> Result<TensorType> {
        let (params, indices) = call.two();
        indices.check_integers("indices")?;
        let plan = Plan::gather(
            params.shape(),
            indices.shape(),
            options(call)?,
            params.dtype(),
        );
        params.with_shape(plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<Outside>> {
        let given = options(call)?;
        let (params, indices) = call.two();
        let batch_dims = from_end(given.batch_dims, indices.shape().len());
        let axis = from_end(given.axis.unwrap_or(given.batch_dims), params.shape().len());
        // If one array of indices stands for all rows, and `batch_dims` is 0, the dimension of rows is treated like any
        // other dimension before the indexed one. Otherwise the dimension of rows is a batch dimension.
        let shared = batch.columns[1].repeats() && batch_dims == 0;
        let options = GatherOptions {
            axis: Some(axis + 1),
            batch_dims: if shared { 0 } else { batch_dims + 1 },
            out_of_range: super::reported(given.out_of_range),
            negative: given.negative,
        };
        let shape = match shared {
            true => indices.shape().to_vec(),
            false => batch.shape(1),
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = view
            .gather(&shape, options, params.dtype())
            .map_err(failed)?;
        let integers = batch.integers(1, !shared)?;
        let report =
            plan.run_cpu_bytes(&batch.columns[0].bytes(), Some(integers.indices()), result);
        let report = report.map_err(failed)?;
        Ok(Outside::of(
            report,
            given.out_of_range,
            params.shape(),
            |first| {
                let (row, position) = first.position.split_at(usize::from(!shared));
                (row.first().copied(), position.to_vec(), first.index.clone())
            },
        ))
    }
}

/// Resolves a dimension that may count from the end. The result is in range, since planning has checked the call.
fn from_end(dimension: isize, rank: usize) -> isize {
    if dimension < 0 {
        dimension + rank.cast_signed()
    } else {
        dimension
    }
}

fn options(call: &Call) -> Result<GatherOptions> {
    let given = Options::parse(
        call.text(0),
        &["axis", "batch_dims", "negative", "out_of_range"],
    )?;
    Ok(GatherOptions {
        axis: given.integer("axis")?,
        batch_dims: given.integer("batch_dims")?.unwrap_or(0),
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
    })
}
