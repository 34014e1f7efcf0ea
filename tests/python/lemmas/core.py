"""Reads formulas of the shaders' functions, and proves lemmas on them.

A lemma holds if z3 shows that no values satisfy all that is given but not the goal. A lemma that z3 does not decide
within its time counts as a failure, as does a formula that no lemma uses.
"""

import os
import time
from pathlib import Path

import z3

# The most that z3 may spend on a lemma, in its own units, which do not depend on the machine's speed: some seconds.
EFFORT = 100_000_000
TIMEOUT_MS = 300_000
# The names of lemmas that take longer are printed.
SLOW_S = 5


def word(name):
    """An input or an output of a formula."""
    return z3.BitVec(name, 32)


def words(name, parts):
    """Several inputs or outputs: one for each part of `name`."""
    return [word(f"{name}.{part}") for part in parts]


def memory(name, count=1):
    """A function of `count` words with a word as its result: a buffer, by the index, or an operation."""
    sorts = [z3.BitVecSort(32)] * (count + 1)
    return z3.Function(name, *sorts)


product = memory("product", 2)
first, second = (z3.Var(number, z3.BitVecSort(32)) for number in (0, 1))


def wide(term, bits=64):
    """A word as a longer unsigned number."""
    return z3.ZeroExt(bits - term.size(), term)


def signed(term, bits=64):
    """A word as a longer signed number."""
    return z3.SignExt(bits - term.size(), term)


def solver_of(facts):
    """A new solver with these facts. A solver that has checked something before continues in another, slower mode."""
    solver = z3.Solver()
    solver.set("rlimit", EFFORT)
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*facts)
    return solver


def shown(model):
    """The inputs and outputs for which a lemma does not hold."""
    names = ("in", "walk", "out")
    values = [entry for entry in model.decls() if entry.name().split(".")[0] in names]
    return ", ".join(f"{entry.name()} = {model[entry]}" for entry in values[:24]) or model


class Lemmas:
    """Proves every `workers`-th lemma, from number `worker` on, and counts those that hold and those that do not."""

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
        """The facts that define the outputs of a function by its inputs. Products are numbers about which nothing is
        known."""
        self.used.add(name)
        return list(z3.parse_smt2_file(str(self.folder / f"{name}.smt2")))

    def prove(self, name, goal, given=(), formula=None):
        """Proves that the goal follows from what is given and from the formula."""
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
        why = shown(solver.model()) if outcome == z3.sat else solver.reason_unknown()
        if possible != z3.sat:
            why = f"what is given is {possible}"
        print(f"{name}: {outcome} after {spent:.1f} s: {why}", flush=True)

    def unused(self):
        """The names of the formulas that no lemma uses. Empty if only some lemmas are proved."""
        there = {path.stem for path in self.folder.glob("*.smt2")}
        return [] if self.only else sorted(there - self.used)
