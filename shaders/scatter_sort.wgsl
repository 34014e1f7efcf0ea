// scatter_nd, second step, where the order counts: the rows of each slice in ascending
// order. The row that `head` names sorts them: it is the one invocation that touches their chain.

struct Map {
    index_base: u32,
    first_slice: u32,
    slices: u32,
    stride: u32,
    axes: array<vec4<u32>, 4>,
}

struct Entry {
    slice: u32,
    next: u32,
    first: u32,
}

const NONE: u32 = 0xffffffffu;

@group(0) @binding(0) var<storage, read> head: array<u32>;
@group(0) @binding(1) var<storage, read_write> rows: array<Entry>;

fn next(link: u32) -> u32 {
    return rows[link - 1u].next;
}

// The chain in the opposite order, and whether each link is less than the one before: then that is all
// there is to do. Otherwise nothing is changed.
fn reversed(first: u32) -> u32 {
    var link = first;
    loop {
        let after = next(link);
        if after >= link {
            return 0u;
        }
        if after == 0u {
            break;
        }
        link = after;
    }
    var done = 0u;
    link = first;
    while link != 0u {
        let after = next(link);
        rows[link - 1u].next = done;
        done = link;
        link = after;
    }
    return done;
}

// Merges stretches of 1, 2, 4 … links until there is but one.
fn sorted(first: u32) -> u32 {
    var list = first;
    for (var size = 1u; ; size *= 2u) {
        var left = list;
        var tail = 0u;
        var merges = 0u;
        list = 0u;
        while left != 0u {
            merges++;
            var right = left;
            var left_size = 0u;
            while left_size < size && right != 0u {
                left_size++;
                right = next(right);
            }
            var right_size = size;
            while left_size > 0u || (right_size > 0u && right != 0u) {
                var least = left;
                if left_size == 0u || (right_size > 0u && right != 0u && right < left) {
                    least = right;
                    right = next(right);
                    right_size--;
                } else {
                    left = next(left);
                    left_size--;
                }
                if tail == 0u {
                    list = least;
                } else {
                    rows[tail - 1u].next = least;
                }
                tail = least;
            }
            left = right;
        }
        rows[tail - 1u].next = 0u;
        if merges <= 1u {
            break;
        }
    }
    return list;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = invocation(group, local);
    if row >= params.tiles {
        return;
    }
    let slice = rows[row].slice;
    if slice == NONE {
        return;
    }
    let first = head[slice + 1u];
    if first != row + 1u {
        return;
    }
    var list = reversed(first);
    if list == 0u {
        list = sorted(first);
    }
    rows[row].first = list;
}
