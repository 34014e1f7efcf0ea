//! Decides the steps of a search for the true elements of a mask: see `shaders/mask.wgsl`.
//!
//! | dispatches | number |
//! |---|---|
//! | `mask_count` | one for each part of the mask that fits the device's limits |
//! | `mask_scan` | one, or one for each part of the counts that fits a binding |
//! | `mask_rows`, which fills | one for each part of the result that fits |
//! | `mask_rows` | one for each part of the mask and each part of the result |
//!
//! So a mask and a result that fit take four, each of which begins when the one before is done: no workgroup waits for
//! another.

use super::{
    caps::{Parts, Reach},
    cut::{Bound, DEST, Dispatch, INDICES, Places, SOURCE},
    launch::fold,
    program::{Kernel, Prelude, Program},
    steps::SCRATCH,
    uniforms::{DimWords, MOST_DIMS, MOST_SIGNED, Uniforms, high, too_long, wrap},
    work::{MOST_DISPATCHES, Pass},
};
use crate::{Error, layout::middle, plan::Find, shape::coordinates};
use std::ops::Range;

/// The bytes that a search writes its number to, and the argument that they are.
pub(in crate::gpu) const COUNT_BYTES: usize = 32;
const COUNT: usize = INDICES;

/// The elements of a chunk for each invocation of a workgroup: those of four words.
pub(super) const OF_INVOCATION: usize = 16;

/// How often a scan takes a chunk for each invocation. Lavapipe leaves every loop of an invocation after 65,535 iterations
/// in total, and each time takes at most 12 of them.
const MOST_ROUNDS: usize = 1 << 12;

/// Decides the steps of a search in a mask of shape `mask`. Returns them, and the bytes of scratch memory that they need.
pub(super) fn find(
    reach: &Reach,
    places: &Places,
    mask: &[usize],
    find: &Find,
) -> Result<(Vec<Pass<Dispatch>>, u64), Error> {
    let searcher = Searcher {
        reach,
        places,
        mask,
        find: *find,
    };
    let dispatches = searcher.dispatches()?;
    let scratch = dispatches.1;
    let pass = Pass {
        cleared: 0..0,
        dispatches: dispatches.0,
    };
    Ok((vec![pass], scratch))
}

/// What all dispatches of a search have in common.
struct Searcher<'a> {
    reach: &'a Reach,
    places: &'a Places,
    /// The shape of the mask.
    mask: &'a [usize],
    find: Find,
}

/// Elements of the mask that a dispatch takes, the place of their first chunk among those of all, and their number.
struct Part {
    elements: Range<usize>,
    chunk: usize,
    chunks: usize,
}

impl Searcher<'_> {
    fn dispatches(&self) -> Result<(Vec<Dispatch>, u64), Error> {
        if self.mask.len() > MOST_DIMS {
            return Err(Error::DeviceLimit {
                what: "the number of dimensions of a mask",
                limit: "a shader's limit",
                needed: self.mask.len() as u64,
                allowed: MOST_DIMS as u64,
            });
        }
        let capacity = self.find.capacity as u64;
        if capacity > MOST_SIGNED {
            return Err(too_long(capacity, MOST_SIGNED));
        }
        let elements: usize = self.mask.iter().product();
        // No part goes beyond a row of the long dimension.
        let row: usize = self.mask[self.long_dim()..].iter().product();
        let mut parts = Vec::new();
        for begin in (0..elements).step_by(row.max(1)) {
            let row = begin..begin + row;
            parts.extend(self.cut(row, |elements| self.takes_mask(elements))?);
        }
        let mut chunks = 0;
        let parts: Vec<Part> = parts
            .into_iter()
            .map(|elements| {
                let part = Part {
                    chunk: chunks,
                    chunks: self.chunks(&elements),
                    elements,
                };
                chunks += part.chunks;
                part
            })
            .collect();
        let scans = self.cut(0..chunks, |chunks| self.takes_chunks(chunks))?;
        let rows = match self.row_bytes() {
            0 => 0,
            _ => self.find.capacity,
        };
        let rows = self.cut(0..rows, |rows| self.takes_rows(rows))?;
        let rows: Vec<_> = rows.into_iter().filter(|rows| !rows.is_empty()).collect();
        let count = (parts.len() as u64 + 1).saturating_mul(rows.len() as u64 + 1);
        if count > MOST_DISPATCHES {
            return Err(Error::DeviceLimit {
                what: "a mask of this size",
                limit: "limit on dispatches",
                needed: count,
                allowed: MOST_DISPATCHES,
            });
        }
        let counting = parts.iter().map(|part| self.counting(part));
        let scanning = scans.iter().map(|chunks| self.scanning(chunks));
        let filling = rows.iter().map(|rows| self.filling(rows));
        let pairs = rows
            .iter()
            .flat_map(|rows| parts.iter().map(move |part| (rows, part)));
        let writing = pairs.map(|(rows, part)| self.writing(rows, part));
        let all = counting.chain(scanning).chain(filling).chain(writing);
        let all = all.collect::<Option<Vec<_>>>();
        let scratch = chunks.max(1) as u64 * 4;
        Ok((all.ok_or_else(|| self.reach.too_small(4))?, scratch))
    }

    /// The range, or parts of it that are taken.
    fn cut(
        &self,
        range: Range<usize>,
        takes: impl Fn(&Range<usize>) -> bool,
    ) -> Result<Vec<Range<usize>>, Error> {
        let (mut left, mut parts) = (vec![range], Vec::new());
        while let Some(range) = left.pop() {
            if takes(&range) {
                parts.push(range);
                continue;
            }
            let half = middle(range.len()).ok_or_else(|| self.reach.too_small(4))?;
            let middle = range.start + half;
            left.extend([middle..range.end, range.start..middle]);
        }
        Ok(parts)
    }

    fn workgroup(&self) -> usize {
        self.reach.tuning.workgroup as usize
    }

    /// The elements, or the rows, of a workgroup.
    fn chunk(&self) -> usize {
        self.workgroup() * OF_INVOCATION
    }

    /// The dimension that shaders cannot count with 32 bits, or the first: no mask has two that are so long.
    fn long_dim(&self) -> usize {
        let is_long = |&size: &usize| size as u64 > MOST_SIGNED;
        self.mask.iter().rposition(is_long).unwrap_or(0)
    }

    fn row_bytes(&self) -> usize {
        self.mask.len() * self.find.index.bytes()
    }

    fn takes_mask(&self, elements: &Range<usize>) -> bool {
        let bytes = elements.len() as u64;
        bytes <= self.reach.dispatch
            && bytes <= self.reach.units
            && self.bind_mask(elements).is_some()
            && fold(self.chunks(elements), self.reach.groups).is_some()
    }

    fn takes_chunks(&self, chunks: &Range<usize>) -> bool {
        chunks.len() <= MOST_ROUNDS * self.workgroup() && self.bind_chunks(chunks).is_some()
    }

    fn takes_rows(&self, rows: &Range<usize>) -> bool {
        let bytes = (rows.len() * self.row_bytes()) as u64;
        bytes <= self.reach.dispatch
            && bytes / 4 <= self.reach.units
            && self.bind_rows(rows).is_some()
            && fold(rows.len().div_ceil(self.chunk()), self.reach.groups).is_some()
    }

    /// The chunks of these elements, the first of which may begin within a word.
    fn chunks(&self, elements: &Range<usize>) -> usize {
        let begin = self.bind_mask(elements).map_or(0, |(_, begin)| begin % 4);
        (begin + elements.len()).div_ceil(self.chunk())
    }

    fn bind(&self, argument: usize, parts: Parts, bytes: Range<usize>) -> Option<(Bound, usize)> {
        let (span, begin) = self
            .reach
            .span(parts, bytes.start as u64, bytes.end as u64)?;
        Some((Bound { argument, span }, usize::try_from(begin).ok()?))
    }

    /// The binding of these elements, and the byte of it at which they begin.
    fn bind_mask(&self, elements: &Range<usize>) -> Option<(Bound, usize)> {
        self.bind(SOURCE, self.places.source, elements.clone())
    }

    /// The binding of these chunks, and the word of it at which they begin.
    fn bind_chunks(&self, chunks: &Range<usize>) -> Option<(Bound, usize)> {
        let bytes = chunks.start * 4..chunks.end * 4;
        let (bound, begin) = self.bind(SCRATCH, Parts::ONE, bytes)?;
        Some((bound, begin / 4))
    }

    /// The binding of these rows, and the word of it at which they begin.
    fn bind_rows(&self, rows: &Range<usize>) -> Option<(Bound, usize)> {
        let bytes = self.row_bytes();
        let bytes = rows.start * bytes..rows.end * bytes;
        let (bound, begin) = self.bind(DEST, self.places.dest, bytes)?;
        Some((bound, begin / 4))
    }

    fn bind_count(&self) -> Option<(Bound, usize)> {
        let (bound, begin) = self.bind(COUNT, self.places.indices, 0..COUNT_BYTES)?;
        Some((bound, begin / 4))
    }

    /// The numbers of a dispatch that takes these elements.
    fn words_of(&self, part: &Part) -> Option<(Bound, Bound, Uniforms)> {
        let (mask, begin) = self.bind_mask(&part.elements)?;
        let (chunks, first) = self.bind_chunks(&(part.chunk..part.chunk + part.chunks))?;
        let words = Uniforms {
            from_base: word(begin / 4),
            head: word(begin % 4),
            rows: word(part.elements.len()),
            first_row: word(first),
            segments: word(part.chunks),
            ..Uniforms::default()
        };
        Some((mask, chunks, words))
    }

    fn counting(&self, part: &Part) -> Option<Dispatch> {
        let (mask, chunks, words) = self.words_of(part)?;
        let bound = vec![mask, chunks];
        self.dispatch(Kernel::MaskCount, &[], words, part.chunks, bound)
    }

    fn scanning(&self, chunks: &Range<usize>) -> Option<Dispatch> {
        let (count, at) = self.bind_count()?;
        let (bound, first) = self.bind_chunks(chunks)?;
        let words = Uniforms {
            to_base: word(at),
            slices: word(self.find.capacity),
            first_row: word(first),
            segments: word(chunks.len()),
            ..Uniforms::default()
        };
        let continues = [("CONTINUES", usize::from(chunks.start > 0))];
        self.dispatch(Kernel::MaskScan, &continues, words, 1, vec![count, bound])
    }

    /// The numbers of a dispatch that writes these rows, added to `words`.
    fn words_of_rows(&self, rows: &Range<usize>, words: Uniforms) -> Option<(Bound, Uniforms)> {
        let (bound, begin) = self.bind_rows(rows)?;
        let words = Uniforms {
            to_base: word(begin),
            first_slice: word(rows.start),
            slices: word(rows.len()),
            tuple_words: word(self.row_bytes() / 4),
            index_words: self.find.index.words(),
            ..words
        };
        Some((bound, words))
    }

    fn filling(&self, rows: &Range<usize>) -> Option<Dispatch> {
        let (count, at) = self.bind_count()?;
        let words = Uniforms {
            from_base: word(at),
            ..Uniforms::default()
        };
        let (bound, words) = self.words_of_rows(rows, words)?;
        let groups = rows.len().div_ceil(self.chunk());
        let fills = [("FILLS", 1)];
        self.dispatch(
            Kernel::MaskRows,
            &fills,
            words,
            groups,
            vec![count, count, bound],
        )
    }

    fn writing(&self, rows: &Range<usize>, part: &Part) -> Option<Dispatch> {
        let (mask, chunks, words) = self.words_of(part)?;
        let (bound, mut words) = self.words_of_rows(rows, words)?;
        let first = coordinates(part.elements.start, self.mask);
        let long_dim = self.long_dim();
        for (d, digit) in first.into_iter().enumerate() {
            words.dims[d] = DimWords {
                size: if d == long_dim { 0 } else { word(self.mask[d]) },
                from_stride: word(digit),
                to_stride: high(digit)?,
                tuple_stride: 0,
            };
        }
        words.dims_used = word(self.mask.len());
        let dims = [("DIMS", self.mask.len())];
        self.dispatch(
            Kernel::MaskRows,
            &dims,
            words,
            part.chunks,
            vec![mask, chunks, bound],
        )
    }

    fn dispatch(
        &self,
        kernel: Kernel,
        constants: &[(&'static str, usize)],
        mut uniforms: Uniforms,
        groups: usize,
        bound: Vec<Bound>,
    ) -> Option<Dispatch> {
        let (width, height) = fold(groups, self.reach.groups)?;
        uniforms.groups_x = width;
        let workgroup = self.reach.tuning.workgroup;
        Some(Dispatch {
            program: Program::new(kernel, Prelude::None, workgroup).with(constants),
            uniforms,
            height,
            bound,
            counts: false,
            first_tuple: 0,
        })
    }
}

/// A number that fits in 32 bits.
fn word(number: usize) -> u32 {
    wrap(number as i64)
}
