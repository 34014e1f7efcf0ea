//! Writes a WGSL compute shader in every format that wgpu hands to drivers and compilers: SPIR-V, GLSL, HLSL and MSL.
//!
//! naga writes the formats with the settings of wgpu 30, as it does inside wgpu. So a shader can be tried with a
//! driver's compiler, without this driver and without a GPU.
//!
//! [`Shader::formula`] writes a function of a shader as a formula, so that a solver can prove its result for all
//! inputs.

mod bindings;
mod formula;
mod write;

use formula::FormulaMachine;
use naga::{
    Module, ShaderStage,
    back::{PipelineConstants, pipeline_constants::process_overrides},
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};

/// A format and its version. Where wgpu's settings depend on the device, the comment on each variant names the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// For Vulkan 1.1 on devices without `robustBufferAccess2`: the shader clamps indices.
    SpirV13,
    /// For Vulkan 1.3 on devices with `robustBufferAccess2`: the driver checks indices into buffers, and the shader
    /// clamps only other indices.
    SpirV16,
    /// For OpenGL ES 3.1, the lowest version that has compute shaders.
    GlslEs31,
    /// For OpenGL 4.5. Versions 4.3 and 4.4 have compute shaders, but lack `mix` for integers, which naga writes for
    /// `select`.
    Glsl45,
    /// For FXC, the HLSL compiler that comes with Windows.
    Hlsl51,
    /// For DXC, the newer HLSL compiler.
    Hlsl60,
    /// For Metal on macOS 11 and later.
    Msl23,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::SpirV13,
        Self::SpirV16,
        Self::GlslEs31,
        Self::Glsl45,
        Self::Hlsl51,
        Self::Hlsl60,
        Self::Msl23,
    ];

    /// Returns the name of the format and its version, for example for a folder: `spirv-1.3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SpirV13 => "spirv-1.3",
            Self::SpirV16 => "spirv-1.6",
            Self::GlslEs31 => "glsl-es-3.1",
            Self::Glsl45 => "glsl-4.5",
            Self::Hlsl51 => "hlsl-5.1",
            Self::Hlsl60 => "hlsl-6.0",
            Self::Msl23 => "msl-2.3",
        }
    }

    /// Returns the file extension, without a dot, by which compilers recognize the format.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::SpirV13 | Self::SpirV16 => "spv",
            Self::GlslEs31 | Self::Glsl45 => "comp",
            Self::Hlsl51 | Self::Hlsl60 => "hlsl",
            Self::Msl23 => "metal",
        }
    }
}

/// A valid shader with the compute entry point `main`.
#[derive(Debug)]
pub struct Shader {
    module: Module,
    info: ModuleInfo,
}

impl Shader {
    /// Parses and validates WGSL, which may use immediates but nothing else beyond WebGPU.
    ///
    /// # Errors
    ///
    /// Fails with naga's message if the WGSL is not valid.
    pub fn parse(source: &str) -> Result<Self, String> {
        let module =
            naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
            .validate(&module)
            .map_err(|error| error.emit_to_string(source))?;
        Ok(Self { module, info })
    }

    /// Writes the shader in a format. `constants` has the names and values of overrides.
    ///
    /// # Errors
    ///
    /// Fails with the reason if naga cannot write the shader in this format.
    pub fn write(&self, format: Format, constants: &[(&str, f64)]) -> Result<Vec<u8>, String> {
        let entry = (ShaderStage::Compute, ENTRY_POINT);
        let constants = constants_by_name(constants);
        let (module, info) = process_overrides(&self.module, &self.info, Some(entry), &constants)
            .map_err(|error| error.to_string())?;
        write::write_format(format, &module, &info)
    }

    /// Writes a formula in SMT-LIB for the result of a function. An entry point must call the function. `constants` has
    /// the names and values of overrides, and `fixed` the known values of arguments and uniforms, under their names in
    /// the formula.
    ///
    /// The formula names the arguments `in.NAME`, the members of a uniform variable `VARIABLE.NAME`, and the result
    /// `out`. The final value of a variable that the pointer argument `NAME` points at is `out.NAME`. For parts of
    /// these values, the names of members, components and elements are appended. Buffers, operations on floats,
    /// quotients by unknown numbers and products of two unknown numbers become uninterpreted functions.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the function has no formula, for example because the end of a loop depends on unknown
    /// numbers.
    pub fn formula(
        &self,
        function: &str,
        constants: &[(&str, f64)],
        fixed: &[(&str, u32)],
    ) -> Result<String, String> {
        let constants = constants_by_name(constants);
        let (module, info) = process_overrides(&self.module, &self.info, None, &constants)
            .map_err(|error| error.to_string())?;
        FormulaMachine::new(&module, &info, fixed).formula(function)
    }
}

fn constants_by_name(constants: &[(&str, f64)]) -> PipelineConstants {
    let constants = constants.iter();
    constants
        .map(|&(name, value)| (name.to_owned(), value))
        .collect()
}

const ENTRY_POINT: &str = "main";

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "\
override FACTOR: u32 = 1u;
struct Numbers { all: array<vec4<u32>, 2> }
var<immediate> numbers: Numbers;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;
@group(1) @binding(0) var<uniform> more: Numbers;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    dest[id.x] = source[id.x] * FACTOR + numbers.all[0].x + more.all[1].y;
}
";

    fn shader_bytes(format: Format, factor: f64) -> Vec<u8> {
        let shader = Shader::parse(SHADER).unwrap();
        shader.write(format, &[("FACTOR", factor)]).unwrap()
    }

    #[test]
    fn every_format_is_written_with_its_constants() {
        for format in Format::ALL {
            let (first, second) = (shader_bytes(format, 1234.0), shader_bytes(format, 4321.0));
            assert_ne!(first, second, "{format:?}");
        }
    }

    /// If two buffers of a valid shader shared a slot, the settings in `write.rs` would be wrong.
    #[test]
    fn every_buffer_has_its_own_slot() {
        let assert_unique_words = |format, words: &[&str]| {
            let text = String::from_utf8(shader_bytes(format, 1.0)).unwrap();
            for word in words {
                assert_eq!(text.matches(word).count(), 1, "{format:?} {word}: {text}");
            }
        };
        let glsl = [
            "binding = 0) readonly buffer",
            "binding = 1) buffer",
            "binding = 0) uniform",
        ];
        assert_unique_words(Format::GlslEs31, &glsl);
        assert_unique_words(
            Format::Hlsl60,
            &[
                "register(t0)",
                "register(u0)",
                "register(b0)",
                "register(b1, space1)",
            ],
        );
        assert_unique_words(
            Format::Msl23,
            &[
                "[[buffer(0)]]",
                "[[buffer(1)]]",
                "[[buffer(2)]]",
                "[[buffer(3)]]",
                "[[buffer(4)]]",
            ],
        );
    }

    /// In a formula, overrides and known inputs are replaced by their values.
    #[test]
    fn a_formula_has_inputs_and_an_output() {
        let shader = "\
override FACTOR: u32 = 1u;
fn scaled(a: u32, b: u32) -> u32 { return a * FACTOR + b; }
@group(0) @binding(0) var<storage, read_write> dest: array<u32>;
@compute @workgroup_size(1) fn main() { dest[0] = scaled(dest[1], dest[2]); }
";
        let shader = Shader::parse(shader).unwrap();
        let formula = |fixed| shader.formula("scaled", &[("FACTOR", 6.0)], fixed);
        let full_formula = formula(&[]).unwrap();
        for name in ["in.a", "in.b", "out"] {
            assert!(
                full_formula.contains(&format!("declare-const {name} ")),
                "{full_formula}"
            );
        }
        let folded_formula = formula(&[("in.a", 2), ("in.b", 3)]).unwrap();
        assert!(
            folded_formula.contains("#x0000000f") && !folded_formula.contains("in.a"),
            "{folded_formula}"
        );
        assert_eq!(
            shader.formula("missing", &[], &[]).unwrap_err(),
            "no function missing"
        );
    }

    #[test]
    fn invalid_wgsl_is_rejected() {
        assert!(Shader::parse("fn main() { x = 1; }").is_err());
        let half = "enable f16; @compute @workgroup_size(1) fn main() { var x = 1.0h; }";
        assert!(Shader::parse(half).is_err());
    }
}
