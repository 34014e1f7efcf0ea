// Step 3 of a search in a mask: writes the position of each true element to its row of the result. See `mask.wgsl`.
//
// A position has an integer for each dimension. If the size of a dimension is given as 0, all elements of the dispatch
// have the same position along each outer dimension.
//
// A dispatch writes only the bound rows. All other rows exceed the capacity or are written by other dispatches.
//
// A further dispatch (FILLS) writes NONE to the rows after the last position. In this dispatch, `mask` is bound to the
// words that `mask_scan` wrote.
// Needs: no other names.
#import mask.wgsl

override FILLS: bool = false;
// The number of the mask's dimensions.
override DIMS: u32 = 0u;

@group(0) @binding(1) var<storage, read> chunk_starts: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<u32>;

fn fill(first: u32) {
    let kept_count = mask[search.number + 3u];
    for (var n = 0u; n < 4u * WORDS; n++) {
        let row = first + n * WORKGROUP;
        if row < search.rows && search.first_row + row >= kept_count {
            for (var word = 0u; word < search.row_words; word++) {
                rows[search.result + row * search.row_words + word] = NONE;
            }
        }
    }
}

// Writes the position of element `element` of the dispatch to row `row` of the bound rows.
fn write(row: u32, element: u32) {
    var rest = element;
    for (var n = 0u; n < DIMS; n++) {
        let dim = search.dims[DIMS - 1u - n];
        let size = dim.size;
        var digit = rest + dim.first;
        let high = dim.first_high + select(0u, 1u, digit < rest);
        rest = 0u;
        if size > 0u {
            rest = digit / size;
            digit -= rest * size;
        }
        let to = search.result + row * search.row_words + dim.column;
        rows[to] = digit;
        if search.index_words == 2u { rows[to + 1u] = high; }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let chunk = workgroup_number(group, search.groups_x);
    if FILLS {
        fill(chunk * WORKGROUP * 4u * WORDS + local);
        return;
    }
    let first_word = (chunk * WORKGROUP + local) * WORDS;
    var found = 0u;
    for (var n = 0u; n < WORDS; n++) {
        found |= true_flags(first_word + n) << (4u * n);
    }
    let found_before = sum_before(countOneBits(found), local);
    if chunk >= search.chunks { return; }
    let begin = chunk_starts[search.first_chunk + chunk];
    // A chunk that begins at row 2^31 or later exceeds every capacity.
    if begin >= SIGN_BIT { return; }
    var row = begin + found_before - search.first_row;
    for (; found != 0u; found &= found - 1u) {
        if row < search.rows { write(row, first_word * 4u + firstTrailingBit(found) - (search.begin & 3u)); }
        row++;
    }
}
