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
fn row_start(row: u32) -> Start {
    var at = Start(0u, 0u, FOUND);
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
fn turn(d: u32, rest: ptr<function, u32>, at: Start) -> Start {
    let size = params.map.axes[d].x;
    let outer = *rest / size;
    let digit = *rest - outer * size;
    *rest = outer;
    return along(d, digit, at);
}

fn along(d: u32, digit: u32, at: Start) -> Start {
    let strides = params.map.axes[d].yz;
    return Start(at.from_part + digit * strides.x, at.to + digit * strides.y, FOUND);
}

// Where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(params.source_base + start.from_part + j * params.step, FOUND);
}

// All that is read is bound, and every row has a source.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
