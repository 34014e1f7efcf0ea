// Transposes units of 4 bytes or more.

const PER_WORD: u32 = 1u;
const PER_WORD_LOG2: u32 = 0u;
const LINES_SHIFT: bool = false;

fn is_stretch() -> bool {
    return (uniforms.map.tiling.x & 0x10000u) != 0u;
}

// A load outside the lines of the tile reads unit 0 of the source instead, which is always bound; its value never
// reaches the result.
fn load(load: Load, allowed: Inside) -> Unit {
    return source[select(0u, load.at, load.index < allowed.end)];
}

// A store of one unit. `behind` returns differences instead, which `sum` adds to a store to get a later one.
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
