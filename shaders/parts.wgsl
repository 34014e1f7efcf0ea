// Numbers of 1 or 2 bytes that share words.
// Defines: combined_parts, and constants. Needs: no other names.
#import number.wgsl

// The size of a number in bytes.
override ELEMENT: u32 = 1u;
// The rule: 0 adds integers, OR and AND combine booleans, and ADD_F16 and ADD_BF16 add floats.
override RULE: u32 = 0u;
const OR: u32 = 1u;
const AND: u32 = 2u;
const ADD_F16: u32 = 3u;
const ADD_BF16: u32 = 4u;

fn add_f16(a: u32, b: u32) -> u32 {
    return f16_of_f32(f32_of_f16(a) + f32_of_f16(b));
}

fn add_bf16(a: u32, b: u32) -> u32 {
    return bf16_of_f32(bitcast<f32>(a << 16u) + bitcast<f32>(b << 16u));
}

// Combines each element of word `a` with the element at the same position in word `b`.
fn combined_parts(a: u32, b: u32) -> u32 {
    if RULE == OR { return a | b; }
    if RULE == AND { return a & b; }
    if RULE == ADD_F16 {
        return add_f16(a & 0xffffu, b & 0xffffu) | (add_f16(a >> 16u, b >> 16u) << 16u);
    }
    if RULE == ADD_BF16 {
        return add_bf16(a & 0xffffu, b & 0xffffu) | (add_bf16(a >> 16u, b >> 16u) << 16u);
    }
    // The highest bit of each element is added separately, so that no carry leaves the element.
    let highest = select(0x80008000u, 0x80808080u, ELEMENT == 1u);
    return ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
}
