//! A move: the work of one step of a plan, independent of any device and of the memory of its arrays.
//!
//! The CPU and the GPU run the same move. Its [`Walk`] pairs units of the source with units of the destination. Its
//! [`Effect`] determines the values of the elements of the destination that the walk leaves out. The functions in
//! `ops/` make moves. Code that runs a move, cuts it into dispatches or describes it reads the walk and the effect. A
//! GPU keeps the dispatches that it computed for a move and reuses them for equal moves, even in other plans.

use crate::prelude::*;
use crate::{
    DType, Error,
    ops::{
        convert::PlanConversion,
        index::{IndexType, Policy},
        scatter_nd::Combine,
    },
    text::{Shape, counted},
    walk::{Dim, Walk},
};
#[cfg(feature = "gpu")]
use alloc::borrow::Cow;
use core::fmt;

/// The effect of a move on the elements of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// The walk writes every element of the result. Slices, gathers and crops have this effect.
    Make,
    /// The elements that the walk does not write keep their values, as in updates.
    Update,
    /// The elements that the walk does not write become zeros, as in gradients.
    Fill,
    /// Each row of the walk replaces a slice of the destination, or is combined with it.
    Scatter(Scatter),
    /// The move writes the positions of the true elements of a mask. There is no walk.
    Find(Find),
}

/// The parameters of a search for the true elements of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Find {
    /// The capacity of the result, in positions.
    pub(crate) capacity: usize,
    /// The type of the integers in a position.
    pub(crate) index_type: IndexType,
}

/// The parameters of a scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scatter {
    /// The number of slices that fill the destination, each as long as a row. 0 for a paste, because its boxes can be
    /// anywhere in the destination.
    pub(crate) slices: usize,
    /// True if rows are combined with zeros, false if they are combined with the destination's old content.
    pub(crate) starts_from_zeros: bool,
    pub(crate) dtype: DType,
    pub(crate) options: CombineOptions,
}

/// The options of a scatter. Options that the caller left out have the operation's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CombineOptions {
    pub(crate) combine: Combine,
    pub(crate) policy: Policy,
    pub(crate) any_order: bool,
    pub(crate) unique: bool,
}

/// The operation that a plan or a move was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    StridedSlice,
    StridedSliceUpdate,
    StridedSliceGrad,
    GatherNd,
    Gather,
    GatherElements,
    Crop,
    Paste,
    ScatterNd,
    TensorScatterNd,
    ScatterElements,
    XlaGather,
    XlaScatter,
    /// Any other operation: one with several steps, or one that copies a view, such as `tile`. Only its name is needed.
    Named(&'static str),
    Nonzero,
    MaskedUpdate,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::StridedSliceUpdate => "strided_slice_update",
            Self::StridedSliceGrad => "strided_slice_grad",
            Self::GatherNd => "gather_nd",
            Self::Gather => "gather",
            Self::GatherElements => "gather_elements",
            Self::Crop => "crop",
            Self::Paste => "paste",
            Self::ScatterNd => "scatter_nd",
            Self::TensorScatterNd => "tensor_scatter_nd",
            Self::ScatterElements => "scatter_elements",
            Self::XlaGather => "xla_gather",
            Self::XlaScatter => "xla_scatter",
            Self::Named(name) => name,
            Self::Nonzero => "nonzero",
            Self::MaskedUpdate => "masked_update",
        }
    }
}

/// The work of one step: a walk, and the effect on the elements that the walk leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Move {
    pub(crate) operation: Operation,
    /// The shape of the result, or of the array that is changed in place.
    pub(crate) shape: Vec<usize>,
    /// The element type of the result, and of the source unless the move converts.
    pub(crate) dtype: DType,
    /// The shape of the source: of `input`, `value`, `dy`, `params`, the `x` of a crop, `patches`, `updates`, or the
    /// mask of a search.
    pub(crate) source: Vec<usize>,
    /// The pairs of units of source and destination. `None` if there is nothing to move. A gradient's walk leaves out
    /// the elements that become zeros.
    pub(crate) walk: Option<Walk>,
    pub(crate) effect: Effect,
    /// `None` for moves without indices.
    pub(crate) indices: Option<IndexTensor>,
    /// The conversion of elements. `None` if elements are not converted. If they are, distances of the walk count
    /// elements of the source on one side and elements of the result on the other.
    pub(crate) conversion: Option<PlanConversion>,
}

/// The index tensor of a move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexTensor {
    pub(crate) shape: Vec<usize>,
    /// The number of leading dimensions that number the tuples.
    pub(crate) tuple_dims: usize,
    /// The shape of the array that the tuples index. `None` if they index the move's destination.
    pub(crate) target: Option<Vec<usize>>,
    pub(crate) policy: Policy,
    pub(crate) index_type: IndexType,
}

impl Move {
    #[cfg(feature = "gpu")]
    pub(crate) fn copy(bytes: usize) -> Self {
        Self::from_view(crate::View::flat(bytes), DType::U8)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn zeros(bytes: usize) -> Self {
        Self::of_grad(&[bytes], DType::U8, &[0], None)
    }

    /// Returns the shape of the result, or of the array that a move changes in place.
    #[cfg(feature = "gpu")]
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the element type of the result, and of the source unless the move converts.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of the result, or of the array that a move changes in place, in bytes.
    pub(crate) fn result_bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }

    /// Returns whether the move changes its destination in place and keeps the bytes that it does not write.
    pub(crate) fn is_in_place(&self) -> bool {
        match self.effect {
            Effect::Update => true,
            Effect::Scatter(scatter) => !scatter.starts_from_zeros,
            Effect::Make | Effect::Fill | Effect::Find(_) => false,
        }
    }

    /// Returns the size of the source in bytes.
    pub(crate) fn source_bytes(&self) -> usize {
        self.source.iter().product::<usize>() * self.source_dtype().size()
    }

    /// Returns the number of bytes that the move reads and the number of bytes that it writes, not counting indices.
    pub(crate) fn moved_bytes(&self) -> (usize, usize) {
        let walked_bytes = self.walk.as_ref().map_or(0, Walk::bytes);
        match self.effect {
            Effect::Fill | Effect::Find(_) => (self.source_bytes(), self.result_bytes()),
            Effect::Scatter(Scatter {
                starts_from_zeros: true,
                ..
            }) => (walked_bytes, self.result_bytes()),
            _ if self.conversion.is_some() => (walked_bytes, self.result_bytes()),
            _ => (walked_bytes, walked_bytes),
        }
    }

    /// Returns the number of rows of the move. The whole result of a gradient is one row.
    pub(crate) fn rows(&self) -> usize {
        match (self.effect(), &self.walk) {
            (Effect::Fill, _) => usize::from(self.result_bytes() > 0),
            (_, walk) => walk.as_ref().map_or(0, Walk::rows),
        }
    }

    /// Returns the name of the operation.
    pub(crate) fn name(&self) -> &'static str {
        self.operation.name()
    }

    /// Returns whether the move is a slice or a view that moves bytes unchanged.
    pub(crate) fn is_slice(&self) -> bool {
        self.operation == Operation::StridedSlice && self.conversion.is_none()
    }

    /// Returns whether the move is a slice or a view whose result is the source, byte for byte. Always false for other
    /// operations.
    pub(crate) fn is_identity(&self) -> bool {
        self.contiguous() == Some(0) && self.result_bytes() == self.source_bytes()
    }

    /// If the result of a slice is one contiguous part of the source, returns the part's offset in bytes in the source.
    /// Otherwise, and for all other operations, returns `None`.
    pub(crate) fn contiguous(&self) -> Option<usize> {
        match &self.walk {
            _ if !self.is_slice() => None,
            // Without a walk the part is empty.
            None => Some(0),
            Some(walk) => match walk.dims[..] {
                [Dim { from: 1, .. }] => Some(walk.from.cast_unsigned() * walk.unit),
                _ => None,
            },
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the pairs of units of source and destination, or `None` if there is nothing to move. A gradient's walk
    /// leaves out the elements that become zeros.
    pub(crate) fn walk(&self) -> Option<&Walk> {
        self.walk.as_ref()
    }

    /// Returns the shapes and the policy of the index tuples, or `None` for moves without indices.
    pub(crate) fn tuples(&self) -> Option<TupleSpec<'_>> {
        self.indices.as_ref().map(|indices| {
            let (shape, tuple) = indices.shape.split_at(indices.tuple_dims);
            TupleSpec {
                indices: &indices.shape,
                shape,
                depth: tuple.iter().product(),
                target: indices.target.as_ref().unwrap_or(&self.shape),
                policy: indices.policy,
                #[cfg(feature = "gpu")]
                index_type: indices.index_type,
            }
        })
    }

    /// Returns this move for indices of this element type on a GPU. Fails if indices cannot have this type.
    pub(crate) fn for_indices(mut self, dtype: DType) -> Result<Self, Error> {
        self.set_index_type(self.index_type_of(dtype, "indices")?);
        Ok(self)
    }

    pub(crate) fn set_index_type(&mut self, index_type: IndexType) {
        if let Some(indices) = &mut self.indices {
            indices.index_type = index_type;
        }
    }

    /// Returns the index type for indices or a mask of this element type. Fails if the move cannot have indices or a
    /// mask of this type. `argument` is the name of the indices in the error message.
    pub(crate) fn index_type_of(
        &self,
        dtype: DType,
        argument: &'static str,
    ) -> Result<IndexType, Error> {
        match self.indices.as_ref().map(|indices| indices.index_type) {
            Some(IndexType::Mask) => crate::error::mask::check(dtype).map(|()| IndexType::Mask),
            _ => IndexType::from_dtype(dtype, argument),
        }
    }

    /// Returns the element type of the indices on a GPU.
    pub(crate) fn index_dtype(&self) -> DType {
        match self.indices.as_ref().map(|indices| indices.index_type) {
            Some(IndexType::U32) => DType::U32,
            Some(IndexType::I64) => DType::I64,
            Some(IndexType::Mask) => DType::U8,
            _ => DType::I32,
        }
    }

    /// Returns the move for indices of this type: this move, or a changed copy if its indices have another type.
    #[cfg(feature = "gpu")]
    pub(crate) fn with_indices_of(&self, index_type: IndexType) -> Cow<'_, Self> {
        match &self.indices {
            Some(indices) if indices.index_type != index_type => {
                let mut copy = self.clone();
                copy.set_index_type(index_type);
                Cow::Owned(copy)
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Returns the type of the indices on a GPU, or `I32` for moves without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn index_type(&self) -> IndexType {
        let indices = self.indices.as_ref();
        indices.map_or(IndexType::I32, |indices| indices.index_type)
    }

    /// Returns the size in bytes of all indices on a GPU, or 0 for moves without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn index_bytes(&self) -> usize {
        self.tuples().map_or(0, |tuples| {
            tuples.integer_count() * tuples.index_type.bytes()
        })
    }

    /// Returns how the move treats negative and out-of-range indices, or [`Policy::default`] for moves without indices.
    pub(crate) fn policy(&self) -> Policy {
        let indices = self.indices.as_ref();
        indices.map(|indices| indices.policy).unwrap_or_default()
    }

    /// Returns the number of integers in an index tuple, or 0 for moves without indices.
    pub(crate) fn depth(&self) -> usize {
        self.tuples().map_or(0, |tuples| tuples.depth)
    }
}

pub(crate) struct TupleSpec<'a> {
    /// The shape of the index tensor.
    pub(crate) indices: &'a [usize],
    /// The leading dimensions of `indices`, which number the tuples.
    pub(crate) shape: &'a [usize],
    /// The number of integers in a tuple.
    pub(crate) depth: usize,
    /// The shape of the array that the tuples index.
    pub(crate) target: &'a [usize],
    pub(crate) policy: Policy,
    #[cfg(feature = "gpu")]
    pub(crate) index_type: IndexType,
}

impl TupleSpec<'_> {
    pub(crate) fn integer_count(&self) -> usize {
        self.indices.iter().product()
    }
}

/// Prints one line: the operation, its shapes, and its rows and units.
impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = (self.name(), self.result_bytes());
        let (source, shape) = (Shape(&self.source), Shape(&self.shape));
        write!(f, "{name} {source} -> {shape}: ")?;
        let Some(walk) = &self.walk else {
            return match bytes {
                _ if matches!(self.effect, Effect::Find(_)) => f.write_str("a search in a mask"),
                zeros if zeros > 0 && !self.is_in_place() => {
                    write!(f, "no rows, {} of zeros", counted(zeros, "byte", "bytes"))
                }
                _ => f.write_str("empty"),
            };
        };
        let unit = counted(walk.unit, "byte", "bytes");
        if self.effect == Effect::Fill {
            let zeros = bytes / walk.unit - walk.units();
            let moved_units = counted(walk.units(), "unit", "units");
            return write!(f, "{moved_units} of {unit} and {zeros} of zeros");
        }
        let run = walk.run();
        let rows = counted(walk.rows(), "row", "rows");
        let units = counted(run.size, "unit", "units");
        write!(f, "{rows} of {units} of {unit}, step {}", run.from)
    }
}
