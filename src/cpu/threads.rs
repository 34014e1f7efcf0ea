//! How many threads write a result, and which part each writes.
//!
//! Starting a thread takes tens of microseconds, so the calling thread alone writes results that take less. Larger
//! results are cut into parts, and each thread takes the next part when it has finished one. So the calling thread does
//! not wait for others to start, and a core that is busy with other programs takes fewer parts.

use crate::text::counted;
use std::{
    fmt::Display,
    num::NonZero,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
};

/// The least work for each thread in nanoseconds: more than starting the thread takes.
const WORTH_NS: usize = 60_000;
/// The number of bytes that a core writes to its cache per nanosecond, roughly.
const BYTES_PER_NS: usize = 32;
/// The largest size of a part in bytes. With larger parts, threads would wait longer for the last one to finish.
/// Smaller parts would make sequential accesses too short for the processor to prefetch.
const PART: usize = 1 << 20;
/// The least number of parts per thread, so that a slow thread can take fewer than the others.
const PARTS: usize = 4;

/// The number of cores that this process may use. Cached, because the system call takes tens of microseconds.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *CORES
}

/// How many threads write a result of `bytes` bytes: one for every [`WORTH_NS`] of work, at least 1 and at most one per
/// core. `pieces` is the number of pieces that are copied one by one, each of which takes about a nanosecond in
/// addition to the time for its bytes.
pub(super) fn worth(bytes: usize, pieces: usize) -> usize {
    match (bytes / BYTES_PER_NS).saturating_add(pieces) / WORTH_NS {
        0 | 1 => 1,
        worth => worth.min(cores()),
    }
}

/// Describes how many threads do the work, and how they do it.
pub(super) fn explain(threads: usize, how: impl Display) -> String {
    format!(" on {}, {how}", counted(threads, "thread", "threads"))
}

/// Writes `dest` with `threads` threads, in parts that begin at multiples of `grain` bytes. `write` gets the byte of
/// `dest` where a part begins, and the part.
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

/// The size in bytes of the parts into which `threads` threads cut a result of `bytes` bytes: at most [`PART`], and
/// small enough for [`PARTS`] parts per thread.
pub(super) fn part(bytes: usize, threads: usize) -> usize {
    bytes.div_ceil(threads * PARTS).min(PART)
}

/// The least number of parts into which `threads` threads cut a result. A single thread does not cut it.
pub(super) fn parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { threads * PARTS }
}

/// Calls `each` for every part, with `threads` threads, one of which is the calling thread. Each thread takes the next
/// part when it has finished one.
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
