//! The meaning of an index outside its dimension.

use super::value_at;

/// The meaning of an index outside its dimension, in a gather or a scatter.
///
/// The default is TensorFlow's: an index outside its dimension is bad, and so is every negative index. The result lists
/// the rows that have a bad index.
///
/// | index into 5 | default | `wrap` | `clamp` | both |
/// |---|---|---|---|---|
/// | 2 | 2 | 2 | 2 | 2 |
/// | -1 | bad | 4 | 0 | 4 |
/// | -6 | bad | bad | 0 | 0 |
/// | 5 | bad | bad | 4 | 4 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexing {
    /// True if a negative index counts from the end, as in NumPy and ONNX. The size of the dimension is then added to
    /// it once.
    pub wrap: bool,
    /// True if an index that is still outside the dimension selects the nearest position. A dimension of size 0 has no
    /// position, so its indices stay bad.
    pub clamp: bool,
}

impl Indexing {
    /// Returns the position of `index` in a dimension of `size`, or `None` if the index is bad.
    pub(super) fn resolve_index(self, index: i64, size: usize) -> Option<usize> {
        // An i128 holds the sum of any index and any size.
        let (mut index, size) = (i128::from(index), size as i128);
        if self.wrap && index < 0 {
            index += size;
        }
        if self.clamp && size > 0 {
            index = index.clamp(0, size - 1);
        }
        let is_inside = (0..size).contains(&index);
        is_inside.then(|| usize::try_from(index).expect("a position is less than its size"))
    }

    /// Returns the positions that a row of indices selects in dimensions of these sizes. `row` has the coordinates of
    /// the row in all dimensions of `indices` except the last. `None` if an index of the row is bad.
    pub(super) fn resolve_row(
        self,
        indices: &[i64],
        indices_shape: &[usize],
        row: &[usize],
        sizes: &[usize],
    ) -> Option<Vec<usize>> {
        sizes
            .iter()
            .enumerate()
            .map(|(k, &size)| {
                let index = *value_at(indices, indices_shape, &[row, &[k]].concat());
                self.resolve_index(index, size)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Indexing;

    #[test]
    fn an_index_is_wrapped_once_and_then_clamped() {
        let resolve = |index, size| {
            [(false, false), (true, false), (false, true), (true, true)]
                .map(|(wrap, clamp)| Indexing { wrap, clamp }.resolve_index(index, size))
        };
        let all_policies = |position| [Some(position); 4];
        assert_eq!(resolve(0, 5), all_policies(0));
        assert_eq!(resolve(4, 5), all_policies(4));
        assert_eq!(resolve(-1, 5), [None, Some(4), Some(0), Some(4)]);
        assert_eq!(resolve(-5, 5), [None, Some(0), Some(0), Some(0)]);
        assert_eq!(resolve(-6, 5), [None, None, Some(0), Some(0)]);
        assert_eq!(resolve(-11, 5), [None, None, Some(0), Some(0)]);
        assert_eq!(resolve(5, 5), [None, None, Some(4), Some(4)]);
        assert_eq!(resolve(1 << 32, 5), [None, None, Some(4), Some(4)]);
        assert_eq!(resolve(i64::MIN, 5), [None, None, Some(0), Some(0)]);
        assert_eq!(resolve(i64::MAX, 5), [None, None, Some(4), Some(4)]);
        assert_eq!(resolve(-1, usize::MAX)[1], Some(usize::MAX - 1));
        for index in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(resolve(index, 0), [None; 4]);
        }
    }
}
