"""Lemmas on positions by index tuples of i32, u32, or i64 as two words. Indices can be wrapped or clamped."""

import z3

from lemmas.core import memory, product, signed, wide, word

SIGNED, WRAPS, CLAMPS = (z3.BitVecVal(bit, 32) for bit in (1, 2, 4))
# More bits than any sum of two 64-bit numbers needs.
BITS = 66


def prove_all(lemmas):
    sums(lemmas)
    begins(lemmas)
    cropped_runs(lemmas)
    lemmas.prove("a hash is less than the size of a chunk", z3.ULT(word("out"), 4 * 256), formula="link hash")


def pair(name):
    """Returns the signed number in the words `name.high` and `name.low`."""
    return signed(z3.Concat(word(f"{name}.high"), word(f"{name}.low")), BITS)


def sums(lemmas):
    total = pair("in.a") + signed(word("in.b"), BITS)
    lemmas.prove(
        "a number plus a word",
        pair("out") == total,
        given=[total == signed(z3.Extract(63, 0, total), BITS)],
        formula="copy plus",
    )


def begins(lemmas):
    """Proves the start index of a coordinate for every out-of-range policy. A clamped box is inside if it fits."""
    tuples = memory("tuples")
    walk = lambda name: word(f"walk.{name}")
    coordinate = lambda name: walk(f"coordinates.0.{name}")
    flag = lambda bit: walk("flags") & bit != 0
    size, reach = wide(coordinate("size"), BITS), signed(word("in.reach"), BITS)
    at = word("in.tuple") + product(coordinate("column"), walk("index_words"))
    low = tuples(at) - walk("first_index")
    one = z3.If(flag(SIGNED), signed(low, BITS), wide(low, BITS))
    number = z3.If(walk("index_words") == 2, signed(z3.Concat(tuples(at + 1), low), BITS), one)
    number = z3.If(z3.And(flag(WRAPS), number < 0), number + size, number)
    lowest = z3.If(reach < 0, -reach, 0)
    highest = size - 1 - z3.If(reach < 0, 0, reach)
    clamped = z3.If(number < lowest, lowest, z3.If(number > highest, highest, number))
    clamps = z3.And(flag(CLAMPS), size > 0)
    number = z3.If(clamps, clamped, number)
    fixed = coordinate("column") == 0xFFFFFFFF
    lemmas.prove(
        "where a coordinate begins",
        pair("out") == z3.If(fixed, signed(coordinate("begin"), BITS), number),
        given=[
            z3.Implies(clamps, lowest <= highest),
            z3.Or(walk("index_words") == 1, walk("index_words") == 2),
        ],
        formula="copy begin_of in.c=0",
    )


def cropped_runs(lemmas):
    """Proves that `lies_inside` returns whether a unit of a cropped run is inside the array, as computed without
    overflow. The host keeps sizes and reaches below 2^30, and the shader replaces a start index beyond 2^30 by 2^31."""
    distance = product(word("in.j"), word("in.row.place_step"))
    place, places, far = word("in.row.place"), word("in.row.places"), 1 << 30
    position = signed(place) + signed(distance)
    lemmas.prove(
        "a unit of a cropped run lies inside",
        z3.Bool("out") == z3.And(position >= 0, position < wide(places)),
        given=[
            z3.And(-far < distance, distance < far),
            z3.Or(z3.And(-far <= place, place < far), place == 1 << 31),
            z3.ULT(places, far),
        ],
        formula="copy lies_inside",
    )
