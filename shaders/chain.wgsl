// The rows of each slice, in the order in which they are combined. `link.wgsl` and `order.wgsl` make them.
//
// `lists` holds, in this order:
//
// - `walk.lists` heads of each of the `walk.slices` slices. Few slices have several lists each, so that lists stay
//   short; then the rows r with the same r >> list_shift share a list. A head is a row's number or 0.
// - for each of the `walk.rows` rows, its slice or NONE
// - for each row that a list has, the next one of the list
// - for each row, the next row of its slice
//
// Numbers up to `first_row` are those of earlier dispatches and stand for no row.
//
// Defines: slice_at, first_of, next_of, unit_of. Needs: lists, an array of words.
#import walk.wgsl

fn slice_at(row: u32) -> u32 {
    return lists[walk.slices * walk.lists + row];
}

// Where row `number` has its link to the next one of its list, and `walk.rows` words later to the next one of its slice.
fn links_of(number: u32) -> u32 {
    return walk.slices * walk.lists + walk.rows + number - walk.first_row - 1u;
}

// The smallest number in the lists of a slice, from list `list` on, that is larger than `after`; 0 if there is none. A
// list that is not empty has smaller numbers than the lists after it.
fn first_after(slice: u32, list: u32, after: u32) -> u32 {
    var first = NONE;
    // The outer loop does not end where a number was found: if it does, the OpenGL of Mesa 22.3 gives wrong results.
    for (var n = list; n < walk.lists; n++) {
        if first == NONE {
            for (var number = lists[slice * walk.lists + n]; number > walk.first_row; number = lists[links_of(number)]) {
                if number > after { first = min(first, number); }
            }
        }
    }
    return select(first, 0u, first == NONE);
}

fn first_of(slice: u32) -> u32 {
    return first_after(slice, 0u, 0u);
}

fn next_of(number: u32) -> u32 {
    return lists[links_of(number) + walk.rows];
}

// Where unit `j` of row `number` lies in the updates.
fn unit_of(number: u32, j: u32) -> u32 {
    return walk.updates + (number - walk.first_row - 1u) * walk.pitch + j;
}
