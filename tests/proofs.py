"""Proves what the shaders compute with indices, addresses and masks, for all inputs, with z3.

    python tests/proofs.py FOLDER

FOLDER holds formulas of functions of the shaders, which a test of the library writes from their text:
`WGSLICE_FORMULAS=FOLDER cargo test --workspace --all-features --lib formulas`. `WGSLICE_LEMMA=TEXT` proves only the
lemmas with this text in their names.
"""

import sys

from lemmas import bytes as of_bytes
from lemmas import indices, integers, numbers, rows
from lemmas.core import Lemmas

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lemmas = Lemmas(sys.argv[1])
    for part in (integers, rows, indices, of_bytes, numbers):
        part.prove_all(lemmas)
    sys.exit(0 if lemmas.finish() else 1)
