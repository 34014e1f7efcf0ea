//! What is recorded for a plan: one decision, which recording follows and `explain` spells out.
//!
//! | plan | recorded |
//! |---|---|
//! | nothing is written | nothing |
//! | contiguous rows on word boundaries, into an encoder, if few or long (`copy`) | a buffer copy each: no pipeline, and wgpu does not clear a fresh destination for it |
//! | all of the result is zeros, whole words, into an encoder | a clear of the buffer |
//! | anything else | a dispatch, or several where the device's limits demand it |

use super::{
    caps::Kind,
    copy::{Copies, copied},
};
use crate::{Plan, ops::strided_slice_grad, plan::Map};

/// What is recorded for a plan.
pub(super) enum Route<'a> {
    Nothing,
    Copies(Copies<'a>),
    Clear,
    Dispatches,
}

/// What is recorded for a plan without indices on an adapter of this kind, into an encoder; `copyable` says whether
/// its buffers can be copied between.
pub(super) fn route(plan: &Plan, kind: Kind, copyable: bool) -> Route<'_> {
    if plan.rows.count == 0 {
        return Route::Nothing;
    }
    if !copyable {
        return Route::Dispatches;
    }
    let zeros = Map::StridedSliceGrad(strided_slice_grad::Map { pairs: None });
    match copied(plan, kind) {
        Some(copies) => Route::Copies(copies),
        None if plan.map == zeros && plan.result_bytes().is_multiple_of(4) => Route::Clear,
        None => Route::Dispatches,
    }
}
