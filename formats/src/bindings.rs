//! The places of a shader's buffers, numbered as wgpu numbers them.

use naga::{AddressSpace, Module, ResourceBinding, StorageAccess};

/// A buffer that the shader declares.
pub(crate) struct Buffer {
    pub(crate) binding: ResourceBinding,
    pub(crate) kind: Kind,
}

/// How a buffer is read and written. Some formats number the buffers of each kind separately.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Uniform,
    ReadOnly,
    ReadWrite,
}

/// All buffers in the order of their groups and bindings.
pub(crate) fn buffers(module: &Module) -> Vec<Buffer> {
    let globals = module.global_variables.iter();
    let mut all: Vec<_> = globals
        .filter_map(|(_, global)| {
            let kind = match global.space {
                AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => {
                    Kind::ReadWrite
                }
                AddressSpace::Storage { .. } => Kind::ReadOnly,
                _ => Kind::Uniform,
            };
            let binding = global.binding?;
            Some(Buffer { binding, kind })
        })
        .collect();
    all.sort_by_key(|buffer| (buffer.binding.group, buffer.binding.binding));
    all
}

/// Whether the shader has immediates.
pub(crate) fn has_immediates(module: &Module) -> bool {
    let mut globals = module.global_variables.iter();
    globals.any(|(_, global)| global.space == AddressSpace::Immediate)
}
