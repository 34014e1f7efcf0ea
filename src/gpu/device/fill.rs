//! Packs slices of host data into memory that the device reads.
//!
//! This memory can be write-combined, which makes short writes slow, and wgpu does not allow the host to read it. So
//! only long contiguous rows are copied directly to it. All other rows are first collected in a buffer that stays in
//! the cache.

use crate::{Error, element::zeroed, moves::Move, walk::Walk};
use wgpu::WriteOnly;

/// The minimum size in bytes of rows that are copied directly: 64 cache lines of 64 bytes. Then only the first and the
/// last of these lines can be written partially.
const LONG_ROW_BYTES: usize = 4 << 10;

/// The size in bytes of the buffer in which short rows are collected: small enough for a core's second-level cache.
const BOUNCE_BYTES: usize = 256 << 10;

/// Fills `dest` with the bytes of a slice's result, starting at byte `at` of the result.
pub(in crate::gpu) fn write_slice(
    step_move: &Move,
    source: &[u8],
    at: usize,
    mut dest: WriteOnly<'_, [u8]>,
) -> Result<(), Error> {
    let row_bytes = |walk: &Walk| walk.contiguous() * walk.unit;
    let is_long = |walk: &&Walk| walk.is_dense() && row_bytes(walk) >= LONG_ROW_BYTES;
    let long_walk = step_move.walk().filter(is_long);
    let mut bounce = match long_walk {
        Some(_) => Vec::new(),
        None => zeroed(BOUNCE_BYTES.min(dest.len()))?,
    };
    let mut filled_bytes = 0;
    while filled_bytes < dest.len() {
        let (at, bytes_left) = (at + filled_bytes, dest.len() - filled_bytes);
        let bytes = match long_walk {
            Some(walk) => {
                let (row, skipped) = (at / row_bytes(walk), at % row_bytes(walk));
                let [first, _] = walk.row_start(row);
                let bytes = bytes_left.min(row_bytes(walk) - skipped);
                &source[first * walk.unit + skipped..][..bytes]
            }
            None => {
                let bytes = bytes_left.min(BOUNCE_BYTES);
                step_move.run_part(source, at, &mut bounce[..bytes])?;
                &bounce[..bytes]
            }
        };
        dest.slice(filled_bytes..filled_bytes + bytes.len())
            .copy_from_slice(bytes);
        filled_bytes += bytes.len();
    }
    Ok(())
}
