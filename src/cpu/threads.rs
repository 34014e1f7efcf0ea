//! How many threads write a result, and which part each writes.
//!
//! Starting a thread takes tens of microseconds, so the caller alone writes results that take less. Larger
//! results are cut into parts, and each thread takes the next part when it has finished one. The caller
//! does not wait for other threads to start, and a core that is busy elsewhere takes fewer parts.

use crate::text::counted;
use std::{
    fmt::Display,
    num::NonZero,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
};

/// Nanoseconds of work for each thread, at least.
const WORTH_NS: usize = 60_000;
/// Bytes that a core writes to its cache per nanosecond, roughly.
const BYTES_PER_NS: usize = 32;
/// Bytes of a part, at most. Larger parts let the threads finish further apart, smaller ones make the
/// streams of memory accesses too short.
const PART: usize = 1 << 20;
/// Parts for each thread, at least.
const PARTS: usize = 4;

/// The cores that this process may use. Cached, because the system call takes tens of microseconds.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *CORES
}

/// How many threads write a result of `bytes` bytes. A piece that is copied by itself takes about a
/// nanosecond more than its bytes.
pub(super) fn worth(bytes: usize, pieces: usize) -> usize {
    match (bytes / BYTES_PER_NS).saturating_add(pieces) / WORTH_NS {
        0 | 1 => 1,
        worth => worth.min(cores()),
    }
}

/// Says how many threads do the work, and what each does.
pub(super) fn explain(threads: usize, how: impl Display) -> String {
    format!(" on {}, {how}", counted(threads, "thread", "threads"))
}

/// Writes `dest` with `threads` threads. `write` gets the byte where a part begins, and the part, a multiple
/// of `grain` bytes.
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

/// Bytes of a part of a result of `bytes` bytes.
pub(super) fn part(bytes: usize, threads: usize) -> usize {
    bytes.div_ceil(threads * PARTS).min(PART)
}

/// The number of parts that a result is cut into, at least.
pub(super) fn parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { threads * PARTS }
}

/// Calls `each` for every part. Each thread takes the next part when it has finished one.
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
