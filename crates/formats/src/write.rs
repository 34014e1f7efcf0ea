//! Writes each format with the settings of naga that wgpu 30 chooses.

use super::{
    ENTRY_POINT, Format,
    bindings::{Buffer, Kind, declared_buffers, has_immediates},
};
use naga::{
    Module, ShaderStage,
    back::{glsl, hlsl, msl, spv},
    proc::{BoundsCheckPolicies, BoundsCheckPolicy},
    valid::ModuleInfo,
};

/// Writes a module in a format. The overrides of the module must already be replaced by values.
pub(crate) fn write_format(
    format: Format,
    module: &Module,
    info: &ModuleInfo,
) -> Result<Vec<u8>, String> {
    match format {
        Format::SpirV13 => write_spirv(module, info, (1, 3), BoundsCheckPolicy::Restrict),
        Format::SpirV16 => write_spirv(module, info, (1, 6), BoundsCheckPolicy::Unchecked),
        Format::GlslEs31 => write_glsl(module, info, glsl::Version::new_gles(310)),
        Format::Glsl45 => write_glsl(module, info, glsl::Version::Desktop(450)),
        Format::Hlsl51 => write_hlsl(module, info, hlsl::ShaderModel::V5_1),
        Format::Hlsl60 => write_hlsl(module, info, hlsl::ShaderModel::V6_0),
        Format::Msl23 => write_msl(module, info, (2, 3)),
    }
}

fn write_spirv(
    module: &Module,
    info: &ModuleInfo,
    lang_version: (u8, u8),
    buffer_policy: BoundsCheckPolicy,
) -> Result<Vec<u8>, String> {
    let is_spirv_1_6 = lang_version >= (1, 6);
    let options = spv::Options {
        lang_version,
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        // `binding_map` is left out, so naga keeps the shader's binding numbers.
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: buffer_policy,
            ..BoundsCheckPolicies::default()
        },
        zero_initialize_workgroup_memory: match is_spirv_1_6 {
            true => spv::ZeroInitializeWorkgroupMemoryMode::Native,
            false => spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        },
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: ENTRY_POINT.to_owned(),
    };
    let words = spv::write_vec(module, info, &options, Some(&pipeline));
    let words = words.map_err(|error| error.to_string())?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// Writes GLSL, in which uniform buffers and storage buffers are numbered separately.
fn write_glsl(
    module: &Module,
    info: &ModuleInfo,
    version: glsl::Version,
) -> Result<Vec<u8>, String> {
    let (mut uniform_slots, mut storage_slots) = (0..=u8::MAX, 0..=u8::MAX);
    let glsl_binding = |buffer: Buffer| {
        let slots = match buffer.kind {
            Kind::Uniform => &mut uniform_slots,
            Kind::ReadOnly | Kind::ReadWrite => &mut storage_slots,
        };
        Some((buffer.binding, slots.next()?))
    };
    let options = glsl::Options {
        version,
        writer_flags: glsl::WriterFlags::ADJUST_COORDINATE_SPACE
            | glsl::WriterFlags::FORCE_POINT_SIZE,
        binding_map: declared_buffers(module)
            .into_iter()
            .filter_map(glsl_binding)
            .collect(),
        zero_initialize_workgroup_memory: true,
    };
    let pipeline = glsl::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: ENTRY_POINT.to_owned(),
        multiview: None,
    };
    let mut text = String::new();
    let policies = BoundsCheckPolicies::default();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write().map(drop))
        .map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

/// Writes HLSL, in which uniform buffers, read-only buffers and writable buffers are numbered separately. If there are
/// immediates, they are in register 0 of space 0, and uniform buffers are in space 1, from register 1 on.
fn write_hlsl(
    module: &Module,
    info: &ModuleInfo,
    shader_model: hlsl::ShaderModel,
) -> Result<Vec<u8>, String> {
    let uses_immediates = has_immediates(module);
    let mut next_targets = [hlsl::BindTarget::default(); 3];
    if uses_immediates {
        next_targets[0] = hlsl::BindTarget {
            space: 1,
            register: 1,
            ..hlsl::BindTarget::default()
        };
    }
    let next_binding = |buffer: Buffer| {
        let target = &mut next_targets[match buffer.kind {
            Kind::Uniform => 0,
            Kind::ReadOnly => 1,
            Kind::ReadWrite => 2,
        }];
        let hlsl_binding = *target;
        target.register += 1;
        (buffer.binding, hlsl_binding)
    };
    let options = hlsl::Options {
        shader_model,
        binding_map: declared_buffers(module)
            .into_iter()
            .map(next_binding)
            .collect(),
        fake_missing_bindings: false,
        immediates_target: uses_immediates.then(hlsl::BindTarget::default),
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, ENTRY_POINT.to_owned())),
    };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

/// Writes MSL, in which all buffers are numbered together: first the immediates, then the shader's buffers, and finally
/// a buffer with the sizes of these buffers.
fn write_msl(
    module: &Module,
    info: &ModuleInfo,
    lang_version: (u8, u8),
) -> Result<Vec<u8>, String> {
    let mut slots = 0..=u8::MAX;
    let immediates_buffer = has_immediates(module).then(|| slots.next()).flatten();
    let msl_binding = |buffer: Buffer| {
        let target = msl::BindTarget {
            buffer: slots.next(),
            mutable: buffer.kind == Kind::ReadWrite,
            ..msl::BindTarget::default()
        };
        (buffer.binding, target)
    };
    let resources = declared_buffers(module)
        .into_iter()
        .map(msl_binding)
        .collect();
    let resources = msl::EntryPointResources {
        resources,
        immediates_buffer,
        sizes_buffer: slots.next(),
    };
    let options = msl::Options {
        lang_version,
        per_entry_point_map: [(ENTRY_POINT.to_owned(), resources)].into_iter().collect(),
        fake_missing_bindings: false,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            ..BoundsCheckPolicies::default()
        },
        ..msl::Options::default()
    };
    let pipeline = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, ENTRY_POINT.to_owned())),
        vertex_pulling_transform: true,
        ..msl::PipelineOptions::default()
    };
    let output = msl::write_string(module, info, &options, &pipeline);
    let (text, translation) = output.map_err(|error| error.to_string())?;
    // If naga cannot assign a slot to a buffer, `write_string` succeeds, and `entry_point_names` has the error.
    match translation.entry_point_names.as_slice() {
        [Ok(_)] => Ok(text.into_bytes()),
        [Err(error)] => Err(error.to_string()),
        names => Err(format!("{} entry points", names.len())),
    }
}
