//! Runs crops box by box, in the order of the result, and pastes in the order of the boxes.
//!
//! A box is written as a gradient is: the part of it that has a source, that is, lies in x, and zeros around this part.
//! Boxes that follow each other and have a source in the same part share its loops. A paste writes the parts of its boxes
//! that lie inside; a circular box may have two parts along each dimension.

use super::{
    Dest,
    place::StoreRows,
    rows::along,
    threads::{self, Threads},
};
use crate::{
    ops::index::{Index, OutOfRange, Policy},
    report::Missing,
    walk::{Along, Begin, Coordinate, Dim, Side, Walk},
};
use std::{cmp::Reverse, mem};

/// About how many nanoseconds it takes to find where a box lies.
const BOX_NS: usize = 50;

/// Writes the result of a crop to `dest`, with zeros for elements outside of x. Returns how many boxes reach outside of
/// x or name an item that does not exist, and the first of them.
pub(super) fn run<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: Dest<'_>,
    threads: Threads,
) -> Missing {
    let crop = Crop::new(walk, policy, indices);
    let many = crop.threads(threads);
    let few = dest.len() / crop.bytes < threads::parts(many);
    let (many, of_a_box) = match few {
        true => (1, threads),
        false => (many, Threads::at_most(1)),
    };
    threads::spread_counting(dest, crop.bytes, many, |first, dest| {
        let mut missing = Missing::default();
        dest.each(crop.bytes, &mut |at, dest| {
            let n = (first + at) / crop.bytes;
            missing = missing.and(crop.boxes(source, n, dest, of_a_box));
        });
        missing
    })
}

/// Writes the boxes of a paste to `dest`. Returns how many boxes reach outside of x or name an item that does not exist,
/// and the first of them. If there are any and the policy makes them an error, `dest` is not changed.
pub(super) fn paste<I: Index>(
    walk: &Walk,
    policy: Policy,
    source: &[u8],
    indices: &[I],
    dest: &mut [u8],
    threads: Threads,
) -> Missing {
    let crop = Crop::new(walk, policy, indices);
    let mut missing = Missing::default();
    let mut parts = Parts::default();
    for n in 0..walk.units() * walk.unit / crop.bytes {
        if policy.circular {
            let places = crop.places(n);
            if places[0].at.is_none() {
                missing.add(n);
            }
            places.into_iter().for_each(|place| parts.add(n, place));
        } else {
            let place = crop.locate(n);
            if !crop.is_whole(&place) {
                missing.add(n);
            }
            parts.add(n, place);
        }
    }
    if missing.count > 0 && policy.out_of_range == OutOfRange::Error {
        return missing;
    }
    let (low, apart) = crop.items();
    let items = dest.len().saturating_sub(low) / apart;
    let many = crop.threads(threads);
    let (many, of_a_box) = match items < many {
        true => (1, threads),
        false => (many, Threads::at_most(1)),
    };
    // The boxes of an item are written by one thread, in their order.
    let share = items.div_ceil(many).max(1) * apart;
    let low = low.min(dest.len());
    let shares = dest[low..].chunks_mut(share).enumerate();
    threads::share(shares, many, |(number, dest)| {
        crop.write(&parts, source, low + number * share, dest, of_a_box);
    });
    missing
}

pub(super) fn explain(walk: &Walk, threads: Threads) -> String {
    let crop = Crop::<i32>::new(walk, Policy::default(), &[]);
    let how = match crop.first() {
        Some(walk) => StoreRows::of(&walk).how(),
        None => "zeros".into(),
    };
    threads::explain(crop.threads(threads), how)
}

/// The elements of a box that have a source, in one cropped dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the elements are in reverse order.
    pub(super) flipped: bool,
}

/// Finds the part that has a source, for a box that begins at `begin` in a dimension of `size` positions. Also returns the
/// position in x of its first element.
pub(super) fn inside(
    along: Along,
    begin: i64,
    size: usize,
    flipped: bool,
    clamps: bool,
) -> (Inside, usize) {
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
    let (from, to) = (position(from), position(to));
    (Inside { from, to, flipped }, position(begin + first * step))
}

/// The number in a coordinate's column of a tuple.
pub(super) fn number<I: Index>(tuple: &[I], coordinate: &Coordinate) -> I {
    match coordinate.begin {
        Begin::Column(column) => tuple[column],
        Begin::At(_) => unreachable!("a box begins where its tuple says"),
    }
}

pub(super) fn is_flipped<I: Index>(tuple: &[I], along: Along) -> bool {
    along.flip.is_some_and(|flip| tuple[flip].into() != 0)
}

struct Crop<'a, I> {
    walk: &'a Walk,
    clamps: bool,
    indices: &'a [I],
    /// The item of a box. `None` if box n lies in item n.
    item: Option<&'a Coordinate>,
    /// The unit of x at which item 0 begins.
    base: usize,
    /// The distance in units between the items of neighbouring boxes. 0 if tuples name the items.
    items: isize,
    /// The cropped dimensions in x, and how boxes extend along them.
    cropped: &'a [Coordinate],
    /// The dimensions of a box: the cropped ones, and those of x inside of them.
    dims: &'a [Dim],
    /// The size of a box in bytes.
    bytes: usize,
}

/// Where a box, or a part of it, lies in x.
struct Place {
    /// The unit of x at which the first element that lies inside is. `None` if the box's item does not exist.
    at: Option<usize>,
    /// For each cropped dimension, the part that has a source.
    inside: Vec<Inside>,
}

/// The parts of boxes that lie inside, in the order of the boxes.
#[derive(Default)]
struct Parts {
    /// What lies inside, each different from the one before.
    inside: Vec<Vec<Inside>>,
    /// For each part the number of its box, the unit of x at which its first element is, and its number in `inside`.
    all: Vec<(usize, usize, usize)>,
}

impl Parts {
    /// Adds a part of box `n`, unless it is empty or its item does not exist.
    fn add(&mut self, n: usize, Place { at, inside }: Place) {
        let is_empty = inside.iter().any(|part| part.from >= part.to);
        if let Some(at) = at.filter(|_| !is_empty) {
            if self.inside.last() != Some(&inside) {
                self.inside.push(inside);
            }
            self.all.push((n, at, self.inside.len() - 1));
        }
    }
}

impl<'a, I: Index> Crop<'a, I> {
    fn new(walk: &'a Walk, policy: Policy, indices: &'a [I]) -> Self {
        let items = walk.coordinates.iter().take_while(|c| c.along.is_none());
        let (item, cropped) = walk.coordinates.split_at(items.count());
        // A single box has no dimension of its own.
        let (items, dims) = match walk.dims[0] {
            dim if dim.tuple > 0 => (dim, &walk.dims[1..]),
            _ => (Dim::shared(1, 0), &walk.dims[..]),
        };
        let (base, items) = match walk.points {
            Side::Source => (walk.from, items.from),
            Side::Dest => (walk.to, items.to),
        };
        Self {
            walk,
            clamps: policy.clamps(),
            indices,
            item: item.first(),
            base: base.cast_unsigned(),
            items,
            cropped,
            dims,
            bytes: dims.iter().map(|dim| dim.size).product::<usize>() * walk.unit,
        }
    }

    /// The tuple of box `n`, and the unit of x at which its item begins. `None` if there is no such item.
    fn item(&self, n: usize) -> (&[I], Option<usize>) {
        let depth = self.walk.columns;
        let tuple = &self.indices[n * depth..][..depth];
        let at = match self.item {
            Some(item) => {
                let index = number(tuple, item).within(item.size, false, self.clamps);
                index.map(|index| along(self.base, item.stride, index))
            }
            None => Some(along(self.base, self.items, n)),
        };
        (tuple, at)
    }

    /// Finds where box `n` lies.
    fn locate(&self, n: usize) -> Place {
        let (tuple, mut at) = self.item(n);
        let parts = self.cropped.iter().filter_map(|coordinate| {
            let Coordinate { size, stride, .. } = *coordinate;
            let extends = coordinate.along?;
            let begin = number(tuple, coordinate).into();
            let (inside, first) = inside(
                extends,
                begin,
                size,
                is_flipped(tuple, extends),
                self.clamps,
            );
            at = at.map(|at| along(at, stride, first));
            Some(inside)
        });
        let inside = parts.collect();
        Place { at, inside }
    }

    /// Finds where the parts of circular box `n` lie. There is one, unless it goes on at the other end of a dimension.
    fn places(&self, n: usize) -> Vec<Place> {
        let (tuple, at) = self.item(n);
        let inside = Vec::new();
        let mut places = vec![Place { at, inside }];
        for coordinate in self.cropped {
            let (Some(extends), Ok(size)) = (coordinate.along, i64::try_from(coordinate.size))
            else {
                continue;
            };
            let begin = number(tuple, coordinate).into().rem_euclid(size.max(1));
            let begins = [begin, begin - size * extends.step.signum() as i64];
            let flipped = is_flipped(tuple, extends);
            let parts =
                begins.map(|begin| self::inside(extends, begin, coordinate.size, flipped, false));
            let parts = parts.into_iter().filter(|(part, _)| part.from < part.to);
            let each = |(part, first): (Inside, usize)| {
                places.iter().map(move |place| Place {
                    at: place.at.map(|at| along(at, coordinate.stride, first)),
                    inside: place.inside.iter().copied().chain([part]).collect(),
                })
            };
            places = parts.flat_map(each).collect();
        }
        places
    }

    /// Whether all elements of a box have a source.
    fn is_whole(&self, place: &Place) -> bool {
        let sizes = self.dims.iter().map(|dim| dim.size);
        place.at.is_some()
            && sizes
                .zip(&place.inside)
                .all(|(size, part)| part.to - part.from == size)
    }

    /// The walk between the part of a box that lies inside of x, and the box: to the box in a crop, to x in a paste. In x,
    /// unit 0 is the part's first. In a paste, dimensions that run backwards in x are turned. `None` if the part is empty.
    fn part(&self, inside: &[Inside]) -> Option<Walk> {
        let mut walk = Walk::strided(self.walk.unit, 0, 0, self.dims.to_vec());
        let Walk { dims, from, to, .. } = &mut walk;
        for ((dim, coordinate), part) in dims.iter_mut().zip(self.cropped).zip(inside) {
            let step = coordinate.along?.step;
            dim.size = part.to.checked_sub(part.from).filter(|&size| size > 0)?;
            let (begin, of_box, of_x) = match self.walk.points {
                Side::Source => (&mut *to, dim.to, &mut dim.from),
                Side::Dest => (&mut *from, dim.from, &mut dim.to),
            };
            *begin += part.from.cast_signed() * of_box;
            // A step to the only element, which may be larger than x, is not used.
            if dim.size > 1 {
                *of_x = coordinate.stride * if part.flipped { -step } else { step };
            }
        }
        if self.walk.points == Side::Dest {
            dims.sort_by_key(|dim| Reverse(dim.to.unsigned_abs()));
            walk.turn();
        }
        walk.merge();
        Some(walk)
    }

    /// The lowest byte of x, and the distance in bytes between its items. If items do not follow each other, they are
    /// one.
    fn items(&self) -> (usize, usize) {
        let reach = |size: usize, stride: isize| (size.cast_signed() - 1) * stride;
        let cropped = self.cropped.iter().map(|c| reach(c.size, c.stride));
        let kept = self.dims[self.cropped.len()..].iter();
        let kept = kept.map(|dim| reach(dim.size, dim.to));
        let (below, above) = cropped.chain(kept).fold((0, 0), |(below, above), reach| {
            (below + reach.min(0), above + reach.max(0))
        });
        let apart = self.item.map_or(self.items, |item| item.stride);
        let unit = self.walk.unit;
        match apart > above - below {
            true => {
                let low = self.base.wrapping_add_signed(below);
                (low * unit, apart.cast_unsigned() * unit)
            }
            false => (0, usize::MAX),
        }
    }

    /// Writes those `parts` of boxes to `dest` that lie in it, each with so many threads. `dest` begins at byte `first` of
    /// x.
    fn write(&self, parts: &Parts, source: &[u8], first: usize, dest: &mut [u8], threads: Threads) {
        let unit = self.walk.unit;
        let end = dest.len();
        let here = |at: usize| (at * unit).wrapping_sub(first) < end;
        let apart = match self.walk.dims[0] {
            dim if dim.tuple > 0 => dim.from,
            _ => 0,
        };
        for alike in parts.all.chunk_by(|(.., a), (.., b)| a == b) {
            let Some(mut walk) = self.part(&parts.inside[alike[0].2]) else {
                continue;
            };
            // The part's first unit in the box, and the distance from it to the part's lowest unit in x.
            let (from, to) = (mem::take(&mut walk.from), mem::take(&mut walk.to));
            let rows = StoreRows::of(&walk);
            let from = (self.walk.from + from).cast_unsigned();
            for &(n, at, _) in alike.iter().filter(|&&(_, at, _)| here(at)) {
                let lowest = at.wrapping_add_signed(to) * unit - first;
                rows.write::<false>(source, along(from, apart, n), &mut dest[lowest..], threads);
            }
        }
    }

    /// The walk of a box that begins at an end of every cropped dimension.
    fn first(&self) -> Option<Walk> {
        let parts = self
            .cropped
            .iter()
            .filter_map(|&Coordinate { size, along, .. }| {
                let end = if along?.step < 0 { size as i64 - 1 } else { 0 };
                Some(inside(along?, end, size, false, false).0)
            });
        self.part(&parts.collect::<Vec<_>>())
    }

    /// How many threads crop.
    fn threads(&self, threads: Threads) -> usize {
        let bytes = self.walk.bytes();
        let pieces = self.first().map_or(0, |walk| StoreRows::of(&walk).pieces());
        let work = (bytes / self.bytes).saturating_mul(BOX_NS + pieces);
        threads.worth(bytes, work)
    }

    /// Writes boxes `n`, `n + 1`, … to `dest`, each with so many threads. Counts those that reach outside of x or name an
    /// item that does not exist.
    fn boxes(&self, source: &[u8], n: usize, dest: &mut [u8], threads: Threads) -> Missing {
        let mut missing = Missing::default();
        let boxes = (n..).zip(dest.chunks_exact_mut(self.bytes));
        let mut boxes = boxes.map(|(n, dest)| (n, self.locate(n), dest)).peekable();
        while let Some((_, Place { inside, .. }, _)) = boxes.peek() {
            let inside = inside.clone();
            let walk = self.part(&inside);
            let rows = walk.as_ref().map(StoreRows::of);
            while let Some((n, place, dest)) = boxes.next_if(|(_, place, _)| place.inside == inside)
            {
                if !self.is_whole(&place) {
                    missing.add(n);
                }
                match (place.at, &rows) {
                    (Some(from), Some(rows)) => rows.write::<true>(source, from, dest, threads),
                    _ => dest.fill(0),
                }
            }
        }
        missing
    }
}
