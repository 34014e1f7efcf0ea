//! A shader: pieces, pasted one behind the other: the declaration of `params`, what a unit is,
//! `params.wgsl`, a mover, the operation's map, and how that reads indices.
//!
//! What all invocations of a dispatch agree on is a flag in the params, which a GPU decides once for many of
//! them. A constant of the pipeline is what a GPU could not: types, and how many loads are in flight together.
//! So there are few pipelines, and a first call compiles what later ones use. `shader_tests` validates every
//! text.

use super::{
    adapter::STORAGE_BUFFERS,
    caps::Kind,
    kernel::{Indexed, Kernel, Scattering},
    op::{Mover, Op},
    params::PARAMS_BYTES,
    width::{Way, Width},
};
use std::fmt;

const PARAMS: &str = include_str!("../../shaders/params.wgsl");
const SUBWORD_ACCESS: &str = include_str!("../../shaders/subword_access.wgsl");
const INDEX_WORDS: &str = include_str!("../../shaders/index_words.wgsl");
const INDEX_VECTORS: &str = include_str!("../../shaders/index_vectors.wgsl");
const LOAD_REVERSED: &str = include_str!("../../shaders/load_reversed.wgsl");

/// Where nothing is put together.
const PART: &str = "const PARTS: u32 = 1u;\n";

/// Bind groups: the buffers that are moved between, the report, and the params where they are a
/// uniform buffer.
pub(crate) const BUFFERS_GROUP: u32 = 0;
pub(crate) const REPORT_GROUP: u32 = 1;
pub(crate) const PARAMS_GROUP: u32 = 2;

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

/// One shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) op: Op,
    pub(crate) kernel: Kernel,
    pub(crate) params: ParamsSpace,
}

impl Variant {
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
        let mover = self.mover();
        let indices = match () {
            () if !self.op.reports() => "",
            () if self.kernel.indexed.quads => INDEX_VECTORS,
            () => INDEX_WORDS,
        };
        let workgroup = format!("const WORKGROUP: u32 = {}u;\n", self.kernel.grid.workgroup);
        [
            &params,
            &workgroup,
            &self.unit(),
            PARAMS,
            mover.source(),
            self.op.source(),
            indices,
        ]
        .concat()
    }

    pub(crate) fn mover(self) -> Mover {
        self.op.mover(&self.kernel)
    }

    /// What the movers call a unit and its parts, and how they fetch one.
    fn unit(self) -> String {
        let Width { unit, part, way } = self.kernel.width;
        let ty = |bytes| match bytes {
            4 => "u32",
            8 => "vec2<u32>",
            _ => "vec4<u32>",
        };
        let mover = self.mover();
        match way {
            _ if matches!(
                mover,
                Mover::Subword | Mover::SubwordStore | Mover::CombineSubword
            ) =>
            {
                SUBWORD_ACCESS.to_owned()
            }
            // They know words, not units.
            _ if mover == Mover::Resolve => PART.to_owned(),
            _ if unit < 4 || mover == Mover::Sort => String::new(),
            _ if mover == Mover::Combine => words(part),
            _ if mover == Mover::CombineAtomic => {
                format!(
                    "{PART}alias Number = {};\n",
                    self.kernel.scatter.rule.number()
                )
            }
            Way::PackedBytes => PART.to_owned(),
            Way::Unaligned => String::new(),
            Way::Reversed => LOAD_REVERSED.to_owned(),
            Way::Whole => {
                let ty = ty(unit);
                format!(
                    "alias Unit = {ty};\nalias Part = {ty};\nconst PARTS: u32 = 1u;\n\
                     fn fetch(at: u32) -> Unit {{\n    return source[at];\n}}\n\
                     struct Units {{\n    a: Unit,\n    b: Unit,\n    c: Unit,\n    d: Unit,\n}}\n\
                     fn fetch_four(at: vec4<u32>) -> Units {{\n    \
                     return Units(source[at.x], source[at.y], source[at.z], source[at.w]);\n}}\n"
                )
            }
            Way::Gathered | Way::PackedWords => TOGETHER.to_owned(),
        }
    }

    /// The values of the shader's override constants.
    pub(crate) fn constants(self) -> Vec<(&'static str, f64)> {
        let Width { unit, part, .. } = self.kernel.width;
        let mut constants = Vec::new();
        match self.mover() {
            Mover::PackBytes => {
                let row = unit / Width::PARTS;
                constants.extend([("ROW_BYTES", row as f64), ("UNIT_BYTES", part as f64)]);
            }
            Mover::Unaligned => constants.push(("UNIT_BYTES", part as f64)),
            Mover::Subword | Mover::SubwordStore | Mover::SubwordGradient => {
                constants.push(("UNIT_BYTES", unit as f64));
            }
            Mover::Combine => {
                let [combine, numbers] = self.kernel.scatter.rule.of_words();
                constants.extend([("COMBINE", combine), ("NUMBERS", numbers)]);
            }
            Mover::CombineSubword => {
                let rule = self.kernel.scatter.rule.of_parts();
                constants.extend([("UNIT_BYTES", unit as f64), ("RULE", rule)]);
            }
            Mover::PackWords => {
                let units = match self.op {
                    Op::Gather => Width::UNITS_OF_A_GATHER,
                    _ => 1,
                };
                constants.extend([("RUN", self.kernel.run as f64), ("UNITS", units as f64)]);
            }
            Mover::RowsCoalesced => constants.push(("ROWS", self.kernel.grid.rows.into())),
            Mover::CombineAtomic | Mover::RowsSerial | Mover::Resolve | Mover::Sort => {}
        }
        let flag = |value| f64::from(u8::from(value));
        match self.op {
            Op::Gather | Op::ScatterResolve | Op::ScatterAtomic => {
                let Indexed {
                    unrolled,
                    words,
                    plain,
                    ..
                } = self.kernel.indexed;
                constants.extend([
                    ("DIMS", unrolled as f64),
                    ("INDEX_WORDS", words.into()),
                    ("PLAIN", flag(plain)),
                ]);
                if self.op == Op::ScatterResolve {
                    let Scattering { chains, looks, .. } = self.kernel.scatter;
                    constants.extend([("CHAINS", flag(chains)), ("LOOKS", flag(looks))]);
                }
            }
            Op::ScatterMove | Op::ScatterCombine => {
                constants.push(("CHAINS", flag(self.op == Op::ScatterCombine)));
            }
            Op::StridedSlice | Op::StridedSliceUpdate | Op::StridedSliceGrad | Op::ScatterSort => {}
        }
        constants
    }
}

/// A unit that is combined as four words, of which it may not have all.
fn words(unit: usize) -> String {
    let (ty, words, back) = match unit {
        4 => ("u32", "vec4(unit, vec3(0u))", "words.x"),
        8 => ("vec2<u32>", "vec4(unit, vec2(0u))", "words.xy"),
        _ => ("vec4<u32>", "unit", "words"),
    };
    format!(
        "alias Unit = {ty};\n\
         fn words(unit: Unit) -> vec4<u32> {{\n    return {words};\n}}\n\
         fn unit(words: vec4<u32>) -> Unit {{\n    return {back};\n}}\n"
    )
}

/// A unit that is put together of four words.
const TOGETHER: &str = "\
alias Unit = vec4<u32>;
alias Part = u32;
const PARTS: u32 = 4u;
fn fetch(at: u32) -> Unit {
    let step = params.step;
    return Unit(source[at], source[at + step], source[at + 2u * step], source[at + 3u * step]);
}
";

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Width { unit, part, way } = self.kernel.width;
        let (op, mover) = (self.op.name(), self.mover().name());
        write!(f, "wgslice {op}, {mover}, {unit}-byte units")?;
        if way != Way::Whole {
            write!(f, " {way:?} of {part} bytes")?;
        }
        Ok(())
    }
}
