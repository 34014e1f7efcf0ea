// Packs rows of a few bytes into 16-byte vectors. An invocation takes 8 or 16 rows, which together fill whole vectors,
// so that its stores are as wide as possible. `load_rows.wgsl` loads rows that lie anywhere, `load_near.wgsl` rows that
// lie close together. All loads are issued before the first is used.
//
// The result begins at the beginning of a vector. If rows lie anywhere, their number is a multiple of four. The whole
// source is bound.

const PARTS: u32 = 1u;

// The size of a row in bytes.
override ROW_BYTES: u32;
// The size of a unit of the source in bytes.
override UNIT_BYTES: u32;

// The number of rows that an invocation packs: 8 or 16.
override ROWS: u32;
// True if the rows of every invocation are evenly spaced, or if rows lie anywhere. If false, the rows of a few
// invocations lie at two positions of the outer dimensions, and the result may end within a word.
override EVEN: bool;

@group(0) @binding(1) var<storage, read_write> dest: array<vec4<u32>>;

// The words of the result that an invocation builds: at most 28, for 16 rows of 7 bytes.
alias Packed = array<u32, 28>;

// The rows of an invocation, in two words each: the bytes of the row, then zeros.
alias Rows = array<u32, 32>;

// Inserts the low `bytes` bytes of `word` into `packed`, beginning at byte `at`. All other bytes of `word` must be
// zeros, and so must those bytes of `packed` that receive the inserted ones. `bytes` and `at` are known when the
// pipeline is created, so that no index into `packed` is dynamic and the compiler can keep `packed` in registers.
fn put(word: u32, bytes: u32, at: u32, packed: ptr<function, Packed>) {
    let to = at >> 2u;
    let shift = (at & 3u) * 8u;
    (*packed)[to] |= word << shift;
    if (at & 3u) + bytes > 4u {
        (*packed)[to + 1u] |= word >> (32u - shift);
    }
}

fn put_row(row: u32, rows: ptr<function, Rows>, packed: ptr<function, Packed>) {
    let at = row * ROW_BYTES;
    put((*rows)[2u * row], min(ROW_BYTES, 4u), at, packed);
    if ROW_BYTES > 4u { put((*rows)[2u * row + 1u], ROW_BYTES - 4u, at + 4u, packed); }
}

fn put_four(first: u32, rows: ptr<function, Rows>, packed: ptr<function, Packed>) {
    put_row(first, rows, packed);
    put_row(first + 1u, rows, packed);
    put_row(first + 2u, rows, packed);
    put_row(first + 3u, rows, packed);
}

// Stores vector `n` of `packed` in vector `to + n` of the binding. Rows fill the first `words` words of `packed`, and
// possibly the beginning of the next word. Of that word, the bits `kept` keep their values in the result. No other
// words are stored.
fn store(n: u32, to: u32, words: u32, kept: u32, packed: ptr<function, Packed>) {
    let first = 4u * n;
    if ROWS * ROW_BYTES < first * 4u + 16u {
        return;
    }
    let vector = vec4(
        (*packed)[first],
        (*packed)[first + 1u],
        (*packed)[first + 2u],
        (*packed)[first + 3u],
    );
    if words >= first + 4u {
        dest[to + n] = vector;
        return;
    }
    if words > first { dest[to + n].x = vector.x; }
    if words > first + 1u { dest[to + n].y = vector.y; }
    if words > first + 2u { dest[to + n].z = vector.z; }
    if EVEN || kept == 0xffffffffu {
        return;
    }
    if words == first { dest[to + n].x = (vector.x & ~kept) | (dest[to + n].x & kept); }
    if words == first + 1u { dest[to + n].y = (vector.y & ~kept) | (dest[to + n].y & kept); }
    if words == first + 2u { dest[to + n].z = (vector.z & ~kept) | (dest[to + n].z & kept); }
    if words == first + 3u { dest[to + n].w = (vector.w & ~kept) | (dest[to + n].w & kept); }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    // `stage` may contain a barrier, which all invocations must reach, so none returns before it.
    let head = stage(group_number(group) * WORKGROUP * ROWS, local);
    if tile >= uniforms.tiles {
        return;
    }
    let first = tile * ROWS;
    var rows: Rows;
    load_rows(first, local, head, &rows);
    var packed: Packed;
    put_four(0u, &rows, &packed);
    put_four(4u, &rows, &packed);
    if ROWS > 8u {
        put_four(8u, &rows, &packed);
        put_four(12u, &rows, &packed);
    }
    let bytes = min(ROWS, uniforms.units - first) * ROW_BYTES;
    let words = bytes >> 2u;
    var kept = 0xffffffffu;
    if !EVEN { kept <<= (bytes & 3u) * 8u; }
    let to = uniforms.dest_base + tile * (ROWS * ROW_BYTES / 16u);
    store(0u, to, words, kept, &packed);
    store(1u, to, words, kept, &packed);
    store(2u, to, words, kept, &packed);
    store(3u, to, words, kept, &packed);
    store(4u, to, words, kept, &packed);
    store(5u, to, words, kept, &packed);
    store(6u, to, words, kept, &packed);
}
