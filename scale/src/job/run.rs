//! Runs a whole job on threads of this process.
//!
//! These threads are not rayon's. A rayon thread that waits for chunks to be decoded could begin another task, which
//! would wait for memory that the first task holds.

use super::{Explanation, Outcome, Prepared, Record, Worker, lists};
use crate::zarr::Error;
use serde::Serialize;
use std::{
    fmt, iter, panic,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Instant,
};

/// The counts of a run: reads, computed shards and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The number of shards of the result.
    pub shards: u64,
    /// The number of shards that were computed.
    pub computed: u64,
    /// The number of shards that existed already.
    pub stood: u64,
    /// The number of chunks that were read.
    pub chunks_read: u64,
    /// The number of read chunks whose stored bytes were copied to the result, without compressing them again.
    pub chunks_copied: u64,
    /// The number of bytes that were read from the source, as they are stored there.
    pub bytes_read: u64,
    /// The number of bytes of the shards that were computed, as they are stored.
    pub bytes_written: u64,
    /// The number of index tuples out of range, or of boxes that extend beyond the source, for which the computed
    /// shards have zeros.
    pub out_of_range: u64,
    /// The time of the run in seconds.
    pub seconds: f64,
}

impl Summary {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        if outcome.computed {
            self.computed += 1;
        }
        self.chunks_read += outcome.chunks_read;
        self.chunks_copied += outcome.chunks_copied;
        self.bytes_read += outcome.bytes_read;
        self.bytes_written += outcome.bytes_written;
        self.out_of_range += outcome.out_of_range;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        write!(
            f,
            "{} of {} shards computed, {} stood already: {} chunks of {:.1} MB read, {:.1} MB written in {:.1} s",
            self.computed,
            self.shards,
            self.stood,
            self.chunks_read,
            mega(self.bytes_read),
            mega(self.bytes_written),
            self.seconds
        )
    }
}

/// Computes the missing shards on up to `threads` threads, and finishes the result. `missing` is from
/// [`Record::missing`], and `prepared` from [`Prepared::begun`]. The shards are divided, in their order, into up to
/// `max_lists` lists, so that neighbouring shards are in the same list. The best number of lists is about four for each
/// thread: then no thread waits long for the last list.
///
/// # Errors
///
/// The error of a task, or [`Error::Io`] if the result cannot be finished. Finished shards stay, so the next run
/// computes only the missing ones.
pub fn run(
    record: Record,
    prepared: &Prepared,
    missing: &[u64],
    threads: usize,
    max_lists: usize,
) -> Result<Summary, Error> {
    let run_in_progress = RunInProgress::new(prepared, missing);
    let lists: Vec<_> = lists(missing, max_lists).collect();
    let threads = threads.min(missing.len()).max(1);
    let (next_list, has_failed) = (AtomicUsize::new(threads), AtomicBool::new(false));
    let is_remote = prepared.is_remote();
    let work = |thread: usize| {
        let mut outcomes = Vec::new();
        let mut worker = Worker::new(prepared);
        // A thread's first list is the list with the thread's number, which no other thread takes.
        let later_numbers = iter::repeat_with(|| next_list.fetch_add(1, Ordering::Relaxed));
        let list_numbers = iter::once(thread).chain(later_numbers);
        let lists = list_numbers.map_while(|number| lists.get(number));
        // With a remote store, a thread takes its next list before it computes the last shard of its current list, so
        // that it can request the next chunks early.
        let mut shards = lists.flat_map(|list| list.iter().copied()).peekable();
        while let Some(shard) = shards.next() {
            if has_failed.load(Ordering::Relaxed) {
                break;
            }
            let next_shard = is_remote.then(|| shards.peek().copied()).flatten();
            let outcome = worker.compute(shard, next_shard);
            outcomes.push(outcome.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?);
        }
        Ok(outcomes)
    };
    let results: Vec<Result<Vec<Outcome>, Error>> = thread::scope(|scope| {
        let work = &work;
        let other_threads = (1..threads).map(|thread| scope.spawn(move || work(thread)));
        let other_threads: Vec<_> = other_threads.collect();
        let own_outcomes = work(0);
        let other_outcomes = other_threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic))
        });
        [own_outcomes].into_iter().chain(other_outcomes).collect()
    });
    let mut outcomes = Vec::with_capacity(missing.len());
    for result in results {
        outcomes.extend(result?);
    }
    run_in_progress.finish(record, prepared, &outcomes)
}

/// The start time and the counts of a run in progress.
pub(super) struct RunInProgress {
    start: Instant,
    summary: Summary,
}

impl RunInProgress {
    pub(super) fn new(prepared: &Prepared, missing: &[u64]) -> Self {
        let shards = prepared.shards();
        let summary = Summary {
            shards,
            stood: shards - missing.len() as u64,
            ..Summary::default()
        };
        Self {
            start: Instant::now(),
            summary,
        }
    }

    /// Finishes the result and returns the counts of the run. `outcomes` has the outcome of each shard that was
    /// missing.
    pub(super) fn finish(
        self,
        record: Record,
        prepared: &Prepared,
        outcomes: &[Outcome],
    ) -> Result<Summary, Error> {
        let Self { start, mut summary } = self;
        for outcome in outcomes {
            summary.add(outcome);
        }
        // Another process may have computed some of the shards in the meantime.
        summary.stood = summary.shards - summary.computed;
        record.finish(&prepared.order().job)?;
        summary.seconds = start.elapsed().as_secs_f64();
        Ok(summary)
    }
}

impl Prepared {
    /// Returns the reads and writes of the job.
    ///
    /// # Errors
    ///
    /// The errors of reading the indices of a gather or the begins of a crop: [`Error::Data`], for example if one is
    /// out of range and the job does not allow that; [`Error::Io`].
    pub fn explain(&self) -> Result<Explanation, Error> {
        Explanation::of(self)
    }
}
