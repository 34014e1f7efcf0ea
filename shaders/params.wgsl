// What every mover is told. `Map` comes from the operation's file; `params` itself is declared by
// the host, as immediates where the device has them and as a uniform buffer where it has not.
// 128 bytes, the size of immediates that can be counted on. The host writes it from `Params` in
// src/gpu/params.rs; a test holds the two layouts against each other.

struct Params {
    // Units of a row, and the distance between neighbours in the source (wraps when negative). In
    // parts where a unit is put together of several, but for the run of `wide.wgsl`.
    run: u32,
    step: u32,
    // Units of the result that this dispatch writes, or units of a row where rows go to places of their
    // own; and tiles that it is cut into.
    units: u32,
    tiles: u32,
    // Units of a tile; words where units are smaller.
    segment: u32,
    // 2^lanes_log2 neighbouring invocations share a tile and take its units in turn.
    lanes_log2: u32,
    // Workgroups along x; dispatches above the limit of one dimension continue along y.
    grid_width: u32,
    // Units of the source that are bound. Only a gather may point beyond them.
    window: u32,
    // What to add to a row's base, and the first unit of the result, within the bindings; its first
    // word in `crumbs.wgsl`.
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

// The workgroup's number in the whole grid, and the invocation's.
fn workgroup(group: vec3<u32>) -> u32 {
    return group.y * params.grid_width + group.x;
}

fn invocation(group: vec3<u32>, local: u32) -> u32 {
    return workgroup(group) * WORKGROUP + local;
}

// The segment of a row that a tile is, where rows are cut into segments.
fn segment(tile: u32) -> Segment {
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    return Segment(row, first, min(first + params.segment, params.run));
}
