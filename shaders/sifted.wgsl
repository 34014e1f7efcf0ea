// Moves the rows of a gather that lie in one of several windows of params, on a CPU adapter, where nothing that
// an invocation leaves out takes less time than what it does. So each looks up 64 rows, one after the other
// with its neighbours, and then walks those that are its own: rows in other windows cost a look-up and no more.
//
// A row is found if it begins or ends in the window: the host sees to it that none reaches beyond it on both
// sides.

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// Of 32 rows, a bit for each that has units here, and for each that has no source.
struct Sifted {
    here: u32,
    gone: u32,
}

fn sift(first: u32) -> Sifted {
    var sifted: Sifted;
    for (var n = 0u; n < 32u; n += 4u) {
        let row = first + n;
        let at = four(row);
        let begin = params.source_base + vec4(at.a.base, at.b.base, at.c.base, at.d.base);
        let end = begin + (params.run - 1u) * params.step * PARTS;
        let states = vec4(at.a.state, at.b.state, at.c.state, at.d.state);
        let known = (vec4(row) + vec4(0u, 1u, 2u, 3u)) * params.run < vec4(params.units);
        let inside = (begin < vec4(params.window)) | (end < vec4(params.window));
        sifted.here |= bits(known & (states == vec4(FOUND)) & inside) << n;
        sifted.gone |= bits(known & (states == vec4(MISSING))) << n;
    }
    return sifted;
}

fn bits(flags: vec4<bool>) -> u32 {
    let ones = select(vec4(0u), vec4(1u, 2u, 4u, 8u), flags);
    return ones.x | ones.y | ones.z | ones.w;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let first = tile * 32u;
    let sifted = sift(first);
    for (var left = sifted.here; left != 0u; left &= left - 1u) {
        let start = row_start(first + firstTrailingBit(left));
        let to = params.dest_base + start.to;
        for (var j = 0u; j < params.run; j++) {
            let from_part = unit_at(start, j).base;
            if within(from_part) {
                dest[to + j] = fetch(from_part);
            }
        }
    }
    for (var left = sifted.gone; left != 0u; left &= left - 1u) {
        let row = first + firstTrailingBit(left);
        missing(row);
        for (var j = 0u; j < params.run; j++) {
            dest[params.dest_base + row * params.run + j] = Unit();
        }
    }
}
