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
    let make_tensor = |count, shape: &[usize]| {
        Tensor::from_bytes(backend, to_bytes(&elements(count), 1), DType::U8, shape)
    };
    let mut tensor = make_tensor(60 * 7, &[60, 7])?;
    tensor.slice_update(&":, 1:6".parse()?, &make_tensor(60 * 5, &[60, 5])?)?;
    tensor.bytes().map(Cow::into_owned)
}

fn slice_array(backend: &Backend, shape: &[usize], spec: &str) -> Result<Vec<u8>, Error> {
    let source = to_bytes(&elements(shape.iter().product()), 4);
    let tensor = Tensor::from_bytes(backend, source, DType::F32, shape)?;
    let spec: SliceSpec = spec.parse()?;
    tensor.slice(&spec)?.bytes().map(Cow::into_owned)
}

/// Scatters rows of `updates` to this many slices, with this combination. Row `n` is written to slice `slice_of(n)`.
fn scatter_rows<T>(
    backend: &Backend,
    slice_count: usize,
    combine: Combine,
    updates: &[T],
    slice_of: fn(i32) -> i32,
) -> Result<Vec<u8>, Error>
where
    T: wgslice::Element + bytemuck::NoUninit,
{
    let indices: Vec<i32> = (0..).zip(updates).map(|(n, _)| slice_of(n)).collect();
    let options = ScatterOptions {
        combine: Some(combine),
        out_of_range: OutOfRange::Ignore,
        ..ScatterOptions::default()
    };
    let (result, _) = backend.scatter_nd(
        &[slice_count],
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

fn add_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    scatter_rows(
        backend,
        7,
        Combine::Add,
        &(0..90u8).map(f32::from).collect::<Vec<f32>>(),
        |n| n % 5,
    )
}

/// Adds rows to seven slices, over several chunks of rows. The sum of each slice depends on the order of its rows.
fn add_many_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    let update = |n: u16| f32::from(n.wrapping_mul(7919) % 4099) * 2.0f32.powi(i32::from(n % 24));
    scatter_rows(
        backend,
        7,
        Combine::Add,
        &(0..2900).map(update).collect::<Vec<f32>>(),
        |n| match (n % 128, n % 4) {
            (80.., _) => 0,
            (_, 0 | 2) => 1,
            (_, 1) => 2,
            _ => 3 + n / 4 % 4,
        },
    )
}

/// Adds two or three rows to each of many slices, each row in another chunk.
fn add_to_many_in_order(backend: &Backend) -> Result<Vec<u8>, Error> {
    let update = |n: u16| {
        1.0 + f32::from(n.wrapping_mul(7919) % 4099) * 2.0f32.powi(i32::from(n / 1400) * 12)
    };
    scatter_rows(
        backend,
        1400,
        Combine::Add,
        &(0..2900).map(update).collect::<Vec<f32>>(),
        |n| n % 1400,
    )
}

/// Adds 40 rows to slices of a large array. One workgroup links all of these rows.
fn add_few_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    add_to_large_array(backend, 40)
}

fn add_more_rows(backend: &Backend) -> Result<Vec<u8>, Error> {
    add_to_large_array(backend, 1100)
}

fn add_to_large_array(backend: &Backend, row_count: u16) -> Result<Vec<u8>, Error> {
    let options = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let rows: Vec<i32> = (0..row_count).map(|n| i32::from(n % 9 * 100)).collect();
    let updates: Vec<f32> = (0..row_count).map(f32::from).collect();
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
    is_hardware: bool,
    edits: ShaderEdits,
    expected: Wrong,
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
        is_hardware: true,
        edits: WITHOUT_GUARD,
        expected: outside_access(Access::Write),
    },
    PlantedBug {
        name: "a guard is missing",
        work: reverse_rows,
        is_hardware: false,
        edits: &[("if row >= walk.rows { return; }", "")],
        expected: outside_access(Access::Write),
    },
    PlantedBug {
        name: "a stride is multiplied by another",
        work: |backend| slice_array(backend, &[6, 5, 4], "::2, 1:4, 1:3"),
        is_hardware: true,
        edits: &[(
            "digit * walk.dims[d].from_stride",
            "digit * walk.dims[d].from_stride * walk.dims[0].from_stride",
        )],
        expected: outside_access(Access::Read),
    },
    PlantedBug {
        name: "an addition is not atomic",
        work: add_rows,
        is_hardware: true,
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
        expected: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "the slices of rows are not stored",
        work: add_in_order,
        is_hardware: true,
        edits: &[(
            "atomicStore(&lists[walk.slices * walk.lists + row], slice);",
            "",
        )],
        expected: Wrong::Unwritten {
            what: Depends::Condition,
        },
    },
    PlantedBug {
        name: "a row is read before the start of the source",
        work: reverse_rows,
        is_hardware: true,
        edits: &[("Row(walk.from_base, ", "Row(walk.from_base - 10000u, ")],
        expected: Wrong::Wrapped { index: 0 },
    },
    PlantedBug {
        name: "elements after a row are read",
        work: reverse_rows,
        is_hardware: true,
        edits: &[("select(vec4(0u), at, are_found)", "at")],
        expected: outside_access(Access::Read),
    },
    PlantedBug {
        name: "a loop never ends",
        work: reverse_rows,
        is_hardware: false,
        edits: &[(
            "units.x < end; units += 4u * lanes",
            "units.x < end; units += 0u * lanes",
        )],
        expected: Wrong::LongLoop { most: 0 },
    },
    PlantedBug {
        name: "a barrier is not reached by all invocations",
        work: update_rows,
        is_hardware: false,
        edits: &[(
            "let part = tile - row_number * walk.segments;",
            "let part = tile - row_number * walk.segments;\n    storageBarrier();",
        )],
        expected: Wrong::DivergentBarrier {
            arrived: 0,
            invocations: 0,
        },
    },
    PlantedBug {
        name: "the rows of a chunk are linked before their slices are stored",
        work: add_in_order,
        is_hardware: true,
        edits: &[(
            "    workgroupBarrier();\n    for (var i = local; i < CHUNK && first",
            "    for (var i = local; i < CHUNK && first",
        )],
        expected: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "two rows write their shared word without atomics",
        work: update_rows,
        is_hardware: true,
        edits: &[
            ("dest: array<atomic<u32>>", "dest: array<u32>"),
            ("atomicStore(&dest[word], bits);", "dest[word] = bits;"),
            ("atomicAnd(&dest[word], ~mask);", "dest[word] &= ~mask;"),
            ("atomicOr(&dest[word], bits);", "dest[word] |= bits;"),
        ],
        expected: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "words at the end of a row contain bytes after it",
        work: take_unaligned_rows,
        is_hardware: true,
        edits: &[(
            "var whole = exists & (j < vec4(walk.run - 3u));",
            "var whole = exists & (j < vec4(walk.run + 17u));",
        )],
        expected: outside_access(Access::Read),
    },
    PlantedBug {
        name: "every row of a chunk combines all rows of its slice",
        work: add_few_rows,
        is_hardware: true,
        edits: &[(
            "if !select(is_first, next == NONE, LASTS) { slice = NONE; }",
            "",
        )],
        expected: Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 0,
        },
    },
    PlantedBug {
        name: "every row combines all rows of its slice",
        work: add_more_rows,
        is_hardware: true,
        edits: &[(
            "first_after(slice, 0u, 0u) == walk.first_row + row + 1u",
            "true",
        )],
        expected: Wrong::Race {
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
fn open_strict(is_hardware: bool, options: Options) -> (Backend, StrictGpu) {
    let strict = StrictGpu::new(options);
    let limits = strict.device().limits();
    let gpu = request_device(&strict.adapter(), wgpu::Features::empty(), limits).unwrap();
    let gpu: Gpu = if is_hardware { gpu.as_hardware() } else { gpu };
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
        let (sound, log) = open_strict(bug.is_hardware, quiet.clone());
        let expected = (bug.work)(&Backend::cpu()).unwrap();
        assert_eq!((bug.work)(&sound).unwrap(), expected, "{name}: before");
        assert_eq!(log.take_faults(), [], "{name}: before");

        let editor = ShaderEditor::new(bug.edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            ..quiet
        };
        let (broken, log) = open_strict(bug.is_hardware, options);
        let result = (bug.work)(&broken);
        editor.assert_found();
        let faults = log.take_faults();
        assert!(
            faults.iter().any(|fault| is_kind(&bug.expected, fault)),
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
        let result_with = |edits| {
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
        assert_eq!(result_with(&[]), expected, "{seed:?}");
        assert_eq!(result_with(edits) == expected, seed.is_none(), "{seed:?}");
    }
}

/// If rows are not unique although the caller promised it, they race for their slice.
#[test]
fn a_broken_promise_is_a_race() {
    for combine in [Combine::Update, Combine::Add] {
        for (rows, expects_race) in [([3, 1, 2], false), ([3, 1, 3], true)] {
            let options = Options {
                panics: false,
                ..strict_options()
            };
            let (backend, log) = open_strict(true, options);
            let unique_options = ScatterOptions {
                combine: Some(combine),
                unique: true,
                ..ScatterOptions::default()
            };
            let rows = (&rows, &[3, 1]);
            let updates = (&[1.0f32, 2.0, 3.0], &[3]);
            drop(
                backend
                    .scatter_nd(&[5], rows, updates, unique_options)
                    .unwrap(),
            );
            let faults = log.take_faults();
            let is_race = |fault: &Fault| matches!(fault.wrong, Wrong::Race { .. });
            assert_eq!(
                faults.iter().any(is_race),
                expects_race,
                "{combine}: {faults:#?}"
            );
        }
    }
}

/// Mistakes that change the order of rows break no rule of WGSL, but give other sums.
#[test]
fn rows_in_another_order_give_other_sums() {
    let works: [BugWork; 2] = [add_many_in_order, add_to_many_in_order];
    let expected = works.map(|work| work(&Backend::cpu()).unwrap());
    let sums = |edits, shuffle| {
        let editor = ShaderEditor::new(edits);
        let options = Options {
            rewrite: Some(editor.rewrite()),
            shuffle: Some(shuffle),
            panics: false,
            // Some mistakes make lists endless. In correct shaders the longest list has about 1,100 rows.
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
    let is_noticed = |edits| (1..=8).any(|shuffle| sums(edits, shuffle) != expected);
    let unnoticed = mistakes.into_iter().filter(|&edits| !is_noticed(edits));
    assert_eq!(unnoticed.collect::<Vec<_>>(), [&[]; 0]);
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
    max_edits: Arc<AtomicUsize>,
}

impl ShaderEditor {
    fn new(edits: ShaderEdits) -> Self {
        let max_edits = Arc::default();
        Self { edits, max_edits }
    }

    fn rewrite(&self) -> Rewrite {
        let (edits, max_edits) = (self.edits, Arc::clone(&self.max_edits));
        Rewrite::new(move |text| {
            let applicable_edits = edits.iter().filter(|(from, _)| text.contains(from));
            max_edits.fetch_max(applicable_edits.count(), Ordering::Relaxed);
            let edits = edits.iter();
            edits.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        })
    }

    fn assert_found(&self) {
        let max_edits = self.max_edits.load(Ordering::Relaxed);
        assert_eq!(
            max_edits,
            self.edits.len(),
            "no shader has all of {:?}",
            self.edits
        );
    }
}
