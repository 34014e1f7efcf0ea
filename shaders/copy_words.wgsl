// Copies elements of 1, 2 or 3 bytes to a contiguous result. Four neighbouring elements of the result are a group. A
// group has ELEMENT whole words, and one invocation makes it. Distances are in bytes.
//
// A row owns the groups that begin with one of its elements, and the first row also owns group 0. The last group of a
// row can end in the next row. `lanes` neighbouring invocations take neighbouring groups of a row, so that their
// accesses coalesce. An invocation makes four groups and loads everything that they need before it stores any of them.
// If ROWS is 1, the four groups belong to one row, `lanes` apart; a tile is `segment` groups of a row. If ROWS is 4,
// the groups belong to four rows that are neighbours along the innermost dimension of `dims`. If the size of this
// dimension is not a multiple of four, the last invocation along it makes fewer groups.
// Needs: no other names.
#import walk.wgsl

override ROWS: u32 = 1u;
// The size of an element in bytes.
override ELEMENT: u32 = 1u;
// True if rows have fewer than four elements. An invocation then makes one group and locates the row of each element.
override SHORT: bool = false;
// True if an element, or four bytes that are loaded together, can extend over two words.
override STRADDLES: bool = ELEMENT == 3u;
// The order in the source of the bytes of a result word, or 0 for any order. If BYTES is not 0, invocations load words
// instead of elements. FORWARD: the same order, without gaps. BACKWARD: the reverse order. BY_TUPLE: the index tuple
// decides between these two orders. SQUARE: the bytes are in four words, and the other bytes of these words belong to
// the next three rows. ROWS is then 4, and each row begins with a whole group.
override BYTES: u32 = 0u;
const FORWARD: u32 = 1u;
const BACKWARD: u32 = 2u;
const BY_TUPLE: u32 = 3u;
const SQUARE: u32 = 4u;

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<u32>;

// Loads the word at byte `at`. The caller uses at most the first `last` + 1 bytes.
fn fetch_word(at: u32, last: u32) -> u32 {
    var word = source[at >> 2u] >> (at << 3u);
    // WGSL takes shift amounts modulo 32. It would take a shift by 32 as a shift by 0, so there are two shifts.
    if STRADDLES { word |= (source[(at + last) >> 2u] << 1u) << ~(at << 3u); }
    return word;
}

// Loads the element at byte `at`. The higher bytes of the result are zeros.
fn fetch(at: u32) -> u32 {
    return fetch_word(at, ELEMENT - 1u) & (NONE >> (32u - 8u * ELEMENT));
}

fn fetch_four(at: vec4<u32>, found: vec4<bool>) -> vec4<u32> {
    let safe_at = select(vec4(0u), at, found);
    let elements = vec4(fetch(safe_at.x), fetch(safe_at.y), fetch(safe_at.z), fetch(safe_at.w));
    return select(vec4(0u), elements, found);
}

// Packs four elements in ELEMENT words, followed by zeros.
fn packed(e: vec4<u32>) -> vec3<u32> {
    if ELEMENT == 1u { return vec3(e.x | (e.y << 8u) | (e.z << 16u) | (e.w << 24u), 0u, 0u); }
    if ELEMENT == 2u { return vec3(e.x | (e.y << 16u), e.z | (e.w << 16u), 0u); }
    return vec3(e.x | (e.y << 24u), (e.y >> 8u) | (e.z << 16u), (e.z >> 16u) | (e.w << 8u));
}

fn store(group: u32, words: vec3<u32>) {
    let to = walk.to_base + group * ELEMENT;
    dest[to] = words.x;
    if ELEMENT > 1u { dest[to + 1u] = words.y; }
    if ELEMENT > 2u { dest[to + 2u] = words.z; }
}

// Stores the elements of a group that are `written`. The other bytes of the group's words keep their values.
fn store_some(group: u32, elements: vec4<u32>, written: vec4<bool>) {
    let mask = packed(select(vec4(0u), vec4(NONE >> (32u - 8u * ELEMENT)), written));
    let words = packed(select(vec4(0u), elements, written));
    let to = walk.to_base + group * ELEMENT;
    for (var n = 0u; n < ELEMENT; n++) {
        if mask[n] == NONE {
            dest[to + n] = words[n];
        } else if mask[n] != 0u {
            dest[to + n] = words[n] | (dest[to + n] & ~mask[n]);
        }
    }
}

// Makes a group with elements that can belong to different rows or be outside the result. Reports the out-of-range
// tuples of the rows that have their first element in this group.
fn make_short(group: u32) {
    // For an element before the result, the subtraction wraps to a large number.
    let elements = group * 4u - walk.head + ZERO_TO_THREE;
    let inside = elements < vec4(walk.rows * walk.run);
    let rows = select(vec4(0u), elements / walk.run, inside);
    let j = elements - rows * walk.run;
    let a = locate(rows.x);
    let b = locate(rows.y);
    let c = locate(rows.z);
    let d = locate(rows.w);
    let at = vec4(a.base, b.base, c.base, d.base) + j * vec4(a.step, b.step, c.step, d.step);
    let are_found = vec4(has_source(a, j.x), has_source(b, j.y), has_source(c, j.z), has_source(d, j.w)) & inside;
    let fetched = fetch_four(at, are_found);
    let written = inside & (vec4(a.state, b.state, c.state, d.state) != vec4(ELSEWHERE));
    if all(written) {
        store(group, packed(fetched));
    } else {
        store_some(group, fetched, written);
    }
    report_four(a, b, c, d, inside & (j == vec4(0u)));
}

// Makes a group that `make_four` does not store: a group at the end of a row of at least four elements or at the
// beginning of the result or, in a crop, a group with elements outside the array. The group can also contain the
// beginning of the next row. Does not report tuples.
fn make_edge(group: u32) {
    let elements = group * 4u - walk.head + ZERO_TO_THREE;
    let inside = elements < vec4(walk.rows * walk.run);
    // The numbers of elements before the result wrap to large numbers, so these elements are not `inside`.
    let row_number = select(elements.x / walk.run, 0u, elements.x >= SIGN_BIT);
    let a = locate(row_number);
    let b = locate(min(row_number + 1u, walk.rows - 1u));
    let in_row = elements - row_number * walk.run;
    let in_next_row = inside & (in_row >= vec4(walk.run));
    let j = select(in_row, in_row - walk.run, in_next_row);
    let at = select(a.base + j * a.step, b.base + j * b.step, in_next_row);
    let state = select(vec4(a.state), vec4(b.state), in_next_row);
    let are_found = inside & (state == vec4(FOUND)) & select(are_inside(a, j), are_inside(b, j), in_next_row);
    store_some(group, fetch_four(at, are_found), inside & (state != vec4(ELSEWHERE)));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let workgroup_index = workgroup_number(workgroup, walk.groups_x);
    if SHORT {
        let group = workgroup_index * WORKGROUP + local;
        if group * 4u < walk.rows * walk.run + walk.head { make_short(group); }
        return;
    }
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    let lane_rows = WORKGROUP >> walk.lanes_log2;
    let lane_row = local >> walk.lanes_log2;
    if ROWS == 1u {
        let tile = workgroup_index * lane_rows + lane_row;
        let row = tile / walk.segments;
        let first_group = (tile - row * walk.segments) * walk.segment;
        if row >= walk.rows { return; }
        let at = locate(row);
        if first_group + lane == 0u && may_report(at) { report_tuple(at.tuple); }
        let groups = first_group + lane + lanes * ZERO_TO_THREE;
        var edges = vec2(NONE, 0u);
        for (var n = 0u; !LOOPS || n < walk.segment; n += 4u * lanes) {
            edges = make_four(at, vec4(row), vec4(at.base), groups + n, vec4(true), edges);
            if !LOOPS { break; }
        }
        for (var group = edges.x; group < edges.y; group += lanes) { make_edge(group); }
    } else {
        // A quad is four neighbouring rows.
        let block = workgroup_index / walk.segments;
        let quad = block * lane_rows + lane_row;
        let run_dim = walk.dims[dims() - 1u];
        let quads = (run_dim.size + 3u) >> 2u;
        var outer = 0u;
        if dims() > 1u { outer = quad / quads; }
        let digits = (quad - outer * quads) * 4u + ZERO_TO_THREE;
        let rows = outer * run_dim.size + digits;
        if rows.x >= walk.rows { return; }
        let exists = digits < vec4(run_dim.size);
        let group = (workgroup_index - block * walk.segments) * lanes + lane;
        let row = locate_along(outer, true, digits.x);
        if group == 0u && may_report(row) { report_tuple(row.tuple); }
        if BYTES == SQUARE {
            make_square(row, rows.x, group, exists);
        } else {
            make_four(row, rows, row.base + ZERO_TO_THREE * run_dim.from_stride, vec4(group), exists, vec2(0u));
        }
    }
}

// Makes a group of each row of a quad if BYTES is SQUARE. Then a group is a word, rows have only whole groups, and the
// rows of the quad have the same state.
fn make_square(row: Row, row_number: u32, group: u32, exists: vec4<bool>) {
    let j = group * 4u;
    if j >= walk.run || row.state == ELSEWHERE { return; }
    let is_found = row.state == FOUND;
    let last = select(select(select(0u, 1u, exists.y), 2u, exists.z), 3u, exists.w);
    let at = select(0u, row.base + j * row.step, is_found);
    let step = select(0u, row.step, is_found);
    let a = fetch_word(at, last);
    let b = fetch_word(at + step, last);
    let c = fetch_word(at + 2u * step, last);
    let d = fetch_word(at + 3u * step, last);
    // Transposes the 4 × 4 bytes: first within each block of 2 × 2 bytes, then the 2 × 2 blocks.
    let even = 0x00ff00ffu;
    let low = vec2((a & even) | ((b & even) << 8u), (c & even) | ((d & even) << 8u));
    let high = vec2(((a >> 8u) & even) | (b & ~even), ((c >> 8u) & even) | (d & ~even));
    let row_words = walk.run >> 2u;
    let to = walk.to_base + row_number * row_words + group;
    dest[to] = select(0u, (low.x & 0xffffu) | (low.y << 16u), is_found);
    if exists.y { dest[to + row_words] = select(0u, (high.x & 0xffffu) | (high.y << 16u), is_found); }
    if exists.z { dest[to + 2u * row_words] = select(0u, (low.x >> 16u) | (low.y & 0xffff0000u), is_found); }
    if exists.w { dest[to + 3u * row_words] = select(0u, (high.x >> 16u) | (high.y & 0xffff0000u), is_found); }
}

// Makes four groups of one row or, if ROWS is 4, one group of each of four rows that differ only in their bases.
// `numbers` counts a row's groups from the first group that the row owns. For a single row, returns the range `edges`,
// extended to include the groups that are left to `make_edge`.
fn make_four(
    row: Row, rows: vec4<u32>, bases: vec4<u32>, numbers: vec4<u32>, exists: vec4<bool>, edges: vec2<u32>,
) -> vec2<u32> {
    // Each row's first element, counted from the beginning of group 0, and the first group that the row owns.
    var first = vec4(rows.x * walk.run + walk.head);
    var begin = vec4(select((first.x + 3u) >> 2u, 0u, rows.x == 0u));
    if ROWS > 1u {
        first = rows * walk.run + walk.head;
        begin = select((first + 3u) >> vec4(2u), vec4(0u), rows == vec4(0u));
    }
    let groups = numbers + begin;
    let j = groups * 4u - first;
    // True if the row has all elements of the group and, in a crop, all of them are inside the array. `j` wraps to a
    // large number if the group begins before the row. The crop's positions are in order: if the first and the last are
    // inside the array, all are.
    var whole = exists & (j < vec4(walk.run - 3u));
    if CROPS { whole &= are_inside(row, j) & are_inside(row, j + 3u); }
    let are_found = whole & vec4(row.state == FOUND);
    let at = bases + j * row.step;
    let a = four_of(row, at.x, are_found.x);
    let b = four_of(row, at.y, are_found.y);
    let c = four_of(row, at.z, are_found.z);
    let d = four_of(row, at.w, are_found.w);
    // The common case: the invocation stores all four groups.
    if !LOOPS && all(are_found) {
        store(groups.x, a);
        store(groups.y, b);
        store(groups.z, c);
        store(groups.w, d);
        return edges;
    }
    if row.state != ELSEWHERE {
        // The words of a row without a source are zeros.
        if whole.x { store(groups.x, a); }
        if whole.y { store(groups.y, b); }
        if whole.z { store(groups.z, c); }
        if whole.w { store(groups.w, d); }
    }
    let is_edge = exists & !whole & (groups < ((first + walk.run + 3u) >> vec4(2u)));
    if ROWS == 1u { return extended(edges, groups, is_edge); }
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), is_edge);
    for (var left = bits.x | bits.y | bits.z | bits.w; left != 0u; left &= left - 1u) {
        make_edge(groups[firstTrailingBit(left)]);
    }
    return edges;
}

// Returns the words of four elements of a row, from the element at byte `at` on, or zeros if the elements have no
// source.
fn four_of(row: Row, at: u32, found: bool) -> vec3<u32> {
    let safe_at = select(0u, at, found);
    if BYTES == FORWARD {
        var words = vec3(select(0u, fetch_word(safe_at, 3u), found), 0u, 0u);
        if ELEMENT == 2u { words.y = select(0u, fetch_word(select(0u, at + 4u, found), 3u), found); }
        return words;
    }
    if BYTES >= BACKWARD {
        let reverse = BYTES == BACKWARD || row.step == NONE;
        let word = fetch_word(select(0u, at - select(0u, 3u, reverse), found), 3u);
        let swapped_bytes = ((word & 0x00ff00ffu) << 8u) | ((word >> 8u) & 0x00ff00ffu);
        let reversed = select(word, (swapped_bytes << 16u) | (swapped_bytes >> 16u), reverse);
        return vec3(select(0u, reversed, found), 0u, 0u);
    }
    let step = select(0u, row.step, found);
    let words = packed(vec4(fetch(safe_at), fetch(safe_at + step), fetch(safe_at + 2u * step), fetch(safe_at + 3u * step)));
    return select(vec3(0u), words, found);
}

// Returns `range`, extended to include the numbers for which `some` is true. The end of a range is exclusive.
fn extended(range: vec2<u32>, numbers: vec4<u32>, some: vec4<bool>) -> vec2<u32> {
    let low = select(vec4(NONE), numbers, some);
    let high = select(vec4(0u), numbers + 1u, some);
    let lowest = min(min(low.x, low.y), min(low.z, low.w));
    let highest = max(max(high.x, high.y), max(high.z, high.w));
    return vec2(min(range.x, lowest), max(range.y, highest));
}
