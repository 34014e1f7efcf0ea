// scatter_nd, second step, where the order counts: the rows of each slice in ascending order. The row that
// `head` names sorts them: it is the one invocation that touches their chain. Then `head` names the first.
//
// A tile is `segment` rows, at most 32. Few slices have several rows, and a CPU adapter, whose lanes run in
// step, pays for a loop wherever one of them enters it: so a tile first finds the rows that have others
// behind them, and goes from one of those to the next. It may read a link while another tile rewrites it. That is
// harmless: the row is then not the head of its slice and is skipped. But it makes all links atomics.

struct Map {
    axes: array<vec4<u32>, 5>,
}

// In `head`: the rows of the slice are sorted.
const SORTED: u32 = 0x80000000u;

@group(0) @binding(0) var<storage, read_write> head: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> rows: array<atomic<u32>>;

// Where a row's slice is kept; the row behind it is kept four words further on.
fn place(row: u32) -> u32 {
    return (row >> 2u) * 8u + (row & 3u);
}

fn next(link: u32) -> u32 {
    return atomicLoad(&rows[place(link - 1u) + 4u]);
}

fn set_next(link: u32, to: u32) {
    atomicStore(&rows[place(link - 1u) + 4u], to);
}

// A chain in the opposite order, and whether it is in ascending order then.
struct Reversed {
    first: u32,
    ascends: bool,
}

fn reversed(first: u32) -> Reversed {
    var done = Reversed(0u, true);
    var link = first;
    while link != 0u {
        let after = next(link);
        set_next(link, done.first);
        done = Reversed(link, done.ascends && after < link);
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
                    set_next(tail, least);
                }
                tail = least;
            }
            left = right;
        }
        set_next(tail, 0u);
        if merges <= 1u {
            break;
        }
    }
    return list;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let first = tile * params.segment;
    let count = min(params.segment, params.units - first);
    // Bit i: row i has a successor.
    var chained = 0u;
    for (var i = 0u; i < count; i++) {
        chained |= u32(next(first + i + 1u) != 0u) << i;
    }
    // Bit i: the list that row i heads is not in ascending order yet.
    var others = 0u;
    while chained != 0u {
        let i = firstTrailingBit(chained);
        chained &= chained - 1u;
        let row = first + i;
        let slice = atomicLoad(&rows[place(row)]);
        if atomicLoad(&head[slice + 1u]) == params.first + row + 1u {
            let list = reversed(row + 1u);
            atomicStore(&head[slice + 1u], (params.first + list.first) | SORTED);
            others |= u32(!list.ascends) << i;
        }
    }
    while others != 0u {
        let i = firstTrailingBit(others);
        others &= others - 1u;
        let slice = atomicLoad(&rows[place(first + i)]);
        let list = (atomicLoad(&head[slice + 1u]) & ~SORTED) - params.first;
        atomicStore(&head[slice + 1u], (params.first + sorted(list)) | SORTED);
    }
}
