// The second step of a scatter_nd whose result depends on the order of rows: sorts the list of each slice in ascending
// order. The invocation of the row that `head` names sorts the list, and no other invocation writes to this list.
// Afterwards `head` names the first row. `scatter_nd.wgsl` says what lists, links and blocks are.
//
// Most lists are short. They are sorted by insertion, which takes up to n^2 / 2 rounds for n rows. For this reason
// lists of more than `longest` rows are left unsorted, and their slices are noted for `scatter_long_lists.wgsl`.
//
// A tile is `segment` rows, at most 32, the number of bits in a word; one invocation takes it. Few slices have several
// rows. On a software adapter, whose lanes run in lockstep, all lanes pay for a loop that one of them enters. So an
// invocation first finds the rows that have a successor, and then examines only these rows. An invocation may read the
// link of a row while another invocation rewrites this link. That is harmless, because `head` then does not name this
// row, so the row is skipped. But it requires that all links are atomics.

struct Map {
    // The most rows of a list that one invocation sorts.
    longest: u32,
    // The word of `rows` at which the links begin.
    links: u32,
    // The word of `rows` that holds the first slice noted with a list of more than MOST rows.
    long: u32,
    // The number that `head` gives to this block's first row.
    @size(84) first_row: u32,
}

// A flag of an entry of `head`: the list was sorted, or its slice noted. The entry may then name another row than
// before. The flag keeps the invocation of that row from sorting the list again.
const FIRST: u32 = 0x80000000u;

// The most rows of a list that `scatter_long_lists.wgsl` sorts in workgroup memory.
const MOST: u32 = 256u;

@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
// In this order: the slice of each row; for each row the link to the next row of its list, or 0; a vector, whose first
// two words count the slices in the next two parts; the slices noted with a list of up to MOST rows; the slices noted
// with a longer list.
@group(0) @binding(1) var<storage, read_write> rows: array<atomic<u32>>;

fn longest() -> u32 {
    return uniforms.map.longest;
}

fn links() -> u32 {
    return uniforms.map.links;
}

fn next(link: u32) -> u32 {
    return atomicLoad(&rows[links() + link - 1u]);
}

fn set_next(link: u32, to: u32) {
    atomicStore(&rows[links() + link - 1u], to);
}

// A list after sorting.
struct List {
    // The link to the list's first row.
    first: u32,
    // 0 if the list is sorted. Otherwise the number of its rows, or MOST + 1 if it has more than MOST rows.
    unsorted: u32,
}

fn sorted(first: u32) -> List {
    var list = 0u;
    var last = 0u;
    var rest = first;
    for (var length = 0u; rest != 0u; length++) {
        if length == longest() {
            set_next(last, rest);
            return List(list, and_rest(length, rest));
        }
        let link = rest;
        last = max(last, link);
        rest = next(link);
        var before = 0u;
        var behind = list;
        while behind != 0u && behind < link {
            before = behind;
            behind = next(behind);
        }
        set_next(link, behind);
        if before == 0u {
            list = link;
        } else {
            set_next(before, link);
        }
    }
    return List(list, 0u);
}

// Returns `length` plus the number of rows from the row of link `first` to the end of its list, or MOST + 1 if the sum
// is larger than MOST.
fn and_rest(length: u32, first: u32) -> u32 {
    var all = length;
    for (var rest = first; rest != 0u && all <= MOST; all++) {
        rest = next(rest);
    }
    return all;
}

// Notes a slice whose list is not sorted. `length` is the `unsorted` of its `List`.
fn note(slice: u32, length: u32) {
    let counts = 2u * links();
    if length <= MOST {
        atomicStore(&rows[counts + 4u + atomicAdd(&rows[counts], 1u)], slice);
    } else {
        atomicStore(&rows[uniforms.map.long + atomicAdd(&rows[counts + 1u], 1u)], slice);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    let first = tile * uniforms.segment;
    let count = min(uniforms.segment, uniforms.units - first);
    // Bit i is set if row `first + i` has a successor.
    var chained = 0u;
    for (var i = 0u; i < count; i++) {
        chained |= u32(next(first + i + 1u) != 0u) << i;
    }
    while chained != 0u {
        let row = first + firstTrailingBit(chained);
        chained &= chained - 1u;
        let slice = atomicLoad(&rows[row]);
        if atomicLoad(&head[slice + 1u]) == uniforms.map.first_row + row + 1u {
            let list = sorted(row + 1u);
            atomicStore(&head[slice + 1u], (uniforms.map.first_row + list.first) | FIRST);
            if list.unsorted != 0u {
                note(slice, list.unsorted);
            }
        }
    }
}
