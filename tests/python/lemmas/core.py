"""Reads formulas of shader functions and proves lemmas on them.

A lemma holds if z3 shows that no values satisfy all given facts but not the goal. A lemma fails if z3 does not decide
it within its limits. A formula that no lemma uses is also a failure.
"""

import os
import time
from pathlib import Path

import z3

# The maximum effort for a lemma, in z3's `rlimit` units, which do not depend on the machine's speed.
EFFORT = 100_000_000
TIMEOUT_MS = 300_000
# The names of lemmas that take more than this number of seconds of processor time are printed.
SLOW_S = 5


def word(name):
    """Returns an input or an output of a formula, a word of 32 bits."""
    return z3.BitVec(name, 32)


def words(name, parts):
    """Returns the inputs or outputs `name.PART` for each part, such as the components of a vector."""
    return [word(f"{name}.{part}") for part in parts]


def memory(name, count=1):
    """Returns an unknown function from `count` words to a word: a buffer, by index, or an operation."""
    sorts = [z3.BitVecSort(32)] * (count + 1)
    return z3.Function(name, *sorts)


product = memory("product", 2)
first, second = (z3.Var(number, z3.BitVecSort(32)) for number in (0, 1))


def wide(term, bits=64):
    """Returns a word as an unsigned number of `bits` bits."""
    return z3.ZeroExt(bits - term.size(), term)


def signed(term, bits=64):
    """Returns a word as a signed number of `bits` bits."""
    return z3.SignExt(bits - term.size(), term)


def solver_of(facts):
    """Returns a new solver with these facts. Each check needs one, because a solver's later checks are slower."""
    solver = z3.Solver()
    solver.set("rlimit", EFFORT)
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*facts)
    return solver


def describe_counterexample(model):
    """Returns the inputs and outputs of a counterexample."""
    names = ("in", "walk", "out")
    values = [entry for entry in model.decls() if entry.name().split(".")[0] in names]
    return ", ".join(f"{entry.name()} = {model[entry]}" for entry in values[:24]) or model


class Lemmas:
    """Proves every `workers`-th lemma, starting at number `worker`, and counts the lemmas that hold or fail."""

    def __init__(self, folder, worker=0, workers=1):
        self.folder = Path(folder)
        self.worker = worker
        self.workers = workers
        self.used = set()
        self.seen = 0
        self.passed = 0
        self.failed = 0
        self.only = os.environ.get("WGSLICE_LEMMA", "")

    def formula(self, name):
        """Returns the facts that define the outputs of a shader function by its inputs. A product of two unknown
        numbers is an unknown function of them."""
        self.used.add(name)
        return list(z3.parse_smt2_file(str(self.folder / f"{name}.smt2")))

    def prove(self, name, goal, given=(), formula=None):
        """Proves that the goal follows from the given facts and from the formula."""
        self.check(name, [*self.formula(formula), *given], goal)

    def check(self, name, facts, goal):
        if self.only not in name:
            return
        self.seen += 1
        if self.seen % self.workers != self.worker:
            return
        # Facts that contradict each other would imply any goal.
        possible = solver_of(facts).check()
        solver = solver_of([*facts, z3.Not(goal)])
        begin = time.process_time()
        outcome = solver.check()
        spent = time.process_time() - begin
        if spent > SLOW_S:
            print(f"{name} took {spent:.0f} s", flush=True)
        if possible == z3.sat and outcome == z3.unsat:
            self.passed += 1
            return
        self.failed += 1
        why = describe_counterexample(solver.model()) if outcome == z3.sat else solver.reason_unknown()
        if possible != z3.sat:
            why = f"what is given is {possible}"
        print(f"{name}: {outcome} after {spent:.1f} s: {why}", flush=True)

    def unused(self):
        """Returns the names of the formulas that no lemma uses, or nothing if only some lemmas are proved."""
        there = {path.stem for path in self.folder.glob("*.smt2")}
        return [] if self.only else sorted(there - self.used)
