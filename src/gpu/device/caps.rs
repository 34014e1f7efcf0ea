//! The limits of a dispatch on a device, and the ranges of buffers that a dispatch binds.

use crate::Error;

/// The size in bytes of the largest vector that a kernel loads or stores.
pub(crate) const VECTOR_BYTES: usize = 16;

/// The maximum workgroup memory of a shader in bytes per invocation: `link.wgsl` has three words for each of four rows.
/// Workgroups of 256 invocations use 12 KiB; WebGPU guarantees 16 KiB.
pub(crate) const INVOCATION_MEMORY: u32 = 48;

/// The value of [`Tuning::few_units`]. With a shared pipeline, lavapipe takes twice as long to look up a row of a walk,
/// but compiling a pipeline for the walk takes about 20 ms. A large GPU runs more invocations than this number at the
/// same time (an H100 270,000), so on such a GPU the longer look-up only adds its latency.
const FEW_UNITS: usize = 1 << 16;

/// The numbers that differ between adapters. They do not affect the choice of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// The number of invocations in a workgroup: a power of two, at least 64.
    pub(crate) workgroup: u32,
    /// True if one invocation moves a whole tile in a loop, because starting invocations costs more than loops.
    pub(crate) loops: bool,
    /// Dispatches of fewer units than this share pipelines, which read the numbers of dimensions and coordinates at run
    /// time. For other dispatches, pipelines are compiled for these numbers.
    pub(crate) few_units: usize,
    /// A move with at most this many contiguous rows is recorded as buffer copies, whatever the length of the rows.
    pub(crate) few_rows: usize,
    /// A move with contiguous rows of at least this many bytes is recorded as buffer copies, whatever their number.
    pub(crate) long_row: usize,
}

impl Tuning {
    /// For a GPU: workgroups have 256 invocations, because a multiprocessor holds 2,048 invocations but only 16 to 32
    /// workgroups, and starting a workgroup takes about the same time for any size.
    const HARDWARE: Self = Self {
        workgroup: 256,
        loops: false,
        few_units: FEW_UNITS,
        few_rows: 1,
        long_row: 1 << 20,
    };

    /// For a software adapter, which runs each workgroup as a task on a CPU thread.
    const SOFTWARE: Self = Self {
        workgroup: 64,
        loops: true,
        few_units: FEW_UNITS,
        few_rows: 16,
        long_row: 16 << 10,
    };

    /// Returns the numbers for a device. If the device's limits on invocations or workgroup memory are too low for
    /// the usual workgroup, workgroups have the largest power of two that fits, but at least 64. A device that does not
    /// allow 64 rejects the shaders.
    pub(in crate::gpu) fn for_device(is_software: bool, limits: &wgpu::Limits) -> Self {
        let tuning = if is_software {
            Self::SOFTWARE
        } else {
            Self::HARDWARE
        };
        let max_invocations = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x)
            .min(limits.max_compute_workgroup_storage_size / INVOCATION_MEMORY)
            .max(64);
        Self {
            workgroup: tuning.workgroup.min(1 << max_invocations.ilog2()),
            ..tuning
        }
    }
}

/// Returns the largest size in bytes of a binding, a multiple of [`VECTOR_BYTES`]. Metal allows bindings of more than
/// 4 GiB, but wgpu passes their sizes to shaders as 32-bit numbers and clamps offsets to 32 bits. All other APIs allow
/// less than 2 GiB.
pub(in crate::gpu) fn largest_binding(limits: &wgpu::Limits) -> u64 {
    let max_bytes = limits.max_storage_buffer_binding_size;
    max_bytes.min(i32::MAX as u64) / VECTOR_BYTES as u64 * VECTOR_BYTES as u64
}

/// Fails if `what` needs more than a limit of the device or of the shaders allows.
pub(in crate::gpu) fn check_limit(
    what: &'static str,
    limit: &'static str,
    needed: u64,
    allowed: u64,
) -> Result<(), Error> {
    match needed <= allowed {
        true => Ok(()),
        false => Err(Error::DeviceLimit {
            what,
            limit,
            needed,
            allowed,
        }),
    }
}

/// The limits of a dispatch on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DispatchLimits {
    /// The largest size of a binding in bytes.
    pub(crate) max_binding_bytes: u64,
    /// Bindings begin at multiples of this many bytes of their buffers. A power of two.
    pub(crate) alignment: u64,
    /// The largest number of workgroups in one dimension of a dispatch.
    pub(crate) max_groups: u32,
    /// The largest number of bytes of a result that one dispatch is allowed to write.
    pub(crate) max_result_bytes: u64,
    /// The largest offset that shaders compute, in units. A binding has at most this many units.
    pub(crate) max_units: u64,
    pub(crate) tuning: Tuning,
}

/// The location of an argument in its buffers: one part, or several parts if the argument is larger than the largest
/// buffer. Each part is a range of its own buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BufferParts {
    /// The start of each part in its buffer, in bytes. The same for all parts.
    pub(crate) offset: u64,
    /// The size in bytes of each part except the last.
    pub(crate) bytes: u64,
}

impl BufferParts {
    /// One part at the beginning of a buffer. A second part would begin at 2^62 bytes, and no argument is that large.
    pub(crate) const ONE_PART: Self = Self {
        offset: 0,
        bytes: 1 << 62,
    };

    /// Fails if the index tuple in bytes `from..to` of the argument is in two parts.
    pub(crate) fn check_whole(self, from: u64, to: u64) -> Result<(), Error> {
        match to > from && from / self.bytes != (to - 1) / self.bytes {
            true => check_limit("an index tuple", "max_buffer_size", to, self.bytes),
            false => Ok(()),
        }
    }

    /// Returns the ranges of buffers that contain bytes `at..at + bytes` of the argument.
    pub(in crate::gpu) fn buffer_slices(
        self,
        buffers: &[wgpu::Buffer],
        mut at: u64,
        bytes: u64,
    ) -> impl Iterator<Item = wgpu::BufferSlice<'_>> + Clone {
        let end = at + bytes;
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let (part_number, offset_in_part) = (at / self.bytes, at % self.bytes);
            let length = (self.bytes - offset_in_part).min(end - at);
            at += length;
            let offset = self.offset + offset_in_part;
            Some(buffers[usize::try_from(part_number).ok()?].slice(offset..offset + length))
        })
    }
}

/// The range of a move's argument that a dispatch binds. It is in one part of the argument: see [`BufferParts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BindingRange {
    /// The number of the bound part and of its buffer; the first is 0.
    pub(crate) part: usize,
    /// The offset of the binding in the part's buffer, in bytes.
    pub(crate) offset: u64,
    /// The size of the binding in bytes.
    pub(crate) bytes: u64,
}

impl DispatchLimits {
    /// Rounds an offset in bytes down to a multiple of both the alignment of bindings and the largest vector. Only the
    /// remainder affects how a plan is cut into dispatches.
    pub(in crate::gpu) fn align_offset(&self, offset: u64) -> u64 {
        // Both are powers of two.
        offset & !(self.alignment.max(VECTOR_BYTES as u64) - 1)
    }

    /// Returns the binding of bytes `from..to` of an argument, and the offset in bytes of byte `from` in the binding.
    /// Returns `None` if the bytes are in several parts, or if the binding would be too large.
    pub(in crate::gpu) fn binding_range(
        &self,
        parts: BufferParts,
        from: u64,
        to: u64,
    ) -> Option<(BindingRange, u64)> {
        let part_number = from / parts.bytes;
        // Bindings must not be empty: an empty range binds the word that contains `from`.
        let to = to.max(from + 1);
        if (to - 1) / parts.bytes != part_number {
            return None;
        }
        let offset_in_part = parts.offset + from % parts.bytes;
        let offset = offset_in_part - offset_in_part % self.alignment;
        let bytes = (offset_in_part - offset + (to - from)).next_multiple_of(4);
        let span = BindingRange {
            part: usize::try_from(part_number).ok()?,
            offset,
            bytes,
        };
        (bytes <= self.max_binding_bytes).then_some((span, offset_in_part - offset))
    }

    /// Returns the error for a move in which even a single unit, of `unit` bytes, exceeds the device's limits.
    pub(in crate::gpu) fn too_small(&self, unit: usize) -> Error {
        Error::DeviceLimit {
            what: "a single unit",
            limit: "max_storage_buffer_binding_size",
            needed: unit as u64 + self.alignment,
            allowed: self.max_binding_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::largest_binding;

    #[test]
    fn no_binding_is_larger_than_shaders_are_told() {
        let limits = |max_storage_buffer_binding_size| wgpu::Limits {
            max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        assert_eq!(largest_binding(&limits(16 << 30)), (2 << 30) - 16);
        assert_eq!(largest_binding(&limits(128 << 20)), 128 << 20);
        assert_eq!(largest_binding(&limits(1001)), 992);
    }
}
