// strided_slice_grad: a row of the result has a source if its number is one that the odometer shows,
// and a unit of it if its distance from the row's first one is a multiple of the spacing.

struct Map {
    dims: u32,
    // Of `row_words.wgsl`.
    quarter: u32,
    // Units of a row, and the first row that has a source.
    row_units: u32,
    first_row: u32,
    // Each dimension's size, and its strides in units of the source and in rows of the result. The fourth words are those
    // of the next three functions.
    axes: array<vec4<u32>, 5>,
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

// The distance of units that have a source from each other in the result.
fn spacing() -> u32 {
    return uniforms.map.axes[0].w;
}

// The first of them in its row, and how many a row has.
fn first_unit() -> u32 {
    return uniforms.map.axes[1].w;
}

fn source_units() -> u32 {
    return uniforms.map.axes[2].w;
}

fn row_units() -> u32 {
    return uniforms.map.row_units;
}

// Units without a source become zeros.
const ZEROS: bool = true;

// Rows lie one behind the other in the result.
fn row_start(row: u32) -> Start {
    let first_row = uniforms.map.first_row;
    var at = Start(0u, row * row_units(), FOUND);
    if row < first_row || source_units() == 0u {
        at.state = MISSING;
    }
    // What is nearer than a neighbour along a dimension is counted along those inside of it.
    var rest = row - first_row;
    for (var d = 0u; d < dims(); d++) {
        let dimension = uniforms.map.axes[d];
        let digit = rest / dimension.z;
        rest -= digit * dimension.z;
        at.from_part += digit * dimension.y;
        at.state = select(at.state, MISSING, digit >= dimension.x);
    }
    at.state = select(at.state, MISSING, rest != 0u);
    return at;
}

fn dest_step() -> u32 {
    return 1u;
}

// Where unit `j` of a row lies in the source, if it has one.
fn unit_at(start: Start, j: u32) -> Row {
    // Huge before the first.
    let distance = j - first_unit();
    var i = distance;
    if spacing() != 1u {
        i = distance / spacing();
    }
    let found = start.state == FOUND && i < source_units() && i * spacing() == distance;
    return Row(uniforms.source_base + start.from_part + i * uniforms.step, select(MISSING, FOUND, found));
}

// All that is read is bound, and what has no source is not amiss.
fn within(unit: u32) -> bool {
    return true;
}

fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
}

fn missing(row: u32) {
}
