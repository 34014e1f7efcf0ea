//! Runs scatters: each row is combined into its slice of the destination, in ascending order of rows. The slice of a
//! row is the elements of the destination that the row's tuple points at.
//!
//! The place of a row is the number of its slice among the slices of the destination, in row-major order. The places of
//! all rows are computed first, so that nothing is changed if the policy makes an out-of-range tuple an error. Then
//! each thread takes a part of the destination, goes through all rows, and combines those whose slice lies in this
//! part. So the rows of a slice are combined in order, however many threads there are.

use super::{
    combine::{CombineTask, Rule, with_rule},
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    threads::{self, Threads},
};
use crate::{
    layout::Axis,
    ops::{
        index::{Index, OutOfRange, Policy},
        scatter_nd::{Combine, Map},
        strided_slice::Odometer,
    },
    plan::Rows,
    report::Missing,
    text::counted,
};

/// Stands for the place of a row whose tuple is out of range. No slice has this number, because no destination has so
/// many slices.
const NOWHERE: usize = usize::MAX;

/// Combines the rows of `updates` into `dest`, except those whose tuple is out of range. Returns how many tuples are
/// out of range, and the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn run<I: Index>(
    rows: &Rows,
    map: &Map,
    updates: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let threads = count(rows, threads);
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
        let scatter = Share {
            slice,
            first: number * part,
            places: &places,
            updates,
            dest,
        };
        match map.options.combine {
            Combine::Update => with_copy_kernel(slice, scatter),
            combine => with_rule(combine, map.dtype, scatter),
        }
    });
    missing
}

/// How many threads combine these rows. The slices lie scattered in the destination, so each row takes about 4
/// nanoseconds more than if the slices were contiguous.
fn count(rows: &Rows, threads: Threads) -> usize {
    threads.worth(rows.units() * rows.unit, 4 * rows.count)
}

pub(super) fn explain(rows: &Rows, map: &Map, threads: Threads) -> String {
    let threads = counted(count(rows, threads), "thread", "threads");
    let bytes = rows.run * rows.unit;
    let how = match map.options.combine {
        Combine::Update => "moved".to_owned(),
        combine => format!("combined by {combine} of {}", map.dtype),
    };
    format!(", rows of {bytes} bytes {how} on {threads}")
}

/// Computes the places of `count` rows with `threads` threads. The place of a row whose tuple is out of range is
/// [`NOWHERE`].
fn locate_all<I: Index>(map: &Map, count: usize, indices: &[I], threads: usize) -> Vec<usize> {
    let mut places = vec![0; count];
    let depth = map.axes.len();
    let part = count.div_ceil(threads).max(1);
    let parts = places.chunks_mut(part).enumerate();
    threads::share(parts, threads, |(number, places)| {
        let first = number * part;
        for (row, place) in (first..).zip(&mut *places) {
            *place = locate(&map.axes, map.policy(), &indices[row * depth..][..depth]);
        }
        if !map.walk.is_empty() {
            for (place, begin) in places.iter_mut().zip(Odometer::at(&map.walk, 0, first)) {
                if *place != NOWHERE {
                    *place += begin;
                }
            }
        }
    });
    places
}

/// The number of the slice that a tuple points at. For `scatter_elements` the caller adds to it what [`Map::walk`] says
/// for the row. [`NOWHERE`] if the tuple is out of range.
fn locate<I: Index>(axes: &[Axis], policy: Policy, tuple: &[I]) -> usize {
    let mut place = 0;
    for (&index, axis) in tuple.iter().zip(axes) {
        match index.within(axis.size, policy.wraps(), policy.clamps()) {
            Some(position) => place += position * axis.stride.unsigned_abs(),
            None => return NOWHERE,
        }
    }
    place
}

/// One thread's share of a scatter: a part of the destination, `dest`, and all rows, of which the thread combines only
/// those whose slice lies in `dest`.
struct Share<'a> {
    /// The size in bytes of a slice, which is also the size of a row.
    slice: usize,
    /// The number of the first slice in `dest`.
    first: usize,
    /// The place of each row of the scatter.
    places: &'a [usize],
    updates: &'a [u8],
    dest: &'a mut [u8],
}

impl Share<'_> {
    /// Calls `each` for every row whose slice lies in `dest`, with the slice and the number of the row.
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

impl CopyTask for Share<'_> {
    fn run(self, kernel: impl CopyKernel) {
        let updates = self.updates;
        self.each(|slice, row| {
            kernel
                .copy(updates, row * kernel.bytes(), slice)
                .expect("there is an update for each row");
        });
    }
}

impl CombineTask for Share<'_> {
    fn run<R: Rule>(self, rule: R) {
        let (updates, bytes) = (self.updates, self.slice);
        if bytes == R::BYTES {
            // A slice is one element: with a constant length the compiler removes the loop over elements.
            return self.each(|slice, row| {
                let update = &updates[row * R::BYTES..][..R::BYTES];
                rule.combine(&mut slice[..R::BYTES], update);
            });
        }
        self.each(|slice, row| rule.combine(slice, &updates[row * bytes..][..bytes]));
    }
}
