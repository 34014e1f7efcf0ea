// The 16 bytes that begin `address & 15` bytes behind the beginning of the first of two vectors.
fn shifted(low: vec4<u32>, high: vec4<u32>, address: u32) -> vec4<u32> {
    let two = (address & 8u) != 0u;
    let a = select(low, vec4(low.zw, high.xy), two);
    let b = select(high.xy, high.zw, two);
    let one = (address & 4u) != 0u;
    let words = select(a, vec4(a.yzw, b.x), one);
    let above = vec4(words.yzw, select(b.x, b.y, one));
    // What counts of the number of bits is its remainder of 32. In two steps, since a word cannot be shifted by all of
    // its bits.
    let bits = vec4(address << 3u);
    return (words >> bits) | ((above << vec4(1u)) << ~bits);
}
