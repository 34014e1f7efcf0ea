// Copies rows that are contiguous on both sides, at least 16 bytes long, and begin at any byte, to a contiguous
// result. An invocation makes four aligned vectors of the result, each from two vectors of the source. Distances, and
// the run, are in bytes. Vectors, rows and tiles are to each other as groups, rows and tiles are in `copy_words.wgsl`.
// Needs: nothing.
#import walk.wgsl

@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> dest: array<vec4<u32>>;

// The 16 bytes that begin at byte `at` & 15 of two vectors.
fn shifted(low: vec4<u32>, high: vec4<u32>, at: u32) -> vec4<u32> {
    let two = (at & 8u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (at & 4u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = vec4(words.yzw, select(b.x, b.y, one));
    // One shift by 32 would be a shift by 0.
    let bits = vec4(at << 3u);
    return (words >> bits) | ((above << vec4(1u)) << ~bits);
}

// The 16 bytes at byte `at`, which may lie partly outside the binding; those bytes are not used.
fn fetch(at: u32) -> vec4<u32> {
    let last = arrayLength(&source) - 1u;
    let vector = u32(i32(at) >> 4u);
    return shifted(source[min(vector, last)], source[min(vector + 1u, last)], at);
}

// Ones in the first `count` bytes of a vector.
fn first_bytes(count: u32) -> vec4<u32> {
    let bytes = clamp(vec4(i32(count)) - vec4(0, 4, 8, 12), vec4(0), vec4(4));
    let ones = (vec4(1u) << vec4<u32>((bytes & vec4(3)) * 8)) - vec4(1u);
    return select(ones, vec4(NONE), bytes == vec4(4));
}

// Makes a vector whose bytes lie in two rows, or partly outside the result, which it begins with byte `first`.
fn make_edge(vector: u32, first: u32) {
    let number = select(first / walk.run, 0u, first > HIGH);
    let row = locate(number);
    let next = locate(min(number + 1u, walk.rows - 1u));
    let j = first - number * walk.run;
    let left = walk.run - j;
    // The bytes of the vector that the first row has, and all that the result has.
    let here = first_bytes(min(left, 16u)) & ~first_bytes(select(0u, 0u - j, j > HIGH));
    let there = select(vec4(0u), ~first_bytes(min(left, 16u)), number + 1u < walk.rows);
    var bytes = select(vec4(0u), fetch(row.base + j) & here, row.state == FOUND);
    bytes |= select(vec4(0u), fetch(next.base - left) & there, next.state == FOUND);
    var written = select(vec4(0u), here, row.state != ELSEWHERE);
    written |= select(vec4(0u), there, next.state != ELSEWHERE);
    let to = walk.to_base + vector;
    for (var n = 0u; n < 4u; n++) {
        if written[n] == NONE {
            dest[to][n] = bytes[n];
        } else if written[n] != 0u {
            dest[to][n] = bytes[n] | (dest[to][n] & ~written[n]);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    let tile = workgroup_number(workgroup, walk.groups_x) * (WORKGROUP >> walk.lanes_log2) + (local >> walk.lanes_log2);
    let number = tile / walk.segments;
    if number >= walk.rows { return; }
    let part = tile - number * walk.segments;
    let row = locate(number);
    if part == 0u && lane == 0u && may_report(row) { report_row(row.tuple); }
    let first = number * walk.run + walk.head;
    let begin = select((first + 15u) >> 4u, 0u, number == 0u);
    let vectors = begin + part * walk.segment + lane + lanes * FOUR;
    var edges = vec2(NONE, 0u);
    for (var n = 0u; !LOOPS || n < walk.segment; n += 4u * lanes) {
        edges = make_four(row, first, vectors + n, edges);
        if !LOOPS { break; }
    }
    for (var vector = edges.x; vector < edges.y; vector += lanes) { make_edge(vector, vector * 16u - walk.head); }
}

// Makes four vectors of a row, which begins `first` bytes after the beginning of vector 0. Returns `edges`, extended to
// those that the row holds only in part.
fn make_four(row: Row, first: u32, vectors: vec4<u32>, edges: vec2<u32>) -> vec2<u32> {
    let j = vectors * 16u - first;
    // `j` wraps before the row.
    let whole = j < vec4(walk.run - 15u);
    let at = select(vec4(0u), row.base + j, whole & vec4(row.state == FOUND));
    let last = (at + 15u) >> vec4(4u);
    // The vectors of a row are whole vectors apart, so all four are shifted alike.
    let shift = row.base + j.x;
    let a = shifted(source[at.x >> 4u], source[last.x], shift);
    let b = shifted(source[at.y >> 4u], source[last.y], shift);
    let c = shifted(source[at.z >> 4u], source[last.z], shift);
    let d = shifted(source[at.w >> 4u], source[last.w], shift);
    let to = walk.to_base + vectors;
    if !LOOPS && all(whole) && row.state == FOUND {
        dest[to.x] = a;
        dest[to.y] = b;
        dest[to.z] = c;
        dest[to.w] = d;
        return edges;
    }
    if row.state != ELSEWHERE {
        let zero = row.state == MISSING;
        if whole.x { dest[to.x] = select(a, vec4(0u), zero); }
        if whole.y { dest[to.y] = select(b, vec4(0u), zero); }
        if whole.z { dest[to.z] = select(c, vec4(0u), zero); }
        if whole.w { dest[to.w] = select(d, vec4(0u), zero); }
    }
    let inside = vectors < vec4((first + walk.run + 15u) >> 4u);
    return extended(edges, vectors, inside & !whole);
}
