//! Runs crops line by line, in the order of the result.
//!
//! A line is a box's elements along the last cropped dimension, at one position of the other cropped dimensions. An
//! element of a line includes all dimensions of x inside the cropped ones. At the first line of each box, the thread that
//! copies it finds which part of the box has a source, that is, lies in x. The rest of each line becomes zeros.

use super::{
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::{
    layout::{Axis, along},
    ops::{
        crop::{Extent, Map},
        index::{Index, OutOfRange},
        indexed::Dimension,
        strided_slice,
    },
    plan,
    report::Missing,
};

/// Writes the result of a crop to `dest`, with zeros for elements outside of x. Returns how many boxes reach outside of
/// x or name an item that does not exist, and the first of them.
pub(super) fn run<I: Index>(
    rows: &plan::Rows,
    map: &Map,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    if dest.is_empty() {
        return Missing::default();
    }
    let crop = Crop::new(rows, map);
    let lines = [false, true].map(|flipped| crop.lines(crop.last.size, flipped));
    let nests = lines.each_ref().map(Line::nest);
    let threads = crop.threads(rows, threads);
    threads::spread_counting(dest, crop.piece, threads, |first, dest| {
        crop.part(source, indices, &nests, first, dest)
    })
}

pub(super) fn explain(rows: &plan::Rows, map: &Map, bytes: usize, threads: Threads) -> String {
    let crop = Crop::new(rows, map);
    let line = crop.lines(crop.last.size, false);
    debug_assert_eq!(bytes, rows.units() * rows.unit);
    threads::explain(crop.threads(rows, threads), line.nest().kernel)
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
    fn of(extent: Extent, begin: i64, size: usize, flipped: bool, clamps: bool) -> Self {
        // An i128 holds the position of every element of every box.
        let (step, reach) = (extent.step as i128, extent.reach().cast_signed());
        let (mut begin, end) = (i128::from(begin), size as i128);
        if clamps {
            begin = match step < 0 {
                true => begin.clamp(reach, end - 1),
                false => begin.clamp(0, end - 1 - reach),
            };
        }
        let last = begin + reach * step.signum();
        let inside = 0..end;
        let (mut from, mut to) = (0, extent.size as i128);
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
            true => (to - 1, extent.size as i128 - to, extent.size as i128 - from),
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
    fn position(&self, extent: Extent, j: usize) -> Option<usize> {
        let step = match self.flipped {
            true => extent.step.wrapping_neg(),
            false => extent.step,
        };
        (self.from..self.to)
            .contains(&j)
            .then(|| along(self.at, step, j - self.from))
    }
}

struct Crop<'a> {
    unit: usize,
    rows: plan::Rows,
    map: &'a Map,
    /// The cropped dimensions in x, with strides in units.
    axes: &'a [Axis],
    /// The extent of a box in the last cropped dimension. If no dimension is cropped, its size is 1, and a line is a
    /// single element.
    last: Extent,
    /// The last cropped dimension in x, with its stride in units.
    last_axis: Axis,
    /// The dimensions of x inside the cropped ones that rows do not cover, outermost first, with strides in units.
    kept: Vec<Axis>,
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
    fn new(rows: &plan::Rows, map: &'a Map) -> Self {
        let gather = &map.gather;
        let dims = map.extents.len();
        let (_, axes) = gather.coordinates.split_at(1);
        let kept: Vec<_> = gather.walk[1 + dims..]
            .iter()
            .map(Dimension::axis)
            .collect();
        let below: usize = kept.iter().map(|axis| axis.size).product();
        let (outer, last) = match map.extents.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], Extent { size: 1, step: 1 }),
        };
        Self {
            unit: rows.unit,
            rows: plan::Rows {
                count: below,
                ..*rows
            },
            map,
            axes,
            last,
            last_axis: axes.last().copied().unwrap_or(Axis { size: 1, stride: 0 }),
            kept,
            piece: below * rows.run * rows.unit,
            lines: outer.iter().map(|extent| extent.size).product(),
        }
    }

    /// Finds where box `n` lies.
    fn locate<I: Index>(&self, n: usize, indices: &[I], place: &mut Place) {
        let Map { gather, .. } = self.map;
        let (item, depth, dims) = (
            gather.coordinates[0],
            gather.indices[1],
            self.map.extents.len(),
        );
        let clamps = gather.policy.out_of_range == OutOfRange::Clamp;
        let tuple = &indices[n * depth..][..depth];
        let (index, tuple) = tuple.split_at(self.map.first_begin().min(depth));
        let (begins, flips) = tuple.split_at(dims);
        place.item = match index.first() {
            Some(index) => {
                let index = index.within(item.size, false, clamps);
                index.map(|index| along(gather.offset, item.stride, index))
            }
            None => Some(along(gather.offset, gather.walk[0].stride, n)),
        };
        place.is_inside = place.item.is_some();
        place.inside.clear();
        for (d, &begin) in begins.iter().enumerate() {
            let extent = self.map.extents[d];
            let flipped = flips.get(d).is_some_and(|&flip| flip.into() != 0);
            let inside = Inside::of(extent, begin.into(), self.axes[d].size, flipped, clamps);
            place.is_inside &= inside.to - inside.from == extent.size;
            place.inside.push(inside);
        }
    }

    fn threads(&self, rows: &plan::Rows, threads: Threads) -> usize {
        let bytes = rows.units() * rows.unit;
        let line = self.lines(self.last.size, false);
        let lines = bytes / (self.last.size * self.piece);
        threads.worth(bytes, lines + line.nest().pieces(bytes))
    }

    /// The slice that copies `count` elements of a line, from unit 0 of the source on. A box may be far larger than x:
    /// if x has fewer elements at this step, the slice copies only those.
    fn lines(&self, count: usize, flipped: bool) -> Line {
        let there = self.last_axis.size.saturating_sub(1) / self.last.step.unsigned_abs() + 1;
        let count = count.min(there);
        let step = match flipped {
            true => self.last.step.wrapping_neg(),
            false => self.last.step,
        };
        let stride = match count {
            ..2 => 0,
            _ => step * self.last_axis.stride,
        };
        let mut rows = self.rows;
        let mut axes = self.kept.clone();
        let is_run = axes.is_empty() && rows.step == 1 && stride == rows.run.cast_signed();
        if is_run {
            rows.run *= count;
        } else if count > 1 {
            rows.count *= count;
            axes.insert(
                0,
                Axis {
                    size: count,
                    stride,
                },
            );
        }
        Line {
            rows,
            map: strided_slice::Map { offset: 0, axes },
        }
    }

    /// Writes `dest`, the part of the result that begins at byte `first` and consists of whole elements of lines. The
    /// two `nests` copy whole lines: the first forwards, the second flipped. Counts the boxes that begin in this part
    /// and reach outside of x or name an item that does not exist.
    fn part<I: Index>(
        &self,
        source: &[u8],
        indices: &[I],
        nests: &[LoopNest<'_>; 2],
        first: usize,
        dest: &mut [u8],
    ) -> Missing {
        let line_bytes = self.last.size * self.piece;
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
                self.locate(n, indices, &mut place);
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
        let position = last.position(self.last, from).unwrap_or_default();
        let at = along(at, self.last_axis.stride, position).wrapping_mul(self.unit);
        let (before, rest) = dest.split_at_mut((from - first) * self.piece);
        let (middle, after) = rest.split_at_mut((to - from) * self.piece);
        before.fill(0);
        after.fill(0);
        if to - from == self.last.size {
            nests[usize::from(last.flipped)]
                .beginning_at(at)
                .part(source, 0, middle);
        } else {
            let line = self.lines(to - from, last.flipped);
            line.nest().beginning_at(at).part(source, 0, middle);
        }
    }

    /// The unit of x where line `line` of a box would begin if the box's begin in the last cropped dimension were 0.
    /// The item of the box begins at unit `at`. `None` if the line lies outside of x.
    fn outer(&self, at: usize, inside: &[Inside], mut line: usize) -> Option<usize> {
        let mut at = at;
        let outer = inside.len().saturating_sub(1);
        for d in (0..outer).rev() {
            let extent = self.map.extents[d];
            let position = inside[d].position(extent, line % extent.size)?;
            line /= extent.size;
            at = along(at, self.axes[d].stride, position);
        }
        Some(at)
    }
}

/// The copy of a line, or of a part of it, as a slice.
struct Line {
    rows: plan::Rows,
    map: strided_slice::Map,
}

impl Line {
    fn nest(&self) -> LoopNest<'_> {
        LoopNest::of(&self.rows, &self.map)
    }
}
