// strided_slice: the rows are numbered by an odometer over the outer dimensions.

struct Map {
    dims: u32,
    axes: array<vec4<u32>, 4>,
}

fn source_row(row: u32) -> Row {
    var base = 0u;
    var rest = row;
    for (var d = params.map.dims; d > 0u; d--) {
        let at = axis(d - 1u);
        let outer = rest / at.size;
        base += (rest - outer * at.size) * at.stride;
        rest = outer;
    }
    return Row(base, FOUND);
}

// All that a slice reads is bound.
fn within(unit: u32) -> bool {
    return true;
}

// Every row has a source.
fn missing(row: u32) {
}
