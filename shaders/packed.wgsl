// Moves units of 1 or 2 bytes. An invocation builds whole words of the result, so that no two
// invocations write the same word. Units beyond the end of the result are written as zeros.
//
// A tile is a stretch of words, whatever rows they hold.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

// The four bytes from any byte address on. Bytes beyond the last word are unspecified.
fn load(address: u32) -> u32 {
    let word = address >> 2u;
    let shift = (address & 3u) << 3u;
    let low = source[word];
    if shift == 0u {
        return low;
    }
    let high = source[min(word + 1u, arrayLength(&source) - 1u)];
    return (low >> shift) | (high << (32u - shift));
}

// The lowest `bytes` bytes of a word; `bytes` is 1 to 4.
fn keep(word: u32, bytes: u32) -> u32 {
    return word & (0xffffffffu >> (32u - 8u * bytes));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let per_word = 4u / UNIT_BYTES;
    let words = (params.units + per_word - 1u) / per_word;
    let first = tile * params.segment + (id & (lanes - 1u));
    let end = min((tile + 1u) * params.segment, words);

    // The row at hand ends before unit `row_end`; 0 until the first one is looked up.
    var row = 0u;
    var row_end = 0u;
    var begin = Row(0u, false);
    for (var w = first; w < end; w += lanes) {
        var word = 0u;
        var filled = 0u;
        var unit = w * per_word;
        while filled < 4u && unit < params.units {
            if unit >= row_end {
                row = unit / params.run;
                row_end = (row + 1u) * params.run;
                begin = source_row(row);
            }
            let j = unit + params.run - row_end;
            // As many units as neighbour each other in the source, the row and the word.
            var count = 1u;
            if params.step == 1u {
                count = min((4u - filled) / UNIT_BYTES, row_end - unit);
            }
            if begin.found {
                let from_unit = params.source_base + begin.base + j * params.step;
                let bytes = keep(load(from_unit * UNIT_BYTES), count * UNIT_BYTES);
                word |= bytes << (filled << 3u);
            } else if j == 0u {
                missing(row);
            }
            filled += count * UNIT_BYTES;
            unit += count;
        }
        dest[params.dest_base + w] = word;
    }
}
