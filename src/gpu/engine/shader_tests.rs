//! Tests of the modules in `shaders/`. They need no adapter. Each module must be valid WGSL after its imports, read its
//! uniforms where the host writes them, and have the same bindings as on the host.

use super::{
    dispatch::{ArgumentPlaces, Dispatch},
    kernel_tests::{DEVICE_TYPES, make_all_moves, open_strict},
    program::{
        BUFFERS_GROUP, Constant,
        Kernel::{self, MaskCount, MaskRows, MaskScan},
        Prelude, Program, REPORT_GROUP, UNIFORMS_GROUP, UniformSpace,
    },
    uniforms::{
        CoordinateWords, DimWords, MAX_COORDINATES, MAX_CROPPED_DIMS, MAX_DIMS, MaskDimWords,
        NO_NUMBER, RUN_DIMENSION, SearchWords, WalkWords, flags,
    },
};
use naga::{
    AddressSpace, Module, StorageAccess, TypeInner,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};
use std::collections::BTreeSet;

pub(super) const UNIFORM_SPACES: [UniformSpace; 2] = [UniformSpace::Uniform, UniformSpace::Storage];

/// Returns one program for each text: every kernel with every prelude that it can have.
pub(super) fn all_programs() -> Vec<Program> {
    let programs_of = |&kernel: &Kernel| {
        let preludes = Prelude::all_of(kernel).into_iter();
        preludes.map(move |prelude| Program::new(kernel, prelude, 64))
    };
    Kernel::ALL.iter().flat_map(programs_of).collect()
}

/// Returns every text with its validated module.
fn all_modules() -> impl Iterator<Item = (Program, UniformSpace, Module, ModuleInfo)> {
    all_programs().into_iter().flat_map(|program| {
        UNIFORM_SPACES.map(|space| {
            let text = program.text(space);
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|error| panic!("{program}: {}", error.emit_to_string(&text)));
            let info = Validator::new(ValidationFlags::all(), Capabilities::default())
                .validate(&module)
                .unwrap_or_else(|error| panic!("{program}: {error:?}"));
            (program.clone(), space, module, info)
        })
    })
}

/// Returns the override constants of a text: the constants that the host does not know, and the constants that it sets.
pub(super) fn override_constants(text: &str) -> (Vec<&str>, Vec<Constant>) {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("override "));
    let names = lines.filter_map(|line| Some(line.split_once(':')?.0));
    let constant_named = |name: &&str| {
        Constant::ALL
            .iter()
            .find(|constant| constant.name() == *name)
            .copied()
    };
    let (set_names, unknown_names): (Vec<_>, Vec<_>) =
        names.partition(|name| constant_named(name).is_some());
    (
        unknown_names,
        set_names.iter().filter_map(constant_named).collect(),
    )
}

/// A constant that is only in the shader's text or only on the host would have no effect.
#[test]
fn host_and_shaders_have_the_same_constants() {
    let mut declared_names = BTreeSet::new();
    for program in all_programs() {
        let text = program.text(UniformSpace::Uniform);
        let (unknown_names, set_constants) = override_constants(&text);
        let are_all_computed = unknown_names
            .iter()
            .all(|name| ["CHUNK", "MOST"].contains(name));
        assert!(
            are_all_computed,
            "{program} has {unknown_names:?}, which the host does not know"
        );
        declared_names.extend(set_constants.iter().map(|constant| constant.name()));
    }
    let known_names: BTreeSet<&str> = Constant::ALL
        .iter()
        .map(|constant| constant.name())
        .collect();
    assert_eq!(declared_names, known_names);
}

/// A dispatch sets only constants that its text declares, and sets each of them once.
#[test]
fn programs_set_constants_of_their_texts() {
    for gpu in DEVICE_TYPES.map(open_strict) {
        for tested_move in make_all_moves() {
            let cut = gpu
                .engine
                .cut_move(&tested_move, &ArgumentPlaces::AT_BEGIN)
                .unwrap();
            for Dispatch { program, .. } in cut.dispatches() {
                let text = program.text(UniformSpace::Uniform);
                let (_, declared_constants) = override_constants(&text);
                let mut set_constants: Vec<Constant> =
                    program.constants.iter().map(|pair| pair.0).collect();
                assert!(
                    set_constants
                        .iter()
                        .all(|constant| declared_constants.contains(constant)),
                    "{program}"
                );
                set_constants.sort_by_key(|constant| constant.name());
                assert!(
                    set_constants.windows(2).all(|pair| pair[0] != pair[1]),
                    "{program}"
                );
            }
        }
    }
}

/// The number of texts is small, because all of them must be read, tested and compiled.
#[test]
fn there_are_few_texts() {
    let texts = all_programs().into_iter();
    let texts: BTreeSet<String> = texts
        .flat_map(|program| UNIFORM_SPACES.map(|space| program.text(space)))
        .collect();
    println!("{} texts of {} kernels", texts.len(), Kernel::ALL.len());
    assert!(texts.len() <= 60, "{} texts", texts.len());
}

/// The comment at the top of a module lists the names that the module needs, and its imports exist.
#[test]
fn every_module_lists_what_it_needs() {
    for entry in std::fs::read_dir("shaders").unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("// "), "{path:?}");
        assert!(
            text.contains("\n// ") && text.contains("Needs: "),
            "{path:?}"
        );
        let imports = text
            .lines()
            .filter_map(|line| line.strip_prefix("#import "));
        for import in imports {
            assert!(
                path.with_file_name(import).exists(),
                "{path:?} imports {import}"
            );
        }
    }
}

#[test]
fn every_text_is_valid_and_binds_what_the_host_binds() {
    for (program, space, module, info) in all_modules() {
        let [main] = &module.entry_points[..] else {
            panic!("{program}: {} entry points", module.entry_points.len());
        };
        assert_eq!(main.name, "main");
        assert_eq!(main.workgroup_size, [program.workgroup, 1, 1]);
        let entry = info.get_entry_point(0);
        let mut bindings = Vec::new();
        for (handle, global) in module.global_variables.iter() {
            // Imported modules can declare variables that a kernel does not use. The kernel can then use their bindings
            // for its own buffers.
            if entry[handle].is_empty() {
                continue;
            }
            let binding = global
                .binding
                .map(|binding| (binding.group, binding.binding));
            match global.space {
                AddressSpace::Storage { access } => {
                    bindings.push((binding.unwrap(), access.contains(StorageAccess::STORE)));
                }
                AddressSpace::Uniform => {
                    assert_eq!(space, UniformSpace::Uniform);
                    assert_eq!(binding, Some((UNIFORMS_GROUP, 0)));
                }
                AddressSpace::WorkGroup => {}
                other => panic!("{program}: unexpected {other:?}"),
            }
        }
        let buffers = (0..).zip(program.kernel.changes());
        let mut expected_bindings: Vec<_> = buffers
            .map(|(binding, &changes)| ((BUFFERS_GROUP, binding), changes))
            .collect();
        if bindings.contains(&((REPORT_GROUP, 0), true)) {
            expected_bindings.push(((REPORT_GROUP, 0), true));
        }
        if space == UniformSpace::Storage {
            expected_bindings.push(((UNIFORMS_GROUP, 0), false));
        }
        bindings.sort_unstable();
        assert_eq!(bindings, expected_bindings, "{program}");
    }
}

/// Returns the names and offsets of the members of the WGSL struct `name`, and the size of the struct in bytes.
fn struct_layout(module: &Module, name: &str) -> (Vec<(String, usize)>, usize) {
    let mut types = module.types.iter();
    let struct_type = types.find(|(_, ty)| ty.name.as_deref() == Some(name));
    let (_, ty) = struct_type.unwrap_or_else(|| panic!("no struct {name}"));
    let TypeInner::Struct { members, span } = &ty.inner else {
        panic!("{name} is not a struct");
    };
    let name_and_offset = |member: &naga::StructMember| {
        let name = member.name.clone().unwrap_or_default();
        (name, member.offset as usize)
    };
    (
        members.iter().map(name_and_offset).collect(),
        *span as usize,
    )
}

#[test]
fn uniforms_are_where_the_host_writes_them() {
    for (program, _, module, _) in all_modules() {
        let assert_layout = |name, host_layout| {
            assert_eq!(struct_layout(&module, name), host_layout, "{program}");
        };
        assert_eq!(constant_value(&module, "NONE"), NO_NUMBER);
        if matches!(program.kernel, MaskCount | MaskScan | MaskRows) {
            assert_layout("Search", SearchWords::layout());
            assert_layout("MaskDim", MaskDimWords::layout());
            continue;
        }
        assert_layout("Walk", WalkWords::layout());
        assert_layout("Dim", DimWords::layout());
        assert_layout("Coordinate", CoordinateWords::layout());
        for (name, value) in [
            ("SIGNED_INDICES", flags::SIGNED_INDICES),
            ("WRAPS", flags::FLAG_WRAPS),
            ("CLAMPS", flags::FLAG_CLAMPS),
            ("REPORTS", flags::FLAG_REPORTS),
            ("KEEPS", flags::FLAG_KEEPS),
            ("STRICT", flags::FLAG_STRICT),
            ("CIRCULAR", flags::FLAG_CIRCULAR),
            ("RUN", RUN_DIMENSION),
        ] {
            assert_eq!(constant_value(&module, name), value, "{name}");
        }
        for (name, value) in [
            ("MANY_DIMS", MAX_DIMS),
            ("CROPPED_DIMS", MAX_CROPPED_DIMS),
            ("MANY_COORDINATES", MAX_COORDINATES),
        ] {
            assert_eq!(constant_value(&module, name) as usize, value, "{name}");
        }
    }
}

/// Returns the value of a shader's `u32` constant.
fn constant_value(module: &Module, name: &str) -> u32 {
    let mut constants = module.constants.iter();
    let constant = constants.find(|(_, constant)| constant.name.as_deref() == Some(name));
    let (_, constant) = constant.unwrap_or_else(|| panic!("no constant {name}"));
    match module.global_expressions[constant.init] {
        naga::Expression::Literal(naga::Literal::U32(number)) => number,
        ref other => panic!("{name} is {other:?}"),
    }
}
