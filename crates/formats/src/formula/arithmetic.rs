//! Computes terms for the results of WGSL's operators and built-in functions.

use super::machine::{FormulaMachine, UnsupportedReason};
use super::terms::Term;
use naga::{BinaryOperator as Operator, MathFunction, ScalarKind};

impl FormulaMachine<'_> {
    pub(super) fn apply_binary(
        &mut self,
        op: Operator,
        kind: ScalarKind,
        a: Term,
        b: Term,
    ) -> Result<Term, UnsupportedReason> {
        let is_signed = kind == ScalarKind::Sint;
        if kind == ScalarKind::Float {
            return self.float_operation(op, a, b);
        }
        if kind == ScalarKind::Bool {
            return Ok(match op {
                Operator::And | Operator::LogicalAnd => self.pool.and(a, b),
                Operator::InclusiveOr | Operator::LogicalOr => self.pool.or(a, b),
                Operator::Equal | Operator::NotEqual => {
                    let not_b = self.pool.not(b);
                    let xnor = self.pool.select(a, b, not_b);
                    match op {
                        Operator::Equal => xnor,
                        _ => self.pool.not(xnor),
                    }
                }
                _ => return Err(format!("{op:?} of booleans")),
            });
        }
        let (less_function, less_equal_function) = match is_signed {
            true => ("bvslt", "bvsle"),
            false => ("bvult", "bvule"),
        };
        Ok(match op {
            Operator::Add => self.pool.word_function("bvadd", &[a, b]),
            Operator::Subtract => self.pool.word_function("bvsub", &[a, b]),
            Operator::Multiply => self.pool.word_function("bvmul", &[a, b]),
            Operator::And => self.pool.word_function("bvand", &[a, b]),
            Operator::InclusiveOr => self.pool.word_function("bvor", &[a, b]),
            Operator::ExclusiveOr => self.pool.word_function("bvxor", &[a, b]),
            Operator::Divide if !is_signed => self.make_quotient(a, b),
            Operator::Modulo if !is_signed => {
                let quotient = self.make_quotient(a, b);
                let multiple = self.pool.word_function("bvmul", &[quotient, b]);
                self.pool.word_function("bvsub", &[a, multiple])
            }
            // Shift counts are modulo 32.
            Operator::ShiftLeft | Operator::ShiftRight => {
                let max_shift = self.pool.word_term(31);
                let count = self.pool.word_function("bvand", &[b, max_shift]);
                let function = match (op, is_signed) {
                    (Operator::ShiftLeft, _) => "bvshl",
                    (_, false) => "bvlshr",
                    (_, true) => "bvashr",
                };
                self.pool.word_function(function, &[a, count])
            }
            Operator::Equal => self.pool.compare_words("=", [a, b]),
            Operator::NotEqual => {
                let is_equal = self.pool.compare_words("=", [a, b]);
                self.pool.not(is_equal)
            }
            Operator::Less => self.pool.compare_words(less_function, [a, b]),
            Operator::LessEqual => self.pool.compare_words(less_equal_function, [a, b]),
            Operator::Greater => self.pool.compare_words(less_function, [b, a]),
            Operator::GreaterEqual => self.pool.compare_words(less_equal_function, [b, a]),
            _ => return Err(format!("{op:?} of {kind:?}")),
        })
    }

    /// Returns the quotient of two unsigned integers. If the divisor is unknown or 0, the quotient is an uninterpreted
    /// function, because solvers are too slow at divisions by unknown words. `tests/python/lemmas/integers.py` proves
    /// lemmas about quotients of integers.
    fn make_quotient(&mut self, a: Term, b: Term) -> Term {
        match self.pool.known_word(b) {
            Some(1..) => self.pool.word_function("bvudiv", &[a, b]),
            _ => self.pool.function_term("quotient", vec![a, b]),
        }
    }

    /// Applies an operator to floats. Each float is represented by a word with its bits.
    fn float_operation(
        &mut self,
        op: Operator,
        a: Term,
        b: Term,
    ) -> Result<Term, UnsupportedReason> {
        let function = match op {
            Operator::Add => "f32.add",
            Operator::Subtract => "f32.sub",
            Operator::Multiply => "f32.mul",
            _ => return Err(format!("{op:?} of floats")),
        };
        Ok(self.pool.function_term(function, vec![a, b]))
    }

    pub(super) fn apply_math(
        &mut self,
        fun: MathFunction,
        kind: ScalarKind,
        terms: &[Term],
    ) -> Result<Term, UnsupportedReason> {
        let less_function = match kind {
            ScalarKind::Sint => "bvslt",
            ScalarKind::Uint => "bvult",
            _ => return Err(format!("{fun:?} of {kind:?}")),
        };
        Ok(match (fun, terms) {
            (MathFunction::Min, &[a, b]) => self.make_minimum(less_function, a, b),
            (MathFunction::Max, &[a, b]) => self.make_maximum(less_function, a, b),
            (MathFunction::Clamp, &[a, low, high]) => {
                let raised_value = self.make_maximum(less_function, a, low);
                self.make_minimum(less_function, raised_value, high)
            }
            (MathFunction::Abs, &[a]) if kind == ScalarKind::Uint => a,
            (MathFunction::Abs, &[a]) => {
                let zero = self.pool.word_term(0);
                let is_negative = self.pool.compare_words(less_function, [a, zero]);
                let negated = self.pool.word_function("bvneg", &[a]);
                self.pool.select(is_negative, negated, a)
            }
            _ => return Err(format!("the function {fun:?}")),
        })
    }

    fn make_minimum(&mut self, less_function: &str, a: Term, b: Term) -> Term {
        let is_smaller = self.pool.compare_words(less_function, [b, a]);
        self.pool.select(is_smaller, b, a)
    }

    fn make_maximum(&mut self, less_function: &str, a: Term, b: Term) -> Term {
        let is_larger = self.pool.compare_words(less_function, [a, b]);
        self.pool.select(is_larger, b, a)
    }

    /// Converts a scalar to another type. Keeps the scalar's bits if `keeps_bits` is true, and otherwise its value.
    pub(super) fn convert_scalar(
        &mut self,
        from: ScalarKind,
        to: ScalarKind,
        keeps_bits: bool,
        term: Term,
    ) -> Result<Term, UnsupportedReason> {
        use ScalarKind::{Bool, Float, Sint, Uint};
        Ok(match (from, to) {
            (Uint | Sint, Uint | Sint) => term,
            (Uint | Sint | Float, Uint | Sint | Float) if keeps_bits => term,
            (Bool, Uint | Sint) => {
                let [one, zero] = [1, 0].map(|value| self.pool.word_term(value));
                self.pool.select(term, one, zero)
            }
            (Uint, Float) => self.pool.function_term("f32.of", vec![term]),
            (from, to) if from == to => term,
            _ => return Err(format!("a conversion from {from:?} to {to:?}")),
        })
    }
}
