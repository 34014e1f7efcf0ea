//! Buffer copies, which replace dispatches if there are few rows or the rows are long.
//!
//! | adapter | few rows | long rows | reason |
//! |---|---|---|---|
//! | software | up to 16 rows | at least 16 KiB each | on lavapipe each copy costs 0.9 µs and a dispatch 30 µs, in addition to moving bytes, and copies move bytes two to three times as fast as dispatches: `cargo bench --bench copies` |
//! | GPU | 1 row | at least 1 MiB each | an estimate: wgpu makes the device finish each copy before the next one into the same buffer, so each copy should keep the whole device busy |

use super::{argument::Argument, caps::Tuning};
use crate::{moves::Effect, moves::Move, walk::Walk};
use wgpu::{BufferUsages, CommandEncoder};

/// Returns whether buffer copies replace the dispatches of a move with this walk, provided that [`can_copy`] accepts
/// the arguments.
pub(super) fn is_copied(step_move: &Move, walk: &Walk, tuning: &Tuning) -> bool {
    let run = walk.contiguous();
    let keeps_elements = step_move.conversion.is_none() && walk.columns == 0;
    let is_plain_copy =
        matches!(step_move.effect(), Effect::Make | Effect::Update) && keeps_elements;
    let has_one_unit = walk.units() == 1;
    is_plain_copy
        && walk.coordinates.is_empty()
        && walk.unit >= 4
        && (run > 1 || has_one_unit)
        && (walk.units() / run <= tuning.few_rows || run * walk.unit >= tuning.long_row)
}

/// Returns whether the arguments' offsets and usages allow buffer copies.
pub(super) fn can_copy(source: &Argument<'_>, dest: &Argument<'_>) -> bool {
    let has_usage = |argument: &Argument<'_>, usage| {
        argument
            .buffers
            .iter()
            .all(|buffer| buffer.usage().contains(usage))
    };
    (source.parts.offset | dest.parts.offset).is_multiple_of(4)
        && has_usage(source, BufferUsages::COPY_SRC)
        && has_usage(dest, BufferUsages::COPY_DST)
}

/// Records the copies of a move that [`is_copied`] accepts: one for each row, or several if a row is in several
/// buffers.
pub(super) fn record_copies(
    encoder: &mut CommandEncoder,
    walk: &Walk,
    source: &Argument<'_>,
    dest: &Argument<'_>,
) {
    let unit = walk.unit;
    let run = walk.contiguous();
    for row in 0..walk.units() / run {
        let [from, to] = walk.row_start(row);
        let [from, mut to, bytes] = [from, to, run].map(|units| (units * unit) as u64);
        for piece in source.buffer_slices(from, bytes) {
            let mut at = piece.offset();
            for dest_piece in dest.buffer_slices(to, piece.size()) {
                let (buffer, offset, bytes) =
                    (dest_piece.buffer(), dest_piece.offset(), dest_piece.size());
                encoder.copy_buffer_to_buffer(piece.buffer(), at, buffer, offset, bytes);
                at += bytes;
            }
            to += piece.size();
        }
    }
}

/// Records commands that fill an argument with zeros. The argument must consist of whole words.
pub(super) fn record_clear(encoder: &mut CommandEncoder, dest: &Argument<'_>) {
    for piece in dest.buffer_slices(0, dest.needed_bytes) {
        encoder.clear_buffer(piece.buffer(), piece.offset(), Some(piece.size()));
    }
}
