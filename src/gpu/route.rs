//! Decides which commands are recorded for a plan. Recording follows the decision, and `explain` describes it.
//!
//! | plan | commands |
//! |---|---|
//! | writes nothing | none |
//! | moves contiguous rows that are few or long, between word boundaries (`copy`), into an encoder | a buffer copy for each row: needs no pipeline, and wgpu does not clear a new destination first |
//! | writes only zeros, in whole words, into an encoder | a clear of the buffer |
//! | any other | a dispatch, or several if the device's limits require it |

use super::{caps::Kind, copy::is_copied};
use crate::{Plan, plan::Map};

pub(super) enum Route {
    Nothing,
    Copies,
    Clear,
    Dispatches,
}

/// Decides which commands are recorded into an encoder for a plan without indices or without rows, on an adapter of
/// this kind. `copyable` tells whether the buffers of the arguments allow copies.
pub(super) fn route(plan: &Plan, kind: Kind, copyable: bool) -> Route {
    let zeros = Map::StridedSliceGrad(None);
    if plan.rows.count == 0 {
        // A scatter into zeros that has no updates leaves only zeros.
        let is_zeros = matches!(&plan.map, Map::ScatterNd(map) if map.fresh);
        match is_zeros && plan.result_bytes() > 0 {
            true => Route::Clear,
            false => Route::Nothing,
        }
    } else if copyable && is_copied(plan, kind) {
        Route::Copies
    } else if copyable && plan.map == zeros && plan.result_bytes().is_multiple_of(4) {
        Route::Clear
    } else {
        Route::Dispatches
    }
}
