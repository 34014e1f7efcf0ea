// Numbers of 1 or 2 bytes that share words.
// Defines: combined_parts. Needs: nothing.

// The bytes of a number.
override ELEMENT: u32 = 1u;
// The rule: numbers are added, and booleans combined by OR or AND.
override RULE: u32 = 0u;
const OR: u32 = 1u;
const AND: u32 = 2u;
const F16: u32 = 3u;
const BF16: u32 = 4u;

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
fn combined_parts(a: u32, b: u32) -> u32 {
    if RULE == OR { return a | b; }
    if RULE == AND { return a & b; }
    if RULE == F16 {
        return add_f16(a & 0xffffu, b & 0xffffu) | (add_f16(a >> 16u, b >> 16u) << 16u);
    }
    if RULE == BF16 {
        return add_bf16(a & 0xffffu, b & 0xffffu) | (add_bf16(a >> 16u, b >> 16u) << 16u);
    }
    // The highest bit of each element is added separately, so that no carry leaves the element.
    let highest = select(0x80008000u, 0x80808080u, ELEMENT == 1u);
    return ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
}
