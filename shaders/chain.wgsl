// Reads the rows of each slice in the order in which they are combined. `link.wgsl` and `order.wgsl` write the lists.
//
// `lists` has three parts, in this order:
//
// - Heads: `walk.lists` for each of the `walk.slices` slices. A head is a row's number, or 0 for an empty list. Rows r
//   of a slice with the same r >> list_shift share a list. If slices are few, each has several lists, so that lists
//   stay short.
// - Slices: one for each of the `walk.rows` rows, or NONE. If `walk.lists` is 0, only the first row of a slice (in
//   updates the last: see LASTS in `link.wgsl`) has its slice here.
// - Links: two for each row, to the next row of its list (0 if the row is in none) and to the next row of its slice. If
//   `walk.lists` is 1, the two links of a row are neighbours, so that one memory sector has both. Otherwise all links
//   of the first kind come before all links of the second.
//
// Numbers up to `first_row` belong to earlier dispatches and stand for no row.
// Defines: slice_at, led_by, first_after, next_of, unit_of, link_of, to_next. Needs: word_at, which reads a word of `lists`.
#import walk.wgsl

// Whether the last step goes through rows instead of slices, because rows are few.
override BY_ROWS: bool = false;
// Whether slices start as zeros. Their values are then not read, and slices without rows become zeros.
override FRESH: bool = false;
// Whether each row is the only row of its slice (implies BY_ROWS). The binding then has index tuples instead of lists.
override UNIQUE: bool = false;

fn slice_at(row: u32) -> u32 {
    return word_at(walk.slices * walk.lists + row);
}

// Returns the slice whose first row is `row`, or NONE. One invocation of a row `speaks` for it: it reports the row's
// tuple.
fn led_by(row: u32, speaks: bool) -> u32 {
    if UNIQUE { return slice_of(row, speaks); }
    let slice = slice_at(row);
    if slice == NONE || walk.lists == 0u { return slice; }
    return select(NONE, slice, first_after(slice, 0u, 0u) == walk.first_row + row + 1u);
}

// The place of row `row`'s link to the next row of its list.
fn link_of(row: u32) -> u32 {
    return walk.slices * walk.lists + walk.rows + row * select(1u, 2u, walk.lists == 1u);
}

// The distance from that place to the row's link to the next row of its slice.
fn to_next() -> u32 {
    return select(walk.rows, 1u, walk.lists == 1u);
}

// Returns the smallest number above `after` in the lists of a slice, from list `list` on; 0 if there is none. The
// numbers in a list are smaller than the numbers in later lists.
fn first_after(slice: u32, list: u32, after: u32) -> u32 {
    var first = NONE;
    // With Mesa 22.3, OpenGL gives wrong results if the loop ends when a number is found, or if the first list is read
    // before the loop.
    for (var n = list; n < walk.lists; n++) {
        if first == NONE { first = first_in(word_at(slice * walk.lists + n), after); }
    }
    return select(first, 0u, first == NONE);
}

// Returns the smallest number above `after` in a list; NONE if there is none.
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

// The place of unit `j` of row `number` in the updates.
fn unit_of(number: u32, j: u32) -> u32 {
    return walk.updates + (number - walk.first_row - 1u) * walk.pitch + j;
}
