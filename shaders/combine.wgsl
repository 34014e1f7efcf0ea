// Combines slices of the destination with the rows that go to them. For each unit of a slice, one invocation walks the
// list of the slice's rows: see `scatter_nd.wgsl`.
//
// A tile is a segment of one row, and its lanes take neighbouring units. If a list begins with this row, the tile
// combines this segment of the slice with the same segment of each row of the list. Otherwise the tile does nothing.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// The elements of a unit have one or two words each. The host generates the type `Unit` and two functions: `words`
// converts a unit to four words, and `unit` converts four words to a unit.

// The operation that combines elements: one of the constants below, or 4 for the maximum.
override COMBINE: u32;
const ADD: u32 = 0u;
const SUB: u32 = 1u;
const MUL: u32 = 2u;
const MIN: u32 = 3u;

// The type of elements; 0 stands for unsigned integers. Integers wrap. Integers of two words (PAIRS) are only added and
// subtracted.
override NUMBERS: u32;
const SIGNED: u32 = 1u;
const FLOATS: u32 = 2u;
const PAIRS: u32 = 3u;

// Maps numbers to unsigned integers that have the same order. Both zeros of floats map to the same integer. The
// integers of NaNs have no meaning.
fn ranks(numbers: vec4<u32>) -> vec4<u32> {
    if NUMBERS == SIGNED {
        return numbers ^ vec4(0x80000000u);
    }
    if NUMBERS == FLOATS {
        let magnitudes = numbers & vec4(0x7fffffffu);
        return select(0x80000000u + magnitudes, 0x80000000u - magnitudes, magnitudes != numbers);
    }
    return numbers;
}

fn are_nans(numbers: vec4<u32>) -> vec4<bool> {
    return ((numbers & vec4(0x7fffffffu)) > vec4(0x7f800000u)) & vec4(NUMBERS == FLOATS);
}

// Compares each number of `a`, the slice, with the number of `b`, a row, at the same place. Returns the smaller of the
// two if COMBINE is MIN and otherwise the larger, but the number of `a` if either is a NaN. Floats are compared as
// integers, because some devices treat subnormal floats as zeros or ignore NaNs.
fn extremes(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let less = ranks(b) < ranks(a);
    let replaces = select(ranks(b) > ranks(a), less, COMBINE == MIN);
    return select(a, b, replaces & !are_nans(a) & !are_nans(b));
}

fn arithmetic(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    if COMBINE == ADD {
        return a + b;
    }
    if COMBINE == SUB {
        return a - b;
    }
    return a * b;
}

fn combined(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    if COMBINE >= MIN {
        return extremes(a, b);
    }
    if NUMBERS == FLOATS {
        return bitcast<vec4<u32>>(arithmetic(bitcast<vec4<f32>>(a), bitcast<vec4<f32>>(b)));
    }
    var result = a * b;
    var carried = vec2(false);
    if COMBINE == ADD {
        result = a + b;
        carried = result.xz < a.xz;
    } else if COMBINE == SUB {
        result = a - b;
        carried = a.xz < b.xz;
    }
    if NUMBERS == PAIRS {
        let carries = select(vec2(0u), select(vec2(0xffffffffu), vec2(1u), COMBINE == ADD), carried);
        result += vec4(0u, carries.x, 0u, carries.y);
    }
    return result;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= uniforms.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let lane = id & (lanes - 1u);
    let at = segment(tile);

    let start = row_start(at.row);
    if start.state != FOUND {
        return;
    }
    let to = uniforms.dest_base + start.to;
    for (var j = at.first + lane; j < at.end; j += lanes) {
        var result = words(dest[to + j]);
        // The link to the next row is loaded before this row is combined, so that the load and the arithmetic overlap.
        for (var link = at.row + 1u; link != 0u;) {
            let update = source[uniforms.source_base + (link - 1u) * stride() + j];
            link = next(link);
            result = combined(result, words(update));
        }
        dest[to + j] = unit(result);
    }
}
