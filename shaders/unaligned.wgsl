// Moves contiguous rows of 1-byte or 2-byte elements that begin at any byte. An invocation writes one aligned 16-byte
// vector of the result, which lies in one row or holds parts of several rows. Each part comes from two aligned vectors
// of the source, shifted.
//
// Source and result are bound as arrays of vectors, and the whole source is bound. In the first and the last vector,
// words that are wholly outside the result are not written. In the words that are written, bytes outside the result
// keep their values.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> dest: array<vec4<u32>>;

const PARTS: u32 = 1u;
const VECTOR_BYTES: u32 = 16u;

// Loads vector `at` of the source. If `at` is outside the binding, the last vector is loaded in its place, and the
// caller uses no byte of it.
fn source_vector(at: u32) -> vec4<u32> {
    return source[min(at, arrayLength(&source) - 1u)];
}

// Loads the 16 bytes that begin at `address`, which need not be aligned and may lie up to 15 bytes before the binding.
fn load_unaligned(address: u32) -> vec4<u32> {
    let at = u32(i32(address) >> 4u);
    return shifted(source_vector(at), source_vector(at + 1u), address);
}

// Returns ones in the first `count` bytes of a vector.
fn first_bytes(count: u32) -> vec4<u32> {
    let bytes = clamp(vec4(i32(count)) - vec4(0, 4, 8, 12), vec4(0), vec4(4));
    let ones = (vec4(1u) << vec4<u32>((bytes & vec4(3)) * 8)) - vec4(1u);
    return select(ones, vec4(0xffffffffu), bytes == vec4(4));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let vector = invocation(group, local);
    if vector >= uniforms.tiles {
        return;
    }
    let row_bytes = uniforms.run * UNIT_BYTES;
    let bytes = uniforms.units * UNIT_BYTES;
    let begin = uniforms.dest_base * UNIT_BYTES;
    // The number of bytes before the result in its first vector.
    let head = begin % VECTOR_BYTES;
    let to = begin / VECTOR_BYTES + vector;

    // The number of the result's byte with which the vector begins. In the first vector it may be negative, and wraps.
    var byte = vector * VECTOR_BYTES - head;

    // A vector that lies within one row needs no loop. If rows are longer than a few vectors, nearly every vector does.
    let last = max(bytes, VECTOR_BYTES) - VECTOR_BYTES;
    let only_byte = min(byte, last);
    let only_row = only_byte / row_bytes;
    let from_byte = only_byte - only_row * row_bytes;
    let only_start = source_row(only_row);
    let room = i32(row_bytes) - i32(VECTOR_BYTES);
    if byte <= last && i32(from_byte) <= room && only_start.state == FOUND {
        let address = (uniforms.source_base + only_start.base) * UNIT_BYTES + from_byte;
        // The two indices are those of the vectors that hold the first and the last byte.
        dest[to] = shifted(source[address >> 4u], source[(address + 15u) >> 4u], address);
        return;
    }

    // `place` is the byte of the vector that is filled next, and `byte` is the number of this byte in the result.
    var place = select(0u, head, vector == 0u);
    byte += place;
    var result = vec4(0u);
    var written = vec4(0u);
    while place < VECTOR_BYTES && byte < bytes {
        let row = byte / row_bytes;
        let j = byte - row * row_bytes;
        let count = min(VECTOR_BYTES - place, row_bytes - j);
        let start = source_row(row);
        let mask = first_bytes(place + count) & ~first_bytes(place);
        if start.state == FOUND {
            let address = (uniforms.source_base + start.base) * UNIT_BYTES + j;
            result |= load_unaligned(address - place) & mask;
        } else if j == 0u {
            missing(row);
        }
        written |= mask;
        place += count;
        byte += count;
    }
    if all(written == vec4(0xffffffffu)) {
        dest[to] = result;
        return;
    }
    let kept = ~written;
    if written.x != 0u {
        dest[to].x = result.x | (dest[to].x & kept.x);
    }
    if written.y != 0u {
        dest[to].y = result.y | (dest[to].y & kept.y);
    }
    if written.z != 0u {
        dest[to].z = result.z | (dest[to].z & kept.z);
    }
    if written.w != 0u {
        dest[to].w = result.w | (dest[to].w & kept.w);
    }
}
