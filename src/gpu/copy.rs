//! Buffer copies, which replace dispatches for rows that are few or long.
//!
//! | adapter | few | long | reason |
//! |---|---|---|---|
//! | software | up to 16 rows | from 16 KiB a row | on lavapipe a copy takes 0.9 µs and a dispatch 30 µs more, and copies move bytes two to three times as fast: `cargo bench --bench copies` |
//! | GPU | 1 row | from 1 MiB a row | an estimate: wgpu makes the device finish each copy before the next one into the same buffer, so each should keep all of it busy |

use super::{argument::Argument, caps::Kind};
use crate::{
    Plan,
    ops::strided_slice,
    pairs::{Pairs, walk},
    plan::{Map, Rows},
};
use wgpu::{BufferUsages, CommandEncoder};

/// Whether `rows` contiguous rows of `bytes` bytes are copied rather than dispatched.
fn few_or_long(kind: Kind, rows: usize, bytes: usize) -> bool {
    match kind {
        Kind::Software => rows <= 16 || bytes >= 16 << 10,
        Kind::Hardware => rows == 1 || bytes >= 1 << 20,
    }
}

/// The rows of buffer copies.
pub(super) enum Copies<'a> {
    /// Rows that are contiguous in the destination.
    Slice(&'a strided_slice::Map),
    /// Rows that are strided in the destination.
    Pairs(&'a Pairs),
}

impl Copies<'_> {
    /// Calls `each` with the first unit of every row, in the source and in the destination.
    pub(super) fn each(&self, rows: &Rows, mut each: impl FnMut(usize, usize)) {
        match self {
            Self::Slice(map) => {
                for (row, from) in map.rows(rows).enumerate() {
                    each(from, row * rows.run);
                }
            }
            Self::Pairs(pairs) => walk(pairs.run().1, pairs.from, pairs.to, &mut each),
        }
    }
}

/// The buffer copies that replace a plan's dispatch on an adapter of this kind, if any.
pub(super) fn copied(plan: &Plan, kind: Kind) -> Option<Copies<'_>> {
    let Rows {
        unit,
        count,
        run,
        step,
    } = plan.rows;
    if unit < 4 || step != 1 || !few_or_long(kind, count, run * unit) {
        return None;
    }
    match &plan.map {
        Map::StridedSlice(map) => Some(Copies::Slice(map)),
        Map::StridedSliceUpdate(Some(pairs)) if pairs.run().0.to == 1 => Some(Copies::Pairs(pairs)),
        _ => None,
    }
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

/// Copies `bytes` from byte `from` of one argument to byte `to` of another, part by part.
pub(super) fn copy(
    encoder: &mut CommandEncoder,
    source: &Argument<'_>,
    mut from: u64,
    dest: &Argument<'_>,
    mut to: u64,
    mut bytes: u64,
) {
    while bytes > 0 {
        let (source_buffer, source_at, source_left) = source.at(from);
        let (dest_buffer, dest_at, dest_left) = dest.at(to);
        let piece = bytes.min(source_left).min(dest_left);
        encoder.copy_buffer_to_buffer(source_buffer, source_at, dest_buffer, dest_at, piece);
        from += piece;
        to += piece;
        bytes -= piece;
    }
}

/// Fills an argument with zeros, part by part.
pub(super) fn clear(encoder: &mut CommandEncoder, dest: &Argument<'_>) {
    let mut at = 0;
    while at < dest.needed {
        let (buffer, offset, left) = dest.at(at);
        let piece = left.min(dest.needed - at);
        encoder.clear_buffer(buffer, offset, Some(piece));
        at += piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_copied_if_few_or_long() {
        let software = |rows, bytes| few_or_long(Kind::Software, rows, bytes);
        assert!(software(1, 4) && software(16, 4) && software(1 << 20, 16 << 10));
        assert!(!software(17, (16 << 10) - 4));
        let hardware = |rows, bytes| few_or_long(Kind::Hardware, rows, bytes);
        assert!(hardware(1, 4) && hardware(1 << 10, 1 << 20));
        assert!(!hardware(2, (1 << 20) - 4));
    }
}
