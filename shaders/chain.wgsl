// Finds the rows of each slice, in the order in which a scatter combines them. The rows are in linked lists that
// `link.wgsl` and `order.wgsl` write.
//
// `lists` has three parts, in this order:
//
// - Heads: `walk.lists` for each of the `walk.slices` slices. A head is the number of a row, or 0 for an empty list.
//   Rows r of a slice with the same r >> list_shift share a list. If there are few slices, each slice has several
//   lists, which keeps the lists short.
// - Slices: for each of the `walk.rows` rows, its slice or NONE. If `walk.lists` is 0, only the first row of each slice
//   (in updates the last row: see LASTS in `link.wgsl`) has the number of the slice, and all other rows have NONE.
// - Links: two for each row, to the next row of its list (0 if the row is not in a list) and to the next row of its
//   slice. If `walk.lists` is 1, the two links of a row are neighbours, usually in one memory sector. Otherwise all
//   links to the next row of a list come before all links to the next row of a slice.
//
// Row numbers start at `first_row` + 1. Lower numbers are from earlier dispatches and mean that there is no row.
// Defines: slice_at, led_by, first_after, next_of, unit_of, link_of, to_next, and constants. Needs: word_at, which
// reads a word of `lists`.
#import walk.wgsl

// True if invocations go through rows instead of slices in the last step, because there are few rows.
override BY_ROWS: bool = false;
// True if slices start as zeros. Their values are then not read, and slices without rows become zeros.
override FRESH: bool = false;
// True if each row is the only row of its slice (implies BY_ROWS). The binding then has index tuples instead of lists.
override UNIQUE: bool = false;

fn slice_at(row: u32) -> u32 {
    return word_at(walk.slices * walk.lists + row);
}

// Returns the slice that has `row` as its first row, or NONE if there is no such slice. `reports` is true for one
// invocation of each row. This invocation reports the row's tuple if the tuple is out of range.
fn led_by(row: u32, reports: bool) -> u32 {
    if UNIQUE { return slice_of(row, reports); }
    let slice = slice_at(row);
    if slice == NONE || walk.lists == 0u { return slice; }
    return select(NONE, slice, first_after(slice, 0u, 0u) == walk.first_row + row + 1u);
}

// Returns the index in `lists` of the link from row `row` to the next row of its list.
fn link_of(row: u32) -> u32 {
    return walk.slices * walk.lists + walk.rows + row * select(1u, 2u, walk.lists == 1u);
}

// Returns the distance in words from `link_of(row)` to the link to the next row of the slice.
fn to_next() -> u32 {
    return select(walk.rows, 1u, walk.lists == 1u);
}

// Returns the smallest row number above `after` in the lists of a slice, from list `list` on, or 0 if there is no such
// row. The row numbers in a list are smaller than the row numbers in later lists.
fn first_after(slice: u32, list: u32, after: u32) -> u32 {
    var first = NONE;
    // With Mesa 22.3, OpenGL gives wrong results if the loop ends when a number is found, or if the first list is read
    // before the loop.
    for (var n = list; n < walk.lists; n++) {
        if first == NONE { first = first_in(word_at(slice * walk.lists + n), after); }
    }
    return select(first, 0u, first == NONE);
}

// Returns the smallest row number above `after` in the list that begins with row number `head`, or NONE if there is no
// such row.
fn first_in(head: u32, after: u32) -> u32 {
    var first = NONE;
    for (var number = head; number > walk.first_row; number = word_at(link_of(number - walk.first_row - 1u))) {
        if number > after { first = min(first, number); }
    }
    return first;
}

fn next_of(number: u32) -> u32 {
    if UNIQUE { return 0u; }
    return word_at(link_of(number - walk.first_row - 1u) + to_next());
}

// Returns the position of unit `j` of row `number` in the updates.
fn unit_of(number: u32, j: u32) -> u32 {
    return walk.updates + (number - walk.first_row - 1u) * walk.pitch + j;
}
