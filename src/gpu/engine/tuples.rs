//! The index tuples of a walk on the device: their location and the meaning of their integers. See `tuples.wgsl`.

use super::{
    dispatch::INDICES,
    uniforms::{WalkWords, count_word, flags},
};
use crate::{
    moves::{Effect, Move},
    ops::index::{IndexType, Policy},
    walk::{Coordinate, StartIndex, Walk},
};

/// The argument with the tuples of a walk, and the meaning of their integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TupleArgument {
    pub(crate) argument: usize,
    pub(crate) index_type: IndexType,
    pub(crate) policy: Policy,
    /// True if units without a source keep their values instead of becoming zeros.
    pub(crate) keeps: bool,
    /// The integer that means position 0, if integers have one word.
    pub(crate) first_index: u32,
}

impl TupleArgument {
    /// Returns the tuples of a move, or `None` if it has no tuples.
    pub(crate) fn from_move(step_move: &Move) -> Option<Self> {
        let tuples = step_move.tuples()?;
        let scatters = matches!(step_move.effect(), Effect::Scatter(_));
        Some(Self {
            argument: INDICES,
            index_type: tuples.index_type,
            policy: tuples.policy,
            keeps: scatters || tuples.index_type == IndexType::Mask,
            first_index: 0,
        })
    }
}

/// Returns whether the tuples of a walk are `PLAIN`: see `tuples.wgsl`.
pub(super) fn is_plain(walk: &Walk, tuples: TupleArgument) -> bool {
    let is_plain = |coordinate: &Coordinate| {
        let Coordinate { size, window, .. } = *coordinate;
        matches!(coordinate.begin, StartIndex::Column(_))
            && coordinate.along.is_none()
            && i32::try_from(size).is_ok()
            && window.count == size
    };
    let changes_numbers = tuples.policy.wraps() || tuples.policy.clamps();
    !changes_numbers && walk.coordinates.iter().all(is_plain)
}

/// Sets the uniforms for the tuples of `walk`: their location, from word `begin` on (in a mask, from byte `begin` on),
/// and the meaning of their integers.
pub(super) fn set_tuples(
    uniforms: &mut WalkWords,
    walk: &Walk,
    tuples: TupleArgument,
    begin: usize,
) {
    let words = tuples.index_type.words();
    uniforms.tuples = count_word(begin);
    uniforms.index_words = words;
    uniforms.first_index = tuples.first_index;
    uniforms.tuple_words = count_word(walk.columns) * words.max(1);
    let bits = [
        (tuples.index_type != IndexType::U32, flags::SIGNED_INDICES),
        (tuples.policy.wraps(), flags::FLAG_WRAPS),
        (tuples.policy.clamps(), flags::FLAG_CLAMPS),
        (tuples.policy.circular, flags::FLAG_CIRCULAR),
        (walk.counts_tuples, flags::FLAG_REPORTS),
        (tuples.keeps, flags::FLAG_KEEPS),
    ];
    uniforms.flags = bits
        .iter()
        .map(|&(is_set, bit)| if is_set { bit } else { 0 })
        .sum();
}
