// scatter_nd, last step: a row goes to its slice, or with all other rows of the slice. Of those, the one
// that `head` names does the work.

// Whether nothing is changed where a row is bad.
override STRICT: bool;

struct Map {
    index_base: u32,
    first_slice: u32,
    slices: u32,
    // Units of a slice, which are as many in an update.
    stride: u32,
    axes: array<vec4<u32>, 4>,
}

struct Entry {
    slice: u32,
    next: u32,
    first: u32,
}

const NONE: u32 = 0xffffffffu;

@group(0) @binding(2) var<storage, read> head: array<u32>;
@group(0) @binding(3) var<storage, read> rows: array<Entry>;

fn dest_step() -> u32 {
    return 1u;
}

// Where a row of updates begins, and its slice, relative to the bases.
fn row_start(row: u32) -> Start {
    let slice = rows[row].slice;
    var found = slice != NONE;
    if found {
        found = head[slice + 1u] == row + 1u;
    }
    if STRICT && head[0] != 0u {
        found = false;
    }
    let stride = params.map.stride;
    return Start(row * stride, slice * stride, select(ELSEWHERE, FOUND, found));
}

// Where unit `j` of a row lies in the updates.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(params.source_base + start.from_part + j, start.state);
}

// All that is read is bound, and no row becomes zeros.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
