// Combinations, the last step, of numbers of 1 or 2 bytes. An invocation takes a word of the destination, and combines the
// numbers of the word that belong to a slice, all at once, with the same numbers of every row of the slice, in order. It
// looks at all words or, if rows are few (BY_ROWS), at the words of slices that have rows, each for the slice's first
// row. Slices may share words, so a word that is not written whole is changed by atomics.
//
// Needs: nothing.
#import chain.wgsl

override BY_ROWS: bool = false;
// Whether slices are zeros before, so that their values are not read and those without rows become zeros.
override FRESH: bool = false;
// The bytes of a number.
override ELEMENT: u32 = 1u;
// The rule: numbers are added, and booleans combined by OR or AND.
override RULE: u32 = 0u;
const OR: u32 = 1u;
const AND: u32 = 2u;
const F16: u32 = 3u;
const BF16: u32 = 4u;

@group(0) @binding(0) var<storage, read> lists: array<u32>;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<u32>>;

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
    let highest = select(0x80008000u, 0x80808080u, ELEMENT == 1u);
    return ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
}

// The `bytes` bytes from `byte` on; those above have no meaning.
fn load(byte: u32, bytes: u32) -> u32 {
    let shift = byte % 4u * 8u;
    var word = source[byte / 4u] >> shift;
    if byte % 4u + bytes > 4u { word |= source[byte / 4u + 1u] << (32u - shift); }
    return word;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = workgroup_number(group) * WORKGROUP + local;
    let per_word = 4u / ELEMENT;
    // The elements of the destination that this invocation or its neighbours change, and the invocation's word.
    var begin = walk.to_base;
    var end = begin + (walk.slices - 1u) * walk.pitch + walk.run;
    var number_of_row = 0u;
    var word = begin / per_word + id;
    if BY_ROWS {
        let row = id / walk.segments;
        if row >= walk.rows { return; }
        let slice = slice_at(row);
        number_of_row = walk.first_row + row + 1u;
        if slice == NONE { return; }
        if first_of(slice) != number_of_row { return; }
        begin += slice * walk.pitch;
        end = begin + walk.run;
        word = begin / per_word + (id - row * walk.segments);
    }
    end = min(end, (word + 1u) * per_word);
    var bits = 0u;
    var mask = 0u;
    for (var at = max(begin, word * per_word); at < end;) {
        let slice = (at - walk.to_base) / walk.pitch;
        let j = at - walk.to_base - slice * walk.pitch;
        // The elements of the word from here on that belong to the slice; none if this dispatch leaves out the rest.
        let count = min(end - at, max(walk.run, j) - j);
        let place = at - word * per_word;
        at += max(count, 1u);
        if count == 0u { continue; }
        var number = number_of_row;
        if !BY_ROWS { number = first_of(slice); }
        if !FRESH && number == 0u { continue; }
        let shift = place * ELEMENT * 8u;
        let kept = (NONE >> (32u - count * ELEMENT * 8u)) << shift;
        // Other bits are masked: they may lie in memory that was never written, and the sum of f16 and bf16 numbers
        // branches on all bits of a word.
        var result = 0u;
        if !FRESH { result = atomicLoad(&dest[word]) & kept; }
        // The link to the next row is loaded before this row is combined, so that the load and the arithmetic overlap.
        while number > walk.first_row {
            let update = load(unit_of(number, j) * ELEMENT, count * ELEMENT);
            number = next_of(number);
            result = combined(result, (update << shift) & kept);
        }
        bits |= result & kept;
        mask |= kept;
    }
    if mask == NONE {
        atomicStore(&dest[word], bits);
    } else if mask != 0u {
        atomicAnd(&dest[word], ~mask);
        atomicOr(&dest[word], bits);
    }
}
