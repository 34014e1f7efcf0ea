//! Index tuples in the caller's memory.

/// Index tuples in host memory.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// Signed 32-bit indices.
    I32(&'a [i32]),
    /// Signed 64-bit indices.
    I64(&'a [i64]),
    /// Unsigned 32-bit indices.
    U32(&'a [u32]),
}

impl Indices<'_> {
    /// The number of integers: the number of tuples times the number of integers in a tuple.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
            Self::U32(indices) => indices.len(),
        }
    }

    /// Whether there are no indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tuple with this number, if each tuple has `depth` integers.
    pub(crate) fn tuple(&self, number: usize, depth: usize) -> Vec<i64> {
        let range = number * depth..(number + 1) * depth;
        match self {
            Self::I32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Self::I64(indices) => indices[range].to_vec(),
            Self::U32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
        }
    }
}

macro_rules! indices {
    ($($integer:ty => $variant:ident),*) => {$(
        impl<'a> From<&'a [$integer]> for Indices<'a> {
            fn from(indices: &'a [$integer]) -> Self {
                Self::$variant(indices)
            }
        }
    )*};
}

indices!(i32 => I32, i64 => I64, u32 => U32);
