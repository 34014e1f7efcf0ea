//! The numbers that a dispatch reads, as the host writes them. `shaders/uniforms.wgsl` says what each number means. The
//! files in `maps` define the words of each row map.
//!
//! A test compares every size and offset here with the shaders'.

use super::maps::MapWords;
use crate::Error;
use bytemuck::{Pod, Zeroable};

/// The fields of `Uniforms` in `uniforms.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Uniforms {
    pub(crate) run: u32,
    pub(crate) step: u32,
    pub(crate) units: u32,
    pub(crate) tiles: u32,
    pub(crate) segment: u32,
    /// Bits 0 to 15: the number of workgroups along x. Bits 16 to 19: the base-2 logarithm of the number of lanes of a
    /// tile. Bits 20 to 23: `Launch::element`, a size in bytes.
    pub(crate) grid: u32,
    pub(crate) source_base: u32,
    pub(crate) dest_base: u32,
    pub(crate) map: MapWords,
}

impl Uniforms {
    /// The number of workgroups along x.
    pub(crate) fn grid_width(&self) -> u32 {
        self.grid & 0xffff
    }

    /// The number of lanes of a tile.
    pub(crate) fn lanes(&self) -> u32 {
        1 << (self.grid >> 16 & 15)
    }
}

/// The size of the uniforms in bytes. A device without immediates, or with less room for them, reads the uniforms from
/// a buffer.
pub(crate) const UNIFORM_BYTES: u32 = 128;
const _: () = assert!(size_of::<Uniforms>() == UNIFORM_BYTES as usize);

/// The error for an offset or a size of `units` units, which is too large for the 32-bit arithmetic of the shaders.
pub(crate) fn too_far(units: u64) -> Error {
    Error::DeviceLimit {
        what: "an offset within the tensor",
        limit: "32-bit shader arithmetic",
        needed: units,
        allowed: u64::from(i32::MAX.cast_unsigned()),
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
