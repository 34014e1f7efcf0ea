// Reads index tuples word by word.

@group(0) @binding(2) var<storage, read> indices: array<u32>;

// Returns word `at` of the binding. The index is clamped, because kernels that look up four rows at once also look up
// rows after the last one. They ignore the results for those rows.
fn word(at: u32) -> u32 {
    return indices[min(at, arrayLength(&indices) - 1u)];
}

// Looks up four consecutive rows.
fn four(row: u32) -> Four {
    return Four(source_row(row), source_row(row + 1u), source_row(row + 2u), source_row(row + 3u));
}
