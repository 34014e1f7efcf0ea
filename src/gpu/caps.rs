//! What a device takes in one dispatch, and stretches of buffers as it binds them.

use crate::Error;

/// The largest vector that a kernel loads or stores, in bytes.
pub(crate) const VECTOR: usize = 16;

/// What kind of machine runs the shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many slow lanes.
    Hardware,
    /// A CPU in disguise.
    Software,
}

impl Kind {
    /// Invocations of a workgroup. A device that has no 64 refuses the shaders.
    pub(crate) fn workgroup(self, limits: &wgpu::Limits) -> u32 {
        let most = match self {
            Self::Hardware => 256,
            Self::Software => 64,
        };
        let allowed = limits.max_compute_invocations_per_workgroup;
        let allowed = allowed.min(limits.max_compute_workgroup_size_x).max(64);
        most.min(1 << allowed.ilog2())
    }
}

/// What a device takes in one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Bytes of a binding, at most.
    pub(crate) binding: u64,
    /// Bindings begin at multiples of this.
    pub(crate) alignment: u64,
    /// Workgroups in one dimension.
    pub(crate) groups: u32,
    /// Bytes of a result that are worth a dispatch of their own.
    pub(crate) dispatch: u64,
    /// Offsets that the shaders can compute with, in units.
    pub(crate) units: u64,
    pub(crate) kind: Kind,
    /// Invocations of a workgroup: a power of two, at least the lanes of a tile.
    pub(crate) workgroup: u32,
}

/// Where the bytes of an argument lie: one stretch of a buffer, or equal stretches of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Where each part begins in its buffer.
    pub(crate) offset: u64,
    /// Bytes of each part but the last.
    pub(crate) bytes: u64,
}

impl Parts {
    /// One buffer, from its beginning.
    pub(crate) const ONE: Self = Self {
        offset: 0,
        bytes: 1 << 62,
    };
}

/// A stretch of an argument as a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) part: usize,
    /// In the part's buffer.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Reach {
    #[cfg(test)]
    pub(super) fn of_tests(kind: Kind, workgroup: u32) -> Self {
        Self {
            binding: 1 << 30,
            alignment: 256,
            groups: 65_535,
            dispatch: 1 << 30,
            units: 1 << 31,
            kind,
            workgroup,
        }
    }

    /// The binding of bytes `from..to` of an argument, and how far behind its beginning `from` lies.
    pub(super) fn span(&self, parts: Parts, from: u64, to: u64) -> Option<(Span, u64)> {
        let part = from / parts.bytes;
        // An empty stretch binds the word that it lies at: no binding may be empty.
        let to = to.max(from + 1);
        if (to - 1) / parts.bytes != part {
            return None;
        }
        let within = parts.offset + from % parts.bytes;
        let offset = within - within % self.alignment;
        let bytes = (within - offset + (to - from)).next_multiple_of(4);
        let span = Span {
            part: usize::try_from(part).ok()?,
            offset,
            bytes,
        };
        (bytes <= self.binding).then_some((span, within - offset))
    }

    /// The error for a plan of which not even one unit fits.
    pub(super) fn too_small(&self, unit: usize) -> Error {
        Error::DeviceLimit {
            what: "a single unit",
            limit: "max_storage_buffer_binding_size",
            needed: unit as u64 + self.alignment,
            allowed: self.binding,
        }
    }
}
