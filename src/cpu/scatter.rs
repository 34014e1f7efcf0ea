//! Runs scatters. Each row of the updates has an index tuple, which selects a slice of the destination. The row is
//! combined with the elements of this slice, in ascending order of rows.
//!
//! A row's place is the offset in bytes of its slice in the destination. The places of all rows are computed first, so
//! nothing is changed if the policy makes an out-of-range tuple an error. Then each thread takes a part of the
//! destination, iterates over all rows, and combines only the rows whose slice is in this part. So the rows of a slice
//! are combined in order on any number of threads.

use super::{
    combine::{self, ThreadShare},
    fixed_copy::with_copy_kernel,
    locate::{Locator, NOWHERE},
    odometer::Odometer,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{
    moves::Scatter,
    ops::{
        index::{Index, OutOfRange},
        scatter_nd::Combine,
    },
    report::Missing,
    text::counted,
    walk::{Dim, Walk},
};

/// Combines the rows of `updates` into `dest`, except rows with a tuple out of range. Returns how many tuples are out
/// of range, and the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn run<I: Index>(
    walk: &Walk,
    effect: Scatter,
    updates: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let ScatterRows {
        row_units,
        numbering,
        window_dims,
        threads,
    } = ScatterRows::from_walk(walk, threads);
    let policy = effect.options.policy;
    let locator = Locator::new(walk, policy, indices, numbering.len());
    let mut places = vec![0; numbering.iter().map(|dim| dim.size).product()];
    let places_per_part = places.len().div_ceil(threads);
    let parts = places.chunks_mut(places_per_part).enumerate();
    threads::share(parts, threads, |(number, places)| {
        locator.find_group_places(number * places_per_part, places);
    });
    let mut missing = Missing::default();
    locator.count_missing(0, 0, &places, &mut missing);
    if missing.count > 0 && policy.out_of_range == OutOfRange::Error {
        return missing;
    }
    if !window_dims.is_empty() {
        places = row_places(&places, window_dims, walk.unit);
    }
    if effect.starts_from_zeros {
        dest.fill(0);
    }
    let slice_bytes = row_units * walk.unit;
    let part_bytes = effect.slices.div_ceil(threads) * slice_bytes;
    let parts = dest.chunks_mut(part_bytes).enumerate();
    threads::share(parts, threads, |(number, dest)| {
        let scatter = ThreadShare {
            slice_bytes,
            dest_offset: number * part_bytes,
            places: &places,
            updates,
            dest,
        };
        match effect.options.combine {
            Combine::Update => with_copy_kernel(slice_bytes, scatter),
            combine => combine::combine_rows(combine, effect.dtype, scatter),
        }
    });
    missing
}

/// The rows of a scatter.
struct ScatterRows<'a> {
    /// The number of units of a row, which one call combines.
    row_units: usize,
    /// The dimensions that number windows. A window is the rows that share an index tuple, often a single row.
    numbering: &'a [Dim],
    /// The dimensions that number the rows of a window.
    window_dims: &'a [Dim],
    threads: usize,
}

impl<'a> ScatterRows<'a> {
    fn from_walk(walk: &'a Walk, threads: Threads) -> Self {
        // In `scatter_elements` and XLA's scatter, the destination of a row depends on its tuple and on its position
        // among the updates.
        let (run, numbering) = walk.split_run();
        let window_dims = numbering.iter().rev().take_while(|dim| dim.tuple == 0);
        let (numbering, window_dims) = numbering.split_at(numbering.len() - window_dims.count());
        // The slices are scattered in the destination, so each row takes about 4 nanoseconds more than if the slices
        // were contiguous.
        let scatter_rows = Self {
            row_units: run.size,
            numbering,
            window_dims,
            threads: threads.count_for(walk.bytes(), 4 * walk.rows()),
        };
        let row_units = run.size.cast_signed();
        match window_dims.split_last() {
            // The rows of a window are contiguous in both arrays, so they are combined as one row. Only one thread
            // runs, because a thread's part of the destination could end within such a row.
            Some((inner, window_dims))
                if [inner.from, inner.to] == [row_units; 2]
                    && inner.size > scatter_rows.threads =>
            {
                Self {
                    row_units: scatter_rows.row_units * inner.size,
                    window_dims,
                    threads: 1,
                    ..scatter_rows
                }
            }
            _ => scatter_rows,
        }
    }
}

/// Returns the places of all rows, in windows at `window_places`.
fn row_places(window_places: &[usize], window_dims: &[Dim], unit: usize) -> Vec<usize> {
    let row_count = window_dims.iter().map(|dim| dim.size).product();
    let distances = Odometer::at(window_dims, |dim| dim.to, 0).take(row_count);
    let distances: Vec<usize> = distances.map(|units| units.wrapping_mul(unit)).collect();
    let places_of_rows = |&place: &usize| {
        let row_place = move |&distance: &usize| match place {
            NOWHERE => NOWHERE,
            place => place.wrapping_add(distance),
        };
        distances.iter().map(row_place)
    };
    window_places.iter().flat_map(places_of_rows).collect()
}

pub(super) fn explain(walk: &Walk, effect: Scatter, threads: Threads) -> String {
    let scatter_rows = ScatterRows::from_walk(walk, threads);
    let threads = counted(scatter_rows.threads, "thread", "threads");
    let bytes = scatter_rows.row_units * walk.unit;
    let description = match effect.options.combine {
        Combine::Update => "moved".to_owned(),
        combine => format!("combined by {combine} of {}", effect.dtype),
    };
    format!(", rows of {bytes} bytes {description} on {threads}")
}
