// Moves rows of 1 to 4 bytes. An invocation builds the words of the result that four rows fill, without a loop. The
// whole source is bound.

const PARTS: u32 = 1u;

// The size of a row in bytes.
override ROW_BYTES: u32;
// The size of a unit of the source in bytes.
override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

// Loads the bytes of a row into the low end of a word, or returns 0 if the row has no source.
fn row_bytes(begin: Row) -> u32 {
    let address = select(0u, (uniforms.source_base + begin.base) * UNIT_BYTES, begin.state == FOUND);
    let word = address >> 2u;
    let shift = (address & 3u) << 3u;
    var bytes = source[word] >> shift;
    // A unit lies in one word; a row of several units may end in the next word.
    if ROW_BYTES > UNIT_BYTES {
        if shift + 8u * ROW_BYTES > 32u {
            bytes |= source[word + 1u] << (32u - shift);
        }
    }
    let all = 0xffffffffu >> (32u - 8u * ROW_BYTES);
    return select(0u, bytes & all, begin.state == FOUND);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    let row = tile * 4u;
    let rows = four(row);
    let a = row_bytes(rows.a);
    let b = row_bytes(rows.b);
    let c = row_bytes(rows.c);
    let d = row_bytes(rows.d);
    let to = uniforms.dest_base + tile * ROW_BYTES;
    if ROW_BYTES == 1u {
        dest[to] = a | (b << 8u) | (c << 16u) | (d << 24u);
    } else if ROW_BYTES == 2u {
        dest[to] = a | (b << 16u);
        dest[to + 1u] = c | (d << 16u);
    } else if ROW_BYTES == 3u {
        dest[to] = a | (b << 24u);
        dest[to + 1u] = (b >> 8u) | (c << 16u);
        dest[to + 2u] = (c >> 16u) | (d << 8u);
    } else {
        dest[to] = a;
        dest[to + 1u] = b;
        dest[to + 2u] = c;
        dest[to + 3u] = d;
    }
    let states = vec4(rows.a.state, rows.b.state, rows.c.state, rows.d.state);
    four_missing(row + vec4(0u, 1u, 2u, 3u), states == vec4(MISSING));
}
