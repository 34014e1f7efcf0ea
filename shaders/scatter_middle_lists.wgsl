// scatter_nd, third step, where the order counts: the lists that were too long for one invocation in
// `scatter_sort.wgsl`. One of `LANES` invocations puts the rows of a list into workgroup memory; then each finds the row
// behind every `LANES`-th among all. A list that has no room there is noted once more, for `scatter_long_lists.wgsl`.
//
// There are `tiles` workgroups, which take lists in turn: most of the time there is none.

struct Map {
    // Rows of the longest list that one invocation sorts.
    longest: u32,
    // Where the links, and the slices of long lists, are in `rows`.
    links: u32,
    long: u32,
    // The number of the first row.
    @size(84) first_row: u32,
}

// In `head`: the row that it names is the first of its list, whether that is sorted or not yet.
const FIRST: u32 = 0x80000000u;

// So eight lists of a workgroup of 256 take 8 KiB, half of the workgroup memory that every device has.
const LANES: u32 = 32u;
const LISTS: u32 = WORKGROUP / LANES;
// Rows of a list, at most.
const MOST: u32 = 256u;

@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// As in `scatter_sort.wgsl`.
@group(0) @binding(1) var<storage, read_write> rows: array<atomic<u32>>;

var<workgroup> noted: u32;
// Of each list the links, and how many there are.
var<workgroup> listed: array<u32, LISTS * MOST>;
var<workgroup> lengths: array<u32, LISTS>;

fn place(link: u32) -> u32 {
    return uniforms.map.links + link - 1u;
}

// Puts the links of a slice into `listed`. Returns how many there are, or one more than there is room for.
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

// Links one of `length` rows to the next of them.
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
