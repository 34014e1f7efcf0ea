// Moves rows of units of 1 or 2 bytes to places of the destination, on a CPU adapter. An invocation
// writes four words at once, or where there is no more than a unit in a word, those of four units.
//
// Between the first and the last unit of a row no other row is written. So only words at its ends may
// be shared with others, and of those each bit is set by itself.
//
// A tile is a segment of one row, in fours.

// Whether there is no more than a unit in a word.
override SPARSE: bool;

// Whether rows may share words.
override SHARED: bool;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<atomic<u32>>;

// Writes some bits of a word of a row, of which the last one is `last`.
fn write(first_word: u32, n: u32, last: u32, word: u32, written: u32) {
    let at = first_word + n;
    let at_end = n == 0u || n == last;
    if written != 0u && !(SHARED && at_end) {
        var all = word;
        // Of neighbours that fill words only those at the ends keep anything.
        if COUNT * UNIT_BYTES < 16u || at_end {
            all |= atomicLoad(&dest[at]) & ~written;
        }
        atomicStore(&dest[at], all);
    }
    if SHARED {
        if written != 0u && at_end {
            atomicAnd(&dest[at], ~written);
            atomicOr(&dest[at], word);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let per_word = 4u / UNIT_BYTES;
    let at = segment(tile);

    let start = row_start(at.row);
    let to = params.dest_base + start.to;
    let step = dest_step();
    // Places are counted from the word that holds the row's first unit.
    let head = to % per_word;
    let first_word = to / per_word;
    let last = (head + (params.units - 1u) * step) / per_word;
    for (var j = at.first; j < at.end; j++) {
        // The first unit, and its place in the four words.
        var i = j * 4u;
        var place = 0u;
        if !SPARSE {
            let begin = j * 4u * per_word;
            i = select((begin - head + step - 1u) / step, 0u, begin <= head);
            place = head + i * step - begin;
        }
        let address = (params.source_base + start.from_part + i * params.step) * UNIT_BYTES;
        let left = select(params.units - i, 0u, i >= params.units);
        if SPARSE {
            let comb = combed(Teeth(address, left, 0u, per_word));
            for (var n = 0u; n < 4u; n++) {
                let place = head + (i + n) * step;
                let shift = (place % per_word) * 8u * UNIT_BYTES;
                write(first_word, place / per_word, last, comb.words[n] << shift, comb.written[n] << shift);
            }
        } else {
            let comb = combed(Teeth(address, left, place, step));
            for (var n = 0u; n < 4u; n++) {
                write(first_word, j * 4u + n, last, comb.words[n], comb.written[n]);
            }
        }
    }
}
