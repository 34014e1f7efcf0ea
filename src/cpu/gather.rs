//! Runs gathers, a block of groups at a time, in the order of the result. A group is neighbouring rows of the result
//! that share one tuple. In the source, a group is a slice, often a single row. `places.rs` finds where groups begin. The
//! loop that copies them is compiled for the size of short contiguous groups. Where short groups repeat their tuples, as
//! in a gather along the last axis, `outer.rs` copies them, and each tuple is looked up once.

use super::{
    Dest,
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    kernel::Kernel,
    memory::{self, LINE},
    outer,
    places::{NOWHERE, Places},
    rows::split_pieces,
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Dim, Walk},
};

/// The number of groups in a block. At the end of a block the processor waits for the reads in flight. A block has far
/// more groups than there can be reads in flight, so that the wait is a small part of the time.
const BLOCK: usize = 1024;
/// While a group is copied, the processor is told to read a group that comes later: this many groups later, or fewer if they
/// have more bytes than this in all.
const AHEAD_GROUPS: usize = 16;
const AHEAD_BYTES: usize = 4 << 10;
/// The size in bytes of the largest group that is never divided between threads. Larger groups may be divided, so that
/// even a few of them keep all threads busy.
const WHOLE: usize = 4096;

/// Writes the result of a gather to `dest`, with zeros for out-of-range tuples. Returns how many tuples are out of
/// range, and the first of them.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let group = Group::of(walk);
    let threads = group.threads(dest.len(), threads);
    let places = Places::new(walk, policy, indices, group.outer, walk.from, |dim| {
        dim.from
    });
    if group.slice.is_none()
        && group.bytes <= LINE
        && let Some(dims) = places.as_sums()
    {
        outer::copy((0, group.bytes), &dims, source, dest, threads);
        return Missing::default();
    }
    threads::spread_counting(dest, group.grain(walk), threads, |first, dest| {
        group.part(&places, source, first, dest)
    })
}

pub(super) fn explain(walk: &Walk, bytes: usize, threads: Threads) -> String {
    let group = Group::of(walk);
    let contiguous = Kernel::Copy { bytes: group.bytes };
    let kernel = group.slice.map_or(contiguous, |slice| slice.kernel);
    threads::explain(group.threads(bytes, threads), kernel)
}

/// What the groups of a gather have in common: a group is what one index tuple copies. They differ in where they begin.
struct Group<'a> {
    /// The size of a group in bytes.
    bytes: usize,
    /// The loops that copy a group from byte 0 of the source. `None` if groups are contiguous in the source.
    slice: Option<LoopNest<'a>>,
    /// The dimensions that number the groups, outermost first.
    outer: &'a [Dim],
}

impl<'a> Group<'a> {
    fn of(walk: &'a Walk) -> Self {
        let shared = walk.dims.iter().rev().take_while(|dim| dim.tuple == 0);
        let (outer, inner) = walk.dims.split_at(walk.dims.len() - shared.count());
        let units: usize = inner.iter().map(|dim| dim.size).product();
        let contiguous = matches!(inner, [] | [Dim { from: 1, .. }]);
        Self {
            bytes: units * walk.unit,
            slice: (!contiguous).then(|| LoopNest::dense(walk.unit, inner)),
            outer,
        }
    }

    fn grain(&self, walk: &Walk) -> usize {
        match self.bytes {
            bytes if bytes <= WHOLE => bytes,
            _ => walk.unit,
        }
    }

    /// How many threads write a result of `bytes` bytes. Groups lie scattered in the source, so each group takes about
    /// 2 nanoseconds more than contiguous bytes of its size.
    fn threads(&self, bytes: usize, threads: Threads) -> usize {
        let pieces = self.slice.map_or(0, |slice| slice.pieces(bytes));
        threads.worth(bytes, 2 * (bytes / self.bytes) + pieces)
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. Returns how many tuples are out of range, and
    /// the first of them. Only the groups that begin in this part count, and only if no earlier group of the result has
    /// the same tuple.
    fn part<I: Index>(
        &self,
        places: &Places<'_, I>,
        source: &[u8],
        first: usize,
        dest: &mut [u8],
    ) -> Missing {
        let mut missing = Missing::default();
        let mut group = first / self.bytes;
        let mut found = [NOWHERE; BLOCK];
        let [head, whole, tail] = split_pieces(self.bytes, first, dest);
        if !head.is_empty() {
            // The group begins in an earlier part of the result, where its tuple is counted.
            places.find(group, &mut found[..1]);
            self.part_of_group(source, found[0], first % self.bytes, head);
            group += 1;
        }
        for block in whole.chunks_mut(BLOCK * self.bytes) {
            let found = &mut found[..block.len() / self.bytes];
            places.find(group, found);
            places.count(group, found, &mut missing);
            group += found.len();
            self.copy(source, found, block);
        }
        if !tail.is_empty() {
            places.find(group, &mut found[..1]);
            places.count(group, &found[..1], &mut missing);
            self.part_of_group(source, found[0], 0, tail);
        }
        missing
    }

    /// Copies the groups at `places` to `dest`.
    fn copy(&self, source: &[u8], places: &[usize], dest: &mut [u8]) {
        if self.slice.is_none() {
            let groups = Groups {
                source,
                places,
                dest,
            };
            return with_copy_kernel(self.bytes, groups);
        }
        for (group, &place) in dest.chunks_exact_mut(self.bytes).zip(places) {
            self.part_of_group(source, place, 0, group);
        }
    }

    /// Writes `dest`, which begins at byte `skip` of the group at `place`.
    fn part_of_group(&self, source: &[u8], place: usize, skip: usize, dest: &mut [u8]) {
        match (place, &self.slice) {
            (NOWHERE, _) => dest.fill(0),
            (_, Some(slice)) => slice.part(source, place, skip, dest),
            (_, None) => dest.copy_from_slice(&source[place + skip..][..dest.len()]),
        }
    }
}
/// Copies the groups of a block, each of which is contiguous in the source, from `places` to `dest`. Groups at
/// [`NOWHERE`], which lies beyond the source, become zeros.
struct Groups<'a> {
    source: &'a [u8],
    places: &'a [usize],
    dest: &'a mut [u8],
}

/// The processor starts to read a group only when the previous groups are almost copied. Asking for later groups early
/// keeps reads of several groups in flight.
impl CopyTask for Groups<'_> {
    fn run(self, kernel: impl CopyKernel) {
        let ahead = (AHEAD_BYTES / kernel.bytes()).clamp(2, AHEAD_GROUPS);
        let mut ahead = self.places.iter().skip(ahead);
        let rows = self.dest.chunks_exact_mut(kernel.bytes());
        for (row, &place) in rows.zip(self.places) {
            if let Some(&next) = ahead.next() {
                for line in (0..kernel.bytes().min(AHEAD_BYTES)).step_by(LINE) {
                    memory::prefetch(self.source, next.wrapping_add(line));
                }
            }
            if kernel.copy(self.source, place, row).is_none() {
                row.fill(0);
            }
        }
    }
}
