// Moves neighbouring units of 1 or 2 bytes. A tile is a stretch of words, whatever rows they hold:
// `lanes` neighbouring invocations build neighbouring words, four each. A word that lies within a row is made
// of two of the source, and all of those are on their way before anything is stored. The others are built
// unit by unit.

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    let lanes = 1u << params.lanes_log2;
    let w = vec4(tile * params.segment + (id & (lanes - 1u))) + lanes * vec4(0u, 1u, 2u, 3u);
    let inside = (w < vec4(words())) & vec4(tile < params.tiles);

    // The units that the words begin with. Those of the first word may lie before the result, and so are none.
    let begins = inside & (w * PER_WORD >= vec4(head()));
    let unit = select(vec4(0u), w * PER_WORD - head(), begins);
    let row = unit / params.run;
    let j = unit - row * params.run;
    let a = source_row(row.x);
    let b = source_row(row.y);
    let c = source_row(row.z);
    let d = source_row(row.w);
    let from_unit = params.source_base + vec4(a.base, b.base, c.base, d.base) + j;
    let last = from_unit + PER_WORD - 1u;
    let bound = vec4(
        within(from_unit.x) && within(last.x),
        within(from_unit.y) && within(last.y),
        within(from_unit.z) && within(last.z),
        within(from_unit.w) && within(last.w),
    );
    let states = vec4(a.state, b.state, c.state, d.state);
    let in_row = (j + PER_WORD <= vec4(params.run)) & (unit <= vec4(params.units - PER_WORD));
    let whole = begins & in_row & (states == vec4(FOUND)) & bound;

    let address = select(vec4(0u), from_unit * UNIT_BYTES, whole);
    let x = load(address.x);
    let y = load(address.y);
    let z = load(address.z);
    let t = load(address.w);
    let to = first_word() + w;
    if whole.x {
        dest[to.x] = x;
    }
    if whole.y {
        dest[to.y] = y;
    }
    if whole.z {
        dest[to.z] = z;
    }
    if whole.w {
        dest[to.w] = t;
    }

    let left = inside & !whole;
    if any(left) {
        var at = AtHand(0u, 0u, Row(0u, ELSEWHERE));
        for (var n = 0u; n < 4u; n++) {
            if left[n] {
                build(w[n], &at);
            }
        }
    }
}
