// Step 1 of a scatter that combines: links the rows of each slice. `chain.wgsl` describes the layout of `lists`.
//
// If the order of rows matters (ORDERED), a workgroup takes a chunk of CHUNK rows. The rows of a chunk that belong to
// the same slice form a run, in which each row links to the next. To find the next row of a run, an invocation searches
// all rows of the chunk whose slices have the same hash. The first rows of a slice's runs form linked lists, in any
// order: the head of a list links to one of these rows, and this row links to the next. `order.wgsl` then links the
// runs of a slice.
//
// If one chunk contains all rows, there are no heads and lists (`walk.lists` is 0), and only the first row of a slice
// has the slice's number. In updates (LASTS) only the last row of a slice has the number, because the numbers are then
// used as index tuples.
//
// If the order does not matter, each row of a slice links to the row that was added before it, and the head links to
// the row that was added last.
// Needs: no other names.
#import chain.wgsl

override ORDERED: bool = true;
override LASTS: bool = false;
// The number of rows in a chunk: at most 1,024, which take 12 KiB of workgroup memory.
override CHUNK: u32 = 4u * WORKGROUP;

@group(0) @binding(1) var<storage, read_write> lists: array<atomic<u32>>;

fn word_at(at: u32) -> u32 { return atomicLoad(&lists[at]); }

// The slice of each row of the chunk.
var<workgroup> chunk_slices: array<u32, CHUNK>;
// For each hash, the last entered row of a slice with this hash, counted from 1 within the chunk, or 0 for no row.
var<workgroup> with_hash: array<atomic<u32>, CHUNK>;
// For each row, the row that was entered before it for the same hash, counted in the same way, or 0.
var<workgroup> previous_with_hash: array<u32, CHUNK>;

fn hash(slice: u32) -> u32 {
    return ((slice * 0x9e3779b1u) >> 16u) & (CHUNK - 1u);
}

fn store(row: u32, slice: u32, next_in_list: u32, next: u32) {
    let link = link_of(row);
    atomicStore(&lists[walk.slices * walk.lists + row], slice);
    atomicStore(&lists[link], next_in_list);
    atomicStore(&lists[link + to_next()], next);
}

fn link_in_order(first: u32, local: u32) {
    for (var i = local; i < CHUNK; i += WORKGROUP) {
        atomicStore(&with_hash[i], 0u);
    }
    workgroupBarrier();
    for (var i = local; i < CHUNK; i += WORKGROUP) {
        var slice = NONE;
        if first + i < walk.rows { slice = slice_of(first + i, true); }
        chunk_slices[i] = slice;
        if slice != NONE { previous_with_hash[i] = atomicExchange(&with_hash[hash(slice)], i + 1u); }
    }
    workgroupBarrier();
    for (var i = local; i < CHUNK && first + i < walk.rows; i += WORKGROUP) {
        let row = first + i;
        var slice = chunk_slices[i];
        var is_first = true;
        var next = NONE;
        var next_in_list = 0u;
        if slice != NONE {
            for (var n = atomicLoad(&with_hash[hash(slice)]); n != 0u; n = previous_with_hash[n - 1u]) {
                if chunk_slices[n - 1u] == slice {
                    is_first &= n - 1u >= i;
                    if n - 1u > i { next = min(next, n); }
                }
            }
            let row_number = walk.first_row + row + 1u;
            let list = slice * walk.lists + (row >> walk.list_shift);
            if walk.lists == 0u {
                if !select(is_first, next == NONE, LASTS) { slice = NONE; }
            } else if is_first {
                next_in_list = atomicExchange(&lists[list], row_number);
            }
        }
        // `next` is the number of a row in the chunk, counted from 1.
        store(row, slice, next_in_list, select(walk.first_row + first + next, 0u, next == NONE));
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first_row = workgroup_number(group, walk.groups_x) * CHUNK;
    if ORDERED {
        link_in_order(first_row, local);
    } else {
        for (var row = first_row + local; row < min(first_row + CHUNK, walk.rows); row += WORKGROUP) {
            let slice = slice_of(row, true);
            var next = 0u;
            if slice != NONE { next = atomicExchange(&lists[slice], walk.first_row + row + 1u); }
            store(row, slice, 0u, next);
        }
    }
}
