// The last step of a scatter that combines numbers of one or two words, or smaller numbers in rows of whole words. An
// invocation takes `segment` units of a slice of the destination. It combines each unit with the unit at the same
// position of every row of the slice, in order. If there are few rows (BY_ROWS), invocations go through all rows
// instead of all slices; then only the invocation of a slice's first row combines the rows of the slice. Needs: `Unit`;
// `words`, which converts a unit to four words; and `unit`, which converts four words to a unit.
#import chain.wgsl
#import parts.wgsl

@group(0) @binding(1) var<storage, read> source: array<Unit>;
@group(0) @binding(2) var<storage, read_write> dest: array<Unit>;

// The operation: one of the constants below, or 4 for the maximum.
override COMBINE: u32 = 0u;
const ADD: u32 = 0u;
const SUB: u32 = 1u;
const MUL: u32 = 2u;
const MIN: u32 = 3u;

// The type of the elements: one of the constants below, or 0 for unsigned integers. Integers wrap. Integers of two
// words (PAIRS) are only added and subtracted. Numbers smaller than a word (PARTS) are combined by the rule in
// `parts.wgsl`.
override NUMBERS: u32 = 0u;
const SIGNED: u32 = 1u;
const FLOATS: u32 = 2u;
const PAIRS: u32 = 3u;
const PARTS: u32 = 4u;

// Maps numbers to unsigned integers in the same order. Both zeros of floats map to the same integer. The integers of
// NaNs have no meaning.
fn order_keys(numbers: vec4<u32>) -> vec4<u32> {
    if NUMBERS == SIGNED { return numbers ^ vec4(0x80000000u); }
    if NUMBERS == FLOATS {
        let magnitudes = numbers & vec4(0x7fffffffu);
        return select(0x80000000u + magnitudes, 0x80000000u - magnitudes, magnitudes != numbers);
    }
    return numbers;
}

fn are_nans(numbers: vec4<u32>) -> vec4<bool> {
    return ((numbers & vec4(0x7fffffffu)) > vec4(0x7f800000u)) & vec4(NUMBERS == FLOATS);
}

// Compares each number of `a`, from a slice, with the number at the same position of `b`, from a row. Returns the
// smaller number if COMBINE is MIN, otherwise the larger. If either is a NaN, returns the number of `a`. Floats are
// compared as integers, because some devices treat subnormal floats as zeros or ignore NaNs.
fn lesser_or_greater(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let is_less = order_keys(b) < order_keys(a);
    let replaces = select(order_keys(b) > order_keys(a), is_less, COMBINE == MIN);
    return select(a, b, replaces & !are_nans(a) & !are_nans(b));
}

fn add_or_multiply(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    if COMBINE == ADD { return a + b; }
    if COMBINE == SUB { return a - b; }
    return a * b;
}

fn combined(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    if NUMBERS == PARTS {
        return vec4(combined_parts(a.x, b.x), combined_parts(a.y, b.y), combined_parts(a.z, b.z), combined_parts(a.w, b.w));
    }
    if COMBINE >= MIN { return lesser_or_greater(a, b); }
    if NUMBERS == FLOATS {
        return bitcast<vec4<u32>>(add_or_multiply(bitcast<vec4<f32>>(a), bitcast<vec4<f32>>(b)));
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
        let carry_bits = select(vec2(0u), select(vec2(0xffffffffu), vec2(1u), COMBINE == ADD), carried);
        result += vec4(0u, carry_bits.x, 0u, carry_bits.y);
    }
    return result;
}

// Returns word `at` of the lists. The lists are in the binding of the tuples. If rows are UNIQUE, there are no lists.
fn word_at(at: u32) -> u32 { return tuples[at]; }

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = workgroup_number(group, walk.groups_x) * WORKGROUP + local;
    // The number of the slice that the invocation combines or, if BY_ROWS, of the row that it takes.
    let owner = id / walk.segments;
    if owner >= select(walk.slices, walk.rows, BY_ROWS) { return; }
    let begin = (id - owner * walk.segments) * walk.segment;
    var slice = owner;
    var first = walk.first_row + owner + 1u;
    if BY_ROWS {
        slice = led_by(owner, begin == 0u);
        if slice == NONE { return; }
    } else {
        first = first_after(slice, 0u, 0u);
        if !FRESH && first == 0u { return; }
    }
    let to = walk.to_base + slice * walk.pitch;
    for (var j = begin; !LOOPS || j < min(begin + walk.segment, walk.run); j++) {
        combine_rows(first, to, j);
        if !LOOPS { break; }
    }
}

// Combines unit `j` of the slice at `to` with unit `j` of each of its rows, from row `first` on.
fn combine_rows(first: u32, to: u32, j: u32) {
    var result = vec4(0u);
    if !FRESH { result = words(dest[to + j]); }
    // The link to the next row is loaded before this row is combined, so that the load and the arithmetic overlap.
    for (var number = first; number > walk.first_row;) {
        let update = source[unit_of(number, j)];
        number = next_of(number);
        result = combined(result, words(update));
    }
    dest[to + j] = unit(result);
}
