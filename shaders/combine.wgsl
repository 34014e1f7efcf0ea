// Adds rows of elements of one or two words to slices of the destination: all rows of a slice, one after
// the other, element by element.
//
// A tile is a segment of one row. Its lanes take neighbouring elements.

// Words of an element, and whether it is a floating-point number rather than an integer, which wraps.
override WORDS: u32;
override FLOATS: bool;

// Whether the rows of a slice are in ascending order.
override SORTED: bool;

// Where a row of updates begins, and its slice; and whether the row has one, and is the one that does the
// work for it.
struct Places {
    source: u32,
    dest: u32,
    found: bool,
}

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

fn add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if FLOATS {
        return vec2(bitcast<u32>(bitcast<f32>(a.x) + bitcast<f32>(b.x)), 0u);
    }
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + u32(low < a.x));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let lane = id & (lanes - 1u);
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    let end = min(first + params.segment, params.run);

    let at = row_places(row);
    if !at.found {
        return;
    }
    var chain = row + 1u;
    if SORTED {
        chain = rows[row].first;
    }
    let to = params.dest_base + at.dest;
    for (var j = first + lane; j < end; j += lanes) {
        let place = (to + j) * WORDS;
        var sum = vec2(dest[place], 0u);
        if WORDS == 2u {
            sum.y = dest[place + 1u];
        }
        for (var link = chain; link != 0u; link = rows[link - 1u].next) {
            let origin = (params.source_base + (link - 1u) * params.map.stride + j) * WORDS;
            var update = vec2(source[origin], 0u);
            if WORDS == 2u {
                update.y = source[origin + 1u];
            }
            sum = add(sum, update);
        }
        dest[place] = sum.x;
        if WORDS == 2u {
            dest[place + 1u] = sum.y;
        }
    }
}
