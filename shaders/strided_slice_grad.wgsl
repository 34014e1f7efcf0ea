// strided_slice_grad: a row of the result has a source if the odometer reaches its number. A unit of it has one if its
// distance from the first such unit is a multiple of the spacing.

struct Map {
    dims: u32,
    // For `row_words.wgsl`.
    quarter: u32,
    // Units of a row, and the first row that has a source.
    row_units: u32,
    first_row: u32,
    // The size of each dimension, and its strides in units of the source and in rows of the result. The fourth words
    // hold `spacing`, `first_unit` and `source_units`.
    axes: array<vec4<u32>, 5>,
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

// Units from one unit with a source to the next in a row of the result.
fn spacing() -> u32 {
    return uniforms.map.axes[0].w;
}

// The first unit of a row that has a source.
fn first_unit() -> u32 {
    return uniforms.map.axes[1].w;
}

// The number of units of a row that have a source.
fn source_units() -> u32 {
    return uniforms.map.axes[2].w;
}

fn row_units() -> u32 {
    return uniforms.map.row_units;
}

// Units without a source become zeros.
const ZEROS: bool = true;

// Rows are consecutive in the result.
fn row_start(row: u32) -> Start {
    let first_row = uniforms.map.first_row;
    var at = Start(0u, row * row_units(), FOUND);
    if row < first_row || source_units() == 0u {
        at.state = MISSING;
    }
    // The outermost dimension has the largest stride. The remainder is counted along the inner ones.
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
    // Wraps to a large number before the first unit with a source.
    let distance = j - first_unit();
    var i = distance;
    if spacing() != 1u {
        i = distance / spacing();
    }
    let found = start.state == FOUND && i < source_units() && i * spacing() == distance;
    return Row(uniforms.source_base + start.from_part + i * uniforms.step, select(MISSING, FOUND, found));
}
