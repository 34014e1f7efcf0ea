// The uniforms of a dispatch with a walk, and the report that it writes. The host's structs are in
// src/gpu/engine/uniforms.rs; a test compares them with the structs below.
// Defines: walk, report, dims, coordinates, flag, and constants. Needs: no other names.
#import grid.wgsl

// The number of `dims`, as a constant that lets the compiler unroll loops over them. If it is MANY_DIMS,
// `walk.dims_used` has the number instead.
override DIMS: u32 = 30u;
// The number of coordinates, in the same way. If it is 0, the dispatch has no tuples.
override COORDINATES: u32 = 9u;
// True if an invocation processes its segment in a loop, on adapters where starting invocations costs more than loops.
// These adapters also execute branches that no invocation takes and discard their stores, so rare branches come after
// the loop.
override LOOPS: bool = false;

struct Dim {
    size: u32,
    // The distance in the source between rows that are neighbours along this dimension.
    from_stride: u32,
    // The distance in the destination between these rows.
    to_stride: u32,
    // The distance between the tuples of these rows, in tuples.
    tuple_stride: u32,
}

struct Coordinate {
    // The number of positions in range.
    size: u32,
    // The distance between neighbouring positions.
    stride: u32,
    // The first position that this dispatch takes. Other dispatches take the rows at other positions.
    first: u32,
    // The number of positions that this dispatch takes.
    count: u32,
    // The coordinate's column in the tuple, or NONE if the position is `begin`.
    column: u32,
    // The position, a signed integer, if there is no column.
    begin: u32,
    // The dimension along which boxes extend, RUN if they extend along the run, or NONE if there are no boxes.
    along: u32,
    // The distance between neighbouring elements of a box, in positions.
    step: u32,
    // The number of elements of a box along this dimension.
    extent: u32,
    // This dispatch takes the elements of a box from number `digit` on.
    digit: u32,
    // The column of the tuple with the flip flag: a box is reversed if the flag is not 0. NONE if no box is reversed.
    flip: u32,
    // `size` and `first` have 48 bits: the low half of this word has the upper 16 bits of `size`, and the high half has
    // the upper 16 bits of `first`.
    high: u32,
}

struct Walk {
    from_base: u32,
    to_base: u32,
    run: u32,
    run_from: u32,
    run_to: u32,
    rows: u32,
    // A combination of the bits below.
    flags: u32,
    // The number of dimensions.
    dims_used: u32,
    // The number of coordinates.
    coordinates_used: u32,
    // The index of the first tuple's first word.
    tuples: u32,
    // The number of words in a tuple.
    tuple_words: u32,
    // The number of words in an integer of a tuple (2 for i64).
    index_words: u32,
    // The lanes, which are 2^lanes_log2 neighbouring invocations, take a segment of a row. See each kernel.
    lanes_log2: u32,
    // The number of segments of a row.
    segments: u32,
    // The number of units of a segment.
    segment: u32,
    // The number of workgroups in the first dimension of the grid.
    groups_x: u32,
    // In `copy_words.wgsl`: how many elements of the first group precede the result, 0 to 3.
    head: u32,
    // In a scatter: a row's number is its index in this dispatch plus `first_row` plus 1. Earlier dispatches use the
    // numbers up to `first_row`.
    first_row: u32,
    // In a scatter: the number of slices of the destination that this dispatch binds.
    slices: u32,
    // In a scatter: the number of the first of these slices.
    first_slice: u32,
    // The number of lists of a slice, or 0 if one workgroup links all rows: see `chain.wgsl`.
    lists: u32,
    // Rows r of a slice with the same r >> list_shift share a list.
    list_shift: u32,
    // The distance in units between neighbouring rows in the updates, and between neighbouring slices.
    pitch: u32,
    // The position of the first row in the updates, in units.
    updates: u32,
    // The integer in a tuple that means position 0. It is 0, unless the tuples are row numbers that `last.wgsl` wrote.
    first_index: u32,
    // In `convert.wgsl`: the number of neighbouring source elements that share a table.
    table_inner: u32,
    // In `convert.wgsl`: the number of tables.
    tables: u32,
    // In `convert.wgsl`: an offset that is added to the index of an element before the index of its table is computed.
    table_shift: u32,
    dims: array<Dim, 30>,
    coordinates: array<Coordinate, 9>,
}

// The integers in tuples are signed.
const SIGNED_INDICES: u32 = 1u;
// Negative integers count from the end.
const WRAPS: u32 = 2u;
// Out-of-range integers move to the nearest end, and boxes are shifted into the array.
const CLAMPS: u32 = 4u;
// This dispatch reports tuples that are out of range.
const REPORTS: u32 = 8u;
// A row without a source keeps its values instead of becoming zeros.
const KEEPS: u32 = 16u;
// If any tuple was reported, no row is written.
const STRICT: u32 = 32u;
// The positions of boxes wrap around: they are taken modulo the sizes of dimensions.
const CIRCULAR: u32 = 64u;

struct Report {
    // The number of tuples that are out of range.
    count: atomic<u32>,
    // The complement of the number of the first such tuple. The complement lets `atomicMax` find the lowest number,
    // starting from zero, the value to which the host clears the report.
    first: atomic<u32>,
}

@group(1) @binding(0) var<storage, read_write> report: Report;
@group(2) @binding(0) var<uniform> walk: Walk;

// The value of `along` if boxes extend along the run.
const RUN: u32 = 0xfffffffeu;
// If DIMS or COORDINATES has this value, the number is in `walk` instead of a constant.
const MANY_DIMS: u32 = 30u;
const MANY_COORDINATES: u32 = 9u;

fn dims() -> u32 {
    return select(DIMS, walk.dims_used, DIMS == MANY_DIMS);
}

fn coordinates() -> u32 {
    return select(COORDINATES, walk.coordinates_used, COORDINATES == MANY_COORDINATES);
}

fn flag(bit: u32) -> bool {
    return (walk.flags & bit) != 0u;
}
