"""Lemmas on bytes of words: loads of elements from any byte of a buffer, and groups of elements packed into words."""

import z3

from lemmas.core import memory, wide, word, words


def prove_all(lemmas):
    elements(lemmas)


def joined(parts):
    """Returns words or bytes as one long number, with the first in the lowest bits."""
    return z3.Concat(*reversed(parts))


def from_byte(low, high, at):
    """Returns the number in the words `low` and `high` that starts at byte `at` modulo the size of a word."""
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
