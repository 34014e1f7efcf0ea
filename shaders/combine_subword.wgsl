// Combines rows of 1-byte or 2-byte elements with slices of the destination. Slices may share words. If only part of a
// word belongs to a slice, an invocation clears the slice's bits with one atomic and sets them with another.
//
// A slice lies in at most `run` words, and a tile is a segment of these words. `scatter_nd.wgsl` says what lists are.

override UNIT_BYTES: u32;

// The code of the rule by which elements are combined. Numbers are added; booleans are combined by OR or AND.
override RULE: u32;
const INTEGERS: u32 = 0u;
const OR: u32 = 1u;
const AND: u32 = 2u;
const F16: u32 = 3u;
const BF16: u32 = 4u;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<atomic<u32>>;

// Converts an f16 to an f32. This is exact, because every f16 value is an f32 value. The biases of the exponents differ
// by 112.
fn f32_of_f16(half: u32) -> f32 {
    let sign = (half & 0x8000u) << 16u;
    let rest = half & 0x7fffu;
    var bits = (rest << 13u) + (112u << 23u);
    if rest < 0x0400u {
        // A subnormal f16 is a multiple of 2^-24.
        bits = bitcast<u32>(f32(rest) * 5.9604644775390625e-8);
    } else if rest >= 0x7c00u {
        bits = (rest << 13u) | 0x7f800000u;
    }
    return bitcast<f32>(sign | bits);
}

// Returns `bits` divided by 2^count, rounded to nearest, ties to even. `count` is 1 to 24.
fn rounded(bits: u32, count: u32) -> u32 {
    return (bits + (1u << (count - 1u)) - 1u + ((bits >> count) & 1u)) >> count;
}

fn f16_of_f32(single: f32) -> u32 {
    let bits = bitcast<u32>(single);
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    var half = 0x7e00u;
    if rest < 0x38800000u {
        // Below 2^-14, the numbers that an f16 can hold are the multiples of 2^-24.
        let shift = 126u - (rest >> 23u);
        half = 0u;
        if shift <= 24u {
            half = rounded((rest & 0x007fffffu) | 0x00800000u, shift);
        }
    } else if rest < 0x7f800000u {
        half = min(rounded(rest, 13u) - (112u << 10u), 0x7c00u);
    } else if rest == 0x7f800000u {
        half = 0x7c00u;
    }
    return sign | half;
}

fn add_f16(a: u32, b: u32) -> u32 {
    return f16_of_f32(f32_of_f16(a) + f32_of_f16(b));
}

fn add_bf16(a: u32, b: u32) -> u32 {
    let bits = bitcast<u32>(bitcast<f32>(a << 16u) + bitcast<f32>(b << 16u));
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return ((bits >> 16u) & 0x8000u) | 0x7fc0u;
    }
    return rounded(bits, 16u);
}

// Combines each element of word `a` with the element at the same place in word `b`.
fn combined(a: u32, b: u32) -> u32 {
    if RULE == OR {
        return a | b;
    }
    if RULE == AND {
        return a & b;
    }
    if RULE == F16 {
        return add_f16(a & 0xffffu, b & 0xffffu) | (add_f16(a >> 16u, b >> 16u) << 16u);
    }
    if RULE == BF16 {
        return add_bf16(a & 0xffffu, b & 0xffffu) | (add_bf16(a >> 16u, b >> 16u) << 16u);
    }
    // The highest bit of each element is added separately, so that no carry leaves the element.
    let highest = select(0x80008000u, 0x80808080u, UNIT_BYTES == 1u);
    return ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= uniforms.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let per_word = 4u / UNIT_BYTES;
    let at = segment(tile);

    let start = row_start(at.row);
    if start.state != FOUND {
        return;
    }
    let to = uniforms.dest_base + start.to;
    // Words are counted from the one that holds the slice's first element.
    let head_place = to % per_word;
    let first_word = to / per_word;
    for (var w = at.first + (id & (lanes - 1u)); w < at.end; w += lanes) {
        // The place in word `w`, counted in elements, of the first element that belongs to the slice.
        let place = select(0u, head_place, w == 0u);
        // The number of this element in the slice.
        let j = w * per_word + place - head_place;
        if j >= uniforms.units {
            break;
        }
        let count = min(per_word - place, uniforms.units - j);
        let shift = place * UNIT_BYTES * 8u;
        let keep = low_bytes(count * UNIT_BYTES);
        let written = keep << shift;
        // Bits outside the slice are masked: they may lie in memory that was never written, and the addition of f16 and
        // bf16 numbers branches on all bits of a word.
        var result = atomicLoad(&dest[first_word + w]) & written;
        // The link to the next row is loaded before this row is combined, so that the load and the arithmetic overlap.
        for (var link = at.row + 1u; link != 0u;) {
            let update = load((uniforms.source_base + (link - 1u) * stride() + j) * UNIT_BYTES);
            link = next(link);
            result = combined(result, (update & keep) << shift);
        }
        if written == 0xffffffffu {
            atomicStore(&dest[first_word + w], result);
        } else {
            atomicAnd(&dest[first_word + w], ~written);
            atomicOr(&dest[first_word + w], result & written);
        }
    }
}
