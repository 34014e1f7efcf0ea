//! Where the groups of a walk are, in the array that its index tuples point into: the one place that reads tuples.
//!
//! A group has all units of the inner dimensions of a walk; the outer dimensions number the groups. For many groups at a
//! time, [`Locator::find`] writes the byte at which each begins and, if boxes are cropped, which part of it is inside,
//! and counts the tuples that are out of range. Another loop then moves the groups. So both keep many reads of scattered
//! memory in flight.

use super::{
    odometer::Odometer,
    outer::Chosen,
    rows::{Axis, along},
};
use crate::prelude::*;
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Along, Begin, Coordinate, Dim, Side, Walk},
};

/// Stands for the place of a group that is nowhere. No group begins at this byte, because no array is this long.
pub(super) const NOWHERE: usize = usize::MAX;

/// The largest number of tuples whose places are kept while groups repeat them, in 512 KiB.
const KEPT: usize = 1 << 16;

/// About how many nanoseconds it takes to find where a box is.
pub(super) const BOX_NS: usize = 50;

/// The positions of a cropped dimension that are inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clip {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the elements are in reverse order.
    pub(super) flipped: bool,
}

/// Some groups. Circular boxes may be in several places; every other group has one.
#[derive(Debug, Default)]
pub(super) struct Located {
    /// The byte at which each begins, or where its first element that is inside is. [`NOWHERE`] if nothing is.
    pub(super) places: Vec<usize>,
    /// If boxes are cropped: the number of each group, and which of `clips` it has.
    pub(super) boxes: Vec<(usize, usize)>,
    /// The different clips of the groups. Each has one [`Clip`] for each cropped dimension.
    pub(super) clips: Vec<Clip>,
}

impl Located {
    /// The number of the last of the different clips, of so many dimensions each.
    fn last_clip(&self, dims: usize) -> usize {
        let clips = self.clips.len().checked_div(dims);
        clips.map_or(0, |count| count - 1)
    }
}

/// Where the box of a tuple is.
#[derive(Default)]
struct Boxed {
    places: Vec<usize>,
    /// For each place, one for each cropped dimension.
    clips: Vec<Clip>,
    trail: Vec<Clip>,
    whole: bool,
}

/// The tuples of a walk, and the dimensions that number its groups.
pub(super) struct Locator<'a, I> {
    walk: &'a Walk,
    policy: Policy,
    indices: &'a [I],
    /// The byte at which every group would begin if all positions were 0.
    base: usize,
    /// The dimensions that number groups: the innermost, whose positions each have a tuple in a gather, and the others.
    inner: Dim,
    outer: &'a [Dim],
    numbering: &'a [Dim],
    /// Whether groups share tuples.
    repeats: bool,
    /// The coordinates at which groups begin, those along which boxes extend, and those of them within a group.
    plain: &'a [Coordinate],
    cropped: &'a [Coordinate],
    within: &'a [Coordinate],
}

/// The number of outer dimensions of a walk, such that all units of a group share a tuple.
pub(super) fn numbered(walk: &Walk) -> usize {
    let shared = walk.dims.iter().rev().take_while(|dim| dim.tuple == 0);
    walk.dims.len() - shared.count()
}

impl<'a, I: Index> Locator<'a, I> {
    /// The first `outer` dimensions of the walk number groups.
    pub(super) fn new(walk: &'a Walk, policy: Policy, indices: &'a [I], outer: usize) -> Self {
        let numbering = &walk.dims[..outer];
        let (inner, outer) = match numbering.split_last() {
            Some((&inner, outer)) => (inner, outer),
            None => (Dim::shared(1, 0), numbering),
        };
        let first = match walk.points {
            Side::Source => walk.from,
            Side::Dest => walk.to,
        };
        let plain = walk.coordinates.iter().take_while(|c| c.along.is_none());
        let (plain, cropped) = walk.coordinates.split_at(plain.count());
        let is_outer = |c: &&Coordinate| c.along.is_some_and(|along| along.dim < numbering.len());
        let within = &cropped[cropped.iter().take_while(is_outer).count()..];
        let repeats = inner.tuple == 0 || outer.iter().any(|dim| dim.tuple == 0);
        Self {
            walk,
            policy,
            indices,
            base: first.cast_unsigned() * walk.unit,
            inner,
            outer,
            numbering,
            repeats,
            plain,
            cropped,
            within,
        }
    }

    pub(super) fn is_cropped(&self) -> bool {
        !self.cropped.is_empty()
    }

    /// The distance between neighbours along a dimension, in units, without what their tuples add.
    fn stride(&self, dim: &Dim) -> isize {
        dim.stride(self.walk.points)
    }

    /// Finds `count` groups from number `first` on. Adds their tuples that are out of range to `missing`: only those of groups
    /// from number `counted` on, and only where no earlier group has the same tuple.
    pub(super) fn find(
        &self,
        (first, count): (usize, usize),
        counted: usize,
        found: &mut Located,
        missing: &mut Missing,
    ) {
        if !self.cropped.is_empty() {
            return self.boxes((first, count), counted, found, missing);
        }
        found.places.resize(count, NOWHERE);
        self.points(first, &mut found.places);
        self.count(first, counted, &found.places, missing);
    }

    /// Adds the tuples that are out of range to `missing`, given the places of groups `first`, `first + 1`, …
    pub(super) fn count(
        &self,
        first: usize,
        counted: usize,
        places: &[usize],
        missing: &mut Missing,
    ) {
        if places.contains(&NOWHERE) {
            let lost = (first..).zip(places);
            let lost = lost.filter(|&(n, &place)| place == NOWHERE && n >= counted);
            lost.filter_map(|(n, _)| self.tuple(n))
                .for_each(|tuple| missing.add(tuple));
        }
    }

    /// Writes the places of groups `first`, `first + 1`, … of a walk without boxes.
    pub(super) fn points(&self, first: usize, places: &mut [usize]) {
        let stays = |dim: &Dim| self.stride(dim) == 0;
        if !self.repeats {
            self.read(first, places);
            if stays(&self.inner) && self.outer.iter().all(stays) {
                return;
            }
        }
        let (outer, mut digit) = (first / self.inner.size, first % self.inner.size);
        let unit = self.walk.unit.cast_signed();
        let step = self.stride(&self.inner) * unit;
        let mut rest = places;
        let begins = Odometer::at(self.outer, |dim| self.stride(dim) * unit, outer);
        let tuples = Odometer::at(self.outer, |dim| dim.tuple.cast_signed(), outer);
        for (mut begin, tuple) in begins.zip(tuples) {
            let part;
            (part, rest) = rest.split_at_mut((self.inner.size - digit).min(rest.len()));
            if self.inner.tuple == 0 {
                let mut place = [0];
                self.read(tuple, &mut place);
                part.fill(place[0]);
            } else if self.repeats {
                self.read(tuple + digit, part);
            }
            begin = along(begin, step, digit);
            for place in part {
                if *place != NOWHERE {
                    *place = place.wrapping_add(begin);
                }
                begin = begin.wrapping_add_signed(step);
            }
            digit = 0;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// The number of the tuple of this group. `None` if an earlier group has the same tuple.
    fn tuple(&self, mut group: usize) -> Option<usize> {
        if !self.repeats {
            return Some(group);
        }
        let mut tuple = 0;
        for dim in self.numbering.iter().rev() {
            let digit = group % dim.size;
            if dim.tuple == 0 && digit > 0 {
                return None;
            }
            tuple += digit * dim.tuple;
            group /= dim.size;
        }
        Some(tuple)
    }

    /// Writes to `places` where each of the tuples `first`, `first + 1`, … points: the byte at its position in the indexed
    /// dimensions and at position 0 of all others, or [`NOWHERE`] if the tuple is out of range.
    fn read(&self, first: usize, places: &mut [usize]) {
        let tuples = &self.indices[first * self.walk.columns..][..places.len() * self.walk.columns];
        match (self.policy.wraps(), self.policy.clamps()) {
            (false, false) => self.read_as::<false, false>(tuples, places),
            (false, true) => self.read_as::<false, true>(tuples, places),
            (true, false) => self.read_as::<true, false>(tuples, places),
            (true, true) => self.read_as::<true, true>(tuples, places),
        }
    }

    fn read_as<const WRAPS: bool, const CLAMPS: bool>(&self, tuples: &[I], places: &mut [usize]) {
        match self.plain {
            [a] => self.read_all::<1, WRAPS, CLAMPS>([a], tuples, places),
            [a, b] => self.read_all::<2, WRAPS, CLAMPS>([a, b], tuples, places),
            [a, b, c] => self.read_all::<3, WRAPS, CLAMPS>([a, b, c], tuples, places),
            many => {
                for (i, place) in places.iter_mut().enumerate() {
                    let axes = many.iter().map(|axis| self.indexed(axis));
                    *place = self.read_one::<WRAPS, CLAMPS>(axes, &tuples[i * many.len()..]);
                }
            }
        }
    }

    /// Does the work of [`Self::read`] for tuples of `D` integers.
    fn read_all<const D: usize, const WRAPS: bool, const CLAMPS: bool>(
        &self,
        coordinates: [&Coordinate; D],
        tuples: &[I],
        places: &mut [usize],
    ) {
        let axes = coordinates.map(|axis| self.indexed(axis));
        for (tuple, place) in tuples.as_chunks::<D>().0.iter().zip(places) {
            *place = self.read_one::<WRAPS, CLAMPS>(axes, tuple);
        }
    }

    /// Computes one place for [`Self::read`]. Strides can be negative, so a partial sum can be outside the array and
    /// wrap around. The complete sum is inside.
    #[inline(always)]
    fn read_one<const WRAPS: bool, const CLAMPS: bool>(
        &self,
        axes: impl IntoIterator<Item = Axis>,
        tuple: &[I],
    ) -> usize {
        let mut place = self.base;
        for (axis, index) in axes.into_iter().zip(tuple) {
            match index.within(axis.size, WRAPS, CLAMPS) {
                Some(index) => place = along(place, axis.stride, index),
                None => return NOWHERE,
            }
        }
        place
    }

    /// An indexed dimension, in bytes.
    fn indexed(&self, &Coordinate { size, stride, .. }: &Coordinate) -> Axis {
        let stride = stride.wrapping_mul(self.walk.unit.cast_signed());
        Axis { size, stride }
    }

    /// Does the work of [`Self::find`] for boxes, also of no cropped dimension.
    pub(super) fn boxes(
        &self,
        (first, count): (usize, usize),
        counted: usize,
        found: &mut Located,
        missing: &mut Missing,
    ) {
        let unit = self.walk.unit.cast_signed();
        found.places.clear();
        found.boxes.clear();
        found.clips.clear();
        let begins = Odometer::at(self.numbering, |dim| self.stride(dim) * unit, first);
        let tuples = Odometer::at(self.numbering, |dim| dim.tuple.cast_signed(), first);
        let (mut now, mut last) = (Boxed::default(), usize::MAX);
        let (whole, mut whole_is_last) = (self.whole(), false);
        let all_within = self.within.len() == self.cropped.len();
        for (n, (begin, tuple)) in (first..first + count).zip(begins.zip(tuples)) {
            let numbers = &self.indices[tuple * self.walk.columns..][..self.walk.columns];
            // Most boxes are inside, and most groups are whole boxes.
            if all_within && let Some(place) = self.inside(numbers) {
                if !whole_is_last {
                    found.clips.extend(&whole);
                    whole_is_last = true;
                }
                let clip = found.last_clip(whole.len());
                found.places.push(place.wrapping_add(begin));
                found.boxes.push((n, clip));
                continue;
            }
            whole_is_last = false;
            if tuple != last {
                now.places.clear();
                now.clips.clear();
                now.whole = self.extend(numbers, &mut now);
                last = tuple;
            }
            if !now.whole
                && n >= counted
                && let Some(tuple) = self.tuple(n)
            {
                missing.add(tuple);
            }
            let places = found.places.len();
            for (number, &place) in now.places.iter().enumerate() {
                let clips = &now.clips[number * self.cropped.len()..][..self.cropped.len()];
                self.add(place.wrapping_add(begin), clips, n, found);
            }
            if places == found.places.len() {
                found.places.push(NOWHERE);
                found.boxes.push((n, usize::MAX));
            }
        }
    }

    /// The place of the box that these numbers name, if all of it is inside where it begins, in the direction of its steps.
    /// `None` says nothing about the box.
    #[inline(always)]
    fn inside(&self, numbers: &[I]) -> Option<usize> {
        let mut place = self.base;
        for coordinate in self.plain {
            let axis = self.indexed(coordinate);
            let index = number(numbers, coordinate).within(axis.size, false, false)?;
            place = along(place, axis.stride, index);
        }
        for coordinate in self.cropped {
            let (axis, extends) = (self.indexed(coordinate), coordinate.along?);
            let at = number(numbers, coordinate).within(axis.size, false, false)?;
            let room = match extends.step < 0 {
                true => at,
                false => axis.size - 1 - at,
            };
            let reach = (extends.extent - 1).saturating_mul(extends.step.unsigned_abs());
            if reach > room || extends.flip.is_some_and(|flip| numbers[flip].into() != 0) {
                return None;
            }
            place = along(place, axis.stride, at);
        }
        Some(place)
    }

    /// Adds the places of the box that these numbers name: several, if it is circular. Returns whether all of it is inside.
    fn extend(&self, numbers: &[I], boxed: &mut Boxed) -> bool {
        let (mut place, clamps) = (self.base, self.policy.clamps());
        for coordinate in self.plain {
            let axis = self.indexed(coordinate);
            match number(numbers, coordinate).within(axis.size, self.policy.wraps(), clamps) {
                Some(index) => place = along(place, axis.stride, index),
                None => return false,
            }
        }
        self.part(numbers, place, boxed)
    }

    /// Adds the parts of a box, given the clips of the first cropped dimensions in the trail.
    fn part(&self, numbers: &[I], place: usize, boxed: &mut Boxed) -> bool {
        let coordinate = self.cropped.get(boxed.trail.len());
        let Some((coordinate, extends)) = coordinate.and_then(|c| Some((c, c.along?))) else {
            boxed.places.push(place);
            boxed.clips.extend(&boxed.trail);
            return true;
        };
        let begin: i64 = number(numbers, coordinate).into();
        let flipped = extends.flip.is_some_and(|flip| numbers[flip].into() != 0);
        let stride = self.indexed(coordinate).stride;
        let mut one = |begin, clamps| {
            let (clip, position) = clip(extends, begin, coordinate.size, flipped, clamps);
            if clip.from >= clip.to {
                return false;
            }
            boxed.trail.push(clip);
            let whole = self.part(numbers, along(place, stride, position), boxed);
            boxed.trail.pop();
            whole && clip.to - clip.from == extends.extent
        };
        if !self.policy.circular {
            return one(begin, self.policy.clamps());
        }
        let size = coordinate.size.cast_signed() as i64;
        let begin = begin.rem_euclid(size.max(1));
        one(begin, false);
        one(begin - size * extends.step.signum() as i64, false);
        true
    }

    /// Adds a place of a group, whose outer positions may be outside a box.
    fn add(&self, mut place: usize, clips: &[Clip], n: usize, found: &mut Located) {
        let (outer, within) = clips.split_at(self.cropped.len() - self.within.len());
        for (coordinate, clip) in self.cropped.iter().zip(outer) {
            let Some(extends) = coordinate.along else {
                continue;
            };
            let inside = self.numbering[extends.dim + 1..].iter().map(|dim| dim.size);
            let digit = n / inside.product::<usize>() % self.numbering[extends.dim].size;
            if digit < clip.from || digit >= clip.to {
                return;
            }
            place = along(
                place,
                step(coordinate, clip) * self.walk.unit.cast_signed(),
                digit - clip.from,
            );
        }
        let all = within.len();
        if found.clips.len() < all || found.clips[found.clips.len() - all..] != *within {
            found.clips.extend(within);
        }
        found.places.push(place);
        found.boxes.push((n, found.last_clip(all)));
    }

    /// The walk of the part of a group that is inside, from its first element there. Unit 0 is the first of the part on
    /// the side of the tuples, and of the whole group on the other side.
    pub(super) fn clipped(&self, clips: &[Clip]) -> Walk {
        let dims = self.walk.dims[self.numbering.len()..].to_vec();
        let mut walk = Walk::strided(self.walk.unit, 0, 0, dims);
        for (coordinate, clip) in self.within.iter().zip(clips) {
            let Some(extends) = coordinate.along else {
                continue;
            };
            let dim = &mut walk.dims[extends.dim - self.numbering.len()];
            dim.size = clip.to - clip.from;
            let (begin, of_box, of_x) = match self.walk.points {
                Side::Source => (&mut walk.to, dim.to, &mut dim.from),
                Side::Dest => (&mut walk.from, dim.from, &mut dim.to),
            };
            *begin += clip.from.cast_signed() * of_box;
            // With a single element there is no neighbour to step to, and the step may be larger than x.
            if dim.size > 1 {
                *of_x = step(coordinate, clip);
            }
        }
        walk
    }

    /// The places of all groups as sums of one offset for each dimension that numbers them; the innermost are listed. `None`
    /// unless groups share a few tuples, all in range.
    pub(super) fn as_sums(&self) -> Option<Vec<Chosen>> {
        let repeats = self.repeats && self.outer.iter().all(|dim| dim.tuple == 0);
        if !repeats || self.inner.size > KEPT || self.is_cropped() {
            return None;
        }
        let mut list = vec![0; self.inner.size];
        self.points(0, &mut list);
        if list.contains(&NOWHERE) {
            return None;
        }
        let outer = self.outer.iter();
        let outer = outer.map(|dim| Chosen::All(Axis::of(self.walk.unit, dim)));
        Some(outer.chain([Chosen::Listed(list)]).collect())
    }

    /// The clips with this number.
    pub(super) fn clips<'f>(&self, found: &'f Located, clip: usize) -> &'f [Clip] {
        &found.clips[clip * self.within.len()..][..self.within.len()]
    }

    /// The clips of groups of a box that is inside.
    pub(super) fn whole(&self) -> Vec<Clip> {
        let extends = self.within.iter().filter_map(|c| c.along);
        let whole = extends.map(|along| Clip {
            from: 0,
            to: along.extent,
            flipped: false,
        });
        whole.collect()
    }

    /// The lowest and the highest distance of a group's units from its place, in units, wherever it is inside.
    pub(super) fn reach(&self) -> (isize, isize) {
        let reach = |size: usize, stride: isize| (size.cast_signed() - 1) * stride;
        let cropped = self.cropped.iter().map(|c| reach(c.size, c.stride));
        let d = self.numbering.len();
        let free = (d..self.walk.dims.len()).filter(|&d| !self.walk.is_cropped(d));
        let free = free.map(|d| reach(self.walk.dims[d].size, self.stride(&self.walk.dims[d])));
        cropped.chain(free).fold((0, 0), |(low, high), reach| {
            (low + reach.min(0), high + reach.max(0))
        })
    }
}

/// The distance between neighbours of a box, in units.
pub(super) fn step(coordinate: &Coordinate, clip: &Clip) -> isize {
    let step = coordinate.along.map_or(0, |along| along.step);
    coordinate.stride.wrapping_mul(if clip.flipped {
        step.wrapping_neg()
    } else {
        step
    })
}

/// The number in a coordinate's column of a tuple.
fn number<I: Index>(tuple: &[I], coordinate: &Coordinate) -> I {
    match coordinate.begin {
        Begin::Column(column) => tuple[column],
        Begin::At(_) => unreachable!("a box begins where its tuple says"),
    }
}

/// The part of a box that is inside, along a dimension of `size` positions, if it begins at `begin`, and the position of its
/// first element.
fn clip(along: Along, begin: i64, size: usize, flipped: bool, clamps: bool) -> (Clip, usize) {
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
    // The distances, in the direction of the step, from the box's begin to the first position of x and to the position just
    // beyond the last. With a negative step, the first position is the highest.
    let (before, after) = match step < 0 {
        true => (begin - (end - 1), begin + 1),
        false => (-begin, end - begin),
    };
    // Most boxes are inside, and need no division.
    let elements = |distance: i128| match distance {
        ..=0 => 0,
        _ if distance > reach => extent,
        _ => (distance + step.abs() - 1) / step.abs(),
    };
    let from = elements(before);
    let to = elements(after).max(from);
    let (first, from, to) = match flipped {
        false => (from, from, to),
        true => (to - 1, extent - to, extent - from),
    };
    let position = |value: i128| usize::try_from(value).unwrap_or_default();
    let (from, to) = (position(from), position(to));
    (Clip { from, to, flipped }, position(begin + first * step))
}
