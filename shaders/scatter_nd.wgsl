// scatter_nd, last step: kernels move a row to its slice, or combine the slice with all rows of its list. They do so
// for the row that `head` names. In `head`, rows are numbered from `first_row`.

struct Map {
    // Units from one row of updates to the next, and from one slice to the next.
    pitch: u32,
    // Where the links begin in `rows`.
    links: u32,
    // The number of the first row.
    first_row: u32,
    // For `row_words.wgsl`.
    quarter: u32,
    // 1 if one bad row forbids all changes.
    @size(80) strict: u32,
}

fn stride() -> u32 {
    return uniforms.map.pitch;
}

// Stands for a slice that is not bound.
const NONE: u32 = 0xffffffffu;

// A flag in `head`: the row that it names is the first of its list.
const FIRST: u32 = 0x80000000u;

@group(0) @binding(2) var<storage, read> head: array<u32>;

// The slice of each row. If rows are combined, the link of each row follows: the next row of its list plus one, or 0.
@group(0) @binding(3) var<storage, read> rows: array<u32>;

// The row after another in a list, both plus one.
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
