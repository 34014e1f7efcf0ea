// strided_slice: the number of a row gives its position along each dimension of the map, in row-major order. The row
// begins at the sum of these positions times their strides.

struct Map {
    dims: u32,
    // 1 if the size of the innermost dimension is a multiple of four, otherwise 0. If it is 1, four rows that are
    // looked up together are evenly spaced.
    even: u32,
    // The size and the stride in units of each dimension: two such pairs per vector.
    axes: array<vec4<u32>, 4>,
    // How a transpose is cut into tiles: `Tiling` in src/gpu/maps/strided_slice.rs says what each word holds.
    tiling: vec4<u32>,
}

// Returns the size and the stride of dimension `d`. An element of `axes` holds two such pairs, because the elements of
// uniform arrays are 16 bytes apart.
fn axis(d: u32) -> Axis {
    let pair = uniforms.map.axes[d >> 1u];
    if (d & 1u) == 0u {
        return Axis(pair.x, pair.y);
    }
    return Axis(pair.z, pair.w);
}

fn dims() -> u32 {
    return uniforms.map.dims;
}

fn source_row(row: u32) -> Row {
    var base = 0u;
    var rest = row;
    for (var d = max(dims(), 1u) - 1u; d > 0u; d--) {
        let at = axis(d);
        let outer = rest / at.size;
        base += (rest - outer * at.size) * at.stride;
        rest = outer;
    }
    // The outermost dimension needs no division. If the map has no dimensions, the stride is 0.
    return Row(base + rest * axis(0u).stride, FOUND);
}

// Returns where a row begins in source and result. The rows of the result are contiguous.
fn row_start(row: u32) -> Start {
    return Start(source_row(row).base, row * uniforms.run, FOUND);
}

fn dest_step() -> u32 {
    return 1u;
}

// Returns where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j * uniforms.step * PARTS, FOUND);
}

// Looks up four consecutive rows. The number of the first is a multiple of four.
fn four(row: u32) -> Four {
    let first = source_row(row);
    if uniforms.map.even != 0u {
        let stride = axis(max(dims(), 1u) - 1u).stride;
        return Four(
            first,
            Row(first.base + stride, FOUND),
            Row(first.base + 2u * stride, FOUND),
            Row(first.base + 3u * stride, FOUND),
        );
    }
    return Four(first, source_row(row + 1u), source_row(row + 2u), source_row(row + 3u));
}
