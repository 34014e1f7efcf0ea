// Writes rows of units of 1 or 2 bytes, of which only some have a source: the others become zeros. An
// invocation builds whole words of the result; bytes of a word before the first unit or behind the
// last are left as they are.
//
// A tile is a stretch of words, whatever rows they hold.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let per_word = 4u / UNIT_BYTES;
    let bits = UNIT_BYTES * 8u;
    let keep = 0xffffffffu >> (32u - bits);
    // Words are numbered from the one that holds the first unit; `head` units before it are not ours.
    let head = params.dest_base % per_word;
    let first_word = params.dest_base / per_word;
    let words = (head + params.units + per_word - 1u) / per_word;
    let end = min((tile + 1u) * params.segment, words);

    // The row at hand ends before unit `row_end`; 0 until the first one is looked up.
    var row_end = 0u;
    var begin = Row(0u, MISSING);
    for (var w = tile * params.segment + (id & (lanes - 1u)); w < end; w += lanes) {
        var word = 0u;
        var written = 0u;
        for (var place = select(0u, head, w == 0u); place < per_word; place++) {
            let unit = w * per_word + place - head;
            if unit >= params.units {
                break;
            }
            if unit >= row_end {
                let row = unit / params.run;
                row_end = (row + 1u) * params.run;
                begin = source_row(row);
            }
            let from_unit = source_unit(begin, unit + params.run - row_end);
            if from_unit.state == FOUND {
                let address = (params.source_base + from_unit.base) * UNIT_BYTES;
                let value = (source[address >> 2u] >> ((address & 3u) << 3u)) & keep;
                word |= value << (place * bits);
            }
            written |= keep << (place * bits);
        }
        if written != 0xffffffffu {
            word |= dest[first_word + w] & ~written;
        }
        dest[first_word + w] = word;
    }
}
