// Copies elements of 1 to 3 bytes into a destination whose other bytes keep their values. Distances are in bytes. An
// invocation makes four words of the destination, `lanes` apart, all of one row; a tile is `segment` words. Two rows
// may share a word, so a word that is not written whole is changed by atomics.
//
// Needs: nothing.
#import walk.wgsl

// The bytes of an element.
override ELEMENT: u32 = 1u;
// `run_to`, if it is less than 5, so that the compiler knows it; otherwise 0.
override RUN_TO: u32 = 0u;
// Whether rows are bytes without gaps on both sides, so that the words of a row are loaded as words.
override FORWARD: bool = false;
// Whether an invocation goes on until its segment ends: on adapters on which invocations cost more than loops.
override LOOPS: bool = false;
// The most elements of a row that have bytes in the same word.
override MOST: u32 = (ELEMENT + 2u) / select(RUN_TO, 5u, RUN_TO == 0u) + 1u;

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<u32>>;

const FOUR: vec4<u32> = vec4(0u, 1u, 2u, 3u);

// Loads the element at byte `at`; the bytes above it have no meaning.
fn fetch(at: u32) -> u32 {
    var word = source[at >> 2u] >> (at << 3u);
    // `at` << 3 is the shift modulo 32. One shift by 32 would be a shift by 0.
    if ELEMENT > 1u { word |= (source[(at + ELEMENT - 1u) >> 2u] << 1u) << ~(at << 3u); }
    return word;
}

// Writes those bytes of a word that a row has.
fn make_word(row: Row, word: u32) {
    let stride = select(RUN_TO, walk.run_to, RUN_TO == 0u);
    // The number of the word's first byte in the row. It is negative if the row begins after it.
    let t = i32(word * 4u - row.to);
    let reached = u32(max(t + i32(stride - ELEMENT), 0));
    var first = reached;
    if RUN_TO == 2u {
        first = reached >> 1u;
    } else if RUN_TO != 1u {
        first = reached / stride;
    }
    let base = row.base + first * row.step;
    // Where the first of these elements begins in the word, in bits. This is negative if it begins in the word before.
    let begin = (i32(first * stride) - t) * 8;
    var bits = 0u;
    var mask = 0u;
    for (var n = 0u; n < MOST; n++) {
        let element = first + n;
        let place = begin + i32(n * stride * 8u);
        if element >= walk.run || place >= 32 { continue; }
        let is_found = has_source(row, element);
        let value = select(0u, fetch(select(0u, base + n * row.step, is_found)), is_found);
        let ones = NONE >> (32u - 8u * ELEMENT);
        if ELEMENT == 1u || place >= 0 {
            mask |= ones << u32(place);
            bits |= (value & ones) << u32(place);
        } else {
            mask |= ones >> u32(-place);
            bits |= (value & ones) >> u32(-place);
        }
    }
    if mask == NONE {
        atomicStore(&dest[word], bits);
    } else if mask != 0u {
        atomicAnd(&dest[word], ~mask);
        atomicOr(&dest[word], bits);
    }
}

// Makes those of four words of a row that are less than `end`. The words are multiples of four bytes apart in the
// source, too.
fn make_four(row: Row, words: vec4<u32>, end: u32) {
    if FORWARD {
        let t = words * 4u - row.to;
        // `t` wraps before the row.
        let whole = t < vec4(max(walk.run, 3u) - 3u);
        let found = whole & vec4(row.state == FOUND);
        let at = select(vec4(0u), row.base + t, found);
        let last = (at + 3u) >> vec4(2u);
        let low = vec4(source[at.x >> 2u], source[at.y >> 2u], source[at.z >> 2u], source[at.w >> 2u]);
        let high = vec4(source[last.x], source[last.y], source[last.z], source[last.w]);
        let bits = select(vec4(0u), (low >> (at << vec4(3u))) | ((high << vec4(1u)) << ~(at << vec4(3u))), found);
        if whole.x { atomicStore(&dest[words.x], bits.x); }
        if whole.y { atomicStore(&dest[words.y], bits.y); }
        if whole.z { atomicStore(&dest[words.z], bits.z); }
        if whole.w { atomicStore(&dest[words.w], bits.w); }
        if all(whole) { return; }
        let edges = select(vec4(1u, 2u, 4u, 8u), vec4(0u), whole);
        for (var left = edges.x | edges.y | edges.z | edges.w; left != 0u; left &= left - 1u) {
            let word = words[firstTrailingBit(left)];
            if word < end { make_word(row, word); }
        }
        return;
    }
    if words.x < end { make_word(row, words.x); }
    if words.y < end { make_word(row, words.y); }
    if words.z < end { make_word(row, words.z); }
    if words.w < end { make_word(row, words.w); }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    let tile = workgroup_number(workgroup) * (WORKGROUP >> walk.lanes_log2) + (local >> walk.lanes_log2);
    let number = tile / walk.segments;
    if number >= walk.rows { return; }
    let part = tile - number * walk.segments;
    let row = locate(number);
    if part == 0u && lane == 0u && may_report(row) { report_row(number); }
    if row.state == ELSEWHERE { return; }
    let span = (walk.run - 1u) * walk.run_to + ELEMENT;
    let begin = (row.to >> 2u) + part * walk.segment;
    let end = min(begin + walk.segment, (row.to + span + 3u) >> 2u);
    let words = begin + lane + lanes * FOUR;
    if LOOPS {
        for (var n = 0u; n < walk.segment; n += 4u * lanes) { make_four(row, words + n, end); }
    } else {
        make_four(row, words, end);
    }
}
