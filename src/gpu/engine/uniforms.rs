//! The numbers that a dispatch reads, as the host writes them: the struct `Walk` of `shaders/walk.wgsl`, which says what
//! each means. A test compares every name and offset here with the shader's.

use crate::Error;
use bytemuck::{Pod, Zeroable};

/// The most dimensions of a walk, beside its run, and the most coordinates.
pub(crate) const MOST_DIMS: usize = 8;
pub(crate) const MOST_COORDINATES: usize = 9;

/// What stands for no column, and for no dimension.
pub(crate) const NONE: u32 = u32::MAX;

/// What stands for the run in place of a dimension.
pub(crate) const RUN: u32 = u32::MAX - 1;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
pub(crate) struct DimWords {
    pub(crate) size: u32,
    pub(crate) from_stride: u32,
    pub(crate) to_stride: u32,
    pub(crate) tuple_stride: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
pub(crate) struct CoordinateWords {
    pub(crate) size: u32,
    pub(crate) stride: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) column: u32,
    pub(crate) begin: u32,
    pub(crate) along: u32,
    pub(crate) step: u32,
    pub(crate) extent: u32,
    pub(crate) digit: u32,
    pub(crate) flip: u32,
    pub(crate) unused: u32,
}

impl Default for CoordinateWords {
    fn default() -> Self {
        Self {
            column: NONE,
            along: NONE,
            flip: NONE,
            ..Self::zeroed()
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
pub(crate) struct Uniforms {
    pub(crate) from_base: u32,
    pub(crate) to_base: u32,
    pub(crate) run: u32,
    pub(crate) run_from: u32,
    pub(crate) run_to: u32,
    pub(crate) rows: u32,
    pub(crate) flags: u32,
    pub(crate) dims_used: u32,
    pub(crate) coordinates_used: u32,
    pub(crate) tuples: u32,
    pub(crate) tuple_words: u32,
    pub(crate) index_words: u32,
    pub(crate) lanes_log2: u32,
    pub(crate) segments: u32,
    pub(crate) segment: u32,
    pub(crate) groups_x: u32,
    pub(crate) head: u32,
    pub(crate) first_row: u32,
    pub(crate) slices: u32,
    pub(crate) first_slice: u32,
    pub(crate) lists: u32,
    pub(crate) list_shift: u32,
    pub(crate) pitch: u32,
    pub(crate) updates: u32,
    pub(crate) first_index: u32,
    pub(crate) unused_a: u32,
    pub(crate) unused_b: u32,
    pub(crate) unused_c: u32,
    pub(crate) dims: [DimWords; MOST_DIMS],
    pub(crate) coordinates: [CoordinateWords; MOST_COORDINATES],
}

impl Default for Uniforms {
    fn default() -> Self {
        Self {
            dims: [DimWords {
                size: 1,
                ..DimWords::zeroed()
            }; MOST_DIMS],
            coordinates: [CoordinateWords::default(); MOST_COORDINATES],
            ..Self::zeroed()
        }
    }
}

/// The bits of [`Uniforms::flags`], under their names in WGSL.
pub(crate) mod flags {
    pub(crate) const SIGNED_INDICES: u32 = 1;
    pub(crate) const WRAPS: u32 = 2;
    pub(crate) const CLAMPS: u32 = 4;
    pub(crate) const REPORTS: u32 = 8;
    pub(crate) const KEEPS: u32 = 16;
    pub(crate) const STRICT: u32 = 32;
}

/// The size of the uniforms in bytes.
pub(crate) const UNIFORM_BYTES: u32 = 672;
const _: () = assert!(size_of::<Uniforms>() == UNIFORM_BYTES as usize);

/// The error for a dimension of `size` positions, which shaders cannot count.
pub(crate) fn too_long(size: usize) -> Error {
    Error::DeviceLimit {
        what: "an indexed dimension, which the CPU path (Backend::cpu) can index",
        limit: "32-bit shader arithmetic",
        needed: size as u64,
        allowed: u64::from(u32::MAX),
    }
}

/// A value modulo 2^32, as the shaders hold it. Negative values and long offsets wrap. That is harmless, because the
/// shaders only add offsets, and every sum at which they access memory is the offset of a unit within the binding,
/// which fits in 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shaders compute modulo 2^32"
)]
pub(crate) fn wrap(value: i64) -> u32 {
    value as u32
}
