//! Packs slices of host data into memory that the device reads.
//!
//! That memory may be write-combined, which makes short writes slow, and wgpu does not allow reading it. So only long
//! contiguous rows are copied directly to it. All others are first collected in a buffer that stays in the cache.

use crate::{
    Error, Plan,
    element::zeroed,
    plan::{Map, Rows},
};

/// The size in bytes from which a row is copied directly: 64 cache lines of 64 bytes, of which only the first and the
/// last may be written in part.
const LONG_ROW: usize = 4 << 10;

/// The size in bytes of the buffer in which all other rows are collected: small enough for a core's second-level cache.
const BOUNCE: usize = 256 << 10;

/// Runs the plan of a slice. Calls `put` for consecutive parts of the result, with the part's offset in the result in
/// bytes, and the part's bytes. Stops at the first error of `put`.
pub(super) fn fill(
    plan: &Plan,
    source: &[u8],
    mut put: impl FnMut(usize, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let Rows {
        unit, run, step, ..
    } = plan.rows;
    let row_bytes = run * unit;
    match &plan.map {
        Map::StridedSlice(map) if step == 1 && row_bytes >= LONG_ROW => {
            for (row, base) in map.rows(&plan.rows).enumerate() {
                put(row * row_bytes, &source[base * unit..][..row_bytes])?;
            }
        }
        _ => {
            let bytes = plan.result_bytes();
            let mut bounce = zeroed(BOUNCE.min(bytes))?;
            for at in (0..bytes).step_by(BOUNCE) {
                let dest = &mut bounce[..BOUNCE.min(bytes - at)];
                plan.run_part(source, at, dest)?;
                put(at, dest)?;
            }
        }
    }
    Ok(())
}
