//! `scatter_nd(indices, updates, shape [, options])`: zeros of this shape, into which the updates are scattered.

use super::*;

const OPTION_NAMES: &[&str] = &["combine", "negative", "out_of_range"];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScatterNd;

impl TensorFunction for ScatterNd {
    const USAGE: Usage = Usage::of_indices(
        "scatter_nd",
        "scatter_nd(indices, updates, '10, 20', 'combine=max')",
        1..=2,
    );

    fn result_type(call: &Call) -> Result<TensorType> {
        let (indices, updates) = call.two_tensors();
        indices.check_integers("indices")?;
        let combine = Options::parse(call.text(1), OPTION_NAMES)?.combine()?;
        if *updates.element() == DataType::Boolean && combine != Combine::Update {
            return plan_err!(
                "updates are Boolean, which are not combined by {combine}: choose 'combine=update'"
            );
        }
        let plan = Plan::scatter_nd(
            &shape(call)?,
            indices.shape(),
            updates.shape(),
            options(call)?,
            updates.dtype(),
        );
        updates.with_shape(plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let options = options(call)?;
        let shape = shape(call)?;
        let (indices, updates) = call.two_tensors();
        let (&depth, leading_sizes) = indices.shape().split_last().unwrap_or((&0, &[]));
        let tuples = batch.tuples_with_rows(0, leading_sizes.iter().product(), depth)?;
        let plan = Plan::scatter_nd(
            &[&[batch.rows], &shape[..]].concat(),
            &[&[batch.rows], leading_sizes, &[depth + 1]].concat(),
            &batch.shape(1),
            ScatterOptions {
                out_of_range: reporting_policy(options.out_of_range),
                ..options
            },
            updates.dtype(),
        );
        let plan = plan.map_err(failed)?;
        let bytes = batch.repeated_bytes(1);
        let report = run_on(&plan, &bytes, Some((&tuples).into()), result)?;
        Ok(RowProblem::outside(
            report,
            options.out_of_range,
            &shape,
            |first| {
                let (row, position) = (first.position[0], &first.position[1..]);
                (Some(row), position.to_vec(), first.index[1..].to_vec())
            },
        ))
    }
}

fn shape(call: &Call) -> Result<Vec<usize>> {
    integers("the shape", call.text(0))
}

fn options(call: &Call) -> Result<ScatterOptions> {
    let given = Options::parse(call.text(1), OPTION_NAMES)?;
    Ok(ScatterOptions {
        combine: Some(given.combine()?),
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
        ..ScatterOptions::default()
    })
}
