// scatter_nd, first step: which slice each row of updates goes to, and which rows go to each slice.
//
// For every slice that is bound `head` holds the number of a row plus one, or 0: of rows that replace, the
// last; of rows that are combined, any, from which `next` leads on to the others.

// All that would be the same for every row is a constant.

// Coordinates of a tuple, words of an index (1 for i32 and u32, 2 for i64), and whether it can be negative.
override DIMS: u32;
override INDEX_WORDS: u32;
override SIGNED: bool;

// Whether negative indices count from the end, and whether those outside move to the nearest end.
override WRAPS: bool;
override CLAMPS: bool;

// Whether rows are chained, rather than the last one kept.
override CHAINS: bool;

// Whether rows are only checked: if one is bad, nothing is to be changed by any.
override CHECKS: bool;

struct Map {
    // The first word of the tuples within their binding.
    index_base: u32,
    // The slices that are bound.
    first_slice: u32,
    slices: u32,
    // Units of a slice, which are as many in an update.
    stride: u32,
    // A coordinate's size, and its stride in slices.
    axes: array<vec4<u32>, 4>,
}

struct Entry {
    // Among those that are bound; NONE where it is not.
    slice: u32,
    // The next row of the slice plus one, or 0.
    next: u32,
    // Where the rows of a slice are sorted, the first of them plus one, known to the one that `head` names.
    first: u32,
}

const NONE: u32 = 0xffffffffu;

// `first` is the complement of the row's number, so that a report begins as zeros and the first
// row is the largest.
struct Report {
    count: atomic<u32>,
    first: atomic<u32>,
}

@group(0) @binding(0) var<storage, read> indices: array<u32>;
// The first word counts bad rows, where they forbid everything.
@group(0) @binding(1) var<storage, read_write> head: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> rows: array<Entry>;
@group(1) @binding(0) var<storage, read_write> report: Report;

// The slice that a tuple points at, and whether it points at one.
struct Target {
    slice: u32,
    bad: bool,
}

fn target_of(row: u32) -> Target {
    let tuple = params.map.index_base + row * DIMS * INDEX_WORDS;
    var at = Target(0u, false);
    if DIMS > 0u { at = coordinate(0u, tuple, at); }
    if DIMS > 1u { at = coordinate(1u, tuple, at); }
    if DIMS > 2u { at = coordinate(2u, tuple, at); }
    if DIMS > 3u { at = coordinate(3u, tuple, at); }
    if DIMS > 4u { at = coordinate(4u, tuple, at); }
    if DIMS > 5u { at = coordinate(5u, tuple, at); }
    if DIMS > 6u { at = coordinate(6u, tuple, at); }
    if DIMS > 7u { at = coordinate(7u, tuple, at); }
    return at;
}

// Where a tuple points after one more coordinate.
fn coordinate(d: u32, tuple: u32, so_far: Target) -> Target {
    let word = tuple + d * INDEX_WORDS;
    let size = axis(d).size;
    // Two words; a negative index is a large unsigned one.
    var index = indices[word];
    var high = 0u;
    if INDEX_WORDS == 2u {
        high = indices[word + 1u];
    } else if SIGNED {
        high = 0u - (index >> 31u);
    }
    if WRAPS && (high >> 31u) != 0u {
        index += size;
        high += u32(index < size);
    }
    var bad = high != 0u || index >= size;
    if CLAMPS {
        let end = select(size - 1u, 0u, (high >> 31u) != 0u);
        index = select(index, end, bad);
        bad = false;
    }
    return Target(so_far.slice + index * axis(d).stride, so_far.bad || bad);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = invocation(group, local);
    if row >= params.tiles {
        return;
    }
    let at = target_of(row);
    if at.bad {
        atomicAdd(&report.count, 1u);
        atomicMax(&report.first, ~row);
    }
    if CHECKS {
        if at.bad {
            atomicAdd(&head[0], 1u);
        }
        return;
    }
    let slice = at.slice - params.map.first_slice;
    if at.bad || slice >= params.map.slices {
        rows[row] = Entry(NONE, 0u, 0u);
    } else if CHAINS {
        let next = atomicExchange(&head[slice + 1u], row + 1u);
        rows[row] = Entry(slice, next, 0u);
    } else {
        atomicMax(&head[slice + 1u], row + 1u);
        rows[row] = Entry(slice, 0u, 0u);
    }
}
