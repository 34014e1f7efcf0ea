// Units of 16 bytes, made of 32-bit words.

alias Unit = vec4<u32>;
alias Part = Unit;
const PARTS: u32 = 1u;

fn fetch(at: u32) -> Unit {
    // Bytes of the elements, whose order is reversed.
    let element = flip_bytes();
    var words = source[at];
    if element <= 8u {
        words = words.zwxy;
    }
    if element <= 4u {
        words = words.yxwz;
    }
    if element <= 2u {
        words = (words << vec4(16u)) | (words >> vec4(16u));
    }
    if element == 1u {
        let low = vec4(0x00ff00ffu);
        words = ((words & low) << vec4(8u)) | ((words >> vec4(8u)) & low);
    }
    return words;
}
