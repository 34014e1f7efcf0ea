// Moves rows of units of 1 or 2 bytes to places of the destination. Rows may share words: an
// invocation that has but a part of a word clears and sets its own bits of it, each at once, and so
// never touches what another writes or what nobody does.
//
// A tile is a stretch of the words that one row lies in, `run` of them at most. Units of a row lie so
// close together in the destination that there is one in every word.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let per_word = 4u / UNIT_BYTES;
    let at = segment(tile);

    let start = row_start(at.row);
    if start.state != FOUND {
        return;
    }
    let origin = params.source_base + start.from_part;
    let to = params.dest_base + start.to;
    // Places are counted from the word that holds the row's first unit.
    let head = to % per_word;
    let first_word = to / per_word;
    let step = dest_step();
    let together = step == 1u && params.step == 1u;
    for (var w = at.first + (id & (lanes - 1u)); w < at.end; w += lanes) {
        let word_begin = w * per_word;
        var j = 0u;
        if word_begin > head {
            j = (word_begin - head + step - 1u) / step;
        }
        var place = head + j * step - word_begin;
        var word = 0u;
        var written = 0u;
        while place < per_word && j < params.units {
            // As many units as neighbour each other in both rows and the word.
            var count = 1u;
            if together {
                count = min(per_word - place, params.units - j);
            }
            let keep = low_bytes(count * UNIT_BYTES);
            let shift = place * UNIT_BYTES * 8u;
            word |= (load((origin + j * params.step) * UNIT_BYTES) & keep) << shift;
            written |= keep << shift;
            j += count;
            place += count * step;
        }
        if written == 0xffffffffu {
            atomicStore(&dest[first_word + w], word);
        } else if written != 0u {
            atomicAnd(&dest[first_word + w], ~written);
            atomicOr(&dest[first_word + w], word);
        }
    }
}
