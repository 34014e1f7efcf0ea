//! Represents values, each for all invocations of a workgroup at the same time.
//!
//! Every scalar is one `i64`, whatever its type:
//!
//! | type | the `i64` |
//! |---|---|
//! | `bool` | 0 or 1 |
//! | `f32` | its bits |
//! | `i64`, `u64` | its bits |
//! | `i32`, `u32` | the number that it would be if nothing had wrapped; the shader sees its low 32 bits |
//!
//! The last row of the table makes it possible to detect indices that wrapped. Sums, differences, products and left
//! shifts of 32-bit integers are computed in 64 bits. So a `u32` that represents a negative number, as strides often
//! do, stays negative, and a result outside the type's range is detected. Other new numbers, such as a quotient, a
//! result of bit operations or a loaded word, are built from their 32 bits alone and are negative from 2^31 on.

use naga::{GlobalVariable, Handle, Scalar, ScalarKind};
use std::{iter::repeat_n, rc::Rc};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Data(Data),
    Pointer(Pointer),
}

/// The scalars of a value, component by component. Each component has a scalar for every lane, or a single one if the
/// value is the same in all lanes.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) words: Rc<[i64]>,
    pub(super) is_uniform: bool,
    /// For each word, a mask of the bits that depend on unwritten memory. `None` if no word has such bits, which is the
    /// usual case.
    pub(super) unknown_masks: Option<Rc<Vec<u64>>>,
}

impl Data {
    pub(super) fn new(words: impl Into<Rc<[i64]>>, is_uniform: bool) -> Self {
        Self {
            words: words.into(),
            is_uniform,
            unknown_masks: None,
        }
    }

    pub(super) fn uniform(words: impl Into<Rc<[i64]>>) -> Self {
        Self::new(words, true)
    }

    pub(super) fn varying(words: impl Into<Rc<[i64]>>) -> Self {
        Self::new(words, false)
    }

    /// Returns the same value with these masks of unknown bits, one for each word.
    pub(super) fn with_unknown(self, unknown_masks: Vec<u64>) -> Self {
        let has_unknown = unknown_masks.iter().any(|&mask| mask != 0);
        Self {
            unknown_masks: has_unknown.then(|| Rc::new(unknown_masks)),
            ..self
        }
    }

    /// Returns the number of words of a component: one for each lane, or 1 if the value is uniform.
    pub(super) fn words_per_component(&self, lane_count: usize) -> usize {
        if self.is_uniform { 1 } else { lane_count }
    }

    pub(super) fn component_count(&self, lane_count: usize) -> usize {
        self.words.len() / self.words_per_component(lane_count)
    }

    fn word_position(&self, component: usize, lane: usize, lane_count: usize) -> usize {
        match self.is_uniform {
            true => component,
            false => component * lane_count + lane,
        }
    }

    pub(super) fn word_at(&self, component: usize, lane: usize, lane_count: usize) -> i64 {
        self.words[self.word_position(component, lane, lane_count)]
    }

    pub(super) fn unknown_at(&self, component: usize, lane: usize, lane_count: usize) -> u64 {
        let word_position = self.word_position(component, lane, lane_count);
        self.unknown_masks
            .as_ref()
            .map_or(0, |masks| masks[word_position])
    }

    /// Returns `count` components from component `first` on.
    pub(super) fn part(&self, first: usize, count: usize, lane_count: usize) -> Self {
        let component_words = self.words_per_component(lane_count);
        let word_range = first * component_words..(first + count) * component_words;
        if word_range == (0..self.words.len()) {
            return self.clone();
        }
        let part = Self::new(&self.words[word_range.clone()], self.is_uniform);
        match &self.unknown_masks {
            Some(masks) => part.with_unknown(masks[word_range].to_vec()),
            None => part,
        }
    }

    /// Concatenates the components of several values.
    pub(super) fn concat(parts: &[Self], lane_count: usize) -> Self {
        let is_uniform = parts.iter().all(|part| part.is_uniform);
        let component_words = if is_uniform { 1 } else { lane_count };
        let mut words = Vec::new();
        for part in parts {
            match part.is_uniform {
                true => words.extend(
                    part.words
                        .iter()
                        .flat_map(|&word| repeat_n(word, component_words)),
                ),
                false => words.extend_from_slice(&part.words),
            }
        }
        let joined = Self::new(words, is_uniform);
        if parts.iter().all(|part| part.unknown_masks.is_none()) {
            return joined;
        }
        let unknown_masks = parts.iter().flat_map(|part| {
            let components_and_lanes = (0..part.component_count(lane_count))
                .flat_map(move |c| (0..component_words).map(move |lane| (c, lane)));
            components_and_lanes.map(move |(c, lane)| part.unknown_at(c, lane, lane_count))
        });
        joined.with_unknown(unknown_masks.collect())
    }

    /// Applies a function to each scalar. If any bit of an operand is unknown, all bits of its result are.
    pub(super) fn map(&self, f: impl Fn(i64) -> i64) -> Self {
        let words: Rc<[i64]> = self.words.iter().map(|&word| f(word)).collect();
        let mapped = Self::new(words, self.is_uniform);
        match &self.unknown_masks {
            Some(masks) => {
                mapped.with_unknown(masks.iter().map(|&mask| all_if_any(mask)).collect())
            }
            None => mapped,
        }
    }

    /// Applies a function to the scalars of two values with the same number of components. If any bit of a pair of
    /// operands is unknown, all bits of their result are.
    pub(super) fn zip(&self, other: &Self, lane_count: usize, f: impl Fn(i64, i64) -> i64) -> Self {
        let zipped = self.zip_words(other, lane_count, f);
        self.with_unknown_of(other, zipped, lane_count, |a, b| all_if_any(a.1 | b.1))
    }

    /// Like [`Data::zip`], but `unknown_bits` computes the unknown bits of a scalar of the result. Its arguments are
    /// both operands, each with its unknown bits.
    pub(super) fn zip_by(
        &self,
        other: &Self,
        lane_count: usize,
        f: impl Fn(i64, i64) -> i64,
        unknown_bits: impl Fn((i64, u64), (i64, u64)) -> u64,
    ) -> Self {
        let zipped = self.zip_words(other, lane_count, f);
        self.with_unknown_of(other, zipped, lane_count, unknown_bits)
    }

    fn with_unknown_of(
        &self,
        other: &Self,
        zipped: Self,
        lane_count: usize,
        unknown_bits: impl Fn((i64, u64), (i64, u64)) -> u64,
    ) -> Self {
        if self.unknown_masks.is_none() && other.unknown_masks.is_none() {
            return zipped;
        }
        let component_words = zipped.words_per_component(lane_count);
        let masks = (0..zipped.words.len()).map(|n| {
            let (c, lane) = (n / component_words, n % component_words);
            let word_and_unknown = |data: &Self| {
                (
                    data.word_at(c, lane, lane_count),
                    data.unknown_at(c, lane, lane_count),
                )
            };
            unknown_bits(word_and_unknown(self), word_and_unknown(other))
        });
        let masks = masks.collect();
        zipped.with_unknown(masks)
    }

    fn zip_words(&self, other: &Self, lane_count: usize, f: impl Fn(i64, i64) -> i64) -> Self {
        let (a, b) = (&self.words, &other.words);
        // The iterators know their length, so `collect` allocates once.
        let words: Rc<[i64]> = match (self.is_uniform, other.is_uniform, a.len().min(b.len())) {
            (true, true, _) | (false, false, _) => {
                a.iter().zip(b.iter()).map(|(&a, &b)| f(a, b)).collect()
            }
            (true, false, 1) => b.iter().map(|&b| f(a[0], b)).collect(),
            (false, true, 1) => a.iter().map(|&a| f(a, b[0])).collect(),
            (true, false, _) => {
                let pairs = b.iter().enumerate();
                pairs.map(|(n, &b)| f(a[n / lane_count], b)).collect()
            }
            (false, true, _) => {
                let pairs = a.iter().enumerate();
                pairs.map(|(n, &a)| f(a, b[n / lane_count])).collect()
            }
        };
        Self::new(words, self.is_uniform && other.is_uniform)
    }
}

/// Returns the unknown bits of a result in which each bit depends on all bits of an operand: all bits, if any bit of
/// the operand is unknown. `operand_mask` has the operand's unknown bits.
pub(super) fn all_if_any(operand_mask: u64) -> u64 {
    if operand_mask == 0 { 0 } else { u64::MAX }
}

/// The target of a pointer, in each lane.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) place: Location,
    /// The offset from the beginning of the variable: in bytes for a global variable, in components for a local
    /// variable. A negative number is the code of a [`StrayIndex`].
    pub(super) at: Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A variable with a separate copy for each invocation, by its index on the stack.
    Local(usize),
    Global(Handle<GlobalVariable>),
}

/// An index that points to no element. The field holds the low 32 bits of the index. Only a read or a write through the
/// index is a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrayIndex {
    /// The index is beyond a vector or an array of fixed size.
    Outside(u32),
    /// The index is negative, or its computation wrapped.
    Wrapped(u32),
}

impl StrayIndex {
    const WRAPPED_CODE: i64 = i64::MIN / 2;

    /// Returns the negative number that represents this index instead of an offset.
    pub(super) fn code(self) -> i64 {
        match self {
            Self::Outside(index) => i64::MIN + i64::from(index),
            Self::Wrapped(index) => Self::WRAPPED_CODE + i64::from(index),
        }
    }

    pub(super) fn from_code(offset_or_code: i64) -> Option<Self> {
        match offset_or_code {
            0.. => None,
            Self::WRAPPED_CODE..0 => {
                Some(Self::Wrapped(low_word(offset_or_code - Self::WRAPPED_CODE)))
            }
            _ => Some(Self::Outside(low_word(
                offset_or_code.wrapping_sub(i64::MIN),
            ))),
        }
    }
}

/// Returns the low 32 bits of a word, which are the bits of a 32-bit number in a shader.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only the low bits are wanted"
)]
pub(super) fn low_word(word: i64) -> u32 {
    word as u32
}

/// Returns the `i64` of a scalar, from its bits.
pub(super) fn from_bits(bits: u64, scalar: Scalar) -> i64 {
    let bits = bits.cast_signed();
    match scalar {
        Scalar {
            kind: ScalarKind::Sint | ScalarKind::Uint,
            width: 4,
        } => integer_of_bits(low_word(bits)),
        _ => bits,
    }
}

/// Returns the `i64` of a 32-bit integer, from its bits. It is negative if the highest bit is set.
pub(super) fn integer_of_bits(bits: u32) -> i64 {
    i64::from(bits.cast_signed())
}

/// Returns the bits of a scalar, from its `i64`.
pub(super) fn to_bits(word: i64, scalar: Scalar) -> u64 {
    match scalar.width {
        8 => word.cast_unsigned(),
        _ => u64::from(low_word(word)),
    }
}
