// strided_slice_grad: a row of the result has a source if its number is `first_row` plus a sum of positions times
// strides along the dimensions, and `source_units` is not 0. In such a row `source_units` units have a source: every
// `spacing`-th from `first_unit` on.

struct Map {
    dims: u32,
    // The distance in words between the four words that an invocation of `row_words.wgsl` writes at once.
    quarter: u32,
    // The number of units in a row.
    row_units: u32,
    // The number of the first row that has a source.
    first_row: u32,
    // For each dimension: its size, its stride in the source in units, and its stride in the result in rows. The fourth
    // words of the first three vectors hold `spacing`, `first_unit` and `source_units`.
    axes: array<vec4<u32>, 5>,
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

// The distance in units between neighbouring units with a source, in a row of the result.
fn spacing() -> u32 {
    return uniforms.map.axes[0].w;
}

// The number of a row's first unit that has a source.
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

// Returns where a row begins in source and result, and the row's state. The rows of the result are contiguous.
fn row_start(row: u32) -> Start {
    let first_row = uniforms.map.first_row;
    var at = Start(0u, row * row_units(), FOUND);
    if row < first_row || source_units() == 0u {
        at.state = MISSING;
    }
    // The outermost dimension has the largest stride. What remains after division by this stride is counted along the
    // inner dimensions.
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

// Returns where unit `j` of a row lies in the source. The state is MISSING if the unit has no source.
fn unit_at(start: Start, j: u32) -> Row {
    // For units before the first one with a source, the distance wraps to a number so large that `found` is false.
    let distance = j - first_unit();
    var i = distance;
    if spacing() != 1u {
        i = distance / spacing();
    }
    let found = start.state == FOUND && i < source_units() && i * spacing() == distance;
    return Row(uniforms.source_base + start.from_part + i * uniforms.step, select(MISSING, FOUND, found));
}
