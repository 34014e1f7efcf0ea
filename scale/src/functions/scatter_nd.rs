//! `scatter_nd(indices, updates, shape [, options])`: zeros of this shape, into which the updates are scattered.

use super::{
    call::{Batch, Call, Usage, failed, refused},
    function::{Outside, TensorFunction},
    options::{Options, integers},
};
use crate::tensor::TensorType;
use datafusion::error::Result;
use wgslice::{
    Indices, Plan,
    options::{OutOfRange, ScatterOptions},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScatterNd;

impl TensorFunction for ScatterNd {
    const USAGE: Usage = Usage {
        name: "scatter_nd",
        example: "scatter_nd(indices, updates, '10, 20', 'combine=max')",
        tensors: 2,
        texts: 1..=2,
    };

    fn result(call: &Call) -> Result<TensorType> {
        let [indices, updates] = &call.tensors[..] else {
            unreachable!("a call has the tensors of its usage")
        };
        indices.check_integers("indices")?;
        let plan = Plan::scatter_nd(
            &shape(call)?,
            indices.shape(),
            updates.shape(),
            options(call)?,
            updates.dtype(),
        );
        updates.with_shape(plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<Outside>> {
        let options = options(call)?;
        let shape = shape(call)?;
        let updates = &call.tensors[1];
        let indices = call.tensors[0].shape();
        let (&depth, lead) = indices.split_last().unwrap_or((&0, &[]));
        let own: usize = lead.iter().product();
        // The row is the first integer of each tuple.
        let given = batch.integers(0, true)?.to_i64();
        let mut tuples = Vec::with_capacity(given.len() + batch.rows * own);
        for number in 0..batch.rows * own {
            tuples.push((number / own) as i64);
            tuples.extend_from_slice(&given[number * depth..][..depth]);
        }
        let plan = Plan::scatter_nd(
            &[&[batch.rows], &shape[..]].concat(),
            &[&[batch.rows], lead, &[depth + 1]].concat(),
            &batch.shape(1),
            ScatterOptions {
                out_of_range: super::reported(options.out_of_range),
                ..options
            },
            updates.dtype(),
        );
        let plan = plan.map_err(failed)?;
        let bytes = batch.repeated_bytes(1);
        let report = plan
            .run_cpu_with(&bytes, Indices::I64(&tuples), result)
            .map_err(failed)?;
        Ok(report
            .first
            .filter(|_| options.out_of_range == OutOfRange::Error)
            .map(|first| Outside {
                row: first.position.first().copied(),
                position: first.position[1..].to_vec(),
                tuple: first.index[1..].to_vec(),
                count: report.out_of_range,
                tuples: report.tuples,
                shape,
            }))
    }
}

fn shape(call: &Call) -> Result<Vec<usize>> {
    integers("the shape", call.text(0))
}

fn options(call: &Call) -> Result<ScatterOptions> {
    let given = Options::parse(call.text(1), &["combine", "negative", "out_of_range"])?;
    Ok(ScatterOptions {
        combine: given.combine()?,
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
        ..ScatterOptions::default()
    })
}
