//! Tests that the functions of shaders on which `tests/proofs.py` proves lemmas have a formula, and writes the
//! formulas. `formats/` makes a formula of a function's text, and says how it names arguments, uniforms and results.

use super::{
    caps::Kind,
    kernels::KERNELS,
    maps::{Lookup, Op},
    program::{Program, UniformSpace},
};
use shader_formats::Shader;
use std::{env, fs, path::Path};

/// Every function of the list has a formula. With `WGSLICE_FORMULAS=FOLDER` the formulas are written to that folder.
#[test]
fn formulas_of_the_shaders() {
    let folder = env::var("WGSLICE_FORMULAS").ok();
    let mut missing = Vec::new();
    for asked in asked() {
        match asked.formula() {
            Ok(text) => {
                if let Some(folder) = &folder {
                    let path = Path::new(folder).join(format!("{}.smt2", asked.name));
                    fs::write(path, text).unwrap();
                }
            }
            Err(why) => missing.push(format!("{}: {why}", asked.name)),
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// If a function has no formula, the error names the function.
#[test]
fn a_function_without_a_formula_is_named() {
    let of = |function| {
        let asked = asked()
            .into_iter()
            .find(|asked| asked.name == "coordinate")
            .unwrap();
        Asked { function, ..asked }.formula()
    };
    let why = of("missing").unwrap_err();
    assert!(
        why.starts_with("missing: walk: a loop whose end is not known"),
        "{why}"
    );
    assert!(
        of("nothing")
            .unwrap_err()
            .starts_with("no program with nothing")
    );
}

/// A function of a shader, and which program it is taken from.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The name of the formula, and of its file without `.smt2`.
    name: &'static str,
    kernel: &'static str,
    op: Op,
    /// Override constants, with the values that the program must have.
    constants: &'static [(&'static str, f64)],
    lookup: Lookup,
    function: &'static str,
    /// Arguments and uniforms with a fixed value, by their names in the formula.
    fixed: &'static [(&'static str, u32)],
}

impl Asked {
    /// The formula of the function, or why it has none.
    fn formula(&self) -> Result<String, String> {
        let program = self.program()?;
        let shader = Shader::parse(&program.text(UniformSpace::Uniform))?;
        shader.formula(self.function, &program.constants(), self.fixed)
    }

    fn program(&self) -> Result<Program, String> {
        let kernel = KERNELS
            .iter()
            .find(|kernel| kernel.source.name == self.kernel);
        let kernel = kernel.ok_or_else(|| format!("no kernel {}", self.kernel))?;
        let kinds = [Kind::Software, Kind::Hardware].into_iter();
        let forms = kinds.flat_map(|kind| (kernel.forms)(self.op, kind));
        let programs = forms.map(|form| Program {
            source: kernel.source,
            op: self.op,
            form,
            lookup: self.lookup,
            workgroup: 64,
        });
        let has = |program: &Program| {
            let all = program.constants();
            let function = format!("fn {}(", self.function);
            program.text(UniformSpace::Uniform).contains(&function)
                && self.constants.iter().all(|constant| all.contains(constant))
        };
        programs
            .into_iter()
            .find(has)
            .ok_or_else(|| format!("no program with {} and {:?}", self.function, self.constants))
    }
}

const NONE: Lookup = Lookup {
    unrolled: 0,
    words: 0,
    plain: false,
    vectors: false,
};
const WORDS: Lookup = Lookup { words: 1, ..NONE };
const PAIRS: Lookup = Lookup { words: 2, ..NONE };
const PLAIN: Lookup = Lookup {
    unrolled: 2,
    plain: true,
    ..WORDS
};

/// All functions with a formula.
fn asked() -> Vec<Asked> {
    let slice = Asked {
        name: "",
        kernel: "serial rows",
        op: Op::StridedSlice,
        constants: &[],
        lookup: NONE,
        function: "",
        fixed: &[],
    };
    let gather = Asked {
        op: Op::Gather,
        lookup: WORDS,
        ..slice
    };
    let subword = Asked {
        kernel: "subword",
        ..slice
    };
    let crop = Asked {
        op: Op::Crop,
        ..gather
    };
    let adds = Asked {
        kernel: "subword combine",
        op: Op::ScatterCombine,
        constants: &[("UNIT_BYTES", 2.0), ("RULE", 3.0)],
        ..slice
    };
    let combine = Asked {
        kernel: "combine",
        op: Op::ScatterCombine,
        ..slice
    };
    let words = Asked {
        kernel: "row words",
        op: Op::StridedSliceUpdate,
        ..slice
    };
    let rows = Asked {
        kernel: "packed rows",
        lookup: Lookup {
            vectors: true,
            unrolled: 1,
            ..PLAIN
        },
        op: Op::Gather,
        ..slice
    };
    let unaligned = Asked {
        kernel: "unaligned",
        ..slice
    };
    let transpose = Asked {
        kernel: "transpose",
        constants: &[("SHIFTS", 1.0)],
        ..slice
    };
    let of = |asked: Asked, name, function| Asked {
        name,
        function,
        ..asked
    };
    let with = |asked: Asked, fixed| Asked { fixed, ..asked };
    vec![
        // Grids and segments.
        of(slice, "segment", "segment"),
        of(slice, "invocation", "invocation"),
        of(slice, "shifted", "shifted"),
        // Odometers.
        with(
            of(slice, "slice_row_0", "source_row"),
            &[("uniforms.map.dims", 0)],
        ),
        with(
            of(slice, "slice_row_1", "source_row"),
            &[("uniforms.map.dims", 1)],
        ),
        with(
            of(slice, "slice_row_3", "source_row"),
            &[("uniforms.map.dims", 3)],
        ),
        with(
            of(slice, "slice_row_8", "source_row"),
            &[("uniforms.map.dims", 8)],
        ),
        with(of(slice, "slice_four", "four"), &[("uniforms.map.dims", 2)]),
        with(
            Asked {
                op: Op::StridedSliceUpdate,
                ..of(slice, "update_row", "row_start")
            },
            &[("uniforms.map.dims", 3)],
        ),
        with(
            Asked {
                op: Op::StridedSliceGrad,
                ..of(slice, "gradient_row", "row_start")
            },
            &[("uniforms.map.dims", 2)],
        ),
        Asked {
            op: Op::StridedSliceGrad,
            ..of(slice, "gradient_unit", "unit_at")
        },
        with(
            of(gather, "gather_turn_1", "turn"),
            &[("uniforms.map.flags", 0x432), ("in.d", 1)],
        ),
        with(
            of(gather, "gather_turn_2", "turn"),
            &[("uniforms.map.flags", 0x432), ("in.d", 2)],
        ),
        // Indices.
        of(gather, "extended", "extended"),
        of(gather, "coordinate", "coordinate"),
        Asked {
            lookup: PLAIN,
            ..of(gather, "coordinate_plain", "coordinate")
        },
        of(gather, "index_words", "index"),
        Asked {
            lookup: PAIRS,
            ..of(gather, "index_pairs", "index")
        },
        of(gather, "within", "within"),
        of(crop, "crop_clamped", "clamped"),
        of(crop, "crop_element", "element"),
        Asked {
            lookup: PAIRS,
            ..of(crop, "crop_element_pairs", "element")
        },
        of(crop, "crop_item", "item"),
        with(
            of(crop, "crop_place", "place_of"),
            &[("uniforms.map.flags", 0x312)],
        ),
        // Bytes of words.
        of(subword, "load", "load"),
        of(subword, "low_bytes", "low_bytes"),
        of(rows, "rows_funnel", "funnel"),
        of(rows, "rows_first_bytes", "first_bytes"),
        Asked {
            constants: &[("ROW_BYTES", 3.0), ("UNIT_BYTES", 1.0)],
            kernel: "packed bytes",
            ..of(slice, "row_bytes", "row_bytes")
        },
        of(unaligned, "vector_first_bytes", "first_bytes"),
        of(unaligned, "load_unaligned", "load_unaligned"),
        of(words, "bytes_from", "bytes_from"),
        of(words, "bytes_within", "bytes_within"),
        of(transpose, "transpose_funnel", "funnel"),
        of(transpose, "transpose_place", "place"),
        of(transpose, "transpose_word_of", "word_of"),
        of(transpose, "transpose_turned_bytes", "turned_bytes"),
        of(transpose, "transpose_turned_halves", "turned_halves"),
        Asked {
            kernel: "transpose",
            ..of(slice, "transpose_units_place", "place")
        },
        with(
            of(slice, "flipped_1", "flipped"),
            &[("uniforms.grid", 1 << 20)],
        ),
        with(
            of(slice, "flipped_2", "flipped"),
            &[("uniforms.grid", 2 << 20)],
        ),
        with(
            of(slice, "flipped_4", "flipped"),
            &[("uniforms.grid", 4 << 20)],
        ),
        with(
            of(slice, "flipped_8", "flipped"),
            &[("uniforms.grid", 8 << 20)],
        ),
        // Arithmetic of scatters.
        of(adds, "f16_of_f32", "f16_of_f32"),
        of(adds, "f32_of_f16", "f32_of_f16"),
        of(adds, "rounded", "rounded"),
        Asked {
            constants: &[("UNIT_BYTES", 2.0), ("RULE", 4.0)],
            ..of(adds, "add_bf16", "add_bf16")
        },
        Asked {
            constants: &[("UNIT_BYTES", 1.0), ("RULE", 0.0)],
            ..of(adds, "add_bytes", "combined")
        },
        Asked {
            constants: &[("UNIT_BYTES", 2.0), ("RULE", 0.0)],
            ..of(adds, "add_halves", "combined")
        },
        Asked {
            constants: &[("COMBINE", 0.0), ("NUMBERS", 3.0)],
            ..of(combine, "add_pairs", "combined")
        },
        Asked {
            constants: &[("COMBINE", 1.0), ("NUMBERS", 3.0)],
            ..of(combine, "sub_pairs", "combined")
        },
        Asked {
            constants: &[("COMBINE", 3.0), ("NUMBERS", 1.0)],
            ..of(combine, "min_signed", "combined")
        },
        Asked {
            constants: &[("COMBINE", 4.0), ("NUMBERS", 2.0)],
            ..of(combine, "max_floats", "combined")
        },
    ]
}
