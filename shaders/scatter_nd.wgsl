// scatter_nd, last step: a row goes to its slice, or with all other rows of the slice. Of those, the one
// that `head` names does the work; there rows are numbered from `first_row` on.

struct Map {
    // Units of a slice, which are as many in an update.
    pitch: u32,
    // Where the links are in `rows`.
    links: u32,
    // The number of the first row.
    first_row: u32,
    // Of `row_words.wgsl`.
    quarter: u32,
    // 1 if nothing is changed where a row is bad.
    @size(80) strict: u32,
}

fn stride() -> u32 {
    return uniforms.map.pitch;
}

// A slice that is not bound.
const NONE: u32 = 0xffffffffu;

// In `head`: the row that it names is the first of its list.
const FIRST: u32 = 0x80000000u;

@group(0) @binding(2) var<storage, read> head: array<u32>;

// Of each row the slice; and behind those, where rows are chained, the next row of its slice plus one, or 0.
@group(0) @binding(3) var<storage, read> rows: array<u32>;

// The row behind one of a chain, both plus one.
fn next(link: u32) -> u32 {
    return rows[uniforms.map.links + link - 1u];
}

fn dest_step() -> u32 {
    return 1u;
}

// All units of a row have a source.
fn spacing() -> u32 {
    return 1u;
}

fn first_unit() -> u32 {
    return 0u;
}

fn source_units() -> u32 {
    return uniforms.units;
}

fn row_units() -> u32 {
    return uniforms.units;
}

const ZEROS: bool = false;

// Where a row of updates begins, and its slice, relative to the bases.
fn row_start(row: u32) -> Start {
    let slice = rows[row];
    var found = slice != NONE;
    if found {
        found = (head[slice + 1u] & ~FIRST) == uniforms.map.first_row + row + 1u;
    }
    if uniforms.map.strict != 0u && head[0] != 0u {
        found = false;
    }
    return Start(row * stride(), slice * stride(), select(ELSEWHERE, FOUND, found));
}

// Where unit `j` of a row lies in the updates.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j, start.state);
}

// All that is read is bound, and no row becomes zeros.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
