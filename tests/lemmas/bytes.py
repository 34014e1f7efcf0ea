"""Bytes of words and vectors: loads at any byte, masks, and the tile of a transpose."""

import z3

from lemmas.core import FOUND, memory, signed, word, words

source = memory("source")
lanes = [memory(f"source.{lane}") for lane in "xyzw"]
zero = z3.BitVecVal(0, 32)


def prove_all(lemmas):
    vectors(lemmas)
    loads(lemmas)
    masks(lemmas)
    reversed_elements(lemmas)
    tiles(lemmas)


def joined(parts):
    """Words as one long number; the first word is the lowest."""
    return z3.Concat(*reversed(parts))


def vectors(lemmas):
    low, high, out = (joined(words(name, "xyzw")) for name in ("in.low", "in.high", "out"))
    bits = z3.ZeroExt(256 - 32, (word("in.address") & 15) * 8)
    both = z3.LShR(z3.Concat(high, low), bits)
    lemmas.prove("16 bytes of two vectors", out == z3.Extract(127, 0, both), formula="shifted")

    # The address may lie up to 15 bytes before the binding; bytes beyond the last vector are not used.
    address = word("in.address")
    last = z3.Function("source.length", z3.BitVecSort(32))() - 1
    at = address >> 4
    of = lambda index: joined([lane(z3.If(z3.ULT(last, index), last, index)) for lane in lanes])
    bits = z3.ZeroExt(256 - 32, (address & 15) * 8)
    both = z3.LShR(z3.Concat(of(at + 1), of(at)), bits)
    lemmas.prove(
        "16 bytes at any address", out == z3.Extract(127, 0, both), formula="load_unaligned"
    )


def shifted(low, high, bits):
    both = z3.LShR(z3.Concat(high, low), z3.ZeroExt(32, bits))
    return z3.Extract(31, 0, both)


def loads(lemmas):
    address, out = word("in.address"), word("out")
    last = z3.Function("source.length", z3.BitVecSort(32))() - 1
    at = z3.LShR(address, 2)
    lemmas.prove(
        "four bytes at any byte",
        out == shifted(source(at), source(at + 1), (address & 3) * 8),
        given=[z3.ULT(at, last)],
        formula="load",
    )
    # In the last word of a binding, only the bytes that the word has are compared.
    kept = z3.LShR(z3.BitVecVal(0xFFFFFFFF, 32), (address & 3) * 8)
    lemmas.prove(
        "the last bytes of a binding",
        out & kept == z3.LShR(source(at), (address & 3) * 8),
        given=[at == last],
        formula="load",
    )
    low, high = word("in.low"), word("in.high")
    lemmas.prove(
        "32 bits at any bit, modulo 32",
        out == shifted(low, high, word("in.bits") & 31),
        formula="rows_funnel",
    )
    for lane in "xyzw":
        low, high = word(f"in.low.{lane}"), word(f"in.high.{lane}")
        lemmas.prove(
            f"32 bits at any bit, {lane}",
            word(f"out.{lane}") == shifted(low, high, word("in.bits")),
            given=[z3.ULT(word("in.bits"), 32)],
            formula="transpose_funnel",
        )
    # A row of three bytes that begins at any byte.
    address = word("uniforms.source_base") + word("in.begin.base")
    at = z3.LShR(address, 2)
    three = shifted(source(at), source(at + 1), (address & 3) * 8) & 0xFFFFFF
    lemmas.prove(
        "a row of three bytes",
        out == z3.If(word("in.begin.state") == FOUND, three, zero),
        formula="row_bytes",
    )


def ones(count, size=4):
    """A mask of the first `count` bytes of `size`."""
    bits = [z3.If(z3.UGT(count, n), z3.BitVecVal(0xFF, 8), z3.BitVecVal(0, 8)) for n in range(size)]
    return z3.Concat(*reversed(bits))


def masks(lemmas):
    out = word("out")
    lemmas.prove(
        "the lowest bytes of a word",
        out == ones(word("in.bytes")),
        given=[z3.ULE(1, word("in.bytes")), z3.ULE(word("in.bytes"), 4)],
        formula="low_bytes",
    )
    lemmas.prove(
        "the first bytes of a row",
        out == ones(word("in.count")),
        given=[z3.ULE(1, word("in.count"))],
        formula="rows_first_bytes",
    )
    lemmas.prove(
        "the first bytes of a vector",
        joined(words("out", "xyzw")) == ones(word("in.count"), 16),
        given=[z3.ULE(word("in.count"), 32)],
        formula="vector_first_bytes",
    )
    for lane in "xyzw":
        first = word(f"in.first.{lane}")
        before = z3.If(first < 0, zero, z3.If(first > 4, z3.BitVecVal(4, 32), first))
        lemmas.prove(
            f"the bytes from one on, {lane}",
            word(f"out.{lane}") == ~ones(before),
            formula="bytes_from",
        )
    # The four words of an invocation follow one another, and places are between -2^30 and 2^30.
    places, end = words("in.places", "xyzw"), word("in.end")
    most = z3.BitVecVal(1 << 30, 32)
    given = [z3.And(-most < place, place < most) for place in [*places, end]]
    given += [a <= b for a, b in zip(places, places[1:])]
    for lane, place in zip("xyzw", places):
        inside = [z3.And(place + n >= 0, place + n < end) for n in range(4)]
        bytes_ = [z3.If(byte, z3.BitVecVal(0xFF, 8), z3.BitVecVal(0, 8)) for byte in inside]
        lemmas.prove(
            f"the bytes of a row within a word, {lane}",
            word(f"out.{lane}") == joined(bytes_),
            given=given,
            formula="bytes_within",
        )


def reversed_elements(lemmas):
    for element in (1, 2, 4, 8):
        for unit in "abcd":
            before = joined(words(f"in.loaded.{unit}", "xyzw"))
            bits = 8 * element
            parts = [z3.Extract(at + bits - 1, at, before) for at in range(0, 128, bits)]
            lemmas.prove(
                f"elements of {element} bytes reversed, {unit}",
                joined(words(f"out.{unit}", "xyzw")) == z3.Concat(*parts),
                formula=f"flipped_{element}",
            )


def tiles(lemmas):
    tiling, unit, out = word("uniforms.map.tiling.x"), word("in.unit"), word("out")
    facts = lemmas.formula("transpose_units_place")
    renamed = [(unit, word("other.unit")), (out, word("other.out"))]
    others = [z3.substitute(fact, *renamed) for fact in facts]
    swizzles = (z3.LShR(tiling, 12) & 15) != 0
    lemmas.check(
        "no two units of a tile share a place",
        [*facts, *others, swizzles, out == word("other.out")],
        unit == word("other.unit"),
    )
    for log2 in range(5, 13):
        lemmas.check(
            f"places stay in a tile of {1 << log2}",
            [*facts, z3.ULT(unit, 1 << log2)],
            z3.ULT(out, 1 << log2),
        )
    turned_squares(lemmas)
    places_of_squares(lemmas)
    units = word("in.units")
    lemmas.prove(
        "the word of a unit, also before the first",
        z3.And(signed(out) * 4 <= signed(units), signed(units) < signed(out) * 4 + 4),
        formula="transpose_word_of",
    )


def turned_squares(lemmas):
    for bits, name in ((8, "bytes"), (16, "halves")):
        each = 32 // bits
        for square in "xyzw":
            lines, rows = (
                [word(f"{side}.{vector}.{square}") for vector in "abcd"]
                for side in ("in.lines", "out")
            )
            for first in range(0, 4, each):
                part = lambda number, at: z3.Extract(at * bits + bits - 1, at * bits, number)
                goal = z3.And(
                    *(
                        part(rows[first + row], line) == part(lines[first + line], row)
                        for row in range(each)
                        for line in range(each)
                    )
                )
                lemmas.prove(
                    f"squares of {name} are turned, {square}, {first}",
                    goal,
                    formula=f"transpose_turned_{name}",
                )


def places_of_squares(lemmas):
    tiling, column, at, out = (
        word(name) for name in ("uniforms.map.tiling.x", "in.column", "in.word", "out")
    )
    facts = lemmas.formula("transpose_place")
    words_log2 = z3.LShR(tiling, 8) & 15
    block = z3.BitVec("block", 32)
    inside = lambda column, at: [
        z3.ULT(at, 1 << words_log2),
        z3.ULT(column, z3.LShR(block, words_log2)),
    ]
    given = [*facts, *inside(column, at), z3.ULE(block, 4096), block & (block - 1) == 0]
    others = [(column, "column"), (at, "word"), (out, "out")]
    others = [(name, word(f"other.{text}")) for name, text in others]
    apart = [z3.substitute(fact, *others) for fact in (*facts, *inside(column, at))]
    of_other = [other for _, other in others]
    lemmas.check(
        "no two words of squares share a place",
        [*given, *apart, out == of_other[2]],
        z3.And(column == of_other[0], at == of_other[1]),
    )
    lemmas.check("the words of squares stay in their block", given, z3.ULT(out, block))
    both = [(column, column ^ of_other[0]), (at, at ^ of_other[1]), (out, word("both.out"))]
    disjoint = [column & of_other[0] == 0, at & of_other[1] == 0]
    lemmas.check(
        "the place for two numbers without common bits",
        [*given, *apart, *disjoint, *(z3.substitute(fact, *both) for fact in facts)],
        word("both.out") == out ^ of_other[2],
    )
