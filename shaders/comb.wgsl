// Units of 1 or 2 bytes that neighbour each other in the source, spread over four words, for CPU
// adapters: they pay for every load and little for arithmetic, so that units are loaded by whole words.

override UNIT_BYTES: u32;

// Units that go into four words at most.
override COUNT: u32;

// How neighbours lie in the source: 0, they are the same one; 1, upwards; 2, downwards.
override ORDER: u32;

// What becomes of four words: the bits that are written, and which they are; and how many units those
// are, whether or not the row has as many.
struct Comb {
    words: vec4<u32>,
    written: vec4<u32>,
    used: u32,
}

// Where the units of a comb come from and go: the first one's byte in the source, how many there are,
// its place in units, and how far its neighbours lie apart.
struct Teeth {
    address: u32,
    left: u32,
    place: u32,
    step: u32,
}

// The `n`th word of those that hold the units, in the order in which they are wanted. Of those that hold none, and
// may lie beyond the source, any other.
fn source_word(first: u32, n: u32) -> u32 {
    if ORDER == 0u {
        return 0u;
    }
    let last = arrayLength(&source) - 1u;
    if ORDER == 1u {
        return source[min(first + n, last)];
    }
    let word = source[min(first - n, last)];
    let halves = (word << 16u) | (word >> 16u);
    if UNIT_BYTES == 2u {
        return halves;
    }
    return ((halves & 0x00ff00ffu) << 8u) | ((halves >> 8u) & 0x00ff00ffu);
}

fn joined(low: u32, high: u32, shift: u32) -> u32 {
    return (low >> shift) | ((high << (31u - shift)) << 1u);
}

// The `n`th unit, which lies in this word, put in its place.
fn put(n: u32, word: u32, teeth: Teeth, comb: ptr<function, Comb>) {
    let per_word = 4u / UNIT_BYTES;
    let keep = 0xffffffffu >> (32u - 8u * UNIT_BYTES);
    let value = (word >> (8u * UNIT_BYTES * (n % per_word))) & keep;
    let place = teeth.place + n * teeth.step;
    let shift = (place % per_word) * 8u * UNIT_BYTES;
    let there = vec4<u32>(place / per_word) == vec4<u32>(0u, 1u, 2u, 3u);
    let here = there & vec4<bool>(n < teeth.left);
    (*comb).words |= select(vec4<u32>(), vec4<u32>(value << shift), here);
    (*comb).written |= select(vec4<u32>(), vec4<u32>(keep << shift), here);
    (*comb).used += u32(place < 4u * per_word);
}

fn combed(teeth: Teeth) -> Comb {
    // The word and the byte of the first unit, and the number of the last word that may be needed.
    var first = teeth.address >> 2u;
    var skip = teeth.address & 3u;
    if ORDER == 2u {
        let top = teeth.address + UNIT_BYTES - 1u;
        first = top >> 2u;
        skip = 3u - (top & 3u);
    }
    let last = (4u - UNIT_BYTES + COUNT * UNIT_BYTES - 1u) / 4u;
    let shift = skip * 8u;
    var a = source_word(first, 0u);
    var b = 0u;
    var c = 0u;
    var d = 0u;
    var e = 0u;
    if last > 0u { b = source_word(first, 1u); }
    if last > 1u { c = source_word(first, 2u); }
    if last > 2u { d = source_word(first, 3u); }
    if last > 3u { e = source_word(first, 4u); }
    a = joined(a, b, shift);
    b = joined(b, c, shift);
    c = joined(c, d, shift);
    d = joined(d, e, shift);
    if ORDER == 0u {
        a = (source[min(first, arrayLength(&source) - 1u)] >> shift) & (0xffffffffu >> (32u - 8u * UNIT_BYTES));
        if UNIT_BYTES == 1u { a |= a << 8u; }
        a |= a << 16u;
        b = a;
        c = a;
        d = a;
    }
    var comb = Comb(vec4<u32>(), vec4<u32>(), 0u);
    if UNIT_BYTES == 1u {
        put(0u, a, teeth, &comb);
        if COUNT > 1u { put(1u, a, teeth, &comb); }
        if COUNT > 2u { put(2u, a, teeth, &comb); }
        if COUNT > 3u { put(3u, a, teeth, &comb); }
        if COUNT > 4u { put(4u, b, teeth, &comb); }
        if COUNT > 5u { put(5u, b, teeth, &comb); }
        if COUNT > 6u { put(6u, b, teeth, &comb); }
        if COUNT > 7u { put(7u, b, teeth, &comb); }
        if COUNT > 8u { put(8u, c, teeth, &comb); }
        if COUNT > 9u { put(9u, c, teeth, &comb); }
        if COUNT > 10u { put(10u, c, teeth, &comb); }
        if COUNT > 11u { put(11u, c, teeth, &comb); }
        if COUNT > 12u { put(12u, d, teeth, &comb); }
        if COUNT > 13u { put(13u, d, teeth, &comb); }
        if COUNT > 14u { put(14u, d, teeth, &comb); }
        if COUNT > 15u { put(15u, d, teeth, &comb); }
    } else {
        put(0u, a, teeth, &comb);
        if COUNT > 1u { put(1u, a, teeth, &comb); }
        if COUNT > 2u { put(2u, b, teeth, &comb); }
        if COUNT > 3u { put(3u, b, teeth, &comb); }
        if COUNT > 4u { put(4u, c, teeth, &comb); }
        if COUNT > 5u { put(5u, c, teeth, &comb); }
        if COUNT > 6u { put(6u, d, teeth, &comb); }
        if COUNT > 7u { put(7u, d, teeth, &comb); }
    }
    return comb;
}
