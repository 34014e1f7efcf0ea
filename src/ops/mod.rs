//! The operations. Each is a file here, a file in `shaders/` and a file in `tests/`, all of one
//! name, and a variant of [`Map`](crate::plan::Map).

pub(crate) mod gather_nd;
pub(crate) mod strided_slice;

#[cfg(feature = "gpu")]
/// Where the rows of a result begin in the source, in units.
pub(crate) trait RowMap: Sync {
    /// The beginnings of the rows from `first` on, in order. `None` is a row without a source,
    /// which becomes zeros and is counted. The caller asks for no more rows than there are.
    fn bases(&self, first: usize) -> impl Iterator<Item = Option<usize>>;
}
