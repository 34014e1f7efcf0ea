// The third step of a scatter_nd whose result depends on the order of rows: sorts lists that were too long for one
// invocation in `scatter_sort.wgsl`. LANES invocations sort a list: one of them copies the list's links to workgroup
// memory; then each finds the successor of every LANES-th row. If a list does not fit, its slice is noted for
// `scatter_long_lists.wgsl`.
//
// The `tiles` workgroups take LISTS lists each in turn. Most scatters have no such lists. `scatter_nd.wgsl` says what
// lists, links and blocks are.

struct Map {
    // The most rows of a list that one invocation sorts.
    longest: u32,
    // The word of `rows` at which the links begin.
    links: u32,
    // The word of `rows` that holds the first slice that this step notes.
    long: u32,
    // The number that `head` gives to this block's first row.
    @size(84) first_row: u32,
}

// A flag that `scatter_sort.wgsl` sets in entries of `head`, and this step keeps; it is not part of a row's number.
const FIRST: u32 = 0x80000000u;

// The number of invocations that sort a list. A workgroup of 256 then sorts eight lists at once, whose links take 8
// KiB, half of the workgroup memory that every device has.
const LANES: u32 = 32u;
// The number of lists that a workgroup sorts at once.
const LISTS: u32 = WORKGROUP / LANES;
// The most rows of a list that fits in workgroup memory.
const MOST: u32 = 256u;

@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// The layout is that in `scatter_sort.wgsl`.
@group(0) @binding(1) var<storage, read_write> rows: array<atomic<u32>>;

// The number of lists to sort.
var<workgroup> noted: u32;
// The links of the lists, MOST words for each.
var<workgroup> listed: array<u32, LISTS * MOST>;
// The number of links in each list, or MOST + 1 if they do not fit.
var<workgroup> lengths: array<u32, LISTS>;

// Returns the word of `rows` that holds the link of a row, given the link to this row.
fn place(link: u32) -> u32 {
    return uniforms.map.links + link - 1u;
}

// Copies the links of a slice's list to `listed`, from index `begin`. Returns the number of links, or MOST + 1 if they
// do not fit.
fn list_rows(slice: u32, begin: u32) -> u32 {
    var length = 0u;
    var link = (atomicLoad(&head[slice + 1u]) & ~FIRST) - uniforms.map.first_row;
    while link != 0u && length <= MOST {
        if length < MOST {
            listed[begin + length] = link;
        }
        length++;
        link = atomicLoad(&rows[place(link)]);
    }
    return length;
}

// Links the row of `link` to its successor: the next larger of the `length` links that begin at `listed[begin]`, or 0
// if `link` is the largest. If `link` is the smallest, names its row in `head` as the first of the list of its slice.
fn link_row(slice: u32, link: u32, begin: u32, length: u32) {
    var behind = 0xffffffffu;
    var is_first = true;
    for (var i = 0u; i < length; i++) {
        let other = listed[begin + i];
        is_first &= other >= link;
        behind = select(behind, min(behind, other), other > link);
    }
    atomicStore(&rows[place(link)], select(behind, 0u, behind == 0xffffffffu));
    if is_first {
        atomicStore(&head[slice + 1u], (uniforms.map.first_row + link) | FIRST);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let counts = 2u * uniforms.map.links;
    if local == 0u {
        noted = atomicLoad(&rows[counts]);
    }
    let lists = workgroupUniformLoad(&noted);
    let own = local / LANES;
    for (var first = group_number(group) * LISTS; first < lists; first += uniforms.tiles * LISTS) {
        let there = first + own < lists;
        var slice = 0u;
        if there {
            slice = atomicLoad(&rows[counts + 4u + first + own]);
        }
        if there && local % LANES == 0u {
            let length = list_rows(slice, own * MOST);
            lengths[own] = length;
            if length > MOST {
                let number = atomicAdd(&rows[counts + 1u], 1u);
                atomicStore(&rows[uniforms.map.long + number], slice);
            }
        }
        workgroupBarrier();
        if there && lengths[own] <= MOST {
            for (var i = local % LANES; i < lengths[own]; i += LANES) {
                link_row(slice, listed[own * MOST + i], own * MOST, lengths[own]);
            }
        }
        workgroupBarrier();
    }
}
