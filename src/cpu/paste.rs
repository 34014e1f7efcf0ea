//! Runs pastes: writes boxes into an array x, in the order of the boxes. The part of a box outside of x is dropped. If
//! x is a batch, an item is one of its arrays, and each box belongs to an item.

use super::{
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    locate::{BOX_NS, Located, Locator, numbering_dims},
    memory::LINE,
    place::StoreRows,
    rows::along,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{
    ops::index::{Index, OutOfRange, Policy},
    report::Missing,
    walk::{Coordinate, Walk},
};
use core::{cmp::Reverse, mem};

/// The number of boxes that a single thread locates before it writes them. Their places are then still in a cache.
const BOXES_AT_ONCE: usize = 1024;

/// Writes the boxes of a paste to `dest`. Returns how many boxes extend beyond x or have a box index out of range, and
/// the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let paste = PasteBoxes::new(walk, policy, indices);
    let thread_count = paste.thread_count(threads);
    // If a box out of range is an error, the places of all boxes are computed before anything is written. Several
    // threads also need all places, because each thread writes the boxes of its items.
    let boxes_at_once = match thread_count == 1 && policy.out_of_range != OutOfRange::Error {
        true => BOXES_AT_ONCE,
        false => paste.box_count,
    };
    let (first_byte, item_distance) = paste.item_layout();
    let item_count = dest.len().saturating_sub(first_byte) / item_distance;
    let (thread_count, threads_per_box) = match item_count < thread_count {
        true => (1, threads),
        false => (thread_count, Threads::at_most(1)),
    };
    // One thread writes all boxes of an item, in their order.
    let share_bytes = item_count.div_ceil(thread_count).max(1) * item_distance;
    let first_byte = first_byte.min(dest.len());
    let (mut located, mut missing) = (Located::default(), Missing::default());
    for first in (0..paste.box_count).step_by(boxes_at_once.max(1)) {
        let count = boxes_at_once.min(paste.box_count - first);
        let locator = &paste.locator;
        locator.find_boxes((first, count), 0, &mut located, &mut missing);
        if missing.count > 0 && policy.out_of_range == OutOfRange::Error {
            return missing;
        }
        let shares = dest[first_byte..].chunks_mut(share_bytes).enumerate();
        threads::share(shares, thread_count, |(number, dest)| {
            paste.write_boxes(
                &located,
                source,
                first_byte + number * share_bytes,
                dest,
                threads_per_box,
            );
        });
    }
    missing
}

pub(super) fn explain(walk: &Walk, threads: Threads) -> String {
    let paste = PasteBoxes::<i32>::new(walk, Policy::default(), &[]);
    let whole_box_walk = ascending_walk(paste.locator.clipped_walk(&paste.locator.whole_clips())).0;
    threads::explain(
        paste.thread_count(threads),
        StoreRows::from_walk(&whole_box_walk).describe(),
    )
}

struct PasteBoxes<'a, I> {
    walk: &'a Walk,
    locator: Locator<'a, I>,
    box_count: usize,
}

impl<'a, I: Index> PasteBoxes<'a, I> {
    fn new(walk: &'a Walk, policy: Policy, indices: &'a [I]) -> Self {
        let outer = numbering_dims(walk);
        Self {
            walk,
            locator: Locator::new(walk, policy, indices, outer),
            box_count: walk.dims[..outer].iter().map(|dim| dim.size).product(),
        }
    }

    fn thread_count(&self, threads: Threads) -> usize {
        let bytes = self.walk.bytes();
        threads.count_for(bytes, self.box_count * BOX_NS + bytes / LINE)
    }

    /// Returns the offset of the lowest byte of x in its memory, and the distance in bytes between its items. If the
    /// bytes of items overlap or interleave, the whole memory counts as one item.
    fn item_layout(&self) -> (usize, usize) {
        let walk = self.walk;
        let (min_distance, max_distance) = self.locator.distance_range();
        let mut coordinates = walk.coordinates.iter();
        let item_coordinate = coordinates.find(|c: &&Coordinate| c.along.is_none());
        let box_dim = walk.dims.first().filter(|dim| dim.tuple > 0);
        let box_distance = item_coordinate
            .map_or(box_dim.map_or(0, |dim| dim.to), |item_coordinate| {
                item_coordinate.stride
            });
        match box_distance > max_distance - min_distance {
            true => {
                let lowest_unit = walk.to.cast_unsigned().wrapping_add_signed(min_distance);
                (
                    lowest_unit * walk.unit,
                    box_distance.cast_unsigned() * walk.unit,
                )
            }
            false => (0, usize::MAX),
        }
    }

    /// Writes the boxes that are in `dest`, the part of x that begins at byte `first`. Up to `threads` threads write
    /// each box.
    fn write_boxes(
        &self,
        located: &Located,
        source: &[u8],
        first: usize,
        dest: &mut [u8],
        threads: Threads,
    ) {
        let unit = self.walk.unit;
        let box_dim = self.walk.dims.first().filter(|dim| dim.tuple > 0);
        let box_distance = box_dim.map_or(0, |dim| dim.from);
        let mut n = 0;
        for similar_boxes in located.box_numbers.chunk_by(|(.., a), (.., b)| a == b) {
            let places = &located.places[n..][..similar_boxes.len()];
            n += similar_boxes.len();
            if similar_boxes[0].1 == usize::MAX {
                continue;
            }
            let clips = self.locator.clips_at(located, similar_boxes[0].1);
            let (part_walk, from, to) = ascending_walk(self.locator.clipped_walk(clips));
            let from = (self.walk.from + from).cast_unsigned();
            let (bytes, to) = (part_walk.bytes(), to * unit.cast_signed());
            let dest_end = dest.len();
            let box_starts =
                similar_boxes
                    .iter()
                    .zip(places)
                    .filter_map(|(&(number, _), place)| {
                        let at = place.wrapping_sub(first);
                        (at < dest_end).then(|| {
                            (
                                along(from, box_distance, number),
                                at.wrapping_add_signed(to),
                            )
                        })
                    });
            if part_walk.contiguous() == part_walk.units() && threads.count_for(bytes, 0) == 1 {
                let dest = &mut *dest;
                with_copy_kernel(
                    bytes,
                    PastedPieces {
                        unit,
                        source,
                        dest,
                        box_starts,
                    },
                );
                continue;
            }
            let rows = StoreRows::from_walk(&part_walk);
            for (from, to) in box_starts {
                rows.write_rows::<false>(source, from, &mut dest[to..], threads);
            }
        }
    }
}

/// Boxes that are contiguous in the source and in x. The start of a box is a unit of the source and a byte of `dest`.
struct PastedPieces<'a, B> {
    unit: usize,
    source: &'a [u8],
    dest: &'a mut [u8],
    box_starts: B,
}

impl<B: Iterator<Item = (usize, usize)>> CopyTask for PastedPieces<'_, B> {
    fn run(self, kernel: impl CopyKernel) {
        for (from, to) in self.box_starts {
            let dest = &mut self.dest[to..][..kernel.bytes()];
            let outcome = kernel.copy(self.source, from * self.unit, dest);
            outcome.expect("a plan's boxes are within its source");
        }
    }
}

/// Sorts a walk so that destinations ascend, and sets its `from` and `to` to 0. Returns the walk and the two replaced
/// numbers: the unit of the box where the walk begins, and the distance in units, in x, from the box's place to its
/// lowest unit.
fn ascending_walk(mut walk: Walk) -> (Walk, isize, isize) {
    walk.dims.sort_by_key(|dim| Reverse(dim.to.unsigned_abs()));
    walk.make_ascending();
    walk.merge();
    let (from, to) = (mem::take(&mut walk.from), mem::take(&mut walk.to));
    (walk, from, to)
}
