//! The walk of a gather: rows in the order of the tuples, a block at a time.
//!
//! First the tuples of a block are turned into places in the source, then its rows are copied: the
//! first loop knows the depth of the tuples, the second the size of the rows, and both keep many
//! reads of scattered memory in flight.

use super::{
    kernel::Kernel,
    mover::{Mover, Task, with_mover},
    threads,
};
use crate::{
    layout::Axis,
    ops::{gather_nd::Map, index::Index},
    plan,
    report::Missing,
};
use std::sync::{Mutex, PoisonError};

/// Rows of a block: enough that the reads in flight at its end are few beside it.
const BLOCK: usize = 1024;
/// The place of a row without a source: no source reaches that far.
const NOWHERE: usize = usize::MAX;

/// Gathers all rows, and counts those without a source.
pub(super) fn run<I: Index>(
    rows: &plan::Rows,
    map: &Map,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
) -> Missing {
    let walk = Walk {
        unit: rows.unit,
        row: rows.run * rows.unit,
        map,
        source,
        indices,
    };
    let threads = threads(rows);
    let all = Mutex::new(Missing::default());
    threads::spread(dest, walk.grain(), threads, |first, dest| {
        let missing = walk.part(first, dest);
        if missing.count > 0 {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            *all = all.and(missing);
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads gather these rows. Each is a read of scattered memory, and costs about two
/// nanoseconds more than its bytes.
pub(super) fn threads(rows: &plan::Rows) -> usize {
    threads::worth(rows.units() * rows.unit, 2 * rows.count)
}

/// The loop that copies them.
pub(super) fn kernel(rows: &plan::Rows) -> Kernel {
    Kernel::of_piece(rows.run * rows.unit)
}

struct Walk<'a, I> {
    unit: usize,
    /// Bytes of a row.
    row: usize,
    map: &'a Map,
    source: &'a [u8],
    indices: &'a [I],
}

impl<I: Index> Walk<'_, I> {
    /// Short rows are never cut.
    fn grain(&self) -> usize {
        if self.row <= 4096 {
            self.row
        } else {
            self.unit
        }
    }

    /// Writes the bytes of the result from `first` on.
    fn part(&self, first: usize, dest: &mut [u8]) -> Missing {
        let mut missing = Missing::default();
        let (mut row, skip) = (first / self.row, first % self.row);
        let mut rest = dest;
        if skip > 0 {
            let part;
            (part, rest) = rest.split_at_mut((self.row - skip).min(rest.len()));
            // A row that is cut counts where it begins.
            self.part_of_row(row, skip, part);
            row += 1;
        }
        let size = rest.len() / self.row;
        let (whole, rest) = rest.split_at_mut(size * self.row);
        let mut places = [NOWHERE; BLOCK];
        for block in whole.chunks_mut(BLOCK * self.row) {
            let places = &mut places[..block.len() / self.row];
            self.resolve(row, places);
            if places.contains(&NOWHERE) {
                let nowhere = |&i: &usize| places[i] == NOWHERE;
                let bad = (0..places.len()).filter(nowhere);
                bad.for_each(|i| missing.add(row + i));
            }
            row += places.len();
            let rows = Rows {
                source: self.source,
                places,
                dest: block,
            };
            with_mover(self.row, rows);
        }
        if !rest.is_empty() && !self.part_of_row(row, 0, rest) {
            missing.add(row);
        }
        missing
    }

    /// Writes the bytes from `skip` on of one row. False where the row has no source.
    fn part_of_row(&self, row: usize, skip: usize, dest: &mut [u8]) -> bool {
        let mut place = [NOWHERE];
        self.resolve(row, &mut place);
        if place == [NOWHERE] {
            dest.fill(0);
            return false;
        }
        dest.copy_from_slice(&self.source[place[0] + skip..][..dest.len()]);
        true
    }

    /// The places in the source of the rows from `first` on, in bytes.
    fn resolve(&self, first: usize, places: &mut [usize]) {
        let depth = self.map.axes.len();
        let tuples = &self.indices[first * depth..][..places.len() * depth];
        match self.map.axes.as_slice() {
            &[axis] => resolve([axis], tuples, self.unit, places),
            &[a, b] => resolve([a, b], tuples, self.unit, places),
            &[a, b, c] => resolve([a, b, c], tuples, self.unit, places),
            axes => {
                for (i, place) in places.iter_mut().enumerate() {
                    let tuple = &tuples[i * depth..][..depth];
                    *place = locate(axes, tuple, self.unit);
                }
            }
        }
        if self.map.batch_rows < self.map.tuples().iter().product() {
            let mut batch = first / self.map.batch_rows;
            let mut left = self.map.batch_rows - first % self.map.batch_rows;
            for place in places {
                if left == 0 {
                    (batch, left) = (batch + 1, self.map.batch_rows);
                }
                left -= 1;
                // Nowhere stays nowhere.
                *place = place.saturating_add(batch * self.map.batch_stride * self.unit);
            }
        }
    }
}

/// [`locate`] for tuples of a depth that the compiler knows.
fn resolve<I: Index, const D: usize>(
    axes: [Axis; D],
    tuples: &[I],
    unit: usize,
    places: &mut [usize],
) {
    let (tuples, _) = tuples.as_chunks::<D>();
    for (tuple, place) in tuples.iter().zip(places) {
        *place = locate(&axes, tuple, unit);
    }
}

/// Where a tuple points, in bytes.
#[inline(always)]
fn locate<I: Index>(axes: &[Axis], tuple: &[I], unit: usize) -> usize {
    let mut place = 0;
    for (index, axis) in tuple.iter().zip(axes) {
        match index.within::<false, false>(axis.size) {
            Some(index) => place += index * axis.stride.unsigned_abs(),
            None => return NOWHERE,
        }
    }
    place * unit
}

/// The rows of a block.
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

fn copy_rows<M: Mover>(mover: M, source: &[u8], places: &[usize], dest: &mut [u8]) {
    for (row, &place) in dest.chunks_exact_mut(mover.bytes()).zip(places) {
        if mover.copy(source, place, row).is_none() {
            row.fill(0);
        }
    }
}
