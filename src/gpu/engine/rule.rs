//! How the shaders of a scatter combine two elements, and which combinations they support.

use crate::{DType, Error, Plan, ops::scatter_nd::Combine, plan::Scatter};

/// How the shaders combine an element of a slice with one of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    combine: Combine,
    numbers: Numbers,
    /// The size in bytes of the numbers that are combined.
    pub(super) number: usize,
}

/// The number format that the shaders interpret elements as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Numbers {
    Unsigned,
    Signed,
    /// 64-bit integers, each of two words.
    Pairs,
    Bools,
    F16,
    BF16,
    F32,
}

impl Rule {
    /// Stands for the rule of an update, which combines nothing.
    pub(super) const NONE: Self = Self {
        combine: Combine::Update,
        numbers: Numbers::Unsigned,
        number: 1,
    };

    /// The rule by which a scatter combines elements. `None` if it replaces them. Fails if the shaders do not support the
    /// combination.
    pub(super) fn of(plan: &Plan, scatter: &Scatter) -> Result<Option<Self>, Error> {
        let (combine, dtype) = (scatter.options.combine, scatter.dtype);
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
            DType::F64 | DType::Complex128 => (Numbers::F32, false),
        };
        if !combine.computes() {
            return Ok(None);
        }
        if !can {
            let operation = plan.name();
            return Err(Error::DTypeOnDevice {
                operation,
                combine,
                dtype,
            });
        }
        let number = match dtype {
            // Real and imaginary parts are combined separately.
            DType::Complex64 => 4,
            _ => dtype.size(),
        };
        Ok(Some(Self {
            combine,
            numbers,
            number,
        }))
    }

    /// Whether results depend on the order of rows, as floating-point results do: they are rounded after each row, and
    /// the minimum and the maximum of two zeros of different signs are the first zero.
    pub(crate) fn depends_on_order(self) -> bool {
        matches!(self.numbers, Numbers::F16 | Numbers::BF16 | Numbers::F32)
    }

    /// Whether an atomic operation combines numbers by this rule.
    pub(crate) fn is_atomic(self) -> bool {
        let has_atomic = !matches!(self.combine, Combine::Mul | Combine::Update);
        has_atomic
            && self.number == 4
            && matches!(self.numbers, Numbers::Unsigned | Numbers::Signed)
    }

    /// Whether the shaders interpret elements as integers with a sign. They do if that makes a difference.
    pub(super) fn is_signed(self) -> bool {
        self.numbers == Numbers::Signed
    }

    /// The values of the constants `COMBINE` and `NUMBERS` of `atomic.wgsl` and `combine.wgsl`. `Update` combines
    /// nothing, so its value is not used.
    pub(super) fn of_words(self) -> [usize; 2] {
        let combine = match self.combine {
            Combine::Add | Combine::Update => 0,
            Combine::Sub => 1,
            Combine::Mul => 2,
            Combine::Min => 3,
            Combine::Max => 4,
        };
        let numbers = match self.numbers {
            Numbers::Pairs => 3,
            Numbers::F32 => 2,
            Numbers::Signed => 1,
            Numbers::Unsigned | Numbers::Bools | Numbers::F16 | Numbers::BF16 => 0,
        };
        [combine, numbers]
    }

    /// The value of the constant `RULE` of `combine_parts.wgsl`.
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
