//! [`Program`]s, the input of the shader compiler: a kernel of `shaders/`, the type of its units, and values for its
//! override constants.
//!
//! Each file in `shaders/` is a module. The comment at its top lists the names that it needs and defines. A line
//! `#import name.wgsl` is replaced by the text of another file. Imports are lines of text, as in vello and in
//! wgsl-analyzer. A linker such as the crate `wesl` would add a second WGSL parser to every program that uses this
//! crate. The only WGSL in Rust is the declaration of the workgroup size and a [`Prelude`] of up to three lines, which
//! defines the type of a unit or of an integer.

use super::{adapter::STORAGE_BUFFERS, uniforms::UNIFORM_BYTES};
use std::fmt;

/// The number of the bind group of a move's arguments, such as its source and its destination.
pub(crate) const BUFFERS_GROUP: u32 = 0;
/// The number of the bind group of the report.
pub(crate) const REPORT_GROUP: u32 = 1;
/// The number of the bind group of the uniforms.
pub(crate) const UNIFORMS_GROUP: u32 = 2;

/// The address space from which the shaders of a device read their uniforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UniformSpace {
    Uniform,
    /// For software adapters. If loops depend on values in a uniform buffer, lavapipe turns these values into constants
    /// and compiles the shader again for each dispatch, which takes half a millisecond.
    Storage,
}

impl UniformSpace {
    pub(in crate::gpu) fn for_device(is_software: bool, limits: &wgpu::Limits) -> Self {
        // Uniforms in storage require three things: one more storage buffer than operations and conversion tables bind;
        // a second dynamic offset, in addition to the offset of the report; and bindings that are large enough for a
        // slot.
        let fits_storage = limits.max_storage_buffers_per_shader_stage > STORAGE_BUFFERS + 1
            && limits.max_storage_buffer_binding_size >= UNIFORM_BYTES.next_multiple_of(256).into()
            && limits.max_dynamic_storage_buffers_per_pipeline_layout >= 2;
        match is_software && fits_storage {
            true => Self::Storage,
            false => Self::Uniform,
        }
    }
}

/// Declares the kernels: for each, its file and the buffers that it changes.
macro_rules! modules {
    ($($(#[$attribute:meta])* $kernel:ident $file:literal $changed:expr;)*) => {
        /// A kernel: a file in `shaders/` with an entry point.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Kernel {
            $($(#[$attribute])* $kernel,)*
        }

        impl Kernel {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kernel,)*];

            /// Returns the name of the kernel's file, without `.wgsl`.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$kernel => $file,)*
                }
            }

            fn text(self) -> &'static str {
                match self {
                    $(Self::$kernel => include_str!(concat!("../../../shaders/", $file, ".wgsl")),)*
                }
            }

            /// Returns, for each buffer of [`BUFFERS_GROUP`] in the order of the bindings, whether the kernel changes
            /// it.
            pub(crate) fn changes(self) -> &'static [bool] {
                match self {
                    $(Self::$kernel => &$changed,)*
                }
            }
        }
    };
}

modules! {
    /// Copies units of 4 to 16 bytes.
    Copy "copy" [false, false, true];
    /// Copies elements of 1 to 3 bytes to a contiguous result.
    CopyWords "copy_words" [false, false, true];
    /// Copies elements of 1 to 3 bytes into a destination with gaps.
    UpdateWords "update_words" [false, false, true];
    /// Copies elements and converts them.
    Convert "convert" [false, false, true, false];
    /// Finds the last row of each slice.
    Last "last" [false, true];
    /// Links the rows of each slice within a chunk of rows, or all rows of a slice in any order.
    Link "link" [false, true];
    /// Links the rows of each slice in order.
    Order "order" [true];
    /// Combines rows of numbers of 4 or 8 bytes, or of smaller numbers in rows of whole words.
    Combine "combine" [false, false, true];
    /// Combines rows of numbers of 1 or 2 bytes. Rows can begin and end within words.
    CombineParts "combine_parts" [false, false, true];
    /// Combines rows of integers of 4 bytes, in any order.
    Atomic "atomic" [false, false, true];
    /// Counts the true elements of each chunk of a mask.
    MaskCount "mask_count" [false, true];
    /// Adds up the counts of chunks.
    MaskScan "mask_scan" [true, true];
    /// Writes the positions of true elements.
    MaskRows "mask_rows" [false, false, true];
}

/// Declares the override constants that the host sets in the modules.
macro_rules! constants {
    ($($constant:ident $name:literal;)*) => {
        /// An override constant. The module that declares it describes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Constant {
            $($constant,)*
        }

        impl Constant {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$constant,)*];

            /// Returns the constant's name in the shaders.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$constant => $name,)*
                }
            }
        }
    };
}

constants! {
    Dims "DIMS";
    Coordinates "COORDINATES";
    Crops "CROPS";
    Fixed "FIXED";
    Plain "PLAIN";
    Long "LONG";
    Masked "MASKED";
    Scatters "SCATTERS";
    Loops "LOOPS";
    Rows "ROWS";
    Element "ELEMENT";
    Short "SHORT";
    Straddles "STRADDLES";
    Bytes "BYTES";
    RunTo "RUN_TO";
    Forward "FORWARD";
    From "FROM";
    To "TO";
    FromBytes "FROM_BYTES";
    ToBytes "TO_BYTES";
    Tables "TABLES";
    Steady "STEADY";
    Edges "EDGES";
    Chooses "CHOOSES";
    Ordered "ORDERED";
    Lasts "LASTS";
    ByRows "BY_ROWS";
    Fresh "FRESH";
    Unique "UNIQUE";
    Combine "COMBINE";
    Numbers "NUMBERS";
    Rule "RULE";
    Continues "CONTINUES";
    Fills "FILLS";
}

/// The names and texts of the modules that kernels import.
const IMPORTED_MODULES: [(&str, &str); 8] = [
    ("grid.wgsl", include_str!("../../../shaders/grid.wgsl")),
    (
        "uniforms.wgsl",
        include_str!("../../../shaders/uniforms.wgsl"),
    ),
    ("tuples.wgsl", include_str!("../../../shaders/tuples.wgsl")),
    ("walk.wgsl", include_str!("../../../shaders/walk.wgsl")),
    ("chain.wgsl", include_str!("../../../shaders/chain.wgsl")),
    ("mask.wgsl", include_str!("../../../shaders/mask.wgsl")),
    ("number.wgsl", include_str!("../../../shaders/number.wgsl")),
    ("parts.wgsl", include_str!("../../../shaders/parts.wgsl")),
];

/// The text that precedes a kernel's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Prelude {
    None,
    /// `Unit` has this many bytes.
    Unit(usize),
    /// `Unit` has this many bytes: 4, 8 or 16. Functions convert it to four words and back.
    Words(usize),
    /// `Integer` is a signed integer if `true`, otherwise unsigned.
    Integer(bool),
}

impl Prelude {
    /// Returns every prelude that a kernel can have.
    #[cfg(test)]
    pub(crate) fn all_of(kernel: Kernel) -> Vec<Self> {
        match kernel {
            Kernel::Copy => [4, 8, 12, 16].map(Self::Unit).to_vec(),
            Kernel::Combine => [4, 8, 16].map(Self::Words).to_vec(),
            Kernel::Atomic => [true, false].map(Self::Integer).to_vec(),
            _ => vec![Self::None],
        }
    }

    fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Unit(12) => "struct Unit { a: u32, b: u32, c: u32 }\n".to_owned(),
            Self::Unit(bytes) => format!("alias Unit = {};\n", word_type(bytes)),
            Self::Words(bytes) => {
                let (words, unit) = match bytes {
                    4 => ("vec4(unit, vec3(0u))", "words.x"),
                    8 => ("vec4(unit, vec2(0u))", "words.xy"),
                    _ => ("unit", "words"),
                };
                format!(
                    "alias Unit = {};\n\
                     fn words(unit: Unit) -> vec4<u32> {{ return {words}; }}\n\
                     fn unit(words: vec4<u32>) -> Unit {{ return {unit}; }}\n",
                    word_type(bytes)
                )
            }
            Self::Integer(signed) => {
                let number_type = if signed { "i32" } else { "u32" };
                format!("alias Integer = {number_type};\n")
            }
        }
    }
}

fn word_type(bytes: usize) -> &'static str {
    match bytes {
        4 => "u32",
        8 => "vec2<u32>",
        _ => "vec4<u32>",
    }
}

/// The input of the shader compiler for one pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) kernel: Kernel,
    pub(crate) prelude: Prelude,
    /// The number of invocations in a workgroup.
    pub(crate) workgroup: u32,
    /// The values of override constants. Constants that are not in this list keep the values in the shader's text.
    pub(super) constants: Vec<(Constant, u32)>,
}

impl Program {
    /// Makes a program without constants.
    pub(crate) fn new(kernel: Kernel, prelude: Prelude, workgroup: u32) -> Self {
        Self {
            kernel,
            prelude,
            workgroup,
            constants: Vec::new(),
        }
    }

    /// Returns the program with additional constants.
    pub(crate) fn with_constants(mut self, constants: &[(Constant, u32)]) -> Self {
        self.constants.extend_from_slice(constants);
        self
    }

    /// Returns the value of a constant, if the program sets it.
    pub(crate) fn constant_value(&self, constant: Constant) -> Option<u32> {
        let mut constants = self.constants.iter();
        constants.find(|pair| pair.0 == constant).map(|pair| pair.1)
    }

    /// Returns the parts of the program that determine the text of the shader on a given device.
    pub(super) fn text_key(&self) -> (Kernel, Prelude, u32) {
        (self.kernel, self.prelude, self.workgroup)
    }

    /// Returns the shader's text for a device that reads uniforms from `space`. The workgroup size is a constant in the
    /// text, because wgpu checks only constant sizes against the device's limits.
    pub(crate) fn text(&self, space: UniformSpace) -> String {
        let text = self.prelude.text() + &with_imports(self.kernel.text());
        let declaration = format!("const WORKGROUP: u32 = {}u;", self.workgroup);
        let text = text.replace("override WORKGROUP: u32 = 256u;", &declaration);
        match space {
            UniformSpace::Uniform => text,
            UniformSpace::Storage => text.replace("var<uniform>", "var<storage, read>"),
        }
    }
}

/// Returns a module's text, with each import replaced by the text of the imported module.
fn with_imports(text: &str) -> String {
    let expand_line = |line: &str| {
        let import = line.strip_prefix("#import ");
        let imported =
            import.and_then(|name| IMPORTED_MODULES.iter().find(|(file, _)| *file == name));
        match imported {
            Some((_, text)) => with_imports(text),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(expand_line).collect()
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wgslice kernel: {}", self.kernel.name())?;
        let type_text = match self.prelude {
            Prelude::None => None,
            Prelude::Unit(bytes) | Prelude::Words(bytes) => Some(format!("{bytes}-byte units")),
            Prelude::Integer(signed) => Some(if signed { "i32" } else { "u32" }.to_owned()),
        };
        let constants = self.constants.iter();
        let constants = constants.map(|(constant, value)| format!("{} {value}", constant.name()));
        let workgroup = format!("workgroups of {}", self.workgroup);
        let details = type_text.into_iter().chain([workgroup]).chain(constants);
        let details: Vec<_> = details.collect();
        write!(f, " ({})", details.join(", "))
    }
}
