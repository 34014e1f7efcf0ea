// Access to the bytes of words, for kernels whose units are smaller than words.

const PARTS: u32 = 1u;

// Loads the four bytes that begin at any byte address. Bytes after the last word are unspecified.
fn load(address: u32) -> u32 {
    let word = address >> 2u;
    let shift = (address & 3u) << 3u;
    let low = source[word];
    let high = source[min(word + 1u, arrayLength(&source) - 1u)];
    return select((low >> shift) | (high << (32u - shift)), low, shift == 0u);
}

// Returns a mask of the lowest `bytes` bytes of a word; `bytes` is 1 to 4.
fn low_bytes(bytes: u32) -> u32 {
    return 0xffffffffu >> (32u - 8u * bytes);
}
