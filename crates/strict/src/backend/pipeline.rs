//! Turns a shader into a program: parses and validates it with naga, as wgpu does, and replaces its overrides by
//! values.

use super::{
    PipelineRequest, SharedState,
    bind::{StrictGroupLayout, StrictPipelineLayout},
    lock,
};
use crate::machine::{Program, check_supported};
use naga::{
    AddressSpace, Module, ShaderStage, StorageAccess,
    back::{PipelineConstants, pipeline_constants::process_overrides},
    proc::Layouter,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};
use std::{borrow::Cow, future::ready, pin::Pin, sync::Arc};
use wgpu::{
    BufferBindingType, CompilationInfo,
    custom::{
        ComputePipelineInterface, DispatchBindGroupLayout, ShaderCompilationInfoFuture,
        ShaderModuleInterface,
    },
};

/// A parsed and validated shader, or the reason why it is not valid.
#[derive(Clone, Debug)]
pub(super) struct StrictShader(Arc<Result<ParsedShader, String>>);

#[derive(Debug)]
struct ParsedShader {
    module: Module,
    info: ModuleInfo,
    source: String,
}

impl StrictShader {
    pub(super) fn new(shared: &SharedState, descriptor: wgpu::ShaderModuleDescriptor<'_>) -> Self {
        let wgpu::ShaderSource::Wgsl(source) = descriptor.source else {
            super::panic_for_missing("shaders other than WGSL");
        };
        let source = match &shared.options.rewrite {
            Some(rewrite) => rewrite.apply(&source),
            None => source.into_owned(),
        };
        let parsed = parse_shader(source);
        if let Err(problem) = &parsed {
            shared.report_invalid(problem.clone());
        }
        Self(Arc::new(parsed))
    }
}

fn parse_shader(source: String) -> Result<ParsedShader, String> {
    let module =
        naga::front::wgsl::parse_str(&source).map_err(|error| error.emit_to_string(&source))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator
        .validate(&module)
        .map_err(|error| error.emit_to_string(&source))?;
    Ok(ParsedShader {
        module,
        info,
        source,
    })
}

impl ShaderModuleInterface for StrictShader {
    fn get_compilation_info(&self) -> Pin<Box<dyn ShaderCompilationInfoFuture>> {
        Box::pin(ready(CompilationInfo {
            messages: Vec::new(),
        }))
    }
}

/// A pipeline. Its first field is its program, or `None` if the program cannot run. Its second field holds the layouts
/// of its bind groups, or `None` if the pipeline was made without a layout.
#[derive(Clone, Debug)]
pub(super) struct StrictPipeline(
    pub(super) Option<Arc<Program>>,
    Option<Vec<StrictGroupLayout>>,
);

impl StrictPipeline {
    pub(super) fn new(
        shared: &SharedState,
        descriptor: &wgpu::ComputePipelineDescriptor<'_>,
    ) -> Self {
        let label = descriptor.label.unwrap_or("a pipeline without a label");
        let layout = descriptor.layout.and_then(|layout| layout.as_custom());
        let groups = layout.map(|layout: &StrictPipelineLayout| layout.groups.clone());
        let max_bytes = shared.limits.max_compute_workgroup_storage_size;
        let program = make_program(descriptor, label).and_then(|program| {
            let bytes = program.workgroup_bytes();
            match bytes <= u64::from(max_bytes) {
                true => Ok(program),
                false => Err(format!(
                    "{bytes} bytes of workgroup memory, more than {max_bytes}"
                )),
            }
        });
        let program = match program {
            Ok(program) => {
                if shared.options.keeps_pipelines {
                    lock(&shared.log.pipelines).push(PipelineRequest::of(descriptor, &program));
                }
                Some(Arc::new(program))
            }
            Err(problem) => {
                shared.report_invalid(format!("{label}: {problem}"));
                None
            }
        };
        Self(program, groups)
    }
}

fn make_program(
    descriptor: &wgpu::ComputePipelineDescriptor<'_>,
    label: &str,
) -> Result<Program, String> {
    let shader: &StrictShader = descriptor
        .module
        .as_custom()
        .expect("a shader of this device");
    let ParsedShader {
        module,
        info,
        source,
    } = shader.0.as_ref().as_ref().map_err(String::clone)?;
    let options = &descriptor.compilation_options;
    let constants: PipelineConstants = options
        .constants
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    let mut entry_points = module
        .entry_points
        .iter()
        .filter(|entry_point| entry_point.stage == ShaderStage::Compute);
    let entry_point = match descriptor.entry_point {
        Some(name) => entry_points.find(|entry_point| entry_point.name == name),
        None => entry_points.next(),
    };
    let entry_name = entry_point
        .ok_or("there is no such entry point")?
        .name
        .clone();
    let stage = Some((ShaderStage::Compute, entry_name.as_str()));
    let (module, info) =
        process_overrides(module, info, stage, &constants).map_err(|error| error.to_string())?;
    let (module, info) = (Cow::into_owned(module), Cow::into_owned(info));
    let entry_index = module
        .entry_points
        .iter()
        .position(|entry_point| entry_point.name == entry_name);
    let entry_index = entry_index.ok_or("there is no such entry point")?;
    check_supported(&module, &info, entry_index)
        .map_err(|feature| format!("strict-gpu cannot run {feature}"))?;
    let mut layouter = Layouter::default();
    layouter
        .update(module.to_ctx())
        .map_err(|error| error.to_string())?;
    Ok(Program {
        module,
        info,
        layouter,
        entry_index,
        source: source.clone(),
        label: label.to_owned(),
        zeroes_workgroup_memory: options.zero_initialize_workgroup_memory,
    })
}

/// Returns the layout of bind group number `group`, derived from the variables of a shader.
pub(super) fn group_layout(module: &Module, group: u32) -> StrictGroupLayout {
    let entries = module.global_variables.iter().filter_map(|(_, variable)| {
        let binding = variable.binding.filter(|binding| binding.group == group)?;
        let ty = match variable.space {
            AddressSpace::Uniform => BufferBindingType::Uniform,
            AddressSpace::Storage { access } => BufferBindingType::Storage {
                read_only: !access.contains(StorageAccess::STORE),
            },
            _ => return None,
        };
        Some((binding.binding, (ty, false)))
    });
    StrictGroupLayout(entries.collect())
}

impl ComputePipelineInterface for StrictPipeline {
    fn get_bind_group_layout(&self, index: u32) -> DispatchBindGroupLayout {
        let layout = match (&self.1, &self.0) {
            (Some(groups), _) => groups.get(index as usize).cloned(),
            (None, Some(program)) => Some(group_layout(&program.module, index)),
            (None, None) => None,
        };
        DispatchBindGroupLayout::custom(layout.unwrap_or_default())
    }
}
