//! Index tuples as the caller has them: 32-bit or 64-bit integers in host memory.

/// Index tuples in host memory.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// 32-bit indices.
    I32(&'a [i32]),
    /// 64-bit indices.
    I64(&'a [i64]),
}

impl Indices<'_> {
    /// How many integers, tuples taken apart.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tuple `row`, where tuples have `depth` integers.
    pub(crate) fn tuple(&self, row: usize, depth: usize) -> Vec<i64> {
        let range = row * depth..(row + 1) * depth;
        match self {
            Self::I32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Self::I64(indices) => indices[range].to_vec(),
        }
    }
}

impl<'a> From<&'a [i32]> for Indices<'a> {
    fn from(indices: &'a [i32]) -> Self {
        Self::I32(indices)
    }
}

impl<'a> From<&'a [i64]> for Indices<'a> {
    fn from(indices: &'a [i64]) -> Self {
        Self::I64(indices)
    }
}
