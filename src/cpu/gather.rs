//! The walk of a gather: groups in the order of the result, a block at a time.
//!
//! A group is what a tuple is followed by: the innermost dimensions that repeat it. It is one row where
//! that is all of them, and otherwise a slice of the source that begins where the tuple points.
//!
//! First the tuples of a block are turned into places in the source, then its groups are copied: the
//! first loop knows the depth of the tuples and what becomes of those out of range, the second the size
//! of the groups, and both keep many reads of scattered memory in flight.

use super::{
    kernel::Kernel,
    mover::{Mover, SHORT, Task, with_mover},
    slice, threads,
};
use crate::{
    layout::Axis,
    ops::{
        index::Index,
        indexed::{Dimension, Map},
        strided_slice::{self, Odometer},
    },
    plan,
    report::Missing,
};
use std::{
    hint::black_box,
    sync::{Mutex, PoisonError},
};

/// Groups of a block: enough that the reads in flight at its end are few beside it.
const BLOCK: usize = 1024;
/// The place of a group without a source: no source reaches that far.
const NOWHERE: usize = usize::MAX;
/// How many long rows ahead memory is asked for one.
const AHEAD: usize = 12;
/// Groups of at most so many bytes are never cut.
const WHOLE: usize = 4096;

/// Gathers all rows, and counts the tuples that are out of range.
pub(super) fn run<I: Index>(
    rows: &plan::Rows,
    map: &Map,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
) -> Missing {
    if dest.is_empty() {
        return Missing::default();
    }
    match (map.policy.wraps(), map.policy.clamps()) {
        (false, false) => run_as::<I, false, false>(rows, map, source, indices, dest),
        (false, true) => run_as::<I, false, true>(rows, map, source, indices, dest),
        (true, false) => run_as::<I, true, false>(rows, map, source, indices, dest),
        (true, true) => run_as::<I, true, true>(rows, map, source, indices, dest),
    }
}

fn run_as<I: Index, const WRAPS: bool, const CLAMPS: bool>(
    rows: &plan::Rows,
    map: &Map,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
) -> Missing {
    let group = Group::of(rows, map);
    let threads = group.threads(dest.len());
    let walk = Walk::<I, WRAPS, CLAMPS>::of(&group, map, source, indices);
    let all = Mutex::new(Missing::default());
    threads::spread(dest, group.grain(), threads, |first, dest| {
        let missing = walk.part(first, dest);
        if missing.count > 0 {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            *all = all.and(missing);
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What a tuple is followed by, as a slice that begins at unit 0.
pub(super) struct Group<'a> {
    rows: plan::Rows,
    map: strided_slice::Map,
    /// The dimensions of the groups: what is left of the walk.
    walk: &'a [Dimension],
}

impl<'a> Group<'a> {
    pub(super) fn of(rows: &plan::Rows, map: &'a Map) -> Self {
        let repeats = |dimension: &&Dimension| dimension.repeats;
        let inner = map.walk.iter().rev().take_while(repeats).count();
        let (walk, inner) = map.walk.split_at(map.walk.len() - inner);
        let axes = inner
            .iter()
            .map(|&Dimension { size, stride, .. }| Axis { size, stride });
        let axes: Vec<Axis> = axes.collect();
        let count = axes.iter().map(|axis| axis.size).product();
        Self {
            rows: plan::Rows { count, ..*rows },
            map: strided_slice::Map { offset: 0, axes },
            walk,
        }
    }

    fn bytes(&self) -> usize {
        self.rows.units() * self.rows.unit
    }

    fn grain(&self) -> usize {
        match self.bytes() {
            bytes if bytes <= WHOLE => bytes,
            _ => self.rows.unit,
        }
    }

    /// The walk of a group that is more than a row of neighbours.
    fn slice(&self) -> Option<slice::Walk<'_>> {
        let plain = self.map.axes.is_empty() && self.rows.step == 1;
        (!plain).then(|| slice::Walk::of(&self.rows, &self.map))
    }

    /// How many threads gather so many bytes. Each group is a read of scattered memory, and costs about
    /// two nanoseconds more than its bytes.
    pub(super) fn threads(&self, bytes: usize) -> usize {
        let pieces = self.slice().map_or(0, |slice| slice.pieces(bytes));
        threads::worth(bytes, 2 * (bytes / self.bytes()) + pieces)
    }

    /// The loop that copies them.
    pub(super) fn kernel(&self) -> Kernel {
        let plain = || Kernel::of_piece(self.bytes());
        self.slice().map_or_else(plain, |slice| slice.kernel)
    }
}

struct Walk<'a, I, const WRAPS: bool, const CLAMPS: bool> {
    unit: usize,
    /// Bytes of a group, and rows of the plan.
    group: usize,
    rows: usize,
    /// How a group is moved that is more than a row of neighbours.
    slice: Option<slice::Walk<'a>>,
    map: &'a Map,
    /// What numbers the groups: the innermost dimension, and the source and the tuple strides of the
    /// others.
    inner: Axis,
    sources: Vec<Axis>,
    tuples: Vec<Axis>,
    /// Whether groups further on have the tuples of earlier ones.
    repeats: bool,
    source: &'a [u8],
    indices: &'a [I],
}

impl<'a, I: Index, const WRAPS: bool, const CLAMPS: bool> Walk<'a, I, WRAPS, CLAMPS> {
    fn of(group: &'a Group<'_>, map: &'a Map, source: &'a [u8], indices: &'a [I]) -> Self {
        // The innermost goes on to the next tuple: what repeats inside of it is the group.
        let (inner, outer) = match group.walk.split_last() {
            Some((&Dimension { size, stride, .. }, outer)) => (Axis { size, stride }, outer),
            None => (Axis { size: 1, stride: 0 }, group.walk),
        };
        let mut next = inner.size;
        let mut tuples: Vec<Axis> = Vec::with_capacity(outer.len());
        for &Dimension { size, repeats, .. } in outer.iter().rev() {
            let stride = if repeats { 0 } else { next.cast_signed() };
            next *= if repeats { 1 } else { size };
            tuples.push(Axis { size, stride });
        }
        tuples.reverse();
        let sources = outer.iter();
        Self {
            unit: group.rows.unit,
            group: group.bytes(),
            rows: group.rows.count,
            slice: group.slice(),
            map,
            inner,
            sources: sources
                .map(|&Dimension { size, stride, .. }| Axis { size, stride })
                .collect(),
            tuples,
            repeats: outer.iter().any(|dimension| dimension.repeats),
            source,
            indices,
        }
    }

    /// Writes the bytes of the result from `first` on.
    fn part(&self, first: usize, dest: &mut [u8]) -> Missing {
        let mut missing = Missing::default();
        let (mut group, skip) = (first / self.group, first % self.group);
        let mut rest = dest;
        if skip > 0 {
            let part;
            (part, rest) = rest.split_at_mut((self.group - skip).min(rest.len()));
            // A group that is cut counts where it begins.
            self.part_of_group(group, skip, part);
            group += 1;
        }
        let size = rest.len() / self.group;
        let (whole, rest) = rest.split_at_mut(size * self.group);
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
        if !rest.is_empty() && !self.part_of_group(group, 0, rest) {
            self.count(group, &mut missing);
        }
        missing
    }

    /// Counts the tuple of a group without a source, if the group is the first that has it.
    fn count(&self, group: usize, missing: &mut Missing) {
        let first = if self.repeats {
            self.map.first_of_tuple(group * self.rows)
        } else {
            Some(group)
        };
        first.into_iter().for_each(|tuple| missing.add(tuple));
    }

    fn copy(&self, places: &[usize], dest: &mut [u8]) {
        let Some(slice) = &self.slice else {
            let rows = Rows {
                source: self.source,
                places,
                dest,
            };
            return with_mover(self.group, rows);
        };
        for (group, &place) in dest.chunks_exact_mut(self.group).zip(places) {
            match place {
                NOWHERE => group.fill(0),
                _ => slice.beginning_at(place).whole(self.source, group),
            }
        }
    }

    /// Writes the bytes from `skip` on of one group. False where the group has no source.
    fn part_of_group(&self, group: usize, skip: usize, dest: &mut [u8]) -> bool {
        let mut place = [NOWHERE];
        self.resolve(group, &mut place);
        match (place, &self.slice) {
            ([NOWHERE], _) => dest.fill(0),
            ([place], Some(slice)) => slice.beginning_at(place).part(self.source, skip, dest),
            ([place], None) => dest.copy_from_slice(&self.source[place + skip..][..dest.len()]),
        }
        place != [NOWHERE]
    }

    /// The places in the source of the groups from `first` on, in bytes.
    fn resolve(&self, first: usize, places: &mut [usize]) {
        let stays = |axis: &Axis| axis.stride == 0;
        if !self.repeats {
            self.locate(first, places);
            if stays(&self.inner) && self.sources.iter().all(stays) {
                return;
            }
        }
        let (outer, mut digit) = (first / self.inner.size, first % self.inner.size);
        let sources = Odometer::at(&self.sources, 0, outer);
        let tuples = Odometer::at(&self.tuples, 0, outer);
        let mut rest = places;
        for (mut source, tuple) in sources.zip(tuples) {
            let part;
            (part, rest) = rest.split_at_mut((self.inner.size - digit).min(rest.len()));
            if self.repeats {
                self.locate(tuple + digit, part);
            }
            let step = self.inner.stride.cast_unsigned();
            source = source.wrapping_add(step.wrapping_mul(digit));
            for place in part {
                if *place != NOWHERE {
                    *place = place.wrapping_add(source.wrapping_mul(self.unit));
                }
                source = source.wrapping_add(step);
            }
            digit = 0;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Where the tuples from `first` on point, in bytes.
    fn locate(&self, first: usize, places: &mut [usize]) {
        let depth = self.map.coordinates.len();
        let tuples = &self.indices[first * depth..][..places.len() * depth];
        match self.map.coordinates.as_slice() {
            &[axis] => self.locate_all([axis], tuples, places),
            &[a, b] => self.locate_all([a, b], tuples, places),
            &[a, b, c] => self.locate_all([a, b, c], tuples, places),
            axes => {
                for (i, place) in places.iter_mut().enumerate() {
                    *place = self.locate_one(axes, &tuples[i * depth..][..depth]);
                }
            }
        }
    }

    /// [`Self::locate`] for tuples of a depth that the compiler knows.
    fn locate_all<const D: usize>(&self, axes: [Axis; D], tuples: &[I], places: &mut [usize]) {
        let (tuples, _) = tuples.as_chunks::<D>();
        for (tuple, place) in tuples.iter().zip(places) {
            *place = self.locate_one(&axes, tuple);
        }
    }

    /// Where a tuple points, in bytes. Only the sum lies within the source: strides may be negative.
    #[inline(always)]
    fn locate_one(&self, axes: &[Axis], tuple: &[I]) -> usize {
        let mut place = self.map.offset;
        for (index, axis) in tuple.iter().zip(axes) {
            match index.within::<WRAPS, CLAMPS>(axis.size) {
                Some(index) => {
                    place = place.wrapping_add(index.wrapping_mul(axis.stride.cast_unsigned()));
                }
                None => return NOWHERE,
            }
        }
        place.wrapping_mul(self.unit)
    }
}

/// The groups of a block, each a row of neighbours.
struct Rows<'a> {
    source: &'a [u8],
    places: &'a [usize],
    dest: &'a mut [u8],
}

impl Task for Rows<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        copy_rows(mover, self.source, self.places, self.dest);
    }
}

/// Copies the rows. Of long ones the processor reads the next only when it is nearly done with one, so
/// the first byte of a row is read some rows ahead: memory then works on several.
fn copy_rows<M: Mover>(mover: M, source: &[u8], places: &[usize], dest: &mut [u8]) {
    let long = mover.bytes() > SHORT;
    let mut ahead = places.iter().skip(AHEAD);
    let mut touched = 0;
    for (row, &place) in dest.chunks_exact_mut(mover.bytes()).zip(places) {
        if long && let Some(&next) = ahead.next() {
            touched ^= source.get(next).copied().unwrap_or(0);
        }
        if mover.copy(source, place, row).is_none() {
            row.fill(0);
        }
    }
    // Nobody asks what was read, but it must have been.
    black_box(touched);
}
