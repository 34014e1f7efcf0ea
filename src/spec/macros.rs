//! Slices in Rust: [`slice!`](crate::slice!) and its conversions.

use super::SliceItem;
use core::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// Writes a slice in Rust: `slice![1, 2..4, NewAxis, Ellipsis, ..-3; -1, ..]`.
///
/// Commas separate items, and a semicolon separates a range from its stride.
///
/// | `slice!` | Python | |
/// |---|---|---|
/// | `3`, `-1` | `3`, `-1` | a single index; the dimension is dropped |
/// | `a..b`, `a..`, `..b`, `..` | `a:b`, `a:`, `:b`, `:` | a range; negative bounds count from the end |
/// | `a..b; s` | `a:b:s` | every `s`-th position, from `a` towards `b` |
/// | [`Ellipsis`](crate::spec::SliceItem::Ellipsis) | `...` | all other dimensions |
/// | [`NewAxis`](crate::spec::SliceItem::NewAxis) | `None` | a new dimension of size 1 |
///
/// **Unlike ndarray**: a negative stride starts at `a` and walks down to `b`, as in Python and TensorFlow. ndarray's
/// `s![a..b; -1]` takes the range `a..b` first and then reverses it: `s![2..5; -1]` is positions 4, 3, 2. With `slice!`
/// these are `slice![4..1; -1]`, and `slice![2..5; -1]` is empty. Bounds are clamped, as in Python; ndarray panics.
///
/// The end of a range down to position 0 cannot be written as -1, which is the last position: `slice![x + s - 1..x - 1;
/// -1]` is empty if `x` is 0. Instead take the range first and then reverse it, as in `view.slice(&slice![x..x +
/// s])?.slice(&slice![..; -1])?`, which is still one plan.
///
/// ```
/// use wgslice::{slice, spec::SliceItem::NewAxis, SliceSpec};
///
/// let row = 2usize; // or an i32 or i64
/// assert_eq!(slice![row, NewAxis, 1..; 2], "2, None, 1::2".parse::<SliceSpec>()?);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[macro_export]
macro_rules! slice {
    ($($items:tt)*) => { $crate::slice_of_items!([] $($items)*) };
}

/// Parses the items of [`slice!`] one at a time. It is a separate macro so that the documentation of `slice!` shows one
/// arm.
#[doc(hidden)]
#[macro_export]
macro_rules! slice_of_items {
    ([$($done:expr),*]) => {{
        #[allow(
            clippy::reversed_empty_ranges,
            reason = "a negative stride takes a descending range"
        )]
        let items: &[$crate::spec::SliceItem] = &[$($done),*];
        $crate::SliceSpec::new(items)
    }};
    ([$($done:expr),*] $item:expr ; $stride:expr $(, $($rest:tt)*)?) => {
        $crate::slice_of_items!(
            [$($done,)* $crate::spec::SliceItem::from($item).with_stride($stride)]
            $($($rest)*)?
        )
    };
    ([$($done:expr),*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::slice_of_items!([$($done,)* $crate::spec::SliceItem::from($item)] $($($rest)*)?)
    };
}

impl From<RangeFull> for SliceItem {
    fn from(_: RangeFull) -> Self {
        Self::FULL
    }
}

/// Converts an index or a bound. A value above `i64::MAX` becomes `i64::MAX`. No dimension is that long, so a range
/// stays the same and a single index stays out of range.
fn saturated_index(bound: usize) -> i64 {
    i64::try_from(bound).unwrap_or(i64::MAX)
}

macro_rules! bounds {
    ($($bound:ty: $wide:path),*) => {$(
        impl From<$bound> for SliceItem {
            fn from(index: $bound) -> Self {
                Self::Index { index: $wide(index), stride: 1 }
            }
        }

        impl From<Range<$bound>> for SliceItem {
            fn from(range: Range<$bound>) -> Self {
                let (begin, end) = (Some($wide(range.start)), Some($wide(range.end)));
                Self::Range { begin, end, stride: 1 }
            }
        }

        impl From<RangeFrom<$bound>> for SliceItem {
            fn from(range: RangeFrom<$bound>) -> Self {
                Self::Range { begin: Some($wide(range.start)), end: None, stride: 1 }
            }
        }

        impl From<RangeTo<$bound>> for SliceItem {
            fn from(range: RangeTo<$bound>) -> Self {
                Self::Range { begin: None, end: Some($wide(range.end)), stride: 1 }
            }
        }
    )*};
}

bounds!(i32: i64::from, i64: i64::from, usize: saturated_index);
