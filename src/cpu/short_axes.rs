//! Runs transposed slices of many short axes. Tensor networks have such arrays, with 20 axes of size 2 for example.
//!
//! | name | meaning |
//! |---|---|
//! | run | the pieces at all positions of the result's innermost axes; they are contiguous in the result |
//! | near axes | the axes along which pieces are nearest to each other in the source |
//! | lane | the contiguous part of the result for one position of the near axes that are not in a run |
//! | band | the same range of runs in several lanes, which one thread writes |
//! | plane | a contiguous part of the result with the lanes of one or more tiles; each lane is a slice of the plane |
//!
//! A single short axis does not fill a cache line of the source or of the result. So a tile combines axes: enough
//! innermost axes of the result to fill a run, and enough near axes to fill some cache lines of the source. A table
//! lists the distance of each piece of a run from the first piece, so the loop over a run is the same for any number
//! of axes.
//!
//! `lanes.rs` writes the lanes of a tile.

use super::{
    Dest,
    lanes::{Lanes, pieces_in_streams},
    memory::{LINE, Slices},
    odometer::Odometer,
    processor::Processor,
    rows::Axis,
    threads,
};
use crate::prelude::*;
use crate::{text::counted, walk::Dim};
use core::fmt;

/// The minimum size of a run in bytes, unless the next axis would make it longer than [`MAX_RUN_BYTES`].
const MIN_RUN_BYTES: usize = 8 * LINE;
/// The minimum size in bytes of a run that does not include the nearest axis. With runs of one cache line, 16^5 × 8 f64
/// take twice as long, because each slice is only one line (Intel Xeon, model 207).
const MIN_FAR_RUN_BYTES: usize = 2 * LINE;
/// The maximum size of a run in bytes.
const MAX_RUN_BYTES: usize = 16 << 10;
/// A row of at least this many bytes needs no tiles of several axes.
const LONG_ROW_BYTES: usize = 8 * LINE;
/// The size in bytes of the part of the source that a tile reads if enough axes are near: one page, because the
/// processor then translates the page's address only once.
const PAGE_BYTES: usize = 4 << 10;
/// Replaces [`PAGE_BYTES`] for a small result, because larger tables would take more time than they save.
const NEAR_BYTES: usize = 4 * LINE;
/// The size in bytes below which a result is small.
const SMALL_RESULT_BYTES: usize = 512 << 10;
/// The size in bytes of the smallest result whose lines bypass the caches. It is less than
/// [`memory::MIN_STREAMED_BYTES`](super::memory::MIN_STREAMED_BYTES), because the lines of a tile are farther apart.
/// With lines that stay cached, 24^5 f32 (30 MiB) take 5 times as long, and 14^6 f32 (29 MiB) 3 times (Intel Xeon,
/// model 207).
pub(super) const MIN_STREAMED_TILES_BYTES: usize = 16 << 20;
/// The maximum number of lanes of a tile. Each lane is a stream of writes.
const MAX_LANES: usize = 1 << 10;
/// The maximum number of slices of a plane.
const MAX_SLICES: usize = 1 << 12;

/// A transposed slice of many short axes. Distances are in bytes of the source.
pub(super) struct ShortAxes {
    piece: usize,
    /// The distance of each piece of a run from the first piece.
    run_distances: Vec<usize>,
    /// The lanes of a tile.
    lanes: Lanes,
    /// For each lane, in the order of the source, the number of its slice in a plane, counted from the first slice of a
    /// band.
    lane_numbers: Vec<usize>,
    /// The distance of each band of a plane from the first band.
    band_distances: Vec<usize>,
    /// For each band of a plane, the number of its first slice.
    band_numbers: Vec<usize>,
    /// The dimensions that number the planes.
    plane_dims: Vec<Dim>,
    /// The dimensions that number the runs of a lane.
    run_dims: Vec<Dim>,
}

/// The same range of runs in several lanes.
struct RunBand<'d> {
    /// The offset in bytes of the first lane in the source. The band can begin further along the lane.
    at: usize,
    /// The number, within each lane, of the band's first run.
    first_run: usize,
    lanes: Slices<'d>,
}

/// Returns the distances at all positions of some axes, in row-major order.
fn distances(axes: &[Dim]) -> Vec<usize> {
    let count = axes.iter().map(|axis| axis.size).product();
    let mut distances = Vec::with_capacity(count);
    distances.push(0_usize);
    for axis in axes.iter().rev() {
        let inner_count = distances.len();
        for inner in 0..inner_count * (axis.size - 1) {
            distances.push(distances[inner].wrapping_add_signed(axis.from));
        }
    }
    distances
}

impl ShortAxes {
    /// Returns the tiles of a slice with pieces of `piece` bytes. The pieces of a row are along `row`. There is a row
    /// at each position of `dims`, whose distances count units of `unit` bytes. Returns `None` for fewer than three
    /// axes, for long rows or pieces, if a run would be shorter than a cache line, or if no pieces share a cache line
    /// of the source.
    pub(super) fn find(unit: usize, piece: usize, dims: &[Dim], row: Axis) -> Option<Self> {
        if dims.len() < 2 || piece >= LINE || row.size * piece >= LONG_ROW_BYTES {
            return None;
        }
        let outer = dims.iter().map(|dim| Axis::from_dim(unit, dim));
        let axes = outer.chain([row]);
        let axes: Vec<Dim> = axes
            .map(|axis| Dim::shared(axis.size, axis.stride))
            .collect();
        let (mut first_run_axis, mut run_bytes) = (axes.len(), piece);
        let strides = axes.iter().map(|axis| axis.from.unsigned_abs());
        let nearest_stride = strides.filter(|stride| *stride > 0).min();
        while first_run_axis > 0
            && run_bytes < MIN_RUN_BYTES
            && (run_bytes < MIN_FAR_RUN_BYTES
                || Some(axes[first_run_axis - 1].from.unsigned_abs()) != nearest_stride)
            && run_bytes * axes[first_run_axis - 1].size <= MAX_RUN_BYTES
        {
            first_run_axis -= 1;
            run_bytes *= axes[first_run_axis].size;
        }
        if run_bytes < LINE {
            return None;
        }
        // The axes with a stride other than 0, nearest in the source first. A tile has all positions of its near axes.
        let mut axis_numbers: Vec<usize> = (0..axes.len()).filter(|&n| axes[n].from != 0).collect();
        axis_numbers.sort_by_key(|&n| axes[n].from.unsigned_abs());
        let sizes = axes.iter().map(|axis| axis.size);
        let max_tile_bytes = match piece * sizes.product::<usize>() {
            ..SMALL_RESULT_BYTES => NEAR_BYTES,
            _ => PAGE_BYTES,
        };
        let (mut near_axes, mut reach, mut lane_count) = (Vec::new(), piece, 1);
        for n in axis_numbers {
            let axis_distance = axes[n].from.unsigned_abs();
            let axis_lanes = if n < first_run_axis { axes[n].size } else { 1 };
            if reach >= max_tile_bytes
                || axis_distance >= LINE.max(reach + 1)
                || lane_count * axis_lanes > MAX_LANES
            {
                break;
            }
            lane_count *= axis_lanes;
            reach += axis_distance.saturating_mul(axes[n].size - 1);
            near_axes.push(n);
        }
        if near_axes.is_empty() {
            return None;
        }
        // A plane has all positions of the axes from the first to the last axis of lanes.
        let (first_axis, end_axis) = loop {
            let lane_axes = || near_axes.iter().copied().filter(|&n| n < first_run_axis);
            let (first_axis, end_axis) = match (lane_axes().min(), lane_axes().max()) {
                (Some(first), Some(last)) => (first, last + 1),
                _ => (0, 0),
            };
            let plane_axes = axes[first_axis..end_axis].iter();
            if plane_axes.map(|axis| axis.size).product::<usize>() <= MAX_SLICES {
                break (first_axis, end_axis);
            }
            near_axes.pop();
        };
        let is_lane = |n: &usize| near_axes.contains(n);
        // The axes of a plane that are or are not axes of lanes. The strides are distances or numbers of slices.
        let plane_axes = &axes[first_axis..end_axis];
        let mut slice_count = 1;
        let numbered_axes = plane_axes.iter().rev().map(|axis| {
            let numbered_axis = Dim::shared(axis.size, slice_count);
            slice_count *= axis.size.cast_signed();
            numbered_axis
        });
        let mut numbered_axes: Vec<Dim> = numbered_axes.collect();
        numbered_axes.reverse();
        let axes_where = |are_lanes: bool, axes: &[Dim]| -> Vec<Dim> {
            let axes = (first_axis..).zip(axes);
            let axes = axes.filter(|(n, _)| is_lane(n) == are_lanes);
            axes.map(|(_, axis)| *axis).collect()
        };
        let lane_distances = distances(&axes_where(true, plane_axes));
        let lane_distances = lane_distances.into_iter().map(usize::cast_signed);
        let lane_numbers = distances(&axes_where(true, &numbered_axes));
        let mut lanes: Vec<(isize, usize)> = lane_distances.zip(lane_numbers).collect();
        lanes.sort_unstable();
        let (lane_distances, lane_numbers) = lanes.into_iter().unzip();
        Some(Self {
            piece,
            run_distances: distances(&axes[first_run_axis..]),
            lanes: Lanes::new(piece, lane_distances),
            lane_numbers,
            band_distances: distances(&axes_where(false, plane_axes)),
            band_numbers: distances(&axes_where(false, &numbered_axes)),
            plane_dims: axes[..first_axis].to_vec(),
            run_dims: axes[end_axis..first_run_axis].to_vec(),
        })
    }

    fn run_bytes(&self) -> usize {
        self.run_distances.len() * self.piece
    }

    /// Returns the number of runs of a lane.
    fn runs_per_lane(&self) -> usize {
        self.run_dims.iter().map(|dim| dim.size).product()
    }

    /// Returns the size of a plane in bytes.
    fn plane_bytes(&self) -> usize {
        let slice_count = self.band_numbers.len() * self.lanes.count();
        slice_count * self.runs_per_lane() * self.run_bytes()
    }

    /// Returns the size of the whole result in bytes.
    pub(super) fn bytes(&self) -> usize {
        let plane_sizes = self.plane_dims.iter().map(|dim| dim.size);
        plane_sizes.product::<usize>() * self.plane_bytes()
    }

    /// Writes the whole result to `dest` with `threads` threads. The first piece is at byte `at` of the source.
    pub(super) fn run(&self, source: &[u8], at: usize, dest: Dest<'_>, threads: usize) {
        let (part_bytes, plane_bytes) =
            (threads::part_bytes(dest.len(), threads), self.plane_bytes());
        let pieces_at_once = (dest.len() >= MIN_STREAMED_TILES_BYTES).then(|| {
            pieces_in_streams(
                self.piece,
                &self.run_distances,
                Processor::here().prefetched_streams(),
            )
        });
        let copy_band = |band| self.copy_band(source, band, pieces_at_once);
        if threads == 1 || plane_bytes <= part_bytes {
            let part_planes = if threads == 1 { usize::MAX } else { part_bytes } / plane_bytes;
            let part_bytes = (part_planes * plane_bytes).min(dest.len());
            let parts = dest.parts(part_bytes);
            threads::share(parts.enumerate(), threads, |(number, part)| {
                self.bands(at, number * part_planes, part, self.runs_per_lane())
                    .for_each(copy_band);
            });
        } else {
            let max_runs = part_bytes / (self.lanes.count() * self.run_bytes());
            let bands = self.bands(at, 0, dest, max_runs.max(1));
            threads::share(bands, threads, copy_band);
        }
    }

    /// Returns the bands of the planes in `dest`, which begins with plane `first`. A band has at most `max_runs` runs
    /// of each lane.
    fn bands<'d>(
        &self,
        at: usize,
        first: usize,
        dest: Dest<'d>,
        max_runs: usize,
    ) -> impl Iterator<Item = RunBand<'d>> {
        let planes = Odometer::at(&self.plane_dims, |dim| dim.from, first);
        let (lane_bytes, part_bytes) = (
            self.runs_per_lane() * self.run_bytes(),
            max_runs * self.run_bytes(),
        );
        // Each slice is cut into this many parts, of different bands.
        let part_count = self.runs_per_lane().div_ceil(max_runs);
        let planes = planes.zip(dest.parts(self.plane_bytes()));
        planes.flat_map(move |(plane, dest)| {
            let mut parts = Slices::new();
            match part_count {
                1 => dest.cut_into(lane_bytes, &mut parts),
                _ => {
                    for slice in dest.parts(lane_bytes) {
                        slice.cut_into(part_bytes, &mut parts);
                    }
                }
            }
            let bands = self.band_distances.iter().zip(&self.band_numbers);
            let bands = bands.flat_map(move |band| (0..part_count).map(move |part| (band, part)));
            let lane_numbers = bands.clone().flat_map(move |((_, &first_number), part)| {
                let numbers = self.lane_numbers.iter();
                numbers.map(move |number| (first_number + number) * part_count + part)
            });
            let lanes = parts.into_groups(self.lanes.count(), lane_numbers);
            bands
                .zip(lanes)
                .map(move |(((distance, _), part), lanes)| RunBand {
                    at: at.wrapping_add(plane).wrapping_add(*distance),
                    first_run: part * max_runs,
                    lanes,
                })
        })
    }

    /// Writes a band. See [`Lanes::write`] for `pieces_at_once`.
    fn copy_band(&self, source: &[u8], band: RunBand<'_>, pieces_at_once: Option<usize>) {
        let RunBand {
            at,
            first_run,
            mut lanes,
        } = band;
        let runs = Odometer::at(&self.run_dims, |dim| dim.from, first_run);
        let places = runs.flat_map(|run| {
            let first = at.wrapping_add(run);
            let distances = self.run_distances.iter();
            distances.map(move |distance| first.wrapping_add(*distance))
        });
        self.lanes.write(source, places, &mut lanes, pieces_at_once);
    }
}

impl fmt::Display for ShortAxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = counted(self.piece, "byte", "bytes");
        write!(f, "pieces of {bytes} of many short axes in tiles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of pseudo-random numbers.
    struct Random(u64);

    impl Random {
        fn number_below(&mut self, count: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(self.0 >> 40).unwrap() % count
        }
    }

    /// Transposes random short axes on 1 to 3 threads. Some of the axes are reversed, repeated or far apart.
    #[test]
    fn tiles_equal_single_copies() {
        let (mut random, mut case_count, mut lane_case_count) = (Random(5), 0, 0);
        while case_count < 400 {
            let piece: usize = [1, 2, 3, 4, 8, 12, 16, 20][random.number_below(8)];
            let (mut axes, mut next_stride) = (Vec::new(), piece.cast_signed());
            let mut bytes = piece;
            while bytes < 3000 && axes.len() < 13 {
                let size = 2 + random.number_below(3);
                let stride = match random.number_below(12) {
                    0 => 0,
                    1 | 2 => -next_stride,
                    _ => next_stride,
                };
                if stride != 0 {
                    next_stride *= size.cast_signed() + isize::from(random.number_below(9) == 0);
                }
                axes.push(Dim::shared(size, stride));
                bytes *= size;
            }
            for n in (1..axes.len()).rev() {
                axes.swap(n, random.number_below(n + 1));
            }
            let reach = |axis: &Dim| axis.from * (axis.size - 1).cast_signed();
            let lowest: isize = axes
                .iter()
                .map(reach)
                .filter(|distance| *distance < 0)
                .sum();
            let highest: isize = axes
                .iter()
                .map(reach)
                .filter(|distance| *distance > 0)
                .sum();
            let at = lowest.unsigned_abs();
            let source: Vec<u8> = (0..=250)
                .cycle()
                .take(at + highest.unsigned_abs() + piece)
                .collect();
            let (row, dims) = axes.split_last().unwrap();
            let row = Axis {
                size: row.size,
                stride: row.from,
            };
            let Some(short_axes) = ShortAxes::find(1, piece, dims, row) else {
                continue;
            };
            (case_count, lane_case_count) = (
                case_count + 1,
                lane_case_count + usize::from(short_axes.lanes.count() > 1),
            );
            let places = distances(&axes);
            let pieces = places
                .iter()
                .map(|place| &source[at.wrapping_add(*place)..][..piece]);
            let expected = pieces.collect::<Vec<_>>().concat();
            assert_eq!(short_axes.bytes(), expected.len());
            for threads in 1..=3 {
                let mut dest = vec![0; expected.len()];
                short_axes.run(&source, at, Dest::Old(&mut dest), threads);
                assert!(dest == expected, "{piece} {axes:?} on {threads} threads");
            }
        }
        assert!(lane_case_count > 200, "{lane_case_count}");
    }

    /// Reverses axes of size 2. The results begin at various offsets in a cache line. Large results bypass the caches.
    fn check_reversed<T: bytemuck::Pod + PartialEq>(axis_count: usize, value: impl Fn(u32) -> T) {
        let axes: Vec<Dim> = (0..axis_count)
            .map(|n| Dim::shared(2, (size_of::<T>() << n).cast_signed()))
            .collect();
        let (row, dims) = axes.split_last().unwrap();
        let row = Axis::from_dim(1, row);
        let short_axes = ShortAxes::find(1, size_of::<T>(), dims, row).unwrap();
        let len = 1 << axis_count;
        let source: Vec<T> = (0..len).map(&value).collect();
        for (skip, threads) in [(0, 2), (1, 1), (5, 2)] {
            let mut dest = vec![T::zeroed(); source.len() + skip];
            #[cfg(feature = "std")]
            let streamed_before = crate::cpu::memory::tests::STREAMED_LINES.get();
            short_axes.run(
                bytemuck::cast_slice(&source),
                0,
                Dest::Old(bytemuck::cast_slice_mut(&mut dest[skip..])),
                threads,
            );
            #[cfg(feature = "std")]
            if threads == 1 {
                let lines = crate::cpu::memory::tests::STREAMED_LINES.get() - streamed_before;
                let bytes = short_axes.bytes();
                match bytes {
                    MIN_STREAMED_TILES_BYTES.. => assert!(lines > bytes / LINE / 2, "{lines}"),
                    _ => assert_eq!(lines, 0),
                }
            }
            assert!(
                dest[..skip]
                    .iter()
                    .all(|unwritten| *unwritten == T::zeroed())
            );
            for (place, moved) in (0..len).zip(&dest[skip..]) {
                let position = place.reverse_bits() >> (u32::BITS as usize - axis_count);
                assert!(*moved == value(position), "{place}");
            }
        }
    }

    #[test]
    fn squares_are_transposed() {
        check_reversed(22, u64::from);
        check_reversed(23, |position| position);
        check_reversed(18, |position| u16::try_from(position % 65_521).unwrap());
        check_reversed(18, |position| u8::try_from(position % 251).unwrap());
    }
}
