//! The shaders, put together, and the pipelines made of them.
//!
//! A shader is four pieces, pasted one behind the other and not otherwise touched: the declaration
//! of `params`, `params.wgsl`, a mover, and the operation's map. The table of variants is
//! `Variant::all`; the cache makes each at its first use and the tests validate every one.

use super::{params::Params, slots::Slots, width::Width};
use crate::plan::Map;
use std::{fmt, sync::OnceLock};
use wgpu::{BufferBindingType, BufferUsages};

const PARAMS: &str = include_str!("../../shaders/params.wgsl");
const WIDE: &str = include_str!("../../shaders/wide.wgsl");
const PACKED: &str = include_str!("../../shaders/packed.wgsl");
const UNIT_16: &str = include_str!("../../shaders/unit_16.wgsl");
const UNIT_32: &str = include_str!("../../shaders/unit_32.wgsl");
const STRIDED_SLICE: &str = include_str!("../../shaders/strided_slice.wgsl");
const GATHER_ND: &str = include_str!("../../shaders/gather_nd.wgsl");

/// Bind groups: the buffers that are moved between, the report, and the params where they are a
/// uniform buffer.
pub(crate) const BUFFERS_GROUP: u32 = 0;
pub(crate) const REPORT_GROUP: u32 = 1;
pub(crate) const PARAMS_GROUP: u32 = 2;

/// An operation as the shaders know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    StridedSlice,
    /// With i32 indices.
    GatherNd32,
    /// With i64 indices.
    GatherNd64,
}

impl Op {
    const ALL: [Self; 3] = [Self::StridedSlice, Self::GatherNd32, Self::GatherNd64];

    pub(crate) fn of(map: &Map, index_words: u32) -> Self {
        match map {
            Map::StridedSlice(_) => Self::StridedSlice,
            Map::GatherNd(_) if index_words == 1 => Self::GatherNd32,
            Map::GatherNd(_) => Self::GatherNd64,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::GatherNd32 | Self::GatherNd64 => "gather_nd",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::StridedSlice => STRIDED_SLICE,
            Self::GatherNd32 | Self::GatherNd64 => GATHER_ND,
        }
    }

    /// The buffers of [`BUFFERS_GROUP`] in the order of their bindings, and whether each is only
    /// read.
    pub(crate) fn buffers(self) -> &'static [bool] {
        match self {
            Self::StridedSlice => &[true, false],
            Self::GatherNd32 | Self::GatherNd64 => &[true, false, true],
        }
    }

    /// Whether rows can be without a source.
    pub(crate) fn reports(self) -> bool {
        self != Self::StridedSlice
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

/// The words that a shader's units are made of.
///
/// A CPU adapter runs the lanes of a load or store one after the other, and so pays for each word,
/// whatever its size: 64-bit words are worth a third to a half more there (Mesa's lavapipe). They
/// need `Features::SHADER_INT64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Words {
    Bits32,
    Bits64,
}

impl Words {
    /// Bytes of the largest unit: four words.
    pub(crate) fn widest(self) -> usize {
        match self {
            Self::Bits32 => 16,
            Self::Bits64 => Width::MAX,
        }
    }
}

/// One shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) op: Op,
    pub(crate) width: Width,
    pub(crate) words: Words,
    pub(crate) params: ParamsSpace,
}

impl Variant {
    /// Every variant there is.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let spaces = [ParamsSpace::Immediate, ParamsSpace::Uniform];
        let widths = [Words::Bits32, Words::Bits64]
            .into_iter()
            .flat_map(|words| widths(words.widest()).map(move |width| (words, width)));
        widths.flat_map(move |(words, width)| {
            spaces.into_iter().flat_map(move |params| {
                Op::ALL.map(|op| Self {
                    op,
                    width,
                    words,
                    params,
                })
            })
        })
    }

    /// The shader's text.
    pub(crate) fn source(self) -> String {
        let params = match self.params {
            ParamsSpace::Immediate => "var<immediate> params: Params;\n".to_owned(),
            ParamsSpace::Uniform => {
                format!("@group({PARAMS_GROUP}) @binding(0) var<uniform> params: Params;\n")
            }
        };
        let plain = |ty| {
            format!("alias Unit = {ty};\nfn turned(unit: Unit) -> Unit {{\n    return unit;\n}}\n")
        };
        let (unit, mover) = match (self.width.unit, self.words) {
            (32, _) => (UNIT_32.to_owned(), WIDE),
            (16, Words::Bits64) if !self.flips() => (plain("vec2<u64>"), WIDE),
            (16, _) => (UNIT_16.to_owned(), WIDE),
            (8, Words::Bits64) => (plain("u64"), WIDE),
            (8, Words::Bits32) => (plain("vec2<u32>"), WIDE),
            (4, _) => (plain("u32"), WIDE),
            _ => (String::new(), PACKED),
        };
        [&params, &unit, PARAMS, mover, self.op.source()].concat()
    }

    /// Whether the order of elements is reversed.
    fn flips(self) -> bool {
        self.width.flip < self.width.unit
    }

    /// The values of the shader's override constants.
    pub(crate) fn constants(self) -> Vec<(&'static str, f64)> {
        let Width { unit, flip } = self.width;
        let turns = self.source().contains("override FLIP:");
        let flip = turns.then_some(("FLIP", flip as f64));
        let unit = (unit < 4).then_some(("UNIT_BYTES", unit as f64));
        let index = match self.op {
            Op::StridedSlice => None,
            Op::GatherNd32 => Some(("INDEX_WORDS", 1.0)),
            Op::GatherNd64 => Some(("INDEX_WORDS", 2.0)),
        };
        unit.into_iter().chain(flip).chain(index).collect()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Width { unit, flip } = self.width;
        write!(f, "wgslice {}, {unit}-byte units", self.op.name())?;
        if self.flips() {
            write!(f, " of {flip}-byte elements in reverse")?;
        }
        Ok(())
    }
}

/// Numbers of sizes of a unit, and of the elements in it.
const SIZES: usize = Width::MAX.ilog2() as usize + 1;

/// Every width up to `widest` bytes.
#[cfg(test)]
fn widths(widest: usize) -> impl Iterator<Item = Width> {
    let sizes = move |to: usize| (0..=to.ilog2()).map(|log2| 1 << log2);
    sizes(widest).flat_map(move |unit| {
        sizes(unit)
            .filter(move |&flip| flip == unit || unit >= Width::MIN_FLIPPED)
            .map(move |flip| Width { unit, flip })
    })
}

/// The pipelines of a device, each made at its first use, and the layouts that they share.
#[derive(Debug)]
pub(crate) struct Pipelines {
    space: ParamsSpace,
    words: Words,
    made: [[[OnceLock<wgpu::ComputePipeline>; SIZES]; SIZES]; Op::ALL.len()],
    buffers: [wgpu::BindGroupLayout; Op::ALL.len()],
    pub(crate) reports: Slots,
    pub(crate) uniforms: Slots,
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device, space: ParamsSpace, words: Words) -> Self {
        let storage = |&read_only: &bool| (BufferBindingType::Storage { read_only }, false);
        let buffers = Op::ALL.map(|op| {
            let entries: Vec<_> = op.buffers().iter().map(storage).collect();
            group_layout(device, op.name(), &entries)
        });
        let slots =
            |label, usage, ty| Slots::new(label, usage, group_layout(device, label, &[(ty, true)]));
        let read_only = false;
        Self {
            space,
            words,
            made: Default::default(),
            buffers,
            reports: slots(
                "wgslice reports",
                BufferUsages::STORAGE | BufferUsages::COPY_SRC,
                BufferBindingType::Storage { read_only },
            ),
            uniforms: slots(
                "wgslice params",
                BufferUsages::UNIFORM,
                BufferBindingType::Uniform,
            ),
        }
    }

    /// How params reach the shaders of this device.
    pub(crate) fn space(&self) -> ParamsSpace {
        self.space
    }

    /// The layout of an operation's buffers.
    pub(crate) fn buffers(&self, op: Op) -> &wgpu::BindGroupLayout {
        &self.buffers[op as usize]
    }

    /// The pipeline for units of this width.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        op: Op,
        width: Width,
    ) -> &wgpu::ComputePipeline {
        let number = |bytes: usize| bytes.trailing_zeros() as usize;
        let variant = Variant {
            op,
            width,
            words: self.words,
            params: self.space,
        };
        self.made[op as usize][number(width.unit)][number(width.flip)]
            .get_or_init(|| self.make(device, variant))
    }

    fn make(&self, device: &wgpu::Device, variant: Variant) -> wgpu::ComputePipeline {
        let label = variant.to_string();
        let label = Some(label.as_str());
        let immediate = variant.params == ParamsSpace::Immediate;
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[
                Some(self.buffers(variant.op)),
                variant.op.reports().then_some(self.reports.layout()),
                (!immediate).then_some(self.uniforms.layout()),
            ],
            immediate_size: if immediate { PARAMS_BYTES } else { 0 },
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(variant.source().into()),
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &variant.constants(),
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    }
}

/// A layout of buffers, each with its type and whether its offset comes with the dispatch.
fn group_layout(
    device: &wgpu::Device,
    label: &str,
    buffers: &[(BufferBindingType, bool)],
) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(
            |(binding, &(ty, has_dynamic_offset))| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset,
                    min_binding_size: None,
                },
                count: None,
            },
        )
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries: &entries,
    })
}

/// The size of the params, which is also the room for immediates that a device must have.
pub(crate) const PARAMS_BYTES: u32 = 128;
const _: () = assert!(size_of::<Params>() == PARAMS_BYTES as usize);
