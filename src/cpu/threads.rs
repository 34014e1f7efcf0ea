//! Chooses how many threads write a result, and which part each thread writes.
//!
//! Starting a thread takes tens of microseconds. The calling thread therefore writes small results alone. Larger
//! results are cut into parts, and each thread takes the next part when it has finished one. So the calling thread does
//! not wait for other threads to start, and a thread on a core that is busy with other programs takes fewer parts.
//!
//! Without the feature `rayon`, the other threads are started for each result. With this feature, they belong to the
//! pool of the calling thread, or to the global pool if the calling thread belongs to no pool. Without the feature
//! `std`, the calling thread writes all results alone. Only `available_threads`, `run_on_threads` and `share` depend on
//! these features.

use super::Dest;
#[cfg(feature = "std")]
use crate::lock::lock;
use crate::{prelude::*, report::Missing, text::counted};
use core::{
    fmt::Display,
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
#[cfg(feature = "std")]
use std::sync::Mutex;

/// The smallest amount of work per thread, in nanoseconds, if several threads are used. It is more than the time to
/// start a thread.
const MIN_NS_PER_THREAD: usize = 60_000;
/// The number of bytes that a core writes to its cache per nanosecond, roughly.
const BYTES_PER_NS: usize = 32;
/// The largest size of a part in bytes, before the size is rounded up to a multiple of the caller's `grain`. With
/// larger parts, threads would wait longer for the last thread to finish. With smaller parts, sequential accesses would
/// be too short for the processor to prefetch. Threads would also more often write to the same new page of 2 MiB at the
/// same time, and the system would clear a page for each thread. With parts of 1 MiB, new results of 17 to 113 MB took
/// 14 % longer, and results in reused memory took the same time (medians of 12 workloads, 2 cores of an AMD EPYC,
/// family 25, model 17).
const MAX_PART_BYTES: usize = 4 << 20;
/// A result is cut into at least this many parts per thread, before part sizes are rounded up to multiples of `grain`.
/// So a slow thread can take fewer parts than other threads.
const PARTS_PER_THREAD: usize = 4;

/// The largest number of threads that may write a result, the calling thread included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    /// The largest number of threads. `None` stands for the number of cores or, with rayon, the number of threads of
    /// the pool.
    bound: Option<NonZero<usize>>,
    /// True if all threads write even a small result, at most one thread per byte. Tests set this, so that their small
    /// results are cut into parts.
    #[cfg(any(test, feature = "test-seams"))]
    pub(crate) for_any_work: bool,
}

impl Threads {
    /// Allows at most `max_threads` threads. 0 stands for the default: see `bound`.
    pub(crate) fn at_most(max_threads: usize) -> Self {
        Self {
            bound: NonZero::new(max_threads),
            #[cfg(any(test, feature = "test-seams"))]
            for_any_work: false,
        }
    }

    /// Returns the same number as [`Self::count_for`]. For a small result it does not call `count_pieces`, because
    /// counting takes some time. `count_pieces` must return at most two pieces for each byte.
    pub(super) fn count_unless_small(
        self,
        bytes: usize,
        count_pieces: impl FnOnce() -> usize,
    ) -> usize {
        let is_small = bytes + bytes / BYTES_PER_NS < MIN_NS_PER_THREAD;
        self.count_for(bytes, if is_small { 0 } else { count_pieces() })
    }

    /// Returns how many threads write a result of `bytes` bytes: one for every [`MIN_NS_PER_THREAD`] nanoseconds of
    /// work, at least 1 and at most the bound. `piece_count` is the number of pieces that are copied one by one. Each
    /// piece takes about a nanosecond in addition to the time for its bytes.
    pub(super) fn count_for(self, bytes: usize, piece_count: usize) -> usize {
        let work_ns = (bytes / BYTES_PER_NS).saturating_add(piece_count);
        let thread_count = work_ns / MIN_NS_PER_THREAD;
        #[cfg(any(test, feature = "test-seams"))]
        let thread_count = if self.for_any_work {
            bytes
        } else {
            thread_count
        };
        // `available_threads` is called only if its result matters, because the call can make rayon start its global
        // pool.
        match (thread_count, self.bound) {
            (0 | 1, _) | (_, Some(NonZero::<usize>::MIN)) => 1,
            (thread_count, bound) => thread_count.min(available_threads(bound)),
        }
    }
}

/// Returns the number of threads that can be used: 1, because only the standard library can start threads.
#[cfg(not(feature = "std"))]
fn available_threads(_: Option<NonZero<usize>>) -> usize {
    1
}

/// Returns the number of threads that can be used: `bound`, or the number of cores if `bound` is `None`.
#[cfg(all(feature = "std", not(feature = "rayon")))]
fn available_threads(bound: Option<NonZero<usize>>) -> usize {
    /// The number of cores that this process may use. It is cached, because the system call takes tens of microseconds.
    static CORES: std::sync::LazyLock<NonZero<usize>> = std::sync::LazyLock::new(|| {
        std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
    });
    bound.unwrap_or_else(|| *CORES).get()
}

/// Returns the number of threads that can be used: all threads of the pool, but at most `bound`.
#[cfg(feature = "rayon")]
fn available_threads(bound: Option<NonZero<usize>>) -> usize {
    let pool_threads = rayon::current_num_threads();
    bound.map_or(pool_threads, |bound| bound.get().min(pool_threads))
}

/// Calls `work` on `threads` threads, including the calling thread. If the system does not start enough threads,
/// calls `work` on fewer.
#[cfg(all(feature = "std", not(feature = "rayon")))]
fn run_on_threads(threads: usize, work: impl Fn() + Sync) {
    use std::thread::{self, Builder};
    thread::scope(|scope| {
        for _ in 1..threads {
            if Builder::new().spawn_scoped(scope, &work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Calls `work` `threads` times, once on the calling thread. The other calls run in the pool of the calling thread, or
/// in the global pool if the calling thread belongs to no pool.
#[cfg(feature = "rayon")]
fn run_on_threads(threads: usize, work: impl Fn() + Sync) {
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Describes the work for `explain`: the number of threads, and how they move the bytes.
pub(super) fn explain(threads: usize, method: impl Display) -> String {
    format!(" on {}, {method}", counted(threads, "thread", "threads"))
}

/// Writes `dest` with `threads` threads, in parts that begin at multiples of `grain` bytes. Calls `write` for each
/// part, or for each block of a part in new memory, with its offset in `dest` and its bytes.
pub(super) fn spread<'d>(
    dest: impl Into<Dest<'d>>,
    grain: usize,
    threads: usize,
    write: impl Fn(usize, &mut [u8]) + Sync,
) {
    let write = &write;
    write_dest_in_parts(dest.into(), grain, threads, &|first, part| {
        part.for_each_block(grain, &mut |at, bytes| write(first + at, bytes));
    });
}

/// Writes `dest` with `threads` threads, in parts that begin at multiples of `grain` bytes. `write` gets a part's
/// offset in `dest` and the part, which can be new memory. This function is not generic, so that its loops are compiled
/// once.
pub(super) fn write_dest_in_parts(
    dest: Dest<'_>,
    grain: usize,
    threads: usize,
    write: &(dyn Fn(usize, Dest<'_>) + Sync),
) {
    let part_bytes = match threads {
        1 => dest.len(),
        _ => part_bytes(dest.len(), threads).div_ceil(grain) * grain,
    };
    let parts = dest.parts(part_bytes).enumerate();
    share(parts, threads, |(number, part)| {
        write(number * part_bytes, part);
    });
}

/// Writes `dest` as [`write_dest_in_parts`] does. `write` returns the out-of-range tuples of its part. The result has
/// the number of out-of-range tuples in all parts, and the first of these tuples.
pub(super) fn write_counting_missing(
    dest: Dest<'_>,
    grain: usize,
    threads: usize,
    write: impl Fn(usize, Dest<'_>) -> Missing + Sync,
) -> Missing {
    let (count, first) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    write_dest_in_parts(dest, grain, threads, &|begin, dest| {
        let missing = write(begin, dest);
        if let Some(tuple) = missing.first {
            count.fetch_add(missing.count, Relaxed);
            first.fetch_min(tuple, Relaxed);
        }
    });
    let count = count.into_inner();
    Missing {
        count,
        first: (count > 0).then_some(first.into_inner()),
    }
}

/// Returns the size in bytes of the parts into which a result of `bytes` bytes is cut for `threads` threads: at most
/// [`MAX_PART_BYTES`], and small enough for [`PARTS_PER_THREAD`] parts per thread.
pub(super) fn part_bytes(bytes: usize, threads: usize) -> usize {
    bytes
        .div_ceil(threads * PARTS_PER_THREAD)
        .min(MAX_PART_BYTES)
}

/// Returns the smallest number of parts into which a result should be cut for `threads` threads. A single thread writes
/// the result as one part.
pub(super) fn min_parts(threads: usize) -> usize {
    if threads == 1 {
        1
    } else {
        threads * PARTS_PER_THREAD
    }
}

/// Calls `each` for every part, with `threads` threads, including the calling thread. Each thread takes the next
/// part when it has finished one.
pub(super) fn share<T>(
    parts: impl Iterator<Item = T> + Send,
    threads: usize,
    each: impl Fn(T) + Sync,
) {
    #[cfg(all(test, feature = "std"))]
    tests::MAX_THREADS.with(|max_threads| max_threads.set(threads.max(max_threads.get())));
    #[cfg(feature = "std")]
    if threads > 1 {
        let parts = Mutex::new(parts);
        let next_part = || lock(&parts).next();
        let work = || {
            while let Some(part) = next_part() {
                each(part);
            }
        };
        return run_on_threads(threads, work);
    }
    let _ = threads;
    parts.for_each(each);
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::{
        Backend, DType, Error, Tensor, View,
        options::{Boxes, GatherNdOptions, ScatterOptions},
        slice,
    };
    use core::cell::Cell;
    use std::{collections::HashSet, sync::Barrier, thread};

    thread_local! {
        /// The largest number of threads that [`share`] was called with on this thread.
        pub(super) static MAX_THREADS: Cell<usize> = const { Cell::new(1) };
    }

    /// Calls `test` where operations can use 3 threads, even if the machine has fewer cores.
    fn with_3_threads(test: impl FnOnce() + Send) {
        #[cfg(feature = "rayon")]
        pool().install(test);
        #[cfg(not(feature = "rayon"))]
        test();
    }

    #[cfg(feature = "rayon")]
    fn pool() -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        pool.thread_name(|i| format!("pool {i}")).build().unwrap()
    }

    /// Each of 3 parts waits for the other two, so the test ends only if 3 threads work at the same time. One of them
    /// is the calling thread.
    #[test]
    fn three_threads_share_three_parts() {
        with_3_threads(|| {
            let (barrier, caller) = (Barrier::new(3), thread::current().id());
            let thread_ids = Mutex::new(HashSet::new());
            share(0..3, 3, |_| {
                barrier.wait();
                let thread = thread::current();
                thread_ids.lock().unwrap().insert(thread.id());
                #[cfg(feature = "rayon")]
                assert!(thread.name().unwrap().starts_with("pool "), "{thread:?}");
            });
            let thread_ids = thread_ids.into_inner().unwrap();
            assert!(
                thread_ids.len() == 3 && thread_ids.contains(&caller),
                "{thread_ids:?}"
            );
        });
    }

    /// A calling thread that belongs to no pool does one part, and a thread of the global pool does the other.
    #[cfg(feature = "rayon")]
    #[test]
    fn a_thread_outside_of_pools_uses_the_global_pool() {
        let (barrier, caller) = (Barrier::new(2), thread::current().id());
        share(0..2, 2, |_| {
            barrier.wait();
            let is_in_pool = rayon::current_thread_index().is_some();
            assert_eq!(is_in_pool, thread::current().id() != caller);
        });
    }

    /// Operations of a backend on the CPU use the maximum number of threads that the backend allows.
    #[test]
    fn operations_use_the_threads_of_their_backend() {
        with_3_threads(|| (1..=3).for_each(|threads| check_operations(threads).unwrap()));
    }

    fn check_operations(threads: usize) -> Result<(), Error> {
        let backend = &Backend::cpu().with_threads_for_any_work(threads);
        let check_thread_count = |name| assert_eq!(MAX_THREADS.replace(1), threads, "{name}");
        let (vector, matrix) = ((&X, &[16]), (&X, &[8, 2]));
        let indices = (&[3, 1, 2], &[3, 1]);
        let (gather, scatter) = (GatherNdOptions::default(), ScatterOptions::default());
        let backwards = &slice![..; -1];
        MAX_THREADS.set(1);

        backend.slice(matrix, backwards)?;
        check_thread_count("slice");
        backend.slice_update(vector, backwards, vector)?;
        check_thread_count("slice_update");
        backend.slice_grad(&[16], backwards, vector)?;
        check_thread_count("slice_grad");
        backend.gather_nd(vector, indices, gather)?;
        check_thread_count("gather_nd");
        backend.scatter_nd(&[16], indices, (&X[..3], &[3]), scatter)?;
        check_thread_count("scatter_nd");
        let (x, patches, begins) = ((&X, &[8, 2, 1]), (&X[..8], &[8, 1, 1]), (&[0; 16], &[8, 2]));
        backend.paste(x, patches, Boxes::new(begins), &Default::default())?;
        check_thread_count("paste, a box for each item");
        let (x, patches, begins) = ((&X, &[1, 16]), (&X[..8], &[1, 8]), (&[2], &[1, 1]));
        backend.paste(x, patches, Boxes::new(begins), &Default::default())?;
        check_thread_count("paste, a box of one item");
        backend.upload_slice(vector, backwards)?;
        check_thread_count("upload_slice");
        backend.upload_view(&X, &View::new(&[8, 2])?.transpose(&[1, 0])?)?;
        check_thread_count("upload_view");
        let stream = backend.stream(&[16], backwards, DType::U8)?;
        stream.run::<_, Error>(|range| Ok(&X[range]), |_| Ok(()))?;
        check_thread_count("stream");

        let tensor = backend.upload(vector)?;
        tensor.slice(backwards)?.contiguous()?;
        check_thread_count("Tensor::contiguous");
        let mut dest = Tensor::from_bytes(backend, X, DType::U8, &[16])?;
        tensor.slice_into(backwards, &mut dest)?;
        check_thread_count("slice_into, new memory");
        let mut dest = backend.upload(vector)?;
        tensor.slice_into(backwards, &mut dest)?;
        check_thread_count("slice_into, in place");
        tensor.gather_nd(&backend.upload(indices)?, gather)?;
        check_thread_count("Tensor::gather_nd");
        Ok(())
    }

    const X: [u8; 16] = [7; 16];

    /// Copying an argument to row-major order uses the maximum number of threads that the backend allows.
    #[cfg(feature = "ndarray")]
    #[test]
    fn copies_of_arguments_use_the_threads_of_the_backend() {
        with_3_threads(|| {
            for threads in 1..=3 {
                let backend = Backend::cpu().with_threads_for_any_work(threads);
                let array = ndarray::Array2::<u8>::zeros((4, 4)).reversed_axes();
                MAX_THREADS.set(1);
                let array = crate::ArrayRef::from(&array);
                array.row_major("array", &backend).unwrap();
                assert_eq!(MAX_THREADS.get(), threads);
            }
        });
    }
}
