// The third step of a scatter_nd whose result depends on the order of rows: sorts, in ascending order, the lists that
// are too long for one invocation in `scatter_sort.wgsl`. Most scatters have none. `scatter_nd.wgsl` says what lists,
// links and blocks are.
//
// LANES invocations sort a list of up to MOST rows: one of them copies the list's links to workgroup memory, and then
// each of them finds the successors of every LANES-th row.
//
// A workgroup links up to TOGETHER longer lists anew. It goes through all rows of the block from the last to the first,
// so that it knows the successor of each row when it reaches the row. The time for this does not depend on the length
// or order of the lists.
//
// The `tiles` workgroups take lists in turn: lists to sort from the first workgroup on, and longer lists from the last
// workgroup back.

struct Map {
    // The most rows of a list that one invocation sorts.
    longest: u32,
    // The word of `rows` at which the links begin.
    links: u32,
    // The word of `rows` that holds the first slice with a list of more than MOST rows.
    long: u32,
    // The number that `head` gives to this block's first row.
    @size(84) first_row: u32,
}

// A flag that `scatter_sort.wgsl` sets in entries of `head`, and this step keeps; it is not part of a row's number.
const FIRST: u32 = 0x80000000u;

// Stands for no slice in `rows`: the row is out of range, or its slice is not bound.
const NONE: u32 = 0xffffffffu;

// The number of invocations that sort a list.
const LANES: u32 = 32u;
// The number of lists that a workgroup sorts at once.
const LISTS: u32 = WORKGROUP / LANES;
// The most rows of a list that fits in workgroup memory.
const MOST: u32 = 256u;

// The most lists that a workgroup links anew at once. WORKGROUP is not smaller, so each of these lists has an
// invocation.
const TOGETHER: u32 = 64u;
// The number of rows that a workgroup loads together, here called a stretch: four for each invocation.
const STRETCH: u32 = 4u * WORKGROUP;
// The number of words of a bit map that has one bit for each row of a stretch: at most 32, the bits of a word of
// `filled`.
const WORDS: u32 = STRETCH / 32u;

@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// The layout is that in `scatter_sort.wgsl`.
@group(0) @binding(1) var<storage, read_write> rows: array<atomic<u32>>;

// The number of lists to sort, and the number of lists to link anew.
var<workgroup> noted: vec2<u32>;

// While lists are sorted, this array holds their links: MOST words for each list. While lists are linked anew, it first
// holds their slices, and then a bit map for each list, which says which rows of a stretch are in the list. LISTS *
// MOST and TOGETHER * WORDS are both 8 * WORKGROUP.
var<workgroup> words: array<atomic<u32>, 8u * WORKGROUP>;
// The number of rows of each list to sort.
var<workgroup> lengths: array<u32, LISTS>;

// The slices of the lists to link anew, in ascending order. The rest of the array is NONE.
var<workgroup> slices: array<u32, TOGETHER>;
// For each of these lists, a mask of the words of its bit map that are not 0.
var<workgroup> filled: array<atomic<u32>, TOGETHER>;
// For each of these lists, the link to the first of its rows in later stretches, or 0.
var<workgroup> behind: array<u32, TOGETHER>;

// Given the link to a row, returns the word of `rows` that holds the row's link to its successor.
fn place(link: u32) -> u32 {
    return uniforms.map.links + link - 1u;
}

// Makes the slice's entry of `head` name the row of `link`, the first of the slice's list.
fn set_first(slice: u32, link: u32) {
    atomicStore(&head[slice + 1u], (uniforms.map.first_row + link) | FIRST);
}

// Sorts up to LISTS lists: list number `first` and those after it.
fn sort_lists(first: u32, local: u32) {
    let own = local / LANES;
    let there = first + own < noted.x;
    var slice = 0u;
    if there {
        slice = atomicLoad(&rows[2u * uniforms.map.links + 4u + first + own]);
    }
    if there && local % LANES == 0u {
        lengths[own] = copy_links(slice, own * MOST);
    }
    workgroupBarrier();
    if there {
        for (var i = local % LANES; i < lengths[own]; i += LANES) {
            sort_row(slice, atomicLoad(&words[own * MOST + i]), own * MOST, lengths[own]);
        }
    }
    workgroupBarrier();
}

// Copies the links of a slice's list to `words`, from index `begin`. Returns the number of links.
fn copy_links(slice: u32, begin: u32) -> u32 {
    var length = 0u;
    var link = (atomicLoad(&head[slice + 1u]) & ~FIRST) - uniforms.map.first_row;
    while link != 0u && length < MOST {
        atomicStore(&words[begin + length], link);
        length++;
        link = atomicLoad(&rows[place(link)]);
    }
    return length;
}

// Sets the link of the row of `link` to its successor: the next larger of the `length` links that begin at
// `words[begin]`, or 0 if `link` is the largest of them. If `link` is the smallest, its row becomes the first of the
// list.
fn sort_row(slice: u32, link: u32, begin: u32, length: u32) {
    var next = NONE;
    var is_first = true;
    for (var i = 0u; i < length; i++) {
        let other = atomicLoad(&words[begin + i]);
        is_first &= other >= link;
        next = select(next, min(next, other), other > link);
    }
    atomicStore(&rows[place(link)], select(next, 0u, next == NONE));
    if is_first {
        set_first(slice, link);
    }
}

// Returns the slices of four rows, which are WORKGROUP rows apart, and NONE for rows after the last one. There is no
// loop, because each round would wait for its own load.
fn slices_of(row: u32) -> vec4<u32> {
    let at = row + WORKGROUP * vec4(0u, 1u, 2u, 3u);
    let bound = min(at, vec4(uniforms.units - 1u));
    let found = vec4(
        atomicLoad(&rows[bound.x]),
        atomicLoad(&rows[bound.y]),
        atomicLoad(&rows[bound.z]),
        atomicLoad(&rows[bound.w]),
    );
    return select(vec4(NONE), found, at < vec4(uniforms.units));
}

// Returns the index of each of four slices in `slices`, or TOGETHER for a slice that `slices` does not have.
// `half` is the largest power of two less than the number of slices, or 1.
fn lists_of(four: vec4<u32>, half: u32) -> vec4<u32> {
    var at = vec4(0u);
    for (var step = half; step > 0u; step >>= 1u) {
        let further = at + step;
        let found = vec4(slices[further.x], slices[further.y], slices[further.z], slices[further.w]);
        at = select(at, further, found <= four);
    }
    let found = vec4(slices[at.x], slices[at.y], slices[at.z], slices[at.w]);
    return select(vec4(TOGETHER), at, (found == four) & (four != vec4(NONE)));
}

// Marks row number `number` of a stretch in the bit map of its list.
fn mark(list: u32, number: u32) {
    if list < TOGETHER {
        atomicOr(&words[list * WORDS + (number >> 5u)], 1u << (number & 31u));
        atomicOr(&filled[list], 1u << (number >> 5u));
    }
}

// Links row number `number` of the stretch that begins at row `begin` to the next row of its list. Returns whether no
// earlier row of the stretch is in the list.
fn link_row(list: u32, begin: u32, number: u32) -> bool {
    if list >= TOGETHER {
        return false;
    }
    let word = number >> 5u;
    let bits = atomicLoad(&words[list * WORDS + word]);
    let others = atomicLoad(&filled[list]);
    // The word of the bit map that has the next row's bit, and the bits in that word of rows after this one.
    var next_word = word;
    var next_bits = bits & (0xfffffffeu << (number & 31u));
    let later = others & (0xfffffffeu << word);
    if next_bits == 0u && later != 0u {
        next_word = firstTrailingBit(later);
        next_bits = atomicLoad(&words[list * WORDS + next_word]);
    }
    var next = behind[list];
    if next_bits != 0u {
        next = begin + next_word * 32u + firstTrailingBit(next_bits) + 1u;
    }
    atomicStore(&rows[uniforms.map.links + begin + number], next);
    let earlier = (bits & ~(0xffffffffu << (number & 31u))) | (others & ~(0xffffffffu << word));
    return earlier == 0u;
}

fn set_behind(list: u32, link: u32, is_first: bool) {
    if is_first {
        behind[list] = link;
    }
}

// Links the rows of each of `count` lists anew, in ascending order: list number `first` and those after it.
fn link_lists(first: u32, count: u32, local: u32) {
    var slice = NONE;
    if local < count {
        slice = atomicLoad(&rows[uniforms.map.long + first + local]);
        atomicStore(&words[local], slice);
    }
    workgroupBarrier();
    var own = local;
    if local < count {
        own = 0u;
        for (var i = 0u; i < count; i++) {
            own += u32(atomicLoad(&words[i]) < slice);
        }
    }
    if local < TOGETHER {
        slices[own] = slice;
        behind[local] = 0u;
    }
    workgroupBarrier();
    let half = 1u << firstLeadingBit(max(count - 1u, 1u));
    var begin = (uniforms.units - 1u) / STRETCH * STRETCH;
    var next_slices = slices_of(begin + local);
    for (var left = begin / STRETCH + 1u; left > 0u; left--) {
        let lists = lists_of(next_slices, half);
        // These loads wait for memory while this stretch is linked. In the last round the row numbers wrap, and the
        // results are not used.
        next_slices = slices_of(begin - STRETCH + local);
        for (var i = local; i < TOGETHER * WORDS; i += WORKGROUP) {
            atomicStore(&words[i], 0u);
        }
        if local < TOGETHER {
            atomicStore(&filled[local], 0u);
        }
        workgroupBarrier();
        let numbers = local + WORKGROUP * vec4(0u, 1u, 2u, 3u);
        mark(lists.x, numbers.x);
        mark(lists.y, numbers.y);
        mark(lists.z, numbers.z);
        mark(lists.w, numbers.w);
        workgroupBarrier();
        let first_x = link_row(lists.x, begin, numbers.x);
        let first_y = link_row(lists.y, begin, numbers.y);
        let first_z = link_row(lists.z, begin, numbers.z);
        let first_w = link_row(lists.w, begin, numbers.w);
        workgroupBarrier();
        let own_links = begin + numbers + 1u;
        set_behind(lists.x, own_links.x, first_x);
        set_behind(lists.y, own_links.y, first_y);
        set_behind(lists.z, own_links.z, first_z);
        set_behind(lists.w, own_links.w, first_w);
        begin -= STRETCH;
    }
    workgroupBarrier();
    if local < count {
        set_first(slice, behind[own]);
    }
    workgroupBarrier();
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if local == 0u {
        let counts = 2u * uniforms.map.links;
        noted = vec2(atomicLoad(&rows[counts]), atomicLoad(&rows[counts + 1u]));
    }
    let lists = workgroupUniformLoad(&noted);
    let number = group_number(group);
    if number >= uniforms.tiles {
        return;
    }
    for (var first = number * LISTS; first < lists.x; first += uniforms.tiles * LISTS) {
        sort_lists(first, local);
    }
    let from_last = uniforms.tiles - 1u - number;
    for (var first = from_last * TOGETHER; first < lists.y; first += uniforms.tiles * TOGETHER) {
        link_lists(first, min(lists.y - first, TOGETHER), local);
    }
}
