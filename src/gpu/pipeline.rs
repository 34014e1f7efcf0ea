//! The shaders, put together, and the pipelines made of them.
//!
//! A shader is five pieces, pasted one behind the other and not otherwise touched: the declaration
//! of `params`, what a unit is, `params.wgsl`, a mover, and the operation's map. The table of their
//! texts is `Variant::all`, and the tests validate every one. What a CPU adapter should not compute
//! for every row, such as the number of dimensions, is a constant of the pipeline; each pipeline is
//! made at its first use.
//!
//! A device whose limits are too low for them refuses layouts or pipelines. On a device of the
//! caller's nobody else would tell, so each is made in an error scope, and one that was refused is
//! never used: recording fails with what the device said, each time.

use super::{
    adapter::STORAGE_BUFFERS,
    failure::scoped,
    grid::Kind,
    params::Params,
    slots::{Reports, SharedParams, Strips},
    width::{Way, Width},
};
#[cfg(test)]
use crate::Negative;
use crate::{
    DType, Error, OutOfRange,
    ops::{
        index::{IndexType, Policy},
        scatter_nd::Combine,
    },
    plan::Map,
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};
use wgpu::{BufferBindingType, BufferUsages};

const PARAMS: &str = include_str!("../../shaders/params.wgsl");
const WIDE: &str = include_str!("../../shaders/wide.wgsl");
const ACROSS: &str = include_str!("../../shaders/across.wgsl");
const CRUMBS: &str = include_str!("../../shaders/crumbs.wgsl");
const PACKED: &str = include_str!("../../shaders/packed.wgsl");
const PLACE: &str = include_str!("../../shaders/place.wgsl");
const PLACE_PACKED: &str = include_str!("../../shaders/place_packed.wgsl");
const SPREAD: &str = include_str!("../../shaders/spread.wgsl");
const SPREAD_PACKED: &str = include_str!("../../shaders/spread_packed.wgsl");
const COMBINE: &str = include_str!("../../shaders/combine.wgsl");
const COMBINE_PACKED: &str = include_str!("../../shaders/combine_packed.wgsl");
const UNIT_16: &str = include_str!("../../shaders/unit_16.wgsl");
const UNIT_32: &str = include_str!("../../shaders/unit_32.wgsl");
const STRIDED_SLICE: &str = include_str!("../../shaders/strided_slice.wgsl");
const STRIDED_SLICE_UPDATE: &str = include_str!("../../shaders/strided_slice_update.wgsl");
const STRIDED_SLICE_GRAD: &str = include_str!("../../shaders/strided_slice_grad.wgsl");
const SCATTER_RESOLVE: &str = include_str!("../../shaders/scatter_resolve.wgsl");
const SCATTER_SORT: &str = include_str!("../../shaders/scatter_sort.wgsl");
const SCATTER_ND: &str = include_str!("../../shaders/scatter_nd.wgsl");
const INDEXED: &str = include_str!("../../shaders/indexed.wgsl");

/// Bind groups: the buffers that are moved between, the report, and the params where they are a
/// uniform buffer.
pub(crate) const BUFFERS_GROUP: u32 = 0;
pub(crate) const REPORT_GROUP: u32 = 1;
pub(crate) const PARAMS_GROUP: u32 = 2;

/// An operation as the shaders know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    StridedSlice,
    StridedSliceUpdate,
    StridedSliceGrad,
    /// gather_nd and gather.
    Gather,
    /// The steps of a scatter: where the rows go, in which order, and that they get there.
    ScatterResolve,
    ScatterSort,
    ScatterMove,
    ScatterCombine,
}

impl Op {
    const ALL: [Self; 8] = [
        Self::StridedSlice,
        Self::StridedSliceUpdate,
        Self::StridedSliceGrad,
        Self::Gather,
        Self::ScatterResolve,
        Self::ScatterSort,
        Self::ScatterMove,
        Self::ScatterCombine,
    ];

    /// The operation of a plan; the one that moves, where there are several steps.
    pub(crate) fn of(map: &Map) -> Self {
        match map {
            Map::ScatterNd(map) => match map.options.combine {
                Combine::Update => Self::ScatterMove,
                _ => Self::ScatterCombine,
            },
            Map::StridedSlice(_) => Self::StridedSlice,
            Map::StridedSliceUpdate(_) => Self::StridedSliceUpdate,
            Map::StridedSliceGrad(_) => Self::StridedSliceGrad,
            Map::Indexed(_) => Self::Gather,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::StridedSliceUpdate => "strided_slice_update",
            Self::StridedSliceGrad => "strided_slice_grad",
            Self::Gather => "gather",
            Self::ScatterResolve => "scatter_nd, resolve",
            Self::ScatterSort => "scatter_nd, sort",
            Self::ScatterMove | Self::ScatterCombine => "scatter_nd",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::StridedSlice => STRIDED_SLICE,
            Self::StridedSliceUpdate => STRIDED_SLICE_UPDATE,
            Self::StridedSliceGrad => STRIDED_SLICE_GRAD,
            Self::Gather => INDEXED,
            Self::ScatterResolve => SCATTER_RESOLVE,
            Self::ScatterSort => SCATTER_SORT,
            Self::ScatterMove | Self::ScatterCombine => SCATTER_ND,
        }
    }

    /// The buffers of [`BUFFERS_GROUP`] in the order of their bindings, and whether each is only
    /// read.
    pub(crate) fn buffers(self) -> &'static [bool] {
        match self {
            Self::StridedSlice | Self::StridedSliceUpdate | Self::StridedSliceGrad => {
                &[true, false]
            }
            Self::Gather => &[true, false, true],
            Self::ScatterResolve => &[true, false, false],
            Self::ScatterSort => &[true, false],
            Self::ScatterMove | Self::ScatterCombine => &[true, false, true, true],
        }
    }

    /// Whether rows can be without a source.
    pub(crate) fn reports(self) -> bool {
        matches!(self, Self::Gather | Self::ScatterResolve)
    }

    /// What moves rows of this width. Operations that write into places have movers of their own,
    /// which know whole units only.
    pub(crate) fn mover(self, width: Width) -> Mover {
        match (self, width.unit, width.way) {
            (Self::ScatterResolve | Self::ScatterSort, ..) => Mover::None,
            (Self::StridedSliceUpdate | Self::ScatterMove, ..4, _) => Mover::PlacePacked,
            (Self::StridedSliceUpdate | Self::ScatterMove, ..) => Mover::Place,
            (Self::ScatterCombine, ..4, _) => Mover::CombinePacked,
            (Self::ScatterCombine, ..) => Mover::Combine,
            (Self::StridedSliceGrad, ..4, _) => Mover::SpreadPacked,
            (Self::StridedSliceGrad, ..) => Mover::Spread,
            (_, _, Way::Crumbs) => Mover::Crumbs,
            (_, _, Way::Across) => Mover::Across,
            (_, ..4, _) => Mover::Packed,
            _ => Mover::Wide,
        }
    }

    /// Whether it has a shader for units of this width.
    #[cfg(test)]
    fn takes(self, width: Width) -> bool {
        match self {
            Self::StridedSlice | Self::Gather => true,
            Self::StridedSliceUpdate | Self::StridedSliceGrad | Self::ScatterMove => {
                width.way == Way::Whole
            }
            Self::ScatterResolve | Self::ScatterSort => width == Width::whole(4),
            Self::ScatterCombine => width.way == Way::Whole && width.unit <= 8,
        }
    }
}

/// How the params reach a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParamsSpace {
    /// With the dispatch itself. Needs `Features::IMMEDIATES`.
    Immediate,
    /// In a uniform buffer.
    Uniform,
    /// In a storage buffer. Lavapipe takes the values that loops depend on out of uniform buffers and
    /// compiles the shader again for each dispatch: half a millisecond.
    Storage,
}

impl ParamsSpace {
    /// How params reach the shaders of a device.
    pub(super) fn of(device: &wgpu::Device, kind: Kind) -> Self {
        let limits = device.limits();
        let immediates = device.features().contains(wgpu::Features::IMMEDIATES)
            && limits.max_immediate_size >= PARAMS_BYTES;
        // One more than the operations bind; reports too are bound at an offset.
        let storage = limits.max_storage_buffers_per_shader_stage > STORAGE_BUFFERS
            && limits.max_dynamic_storage_buffers_per_pipeline_layout >= 2;
        match kind {
            _ if immediates => Self::Immediate,
            Kind::Software if storage => Self::Storage,
            _ => Self::Uniform,
        }
    }
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

/// What moves rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mover {
    Wide,
    Across,
    Crumbs,
    Packed,
    Place,
    PlacePacked,
    Spread,
    SpreadPacked,
    Combine,
    CombinePacked,
    /// The shader of the operation is all that there is.
    None,
}

impl Mover {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Across => "across",
            Self::Crumbs => "crumbs",
            Self::Packed => "packed",
            Self::Place => "place",
            Self::PlacePacked => "packed place",
            Self::Spread => "spread",
            Self::SpreadPacked => "packed spread",
            Self::Combine => "combine",
            Self::CombinePacked => "packed combine",
            Self::None => "own",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Wide => WIDE,
            Self::Across => ACROSS,
            Self::Crumbs => CRUMBS,
            Self::Packed => PACKED,
            Self::Place => PLACE,
            Self::PlacePacked => PLACE_PACKED,
            Self::Spread => SPREAD,
            Self::SpreadPacked => SPREAD_PACKED,
            Self::Combine => COMBINE,
            Self::CombinePacked => COMBINE_PACKED,
            Self::None => "",
        }
    }
}

/// What a dispatch needs of its shader beside the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) width: Width,
    /// Dimensions that the map of a slice walks, or coordinates of an index tuple.
    pub(crate) dims: usize,
    /// Of a gather.
    pub(crate) indexed: Indexed,
    /// Whether each four neighbouring rows lie evenly apart, as far as the mover looks at several.
    pub(crate) even: bool,
    /// Whether units of a row that have a source lie apart in a gradient.
    pub(crate) stepped: bool,
    /// Of a scatter.
    pub(crate) scatter: Scattering,
}

impl Kernel {
    /// Units of this width, with so many dimensions, and nothing else.
    pub(crate) fn of(width: Width, dims: usize) -> Self {
        Self {
            width,
            dims,
            indexed: Indexed::default(),
            even: false,
            stepped: false,
            scatter: Scattering::default(),
        }
    }
}

/// What a dispatch of a scatter needs of its shader: constants of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Scattering {
    pub(crate) index: IndexType,
    pub(crate) policy: Policy,
    /// Whether rows are only checked.
    pub(crate) checks: bool,
    /// Whether several rows are combined, and in ascending order.
    pub(crate) chains: bool,
    pub(crate) sorted: bool,
    pub(crate) rule: Rule,
}

/// How the shaders combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    combine: Combine,
    numbers: Numbers,
}

/// What the shaders take elements for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Numbers {
    #[default]
    Unsigned,
    Signed,
    Bools,
    F16,
    BF16,
    F32,
}

impl Rule {
    /// How elements of a type are combined, if the shaders can, and bytes of what is combined by itself.
    pub(crate) fn of(combine: Combine, dtype: DType) -> Option<(Self, usize)> {
        let adds = combine == Combine::Add;
        let (numbers, can) = match dtype {
            DType::Bool => (Numbers::Bools, true),
            DType::I8 | DType::U8 | DType::I16 | DType::U16 => (Numbers::Unsigned, adds),
            DType::F16 => (Numbers::F16, adds),
            DType::BF16 => (Numbers::BF16, adds),
            DType::I32 if matches!(combine, Combine::Min | Combine::Max) => (Numbers::Signed, true),
            DType::I32 | DType::U32 => (Numbers::Unsigned, true),
            DType::F32 => (Numbers::F32, true),
            DType::I64 | DType::U64 => (Numbers::Unsigned, adds || combine == Combine::Sub),
            DType::Complex64 => (Numbers::F32, adds || combine == Combine::Sub),
            DType::F64 | DType::Complex128 => return None,
        };
        let element = match dtype {
            // Component by component.
            DType::Complex64 => 4,
            _ => dtype.size(),
        };
        can.then_some((Self { combine, numbers }, element))
    }

    /// Whether results depend on the order: sums are rounded, and of zeros that differ in their sign the
    /// first is the minimum and the maximum.
    pub(crate) fn depends_on_order(self) -> bool {
        matches!(self.numbers, Numbers::F16 | Numbers::BF16 | Numbers::F32)
    }

    /// `COMBINE` and `NUMBERS` of `combine.wgsl`.
    fn of_words(self) -> [f64; 2] {
        let combine = match self.combine {
            Combine::Add | Combine::Update => 0.0,
            Combine::Sub => 1.0,
            Combine::Mul => 2.0,
            Combine::Min => 3.0,
            Combine::Max => 4.0,
        };
        let numbers = match self.numbers {
            Numbers::F32 => 2.0,
            Numbers::Signed => 1.0,
            Numbers::Unsigned | Numbers::Bools | Numbers::F16 | Numbers::BF16 => 0.0,
        };
        [combine, numbers]
    }

    /// `RULE` of `combine_packed.wgsl`.
    fn of_parts(self) -> f64 {
        match (self.numbers, self.combine) {
            (Numbers::Bools, Combine::Mul | Combine::Min) => 2.0,
            (Numbers::Bools, _) => 1.0,
            (Numbers::F16, _) => 3.0,
            (Numbers::BF16, _) => 4.0,
            (Numbers::Unsigned | Numbers::Signed | Numbers::F32, _) => 0.0,
        }
    }
}

/// What a dispatch of a gather needs of its shader: constants of `indexed.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Indexed {
    /// Dimensions that are walked, and a bit for each that repeats the tuples.
    pub(crate) walk: usize,
    pub(crate) repeats: u32,
    pub(crate) index: IndexType,
    pub(crate) policy: Policy,
}

/// One shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) op: Op,
    pub(crate) kernel: Kernel,
    pub(crate) words: Words,
    pub(crate) params: ParamsSpace,
}

impl Variant {
    /// Every text that there is, with the largest constants.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let spaces = [
            ParamsSpace::Immediate,
            ParamsSpace::Uniform,
            ParamsSpace::Storage,
        ];
        let widths = [Words::Bits32, Words::Bits64]
            .into_iter()
            .flat_map(|words| widths(words.widest()).map(move |width| (words, width)));
        widths.flat_map(move |(words, width)| {
            let kernel = Kernel {
                width,
                dims: super::params::MAX_AXES,
                indexed: Indexed {
                    walk: 2,
                    repeats: 1,
                    index: IndexType::I64,
                    policy: Policy {
                        out_of_range: OutOfRange::Clamp,
                        negative: Negative::Wrap,
                    },
                },
                even: true,
                stepped: true,
                scatter: Scattering::default(),
            };
            spaces.into_iter().flat_map(move |params| {
                let ops = Op::ALL.into_iter().filter(move |op| op.takes(width));
                ops.map(move |op| Self {
                    op,
                    kernel,
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
            ParamsSpace::Storage => {
                format!("@group({PARAMS_GROUP}) @binding(0) var<storage> params: Params;\n")
            }
        };
        let mover = self.op.mover(self.kernel.width).source();
        [&params, &self.unit(), PARAMS, mover, self.op.source()].concat()
    }

    /// What the movers call a unit and its parts, and how they fetch one.
    fn unit(self) -> String {
        let Width { unit, part, way } = self.kernel.width;
        let scalar = |bytes| match (bytes, self.words) {
            (4, _) => "u32",
            (8, Words::Bits64) => "u64",
            (8, Words::Bits32) => "vec2<u32>",
            (16, Words::Bits64) => "vec2<u64>",
            (16, Words::Bits32) => "vec4<u32>",
            _ => "vec4<u64>",
        };
        let mover = self.op.mover(self.kernel.width);
        match way {
            // They know words, not units.
            _ if unit < 4 || matches!(mover, Mover::Combine | Mover::None) => String::new(),
            Way::Crumbs => String::new(),
            Way::Flipped if unit == 32 => UNIT_32.to_owned(),
            Way::Flipped => UNIT_16.to_owned(),
            Way::Whole => {
                let ty = scalar(unit);
                format!(
                    "alias Unit = {ty};\nalias Part = {ty};\nconst PARTS: u32 = 1u;\n\
                     fn fetch(at: u32) -> Unit {{\n    return source[at];\n}}\n"
                )
            }
            Way::Assembled | Way::Across => {
                let ty = scalar(part);
                format!(
                    "alias Unit = vec4<{ty}>;\nalias Part = {ty};\nconst PARTS: u32 = 4u;\n\
                     fn fetch(at: u32) -> Unit {{\n    let step = params.step;\n    \
                     return Unit(source[at], source[at + step], source[at + 2u * step], \
                     source[at + 3u * step]);\n}}\n"
                )
            }
        }
    }

    /// The values of the shader's override constants.
    pub(crate) fn constants(self) -> Vec<(&'static str, f64)> {
        let Width { unit, part, way } = self.kernel.width;
        let has_dims = !matches!(
            self.op,
            Op::ScatterSort | Op::ScatterMove | Op::ScatterCombine
        );
        let mut constants = Vec::new();
        if has_dims {
            constants.push(("DIMS", self.kernel.dims as f64));
        }
        if way == Way::Flipped {
            constants.push(("FLIP", part as f64));
        }
        match self.op.mover(self.kernel.width) {
            Mover::Crumbs => {
                let row = unit / Width::PARTS;
                constants.extend([("ROW_BYTES", row as f64), ("UNIT_BYTES", part as f64)]);
            }
            Mover::Packed | Mover::PlacePacked | Mover::SpreadPacked => {
                constants.push(("UNIT_BYTES", unit as f64));
            }
            Mover::Combine => {
                let [combine, numbers] = self.kernel.scatter.rule.of_words();
                constants.extend([
                    ("WORDS", (unit / 4) as f64),
                    ("COMBINE", combine),
                    ("NUMBERS", numbers),
                ]);
            }
            Mover::CombinePacked => {
                let rule = self.kernel.scatter.rule.of_parts();
                constants.extend([("UNIT_BYTES", unit as f64), ("RULE", rule)]);
            }
            Mover::Wide | Mover::Across | Mover::Place | Mover::Spread | Mover::None => {}
        }
        let flag = |value| u8::from(value).into();
        match self.op {
            Op::StridedSlice => constants.push(("EVEN", flag(self.kernel.even))),
            Op::Gather => {
                let Indexed {
                    walk,
                    repeats,
                    index,
                    policy,
                } = self.kernel.indexed;
                constants.extend([
                    ("WALK", walk as f64),
                    ("REPEATS", repeats.into()),
                    ("INDEX_WORDS", index.words().into()),
                    ("SIGNED", flag(index != IndexType::U32)),
                    ("WRAPS", flag(policy.wraps())),
                    ("CLAMPS", flag(policy.clamps())),
                ]);
            }
            Op::StridedSliceUpdate | Op::ScatterSort => {}
            Op::ScatterResolve => {
                let scatter = self.kernel.scatter;
                constants.extend([
                    ("INDEX_WORDS", scatter.index.words().into()),
                    ("SIGNED", flag(scatter.index != IndexType::U32)),
                    ("WRAPS", flag(scatter.policy.wraps())),
                    ("CLAMPS", flag(scatter.policy.clamps())),
                    ("CHAINS", flag(scatter.chains)),
                    ("CHECKS", flag(scatter.checks)),
                ]);
            }
            Op::ScatterMove | Op::ScatterCombine => {
                let scatter = self.kernel.scatter;
                let strict = scatter.policy.out_of_range == OutOfRange::Error;
                constants.push(("STRICT", flag(strict)));
                if self.op == Op::ScatterCombine {
                    constants.push(("SORTED", flag(scatter.sorted)));
                }
            }
            Op::StridedSliceGrad => constants.push(("STEPPED", flag(self.kernel.stepped))),
        }
        constants
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kernel { width, dims, .. } = self.kernel;
        let Width { unit, part, way } = width;
        let (op, mover) = (self.op.name(), self.op.mover(width).name());
        write!(
            f,
            "wgslice {op}, {dims} dimensions, {mover}, {unit}-byte units"
        )?;
        if way != Way::Whole {
            write!(f, " {way:?} of {part} bytes")?;
        }
        Ok(())
    }
}

/// Every width of units of up to `widest` bytes.
#[cfg(test)]
fn widths(widest: usize) -> impl Iterator<Item = Width> {
    let sizes = move |from: usize, to: usize| (from.ilog2()..=to.ilog2()).map(|log2| 1 << log2);
    let whole = sizes(1, widest).map(|unit| (unit, unit, Way::Whole));
    let flipped = sizes(Width::MIN_FLIPPED, widest)
        .flat_map(move |unit| sizes(1, unit / 2).map(move |part| (unit, part, Way::Flipped)));
    let together = sizes(4 * Width::PARTS, widest)
        .flat_map(|unit| [Way::Assembled, Way::Across].map(|way| (unit, unit / Width::PARTS, way)));
    let crumbs = (1..=4).flat_map(|row| {
        let parts = [1, 2].into_iter().filter(move |part| row % part == 0);
        parts.map(move |part| (row * Width::PARTS, part, Way::Crumbs))
    });
    let all = whole.chain(flipped).chain(together).chain(crumbs);
    all.map(|(unit, part, way)| Width { unit, part, way })
}

/// The pipelines of a device, each made at its first use, and the layouts that they share.
#[derive(Debug)]
pub(crate) struct Pipelines {
    space: ParamsSpace,
    words: Words,
    made: Mutex<HashMap<Variant, wgpu::ComputePipeline>>,
    buffers: [wgpu::BindGroupLayout; Op::ALL.len()],
    /// Why an operation's layouts cannot be had.
    refused: [Option<Error>; Op::ALL.len()],
    pub(super) reports: Reports,
    pub(super) params: SharedParams,
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device, space: ParamsSpace, words: Words) -> Self {
        let storage = |&read_only: &bool| (BufferBindingType::Storage { read_only }, false);
        let mut refused = [const { None }; Op::ALL.len()];
        let mut layout = |label, entries: &[_], needed: &dyn Fn(Op) -> bool| {
            let (layout, error) = scoped(device, || group_layout(device, label, entries));
            if let Some(error) = error {
                for op in Op::ALL.into_iter().filter(|&op| needed(op)) {
                    refused[op as usize].get_or_insert_with(|| refusal(op.name(), &error));
                }
            }
            layout
        };
        let buffers = Op::ALL.map(|op| {
            let entries: Vec<_> = op.buffers().iter().map(storage).collect();
            layout(op.name(), &entries, &|other| other == op)
        });
        let mut strips = |label, usage, ty, needed: &dyn Fn(Op) -> bool| Strips {
            label,
            usage,
            layout: layout(label, &[(ty, true)], needed),
        };
        let reports = Reports::new(strips(
            "wgslice reports",
            BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            BufferBindingType::Storage { read_only: false },
            &Op::reports,
        ));
        let (usage, ty) = match space {
            ParamsSpace::Storage => (
                BufferUsages::STORAGE,
                BufferBindingType::Storage { read_only: true },
            ),
            ParamsSpace::Immediate | ParamsSpace::Uniform => {
                (BufferUsages::UNIFORM, BufferBindingType::Uniform)
            }
        };
        let params = SharedParams::new(strips("wgslice params", usage, ty, &|_| {
            space != ParamsSpace::Immediate
        }));
        Self {
            space,
            words,
            made: Default::default(),
            buffers,
            refused,
            reports,
            params,
        }
    }

    /// How params reach the shaders.
    pub(crate) fn space(&self) -> ParamsSpace {
        self.space
    }

    /// The layout of an operation's buffers.
    pub(crate) fn buffers(&self, op: Op) -> &wgpu::BindGroupLayout {
        &self.buffers[op as usize]
    }

    /// The pipeline of a dispatch.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        op: Op,
        kernel: Kernel,
    ) -> Result<wgpu::ComputePipeline, Error> {
        let variant = Variant {
            op,
            kernel,
            words: self.words,
            params: self.space,
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = made.get(&variant) {
            return Ok(pipeline.clone());
        }
        if let Some(error) = &self.refused[op as usize] {
            return Err(error.clone());
        }
        match scoped(device, || self.make(device, variant)) {
            (pipeline, None) => Ok(made.entry(variant).insert_entry(pipeline).get().clone()),
            (_, Some(error)) => Err(refusal(&variant.to_string(), &error)),
        }
    }

    fn make(&self, device: &wgpu::Device, variant: Variant) -> wgpu::ComputePipeline {
        let label = variant.to_string();
        let label = Some(label.as_str());
        let immediate = variant.params == ParamsSpace::Immediate;
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[
                Some(self.buffers(variant.op)),
                variant.op.reports().then_some(&self.reports.strips.layout),
                (!immediate).then_some(&self.params.strips.layout),
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

/// The error for a shader that the device refuses.
fn refusal(shader: &str, error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfDeviceMemory {
            doing: "compiling a shader",
        },
        _ => Error::Pipeline {
            shader: shader.to_owned(),
            message: error.to_string(),
        },
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
