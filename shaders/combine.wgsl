// Combines rows of elements of one or two words with slices of the destination: all rows of a slice, one
// after the other, element by element.
//
// A tile is a segment of one row. Its lanes take neighbouring elements.

// Words of an element. Those of two are integers, and added or subtracted.
override WORDS: u32;

// How elements are combined.
override COMBINE: u32;
const ADD: u32 = 0u;
const SUB: u32 = 1u;
const MUL: u32 = 2u;
const MIN: u32 = 3u;

// What they are; integers wrap.
override NUMBERS: u32;
const SIGNED: u32 = 1u;
const FLOATS: u32 = 2u;

// Whether the rows of a slice are in ascending order.
override SORTED: bool;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

// An unsigned integer that is less where a number is. Both zeros are one; a NaN has none.
fn rank(number: u32) -> u32 {
    if NUMBERS == SIGNED {
        return number ^ 0x80000000u;
    }
    if NUMBERS == FLOATS {
        let magnitude = number & 0x7fffffffu;
        return select(0x80000000u + magnitude, 0x80000000u - magnitude, magnitude != number);
    }
    return number;
}

fn is_nan(number: u32) -> bool {
    return NUMBERS == FLOATS && (number & 0x7fffffffu) > 0x7f800000u;
}

// An update that compares with nothing leaves what is there. By integers, so that no device takes
// subnormal numbers for zeros, or forgets about NaNs.
fn extreme(a: u32, b: u32) -> u32 {
    let replaces = select(rank(b) > rank(a), rank(b) < rank(a), COMBINE == MIN);
    return select(a, b, replaces && !is_nan(a) && !is_nan(b));
}

fn arithmetic(a: f32, b: f32) -> f32 {
    if COMBINE == ADD {
        return a + b;
    }
    if COMBINE == SUB {
        return a - b;
    }
    return a * b;
}

fn combined(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if COMBINE >= MIN {
        return vec2(extreme(a.x, b.x), 0u);
    }
    if NUMBERS == FLOATS {
        return vec2(bitcast<u32>(arithmetic(bitcast<f32>(a.x), bitcast<f32>(b.x))), 0u);
    }
    if COMBINE == ADD {
        let low = a.x + b.x;
        return vec2(low, a.y + b.y + u32(low < a.x));
    }
    if COMBINE == SUB {
        return vec2(a.x - b.x, a.y - b.y - u32(a.x < b.x));
    }
    return vec2(a.x * b.x, 0u);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let lane = id & (lanes - 1u);
    let at = segment(tile);

    let start = row_start(at.row);
    if start.state != FOUND {
        return;
    }
    var chain = at.row + 1u;
    if SORTED {
        chain = rows[at.row].first;
    }
    let to = params.dest_base + start.to;
    for (var j = at.first + lane; j < at.end; j += lanes) {
        let place = (to + j) * WORDS;
        var result = vec2(dest[place], 0u);
        if WORDS == 2u {
            result.y = dest[place + 1u];
        }
        for (var link = chain; link != 0u; link = rows[link - 1u].next) {
            let origin = (params.source_base + (link - 1u) * params.map.stride + j) * WORDS;
            var update = vec2(source[origin], 0u);
            if WORDS == 2u {
                update.y = source[origin + 1u];
            }
            result = combined(result, update);
        }
        dest[place] = result.x;
        if WORDS == 2u {
            dest[place + 1u] = result.y;
        }
    }
}
