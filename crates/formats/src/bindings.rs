//! Lists the buffers of a shader in the order in which wgpu numbers them in GLSL, HLSL and MSL.

use naga::{AddressSpace, Module, ResourceBinding, StorageAccess};

/// A buffer that the shader declares, with its group and binding number.
pub(crate) struct Buffer {
    pub(crate) binding: ResourceBinding,
    pub(crate) kind: Kind,
}

/// How a shader accesses a buffer. Some formats number buffers of different kinds separately.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Uniform,
    ReadOnly,
    ReadWrite,
}

/// Returns all buffers that have a binding, sorted by group and then by binding number.
pub(crate) fn declared_buffers(module: &Module) -> Vec<Buffer> {
    let globals = module.global_variables.iter();
    let mut buffers: Vec<_> = globals
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
    buffers.sort_by_key(|buffer| (buffer.binding.group, buffer.binding.binding));
    buffers
}

pub(crate) fn has_immediates(module: &Module) -> bool {
    let mut globals = module.global_variables.iter();
    globals.any(|(_, global)| global.space == AddressSpace::Immediate)
}
