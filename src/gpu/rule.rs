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

    /// All of them, each with the bytes of what is combined by itself.
    pub(super) fn all() -> impl Iterator<Item = (Self, usize)> {
        let combines = [
            Combine::Add,
            Combine::Sub,
            Combine::Mul,
            Combine::Min,
            Combine::Max,
        ];
        let of = move |dtype| combines.map(|combine| Self::of(combine, dtype));
        DType::ALL.into_iter().flat_map(of).flatten()
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

    /// Whether those take elements for i32 rather than u32.
    pub(super) fn is_signed(self) -> bool {
        self.numbers == Numbers::Signed
    }

    /// `COMBINE` and `NUMBERS` of `combine.wgsl`.
    pub(super) fn of_words(self) -> [usize; 2] {
        let numbers = match self.numbers {
            Numbers::Pairs => 3,
            Numbers::F32 => 2,
            Numbers::Signed => 1,
            Numbers::Unsigned | Numbers::Bools | Numbers::F16 | Numbers::BF16 => 0,
        };
        [self.combine_number() as usize, numbers]
    }

    /// `atomic_combine` of `indexed.wgsl`, and `COMBINE` of `combine.wgsl`.
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
    pub(super) fn of_parts(self) -> usize {
        match (self.numbers, self.combine) {
            (Numbers::Bools, Combine::Mul | Combine::Min) => 2,
            (Numbers::Bools, _) => 1,
            (Numbers::F16, _) => 3,
            (Numbers::BF16, _) => 4,
            (Numbers::Unsigned | Numbers::Signed | Numbers::Pairs | Numbers::F32, _) => 0,
        }
    }
}
