// The last step of a scatter that combines numbers of 1 or 2 bytes. An invocation takes a word of the destination. It
// combines the numbers of each slice in this word with the numbers at the same positions in every row of the slice, in
// order. If there are few rows (BY_ROWS), invocations go through the words of each row instead of all words; then only
// the invocations of a slice's first row combine the rows of the slice. Slices can share words: an invocation that
// changes only a part of a word does this by atomic AND and OR. Needs: no other names.
#import chain.wgsl
#import parts.wgsl

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> dest: array<atomic<u32>>;

// Returns `bytes` bytes, starting at `byte`, in the lowest bytes of a word. The higher bytes have no meaning.
fn load(byte: u32, bytes: u32) -> u32 {
    // WGSL would take a shift by 32 as a shift by 0, so there are two shifts.
    let high = source[(byte + bytes - 1u) >> 2u] << 1u;
    return (source[byte >> 2u] >> (byte << 3u)) | (high << ~(byte << 3u));
}

// Returns word `at` of the lists. The lists are in the binding of the tuples. If rows are UNIQUE, there are no lists.
fn word_at(at: u32) -> u32 { return tuples[at]; }

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = workgroup_number(group, walk.groups_x) * WORKGROUP + local;
    let per_word_log2 = select(1u, 2u, ELEMENT == 1u);
    let per_word = 1u << per_word_log2;
    // The range of elements of the destination that the dispatch changes or, if BY_ROWS, that belong to the row's
    // slice.
    var begin = walk.to_base;
    var end = begin + (walk.slices - 1u) * walk.pitch + walk.run;
    var number_of_row = 0u;
    var word = (begin >> per_word_log2) + id;
    if BY_ROWS {
        let row = id / walk.segments;
        if row >= walk.rows { return; }
        number_of_row = walk.first_row + row + 1u;
        let slice = led_by(row, id == row * walk.segments);
        if slice == NONE { return; }
        begin += slice * walk.pitch;
        end = begin + walk.run;
        word = (begin >> per_word_log2) + (id - row * walk.segments);
    }
    end = min(end, (word + 1u) * per_word);
    var bits = 0u;
    var mask = 0u;
    for (var at = max(begin, word * per_word); at < end;) {
        let slice = (at - walk.to_base) / walk.pitch;
        let j = at - walk.to_base - slice * walk.pitch;
        // The number of elements of the word, starting at `at`, that belong to the slice. It is 0 if this dispatch does
        // not change the rest of the slice.
        let count = min(end - at, max(walk.run, j) - j);
        let in_word = at - word * per_word;
        at += max(count, 1u);
        if count == 0u { continue; }
        var number = number_of_row;
        if !BY_ROWS { number = first_after(slice, 0u, 0u); }
        if !FRESH && number == 0u { continue; }
        let bit_shift = in_word * ELEMENT * 8u;
        let kept_bits = (NONE >> (32u - count * ELEMENT * 8u)) << bit_shift;
        // All other bits are set to 0: their memory might never have been written, and the addition of f16 and bf16
        // numbers branches on all bits of a word.
        var result = 0u;
        if !FRESH { result = atomicLoad(&dest[word]) & kept_bits; }
        // The link to the next row is loaded before this row is combined, so that the load and the arithmetic overlap.
        while number > walk.first_row {
            let update = load(unit_of(number, j) * ELEMENT, count * ELEMENT);
            number = next_of(number);
            result = combined_parts(result, (update << bit_shift) & kept_bits);
        }
        bits |= result & kept_bits;
        mask |= kept_bits;
    }
    if mask == NONE {
        atomicStore(&dest[word], bits);
    } else if mask != 0u {
        atomicAnd(&dest[word], ~mask);
        atomicOr(&dest[word], bits);
    }
}
