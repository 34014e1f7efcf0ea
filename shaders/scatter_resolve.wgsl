// scatter_nd, first step: which slice each row of updates goes to, and which rows go to each slice.
//
// For every slice that is bound `head` holds the number of a row plus one, or 0: of rows that replace, the
// last; of rows that are combined, any, from which `next` leads on to the others.
//
// `indexed.wgsl` says which slice a tuple points at: here a row begins where the number of its slice says.
// A tile is four rows, whose numbers are kept together.

// Whether rows are chained, rather than the last one kept.
override CHAINS: bool;

// Whether rows are only checked: if one is bad, nothing is to be changed by any.
override CHECKS: bool;

// In place of a slice that is not bound.
const NONE: u32 = 0xffffffffu;

// The first word counts bad rows, where they forbid everything.
@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// The slices of four rows; and behind them, where rows are chained, the next row of each slice plus one,
// or 0.
@group(0) @binding(1) var<storage, read_write> rows: array<vec4<u32>>;

// Tells a slice of a row. The row that it was told of before, plus one.
fn told(slice: u32, row: u32) -> u32 {
    var before = 0u;
    if slice != NONE {
        if CHAINS {
            before = atomicExchange(&head[slice + 1u], row + 1u);
        } else {
            atomicMax(&head[slice + 1u], row + 1u);
        }
    }
    return before;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let row = tile * 4u;
    let found = four(row);
    let numbers = row + vec4(0u, 1u, 2u, 3u);
    let states = vec4(found.a.state, found.b.state, found.c.state, found.d.state);
    let there = numbers < vec4(params.units);
    let bad = there & (states == vec4(MISSING));
    four_missing(numbers, bad);
    if CHECKS {
        if any(bad) {
            atomicAdd(&head[0], 1u);
        }
        return;
    }
    let bases = vec4(found.a.base, found.b.base, found.c.base, found.d.base) + params.source_base;
    let bound = there & (states == vec4(FOUND)) & (bases < vec4(params.window));
    let slices = select(vec4(NONE), bases, bound);
    let next = vec4(
        told(slices.x, row),
        told(slices.y, row + 1u),
        told(slices.z, row + 2u),
        told(slices.w, row + 3u),
    );
    if CHAINS {
        rows[tile * 2u] = slices;
        rows[tile * 2u + 1u] = next;
    } else {
        rows[tile] = slices;
    }
}
