//! NumPy's index expressions with arrays, such as `x[[0, 2], :, [[1], [3]]]`.

use super::{SliceItem, SliceSpec};
use crate::prelude::*;

/// One entry of an [`IndexSpec`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IndexItem {
    /// An index, a range, an ellipsis or a new axis.
    Slice(SliceItem),
    /// An array of positions in one dimension. Negative positions count from the end.
    Positions {
        /// The positions, in row-major order.
        values: Vec<i64>,
        /// The shape of the array of positions.
        shape: Vec<usize>,
    },
    /// A mask. It indexes as many dimensions of the array as it has, and selects the positions where it is true, in
    /// row-major order.
    Mask {
        /// A value for each position, in row-major order.
        values: Vec<bool>,
        /// The sizes of the dimensions that the mask indexes.
        shape: Vec<usize>,
    },
}

/// The expression in the brackets of NumPy's `x[…]`, not yet applied to a shape: a slice with array entries.
///
/// As in NumPy, arrays and single indices are broadcast against each other and select elements together. The dimensions
/// of their selection replace the dimension of the first array or index; if another entry is between two arrays or
/// indices, the selection's dimensions come first in the result. An [outer](Self::outer) expression instead selects all
/// combinations of positions, like `numpy.ix_` and Zarr's `oindex`.
///
/// ```
/// use wgslice::spec::{IndexItem, IndexSpec};
/// use wgslice::Backend;
///
/// let table = (&[0, 1, 2, 10, 11, 12, 20, 21, 22], &[3, 3]);
/// let backend = Backend::cpu(); // or Backend::auto()
/// let pairs: IndexSpec = "[0, 2], [1, -1]".parse()?;
/// assert_eq!(backend.index(table, &pairs)?.data, [1, 22]); // x[0, 1] and x[2, 2]
/// assert_eq!(backend.index(table, &pairs.outer())?.data, [1, 2, 21, 22]);
///
/// // An expression without text. The mask selects rows 0 and 2.
/// let spec = IndexSpec::new([IndexItem::from(vec![true, false, true]), vec![1, -1].into()]);
/// assert_eq!(backend.index(table, &spec)?.data, [1, 22]);
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// As text, arrays are nested lists of numbers or of `True` and `False`, and there are no brackets around the whole
/// expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexSpec {
    items: Vec<IndexItem>,
    is_outer: bool,
}

impl IndexSpec {
    /// Makes an expression from these entries. Its arrays are broadcast against each other.
    pub fn new(items: impl Into<Vec<IndexItem>>) -> Self {
        Self {
            items: items.into(),
            is_outer: false,
        }
    }

    /// Makes the expression outer: it selects all combinations of positions. Arrays must then have one dimension.
    #[must_use]
    pub fn outer(self) -> Self {
        Self {
            is_outer: true,
            ..self
        }
    }

    /// Returns the entries, in order.
    pub fn items(&self) -> &[IndexItem] {
        &self.items
    }

    /// Returns whether all combinations of positions are selected.
    pub(crate) fn is_outer(&self) -> bool {
        self.is_outer
    }
}

impl From<&SliceSpec> for IndexSpec {
    fn from(spec: &SliceSpec) -> Self {
        let items = spec.items().iter().copied().map(IndexItem::Slice);
        Self::new(items.collect::<Vec<_>>())
    }
}

impl From<SliceItem> for IndexItem {
    fn from(item: SliceItem) -> Self {
        Self::Slice(item)
    }
}

/// Makes a one-dimensional array of positions.
impl From<Vec<i64>> for IndexItem {
    fn from(values: Vec<i64>) -> Self {
        let shape = vec![values.len()];
        Self::Positions { values, shape }
    }
}

/// Makes a one-dimensional mask.
impl From<Vec<bool>> for IndexItem {
    fn from(values: Vec<bool>) -> Self {
        let shape = vec![values.len()];
        Self::Mask { values, shape }
    }
}
