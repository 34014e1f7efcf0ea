//! Runs crops box by box, in the order of the result.
//!
//! A box is written as a gradient is: the part of it that has a source, that is, lies in x, and zeros around this part.
//! Boxes that follow each other and have a source in the same part share its loops.

use super::{
    place::StoreRows,
    rows::along,
    threads::{self, Threads},
};
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Along, Begin, Coordinate, Dim, Walk},
};

/// About how many nanoseconds it takes to find where a box lies.
const BOX_NS: usize = 50;

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
    let crop = Crop::new(walk, policy, indices);
    let many = crop.threads(threads);
    let few = dest.len() / crop.bytes < threads::parts(many);
    let (many, of_a_box) = match few {
        true => (1, threads),
        false => (many, Threads::at_most(1)),
    };
    threads::spread_counting(dest, crop.bytes, many, |first, dest| {
        crop.boxes(source, first / crop.bytes, dest, of_a_box)
    })
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
struct Inside {
    from: usize,
    to: usize,
    /// Whether the elements are in reverse order.
    flipped: bool,
}

/// Finds the part that has a source, for a box that begins at `begin` in a dimension of `size` positions. Also returns the
/// position in x of its first element.
fn inside(along: Along, begin: i64, size: usize, flipped: bool, clamps: bool) -> (Inside, usize) {
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

struct Crop<'a, I> {
    walk: &'a Walk,
    clamps: bool,
    indices: &'a [I],
    /// The item of a box. `None` if box n lies in item n.
    item: Option<&'a Coordinate>,
    /// The distance in units between the items of neighbouring boxes. 0 if tuples name the items.
    items: isize,
    /// The cropped dimensions in x, and how boxes extend along them.
    cropped: &'a [Coordinate],
    /// The dimensions of a box: the cropped ones, and those of x inside of them.
    dims: &'a [Dim],
    /// The size of a box in bytes.
    bytes: usize,
}

/// Where a box lies in x.
struct Place {
    /// The unit of x that the first element of the box with a source comes from. `None` if the box's item does not exist.
    from: Option<usize>,
    /// For each cropped dimension, the part that has a source.
    inside: Vec<Inside>,
}

impl<'a, I: Index> Crop<'a, I> {
    fn new(walk: &'a Walk, policy: Policy, indices: &'a [I]) -> Self {
        let items = walk.coordinates.iter().take_while(|c| c.along.is_none());
        let (item, cropped) = walk.coordinates.split_at(items.count());
        // A single box has no dimension of its own.
        let (items, dims) = match walk.dims[0] {
            dim if dim.tuple > 0 => (dim.from, &walk.dims[1..]),
            _ => (0, &walk.dims[..]),
        };
        Self {
            walk,
            clamps: policy.clamps(),
            indices,
            item: item.first(),
            items,
            cropped,
            dims,
            bytes: dims.iter().map(|dim| dim.size).product::<usize>() * walk.unit,
        }
    }

    /// Finds where box `n` lies.
    fn locate(&self, n: usize) -> Place {
        let depth = self.walk.columns;
        let tuple = &self.indices[n * depth..][..depth];
        let begin = |coordinate: &Coordinate| match coordinate.begin {
            Begin::Column(column) => tuple[column],
            Begin::At(_) => unreachable!("a crop begins where its tuples say"),
        };
        let first = self.walk.from.cast_unsigned();
        let mut from = match self.item {
            Some(item) => {
                let index = begin(item).within(item.size, false, self.clamps);
                index.map(|index| along(first, item.stride, index))
            }
            None => Some(along(first, self.items, n)),
        };
        let parts = self.cropped.iter().filter_map(|coordinate| {
            let Coordinate { size, stride, .. } = *coordinate;
            let extends = coordinate.along?;
            let flipped = extends.flip.is_some_and(|flip| tuple[flip].into() != 0);
            let begin = begin(coordinate).into();
            let (inside, at) = inside(extends, begin, size, flipped, self.clamps);
            from = from.map(|from| along(from, stride, at));
            Some(inside)
        });
        let inside = parts.collect();
        Place { from, inside }
    }

    /// Whether all elements of a box have a source.
    fn is_whole(&self, place: &Place) -> bool {
        let sizes = self.dims.iter().map(|dim| dim.size);
        place.from.is_some()
            && sizes
                .zip(&place.inside)
                .all(|(size, part)| part.to - part.from == size)
    }

    /// The walk from the part of a box that has a source, whose first unit is unit 0, to the box. `None` if the part is
    /// empty.
    fn part(&self, inside: &[Inside]) -> Option<Walk> {
        let mut walk = Walk::strided(self.walk.unit, 0, 0, self.dims.to_vec());
        for ((dim, coordinate), part) in walk.dims.iter_mut().zip(self.cropped).zip(inside) {
            let step = coordinate.along?.step;
            walk.to += part.from.cast_signed() * dim.to;
            dim.size = part.to.checked_sub(part.from).filter(|&size| size > 0)?;
            // A step to the only element, which may be larger than x, is not used.
            if dim.size > 1 {
                dim.from = coordinate.stride * if part.flipped { -step } else { step };
            }
        }
        walk.merge();
        Some(walk)
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
                match (place.from, &rows) {
                    (Some(from), Some(rows)) => rows.fill(source, from, dest, threads),
                    _ => dest.fill(0),
                }
            }
        }
        missing
    }
}
