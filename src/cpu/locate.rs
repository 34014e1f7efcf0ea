//! Reads index tuples and finds the place of each group of a walk in the array that the tuples point into. A group's
//! place is the offset in bytes of its start in this array. No other file reads tuples, except `mask.rs`.
//!
//! A group has all units of the inner dimensions of a walk. The outer dimensions number the groups.
//! [`Locator::find_groups`] finds the places of many groups at a time. In crops and pastes, the units of a group form a
//! box, which can extend beyond the array; the function also finds the part of each box that is inside the array. It
//! counts the tuples that are out of range. Another loop then moves the groups. Because each loop does one kind of
//! work, the processor can have many reads of scattered memory in flight.

use super::{
    odometer::Odometer,
    outer::ChosenPositions,
    rows::{Axis, along},
};
use crate::prelude::*;
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{BoxExtent, Coordinate, Dim, Side, StartIndex, Walk},
};

/// The place of a group that has no unit inside the array. No group begins at this offset, because no array is this
/// long.
pub(super) const NOWHERE: usize = usize::MAX;

/// The largest number of tuples whose places are kept in memory if several groups share each tuple. The places of this
/// many tuples need 512 KiB.
const MAX_KEPT_TUPLES: usize = 1 << 16;

/// The approximate time in nanoseconds to find the place of a box.
pub(super) const BOX_NS: usize = 50;

/// The range of positions of a box, along one dimension, that are inside the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clip {
    pub(super) begin: usize,
    pub(super) end: usize,
    /// True if the box's elements are in reverse order.
    pub(super) is_flipped: bool,
}

/// The places of some groups. A circular box, which wraps around the edges of the array, can have several places. Every
/// other group has one place.
#[derive(Debug, Default)]
pub(super) struct Located {
    /// For each place, the offset in bytes of the group's first element or, if this element is outside the array, of
    /// its first element inside the array. [`NOWHERE`] if the group has no element inside the array.
    pub(super) places: Vec<usize>,
    /// For boxes, an entry for each place: the number of the group, and the number of its set of clips in `clips`, or
    /// `usize::MAX` if the place is [`NOWHERE`].
    pub(super) box_numbers: Vec<(usize, usize)>,
    /// Sets of clips. Consecutive places with equal clips share a set. A set has one [`Clip`] for each dimension of
    /// [`Locator::inner_box_coordinates`].
    pub(super) clips: Vec<Clip>,
}

impl Located {
    /// Returns the number of the last set of clips. A set has one clip for each of `dims` dimensions.
    fn last_clip_set(&self, dims: usize) -> usize {
        let set_count = self.clips.len().checked_div(dims);
        set_count.map_or(0, |count| count - 1)
    }
}

/// The places of a tuple's box.
#[derive(Default)]
struct LocatedBox {
    places: Vec<usize>,
    /// For each place, one clip for each cropped dimension.
    clips: Vec<Clip>,
    /// While places are added, the clips of the cropped dimensions that are already clipped.
    clips_so_far: Vec<Clip>,
    /// True if the whole box is inside the array: the result of [`Locator::add_box`].
    is_whole: bool,
}

/// The index tuples of a walk, and the dimensions that number its groups.
pub(super) struct Locator<'a, I> {
    walk: &'a Walk,
    policy: Policy,
    indices: &'a [I],
    /// The offset in bytes at which every group would begin if all digits and positions were 0.
    base: usize,
    /// The innermost dimension of `numbering`. In a gather, each of its positions has its own tuple.
    inner: Dim,
    /// The other dimensions of `numbering`.
    outer: &'a [Dim],
    /// The dimensions that number groups, outermost first.
    numbering: &'a [Dim],
    /// True if several groups have the same tuple.
    shares_tuples: bool,
    /// The coordinates that select a single position in their dimension.
    plain_coordinates: &'a [Coordinate],
    /// The coordinates of the dimensions along which a box extends.
    box_coordinates: &'a [Coordinate],
    /// The coordinates of `box_coordinates` that extend along an inner dimension of the walk, within a group.
    inner_box_coordinates: &'a [Coordinate],
}

/// Returns the smallest number of outer dimensions that can number the groups if all units of a group share a tuple.
pub(super) fn numbering_dims(walk: &Walk) -> usize {
    let shared_dims = walk.dims.iter().rev().take_while(|dim| dim.tuple == 0);
    walk.dims.len() - shared_dims.count()
}

impl<'a, I: Index> Locator<'a, I> {
    /// Makes a locator. The first `outer_dims` dimensions of the walk number the groups.
    pub(super) fn new(walk: &'a Walk, policy: Policy, indices: &'a [I], outer_dims: usize) -> Self {
        let numbering = &walk.dims[..outer_dims];
        let (inner, outer) = match numbering.split_last() {
            Some((&inner, outer)) => (inner, outer),
            None => (Dim::shared(1, 0), numbering),
        };
        let first_unit = match walk.points {
            Side::Source => walk.from,
            Side::Dest => walk.to,
        };
        let plain_coordinates = walk.coordinates.iter().take_while(|c| c.along.is_none());
        let (plain_coordinates, box_coordinates) =
            walk.coordinates.split_at(plain_coordinates.count());
        let is_outer = |c: &&Coordinate| {
            c.along
                .is_some_and(|box_extent| box_extent.dim < numbering.len())
        };
        let inner_box_coordinates =
            &box_coordinates[box_coordinates.iter().take_while(is_outer).count()..];
        let shares_tuples = inner.tuple == 0 || outer.iter().any(|dim| dim.tuple == 0);
        Self {
            walk,
            policy,
            indices,
            base: first_unit.cast_unsigned() * walk.unit,
            inner,
            outer,
            numbering,
            shares_tuples,
            plain_coordinates,
            box_coordinates,
            inner_box_coordinates,
        }
    }

    pub(super) fn is_cropped(&self) -> bool {
        !self.box_coordinates.is_empty()
    }

    /// Returns the distance in units, in the array that tuples point into, between neighbouring positions along `dim`
    /// if their tuples are equal.
    fn stride(&self, dim: &Dim) -> isize {
        dim.stride(self.walk.points)
    }

    /// Finds the places of `count` groups from number `first` on. Adds tuples that are out of range to `missing`.
    /// Does not add tuples of groups before number `first_counted`, and adds a tuple of several groups only for the
    /// first group.
    pub(super) fn find_groups(
        &self,
        (first, count): (usize, usize),
        first_counted: usize,
        located: &mut Located,
        missing: &mut Missing,
    ) {
        if !self.box_coordinates.is_empty() {
            return self.find_boxes((first, count), first_counted, located, missing);
        }
        located.places.resize(count, NOWHERE);
        self.find_group_places(first, &mut located.places);
        self.count_missing(first, first_counted, &located.places, missing);
    }

    /// Adds the tuples that are out of range to `missing`. `places` has the places of groups `first`, `first + 1`, …
    /// See [`Self::find_groups`] for `first_counted`.
    pub(super) fn count_missing(
        &self,
        first: usize,
        first_counted: usize,
        places: &[usize],
        missing: &mut Missing,
    ) {
        if places.contains(&NOWHERE) {
            let missing_groups = (first..).zip(places);
            let missing_groups =
                missing_groups.filter(|&(n, &place)| place == NOWHERE && n >= first_counted);
            missing_groups
                .filter_map(|(n, _)| self.tuple_of_group(n))
                .for_each(|tuple| missing.add(tuple));
        }
    }

    /// Writes the places of groups `first`, `first + 1`, … of a walk without boxes.
    pub(super) fn find_group_places(&self, first: usize, places: &mut [usize]) {
        let has_zero_stride = |dim: &Dim| self.stride(dim) == 0;
        if !self.shares_tuples {
            self.read_tuples(first, places);
            if has_zero_stride(&self.inner) && self.outer.iter().all(has_zero_stride) {
                return;
            }
        }
        let (outer_number, mut digit) = (first / self.inner.size, first % self.inner.size);
        let unit = self.walk.unit.cast_signed();
        let step = self.stride(&self.inner) * unit;
        let mut unfilled = places;
        let begins = Odometer::at(self.outer, |dim| self.stride(dim) * unit, outer_number);
        let tuples = Odometer::at(self.outer, |dim| dim.tuple.cast_signed(), outer_number);
        for (mut begin, tuple) in begins.zip(tuples) {
            let part;
            (part, unfilled) = unfilled.split_at_mut((self.inner.size - digit).min(unfilled.len()));
            if self.inner.tuple == 0 {
                let mut first_place = [0];
                self.read_tuples(tuple, &mut first_place);
                part.fill(first_place[0]);
            } else if self.shares_tuples {
                self.read_tuples(tuple + digit, part);
            }
            begin = along(begin, step, digit);
            for place in part {
                if *place != NOWHERE {
                    *place = place.wrapping_add(begin);
                }
                begin = begin.wrapping_add_signed(step);
            }
            digit = 0;
            if unfilled.is_empty() {
                return;
            }
        }
    }

    /// Returns the number of this group's tuple, or `None` if an earlier group has the same tuple.
    fn tuple_of_group(&self, mut group: usize) -> Option<usize> {
        if !self.shares_tuples {
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

    /// Writes the places that tuples `first`, `first + 1`, … point at. Such a place is at the tuple's position in the
    /// indexed dimensions and at position 0 of all other dimensions. It is [`NOWHERE`] if the tuple is out of range.
    fn read_tuples(&self, first: usize, places: &mut [usize]) {
        let tuples = &self.indices[first * self.walk.columns..][..places.len() * self.walk.columns];
        match (self.policy.wraps(), self.policy.clamps()) {
            (false, false) => self.read_tuples_as::<false, false>(tuples, places),
            (false, true) => self.read_tuples_as::<false, true>(tuples, places),
            (true, false) => self.read_tuples_as::<true, false>(tuples, places),
            (true, true) => self.read_tuples_as::<true, true>(tuples, places),
        }
    }

    fn read_tuples_as<const WRAPS: bool, const CLAMPS: bool>(
        &self,
        tuples: &[I],
        places: &mut [usize],
    ) {
        match self.plain_coordinates {
            [a] => self.read_tuples_of::<1, WRAPS, CLAMPS>([a], tuples, places),
            [a, b] => self.read_tuples_of::<2, WRAPS, CLAMPS>([a, b], tuples, places),
            [a, b, c] => self.read_tuples_of::<3, WRAPS, CLAMPS>([a, b, c], tuples, places),
            coordinates => {
                for (i, place) in places.iter_mut().enumerate() {
                    let axes = coordinates.iter().map(|c| self.indexed_axis(c));
                    *place =
                        self.read_tuple::<WRAPS, CLAMPS>(axes, &tuples[i * coordinates.len()..]);
                }
            }
        }
    }

    /// Does the work of [`Self::read_tuples`] for tuples of `D` integers.
    fn read_tuples_of<const D: usize, const WRAPS: bool, const CLAMPS: bool>(
        &self,
        coordinates: [&Coordinate; D],
        tuples: &[I],
        places: &mut [usize],
    ) {
        let axes = coordinates.map(|c| self.indexed_axis(c));
        for (tuple, place) in tuples.as_chunks::<D>().0.iter().zip(places) {
            *place = self.read_tuple::<WRAPS, CLAMPS>(axes, tuple);
        }
    }

    /// Returns the place that one tuple points at. Strides can be negative, so a partial sum can be outside the array
    /// and wrap around. The complete sum is inside the array.
    #[inline(always)]
    fn read_tuple<const WRAPS: bool, const CLAMPS: bool>(
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

    /// Returns the size of an indexed dimension, and its stride in bytes.
    fn indexed_axis(&self, &Coordinate { size, stride, .. }: &Coordinate) -> Axis {
        let stride = stride.wrapping_mul(self.walk.unit.cast_signed());
        Axis { size, stride }
    }

    /// Does the work of [`Self::find_groups`] for boxes, even if no dimension is cropped.
    pub(super) fn find_boxes(
        &self,
        (first, count): (usize, usize),
        first_counted: usize,
        located: &mut Located,
        missing: &mut Missing,
    ) {
        let unit = self.walk.unit.cast_signed();
        located.places.clear();
        located.box_numbers.clear();
        located.clips.clear();
        let begins = Odometer::at(self.numbering, |dim| self.stride(dim) * unit, first);
        let tuples = Odometer::at(self.numbering, |dim| dim.tuple.cast_signed(), first);
        let (mut located_box, mut last_tuple) = (LocatedBox::default(), usize::MAX);
        let (whole_clips, mut last_clips_are_whole) = (self.whole_clips(), false);
        let groups_are_whole_boxes = self.inner_box_coordinates.len() == self.box_coordinates.len();
        for (n, (begin, tuple_number)) in (first..first + count).zip(begins.zip(tuples)) {
            let tuple = &self.indices[tuple_number * self.walk.columns..][..self.walk.columns];
            // Most boxes are inside the array, and most groups are whole boxes.
            if groups_are_whole_boxes && let Some(place) = self.place_if_inside(tuple) {
                if !last_clips_are_whole {
                    located.clips.extend(&whole_clips);
                    last_clips_are_whole = true;
                }
                let clip_set = located.last_clip_set(whole_clips.len());
                located.places.push(place.wrapping_add(begin));
                located.box_numbers.push((n, clip_set));
                continue;
            }
            last_clips_are_whole = false;
            if tuple_number != last_tuple {
                located_box.places.clear();
                located_box.clips.clear();
                located_box.is_whole = self.add_box(tuple, &mut located_box);
                last_tuple = tuple_number;
            }
            if !located_box.is_whole
                && n >= first_counted
                && let Some(tuple_number) = self.tuple_of_group(n)
            {
                missing.add(tuple_number);
            }
            let place_count = located.places.len();
            for (place_number, &place) in located_box.places.iter().enumerate() {
                let clips = &located_box.clips[place_number * self.box_coordinates.len()..]
                    [..self.box_coordinates.len()];
                self.add_place(place.wrapping_add(begin), clips, n, located);
            }
            if place_count == located.places.len() {
                located.places.push(NOWHERE);
                located.box_numbers.push((n, usize::MAX));
            }
        }
    }

    /// Returns the place of a box if the whole box is inside the array and is neither flipped nor moved by the policy.
    /// Otherwise returns `None`, even for some boxes inside the array. `tuple` is the box's tuple.
    #[inline(always)]
    fn place_if_inside(&self, tuple: &[I]) -> Option<usize> {
        let mut place = self.base;
        for coordinate in self.plain_coordinates {
            let axis = self.indexed_axis(coordinate);
            let index = integer_of(tuple, coordinate).within(axis.size, false, false)?;
            place = along(place, axis.stride, index);
        }
        for coordinate in self.box_coordinates {
            let (axis, box_extent) = (self.indexed_axis(coordinate), coordinate.along?);
            let begin = integer_of(tuple, coordinate).within(axis.size, false, false)?;
            let distance_to_edge = match box_extent.step < 0 {
                true => begin,
                false => axis.size - 1 - begin,
            };
            let box_reach = (box_extent.extent - 1).saturating_mul(box_extent.step.unsigned_abs());
            if box_reach > distance_to_edge
                || box_extent.flip.is_some_and(|flip| tuple[flip].into() != 0)
            {
                return None;
            }
            place = along(place, axis.stride, begin);
        }
        Some(place)
    }

    /// Adds the places of a box. A circular box can have several. `tuple` is the box's tuple. Returns whether the whole
    /// box is inside the array. Along cropped dimensions, a circular box always is.
    fn add_box(&self, tuple: &[I], located_box: &mut LocatedBox) -> bool {
        let (mut place, clamps) = (self.base, self.policy.clamps());
        for coordinate in self.plain_coordinates {
            let axis = self.indexed_axis(coordinate);
            match integer_of(tuple, coordinate).within(axis.size, self.policy.wraps(), clamps) {
                Some(index) => place = along(place, axis.stride, index),
                None => return false,
            }
        }
        self.add_box_parts(tuple, place, located_box)
    }

    /// Adds the parts of a box. Each recursive call clips one more cropped dimension: `located_box.clips_so_far`
    /// has the clips of the dimensions that are already clipped. Returns the same as [`Self::add_box`].
    fn add_box_parts(&self, tuple: &[I], place: usize, located_box: &mut LocatedBox) -> bool {
        let coordinate = self.box_coordinates.get(located_box.clips_so_far.len());
        let Some((coordinate, box_extent)) = coordinate.and_then(|c| Some((c, c.along?))) else {
            located_box.places.push(place);
            located_box.clips.extend(&located_box.clips_so_far);
            return true;
        };
        let begin: i64 = integer_of(tuple, coordinate).into();
        let is_flipped = box_extent.flip.is_some_and(|flip| tuple[flip].into() != 0);
        let stride = self.indexed_axis(coordinate).stride;
        let mut add_part = |begin, clamps| {
            let (clip, position) =
                clip_axis(box_extent, begin, coordinate.size, is_flipped, clamps);
            if clip.begin >= clip.end {
                return false;
            }
            located_box.clips_so_far.push(clip);
            let is_whole = self.add_box_parts(tuple, along(place, stride, position), located_box);
            located_box.clips_so_far.pop();
            is_whole && clip.end - clip.begin == box_extent.extent
        };
        if !self.policy.circular {
            return add_part(begin, self.policy.clamps());
        }
        let size = coordinate.size.cast_signed() as i64;
        let begin = begin.rem_euclid(size.max(1));
        add_part(begin, false);
        add_part(begin - size * box_extent.step.signum() as i64, false);
        true
    }

    /// Adds a place of group `n`, unless the group is outside the clipped box. `place` and `clips` belong to the box.
    fn add_place(&self, mut place: usize, clips: &[Clip], n: usize, located: &mut Located) {
        let (outer_clips, inner_clips) =
            clips.split_at(self.box_coordinates.len() - self.inner_box_coordinates.len());
        for (coordinate, clip) in self.box_coordinates.iter().zip(outer_clips) {
            let Some(box_extent) = coordinate.along else {
                continue;
            };
            let inner_sizes = self.numbering[box_extent.dim + 1..]
                .iter()
                .map(|dim| dim.size);
            let digit = n / inner_sizes.product::<usize>() % self.numbering[box_extent.dim].size;
            if digit < clip.begin || digit >= clip.end {
                return;
            }
            place = along(
                place,
                clipped_step(coordinate, clip) * self.walk.unit.cast_signed(),
                digit - clip.begin,
            );
        }
        let clip_count = inner_clips.len();
        if located.clips.len() < clip_count
            || located.clips[located.clips.len() - clip_count..] != *inner_clips
        {
            located.clips.extend(inner_clips);
        }
        located.places.push(place);
        located
            .box_numbers
            .push((n, located.last_clip_set(clip_count)));
    }

    /// Returns the walk of the part of a group that is inside the array. In the array that tuples point into, unit 0 is
    /// the first unit of this part. In the other array, unit 0 is the first unit of the whole group.
    pub(super) fn clipped_walk(&self, clips: &[Clip]) -> Walk {
        let dims = self.walk.dims[self.numbering.len()..].to_vec();
        let mut walk = Walk::strided(self.walk.unit, 0, 0, dims);
        for (coordinate, clip) in self.inner_box_coordinates.iter().zip(clips) {
            let Some(box_extent) = coordinate.along else {
                continue;
            };
            let dim = &mut walk.dims[box_extent.dim - self.numbering.len()];
            dim.size = clip.end - clip.begin;
            let (begin, box_stride, array_stride) = match self.walk.points {
                Side::Source => (&mut walk.to, dim.to, &mut dim.from),
                Side::Dest => (&mut walk.from, dim.from, &mut dim.to),
            };
            *begin += clip.begin.cast_signed() * box_stride;
            // A single element needs no step, and the box's step could be larger than the array.
            if dim.size > 1 {
                *array_stride = clipped_step(coordinate, clip);
            }
        }
        walk
    }

    /// Returns the dimensions that number groups, with the distance that each position adds to a group's place: a list
    /// for the innermost dimension, axes for the other dimensions. Returns `None` for boxes, if no groups share a
    /// tuple, if a dimension other than the innermost has its own tuples, for more than [`MAX_KEPT_TUPLES`] tuples, and
    /// for tuples out of range.
    pub(super) fn as_sums(&self) -> Option<Vec<ChosenPositions>> {
        let rows_share_tuples = self.shares_tuples && self.outer.iter().all(|dim| dim.tuple == 0);
        if !rows_share_tuples || self.inner.size > MAX_KEPT_TUPLES || self.is_cropped() {
            return None;
        }
        let mut list = vec![0; self.inner.size];
        self.find_group_places(0, &mut list);
        if list.contains(&NOWHERE) {
            return None;
        }
        let outer = self.outer.iter();
        let outer = outer.map(|dim| ChosenPositions::All(Axis::from_dim(self.walk.unit, dim)));
        Some(outer.chain([ChosenPositions::Listed(list)]).collect())
    }

    /// Returns the set of clips with number `clip_set`.
    pub(super) fn clips_at<'l>(&self, located: &'l Located, clip_set: usize) -> &'l [Clip] {
        &located.clips[clip_set * self.inner_box_coordinates.len()..]
            [..self.inner_box_coordinates.len()]
    }

    /// Returns the clips of groups that are completely inside the array.
    pub(super) fn whole_clips(&self) -> Vec<Clip> {
        let box_extents = self.inner_box_coordinates.iter().filter_map(|c| c.along);
        let clips = box_extents.map(|box_extent| Clip {
            begin: 0,
            end: box_extent.extent,
            is_flipped: false,
        });
        clips.collect()
    }

    /// Returns the lowest and the highest distance of a group's units from its place, in units, for any place inside
    /// the array.
    pub(super) fn distance_range(&self) -> (isize, isize) {
        let reach = |size: usize, stride: isize| (size.cast_signed() - 1) * stride;
        let cropped_reaches = self.box_coordinates.iter().map(|c| reach(c.size, c.stride));
        let d = self.numbering.len();
        let free_reaches = (d..self.walk.dims.len()).filter(|&d| !self.walk.is_cropped(d));
        let free_reaches =
            free_reaches.map(|d| reach(self.walk.dims[d].size, self.stride(&self.walk.dims[d])));
        cropped_reaches
            .chain(free_reaches)
            .fold((0, 0), |(low, high), distance| {
                (low + distance.min(0), high + distance.max(0))
            })
    }
}

/// Returns the distance between neighbouring positions of a box along a cropped dimension, in units. A flip changes its
/// sign.
pub(super) fn clipped_step(coordinate: &Coordinate, clip: &Clip) -> isize {
    let step = coordinate.along.map_or(0, |box_extent| box_extent.step);
    coordinate.stride.wrapping_mul(if clip.is_flipped {
        step.wrapping_neg()
    } else {
        step
    })
}

/// Returns the integer of a tuple that belongs to a coordinate.
fn integer_of<I: Index>(tuple: &[I], coordinate: &Coordinate) -> I {
    match coordinate.begin {
        StartIndex::Column(column) => tuple[column],
        StartIndex::At(_) => unreachable!("the start of a box is in its tuple"),
    }
}

/// Returns the part of a box that is inside the array along one dimension, and the position of this part's first
/// element. The dimension has `size` positions, and the box begins at `begin`.
fn clip_axis(
    box_extent: BoxExtent,
    begin: i64,
    size: usize,
    is_flipped: bool,
    clamps: bool,
) -> (Clip, usize) {
    // An i128 holds the position of every element of every box.
    let (step, extent) = (box_extent.step as i128, box_extent.extent as i128);
    let box_reach = (extent - 1) * step.abs();
    let (mut begin, end) = (i128::from(begin), size as i128);
    if clamps {
        begin = match step < 0 {
            true => begin.clamp(box_reach, end - 1),
            false => begin.clamp(0, end - 1 - box_reach),
        };
    }
    // Both distances are measured from the box's start in the direction of the step: to the first position of the
    // array, and to the position after the array's last position. With a negative step, the first position is the
    // highest.
    let (distance_to_first, distance_to_end) = match step < 0 {
        true => (begin - (end - 1), begin + 1),
        false => (-begin, end - begin),
    };
    // Most boxes are inside the array. They need no division.
    let count_elements = |distance: i128| match distance {
        ..=0 => 0,
        _ if distance > box_reach => extent,
        _ => (distance + step.abs() - 1) / step.abs(),
    };
    let clip_begin = count_elements(distance_to_first);
    let clip_end = count_elements(distance_to_end).max(clip_begin);
    let (first, clip_begin, clip_end) = match is_flipped {
        false => (clip_begin, clip_begin, clip_end),
        true => (clip_end - 1, extent - clip_end, extent - clip_begin),
    };
    let to_usize = |position: i128| usize::try_from(position).unwrap_or_default();
    (
        Clip {
            begin: to_usize(clip_begin),
            end: to_usize(clip_end),
            is_flipped,
        },
        to_usize(begin + first * step),
    )
}
