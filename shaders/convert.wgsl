// Converts elements of 1, 2 or 4 bytes to elements of 1, 2 or 4 bytes and writes them to a contiguous result. An
// invocation makes whole words of the result. Distances in the source count elements of the source, and distances in
// the result count elements of the result.
//
// `lanes` neighbouring invocations take neighbouring words of a row; a tile is `segment` words of the row. An
// invocation makes four words at a time, `lanes` apart. It loads everything that these words need before it stores any
// of them. A row owns the words that contain only elements of this row. If rows begin or end within words (EDGES), one
// invocation of each row also makes the word in which the row ends. For the first row, it also makes the word in which
// the row begins.
//
// Elements of 8 bits are converted by lookup tables of 256 entries, one table for each position along an axis of the
// source. Element n of the bound source uses table (n + `table_shift`) / `table_inner` % `tables`.
// Needs: no other names.
#import walk.wgsl
#import number.wgsl

// The types of source and result (one of the constants below, or 6 for f32), and their sizes in bytes.
override FROM: u32 = 0u;
override TO: u32 = 6u;
override FROM_BYTES: u32 = 1u;
override TO_BYTES: u32 = 4u;
const TYPE_U8: u32 = 0u;
const TYPE_I8: u32 = 1u;
const TYPE_U16: u32 = 2u;
const TYPE_I16: u32 = 3u;
const TYPE_F16: u32 = 4u;
const TYPE_BF16: u32 = 5u;
// True if elements are looked up in tables.
override TABLES: bool = true;
// True if all elements of a row use the same table.
override STEADY: bool = false;
// 0 if rows are whole words; 1 if rows begin or end within words; SHORT if rows have fewer elements than a word. With
// SHORT an invocation makes one word.
override EDGES: u32 = 0u;
const SHORT: u32 = 2u;

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<u32>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;

// Returns the number of elements in a word of the result.
fn elements_per_word() -> u32 {
    return 4u / TO_BYTES;
}

// Returns the bits of the element with number `at` in the source.
fn fetch(at: u32) -> u32 {
    let byte = at * FROM_BYTES;
    return (source[byte >> 2u] >> (byte << 3u)) & (NONE >> (32u - 8u * FROM_BYTES));
}

// Returns the index of the first entry of the table for the element with number `at`.
fn table_of(at: u32) -> u32 {
    if !TABLES { return 0u; }
    return (at + walk.table_shift) / walk.table_inner % walk.tables * 256u;
}

fn converted(bits: u32, table: u32) -> u32 {
    if TABLES { return tables[table + bits]; }
    var value = bitcast<f32>(bits);
    if FROM == TYPE_U16 { value = f32(bits); }
    if FROM == TYPE_I16 { value = f32(bitcast<i32>(bits << 16u) >> 16u); }
    if FROM == TYPE_F16 { value = f32_of_f16(bits); }
    if FROM == TYPE_BF16 { value = bitcast<f32>(bits << 16u); }
    if TO == TYPE_U8 { return integer_of_f32(value, 0xffu, 0u); }
    if TO == TYPE_I8 { return integer_of_f32(value, 0x7fu, 0x80u) & 0xffu; }
    if TO == TYPE_U16 { return integer_of_f32(value, 0xffffu, 0u); }
    if TO == TYPE_I16 { return integer_of_f32(value, 0x7fffu, 0x8000u) & 0xffffu; }
    if TO == TYPE_F16 { return f16_of_f32(value); }
    if TO == TYPE_BF16 { return bf16_of_f32(value); }
    let single = bitcast<u32>(value);
    return select(single, (single & SIGN_BIT) | 0x7fc00000u, (single & ~SIGN_BIT) > 0x7f800000u);
}

// Returns the number of an element of the source that has the same table as the row. This is the row's first element
// or, if the run is cropped, the element at position 0 of the cropped dimension, because the row's first element can be
// outside the source.
fn origin(row: Row) -> u32 {
    for (var c = 0u; CROPS && c < coordinates(); c++) {
        if walk.coordinates[c].along == RUN { return row.base - row.place * walk.coordinates[c].stride; }
    }
    return row.base;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let workgroup_index = workgroup_number(workgroup, walk.groups_x);
    if EDGES == SHORT {
        let word = walk.to_base / elements_per_word() + workgroup_index * WORKGROUP + local;
        if word * elements_per_word() < walk.to_base + walk.rows * walk.run { make_edge(word, true); }
        return;
    }
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    let tile = workgroup_index * (WORKGROUP >> walk.lanes_log2) + (local >> walk.lanes_log2);
    let row = tile / walk.segments;
    let first_element = (tile - row * walk.segments) * walk.segment;
    if row >= walk.rows { return; }
    let at = locate(row);
    if first_element + lane == 0u && may_report(at) { report_tuple(at.tuple); }
    let begin = (at.to + elements_per_word() - 1u) / elements_per_word();
    let end = (at.to + walk.run) / elements_per_word();
    let stop = min(begin + first_element + walk.segment, end);
    let table = table_of(origin(at));
    for (var words = begin + first_element + lane + lanes * ZERO_TO_THREE; words.x < stop; words += 4u * lanes) {
        make_four(at, words, words < vec4(stop), table);
    }
    if EDGES != 0u && first_element + lane == 0u {
        if row == 0u && begin * elements_per_word() != at.to { make_edge(begin - 1u, false); }
        if end >= begin && end * elements_per_word() != at.to + walk.run { make_edge(end, false); }
    }
}

// Makes four words of a row, except the words that are not `inside`.
fn make_four(at: Row, words: vec4<u32>, inside: vec4<bool>, table: u32) {
    var results = vec4(0u);
    for (var k = 0u; k < elements_per_word(); k++) {
        let j = words * elements_per_word() + k - at.to;
        let is_found = inside & are_inside(at, j) & vec4(at.state == FOUND);
        let place = select(vec4(0u), at.base + j * at.step, is_found);
        var starts = vec4(table);
        if !STEADY { starts = vec4(table_of(place.x), table_of(place.y), table_of(place.z), table_of(place.w)); }
        let fetched = vec4(fetch(place.x), fetch(place.y), fetch(place.z), fetch(place.w));
        // Element 0 is loaded in place of elements without a source. It might never have been written, so zeros replace
        // it.
        let bits = select(vec4(0u), fetched, is_found);
        let values = vec4(
            converted(bits.x, starts.x), converted(bits.y, starts.y), converted(bits.z, starts.z), converted(bits.w, starts.w),
        );
        results |= select(vec4(0u), values, is_found) << vec4(8u * TO_BYTES * k);
    }
    // The common case: the invocation stores all four words.
    if !LOOPS && all(inside) && at.state != ELSEWHERE {
        dest[words.x] = results.x;
        dest[words.y] = results.y;
        dest[words.z] = results.z;
        dest[words.w] = results.w;
        return;
    }
    let written = inside & vec4(at.state != ELSEWHERE);
    if written.x { dest[words.x] = results.x; }
    if written.y { dest[words.y] = results.y; }
    if written.z { dest[words.z] = results.z; }
    if written.w { dest[words.w] = results.w; }
}

// Makes a word with elements that can belong to different rows or be outside the result. If `reports`, reports the
// out-of-range tuples of the rows that have their first element in this word.
fn make_edge(word: u32, reports: bool) {
    let element_mask = NONE >> (32u - 8u * TO_BYTES);
    var result = 0u;
    var mask = 0u;
    for (var k = 0u; k < elements_per_word(); k++) {
        // For an element before the result, the subtraction wraps to a large number.
        let element_number = word * elements_per_word() + k - walk.to_base;
        if element_number >= walk.rows * walk.run { continue; }
        let row = element_number / walk.run;
        let j = element_number - row * walk.run;
        let at = locate(row);
        if reports && j == 0u && may_report(at) { report_tuple(at.tuple); }
        if at.state == ELSEWHERE { continue; }
        mask |= element_mask << (8u * TO_BYTES * k);
        if !has_source(at, j) { continue; }
        let place = at.base + j * at.step;
        result |= converted(fetch(place), table_of(place)) << (8u * TO_BYTES * k);
    }
    if mask == NONE {
        dest[word] = result;
    } else if mask != 0u {
        dest[word] = result | (dest[word] & ~mask);
    }
}
