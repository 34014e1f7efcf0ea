// Reads 16-byte units, and reverses the order of the elements within each unit. Elements have `element_bytes` bytes.

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

// Loads four units before the first is used, and reverses them together. If each unit were reversed in a branch of its
// own, the compiler would move the unit's load into that branch, where it would wait for the branch before.
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

// Swaps the halves of each word.
fn halves(words: Unit) -> Unit {
    return (words << vec4(16u)) | (words >> vec4(16u));
}

// Swaps the bytes of each half.
fn bytes(words: Unit) -> Unit {
    let low = vec4(0x00ff00ffu);
    return ((words & low) << vec4(8u)) | ((words >> vec4(8u)) & low);
}
