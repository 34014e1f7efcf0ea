//! The uniforms of a dispatch, as the host writes them: the structs `Walk` of `shaders/uniforms.wgsl` and `Search` of
//! `shaders/mask.wgsl`, which explain each word. A test compares every name and offset in this file with the shader's.

use super::caps::check_limit;
use crate::Error;
use bytemuck::{Pod, Zeroable};

/// The largest number of dimensions of a walk, not counting its run, and of a mask. A dispatch writes at most 2^29
/// units, so a walk has at most 29 dimensions with at least two positions.
pub(crate) const MAX_DIMS: usize = 30;
/// The same limit for a walk with boxes. It is lower, because shaders keep all digits of a row in memory.
pub(crate) const MAX_CROPPED_DIMS: usize = 8;
/// The largest number of coordinates of a walk.
pub(crate) const MAX_COORDINATES: usize = 9;

/// The value of a word for the number of a column or a dimension, if there is no such column or dimension.
pub(crate) const NO_NUMBER: u32 = u32::MAX;

/// The value of a word for the number of a dimension, if this dimension is the run.
pub(crate) const RUN_DIMENSION: u32 = u32::MAX - 1;

/// Declares structs of words, which can end with arrays.
macro_rules! structs_of_words {
    ($($name:ident { $($word:ident)* $(; $array:ident: $type:ty)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
            pub(crate) struct $name {
                $(pub(crate) $word: u32,)*
                $(pub(crate) $array: $type,)*
            }

            #[cfg(test)]
            impl $name {
                /// Returns the names and offsets of the fields, and the size of the struct in bytes.
                pub(crate) fn layout() -> (Vec<(String, usize)>, usize) {
                    let words = vec![$((stringify!($word).into(), std::mem::offset_of!(Self, $word))),*];
                    let arrays = [$((stringify!($array).into(), std::mem::offset_of!(Self, $array))),*];
                    (words.into_iter().chain(arrays).collect(), size_of::<Self>())
                }
            }
        )*
    };
}

structs_of_words! {
    DimWords { size from_stride to_stride tuple_stride }

    CoordinateWords { size stride first count column begin along step extent digit flip high }

    WalkWords {
        from_base to_base run run_from run_to rows flags dims_used coordinates_used
        tuples tuple_words index_words lanes_log2 segments segment groups_x head
        first_row slices first_slice lists list_shift pitch updates first_index table_inner tables table_shift;
        dims: [DimWords; MAX_DIMS]; coordinates: [CoordinateWords; MAX_COORDINATES]
    }

    MaskDimWords { size first first_high column }

    SearchWords {
        begin elements first_chunk chunks number capacity result first_row rows row_words index_words groups_x;
        dims: [MaskDimWords; MAX_DIMS]
    }
}

/// The uniforms of a dispatch.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all dispatches are of walks"
)]
pub(crate) enum Uniforms {
    Walk(WalkWords),
    Search(SearchWords),
}

impl Uniforms {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Walk(words) => bytemuck::bytes_of(words),
            Self::Search(words) => bytemuck::bytes_of(words),
        }
    }

    /// Returns the words of a walk, or `None` for a search, which has no walk.
    pub(super) fn walk_words(&self) -> Option<&WalkWords> {
        match self {
            Self::Walk(words) => Some(words),
            Self::Search(_) => None,
        }
    }

    /// Returns the number of workgroups in the first dimension of the grid.
    pub(super) fn groups_x(&self) -> u32 {
        match self {
            Self::Walk(words) => words.groups_x,
            Self::Search(words) => words.groups_x,
        }
    }
}

impl Default for CoordinateWords {
    fn default() -> Self {
        Self {
            column: NO_NUMBER,
            along: NO_NUMBER,
            flip: NO_NUMBER,
            ..Self::zeroed()
        }
    }
}

impl Default for WalkWords {
    fn default() -> Self {
        Self {
            dims: [DimWords {
                size: 1,
                ..DimWords::zeroed()
            }; MAX_DIMS],
            coordinates: [CoordinateWords::default(); MAX_COORDINATES],
            ..Self::zeroed()
        }
    }
}

/// The bits of [`WalkWords::flags`]. Their names in WGSL lack the prefix `FLAG_`.
pub(crate) mod flags {
    pub(crate) const SIGNED_INDICES: u32 = 1;
    pub(crate) const FLAG_WRAPS: u32 = 2;
    pub(crate) const FLAG_CLAMPS: u32 = 4;
    pub(crate) const FLAG_REPORTS: u32 = 8;
    pub(crate) const FLAG_KEEPS: u32 = 16;
    pub(crate) const FLAG_STRICT: u32 = 32;
    pub(crate) const FLAG_CIRCULAR: u32 = 64;
}

/// The maximum size of uniforms in bytes.
pub(crate) const UNIFORM_BYTES: u32 = 1024;
const _: () = assert!(size_of::<WalkWords>() == UNIFORM_BYTES as usize);
const _: () = assert!(size_of::<SearchWords>() <= UNIFORM_BYTES as usize);

/// The largest number of positions of a dimension that tuples index.
pub(crate) const MAX_POSITIONS: u64 = (1 << 48) - 1;
/// The same limit for positions that shaders compute as signed 32-bit numbers.
pub(crate) const MAX_SIGNED: u64 = i32::MAX as u64;

/// Fails if there are more positions than `limit`, the largest number that shaders can count.
pub(crate) fn check_positions(positions: usize, limit: u64) -> Result<(), Error> {
    check_limit(
        "an indexed dimension, which the CPU path (Backend::cpu) can index",
        "32-bit shader arithmetic",
        positions as u64,
        limit,
    )
}

/// Returns the upper 16 bits of a 48-bit number of positions. Returns `None` if the number has more bits.
pub(crate) fn high_bits(positions: usize) -> Option<u32> {
    u16::try_from(positions as u64 >> 32).ok().map(u32::from)
}

/// Returns a value modulo 2^32, as the shaders store it. Negative values and long offsets wrap. Wrapping does no harm,
/// because the shaders only add offsets, and every sum that they use to access memory is the offset of a unit within
/// the binding. This offset fits in 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shaders compute modulo 2^32"
)]
pub(crate) fn wrapped_word(value: isize) -> u32 {
    value as u32
}

/// Returns the lower 32 bits of a number. If it can have more bits, the caller also stores its [`high_bits`].
pub(crate) fn count_word(number: usize) -> u32 {
    wrapped_word(number.cast_signed())
}
