// Reads the index tuples of four rows as whole vectors, in dispatches where row n has tuple n. A tuple has DIMS
// coordinates, which take at most four words.

@group(0) @binding(2) var<storage, read> indices: array<vec4<u32>>;

fn word(at: u32) -> u32 {
    return indices[at >> 2u][at & 3u];
}

// The words of the tuples of four rows, one after the other. Vectors after the one with the last word are not used.
alias Tuples = array<vec4<u32>, 4>;

// Looks up four consecutive rows. The number of the first is a multiple of four.
fn four(row: u32) -> Four {
    let words = DIMS * INDEX_WORDS;
    let at = (axis(0u).size >> 2u) + (row >> 2u) * words;
    var tuples: Tuples;
    tuples[0] = indices[at];
    if words > 1u { tuples[1] = indices[at + 1u]; }
    if words > 2u { tuples[2] = indices[at + 2u]; }
    if words > 3u { tuples[3] = indices[at + 3u]; }
    return Four(listed(0u, &tuples), listed(1u, &tuples), listed(2u, &tuples), listed(3u, &tuples));
}

// Looks up row `n`, 0 to 3, of the four rows whose tuples are in `tuples`.
fn listed(n: u32, tuples: ptr<function, Tuples>) -> Row {
    var at = Row(0u, FOUND);
    if DIMS > 0u { at = coordinate(0u, listed_index(n * DIMS, tuples), at); }
    if DIMS > 1u { at = coordinate(1u, listed_index(n * DIMS + 1u, tuples), at); }
    return at;
}

fn listed_index(n: u32, tuples: ptr<function, Tuples>) -> Index {
    let at = n * INDEX_WORDS;
    let low = (*tuples)[at >> 2u][at & 3u];
    if INDEX_WORDS == 2u {
        return Index(low, (*tuples)[at >> 2u][(at & 3u) + 1u]);
    }
    return extended(low);
}
