// Common code of the kernels that search a mask. A search has three steps. `mask_count` counts the true elements of
// each chunk. `mask_scan` computes from the counts where each chunk begins in the result. `mask_rows` writes the
// positions of the true elements to the result.
//
// A mask has a byte for each element: 0 if the element is false. A chunk is the part of the mask that a workgroup
// takes: four words for each invocation. The host's struct is in src/gpu/engine/uniforms.rs; a test compares the two
// structs.
// Defines: search, mask, WORDS, sums, true_flags, sum_before. Needs: no other names.
#import grid.wgsl

// A dimension of the mask.
struct MaskDim {
    // The number of positions, or 0 if all elements of the dispatch have the same position along each outer dimension.
    size: u32,
    // The position of the first element of the dispatch, in two words.
    first: u32,
    first_high: u32,
    // The first word of this dimension's position in a row of the result.
    column: u32,
}

struct Search {
    // The offset in bytes of the dispatch's first element in the bound mask.
    begin: u32,
    // The number of elements of the dispatch.
    elements: u32,
    // The index of the dispatch's first chunk among the bound chunks.
    first_chunk: u32,
    // The number of chunks of the dispatch.
    chunks: u32,
    // The index of the first word of the total that `mask_scan` writes: see `mask_scan.wgsl`.
    number: u32,
    // The capacity of the result, in rows.
    capacity: u32,
    // The index of the first word of the bound rows of the result.
    result: u32,
    // The number of the first bound row.
    first_row: u32,
    // The number of bound rows.
    rows: u32,
    // The number of words in a row of the result.
    row_words: u32,
    // The number of words in an integer of a row (2 for i64).
    index_words: u32,
    // The number of workgroups in the first dimension of the grid.
    groups_x: u32,
    dims: array<MaskDim, 30>,
}

// The number of words of a mask that an invocation takes.
const WORDS: u32 = 4u;

@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(2) @binding(0) var<uniform> search: Search;

var<workgroup> sums: array<u32, WORKGROUP>;

// Returns a bit for each true element in word `word` of the dispatch's part of the mask.
fn true_flags(word: u32) -> u32 {
    // The number of bytes before the first element in its word.
    let head = search.begin & 3u;
    if word * 4u >= head + search.elements { return 0u; }
    let bytes = (vec4(mask[(search.begin >> 2u) + word]) >> (ZERO_TO_THREE * 8u)) & vec4(0xffu);
    // The subtraction wraps to a large number for a byte before the first element.
    let inside = word * 4u + ZERO_TO_THREE - head < vec4(search.elements);
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), (bytes != vec4(0u)) & inside);
    return bits.x | bits.y | bits.z | bits.w;
}

// Returns the sum of `own` over the earlier invocations of the workgroup. `sums` then has, for each invocation, the sum
// that includes its own value.
fn sum_before(own: u32, local: u32) -> u32 {
    sums[local] = own;
    workgroupBarrier();
    for (var apart = 1u; apart < WORKGROUP; apart *= 2u) {
        var before = 0u;
        if local >= apart { before = sums[local - apart]; }
        workgroupBarrier();
        sums[local] += before;
        workgroupBarrier();
    }
    return sums[local] - own;
}
