// Step 2 of a scatter that combines, if the order of rows matters: links the last row of each run to the next run of
// its slice. Then the links of a slice connect all of its rows in order. See `link.wgsl`. Each invocation writes only
// the link of its row, and no other invocation reads this link.
// Needs: no other names.
#import chain.wgsl

@group(0) @binding(0) var<storage, read_write> lists: array<u32>;

fn word_at(at: u32) -> u32 { return lists[at]; }

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = workgroup_number(group, walk.groups_x) * WORKGROUP + local;
    if row >= walk.rows { return; }
    let slice = slice_at(row);
    let row_number = walk.first_row + row + 1u;
    if slice == NONE || next_of(row_number) != 0u { return; }
    let next_row = first_after(slice, row >> walk.list_shift, row_number);
    if next_row != 0u { lists[link_of(row) + to_next()] = next_row; }
}
