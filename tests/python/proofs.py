"""Proves with z3, for all inputs, what shader functions compute with indices, bytes and
numbers.

    python tests/python/proofs.py FOLDER

FOLDER contains formulas of shader functions. A test of the library makes them from the
shader sources:

    WGSLICE_FORMULAS=FOLDER cargo test --workspace --all-features --lib formulas

`WGSLICE_LEMMA=TEXT` proves only the lemmas with this text in their names.
"""

import os
import sys
import time
from multiprocessing import Pool

from lemmas import bytes as byte_lemmas
from lemmas import integers, numbers, tuples
from lemmas.core import Lemmas

WORKERS = os.cpu_count() or 1


def prove(worker):
    """Proves one part of the lemmas. Each part has its own process, because z3 uses only one processor."""
    lemmas = Lemmas(sys.argv[1], worker, WORKERS)
    for part in (integers, tuples, byte_lemmas, numbers):
        part.prove_all(lemmas)
    return lemmas


def main():
    begin = time.time()
    with Pool(WORKERS) as pool:
        parts = pool.map(prove, range(WORKERS), chunksize=1)
    # Every process reads all formulas, so each of them knows which formulas are unused.
    unused = parts[0].unused()
    if unused:
        print(f"no lemma uses {', '.join(unused)}")
    passed = sum(part.passed for part in parts)
    failed = sum(part.failed for part in parts) + len(unused)
    print(f"{len(parts[0].used)} formulas, {time.time() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(0 if main() else 1)
