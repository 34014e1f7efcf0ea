// Units of 16 bytes that hold elements of `element_bytes` bytes in reverse order.

alias Unit = vec4<u32>;
alias Part = Unit;
const PARTS: u32 = 1u;

struct Units {
    a: Unit,
    b: Unit,
    c: Unit,
    d: Unit,
}

fn fetch(at: u32) -> Unit {
    return flipped(Units(source[at], Unit(), Unit(), Unit())).a;
}

// All four are loaded before the first is used, and flipped together: a branch for each would have the compiler
// move its load there, behind the one before.
fn fetch_four(at: vec4<u32>) -> Units {
    return flipped(Units(source[at.x], source[at.y], source[at.z], source[at.w]));
}

fn flipped(loaded: Units) -> Units {
    let element = element_bytes();
    var units = Units(loaded.a.wzyx, loaded.b.wzyx, loaded.c.wzyx, loaded.d.wzyx);
    if element == 8u {
        units = Units(loaded.a.zwxy, loaded.b.zwxy, loaded.c.zwxy, loaded.d.zwxy);
    }
    if element <= 2u {
        units = Units(halves(units.a), halves(units.b), halves(units.c), halves(units.d));
    }
    if element == 1u {
        units = Units(bytes(units.a), bytes(units.b), bytes(units.c), bytes(units.d));
    }
    return units;
}

// The halves of each word, and the bytes of each half, in reverse order.
fn halves(words: Unit) -> Unit {
    return (words << vec4(16u)) | (words >> vec4(16u));
}

fn bytes(words: Unit) -> Unit {
    let low = vec4(0x00ff00ffu);
    return ((words & low) << vec4(8u)) | ((words >> vec4(8u)) & low);
}
