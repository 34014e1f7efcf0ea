//! Runs pastes, in the order of the boxes: writes the parts of boxes that are inside.

use super::{
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    locate::{BOX_NS, Located, Locator, numbered},
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

/// The number of boxes that are found before they are written, so that the found places are still in a cache.
const AT_ONCE: usize = 1024;

/// Writes the boxes of a paste to `dest`. Returns how many boxes extend beyond x or name an item that does not exist,
/// and the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let paste = Paste::new(walk, policy, indices);
    let many = paste.threads(threads);
    // Nothing is written before all boxes are known to be inside, and each thread writes those of its items.
    let at_once = match many == 1 && policy.out_of_range != OutOfRange::Error {
        true => AT_ONCE,
        false => paste.boxes,
    };
    let (low, apart) = paste.items();
    let items = dest.len().saturating_sub(low) / apart;
    let (many, of_a_box) = match items < many {
        true => (1, threads),
        false => (many, Threads::at_most(1)),
    };
    // The boxes of an item are written by one thread, in their order.
    let share = items.div_ceil(many).max(1) * apart;
    let low = low.min(dest.len());
    let (mut found, mut missing) = (Located::default(), Missing::default());
    for first in (0..paste.boxes).step_by(at_once.max(1)) {
        let count = at_once.min(paste.boxes - first);
        let locator = &paste.locator;
        locator.boxes((first, count), 0, &mut found, &mut missing);
        if missing.count > 0 && policy.out_of_range == OutOfRange::Error {
            return missing;
        }
        let shares = dest[low..].chunks_mut(share).enumerate();
        threads::share(shares, many, |(number, dest)| {
            paste.write(&found, source, low + number * share, dest, of_a_box);
        });
    }
    missing
}

pub(super) fn explain(walk: &Walk, threads: Threads) -> String {
    let paste = Paste::<i32>::new(walk, Policy::default(), &[]);
    let first = part(paste.locator.clipped(&paste.locator.whole())).0;
    threads::explain(paste.threads(threads), StoreRows::of(&first).how())
}

struct Paste<'a, I> {
    walk: &'a Walk,
    locator: Locator<'a, I>,
    boxes: usize,
}

impl<'a, I: Index> Paste<'a, I> {
    fn new(walk: &'a Walk, policy: Policy, indices: &'a [I]) -> Self {
        let outer = numbered(walk);
        Self {
            walk,
            locator: Locator::new(walk, policy, indices, outer),
            boxes: walk.dims[..outer].iter().map(|dim| dim.size).product(),
        }
    }

    fn threads(&self, threads: Threads) -> usize {
        let bytes = self.walk.bytes();
        threads.worth(bytes, self.boxes * BOX_NS + bytes / LINE)
    }

    /// The lowest byte of x, and the distance in bytes between its items. If items do not follow each other, they are one.
    fn items(&self) -> (usize, usize) {
        let walk = self.walk;
        let (below, above) = self.locator.reach();
        let mut coordinates = walk.coordinates.iter();
        let item = coordinates.find(|c: &&Coordinate| c.along.is_none());
        let boxes = walk.dims.first().filter(|dim| dim.tuple > 0);
        let apart = item.map_or(boxes.map_or(0, |dim| dim.to), |item| item.stride);
        match apart > above - below {
            true => {
                let low = walk.to.cast_unsigned().wrapping_add_signed(below);
                (low * walk.unit, apart.cast_unsigned() * walk.unit)
            }
            false => (0, usize::MAX),
        }
    }

    /// Writes the parts of boxes that are in `dest`, each with this number of threads. `dest` begins at byte `first` of x.
    fn write(
        &self,
        found: &Located,
        source: &[u8],
        first: usize,
        dest: &mut [u8],
        threads: Threads,
    ) {
        let unit = self.walk.unit;
        let boxes = self.walk.dims.first().filter(|dim| dim.tuple > 0);
        let apart = boxes.map_or(0, |dim| dim.from);
        let mut n = 0;
        for alike in found.boxes.chunk_by(|(.., a), (.., b)| a == b) {
            let places = &found.places[n..][..alike.len()];
            n += alike.len();
            if alike[0].1 == usize::MAX {
                continue;
            }
            let clips = self.locator.clips(found, alike[0].1);
            let (part, from, to) = part(self.locator.clipped(clips));
            let from = (self.walk.from + from).cast_unsigned();
            let (bytes, to) = (part.bytes(), to * unit.cast_signed());
            let end = dest.len();
            let here = alike
                .iter()
                .zip(places)
                .filter_map(|(&(number, _), place)| {
                    let at = place.wrapping_sub(first);
                    (at < end).then(|| (along(from, apart, number), at.wrapping_add_signed(to)))
                });
            if part.contiguous() == part.units() && threads.worth(bytes, 0) == 1 {
                let (dest, boxes) = (&mut *dest, here);
                with_copy_kernel(
                    bytes,
                    PastedPieces {
                        unit,
                        source,
                        dest,
                        boxes,
                    },
                );
                continue;
            }
            let rows = StoreRows::of(&part);
            for (from, to) in here {
                rows.write::<false>(source, from, &mut dest[to..], threads);
            }
        }
    }
}

/// Boxes that are a single piece each: the unit of the source and the byte of `dest` where it begins.
struct PastedPieces<'a, B> {
    unit: usize,
    source: &'a [u8],
    dest: &'a mut [u8],
    boxes: B,
}

impl<B: Iterator<Item = (usize, usize)>> CopyTask for PastedPieces<'_, B> {
    fn run(self, kernel: impl CopyKernel) {
        for (from, to) in self.boxes {
            let dest = &mut self.dest[to..][..kernel.bytes()];
            let copied = kernel.copy(self.source, from * self.unit, dest);
            copied.expect("a plan's boxes lie within its source");
        }
    }
}

/// The walk of a part in ascending order of destinations, and the part's first unit in the box, and the distance from it to
/// the lowest unit in x.
fn part(mut walk: Walk) -> (Walk, isize, isize) {
    walk.dims.sort_by_key(|dim| Reverse(dim.to.unsigned_abs()));
    walk.turn();
    walk.merge();
    let (from, to) = (mem::take(&mut walk.from), mem::take(&mut walk.to));
    (walk, from, to)
}
