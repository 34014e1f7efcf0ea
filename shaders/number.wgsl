// Conversions of numbers to and from f32 by integer arithmetic (except of subnormal f16), because drivers convert NaNs,
// ties and subnormal numbers differently. `src/number.rs` has the same conversions in Rust.
// Defines: f32_of_f16, rounded, f16_of_f32, bf16_of_f32, integer_of_f32. Needs: no other names.

// Converts an f16 to an f32. The conversion is exact, because every f16 value is also an f32 value. The exponent biases
// of the two formats differ by 112.
fn f32_of_f16(half: u32) -> f32 {
    let sign = (half & 0x8000u) << 16u;
    let magnitude = half & 0x7fffu;
    var bits = (magnitude << 13u) + (112u << 23u);
    if magnitude < 0x0400u {
        // A subnormal f16 is a multiple of 2^-24.
        bits = bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8);
    } else if magnitude >= 0x7c00u {
        bits = (magnitude << 13u) | 0x7f800000u;
    }
    return bitcast<f32>(sign | bits);
}

// Returns `bits` divided by 2^count, rounded to the nearest integer, ties to even. `count` is 1 to 24.
fn rounded(bits: u32, count: u32) -> u32 {
    return (bits + (1u << (count - 1u)) - 1u + ((bits >> count) & 1u)) >> count;
}

fn f16_of_f32(single: f32) -> u32 {
    let bits = bitcast<u32>(single);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    var half = 0x7e00u;
    if magnitude < 0x38800000u {
        // Below 2^-14, the values of f16 are the multiples of 2^-24.
        let shift = 126u - (magnitude >> 23u);
        half = 0u;
        if shift <= 24u {
            half = rounded((magnitude & 0x007fffffu) | 0x00800000u, shift);
        }
    } else if magnitude < 0x7f800000u {
        half = min(rounded(magnitude, 13u) - (112u << 10u), 0x7c00u);
    } else if magnitude == 0x7f800000u {
        half = 0x7c00u;
    }
    return sign | half;
}

fn bf16_of_f32(single: f32) -> u32 {
    let bits = bitcast<u32>(single);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return ((bits >> 16u) & 0x8000u) | 0x7fc0u;
    }
    return rounded(bits, 16u);
}

// Returns the integer nearest to a number, with ties to even, clamped to the range from -`least` to `most`. Negative
// results are in two's complement. A NaN becomes 0.
fn integer_of_f32(single: f32, most: u32, least: u32) -> u32 {
    let bits = bitcast<u32>(single);
    let magnitude = bits & 0x7fffffffu;
    var size = 0u;
    if magnitude >= 0x47800000u {
        // The magnitude is at least 2^16, or the number is a NaN.
        size = select(0x10000u, 0u, magnitude > 0x7f800000u);
    } else if magnitude >= 0x3f000000u {
        // The magnitude is at least 1/2. Numbers of smaller magnitude become 0.
        size = rounded((magnitude & 0x007fffffu) | 0x00800000u, 150u - (magnitude >> 23u));
    }
    return select(min(size, most), 0u - min(size, least), bits >= 0x80000000u);
}
