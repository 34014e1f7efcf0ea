// What every mover reads. `Map` comes from the operation's file. The host declares `params` itself: as immediates where
// the device has them, otherwise as a uniform buffer, or a storage buffer on software adapters.
// 128 bytes, the size of immediates that can be counted on. The host writes it from `Params` in
// src/gpu/params.rs; a test holds the two layouts against each other.

struct Params {
    // Units of a row, and the distance between neighbours in the source (wraps when negative). In
    // parts where a unit is put together of several, but for the run of `rows_serial.wgsl`.
    run: u32,
    step: u32,
    // Units of the result that this dispatch writes, or units of a row where rows go to places of their
    // own; and tiles that it is cut into.
    units: u32,
    tiles: u32,
    // Units of a tile; words where units are smaller.
    segment: u32,
    // Workgroups along x, and from bit 16 on `lanes_log2`. Dispatches above the limit of one dimension continue
    // along y.
    grid: u32,
    // What the dispatch is, as far as all of its invocations agree: see the functions that read it.
    flags: u32,
    // Units of the source that are bound. Only a gather may point beyond them. In `row_words.wgsl` a number of
    // words.
    window: u32,
    // What to add to a row's base, and the first unit of the result, within the bindings; its first
    // word in `pack_bytes.wgsl`.
    source_base: u32,
    dest_base: u32,
    // The indices into the first dimension of a gather that this dispatch looks at: the others
    // are looked at by another, with another part of params bound.
    first: u32,
    count: u32,
    map: Map,
}

// One dimension that a map walks: its size, and its stride in units (wraps when negative).
struct Axis {
    size: u32,
    stride: u32,
}

// Where a row begins in the source, relative to `source_base`; or where a unit of it lies in the binding.
struct Row {
    base: u32,
    state: u32,
}

// Where a row begins on both sides, relative to the bases.
struct Start {
    from_part: u32,
    to: u32,
    state: u32,
}

// A part of a row.
struct Segment {
    row: u32,
    first: u32,
    end: u32,
}

// Four rows, one behind the other.
struct Four {
    a: Row,
    b: Row,
    c: Row,
    d: Row,
}

// The row has a source; it has none and becomes zeros; another dispatch writes it.
const FOUND: u32 = 0u;
const MISSING: u32 = 1u;
const ELSEWHERE: u32 = 2u;

// The dimensions of a map come two to a vector: uniform arrays have a stride of 16 bytes.
fn axis(d: u32) -> Axis {
    let pair = params.map.axes[d >> 1u];
    if (d & 1u) == 0u {
        return Axis(pair.x, pair.y);
    }
    return Axis(pair.z, pair.w);
}

// 2^lanes_log2 neighbouring invocations share a tile and take its units in turn.
fn lanes_log2() -> u32 {
    return params.grid >> 16u;
}

// Dimensions that the map of a slice walks, or coordinates of an index tuple.
fn dims() -> u32 {
    return params.flags & 15u;
}

// Dimensions that a gather walks beside its tuples. 0 where the tuples are all that numbers the rows.
fn walked_dims() -> u32 {
    return (params.flags >> 4u) & 15u;
}

// Whether walked dimension `d` has the same tuples at each of its positions; and whether any has.
fn repeats(d: u32) -> bool {
    return ((params.flags >> (8u + d)) & 1u) != 0u;
}

fn any_repeats() -> bool {
    return (params.flags & 0x3ff00u) != 0u;
}

// Bytes of the elements that units hold in reverse order, or of units that are smaller than words.
fn element_bytes() -> u32 {
    return (params.flags >> 24u) & 15u;
}

// How atomics combine numbers.
fn atomic_combine() -> u32 {
    return params.flags >> 28u;
}

fn flag(bit: u32) -> bool {
    return (params.flags & bit) != 0u;
}

// Indices can be negative; negative indices count from the end; those outside move to the nearest end.
const SIGNED_INDICES: u32 = 0x40000u;
const WRAPS: u32 = 0x80000u;
const CLAMPS: u32 = 0x100000u;
// The innermost dimension of a slice holds a multiple of four rows, so that four of them lie evenly apart.
const EVEN: u32 = 0x200000u;
// A scatter only checks its rows: if one is bad, nothing is to be changed by any.
const CHECKS: u32 = 0x400000u;
// A scatter changes nothing where a row is bad.
const STRICT: u32 = 0x800000u;

// The workgroup's number in the whole grid, and the invocation's.
fn group_number(group: vec3<u32>) -> u32 {
    return group.y * (params.grid & 0xffffu) + group.x;
}

fn invocation(group: vec3<u32>, local: u32) -> u32 {
    return group_number(group) * WORKGROUP + local;
}

// The segment of a row that a tile is, where rows are cut into segments.
fn segment(tile: u32) -> Segment {
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    return Segment(row, first, min(first + params.segment, params.run));
}
