// What the dispatch of a walk reads: the numbers of the walk, its flags, and the report that it writes. The host's structs are in
// src/gpu/engine/uniforms.rs; a test compares the two.
// Defines: walk, report, dims, coordinates, flag. Needs: nothing.
#import grid.wgsl

// The number of `dims` if it is known to the compiler, so that loops over them unroll; otherwise MANY_DIMS, and the
// walk has the number.
override DIMS: u32 = 30u;
// The same for the number of coordinates. If it is 0, the dispatch has no tuples.
override COORDINATES: u32 = 9u;
// Whether an invocation does all of its segment in a loop: on adapters on which invocations cost more than loops. They
// also execute a branch that no invocation takes, and discard what it stores, so such branches stand after the loop.
override LOOPS: bool = false;

struct Dim {
    size: u32,
    // The distance between neighbours in the source, in the destination, and in the list of tuples.
    from_stride: u32,
    to_stride: u32,
    tuple_stride: u32,
}

struct Coordinate {
    // The number of positions, and their distance.
    size: u32,
    stride: u32,
    // This dispatch takes the `count` positions from `first` on; rows at other positions are other dispatches'.
    first: u32,
    count: u32,
    // The number of the tuple's column, or NONE: then the position is `begin`, a signed number.
    column: u32,
    begin: u32,
    // The dimension along which boxes extend, RUN or NONE. Neighbours in a box are `step`
    // positions apart, and a box has `extent` of them along the dimension, of which this dispatch takes those from
    // `digit` on. If column `flip` of the tuple, unless it is NONE, is not 0, the box is reversed.
    along: u32,
    step: u32,
    extent: u32,
    digit: u32,
    flip: u32,
    // `size` and `first` have 48 bits: the low half of this word has the upper 16 bits of `size`, the high half those of
    // `first`.
    high: u32,
}

struct Walk {
    from_base: u32,
    to_base: u32,
    run: u32,
    run_from: u32,
    run_to: u32,
    rows: u32,
    // Bits that the constants below name.
    flags: u32,
    // The numbers of dimensions and coordinates.
    dims_used: u32,
    coordinates_used: u32,
    // The word at which tuples begin, and the words of a tuple and of one of its numbers (2 for i64).
    tuples: u32,
    tuple_words: u32,
    index_words: u32,
    // How invocations share the work: a group of 2^lanes_log2 neighbouring invocations takes a segment of `segment`
    // units of a row, which has `segments` of them. See each kernel.
    lanes_log2: u32,
    segments: u32,
    segment: u32,
    // The number of workgroups in the first dimension of the grid.
    groups_x: u32,
    // In `copy_words.wgsl`: the elements before the result in its first group.
    head: u32,
    // In a scatter: a row's number is its position plus `first_row` plus 1; numbers up to `first_row` are of earlier
    // dispatches. `slices` slices of the destination, from number `first_slice` on, are bound.
    first_row: u32,
    slices: u32,
    first_slice: u32,
    // The lists of a slice (0 if one workgroup links all rows), and the logarithm of the number of rows that share a
    // list: see `link.wgsl`.
    lists: u32,
    list_shift: u32,
    // The distance between rows in the updates and between slices, and where the first row begins in the updates.
    pitch: u32,
    updates: u32,
    // The number of a tuple that stands for position 0. Only tuples of the numbers of rows, which `last.wgsl` writes,
    // have one that is not 0.
    first_index: u32,
    // In `convert.wgsl`: the elements of the source that share a table, the number of tables, and what must be added to the
    // number of an element so that the first table begins at 0.
    table_inner: u32,
    tables: u32,
    table_shift: u32,
    dims: array<Dim, 30>,
    coordinates: array<Coordinate, 9>,
}

// Index numbers have a sign.
const SIGNED_INDICES: u32 = 1u;
// Negative numbers count from the end; those outside move to the nearest end, or a box to where it lies inside.
const WRAPS: u32 = 2u;
const CLAMPS: u32 = 4u;
// This dispatch reports tuples that are out of range.
const REPORTS: u32 = 8u;
// A row without a source keeps its values instead of becoming zeros.
const KEEPS: u32 = 16u;
// If any tuple was reported, nothing may change: all rows count as out of range.
const STRICT: u32 = 32u;
// Positions of boxes are taken modulo the sizes of dimensions.
const CIRCULAR: u32 = 64u;

struct Report {
    // The number of tuples out of range.
    count: atomic<u32>,
    // The complement of the number of the first of them. The host clears the report to zeros.
    first: atomic<u32>,
}

@group(1) @binding(0) var<storage, read_write> report: Report;
@group(2) @binding(0) var<uniform> walk: Walk;

// In place of a dimension: the run.
const RUN: u32 = 0xfffffffeu;
// From this many dimensions and coordinates on, their number is the walk's.
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
