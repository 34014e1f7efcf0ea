//! Runs transposed slices of many short axes. Tensor networks have such arrays, with 20 axes of size 2 for example.
//!
//! | name | meaning |
//! |---|---|
//! | run | the pieces at all positions of the result's innermost axes; they are contiguous in the result |
//! | near axes | the axes along which pieces are nearest to each other in the source |
//! | lane | the contiguous part of the result for one position of the near axes that are not in a run |
//! | tile | the next cache lines of each lane, at most [`LINES_AT_ONCE`] |
//! | band | the same range of runs in several lanes, which one thread writes |
//! | group | lanes whose pieces are within the size of a cache line in the source, counted from the lowest lane |
//! | plane | a contiguous part of the result with the lanes of one or more tiles; each lane is a slice of the plane |
//!
//! A single short axis does not fill a cache line of the source or of the result. So a tile combines axes: enough
//! innermost axes of the result to fill a run, and enough near axes to fill some cache lines of the source. A table
//! lists the distance of each piece of a run from the first piece, so the loop over a run is the same for any number
//! of axes.
//!
//! A tile is written in blocks: a cache line of the result for each lane of a group. The lanes of a group share cache
//! lines of the source. If their pieces fill a line and have 1, 2, 4 or 8 bytes, a whole block is a square that is
//! transposed, for 1 and 2 bytes by byte shuffles. All other pieces are copied one by one. All groups get
//! [`LINES_AT_ONCE`] lines before any group gets more, so the source is read in as many streams as these lines have
//! pieces.

use super::{
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    memory::{self, LINE, LineWriter, MIN_STREAMED_BYTES},
    odometer::Odometer,
    rows::Axis,
    shuffle::{SHUFFLES, transpose},
    threads,
};
use crate::prelude::*;
use crate::{text::counted, walk::Dim};
use core::{array, fmt};

/// The minimum size of a run in bytes, unless the next axis would make it longer than [`MAX_RUN_BYTES`].
const MIN_RUN_BYTES: usize = 8 * LINE;
/// The maximum size of a run in bytes.
const MAX_RUN_BYTES: usize = 16 << 10;
/// A row of at least this many bytes needs no tiles of several axes.
const LONG_ROW_BYTES: usize = 4 * LINE;
/// The size in bytes of the part of the source that a tile reads if enough axes are near: one page, because the
/// processor then translates the page's address only once.
const PAGE_BYTES: usize = 4 << 10;
/// Replaces [`PAGE_BYTES`] for a small result, because larger tables would take more time than they save.
const NEAR_BYTES: usize = 4 * LINE;
/// The size in bytes below which a result is small.
const SMALL_RESULT_BYTES: usize = 512 << 10;
/// The number of cache lines that each lane of a group gets before the next group. Arrays of 8 to 128 MiB take up
/// to 1.6 times as long with 1 line or with all lines of a run (Intel Xeon, model 207).
const LINES_AT_ONCE: usize = 8;
/// The number of pieces that are copied one by one for a lane before the pieces of the next lane. If strides are powers
/// of 2, the first-level cache can hold only 8 or 12 of the cache lines that these pieces are in.
const PIECES_AT_ONCE: usize = 8;
/// The maximum number of lanes of a tile. Each lane is a stream of writes.
const MAX_LANES: usize = 1 << 10;
/// The maximum number of slices of a plane.
const MAX_SLICES: usize = 1 << 12;

/// A transposed slice of many short axes. Distances are in bytes of the source.
pub(super) struct ShortAxes {
    piece: usize,
    /// The distance of each piece of a run from the first piece.
    run_distances: Vec<usize>,
    /// The lanes of a tile, in the order of the source: the distance of each lane from the result's first lane, and its
    /// number in the order of the result.
    lanes: Vec<(isize, usize)>,
    /// The groups of lanes: the number of lanes, and whether their pieces are next to each other and fill a cache line.
    groups: Vec<(usize, bool)>,
    /// The distance of each band of a plane from the first band.
    band_distances: Vec<usize>,
    /// For each slice of a plane, the number of the band that it belongs to.
    band_of_slice: Vec<usize>,
    /// The dimensions that number the planes.
    plane_dims: Vec<Dim>,
    /// The dimensions that number the runs of a lane.
    run_dims: Vec<Dim>,
}

/// Lanes whose pieces are within the size of a cache line in the source.
struct LaneGroup<'a> {
    /// The distance of each lane from the result's first lane in the source, and its number.
    lanes: &'a [(isize, usize)],
    /// Whether the pieces are next to each other and fill a cache line.
    is_line: bool,
}

impl LaneGroup<'_> {
    /// Returns the pieces of the lanes at the same place in each lane. `place` is the offset of the
    /// piece of the result's first lane.
    #[inline(always)]
    fn line<'s>(&self, source: &'s [u8], place: usize) -> &'s [u8; LINE] {
        let line = source[place.wrapping_add_signed(self.lanes[0].0)..].first_chunk();
        line.expect("a plan's pieces are within its source")
    }
}

/// The same range of runs in several lanes.
struct RunBand<'d> {
    /// The offset in bytes of the first lane in the source. The band can begin further along the lane.
    at: usize,
    /// The number, within each lane, of the band's first run.
    first_run: usize,
    lanes: Vec<&'d mut [u8]>,
}

/// Returns the distances at all positions of some axes, in row-major order.
fn distances(axes: &[Dim]) -> Vec<usize> {
    let count = axes.iter().map(|axis| axis.size).product();
    Odometer::at(axes, |axis| axis.from, 0)
        .take(count)
        .collect()
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
        while first_run_axis > 0
            && run_bytes < MIN_RUN_BYTES
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
        let axes_where = |are_lanes: bool| -> Vec<Dim> {
            let numbers = (first_axis..end_axis).filter(|n| is_lane(n) == are_lanes);
            numbers.map(|n| axes[n]).collect()
        };
        // The strides that give the number of a slice's band. Along the axes of lanes they are 0, because the band is
        // the same.
        let mut number_stride = 1;
        let mut band_dims: Vec<Dim> = (first_axis..end_axis)
            .rev()
            .map(|n| match is_lane(&n) {
                true => Dim::shared(axes[n].size, 0),
                false => {
                    let numbered_dim = Dim::shared(axes[n].size, number_stride);
                    number_stride *= axes[n].size.cast_signed();
                    numbered_dim
                }
            })
            .collect();
        band_dims.reverse();
        let lanes = distances(&axes_where(true)).into_iter();
        let lanes = lanes.enumerate();
        let mut lanes: Vec<_> = lanes.map(|(n, lane)| (lane.cast_signed(), n)).collect();
        lanes.sort_unstable();
        let (line, (lowest, _)) = (LINE.cast_signed(), lanes[0]);
        let line_number = |lane: &(isize, usize)| (lane.0 - lowest) / line;
        let groups = lanes.chunk_by(|a, b| line_number(a) == line_number(b));
        let groups = groups.map(|lanes| {
            let are_adjacent = lanes
                .windows(2)
                .all(|pair| pair[1].0 - pair[0].0 == piece.cast_signed());
            (lanes.len(), are_adjacent && lanes.len() * piece == LINE)
        });
        let groups = groups.collect();
        Some(Self {
            piece,
            run_distances: distances(&axes[first_run_axis..]),
            lanes,
            groups,
            band_distances: distances(&axes_where(false)),
            band_of_slice: distances(&band_dims),
            plane_dims: axes[..first_axis].to_vec(),
            run_dims: axes[end_axis..first_run_axis].to_vec(),
        })
    }

    fn run_bytes(&self) -> usize {
        self.run_distances.len() * self.piece
    }

    /// Returns the groups of lanes.
    fn groups(&self) -> impl Iterator<Item = LaneGroup<'_>> {
        let mut lanes = &self.lanes[..];
        self.groups.iter().map(move |&(count, is_line)| {
            let group;
            (group, lanes) = lanes.split_at(count);
            LaneGroup {
                lanes: group,
                is_line,
            }
        })
    }

    /// Returns the number of runs of a lane.
    fn runs_per_lane(&self) -> usize {
        self.run_dims.iter().map(|dim| dim.size).product()
    }

    /// Returns the size of a plane in bytes.
    fn plane_bytes(&self) -> usize {
        self.band_of_slice.len() * self.runs_per_lane() * self.run_bytes()
    }

    /// Returns the size of the whole result in bytes.
    pub(super) fn bytes(&self) -> usize {
        let plane_sizes = self.plane_dims.iter().map(|dim| dim.size);
        plane_sizes.product::<usize>() * self.plane_bytes()
    }

    /// Writes the whole result to `dest` with `threads` threads. The first piece is at byte `at` of the source.
    pub(super) fn run(&self, source: &[u8], at: usize, dest: &mut [u8], threads: usize) {
        let (part_bytes, plane_bytes) =
            (threads::part_bytes(dest.len(), threads), self.plane_bytes());
        if threads == 1 || plane_bytes <= part_bytes {
            let part_planes = if threads == 1 { usize::MAX } else { part_bytes } / plane_bytes;
            let parts = dest.chunks_mut((part_planes * plane_bytes).min(dest.len()));
            threads::share(parts.enumerate(), threads, |(number, part)| {
                for band in self.bands(at, number * part_planes, part, self.runs_per_lane()) {
                    self.copy_band(source, band);
                }
            });
        } else {
            let max_runs = part_bytes / (self.lanes.len() * self.run_bytes());
            let bands = self.bands(at, 0, dest, max_runs.max(1));
            threads::share(bands, threads, |band| self.copy_band(source, band));
        }
    }

    /// Returns the bands of the planes in `dest`, which begins with plane `first`. A band has at most `max_runs` runs
    /// of each lane.
    fn bands<'d>(
        &self,
        at: usize,
        first: usize,
        dest: &'d mut [u8],
        max_runs: usize,
    ) -> impl Iterator<Item = RunBand<'d>> {
        let planes = Odometer::at(&self.plane_dims, |dim| dim.from, first);
        let (lane_bytes, part_bytes) = (
            self.runs_per_lane() * self.run_bytes(),
            max_runs * self.run_bytes(),
        );
        let bands_per_lane = self.runs_per_lane().div_ceil(max_runs);
        let planes = planes.zip(dest.chunks_exact_mut(self.plane_bytes()));
        planes.flat_map(move |(plane, slices)| {
            let distances = self.band_distances.iter();
            let bands = distances.flat_map(|distance| {
                (0..bands_per_lane).map(move |number| (distance, number * max_runs))
            });
            let mut bands: Vec<RunBand<'_>> = bands
                .map(|(distance, first_run)| RunBand {
                    at: at.wrapping_add(plane).wrapping_add(*distance),
                    first_run,
                    lanes: Vec::with_capacity(self.lanes.len()),
                })
                .collect();
            for (slice, &band) in slices.chunks_exact_mut(lane_bytes).zip(&self.band_of_slice) {
                let bands = bands[band * bands_per_lane..].iter_mut();
                for (band, part) in bands.zip(slice.chunks_mut(part_bytes)) {
                    band.lanes.push(part);
                }
            }
            bands
        })
    }

    fn copy_band(&self, source: &[u8], band: RunBand<'_>) {
        let axes = self;
        with_copy_kernel(self.piece, RunTiles { axes, source, band });
    }
}

impl fmt::Display for ShortAxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = counted(self.piece, "byte", "bytes");
        write!(f, "pieces of {bytes} of many short axes in tiles")
    }
}

/// The tiles of a band.
struct RunTiles<'a, 'd> {
    axes: &'a ShortAxes,
    source: &'a [u8],
    band: RunBand<'d>,
}

impl CopyTask for RunTiles<'_, '_> {
    fn run(self, kernel: impl CopyKernel) {
        let Self { axes, source, band } = self;
        let RunBand {
            at,
            first_run,
            mut lanes,
        } = band;
        let bytes = kernel.bytes();
        let bytes_to_line = |lane: &[u8]| lane.as_ptr().addr().wrapping_neg() % LINE;
        let first_bytes = bytes_to_line(lanes[0]);
        let bypasses_caches = axes.bytes() >= MIN_STREAMED_BYTES
            && LINE.is_multiple_of(bytes)
            && first_bytes.is_multiple_of(bytes)
            && lanes.iter().all(|lane| bytes_to_line(lane) == first_bytes);
        let runs = Odometer::at(&axes.run_dims, |dim| dim.from, first_run);
        let mut next_places = runs.flat_map(|run| {
            let first = at.wrapping_add(run);
            let distances = axes.run_distances.iter();
            distances.map(move |distance| first.wrapping_add(*distance))
        });
        let block_pieces = (LINE / bytes).max(1);
        // The first blocks end where cache lines begin, so that the others are whole lines.
        let mut piece_count = match first_bytes / bytes {
            count @ 1.. if bypasses_caches => count,
            _ => LINES_AT_ONCE * block_pieces,
        };
        let groups: Vec<LaneGroup<'_>> = axes.groups().collect();
        let max_lanes = axes.groups.iter().map(|(count, _)| *count).max();
        let mut places = Vec::with_capacity(LINES_AT_ONCE * block_pieces);
        // Only squares of pieces of 1 and 2 bytes copy their rows.
        let mut rows = vec![[0; LINE]; if bytes <= 2 { block_pieces } else { 0 }];
        let mut columns = vec![[0; LINE]; max_lanes.unwrap_or_default()];
        let shuffles = *SHUFFLES;
        memory::streaming(bypasses_caches, |line_writer| {
            while !lanes[0].is_empty() {
                piece_count = piece_count.min(lanes[0].len() / bytes);
                places.clear();
                places.extend(next_places.by_ref().take(piece_count));
                for group in &groups {
                    for places in places.chunks(block_pieces) {
                        let block_bytes = places.len() * bytes;
                        let is_square = group.is_line && block_bytes == LINE;
                        if is_square && matches!(bytes, 4 | 8) {
                            match bytes {
                                4 => transpose_words::<4, 16>(
                                    source,
                                    group,
                                    places,
                                    &mut lanes,
                                    line_writer,
                                ),
                                _ => transpose_words::<8, 8>(
                                    source,
                                    group,
                                    places,
                                    &mut lanes,
                                    line_writer,
                                ),
                            }
                            continue;
                        }
                        match shuffles {
                            Some(shuffles) if is_square && matches!(bytes, 1 | 2) => {
                                for (row, place) in rows.iter_mut().zip(places) {
                                    *row = *group.line(source, *place);
                                }
                                let columns = &mut columns[..rows.len()];
                                match bytes {
                                    1 => transpose::<1, 16, LINE>(shuffles, &rows, columns),
                                    _ => transpose::<2, 8, LINE>(shuffles, &rows, columns),
                                }
                            }
                            _ => copy_each(kernel, source, group, places, &mut columns),
                        }
                        for (column, &(_, number)) in columns.iter().zip(group.lanes) {
                            if block_bytes == LINE {
                                line_writer.write_front(&mut lanes[number], column);
                            } else {
                                let to = lanes[number].split_off_mut(..block_bytes);
                                let to = to.expect("a lane has room");
                                to.copy_from_slice(&column[..block_bytes]);
                            }
                        }
                    }
                }
                piece_count = LINES_AT_ONCE * block_pieces;
            }
        });
    }
}

/// Copies the pieces of each lane of a group to a column.
#[inline(always)]
fn copy_each(
    kernel: impl CopyKernel,
    source: &[u8],
    group: &LaneGroup<'_>,
    places: &[usize],
    columns: &mut [[u8; LINE]],
) {
    for (number, places) in places.chunks(PIECES_AT_ONCE).enumerate() {
        let first_byte = number * PIECES_AT_ONCE * kernel.bytes();
        for (column, (distance, _)) in columns.iter_mut().zip(group.lanes) {
            let pieces = column[first_byte..].chunks_exact_mut(kernel.bytes());
            for (piece, place) in pieces.zip(places) {
                let at = place.wrapping_add_signed(*distance);
                let outcome = kernel.copy(source, at, piece);
                outcome.expect("a plan's pieces are within its source");
            }
        }
    }
}

/// Moves a block of `R` pieces of `N` bytes to each of `R` lanes. The compiler vectorizes these loops for pieces of 4 and 8 bytes, and then they take half the time of
/// [`transpose`], which needs copies of the rows and the columns.
#[inline(always)]
fn transpose_words<'d, const N: usize, const R: usize>(
    source: &[u8],
    group: &LaneGroup<'_>,
    places: &[usize],
    lanes: &mut [&'d mut [u8]],
    line_writer: &mut LineWriter<'d>,
) {
    let places: &[usize; R] = places.first_chunk().expect("the pieces fill a line");
    let rows: [&[[u8; N]; R]; R] = array::from_fn(|row| {
        let pieces = group.line(source, places[row]).as_chunks().0;
        pieces.first_chunk().expect("the pieces fill a line")
    });
    for n in 0..R {
        let column: [[u8; N]; R] = array::from_fn(|row| rows[row][n]);
        let column = column.as_flattened().first_chunk();
        let lane = &mut lanes[group.lanes[n].1];
        line_writer.write_front(lane, column.expect("the pieces fill a line"));
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
                lane_case_count + usize::from(short_axes.lanes.len() > 1),
            );
            let places = distances(&axes);
            let pieces = places
                .iter()
                .map(|place| &source[at.wrapping_add(*place)..][..piece]);
            let expected = pieces.collect::<Vec<_>>().concat();
            assert_eq!(short_axes.bytes(), expected.len());
            for threads in 1..=3 {
                let mut dest = vec![0; expected.len()];
                short_axes.run(&source, at, &mut dest, threads);
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
        assert!(short_axes.groups.iter().all(|(_, is_line)| *is_line));
        let len = 1 << axis_count;
        let source: Vec<T> = (0..len).map(&value).collect();
        for (skip, threads) in [(0, 2), (1, 1), (5, 2)] {
            let mut dest = vec![T::zeroed(); source.len() + skip];
            #[cfg(feature = "std")]
            let streamed_before = memory::tests::STREAMED_LINES.get();
            short_axes.run(
                bytemuck::cast_slice(&source),
                0,
                bytemuck::cast_slice_mut(&mut dest[skip..]),
                threads,
            );
            #[cfg(feature = "std")]
            if threads == 1 {
                let lines = memory::tests::STREAMED_LINES.get() - streamed_before;
                let bytes = short_axes.bytes();
                match bytes {
                    MIN_STREAMED_BYTES.. => assert!(lines > bytes / LINE / 2, "{lines}"),
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
