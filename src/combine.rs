//! How a scatter combines a row of updates with the slice of the destination that its tuple points at.

use crate::DType;
use std::fmt;

/// What a row does to the slice that it points at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// It is added. TensorFlow's `scatter_nd` and `tensor_scatter_nd_add`.
    #[default]
    Add,
    /// It is subtracted. TensorFlow's `tensor_scatter_nd_sub`. Not defined for booleans.
    Sub,
    /// The slice is multiplied by it, element by element. ONNX's `ScatterND` with `reduction="mul"`.
    Mul,
    /// The lesser of both remains, element by element. TensorFlow's `tensor_scatter_nd_min`. Not defined
    /// for complex numbers.
    Min,
    /// The greater of both remains, element by element. TensorFlow's `tensor_scatter_nd_max`. Not defined
    /// for complex numbers.
    Max,
    /// It replaces the slice; of several rows for one slice the last one wins. TensorFlow's
    /// `tensor_scatter_nd_update`.
    Update,
}

impl Combine {
    /// Every way to combine.
    pub const ALL: [Self; 6] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Min,
        Self::Max,
        Self::Update,
    ];

    /// The word for it, as in TensorFlow's `"tensor_scatter_nd_add"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Min => "min",
            Self::Max => "max",
            Self::Update => "update",
        }
    }

    /// Whether there is such a thing for elements of a type.
    pub const fn is_defined_for(self, dtype: DType) -> bool {
        match self {
            Self::Add | Self::Mul | Self::Update => true,
            Self::Sub => !matches!(dtype, DType::Bool),
            Self::Min | Self::Max => !matches!(dtype, DType::Complex64 | DType::Complex128),
        }
    }

    /// Whether it computes with elements, rather than moves them.
    pub(crate) fn computes(self) -> bool {
        self != Self::Update
    }
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
