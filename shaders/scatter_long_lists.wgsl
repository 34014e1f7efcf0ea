// The fourth step of a scatter_nd whose result depends on the order of rows: links the rows of those lists that were
// too long for `scatter_middle_lists.wgsl`, in ascending order. For each list a workgroup reads the slices of all rows
// once, which takes the same time for any length and order of the list. It goes from the last rows to the first, so
// that it knows the successor of each row.
//
// Each of the `tiles` workgroups takes every `tiles`-th list. Most scatters have no such lists. `scatter_nd.wgsl` says
// what lists, links and blocks are.

struct Map {
    // The most rows of a list that one invocation sorts.
    longest: u32,
    // The word of `rows` at which the links begin.
    links: u32,
    // The word of `rows` that holds the first slice whose list this step links.
    long: u32,
    // The number that `head` gives to this block's first row.
    @size(84) first_row: u32,
}

// A flag that `scatter_sort.wgsl` sets in entries of `head`, and this step keeps; it is not part of a row's number.
const FIRST: u32 = 0x80000000u;

// The number of rows that a workgroup loads together, here called a stretch: eight for each invocation.
const STRETCH: u32 = 8u * WORKGROUP;
// The number of words of a bit map that has one bit for each row of a stretch.
const WORDS: u32 = STRETCH / 32u;

@group(0) @binding(0) var<storage, read_write> head: array<u32>;
// The layout is that in `scatter_sort.wgsl`.
@group(0) @binding(1) var<storage, read_write> rows: array<u32>;

// The number of lists that this step links.
var<workgroup> noted: u32;
// One bit for each row of a stretch, set if the row goes to the slice whose list the workgroup links now.
var<workgroup> found: array<atomic<u32>, WORDS>;
// The smallest link found so far, negated so that `atomicMax` keeps it; 0 if none is found.
var<workgroup> least: atomic<u32>;

fn links() -> u32 {
    return uniforms.map.links;
}

// Returns a bit for each of four rows, which are WORKGROUP rows apart: whether the row goes to the slice. There is no
// loop, since each of its rounds would wait for its own load.
fn four_that_go(row: u32, slice: u32) -> u32 {
    let at = row + WORKGROUP * vec4(0u, 1u, 2u, 3u);
    let bound = min(at, vec4(uniforms.units - 1u));
    let slices = vec4(rows[bound.x], rows[bound.y], rows[bound.z], rows[bound.w]);
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), (slices == vec4(slice)) & (at < vec4(uniforms.units)));
    return bits.x | bits.y | bits.z | bits.w;
}

// Returns the place in the stretch of the next row after `place` that goes to the slice, or STRETCH if there is none.
fn found_behind(place: u32) -> u32 {
    var word = place >> 5u;
    var bits = atomicLoad(&found[word]) & (0xfffffffeu << (place & 31u));
    while bits == 0u && word + 1u < WORDS {
        word++;
        bits = atomicLoad(&found[word]);
    }
    return word * 32u + countTrailingZeros(bits);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if local == 0u {
        noted = rows[2u * links() + 1u];
    }
    let lists = workgroupUniformLoad(&noted);
    for (var list = group_number(group); list < lists; list += uniforms.tiles) {
        link_list(rows[uniforms.map.long + list], local);
    }
}

// Links the rows of a slice in ascending order, and names the first in `head`.
fn link_list(slice: u32, local: u32) {
    var behind = 0u;
    if local == 0u {
        atomicStore(&least, 0u);
    }
    for (var left = (uniforms.units + STRETCH - 1u) / STRETCH; left > 0u; left--) {
        let first = (left - 1u) * STRETCH;
        if local < WORDS {
            atomicStore(&found[local], 0u);
        }
        // Bit i: the i-th row of the invocation goes to the slice.
        let row = first + local;
        let mine = four_that_go(row, slice) | (four_that_go(row + 4u * WORKGROUP, slice) << 4u);
        workgroupBarrier();
        for (var bits = mine; bits != 0u; bits &= bits - 1u) {
            let place = firstTrailingBit(bits) * WORKGROUP + local;
            atomicOr(&found[place >> 5u], 1u << (place & 31u));
        }
        workgroupBarrier();
        for (var bits = mine; bits != 0u; bits &= bits - 1u) {
            let place = firstTrailingBit(bits) * WORKGROUP + local;
            let next = found_behind(place);
            rows[links() + first + place] = select(behind, first + next + 1u, next < STRETCH);
            atomicMax(&least, 0u - (first + place + 1u));
        }
        workgroupBarrier();
        behind = 0u - atomicLoad(&least);
    }
    if local == 0u {
        head[slice + 1u] = (uniforms.map.first_row + behind) | FIRST;
    }
}
