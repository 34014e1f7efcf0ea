//! The results of operators and built-in functions on scalars, as WGSL defines them.

use super::value::{integer_of_bits, low_word};
use naga::{BinaryOperator as Op, MathFunction as Math, Scalar, ScalarKind as Kind, UnaryOperator};

type UnaryFunction = fn(i64) -> i64;
type BinaryFunction = fn(i64, i64) -> i64;

fn word_as_float(word: i64) -> f32 {
    f32::from_bits(low_word(word))
}

fn from_float(x: f32) -> i64 {
    i64::from(x.to_bits())
}

fn from_bool(x: bool) -> i64 {
    i64::from(x)
}

fn word_as_signed(word: i64) -> i32 {
    low_word(word).cast_signed()
}

/// Returns whether the type is a 32-bit integer.
fn is_int32(scalar: Scalar) -> bool {
    matches!(
        scalar,
        Scalar {
            kind: Kind::Sint | Kind::Uint,
            width: 4
        }
    )
}

pub(super) fn unary_function(op: UnaryOperator, scalar: Scalar) -> UnaryFunction {
    match (op, scalar.kind) {
        (UnaryOperator::Negate, Kind::Float) => |x| from_float(-word_as_float(x)),
        (UnaryOperator::Negate, _) => i64::wrapping_neg,
        (UnaryOperator::LogicalNot, _) => |x| 1 - x,
        (UnaryOperator::BitwiseNot, _) if is_int32(scalar) => |x| integer_of_bits(!low_word(x)),
        (UnaryOperator::BitwiseNot, _) => |x| !x,
    }
}

/// Returns the function that computes a binary operator on operands of a type. For a shift, `scalar` is the type of the
/// left operand.
pub(super) fn binary_function(op: Op, scalar: Scalar) -> BinaryFunction {
    match (scalar.kind, scalar.width) {
        (Kind::Float, _) => float_function(op),
        (Kind::Bool, _) => bool_function(op),
        (_, 4) => int32_function(op, scalar.kind == Kind::Sint),
        _ => int64_function(op, scalar.kind == Kind::Sint),
    }
}

/// Returns a mask of the unknown bits of a binary operator's result: the bits that depend on unwritten memory. `scalar`
/// is the type of the left operand. Each operand comes with the mask of its own unknown bits.
pub(super) fn unknown_bits(
    op: Op,
    scalar: Scalar,
    (a, unknown_a): (i64, u64),
    (b, unknown_b): (i64, u64),
) -> u64 {
    let (known_a, known_b) = (a.cast_unsigned(), b.cast_unsigned());
    let unknown_in_either = unknown_a | unknown_b;
    match op {
        // A known zero in either operand makes the result's bit known.
        Op::And | Op::LogicalAnd => {
            unknown_in_either & (known_a | unknown_a) & (known_b | unknown_b)
        }
        Op::InclusiveOr | Op::LogicalOr => {
            unknown_in_either & (!known_a | unknown_a) & (!known_b | unknown_b)
        }
        Op::ExclusiveOr => unknown_in_either,
        Op::ShiftLeft if unknown_b == 0 => unknown_a << shift_count(scalar, b),
        // The sign bit is copied to the bits that become free. If the sign bit is unknown, so are these bits.
        Op::ShiftRight if unknown_b == 0 && scalar.kind == Kind::Sint => {
            let bits_above = 64 - 8 * u32::from(scalar.width);
            let extended = (unknown_a << bits_above).cast_signed() >> bits_above;
            (extended >> shift_count(scalar, b)).cast_unsigned()
        }
        Op::ShiftRight if unknown_b == 0 => unknown_a >> shift_count(scalar, b),
        _ => super::value::all_if_any(unknown_in_either),
    }
}

/// Returns the number of bits by which a shift moves its left operand. WGSL takes the count modulo the number of bits
/// of the operand's type.
fn shift_count(scalar: Scalar, count: i64) -> u32 {
    low_word(count) & (8 * u32::from(scalar.width) - 1)
}

fn float_function(op: Op) -> BinaryFunction {
    match op {
        Op::Add => |a, b| from_float(word_as_float(a) + word_as_float(b)),
        Op::Subtract => |a, b| from_float(word_as_float(a) - word_as_float(b)),
        Op::Multiply => |a, b| from_float(word_as_float(a) * word_as_float(b)),
        Op::Divide => |a, b| from_float(word_as_float(a) / word_as_float(b)),
        Op::Modulo => |a, b| from_float(word_as_float(a) % word_as_float(b)),
        Op::Equal => |a, b| from_bool(word_as_float(a) == word_as_float(b)),
        Op::NotEqual => |a, b| from_bool(word_as_float(a) != word_as_float(b)),
        Op::Less => |a, b| from_bool(word_as_float(a) < word_as_float(b)),
        Op::LessEqual => |a, b| from_bool(word_as_float(a) <= word_as_float(b)),
        Op::Greater => |a, b| from_bool(word_as_float(a) > word_as_float(b)),
        Op::GreaterEqual => |a, b| from_bool(word_as_float(a) >= word_as_float(b)),
        _ => unreachable!("naga accepts no {op:?} of floats"),
    }
}

fn bool_function(op: Op) -> BinaryFunction {
    match op {
        Op::And | Op::LogicalAnd => |a, b| a & b,
        Op::InclusiveOr | Op::LogicalOr => |a, b| a | b,
        Op::ExclusiveOr | Op::NotEqual => |a, b| a ^ b,
        Op::Equal => |a, b| from_bool(a == b),
        _ => unreachable!("naga accepts no {op:?} of bools"),
    }
}

fn int32_function(op: Op, is_signed: bool) -> BinaryFunction {
    match (op, is_signed) {
        // The first four operators are computed in 64 bits, so that a result outside of the type's range is noticed.
        (Op::Add, _) => i64::wrapping_add,
        (Op::Subtract, _) => i64::wrapping_sub,
        (Op::Multiply, _) => i64::wrapping_mul,
        (Op::ShiftLeft, _) => |a, b| a.wrapping_shl(low_word(b) & 31),
        (Op::Divide, false) => {
            |a, b| integer_of_bits(low_word(a).checked_div(low_word(b)).unwrap_or(low_word(a)))
        }
        (Op::Modulo, false) => {
            |a, b| integer_of_bits(low_word(a).checked_rem(low_word(b)).unwrap_or(0))
        }
        (Op::Divide, true) => |a, b| {
            i64::from(
                word_as_signed(a)
                    .checked_div(word_as_signed(b))
                    .unwrap_or(word_as_signed(a)),
            )
        },
        (Op::Modulo, true) => |a, b| {
            i64::from(
                word_as_signed(a)
                    .checked_rem(word_as_signed(b))
                    .unwrap_or(0),
            )
        },
        (Op::ShiftRight, false) => |a, b| integer_of_bits(low_word(a) >> (low_word(b) & 31)),
        (Op::ShiftRight, true) => |a, b| i64::from(word_as_signed(a) >> (low_word(b) & 31)),
        (Op::And, _) => |a, b| integer_of_bits(low_word(a) & low_word(b)),
        (Op::InclusiveOr, _) => |a, b| integer_of_bits(low_word(a) | low_word(b)),
        (Op::ExclusiveOr, _) => |a, b| integer_of_bits(low_word(a) ^ low_word(b)),
        (Op::Equal, _) => |a, b| from_bool(low_word(a) == low_word(b)),
        (Op::NotEqual, _) => |a, b| from_bool(low_word(a) != low_word(b)),
        (Op::Less, false) => |a, b| from_bool(low_word(a) < low_word(b)),
        (Op::LessEqual, false) => |a, b| from_bool(low_word(a) <= low_word(b)),
        (Op::Greater, false) => |a, b| from_bool(low_word(a) > low_word(b)),
        (Op::GreaterEqual, false) => |a, b| from_bool(low_word(a) >= low_word(b)),
        (Op::Less, true) => |a, b| from_bool(word_as_signed(a) < word_as_signed(b)),
        (Op::LessEqual, true) => |a, b| from_bool(word_as_signed(a) <= word_as_signed(b)),
        (Op::Greater, true) => |a, b| from_bool(word_as_signed(a) > word_as_signed(b)),
        (Op::GreaterEqual, true) => |a, b| from_bool(word_as_signed(a) >= word_as_signed(b)),
        (Op::LogicalAnd | Op::LogicalOr, _) => unreachable!("naga accepts no {op:?} of integers"),
    }
}

fn int64_function(op: Op, is_signed: bool) -> BinaryFunction {
    fn bits_of_word(word: i64) -> u64 {
        word.cast_unsigned()
    }
    match (op, is_signed) {
        (Op::Add, _) => i64::wrapping_add,
        (Op::Subtract, _) => i64::wrapping_sub,
        (Op::Multiply, _) => i64::wrapping_mul,
        (Op::ShiftLeft, _) => |a, b| a.wrapping_shl(low_word(b) & 63),
        (Op::Divide, false) => |a, b| {
            bits_of_word(a)
                .checked_div(bits_of_word(b))
                .unwrap_or(bits_of_word(a))
                .cast_signed()
        },
        (Op::Modulo, false) => |a, b| {
            bits_of_word(a)
                .checked_rem(bits_of_word(b))
                .unwrap_or(0)
                .cast_signed()
        },
        (Op::Divide, true) => |a, b| a.checked_div(b).unwrap_or(a),
        (Op::Modulo, true) => |a, b| a.checked_rem(b).unwrap_or(0),
        (Op::ShiftRight, false) => |a, b| (bits_of_word(a) >> (low_word(b) & 63)).cast_signed(),
        (Op::ShiftRight, true) => |a, b| a >> (low_word(b) & 63),
        (Op::And, _) => |a, b| a & b,
        (Op::InclusiveOr, _) => |a, b| a | b,
        (Op::ExclusiveOr, _) => |a, b| a ^ b,
        (Op::Equal, _) => |a, b| from_bool(a == b),
        (Op::NotEqual, _) => |a, b| from_bool(a != b),
        (Op::Less, false) => |a, b| from_bool(bits_of_word(a) < bits_of_word(b)),
        (Op::LessEqual, false) => |a, b| from_bool(bits_of_word(a) <= bits_of_word(b)),
        (Op::Greater, false) => |a, b| from_bool(bits_of_word(a) > bits_of_word(b)),
        (Op::GreaterEqual, false) => |a, b| from_bool(bits_of_word(a) >= bits_of_word(b)),
        (Op::Less, true) => |a, b| from_bool(a < b),
        (Op::LessEqual, true) => |a, b| from_bool(a <= b),
        (Op::Greater, true) => |a, b| from_bool(a > b),
        (Op::GreaterEqual, true) => |a, b| from_bool(a >= b),
        (Op::LogicalAnd | Op::LogicalOr, _) => unreachable!("naga accepts no {op:?} of integers"),
    }
}

/// Returns a function of three scalars that computes one component of a built-in function. It ignores the arguments
/// that the built-in function does not have. `None` if the interpreter does not support the built-in function.
pub(super) fn math_function(fun: Math, scalar: Scalar) -> Option<fn(i64, i64, i64) -> i64> {
    let is_float = scalar.kind == Kind::Float;
    Some(match (fun, scalar.kind) {
        (Math::Min, Kind::Float) => |a, b, _| from_float(word_as_float(a).min(word_as_float(b))),
        (Math::Max, Kind::Float) => |a, b, _| from_float(word_as_float(a).max(word_as_float(b))),
        (Math::Clamp, Kind::Float) => {
            |a, b, c| from_float(word_as_float(a).max(word_as_float(b)).min(word_as_float(c)))
        }
        (Math::Abs, Kind::Float) => |a, _, _| from_float(word_as_float(a).abs()),
        (Math::Floor, _) if is_float => |a, _, _| from_float(word_as_float(a).floor()),
        (Math::Ceil, _) if is_float => |a, _, _| from_float(word_as_float(a).ceil()),
        (Math::Trunc, _) if is_float => |a, _, _| from_float(word_as_float(a).trunc()),
        (Math::Fract, _) if is_float => {
            |a, _, _| from_float(word_as_float(a) - word_as_float(a).floor())
        }
        (Math::Round, _) if is_float => |a, _, _| from_float(word_as_float(a).round_ties_even()),
        (Math::Sqrt, _) if is_float => |a, _, _| from_float(word_as_float(a).sqrt()),
        (Math::Fma, _) if is_float => {
            |a, b, c| from_float(word_as_float(a).mul_add(word_as_float(b), word_as_float(c)))
        }
        _ if is_float || !is_int32(scalar) => return None,
        (Math::Min, Kind::Sint) => |a, b, _| {
            if word_as_signed(b) < word_as_signed(a) {
                b
            } else {
                a
            }
        },
        (Math::Max, Kind::Sint) => |a, b, _| {
            if word_as_signed(b) > word_as_signed(a) {
                b
            } else {
                a
            }
        },
        (Math::Min, _) => |a, b, _| if low_word(b) < low_word(a) { b } else { a },
        (Math::Max, _) => |a, b, _| if low_word(b) > low_word(a) { b } else { a },
        (Math::Clamp, Kind::Sint) => |a, b, c| {
            i64::from(
                word_as_signed(a)
                    .max(word_as_signed(b))
                    .min(word_as_signed(c)),
            )
        },
        (Math::Clamp, _) => {
            |a, b, c| integer_of_bits(low_word(a).max(low_word(b)).min(low_word(c)))
        }
        (Math::Abs, Kind::Sint) => |a, _, _| i64::from(word_as_signed(a).wrapping_abs()),
        (Math::Abs, _) => |a, _, _| a,
        (Math::CountTrailingZeros, _) => |a, _, _| i64::from(low_word(a).trailing_zeros()),
        (Math::CountLeadingZeros, _) => |a, _, _| i64::from(low_word(a).leading_zeros()),
        (Math::CountOneBits, _) => |a, _, _| i64::from(low_word(a).count_ones()),
        (Math::ReverseBits, _) => |a, _, _| integer_of_bits(low_word(a).reverse_bits()),
        (Math::FirstTrailingBit, _) => |a, _, _| {
            if low_word(a) == 0 {
                -1
            } else {
                i64::from(low_word(a).trailing_zeros())
            }
        },
        (Math::FirstLeadingBit, Kind::Uint) => {
            |a, _, _| i64::from(31 - low_word(a).leading_zeros().cast_signed())
        }
        (Math::ExtractBits, Kind::Uint) => |a, b, c| {
            let offset = low_word(b).min(32);
            let count = low_word(c).min(32 - offset);
            match count {
                0 => 0,
                _ => integer_of_bits((low_word(a) >> offset) & (u32::MAX >> (32 - count))),
            }
        },
        _ => return None,
    })
}

/// Converts the value of a scalar to another type.
pub(super) fn convert_scalar(word: i64, from: Scalar, to: Scalar) -> i64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "these are WGSL's conversions: floats saturate, integers keep their low bits"
    )]
    match (from.kind, to.kind) {
        (Kind::Float, Kind::Bool) => from_bool(word_as_float(word) != 0.0),
        (_, Kind::Bool) => from_bool(match from.width {
            8 => word != 0,
            _ => low_word(word) != 0,
        }),
        (Kind::Float, Kind::Float) | (Kind::Bool, Kind::Sint | Kind::Uint) => word,
        (Kind::Float, Kind::Sint) if to.width == 4 => i64::from(word_as_float(word) as i32),
        (Kind::Float, Kind::Uint) if to.width == 4 => integer_of_bits(word_as_float(word) as u32),
        (Kind::Float, Kind::Sint) => word_as_float(word) as i64,
        (Kind::Float, _) => (word_as_float(word) as u64).cast_signed(),
        (Kind::Bool, _) => from_float(word as f32),
        (Kind::Sint, Kind::Float) if from.width == 4 => from_float(word_as_signed(word) as f32),
        (Kind::Uint, Kind::Float) if from.width == 4 => from_float(low_word(word) as f32),
        (Kind::Sint, Kind::Float) => from_float(word as f32),
        (_, Kind::Float) => from_float(word.cast_unsigned() as f32),
        // Only the low bits of the number matter. The `i64` can be outside the range of the type, because a shader can
        // rely on wrapping.
        _ => match (from.width, to.width) {
            (4, 8) if from.kind == Kind::Sint => i64::from(word_as_signed(word)),
            (4, 8) => i64::from(low_word(word)),
            (8, 4) => integer_of_bits(low_word(word)),
            _ => word,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_moves_unknown_bits_like_other_bits() {
        let unknown_after =
            |op, scalar, unknown_a, count| unknown_bits(op, scalar, (0, unknown_a), (count, 0));
        assert_eq!(unknown_after(Op::ShiftLeft, Scalar::U32, 0xff, 8), 0xff00);
        assert_eq!(
            unknown_after(Op::ShiftRight, Scalar::U32, 0xff00_0000, 24),
            0xff
        );
        // The count is taken modulo the number of bits.
        assert_eq!(unknown_after(Op::ShiftRight, Scalar::U32, 0xff, 32), 0xff);
        assert_eq!(
            unknown_after(Op::ShiftLeft, Scalar::U64, 0xff, 40),
            0xff << 40
        );
        assert_eq!(
            unknown_after(Op::ShiftRight, Scalar::U64, 0xff << 40, 40),
            0xff
        );
        // If the sign is unknown, so are the bits that the shift fills with it.
        let sign = unknown_after(Op::ShiftRight, Scalar::I32, 1 << 31, 4);
        assert_eq!(low_word(sign.cast_signed()), 0xf800_0000);
        assert_eq!(
            unknown_after(Op::ShiftRight, Scalar::I32, 1 << 30, 4),
            1 << 26
        );
    }
}
