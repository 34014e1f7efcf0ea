//! How a scatter combines a row of updates with a slice of the destination.

use crate::DType;
use core::fmt;

/// The effect of a row of updates on its slice of the destination. The slice consists of the elements that the row's
/// index tuple selects. See [`ScatterOptions::combine`](crate::options::ScatterOptions::combine) for the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Adds the row to the slice, as TensorFlow's `scatter_nd` and `tensor_scatter_nd_add` do.
    Add,
    /// Subtracts the row from the slice, as TensorFlow's `tensor_scatter_nd_sub` does. Not defined for booleans.
    Sub,
    /// Multiplies the slice by the row, element by element, as ONNX's `ScatterND` with `reduction="mul"` does.
    Mul,
    /// At each position, keeps the smaller of the row's and the slice's element, as TensorFlow's
    /// `tensor_scatter_nd_min` does. Not defined for complex numbers.
    Min,
    /// At each position, keeps the greater of the row's and the slice's element, as TensorFlow's
    /// `tensor_scatter_nd_max` does. Not defined for complex numbers.
    Max,
    /// Replaces the slice with the row, as TensorFlow's `tensor_scatter_nd_update` does. If several rows have the same
    /// slice, the last row replaces it.
    Update,
}

impl Combine {
    /// All variants.
    pub const ALL: [Self; 6] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Min,
        Self::Max,
        Self::Update,
    ];

    /// Returns the name, such as `"add"`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Min => "min",
            Self::Max => "max",
            Self::Update => "update",
        }
    }

    /// Returns whether the combination is defined for an element type.
    pub const fn is_defined_for(self, dtype: DType) -> bool {
        match self {
            Self::Add | Self::Mul | Self::Update => true,
            Self::Sub => !matches!(dtype, DType::Bool),
            Self::Min | Self::Max => !matches!(dtype, DType::Complex64 | DType::Complex128),
        }
    }

    /// Returns whether the combination computes with elements. Only [`Combine::Update`] does not: it moves them.
    pub(crate) fn is_computation(self) -> bool {
        self != Self::Update
    }
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
