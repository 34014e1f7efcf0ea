// Copies elements of 1 to 3 bytes into a destination whose other bytes keep their values. Distances are in bytes. An
// invocation makes four words of the destination, `lanes` apart, all of one row; a tile is `segment` words. Two rows
// may share a word, so a word that is not written whole is changed by atomics.
//
// Needs: nothing.
#import walk.wgsl

// The bytes of an element.
override ELEMENT: u32 = 1u;
// `run_to`, if the compiler is to know it; otherwise 0.
override RUN_TO: u32 = 0u;
// Whether an invocation goes on until its segment ends: on adapters on which invocations cost more than loops.
override LOOPS: bool = false;

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<u32>>;

// A byte of the destination: its value and mask, at their place in the word.
fn byte_of(row: Row, t: u32, span: u32) -> vec2<u32> {
    let stride = select(RUN_TO, walk.run_to, RUN_TO == 0u);
    let element = t / stride;
    let rest = t - element * stride;
    if t >= span || rest >= ELEMENT || row.state == ELSEWHERE { return vec2(0u); }
    let shift = ((row.to + t) & 3u) * 8u;
    let mask = 0xffu << shift;
    if !has_source(row, element) { return vec2(0u, mask); }
    let at = row.base + element * row.step + rest;
    return vec2(((source[at >> 2u] >> (at << 3u)) & 0xffu) << shift, mask);
}

fn make_word(row: Row, word: u32, span: u32) {
    // The number of the word's first byte in the row; it wraps if the row begins after it.
    let t = word * 4u - row.to;
    let bytes = byte_of(row, t, span) | byte_of(row, t + 1u, span) | byte_of(row, t + 2u, span) | byte_of(row, t + 3u, span);
    if bytes.y == NONE {
        atomicStore(&dest[word], bytes.x);
    } else if bytes.y != 0u {
        atomicAnd(&dest[word], ~bytes.y);
        atomicOr(&dest[word], bytes.x);
    }
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
    let span = (walk.run - 1u) * walk.run_to + ELEMENT;
    let begin = (row.to >> 2u) + part * walk.segment;
    let end = min(begin + walk.segment, (row.to + span + 3u) >> 2u);
    if LOOPS {
        for (var word = begin + lane; word < end; word += lanes) { make_word(row, word, span); }
    } else {
        for (var n = 0u; n < 4u; n++) {
            let word = begin + lane + n * lanes;
            if word < end { make_word(row, word, span); }
        }
    }
}
