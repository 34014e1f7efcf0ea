//! Pairs: which unit of the source goes to which unit of the destination. Nested dimensions number the pairs. Each
//! dimension has a stride in the source and one in the destination. Pairs are made from a view of the source and a view
//! of the destination. The second view is the whole result of a slice, or the part of an array that an update or a
//! gradient writes. Four passes turn the two views into few dimensions and large units. No pass changes which byte goes
//! where, and only the first pass changes the order of the pairs.
//!
//! | pass | effect | example |
//! |---|---|---|
//! | turn | reverses each dimension that runs backwards in the destination | |
//! | squeeze | drops dimensions of size 1 | `[8,1,4]` → `[8,4]` |
//! | merge | joins two neighbouring dimensions if, on each side, one stride can walk through both | `[8,4]` with strides `[4,1]` → `[32]` |
//! | widen | turns elements that are aligned and contiguous on both sides into fewer, larger units | 32 bytes of u8 → 2 units of 16 |
//!
//! A typical slice of rank 4 or 5 keeps one or two dimensions.
//!
//! The destination is a slice of a row-major array, never a transposed view. So all positions of the inner dimensions
//! lie within one step of the next outer dimension. Pairs are therefore in ascending order of their destination units,
//! and the two halves of the pairs write to disjoint parts of the destination.

#[cfg(feature = "gpu")]
use crate::layout::span;
use crate::{
    layout::{Axis, MAX_UNIT, along},
    shape::common_power_of_two,
    text::joined,
    view::View,
};
use std::fmt;

/// One dimension of the pairs: the number of its positions, and the distances between neighbouring positions in the
/// source and in the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PairAxis {
    pub(crate) size: usize,
    /// The distance in the source, in units: negative if the source is read backwards, 0 if a unit repeats.
    pub(crate) from: isize,
    /// The distance in the destination, in units. Always positive: [`Pairs::push`] reverses dimensions that run
    /// backwards.
    pub(crate) to: usize,
}

impl PairAxis {
    pub(crate) const ONE: Self = Self {
        size: 1,
        from: 1,
        to: 1,
    };

    pub(crate) fn source(&self) -> Axis {
        let &Self { size, from, .. } = self;
        Axis { size, stride: from }
    }
}

impl fmt::Display for PairAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}>{}", self.size, self.from, self.to)
    }
}

/// Which unit of the source goes to which unit of the destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pairs {
    /// The size of a unit in bytes: 1, 2, 4, 8 or 16.
    pub(crate) unit: usize,
    /// The first pair's unit in the source, counted in units from the beginning of the source.
    pub(crate) from: usize,
    /// The first pair's unit in the destination, counted in units from the beginning of the destination.
    pub(crate) to: usize,
    /// The dimensions, outermost first. Empty if there is a single pair.
    pub(crate) axes: Vec<PairAxis>,
}

impl Pairs {
    /// Pairs the elements of two views that have the same shape and are not empty. An element has `element` bytes, and
    /// `dest` is a slice of a row-major array. The unit is chosen so that `whole` elements fill a whole number of
    /// units. A caller that also writes the elements of the destination that belong to no pair passes the number of all
    /// its elements. Other callers pass 0, which sets no condition.
    pub(crate) fn of(source: &View, dest: &View, element: usize, whole: usize) -> Self {
        let mut pairs = Self {
            unit: element,
            from: source.offset,
            to: dest.offset,
            axes: Vec::with_capacity(dest.shape.len()),
        };
        let strides = source.strides.iter().zip(&dest.strides);
        for (&size, (&from, &to)) in dest.shape.iter().zip(strides) {
            pairs.push(size, from, to);
        }
        pairs.reduced(whole)
    }

    /// Pairs the elements of a view that is not empty with those of a row-major array of the same shape. An element has
    /// `element` bytes.
    pub(crate) fn of_view(view: &View, element: usize) -> Self {
        let mut pairs = Self {
            unit: element,
            from: view.offset,
            to: 0,
            axes: Vec::with_capacity(view.shape.len()),
        };
        let mut to = 1;
        for (&size, &from) in view.shape.iter().zip(&view.strides).rev() {
            pairs.push(size, from, to);
            to *= size.cast_signed();
        }
        pairs.axes.reverse();
        pairs.reduced(0)
    }

    fn reduced(mut self, whole: usize) -> Self {
        self.merge();
        self.widen(whole);
        // Widening may have joined all units of the innermost dimension into one, so that its size is now 1.
        self.axes.retain(|axis| axis.size != 1);
        self
    }

    /// Appends a dimension, reversed if it runs backwards in the destination. Dimensions of size 1 are left out.
    fn push(&mut self, size: usize, mut from: isize, to: isize) {
        if size == 1 {
            return;
        }
        if to < 0 {
            // Position `size - 1` of the dimension is an element of both arrays, so neither sum wraps.
            self.from = along(self.from, from, size - 1);
            self.to = along(self.to, to, size - 1);
            from = -from;
        }
        let to = to.unsigned_abs();
        self.axes.push(PairAxis { size, from, to });
    }

    fn merge(&mut self) {
        self.axes.dedup_by(|inner, outer| {
            let joins = outer.to == inner.to * inner.size
                && outer.from == inner.from * inner.size.cast_signed();
            if joins {
                let size = outer.size * inner.size;
                *outer = PairAxis { size, ..*inner };
            }
            joins
        });
    }

    fn widen(&mut self, whole: usize) {
        let Some((run, outer)) = self.axes.split_last_mut() else {
            return;
        };
        if (run.from, run.to) != (1, 1) {
            return;
        }
        let strides = outer
            .iter()
            .flat_map(|axis| [axis.from.unsigned_abs(), axis.to]);
        let factor = common_power_of_two(
            MAX_UNIT / self.unit,
            strides.chain([run.size, self.from, self.to, whole]),
        );
        run.size /= factor;
        for axis in outer {
            axis.from /= factor.cast_signed();
            axis.to /= factor;
        }
        self.from /= factor;
        self.to /= factor;
        self.unit *= factor;
    }

    /// Returns the same pairs of bytes, in units that are `factor` times smaller.
    #[cfg(feature = "gpu")]
    pub(crate) fn narrowed(&self, factor: usize) -> Self {
        let mut pairs = self.clone();
        if factor == 1 {
            return pairs;
        }
        pairs.unit /= factor;
        pairs.from *= factor;
        pairs.to *= factor;
        for axis in &mut pairs.axes {
            axis.from *= factor.cast_signed();
            axis.to *= factor;
        }
        pairs.push(factor, 1, 1);
        pairs.merge();
        pairs
    }

    /// Describes the pairs for [`Plan::explain`](crate::Plan::explain).
    pub(crate) fn form(&self) -> String {
        let axes = match self.axes.is_empty() {
            true => "a single unit".into(),
            false => joined(&self.axes),
        };
        format!("from unit {} to unit {}: {axes}", self.from, self.to)
    }

    pub(crate) fn units(&self) -> usize {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// The innermost dimension, and all other dimensions. For a single pair, [`PairAxis::ONE`] and no other dimensions.
    pub(crate) fn run(&self) -> (PairAxis, &[PairAxis]) {
        match self.axes.split_last() {
            Some((&run, outer)) => (run, outer),
            None => (PairAxis::ONE, &[]),
        }
    }

    /// The first and the second half, cut in the middle of the outermost dimension. `None` if there is a single pair.
    pub(crate) fn halves(&self) -> Option<[Self; 2]> {
        let (outer, inner) = self.axes.split_first()?;
        let half = |first: usize, size: usize| {
            let mut axes = Vec::with_capacity(self.axes.len());
            if size > 1 {
                axes.push(PairAxis { size, ..*outer });
            }
            axes.extend_from_slice(inner);
            Self {
                unit: self.unit,
                from: along(self.from, outer.from, first),
                to: self.to + first * outer.to,
                axes,
            }
        };
        let middle = outer.size / 2;
        Some([half(0, middle), half(middle, outer.size - middle)])
    }

    /// The last unit of the destination that is written, counted from 0.
    #[cfg(feature = "gpu")]
    pub(crate) fn last(&self) -> usize {
        let reach = self.axes.iter().map(|axis| (axis.size - 1) * axis.to);
        self.to + reach.sum::<usize>()
    }

    /// The range from the lowest to the highest unit of the source that is read.
    #[cfg(feature = "gpu")]
    pub(crate) fn read(&self) -> std::ops::Range<usize> {
        span(self.from, self.axes.iter().map(PairAxis::source))
    }
}

/// Calls `each` with the source unit and the destination unit of every pair along `axes`, in ascending order of
/// destinations. `from` and `to` are the units of the first pair.
pub(crate) fn walk(
    axes: &[PairAxis],
    mut from: usize,
    mut to: usize,
    each: &mut impl FnMut(usize, usize),
) {
    match axes.split_first() {
        None => each(from, to),
        Some((outer, inner)) => {
            for _ in 0..outer.size {
                walk(inner, from, to, each);
                // After the last position, the sums may lie outside of the arrays or wrap. They are then not used.
                from = from.wrapping_add_signed(outer.from);
                to = to.wrapping_add(outer.to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SliceSpec;

    /// All pairs of bytes, in the order of the walk.
    fn bytes(pairs: &Pairs) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        walk(&pairs.axes, pairs.from, pairs.to, &mut |from, to| {
            let unit = pairs.unit;
            all.extend((0..unit).map(|byte| (from * unit + byte, to * unit + byte)));
        });
        all
    }

    /// After all passes, each byte goes where the two views say, in ascending order of destinations. The same holds for
    /// the pairs of the first half followed by those of the second, and for pairs of smaller units. `last` and `read`
    /// return the units that these bytes lie in.
    #[test]
    fn passes_keep_the_pairs() {
        for (spec, value) in [
            ("...", &[4, 6, 8][..]),
            ("::-1, 1::2, 2:6", &[4, 3, 4]),
            ("::2, 2, ::-1", &[8]),
            ("1, ..., 1:2", &[6, 1]),
            (":, ::-1, ::4", &[4, 1, 2]),
            ("2, 3, 4", &[]),
        ] {
            let spec: SliceSpec = spec.parse().unwrap();
            let dest = spec.view(&[4, 6, 8]).unwrap();
            let source = View::new(value).unwrap().broadcast_to(&dest.shape).unwrap();
            let mut expected = Vec::new();
            for position in 0..dest.len() {
                let at = crate::shape::coordinates(position, &dest.shape);
                let place = |view: &View| {
                    let strides = at.iter().zip(&view.strides);
                    strides.fold(view.offset, |sum, (&at, &stride)| {
                        sum.wrapping_add_signed(at.cast_signed() * stride)
                    })
                };
                for byte in 0..2 {
                    expected.push((place(&source) * 2 + byte, place(&dest) * 2 + byte));
                }
            }
            expected.sort_unstable_by_key(|&(_, to)| to);
            let pairs = Pairs::of(&source, &dest, 2, 0);
            assert_eq!(bytes(&pairs), expected, "{pairs:?}");
            if let Some(halves) = pairs.halves() {
                assert_eq!(halves.map(|half| bytes(&half)).concat(), expected);
            }
            #[cfg(feature = "gpu")]
            {
                let last = expected.last().unwrap().1;
                assert_eq!(pairs.last() * pairs.unit + pairs.unit - 1, last);
                assert_eq!(bytes(&pairs.narrowed(pairs.unit)), expected, "{pairs:?}");
                let read = expected.iter().map(|&(from, _)| from / pairs.unit);
                let (low, high) = (read.clone().min().unwrap(), read.max().unwrap());
                assert_eq!(pairs.read(), low..high + 1);
            }
        }
    }
}
