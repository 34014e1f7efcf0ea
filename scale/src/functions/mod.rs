//! Functions for SQL. [`register_all`] registers them with a session, a scheduler or an executor.
//!
//! | function | result |
//! |---|---|
//! | `strided_slice(x, '1:-1, ..., ::-1')` | the slice of each tensor, in Python's notation |
//! | `gather(params, indices [, options [, row]])` | the slices of each tensor that the indices select along one dimension |
//! | `gather_nd(params, indices [, options [, row]])` | the slices of each tensor that the index tuples select |
//! | `crop(x, begins, '224, 224' [, options [, row]])` | the box of each tensor with its start at `begins` |
//! | `scatter_nd(indices, updates, '10, 20' [, options [, row]])` | zeros of this shape, into which the updates are scattered |
//! | `boolean_mask(x, mask, '10' [, options [, row]])` | the slices of each tensor that the mask selects, up to 10, and then zeros |
//! | `nonzero(mask, '10' [, options [, row]])` | the positions of the true elements, up to 10, and then -1 |
//! | `count_nonzero(mask)` | the number of true elements |
//! | `tensor_select(mask, x, y)` | the elements of x where the mask is true, and of y elsewhere, broadcast to one shape |
//! | `tensor_convert(x, 'float32' [, options])` | the same elements in another type; 8-bit elements can be scaled |
//! | `tensor_shape(x)` | the shape of the tensors |
//! | `tensor_reshape(x, '3, 224, 224')` | the same elements in another shape |
//! | `tensor_from_arrow(x, '{"shape": [3, 4], "permutation": [1, 0]}')` | the tensors of an `arrow.fixed_shape_tensor`, with these parameters instead of its metadata |
//! | `tensor_to_arrow(x)` | the same tensors as `arrow.fixed_shape_tensor` |
//! | `zarr_shard(job, shard)` | with the feature `cluster`: computes a shard of a job on arrays in stores, for commands with `--cluster` |
//!
//! Slices, shapes and options are literals, so that the type of the result is known when the query is planned. Other
//! arguments are columns, or literals of nested lists as in `'[[0, 1], [2, 3]]'` and `'[true, false]'`. A row of the
//! result comes from the same row of the arguments. One plan of the library computes all rows of a batch;
//! `boolean_mask` and `nonzero` run a plan for each mask to find its true elements. If a tensor among the arguments is
//! null, the result is null.
//!
//! Options are one literal text, as in `'axis=1, out_of_range=clamp'`:
//!
//! | option | functions | values |
//! |---|---|---|
//! | `axis` | `gather` | the indexed dimension of a tensor; the number in `batch_dims` if it is left out |
//! | `axis` | `boolean_mask` | the first dimension of x that the mask covers; 0 by default |
//! | `axis` | `tensor_convert` | the dimension of x along which scales and biases differ; -1 by default |
//! | `batch_dims` | `gather`, `gather_nd` | the number of leading dimensions that params and indices share; 0 by default |
//! | `negative` | `gather`, `gather_nd`, `scatter_nd` | `out_of_range` as in TensorFlow, which is the default, or `wrap` as in NumPy |
//! | `out_of_range` | `gather`, `gather_nd`, `scatter_nd`, `crop` | `error`, which is the default, `ignore` (or `zero`) or `clamp` |
//! | `combine` | `scatter_nd` | `add`, which is the default, `sub`, `mul`, `min`, `max` or `update` |
//! | `scale`, `bias` | `tensor_convert` | `x * scale + bias`: a number, or one for each position of the axis as in `[0.5, 2]`; 1 and 0 by default |
//! | `strides` | `crop` | the distance between neighbours in each dimension of the box, as in `[2, -1]`; 1 by default |
//! | `surplus` | `boolean_mask`, `nonzero` | true elements above the capacity: `error`, which is the default, or `drop` |
//!
//! Unlike in the library, an index out of range is an error by default, because a query has no place for a warning. The
//! error names the index tuple and the row. A mask with more true elements than the capacity gives an error that names
//! its row. An argument of any type after the options names the row, as in `gather(params, indices, '', id)`. Without
//! such an argument, the error gives the row's number in the function's batch.

mod call;
mod crop;
mod function;
mod gather;
mod masks;
mod options;
mod scatter_nd;
mod shapes;
mod strided_slice;
mod tensor_convert;
#[cfg(feature = "cluster")]
pub mod zarr_shard;

use crate::tensor::{Layout, TensorType};
use call::{Batch, Call, Usage, failed, refused, run_on};
use crop::Crop;
use datafusion::{
    arrow::datatypes::DataType,
    common::plan_err,
    error::{DataFusionError, Result},
    execution::FunctionRegistry,
    logical_expr::{ScalarUDF, ScalarUDFImpl},
};
use function::{Function, RowProblem, TensorFunction};
use gather::{Gather, GatherNd};
use masks::{BooleanMask, CountNonzero, Nonzero, TensorSelect};
use options::{Options, integers};
use scatter_nd::ScatterNd;
use shapes::{TensorFromArrow, TensorReshape, TensorShape, TensorToArrow};
use std::sync::Arc;
use strided_slice::StridedSlice;
use tensor_convert::TensorConvert;
use wgslice::{
    DType, Error, Plan, SliceSpec, Values, ValuesMut, View,
    options::{
        Boxes, Combine, CropOptions, GatherNdOptions, GatherOptions, OutOfRange, ScatterOptions,
    },
    spec::SliceItem,
};

/// Returns all functions of this crate.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        make_udf(Function::new(StridedSlice)),
        make_udf(Function::new(Gather)),
        make_udf(Function::new(GatherNd)),
        make_udf(Function::new(Crop)),
        make_udf(Function::new(ScatterNd)),
        make_udf(Function::new(BooleanMask)),
        make_udf(Function::new(Nonzero)),
        make_udf(Function::new(CountNonzero)),
        make_udf(Function::new(TensorSelect)),
        make_udf(Function::new(TensorConvert)),
        make_udf(Function::new(TensorShape)),
        make_udf(Function::new(TensorReshape)),
        make_udf(Function::new(TensorFromArrow)),
        make_udf(Function::new(TensorToArrow)),
        #[cfg(feature = "cluster")]
        make_udf(zarr_shard::ZarrShard::default()),
    ]
}

fn make_udf(function: impl ScalarUDFImpl + 'static) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(function))
}

/// Registers all functions of this crate. They replace functions with the same names.
///
/// # Errors
///
/// An error if the registry does not accept functions.
pub fn register_all(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for function in all() {
        registry.register_udf(function)?;
    }
    Ok(())
}

/// Returns the position of the argument that names the row in errors, or `None` if no function of this name can have
/// such an argument.
pub(crate) fn name_position(function: &str) -> Option<usize> {
    let usages = [
        Gather::USAGE,
        GatherNd::USAGE,
        Crop::USAGE,
        ScatterNd::USAGE,
        BooleanMask::USAGE,
        Nonzero::USAGE,
    ];
    let usage = usages.into_iter().find(|usage| usage.name == function)?;
    Some(usage.name_position())
}

/// Returns whether an error is about an index out of range, or a mask that exceeds a capacity, and names its row.
pub(crate) fn names_row(problem: &str) -> bool {
    let problem_texts = [
        ", which is out of range of ",
        ", which is above the capacity ",
    ];
    problem.contains(": in row ") && problem_texts.iter().any(|text| problem.contains(text))
}

/// Returns whether an error names a row by its number in a batch, because the call has no argument that names rows.
pub(crate) fn names_row_of_batch(problem: &str) -> bool {
    let batch_texts = [
        " of the batch, the indices at ",
        " of the batch, the mask has ",
    ];
    names_row(problem) && batch_texts.iter().any(|text| problem.contains(text))
}

/// Returns the policy that the library gets. With `Error`, the library would fail, so it gets `Ignore`, and the
/// function makes the error from the library's report.
fn reporting_policy(policy: OutOfRange) -> OutOfRange {
    match policy {
        OutOfRange::Error => OutOfRange::Ignore,
        other => other,
    }
}
