//! How many threads a result is worth, and who writes what.
//!
//! A thread costs tens of microseconds to start; a result that takes less is written by the
//! caller alone. Larger ones are cut into parts, and each thread takes the next part when it is
//! done with one: the caller does not wait for the others to start, and a core that is busy
//! elsewhere takes fewer.

use std::{
    num::NonZero,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
};

/// Nanoseconds of work that are worth a thread.
const WORTH: usize = 60_000;
/// Bytes that a core writes in a nanosecond, about, where they are in its cache.
const BYTES_PER_NS: usize = 32;
/// Bytes of a part: more, and the threads end further apart; less, and their streams are too short.
const PART: usize = 1 << 20;
/// Parts for each thread where the result is small.
const PARTS: usize = 4;

/// The cores that this process may use. Asked once: the answer takes tens of microseconds.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *CORES
}

/// How many threads write a result of so many bytes in so many pieces that are moved one by one. A
/// piece costs about a nanosecond more than its bytes.
pub(super) fn worth(bytes: usize, pieces: usize) -> usize {
    match (bytes / BYTES_PER_NS).saturating_add(pieces) / WORTH {
        0 | 1 => 1,
        worth => worth.min(cores()),
    }
}

/// Writes `dest` with so many threads. `write` gets a part, a multiple of `grain` bytes, and the
/// byte where it begins.
pub(super) fn spread(
    dest: &mut [u8],
    grain: usize,
    threads: usize,
    write: impl Fn(usize, &mut [u8]) + Sync,
) {
    if threads == 1 {
        return write(0, dest);
    }
    let part = part(dest.len(), threads).div_ceil(grain) * grain;
    let parts = dest.chunks_mut(part).enumerate();
    share(parts, threads, |(i, dest)| write(i * part, dest));
}

/// Bytes of a part of a result of so many bytes.
pub(super) fn part(bytes: usize, threads: usize) -> usize {
    bytes.div_ceil(threads * PARTS).min(PART)
}

/// How many parts a result is cut into for so many threads, at least.
pub(super) fn parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { threads * PARTS }
}

/// Does `parts` with so many threads, each taking the next when it is done with one.
pub(super) fn share<T>(
    parts: impl Iterator<Item = T> + Send,
    threads: usize,
    each: impl Fn(T) + Sync,
) {
    if threads == 1 {
        return parts.for_each(each);
    }
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(part) = next() {
            each(part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}
