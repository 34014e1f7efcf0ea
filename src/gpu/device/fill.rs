//! Packs slices of host data into memory that the device reads.
//!
//! That memory may be write-combined, which makes short writes slow, and wgpu does not allow reading it. So only long
//! contiguous rows are copied directly to it. All others are first collected in a buffer that stays in the cache.

use crate::{Error, Plan, element::zeroed};

/// The size in bytes from which a row is copied directly: 64 cache lines of 64 bytes, of which only the first and the
/// last may be written in part.
const LONG_ROW: usize = 4 << 10;

/// The size in bytes of the buffer in which all other rows are collected: small enough for a core's second-level cache.
const BOUNCE: usize = 256 << 10;

/// Runs the plan of a slice. Calls `put` for consecutive parts of the result, with the part's offset in the result in
/// bytes, and the part's bytes. Stops at the first error of `put`.
pub(in crate::gpu) fn fill(
    plan: &Plan,
    source: &[u8],
    mut put: impl FnMut(usize, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let walk = plan.walk();
    let long = walk.filter(|walk| walk.is_dense() && walk.contiguous() * walk.unit >= LONG_ROW);
    match long {
        Some(walk) => {
            let row = walk.contiguous() * walk.unit;
            let mut at = 0;
            walk.each_row(&mut |from, _| {
                put(at, &source[from * walk.unit..][..row])?;
                at += row;
                Ok::<(), Error>(())
            })?;
        }
        None => {
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
