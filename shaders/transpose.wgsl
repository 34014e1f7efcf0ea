// A transpose: moves rows whose units lie apart in the source, where the units of another dimension, the near one, are
// adjacent. A workgroup moves a tile of lines: a line is a stretch of the source along the near dimension, and each
// belongs to one of several neighbouring units of a row. The workgroup loads lines along the source into workgroup
// memory and stores them along the result. `transpose_units.wgsl` and `transpose_subword.wgsl` store them.
//
// If the units of a row, of 4 bytes or more, lie so close together in the source that every sector between them is
// needed, the lines of a tile are one stretch of the source: `is_stretch`. Near positions are numbered along the
// source, in whichever direction the result has them.
//
// The host sets `Unit`, the element type of source, result and tile; LOADS, the number of `Unit`s that an invocation
// moves; and UNIT_BYTES, the bytes of a unit of the plan. Units of 1 or 2 bytes are moved in words of PER_WORD units: a
// `Unit` is then a word. For larger units PER_WORD is 1, and "word" here means a unit.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

const TILE: u32 = LOADS * WORKGROUP;
var<workgroup> tile: array<Unit, TILE>;

// Bytes that memory moves at once.
const SECTOR: u32 = 32u;

// A tile. Near positions and units before the first are negative, which wraps; those after the last are too large.
struct Tile {
    // False for workgroups after the last tile.
    exists: bool,
    // Where near position 0 lies in the source, for unit 0 of its row.
    base: u32,
    // The size of the near dimension, and the first near position of the tile.
    near: u32,
    first_near: u32,
    // The row of the result at near position 0, and the distance to that of the next position.
    row: u32,
    next_row: u32,
    // The first word that the tile writes in each row, counted from the word in which the row begins.
    first_word: u32,
    // The unit of a row that the first line belongs to.
    first_unit: u32,
}

// The part of the source that a tile loads.
struct Lines {
    // Where the first line begins in the source, and the distance to the next, in units of the plan.
    begin: u32,
    step: u32,
    // The tile's first line and column, and the ends: numbers that are not less than an end are outside.
    first_line: u32,
    end_line: u32,
    first_column: u32,
    end_column: u32,
    // Where the first line begins in the tile, and the distance to the next, in units of the plan.
    origin: u32,
    pitch: u32,
    // Whether the lines fill the tile, so that no load is outside.
    full: bool,
}

// A load of one `Unit`, or what the later loads of an invocation add to its first: that is the same for all
// invocations.
struct Load {
    // Its index in the source; with LINES_SHIFT, where its line begins, in units of the plan.
    at: u32,
    // Its line, or in a stretch its column.
    index: u32,
    // Its index in the tile.
    place: u32,
}

// The number of the near dimension.
fn near_dim() -> u32 {
    return uniforms.map.tiling.x & 15u;
}

// A line has 2^line_log2 words in the tile.
fn line_log2() -> u32 {
    return (uniforms.map.tiling.x >> 4u) & 15u;
}

// A tile has lines for 2^words_log2 words of a row.
fn words_log2() -> u32 {
    return (uniforms.map.tiling.x >> 8u) & 15u;
}

// Where a `Unit` of the tile lies: in another order, so that neighbouring invocations access different banks of
// workgroup memory.
fn place(unit: u32) -> u32 {
    return unit ^ (unit >> ((uniforms.map.tiling.x >> 12u) & 15u));
}

// Whether rows of the result may begin at any unit of a word.
fn rows_shift() -> bool {
    return (uniforms.map.tiling.x & 0x20000u) != 0u;
}

// Units before the first unit of a row in its word; at most that, if `rows_shift`.
fn head() -> u32 {
    return select(uniforms.dest_base, PER_WORD - 1u, rows_shift()) & (PER_WORD - 1u);
}

// Words of a row that a tile writes. With `rows_shift` the first may begin up to PER_WORD - 1 units after the first
// line, so the lines hold one word less.
fn tile_words() -> u32 {
    return (1u << words_log2()) - u32(rows_shift());
}

// The word that unit number `units` lies in. Wraps if negative.
fn word_of(units: u32) -> u32 {
    return u32(i32(units) >> PER_WORD_LOG2);
}

// A walk over the dimensions to find a tile: the rest of its number, and the rows of the result between positions of
// the next dimension.
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
        // The stride is -1: the last position comes first in the source.
        if dimension.stride != 1u {
            walk.at.base -= dimension.size - 1u;
            walk.at.row += (dimension.size - 1u) * before.rows;
            walk.at.next_row = 0u - before.rows;
        }
        return walk;
    }
    // A division takes many instructions. The outermost dimension needs none.
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
    // Unrolled: in a loop, a compiler would have to expect any number of rounds.
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
    // The stretch begins at the sector of its lowest unit. Rounding down stays within the binding.
    let first = max(i32(at.first_unit), 0);
    let last = min(i32(at.first_unit) + i32(PER_WORD << words_log2()), i32(uniforms.run)) - 1;
    let step = i32(uniforms.step);
    let low = at.base + u32(select(first, last, step < 0) * step);
    let begin = low & ~(SECTOR / UNIT_BYTES - 1u);
    let units = low - begin + u32((last - first) * abs(step)) + at.near;
    let origin = at.base + at.first_unit * uniforms.step - begin;
    return Lines(begin, 0u, 0u, 1u, 0u, units, origin, uniforms.step, units >= TILE * PER_WORD);
}

// The column, in words, of all loads of an invocation.
fn first_column(local: u32) -> u32 {
    return local & ((1u << line_log2()) - 1u);
}

// What an invocation may load.
struct Inside {
    // `Load.index` must be less. 0, so that nothing is loaded, if the invocation's column is outside.
    end: u32,
    // The column of all loads, in words, and the units of a line from there on.
    column: u32,
    left: u32,
}

fn inside(lines: Lines, local: u32) -> Inside {
    let column = first_column(local);
    if is_stretch() {
        return Inside(lines.end_column, column, 0u);
    }
    let units = lines.first_column + column * PER_WORD;
    return Inside(select(0u, lines.end_line, units < lines.end_column), column, lines.end_column - units);
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

// What load number `loads` adds to the first: whole lines, or in a stretch columns. `elements` and `local` have no bit
// in common, so `plus` combines their places by XOR.
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

// Loads what an invocation moves into the tile.
fn load_tile(lines: Lines, local: u32) {
    let allowed = inside(lines, local);
    let one_more = further(lines, 1u);
    let two_more = further(lines, 2u);
    let four_more = further(lines, 4u);
    let load_a = first_load(lines, local);
    let load_b = plus(load_a, one_more);
    let load_c = plus(load_a, two_more);
    let load_d = plus(load_b, two_more);
    let load_e = plus(load_a, four_more);
    let load_f = plus(load_b, four_more);
    let load_g = plus(load_c, four_more);
    let load_h = plus(load_d, four_more);
    // All loads are issued before the first is used.
    var a = Unit();
    var b = Unit();
    var c = Unit();
    var d = Unit();
    var e = Unit();
    var f = Unit();
    var g = Unit();
    var h = Unit();
    if lines.full && !LINES_SHIFT {
        a = source[load_a.at];
        b = source[load_b.at];
        if LOADS > 2u {
            c = source[load_c.at];
            d = source[load_d.at];
        }
        if LOADS > 4u {
            e = source[load_e.at];
            f = source[load_f.at];
            g = source[load_g.at];
            h = source[load_h.at];
        }
    } else {
        a = load(load_a, allowed);
        b = load(load_b, allowed);
        if LOADS > 2u {
            c = load(load_c, allowed);
            d = load(load_d, allowed);
        }
        if LOADS > 4u {
            e = load(load_e, allowed);
            f = load(load_f, allowed);
            g = load(load_g, allowed);
            h = load(load_h, allowed);
        }
    }
    tile[load_a.place] = a;
    tile[load_b.place] = b;
    if LOADS > 2u {
        tile[load_c.place] = c;
        tile[load_d.place] = d;
    }
    if LOADS > 4u {
        tile[load_e.place] = e;
        tile[load_f.place] = f;
        tile[load_g.place] = g;
        tile[load_h.place] = h;
    }
    workgroupBarrier();
}
