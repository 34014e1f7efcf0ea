//! The strict device detects faults of shaders. Each of these bugs, put into the library's own shaders, must be found.
//! Without bugs, strict devices give the same result as the CPU, whether they drop or clamp accesses outside of a
//! binding.

use crate::harness::{
    elements,
    gpu::{request_device, strict_options},
    to_bytes,
};
use std::{
    borrow::Cow,
    mem::discriminant,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use strict_gpu::{Access, Depends, Fault, Options, Outside, Rewrite, StrictGpu, Wrong};
use wgslice::{
    Backend, DType, Error, Gpu, SliceSpec, Tensor,
    options::{Combine, OutOfRange, ScatterOptions},
};

/// The work that shows a bug. Returns the bytes of the result.
type Work = fn(&Backend) -> Result<Vec<u8>, Error>;

/// Reverses rows that do not fill a workgroup.
fn reversed(backend: &Backend) -> Result<Vec<u8>, Error> {
    sliced(backend, &[37, 24], "::-1, :")
}

/// Transposes a matrix in parts of several tiles in workgroup memory.
fn transposed(backend: &Backend) -> Result<Vec<u8>, Error> {
    transposed_of(backend, DType::F32, [40, 70])
}

fn transposed_of(backend: &Backend, dtype: DType, shape: [usize; 2]) -> Result<Vec<u8>, Error> {
    let source = to_bytes(&elements(shape[0] * shape[1]), dtype.size());
    let tensor = Tensor::from_bytes(backend, source, dtype, &shape)?;
    let moved = tensor.view().transpose(&[1, 0])?.to_tensor()?;
    moved.bytes().map(Cow::into_owned)
}

fn sliced(backend: &Backend, shape: &[usize], spec: &str) -> Result<Vec<u8>, Error> {
    let source = to_bytes(&elements(shape.iter().product()), 4);
    let tensor = Tensor::from_bytes(backend, source, DType::F32, shape)?;
    let spec: SliceSpec = spec.parse()?;
    tensor.slice(&spec)?.bytes().map(Cow::into_owned)
}

/// Scatters rows of `updates` to seven slices, with this combination. Row `n` goes to slice `slice(n)`.
fn scattered<T>(
    backend: &Backend,
    combine: Combine,
    updates: &[T],
    slice: fn(i32) -> i32,
) -> Result<Vec<u8>, Error>
where
    T: wgslice::Element + bytemuck::NoUninit,
{
    let indices: Vec<i32> = (0..).zip(updates).map(|(n, _)| slice(n)).collect();
    let options = ScatterOptions {
        combine,
        out_of_range: OutOfRange::Zero,
        ..ScatterOptions::default()
    };
    let (result, _) = backend.scatter_nd(
        &[7],
        (&indices[..], &[updates.len(), 1]),
        (updates, &[updates.len()]),
        options,
    )?;
    Ok(bytemuck::cast_slice(&result.data).to_vec())
}

fn added(backend: &Backend) -> Result<Vec<u8>, Error> {
    scattered(backend, Combine::Add, &(0..90).collect::<Vec<i32>>(), |n| {
        n % 5
    })
}

fn replaced(backend: &Backend) -> Result<Vec<u8>, Error> {
    scattered(
        backend,
        Combine::Update,
        &(0..90).collect::<Vec<i32>>(),
        |n| n % 5,
    )
}

fn added_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    scattered(
        backend,
        Combine::Add,
        &(0..90u8).map(f32::from).collect::<Vec<f32>>(),
        |n| n % 5,
    )
}

/// Adds rows to seven slices. Three slices get more rows than a workgroup sorts together. The other four get fewer, but
/// more than one invocation sorts. The sum of each slice depends on the order of its rows.
fn many_added_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    let number = |n: u16| f32::from(n.wrapping_mul(7919) % 4099) * 2.0f32.powi(i32::from(n % 24));
    scattered(
        backend,
        Combine::Add,
        &(0..2900).map(number).collect::<Vec<f32>>(),
        |n| match (n % 128, n % 4) {
            (80.., _) => 0,
            (_, 0 | 2) => 1,
            (_, 1) => 2,
            _ => 3 + n / 4 % 4,
        },
    )
}

/// Pieces of shader code, with their replacements.
type Edits = &'static [(&'static str, &'static str)];

/// A bug, and the fault that must be found.
struct Bug {
    name: &'static str,
    work: Work,
    /// Whether the bug is tested on a device that is treated as a hardware GPU.
    hardware: bool,
    edits: Edits,
    wrong: Wrong,
}

/// Edits that remove the guard that keeps `rows_coalesced.wgsl` from accesses beyond the last tile.
const BEHIND_THE_LAST: Edits = &[
    ("min(tiles, vec4(uniforms.tiles - 1u))", "tiles"),
    (" & (tiles < vec4(uniforms.tiles))", ""),
];

const BUGS: [Bug; 18] = [
    Bug {
        name: "what lies behind the last tile is written",
        work: reversed,
        hardware: true,
        edits: BEHIND_THE_LAST,
        wrong: outside(Access::Write),
    },
    Bug {
        name: "a guard is missing",
        work: reversed,
        hardware: false,
        edits: &[("if tile >= uniforms.tiles {", "if false {")],
        wrong: outside(Access::Write),
    },
    Bug {
        name: "a stride is another's",
        work: |backend| sliced(backend, &[6, 5, 4], "::2, 1:4, 1:3"),
        hardware: true,
        edits: &[(
            "rest * axis(0u).stride, FOUND",
            "rest * axis(0u).stride * axis(1u).stride, FOUND",
        )],
        wrong: outside(Access::Read),
    },
    Bug {
        name: "an atomic is none",
        work: added,
        hardware: true,
        edits: &[
            ("dest: array<atomic<i32>>", "dest: array<i32>"),
            (
                "atomicAdd(&dest[to + j], update);",
                "dest[to + j] += update;",
            ),
            ("atomicSub(&dest[to + j], update);", ""),
            ("atomicMin(&dest[to + j], update);", ""),
            ("atomicMax(&dest[to + j], update);", ""),
        ],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    Bug {
        name: "nobody says which rows go where",
        work: replaced,
        hardware: true,
        edits: &[("rows[tile] = slices;", "")],
        wrong: Wrong::Unwritten {
            what: Depends::Condition,
        },
    },
    Bug {
        name: "a row is looked for before the source",
        work: reversed,
        hardware: true,
        edits: &[(
            "uniforms.source_base + start.from_part + j",
            "uniforms.source_base - 10000u + j",
        )],
        wrong: Wrong::Wrapped { index: 0 },
    },
    Bug {
        name: "a loop never ends",
        work: reversed,
        hardware: false,
        edits: &[("j < at.end; j++", "j < at.end; j += 0u")],
        wrong: Wrong::LongLoop { most: 0 },
    },
    Bug {
        name: "some have left before a barrier",
        work: reversed,
        hardware: false,
        edits: &[(
            "let at = segment(tile);",
            "let at = segment(tile);\n    storageBarrier();",
        )],
        wrong: Wrong::DivergentBarrier {
            arrived: 0,
            invocations: 0,
        },
    },
    Bug {
        name: "a list is sorted before it is there",
        work: added_in_order,
        hardware: true,
        edits: &[(
            "    workgroupBarrier();\n    if there {\n        for",
            "    if there {\n        for",
        )],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    Bug {
        name: "nobody says how many lists are long",
        work: many_added_in_order,
        hardware: true,
        edits: &[("rows[2u * uniforms.tiles] = vec4(0u);", "")],
        wrong: Wrong::Unwritten {
            what: Depends::Condition,
        },
    },
    Bug {
        name: "a tile is stored while it is loaded",
        work: transposed,
        hardware: true,
        edits: &[("    workgroupBarrier();\n", "")],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    Bug {
        name: "more is loaded than a tile has",
        work: transposed,
        hardware: true,
        edits: &[("select(0u, load.at, load.index < end)", "load.at")],
        wrong: outside(Access::Read),
    },
    Bug {
        name: "more is stored than a tile has",
        work: transposed,
        hardware: true,
        edits: &[(
            "if one.near < at.near && one.unit < uniforms.run {",
            "if true {",
        )],
        wrong: Wrong::Race {
            access: Access::Write,
            with: Access::Write,
            at: 0,
        },
    },
    Bug {
        name: "more of small units is stored than a tile has",
        work: |backend| transposed_of(backend, DType::U8, [64, 70]),
        hardware: true,
        edits: &[("& (at.first_near + column < vec4(at.near))", "")],
        wrong: outside(Access::Write),
    },
    Bug {
        name: "more of small units is loaded than a tile has",
        work: |backend| transposed_of(backend, DType::U8, [67, 70]),
        hardware: true,
        edits: &[("select(vec4(0u), word, inside)", "word")],
        wrong: outside(Access::Read),
    },
    Bug {
        name: "small units are turned while others are taken",
        work: |backend| transposed_of(backend, DType::U8, [67, 70]),
        hardware: true,
        edits: &[(
            "let rows = turn(at, local);\n    workgroupBarrier();",
            "let rows = turn(at, local);",
        )],
        wrong: Wrong::Race {
            access: Access::Write,
            with: Access::Read,
            at: 0,
        },
    },
    Bug {
        name: "two rows write the word that they share",
        work: |backend| transposed_of(backend, DType::U8, [67, 70]),
        hardware: true,
        edits: &[("unit > uniforms.run - PER_WORD || ", "")],
        wrong: Wrong::Race {
            access: Access::Write,
            with: Access::Write,
            at: 0,
        },
    },
    Bug {
        name: "every row combines all of its slice",
        work: added_in_order,
        hardware: true,
        edits: &[("== uniforms.map.first_row + row + 1u;", "!= 0u;")],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
];

const fn outside(access: Access) -> Wrong {
    Wrong::Outside {
        access,
        at: 0,
        room: 0,
    }
}

/// Opens a backend on a strict device, and returns both.
fn strict(hardware: bool, options: Options) -> (Backend, StrictGpu) {
    let strict = StrictGpu::new(options);
    let limits = strict.device().limits();
    let gpu = request_device(&strict.adapter(), wgpu::Features::empty(), limits).unwrap();
    let gpu: Gpu = if hardware { gpu.as_hardware() } else { gpu };
    (gpu.into(), strict)
}

fn is_kind(wrong: &Wrong, fault: &Fault) -> bool {
    let accesses = |wrong: &Wrong| match wrong {
        Wrong::Outside { access, .. } => Some(*access),
        _ => None,
    };
    discriminant(wrong) == discriminant(&fault.wrong) && accesses(wrong) == accesses(&fault.wrong)
}

#[test]
fn every_bug_is_found() {
    for bug in BUGS {
        let name = bug.name;
        let quiet = Options {
            panics: false,
            ..strict_options()
        };
        let (sound, log) = strict(bug.hardware, quiet.clone());
        let expected = (bug.work)(&Backend::cpu()).unwrap();
        assert_eq!((bug.work)(&sound).unwrap(), expected, "{name}: before");
        assert_eq!(log.take_faults(), [], "{name}: before");

        let editor = Editor::new(bug.edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            ..quiet
        };
        let (broken, log) = strict(bug.hardware, options);
        let result = (bug.work)(&broken);
        editor.assert_found();
        let faults = log.take_faults();
        assert!(
            faults.iter().any(|fault| is_kind(&bug.wrong, fault)),
            "{name}: {result:?}, found {faults:#?}"
        );
    }
}

/// An update that does not compare the numbers of rows leaves the last row that arrives in each slice. In ascending
/// order that is the last row, so that only another order shows the mistake.
#[test]
fn the_last_row_is_not_always_the_last_to_arrive() {
    // Each invocation takes four rows, of which only one goes to each slice.
    let rows: Vec<i32> = (0..900).collect();
    let replaced =
        |backend: &Backend| scattered(backend, Combine::Update, &rows, |n| n % 4).unwrap();
    let expected = replaced(&Backend::cpu());
    let edits: Edits = &[(
        "atomicMax(&head[slice + 1u], ",
        "atomicStore(&head[slice + 1u], ",
    )];
    for seed in [None, Some(1), Some(2), Some(3)] {
        let with = |edits| {
            let editor = Editor::new(edits);
            let options = Options {
                rewrite: Some(editor.rewrite()),
                shuffle: seed,
                ..Options::default()
            };
            let rows = replaced(&strict(true, options).0);
            editor.assert_found();
            rows
        };
        assert_eq!(with(&[]), expected, "{seed:?}");
        assert_eq!(with(edits) == expected, seed.is_none(), "{seed:?}");
    }
}

/// Mistakes that change the order of long lists break no rule of WGSL, but give other sums.
#[test]
fn rows_in_another_order_give_other_sums() {
    let expected = many_added_in_order(&Backend::cpu()).unwrap();
    let sums = |edits| {
        let editor = Editor::new(edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            panics: false,
            // Some mistakes make lists endless. In correct shaders the longest list has 1,100 rows.
            most_rounds: 4000,
            ..strict_options()
        };
        let sums = many_added_in_order(&strict(true, options).0).unwrap();
        editor.assert_found();
        sums
    };
    assert_eq!(sums(&[]), expected);
    // Only two workgroups take lists in turn, as 512 workgroups do if there are more lists.
    let two = &[
        ("if number >= uniforms.tiles {", "if number >= 2u {"),
        ("uniforms.tiles - 1u - number", "1u - number"),
        ("uniforms.tiles * LISTS", "2u * LISTS"),
        ("uniforms.tiles * TOGETHER", "2u * TOGETHER"),
    ];
    assert_eq!(sums(two), expected);
    // Lists are linked only two at a time, so that a workgroup needs a second turn.
    let few = &[("const TOGETHER: u32 = 64u", "const TOGETHER: u32 = 2u")];
    assert_eq!(sums(few), expected);
    let mistakes: [Edits; 18] = [
        // Mistakes in lists that are sorted in workgroup memory: in the last row, the first row and the rows between.
        &[(
            "select(next, 0u, next == NONE)",
            "select(next, 1u, next == NONE)",
        )],
        &[("is_first &= other >= link;", "is_first &= other <= link;")],
        &[("min(next, other)", "max(next, other)")],
        // Mistakes in longer lists: in the last rows, the rows between and the first row.
        &[(
            "NONE), found, at < vec4(uniforms.units)",
            "NONE), found, at < vec4(uniforms.units - 1u)",
        )],
        &[(
            "(uniforms.units - 1u) / STRETCH",
            "uniforms.units / STRETCH - 1u",
        )],
        &[("var next = behind[list];", "var next = 0u;")],
        &[("0xfffffffeu << (number", "0xffffffffu << (number")],
        &[("0xfffffffeu << word", "0xffffffffu << word")],
        &[("if next_bits == 0u && later != 0u", "if false")],
        &[(" | (others & ~(0xffffffffu << word))", "")],
        &[(
            "min(at, vec4(uniforms.units - 1u))",
            "min(at, vec4(uniforms.units - 1u)).xywz",
        )],
        &[(
            "set_first(slice, behind[own])",
            "set_first(slice, behind[own] + 5u)",
        )],
        // The slices of longer lists are not found, or the wrong slices are found.
        &[("own += u32(", "own += 0u * u32(")],
        &[("step >>= 1u", "step = 0u")],
        // Lists that were noted are lost.
        &[("if length <= MOST {", "if true {")],
        &[("if list.unsorted != 0u {", "if false {")],
        &[("uniforms.map.long + first + local]", "uniforms.map.long]")],
        // The rest of a list is lost when sorting it is given up.
        &[("set_next(last, rest);", "")],
    ];
    let unseen = mistakes
        .into_iter()
        .filter(|&edits| sums(edits) == expected);
    assert_eq!(unseen.collect::<Vec<_>>(), [&[]; 0]);
}

/// In rows with an odd number of bytes, a byte has different positions within words of the source, the tile and the
/// result. A strict device does not report mistakes in these positions, but they give other results.
#[test]
fn misplaced_bytes_are_seen() {
    let transpose: Work = |backend| transposed_of(backend, DType::U8, [67, 71]);
    let planes: Work = |backend| {
        let shape = [37, 29, 3];
        let source = to_bytes(&elements(shape.iter().product()), 1);
        let tensor = Tensor::from_bytes(backend, source, DType::U8, &shape)?;
        let moved = tensor.view().transpose(&[2, 0, 1])?.to_tensor()?;
        moved.bytes().map(Cow::into_owned)
    };
    let mistakes: [(Work, Edits); 8] = [
        (
            transpose,
            &[("bits_before(begin + line * uniforms.step)", "0u")],
        ),
        (transpose, &[("bits_before(head() - begin)", "0u")]),
        (transpose, &[("if head != 0u {", "if false {")]),
        (transpose, &[("(head - 1u - n) * uniforms.step", "0u")]),
        (transpose, &[("== uniforms.units && tail", "== 0u && tail")]),
        (planes, &[("if left < ROWS {", "if false {")]),
        (planes, &[("i32(begin) * STRIDE", "0")]),
        (planes, &[("if EVEN || kept", "if true || kept")]),
    ];
    for (work, edits) in mistakes {
        let expected = work(&Backend::cpu()).unwrap();
        let run = |edits| {
            let editor = Editor::new(edits);
            let options = Options {
                rewrite: Some(editor.rewrite()),
                panics: false,
                ..strict_options()
            };
            let result = work(&strict(true, options).0).ok();
            editor.assert_found();
            result
        };
        assert_eq!(run(&[]).as_ref(), Some(&expected));
        assert_ne!(run(edits).as_ref(), Some(&expected), "{edits:?}");
    }
}

/// Without the guard, a device that clamps indices overwrites the last elements. On a device that drops accesses
/// outside of a binding, the missing guard has no effect.
#[test]
fn a_missing_guard_is_wrong_where_indices_are_clamped() {
    let expected = reversed(&Backend::cpu()).unwrap();
    let is_right = |outside, edits| {
        let editor = Editor::new(edits);
        let options = Options {
            outside,
            rewrite: Some(editor.rewrite()),
            ..strict_options()
        };
        let result = reversed(&strict(true, options).0).unwrap();
        editor.assert_found();
        result == expected
    };
    assert!(is_right(Outside::Drop, BEHIND_THE_LAST));
    assert!(!is_right(Outside::Clamp, BEHIND_THE_LAST));
    assert!(is_right(Outside::Clamp, &[]));
}

/// Makes edits in every shader that has their code, and counts them, so that no edit gets lost when a shader changes.
struct Editor {
    edits: Edits,
    /// The largest number of edits in one shader.
    most: Arc<AtomicUsize>,
}

impl Editor {
    fn new(edits: Edits) -> Self {
        let most = Arc::default();
        Self { edits, most }
    }

    fn rewrite(&self) -> Rewrite {
        let (edits, most) = (self.edits, Arc::clone(&self.most));
        Rewrite::new(move |text| {
            let found = edits.iter().filter(|(from, _)| text.contains(from));
            most.fetch_max(found.count(), Ordering::Relaxed);
            let edits = edits.iter();
            edits.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        })
    }

    fn assert_found(&self) {
        let most = self.most.load(Ordering::Relaxed);
        assert_eq!(
            most,
            self.edits.len(),
            "no shader has all of {:?}",
            self.edits
        );
    }
}
