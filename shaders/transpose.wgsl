// A transpose: the units of a row lie apart in the source, while the units at neighbouring positions of another
// dimension, the near one, are contiguous there. A workgroup moves a tile, which consists of lines. A line is a
// contiguous range of the source along the near dimension; it holds the same unit of neighbouring rows, and the next
// line holds the next unit. A column is a position along a line. The workgroup loads lines in the order of the source
// into workgroup memory, and stores them in the order of the result. This file loads them; `transpose_units.wgsl` and
// `transpose_subword.wgsl` store them.
//
// If units of 4 bytes or more lie so close together in the source that every 32-byte sector between them is needed, a
// tile loads one contiguous range that contains its lines, here called a stretch: `is_stretch`. Near positions are
// numbered along the source, even if the result has them in reverse order.
//
// The host sets `Unit`, the element type of source, result and tile; LOADS, the number of `Unit`s that an invocation
// moves; and UNIT_BYTES, the size of a unit of the plan in bytes. Units of 1 or 2 bytes are moved in words of PER_WORD
// units: a `Unit` is then a word. For larger units PER_WORD is 1, and "word" here means a unit.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

const TILE: u32 = LOADS * WORKGROUP;
var<workgroup> tile: array<Unit, TILE>;

// The number of bytes that a GPU's memory transfers at once.
const SECTOR: u32 = 32u;

// A tile may extend beyond the array: near positions and units before the first are negative, which wraps; those after
// the last are too large.
struct Tile {
    // False for workgroups after the last tile.
    exists: bool,
    // Where unit 0 of the row at near position 0 lies in the source.
    base: u32,
    // The size of the near dimension.
    near: u32,
    // The first near position of the tile.
    first_near: u32,
    // The number of the result's row at near position 0.
    row: u32,
    // The distance from the row at one near position to the row at the next; wraps if negative.
    next_row: u32,
    // The first word that the tile writes in each row, counted from the word in which the row begins.
    first_word: u32,
    // The number, in each row, of the unit that the first line holds.
    first_unit: u32,
}

// The part of the source that a tile loads.
struct Lines {
    // Where the first line begins in the source, in units of the plan.
    begin: u32,
    // The distance between neighbouring lines in the source, in units of the plan.
    step: u32,
    // The number of the first line: that of its unit in the rows. Unused in a stretch, as is `end_line`.
    first_line: u32,
    // Lines of this number or a greater one are outside.
    end_line: u32,
    // The first column, counted in units. Both columns are larger by PER_WORD - 1 than near positions, because a word
    // that begins before position 0 may hold units of the line. In a stretch, both columns count units from the
    // beginning of the stretch.
    first_column: u32,
    // Columns of this number or a greater one are outside.
    end_column: u32,
    // Where the first line begins in the tile, in units of the plan.
    origin: u32,
    // The distance between neighbouring lines in the tile, in units of the plan.
    pitch: u32,
    // Whether the lines fill the tile, so that no load is outside.
    full: bool,
}

// A load of one `Unit`. `further` returns differences instead, which `plus` adds to a load of an invocation to get a
// later one; they are the same for all invocations.
struct Load {
    // The `Unit`'s index in the source; with LINES_SHIFT, where the line begins in the source, in units of the plan.
    at: u32,
    // The number of the `Unit`'s line; in a stretch, the `Unit`'s column, in units.
    index: u32,
    // The `Unit`'s index in the tile.
    place: u32,
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

// Returns where a `Unit` of the tile lies in workgroup memory. The order differs from that of the tile, so that
// neighbouring invocations access different banks.
fn place(unit: u32) -> u32 {
    return unit ^ (unit >> ((uniforms.map.tiling.x >> 12u) & 15u));
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
// after the first line, so the lines hold one whole word less.
fn tile_words() -> u32 {
    return (1u << words_log2()) - u32(rows_shift());
}

// Returns the word that unit number `units` lies in. Wraps if negative.
fn word_of(units: u32) -> u32 {
    return u32(i32(units) >> PER_WORD_LOG2);
}

// The state of a walk over the dimensions, from the innermost to the outermost: `walked` takes dimension `d`.
struct Walk {
    // The tile, as far as it is known.
    at: Tile,
    // The row-major number of the tile's positions along the dimensions other than the near one, `batch` in `tile_at`,
    // divided by the sizes of those already taken.
    rest: u32,
    // The number of the result's rows between neighbouring positions of the next dimension.
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
    // Unrolled, because a compiler would have to expect any number of rounds of a loop.
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
    // A load is inside if its `index` is less than `end`. If the invocation's column is outside, `end` is 0, so that
    // nothing is loaded.
    end: u32,
    // The column of all loads, in words.
    column: u32,
    // The number of units from this column to the end of a line.
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

// Returns what load number `loads` of an invocation adds to its first load: whole lines, or in a stretch columns.
// `elements` and `local` have no bit in common, so `plus` combines their places by XOR.
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
