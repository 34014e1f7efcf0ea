// Units of 16 bytes, made of 32-bit words.

alias Unit = vec4<u32>;
alias Part = Unit;
const PARTS: u32 = 1u;

// A unit holds elements of so many bytes in reverse order; as many as it has itself: as they are.
override FLIP: u32;

fn fetch(at: u32) -> Unit {
    var words = source[at];
    if FLIP <= 8u {
        words = words.zwxy;
    }
    if FLIP <= 4u {
        words = words.yxwz;
    }
    if FLIP <= 2u {
        words = (words << vec4(16u)) | (words >> vec4(16u));
    }
    if FLIP == 1u {
        let low = vec4(0x00ff00ffu);
        words = ((words & low) << vec4(8u)) | ((words >> vec4(8u)) & low);
    }
    return words;
}
