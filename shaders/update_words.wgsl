// Copies elements of 1 to 3 bytes to a destination and keeps the other bytes of the destination. Distances are in
// bytes. An invocation makes four words of one row of the destination, `lanes` apart; a tile is `segment` words. Two
// rows can share a word: an invocation that changes only a part of a word does this by atomic AND and OR.
// Needs: no other names.
#import walk.wgsl

// The size of an element in bytes.
override ELEMENT: u32 = 1u;
// The value of `run_to` as a constant for the compiler if it is less than 5, otherwise 0.
override RUN_TO: u32 = 0u;
// If true, the bytes of a row are contiguous in source and destination, and are loaded in words.
override FORWARD: bool = false;
// The maximum number of elements of a row that have bytes in the same word.
override MOST: u32 = (ELEMENT + 2u) / select(RUN_TO, 5u, RUN_TO == 0u) + 1u;

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<u32>>;

// Loads the element at byte `at`. The higher bytes of the result have no meaning.
fn fetch(at: u32) -> u32 {
    var word = source[at >> 2u] >> (at << 3u);
    // WGSL takes shift amounts modulo 32. It would take a shift by 32 as a shift by 0, so there are two shifts.
    if ELEMENT > 1u { word |= (source[(at + ELEMENT - 1u) >> 2u] << 1u) << ~(at << 3u); }
    return word;
}

// Makes four words of a row. They are whole words apart, so with FORWARD all four need the same shift.
fn make_four(row: Row, words: vec4<u32>) {
    // The distance in bytes from the start of the row to each word. Negative if the word begins before the row.
    let t = vec4<i32>(words * 4u - row.to);
    var bits = vec4(0u);
    var mask = vec4(0u);
    if FORWARD {
        // A word can begin before the row or end after it, so its first and its last byte are clamped to the row.
        let last_byte = i32(walk.run) - 1;
        let is_found = row.state == FOUND;
        let low = select(vec4(0u), row.base + vec4<u32>(clamp(t, vec4(0), vec4(last_byte))), vec4(is_found)) >> vec4(2u);
        let high = select(vec4(0u), row.base + vec4<u32>(clamp(t + 3, vec4(0), vec4(last_byte))), vec4(is_found)) >> vec4(2u);
        let shift = (row.base + u32(t.x)) << 3u;
        bits = vec4(source[low.x], source[low.y], source[low.z], source[low.w]) >> vec4(shift);
        // WGSL takes shift amounts modulo 32. It would take a shift by 32 as a shift by 0, so there are two shifts.
        bits |= (vec4(source[high.x], source[high.y], source[high.z], source[high.w]) << vec4(1u)) << vec4(~shift);
        let missing_before = vec4<u32>(max(-t, vec4(0)));
        let missing_after = vec4<u32>(max(t + 3 - last_byte, vec4(0)));
        mask = select((vec4(NONE) << (missing_before * 8u)) & (vec4(NONE) >> (missing_after * 8u)), vec4(0u), missing_after > vec4(3u));
        bits = select(vec4(0u), bits & mask, vec4(is_found));
    } else {
        let stride = select(RUN_TO, walk.run_to, RUN_TO == 0u);
        // The first element with a byte in the word or after it.
        let reached = vec4<u32>(max(t + i32(stride - ELEMENT), vec4(0)));
        var first = reached;
        if RUN_TO == 2u {
            first = reached >> vec4(1u);
        } else if RUN_TO != 1u {
            first = reached / stride;
        }
        let at = row.base + first * row.step;
        // The offset in bits of this element from the start of the word. Negative if the element begins before the
        // word.
        let begin = (vec4<i32>(first * stride) - t) * 8;
        for (var n = 0u; n < MOST; n++) {
            let element = first + n;
            let bit_place = begin + i32(n * stride * 8u);
            let inside = (element < vec4(walk.run)) & (bit_place < vec4(32));
            var found = inside & vec4(row.state == FOUND);
            if CROPS { found &= are_inside(row, element); }
            let safe_at = select(vec4(0u), at + n * row.step, found);
            let values = vec4(fetch(safe_at.x), fetch(safe_at.y), fetch(safe_at.z), fetch(safe_at.w));
            let ones = NONE >> (32u - 8u * ELEMENT);
            bits |= shift_to_place(select(vec4(0u), values & vec4(ones), found), bit_place);
            mask |= shift_to_place(select(vec4(0u), vec4(ones), inside), bit_place);
        }
    }
    store(words.x, bits.x, mask.x);
    store(words.y, bits.y, mask.y);
    store(words.z, bits.z, mask.z);
    store(words.w, bits.w, mask.w);
}

// Returns elements shifted to their places in words: an element begins `place` bits after the start of its word, or
// before the start if `place` is negative.
fn shift_to_place(elements: vec4<u32>, place: vec4<i32>) -> vec4<u32> {
    let shifted = elements << vec4<u32>(place);
    if ELEMENT == 1u { return shifted; }
    return select(elements >> vec4<u32>(-place), shifted, place >= vec4(0));
}

fn store(word: u32, bits: u32, mask: u32) {
    if mask == NONE {
        atomicStore(&dest[word], bits);
    } else if mask != 0u {
        atomicAnd(&dest[word], ~mask);
        atomicOr(&dest[word], bits);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    let tile = workgroup_number(workgroup, walk.groups_x) * (WORKGROUP >> walk.lanes_log2) + (local >> walk.lanes_log2);
    let row_number = tile / walk.segments;
    if row_number >= walk.rows { return; }
    let part = tile - row_number * walk.segments;
    let row = locate(row_number);
    if part == 0u && lane == 0u && may_report(row) { report_tuple(row.tuple); }
    if row.state == ELSEWHERE { return; }
    let words = (row.to >> 2u) + part * walk.segment + lane + lanes * ZERO_TO_THREE;
    for (var n = 0u; !LOOPS || n < walk.segment; n += 4u * lanes) {
        make_four(row, words + n);
        if !LOOPS { break; }
    }
}
