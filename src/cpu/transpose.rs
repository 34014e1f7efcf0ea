//! Runs transposed slices in tiles. A tile is read in the order of the source and written in the order of the result.
//!
//! | name | meaning |
//! |---|---|
//! | row | pieces along the innermost axis of the result, far apart in the source |
//! | near axis | the axis along which pieces are nearest to each other in the source |
//! | lane | the contiguous part of the result for one position of the near axis |
//! | tile | the pieces at some positions of the near axis and some of a row: a few cache lines in each direction |
//! | band | the same range of pieces in several lanes, which one thread writes |
//!
//! A copy along a row reads every piece from another cache line. The line is evicted before the next lane needs the
//! neighbouring piece. With tiles, each cache line of the source and of the result enters the cache only once. If the
//! processor has byte shuffles, `square.rs` moves pieces of 1, 2, 4, 8 or 16 bytes. Other pieces are moved in the order
//! of the source if there are few lanes, such as the heads of attention, or if they are long and the result is large.
//! Otherwise they are moved lane by lane. Pieces that are a few bytes apart, such as the channels of pixels, are also
//! moved lane by lane.
//!
//! `lanes.rs` writes large results with long lanes, unless squares are faster on the processor. It reads the source in
//! sequential streams, and lines of the result bypass the caches, wherever lanes begin.

use super::{
    Dest,
    fixed_copy::with_copy_kernel,
    kernel::Kernel,
    lanes::Lanes,
    memory::{self, LINE, LineWriter, MIN_STREAMED_BYTES, Slices},
    odometer::Odometer,
    processor::Processor,
    rows::{Axis, along, split_innermost},
    short_axes::MIN_STREAMED_TILES_BYTES,
    shuffle::{SHUFFLES, Shuffles, VECTOR},
    square::{LANES_ACROSS, Tile, squares},
    threads,
};
use crate::prelude::*;
use crate::walk::Dim;
use core::{iter, mem};

/// A transposed slice.
#[derive(Clone, Copy)]
pub(super) struct Tiles<'a> {
    pub(super) unit: usize,
    /// The size of a piece in bytes.
    pub(super) piece: usize,
    /// The dimensions outside the near axis.
    pub(super) outer: &'a [Dim],
    pub(super) near: Axis,
    /// The dimensions between the near axis and the row.
    pub(super) between: &'a [Dim],
    pub(super) row: Axis,
}

/// If the pieces of a row are a few bytes apart, the source is read in ranges of about this many bytes. Every lane gets
/// its pieces from a range before the next range is read, so the range stays in the first-level cache.
const SPREAD_BYTES: usize = 8 << 10;

/// Pieces of at least this many bytes need no tiles, unless they are moved in the order of the source. A tile keeps
/// cache lines in the cache until all of their pieces are moved, but such a piece fills its lines alone.
const MIN_LONG_PIECE_BYTES: usize = 4 * LINE;
/// The size in bytes of the longest piece that is moved in the order of the source. Longer pieces take as long in
/// either order.
const MAX_ACROSS_BYTES: usize = 8 * LINE;

/// The size in bytes of the shortest lanes that `lanes.rs` writes. It writes the first and the last line of a lane in
/// parts.
const MIN_STREAMED_LANE_BYTES: usize = 8 * LINE;
/// The minimum size in bytes of the part of the source that a lane's row is spread over, if `lanes.rs` writes the
/// result. Squares are faster if this part stays in the second-level cache.
const MIN_STREAMED_REACH: usize = 512 << 10;
/// The size in bytes of the largest pieces that `lanes.rs` moves. Each longer piece fills most of a cache line.
const MAX_STREAMED_PIECE: usize = 32;
/// The minimum size in bytes of a plane's row in the source if `lanes.rs` writes the result. Shorter rows leave too many
/// groups of lanes incomplete.
const MIN_STREAMED_ROW_BYTES: usize = 4 * LINE;
/// The maximum number of lanes that `lanes.rs` writes together. Each lane is in other pages of the result. With 4,096
/// lanes, transposes take up to 25 % more time, because the processor translates more addresses (Intel Xeon, model 207).
const MAX_STREAMED_LANES: usize = 1 << 10;

/// The same range of pieces in several lanes. The lanes follow each other along the near axis.
struct LaneBand<'d> {
    /// The offset in bytes of the first lane in the source. The band can begin further along the lane.
    at: usize,
    /// The number, within each lane, of the band's first piece.
    first_piece: usize,
    /// The part of each lane that belongs to the band.
    lanes: Slices<'d>,
}

impl<'a> Tiles<'a> {
    /// Returns the tiles of a slice with pieces of `piece` bytes. The pieces of a row are along `row`. There is a row
    /// at each position of `dims`, whose distances count units of `unit` bytes. Returns `None` if tiles do not help: if
    /// no dimension has a shorter distance in the source than `row`, not counting distances of 0; if a row is shorter
    /// than a vector; or if pieces are long and would not be moved in the order of the source.
    pub(super) fn if_faster(unit: usize, piece: usize, dims: &'a [Dim], row: Axis) -> Option<Self> {
        let distance = |dim: &Dim| dim.from.unsigned_abs().saturating_mul(unit);
        let is_near = |dim: &Dim| (1..row.stride.unsigned_abs()).contains(&distance(dim));
        let dims_near = dims.iter().enumerate().filter(|(_, dim)| is_near(dim));
        let (d, near) = dims_near.min_by_key(|(_, dim)| distance(dim))?;
        let tiles = Self {
            unit,
            piece,
            outer: &dims[..d],
            near: Axis::from_dim(unit, near),
            between: &dims[d + 1..],
            row,
        };
        let is_short = piece < MIN_LONG_PIECE_BYTES || tiles.goes_across();
        (row.size * piece >= VECTOR && is_short).then_some(tiles)
    }

    /// Returns whether squares are faster than the tiles of `short_axes.rs`. The following figures are for tiles that
    /// moved all pieces one by one. Squares are faster if they fill registers and the lines of the result stay cached:
    /// squares need half of the tiles' time for 32^4 f32, and an eighth for 16^3 bytes. In results larger than the
    /// second-level cache, squares with sides of 8 pieces take up to 35 % more time than tiles (Intel Xeon, model 167);
    /// in results that would otherwise bypass the caches, squares with sides of 14 pieces take 10 % more (AMD EPYC,
    /// family 25, model 1). Squares of pieces of 1 or 2 bytes are faster if their sides fill a cache line: for 64 planes
    /// of 64 × 64 bytes they need a quarter of the tiles' time. In large results whose lanes have several rows, lines of
    /// squares do not stay cached: for 24^5 f64 squares need 6 times the tiles' time (Intel Xeon, model 207).
    pub(super) fn are_better_than_short_axes(self) -> bool {
        const SECOND_LEVEL_CACHE: usize = 1 << 20;
        let sides = [self.near.size, self.row.size];
        let bytes = self.result_bytes();
        let min_side = if bytes <= SECOND_LEVEL_CACHE {
            8
        } else if bytes < MIN_STREAMED_TILES_BYTES {
            12
        } else {
            16
        };
        let all_sides = |test: &dyn Fn(usize) -> bool| sides.into_iter().all(test);
        let fill_lines = self.piece <= 2 && all_sides(&|size| size * self.piece >= LINE);
        let fill_registers =
            || all_sides(&|size| size >= min_side && (size * self.piece).is_multiple_of(VECTOR));
        (bytes < MIN_STREAMED_TILES_BYTES || self.between.is_empty())
            && matches!(self.piece, 1 | 2 | 4 | 8 | 16)
            && self.near.stride == self.piece.cast_signed()
            && (fill_lines || fill_registers() && self.stays_cached() && SHUFFLES.is_some())
    }

    /// Returns the byte shuffles if squares move the pieces.
    fn square_shuffles(&self) -> Option<Shuffles> {
        let is_far = matches!(Kernel::for_row(self.piece, self.row), Kernel::Copy { .. });
        (*SHUFFLES).filter(|_| is_far && matches!(self.piece, 1 | 2 | 4 | 8 | 16))
    }

    /// Returns whether all lanes are written without setting new memory to zero first.
    pub(super) fn need_no_zeros(self) -> bool {
        self.are_streamed() || self.square_shuffles().is_some()
    }

    /// Returns whether pieces that are not transposed in registers are moved in the order of the source, one piece to
    /// each of a few lanes. In large results of pieces of 200 bytes this takes 30 % less time than rows, and in results
    /// that stay cached up to twice as long, unless there are only a few lanes (Intel Xeon, model 207).
    fn goes_across(&self) -> bool {
        let is_large = self.piece >= LINE && self.result_bytes() >= MIN_STREAMED_BYTES;
        self.piece <= MAX_ACROSS_BYTES && (self.near.size <= LANES_ACROSS || is_large)
    }

    /// Returns the largest number of bytes that a tile reads along the near axis, unless a single piece is longer. The
    /// bytes fill several cache lines, so that the processor prefetches them, but few enough lines for the tile to stay
    /// in a cache.
    fn tile_row_bytes(&self) -> usize {
        match self.piece {
            1 | 2 | 4 | 8 | 16 => 4 * LINE,
            ..16 => 8 * LINE,
            _ => 64 * LINE,
        }
    }

    /// Returns the number of lanes of a tile.
    pub(super) fn lanes_per_tile(&self) -> usize {
        match self.goes_across() {
            // With more lanes, a band would be a short part of each lane, and threads would map the same new pages.
            true => LANES_ACROSS.min(self.near.size),
            false => (self.tile_row_bytes() / self.piece).clamp(1, self.near.size),
        }
    }

    /// Returns whether the lines of the result stay in the first-level cache until they are complete. They do not if
    /// they bypass the caches, or if the 16 lanes of a square of bytes map to one or two sets of the cache, which have
    /// 8 or 12 lines each.
    fn stays_cached(&self) -> bool {
        let lanes_collide = self.piece == 1 && self.lane_bytes().is_multiple_of(2 << 10);
        !self.bypasses_caches() && !lanes_collide
    }

    /// Returns whether `lanes.rs` writes the result.
    fn are_streamed(&self) -> bool {
        self.result_bytes() >= MIN_STREAMED_BYTES
            && self.lane_bytes() >= MIN_STREAMED_LANE_BYTES
            && self.piece <= MAX_STREAMED_PIECE
            && self.near.stride.unsigned_abs() == self.piece
            && self.near.size * self.piece >= MIN_STREAMED_ROW_BYTES
            && self.row.stride.unsigned_abs() * self.row.size >= MIN_STREAMED_REACH
            && !self.are_faster_in_registers()
            && matches!(Kernel::for_row(self.piece, self.row), Kernel::Copy { .. })
    }

    /// Returns whether squares that are transposed in registers and written by ordinary stores are faster than any order
    /// that bypasses the caches, if the result is large.
    fn are_faster_in_registers(&self) -> bool {
        let pitch = self.row.stride.unsigned_abs();
        self.near.stride == self.piece.cast_signed()
            && !Processor::here().has_fast_streams(
                self.near.size * self.piece,
                pitch,
                self.lane_bytes(),
            )
            && self.square_shuffles().is_some()
    }

    /// Returns whether the lines of squares bypass the caches. In a large result they do, unless lanes are short, begin
    /// in the middle of a line, or have several short rows. In the last two cases, transposes of 64 MiB take up to twice
    /// as long if lines bypass the caches (AMD EPYC, family 25, model 1).
    fn bypasses_caches(&self) -> bool {
        let (row_bytes, lane_bytes) = (self.row.size * self.piece, self.lane_bytes());
        let has_short_rows = row_bytes <= 4 * LINE && row_bytes < lane_bytes;
        self.result_bytes() >= MIN_STREAMED_BYTES
            && lane_bytes >= MIN_STREAMED_LANE_BYTES
            && lane_bytes.is_multiple_of(LINE)
            && !has_short_rows
            && !self.are_faster_in_registers()
    }

    /// Returns the size of the whole result in bytes.
    pub(super) fn result_bytes(&self) -> usize {
        let plane_count: usize = self.outer.iter().map(|dim| dim.size).product();
        plane_count * self.near.size * self.lane_bytes()
    }

    /// Returns the size of a lane in bytes.
    fn lane_bytes(&self) -> usize {
        let sizes_between = self.between.iter().map(|dim| dim.size);
        sizes_between.product::<usize>() * self.row.size * self.piece
    }

    /// Returns the offsets in bytes of planes `first`, `first + 1`, … in the source, if plane 0 begins at byte `at`. A
    /// plane has all lanes along the near axis, at one position of the axes outside the near axis.
    fn plane_starts(&self, at: usize, first: usize) -> impl Iterator<Item = usize> + use<'a> {
        let unit = self.unit;
        let planes = Odometer::at(self.outer, |dim| dim.from, first);
        planes.map(move |plane| at.wrapping_add(plane.wrapping_mul(unit)))
    }

    /// Writes the whole result to `dest` with `threads` threads. The first piece is at byte `at` of the source. See
    /// [`Self::write_part`] for `part_of_lane`.
    pub(super) fn run(
        &self,
        source: &[u8],
        at: usize,
        dest: Dest<'_>,
        threads: usize,
        part_of_lane: impl Fn(&[u8], usize, usize, &mut [u8]) + Sync + Copy,
    ) {
        let part_bytes = threads::part_bytes(dest.len(), threads);
        let lane_bytes = self.lane_bytes();
        let plane_bytes = lane_bytes * self.near.size;
        if plane_bytes <= part_bytes {
            return threads::write_dest_in_parts(dest, plane_bytes, threads, &|first, dest| {
                self.write_part(source, at, first, dest, part_of_lane);
            });
        }
        // A band has the lanes of a whole number of tiles. Its number of bytes per lane is chosen so that the whole
        // band has about the size that `threads::part_bytes` returns.
        let lanes_per_band = match self.are_streamed() {
            true => MAX_STREAMED_LANES.min(self.near.size),
            false => (part_bytes / lane_bytes)
                .max(1)
                .next_multiple_of(self.lanes_per_tile()),
        };
        let bytes_per_lane = (part_bytes / lanes_per_band).next_multiple_of(LINE);
        let bytes_per_lane = (bytes_per_lane / self.piece).max(1) * self.piece;
        let planes = self.plane_starts(at, 0).zip(dest.parts(plane_bytes));
        let bands = planes.flat_map(|(at, mut plane)| {
            let unaligned_lanes = self.unaligned_positions(source, at);
            let unaligned = plane.take_front_part(unaligned_lanes * lane_bytes);
            let begins = (unaligned_lanes..).step_by(lanes_per_band);
            let aligned = begins.zip(plane.parts(lanes_per_band * lane_bytes));
            iter::once((0, unaligned))
                .chain(aligned)
                .flat_map(move |(first, band_lanes)| {
                    self.cut_bands(
                        along(at, self.near.stride, first),
                        band_lanes,
                        bytes_per_lane,
                    )
                })
        });
        threads::share(bands, threads, |band| self.write_band(source, band));
    }

    /// Returns how many leading positions of the near axis get their own bands, so that the tiles after them begin at
    /// an aligned pair of cache lines. The processor reads the two lines of such a pair together. The plane begins at
    /// byte `at` of the source. Returns 0 if the number would differ between positions of the row, if pieces are not
    /// contiguous along the near axis, or if a tile is at most as wide as a pair of cache lines.
    fn unaligned_positions(&self, source: &[u8], at: usize) -> usize {
        const PAIR: usize = 2 * LINE;
        let is_contiguous = self.near.stride == self.piece.cast_signed();
        if !is_contiguous
            || self.lanes_per_tile() * self.piece <= PAIR
            || self.row.stride % PAIR as isize != 0
        {
            return 0;
        }
        let address = source.as_ptr().addr() + at;
        (address.next_multiple_of(PAIR) - address) / self.piece
    }

    /// Cuts `lanes` into bands of `bytes_per_lane` bytes of every lane. The last band can be shorter. The lanes are
    /// contiguous in the result. The first lane begins at byte `at` of the source.
    fn cut_bands<'d>(
        &self,
        at: usize,
        lanes: Dest<'d>,
        bytes_per_lane: usize,
    ) -> Vec<LaneBand<'d>> {
        let lane_bytes = self.lane_bytes();
        let band_count = lane_bytes.div_ceil(bytes_per_lane);
        let band = |i| LaneBand {
            at,
            first_piece: i * bytes_per_lane / self.piece,
            lanes: Slices::with_capacity(lanes.len() / lane_bytes),
        };
        let mut bands: Vec<LaneBand<'d>> = (0..band_count).map(band).collect();
        for lane in lanes.parts(lane_bytes) {
            for (band, part) in bands.iter_mut().zip(lane.parts(bytes_per_lane)) {
                part.cut_into(bytes_per_lane, &mut band.lanes);
            }
        }
        bands
    }

    /// Writes `dest`, the part of the result that begins at byte `first`. The first piece of the whole result is at
    /// byte `at` of the source. The part can begin and end within a lane: `part_of_lane` writes the parts of the first
    /// and the last lane, by the loop of a slice without tiles.
    pub(super) fn write_part(
        &self,
        source: &[u8],
        at: usize,
        first: usize,
        dest: Dest<'_>,
        part_of_lane: impl Fn(&[u8], usize, usize, &mut [u8]),
    ) {
        let lane_bytes = self.lane_bytes();
        let plane_bytes = lane_bytes * self.near.size;
        let mut skip = first % plane_bytes;
        let mut unwritten = dest;
        for at in self.plane_starts(at, first / plane_bytes) {
            let plane_end = (plane_bytes - skip).min(unwritten.len());
            let mut part = unwritten.take_front_part(plane_end);
            let mut at = along(at, self.near.stride, skip / lane_bytes);
            let head_bytes = (skip.next_multiple_of(lane_bytes) - skip).min(part.len());
            if head_bytes > 0 {
                let head = part.take_front_part(head_bytes).all();
                part_of_lane(source, at, skip % lane_bytes, head);
                at = at.wrapping_add_signed(self.near.stride);
            }
            let mut lanes = Slices::with_capacity(part.len() / lane_bytes);
            let whole_lane_bytes = part.len() / lane_bytes * lane_bytes;
            part.take_front_part(whole_lane_bytes)
                .cut_into(lane_bytes, &mut lanes);
            let band = LaneBand {
                at,
                first_piece: 0,
                lanes,
            };
            at = along(at, self.near.stride, band.lanes.len());
            self.write_band(source, band);
            if part.len() > 0 {
                part_of_lane(source, at, 0, part.all());
            }
            skip = 0;
            if unwritten.len() == 0 {
                return;
            }
        }
    }

    fn write_band(&self, source: &[u8], band: LaneBand<'_>) {
        if band.lanes.is_empty() {
            return;
        }
        if self.are_streamed() {
            return self.stream_band(source, band);
        }
        let kernel = Kernel::for_row(self.piece, self.row);
        let is_far = matches!(kernel, Kernel::Copy { .. });
        let is_cached = self.stays_cached();
        match (self.piece, self.square_shuffles()) {
            (1, Some(shuffles)) => {
                self.for_each_tile(source, band, squares::<1, 16, 64, 256>(shuffles, is_cached));
            }
            (2, Some(shuffles)) => {
                self.for_each_tile(source, band, squares::<2, 8, 32, 128>(shuffles, is_cached));
            }
            (4, Some(shuffles)) => {
                self.for_each_tile(source, band, squares::<4, 4, 16, 64>(shuffles, is_cached));
            }
            (8, Some(shuffles)) => {
                self.for_each_tile(source, band, squares::<8, 2, 8, 32>(shuffles, is_cached));
            }
            (16, Some(shuffles)) => {
                self.for_each_tile(source, band, squares::<16, 1, 4, 16>(shuffles, is_cached));
            }
            (piece, _) if is_far && self.goes_across() => {
                self.for_each_tile(source, band, |tile, _| with_copy_kernel(piece, tile));
            }
            _ => self.for_each_tile(source, band, |tile, _| self.move_rows(kernel, tile)),
        }
    }

    /// Writes a band by `lanes.rs`.
    fn stream_band(&self, source: &[u8], mut band: LaneBand<'_>) {
        let Axis { stride, .. } = self.near;
        if stride < 0 {
            band.lanes.reverse();
            band.at = along(band.at, stride, band.lanes.len() - 1);
        }
        let (first_row, skip) = (
            band.first_piece / self.row.size,
            band.first_piece % self.row.size,
        );
        let distances = (0..).step_by(self.piece);
        let distances = distances.take(MAX_STREAMED_LANES.min(band.lanes.len()));
        let mut lanes = Lanes::new(self.piece, distances.collect());
        for slices in band.lanes.chunks_mut(MAX_STREAMED_LANES) {
            if slices.len() < lanes.count() {
                let distances = (0..).step_by(self.piece).take(slices.len());
                lanes = Lanes::new(self.piece, distances.collect());
            }
            let rows = Odometer::at(self.between, |dim| dim.from, first_row);
            let mut skip = skip;
            let places = rows.flat_map(|row| {
                let row_start = along(band.at, self.unit.cast_signed(), row);
                let numbers = mem::take(&mut skip)..self.row.size;
                numbers.map(move |number| along(row_start, self.row.stride, number))
            });
            lanes.write(
                source,
                places,
                slices,
                Some(Processor::here().prefetched_streams()),
            );
            band.at += slices.len() * self.piece;
        }
    }

    /// Moves the rows of a tile by `kernel`, lane by lane.
    fn move_rows(&self, kernel: Kernel, tile: Tile<'_, '_>) {
        let chunk_pieces = match kernel {
            Kernel::Copy { .. } | Kernel::EverySecond { .. } => self.tile_row_bytes() / self.piece,
            Kernel::Shuffle(_) => SPREAD_BYTES / self.row.stride.unsigned_abs(),
        };
        let chunk_pieces = chunk_pieces.max(1);
        let (inner, _) = split_innermost(self.unit, self.between);
        let mut begin = tile.at;
        for lanes in tile.lanes.chunks_mut(self.lanes_per_tile()) {
            for first in (0..tile.count).step_by(chunk_pieces) {
                let size = chunk_pieces.min(tile.count - first);
                let row = Axis { size, ..self.row };
                let mut at = along(begin, row.stride, first);
                for lane in lanes.iter_mut() {
                    let dest = lane.take_front(tile.row_count * size * self.piece);
                    kernel.move_rows(tile.source, at, row, inner.stride, dest);
                    at = at.wrapping_add_signed(self.near.stride);
                }
            }
            begin = along(begin, self.near.stride, lanes.len());
        }
    }

    /// Calls `move_tile` for each tile of a band. If shuffles move the rows and the rows are short, a tile has several
    /// rows. This halves the time of random crops to planes of 224 × 224 pixels.
    fn for_each_tile<'d>(
        &self,
        source: &[u8],
        band: LaneBand<'d>,
        mut move_tile: impl FnMut(Tile<'_, 'd>, &mut LineWriter<'d>),
    ) {
        let LaneBand {
            at,
            first_piece,
            mut lanes,
        } = band;
        let (mut row_number, mut skip) = (first_piece / self.row.size, first_piece % self.row.size);
        let mut places = Odometer::at(self.between, |dim| dim.from, row_number);
        let (inner, _) = split_innermost(self.unit, self.between);
        let max_rows = match Kernel::for_row(self.piece, self.row) {
            Kernel::Copy { .. } | Kernel::EverySecond { .. } => 1,
            Kernel::Shuffle(_) => SPREAD_BYTES / (self.row.size * self.row.stride.unsigned_abs()),
        };
        memory::streaming(self.bypasses_caches(), |line_writer| {
            while !lanes[0].is_empty() {
                let place = places.next().unwrap_or_default();
                let at = along(at, self.unit.cast_signed(), place);
                let pieces_left = lanes[0].len() / self.piece;
                let whole_rows = if skip > 0 {
                    0
                } else {
                    pieces_left / self.row.size
                };
                let row_count = whole_rows
                    .min(inner.size - row_number % inner.size)
                    .min(max_rows)
                    .max(1);
                places.by_ref().take(row_count - 1).for_each(drop);
                row_number += row_count;
                move_tile(
                    Tile {
                        near: self.near,
                        row: self.row,
                        source,
                        at: along(at, self.row.stride, skip),
                        count: (self.row.size - skip).min(pieces_left),
                        row_count,
                        lanes: &mut lanes,
                    },
                    line_writer,
                );
                skip = 0;
            }
        });
    }
}
