//! Runs crops line by line, in the order of the result.
//!
//! A line is a box's elements along the last cropped dimension, at one position of the other cropped dimensions. An
//! element of a line includes all dimensions of x inside the cropped ones. At the first line of each box, the thread
//! that copies it finds which part of the box has a source, that is, lies in x. The rest of each line becomes zeros.

use super::{
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::{
    layout::along,
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Along, Begin, Coordinate, Dim, Walk},
};

/// Writes the result of a crop to `dest`, with zeros for elements outside of x. Returns how many boxes reach outside of
/// x or name an item that does not exist, and the first of them.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let crop = Crop::new(walk);
    let lines = [false, true].map(|flipped| crop.lines(crop.last.extent, flipped));
    let nests = lines
        .each_ref()
        .map(|dims| LoopNest::dense(walk.unit, dims));
    let threads = crop.threads(&nests[0], threads);
    threads::spread_counting(dest, crop.piece, threads, |first, dest| {
        crop.part(source, policy.clamps(), indices, &nests, first, dest)
    })
}

pub(super) fn explain(walk: &Walk, threads: Threads) -> String {
    let crop = Crop::new(walk);
    let line = crop.lines(crop.last.extent, false);
    let nest = LoopNest::dense(walk.unit, &line);
    threads::explain(crop.threads(&nest, threads), nest.kernel)
}

/// The part of a box that has a source, in one cropped dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inside {
    /// The elements `from..to` of the box have a source.
    from: usize,
    to: usize,
    /// The position in x of element `from`.
    at: usize,
    /// Whether the elements are in reverse order.
    flipped: bool,
}

impl Inside {
    /// Finds the part that has a source, for a box that begins at `begin` in a dimension of `size` positions.
    fn of(along: Along, begin: i64, size: usize, flipped: bool, clamps: bool) -> Self {
        // An i128 holds the position of every element of every box.
        let (step, extent) = (along.step as i128, along.extent as i128);
        let reach = (extent - 1) * step.abs();
        let (mut begin, end) = (i128::from(begin), size as i128);
        if clamps {
            begin = match step < 0 {
                true => begin.clamp(reach, end - 1),
                false => begin.clamp(0, end - 1 - reach),
            };
        }
        let last = begin + reach * step.signum();
        let inside = 0..end;
        let (mut from, mut to) = (0, extent);
        if !inside.contains(&begin) || !inside.contains(&last) {
            // The distances, in the direction of the step, from the box's begin to the first position of x and to the
            // position just beyond the last. With a negative step, the first position is the highest.
            let (before, after) = match step < 0 {
                true => (begin - (end - 1), begin + 1),
                false => (-begin, end - begin),
            };
            let elements = |distance: i128| {
                let step = step.abs();
                (distance.max(0) + step - 1) / step
            };
            from = elements(before).min(to);
            to = elements(after).clamp(from, to);
        }
        let (first, from, to) = match flipped {
            false => (from, from, to),
            true => (to - 1, extent - to, extent - from),
        };
        let position = |value: i128| usize::try_from(value).unwrap_or_default();
        Self {
            from: position(from),
            to: position(to),
            at: position(begin + first * step),
            flipped,
        }
    }

    /// The position in x of element `j`, or `None` if this element has no source.
    fn position(&self, step: isize, j: usize) -> Option<usize> {
        let step = match self.flipped {
            true => step.wrapping_neg(),
            false => step,
        };
        (self.from..self.to)
            .contains(&j)
            .then(|| along(self.at, step, j - self.from))
    }
}

struct Crop<'a> {
    walk: &'a Walk,
    /// The item of a box. `None` if box n lies in item n.
    item: Option<&'a Coordinate>,
    /// The distance in units between the items of neighbouring boxes. 0 if tuples name the items.
    items: isize,
    /// The cropped dimensions in x, and how boxes extend along them.
    cropped: &'a [Coordinate],
    /// How boxes extend along the last cropped dimension. If no dimension is cropped, a line is a single element.
    last: Along,
    /// The last cropped dimension in x: the number of its positions and its stride in units.
    last_size: usize,
    last_stride: isize,
    /// The dimensions of x inside the cropped ones, outermost first.
    kept: &'a [Dim],
    /// The size of one element of a line in bytes.
    piece: usize,
    /// The number of lines in a box.
    lines: usize,
}

/// Where a box lies in x.
#[derive(Default)]
struct Place {
    /// The unit of x where the box's item begins, or `None` if there is no such item.
    item: Option<usize>,
    /// For each cropped dimension, the part that has a source.
    inside: Vec<Inside>,
    /// Whether the item exists and every element of the box has a source.
    is_inside: bool,
}

impl<'a> Crop<'a> {
    fn new(walk: &'a Walk) -> Self {
        let items = walk.coordinates.iter().take_while(|c| c.along.is_none());
        let (item, cropped) = walk.coordinates.split_at(items.count());
        // A single box has no dimension of its own.
        let (boxes, dims) = match walk.dims[0] {
            dim if dim.tuple > 0 => (dim.from, &walk.dims[1..]),
            _ => (0, &walk.dims[..]),
        };
        let (within, kept) = dims.split_at(cropped.len());
        let below: usize = kept.iter().map(|dim| dim.size).product();
        let alone = Along {
            dim: 0,
            step: 1,
            extent: 1,
            first: 0,
            flip: None,
        };
        let last = cropped.last();
        let outer = &within[..within.len().saturating_sub(1)];
        Self {
            walk,
            item: item.first(),
            items: boxes,
            cropped,
            last: last.and_then(|last| last.along).unwrap_or(alone),
            last_size: last.map_or(1, |last| last.size),
            last_stride: last.map_or(0, |last| last.stride),
            kept,
            piece: below * walk.unit,
            lines: outer.iter().map(|dim| dim.size).product(),
        }
    }

    /// Finds where box `n` lies.
    fn locate<I: Index>(&self, n: usize, clamps: bool, indices: &[I], place: &mut Place) {
        let depth = self.walk.columns;
        let tuple = &indices[n * depth..][..depth];
        let begin = |coordinate: &Coordinate| match coordinate.begin {
            Begin::Column(column) => tuple[column],
            Begin::At(_) => unreachable!("a crop begins where its tuples say"),
        };
        let first = self.walk.from.cast_unsigned();
        place.item = match self.item {
            Some(item) => {
                let index = begin(item).within(item.size, false, clamps);
                index.map(|index| along(first, item.stride, index))
            }
            None => Some(along(first, self.items, n)),
        };
        place.is_inside = place.item.is_some();
        place.inside.clear();
        for coordinate in self.cropped {
            let Some(along) = coordinate.along else {
                continue;
            };
            let flipped = along.flip.is_some_and(|flip| tuple[flip].into() != 0);
            let begin = begin(coordinate).into();
            let inside = Inside::of(along, begin, coordinate.size, flipped, clamps);
            place.is_inside &= inside.to - inside.from == along.extent;
            place.inside.push(inside);
        }
    }

    /// How many threads crop. `line` copies a whole line.
    fn threads(&self, line: &LoopNest<'_>, threads: Threads) -> usize {
        let bytes = self.walk.bytes();
        let lines = bytes / (self.last.extent * self.piece);
        threads.worth(bytes, lines + line.pieces(bytes))
    }

    /// The dimensions of `count` elements of a line. A box may be far larger than x: if x has fewer elements at this
    /// step, the line has only those.
    fn lines(&self, count: usize, flipped: bool) -> Vec<Dim> {
        let there = self.last_size.saturating_sub(1) / self.last.step.unsigned_abs() + 1;
        let count = count.min(there);
        let step = match flipped {
            true => self.last.step.wrapping_neg(),
            false => self.last.step,
        };
        if count < 2 {
            return self.kept.to_vec();
        }
        let from = step * self.last_stride;
        let mut dims = vec![Dim::shared(count, from)];
        match self.kept {
            // Neighbouring elements of a line that are contiguous are one piece.
            [Dim { size, from: 1, .. }] if from == size.cast_signed() => {
                dims[0] = Dim::shared(count * size, 1);
            }
            kept => dims.extend(kept),
        }
        dims
    }

    /// Writes `dest`, the part of the result that begins at byte `first` and consists of whole elements of lines. The
    /// two `nests` copy whole lines: the first forwards, the second flipped. Counts the boxes that begin in this part
    /// and reach outside of x or name an item that does not exist.
    fn part<I: Index>(
        &self,
        source: &[u8],
        clamps: bool,
        indices: &[I],
        nests: &[LoopNest<'_>; 2],
        first: usize,
        dest: &mut [u8],
    ) -> Missing {
        let line_bytes = self.last.extent * self.piece;
        let (mut line, skip) = (first / line_bytes, first % line_bytes);
        let mut from = skip / self.piece;
        let mut rest = dest;
        let (mut located, mut place) = (None, Place::default());
        let mut missing = Missing::default();
        while !rest.is_empty() {
            let part;
            (part, rest) = rest.split_at_mut((line_bytes - from * self.piece).min(rest.len()));
            let (n, line_of_box) = (line / self.lines, line % self.lines);
            if located != Some(n) {
                located = Some(n);
                self.locate(n, clamps, indices, &mut place);
                if !place.is_inside && (line_of_box, from) == (0, 0) {
                    missing.add(n);
                }
            }
            self.line(source, nests, &place, line_of_box, from, part);
            (line, from) = (line + 1, 0);
        }
        missing
    }

    /// Writes as many elements of line `line` of a box as `dest` holds, from element `first` on.
    fn line(
        &self,
        source: &[u8],
        nests: &[LoopNest<'_>; 2],
        place: &Place,
        line: usize,
        first: usize,
        dest: &mut [u8],
    ) {
        let whole = Inside {
            from: 0,
            to: 1,
            at: 0,
            flipped: false,
        };
        let last = place.inside.last().copied().unwrap_or(whole);
        let end = first + dest.len() / self.piece;
        let (from, to) = (last.from.clamp(first, end), last.to.clamp(first, end));
        let at = place
            .item
            .and_then(|at| self.outer(at, &place.inside, line));
        let (Some(at), true) = (at, from < to) else {
            return dest.fill(0);
        };
        let position = last.position(self.last.step, from).unwrap_or_default();
        let at = along(at, self.last_stride, position).wrapping_mul(self.walk.unit);
        let (before, rest) = dest.split_at_mut((from - first) * self.piece);
        let (middle, after) = rest.split_at_mut((to - from) * self.piece);
        before.fill(0);
        after.fill(0);
        if to - from == self.last.extent {
            nests[usize::from(last.flipped)].part(source, at, 0, middle);
        } else {
            let line = self.lines(to - from, last.flipped);
            let nest = LoopNest::dense(self.walk.unit, &line);
            nest.part(source, at, 0, middle);
        }
    }

    /// The unit of x where line `line` of a box would begin if the box's begin in the last cropped dimension were 0.
    /// The item of the box begins at unit `at`. `None` if the line lies outside of x.
    fn outer(&self, at: usize, inside: &[Inside], mut line: usize) -> Option<usize> {
        let mut at = at;
        let outer = inside.len().saturating_sub(1);
        for (coordinate, inside) in self.cropped.iter().zip(inside).take(outer).rev() {
            let Along { step, extent, .. } = coordinate.along?;
            let position = inside.position(step, line % extent)?;
            line /= extent;
            at = along(at, coordinate.stride, position);
        }
        Some(at)
    }
}
