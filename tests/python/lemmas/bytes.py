"""Bytes of words and vectors: loads at any byte, groups of elements, and masks."""

import z3

from lemmas.core import memory, wide, word, words


def prove_all(lemmas):
    elements(lemmas)
    vectors(lemmas)


def joined(parts):
    """Words or bytes as one long number; the first is the lowest."""
    return z3.Concat(*reversed(parts))


def from_byte(low, high, at):
    """Two words or vectors as a number, from a byte of the first on."""
    both = z3.Concat(high, low)
    return z3.LShR(both, wide((at & (low.size() // 8 - 1)) * 8, both.size()))


def elements(lemmas):
    source, at, out = memory("source"), word("in.at"), word("out")
    first = z3.LShR(at, 2)
    loaded = from_byte(source(first), source(first + 1), at)
    for element, inside, constants in (
        (1, True, "ELEMENT=1"),
        (2, at & 1 == 0, "ELEMENT=2"),
        (2, True, "ELEMENT=2 STRADDLES=1"),
        (3, True, "ELEMENT=3"),
    ):
        bits = 8 * element
        lemmas.prove(
            f"the element at a byte, {constants}",
            out == wide(z3.Extract(bits - 1, 0, loaded), 32),
            given=[z3.ULT(at, 0xFFFFFFFC), inside],
            formula=f"copy_words fetch {constants}",
        )
    for element in (1, 2, 3):
        bits = 8 * element
        four = words("in.e", "xyzw")
        parts = joined([z3.Extract(bits - 1, 0, part) for part in four])
        lemmas.prove(
            f"four elements of {element} bytes in words",
            joined(words("out", "xyz")) == wide(parts, 96),
            given=[z3.ULT(part, 1 << bits) for part in four],
            formula=f"copy_words packed ELEMENT={element}",
        )


def vectors(lemmas):
    low, high, out = (joined(words(name, "xyzw")) for name in ("in.low", "in.high", "out"))
    lemmas.prove(
        "16 bytes of two vectors",
        out == z3.Extract(127, 0, from_byte(low, high, word("in.at"))),
        formula="copy_unaligned shifted",
    )
    # The address may lie up to 15 bytes before the binding. Bytes beyond the last vector are not used.
    lanes = [memory(f"source.{lane}") for lane in "xyzw"]
    last = z3.Function("source.length", z3.BitVecSort(32))() - 1
    of = lambda at: joined([lane(z3.If(z3.ULT(last, at), last, at)) for lane in lanes])
    at = word("in.at")
    lemmas.prove(
        "16 bytes at any byte",
        out == z3.Extract(127, 0, from_byte(of(at >> 4), of((at >> 4) + 1), at)),
        formula="copy_unaligned fetch",
    )
    count = word("in.count")
    ones = [z3.If(z3.UGT(count, n), z3.BitVecVal(0xFF, 8), z3.BitVecVal(0, 8)) for n in range(16)]
    lemmas.prove(
        "the first bytes of a vector",
        out == joined(ones),
        given=[z3.ULE(count, 32)],
        formula="copy_unaligned first_bytes",
    )
