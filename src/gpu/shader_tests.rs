//! Tests that every shader text is valid WGSL and lays its uniforms out as the host does. No adapter is needed.

use super::{
    caps::{INVOCATION_MEMORY, Kind},
    kernels::KERNELS,
    lists,
    maps::{Flags, Layout, Op, layout},
    program::{BUFFERS_GROUP, Program, REPORT_GROUP, UNIFORMS_GROUP, UniformSpace},
    shader_texts::{programs, texts},
    uniforms::Uniforms,
};
use crate::{
    ops::index::{IndexType, Policy},
    options::{NegativeIndex, OutOfRange},
};
use naga::{
    AddressSpace, Module, StorageAccess, TypeInner,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};
use std::{borrow::Cow, collections::HashMap};

/// In a browser, whose compiler allows no arrays in immediates, the uniforms are in a buffer.
#[test]
fn a_browser_gets_no_immediates() {
    let limits = wgpu::Limits {
        max_immediate_size: 128,
        max_storage_buffers_per_shader_stage: 8,
        ..wgpu::Limits::default()
    };
    let of = |backend, kind| UniformSpace::of(wgpu::Features::IMMEDIATES, &limits, backend, kind);
    for (kind, expected) in [
        (Kind::Hardware, UniformSpace::Uniform),
        (Kind::Software, UniformSpace::Storage),
    ] {
        assert_eq!(of(wgpu::Backend::Vulkan, kind), UniformSpace::Immediate);
        assert_eq!(of(wgpu::Backend::BrowserWebGpu, kind), expected);
    }
}

/// Every text's module, with one of the programs that have this text and the space of its uniforms.
fn modules() -> impl Iterator<Item = (Program, UniformSpace, Module)> {
    texts().into_iter().map(|(text, (program, space))| {
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|error| panic!("{program}: {}", error.emit_to_string(&text)));
        (program, space, module)
    })
}

fn validated(program: &Program, module: &Module) -> ModuleInfo {
    Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
        .validate(module)
        .unwrap_or_else(|error| panic!("{program}: {error:?}"))
}

/// There are at most 200 different texts, so that few shaders must be read, tested and compiled to cover all of them.
#[test]
fn there_are_few_texts() {
    let count = texts().len();
    println!("{count} texts");
    assert!(count <= 200, "{count} texts");
}

/// Each kind of device has at most 400 pipelines. A device may have to compile all of them, and it keeps them.
#[test]
fn there_are_few_pipelines() {
    for kind in [Kind::Hardware, Kind::Software] {
        let count = programs(kind).len();
        println!("{count} pipelines of {kind:?}");
        assert!(count <= 400, "{count} pipelines of {kind:?}");
    }
}

/// Every kernel has a form, and occurs only once in the table.
#[test]
fn every_kernel_has_forms() {
    for kernel in &KERNELS {
        let kinds = [Kind::Hardware, Kind::Software].into_iter();
        let mut forms = kinds.flat_map(|kind| Op::ALL.map(|op| (kernel.forms)(op, kind).len()));
        assert!(forms.any(|count| count > 0), "{:?}", kernel.source);
        let same = KERNELS.iter().filter(|other| other.source == kernel.source);
        assert_eq!(same.count(), 1, "{:?}", kernel.source);
    }
}

/// The module with the values of the program's constants.
fn specialized<'a>(program: &Program, module: &'a Module, info: &'a ModuleInfo) -> Cow<'a, Module> {
    let constants = program.constants().into_iter();
    let constants = constants.map(|(name, value)| (name.to_owned(), value));
    let constants = constants.collect();
    let made = naga::back::pipeline_constants::process_overrides(module, info, None, &constants);
    made.unwrap_or_else(|error| panic!("{program}: {error}")).0
}

/// All texts are valid, and take the constants of every program.
#[test]
fn every_program_is_valid() {
    let mut modules = HashMap::new();
    for kind in [Kind::Hardware, Kind::Software] {
        for program in programs(kind) {
            let text = program.text(UniformSpace::Immediate);
            let (module, info) = modules.entry(text).or_insert_with_key(|text| {
                let module = naga::front::wgsl::parse_str(text)
                    .unwrap_or_else(|error| panic!("{program}: {}", error.emit_to_string(text)));
                let info = validated(&program, &module);
                (module, info)
            });
            specialized(&program, module, info);
        }
    }
    for (program, space, module) in modules_elsewhere() {
        assert_ne!(space, UniformSpace::Immediate);
        validated(&program, &module);
    }
}

/// The modules whose uniforms are not immediates.
fn modules_elsewhere() -> impl Iterator<Item = (Program, UniformSpace, Module)> {
    modules().filter(|(_, space, _)| *space != UniformSpace::Immediate)
}

#[test]
fn every_text_has_one_entry_of_the_hosts_workgroup() {
    for (program, _, module) in modules() {
        let [entry] = &module.entry_points[..] else {
            panic!("{program}: {} entry points", module.entry_points.len());
        };
        assert_eq!(entry.name, "main");
        assert_eq!(entry.workgroup_size, [program.workgroup, 1, 1]);
    }
}

#[test]
fn bindings_are_the_hosts() {
    for (program, space, module) in modules() {
        let mut found = Vec::new();
        for (_, global) in module.global_variables.iter() {
            let place = global.binding.map(|place| (place.group, place.binding));
            match global.space {
                AddressSpace::Storage { access } => {
                    found.push((place.unwrap(), !access.contains(StorageAccess::STORE)));
                }
                AddressSpace::Uniform => {
                    assert_eq!(space, UniformSpace::Uniform);
                    assert_eq!(place, Some((UNIFORMS_GROUP, 0)));
                }
                AddressSpace::Immediate => assert_eq!(space, UniformSpace::Immediate),
                AddressSpace::WorkGroup => {}
                other => panic!("{program}: unexpected {other:?}"),
            }
        }
        let buffers = (0..).zip(program.op.facts().buffers);
        let mut expected: Vec<_> = buffers
            .map(|(binding, buffer)| ((BUFFERS_GROUP, binding), buffer.read_only))
            .collect();
        if program.op.facts().reports {
            expected.push(((REPORT_GROUP, 0), false));
        }
        if space == UniformSpace::Storage {
            expected.push(((UNIFORMS_GROUP, 0), true));
        }
        found.sort_unstable();
        assert_eq!(found, expected, "{program}");
    }
}

/// Workgroups are so small that the device has enough workgroup memory for every shader.
#[test]
fn workgroup_memory_fits_the_device() {
    let devices = [
        (wgpu::Limits::default(), 256),
        // The 16,352 bytes of workgroup memory are too few for 256 invocations.
        (wgpu::Limits::downlevel_defaults(), 128),
    ];
    let mut most = 0;
    for (limits, workgroup) in devices {
        assert_eq!(Kind::Hardware.workgroup(&limits), workgroup);
        for mut program in programs(Kind::Hardware) {
            program.workgroup = workgroup;
            let bytes = workgroup_memory(&program);
            assert!(
                bytes <= limits.max_compute_workgroup_storage_size,
                "{program}: {bytes} bytes"
            );
            most = most.max(bytes / workgroup);
        }
    }
    assert_eq!(most, INVOCATION_MEMORY);
}

/// The size in bytes of the workgroup memory that a program uses.
fn workgroup_memory(program: &Program) -> u32 {
    let text = program.text(UniformSpace::Immediate);
    if !text.contains("var<workgroup>") {
        return 0;
    }
    let module = naga::front::wgsl::parse_str(&text).unwrap();
    let info = validated(program, &module);
    let module = specialized(program, &module, &info);
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let shared = module.global_variables.iter();
    let shared = shared.filter(|(_, global)| global.space == AddressSpace::WorkGroup);
    shared.map(|(_, global)| layouter[global.ty].size).sum()
}

/// The names and offsets of the members of the WGSL struct `name`, and the size of the struct in bytes.
fn layout(module: &Module, name: &str) -> Layout {
    let (_, ty) = module
        .types
        .iter()
        .find(|(_, ty)| ty.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no struct {name}"));
    let TypeInner::Struct { members, span } = &ty.inner else {
        panic!("{name} is not a struct");
    };
    let offsets = members
        .iter()
        .map(|member| {
            let name = member.name.clone().unwrap_or_default();
            (name, member.offset as usize)
        })
        .collect();
    (offsets, *span as usize)
}

#[test]
fn uniforms_lie_where_the_host_writes_them() {
    let uniforms = layout!(Uniforms:
        run, step, units, tiles, segment, grid, source_base, dest_base, map,
    );
    for (program, _, module) in modules() {
        assert_eq!(layout(&module, "Uniforms"), uniforms, "{program}");
        let map = (program.op.facts().layout)();
        assert_eq!(layout(&module, "Map"), map, "{program}");
    }
}

/// The shaders that sort lists have the same constants as the host, which makes room for lists by them.
#[test]
fn lists_are_as_long_as_the_host_assumes() {
    for (name, constant, value) in [
        ("sort", "MOST", lists::MIDDLE),
        ("long lists", "MOST", lists::MIDDLE),
        ("long lists", "LANES", lists::MIDDLE_LANES),
    ] {
        let named = |(program, ..): &(Program, _, _)| program.source.name == name;
        let (_, _, module) = modules().find(named).unwrap();
        assert_eq!(number(&module, constant) as usize, value, "{name}");
    }
}

/// The value of a shader's `u32` constant.
fn number(module: &Module, name: &str) -> u32 {
    let mut constants = module.constants.iter();
    let constant = constants.find(|(_, constant)| constant.name.as_deref() == Some(name));
    let (_, constant) = constant.unwrap_or_else(|| panic!("no constant {name}"));
    match module.global_expressions[constant.init] {
        naga::Expression::Literal(naga::Literal::U32(number)) => number,
        ref other => panic!("{name} is {other:?}"),
    }
}

/// Each flag has a bit of its own, which is the one that the shaders read.
#[test]
fn flags_lie_where_the_shaders_read_them() {
    let policy = |out_of_range, negative| Policy {
        out_of_range,
        negative,
    };
    let none = Flags {
        index: IndexType::U32,
        ..Flags::default()
    };
    let of = |flags: Flags| flags.word();
    let wraps = policy(OutOfRange::Zero, NegativeIndex::Wrap);
    let clamps = policy(OutOfRange::Clamp, NegativeIndex::OutOfRange);
    let gather = |(program, ..): &(Program, _, _)| program.op == Op::Gather;
    let (_, _, module) = modules().find(gather).unwrap();
    for (name, flags) in [
        (
            "SIGNED_INDICES",
            Flags {
                index: IndexType::I64,
                ..none
            },
        ),
        (
            "WRAPS",
            Flags {
                policy: wraps,
                ..none
            },
        ),
        (
            "CLAMPS",
            Flags {
                policy: clamps,
                ..none
            },
        ),
        (
            "CHAINS",
            Flags {
                chains: true,
                ..none
            },
        ),
        (
            "CHECKS",
            Flags {
                checks: true,
                ..none
            },
        ),
    ] {
        assert_eq!(of(flags), number(&module, name), "{name}");
    }
    let most = Flags {
        dims: 9,
        walked: 10,
        repeats: 0x3ff,
        ..none
    };
    assert_eq!(of(none), 0);
    assert_eq!(of(most), 9 | 10 << 4 | 0x3ff00);
}
