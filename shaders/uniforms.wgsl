// The numbers that a dispatch reads. The file of the row map defines `Map`, which has 96 bytes. The host declares
// `uniforms`: as immediates if the device has them, otherwise as a uniform buffer, or on software adapters as a storage
// buffer. All 128 bytes fit the immediates that can be relied on. The host writes them from `Uniforms` in
// src/gpu/uniforms.rs; a test compares the layouts.

struct Uniforms {
    // Units of a row, and units from one to the next in the source (wraps when negative). `run` is in vectors in
    // `rows_serial.wgsl`, `rows_coalesced.wgsl` and `combine.wgsl`, in words in `row_words.wgsl` and
    // `combine_subword.wgsl`, and in `gather_units.wgsl` the tuples of a row of params.
    run: u32,
    step: u32,
    // Units that this dispatch writes. In `row_words.wgsl` and `combine_subword.wgsl` units of one row; in
    // `pack_rows.wgsl`, `combine_atomic.wgsl` and the steps that prepare a scatter, rows.
    units: u32,
    // Tiles, and units of a tile: words if units are smaller, rows in `scatter_sort.wgsl`.
    tiles: u32,
    segment: u32,
    // Bits 0 to 15: workgroups along x; a dispatch above the limit of one dimension continues along y. Bits 16 to 19:
    // `lanes_log2`. Bits 20 to 23: `element_bytes`.
    grid: u32,
    // The unit of the source that row bases are relative to, and the first unit of the result, within the bindings.
    // `dest_base` is in words in `pack_bytes.wgsl`, in vectors in `pack_rows.wgsl` and `pack_words.wgsl`, and the
    // number of the first row in `scatter_resolve.wgsl`.
    source_base: u32,
    dest_base: u32,
    map: Map,
}

// One dimension that a map walks: its size, and its stride in units (wraps when negative).
struct Axis {
    size: u32,
    stride: u32,
}

// Where a row begins in the source, relative to `source_base`; from `unit_at`, where a unit lies in the binding.
struct Row {
    base: u32,
    state: u32,
}

// Where a row begins in source and destination, relative to the bases.
struct Start {
    from_part: u32,
    to: u32,
    state: u32,
}

// The units `first` to `end - 1` of a row.
struct Segment {
    row: u32,
    first: u32,
    end: u32,
}

// Where four consecutive rows begin.
struct Four {
    a: Row,
    b: Row,
    c: Row,
    d: Row,
}

// States of a row or unit: it has a source; it has none and becomes zeros; another dispatch writes it.
const FOUND: u32 = 0u;
const MISSING: u32 = 1u;
const ELSEWHERE: u32 = 2u;

// 2^lanes_log2 neighbouring invocations share a tile and take its units in turn.
fn lanes_log2() -> u32 {
    return (uniforms.grid >> 16u) & 15u;
}

// Bytes of the elements that `load_reversed.wgsl` reverses, or of a unit in `row_words.wgsl`.
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

// The segment that a tile moves, where rows are cut into segments.
fn segment(tile: u32) -> Segment {
    let segments = (uniforms.run + uniforms.segment - 1u) / uniforms.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * uniforms.segment;
    return Segment(row, first, min(first + uniforms.segment, uniforms.run));
}

// The 16 bytes that begin at byte `address & 15` of two consecutive vectors.
fn shifted(low: vec4<u32>, high: vec4<u32>, address: u32) -> vec4<u32> {
    let two = (address & 8u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (address & 4u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = vec4(words.yzw, select(b.x, b.y, one));
    // Shift counts are modulo 32: `~bits` is 31 - `bits`. Two steps, because one shift by 32 would be a shift by 0.
    let bits = vec4(address << 3u);
    return (words >> bits) | ((above << vec4(1u)) << ~bits);
}
