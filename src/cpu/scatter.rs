//! The walk of a scatter: every row to the slice that its tuple points at, in ascending order.
//!
//! All tuples are turned into places first, so that nothing is changed where one is bad and that is an
//! error. Then each thread has a part of the destination's slices and goes through all rows for those
//! that belong there: whatever the number of threads, rows meet a slice in their order.

use super::{
    combine::{self, Rule, with_rule},
    mover::{self, Mover, with_mover},
    threads,
};
use crate::{
    layout::Axis,
    ops::{
        index::{Index, OutOfRange, Policy},
        scatter_nd::{Combine, Map},
    },
    plan::Rows,
    report::Missing,
};

/// The place of a row whose tuple points nowhere: there are fewer slices.
const NOWHERE: usize = usize::MAX;

/// Combines all rows, and counts those that point nowhere.
pub(super) fn run<I: Index>(
    rows: &Rows,
    map: &Map,
    updates: &[u8],
    indices: &[I],
    dest: &mut [u8],
) -> Missing {
    let threads = threads(rows);
    let places = locate_all(map, rows.count, indices, threads);
    let mut missing = Missing::default();
    if places.contains(&NOWHERE) {
        let bad = places.iter().enumerate();
        bad.filter(|&(_, &place)| place == NOWHERE)
            .for_each(|(row, _)| missing.add(row));
        if map.options.out_of_range == OutOfRange::Error {
            return missing;
        }
    }
    if map.fresh {
        dest.fill(0);
    }
    if rows.count == 0 {
        return missing;
    }
    let slice = rows.run * rows.unit;
    let part = map.slices.div_ceil(threads);
    let parts = dest.chunks_mut(part * slice).enumerate();
    threads::share(parts, threads, |(number, dest)| {
        let scatter = Part {
            slice,
            first: number * part,
            places: &places,
            updates,
            dest,
        };
        match map.options.combine {
            Combine::Update => with_mover(slice, scatter),
            combine => with_rule(combine, map.dtype, scatter),
        }
    });
    missing
}

/// How many threads combine these rows. Each row is a read and a write of scattered memory.
fn threads(rows: &Rows) -> usize {
    threads::worth(rows.units() * rows.unit, 4 * rows.count)
}

/// What is done with them, in words.
pub(super) fn explain(rows: &Rows, map: &Map) -> String {
    let threads = threads(rows);
    let s = if threads == 1 { "" } else { "s" };
    let bytes = rows.run * rows.unit;
    let how = match map.options.combine {
        Combine::Update => "moved".to_owned(),
        combine => format!("combined by {combine} of {}", map.dtype),
    };
    format!("rows of {bytes} bytes {how} on {threads} thread{s}")
}

/// The slices that so many tuples point at.
fn locate_all<I: Index>(map: &Map, count: usize, indices: &[I], threads: usize) -> Vec<usize> {
    let mut places = vec![0; count];
    let depth = map.axes.len();
    let part = count.div_ceil(threads).max(1);
    let parts = places.chunks_mut(part).enumerate();
    threads::share(parts, threads, |(number, places)| {
        for (row, place) in (number * part..).zip(places) {
            *place = locate(&map.axes, map.policy(), &indices[row * depth..][..depth]);
        }
    });
    places
}

/// The slice that a tuple points at.
fn locate<I: Index>(axes: &[Axis], policy: Policy, tuple: &[I]) -> usize {
    let mut place = 0;
    for (&index, axis) in tuple.iter().zip(axes) {
        let position = match (policy.wraps(), policy.clamps()) {
            (false, false) => index.within::<false, false>(axis.size),
            (false, true) => index.within::<false, true>(axis.size),
            (true, false) => index.within::<true, false>(axis.size),
            (true, true) => index.within::<true, true>(axis.size),
        };
        match position {
            Some(position) => place += position * axis.stride.unsigned_abs(),
            None => return NOWHERE,
        }
    }
    place
}

/// All rows, as far as they belong into a part of the destination.
struct Part<'a> {
    /// Bytes of a slice, and so of a row.
    slice: usize,
    /// The first slice of the part.
    first: usize,
    places: &'a [usize],
    updates: &'a [u8],
    dest: &'a mut [u8],
}

impl Part<'_> {
    /// Calls `each` with every row that belongs here and its slice.
    #[inline(always)]
    fn each(self, mut each: impl FnMut(&mut [u8], usize)) {
        let slices = self.dest.len() / self.slice;
        for (row, &place) in self.places.iter().enumerate() {
            let place = place.wrapping_sub(self.first);
            if place < slices {
                each(&mut self.dest[place * self.slice..][..self.slice], row);
            }
        }
    }
}

impl mover::Task for Part<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        let updates = self.updates;
        self.each(|slice, row| {
            mover
                .copy(updates, row * mover.bytes(), slice)
                .expect("there is an update for each row");
        });
    }
}

impl combine::Task for Part<'_> {
    fn run<R: Rule>(self, rule: R) {
        let (updates, bytes) = (self.updates, self.slice);
        if bytes == R::BYTES {
            // A length that the compiler knows leaves no loop.
            return self.each(|slice, row| {
                let update = &updates[row * R::BYTES..][..R::BYTES];
                rule.combine(&mut slice[..R::BYTES], update);
            });
        }
        self.each(|slice, row| rule.combine(slice, &updates[row * bytes..][..bytes]));
    }
}
