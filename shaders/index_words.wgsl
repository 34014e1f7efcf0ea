// Indices that are read one by one.

@group(0) @binding(2) var<storage, read> indices: array<u32>;

// Movers that look four rows up at once also ask for rows behind the last, and make nothing of them.
fn word(at: u32) -> u32 {
    return indices[min(at, arrayLength(&indices) - 1u)];
}

// Four rows, one behind the other.
fn four(row: u32) -> Four {
    return Four(source_row(row), source_row(row + 1u), source_row(row + 2u), source_row(row + 3u));
}
