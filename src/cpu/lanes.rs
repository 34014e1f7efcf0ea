//! Writes lanes of a transposed slice in blocks of whole cache lines. The lines can bypass the caches.
//!
//! | name | meaning |
//! |---|---|
//! | lane | a contiguous part of the result, whose pieces are far apart in the source |
//! | group | lanes whose pieces are within the size of a cache line in the source, counted from the lowest lane |
//! | block | the next pieces of each lane of a group that fill one or more whole cache lines |
//! | column | the pieces of a lane in some blocks, before they are written to the lane |
//!
//! All groups get a few blocks before any group gets more. So the source is read in a few sequential streams, which the
//! processor prefetches, and each line of the result is written as a whole.
//!
//! If the pieces of a group are contiguous and have 1, 2, 4, 8 or 16 bytes, a block is a square that is transposed in
//! registers. All other pieces are copied one by one.
//!
//! Only lines that are written as a whole can bypass the caches. If the lanes begin at different places in a cache line,
//! their blocks are written to columns, and then each lane takes whole lines from its column. A column also has the
//! pieces of one more block, because a lane that begins in the middle of a line ends its last line there. The next
//! column begins with this block again.

use super::{
    fixed_copy::{CopyKernel, CopyTask, FixedCopy, with_copy_kernel},
    memory::{self, LINE, LineWriter, Slice, VectorLine},
    processor::Processor,
    shuffle::{SHUFFLES, Shuffles, transpose_lines, vectorize},
};
use crate::prelude::*;
use core::array;

/// The number of cache lines of each lane that are written before the next group if lines do not bypass the caches.
const LINES_AT_ONCE: usize = 8;
/// The number of pieces that are copied one by one to a column before the pieces of the next column. If strides are
/// powers of 2, the first-level cache can hold only 8 or 12 of the cache lines that these pieces are in.
const SINGLE_PIECES_AT_ONCE: usize = 8;

/// Lanes in the order of the source.
pub(super) struct Lanes {
    piece: usize,
    /// The distance of each lane from the result's first lane, in bytes of the source.
    distances: Vec<isize>,
    groups: Vec<Group>,
}

/// Lanes whose pieces are within the size of a cache line in the source.
struct Group {
    lane_count: usize,
    /// Whether squares move the pieces: they are next to each other in the source and fill at least a quarter of a line.
    has_squares: bool,
}

/// Returns how many of the next pieces of a lane to write together, so that they are read in at most `max_streams`
/// streams. Pieces at `distances` in the source that share a cache line share a stream. With 128 streams instead of 32,
/// results of 64 MiB take up to twice as long (Intel Xeon, model 207).
pub(super) fn pieces_in_streams(piece: usize, distances: &[usize], max_streams: usize) -> usize {
    let mut lines = Vec::with_capacity(max_streams);
    let fits = |distance: &&usize| {
        let line = *distance / LINE;
        let is_old = lines.contains(&line);
        if !is_old {
            lines.push(line);
        }
        lines.len() <= max_streams
    };
    let count = distances.iter().take_while(fits).count();
    count.clamp(max_streams, max_streams * LINE.div_ceil(piece))
}

impl Lanes {
    /// Returns the lanes with these distances, which ascend. Pieces have `piece` bytes.
    pub(super) fn new(piece: usize, distances: Vec<isize>) -> Self {
        let lowest = distances.first().copied().unwrap_or_default();
        let line_number = |distance: &isize| distance.wrapping_sub(lowest) / LINE.cast_signed();
        let groups = distances.chunk_by(|a, b| line_number(a) == line_number(b));
        let groups = groups.map(|distances| Group {
            lane_count: distances.len(),
            has_squares: distances.len() * piece * 4 >= LINE
                && distances
                    .windows(2)
                    .all(|pair| pair[1].wrapping_sub(pair[0]) == piece.cast_signed()),
        });
        Self {
            piece,
            groups: groups.collect(),
            distances,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.distances.len()
    }

    /// Writes `slices`: one part of each lane, all of the same length. `places` has the offset in bytes in the source of
    /// each piece of the result's first lane, from the first piece of these parts on. With `pieces_at_once`, whole cache
    /// lines of the result bypass the caches, and each lane gets about so many pieces before the next group.
    pub(super) fn write(
        &self,
        source: &[u8],
        mut places: impl Iterator<Item = usize>,
        slices: &mut [Slice<'_>],
        pieces_at_once: Option<usize>,
    ) {
        let task = LaneTask {
            lanes: self,
            source,
            add_places: &mut |near_places, count| near_places.extend(places.by_ref().take(count)),
            slices,
            pieces_at_once,
        };
        match self.piece {
            1 => task.run_squares::<1, 16, 64>(),
            2 => task.run_squares::<2, 8, 32>(),
            4 => task.run_squares::<4, 4, 16>(),
            8 => task.run_squares::<8, 2, 8>(),
            16 => task.run_squares::<16, 1, 4>(),
            _ => with_copy_kernel(self.piece, task),
        }
    }
}

/// The arguments of [`Lanes::write`].
struct LaneTask<'a, 'd> {
    lanes: &'a Lanes,
    source: &'a [u8],
    /// Adds the given number of places. It is called once for several blocks, so that the loops over blocks are compiled
    /// only once for all kinds of places.
    add_places: &'a mut dyn FnMut(&mut Vec<usize>, usize),
    slices: &'a mut [Slice<'d>],
    pieces_at_once: Option<usize>,
}

/// Writes the slices. All pieces are copied one by one.
impl CopyTask for LaneTask<'_, '_> {
    fn run(self, kernel: impl CopyKernel) {
        memory::streaming(self.pieces_at_once.is_some(), |line_writer| {
            self.write_slices::<LINE, 1, 1>(kernel, None, line_writer);
        });
    }
}

impl<'d> LaneTask<'_, 'd> {
    /// Writes the slices, in squares if pieces are contiguous. `M` pieces of `N` bytes fill a vector, and `R` pieces fill
    /// a cache line.
    fn run_squares<const N: usize, const M: usize, const R: usize>(self) {
        let kernel = FixedCopy::<N>;
        // Lines that stay cached are written faster if they are transposed by plain loops, which the compiler vectorizes
        // for 4 and 8 bytes: with byte shuffles, 14^6 f32 take twice as long (Intel Xeon, model 207).
        let has_fast_loops = matches!(N, 4 | 8);
        let bypasses_caches = self.pieces_at_once.is_some();
        let uses_shuffles = bypasses_caches || !has_fast_loops;
        match (*SHUFFLES).filter(|_| uses_shuffles) {
            Some(shuffles) => memory::streaming(bypasses_caches, |line_writer| {
                vectorize(
                    shuffles,
                    #[inline(always)]
                    || self.write_slices::<N, M, R>(kernel, Some(shuffles), line_writer),
                );
            }),
            None if has_fast_loops => memory::streaming(bypasses_caches, |line_writer| {
                self.write_slices::<N, M, R>(kernel, None, line_writer);
            }),
            None => self.run(kernel),
        }
    }

    /// See [`Self::run_squares`]. All pieces are copied one by one if they do not have `N` bytes. The function is inlined,
    /// so that it can be compiled with and without byte shuffles.
    #[inline(always)]
    fn write_slices<const N: usize, const M: usize, const R: usize>(
        self,
        kernel: impl CopyKernel,
        shuffles: Option<Shuffles>,
        line_writer: &mut LineWriter<'d>,
    ) {
        let Self {
            lanes,
            source,
            add_places,
            slices,
            pieces_at_once,
        } = self;
        let bypasses_caches = pieces_at_once.is_some();
        let bytes = kernel.bytes();
        let block_pieces = (LINE >> bytes.trailing_zeros()).max(1);
        let Some(first_slice) = slices.first() else {
            return;
        };
        let (first_bytes, slice_bytes) = (first_slice.bytes_to_line(), first_slice.len());
        let are_aligned = first_bytes.is_multiple_of(bytes)
            && slices
                .iter()
                .all(|slice| slice.bytes_to_line() == first_bytes);
        // Lines that do not bypass the caches can be written in parts.
        let extra_pieces = match are_aligned || !bypasses_caches {
            true => 0,
            false => block_pieces,
        };
        let pieces_at_once = pieces_at_once.unwrap_or(LINES_AT_ONCE * LINE / bytes);
        let max_pieces = pieces_at_once.next_multiple_of(block_pieces) + extra_pieces;
        // The first blocks end where cache lines begin, so that the others are whole lines.
        let mut piece_count = match first_bytes / bytes {
            count @ 1.. if bypasses_caches && are_aligned => count,
            _ => max_pieces,
        };
        let column_bytes = max_pieces * bytes;
        let max_lanes = lanes.groups.iter().map(|group| group.lane_count).max();
        let mut columns = vec![0; max_lanes.unwrap_or_default() * column_bytes];
        let mut rows = [&[0; LINE]; R];
        let mut near_places: Vec<usize> = Vec::with_capacity(max_pieces);
        // The number of bytes of each slice before the piece at the first of `near_places`.
        let mut skipped_bytes = 0;
        while skipped_bytes < slice_bytes {
            let pieces_left = (slice_bytes - skipped_bytes) / bytes;
            let new_places = piece_count.min(pieces_left) - near_places.len();
            add_places(&mut near_places, new_places);
            let is_end = near_places.len() == pieces_left;
            let (mut other_slices, mut distances) = (&mut slices[..], &lanes.distances[..]);
            for group in &lanes.groups {
                let (group_slices, group_distances);
                (group_slices, other_slices) = other_slices.split_at_mut(group.lane_count);
                (group_distances, distances) = distances.split_at(group.lane_count);
                // Whether all blocks up to this one are written without columns.
                let mut are_written = true;
                for (number, places) in near_places.chunks(block_pieces).enumerate() {
                    let begin = number * block_pieces * bytes;
                    let is_square = N == bytes
                        && group.has_squares
                        && find_lines(source, group_distances[0], places, &mut rows);
                    let is_whole = places.len() == block_pieces && extra_pieces == 0;
                    are_written &= is_square && is_whole;
                    match is_square {
                        true if are_written => transpose_square::<N, M, R>(
                            shuffles,
                            &rows,
                            #[inline(always)]
                            |number, line| {
                                if let Some(slice) = group_slices.get_mut(number) {
                                    line_writer.write_front(slice, line);
                                }
                            },
                        ),
                        true => transpose_square::<N, M, R>(
                            shuffles,
                            &rows,
                            #[inline(always)]
                            |number, line| {
                                if number < group.lane_count {
                                    let column = &mut columns[number * column_bytes + begin..];
                                    let column = column.as_chunks_mut().0.iter_mut();
                                    column.zip(line).for_each(|(to, from)| *to = from);
                                }
                            },
                        ),
                        false => {
                            let columns = (&mut columns[begin..], column_bytes);
                            copy_each(kernel, source, group_distances, places, columns);
                        }
                    }
                }
                if are_written {
                    continue;
                }
                let filled_bytes = near_places.len() * bytes;
                for (slice, column) in group_slices.iter_mut().zip(columns.chunks(column_bytes)) {
                    let begin = slice_bytes - slice.len() - skipped_bytes;
                    let end = match is_end || extra_pieces == 0 {
                        true => filled_bytes,
                        false => {
                            let end_address = slice.address() + (filled_bytes - begin);
                            filled_bytes - end_address % LINE
                        }
                    };
                    line_writer.write_bytes(slice, &column[begin..end]);
                }
            }
            let finished_pieces = match is_end {
                true => near_places.len(),
                false => near_places.len() - extra_pieces,
            };
            assert!(finished_pieces > 0, "each piece of a slice has a place");
            near_places.drain(..finished_pieces);
            skipped_bytes += finished_pieces * bytes;
            piece_count = max_pieces;
        }
    }
}

/// Stores the cache-line sized bytes at each place in `lines`. Returns whether the source has them: a line can also have
/// pieces of other lanes, and the source can end there. If there are fewer than `R` places, the last lines stay as they
/// are.
#[inline(always)]
fn find_lines<'s, const R: usize>(
    source: &'s [u8],
    distance: isize,
    places: &[usize],
    lines: &mut [&'s [u8; LINE]; R],
) -> bool {
    for (line, place) in lines.iter_mut().zip(places) {
        let bytes = source.get(place.wrapping_add_signed(distance)..);
        match bytes.and_then(<[u8]>::first_chunk) {
            Some(bytes) => *line = bytes,
            None => return false,
        }
    }
    true
}

/// Transposes a square of pieces of `N` bytes. Calls `write` with the number of each column and its line.
#[inline(always)]
fn transpose_square<const N: usize, const M: usize, const R: usize>(
    shuffles: Option<Shuffles>,
    rows: &[&[u8; LINE]; R],
    mut write: impl FnMut(usize, VectorLine),
) {
    match shuffles {
        Some(shuffles) => transpose_lines::<N, M, R>(shuffles, rows, write),
        None => {
            let rows: [&[[u8; N]; R]; R] = rows.map(|row| {
                let pieces = row.as_chunks().0.first_chunk();
                pieces.expect("the pieces fill a line")
            });
            #[expect(
                clippy::needless_range_loop,
                reason = "a column has a piece of each row"
            )]
            for number in 0..R {
                let column: [[u8; N]; R] = array::from_fn(|row| rows[row][number]);
                let line: Option<&[u8; LINE]> = column.as_flattened().first_chunk();
                write(
                    number,
                    bytemuck::cast(*line.expect("a column fills a line")),
                );
            }
        }
    }
}

/// Copies the pieces of each lane of a group to the beginning of a column. The columns have `column_bytes` bytes. If this
/// function is inlined, pieces of 6 bytes take up to 36 % more time.
#[inline(never)]
fn copy_each(
    kernel: impl CopyKernel,
    source: &[u8],
    distances: &[isize],
    places: &[usize],
    (columns, column_bytes): (&mut [u8], usize),
) {
    // The processor itself does not prefetch more streams.
    if places.len() > Processor::here().prefetched_streams() {
        for place in places {
            let at = place.wrapping_add_signed(distances[0]);
            memory::prefetch(source, at.wrapping_add(2 * LINE));
        }
    }
    for (number, places) in places.chunks(SINGLE_PIECES_AT_ONCE).enumerate() {
        let begin = number * SINGLE_PIECES_AT_ONCE * kernel.bytes();
        for (column, distance) in columns.chunks_mut(column_bytes).zip(distances) {
            let pieces = column[begin..].chunks_exact_mut(kernel.bytes());
            for (piece, place) in pieces.zip(places) {
                let at = place.wrapping_add_signed(*distance);
                let outcome = kernel.copy(source, at, piece);
                outcome.expect("a plan's pieces are within its source");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::memory::Slices;
    use core::iter;

    /// Writes lanes that are `distances` apart. The slices begin at any place in a cache line. The last piece ends where
    /// the source ends.
    /// All whole lines bypass the caches, and no others.
    fn check_lanes(piece: usize, distances: &[usize], count: usize, pitch: usize) {
        let row_bytes = distances.last().unwrap() + piece + 3;
        let source: Vec<u8> = (0..=250).cycle().take(count * row_bytes - 3).collect();
        let lanes = Lanes::new(
            piece,
            distances
                .iter()
                .map(|distance| distance.cast_signed())
                .collect(),
        );
        assert_eq!(lanes.count(), distances.len());
        for (skip, bypasses_caches) in [(0, true), (5, true), (piece, true), (1, false)] {
            let pieces_at_once = bypasses_caches.then_some([16, 32, 200][skip % 3]);
            let slice_bytes = count * piece;
            let mut dest = vec![0; skip + distances.len() * pitch];
            let mut slices = Slices::with_capacity(distances.len());
            for lane in dest[skip..].chunks_mut(pitch) {
                slices.push_old(&mut lane[..slice_bytes], slice_bytes);
            }
            #[cfg(feature = "std")]
            let whole_lines = slices.iter().map(|slice| {
                let bytes = slice.len().saturating_sub(slice.bytes_to_line());
                bytes / LINE
            });
            #[cfg(feature = "std")]
            let whole_lines: usize = whole_lines.sum();
            #[cfg(feature = "std")]
            let streamed_before = memory::tests::STREAMED_LINES.get();
            let places = (0..count).map(|number| number * row_bytes);
            lanes.write(&source, places, &mut slices, pieces_at_once);
            assert!(slices.iter().all(Slice::is_empty));
            drop(slices);
            #[cfg(feature = "std")]
            {
                let streamed_lines = memory::tests::STREAMED_LINES.get() - streamed_before;
                let expected_lines = if bypasses_caches { whole_lines } else { 0 };
                assert_eq!(
                    streamed_lines, expected_lines,
                    "{piece} {distances:?} {count}"
                );
            }
            for (lane, distance) in dest[skip..].chunks(pitch).zip(distances) {
                let pieces =
                    (0..count).flat_map(|row| &source[row * row_bytes + distance..][..piece]);
                let unwritten = iter::repeat_n(&0, pitch - slice_bytes);
                assert!(
                    lane.iter().eq(pieces.chain(unwritten)),
                    "{piece} {distances:?} {count} {skip}"
                );
            }
        }
    }

    #[test]
    fn lanes_equal_single_copies() {
        for piece in [1, 2, 3, 4, 5, 8, 12, 16, 20, 48] {
            let contiguous = |lane_count: usize| (0..lane_count).map(|lane| lane * piece);
            let with_gaps = (0..50).map(|lane| lane * piece + lane / 7 * 5);
            let pieces_per_line = LINE / piece;
            for distances in [
                vec![0],
                contiguous(pieces_per_line).collect(),
                contiguous(2 * pieces_per_line + 3).collect(),
                with_gaps.collect(),
            ] {
                for count in [1, pieces_per_line, 31, 64, 100, 203] {
                    for pitch in [
                        count * piece,
                        (count * piece).next_multiple_of(LINE),
                        count * piece + 7,
                    ] {
                        check_lanes(piece, &distances, count, pitch);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_written_without_lanes() {
        Lanes::new(4, Vec::new()).write(&[], 0.., &mut [], Some(32));
    }

    #[test]
    fn pieces_of_the_same_lines_are_read_together() {
        let far: Vec<usize> = (0..1000).map(|number| number * 4096).collect();
        assert_eq!(pieces_in_streams(8, &far, 16), 16);
        assert_eq!(pieces_in_streams(8, &far[..3], 16), 16);
        // Each line has 4 of the pieces, and the next piece is always in the next of 8 rows.
        let near: Vec<usize> = (0..1000)
            .map(|number| number % 8 * 4096 + number / 8 * 16)
            .collect();
        assert_eq!(pieces_in_streams(8, &near, 16), 16 * 4);
        assert_eq!(pieces_in_streams(8, &[0; 1000], 16), 16 * 8);
    }
}
