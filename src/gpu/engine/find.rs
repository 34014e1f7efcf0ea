//! Decides the steps of a search for the true elements of a mask: see `shaders/mask.wgsl`.
//!
//! | dispatches | number |
//! |---|---|
//! | `mask_count` | one for each part of the mask that fits the device's limits |
//! | `mask_scan` | one, or one for each part of the counts of chunks that fits the limits |
//! | `mask_rows` with `FILLS`, which fills unused rows | one for each part of the result that fits the limits |
//! | `mask_rows` | one for each part of the mask and each part of the result |
//!
//! So a mask and a result within the limits take four dispatches. Each dispatch begins when the previous one is done:
//! no workgroup waits for another.

use super::{
    caps::{DispatchLimits, check_limit},
    dispatch::{
        ArgumentPlaces, BoundRange, Cut, DEST, Dispatch, INDICES, MAX_DISPATCHES, Pass, SCRATCH,
        SOURCE, grid_size,
    },
    program::{Constant, Kernel, Prelude, Program},
    uniforms::{
        MAX_DIMS, MAX_SIGNED, MaskDimWords, SearchWords, Uniforms, check_positions, count_word,
        high_bits,
    },
};
use crate::{Error, layout::split_position, moves::Find, shape::coordinates_of};
use bytemuck::Zeroable;
use std::ops::Range;

type SearchDispatch = Dispatch<SearchWords>;

/// The size in bytes of the buffer to which a search writes the number of true elements.
pub(in crate::gpu) const COUNT_BYTES: usize = 32;
/// A search binds the buffer with the number of true elements in place of indices.
const COUNT_ARGUMENT: usize = INDICES;

/// The number of elements of a chunk that one invocation takes: four words of one-byte elements.
pub(super) const ELEMENTS_PER_INVOCATION: usize = 16;

/// The maximum number of iterations of the outer loop in `mask_scan`, in which each invocation takes one chunk.
/// Lavapipe exits every loop of an invocation after 65,535 iterations in total. One outer iteration and its inner
/// loops have at most 12 iterations together.
const MAX_SCAN_ITERATIONS: usize = 1 << 12;

/// Decides the steps of a search in a mask.
pub(super) fn search_cut(
    limits: &DispatchLimits,
    places: &ArgumentPlaces,
    mask_shape: &[usize],
    find: Find,
) -> Result<Cut, Error> {
    let searcher = Searcher {
        limits,
        places,
        mask_shape,
        find,
    };
    searcher.search_passes()
}

/// The data that all dispatches of a search share.
struct Searcher<'a> {
    limits: &'a DispatchLimits,
    places: &'a ArgumentPlaces,
    mask_shape: &'a [usize],
    find: Find,
}

/// The part of the mask that a dispatch takes.
struct MaskPart {
    /// The numbers of the part's elements among all elements of the mask.
    elements: Range<usize>,
    /// The numbers of the part's chunks among all chunks.
    chunks: Range<usize>,
}

impl Searcher<'_> {
    fn search_passes(&self) -> Result<Cut, Error> {
        check_limit(
            "the number of dimensions of a mask",
            "a shader's limit",
            self.mask_shape.len() as u64,
            MAX_DIMS as u64,
        )?;
        check_positions(self.find.capacity, MAX_SIGNED)?;
        let element_count: usize = self.mask_shape.iter().product();
        // All elements of a part have the same position along each dimension before the long dimension: see `long_dim`.
        let row_elements: usize = self.mask_shape[self.long_dim()..].iter().product();
        let mut mask_parts: Vec<MaskPart> = Vec::new();
        let mut chunk_total = 0;
        for begin in (0..element_count).step_by(row_elements.max(1)) {
            for elements in self.cut_range(SOURCE, begin..begin + row_elements)? {
                let first_chunk = chunk_total;
                chunk_total += self.chunk_count(&elements);
                mask_parts.push(MaskPart {
                    elements,
                    chunks: first_chunk..chunk_total,
                });
            }
        }
        let chunk_ranges = self.cut_range(SCRATCH, 0..chunk_total)?;
        let row_count = match self.row_bytes() {
            0 => 0,
            _ => self.find.capacity,
        };
        let row_ranges = self.cut_range(DEST, 0..row_count)?;
        let row_ranges: Vec<_> = row_ranges
            .into_iter()
            .filter(|rows| !rows.is_empty())
            .collect();
        let dispatch_count =
            (mask_parts.len() as u64 + 1).saturating_mul(row_ranges.len() as u64 + 1);
        let limit = "limit on dispatches";
        check_limit("a mask of this size", limit, dispatch_count, MAX_DISPATCHES)?;
        let counting_dispatches = mask_parts.iter().map(|part| self.counting_dispatch(part));
        let scanning_dispatches = chunk_ranges
            .iter()
            .map(|chunks| self.scanning_dispatch(chunks));
        let filling_dispatches = row_ranges.iter().map(|rows| self.filling_dispatch(rows));
        let rows_and_parts = row_ranges
            .iter()
            .flat_map(|rows| mask_parts.iter().map(move |part| (rows, part)));
        let writing_dispatches =
            rows_and_parts.map(|(rows, part)| self.writing_dispatch(rows, part));
        let dispatches = counting_dispatches
            .chain(scanning_dispatches)
            .chain(filling_dispatches)
            .chain(writing_dispatches);
        let dispatches = dispatches.collect::<Option<Vec<_>>>();
        let dispatches = dispatches.ok_or_else(|| self.limits.too_small(4))?;
        let pass = Pass::from_dispatches(0, dispatches, Uniforms::Search);
        Ok(Cut::single_pass(pass, chunk_total.max(1) as u64 * 4))
    }

    /// Splits a range of an argument into parts that are each small enough for one dispatch. Fails if a single item is
    /// too large.
    fn cut_range(&self, argument: usize, range: Range<usize>) -> Result<Vec<Range<usize>>, Error> {
        let (mut ranges, mut parts) = (vec![range], Vec::new());
        while let Some(range) = ranges.pop() {
            if self.is_small_enough(argument, &range) {
                parts.push(range);
                continue;
            }
            let Some(half) = split_position(range.len()) else {
                let [from, to] =
                    [range.start, range.end].map(|n| (n * self.item_bytes(argument)) as u64);
                self.places.parts_of(argument).check_whole(from, to)?;
                return Err(self.limits.too_small(4));
            };
            let middle = range.start + half;
            ranges.extend([middle..range.end, range.start..middle]);
        }
        Ok(parts)
    }

    fn workgroup_size(&self) -> usize {
        self.limits.tuning.workgroup as usize
    }

    /// Returns the number of elements, or of rows, that a workgroup takes.
    fn chunk_size(&self) -> usize {
        self.workgroup_size() * ELEMENTS_PER_INVOCATION
    }

    /// Returns the dimension with more positions than a signed 32-bit number allows, or the first dimension if there is
    /// none. No mask has two such dimensions.
    fn long_dim(&self) -> usize {
        let is_long = |&size: &usize| size as u64 > MAX_SIGNED;
        self.mask_shape.iter().rposition(is_long).unwrap_or(0)
    }

    fn row_bytes(&self) -> usize {
        self.mask_shape.len() * self.find.index_type.bytes()
    }

    /// Returns the size in bytes of one item of an argument: an element of the mask, a row of the result, the whole
    /// buffer with the number of true elements, or the count of a chunk.
    fn item_bytes(&self, argument: usize) -> usize {
        match argument {
            SOURCE => 1,
            DEST => self.row_bytes(),
            COUNT_ARGUMENT => COUNT_BYTES,
            _ => 4,
        }
    }

    /// Returns whether a dispatch can take this range of the mask, the chunks or the rows.
    fn is_small_enough(&self, argument: usize, range: &Range<usize>) -> bool {
        let (limits, length) = (self.limits, range.len());
        let bytes = (length * self.item_bytes(argument)) as u64;
        let is_dispatchable = |units, groups| {
            bytes <= limits.max_result_bytes
                && units <= limits.max_units
                && grid_size(groups, limits.max_groups).is_some()
        };
        let is_within_limits = match argument {
            SOURCE => is_dispatchable(bytes, self.chunk_count(range)),
            DEST => is_dispatchable(bytes / 4, length.div_ceil(self.chunk_size())),
            _ => length <= MAX_SCAN_ITERATIONS * self.workgroup_size(),
        };
        is_within_limits && self.bind_range(argument, range).is_some()
    }

    /// Returns the number of chunks for these elements. The first element can be anywhere in a word.
    fn chunk_count(&self, elements: &Range<usize>) -> usize {
        let begin = self
            .bind_range(SOURCE, elements)
            .map_or(0, |(_, begin)| begin % 4);
        (begin + elements.len()).div_ceil(self.chunk_size())
    }

    /// Returns the binding of a range of an argument, and the range's offset in the binding, in bytes. Returns `None`
    /// if no single binding can contain the range.
    fn bind_range(&self, argument: usize, range: &Range<usize>) -> Option<(BoundRange, usize)> {
        let bytes = |item: usize| (item * self.item_bytes(argument)) as u64;
        let (from, to) = (bytes(range.start), bytes(range.end));
        self.places.bind_range(self.limits, argument, from, to)
    }

    /// Returns the uniforms of a dispatch that takes this part of the mask, and its bindings of the mask and the counts
    /// of chunks.
    fn words_of(&self, part: &MaskPart) -> Option<(BoundRange, BoundRange, SearchWords)> {
        let (mask, begin) = self.bind_range(SOURCE, &part.elements)?;
        let (counts, first) = self.bind_range(SCRATCH, &part.chunks)?;
        let words = SearchWords {
            begin: count_word(begin),
            elements: count_word(part.elements.len()),
            first_chunk: count_word(first / 4),
            chunks: count_word(part.chunks.len()),
            ..SearchWords::zeroed()
        };
        Some((mask, counts, words))
    }

    fn counting_dispatch(&self, part: &MaskPart) -> Option<SearchDispatch> {
        let (mask, counts, words) = self.words_of(part)?;
        let bound_arguments = vec![mask, counts];
        self.make_dispatch(
            Kernel::MaskCount,
            &[],
            words,
            part.chunks.len(),
            bound_arguments,
        )
    }

    fn scanning_dispatch(&self, chunks: &Range<usize>) -> Option<SearchDispatch> {
        let (count_binding, at) = self.bind_range(COUNT_ARGUMENT, &(0..1))?;
        let (counts, first) = self.bind_range(SCRATCH, chunks)?;
        let words = SearchWords {
            first_chunk: count_word(first / 4),
            chunks: count_word(chunks.len()),
            number: count_word(at / 4),
            capacity: count_word(self.find.capacity),
            ..SearchWords::zeroed()
        };
        let constants = [(Constant::Continues, u32::from(chunks.start > 0))];
        self.make_dispatch(
            Kernel::MaskScan,
            &constants,
            words,
            1,
            vec![count_binding, counts],
        )
    }

    /// Returns the binding of the rows that a dispatch writes, and the dispatch's uniforms: `words` with this range of
    /// rows.
    fn words_of_rows(
        &self,
        rows: &Range<usize>,
        words: SearchWords,
    ) -> Option<(BoundRange, SearchWords)> {
        let (dest, begin) = self.bind_range(DEST, rows)?;
        let words = SearchWords {
            result: count_word(begin / 4),
            first_row: count_word(rows.start),
            rows: count_word(rows.len()),
            row_words: count_word(self.row_bytes() / 4),
            index_words: self.find.index_type.words(),
            ..words
        };
        Some((dest, words))
    }

    fn filling_dispatch(&self, rows: &Range<usize>) -> Option<SearchDispatch> {
        let (count_binding, at) = self.bind_range(COUNT_ARGUMENT, &(0..1))?;
        let words = SearchWords {
            number: count_word(at / 4),
            ..SearchWords::zeroed()
        };
        let (dest, words) = self.words_of_rows(rows, words)?;
        let groups = rows.len().div_ceil(self.chunk_size());
        let bound_arguments = vec![count_binding, count_binding, dest];
        self.make_dispatch(
            Kernel::MaskRows,
            &self.row_constants(true),
            words,
            groups,
            bound_arguments,
        )
    }

    fn writing_dispatch(&self, rows: &Range<usize>, part: &MaskPart) -> Option<SearchDispatch> {
        let (mask, counts, words) = self.words_of(part)?;
        let (dest, mut words) = self.words_of_rows(rows, words)?;
        let first_coordinates = coordinates_of(part.elements.start, self.mask_shape);
        for (d, first_coordinate) in first_coordinates.into_iter().enumerate() {
            let is_long = d == self.long_dim();
            words.dims[d] = MaskDimWords {
                size: if is_long {
                    0
                } else {
                    count_word(self.mask_shape[d])
                },
                first: count_word(first_coordinate),
                first_high: high_bits(first_coordinate)?,
                column: count_word(d) * words.index_words,
            };
        }
        let bound_arguments = vec![mask, counts, dest];
        let groups = part.chunks.len();
        self.make_dispatch(
            Kernel::MaskRows,
            &self.row_constants(false),
            words,
            groups,
            bound_arguments,
        )
    }

    /// Returns the constants of `mask_rows`.
    fn row_constants(&self, fills: bool) -> [(Constant, u32); 2] {
        let dims = if fills {
            0
        } else {
            count_word(self.mask_shape.len())
        };
        [(Constant::Fills, u32::from(fills)), (Constant::Dims, dims)]
    }

    fn make_dispatch(
        &self,
        kernel: Kernel,
        constants: &[(Constant, u32)],
        words: SearchWords,
        groups: usize,
        bound_arguments: Vec<BoundRange>,
    ) -> Option<SearchDispatch> {
        let workgroup = self.limits.tuning.workgroup;
        let program = Program::new(kernel, Prelude::None, workgroup).with_constants(constants);
        Dispatch::new(
            self.limits,
            program,
            words,
            |words| &mut words.groups_x,
            groups,
            bound_arguments,
        )
    }
}
