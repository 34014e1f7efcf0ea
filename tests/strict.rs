//! Checks that strict devices detect faults of shaders. They must find each bug of `BUGS` when it is put into the
//! library's own shaders. Without bugs, strict devices give the same results as the CPU, whether they drop or clamp
//! accesses outside of a binding.

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

/// A function that runs the work that shows a bug and returns the bytes of the result.
type BugWork = fn(&Backend) -> Result<Vec<u8>, Error>;

/// Reverses rows that do not fill a workgroup.
fn reverse_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    slice_array(backend, &[37, 13], "::-1, :")
}

/// Takes rows of 38 bytes that begin at any byte.
fn take_unaligned_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    let source = to_bytes(&elements(37 * 41), 1);
    let tensor = Tensor::from_bytes(backend, source, DType::U8, &[37, 41])?;
    let spec: SliceSpec = "1:, 3:".parse()?;
    tensor.slice(&spec)?.bytes().map(Cow::into_owned)
}

/// Updates rows of bytes. Neighbouring rows share words.
fn update_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    let of = |count, shape: &[usize]| {
        Tensor::from_bytes(backend, to_bytes(&elements(count), 1), DType::U8, shape)
    };
    let mut tensor = of(60 * 7, &[60, 7])?;
    tensor.slice_update(&":, 1:6".parse()?, &of(60 * 5, &[60, 5])?)?;
    tensor.bytes().map(Cow::into_owned)
}

fn slice_array(backend: &Backend, shape: &[usize], spec: &str) -> Result<Vec<u8>, Error> {
    let source = to_bytes(&elements(shape.iter().product()), 4);
    let tensor = Tensor::from_bytes(backend, source, DType::F32, shape)?;
    let spec: SliceSpec = spec.parse()?;
    tensor.slice(&spec)?.bytes().map(Cow::into_owned)
}

/// Scatters rows of `updates` to this many slices, with this combination. Row `n` goes to slice `slice(n)`.
fn scatter_rows<T>(
    backend: &Backend,
    slices: usize,
    combine: Combine,
    updates: &[T],
    slice: fn(i32) -> i32,
) -> Result<Vec<u8>, Error>
where
    T: wgslice::Element + bytemuck::NoUninit,
{
    let indices: Vec<i32> = (0..).zip(updates).map(|(n, _)| slice(n)).collect();
    let options = ScatterOptions {
        combine: Some(combine),
        out_of_range: OutOfRange::Ignore,
        ..ScatterOptions::default()
    };
    let (result, _) = backend.scatter_nd(
        &[slices],
        (&indices[..], &[updates.len(), 1]),
        (updates, &[updates.len()]),
        options,
    )?;
    Ok(bytemuck::cast_slice(&result.data).to_vec())
}

fn add_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    scatter_rows(
        backend,
        7,
        Combine::Add,
        &(0..90).collect::<Vec<i32>>(),
        |n| n % 5,
    )
}

fn added_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    scatter_rows(
        backend,
        7,
        Combine::Add,
        &(0..90u8).map(f32::from).collect::<Vec<f32>>(),
        |n| n % 5,
    )
}

/// Adds rows to seven slices, over several chunks of rows. The sum of each slice depends on the order of its rows.
fn many_added_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    let number = |n: u16| f32::from(n.wrapping_mul(7919) % 4099) * 2.0f32.powi(i32::from(n % 24));
    scatter_rows(
        backend,
        7,
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

/// Adds two or three rows to each of many slices, each row in another chunk.
fn spread_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    let number = |n: u16| {
        1.0 + f32::from(n.wrapping_mul(7919) % 4099) * 2.0f32.powi(i32::from(n / 1400) * 12)
    };
    scatter_rows(
        backend,
        1400,
        Combine::Add,
        &(0..2900).map(number).collect::<Vec<f32>>(),
        |n| n % 1400,
    )
}

/// Adds 40 rows to slices of a large array. One workgroup links all of these rows.
fn few_added(backend: &Backend) -> Result<Vec<u8>, Error> {
    added_to_many(backend, 40)
}

fn more_added(backend: &Backend) -> Result<Vec<u8>, Error> {
    added_to_many(backend, 1100)
}

fn added_to_many(backend: &Backend, count: u16) -> Result<Vec<u8>, Error> {
    let options = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let rows: Vec<i32> = (0..count).map(|n| i32::from(n % 9 * 100)).collect();
    let updates: Vec<f32> = (0..count).map(f32::from).collect();
    let (result, _) = backend.tensor_scatter_nd(
        (&[1.5f32; 9000], &[9000]),
        (&rows[..], &[rows.len(), 1]),
        (&updates, &[rows.len()]),
        options,
    )?;
    Ok(bytemuck::cast_slice(&result.data).to_vec())
}

/// Pieces of shader code, with their replacements.
type ShaderEdits = &'static [(&'static str, &'static str)];

/// A bug in a shader, and the fault that a strict device must report.
struct PlantedBug {
    name: &'static str,
    work: BugWork,
    /// True if the bug is tested on a device that is treated as a hardware GPU.
    hardware: bool,
    edits: ShaderEdits,
    wrong: Wrong,
}

/// Edits that remove the guard that keeps `copy.wgsl` from accesses beyond the last row.
const WITHOUT_GUARD: ShaderEdits = &[
    ("min(rows, vec4(walk.rows - 1u))", "rows"),
    (
        "let rows_exist = rows < vec4(walk.rows);",
        "let rows_exist = rows < vec4(NONE);",
    ),
];

const BUGS: [PlantedBug; 14] = [
    PlantedBug {
        name: "bytes after the last row are written",
        work: reverse_rows,
        hardware: true,
        edits: WITHOUT_GUARD,
        wrong: outside_access(Access::Write),
    },
    PlantedBug {
        name: "a guard is missing",
        work: reverse_rows,
        hardware: false,
        edits: &[("if row >= walk.rows { return; }", "")],
        wrong: outside_access(Access::Write),
    },
    PlantedBug {
        name: "a stride is another's",
        work: |backend| slice_array(backend, &[6, 5, 4], "::2, 1:4, 1:3"),
        hardware: true,
        edits: &[(
            "digit * walk.dims[d].from_stride",
            "digit * walk.dims[d].from_stride * walk.dims[0].from_stride",
        )],
        wrong: outside_access(Access::Read),
    },
    PlantedBug {
        name: "an atomic is none",
        work: add_rows,
        hardware: true,
        edits: &[
            ("dest: array<atomic<Integer>>", "dest: array<Integer>"),
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
    PlantedBug {
        name: "nobody says which rows go where",
        work: added_in_order,
        hardware: true,
        edits: &[(
            "atomicStore(&lists[walk.slices * walk.lists + row], slice);",
            "",
        )],
        wrong: Wrong::Unwritten {
            what: Depends::Condition,
        },
    },
    PlantedBug {
        name: "a row is looked for before the source",
        work: reverse_rows,
        hardware: true,
        edits: &[("Row(walk.from_base, ", "Row(walk.from_base - 10000u, ")],
        wrong: Wrong::Wrapped { index: 0 },
    },
    PlantedBug {
        name: "what lies behind a row is read",
        work: reverse_rows,
        hardware: true,
        edits: &[("select(vec4(0u), at, are_found)", "at")],
        wrong: outside_access(Access::Read),
    },
    PlantedBug {
        name: "a loop never ends",
        work: reverse_rows,
        hardware: false,
        edits: &[(
            "units.x < end; units += 4u * lanes",
            "units.x < end; units += 0u * lanes",
        )],
        wrong: Wrong::LongLoop { most: 0 },
    },
    PlantedBug {
        name: "some have left before a barrier",
        work: update_rows,
        hardware: false,
        edits: &[(
            "let part = tile - row_number * walk.segments;",
            "let part = tile - row_number * walk.segments;\n    storageBarrier();",
        )],
        wrong: Wrong::DivergentBarrier {
            arrived: 0,
            invocations: 0,
        },
    },
    PlantedBug {
        name: "the rows of a chunk are linked before their slices are there",
        work: added_in_order,
        hardware: true,
        edits: &[(
            "    workgroupBarrier();\n    for (var i = local; i < CHUNK && first",
            "    for (var i = local; i < CHUNK && first",
        )],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "two rows write the word that they share",
        work: update_rows,
        hardware: true,
        edits: &[
            ("dest: array<atomic<u32>>", "dest: array<u32>"),
            ("atomicStore(&dest[word], bits);", "dest[word] = bits;"),
            ("atomicAnd(&dest[word], ~mask);", "dest[word] &= ~mask;"),
            ("atomicOr(&dest[word], bits);", "dest[word] |= bits;"),
        ],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "words beyond a row are made of what lies behind it",
        work: take_unaligned_rows,
        hardware: true,
        edits: &[(
            "var whole = exists & (j < vec4(walk.run - 3u));",
            "var whole = exists & (j < vec4(walk.run + 17u));",
        )],
        wrong: outside_access(Access::Read),
    },
    PlantedBug {
        name: "every row of a chunk combines all of its slice",
        work: few_added,
        hardware: true,
        edits: &[(
            "if !select(is_first, next == NONE, LASTS) { slice = NONE; }",
            "",
        )],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "every row combines all of its slice",
        work: more_added,
        hardware: true,
        edits: &[(
            "first_after(slice, 0u, 0u) == walk.first_row + row + 1u",
            "true",
        )],
        wrong: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
];

const fn outside_access(access: Access) -> Wrong {
    Wrong::Outside {
        access,
        at: 0,
        size: 0,
    }
}

/// Opens a backend on a strict device, and returns both.
fn open_strict(hardware: bool, options: Options) -> (Backend, StrictGpu) {
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
        let (sound, log) = open_strict(bug.hardware, quiet.clone());
        let expected = (bug.work)(&Backend::cpu()).unwrap();
        assert_eq!((bug.work)(&sound).unwrap(), expected, "{name}: before");
        assert_eq!(log.take_faults(), [], "{name}: before");

        let editor = ShaderEditor::new(bug.edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            ..quiet
        };
        let (broken, log) = open_strict(bug.hardware, options);
        let result = (bug.work)(&broken);
        editor.assert_found();
        let faults = log.take_faults();
        assert!(
            faults.iter().any(|fault| is_kind(&bug.wrong, fault)),
            "{name}: {result:?}, found {faults:#?}"
        );
    }
}

/// If an update does not compare the numbers of rows, each slice keeps the row that arrives last. In ascending order
/// this is the right row, so only another order shows the mistake.
#[test]
fn the_last_row_is_not_always_the_last_to_arrive() {
    // Each invocation takes four rows, one for each of four slices.
    let rows: Vec<i32> = (0..900).collect();
    let replaced =
        |backend: &Backend| scatter_rows(backend, 7, Combine::Update, &rows, |n| n % 4).unwrap();
    let expected = replaced(&Backend::cpu());
    let edits: ShaderEdits = &[("atomicMax(&last[slice], ", "atomicStore(&last[slice], ")];
    for seed in [None, Some(1), Some(2), Some(3)] {
        let with = |edits| {
            let editor = ShaderEditor::new(edits);
            let options = Options {
                rewrite: Some(editor.rewrite()),
                shuffle: seed,
                ..Options::default()
            };
            let rows = replaced(&open_strict(true, options).0);
            editor.assert_found();
            rows
        };
        assert_eq!(with(&[]), expected, "{seed:?}");
        assert_eq!(with(edits) == expected, seed.is_none(), "{seed:?}");
    }
}

/// If rows are not unique although the caller promised it, they race for their slice.
#[test]
fn a_broken_promise_is_a_race() {
    for combine in [Combine::Update, Combine::Add] {
        for (rows, races) in [([3, 1, 2], false), ([3, 1, 3], true)] {
            let options = Options {
                panics: false,
                ..strict_options()
            };
            let (backend, log) = open_strict(true, options);
            let unique = ScatterOptions {
                combine: Some(combine),
                unique: true,
                ..ScatterOptions::default()
            };
            let rows = (&rows, &[3, 1]);
            let updates = (&[1.0f32, 2.0, 3.0], &[3]);
            drop(backend.scatter_nd(&[5], rows, updates, unique).unwrap());
            let faults = log.take_faults();
            let race = |fault: &Fault| matches!(fault.wrong, Wrong::Race { .. });
            assert_eq!(faults.iter().any(race), races, "{combine}: {faults:#?}");
        }
    }
}

/// Mistakes that change the order of rows break no rule of WGSL, but give other sums.
#[test]
fn rows_in_another_order_give_other_sums() {
    let works: [BugWork; 2] = [many_added_in_order, spread_in_order];
    let expected = works.map(|work| work(&Backend::cpu()).unwrap());
    let sums = |edits, shuffle| {
        let editor = ShaderEditor::new(edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            shuffle: Some(shuffle),
            panics: false,
            // Some mistakes make lists endless. In correct shaders the longest list has 1,100 rows.
            most_rounds: 4000,
            ..strict_options()
        };
        let sums = works.map(|work| work(&open_strict(true, options.clone()).0).unwrap());
        editor.assert_found();
        sums
    };
    assert_eq!(sums(&[], 1), expected);
    let mistakes: [ShaderEdits; 5] = [
        // Within a chunk: the choice of the next row, and of the first row of a slice.
        &[("next = min(next, n);", "next = n;")],
        &[("is_first &= n - 1u >= i;", "is_first &= n - 1u <= i;")],
        &[("if n - 1u > i {", "if n - 1u != i {")],
        // Between chunks: the choice of the first row, and of the row after the last of a chunk.
        &[("first = min(first, number);", "first = number;")],
        &[("if number > after {", "if number >= after {")],
    ];
    // Two chunks can happen to run in an order in which a mistake has no effect.
    let is_seen = |edits| (1..=8).any(|shuffle| sums(edits, shuffle) != expected);
    let unseen = mistakes.into_iter().filter(|&edits| !is_seen(edits));
    assert_eq!(unseen.collect::<Vec<_>>(), [&[]; 0]);
}

/// Without the guard, a device that clamps indices overwrites the last elements. On a device that drops accesses
/// outside of a binding, the missing guard has no effect.
#[test]
fn a_missing_guard_is_wrong_where_indices_are_clamped() {
    let expected = reverse_rows(&Backend::cpu()).unwrap();
    let is_right = |outside, edits| {
        let editor = ShaderEditor::new(edits);
        let options = Options {
            outside,
            rewrite: Some(editor.rewrite()),
            ..strict_options()
        };
        let result = reverse_rows(&open_strict(true, options).0).unwrap();
        editor.assert_found();
        result == expected
    };
    assert!(is_right(Outside::Drop, WITHOUT_GUARD));
    assert!(!is_right(Outside::Clamp, WITHOUT_GUARD));
    assert!(is_right(Outside::Clamp, &[]));
}

/// Makes edits in every shader that contains the code to replace, and counts them. So a test fails if a shader changes
/// and an edit no longer applies.
struct ShaderEditor {
    edits: ShaderEdits,
    /// The largest number of edits in one shader.
    most: Arc<AtomicUsize>,
}

impl ShaderEditor {
    fn new(edits: ShaderEdits) -> Self {
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
