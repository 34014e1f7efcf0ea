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


def memory(name, argument_count=1):
    """Returns an unknown function from `argument_count` words to a word: a buffer, by index, or an operation."""
    sorts = [z3.BitVecSort(32)] * (argument_count + 1)
    return z3.Function(name, *sorts)


product = memory("product", 2)
first, second = (z3.Var(number, z3.BitVecSort(32)) for number in (0, 1))


def wide(term, bit_count=64):
    """Returns a word as an unsigned number of `bit_count` bits."""
    return z3.ZeroExt(bit_count - term.size(), term)


def signed(term, bit_count=64):
    """Returns a word as a signed number of `bit_count` bits."""
    return z3.SignExt(bit_count - term.size(), term)


def solver_of(facts):
    """Returns a new solver with these facts. Each check needs one, because a solver's later checks are slower."""
    solver = z3.Solver()
    solver.set("rlimit", EFFORT)
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*facts)
    return solver


def describe_counterexample(model):
    """Returns the inputs and outputs of a counterexample."""
    prefixes = ("in", "walk", "out")
    variables = [variable for variable in model.decls() if variable.name().split(".")[0] in prefixes]
    return ", ".join(f"{variable.name()} = {model[variable]}" for variable in variables[:24]) or model


class Lemmas:
    """Proves each lemma whose number modulo `worker_count` is `worker`, and counts those that hold or fail."""

    def __init__(self, folder, worker=0, worker_count=1):
        self.folder = Path(folder)
        self.worker = worker
        self.worker_count = worker_count
        self.used_formulas = set()
        self.lemma_count = 0
        self.passed = 0
        self.failed = 0
        self.name_part = os.environ.get("WGSLICE_LEMMA", "")

    def formula(self, name):
        """Returns the facts that define the outputs of a shader function by its inputs. In them, a product of two
        unknown numbers is an unknown function of these."""
        self.used_formulas.add(name)
        return list(z3.parse_smt2_file(str(self.folder / f"{name}.smt2")))

    def prove(self, name, goal, given=(), formula=None):
        """Proves that the goal follows from the given facts and from the formula."""
        self.check(name, [*self.formula(formula), *given], goal)

    def check(self, name, facts, goal):
        if self.name_part not in name:
            return
        self.lemma_count += 1
        if self.lemma_count % self.worker_count != self.worker:
            return
        # Facts that contradict each other would imply any goal.
        facts_outcome = solver_of(facts).check()
        solver = solver_of([*facts, z3.Not(goal)])
        start = time.process_time()
        outcome = solver.check()
        seconds = time.process_time() - start
        if seconds > SLOW_S:
            print(f"{name} took {seconds:.0f} s", flush=True)
        if facts_outcome == z3.sat and outcome == z3.unsat:
            self.passed += 1
            return
        self.failed += 1
        reason = describe_counterexample(solver.model()) if outcome == z3.sat else solver.reason_unknown()
        if facts_outcome != z3.sat:
            reason = f"what is given is {facts_outcome}"
        print(f"{name}: {outcome} after {seconds:.1f} s: {reason}", flush=True)

    def unused(self):
        """Returns the names of the formulas that no lemma uses. Returns none if only some lemmas are proved."""
        formula_names = {path.stem for path in self.folder.glob("*.smt2")}
        return [] if self.name_part else sorted(formula_names - self.used_formulas)
