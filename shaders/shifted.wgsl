// Moves rows of 32 bytes and more from anywhere in memory to anywhere, on a CPU adapter that has 64-bit words,
// by whole units of 32 bytes: each unit of the result is made of two that lie side by side in the source, or of
// three where every second part is taken. The last of them serves the next unit too.
//
// An invocation writes the units that begin in its segment of a row. The last one of a row may end with the
// first bytes of the next row. The host sees to it that units are whole in the result and bound in the source.

// Bytes of what rows are counted in.
override PART_BYTES: u32;

// How far apart neighbours lie in the source, in parts: 1, or 2 of parts of 1 or 2 bytes.
override STEP: u32;

// Whether rows end where units do.
override EXACT: bool;

// Whether units of the result begin with whole units of the source.
override ALIGNED: bool;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

const UNIT_BYTES: u32 = 32u;
override BACKWARDS: bool = FLIP < UNIT_BYTES;

// The lowest address of what becomes a unit, of which the first is byte `j` of the row.
fn address(row: Row, j: u32) -> u32 {
    let begin = (params.source_base + row.base) * PART_BYTES;
    return begin + STEP * select(j, PART_BYTES - UNIT_BYTES - j, BACKWARDS);
}

// The unit that holds an address, which may lie before the first.
fn holder(address: u32) -> u32 {
    return u32(i32(address) >> 5u);
}

// A unit of the source. What lies beyond its ends goes nowhere, so that any other will do.
fn unit_of_source(at: u32) -> Unit {
    return source[min(at, arrayLength(&source) - 1u)];
}

// 32 bytes out of 64, from byte `skip` on.
fn between(low: Unit, high: Unit, skip: u32) -> Unit {
    let two = (skip & 16u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (skip & 8u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = select(vec4(a.yzw, b.x), vec4(a.zw, b.xy), one);
    // In two steps, since no word can be shifted by all of its bits.
    let bits = vec4((skip & 7u) * 8u);
    return (words >> bits) | ((above << vec4(1u)) << (63u - bits));
}

// The same of two units in the order in which rows come to them.
fn either_way(near: Unit, far: Unit, skip: u32) -> Unit {
    return between(select(near, far, BACKWARDS), select(far, near, BACKWARDS), skip);
}

// Every second part of 64 bytes.
fn seconds(low: Unit, high: Unit) -> Unit {
    var a = low;
    var b = high;
    if PART_BYTES == 1u {
        a = closer(a & vec4(0x00ff00ff00ff00fflu), 8u) & vec4(0x0000ffff0000fffflu);
        b = closer(b & vec4(0x00ff00ff00ff00fflu), 8u) & vec4(0x0000ffff0000fffflu);
    }
    if PART_BYTES == 2u {
        a &= vec4(0x0000ffff0000fffflu);
        b &= vec4(0x0000ffff0000fffflu);
    }
    a = closer(a, 16u);
    b = closer(b, 16u);
    let even = vec4(a.xz, b.xz) & vec4(0x00000000fffffffflu);
    return even | (vec4(a.yw, b.yw) << vec4(32u));
}

// Pieces of twice so many bits, of which the upper halves are zeros, in pairs without a gap.
fn closer(words: Unit, bits: u32) -> Unit {
    return words | (words >> vec4(bits));
}

// What begins at an address, and moves to a unit.
fn at_address(address: u32) -> Unit {
    let at = holder(address);
    let skip = address & 31u;
    let mid = unit_of_source(at + 1u);
    let low = between(unit_of_source(at), mid, skip);
    if STEP == 1u {
        return flipped(low);
    }
    return flipped(seconds(low, between(mid, unit_of_source(at + 2u), skip)));
}

// Ones in the first bytes of a unit.
fn first_bytes(count: u32) -> Unit {
    let bytes = clamp(vec4(i32(count)) - vec4(0, 8, 16, 24), vec4(0), vec4(8));
    let ones = (vec4<u64>(1lu) << vec4<u32>((bytes & vec4(7)) * 8)) - vec4<u64>(1lu);
    return select(ones, vec4<u64>(0xfffffffffffffffflu), bytes == vec4(8));
}

fn or_zeros(unit: Unit, row: Row) -> Unit {
    return select(Unit(), unit, row.state == FOUND);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let row_bytes = params.run * PART_BYTES;
    let most = (row_bytes + UNIT_BYTES - 1u) / UNIT_BYTES;
    let segments = (most + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let number = tile - row * segments;
    let begin = row * row_bytes;
    let end = begin + row_bytes;
    // Units of the result: those of the segment, and those of them that lie within the row.
    let from_unit = (begin + UNIT_BYTES - 1u) / UNIT_BYTES + number * params.segment;
    let to_unit = min(from_unit + params.segment, (end + UNIT_BYTES - 1u) / UNIT_BYTES);
    let whole = min(to_unit, end / UNIT_BYTES);

    let here = source_row(row);
    if number == 0u && here.state == MISSING {
        missing(row);
    }
    let origin = address(here, from_unit * UNIT_BYTES - begin);
    let skip = select(origin & 31u, 0u, ALIGNED);
    let onwards = select(1u, 0xffffffffu, BACKWARDS);
    var at = holder(origin) + select(0u, STEP, BACKWARDS);
    var near = unit_of_source(at);
    for (var unit = from_unit; unit < whole; unit++) {
        var moved: Unit;
        if STEP == 1u {
            let far = unit_of_source(at + onwards);
            moved = either_way(near, far, skip);
            near = far;
        } else {
            let mid = unit_of_source(at + onwards);
            let far = unit_of_source(at + 2u * onwards);
            let first = either_way(near, mid, skip);
            let second = either_way(mid, far, skip);
            moved = seconds(select(first, second, BACKWARDS), select(second, first, BACKWARDS));
            near = far;
        }
        at += STEP * onwards;
        dest[params.dest_base + unit] = or_zeros(flipped(moved), here);
    }
    if !EXACT {
        if whole < to_unit {
            let j = whole * UNIT_BYTES - begin;
            let next = source_row(row + 1u);
            let mine = or_zeros(at_address(address(here, j)), here);
            let others = or_zeros(at_address(address(next, j - row_bytes)), next);
            let bytes = first_bytes(row_bytes - j);
            dest[params.dest_base + whole] = (mine & bytes) | (others & ~bytes);
        }
    }
}
