// The first step of scatter_nd: finds the slice of each row of updates, and the rows of each slice. `scatter_nd.wgsl`
// says what slices, blocks, lists and links are.
//
// For every bound slice `head` has an entry: one more than the number of a row that goes to it, or 0. If rows replace
// the slice, the entry names the last such row; if they are combined, it names any of them, and links lead from it to
// the others. The rows of a block are numbered from `dest_base`. An entry that names a row with a smaller number was
// left by an earlier block.
//
// `indexed.wgsl` finds the slice that a tuple points at: here the `base` of a `Row` is the number of the row's slice.
// A tile is four rows.

const PARTS: u32 = 1u;

// Whether `head` is read before the atomic that changes it. This helps on software adapters, where the atomics of
// several lanes wait for memory one by one, while loads wait together.
override LOOKS: bool;

// A flag that `scatter_sort.wgsl` sets in entries of `head`; it is not part of the row's number.
const FIRST: u32 = 0x80000000u;

// Stands for no slice in `rows`: the row is out of range, or its slice is not bound.
const NONE: u32 = 0xffffffffu;

// If a single row out of range forbids all changes, word 0 counts the tiles that have such rows. The entries of the
// slices follow.
@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// The slice of each row. If rows form lists, two things follow: for each row the link to the next row of its list, or
// 0; then a vector whose first two words count the slices that the next step notes.
@group(0) @binding(1) var<storage, read_write> rows: array<vec4<u32>>;

// Returns the entry of `head` for a slice, or 0 if LOOKS is false or `slice` is NONE.
fn peek_head(slice: u32) -> u32 {
    var last = 0u;
    if LOOKS && slice != NONE {
        last = atomicLoad(&head[slice + 1u]);
    }
    return last;
}

// Makes the entry of a slice in `head` name a row, where `last` is what `peek_head` returned for the slice. Returns the
// link to the row of this block that the entry named before, or 0. The caller uses this link only if rows form lists.
fn link_row(slice: u32, row: u32, last: u32) -> u32 {
    let number = uniforms.dest_base + row;
    var before = 0u;
    // Without lists, a row is skipped if the entry already names it or a later row. Lists take every row: `last` is
    // never NONE, and comparing it with NONE keeps the compiler from dropping the load of `last`.
    if slice != NONE && select(last <= number, last != NONE, flag(CHAINS)) {
        if flag(CHAINS) {
            before = atomicExchange(&head[slice + 1u], number + 1u) & ~FIRST;
        } else {
            atomicMax(&head[slice + 1u], number + 1u);
        }
    }
    return select(0u, before - uniforms.dest_base, before > uniforms.dest_base);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    let row = tile * 4u;
    let found = four(row);
    let numbers = row + vec4(0u, 1u, 2u, 3u);
    let states = vec4(found.a.state, found.b.state, found.c.state, found.d.state);
    let there = numbers < vec4(uniforms.units);
    let bad = there & (states == vec4(MISSING));
    four_missing(numbers, bad);
    if flag(CHECKS) {
        if any(bad) {
            atomicAdd(&head[0], 1u);
        }
        return;
    }
    // The stride of axis 0 is the number of the first bound slice, from which slices are counted here. For earlier
    // slices the difference wraps to a number that is not less than `bound`.
    let bases = vec4(found.a.base, found.b.base, found.c.base, found.d.base) - axis(0u).stride;
    let bound = there & (states == vec4(FOUND)) & (bases < vec4(uniforms.map.bound));
    let slices = select(vec4(NONE), bases, bound);
    let last = vec4(peek_head(slices.x), peek_head(slices.y), peek_head(slices.z), peek_head(slices.w));
    let next = vec4(
        link_row(slices.x, row, last.x),
        link_row(slices.y, row + 1u, last.y),
        link_row(slices.z, row + 2u, last.z),
        link_row(slices.w, row + 3u, last.w),
    );
    rows[tile] = slices;
    if flag(CHAINS) {
        rows[uniforms.tiles + tile] = next;
        if tile == 0u {
            rows[2u * uniforms.tiles] = vec4(0u);
        }
    }
}
