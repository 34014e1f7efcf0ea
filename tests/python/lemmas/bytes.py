"""Lemmas on bytes of words: loads of elements from any byte of a buffer, and packing of elements into words."""

import z3

from lemmas.core import memory, wide, word, words


def prove_all(lemmas):
    elements(lemmas)


def joined(parts):
    """Returns words or bytes as one long number, with the first in the lowest bits."""
    return z3.Concat(*reversed(parts))


def from_byte(low, high, byte_index):
    """Returns the number in the words `low` and `high` that starts at byte `byte_index` modulo the size of a word."""
    both_words = z3.Concat(high, low)
    return z3.LShR(both_words, wide((byte_index & (low.size() // 8 - 1)) * 8, both_words.size()))


def elements(lemmas):
    source, byte_index, out = memory("source"), word("in.at"), word("out")
    word_index = z3.LShR(byte_index, 2)
    loaded = from_byte(source(word_index), source(word_index + 1), byte_index)
    for element_size, alignment_fact, constants in (
        (1, True, "ELEMENT=1"),
        (2, byte_index & 1 == 0, "ELEMENT=2"),
        (2, True, "ELEMENT=2 STRADDLES=1"),
        (3, True, "ELEMENT=3"),
    ):
        bit_count = 8 * element_size
        lemmas.prove(
            f"the element at a byte, {constants}",
            out == wide(z3.Extract(bit_count - 1, 0, loaded), 32),
            given=[z3.ULT(byte_index, 0xFFFFFFFC), alignment_fact],
            formula=f"copy_words fetch {constants}",
        )
    for element_size in (1, 2, 3):
        bit_count = 8 * element_size
        element_words = words("in.e", "xyzw")
        element_bits = joined([z3.Extract(bit_count - 1, 0, part) for part in element_words])
        lemmas.prove(
            f"four elements of {element_size} bytes in words",
            joined(words("out", "xyz")) == wide(element_bits, 96),
            given=[z3.ULT(part, 1 << bit_count) for part in element_words],
            formula=f"copy_words packed ELEMENT={element_size}",
        )
