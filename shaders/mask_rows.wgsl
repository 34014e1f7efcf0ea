// Searches of masks, step 3: writes the position of each true element to its row of the result. See `mask.wgsl`.
//
// A position has a number for each of `walk.dims`. The first element of the dispatch lies at `from_stride` along each of
// them, and `to_stride` times 2^32 beyond that. All elements of the dispatch lie in one row of the dimension whose size is
// given as 0, so in the dimensions before it all have the numbers of the first element.
//
// A dispatch writes the `walk.slices` rows from `walk.first_slice` on, of `walk.tuple_words` words each, which begin at
// word `walk.to_base`. Positions of other rows are other dispatches', or have no room.
//
// Another dispatch (FILLS) writes NONE to the rows behind the last position. `mask` is then the words that
// `mask_scan` wrote, from word `walk.from_base` on.
// Needs: nothing.
#import mask.wgsl

override FILLS: bool = false;

@group(0) @binding(1) var<storage, read> begins: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<u32>;

fn fill(first: u32) {
    let kept = mask[walk.from_base + 3u];
    for (var n = 0u; n < 4u * WORDS; n++) {
        let row = first + n * WORKGROUP;
        if row < walk.slices && walk.first_slice + row >= kept {
            for (var word = 0u; word < walk.tuple_words; word++) {
                rows[walk.to_base + row * walk.tuple_words + word] = NONE;
            }
        }
    }
}

// Writes the position of element `element` of the dispatch to row `row` of those that are bound.
fn write(row: u32, element: u32) {
    let to = walk.to_base + row * walk.tuple_words;
    var rest = element;
    for (var n = 0u; n < dims(); n++) {
        let d = dims() - 1u - n;
        let size = walk.dims[d].size;
        var digit = rest + walk.dims[d].from_stride;
        let high = walk.dims[d].to_stride + select(0u, 1u, digit < rest);
        rest = 0u;
        if size > 0u {
            rest = digit / size;
            digit -= rest * size;
        }
        rows[to + d * walk.index_words] = digit;
        if walk.index_words == 2u { rows[to + d * 2u + 1u] = high; }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let chunk = workgroup_number(group);
    if FILLS {
        fill(chunk * WORKGROUP * 4u * WORDS + local);
        return;
    }
    let first = (chunk * WORKGROUP + local) * WORDS;
    var found = 0u;
    for (var n = 0u; n < WORDS; n++) {
        found |= trues(first + n) << (4u * n);
    }
    let before = sum_before(countOneBits(found), local);
    if chunk >= walk.segments { return; }
    let begin = begins[walk.first_row + chunk];
    // No result has room for 2^31 rows.
    if begin >= HIGH { return; }
    var row = begin + before - walk.first_slice;
    for (; found != 0u; found &= found - 1u) {
        if row < walk.slices { write(row, first * 4u + firstTrailingBit(found) - walk.head); }
        row++;
    }
}
