// strided_slice: the rows are numbered by an odometer over the outer dimensions.

struct Map {
    // The unit where the first row begins, and the number of dimensions.
    offset: u32,
    dims: u32,
    _pad: vec2<u32>,
    axes: array<vec4<u32>, 4>,
}

fn source_row(row: u32) -> Row {
    var base = params.map.offset;
    var rest = row;
    for (var d = params.map.dims; d > 0u; d--) {
        let at = axis(d - 1u);
        let outer = rest / at.size;
        base += (rest - outer * at.size) * at.stride;
        rest = outer;
    }
    return Row(base, true);
}

// Every row has a source.
fn missing(row: u32) {
}
