//! The WGSL text and the override constants of a compute pipeline.
//!
//! The text consists of the declarations of `uniforms` and `WORKGROUP`, the kernel's [`Prelude`], `uniforms.wgsl`, the
//! kernel, the row map, and functions that read index tuples and report tuples that are out of range. `shader_tests`
//! validates every text.

use super::{
    adapter::STORAGE_BUFFERS,
    caps::{Kind, VECTOR},
    maps::{Lookup, Op},
    uniforms::UNIFORM_BYTES,
};
use std::{
    fmt,
    hash::{Hash, Hasher},
};

const UNIFORMS: &str = include_str!("../../shaders/uniforms.wgsl");
const INDEX_WORDS: &str = include_str!("../../shaders/index_words.wgsl");
const INDEX_VECTORS: &str = include_str!("../../shaders/index_vectors.wgsl");
const TRANSPOSE_UNITS: &str = include_str!("../../shaders/transpose_units.wgsl");
const TRANSPOSE_SUBWORD: &str = include_str!("../../shaders/transpose_subword.wgsl");
const LOAD_REVERSED: &str = include_str!("../../shaders/load_reversed.wgsl");

/// The number of the bind group of the buffers that are read and written.
pub(crate) const BUFFERS_GROUP: u32 = 0;
/// The number of the bind group of the report.
pub(crate) const REPORT_GROUP: u32 = 1;
/// The number of the bind group of the uniforms, if they are in a buffer.
pub(crate) const UNIFORMS_GROUP: u32 = 2;

/// How the uniforms reach a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UniformSpace {
    /// The uniforms are immediates (push constants), recorded with each dispatch. This needs `Features::IMMEDIATES`.
    /// Browsers do not use it, because the uniforms contain arrays and the browsers' WGSL allows no arrays in
    /// immediates.
    Immediate,
    /// The uniforms are in a uniform buffer.
    Uniform,
    /// The uniforms are in a storage buffer, for software adapters. If loops depend on values in a uniform buffer,
    /// lavapipe turns these values into constants and compiles the shader again for each dispatch, which takes half a
    /// millisecond.
    Storage,
}

impl UniformSpace {
    /// Chooses how the uniforms reach the shaders of a device.
    pub(super) fn of(
        features: wgpu::Features,
        limits: &wgpu::Limits,
        backend: wgpu::Backend,
        kind: Kind,
    ) -> Self {
        let immediates = features.contains(wgpu::Features::IMMEDIATES)
            && limits.max_immediate_size >= UNIFORM_BYTES
            && backend != wgpu::Backend::BrowserWebGpu;
        // In a storage buffer, the uniforms need one more storage buffer than operations bind, and a second dynamic
        // offset beside that of the report.
        let storage = limits.max_storage_buffers_per_shader_stage > STORAGE_BUFFERS
            && limits.max_dynamic_storage_buffers_per_pipeline_layout >= 2;
        match kind {
            _ if immediates => Self::Immediate,
            Kind::Software if storage => Self::Storage,
            _ => Self::Uniform,
        }
    }

    fn declaration(self) -> String {
        match self {
            Self::Immediate => "var<immediate> uniforms: Uniforms;\n".to_owned(),
            Self::Uniform => {
                format!("@group({UNIFORMS_GROUP}) @binding(0) var<uniform> uniforms: Uniforms;\n")
            }
            Self::Storage => {
                format!("@group({UNIFORMS_GROUP}) @binding(0) var<storage> uniforms: Uniforms;\n")
            }
        }
    }
}

/// A kernel's WGSL. Two sources are equal if their names are.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Source {}

impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What is compiled: a kernel in one of its forms, for the row map of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) source: Source,
    pub(crate) op: Op,
    pub(crate) form: Form,
    pub(crate) lookup: Lookup,
    /// The number of invocations in a workgroup: the constant `WORKGROUP` of the shader.
    pub(crate) workgroup: u32,
}

/// Hashes only a few words, because programs are looked up often. Few programs differ only in the rest.
impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Lookup {
            unrolled,
            words,
            plain,
            vectors,
        } = self.lookup;
        let flags = u64::from(plain) | u64::from(vectors) << 1 | u64::from(words) << 2;
        let of_op = self.op as u64 | (self.source.name.len() as u64) << 8 | flags << 16;
        let constants = self
            .form
            .constants
            .iter()
            .map(|&(_, value)| value.cast_unsigned() as u64);
        let mix = |all: u64, word: u64| all.wrapping_mul(31).wrapping_add(word);
        state.write_u64(constants.fold(of_op.wrapping_add((unrolled as u64) << 24), mix));
        self.form.prelude.hash(state);
    }
}

/// The variant of a kernel that is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// What a unit is, and how the kernel loads one.
    pub(crate) prelude: Prelude,
    /// The values of override constants, by name. Entries without a name are free.
    constants: [(&'static str, isize); 6],
    pub(crate) reads: Reads,
}

impl Form {
    pub(crate) fn of(prelude: Prelude) -> Self {
        Self {
            prelude,
            constants: [("", 0); 6],
            reads: Reads::Words,
        }
    }

    /// Adds override constants. A form has room for six, the most that a kernel has. Further ones would be dropped.
    pub(crate) fn with<T: Copy + TryInto<isize>>(
        mut self,
        constants: &[(&'static str, T)],
    ) -> Self {
        let free = self
            .constants
            .iter_mut()
            .filter(|(name, _)| name.is_empty());
        for (place, &(name, value)) in free.zip(constants) {
            *place = (name, value.try_into().unwrap_or_default());
        }
        self
    }

    /// Sets how the kernel reads index tuples.
    pub(crate) fn reading(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }

    fn constants(&self) -> impl Iterator<Item = (&'static str, isize)> {
        let named = self.constants.into_iter();
        named.filter(|(name, _)| !name.is_empty())
    }
}

/// How a kernel reads index tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// Word by word.
    Words,
    /// As vectors if the tuples of every four rows are whole vectors, otherwise word by word.
    Either,
    /// Always as vectors, four rows at a time.
    Vectors,
}

/// WGSL that is pasted before a kernel, and defines what a unit is and how the kernel loads one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Prelude {
    /// Nothing: the kernel's own file defines what a unit is and how to load one.
    None,
    /// Units are vectors of this many bytes: 4, 8 or 16.
    Vector(usize),
    /// Functions that access the bytes of words. The kernel's own file defines what a unit is.
    Subword,
    /// The text of `load_rows.wgsl` or `load_near.wgsl`, which load the rows that `pack_rows.wgsl` packs.
    File(Source),
    /// Units are vectors of 16 bytes, in which the order of elements is reversed.
    Reversed,
    /// Units are vectors of 16 bytes, each of which is gathered from four words of the source.
    Gathered,
    /// Units are vectors of this many bytes: 4, 8 or 16. The kernel pads them to four words to combine them.
    Words(usize),
    /// Units of `unit` bytes are moved by the tiles of a transpose. An invocation makes `loads` loads, each of a word
    /// if units are smaller than words, otherwise of a unit.
    Tile { unit: usize, loads: usize },
}

impl Prelude {
    /// The preludes with which `rows_serial` and `rows_coalesced` move vectors for an operation.
    pub(crate) fn of_vectors(op: Op) -> Vec<Self> {
        match op {
            Op::StridedSlice => [4, 8, VECTOR]
                .map(Self::Vector)
                .into_iter()
                .chain([Self::Reversed])
                .collect(),
            Op::ScatterMove => [4, VECTOR].map(Self::Vector).to_vec(),
            _ => [4, 8, VECTOR].map(Self::Vector).to_vec(),
        }
    }

    fn text(self) -> String {
        let ty = |bytes| match bytes {
            4 => "u32",
            8 => "vec2<u32>",
            _ => "vec4<u32>",
        };
        match self {
            Self::None => String::new(),
            Self::Subword => SUBWORD.to_owned(),
            Self::File(source) => source.text.to_owned(),
            Self::Reversed => LOAD_REVERSED.to_owned(),
            Self::Gathered => GATHERED.to_owned(),
            Self::Vector(bytes) => format!("alias Unit = {};\n{VECTORS}", ty(bytes)),
            Self::Words(bytes) => {
                let (words, back) = match bytes {
                    4 => ("vec4(unit, vec3(0u))", "words.x"),
                    8 => ("vec4(unit, vec2(0u))", "words.xy"),
                    _ => ("unit", "words"),
                };
                format!(
                    "alias Unit = {};\n\
                     fn words(unit: Unit) -> vec4<u32> {{\n    return {words};\n}}\n\
                     fn unit(words: vec4<u32>) -> Unit {{\n    return {back};\n}}\n",
                    ty(bytes)
                )
            }
            Self::Tile { unit, loads } => {
                let file = match unit {
                    ..4 => TRANSPOSE_SUBWORD,
                    _ => TRANSPOSE_UNITS,
                };
                let ty = ty(unit.max(4));
                format!(
                    "const PARTS: u32 = 1u;\nalias Unit = {ty};\nconst LOADS: u32 = {loads}u;\n\
                     const UNIT_BYTES: u32 = {unit}u;\n{file}"
                )
            }
        }
    }
}

const VECTORS: &str = "\
alias Part = Unit;
const PARTS: u32 = 1u;
fn fetch(at: u32) -> Unit {
    return source[at];
}
struct Units {
    a: Unit,
    b: Unit,
    c: Unit,
    d: Unit,
}
fn fetch_four(at: vec4<u32>) -> Units {
    return Units(source[at.x], source[at.y], source[at.z], source[at.w]);
}
";

const SUBWORD: &str = "\
const PARTS: u32 = 1u;

// Loads the four bytes that begin at any byte address. Bytes after the last word are unspecified.
fn load(address: u32) -> u32 {
    let word = address >> 2u;
    let shift = (address & 3u) << 3u;
    let low = source[word];
    let high = source[min(word + 1u, arrayLength(&source) - 1u)];
    return select((low >> shift) | (high << (32u - shift)), low, shift == 0u);
}

// Returns a mask of the lowest `bytes` bytes of a word; `bytes` is 1 to 4.
fn low_bytes(bytes: u32) -> u32 {
    return 0xffffffffu >> (32u - 8u * bytes);
}
";

const GATHERED: &str = "\
alias Unit = vec4<u32>;
alias Part = u32;
const PARTS: u32 = 4u;
fn fetch(at: u32) -> Unit {
    let step = uniforms.step;
    return Unit(source[at], source[at + step], source[at + 2u * step], source[at + 3u * step]);
}
";

/// For row maps without indices, takes the place of those functions of `indexed.wgsl` that kernels call. `within` is
/// always true, because the dispatch binds all units that its rows read. The others do nothing, because only rows
/// whose index tuple is out of range are reported.
const NO_REPORT: &str = "\
fn within(unit: u32) -> bool {
    return true;
}
fn missing(row: u32) {
}
fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}
fn eight_missing(rows: vec4<u32>, gone: vec4<bool>, more: vec4<u32>, more_gone: vec4<bool>) {
}
";

impl Program {
    /// The shader's text for a device that reads the uniforms from `space`.
    pub(crate) fn text(&self, space: UniformSpace) -> String {
        let indices = match (self.op.facts().reports, self.lookup.vectors) {
            (false, _) => NO_REPORT,
            (true, true) => INDEX_VECTORS,
            (true, false) => INDEX_WORDS,
        };
        let workgroup = format!("const WORKGROUP: u32 = {}u;\n", self.workgroup);
        [
            &space.declaration(),
            &workgroup,
            &self.form.prelude.text(),
            UNIFORMS,
            self.source.text,
            self.op.facts().text,
            indices,
        ]
        .concat()
    }

    /// The values of the shader's override constants.
    pub(crate) fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut constants: Vec<_> = self.form.constants().collect();
        if self.op.facts().reports {
            constants.push(("INDEX_WORDS", self.lookup.words as isize));
        }
        if self.op.facts().unrolls {
            constants.extend([
                ("DIMS", self.lookup.unrolled.cast_signed()),
                ("PLAIN", self.lookup.plain.into()),
            ]);
        }
        let value = |(name, value)| (name, value as f64);
        constants.into_iter().map(value).collect()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wgslice {}: {}", self.op.facts().name, self.source.name)?;
        let unit = match self.form.prelude {
            Prelude::None | Prelude::Subword => None,
            Prelude::File(source) => Some(source.name.to_owned()),
            Prelude::Tile { unit, .. } => Some(format!("{unit}-byte units")),
            Prelude::Vector(bytes) | Prelude::Words(bytes) => Some(format!("{bytes}-byte units")),
            Prelude::Reversed => Some("reversed 16-byte units".to_owned()),
            Prelude::Gathered => Some("16-byte units gathered from 4".to_owned()),
        };
        let constants = self.form.constants();
        let constants = constants.map(|(name, value)| format!("{name} {value}"));
        let details: Vec<_> = unit.into_iter().chain(constants).collect();
        match &details[..] {
            [] => Ok(()),
            details => write!(f, " ({})", details.join(", ")),
        }
    }
}
