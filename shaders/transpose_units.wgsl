// Transposes units of 4 bytes or more: a `Unit` is a unit, and a word of the tile.
//
// If units lie so close together in the source that every 32-byte sector between them is needed, a tile loads one
// contiguous range that contains its lines. This range is called a stretch here (`is_stretch`).

const PER_WORD: u32 = 1u;

var<workgroup> tile: array<Unit, TILE>;

// The number of bytes that a GPU's memory transfers at once.
const SECTOR: u32 = 32u;

// The number of near positions of a tile that does not load a stretch.
fn columns() -> u32 {
    return 1u << line_log2();
}

fn is_stretch() -> bool {
    return (uniforms.map.tiling.x & 0x10000u) != 0u;
}

// Returns where unit number `unit` of the tile lies in workgroup memory. The order there differs from that of the
// tile, so that neighbouring invocations access different banks.
fn place(unit: u32) -> u32 {
    return unit ^ (unit >> ((uniforms.map.tiling.x >> 12u) & 15u));
}

// The part of the source that a tile loads.
struct Lines {
    // Where the first line, or the stretch, begins in the source.
    begin: u32,
    // The distance between neighbouring lines in the source; 0 in a stretch.
    step: u32,
    // The number of the first line, which is the number of its unit in the rows. In a stretch neither this number nor
    // `end_line` is used.
    first_line: u32,
    // Lines with this number or a larger one are outside.
    end_line: u32,
    // The first column. In a stretch, both columns are counted from the beginning of the stretch.
    first_column: u32,
    // Columns with this number or a larger one are outside.
    end_column: u32,
    // Where the first line begins in the tile.
    origin: u32,
    // The distance between neighbouring lines in the tile.
    pitch: u32,
    // Whether the lines fill the tile, so that no load is outside.
    full: bool,
}

// A load of one unit, or the difference between two loads of an invocation, which `further` returns. Such a difference
// is the same for all invocations, and `plus` adds it to a load to get a later load of the same invocation.
struct Load {
    // The unit's index in the source.
    at: u32,
    // The number of the unit's line; in a stretch, the unit's column.
    index: u32,
    // The unit's index in workgroup memory, as `place` returns it.
    place: u32,
}

fn lines_of(at: Tile) -> Lines {
    if !is_stretch() {
        let line = i32(at.first_unit);
        let near = i32(at.first_near);
        let full = line >= 0 && line + i32(TILE >> line_log2()) <= i32(uniforms.run)
            && near >= 0 && near + i32(columns()) <= i32(at.near);
        return Lines(
            at.base + at.first_near + at.first_unit * uniforms.step,
            uniforms.step,
            at.first_unit,
            uniforms.run,
            at.first_near,
            at.near,
            0u,
            columns(),
            full,
        );
    }
    // The stretch begins with the sector of its lowest unit. Sectors are counted from the beginning of the binding, so
    // rounding down stays within it.
    let first = max(i32(at.first_unit), 0);
    let last = min(i32(at.first_unit) + i32(1u << words_log2()), i32(uniforms.run)) - 1;
    let step = i32(uniforms.step);
    let low = at.base + u32(select(first, last, step < 0) * step);
    let begin = low & ~(SECTOR / UNIT_BYTES - 1u);
    let units = low - begin + u32((last - first) * abs(step)) + at.near;
    let origin = at.base + at.first_unit * uniforms.step - begin;
    return Lines(begin, 0u, 0u, 1u, 0u, units, origin, uniforms.step, units >= TILE);
}

// Returns the `end` of an invocation's loads: loads whose `index` is not less than `end` are outside the lines. If the
// invocation's column is outside, `end` is 0, so that all its loads are outside.
fn end_of(lines: Lines, local: u32) -> u32 {
    if is_stretch() {
        return lines.end_column;
    }
    let column = lines.first_column + (local & ((1u << line_log2()) - 1u));
    return select(0u, lines.end_line, column < lines.end_column);
}

fn first_load(lines: Lines, local: u32) -> Load {
    let line = local >> line_log2();
    let column = local & ((1u << line_log2()) - 1u);
    return Load(
        lines.begin + line * lines.step + column,
        select(lines.first_line + line, column, is_stretch()),
        place(local),
    );
}

// Returns the difference between load number `loads` of an invocation and its first load. It is a number of whole lines
// or, in a stretch, of columns. `units` and `local` have no bit in common, so `plus` combines their places by XOR.
fn further(lines: Lines, loads: u32) -> Load {
    let units = loads * WORKGROUP;
    if is_stretch() {
        return Load(units, units, place(units));
    }
    let line = units >> line_log2();
    return Load(line * lines.step, line, place(units));
}

fn plus(load: Load, more: Load) -> Load {
    return Load(load.at + more.at, load.index + more.index, load.place ^ more.place);
}

fn load_tile(lines: Lines, local: u32) {
    let end = end_of(lines, local);
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
    if lines.full {
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
        a = load(load_a, end);
        b = load(load_b, end);
        if LOADS > 2u {
            c = load(load_c, end);
            d = load(load_d, end);
        }
        if LOADS > 4u {
            e = load(load_e, end);
            f = load(load_f, end);
            g = load(load_g, end);
            h = load(load_h, end);
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

// A load outside the lines of the tile reads unit 0 of the source instead, which is always bound; its value never
// reaches the result.
fn load(load: Load, end: u32) -> Unit {
    return source[select(0u, load.at, load.index < end)];
}

// A store of one unit, or the difference between two stores of an invocation, which `behind` returns. `sum` adds such a
// difference to a store to get a later store of the same invocation.
struct Stored {
    // The unit's number in the tile.
    from_unit: u32,
    // The unit's place in the result.
    to: u32,
    // The unit's near position.
    near: u32,
    // The unit's number in its row.
    unit: u32,
}

fn behind(at: Tile, lines: Lines, stores: u32) -> Stored {
    let elements = stores * WORKGROUP;
    let near = elements >> words_log2();
    let unit = elements & ((1u << words_log2()) - 1u);
    return Stored(unit * lines.pitch + near, near * at.next_row * uniforms.run + unit, near, unit);
}

fn sum(a: Stored, b: Stored) -> Stored {
    return Stored(a.from_unit + b.from_unit, a.to + b.to, a.near + b.near, a.unit + b.unit);
}

fn store(one: Stored) {
    dest[one.to] = tile[place(one.from_unit)];
}

fn store_inside(at: Tile, one: Stored) {
    if one.near < at.near && one.unit < uniforms.run {
        store(one);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let at = tile_at(group_number(group));
    let lines = lines_of(at);
    load_tile(lines, local);
    if !at.exists {
        return;
    }

    let near = local >> words_log2();
    let unit = local & ((1u << words_log2()) - 1u);
    let row = at.row + (at.first_near + near) * at.next_row;
    let one_behind = behind(at, lines, 1u);
    let two_behind = behind(at, lines, 2u);
    let four_behind = behind(at, lines, 4u);
    let store_a = Stored(
        lines.origin + unit * lines.pitch + near,
        uniforms.dest_base + row * uniforms.run + at.first_word + unit,
        at.first_near + near,
        at.first_word + unit,
    );
    let store_b = sum(store_a, one_behind);
    let store_c = sum(store_a, two_behind);
    let store_d = sum(store_b, two_behind);
    let store_e = sum(store_a, four_behind);
    let store_f = sum(store_b, four_behind);
    let store_g = sum(store_c, four_behind);
    let store_h = sum(store_d, four_behind);
    let units = i32(1u << words_log2());
    let nears = i32(TILE >> words_log2());
    let whole = i32(at.first_word) >= 0 && i32(at.first_word) + units <= i32(uniforms.run)
        && i32(at.first_near) >= 0 && i32(at.first_near) + nears <= i32(at.near);
    if whole {
        store(store_a);
        store(store_b);
        if LOADS > 2u {
            store(store_c);
            store(store_d);
        }
        if LOADS > 4u {
            store(store_e);
            store(store_f);
            store(store_g);
            store(store_h);
        }
        return;
    }
    store_inside(at, store_a);
    store_inside(at, store_b);
    if LOADS > 2u {
        store_inside(at, store_c);
        store_inside(at, store_d);
    }
    if LOADS > 4u {
        store_inside(at, store_e);
        store_inside(at, store_f);
        store_inside(at, store_g);
        store_inside(at, store_h);
    }
}
