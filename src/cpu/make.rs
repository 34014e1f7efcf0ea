//! Runs gathers and crops. The units of a group share an index tuple: a group is a gathered row, or the box of a crop
//! or a part of the box. A group's place is the offset in bytes of its start in the source. `locate.rs` finds the
//! places of up to [`MAX_LOCATED_GROUPS`] groups. Then a loop copies these groups in the order of the result.

use super::{
    Dest, Pieces,
    fixed_copy::{CopyKernel, CopyTask, FIXED_MAX, with_copy_kernel},
    kernel::Kernel,
    locate::{BOX_NS, Clip, Located, Locator, NOWHERE, numbering_dims},
    memory::{self, LINE},
    outer,
    place::StoreRows,
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Dim, Walk},
};

/// The maximum number of groups that are located before they are copied in the order of the result. After the copy, the
/// processor waits for all reads that it has started. The number of groups is far larger than the number of reads
/// that the processor can have in progress, so this wait is a small part of the time.
const MAX_LOCATED_GROUPS: usize = 1024;
/// While the loop copies a group, it prefetches the group that comes this many groups later, or fewer groups later if
/// groups are long: see [`PREFETCH_BYTES`].
const PREFETCH_GROUPS: usize = 16;
/// If [`PREFETCH_GROUPS`] groups have more bytes than this, the prefetched group comes fewer groups later: as many as
/// have this many bytes, but at least 2.
const PREFETCH_BYTES: usize = 4 << 10;
/// The size in bytes of the largest group that is never divided between threads. Larger groups can be divided, so that
/// even a few of them keep all threads busy.
const MAX_UNDIVIDED_BYTES: usize = 4096;
/// If the pieces of a group are shorter than a cache line and far apart, the groups are copied in the order of their
/// places. Groups that share cache lines then follow each other. At most this many groups are ordered at a time.
const MAX_ORDERED_GROUPS: usize = 1 << 16;
/// The smallest number of groups that are copied in the order of their places.
const MIN_ORDERED_GROUPS: usize = 256;
/// The smallest number of pieces in a group, if groups are copied in the order of their places.
const MIN_ORDERED_PIECES: usize = 16;
/// The maximum size in bytes of a range of places that is read together.
const NEAR_BYTES: usize = 4 * LINE;
/// The maximum size in bytes of a slab: the groups at all places of a range that is read together.
const SLAB_BYTES: usize = 256 << 10;
/// All places of a range are read together if the tuples select at least `1 / PLACES_PER_GROUP` of them. Otherwise each
/// group is copied by itself.
const PLACES_PER_GROUP: usize = 8;
/// The places of up to this many groups are kept in an array on the stack instead of the heap.
const FEW_PLACES: usize = 32;

/// Writes the result of a gather or a crop to `dest`, with zeros for positions out of range. Returns how many tuples
/// are out of range, and the first of them.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let group = GroupShape::from_walk(walk, threads);
    let locator = Locator::new(walk, policy, indices, walk.dims.len() - group.dims.len());
    let threads = group.thread_count(dest.len(), threads);
    if let (GroupLoop::Copy, ..=LINE) = (&group.group_loop, group.bytes)
        && let Some(dims) = locator.as_sums()
    {
        outer::copy((0, group.bytes), &dims, source, dest, threads);
        return Missing::default();
    }
    if threads == 1 {
        return group.write_part(&locator, source, 0, dest);
    }
    threads::write_counting_missing(
        dest,
        group.part_granularity(walk),
        threads,
        |first, dest| group.write_part(&locator, source, first, dest),
    )
}

/// Returns the pieces that [`run`] copies on one thread. On several threads, crops can have longer pieces.
pub(super) fn pieces(walk: &Walk) -> Pieces {
    let group = GroupShape::from_walk(walk, Threads::at_most(1));
    match group.group_loop {
        GroupLoop::Copy if group.bytes > FIXED_MAX => Pieces::WithoutZeros,
        _ => Pieces::WithZeros,
    }
}

pub(super) fn explain(walk: &Walk, bytes: usize, threads: Threads) -> String {
    let group = GroupShape::from_walk(walk, threads);
    threads::explain(group.thread_count(bytes, threads), group.describe(walk))
}

/// The loop that moves groups.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::large_enum_variant, reason = "a value serves a whole walk")
)]
enum GroupLoop<'a> {
    /// Each group is contiguous in the source.
    Copy,
    /// The loops of a slice copy each group. Their offsets count from the group's first byte.
    Slice(LoopNest<'a>),
    /// A group is a box or a part of a box, and can extend beyond the source.
    Boxes,
}

/// The properties that all groups of a walk share. Groups differ in their places and, in crops, in their clips.
struct GroupShape<'a> {
    /// The size of a group in bytes.
    bytes: usize,
    dims: &'a [Dim],
    group_loop: GroupLoop<'a>,
}

impl<'a> GroupShape<'a> {
    fn from_walk(walk: &'a Walk, threads: Threads) -> Self {
        let mut outer_dims = numbering_dims(walk);
        let is_cropped = walk.coordinates.iter().any(|c| c.along.is_some());
        let unit_count = |dims: &[Dim]| dims.iter().map(|dim| dim.size).product::<usize>();
        if is_cropped {
            // If there are only a few boxes, a group is a part of a box, so that all threads have work.
            let thread_count = threads.count_for(walk.bytes(), walk.bytes() / LINE);
            while unit_count(&walk.dims[..outer_dims]) < threads::min_parts(thread_count)
                && outer_dims + 1 < walk.dims.len()
            {
                outer_dims += 1;
            }
        }
        let dims = &walk.dims[outer_dims..];
        let group_loop = match dims {
            _ if (outer_dims..walk.dims.len()).any(|d| walk.is_cropped(d)) => GroupLoop::Boxes,
            [] | [Dim { from: 1, .. }] => GroupLoop::Copy,
            dims => GroupLoop::Slice(LoopNest::over_dims(walk.unit, dims)),
        };
        let bytes = unit_count(dims) * walk.unit;
        Self {
            bytes,
            dims,
            group_loop,
        }
    }

    fn part_granularity(&self, walk: &Walk) -> usize {
        match self.group_loop {
            GroupLoop::Copy | GroupLoop::Slice(_) if self.bytes > MAX_UNDIVIDED_BYTES => walk.unit,
            _ => self.bytes,
        }
    }

    /// Returns the walk of a group that is completely inside the source.
    fn whole_group_walk(&self, walk: &Walk) -> Walk {
        let outer_dims = walk.dims.len() - self.dims.len();
        let locator = Locator::<i32>::new(walk, Policy::default(), &[], outer_dims);
        let mut group_walk = locator.clipped_walk(&locator.whole_clips());
        group_walk.merge();
        group_walk
    }

    fn describe(&self, walk: &Walk) -> String {
        match &self.group_loop {
            GroupLoop::Copy => Kernel::Copy { bytes: self.bytes }.to_string(),
            GroupLoop::Slice(slice) => slice.kernel.to_string(),
            GroupLoop::Boxes => StoreRows::from_walk(&self.whole_group_walk(walk)).describe(),
        }
    }

    /// Returns how many threads write a result of `bytes` bytes. Gathered groups are scattered in the source, so each
    /// takes about 2 nanoseconds more than contiguous bytes of its size. A box takes more: see [`BOX_NS`].
    fn thread_count(&self, bytes: usize, threads: Threads) -> usize {
        match &self.group_loop {
            GroupLoop::Copy => threads.count_unless_small(bytes, || 2 * (bytes / self.bytes)),
            GroupLoop::Slice(slice) => {
                threads.count_for(bytes, 2 * (bytes / self.bytes) + slice.single_copies(bytes))
            }
            GroupLoop::Boxes => {
                threads.count_for(bytes, bytes / self.bytes * (BOX_NS + self.bytes / LINE))
            }
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. Returns how many tuples are out of range, and
    /// the first of them. Counts only the tuples of groups that begin in this part.
    fn write_part<I: Index>(
        &self,
        locator: &Locator<'_, I>,
        source: &[u8],
        first: usize,
        mut dest: Dest<'_>,
    ) -> Missing {
        let mut missing = Missing::default();
        // Divisions take a noticeable part of the time of a small result.
        let (mut group_number, mut skip) = match first {
            0 => (0, 0),
            _ => (first / self.bytes, first % self.bytes),
        };
        // The tuple of a group that begins in an earlier part of the result is counted with that part.
        let first_counted = group_number + usize::from(skip > 0);
        let is_ordered = skip == 0 && self.is_ordered(dest.len());
        let groups_at_once = match is_ordered {
            true => MAX_ORDERED_GROUPS,
            false if dest.bytes_per_write() == usize::MAX => MAX_LOCATED_GROUPS,
            false => (dest.bytes_per_write() / self.bytes).clamp(1, MAX_LOCATED_GROUPS),
        };
        let mut located = Located::default();
        let mut few_places = [NOWHERE; FEW_PLACES];
        while dest.len() > 0 {
            let count = (skip + dest.len()).div_ceil(self.bytes).min(groups_at_once);
            match &self.group_loop {
                GroupLoop::Copy | GroupLoop::Slice(_)
                    if count <= FEW_PLACES && !locator.is_cropped() =>
                {
                    let places = &mut few_places[..count];
                    locator.find_group_places(group_number, places);
                    locator.count_missing(group_number, first_counted, places, &mut missing);
                    self.copy_groups(source, places, skip, &mut dest);
                }
                group_loop => {
                    locator.find_groups(
                        (group_number, count),
                        first_counted,
                        &mut located,
                        &mut missing,
                    );
                    match group_loop {
                        GroupLoop::Boxes => self.write_boxes(locator, source, &located, &mut dest),
                        GroupLoop::Slice(slice) if is_ordered => {
                            let dest = dest.take_front_part(count * self.bytes).all();
                            self.write_in_order(slice, source, &located.places, dest);
                        }
                        _ => self.copy_groups(source, &located.places, skip, &mut dest),
                    }
                }
            }
            group_number += count;
            skip = 0;
        }
        missing
    }

    /// Returns whether groups are copied in the order of their places.
    fn is_ordered(&self, bytes: usize) -> bool {
        let GroupLoop::Slice(slice) = &self.group_loop else {
            return false;
        };
        slice.is_scattered()
            && bytes / self.bytes >= MIN_ORDERED_GROUPS
            && bytes.is_multiple_of(self.bytes)
            && (MIN_ORDERED_PIECES * slice.unit..=SLAB_BYTES / PLACES_PER_GROUP)
                .contains(&self.bytes)
    }

    /// Writes whole groups in the order of their places. If the tuples select many places of a range, the pieces at
    /// all places of the range are transposed together, which makes each group contiguous.
    fn write_in_order(
        &self,
        slice: &LoopNest<'_>,
        source: &[u8],
        places: &[usize],
        dest: &mut [u8],
    ) {
        let unit = slice.unit;
        let mut sorted_places: Vec<(usize, usize)> = places.iter().copied().zip(0..).collect();
        sorted_places.sort_unstable();
        let max_range_bytes = NEAR_BYTES.min(SLAB_BYTES / self.bytes * unit);
        let mut slab = vec![0; max_range_bytes / unit * self.bytes];
        let mut remaining_places = &sorted_places[..];
        while let Some(&(first, _)) = remaining_places.first() {
            let is_near = |(place, _): &&(usize, usize)| place - first < max_range_bytes;
            let near_places;
            let near_count = remaining_places.iter().take_while(is_near).count();
            (near_places, remaining_places) = remaining_places.split_at(near_count);
            let range_units = (near_places[near_places.len() - 1].0 - first) / unit + 1;
            let is_dense = first != NOWHERE
                && near_places.len() > 1
                && near_places.len() * PLACES_PER_GROUP >= range_units;
            if is_dense {
                let across_dim = (range_units > 1).then(|| Dim::shared(range_units, 1));
                let dims: Vec<Dim> = across_dim
                    .into_iter()
                    .chain(self.dims.iter().copied())
                    .collect();
                let slab = &mut slab[..range_units * self.bytes];
                LoopNest::over_dims(unit, &dims).write_part(source, first, 0, slab);
            }
            for &(place, number) in near_places {
                let group = &mut dest[number * self.bytes..][..self.bytes];
                match place {
                    NOWHERE => group.fill(0),
                    _ if is_dense => {
                        let at = (place - first) / unit * self.bytes;
                        group.copy_from_slice(&slab[at..][..self.bytes]);
                    }
                    _ => slice.write_part(source, place, 0, group),
                }
            }
        }
    }

    /// Writes the groups at `places` until `dest` is full. The first group is written from its byte `skip` on.
    fn copy_groups(&self, source: &[u8], places: &[usize], mut skip: usize, dest: &mut Dest<'_>) {
        let bytes = (places.len() * self.bytes - skip).min(dest.len());
        let mut dest = dest.take_front_part(bytes);
        let slice = match &self.group_loop {
            GroupLoop::Slice(slice) => Some(slice),
            _ => None,
        };
        if slice.is_none() && self.bytes <= FIXED_MAX {
            let groups = ContiguousGroups {
                source,
                places,
                dest: dest.all(),
            };
            return with_copy_kernel(self.bytes, groups);
        }
        if slice.is_some() {
            // The loops of a slice write to initialized memory.
            dest = dest.all().into();
        }
        let mut places_ahead = places_to_prefetch(places, self.bytes);
        for &place in places {
            let (place_ahead, length) = (places_ahead.next(), (self.bytes - skip).min(dest.len()));
            match (place, slice) {
                (NOWHERE, _) => dest.take_front_part(length).all().fill(0),
                (_, Some(slice)) => {
                    slice.write_part(source, place, skip, dest.take_front_part(length).all());
                }
                (_, None) => {
                    prefetch_group(source, place_ahead, self.bytes);
                    dest.copy_to_front(&source[place + skip..][..length]);
                }
            }
            skip = 0;
        }
    }

    /// Writes boxes to `dest`, and zeros where they have no source. If the same part of consecutive boxes is inside the
    /// source, the loops for this part are chosen once.
    fn write_boxes<I: Index>(
        &self,
        locator: &Locator<'_, I>,
        source: &[u8],
        located: &Located,
        dest: &mut Dest<'_>,
    ) {
        let mut n = 0;
        for similar_boxes in located.box_numbers.chunk_by(|(.., a), (.., b)| a == b) {
            let places = &located.places[n..][..similar_boxes.len()];
            n += similar_boxes.len();
            let dest = dest.take_front_part(similar_boxes.len() * self.bytes).all();
            if similar_boxes[0].1 == usize::MAX {
                dest.fill(0);
                continue;
            }
            let clips: &[Clip] = locator.clips_at(located, similar_boxes[0].1);
            let mut walk = locator.clipped_walk(clips);
            walk.merge();
            if walk.contiguous() * walk.unit == self.bytes {
                let groups = ContiguousGroups {
                    source,
                    places,
                    dest,
                };
                with_copy_kernel(self.bytes, groups);
                continue;
            }
            let rows = StoreRows::from_walk(&walk);
            for (place, dest) in places.iter().zip(dest.chunks_exact_mut(self.bytes)) {
                rows.write_rows::<true>(source, place / walk.unit, dest, Threads::at_most(1));
            }
        }
    }
}

/// Groups that are copied from `places` to `dest`. Each group is contiguous in the source. Groups at [`NOWHERE`] become
/// zeros, because this offset is beyond the source.
struct ContiguousGroups<'a> {
    source: &'a [u8],
    places: &'a [usize],
    dest: &'a mut [u8],
}

impl CopyTask for ContiguousGroups<'_> {
    fn run(self, kernel: impl CopyKernel) {
        let mut places_ahead = places_to_prefetch(self.places, kernel.bytes());
        let groups = self.dest.chunks_exact_mut(kernel.bytes());
        for (group, &place) in groups.zip(self.places) {
            prefetch_group(self.source, places_ahead.next(), kernel.bytes());
            if kernel.copy(self.source, place, group).is_none() {
                group.fill(0);
            }
        }
    }
}

/// Returns the places of the groups to prefetch while groups of `bytes` bytes are copied. Without prefetches, the
/// processor starts to read a group only when it has copied most of the previous groups.
#[inline(always)]
fn places_to_prefetch(places: &[usize], bytes: usize) -> impl Iterator<Item = &usize> {
    places
        .iter()
        .skip((PREFETCH_BYTES / bytes).clamp(2, PREFETCH_GROUPS))
}

/// Prefetches the group of `bytes` bytes at a place.
#[inline(always)]
fn prefetch_group(source: &[u8], place: Option<&usize>, bytes: usize) {
    if let Some(place) = place {
        for line in (0..bytes.min(PREFETCH_BYTES)).step_by(LINE) {
            memory::prefetch(source, place.wrapping_add(line));
        }
    }
}
