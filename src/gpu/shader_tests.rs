//! Every shader variant is valid WGSL, and lays its params out as the host does. No adapter needed.

#![expect(
    clippy::cast_possible_truncation,
    reason = "sizes and offsets of a few bytes"
)]

use super::{
    caps::Kind,
    grid::Shape,
    kernel::{Indexed, Kernel, Scattering},
    op::Op,
    params::{
        Flags, INDEXED_PAIRS, IndexedMap, MAX_AXES, MAX_PAIR_AXES, PairsMap, Params,
        StridedSliceMap,
    },
    rule::Rule,
    variant::{BUFFERS_GROUP, PARAMS_GROUP, ParamsSpace, REPORT_GROUP, Variant},
    width::{Way, Width},
};
use crate::{
    Combine, DType, Negative, OutOfRange,
    ops::index::{IndexType, Policy},
};
use naga::{
    AddressSpace, Module, StorageAccess, TypeInner,
    valid::{Capabilities, ValidationFlags, Validator},
};
use std::{
    collections::HashSet,
    mem::{offset_of, size_of},
};

fn parse(variant: Variant) -> Module {
    let source = variant.source();
    naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{variant}: {}", error.emit_to_string(&source)))
}

/// Every text, with the largest constants.
fn variants() -> Vec<Variant> {
    let spaces = [
        ParamsSpace::Immediate,
        ParamsSpace::Uniform,
        ParamsSpace::Storage,
    ];
    let mut all = Vec::new();
    let mut texts = HashSet::new();
    for params in spaces {
        for op in Op::ALL {
            for width in widths().filter(|&width| op.takes(width)) {
                // Other units are moved by invocations of one lane each.
                let whole = matches!(width.way, Way::Whole | Way::Reversed);
                for rows in 0..=u32::from(whole) {
                    let variant = Variant {
                        op,
                        kernel: largest(width, rows),
                        params,
                    };
                    if texts.insert(variant.source()) {
                        all.push(variant);
                    }
                }
            }
        }
    }
    all
}

fn largest(width: Width, rows: u32) -> Kernel {
    Kernel {
        width,
        grid: Shape {
            workgroup: 64,
            rows,
        },
        run: 3,
        indexed: Indexed::of(IndexType::I64)
            .plain(2, true)
            .quads(matches!(width.way, Way::PackedWords | Way::PackedBytes)),
        scatter: Scattering::default(),
    }
}

fn widths() -> impl Iterator<Item = Width> {
    let whole = [1, 2, 4, 8, 16].map(Width::whole).into_iter();
    let flipped = [(16, 16, Way::Reversed)];
    let together = [Way::Gathered, Way::PackedWords].map(|way| (16, 4, way));
    let unaligned = [1, 2].map(|unit| (16, unit, Way::Unaligned));
    let packed = (1..=4).flat_map(|row| {
        let parts = [1, 2].into_iter().filter(move |part| row % part == 0);
        parts.map(move |part| (row * Width::PARTS, part, Way::PackedBytes))
    });
    let others = flipped.into_iter().chain(together).chain(unaligned);
    let others = others.chain(packed);
    whole.chain(others.map(|(unit, part, way)| Width { unit, part, way }))
}

/// Each is parsed, validated and translated when it is first used, which takes longer than most work.
#[test]
fn there_are_few_texts() {
    let count = variants().len();
    println!("{count} texts");
    assert!(count <= 200, "{count} texts");
}

/// Every pipeline of a device: a first call compiles what later ones use, and all may be kept.
#[test]
fn there_are_few_pipelines() {
    for kind in [Kind::Hardware, Kind::Software] {
        let mut all = HashSet::new();
        for op in Op::ALL {
            for width in widths().filter(|&width| op.takes(width)) {
                let together = matches!(width.way, Way::Gathered | Way::PackedWords);
                if together && kind == Kind::Hardware {
                    continue;
                }
                for kernel in kernels(op, width, kind) {
                    all.insert(Variant {
                        op,
                        kernel,
                        params: ParamsSpace::Immediate,
                    });
                }
            }
        }
        let count = all.len();
        println!("{count} pipelines of {kind:?}");
        assert!(count <= 400, "{count} pipelines of {kind:?}");
    }
}

/// Every kernel for units of this width.
fn kernels(op: Op, width: Width, kind: Kind) -> Vec<Kernel> {
    let in_flight = kind == Kind::Hardware
        && width.unit >= 4
        && matches!(width.way, Way::Whole | Way::Reversed);
    let rows = match op {
        Op::ScatterResolve | Op::ScatterSort | Op::ScatterCombine | Op::ScatterAtomic => &[0][..],
        _ if in_flight => &[1, 2, 4],
        _ => &[0],
    };
    let runs = match width.way {
        Way::PackedWords => 1..=8,
        _ => 0..=0,
    };
    let mut indexed = vec![Indexed::default()];
    if op.reports() {
        let types = [IndexType::I32, IndexType::I64].into_iter();
        let all = types.flat_map(|index| (0..=3).map(move |depth| (index, depth)));
        indexed = all
            .flat_map(|(index, depth)| {
                let loops = Indexed::of(index);
                let plain = loops.plain(depth, true);
                if op != Op::Gather && plain.unrolled == 0 {
                    return [loops; 3];
                }
                let four =
                    op != Op::Gather || matches!(width.way, Way::PackedWords | Way::PackedBytes);
                [plain, plain.quads(four), loops]
            })
            .collect();
    }
    let rules: HashSet<Rule> = match op {
        Op::ScatterCombine | Op::ScatterAtomic => {
            let dtypes = DType::ALL.into_iter();
            let all = dtypes.flat_map(|dtype| COMBINES.map(move |combine| (combine, dtype)));
            let rules = all.filter_map(|(combine, dtype)| Rule::of(combine, dtype));
            let fits = |&(rule, element): &(Rule, usize)| match op {
                Op::ScatterAtomic => rule.is_atomic() && element == 4,
                _ => element.min(4) == width.unit.min(4) && element <= width.unit,
            };
            rules.filter(fits).map(|(rule, _)| rule).collect()
        }
        _ => [Rule::default()].into(),
    };
    let mut all = Vec::new();
    for &rows in rows {
        for run in runs.clone() {
            // Rows of several units are looked up one by one.
            for &indexed in indexed.iter().filter(|indexed| !indexed.quads || run <= 1) {
                for &rule in &rules {
                    for chains in [false, true] {
                        let scatter = Scattering {
                            chains: chains && op == Op::ScatterResolve,
                            looks: kind == Kind::Software && op == Op::ScatterResolve,
                            rule,
                        };
                        all.push(Kernel {
                            indexed,
                            run,
                            scatter,
                            ..largest(width, rows)
                        });
                    }
                }
            }
        }
    }
    all
}

const COMBINES: [Combine; 5] = [
    Combine::Add,
    Combine::Sub,
    Combine::Mul,
    Combine::Min,
    Combine::Max,
];

#[test]
fn every_variant_is_valid() {
    for variant in variants() {
        let module = parse(variant);
        let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{variant}: {error:?}"));
        let constants = variant.constants().into_iter();
        let constants = constants
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
            .unwrap_or_else(|error| panic!("{variant}: {error}"));
    }
}

#[test]
fn every_variant_has_one_entry_of_the_hosts_workgroup() {
    for variant in variants() {
        let module = parse(variant);
        let [entry] = &module.entry_points[..] else {
            panic!("{variant}: {} entry points", module.entry_points.len());
        };
        assert_eq!(entry.name, "main");
        assert_eq!(entry.workgroup_size, [variant.kernel.grid.workgroup, 1, 1]);
    }
}

#[test]
fn bindings_are_the_hosts() {
    for variant in variants() {
        let module = parse(variant);
        let mut found = Vec::new();
        for (_, global) in module.global_variables.iter() {
            let place = global.binding.map(|place| (place.group, place.binding));
            match global.space {
                AddressSpace::Storage { access } => {
                    found.push((place.unwrap(), !access.contains(StorageAccess::STORE)));
                }
                AddressSpace::Uniform => {
                    assert_eq!(variant.params, ParamsSpace::Uniform);
                    assert_eq!(place, Some((PARAMS_GROUP, 0)));
                }
                AddressSpace::Immediate => assert_eq!(variant.params, ParamsSpace::Immediate),
                other => panic!("{variant}: unexpected {other:?}"),
            }
        }
        let buffers = (0..).zip(variant.op.buffers());
        let mut expected: Vec<_> = buffers
            .map(|(binding, &read_only)| ((BUFFERS_GROUP, binding), read_only))
            .collect();
        if variant.op.reports() {
            expected.push(((REPORT_GROUP, 0), false));
        }
        if variant.params == ParamsSpace::Storage {
            expected.push(((PARAMS_GROUP, 0), true));
        }
        found.sort_unstable();
        assert_eq!(found, expected, "{variant}");
    }
}

/// Offsets of a WGSL struct's members, and its size.
fn layout(module: &Module, name: &str) -> (Vec<(String, u32)>, u32) {
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
        .map(|member| (member.name.clone().unwrap_or_default(), member.offset))
        .collect();
    (offsets, *span)
}

macro_rules! host_layout {
    ($type:ident: $($shader:literal = $field:ident),* $(,)?) => {
        (
            vec![$(($shader.to_owned(), offset_of!($type, $field) as u32)),*],
            size_of::<$type>() as u32,
        )
    };
}

#[test]
fn params_lie_where_the_host_writes_them() {
    let params = host_layout!(Params:
        "run" = run, "step" = step, "units" = units, "tiles" = tiles, "segment" = segment,
        "grid" = grid, "flags" = flags, "window" = window,
        "source_base" = source_base, "dest_base" = dest_base, "first" = first, "count" = count,
        "map" = map,
    );
    let strided_slice = host_layout!(StridedSliceMap: "axes" = axes);
    let indexed = host_layout!(IndexedMap: "axes" = axes);
    let pairs = host_layout!(PairsMap: "axes" = axes);
    for (_, size) in [&indexed, &pairs] {
        assert_eq!(*size as usize, size_of::<StridedSliceMap>());
    }
    for variant in variants() {
        let module = parse(variant);
        assert_eq!(layout(&module, "Params"), params, "{variant}");
        let map = match variant.op {
            Op::StridedSlice => &strided_slice,
            Op::StridedSliceUpdate | Op::StridedSliceGrad => &pairs,
            // Of the steps of a scatter the first finds its places as a gather does, and of the others'
            // only the first word is used.
            Op::Gather
            | Op::ScatterResolve
            | Op::ScatterSort
            | Op::ScatterMove
            | Op::ScatterCombine
            | Op::ScatterAtomic => &indexed,
        };
        assert_eq!(layout(&module, "Map"), *map, "{variant}");
    }
}

#[test]
fn a_map_holds_as_many_axes_as_the_host_allows() {
    for variant in variants() {
        let module = parse(variant);
        let pairs = module.types.iter().find_map(|(_, ty)| match ty.inner {
            TypeInner::Array {
                size: naga::ArraySize::Constant(size),
                stride: 16,
                ..
            } => Some(size.get()),
            _ => None,
        });
        let held = match variant.op {
            Op::StridedSliceUpdate | Op::StridedSliceGrad => 2 * MAX_PAIR_AXES,
            Op::StridedSlice => MAX_AXES,
            _ => INDEXED_PAIRS,
        };
        assert_eq!(pairs, Some(held as u32 / 2), "{variant}");
    }
}

/// The texts of a scatter that depend on more than its width are valid: with tuples read as vectors, and with
/// atomics of signed numbers.
#[test]
fn every_scatter_that_looks_up_tuples_is_valid() {
    let lookups = variants()
        .into_iter()
        .filter(|variant| variant.op.reports() && variant.op != Op::Gather);
    let mut seen = 0;
    for mut variant in lookups {
        variant.kernel.indexed.quads = true;
        variant.kernel.scatter.rule = Rule::of(Combine::Min, DType::I32).unwrap().0;
        let source = variant.source();
        assert!(source.contains("indices: array<vec4<u32>>"), "{variant}");
        let signed = source.contains("alias Number = i32;");
        assert_eq!(signed, variant.op == Op::ScatterAtomic, "{variant}");
        Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
            .validate(&parse(variant))
            .unwrap_or_else(|error| panic!("{variant}: {error:?}"));
        seen += 1;
    }
    assert_eq!(seen, 2 * 3, "operations × params spaces");
}

/// What looks up tuples is valid for every number of coordinates and type of index.
#[test]
fn every_gather_is_valid() {
    let mut movers = Vec::new();
    for mut variant in variants() {
        let mover = variant.mover();
        let known = movers.contains(&mover) || variant.params != ParamsSpace::Immediate;
        if !variant.op.reports() || known {
            continue;
        }
        movers.push(mover);
        let module = parse(variant);
        let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
            .validate(&module)
            .unwrap();
        for depth in 0..4 {
            for (index, plain) in [
                (IndexType::I32, false),
                (IndexType::I64, false),
                (IndexType::I64, true),
            ] {
                variant.kernel.indexed = match plain {
                    false => Indexed::of(index),
                    true => Indexed::of(index).plain(depth, true),
                };
                let constants = variant.constants().into_iter();
                let constants = constants
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
                    .unwrap_or_else(|error| panic!("{variant:?}: {error}"));
            }
        }
    }
    assert!(movers.len() > 5, "{movers:?}");
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
    let wraps = policy(OutOfRange::Zero, Negative::Wrap);
    let clamps = policy(OutOfRange::Clamp, Negative::OutOfRange);
    let module = parse(variants()[0]);
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
        ("EVEN", Flags { even: true, ..none }),
        (
            "CHECKS",
            Flags {
                checks: true,
                ..none
            },
        ),
        (
            "STRICT",
            Flags {
                strict: true,
                ..none
            },
        ),
    ] {
        let constants = module.constants.iter();
        let mut named = constants.filter(|(_, constant)| constant.name.as_deref() == Some(name));
        let (_, constant) = named.next().unwrap();
        let bit = module.global_expressions[constant.init].clone();
        let naga::Expression::Literal(naga::Literal::U32(bit)) = bit else {
            panic!("{name} is no number");
        };
        assert_eq!(of(flags), bit, "{name}");
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
