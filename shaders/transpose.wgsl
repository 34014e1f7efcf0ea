// A transpose: the units of a row lie apart in the source, while the units at neighbouring positions of another
// dimension, the near dimension, are contiguous there. A workgroup moves a tile, which consists of lines. A line is a
// contiguous range of the source along the near dimension; it holds the same unit of neighbouring rows, and the next
// line holds the next unit. A column is a position along a line. The workgroup loads lines in the order of the source
// into workgroup memory, and stores them in the order of the result. This file says where a tile lies;
// `transpose_units.wgsl` and `transpose_subword.wgsl` move it. Near positions are numbered along the source, even if
// the result has them in reverse order.
//
// The host sets `Unit`, the element type of source, result and tile; LOADS, the number of `Unit`s that an invocation
// moves; and UNIT_BYTES, the size of a unit of the plan in bytes. Units of 1 or 2 bytes are moved in words of PER_WORD
// units: a `Unit` is then a word. For larger units PER_WORD is 1, and "word" here means a unit.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// The number of `Unit`s of a tile.
const TILE: u32 = LOADS * WORKGROUP;

// A tile may extend beyond the array: the numbers of near positions and units before the first are negative and wrap,
// and those after the last are too large.
struct Tile {
    // False for workgroups after the last tile.
    exists: bool,
    // Where unit 0 of the row at near position 0 lies in the source.
    base: u32,
    // The size of the near dimension.
    near: u32,
    // The first near position of the tile.
    first_near: u32,
    // The number of the row of the result at near position 0.
    row: u32,
    // The number of rows from the row at one near position to the row at the next; wraps if negative.
    next_row: u32,
    // The first word that the tile writes in each row, counted from the word in which the row begins.
    first_word: u32,
    // The number, in each row, of the unit that the first line holds.
    first_unit: u32,
}

// The number of the near dimension.
fn near_dim() -> u32 {
    return uniforms.map.tiling.x & 15u;
}

// The base-2 logarithm of the number of words of a line in the tile.
fn line_log2() -> u32 {
    return (uniforms.map.tiling.x >> 4u) & 15u;
}

// The base-2 logarithm of the number of words of a row for which a tile has lines.
fn words_log2() -> u32 {
    return (uniforms.map.tiling.x >> 8u) & 15u;
}

// Whether rows of the result may begin at any unit of a word.
fn rows_shift() -> bool {
    return (uniforms.map.tiling.x & 0x20000u) != 0u;
}

// The number of units that precede a row's first unit in its word; with `rows_shift`, the most that may precede it.
fn head() -> u32 {
    return select(uniforms.dest_base, PER_WORD - 1u, rows_shift()) & (PER_WORD - 1u);
}

// The number of words of a row that a tile writes. With `rows_shift` the first word may begin up to PER_WORD - 1 units
// after the unit of the first line, so the lines hold one whole word less.
fn tile_words() -> u32 {
    return (1u << words_log2()) - u32(rows_shift());
}

// The state of a walk over the dimensions, from the innermost to the outermost: `walked` adds dimension `d`.
struct Walk {
    // The tile, whose fields account for the dimensions taken so far.
    at: Tile,
    // What is left of the row-major number of the tile's position along all dimensions but the near one (`batch` in
    // `tile_at`), after division by the sizes of the dimensions already taken.
    rest: u32,
    // The number of rows of the result from one position of the next dimension to the next position.
    rows: u32,
}

fn walked(before: Walk, d: u32) -> Walk {
    let dimension = axis(d);
    var walk = before;
    walk.rows *= dimension.size;
    if d == near_dim() {
        walk.at.near = dimension.size;
        walk.at.next_row = before.rows;
        // If the stride is not 1, it is -1: the last position comes first in the source.
        if dimension.stride != 1u {
            walk.at.base -= dimension.size - 1u;
            walk.at.row += (dimension.size - 1u) * before.rows;
            walk.at.next_row = 0u - before.rows;
        }
        return walk;
    }
    // A division takes many instructions, and is skipped where the quotient is 0, as in the outermost dimension.
    walk.rest = 0u;
    if before.rest >= dimension.size { walk.rest = before.rest / dimension.size; }
    let position = before.rest - walk.rest * dimension.size;
    walk.at.base += position * dimension.stride;
    walk.at.row += position * before.rows;
    return walk;
}

fn tile_at(number: u32) -> Tile {
    let last = min(number, uniforms.tiles - 1u);
    var behind_near = last;
    if uniforms.map.tiling.z > 1u { behind_near = last / uniforms.map.tiling.z; }
    var batch = 0u;
    if behind_near >= uniforms.map.tiling.w { batch = behind_near / uniforms.map.tiling.w; }

    var at: Tile;
    at.exists = number < uniforms.tiles;
    at.base = uniforms.source_base;
    // The loop over at most 8 dimensions is unrolled, because a compiler does not know that it has so few rounds.
    var walk = Walk(at, batch, 1u);
    if dims() > 2u {
        if dims() > 7u { walk = walked(walk, 7u); }
        if dims() > 6u { walk = walked(walk, 6u); }
        if dims() > 5u { walk = walked(walk, 5u); }
        if dims() > 4u { walk = walked(walk, 4u); }
        if dims() > 3u { walk = walked(walk, 3u); }
        walk = walked(walk, 2u);
    }
    if dims() > 1u { walk = walked(walk, 1u); }
    at = walked(walk, 0u).at;
    let near_tile = last - behind_near * uniforms.map.tiling.z;
    let row_tile = behind_near - batch * uniforms.map.tiling.w;
    at.first_near = near_tile * columns() - (uniforms.map.tiling.y & 0xffffu);
    at.first_word = row_tile * tile_words() - (uniforms.map.tiling.y >> 16u);
    at.first_unit = at.first_word * PER_WORD - head();
    return at;
}
