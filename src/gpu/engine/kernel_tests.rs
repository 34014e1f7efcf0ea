//! Runs every kernel in an interpreter of shaders (`crates/strict/`), as a GPU and as a software adapter, and compares
//! the results with the CPU's.

use super::{
    dispatch::ArgumentPlaces,
    find::COUNT_BYTES,
    program::{Constant, Kernel},
};
use crate::{
    Conversion, DType, Error, Gpu, Plan, SliceSpec, View,
    cpu::{self, Indices},
    moves::{Effect, Find, Move, Operation},
    ops::mask::Found,
    options::{
        Boxes, Combine, CropOptions, GatherNdOptions, GatherOptions, IndexShape, OutOfRange,
        PasteOptions, ScatterOptions,
    },
};

pub(super) const DEVICE_TYPES: [wgpu::DeviceType; 2] =
    [wgpu::DeviceType::DiscreteGpu, wgpu::DeviceType::Cpu];

/// Opens a device of this kind. It runs shaders in an interpreter that reports every fault.
pub(super) fn open_strict(device_type: wgpu::DeviceType) -> Gpu {
    let mut options = strict_gpu::Options::default();
    options.info.device_type = device_type;
    let adapter = strict_gpu::StrictGpu::new(options).adapter();
    pollster::block_on(Gpu::from_adapter(&adapter)).unwrap()
}

fn crop_options(sizes: &[usize]) -> CropOptions {
    CropOptions {
        sizes: sizes.to_vec(),
        ..CropOptions::default()
    }
}

/// Returns the shapes of `count` boxes in one array of tuples. Each box has start indices in `dims` dimensions.
fn box_shapes(count: usize, dims: usize, box_indices: bool, flips: bool) -> Boxes<IndexShape> {
    let depth = usize::from(box_indices) + dims * (1 + usize::from(flips));
    Boxes::of_tuples(&[count, depth], box_indices, flips)
}

fn scatter_options(combine: Combine) -> ScatterOptions {
    ScatterOptions {
        combine: Some(combine),
        ..ScatterOptions::default()
    }
}

/// Returns slices, updates, gradients, transposes, gathers and crops of elements of this type.
fn make_moves(dtype: DType) -> Vec<Move> {
    let mut plans: Vec<Result<Plan, Error>> = vec![];
    for (text, shape) in [
        ("1:, 1:", [40, 12]),
        ("1:, 1:", [39, 67]),
        ("::2, ::2", [39, 11]),
        ("::-1, ::-1", [8, 64]),
        ("::-1, ::2", [8, 12]),
        (":, 1:4", [40, 12]),
        (":, 5::-1", [39, 11]),
        ("1:, 3::3", [40, 67]),
        ("::3", [1, 999]),
    ] {
        let spec: SliceSpec = text.parse().unwrap();
        let part_shape = spec.view(&shape).unwrap().shape().to_vec();
        plans.push(Plan::slice(&shape, &spec, dtype));
        plans.push(Plan::slice_update(&shape, &spec, &part_shape, dtype));
        plans.push(Plan::slice_grad(&shape, &spec, &part_shape, dtype));
    }
    let transposed_view = View::new(&[70, 67]).unwrap().transpose(&[1, 0]).unwrap();
    plans.push(Plan::contiguous(transposed_view, dtype));
    let column_options = GatherOptions {
        axis: Some(1),
        ..GatherOptions::default()
    };
    for width in [1, 3, 12] {
        let row_options = GatherNdOptions::default();
        plans.push(Plan::gather_nd(&[40, width], &[8, 1], row_options, dtype));
        plans.push(Plan::gather(&[40, width], &[205], column_options, dtype));
    }
    let options = crop_options(&[4, 4]);
    for (width, channels) in [(8, 1), (9, 1), (8, 3), (7, 3), (8, 5), (6, 32)] {
        let boxes = box_shapes(4, 2, width == 8, true);
        let shape = [4, 6, width, channels];
        plans.push(Plan::crop(&shape, boxes, &options, dtype));
    }
    plans
        .into_iter()
        .map(|plan| plan.unwrap().only_move())
        .collect()
}

/// Returns scatters of many rows to few slices, of few rows to many slices, and of unique rows.
fn make_scatters() -> Vec<Move> {
    let mut moves = vec![];
    for dtype in [DType::U8, DType::F32, DType::I32] {
        for combine in [Combine::Add, Combine::Update] {
            // On a software adapter, 400 rows are two chunks, so each of five slices has two lists if order matters.
            for (slices, rows, length) in [(5, 6, 3), (5, 400, 1), (900, 30, 3), (900, 30, 4)] {
                for unique in [false, slices > rows] {
                    let options = ScatterOptions {
                        unique,
                        ..scatter_options(combine)
                    };
                    let (shape, updates) = ([slices, length], [rows, length]);
                    let plan =
                        Plan::tensor_scatter_nd(&shape, &[rows, 1], &updates, options, dtype);
                    moves.push(plan.unwrap().only_move());
                }
            }
        }
    }
    moves
}

/// Returns searches in masks of one chunk and of several chunks, with capacity for all positions and for few, and
/// updates by masks.
fn make_searches() -> Vec<Move> {
    let mut moves = vec![];
    for (shape, capacity) in [
        (&[70, 61][..], None),
        (&[2, 3, 4], Some(30)),
        (&[5000], Some(9)),
        (&[], None),
    ] {
        for index_dtype in [DType::I64, DType::U32] {
            let search = Plan::nonzero(shape, capacity, index_dtype).unwrap();
            moves.extend(search.steps().map(|(step_move, _)| step_move.clone()));
        }
    }
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for (source, mask) in [
            (&[39, 11][..], &[39, 11][..]),
            (&[], &[11]),
            (&[11], &[39, 1]),
        ] {
            let source = View::new(source).unwrap();
            let dest = View::new(&[39, 11]).unwrap();
            let update = Plan::masked_update(&source, mask, dest, dtype);
            moves.push(update.unwrap().only_move());
            let dest = View::new(&[40, 24]).unwrap();
            let dest = dest.slice(&"1:, 1:23:2".parse().unwrap()).unwrap();
            let update = Plan::masked_update(&source, mask, dest, dtype);
            moves.push(update.unwrap().only_move());
        }
    }
    moves
}

/// Returns pastes of few and of many elements, of boxes that can overlap and of boxes that cannot.
fn make_pastes() -> Vec<Move> {
    let mut moves = vec![];
    for dtype in [DType::U8, DType::F32] {
        for (count, channels, circular) in
            [(2, 1, false), (2, 3, true), (30, 1, true), (30, 4, false)]
        {
            for unique in [false, true] {
                let options = PasteOptions {
                    circular,
                    unique,
                    ..PasteOptions::default()
                };
                let count = if unique { 7 } else { count };
                let boxes = box_shapes(count, 2, !unique, true);
                let x = [7, 8, 9, channels];
                let patches = [count, 4, 5, channels];
                let paste = Plan::paste(&x, &patches, boxes, &options, dtype);
                moves.push(paste.unwrap().only_move());
            }
        }
    }
    moves
}

/// Returns slices, transposes, gathers and crops that convert: by one table, by a table for each position of an axis,
/// or without a table.
fn make_conversions() -> Vec<Move> {
    let mut moves = vec![];
    for to in [DType::F32, DType::F16, DType::U8] {
        let byte_moves = make_moves(DType::U8)
            .into_iter()
            .filter(|step_move| step_move.effect() == Effect::Make);
        for step_move in byte_moves {
            let last_size = step_move.source[step_move.source.len() - 1];
            let scale: Vec<f32> = (1..).take(last_size).map(|n: u16| n.into()).collect();
            let scaling = Conversion::scaled(to, -1, &scale, &[0.5]);
            let table_conversion =
                Conversion::table(DType::U8, to, 0, step_move.source[0], |n, x| x - n as f32);
            for conversion in [Conversion::to(to), scaling, table_conversion.unwrap()] {
                moves.extend(step_move.converted(&conversion));
            }
        }
    }
    for (from, to) in [
        (DType::F32, DType::F16),
        (DType::F32, DType::I8),
        (DType::BF16, DType::F32),
        (DType::U16, DType::F16),
        (DType::F16, DType::I16),
    ] {
        let unconverted_moves = make_moves(from).into_iter();
        moves.extend(
            unconverted_moves.filter_map(|step_move| step_move.converted(&Conversion::to(to)).ok()),
        );
    }
    moves
}

pub(super) fn make_all_moves() -> Vec<Move> {
    [
        make_conversions(),
        make_moves(DType::U8),
        make_moves(DType::F32),
        make_scatters(),
        make_searches(),
        make_pastes(),
    ]
    .concat()
}

/// Runs a move on a device, or on the CPU, and returns the bytes of the result.
fn run_move(gpu: Option<&Gpu>, tested_move: &Move) -> Vec<u8> {
    // As f32 or f64, these bytes are neither NaN nor subnormal.
    let make_bytes = |count| (1..114).cycle().take(count).collect::<Vec<u8>>();
    let (mut source, mut dest) = (
        make_bytes(tested_move.source_bytes()),
        make_bytes(tested_move.result_bytes()),
    );
    let is_true = |n: usize| n * n % 7 % 3 == 1 || n > 900 && n < 2100;
    let make_mask = |count| Vec::from_iter((0..count).map(|n| u8::from(is_true(n)) * 3));
    if let Effect::Find(Find {
        capacity,
        index_type,
    }) = tested_move.effect()
    {
        source = make_mask(source.len());
        let Some(gpu) = gpu else {
            let count = cpu::mask::count(&source);
            let cpu_count =
                cpu::mask::find(&source, &tested_move.source, &mut dest, index_type.bytes());
            assert_eq!(cpu_count, count);
            let words = Found { count, capacity }.words();
            return [&dest, bytemuck::cast_slice(&words)].concat();
        };
        let source = gpu
            .open_device()
            .upload_slice_of(&Move::copy(source.len()), &source)
            .unwrap();
        let is_long = index_type.bytes() == 8;
        let dtype = if is_long { DType::I64 } else { DType::U32 };
        let search = Plan::nonzero(&tested_move.source, Some(capacity), dtype).unwrap();
        let search = search.with_count().unwrap();
        let allocate = |bytes| (gpu.open_device().allocate_array(&[bytes], 1).unwrap(), true);
        let outputs = [dest.len(), COUNT_BYTES].map(allocate);
        let (outputs, report) = gpu.run(&search, &[], &[&source], &outputs, 0).unwrap();
        let mut count_bytes = [0; COUNT_BYTES];
        gpu.open_device()
            .download_bytes(&outputs[0], &mut dest)
            .unwrap();
        gpu.open_device()
            .download_bytes(&outputs[1], &mut count_bytes)
            .unwrap();
        let count = report.wait().unwrap().found.unwrap();
        let words = Found { count, capacity }.words();
        assert_eq!(bytemuck::cast_slice::<u32, u8>(&words), count_bytes);
        return [&dest, &count_bytes[..]].concat();
    }
    let integer_count = tested_move
        .tuples()
        .map_or(0, |tuples| tuples.integer_count());
    // Some indices are out of range. All indices differ.
    let indices: Vec<i32> = (0..)
        .map(|n| n * 7 % 43 - 1 + n / 43 * 50)
        .take(integer_count)
        .collect();
    let mask = make_mask(integer_count);
    let (indices, bytes) = match tested_move.operation {
        Operation::MaskedUpdate => (Indices::Mask(&mask), &mask[..]),
        _ => (Indices::I32(&indices), bytemuck::cast_slice(&indices)),
    };
    let Some(gpu) = gpu else {
        let indices = tested_move.tuples().map(|_| indices);
        tested_move.run_cpu(&source, indices, &mut dest).unwrap();
        return dest;
    };
    let upload = |bytes: &[u8]| {
        gpu.open_device()
            .upload_slice_of(&Move::copy(bytes.len()), bytes)
            .unwrap()
    };
    let tuples = tested_move.tuples().map(|_| upload(bytes));
    let (source, old_dest) = (upload(&source), upload(&dest));
    let inputs: Vec<_> = [Some(&source), tuples.as_ref()]
        .into_iter()
        .flatten()
        .collect();
    let plan = Plan::from_move(tested_move.clone());
    let (outputs, _) = gpu
        .run(&plan, &[], &inputs, &[(old_dest, true)], 0)
        .unwrap();
    gpu.open_device()
        .download_bytes(&outputs[0], &mut dest)
        .unwrap();
    dest
}

#[test]
fn every_kernel_runs_and_agrees_with_the_cpu() {
    // Small moves share pipelines, so each kind of device also runs them with pipelines that are not shared.
    let both_devices = |device_type| {
        let gpus = [
            open_strict(device_type),
            open_strict(device_type).without_shared_pipelines(),
        ];
        gpus.map(|gpu| (device_type, gpu))
    };
    for (device_type, gpu) in DEVICE_TYPES.into_iter().flat_map(both_devices) {
        for tested_move in make_all_moves() {
            let is_equal = run_move(Some(&gpu), &tested_move) == run_move(None, &tested_move);
            assert!(
                is_equal,
                "{device_type:?}: {tested_move}: {}",
                gpu.explain_move(&tested_move)
            );
        }
        let compiled = gpu.engine.pipelines.compiled_programs();
        for &kernel in Kernel::ALL {
            let has_run = compiled.iter().any(|program| program.kernel == kernel);
            assert!(has_run, "{kernel:?} on {device_type:?}");
        }
    }
}

/// A result of one dimension has a single row, so many lanes share this row.
#[test]
fn a_single_row_keeps_all_lanes_busy() {
    let gpu = open_strict(DEVICE_TYPES[0]);
    let spec = "::3".parse().unwrap();
    let slice = Plan::slice(&[999], &spec, DType::U8).unwrap();
    run_move(Some(&gpu), &slice.only_move());
    let compiled = gpu.engine.pipelines.compiled_programs();
    let rows = compiled
        .iter()
        .map(|program| program.constant_value(Constant::Rows));
    assert_eq!(rows.collect::<Vec<_>>(), [Some(1)]);
}

/// Returns the names of the kernels of a plan's dispatches.
fn kernel_names(gpu: &Gpu, plan: Plan) -> Vec<&'static str> {
    let step_move = plan.only_move();
    let cut = gpu
        .engine
        .cut_move(&step_move, &ArgumentPlaces::AT_BEGIN)
        .unwrap();
    let names = cut
        .dispatches()
        .map(|dispatch| dispatch.program.kernel.name());
    names.collect()
}

/// One dispatch crops all boxes, with any start indices, flips and item numbers.
#[test]
fn a_crop_is_one_dispatch() {
    let boxes = box_shapes(256, 2, true, true);
    let plan = Plan::crop(&[4, 16, 16, 3], boxes, &crop_options(&[8, 8]), DType::U8).unwrap();
    assert_eq!(
        kernel_names(&open_strict(DEVICE_TYPES[0]), plan),
        ["copy_words"]
    );
}

/// Writing a result to a view with gaps takes no more dispatches than writing it to a new array.
#[test]
fn a_result_in_a_view_is_one_dispatch() {
    let gpu = open_strict(DEVICE_TYPES[0]);
    let dest = View::new(&[40, 9]).unwrap();
    let dest = dest.slice(&"::2, 1:7".parse().unwrap()).unwrap();
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for plan in [
            Plan::gather(&[30, 6], &[20], GatherOptions::default(), dtype).unwrap(),
            Plan::crop(
                &[20, 11],
                box_shapes(20, 1, false, false),
                &crop_options(&[6]),
                dtype,
            )
            .unwrap(),
        ] {
            let explained = gpu.explain(&plan.written_to(&dest).unwrap());
            assert!(explained.contains(": 1 dispatch of"), "{explained}");
        }
    }
}

/// One dispatch reorders channels, whether the channels are the last dimension or planes.
#[test]
fn channels_in_any_order_are_one_dispatch() {
    let gpu = open_strict(DEVICE_TYPES[0]);
    let pixels = View::new(&[5, 7, 4]).unwrap();
    for (permutation, order) in [
        ([0, 1, 2], "..., [2, 1, 0, 3]"),
        ([0, 1, 2], "..., [3, 1]"),
        ([2, 0, 1], "[2, 1, 0, 3]"),
        ([2, 0, 1], "2::-1"),
    ] {
        let view = pixels.transpose(&permutation).unwrap();
        let plan = Plan::index(view, &order.parse().unwrap(), DType::U8).unwrap();
        let explained = gpu.explain(&plan);
        assert_eq!(
            explained.matches(": 1 dispatch of").count(),
            1,
            "{explained}"
        );
        assert_eq!(explained.matches("dispatch").count(), 1, "{explained}");
    }
}

/// A paste takes one dispatch if no boxes can overlap, and at most three otherwise.
#[test]
fn a_paste_takes_few_dispatches() {
    let gpu = open_strict(DEVICE_TYPES[0]);
    let paste_kernels = |size, box_indices, options: PasteOptions| {
        let boxes = box_shapes(64, 1, box_indices, false);
        let patches = [64, size, 128];
        let plan = Plan::paste(&[64, 4096, 128], &patches, boxes, &options, DType::F16);
        kernel_names(&gpu, plan.unwrap())
    };
    let default_options = PasteOptions::default;
    let unique_options = PasteOptions {
        unique: true,
        ..default_options()
    };
    let strict_options = PasteOptions {
        out_of_range: OutOfRange::Error,
        ..default_options()
    };
    for (size, box_indices, options, expected) in [
        (1, false, default_options(), &["copy"][..]),
        (1, true, unique_options, &["copy"]),
        (1, true, default_options(), &["link", "copy"]),
        (99, true, default_options(), &["last", "last", "copy"]),
        (1, false, strict_options, &["last", "copy"]),
    ] {
        assert_eq!(paste_kernels(size, box_indices, options), expected);
    }
}

#[test]
fn a_million_rows_take_few_dispatches() {
    let gpu = open_strict(DEVICE_TYPES[0]);
    let scatter_kernels = |rows, slices, options, dtype| {
        let plan = Plan::tensor_scatter_nd(&[slices], &[rows, 1], &[rows], options, dtype);
        kernel_names(&gpu, plan.unwrap())
    };
    let million = 1 << 20;
    let (add, update) = (
        scatter_options(Combine::Add),
        scatter_options(Combine::Update),
    );
    let fast_options = ScatterOptions {
        any_order: true,
        ..add
    };
    let strict_options = ScatterOptions {
        out_of_range: OutOfRange::Error,
        ..update
    };
    let with_unique = |options| ScatterOptions {
        unique: true,
        ..options
    };
    let (float, byte) = (DType::F32, DType::U8);
    for (rows, options, dtype, expected) in [
        (million, add, float, &["link", "order", "combine"][..]),
        (million, fast_options, float, &["link", "combine"]),
        (million, add, byte, &["link", "combine_parts"]),
        (million, add, DType::I32, &["atomic"]),
        (million, update, float, &["last", "copy"]),
        (million, strict_options, float, &["last", "last", "copy"]),
        // If there are few rows, no dispatch goes through the slices without rows.
        (2000, update, float, &["last", "last", "copy"]),
        (2000, update, byte, &["last", "last", "update_words"]),
        // One workgroup can link these few rows, and nothing is cleared.
        (64, update, float, &["link", "copy"]),
        (64, add, float, &["link", "combine"]),
        (64, add, byte, &["link", "combine_parts"]),
        // Unique rows usually take one step.
        (million, with_unique(update), float, &["copy"]),
        (million, with_unique(update), byte, &["last", "copy_words"]),
        (million, with_unique(add), float, &["combine"]),
        (million, with_unique(add), byte, &["combine_parts"]),
        (
            million,
            with_unique(strict_options),
            float,
            &["last", "copy"],
        ),
    ] {
        assert_eq!(scatter_kernels(rows, million, options, dtype), expected);
    }
}
