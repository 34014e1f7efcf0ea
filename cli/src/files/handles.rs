//! Handles for elements of sizes that the library does not have. The library moves the handles; the writer of the
//! result then looks up their elements.
//!
//! Handles number the elements that a thread has read, from 1. Handle 0 stands for an element whose bytes are all zero,
//! because the library writes zeros to positions without an element. A run reads and writes its files on one thread.

use std::cell::RefCell;
use std::sync::Arc;

use super::bytes::Bytes;
use super::error::Problem;

const HANDLE_BYTES: usize = size_of::<u64>();

/// The elements of an array, and the handle of the first element.
struct ElementPool {
    first_handle: u64,
    bytes: Arc<Bytes>,
}

thread_local! {
    /// The pools, ordered by handle.
    static POOLS: RefCell<Vec<ElementPool>> = const { RefCell::new(Vec::new()) };
}

/// Registers an array of `count` elements of `size` bytes and returns their handles.
pub(super) fn register_elements(
    bytes: &Arc<Bytes>,
    size: usize,
    count: usize,
) -> Result<Vec<u8>, Problem> {
    let first_handle = POOLS.with_borrow_mut(|pools| {
        let first_handle = pools.last().map_or(1, |last| {
            last.first_handle + (last.bytes.len() / size.max(1)) as u64
        });
        let bytes = Arc::clone(bytes);
        pools.push(ElementPool {
            first_handle,
            bytes,
        });
        first_handle
    });
    let too_many = || Problem::invalid("the array has more elements than fit into memory");
    let mut handles = Vec::new();
    let len = count.checked_mul(HANDLE_BYTES).ok_or_else(too_many)?;
    handles.try_reserve_exact(len).map_err(|_| too_many())?;
    for handle in (first_handle..).take(count) {
        // Elements without bytes are all alike, so they share handle 0.
        let handle = if size == 0 { 0 } else { handle };
        handles.extend(handle.to_ne_bytes());
    }
    Ok(handles)
}

/// Calls `sink` with the elements of these handles, of `size` bytes each.
pub(crate) fn resolve<E>(
    handles: &[u8],
    size: usize,
    mut sink: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    /// The number of bytes after which `sink` is called.
    const PIECE_BYTES: usize = 1 << 16;
    POOLS.with_borrow(|pools| {
        let mut piece = Vec::new();
        for &handle in handles.as_chunks().0 {
            let handle = u64::from_ne_bytes(handle);
            let pools_before = pools.partition_point(|pool| pool.first_handle <= handle);
            match pools_before.checked_sub(1).map(|at| &pools[at]) {
                Some(pool) => {
                    #[expect(clippy::cast_possible_truncation, reason = "it is in memory")]
                    let at = (handle - pool.first_handle) as usize * size;
                    piece.extend_from_slice(&pool.bytes[at..at + size]);
                }
                None => piece.resize(piece.len() + size, 0),
            }
            if piece.len() >= PIECE_BYTES {
                sink(&piece)?;
                piece.clear();
            }
        }
        sink(&piece)
    })
}

/// Forgets all elements that this thread has read.
pub(crate) fn forget() {
    POOLS.with_borrow_mut(Vec::clear);
}
