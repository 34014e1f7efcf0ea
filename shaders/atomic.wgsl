// Combines rows of 32-bit integers with their slices of the destination by atomic operations. The order of the rows
// does not change the result. An invocation combines `segment` numbers of a row.
// Needs: `Integer`, which is i32 or u32.
#import walk.wgsl

// The operation: one of the constants below, or 4 for the maximum.
override COMBINE: u32 = 0u;
const ADD: u32 = 0u;
const SUB: u32 = 1u;
const MIN: u32 = 3u;

@group(0) @binding(1) var<storage, read> source: array<Integer>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<Integer>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = workgroup_number(group, walk.groups_x) * WORKGROUP + local;
    let row = id / walk.segments;
    if row >= walk.rows { return; }
    let first_unit = (id - row * walk.segments) * walk.segment;
    let slice = slice_of(row, first_unit == 0u);
    if slice == NONE { return; }
    let at = walk.updates + row * walk.pitch;
    let to = walk.to_base + slice * walk.pitch;
    for (var j = first_unit; j < min(first_unit + walk.segment, walk.run); j++) {
        let update = source[at + j];
        switch COMBINE {
            case ADD: { atomicAdd(&dest[to + j], update); }
            case SUB: { atomicSub(&dest[to + j], update); }
            case MIN: { atomicMin(&dest[to + j], update); }
            default: { atomicMax(&dest[to + j], update); }
        }
    }
}
