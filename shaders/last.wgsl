// Step 1 of an update, a scatter in which rows replace slices: finds the last row of each slice, the only row that
// takes effect.
//
// `last` has a word for each slice: the number of the slice's last row, or 0 if the slice has no rows. Unless there are
// few rows, step 2 uses these numbers as index tuples and gathers the last row of each slice.
//
// If there are few rows, a second dispatch (CHOOSES) writes a list after these numbers. The list has an entry for each
// row: the number of the row's slice if the row is the slice's last, otherwise NONE. The last step uses this list as
// index tuples and writes only the last rows of slices. A slice without rows then costs only its word in `last`.
//
// If `walk.slices` is 0, this kernel only reports the tuples that are out of range.
// Needs: no other names.
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
