// The numbers that a dispatch reads: 128 bytes, of which the row map's file defines the last 96 as `Map`. The host
// generates the declaration of `uniforms`: immediates (push constants) where the device has room for 128 bytes of
// them, otherwise a storage buffer on software adapters and a uniform buffer elsewhere. The host fills them from
// `Uniforms` in src/gpu/uniforms.rs. A test compares the layouts.

struct Uniforms {
    // The number of units in a row. Here a unit is what the kernel loads at once: a unit of the plan, or a vector.
    // There are exceptions: `rows_serial.wgsl` counts vectors, even if it loads words. `row_words.wgsl` and
    // `combine_subword.wgsl` count words. In `gather_units.wgsl` it is the number of tuples that point into a row of
    // params.
    run: u32,
    // The distance in units between neighbouring units of a row in the source. A negative distance wraps. In
    // `combine_atomic.wgsl` it is the distance in words between neighbouring rows, and between neighbouring slices.
    step: u32,
    // The number of units that this dispatch writes. In `row_words.wgsl` and `combine_subword.wgsl` it is the number
    // of units in one row; in `pack_rows.wgsl`, `combine_atomic.wgsl` and the steps that prepare a scatter it is the
    // number of rows.
    units: u32,
    tiles: u32,
    // The length of a tile, which is usually a segment of a row. It is in units, or in words if units are smaller than
    // words; in rows in `scatter_sort.wgsl`; and in tuples in `gather_units.wgsl`.
    segment: u32,
    // Bits 0 to 15: the number of workgroups along x. Workgroups beyond the device's limit for one dimension continue
    // along y. Bits 16 to 19: `lanes_log2`. Bits 20 to 23: `element_bytes`.
    grid: u32,
    // The number of units in the source's binding before the one from which `Row.base` and `Start.from_part` count.
    source_base: u32,
    // The number of units in the result's binding before the result. `pack_bytes.wgsl` counts words instead, and
    // `pack_rows.wgsl`, `pack_words.wgsl` and `rows_serial.wgsl` count vectors. In `scatter_resolve.wgsl` it is the
    // number that `head` gives to the first row.
    dest_base: u32,
    map: Map,
}

// One dimension of a row map: its size, and its stride in units. A negative stride wraps.
struct Axis {
    size: u32,
    stride: u32,
}

// Where a row begins in the source, relative to `source_base`, and its state: FOUND, MISSING or ELSEWHERE. `unit_at`
// returns a `Row` for a single unit: its `base` is the unit's place, counted from the beginning of the source's
// binding.
struct Row {
    base: u32,
    state: u32,
}

// Where a row begins in source and destination.
struct Start {
    // Where the row begins in the source, relative to `source_base`.
    from_part: u32,
    // Where the row begins in the destination, relative to `dest_base`.
    to: u32,
    // FOUND, MISSING or ELSEWHERE.
    state: u32,
}

// The units `first` to `end - 1` of a row.
struct Segment {
    row: u32,
    first: u32,
    end: u32,
}

// The `Row` of each of four consecutive rows.
struct Four {
    a: Row,
    b: Row,
    c: Row,
    d: Row,
}

// The row or unit has a source.
const FOUND: u32 = 0u;
// The row or unit has no source. It becomes zeros or, in a scatter, is skipped.
const MISSING: u32 = 1u;
// This dispatch does not write the row or unit: another dispatch does, or, in a scatter, none does.
const ELSEWHERE: u32 = 2u;

// The base-2 logarithm of the number of lanes, the invocations that move a tile together. Each lane moves every
// 2^lanes_log2-th unit.
fn lanes_log2() -> u32 {
    return (uniforms.grid >> 16u) & 15u;
}

// The size in bytes of the elements whose order `load_reversed.wgsl` reverses, or of a unit in `row_words.wgsl`.
fn element_bytes() -> u32 {
    return (uniforms.grid >> 20u) & 15u;
}

// The number of the workgroup in the whole grid.
fn group_number(group: vec3<u32>) -> u32 {
    return group.y * (uniforms.grid & 0xffffu) + group.x;
}

// The number of the invocation in the whole grid.
fn invocation(group: vec3<u32>, local: u32) -> u32 {
    return group_number(group) * WORKGROUP + local;
}

// Returns the units that a tile moves, for kernels whose tiles are segments of rows.
fn segment(tile: u32) -> Segment {
    let segments = (uniforms.run + uniforms.segment - 1u) / uniforms.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * uniforms.segment;
    return Segment(row, first, min(first + uniforms.segment, uniforms.run));
}

// Returns the 16 bytes that begin at byte `address & 15` of two consecutive vectors.
fn shifted(low: vec4<u32>, high: vec4<u32>, address: u32) -> vec4<u32> {
    let two = (address & 8u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (address & 4u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = vec4(words.yzw, select(b.x, b.y, one));
    // Shift counts are modulo 32, so `~bits` shifts by 31 - `bits`. `above` is shifted in two steps, because one shift
    // by 32 would be a shift by 0.
    let bits = vec4(address << 3u);
    return (words >> bits) | ((above << vec4(1u)) << ~bits);
}
