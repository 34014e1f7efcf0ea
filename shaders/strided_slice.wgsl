// strided_slice: the rows are numbered by an odometer over the outer dimensions.

// How many there are. A constant, so that a CPU adapter runs no loop for every row.
override DIMS: u32;

// Whether the innermost holds a multiple of four rows, so that four of them lie evenly apart.
override EVEN: bool;

struct Map {
    // As long as the longest map.
    @size(80) axes: array<vec4<u32>, 4>,
}

fn source_row(row: u32) -> Row {
    var base = 0u;
    var rest = row;
    // The outermost needs no division.
    if DIMS > 7u { base += turn(7u, &rest); }
    if DIMS > 6u { base += turn(6u, &rest); }
    if DIMS > 5u { base += turn(5u, &rest); }
    if DIMS > 4u { base += turn(4u, &rest); }
    if DIMS > 3u { base += turn(3u, &rest); }
    if DIMS > 2u { base += turn(2u, &rest); }
    if DIMS > 1u { base += turn(1u, &rest); }
    if DIMS > 0u { base += rest * axis(0u).stride; }
    return Row(base, FOUND);
}

// Rows lie one behind the other in the result.
fn row_start(row: u32) -> Start {
    return Start(source_row(row).base, row * params.run, FOUND);
}

fn dest_step() -> u32 {
    return 1u;
}

// Where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(params.source_base + start.from_part + j * params.step * PARTS, FOUND);
}

// Four rows, from a multiple of four on.
fn four(row: u32) -> Four {
    let first = source_row(row);
    if EVEN {
        let stride = axis(max(DIMS, 1u) - 1u).stride;
        return Four(
            first,
            Row(first.base + stride, FOUND),
            Row(first.base + 2u * stride, FOUND),
            Row(first.base + 3u * stride, FOUND),
        );
    }
    return Four(first, source_row(row + 1u), source_row(row + 2u), source_row(row + 3u));
}

// Takes a dimension's digit off the number of a row: what it adds to the base.
fn turn(d: u32, rest: ptr<function, u32>) -> u32 {
    let at = axis(d);
    let outer = *rest / at.size;
    let digit = *rest - outer * at.size;
    *rest = outer;
    return digit * at.stride;
}

// All that is read is bound, and every row has a source.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
