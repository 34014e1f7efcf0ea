// strided_slice_update: one odometer steps through source and destination together, and numbers the rows.

struct Map {
    dims: u32,
    // Units from one unit of a row to the next in the destination.
    spacing: u32,
    // For `row_words.wgsl`.
    quarter: u32,
    // The size of each dimension, and its strides in units of the source and of the destination.
    axes: array<vec4<u32>, 5>,
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

fn dest_step() -> u32 {
    return uniforms.map.spacing;
}

// For `row_words.wgsl`: the distance between units of a row, the first unit and the number of units that have a source,
// and the length of a row with the units between, which keep their values.
fn spacing() -> u32 {
    return dest_step();
}

fn first_unit() -> u32 {
    return 0u;
}

fn source_units() -> u32 {
    return uniforms.units;
}

fn row_units() -> u32 {
    return (uniforms.units - 1u) * spacing() + 1u;
}

const ZEROS: bool = false;

// Where a row begins in source and destination, relative to the bases.
fn row_start(row: u32) -> Start {
    var at = Start(0u, 0u, FOUND);
    var rest = row;
    for (var d = max(dims(), 1u) - 1u; d > 0u; d--) {
        let size = uniforms.map.axes[d].x;
        let outer = rest / size;
        at = along(d, rest - outer * size, at);
        rest = outer;
    }
    // The outermost needs no division. Without dimensions its strides are 0.
    return along(0u, rest, at);
}

fn along(d: u32, digit: u32, at: Start) -> Start {
    let strides = uniforms.map.axes[d].yz;
    return Start(at.from_part + digit * strides.x, at.to + digit * strides.y, FOUND);
}

// Where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j * uniforms.step, FOUND);
}
