// strided_slice_grad: a row of the result has a source if its number is one that the odometer shows,
// and a unit of it if its distance from the row's first one is a multiple of the step.

struct Map {
    // A dimension's size, and its strides in units of the source and in rows of the result. The last
    // words are: the distance between neighbours of a row in the result, the place in its row of the
    // first unit that has a source, how many have, and the number of the first row that has.
    axes: array<vec4<u32>, 5>,
}

fn source_row(row: u32) -> Row {
    let first_row = params.map.axes[3].w;
    var at = Row(0u, FOUND);
    if row < first_row || params.map.axes[2].w == 0u {
        at.state = MISSING;
    }
    // What is nearer than a neighbour along a dimension is counted along those inside of it.
    var rest = row - first_row;
    for (var d = 0u; d < dims(); d++) {
        at = turn(d, &rest, at);
    }
    if rest != 0u {
        at.state = MISSING;
    }
    return at;
}

fn turn(d: u32, rest: ptr<function, u32>, at: Row) -> Row {
    let dimension = params.map.axes[d];
    let digit = *rest / dimension.z;
    *rest -= digit * dimension.z;
    return Row(
        at.base + digit * dimension.y,
        select(at.state, MISSING, digit >= dimension.x),
    );
}

// Rows lie one behind the other in the result.
fn row_start(row: u32) -> Start {
    let at = source_row(row);
    return Start(at.base, row * params.run, at.state);
}

fn dest_step() -> u32 {
    return 1u;
}

// Where unit `j` of a row lies in the source, if it has one.
fn unit_at(start: Start, j: u32) -> Row {
    let at = source_unit(Row(start.from_part, start.state), j);
    return Row(params.source_base + at.base, at.state);
}

// Where unit `j` of a row has its source, and whether it has one.
fn source_unit(begin: Row, j: u32) -> Row {
    let step = params.map.axes[0].w;
    // Huge before the first.
    let distance = j - params.map.axes[1].w;
    var i = distance;
    if step != 1u {
        i = distance / step;
    }
    let found = begin.state == FOUND && i < params.map.axes[2].w && i * step == distance;
    return Row(begin.base + i * params.step, select(MISSING, FOUND, found));
}

// All that is read is bound, and what has no source is not amiss.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
