// The numbers that a dispatch reads. `Map` comes from the file of the row map, and has 96 bytes. The host declares
// `uniforms` itself: as immediates where the device has them, otherwise as a uniform buffer, or a storage buffer on
// software adapters. 128 bytes in all, the size of immediates that can be counted on. The host writes them from
// `Uniforms` in src/gpu/uniforms.rs; a test holds the layouts against each other.

struct Uniforms {
    // Units of a row, and the distance between neighbours in the source (wraps when negative). The run of
    // `rows_serial.wgsl` is in vectors, that of `row_words.wgsl` and `combine_subword.wgsl` in words.
    run: u32,
    step: u32,
    // Units of the result that this dispatch writes, or units of a row where rows go to places of their own.
    units: u32,
    // Tiles, and units of a tile; words where units are smaller.
    tiles: u32,
    segment: u32,
    // Bits 0 to 15: workgroups along x; dispatches above the limit of one dimension continue along y. 16 to 19:
    // `lanes_log2`. 20 to 23: `element_bytes`.
    grid: u32,
    // What to add to a row's base, and the first unit of the result, within the bindings. In words in
    // `pack_bytes.wgsl`; in vectors in `pack_rows.wgsl` and `pack_words.wgsl`; in `scatter_resolve.wgsl` the number of
    // the first row.
    source_base: u32,
    dest_base: u32,
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

// 2^lanes_log2 neighbouring invocations share a tile and take its units in turn.
fn lanes_log2() -> u32 {
    return (uniforms.grid >> 16u) & 15u;
}

// Bytes of the elements that units hold in reverse order, or of units that are smaller than words.
fn element_bytes() -> u32 {
    return (uniforms.grid >> 20u) & 15u;
}

// The workgroup's number in the whole grid, and the invocation's.
fn group_number(group: vec3<u32>) -> u32 {
    return group.y * (uniforms.grid & 0xffffu) + group.x;
}

fn invocation(group: vec3<u32>, local: u32) -> u32 {
    return group_number(group) * WORKGROUP + local;
}

// The segment of a row that a tile is, where rows are cut into segments.
fn segment(tile: u32) -> Segment {
    let segments = (uniforms.run + uniforms.segment - 1u) / uniforms.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * uniforms.segment;
    return Segment(row, first, min(first + uniforms.segment, uniforms.run));
}

// The 16 bytes that begin `address & 15` bytes behind the beginning of the first of two vectors.
fn shifted(low: vec4<u32>, high: vec4<u32>, address: u32) -> vec4<u32> {
    let two = (address & 8u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (address & 4u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = vec4(words.yzw, select(b.x, b.y, one));
    // What counts of the number of bits is its remainder of 32. In two steps, since a word cannot be shifted by all of
    // its bits.
    let bits = vec4(address << 3u);
    return (words >> bits) | ((above << vec4(1u)) << ~bits);
}
