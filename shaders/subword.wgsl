// Moves units of 1 or 2 bytes, one word of the result after the other. A tile is a stretch of words, which may
// span rows. An invocation has whole words, so that no two write the
// same. Bytes of a word that this dispatch has no unit for (before the first, behind the last, or moved by
// another dispatch) are left as they are.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

override PER_WORD: u32 = 4u / UNIT_BYTES;

// Words are numbered from the one that holds the first unit; so many units before it are not ours.
fn head() -> u32 {
    return uniforms.dest_base % PER_WORD;
}

fn first_word() -> u32 {
    return uniforms.dest_base / PER_WORD;
}

// The number of words.
fn words() -> u32 {
    return (head() + uniforms.units + PER_WORD - 1u) / PER_WORD;
}

// The row at hand, which ends before unit `end`; 0 until the first one is looked up.
struct AtHand {
    row: u32,
    end: u32,
    begin: Row,
}

// Builds word `w`, whatever rows it holds.
fn build(w: u32, at: ptr<function, AtHand>) {
    var word = 0u;
    var written = 0u;
    // The place in the word, in units, and the unit that belongs there.
    var place = select(0u, head(), w == 0u);
    var unit = w * PER_WORD + place - head();
    while place < PER_WORD && unit < uniforms.units {
        if unit >= (*at).end {
            (*at).row = unit / uniforms.run;
            (*at).end = ((*at).row + 1u) * uniforms.run;
            (*at).begin = source_row((*at).row);
        }
        let j = unit + uniforms.run - (*at).end;
        // As many units as neighbour each other in the source, the row and the word.
        var count = 1u;
        if uniforms.step == 1u {
            count = min(PER_WORD - place, (*at).end - unit);
        }
        let shift = place * UNIT_BYTES * 8u;
        let from_unit = uniforms.source_base + (*at).begin.base + j * uniforms.step;
        if (*at).begin.state == FOUND {
            // A run may cross the end of the window: then it goes unit by unit.
            if count > 1u && !(within(from_unit) && within(from_unit + count - 1u)) {
                count = 1u;
            }
            if within(from_unit) {
                let keep = low_bytes(count * UNIT_BYTES);
                word |= (load(from_unit * UNIT_BYTES) & keep) << shift;
                written |= keep << shift;
            }
        } else if (*at).begin.state == MISSING {
            if j == 0u {
                missing((*at).row);
            }
            written |= low_bytes(count * UNIT_BYTES) << shift;
        }
        place += count;
        unit += count;
    }
    if written == 0u {
        return;
    }
    if written != 0xffffffffu {
        word |= dest[first_word() + w] & ~written;
    }
    dest[first_word() + w] = word;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= uniforms.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let end = min((tile + 1u) * uniforms.segment, words());
    var at = AtHand(0u, 0u, Row(0u, ELSEWHERE));
    for (var w = tile * uniforms.segment + (id & (lanes - 1u)); w < end; w += lanes) {
        build(w, &at);
    }
}
