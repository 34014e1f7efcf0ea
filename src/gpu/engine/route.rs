//! Decides which commands are recorded for a move. Recording follows the decision, and `explain` describes it.
//!
//! | move | commands |
//! |---|---|
//! | writes nothing | none |
//! | moves few or long contiguous rows between word boundaries (see `copy`), and is recorded into an encoder | a buffer copy for each row: it needs no pipeline, and wgpu does not clear a new destination first |
//! | writes only zeros, in whole words, and is recorded into an encoder | a clear of the buffer |
//! | any other | a dispatch, or several if the device's limits require it |

use super::{caps::Tuning, copy::is_copied};
use crate::{moves::Effect, moves::Move, walk::Walk};

pub(in crate::gpu) enum Route<'a> {
    Nothing,
    Copies(&'a Walk),
    Clear,
    Dispatches,
}

/// Chooses the commands that are recorded into an encoder for a move that has no index tuples or no rows. `may_copy` is
/// true if the buffers of the arguments allow copies.
pub(in crate::gpu) fn choose_route<'a>(
    step_move: &'a Move,
    tuning: &Tuning,
    may_copy: bool,
) -> Route<'a> {
    let Some(walk) = step_move.walk() else {
        // If a gradient or a scatter into zeros moves nothing, its result is zero.
        let is_zeros = match step_move.effect() {
            Effect::Fill => true,
            Effect::Scatter(scatter) => scatter.starts_from_zeros,
            Effect::Make | Effect::Update => false,
            // A search has no walk. Its kernels read the mask.
            Effect::Find(_) => return Route::Dispatches,
        };
        return match is_zeros && step_move.result_bytes() > 0 {
            true if may_copy && step_move.result_bytes().is_multiple_of(4) => Route::Clear,
            true => Route::Dispatches,
            false => Route::Nothing,
        };
    };
    if may_copy && is_copied(step_move, walk, tuning) {
        Route::Copies(walk)
    } else {
        Route::Dispatches
    }
}
