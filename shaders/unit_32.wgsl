// Units of 32 bytes, made of 64-bit words.

alias Unit = vec4<u64>;
alias Part = Unit;
const PARTS: u32 = 1u;

// A unit holds elements of so many bytes in reverse order; as many as it has itself: as they are.
override FLIP: u32;

fn fetch(at: u32) -> Unit {
    return flipped(source[at]);
}

fn flipped(unit: Unit) -> Unit {
    var words = unit;
    if FLIP <= 16u {
        words = words.zwxy;
    }
    if FLIP <= 8u {
        words = words.yxwz;
    }
    if FLIP <= 4u {
        words = (words << vec4(32u)) | (words >> vec4(32u));
    }
    if FLIP <= 2u {
        let low = vec4(0x0000ffff0000fffflu);
        words = ((words & low) << vec4(16u)) | ((words >> vec4(16u)) & low);
    }
    if FLIP == 1u {
        let low = vec4(0x00ff00ff00ff00fflu);
        words = ((words & low) << vec4(8u)) | ((words >> vec4(8u)) & low);
    }
    return words;
}
