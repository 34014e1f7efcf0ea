//! The rule by which the shaders of a scatter combine two elements, for each combination that they support.

use crate::{DType, Error, moves::Effect, moves::Move, ops::scatter_nd::Combine};

/// The value of `NUMBERS` in `combine.wgsl` for signed integers: `SIGNED`.
pub(super) const NUMBERS_SIGNED: u32 = 1;
/// The value of `NUMBERS` in `combine.wgsl` for numbers smaller than a word: `PARTS`.
const NUMBERS_PARTS: u32 = 4;

/// The rule by which the shaders combine an element of a slice with an element of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CombineRule {
    /// The size in bytes of the numbers that are combined.
    pub(super) number_bytes: usize,
    /// The value of the constant `COMBINE` of `atomic.wgsl` and `combine.wgsl`.
    pub(super) combine: u32,
    /// The value of the constant `NUMBERS` of `combine.wgsl`. `atomic.wgsl` has a type instead: signed integers for
    /// [`NUMBERS_SIGNED`], otherwise unsigned.
    pub(super) numbers: u32,
    /// The value of the constant `RULE` of `combine_parts.wgsl`.
    pub(super) parts: u32,
    /// True if WGSL has an atomic operation that combines numbers by this rule.
    pub(super) is_atomic: bool,
    /// True if results depend on the order of rows. Floating-point results do: they are rounded after each row, and the
    /// minimum or maximum of two zeros with different signs is the first zero.
    pub(super) depends_on_order: bool,
}

impl CombineRule {
    /// Returns the rule by which a move combines elements, or `None` if the move replaces them or is not a scatter.
    /// Fails if the shaders do not support the combination.
    pub(super) fn from_move(step_move: &Move) -> Result<Option<Self>, Error> {
        let Effect::Scatter(scatter) = step_move.effect() else {
            return Ok(None);
        };
        let (combine, dtype) = (scatter.options.combine, scatter.dtype);
        let word_rule = match combine {
            Combine::Update => return Ok(None),
            Combine::Add => 0,
            Combine::Sub => 1,
            Combine::Mul => 2,
            Combine::Min => 3,
            Combine::Max => 4,
        };
        let is_addition = combine == Combine::Add;
        let is_sum = is_addition || combine == Combine::Sub;
        let bool_rule = match combine {
            Combine::Mul | Combine::Min => 2,
            _ => 1,
        };
        let (numbers, parts, is_supported) = match dtype {
            DType::Bool => (NUMBERS_PARTS, bool_rule, true),
            DType::I8 | DType::U8 | DType::I16 | DType::U16 => (NUMBERS_PARTS, 0, is_addition),
            DType::F16 => (NUMBERS_PARTS, 3, is_addition),
            DType::BF16 => (NUMBERS_PARTS, 4, is_addition),
            // Integers count as signed only for the combinations where the sign makes a difference.
            DType::I32 if matches!(combine, Combine::Min | Combine::Max) => {
                (NUMBERS_SIGNED, 0, true)
            }
            DType::I32 | DType::U32 => (0, 0, true),
            DType::F32 => (2, 0, true),
            DType::I64 | DType::U64 => (3, 0, is_sum),
            DType::Complex64 => (2, 0, is_sum),
            DType::F64 | DType::Complex128 => (2, 0, false),
        };
        if !is_supported {
            let operation = step_move.name();
            return Err(Error::DTypeOnDevice {
                operation,
                combine,
                dtype,
            });
        }
        Ok(Some(Self {
            number_bytes: match dtype {
                // Real and imaginary parts are combined separately.
                DType::Complex64 => 4,
                _ => dtype.size(),
            },
            combine: if numbers == NUMBERS_PARTS {
                0
            } else {
                word_rule
            },
            numbers,
            parts,
            is_atomic: matches!(dtype, DType::I32 | DType::U32) && combine != Combine::Mul,
            depends_on_order: matches!(
                dtype,
                DType::F16 | DType::BF16 | DType::F32 | DType::Complex64
            ),
        }))
    }
}
