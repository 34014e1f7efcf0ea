"""The positions that indices name. Indices are i32, u32, or i64 as two words; wrapped, clamped or out of range."""

import z3

from lemmas.core import (
    ELSEWHERE,
    FOUND,
    MISSING,
    choose,
    flag,
    memory,
    signed,
    smaller,
    times,
    wide,
    word,
    words,
)

SIGNED, WRAPS, CLAMPS = 0x40000, 0x80000, 0x100000
ITEMS, FLIPS, CROP_SIGNED, CROP_CLAMPS = 0x100, 0x200, 0x400, 0x800
# More bits than any sum of two 64-bit numbers needs.
BITS = 66

indices = memory("indices")
length = z3.Function("indices.length", z3.BitVecSort(32))()
state = lambda value: z3.BitVecVal(value, 32)


def prove_all(lemmas):
    loads(lemmas)
    for d in (0, 1):
        coordinate(lemmas, d)
    plain(lemmas)
    crops(lemmas)


def pair(low, high, bits=BITS):
    """Two words as a signed number."""
    return signed(z3.Concat(high, low), bits)


def loaded(at):
    return indices(smaller(length - 1, at))


def loads(lemmas):
    low = word("in.low")
    is_signed = flag(SIGNED)
    high = z3.Extract(63, 32, z3.If(is_signed, signed(low), wide(low)))
    lemmas.prove(
        "an index of one word",
        z3.And(word("out.low") == low, word("out.high") == high),
        formula="extended",
    )
    at, d = word("in.tuple"), word("in.d")
    one = loaded(at + d)
    high = z3.Extract(63, 32, z3.If(is_signed, signed(one), wide(one)))
    goal = z3.And(word("out.low") == one, word("out.high") == high)
    lemmas.prove("an index of one word is loaded", goal, formula="index_words")
    goal = z3.And(
        word("out.low") == loaded(at + 2 * d), word("out.high") == loaded(at + 2 * d + 1)
    )
    lemmas.prove("an index of two words is loaded", goal, formula="index_pairs")
    lemmas.prove(
        "what is bound",
        z3.Bool("out") == z3.ULT(word("in.unit"), word("uniforms.map.bound")),
        formula="within",
    )


def policies(bits):
    """All combinations of flags, with their names."""
    flags = word("uniforms.map.flags")
    for chosen in range(1 << len(bits)):
        names, value = [], 0
        for number, (bit, name) in enumerate(bits.items()):
            if chosen >> number & 1:
                names.append(name)
                value |= bit
        yield " and ".join(names) or "plainly", flags & sum(bits) == value


def coordinate(lemmas, d):
    """Any index under any policy, compared in full with a dimension of any size below 2^62."""
    axes = [words(f"uniforms.map.axes.{n}", "xyzw") for n in range(5)]
    size_low, stride = axes[(1 + d) // 2][2 * ((1 + d) % 2)], axes[(1 + d) // 2][2 * ((1 + d) % 2) + 1]
    flags = word("uniforms.map.flags")
    dims, walked = flags & 15, z3.LShR(flags, 4) & 15
    used = dims + z3.If(walked == 0, z3.BitVecVal(1, 32), walked)
    zero = z3.BitVecVal(0, 32)
    has_high = z3.ULE(used, 9) if d == 0 else z3.BoolVal(False)
    size_high, first_high = (z3.If(has_high, axes[4][lane], zero) for lane in (2, 3))
    size = wide(z3.Concat(size_high, size_low), BITS)
    first = wide(z3.Concat(first_high, word("uniforms.map.first")), BITS)
    count = wide(word("uniforms.map.count"), BITS)
    given = [
        word("in.d") == d,
        z3.ULE(used, 10),
        z3.ULT(d, dims),
        z3.ULT(size, z3.BitVecVal(1 << 62, BITS)),
        z3.ULE(first, size),
    ]
    index = pair(word("in.at.low"), word("in.at.high"))
    index = z3.If(z3.And(flag(WRAPS), index < 0), index + size, index)
    inside = z3.And(index >= 0, index < size)
    nearest = z3.If(index < 0, z3.BitVecVal(0, BITS), size - 1)
    index = z3.If(z3.And(flag(CLAMPS), z3.Not(inside)), nearest, index)
    bad = z3.If(flag(CLAMPS), size == 0, z3.Not(inside))
    so_far = word("in.so_far.state")
    accepted = so_far
    if d == 0:
        here = z3.And(index >= first, index < first + count)
        accepted = z3.If(here, state(FOUND), state(ELSEWHERE))
    low = z3.Extract(31, 0, index - (first if d == 0 else 0))
    for policy, chosen in policies({WRAPS: "wraps", CLAMPS: "clamps"}):
        lemmas.prove(
            f"coordinate {d} {policy}: whether it is in range",
            (word("out.state") == MISSING) == z3.If(bad, z3.BoolVal(True), accepted == MISSING),
            given=[*given, chosen],
            formula="coordinate",
            multiply=times,
        )
        lemmas.prove(
            f"coordinate {d} {policy}: whether it is accepted",
            z3.Implies(z3.Not(bad), word("out.state") == accepted),
            given=[*given, chosen],
            formula="coordinate",
            multiply=times,
        )
    # The place matters only if the coordinate is accepted.
    lemmas.prove(
        f"coordinate {d} under any policy: place",
        z3.Implies(
            z3.And(z3.Not(bad), word("out.state") != ELSEWHERE),
            word("out.base") == word("in.so_far.base") + times(low, stride),
        ),
        given=given,
        formula="coordinate",
        multiply=times,
    )


def plain(lemmas):
    """One comparison decides whether an index of one word is in a dimension shorter than 2^31."""
    axis = words("uniforms.map.axes.0", "xyzw")
    low = word("in.at.low")
    given = [word("in.d") == 0, z3.ULT(axis[2], 1 << 31)]
    for name, index in (("signed", signed(low, BITS)), ("unsigned", wide(low, BITS))):
        inside = z3.And(index >= 0, index < wide(axis[2], BITS))
        lemmas.prove(
            f"coordinate of one {name} word",
            z3.And(
                word("out.state") == z3.If(inside, word("in.so_far.state"), state(MISSING)),
                word("out.base") == word("in.so_far.base") + low * axis[3],
            ),
            given=given,
            formula="coordinate_plain",
        )


def crops(lemmas):
    low, high = word("in.low"), word("in.high")
    at = pair(word("in.at.low"), word("in.at.high"))
    ends = [wide(low, BITS), wide(high, BITS)]
    clamped = z3.If(at < ends[0], ends[0], z3.If(at > ends[1], ends[1], at))
    lemmas.prove(
        "an index moves to the nearest end",
        pair(word("out.low"), word("out.high")) == clamped,
        given=[z3.ULE(low, high), z3.ULT(high, 1 << 31)],
        formula="crop_clamped",
    )
    names = {ITEMS: "with items", FLIPS: "flips", CROP_SIGNED: "signs"}
    flags, d = word("uniforms.map.flags"), word("in.d")
    everywhere = [z3.Not(flag(CROP_CLAMPS)), z3.ULT(d, 4)]
    element(lemmas, "crop_element", 36, one_word(36), names, everywhere)
    element(lemmas, "crop_element_pairs", BITS, two_words, names, everywhere)
    # Clamped begins take a solver longer, so they are proved along one dimension only; `clamped` itself is proved above.
    chosen = flags & (FLIPS | CROP_SIGNED | CROP_CLAMPS) == CROP_SIGNED | CROP_CLAMPS
    element(lemmas, "crop_element", 36, one_word(36), {ITEMS: "clamps, with items"}, [chosen, d == 1])
    item(lemmas)


def one_word(bits):
    """How an index of one word is loaded, as a signed number of `bits` bits."""

    def load(at, number):
        low = loaded(at + number)
        return z3.If(flag(CROP_SIGNED), signed(low, bits), wide(low, bits))

    return load


def two_words(at, number):
    at = at + 2 * number
    return pair(loaded(at), loaded(at + 1))


def element(lemmas, formula, bits, load, names, given):
    """An element of a box along any dimension. Numbers have `bits` bits, enough for every sum."""
    axes = [words(f"uniforms.map.axes.{n}", "xyzw") for n in range(4)]
    d, j, at = word("in.d"), word("in.j"), word("in.tuple")
    box, size, step = (choose(d, [axis[lane] for axis in axes]) for lane in (0, 1, 3))
    dims = word("uniforms.map.flags") & 15
    one, zero = z3.BitVecVal(1, 32), z3.BitVecVal(0, 32)
    columns = z3.If(flag(ITEMS), one, zero) + d
    begin = load(at, columns)
    reach = signed(times(box - 1, step), bits)
    nothing = z3.BitVecVal(0, bits)
    least = z3.If(reach < 0, -reach, nothing)
    most = signed(size, bits) - 1 - z3.If(reach > 0, reach, nothing)
    moved = z3.If(begin < least, least, z3.If(begin > most, most, begin))
    begin = z3.If(flag(CROP_CLAMPS), moved, begin)
    flipped = z3.And(flag(FLIPS), load(at, columns + dims) != 0)
    along = z3.If(flipped, box - 1 - j, j)
    # The host makes sure that no distance within a box exceeds 31 bits.
    position = begin + signed(times(along, step), bits)
    inside = z3.And(position >= 0, position < wide(size, bits))
    given = [
        *given,
        z3.ULT(size, 1 << 31),
        z3.Implies(flag(CROP_CLAMPS), least <= most),
        times(box - 1, step) != 1 << 31,
    ]
    for policy, chosen in policies(names):
        lemmas.prove(
            f"{formula} {policy}",
            z3.And(
                word("out.state") == z3.If(inside, state(FOUND), state(MISSING)),
                z3.Implies(inside, word("out.base") == z3.Extract(31, 0, position)),
            ),
            given=[*given, chosen],
            formula=formula,
            multiply=times,
        )


def item(lemmas):
    uniform = lambda name: word(f"uniforms.map.{name}")
    box, stride = word("in.at.box"), uniform("item_stride")
    items, first, count = (wide(uniform(name), BITS) for name in ("items", "first", "count"))
    number = one_word(BITS)(word("in.at.tuple"), 0)
    nothing = z3.BitVecVal(0, BITS)
    moved = z3.If(number < 0, nothing, z3.If(number >= items, items - 1, number))
    number = z3.If(z3.And(flag(CROP_CLAMPS), items > 0), moved, number)
    inside = z3.And(number >= 0, number < items)
    here = z3.And(number >= first, number < first + count)
    found = z3.If(here, state(FOUND), state(ELSEWHERE))
    distance = z3.Extract(31, 0, number - first)
    given = [z3.ULT(uniform("items"), 1 << 31), z3.ULT(uniform("first"), 1 << 31)]
    for policy, chosen in policies({CROP_CLAMPS: "clamps", CROP_SIGNED: "signs"}):
        goals = {
            "state": word("out.state") == z3.If(inside, found, state(MISSING)),
            "place": z3.Implies(
                z3.And(inside, here), word("out.base") == times(distance, stride)
            ),
        }
        for name, goal in goals.items():
            lemmas.prove(
                f"the item of a box, {policy}: {name}",
                goal,
                given=[*given, chosen, flag(ITEMS)],
                formula="crop_item",
                multiply=times,
            )
    lemmas.prove(
        "a box without an item",
        z3.And(word("out.state") == FOUND, word("out.base") == box * stride),
        given=[z3.Not(flag(ITEMS))],
        formula="crop_item",
    )
