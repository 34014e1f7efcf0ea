// The row map of the last step of scatter_nd, which changes the destination. A slice is the part of the destination
// that an index tuple points at. A scatter processes a block of rows at a time. Of the rows of a block that go to a
// slice, the slice's entry of `head` names one: kernels move this row to the slice, or combine the slice with all rows
// of a list that begins with this row. A link to a row is the row's number in the block plus one, and each row has a
// link to the next row of its list, or 0. `head` numbers the rows of a block from `first_row`, so that entries of
// earlier blocks have smaller numbers.

struct Map {
    // The distance in units between neighbouring rows of updates, and between neighbouring slices.
    pitch: u32,
    // The word of `rows` at which the links begin.
    links: u32,
    // The number that `head` gives to this block's first row.
    first_row: u32,
    // The distance in words between the four words that an invocation of `row_words.wgsl` writes at once.
    quarter: u32,
    // 1 if a single row out of range forbids all changes, otherwise 0.
    @size(80) strict: u32,
}

fn stride() -> u32 {
    return uniforms.map.pitch;
}

// Stands for no slice in `rows`: the row is out of range, or its slice is not bound.
const NONE: u32 = 0xffffffffu;

// A flag that `scatter_sort.wgsl` sets in entries of `head`; it is not part of the row's number.
const FIRST: u32 = 0x80000000u;

@group(0) @binding(2) var<storage, read> head: array<u32>;

// The slice of each row. If rows are combined, the link of each row to the next row of its list, or 0, follows.
@group(0) @binding(3) var<storage, read> rows: array<u32>;

// Given the link to a row, returns the link to the next row of the same list, or 0.
fn next(link: u32) -> u32 {
    return rows[uniforms.map.links + link - 1u];
}

fn dest_step() -> u32 {
    return 1u;
}

// This and the next three functions tell `row_words.wgsl` that the units of a row are contiguous in the slice, and that
// all of them have a source.
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

// Returns where a row of updates and its slice begin, relative to the bases. The state is ELSEWHERE, so that kernels
// skip the row, unless the slice's entry of `head` names the row.
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

// Returns where unit `j` of a row lies in the updates.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j, start.state);
}
