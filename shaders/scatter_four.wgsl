// scatter_nd, last step, where rows are a single unit: four rows go to their slices. `scatter_nd.wgsl` says
// how.

// Of each four rows the slices; and behind them, where rows are chained, the next row of each slice plus
// one, or 0.
@group(0) @binding(3) var<storage, read> rows: array<vec4<u32>>;

// The row behind one of a chain, both plus one.
fn next(link: u32) -> u32 {
    let row = link - 1u;
    return rows[(row >> 2u) * 2u + 1u][row & 3u];
}

// The slices of four rows, and which rows do the work for theirs.
struct FourPlaces {
    slices: vec4<u32>,
    found: vec4<bool>,
    // The rows behind them, plus one, where rows are chained.
    next: vec4<u32>,
}

fn four_places(four: u32) -> FourPlaces {
    let first = four * select(1u, 2u, CHAINS);
    let slices = rows[first];
    var next = vec4(0u);
    if CHAINS {
        next = rows[first + 1u];
    }
    // Of rows without a slice the first word is looked at, which is none of a slice.
    let at = slices + 1u;
    let named = vec4(head[at.x], head[at.y], head[at.z], head[at.w]) & vec4(~SORTED);
    let those = named == params.first + four * 4u + vec4(1u, 2u, 3u, 4u);
    let found = those & (slices != vec4(NONE)) & vec4(!STRICT || head[0] == 0u);
    return FourPlaces(slices, found, next);
}
