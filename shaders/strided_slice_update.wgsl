// strided_slice_update: the number of a row gives its position along each dimension of the map, in row-major order. In
// source and destination, the row begins at the sum of these positions times their strides.

struct Map {
    dims: u32,
    // The distance in units between neighbouring units of a row in the destination.
    spacing: u32,
    // The distance in words between the four words that an invocation of `row_words.wgsl` writes at once.
    quarter: u32,
    // For each dimension: its size, its stride in the source and its stride in the destination, both in units.
    axes: array<vec4<u32>, 5>,
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

fn dest_step() -> u32 {
    return uniforms.map.spacing;
}

// This and the next three functions tell `row_words.wgsl` where the units of a row lie, and that all units have a
// source.
fn spacing() -> u32 {
    return dest_step();
}

fn first_unit() -> u32 {
    return 0u;
}

fn source_units() -> u32 {
    return uniforms.units;
}

// The number of units of the destination from the first unit of a row to its last. It includes the units in between
// that do not belong to the row, which keep their values.
fn row_units() -> u32 {
    return (uniforms.units - 1u) * spacing() + 1u;
}

const ZEROS: bool = false;

// Returns where a row begins in source and destination, relative to the bases.
fn row_start(row: u32) -> Start {
    var at = Start(0u, 0u, FOUND);
    var rest = row;
    for (var d = max(dims(), 1u) - 1u; d > 0u; d--) {
        let size = uniforms.map.axes[d].x;
        let outer = rest / size;
        at = along(d, rest - outer * size, at);
        rest = outer;
    }
    // The outermost dimension needs no division. If the map has no dimensions, the strides are 0.
    return along(0u, rest, at);
}

fn along(d: u32, digit: u32, at: Start) -> Start {
    let strides = uniforms.map.axes[d].yz;
    return Start(at.from_part + digit * strides.x, at.to + digit * strides.y, FOUND);
}

// Returns where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j * uniforms.step, FOUND);
}
