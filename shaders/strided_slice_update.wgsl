// strided_slice_update: the rows are numbered by an odometer that turns on both sides at once.

// How many dimensions there are. A constant, so that a CPU adapter runs no loop for every row.
override DIMS: u32;

struct Map {
    // A dimension's size, and its strides in units of the source and of the destination. The last word
    // of the first is the distance between neighbours of a row in the destination.
    axes: array<vec4<u32>, 5>,
}

fn dest_step() -> u32 {
    return params.map.axes[0].w;
}

// Where a row begins on both sides, relative to the bases.
fn row_places(row: u32) -> Places {
    var at = Places(0u, 0u, true);
    var rest = row;
    // The outermost needs no division.
    if DIMS > 4u { at = turn(4u, &rest, at); }
    if DIMS > 3u { at = turn(3u, &rest, at); }
    if DIMS > 2u { at = turn(2u, &rest, at); }
    if DIMS > 1u { at = turn(1u, &rest, at); }
    if DIMS > 0u { at = along(0u, rest, at); }
    return at;
}

// Takes a dimension's digit off the number of a row, and goes as far along it.
fn turn(d: u32, rest: ptr<function, u32>, at: Places) -> Places {
    let size = params.map.axes[d].x;
    let outer = *rest / size;
    let digit = *rest - outer * size;
    *rest = outer;
    return along(d, digit, at);
}

fn along(d: u32, digit: u32, at: Places) -> Places {
    let strides = params.map.axes[d].yz;
    return Places(at.source + digit * strides.x, at.dest + digit * strides.y, true);
}
