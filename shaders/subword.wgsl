// Moves units of 1 or 2 bytes. A tile consists of consecutive words of the result, and may span rows. One invocation
// writes each word. Bytes for which this dispatch has no unit (before the first, after the last, or moved by another
// dispatch) keep their values.

override UNIT_BYTES: u32;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

override PER_WORD: u32 = 4u / UNIT_BYTES;

// The number of units that precede the dispatch's first unit in the word that holds it. Words are numbered from this
// word.
fn head() -> u32 {
    return uniforms.dest_base % PER_WORD;
}

fn first_word() -> u32 {
    return uniforms.dest_base / PER_WORD;
}

// The number of words that the dispatch's units lie in.
fn words() -> u32 {
    return (head() + uniforms.units + PER_WORD - 1u) / PER_WORD;
}

// The row that was looked up last. It begins in the source at `begin`, and in the result it ends before unit `end`.
// Until the first look-up `end` is 0.
struct AtHand {
    row: u32,
    end: u32,
    begin: Row,
}

// Builds word `w`, which may span rows.
fn build(w: u32, at: ptr<function, AtHand>) {
    var word = 0u;
    var written = 0u;
    // The place in the word of the unit that is moved next, counted in units.
    var place = select(0u, head(), w == 0u);
    // The number of this unit in the result.
    var unit = w * PER_WORD + place - head();
    while place < PER_WORD && unit < uniforms.units {
        if unit >= (*at).end {
            (*at).row = unit / uniforms.run;
            (*at).end = ((*at).row + 1u) * uniforms.run;
            (*at).begin = source_row((*at).row);
        }
        let j = unit + uniforms.run - (*at).end;
        // The number of units that are contiguous in the source, and lie in this row and in this word.
        var count = 1u;
        if uniforms.step == 1u {
            count = min(PER_WORD - place, (*at).end - unit);
        }
        let shift = place * UNIT_BYTES * 8u;
        let from_unit = uniforms.source_base + (*at).begin.base + j * uniforms.step;
        if (*at).begin.state == FOUND {
            // Units that are not all within the bound part of params are moved one at a time.
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
