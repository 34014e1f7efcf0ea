//! What the shaders of a scatter do with two elements, and which they can.

use crate::{DType, ops::scatter_nd::Combine};

/// How the shaders combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    combine: Combine,
    numbers: Numbers,
}

/// What the shaders take elements for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Numbers {
    #[default]
    Unsigned,
    Signed,
    /// Integers of two words.
    Pairs,
    Bools,
    F16,
    BF16,
    F32,
}

impl Rule {
    /// How elements of a type are combined, if the shaders can, and bytes of what is combined by itself.
    pub(crate) fn of(combine: Combine, dtype: DType) -> Option<(Self, usize)> {
        let adds = combine == Combine::Add;
        let (numbers, can) = match dtype {
            DType::Bool => (Numbers::Bools, true),
            DType::I8 | DType::U8 | DType::I16 | DType::U16 => (Numbers::Unsigned, adds),
            DType::F16 => (Numbers::F16, adds),
            DType::BF16 => (Numbers::BF16, adds),
            DType::I32 if matches!(combine, Combine::Min | Combine::Max) => (Numbers::Signed, true),
            DType::I32 | DType::U32 => (Numbers::Unsigned, true),
            DType::F32 => (Numbers::F32, true),
            DType::I64 | DType::U64 => (Numbers::Pairs, adds || combine == Combine::Sub),
            DType::Complex64 => (Numbers::F32, adds || combine == Combine::Sub),
            DType::F64 | DType::Complex128 => return None,
        };
        let element = match dtype {
            // Component by component.
            DType::Complex64 => 4,
            _ => dtype.size(),
        };
        can.then_some((Self { combine, numbers }, element))
    }

    /// Whether results depend on the order: sums are rounded, and of zeros that differ in their sign the
    /// first is the minimum and the maximum.
    pub(crate) fn depends_on_order(self) -> bool {
        matches!(self.numbers, Numbers::F16 | Numbers::BF16 | Numbers::F32)
    }

    /// Whether there are atomics for it, of elements of one word.
    pub(crate) fn is_atomic(self) -> bool {
        matches!(self.numbers, Numbers::Unsigned | Numbers::Signed) && self.combine != Combine::Mul
    }

    /// What those take elements for.
    pub(super) fn number(self) -> &'static str {
        match self.numbers {
            Numbers::Signed => "i32",
            _ => "u32",
        }
    }

    /// `COMBINE` and `NUMBERS` of `combine.wgsl`.
    pub(super) fn of_words(self) -> [f64; 2] {
        let numbers = match self.numbers {
            Numbers::Pairs => 3.0,
            Numbers::F32 => 2.0,
            Numbers::Signed => 1.0,
            Numbers::Unsigned | Numbers::Bools | Numbers::F16 | Numbers::BF16 => 0.0,
        };
        [self.combine_number().into(), numbers]
    }

    /// `atomic_combine` of `params.wgsl`, and `COMBINE` of `combine.wgsl`.
    pub(super) fn combine_number(self) -> u32 {
        match self.combine {
            Combine::Add | Combine::Update => 0,
            Combine::Sub => 1,
            Combine::Mul => 2,
            Combine::Min => 3,
            Combine::Max => 4,
        }
    }

    /// `RULE` of `combine_subword.wgsl`.
    pub(super) fn of_parts(self) -> f64 {
        match (self.numbers, self.combine) {
            (Numbers::Bools, Combine::Mul | Combine::Min) => 2.0,
            (Numbers::Bools, _) => 1.0,
            (Numbers::F16, _) => 3.0,
            (Numbers::BF16, _) => 4.0,
            (Numbers::Unsigned | Numbers::Signed | Numbers::Pairs | Numbers::F32, _) => 0.0,
        }
    }
}
