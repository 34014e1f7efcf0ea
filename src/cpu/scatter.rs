//! Runs scatters: each row is combined into its slice of the destination, in ascending order of rows. The slice of a
//! row is the elements of the destination that the row's tuple points at.
//!
//! The place of a row is the byte of the destination where its slice begins. The places of all rows are computed first,
//! so that nothing is changed if the policy makes an out-of-range tuple an error. Then each thread takes a part of the
//! destination, goes through all rows, and combines those whose slice lies in this part. So the rows of a slice are
//! combined in order, however many threads there are.

use super::{
    combine::{CombineTask, Rule, with_rule},
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    odometer::Odometer,
    threads::{self, Threads},
};
use crate::{
    ops::{
        index::{Index, OutOfRange, Policy},
        scatter_nd::Combine,
    },
    plan::Scatter,
    report::Missing,
    text::counted,
    walk::{Dim, Walk},
};

/// Stands for the place of a row whose tuple is out of range. No slice begins at this byte, because no destination is
/// this long.
const NOWHERE: usize = usize::MAX;

/// Combines the rows of `updates` into `dest`, except those whose tuple is out of range. Returns how many tuples are
/// out of range, and the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn run<I: Index>(
    walk: &Walk,
    effect: Scatter,
    updates: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let threads = count(walk, threads);
    let (run, numbering) = walk.split_run();
    let places = locate_all(walk, numbering, effect, indices, threads);
    let mut missing = Missing::default();
    if places.contains(&NOWHERE) {
        let bad = places.iter().enumerate();
        bad.filter(|&(_, &place)| place == NOWHERE)
            .for_each(|(row, _)| missing.add(row));
        if effect.options.out_of_range == OutOfRange::Error {
            return missing;
        }
    }
    if effect.fresh {
        dest.fill(0);
    }
    let slice = run.size * walk.unit;
    let part = effect.slices.div_ceil(threads) * slice;
    let parts = dest.chunks_mut(part).enumerate();
    threads::share(parts, threads, |(number, dest)| {
        let scatter = Share {
            slice,
            first: number * part,
            places: &places,
            updates,
            dest,
        };
        match effect.options.combine {
            Combine::Update => with_copy_kernel(slice, scatter),
            combine => with_rule(combine, effect.dtype, scatter),
        }
    });
    missing
}

/// How many threads combine the rows. The slices lie scattered in the destination, so each row takes about 4
/// nanoseconds more than if the slices were contiguous.
fn count(walk: &Walk, threads: Threads) -> usize {
    threads.worth(walk.bytes(), 4 * walk.rows())
}

pub(super) fn explain(walk: &Walk, effect: Scatter, threads: Threads) -> String {
    let threads = counted(count(walk, threads), "thread", "threads");
    let bytes = walk.run().size * walk.unit;
    let how = match effect.options.combine {
        Combine::Update => "moved".to_owned(),
        combine => format!("combined by {combine} of {}", effect.dtype),
    };
    format!(", rows of {bytes} bytes {how} on {threads}")
}

/// Computes the places of all rows with `threads` threads. The place of a row whose tuple is out of range is
/// [`NOWHERE`]. The dimensions `numbering` number the rows. In `scatter_elements` they also decide where a row goes.
fn locate_all<I: Index>(
    walk: &Walk,
    numbering: &[Dim],
    effect: Scatter,
    indices: &[I],
    threads: usize,
) -> Vec<usize> {
    let count = numbering.iter().map(|dim| dim.size).product();
    let mut places = vec![0; count];
    let moves = numbering.iter().any(|dim| dim.to != 0);
    let (unit, depth, policy) = (walk.unit, walk.columns, effect.options.policy());
    let axes = walk.coordinates.iter();
    let axes = axes.map(|axis| (axis.size, axis.stride.unsigned_abs() * unit));
    let axes: Vec<_> = axes.collect();
    let part = count.div_ceil(threads);
    let parts = places.chunks_mut(part).enumerate();
    threads::share(parts, threads, |(number, places)| {
        let first = number * part;
        for (row, place) in (first..).zip(&mut *places) {
            *place = locate(&axes, policy, &indices[row * depth..][..depth]);
        }
        if moves {
            let begins = Odometer::at(numbering, |dim| dim.to, first);
            for (place, begin) in places.iter_mut().zip(begins) {
                if *place != NOWHERE {
                    *place += begin * unit;
                }
            }
        }
    });
    places
}

/// The byte of the destination that a tuple points at, or [`NOWHERE`] if the tuple is out of range. `axes` are the
/// sizes of the indexed dimensions, and their strides in bytes.
fn locate<I: Index>(axes: &[(usize, usize)], policy: Policy, tuple: &[I]) -> usize {
    let mut place = 0;
    for (&index, &(size, stride)) in tuple.iter().zip(axes) {
        match index.within(size, policy.wraps(), policy.clamps()) {
            Some(position) => place += position * stride,
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
    /// The byte of the destination where `dest` begins.
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
        for (row, &place) in self.places.iter().enumerate() {
            let place = place.wrapping_sub(self.first);
            if place < self.dest.len() {
                each(&mut self.dest[place..][..self.slice], row);
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
