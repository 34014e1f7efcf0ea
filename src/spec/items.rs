//! A slice as a list of items.

use super::SliceItem;
use crate::prelude::*;

/// A slice, not yet applied to a shape.
///
/// ```
/// use wgslice::{slice, spec::{SliceItem::{Ellipsis, NewAxis}, TfStridedSlice}, SliceSpec};
///
/// let parsed: SliceSpec = "1, 2:4, None, ..., :-3:-1, :".parse()?;
/// assert_eq!(parsed, slice![1, 2..4, NewAxis, Ellipsis, ..-3; -1, ..]);
/// assert_eq!(parsed, (&TfStridedSlice::try_from(&parsed)?).try_into()?);
/// assert_eq!(parsed.to_string(), "1, 2:4, None, ..., :-3:-1, :");
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SliceSpec {
    items: Vec<SliceItem>,
}

impl SliceSpec {
    /// Makes a slice of these items.
    pub fn new(items: impl Into<Vec<SliceItem>>) -> Self {
        Self {
            items: items.into(),
        }
    }

    /// Returns the items, in order.
    pub fn items(&self) -> &[SliceItem] {
        &self.items
    }

    /// Adds an item, as in `SliceSpec::default().with(1).with(2..4).with(Ellipsis)`.
    #[must_use]
    pub fn with(mut self, item: impl Into<SliceItem>) -> Self {
        self.items.push(item.into());
        self
    }
}

impl FromIterator<SliceItem> for SliceSpec {
    fn from_iter<I: IntoIterator<Item = SliceItem>>(items: I) -> Self {
        Self::new(Vec::from_iter(items))
    }
}
