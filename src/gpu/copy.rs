//! Buffer copies, which replace dispatches for rows that are few or long.
//!
//! | adapter | few rows | long rows | reason |
//! |---|---|---|---|
//! | software | up to 16 rows | from 16 KiB a row | on lavapipe each copy costs 0.9 µs and a dispatch 30 µs, besides moving bytes, and copies move bytes two to three times as fast: `cargo bench --bench copies` |
//! | GPU | 1 row | from 1 MiB a row | an estimate: wgpu makes the device finish each copy before the next one into the same buffer, so each copy should keep the whole device busy |

use super::{argument::Argument, caps::Kind};
use crate::{
    Plan,
    pairs::walk,
    plan::{Map, Rows},
};
use wgpu::{BufferUsages, CommandEncoder};

/// Whether `rows` rows of `bytes` contiguous bytes each are moved by copies rather than by a dispatch.
fn few_or_long(kind: Kind, rows: usize, bytes: usize) -> bool {
    match kind {
        Kind::Software => rows <= 16 || bytes >= 16 << 10,
        Kind::Hardware => rows == 1 || bytes >= 1 << 20,
    }
}

/// Whether buffer copies replace the dispatches of a plan on an adapter of this kind, provided that the buffers are
/// [`copyable`].
pub(super) fn is_copied(plan: &Plan, kind: Kind) -> bool {
    let Rows {
        unit,
        count,
        run,
        step,
    } = plan.rows;
    let whole = match &plan.map {
        Map::StridedSlice(_) => true,
        Map::StridedSliceUpdate(Some(pairs)) => pairs.run().0.to == 1,
        _ => false,
    };
    whole && unit >= 4 && step == 1 && few_or_long(kind, count, run * unit)
}

/// Whether the arguments' offsets and usages allow buffer copies.
pub(super) fn copyable(source: &Argument<'_>, dest: &Argument<'_>) -> bool {
    let has = |argument: &Argument<'_>, usage| {
        argument
            .buffers
            .iter()
            .all(|buffer| buffer.usage().contains(usage))
    };
    (source.parts.offset | dest.parts.offset).is_multiple_of(4)
        && has(source, BufferUsages::COPY_SRC)
        && has(dest, BufferUsages::COPY_DST)
}

/// Records the copies of a plan that [`is_copied`] accepts: one for each row, or several if a row lies in several
/// buffers.
pub(super) fn copy(
    encoder: &mut CommandEncoder,
    plan: &Plan,
    source: &Argument<'_>,
    dest: &Argument<'_>,
) {
    let Rows { unit, run, .. } = plan.rows;
    let mut copy_row = |from: usize, to: usize| {
        let [from, mut to, bytes] = [from, to, run].map(|units| (units * unit) as u64);
        for piece in source.slices(from, bytes) {
            let mut at = piece.offset();
            for into in dest.slices(to, piece.size()) {
                let (buffer, offset, bytes) = (into.buffer(), into.offset(), into.size());
                encoder.copy_buffer_to_buffer(piece.buffer(), at, buffer, offset, bytes);
                at += bytes;
            }
            to += piece.size();
        }
    };
    match &plan.map {
        Map::StridedSlice(map) => {
            for (row, from) in map.rows(&plan.rows).enumerate() {
                copy_row(from, row * run);
            }
        }
        Map::StridedSliceUpdate(Some(pairs)) => {
            walk(pairs.run().1, pairs.from, pairs.to, &mut copy_row);
        }
        _ => {}
    }
}

/// Records commands that fill an argument with zeros. The argument must consist of whole words.
pub(super) fn clear(encoder: &mut CommandEncoder, dest: &Argument<'_>) {
    for piece in dest.slices(0, dest.needed) {
        encoder.clear_buffer(piece.buffer(), piece.offset(), Some(piece.size()));
    }
}
