// Moves rows whose units lie apart in the source, where units of another dimension, the near one, lie side by side
// there: a transpose. A workgroup moves a tile: lines, which are stretches of the source along the near dimension, one
// for each of some neighbouring units of a row. It loads them along the source, and stores them along the result;
// in between they lie in workgroup memory. What is stored, and how, is in another file.
//
// Where units of a row, which are not small ones, lie so close that all sectors between its ends are needed, the lines of a
// tile are one stretch: is_stretch.
// Near positions are numbered along the source, whichever way the result has them.
//
// `Unit`, of which source, result and tile are made, LOADS, how many of them an invocation moves, and UNIT_BYTES, the
// bytes of a unit of the plan, come from the host. Of small units a word, which is a `Unit` then, holds PER_WORD, otherwise
// it is 1: then what is called a word here is a unit.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

const TILE: u32 = LOADS * WORKGROUP;
var<workgroup> tile: array<Unit, TILE>;

// Bytes that memory moves at once.
const SECTOR: u32 = 32u;

// A tile, as its workgroup sees it. What comes before the first near position, the first unit of a row or behind the
// last is negative, which wraps, or too large.
struct Tile {
    // Whether there is such a tile.
    exists: bool,
    // Where the first near position of a row lies in the source, for unit 0 of the row.
    base: u32,
    // Positions of the near dimension, and the first one of the tile.
    near: u32,
    first_near: u32,
    // The row of the result that near position 0 is in, and the distance to the next.
    row: u32,
    next_row: u32,
    // The first word of each row that the tile writes, counted from that which the row begins in; or unit, where units
    // are no smaller.
    first_word: u32,
    // The unit of a row that the first line is of.
    first_unit: u32,
}

// What of the source is loaded.
struct Lines {
    // Where the first line begins in the source, in units of the plan, and the distance to the next.
    begin: u32,
    step: u32,
    // Lines are counted from the first, and must be less than the end; columns alike.
    first_line: u32,
    end_line: u32,
    first_column: u32,
    end_column: u32,
    // Where the first line begins in the tile, and the distance to the next line there, in units of the plan.
    origin: u32,
    pitch: u32,
    // Whether the tile is full of them.
    full: bool,
}

// A `Unit` that is loaded. An invocation's first is what differs between invocations, and what the others add to it is
// the same for all.
struct Load {
    // Where it lies in the source; where lines begin anywhere in a word, where its line begins, in units of the plan.
    at: u32,
    // Its line, or its column if all are one stretch: the other is that of the first. It must be less than an end.
    index: u32,
    // In the tile.
    place: u32,
}

// The number of the near dimension.
fn near_dim() -> u32 {
    return uniforms.map.tiling.x & 15u;
}

// A line has 2^line_log2 columns in the tile.
fn line_log2() -> u32 {
    return (uniforms.map.tiling.x >> 4u) & 15u;
}

// A tile has 2^words_log2 words of a row.
fn words_log2() -> u32 {
    return (uniforms.map.tiling.x >> 8u) & 15u;
}

// Units of the tile lie in another order than they are numbered in, so that neighbouring invocations access different
// banks of workgroup memory.
fn place(unit: u32) -> u32 {
    return unit ^ (unit >> ((uniforms.map.tiling.x >> 12u) & 15u));
}

// Rows begin anywhere in a word.
fn rows_shift() -> bool {
    return (uniforms.map.tiling.x & 0x20000u) != 0u;
}

// Units before the first in its word; at most that, where rows begin anywhere.
fn head() -> u32 {
    return select(uniforms.dest_base, PER_WORD - 1u, rows_shift()) & (PER_WORD - 1u);
}

// Words of a row that a tile writes. One less than it has lines for, where it begins somewhere in the first.
fn tile_words() -> u32 {
    return (1u << words_log2()) - u32(rows_shift());
}

// The word that so many units lie in, which wraps if they are negative.
fn word_of(units: u32) -> u32 {
    return u32(i32(units) >> PER_WORD_LOG2);
}

// The dimensions that are walked to find a tile: what is left of its number, and rows of the result between positions
// of the next one.
struct Walk {
    at: Tile,
    rest: u32,
    rows: u32,
}

fn walked(before: Walk, d: u32) -> Walk {
    let dimension = axis(d);
    var walk = before;
    walk.rows *= dimension.size;
    if d == near_dim() {
        walk.at.near = dimension.size;
        walk.at.next_row = before.rows;
        // The last position comes first in the source.
        if dimension.stride != 1u {
            walk.at.base -= dimension.size - 1u;
            walk.at.row += (dimension.size - 1u) * before.rows;
            walk.at.next_row = 0u - before.rows;
        }
        return walk;
    }
    // A division takes many instructions, and the outermost dimension needs none.
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
    // Not a loop: a compiler would reckon with any number of rounds.
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
    let columns = PER_WORD << line_log2();
    at.first_near = near_tile * columns - (uniforms.map.tiling.y & 0xffffu);
    at.first_word = row_tile * tile_words() - (uniforms.map.tiling.y >> 16u);
    at.first_unit = at.first_word * PER_WORD - head();
    return at;
}

fn lines_of(at: Tile) -> Lines {
    if !is_stretch() {
        let line = i32(at.first_unit);
        let near = i32(at.first_near);
        let full = line >= 0 && line + i32(TILE >> line_log2()) <= i32(uniforms.run)
            && near >= 0 && near + i32(PER_WORD << line_log2()) <= i32(at.near);
        return Lines(
            at.base + at.first_near + at.first_unit * uniforms.step,
            uniforms.step,
            at.first_unit,
            uniforms.run,
            at.first_near + PER_WORD - 1u,
            at.near + PER_WORD - 1u,
            0u,
            PER_WORD << line_log2(),
            full,
        );
    }
    // It begins at a sector, which is bound as its first unit is.
    let first = max(i32(at.first_unit), 0);
    let last = min(i32(at.first_unit) + i32(PER_WORD << words_log2()), i32(uniforms.run)) - 1;
    let step = i32(uniforms.step);
    let low = at.base + u32(select(first, last, step < 0) * step);
    let begin = low & ~(SECTOR / UNIT_BYTES - 1u);
    let units = low - begin + u32((last - first) * abs(step)) + at.near;
    let origin = at.base + at.first_unit * uniforms.step - begin;
    return Lines(begin, 0u, 0u, 1u, 0u, units, origin, uniforms.step, units >= TILE * PER_WORD);
}

// The first column of an invocation, and the end of the index of what it loads: 0 if all its columns are outside.
fn first_column(local: u32) -> u32 {
    return local & ((1u << line_log2()) - 1u);
}

fn end_of(lines: Lines, local: u32) -> u32 {
    if is_stretch() {
        return lines.end_column;
    }
    let column = lines.first_column + first_column(local) * PER_WORD;
    return select(0u, lines.end_line, column < lines.end_column);
}

fn first_load(lines: Lines, local: u32) -> Load {
    let line = local >> line_log2();
    let column = first_column(local);
    let begin = lines.begin + line * lines.step;
    return Load(
        select(word_of(begin) + column, begin, LINES_SHIFT),
        select(lines.first_line + line, column * PER_WORD, is_stretch()),
        place(local),
    );
}

// What lies `loads` further on: whole lines, unless all are one. The number of its place in the tile is made of bits
// that none of the first ones has.
fn further(lines: Lines, loads: u32) -> Load {
    let elements = loads * WORKGROUP;
    if is_stretch() {
        return Load(elements, elements * PER_WORD, place(elements));
    }
    let line = elements >> line_log2();
    let units = line * lines.step;
    return Load(select(word_of(units), units, LINES_SHIFT), line, place(elements));
}

fn plus(load: Load, more: Load) -> Load {
    return Load(load.at + more.at, load.index + more.index, load.place ^ more.place);
}

// The first unit of the source stands for what is outside.
fn load(load: Load, end: u32) -> Unit {
    return source[select(0u, load.at, load.index < end)];
}
