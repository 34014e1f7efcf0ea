// Moves units of 1 or 2 bytes. An invocation builds whole words of the result, so that no two
// invocations write the same word. Bytes of a word that this dispatch has no unit for (before the
// first, behind the last, or moved by another dispatch) are left as they are.
//
// A tile is a stretch of words, whatever rows they hold.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let per_word = 4u / UNIT_BYTES;
    // Words are numbered from the one that holds the first unit; `head` units before it are not ours.
    let head = params.dest_base % per_word;
    let first_word = params.dest_base / per_word;
    let words = (head + params.units + per_word - 1u) / per_word;
    let end = min((tile + 1u) * params.segment, words);

    // The row at hand ends before unit `row_end`; 0 until the first one is looked up.
    var row = 0u;
    var row_end = 0u;
    var begin = Row(0u, ELSEWHERE);
    for (var w = tile * params.segment + (id & (lanes - 1u)); w < end; w += lanes) {
        var word = 0u;
        var written = 0u;
        // The place in the word, in units, and the unit that belongs there.
        var place = select(0u, head, w == 0u);
        var unit = w * per_word + place - head;
        while place < per_word && unit < params.units {
            if unit >= row_end {
                row = unit / params.run;
                row_end = (row + 1u) * params.run;
                begin = source_row(row);
            }
            let j = unit + params.run - row_end;
            // As many units as neighbour each other in the source, the row and the word.
            var count = 1u;
            if params.step == 1u {
                count = min(per_word - place, row_end - unit);
            }
            let shift = place * UNIT_BYTES * 8u;
            let from_unit = params.source_base + begin.base + j * params.step;
            if begin.state == FOUND {
                // A run may cross the end of the window: then it goes unit by unit.
                if count > 1u && !(within(from_unit) && within(from_unit + count - 1u)) {
                    count = 1u;
                }
                if within(from_unit) {
                    let keep = low_bytes(count * UNIT_BYTES);
                    word |= (load(from_unit * UNIT_BYTES) & keep) << shift;
                    written |= keep << shift;
                }
            } else if begin.state == MISSING {
                if j == 0u {
                    missing(row);
                }
                written |= low_bytes(count * UNIT_BYTES) << shift;
            }
            place += count;
            unit += count;
        }
        if written != 0xffffffffu {
            word |= dest[first_word + w] & ~written;
        }
        dest[first_word + w] = word;
    }
}
