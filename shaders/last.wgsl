// Updates, step 1: finds the last row of each slice, which is the only row that the slice keeps.
//
// `last` has a number for each slice: the number of its last row, or 0. These numbers are index tuples. Unless rows are
// few, step 2 is a gather of each slice's last row.
//
// If rows are few, a second dispatch (CHOOSES) writes a slice for each row after the numbers: the row's own slice if
// the row is its last, otherwise NONE. These are also index tuples, by which the last step moves the rows. So slices
// without rows only cost their numbers.
//
// Without slices, this kernel only reports the tuples that are out of range.
// Needs: nothing.
#import walk.wgsl

override CHOOSES: bool = false;

@group(0) @binding(1) var<storage, read_write> last: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = workgroup_number(group, walk.groups_x) * WORKGROUP + local;
    if row >= walk.rows { return; }
    let slice = slice_of(row, true);
    let row_number = walk.first_row + row + 1u;
    if CHOOSES {
        var chosen = NONE;
        if slice != NONE && atomicLoad(&last[slice]) == row_number { chosen = slice; }
        atomicStore(&last[walk.slices + row], chosen);
    } else if slice != NONE {
        atomicMax(&last[slice], row_number);
    }
}
