//! The meaning of an index: its type, and the policies for negative and out-of-range values.
//!
//! The two policies apply to each coordinate in this order:
//!
//! 1. [`NegativeIndex::Wrap`] adds the dimension's size once to a negative index.
//! 2. [`OutOfRange::Clamp`] moves an index outside the dimension to its nearest end, if the dimension is not empty.
//! 3. An index that is still outside the dimension is out of range, and so is its tuple.

use crate::prelude::*;
use crate::{DType, Error, Tensor, error};

/// The treatment of index tuples that are out of range.
///
/// Every device treats such a tuple in the same way. [`NegativeIndex`] determines whether negative indices are out of
/// range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// The tuple is ignored, as in TensorFlow on a GPU, and on a CPU under `bad_indices_policy="IGNORE"`: a gather
    /// fills its whole slice with zeros (false, +0.0, 0+0j), and a scatter drops its row. A crop fills only the
    /// elements outside of x with zeros, and a paste leaves out only these elements. The report has the number of
    /// out-of-range tuples and the first of them.
    #[default]
    Ignore,
    /// The operation fails with [`Error::InvalidIndices`]. This is TensorFlow's default on a CPU; TensorFlow's GPU
    /// kernels do not support this policy.
    ///
    /// Under this policy a call with tensors on a GPU waits for the device, unless the backend was made by
    /// `Backend::with_late_errors`. In a browser no call can wait: there the call fails with [`Error::WouldBlock`]
    /// before it submits the operation.
    Error,
    /// Each coordinate that is out of range moves to the nearest end of its dimension, as in JAX and XLA, and the tuple
    /// then counts as in range. A dimension of size 0 has no position to move to: tuples that index it are treated as
    /// under [`OutOfRange::Ignore`].
    Clamp,
}

/// The meaning of a negative index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NegativeIndex {
    /// A negative index is out of range, as in TensorFlow.
    #[default]
    Invalid,
    /// A negative index counts from the end, as in NumPy and ONNX: the dimension's size is added once, so -1 is the
    /// last position.
    Wrap,
}

/// The shape and the element type of a plan's index tuples. Constructors of [`Plan`](crate::Plan) take a shape, a shape
/// and a type, or a tensor. For a shape alone, the type is `i32`.
///
/// ```
/// use wgslice::{options::GatherOptions, DType, Plan};
///
/// let (table, options) = (&[50_000, 768], GatherOptions::default());
/// let plan = Plan::gather(table, &[512], options, DType::F16)?;
/// assert_eq!(plan.inputs()[1].dtype, DType::I32);
/// let plan = Plan::gather(table, (&[512], DType::I64), options, DType::F16)?;
/// assert_eq!(plan.inputs()[1].dtype, DType::I64);
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// [`Gpu::encode`](crate::Gpu::encode) needs buffers of the plan's type. Calls on the CPU, on host values and with
/// tensors take indices of every type: i32, i64 and u32.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexShape {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
}

impl IndexShape {
    /// Returns the type of an index. `argument` is the name of the tuples in the error.
    pub(crate) fn index_type(&self, argument: &'static str) -> Result<IndexType, Error> {
        IndexType::from_dtype(self.dtype, argument)
    }
}

impl<T: IndexTuples> From<T> for IndexShape {
    fn from(tuples: T) -> Self {
        let (shape, dtype) = tuples.shape_and_type();
        Self { shape, dtype }
    }
}

/// A source of the shape and the type of index tuples.
pub trait IndexTuples {
    fn shape_and_type(self) -> (Vec<usize>, DType);
}

impl IndexTuples for &[usize] {
    fn shape_and_type(self) -> (Vec<usize>, DType) {
        (self.to_vec(), DType::I32)
    }
}

impl<const N: usize> IndexTuples for &[usize; N] {
    fn shape_and_type(self) -> (Vec<usize>, DType) {
        self[..].shape_and_type()
    }
}

impl IndexTuples for &Vec<usize> {
    fn shape_and_type(self) -> (Vec<usize>, DType) {
        self[..].shape_and_type()
    }
}

impl<S: IndexTuples> IndexTuples for (S, DType) {
    fn shape_and_type(self) -> (Vec<usize>, DType) {
        (self.0.shape_and_type().0, self.1)
    }
}

impl IndexTuples for &Tensor {
    fn shape_and_type(self) -> (Vec<usize>, DType) {
        (self.shape().to_vec(), self.dtype())
    }
}

/// The treatment of negative and out-of-range indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Policy {
    pub(crate) out_of_range: OutOfRange,
    pub(crate) negative: NegativeIndex,
    /// True if positions of boxes wrap around, modulo the size of the dimension.
    pub(crate) circular: bool,
}

impl Policy {
    pub(crate) fn new(out_of_range: OutOfRange, negative: NegativeIndex) -> Self {
        Self {
            out_of_range,
            negative,
            circular: false,
        }
    }

    pub(crate) fn clamps(self) -> bool {
        self.out_of_range == OutOfRange::Clamp
    }

    pub(crate) fn wraps(self) -> bool {
        self.negative == NegativeIndex::Wrap
    }
}

/// The integer type of index tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IndexType {
    /// Signed 32-bit integers.
    #[default]
    I32,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 64-bit integers.
    I64,
    /// Bytes of a mask: every byte except 0 is the index 0, and the byte 0 is out of range.
    Mask,
}

impl IndexType {
    /// Returns the index type for index tensors of this element type. `argument` is their name in the error.
    pub(crate) fn from_dtype(dtype: DType, argument: &'static str) -> Result<Self, Error> {
        match dtype {
            DType::I32 => Ok(Self::I32),
            DType::U32 => Ok(Self::U32),
            DType::I64 => Ok(Self::I64),
            _ => Err(error::value::index_dtype(argument, dtype)),
        }
    }
}

impl IndexType {
    /// Returns the number of 32-bit words of an index, or 0 for a byte of a mask.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::I32 | Self::U32 => 1,
            Self::I64 => 2,
            Self::Mask => 0,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Mask => 1,
            _ => self.words() as usize * 4,
        }
    }

    #[cfg(feature = "gpu")]
    /// Decodes indices of this type from 32-bit words in the layout of an index buffer on a GPU.
    pub(crate) fn read(self, words: &[u32]) -> Vec<i64> {
        let (pairs, _) = words.as_chunks::<2>();
        match self {
            Self::I32 => words.iter().map(|w| w.cast_signed().into()).collect(),
            Self::U32 => words.iter().map(|&word| word.into()).collect(),
            Self::I64 => pairs
                .iter()
                .map(|&[low, high]| i64::from(high.cast_signed()) << 32 | i64::from(low))
                .collect(),
            // Not reached: only out-of-range tuples are decoded, for reports, and masks have no such tuples to report.
            Self::Mask => Vec::new(),
        }
    }
}

/// An index in host memory.
pub(crate) trait Index: Copy + Into<i64> + Sync {
    /// Returns the position of the index in a dimension of `size` positions, or `None` if the index is out of range.
    /// `wraps` is true under [`NegativeIndex::Wrap`], and `clamps` under [`OutOfRange::Clamp`].
    #[inline(always)]
    fn within(self, size: usize, wraps: bool, clamps: bool) -> Option<usize> {
        let mut index: i64 = self.into();
        // Neither the cast nor the sum below overflows: `shape::elements` has checked the shape, so its dimensions are
        // far below i64::MAX.
        let signed_size = size as i64;
        if wraps && index < 0 {
            index += signed_size;
        }
        if clamps && signed_size > 0 {
            index = index.clamp(0, signed_size - 1);
        }
        usize::try_from(index).ok().filter(|&index| index < size)
    }
}

impl Index for i32 {}
impl Index for u32 {}
impl Index for i64 {}
