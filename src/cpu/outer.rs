//! Copies pieces to or from places that are sums. Each dimension adds a distance that depends only on the position
//! along this dimension. Outer index expressions, as with `numpy.ix_`, copy from such places. So do gathers along the
//! last axis, in which all rows use the same index tuples. Updates by index expressions write to such places.

use super::{
    Dest, Threads,
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    memory::{self, LINE},
    rows::{Axis, along},
    threads,
};
use crate::View;
use crate::prelude::*;

/// The positions of the source that are chosen along a dimension.
pub(super) enum ChosenPositions {
    /// All positions of an axis of the source, in order.
    All(Axis),
    /// For each position of the result, the distance in bytes that it adds to the place of a piece. A negative distance
    /// wraps.
    Listed(Vec<usize>),
}

impl ChosenPositions {
    fn size(&self) -> usize {
        match self {
            Self::All(axis) => axis.size,
            Self::Listed(list) => list.len(),
        }
    }

    fn distance(&self, position: usize) -> usize {
        match self {
            Self::All(axis) => along(0, axis.stride, position),
            Self::Listed(list) => list[position],
        }
    }
}

/// Copies the elements of `source` at all combinations of the chosen positions of the view to `dest`. `lists` has the
/// numbers of some dimensions with their chosen positions, which are in range. All positions of the other dimensions
/// are chosen. An element has `unit` bytes.
pub(crate) fn run(
    (view, unit): (&View, usize),
    lists: &[(usize, Vec<i64>)],
    source: &[u8],
    dest: Dest<'_>,
    threads: Threads,
) {
    if dest.len() == 0 {
        return;
    }
    let mut dims: Vec<_> = (0..view.shape.len())
        .map(|dim| {
            let stride = view.strides[dim].wrapping_mul(unit.cast_signed());
            match lists.iter().find(|(listed_dim, _)| *listed_dim == dim) {
                None => ChosenPositions::All(Axis {
                    size: view.shape[dim],
                    stride,
                }),
                Some((_, positions)) => {
                    let distance = |&position: &i64| {
                        along(0, stride, usize::try_from(position).expect("in range"))
                    };
                    ChosenPositions::Listed(positions.iter().map(distance).collect())
                }
            }
        })
        .collect();
    // Elements that are contiguous in the source are one piece.
    let mut piece_bytes = unit;
    let is_contiguous = |dim: &mut ChosenPositions, piece_bytes: usize| match dim {
        ChosenPositions::All(axis) => axis.size == 1 || axis.stride == piece_bytes.cast_signed(),
        ChosenPositions::Listed(_) => false,
    };
    while let Some(dim) = dims.pop_if(|dim| is_contiguous(dim, piece_bytes)) {
        piece_bytes *= dim.size();
    }
    let threads = threads.count_for(dest.len(), dest.len() / piece_bytes);
    copy(
        (view.offset * unit, piece_bytes),
        &dims,
        source,
        dest,
        threads,
    );
}

/// Writes `dest`, which has the dimensions `dims`, at least one. Pieces have `bytes` bytes. The place of a piece is
/// `base` plus a distance from each dimension.
pub(super) fn copy(
    (base, bytes): (usize, usize),
    dims: &[ChosenPositions],
    source: &[u8],
    dest: Dest<'_>,
    threads: usize,
) {
    let Some((inner, outer)) = dims.split_last() else {
        return;
    };
    let prefetch = match inner {
        ChosenPositions::All(_) => None,
        ChosenPositions::Listed(list) => RowPrefetch::new(list),
    };
    threads::spread(dest, bytes, threads, |first, dest| {
        let pieces = ResultPieces {
            source,
            base,
            outer,
            inner,
            prefetch,
            first: first / bytes,
            dest,
        };
        with_copy_kernel(bytes, pieces);
    });
}

/// The places to prefetch while a row is copied, because the processor cannot predict the order of a list. There is one
/// prefetch for each piece: the first at the lowest place of the next row, each further one `step` bytes higher.
#[derive(Clone, Copy)]
struct RowPrefetch {
    /// The distance in bytes of a row's lowest place from the row's start. A negative distance wraps.
    lowest_distance: usize,
    step: usize,
}

impl RowPrefetch {
    /// Returns `None` if the places of a row are on average more than a cache line apart.
    fn new(list: &[usize]) -> Option<Self> {
        let distances = || list.iter().map(|distance| distance.cast_signed());
        let (lowest, highest) = (distances().min()?, distances().max()?);
        let step = highest.abs_diff(lowest) / list.len();
        (step <= LINE).then_some(Self {
            lowest_distance: lowest.cast_unsigned(),
            step,
        })
    }
}

/// The pieces of the result, starting with number `first`.
struct ResultPieces<'a> {
    source: &'a [u8],
    base: usize,
    outer: &'a [ChosenPositions],
    inner: &'a ChosenPositions,
    prefetch: Option<RowPrefetch>,
    first: usize,
    dest: &'a mut [u8],
}

impl ResultPieces<'_> {
    /// Returns the offset in bytes of row `number` in the source. For the row after the last, returns the offset of row
    /// 0, which is then only prefetched.
    fn row_place(&self, mut number: usize) -> usize {
        let mut place = self.base;
        for dim in self.outer.iter().rev() {
            place = place.wrapping_add(dim.distance(number % dim.size()));
            number /= dim.size();
        }
        place
    }
}

impl CopyTask for ResultPieces<'_> {
    fn run(mut self, kernel: impl CopyKernel) {
        let bytes = kernel.bytes();
        let mut unwritten = core::mem::take(&mut self.dest);
        let (mut row_number, mut skip) = (
            self.first / self.inner.size(),
            self.first % self.inner.size(),
        );
        while !unwritten.is_empty() {
            let part;
            (part, unwritten) =
                unwritten.split_at_mut(((self.inner.size() - skip) * bytes).min(unwritten.len()));
            let (at, pieces) = (self.row_place(row_number), part.chunks_exact_mut(bytes));
            let copy = |piece: &mut [u8], distance| {
                let outcome = kernel.copy(self.source, at.wrapping_add(distance), piece);
                outcome.expect("positions in range are within the source");
            };
            match (self.inner, self.prefetch) {
                (ChosenPositions::All(axis), _) => {
                    for (piece, position) in pieces.zip(skip..) {
                        copy(piece, along(0, axis.stride, position));
                    }
                }
                (ChosenPositions::Listed(list), None) => {
                    for (piece, &distance) in pieces.zip(&list[skip..]) {
                        copy(piece, distance);
                    }
                }
                (ChosenPositions::Listed(list), Some(prefetch)) => {
                    let mut next_place = self
                        .row_place(row_number + 1)
                        .wrapping_add(prefetch.lowest_distance);
                    for (piece, &distance) in pieces.zip(&list[skip..]) {
                        memory::prefetch(self.source, next_place);
                        next_place = next_place.wrapping_add(prefetch.step);
                        copy(piece, distance);
                    }
                }
            }
            (row_number, skip) = (row_number + 1, 0);
        }
    }
}

/// Writes pieces of `bytes` bytes to `dest`. In `values`, they begin `step` bytes apart. The place of a piece is `base`
/// plus one distance in bytes from each dimension; the last dimension varies fastest. If several pieces have the same
/// place, the last piece remains.
pub(crate) fn write(
    (mut base, bytes): (usize, usize),
    mut dims: &[Vec<usize>],
    (values, step): (&[u8], usize),
    dest: &mut [u8],
) {
    while let [outer @ .., inner] = dims
        && let &[distance] = &inner[..]
        && !outer.is_empty()
    {
        base = base.wrapping_add(distance);
        dims = outer;
    }
    let Some((inner, outer)) = dims.split_last() else {
        return;
    };
    let row_count: usize = outer.iter().map(Vec::len).product();
    let numbered_distances = inner.iter().enumerate();
    let mut piece_distances: Vec<_> = numbered_distances
        .map(|(n, &distance)| (distance, n * step))
        .collect();
    if row_count >= MIN_SORTED_ROWS {
        // The sort is stable: pieces with the same place keep their order.
        piece_distances.sort_by_key(|(distance, _)| distance.cast_signed());
    }
    let row_places = (0..row_count).map(|mut number| {
        let mut place = base;
        for distances in outer.iter().rev() {
            place = place.wrapping_add(distances[number % distances.len()]);
            number /= distances.len();
        }
        place
    });
    let task = WriteTask {
        row_places,
        piece_distances: &piece_distances,
        values,
        step,
        dest,
    };
    with_copy_kernel(bytes, task);
}

/// The smallest number of rows for which sorting the places of a row saves more time than it takes. Storing rows of
/// 2,048 f32 in ascending order takes 30 % less time than storing them unsorted.
const MIN_SORTED_ROWS: usize = 16;

/// The pieces that [`write`] writes.
struct WriteTask<'a, R> {
    row_places: R,
    /// For each piece of a row, two distances in bytes: from the row's place to the piece's place, and from the row's
    /// first value to the piece's value.
    piece_distances: &'a [(usize, usize)],
    values: &'a [u8],
    step: usize,
    dest: &'a mut [u8],
}

impl<R: Iterator<Item = usize>> CopyTask for WriteTask<'_, R> {
    fn run(self, kernel: impl CopyKernel) {
        for (number, at) in self.row_places.enumerate() {
            let row_start = number * self.piece_distances.len() * self.step;
            for &(distance, value_distance) in self.piece_distances {
                let dest_piece = &mut self.dest[at.wrapping_add(distance)..][..kernel.bytes()];
                let outcome = kernel.copy(self.values, row_start + value_distance, dest_piece);
                outcome.expect("there is a value for each place");
            }
        }
    }
}
