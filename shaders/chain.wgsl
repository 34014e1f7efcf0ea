// The rows of each slice, in the order in which they are combined. `link.wgsl` and `order.wgsl` make them.
//
// `lists` holds, in this order:
//
// - `walk.lists` heads of each of the `walk.slices` slices. Few slices have several lists each, so that lists stay
//   short; then the rows r with the same r >> list_shift share a list. A head is a row's number or 0.
// - for each of the `walk.rows` rows, its slice or NONE. If there are no lists, only the first row of a slice has it.
// - for each row two links: to the next row of its list, if it is in one, and to that of its slice. If slices have one
//   list each, a row's links are neighbours, so that a sector has both. Otherwise all links of one kind are neighbours.
//
// Numbers up to `first_row` are those of earlier dispatches and stand for no row.
// Defines: slice_at, led_by, first_after, next_of, unit_of, link_of, to_next. Needs: word_at, which reads a word of `lists`.
#import walk.wgsl

// Whether the last step looks at rows instead of slices, because rows are few.
override BY_ROWS: bool = false;
// Whether slices are zeros before, so that their values are not read and those without rows become zeros.
override FRESH: bool = false;
// Whether each row is the only one of its slice (and BY_ROWS). Then there are no lists, but the index tuples of rows.
override UNIQUE: bool = false;

fn slice_at(row: u32) -> u32 {
    return word_at(walk.slices * walk.lists + row);
}

// The slice whose first row is `row`, or NONE. One invocation of a row `speaks` for it.
fn led_by(row: u32, speaks: bool) -> u32 {
    if UNIQUE { return slice_of(row, speaks); }
    let slice = slice_at(row);
    if slice == NONE || walk.lists == 0u { return slice; }
    return select(NONE, slice, first_after(slice, 0u, 0u) == walk.first_row + row + 1u);
}

// Where row `row` has its link to the next one of its list.
fn link_of(row: u32) -> u32 {
    return walk.slices * walk.lists + walk.rows + row * select(1u, 2u, walk.lists == 1u);
}

// The distance from that to its link to the next one of its slice.
fn to_next() -> u32 {
    return select(walk.rows, 1u, walk.lists == 1u);
}

// The smallest number in the lists of a slice, from list `list` on, that is larger than `after`; 0 if there is none. A
// list that is not empty has smaller numbers than the lists after it.
fn first_after(slice: u32, list: u32, after: u32) -> u32 {
    var first = NONE;
    // The OpenGL of Mesa 22.3 gives wrong results if the loop ends where a number was found, or if the first list is looked
    // at before it.
    for (var n = list; n < walk.lists; n++) {
        if first == NONE { first = first_in(word_at(slice * walk.lists + n), after); }
    }
    return select(first, 0u, first == NONE);
}

// The smallest number in a list that is larger than `after`; NONE if there is none.
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

// Where unit `j` of row `number` lies in the updates.
fn unit_of(number: u32, j: u32) -> u32 {
    return walk.updates + (number - walk.first_row - 1u) * walk.pitch + j;
}
