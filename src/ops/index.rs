//! What an index means: its type, what a negative one is, and what becomes of one that points nowhere.
//!
//! The two policies are applied in this order, to each coordinate by itself:
//!
//! 1. A negative index has the dimension's size added once, under [`Negative::Wrap`].
//! 2. What is still outside moves to the nearest end, under [`OutOfRange::Clamp`], if the dimension has
//!    one.
//! 3. What is still outside is out of range, and so is its tuple.

/// What becomes of an index tuple that points outside `params`.
///
/// The same on every device. What is outside is up to [`Negative`]: as in TensorFlow, negative indices
/// are, unless they are asked to wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// Its whole slice becomes zeros (false, +0.0, 0+0j). What TensorFlow does on a GPU, and on a
    /// CPU under `bad_indices_policy="IGNORE"`. How many there were, and which was the first, can
    /// be asked afterwards.
    #[default]
    Zero,
    /// The operation fails with [`GatherError::OutOfRange`](crate::GatherError::OutOfRange) and gives
    /// no result. TensorFlow's default on a CPU; there is no such thing on its GPUs.
    Error,
    /// Each coordinate moves to the nearest end of its dimension, as in JAX and XLA, and the tuple
    /// counts as good. In a dimension of size 0 there is no end: the tuple's slice becomes zeros.
    Clamp,
}

/// What a negative index means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Negative {
    /// Nothing: it is out of range. TensorFlow's rule.
    #[default]
    OutOfRange,
    /// It counts from the end: the dimension's size is added once, so that -1 is the last. The rule of
    /// NumPy, ONNX and PyTorch.
    Wrap,
}

/// How negative and out-of-range indices are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Policy {
    pub(crate) out_of_range: OutOfRange,
    pub(crate) negative: Negative,
}

impl Policy {
    pub(crate) fn clamps(self) -> bool {
        self.out_of_range == OutOfRange::Clamp
    }

    pub(crate) fn wraps(self) -> bool {
        self.negative == Negative::Wrap
    }
}

/// The element type of index tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IndexType {
    #[default]
    I32,
    U32,
    I64,
}

#[cfg(feature = "gpu")]
impl IndexType {
    /// 32-bit words of an index.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::I32 | Self::U32 => 1,
            Self::I64 => 2,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        self.words() as usize * 4
    }

    /// The indices in these words.
    pub(crate) fn read(self, words: &[u32]) -> Vec<i64> {
        let (pairs, _) = words.as_chunks::<2>();
        match self {
            Self::I32 => words.iter().map(|w| w.cast_signed().into()).collect(),
            Self::U32 => words.iter().map(|&word| word.into()).collect(),
            Self::I64 => pairs
                .iter()
                .map(|&[low, high]| i64::from(high.cast_signed()) << 32 | i64::from(low))
                .collect(),
        }
    }
}

/// An index in host memory.
pub(crate) trait Index: Copy + Into<i64> + Sync {
    /// The position in a dimension of `size` that the index means, if it means one.
    #[inline(always)]
    fn within<const WRAPS: bool, const CLAMPS: bool>(self, size: usize) -> Option<usize> {
        let mut index: i64 = self.into();
        // A shape that passed `elements` has dimensions far below i64::MAX.
        let end = size as i64;
        if WRAPS && index < 0 {
            index += end;
        }
        if CLAMPS && end > 0 {
            index = index.clamp(0, end - 1);
        }
        usize::try_from(index).ok().filter(|&index| index < size)
    }
}

impl Index for i32 {}
impl Index for u32 {}
impl Index for i64 {}
