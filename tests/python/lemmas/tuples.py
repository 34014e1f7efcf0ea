"""Lemmas on positions that index tuples select. The indices are i32, u32, or i64 in two words, and can be wrapped or
clamped."""

import z3

from lemmas.core import memory, product, signed, wide, word

SIGNED, WRAPS, CLAMPS = (z3.BitVecVal(bit, 32) for bit in (1, 2, 4))
# More bits than any sum of two 64-bit numbers needs.
WIDE_BITS = 66


def prove_all(lemmas):
    sums(lemmas)
    begins(lemmas)
    cropped_runs(lemmas)
    lemmas.prove("a hash is less than the size of a chunk", z3.ULT(word("out"), 4 * 256), formula="link hash")


def pair(name):
    """Returns the signed number in the words `name.high` and `name.low`."""
    return signed(z3.Concat(word(f"{name}.high"), word(f"{name}.low")), WIDE_BITS)


def sums(lemmas):
    total = pair("in.a") + signed(word("in.b"), WIDE_BITS)
    lemmas.prove(
        "a number plus a word",
        pair("out") == total,
        given=[total == signed(z3.Extract(63, 0, total), WIDE_BITS)],
        formula="copy plus",
    )


def begins(lemmas):
    """Proves the start index of a coordinate for every out-of-range policy. A clamped box is inside the dimension if
    the dimension is large enough."""
    tuples = memory("tuples")
    walk = lambda name: word(f"walk.{name}")
    coordinate = lambda name: walk(f"coordinates.0.{name}")
    flag = lambda bit: walk("flags") & bit != 0
    size, reach = wide(coordinate("size"), WIDE_BITS), signed(word("in.reach"), WIDE_BITS)
    tuple_position = word("in.tuple") + product(coordinate("column"), walk("index_words"))
    low_word = tuples(tuple_position) - walk("first_index")
    one_word = z3.If(flag(SIGNED), signed(low_word, WIDE_BITS), wide(low_word, WIDE_BITS))
    two_words = signed(z3.Concat(tuples(tuple_position + 1), low_word), WIDE_BITS)
    number = z3.If(walk("index_words") == 2, two_words, one_word)
    number = z3.If(z3.And(flag(WRAPS), number < 0), number + size, number)
    lowest = z3.If(reach < 0, -reach, 0)
    highest = size - 1 - z3.If(reach < 0, 0, reach)
    clamped = z3.If(number < lowest, lowest, z3.If(number > highest, highest, number))
    is_clamped = z3.And(flag(CLAMPS), size > 0)
    number = z3.If(is_clamped, clamped, number)
    is_fixed = coordinate("column") == 0xFFFFFFFF
    lemmas.prove(
        "where a coordinate begins",
        pair("out") == z3.If(is_fixed, signed(coordinate("begin"), WIDE_BITS), number),
        given=[
            z3.Implies(is_clamped, lowest <= highest),
            z3.Or(walk("index_words") == 1, walk("index_words") == 2),
        ],
        formula="copy begin_of in.c=0",
    )


def cropped_runs(lemmas):
    """Proves that `lies_inside` returns whether a unit of a cropped run is inside the array. The proof computes the
    unit's position without overflow. The host keeps sizes and reaches below 2^30, and the shader replaces a start index
    beyond 2^30 by 2^31."""
    distance = product(word("in.j"), word("in.row.place_step"))
    place, places, limit = word("in.row.place"), word("in.row.places"), 1 << 30
    position = signed(place) + signed(distance)
    lemmas.prove(
        "a unit of a cropped run lies inside",
        z3.Bool("out") == z3.And(position >= 0, position < wide(places)),
        given=[
            z3.And(-limit < distance, distance < limit),
            z3.Or(z3.And(-limit <= place, place < limit), place == 1 << 31),
            z3.ULT(places, limit),
        ],
        formula="copy lies_inside",
    )
