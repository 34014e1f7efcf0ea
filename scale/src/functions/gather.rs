//! `gather(params, indices [, options])` returns the slices of each tensor that the indices select along one dimension.
//! `gather_nd(params, indices [, options])` returns the slices that index tuples select.

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gather;

impl Gather {
    const OPTION_NAMES: &[&str] = &["axis", "batch_dims", "negative", "out_of_range"];
}

impl TensorFunction for Gather {
    const USAGE: Usage = Usage::of_indices(
        "gather",
        "gather(params, indices, 'axis=1, out_of_range=zero')",
        0..=1,
    );

    fn result_type(call: &Call) -> Result<TensorType> {
        let options = options(call, Self::OPTION_NAMES)?;
        gather_type(call, |params, indices, dtype| {
            Plan::gather(params, indices, options, dtype)
        })
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let given = options(call, Self::OPTION_NAMES)?;
        let (params, indices) = call.two_tensors();
        let batch_dims = from_start(given.batch_dims, indices.shape().len());
        let axis = from_start(given.axis.unwrap_or(given.batch_dims), params.shape().len());
        // If one array of indices is used for all rows, and `batch_dims` is 0, the dimension of rows is treated like
        // any other dimension before the indexed one. Otherwise the dimension of rows is a batch dimension.
        let is_shared = batch.columns[1].repeats() && batch_dims == 0;
        let options = GatherOptions {
            axis: Some(axis + 1),
            batch_dims: if is_shared { 0 } else { batch_dims + 1 },
            out_of_range: reporting_policy(given.out_of_range),
            negative: given.negative,
        };
        let shape = match is_shared {
            true => indices.shape().to_vec(),
            false => batch.shape(1),
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = Plan::gather(view, &shape, options, params.dtype()).map_err(failed)?;
        let integers = batch.integers(1, !is_shared)?;
        let report = batch.run(&plan, Some(integers.indices()), result)?;
        Ok(RowProblem::outside(
            report,
            given.out_of_range,
            params.shape(),
            |first| {
                let (row, position) = first.position.split_at(usize::from(!is_shared));
                (row.first().copied(), position.to_vec(), first.index.clone())
            },
        ))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GatherNd;

impl GatherNd {
    const OPTION_NAMES: &[&str] = &["batch_dims", "negative", "out_of_range"];
}

impl TensorFunction for GatherNd {
    const USAGE: Usage = Usage::of_indices(
        "gather_nd",
        "gather_nd(params, indices, 'negative=wrap, out_of_range=zero')",
        0..=1,
    );

    fn result_type(call: &Call) -> Result<TensorType> {
        let given = options(call, Self::OPTION_NAMES)?;
        gather_type(call, |params, indices, dtype| {
            Plan::gather_nd(params, indices, nd_options(given, given.batch_dims), dtype)
        })
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let given = options(call, Self::OPTION_NAMES)?;
        let params = &call.tensors[0];
        let options = GatherNdOptions {
            out_of_range: reporting_policy(given.out_of_range),
            ..nd_options(given, given.batch_dims + 1)
        };
        let view = batch.view(0).map_err(failed)?;
        let plan = Plan::gather_nd(view, &batch.shape(1), options, params.dtype());
        let plan = plan.map_err(failed)?;
        let integers = batch.integers(1, true)?;
        let report = batch.run(&plan, Some(integers.indices()), result)?;
        let indexed_shape = &params.shape()[given.batch_dims.unsigned_abs()..];
        Ok(RowProblem::outside(
            report,
            given.out_of_range,
            indexed_shape,
            |first| {
                let (row, position) = (first.position[0], &first.position[1..]);
                (Some(row), position.to_vec(), first.index.clone())
            },
        ))
    }
}

/// Returns the options of `gather_nd` with this number of batch dimensions.
fn nd_options(given: GatherOptions, batch_dims: isize) -> GatherNdOptions {
    GatherNdOptions {
        batch_dims,
        out_of_range: given.out_of_range,
        negative: given.negative,
    }
}

/// Returns the type of a gather's result. `plan` makes the plan from the shapes of params and indices and the element
/// type.
fn gather_type(
    call: &Call,
    plan: impl FnOnce(&[usize], &[usize], DType) -> Result<Plan, Error>,
) -> Result<TensorType> {
    let (params, indices) = call.two_tensors();
    indices.check_integers("indices")?;
    let plan = plan(params.shape(), indices.shape(), params.dtype());
    params.with_shape(plan.map_err(refused)?.shape())
}

/// Converts a dimension that can count from the end to a number counted from the start. The result is in range, because
/// planning has checked the call.
fn from_start(dimension: isize, rank: usize) -> isize {
    if dimension < 0 {
        dimension + rank.cast_signed()
    } else {
        dimension
    }
}

/// Parses the options. `option_names` lists the options of the function.
fn options(call: &Call, option_names: &[&str]) -> Result<GatherOptions> {
    let given = Options::parse(call.text(0), option_names)?;
    Ok(GatherOptions {
        axis: given.integer("axis")?,
        batch_dims: given.integer("batch_dims")?.unwrap_or(0),
        out_of_range: given.out_of_range()?,
        negative: given.negative()?,
    })
}
