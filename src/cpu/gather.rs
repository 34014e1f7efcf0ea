//! Runs gathers, a block of groups at a time, in the order of the result. A group is neighbouring rows of the result
//! that share one tuple. In the source, a group is a slice, often a single row.
//!
//! The place of a group is the byte of the source where the group begins. For each block, one loop computes the places
//! of all groups from their tuples, and a second loop copies the groups. The first loop is compiled for the policy and
//! for tuples of 1, 2 or 3 integers, the second for the size of short contiguous groups. Both keep many reads of
//! scattered memory in flight.

use super::{
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    kernel::Kernel,
    memory::{self, LINE},
    odometer::Odometer,
    rows::{Axis, split_pieces},
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Coordinate, Dim, Walk},
};

/// The number of groups in a block. At the end of a block the processor waits for the reads in flight. A block has far
/// more groups than there can be reads in flight, so that the wait is a small part of the time.
const BLOCK: usize = 1024;
/// Stands for the place of a group whose tuple is out of range. No group begins at this byte, because no source is this
/// long.
const NOWHERE: usize = usize::MAX;
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
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    match (policy.wraps(), policy.clamps()) {
        (false, false) => run_as::<I, false, false>(walk, source, indices, dest, threads),
        (false, true) => run_as::<I, false, true>(walk, source, indices, dest, threads),
        (true, false) => run_as::<I, true, false>(walk, source, indices, dest, threads),
        (true, true) => run_as::<I, true, true>(walk, source, indices, dest, threads),
    }
}

fn run_as<I: Index, const WRAPS: bool, const CLAMPS: bool>(
    walk: &Walk,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let group = Group::of(walk);
    let threads = group.threads(dest.len(), threads);
    let gather = Gather::<I, WRAPS, CLAMPS>::new(&group, walk, source, indices);
    threads::spread_counting(dest, group.grain(), threads, |first, dest| {
        gather.part(first, dest)
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
    unit: usize,
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
            unit: walk.unit,
            bytes: units * walk.unit,
            slice: (!contiguous).then(|| LoopNest::dense(walk.unit, inner)),
            outer,
        }
    }

    fn grain(&self) -> usize {
        match self.bytes {
            bytes if bytes <= WHOLE => bytes,
            _ => self.unit,
        }
    }

    /// How many threads write a result of `bytes` bytes. Groups lie scattered in the source, so each group takes about
    /// 2 nanoseconds more than contiguous bytes of its size.
    fn threads(&self, bytes: usize, threads: Threads) -> usize {
        let pieces = self.slice.map_or(0, |slice| slice.pieces(bytes));
        threads.worth(bytes, 2 * (bytes / self.bytes) + pieces)
    }
}

struct Gather<'a, I, const WRAPS: bool, const CLAMPS: bool> {
    walk: &'a Walk,
    /// The size of a group in bytes.
    group: usize,
    /// The loops that copy a group. `None` if groups are contiguous in the source.
    slice: Option<LoopNest<'a>>,
    /// The innermost dimension that numbers groups. Each of its positions has its own tuple.
    inner: Dim,
    /// The other dimensions that number groups, outermost first.
    outer: &'a [Dim],
    /// Whether groups share tuples, because an outer dimension repeats them.
    repeats: bool,
    source: &'a [u8],
    indices: &'a [I],
}

impl<'a, I: Index, const WRAPS: bool, const CLAMPS: bool> Gather<'a, I, WRAPS, CLAMPS> {
    fn new(group: &Group<'a>, walk: &'a Walk, source: &'a [u8], indices: &'a [I]) -> Self {
        let (inner, outer) = match group.outer.split_last() {
            Some((&inner, outer)) => (inner, outer),
            None => (Dim::shared(1, 0), group.outer),
        };
        Self {
            walk,
            group: group.bytes,
            slice: group.slice,
            inner,
            outer,
            repeats: outer.iter().any(|dim| dim.tuple == 0),
            source,
            indices,
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. Returns how many tuples are out of range, and
    /// the first of them. Only the groups that begin in this part count, and only if no earlier group of the result has
    /// the same tuple.
    fn part(&self, first: usize, dest: &mut [u8]) -> Missing {
        let mut missing = Missing::default();
        let mut group = first / self.group;
        let [head, whole, tail] = split_pieces(self.group, first, dest);
        if !head.is_empty() {
            // The group begins in an earlier part of the result, where its tuple is counted.
            self.part_of_group(group, first % self.group, head);
            group += 1;
        }
        let mut places = [NOWHERE; BLOCK];
        for block in whole.chunks_mut(BLOCK * self.group) {
            let places = &mut places[..block.len() / self.group];
            self.resolve(group, places);
            if places.contains(&NOWHERE) {
                let nowhere = |&i: &usize| places[i] == NOWHERE;
                let bad = (0..places.len()).filter(nowhere);
                bad.for_each(|i| self.count(group + i, &mut missing));
            }
            group += places.len();
            self.copy(places, block);
        }
        if !tail.is_empty() && !self.part_of_group(group, 0, tail) {
            self.count(group, &mut missing);
        }
        missing
    }

    /// Adds the out-of-range tuple of the group with number `group` to `missing`, unless an earlier group has the same
    /// tuple.
    fn count(&self, mut group: usize, missing: &mut Missing) {
        if !self.repeats {
            return missing.add(group);
        }
        let mut tuple = 0;
        for dim in self.outer.iter().chain([&self.inner]).rev() {
            let digit = group % dim.size;
            if dim.tuple == 0 && digit > 0 {
                return;
            }
            tuple += digit * dim.tuple;
            group /= dim.size;
        }
        missing.add(tuple);
    }

    fn copy(&self, places: &[usize], dest: &mut [u8]) {
        let Some(slice) = &self.slice else {
            let groups = Groups {
                source: self.source,
                places,
                dest,
            };
            return with_copy_kernel(self.group, groups);
        };
        for (group, &place) in dest.chunks_exact_mut(self.group).zip(places) {
            match place {
                NOWHERE => group.fill(0),
                _ => slice.part(self.source, place, 0, group),
            }
        }
    }

    /// Writes `dest`, which begins at byte `skip` of the group with number `group`. If the group's tuple is out of
    /// range, writes zeros and returns false.
    fn part_of_group(&self, group: usize, skip: usize, dest: &mut [u8]) -> bool {
        let mut place = [NOWHERE];
        self.resolve(group, &mut place);
        match (place, &self.slice) {
            ([NOWHERE], _) => dest.fill(0),
            ([place], Some(slice)) => slice.part(self.source, place, skip, dest),
            ([place], None) => dest.copy_from_slice(&self.source[place + skip..][..dest.len()]),
        }
        place != [NOWHERE]
    }

    /// Writes the places of groups `first`, `first + 1`, … to `places`: bytes of the source, or [`NOWHERE`] for a group
    /// whose tuple is out of range.
    fn resolve(&self, first: usize, places: &mut [usize]) {
        let stays = |dim: &Dim| dim.from == 0;
        if !self.repeats {
            self.locate(first, places);
            if stays(&self.inner) && self.outer.iter().all(stays) {
                return;
            }
        }
        let (outer, mut digit) = (first / self.inner.size, first % self.inner.size);
        let sources = Odometer::at(self.outer, |dim| dim.from, outer);
        let tuples = Odometer::at(self.outer, |dim| dim.tuple.cast_signed(), outer);
        let mut rest = places;
        for (mut source, tuple) in sources.zip(tuples) {
            let part;
            (part, rest) = rest.split_at_mut((self.inner.size - digit).min(rest.len()));
            if self.repeats {
                self.locate(tuple + digit, part);
            }
            let step = self.inner.from.cast_unsigned();
            source = source.wrapping_add(step.wrapping_mul(digit));
            for place in part {
                if *place != NOWHERE {
                    *place = place.wrapping_add(source.wrapping_mul(self.walk.unit));
                }
                source = source.wrapping_add(step);
            }
            digit = 0;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Writes to `places` where each of the tuples `first`, `first + 1`, … points: the byte of the source at its
    /// position in the indexed dimensions and at position 0 of all others, or [`NOWHERE`] if the tuple is out of range.
    fn locate(&self, first: usize, places: &mut [usize]) {
        let depth = self.walk.coordinates.len();
        let tuples = &self.indices[first * depth..][..places.len() * depth];
        match self.walk.coordinates.as_slice() {
            [axis] => self.locate_all([axis], tuples, places),
            [a, b] => self.locate_all([a, b], tuples, places),
            [a, b, c] => self.locate_all([a, b, c], tuples, places),
            axes => {
                for (i, place) in places.iter_mut().enumerate() {
                    let axes = axes.iter().map(|axis| self.indexed(axis));
                    *place = self.locate_one(axes, &tuples[i * depth..][..depth]);
                }
            }
        }
    }

    /// Does the work of [`Self::locate`] for `tuples` of `D` integers, compiled for this depth.
    fn locate_all<const D: usize>(
        &self,
        coordinates: [&Coordinate; D],
        tuples: &[I],
        places: &mut [usize],
    ) {
        let axes = coordinates.map(|axis| self.indexed(axis));
        let (tuples, _) = tuples.as_chunks::<D>();
        for (tuple, place) in tuples.iter().zip(places) {
            *place = self.locate_one(axes, tuple);
        }
    }

    /// Computes one place for [`Self::locate`]. Strides may be negative, so a sum over only some of the integers may
    /// lie outside of the source and wrap. The whole sum lies inside.
    #[inline(always)]
    fn locate_one(&self, axes: impl IntoIterator<Item = Axis>, tuple: &[I]) -> usize {
        let mut place = self.walk.from.cast_unsigned() * self.walk.unit;
        for (index, axis) in tuple.iter().zip(axes) {
            match index.within(axis.size, WRAPS, CLAMPS) {
                Some(index) => {
                    place = place.wrapping_add(index.wrapping_mul(axis.stride.cast_unsigned()));
                }
                None => return NOWHERE,
            }
        }
        place
    }

    /// An indexed dimension, in bytes of the source.
    fn indexed(&self, &Coordinate { size, stride, .. }: &Coordinate) -> Axis {
        let stride = stride.wrapping_mul(self.walk.unit.cast_signed());
        Axis { size, stride }
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
