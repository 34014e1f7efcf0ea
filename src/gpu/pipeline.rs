//! The shaders, put together, and the pipelines made of them.
//!
//! A shader is four pieces, pasted one behind the other and not otherwise touched: the declaration
//! of `params`, `params.wgsl`, a mover, and the operation's map. The table of variants is
//! `Variant::all`; the cache makes each at its first use and the tests validate every one.

use crate::{
    gpu::params::Params,
    plan::{Map, Plan},
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

const PARAMS: &str = include_str!("../../shaders/params.wgsl");
const WIDE: &str = include_str!("../../shaders/wide.wgsl");
const PACKED: &str = include_str!("../../shaders/packed.wgsl");
const STRIDED_SLICE: &str = include_str!("../../shaders/strided_slice.wgsl");
const GATHER_ND: &str = include_str!("../../shaders/gather_nd.wgsl");

/// The binding of the params where they are a uniform buffer.
pub(crate) const PARAMS_BINDING: u32 = 4;

/// An operation as the shaders know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    StridedSlice,
    GatherNd,
}

impl Op {
    #[cfg(test)]
    const ALL: [Self; 2] = [Self::StridedSlice, Self::GatherNd];

    fn source(self) -> &'static str {
        match self {
            Self::StridedSlice => STRIDED_SLICE,
            Self::GatherNd => GATHER_ND,
        }
    }

    /// Its storage buffers in the order of their bindings, and whether each is only read.
    fn buffers(self) -> &'static [bool] {
        match self {
            Self::StridedSlice => &[true, false],
            Self::GatherNd => &[true, false, true, false],
        }
    }
}

impl From<&Map> for Op {
    fn from(map: &Map) -> Self {
        match map {
            Map::StridedSlice(_) => Self::StridedSlice,
            Map::GatherNd(_) => Self::GatherNd,
        }
    }
}

/// How the params reach a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParamsSpace {
    /// With the dispatch itself. Needs `Features::IMMEDIATES`.
    Immediate,
    /// In a buffer of their own.
    Uniform,
}

/// One shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) op: Op,
    pub(crate) unit: usize,
    pub(crate) params: ParamsSpace,
}

impl Variant {
    pub(crate) fn of(plan: &Plan, params: ParamsSpace) -> Self {
        Self {
            op: Op::from(&plan.map),
            unit: plan.rows.unit,
            params,
        }
    }

    /// Every variant there is.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let spaces = [ParamsSpace::Immediate, ParamsSpace::Uniform];
        spaces.into_iter().flat_map(|params| {
            Op::ALL
                .into_iter()
                .flat_map(move |op| [1, 2, 4, 8, 16].map(|unit| Self { op, unit, params }))
        })
    }

    /// The shader's text.
    pub(crate) fn source(self) -> String {
        let params = match self.params {
            ParamsSpace::Immediate => "var<immediate> params: Params;\n".to_owned(),
            ParamsSpace::Uniform => {
                format!("@group(0) @binding({PARAMS_BINDING}) var<uniform> params: Params;\n")
            }
        };
        let (unit, mover) = match self.unit {
            16 => ("alias Unit = vec4<u32>;\n", WIDE),
            8 => ("alias Unit = vec2<u32>;\n", WIDE),
            4 => ("alias Unit = u32;\n", WIDE),
            _ => ("", PACKED),
        };
        [&params, unit, PARAMS, mover, self.op.source()].concat()
    }

    /// The values of the shader's override constants.
    pub(crate) fn constants(self) -> Vec<(&'static str, f64)> {
        match self.unit {
            unit @ (1 | 2) => vec![("UNIT_BYTES", unit as f64)],
            _ => Vec::new(),
        }
    }

    /// The storage buffers, in the order of their bindings, and whether each is only read.
    pub(crate) fn buffers(self) -> &'static [bool] {
        self.op.buffers()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            Op::StridedSlice => "strided_slice",
            Op::GatherNd => "gather_nd",
        };
        write!(f, "wgslice {op}, {}-byte units", self.unit)
    }
}

/// A compiled shader and the layout of what it binds.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) bindings: wgpu::BindGroupLayout,
}

/// The pipelines of a device, each made at its first use.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    made: Mutex<HashMap<Variant, Arc<Pipeline>>>,
}

impl Pipelines {
    /// The pipeline of `variant`.
    pub(crate) fn get(&self, device: &wgpu::Device, variant: Variant) -> Arc<Pipeline> {
        // A thread that panicked cannot have left a half-made pipeline in the map.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let pipeline = made
            .entry(variant)
            .or_insert_with(|| Arc::new(make(device, variant)));
        Arc::clone(pipeline)
    }
}

fn make(device: &wgpu::Device, variant: Variant) -> Pipeline {
    let label = variant.to_string();
    let label = Some(label.as_str());
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let mut entries: Vec<_> = (0..)
        .zip(variant.buffers())
        .map(|(binding, &read_only)| entry(binding, wgpu::BufferBindingType::Storage { read_only }))
        .collect();
    let mut immediate_size = 0;
    match variant.params {
        ParamsSpace::Uniform => {
            entries.push(entry(PARAMS_BINDING, wgpu::BufferBindingType::Uniform));
        }
        ParamsSpace::Immediate => immediate_size = PARAMS_BYTES,
    }
    let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &entries,
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&bindings)],
        immediate_size,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label,
        source: wgpu::ShaderSource::Wgsl(variant.source().into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &variant.constants(),
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    Pipeline { pipeline, bindings }
}

/// The size of the params, which is also the room for immediates that a device must have.
pub(crate) const PARAMS_BYTES: u32 = 128;
const _: () = assert!(size_of::<Params>() == PARAMS_BYTES as usize);
