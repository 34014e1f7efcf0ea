//! Slices of host data written straight into memory that the device reads.
//!
//! Such memory may be write-combined, and wgpu lets nobody read it. So long rows are copied to it
//! from where they are, and everything else through a buffer that stays in the cache.

use crate::{
    Error, Plan,
    element::zeroed,
    ops::RowMap,
    piece::Pieces,
    plan::{Map, Rows},
};

/// Bytes of a row that is copied by itself.
const LONG_ROW: usize = 4 << 10;

/// Bytes that go through the cache at once.
const BOUNCE: usize = 256 << 10;

/// Runs the plan of a slice. `put` is given the bytes of the result, and where they belong, in
/// ascending order.
pub(super) fn fill(
    plan: &Plan,
    source: &[u8],
    mut put: impl FnMut(usize, &[u8]),
) -> Result<(), Error> {
    let Rows {
        unit,
        count,
        run,
        step,
    } = plan.rows;
    let row_bytes = run * unit;
    match &plan.map {
        Map::StridedSlice(map) if step == 1 && row_bytes >= LONG_ROW => {
            for (row, base) in map.bases(0).flatten().take(count).enumerate() {
                put(row * row_bytes, &source[base * unit..][..row_bytes]);
            }
        }
        _ => {
            let mut bounce = zeroed(BOUNCE.min(plan.result_bytes()))?;
            let mut at = 0;
            for piece in Pieces::new(plan, |piece| piece.result_bytes() <= BOUNCE) {
                let dest = &mut bounce[..piece.result_bytes()];
                piece.plan().run(&source[piece.span()], dest)?;
                put(at, dest);
                at += dest.len();
            }
        }
    }
    Ok(())
}
