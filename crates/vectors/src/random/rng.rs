//! The random number generator for cases. A seed gives the same cases on every machine.

use fastrand::Rng as Source;
use std::ops::RangeBounds;

/// A [`fastrand::Rng`] with methods that do not depend on the machine. fastrand's `usize`, and its methods that use
/// `usize`, give other numbers where addresses have 32 bits, for example in a browser.
pub(crate) struct Rng(Source);

impl Rng {
    pub(crate) fn with_seed(seed: u64) -> Self {
        Self(Source::with_seed(seed))
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.0.bool()
    }

    pub(crate) fn u8(&mut self, range: impl RangeBounds<u8>) -> u8 {
        self.0.u8(range)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn i64(&mut self, range: impl RangeBounds<i64>) -> i64 {
        self.0.i64(range)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is in a range of usize"
    )]
    pub(crate) fn usize(&mut self, range: impl RangeBounds<usize>) -> usize {
        let to_u64 = |bound: std::ops::Bound<&usize>| bound.map(|&bound| bound as u64);
        self.0
            .u64((to_u64(range.start_bound()), to_u64(range.end_bound()))) as usize
    }

    /// Returns one of `items`, or `None` if there are none.
    pub(crate) fn choose<T>(&mut self, mut items: Vec<T>) -> Option<T> {
        (!items.is_empty()).then(|| items.swap_remove(self.usize(..items.len())))
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in 1..items.len() {
            items.swap(at, self.usize(..=at));
        }
    }
}
