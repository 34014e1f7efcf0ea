//! Runs gathers, a block of groups at a time, in the order of the result. A group is neighbouring rows of the result
//! that share one tuple. In the source, a group is a slice, often a single row. `places.rs` finds where groups begin. The
//! loop that copies them is compiled for the size of short contiguous groups. Where short groups repeat their tuples, as
//! in a gather along the last axis, `outer.rs` copies them, and each tuple is looked up once.

use super::{
    Dest,
    fixed_copy::{CopyKernel, CopyTask, FIXED_MAX, with_copy_kernel},
    kernel::Kernel,
    memory::{self, LINE},
    outer,
    places::{NOWHERE, Places},
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
    let places = Places::new(walk, policy, indices, group.outer);
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
        mut dest: Dest<'_>,
    ) -> Missing {
        let mut missing = Missing::default();
        let (mut group, mut skip) = (first / self.bytes, first % self.bytes);
        let of_block = (dest.together() / self.bytes).clamp(1, BLOCK);
        let groups =
            |skip: usize, dest: &Dest<'_>| (skip + dest.len()).div_ceil(self.bytes).min(of_block);
        let mut found = vec![NOWHERE; groups(skip, &dest)];
        while dest.len() > 0 {
            let found = &mut found[..groups(skip, &dest)];
            places.find(group, found);
            // A group that begins in an earlier part of the result is counted there.
            let earlier = usize::from(skip > 0);
            places.count(group + earlier, &found[earlier..], &mut missing);
            self.copy(source, found, skip, &mut dest);
            group += found.len();
            skip = 0;
        }
        missing
    }

    /// Writes the groups at `places` to `dest` as far as it reaches, the first from its byte `skip` on.
    fn copy(&self, source: &[u8], places: &[usize], mut skip: usize, dest: &mut Dest<'_>) {
        let bytes = (places.len() * self.bytes - skip).min(dest.len());
        let mut dest = dest.take(bytes);
        if self.slice.is_none() && self.bytes <= FIXED_MAX {
            let groups = Groups {
                source,
                places,
                dest: dest.all(),
            };
            return with_copy_kernel(self.bytes, groups);
        }
        if self.slice.is_some() {
            // The loops of a slice write to memory with values.
            dest = dest.all().into();
        }
        let mut ahead = ahead(places, self.bytes);
        for &place in places {
            let (next, length) = (ahead.next(), (self.bytes - skip).min(dest.len()));
            match (place, &self.slice) {
                (NOWHERE, _) => dest.take(length).all().fill(0),
                (_, Some(slice)) => slice.part(source, place, skip, dest.take(length).all()),
                (_, None) => {
                    fetch(source, next, self.bytes);
                    dest.copy(&source[place + skip..][..length]);
                }
            }
            skip = 0;
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

impl CopyTask for Groups<'_> {
    fn run(self, kernel: impl CopyKernel) {
        let mut ahead = ahead(self.places, kernel.bytes());
        let rows = self.dest.chunks_exact_mut(kernel.bytes());
        for (row, &place) in rows.zip(self.places) {
            fetch(self.source, ahead.next(), kernel.bytes());
            if kernel.copy(self.source, place, row).is_none() {
                row.fill(0);
            }
        }
    }
}

/// The places of the groups that the processor is told to read while groups of `bytes` bytes are copied. By itself it starts
/// to read a group only when the previous groups are almost copied.
#[inline(always)]
fn ahead(places: &[usize], bytes: usize) -> impl Iterator<Item = &usize> {
    places
        .iter()
        .skip((AHEAD_BYTES / bytes).clamp(2, AHEAD_GROUPS))
}

/// Tells the processor to read the group of `bytes` bytes at a place.
#[inline(always)]
fn fetch(source: &[u8], place: Option<&usize>, bytes: usize) {
    if let Some(place) = place {
        for line in (0..bytes.min(AHEAD_BYTES)).step_by(LINE) {
            memory::prefetch(source, place.wrapping_add(line));
        }
    }
}
