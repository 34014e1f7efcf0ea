// scatter_nd, first step: which slice each row of updates goes to, and which rows go to each slice.
//
// For every slice that is bound `head` holds the number of a row plus one, or 0: of rows that replace, the
// last; of rows that are combined, any, from which `next` leads on to the others. Rows are numbered from
// `dest_base` on, and what is less was left by an earlier block.
//
// `indexed.wgsl` says which slice a tuple points at: here a row begins where the number of its slice says.
// A tile is four rows.

const PARTS: u32 = 1u;

// Whether `head` is read before the atomic: on a software adapter atomics wait for memory one after the other, and
// loads together.
override LOOKS: bool;

// In `head`: the row that it names is the first of its list.
const FIRST: u32 = 0x80000000u;

// In place of a slice that is not bound.
const NONE: u32 = 0xffffffffu;

// The first word counts bad rows, where they forbid everything.
@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// The slices of all rows; and behind them, where rows are chained, the next row of each slice plus one, or 0;
// and how many slices the next steps have noted.
@group(0) @binding(1) var<storage, read_write> rows: array<vec4<u32>>;

// What `head` holds of a slice, if that is looked at first.
fn peek_head(slice: u32) -> u32 {
    var last = 0u;
    if LOOKS && slice != NONE {
        last = atomicLoad(&head[slice + 1u]);
    }
    return last;
}

// Makes a row the head of its slice's list. Returns the row that was its head before plus one, or 0.
fn link_row(slice: u32, row: u32, last: u32) -> u32 {
    let number = uniforms.dest_base + row;
    var before = 0u;
    // Where the last row wins, a later one may be there already. Lists take every row; `last` is never NONE.
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
    // The first slice that is bound is where the walk of a gather has a stride.
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
