"""Proves with z3 what shader functions compute with indices, bytes and numbers, for all
inputs.

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
    """Proves the lemmas of one worker. There are several workers, because z3 uses only one processor."""
    lemmas = Lemmas(sys.argv[1], worker, WORKERS)
    for module in (integers, tuples, byte_lemmas, numbers):
        module.prove_all(lemmas)
    return lemmas


def main():
    start = time.time()
    with Pool(WORKERS) as pool:
        lemmas_of_workers = pool.map(prove, range(WORKERS), chunksize=1)
    # Every worker reads the formulas of all lemmas, so the first worker can list the unused formulas.
    unused = lemmas_of_workers[0].unused()
    if unused:
        print(f"no lemma uses {', '.join(unused)}")
    passed = sum(lemmas.passed for lemmas in lemmas_of_workers)
    failed = sum(lemmas.failed for lemmas in lemmas_of_workers) + len(unused)
    print(f"{len(lemmas_of_workers[0].used_formulas)} formulas, {time.time() - start:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(0 if main() else 1)
