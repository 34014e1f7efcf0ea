"""Makes mutants of the shaders and counts those that the tests notice. `bash tests/run mutants` calls it.

A mutant is a shader with one small fault, in one line. A judge is a run of tests on a mutant. The executables contain
the shader sources, so a mutant is a copy of an executable in which one source is replaced by a source of equal length,
and no Rust is compiled again. Where a source becomes longer, comments are cut. A seed decides which faults are made.
"""

import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import queue
import random
import re
import resource
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPLAINED = ROOT / "tests/python/mutants.txt"
RESULTS = ROOT / "docs/TESTING.md"
BEGIN, END = "<!-- mutants -->\n", "<!-- end of mutants -->\n"
VECTORS = [
    f"tests/vectors/{name}.jsonl"
    for name in ("seed1", "scatter_floats", "assembly", "array_index", "index_update", "mask", "paste", "convert", "numbers",
                 "xla")
]

# The kinds of faults. Each fault is a pattern in a line of code and its replacement. If the compiler rejects a
# replacement, the mutant is not counted.
FAULTS = {
    "bound": [
        (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
        (r" == ", " != "), (r" != ", " == "), (r"\bmin\(", "max("), (r"\bmax\(", "min("),
    ],
    "number": [
        (r"(?<![\w.])(\d+)(?=[ui]?\b)(?![.\w]*[fh])", lambda match: str(int(match[1]) + 1)),
        (r"\.x\b", ".y"), (r"\.y\b", ".x"), (r"\.z\b", ".y"), (r"\.w\b", ".x"),
    ],
    "sign": [
        (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "),
        (r"(?<=[=(,])( ?)-(?=[\w(])", r"\1"), (r"(?<=[ (])!(?=[\w(])", ""),
    ],
    "operator": [
        (r" \* ", " + "), (r" / ", " % "), (r" % ", " / "), (r" << ", " >> "), (r" >> ", " << "),
        (r" & ", " | "), (r" \| ", " & "), (r" && ", " || "), (r" \|\| ", " && "), (r" \^ ", " | "),
    ],
    "guard": [
        (r"\bif .*(?= \{)", "if true"), (r"\bif .*(?= \{)", "if false"),
        (r"^\s*(break|continue|return)( [^;]*)?;", ""),
    ],
    "statement": [(r"^\s*(?!let|var|const|break|continue|return|override)[\w.\[\]*(].*;\s*$", "")],
    "barrier": [(r"^\s*\w*[bB]arrier\(\);", "")],
    "atomic": [
        (r"\batomicAdd\(", "atomicMax("), (r"\batomicMax\(", "atomicAdd("), (r"\batomicMin\(", "atomicMax("),
        (r"\batomicOr\(", "atomicAnd("), (r"\batomicAnd\(", "atomicOr("), (r"\batomicSub\(", "atomicAdd("),
        (r"(?<=\s)atomic(Add|Sub|Max|Min|Or|And|Xor)\(", "atomicStore("),
        (r"\batomicAdd\(([^,]*), [^,;]*\)", r"atomicLoad(\1)"), (r"\batomicExchange\(", "atomicAdd("),
    ],
}

Mutant = collections.namedtuple("Mutant", "file kind line old new")


def code_of(line):
    return line.split("//")[0]


def mutants_of(file, text, seed):
    """Returns all mutants of a shader. The kinds of faults alternate, and the seed decides the order."""
    kinds = collections.defaultdict(dict)
    for number, line in enumerate(text.splitlines()):
        code = code_of(line)
        if code.lstrip().startswith(("#", "@", "enable")):
            continue
        for kind, faults in FAULTS.items():
            for pattern, replacement in faults:
                for match in re.finditer(pattern, code):
                    new = code[: match.start()] + match.expand(replacement) if isinstance(replacement, str) else (
                        code[: match.start()] + replacement(match))
                    new += code[match.end() :]
                    kinds[kind][number, new] = Mutant(file, kind, number, line, new)
    draw = random.Random(f"{seed} {file}")
    lists = [list(kinds[kind].values()) for kind in FAULTS]
    for mutants in lists:
        draw.shuffle(mutants)
    drawn = []
    while any(lists):
        drawn += [mutants.pop() for mutants in lists if mutants]
    return drawn


def mutated(text, mutant):
    """Returns the text with the fault, with the original length. None if there are too few comments to cut."""
    lines = text.splitlines(keepends=True)
    lines[mutant.line] = lines[mutant.line].replace(mutant.old, mutant.new)
    excess = len("".join(lines).encode()) - len(text.encode())
    for number, line in enumerate(lines):
        comment = line.rstrip("\n")[len(code_of(line)) + 2 :]
        if excess > 0 and comment.isascii():
            cut = min(excess, len(comment))
            lines[number] = line[: len(line.rstrip("\n")) - cut] + line[len(line.rstrip("\n")) :]
            excess -= cut
    if excess > 0:
        return None
    return ("".join(lines) + " " * -excess).encode()


def explained_mutants():
    """Returns the mutants in EXPLAINED as a set of (file, old line, new line)."""
    found = set()
    for block in EXPLAINED.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            file, old, new = lines
            found.add((file, old.removeprefix("-").strip(), new.removeprefix("+").strip()))
    return found


def key(mutant):
    return (f"shaders/{mutant.file}", mutant.old.strip(), mutant.new.strip())


# The name of the judge that runs the golden vectors and random cases of `bash tests/run`.
TESTS = "tests"


def judges(quick, seed):
    """Returns the arguments of each judge, by its name. They are for `wgslice`, or for the tests' executable."""
    lavapipe, strict = (100, 150) if quick else (400, 1000)
    on_lavapipe = ["--device", "gpu", "--adapter", "llvmpipe", "--backend", "vulkan"]
    return {
        "golden": ["verify", *VECTORS, *on_lavapipe, "--first"],
        "lavapipe": ["verify", "--random", str(lavapipe), "--seed", str(seed), *on_lavapipe, "--first"],
        "strict": ["verify", "--random", str(strict), "--seed", str(seed), "--strict", "--first"],
        TESTS: ["devices::every_", "property::random_", "--test-threads", "1"],
    }


# If no judge has noticed a mutant, the interpreter `strict` runs this many times as many cases.
LONGER = 5


# Held while a copy is written or a process is started: a new process briefly holds every open file, and a file that is
# open for writing cannot be run.
STARTING = threading.Lock()


def judge(program, arguments, limit):
    """Runs a judge for at most `limit` seconds of processor time, which does not depend on other work on the machine.
    Returns "passed", "killed" or "rejected". A run beyond the limit, such as an endless loop, is "killed"."""
    with STARTING:
        process = subprocess.Popen(
            ["prlimit", f"--cpu={limit:.0f}", program, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
    try:
        output, _ = process.communicate(timeout=20 * limit)
    except subprocess.TimeoutExpired:
        # The judge hangs without using processor time.
        process.kill()
        output, _ = process.communicate()
    if process.returncode == 0:
        return "passed"
    return "rejected" if REJECTED.search(output) else "killed"


def processor_time():
    """Returns the processor time of all child processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Matches the messages that a judge prints if naga rejects a shader.
REJECTED = re.compile(r"refuses the shader|parsing error|Validation Error")


class Run:
    def __init__(self, program, tests, options):
        self.options = options
        self.programs = {name: tests if name == TESTS else program for name in judges(False, 1)}
        self.originals = {path: path.read_bytes() for path in (program, tests)}
        self.folder = program.resolve().parent.parent / "mutants"
        self.folder.mkdir(exist_ok=True)
        # The settings of `bash tests/run`, except that each run has the same seed and ends at the first failure.
        os.environ |= {"GALLIVM_PERF": "nopt", "WGSLICE_TEST_SEED": str(options.seed), "WGSLICE_TEST_FIRST": "1"}
        # Compiled shaders are kept, so that a run compiles only the shaders that the mutant has changed.
        os.environ["MESA_SHADER_CACHE_DIR"] = str(self.folder / "cache")
        self.judges = judges(options.quick, options.seed)
        self.end = time.monotonic() + 60 * options.minutes
        # Each worker has its own copy of the program.
        self.copies = queue.Queue()
        for number in range(options.jobs):
            self.copies.put(self.folder / f"wgslice-{number}")

    def measure(self):
        """Runs every judge on the unchanged shaders, and derives the limits for mutants from the processor times."""
        self.limits = {}
        for name, arguments in self.judges.items():
            before = processor_time()
            if judge(self.programs[name], arguments, 1200) != "passed":
                sys.exit(f"the judge {name} does not pass the shaders as they are: {' '.join(arguments)}")
            seconds = processor_time() - before
            # Mutants may take longer, because their shaders are compiled, and because parallel runs share caches.
            self.limits[name] = 10 + 4 * seconds
            print(f"{name}: {seconds:.0f} s of processor time", flush=True)

    def outcomes(self, mutant, text):
        """Returns the outcome of each judge, or None if there is no time left or the mutant is not valid."""
        new = mutated(text, mutant)
        if new is None or time.monotonic() > self.end:
            return None
        program = self.copies.get()

        def run(name, arguments, limit):
            with STARTING:
                program.write_bytes(self.originals[self.programs[name]].replace(text.encode(), new))
                program.chmod(0o755)
            return judge(program, arguments, limit)

        try:
            verdicts = {}
            for name, arguments in self.judges.items():
                # The tests take minutes if none fails, so they skip mutants in EXPLAINED that no other judge notices.
                is_equivalent = "killed" not in verdicts.values() and key(mutant) in explained_mutants()
                is_skipped = name == TESTS and is_equivalent
                verdicts[name] = "passed" if is_skipped else run(name, arguments, self.limits[name])
                if verdicts[name] == "rejected":
                    return None
            if "killed" not in verdicts.values() and not self.options.quick and key(mutant) not in explained_mutants():
                arguments = [*self.judges["strict"]]
                cases = arguments.index("--random") + 1
                arguments[cases] = str(LONGER * int(arguments[cases]))
                verdicts["strict"] = run("strict", arguments, LONGER * self.limits["strict"])
            return verdicts
        finally:
            self.copies.put(program)

    def next_of(self, drawn):
        """Runs mutants of the iterator `drawn` until one is valid. Returns this mutant and its outcomes, or None."""
        for mutant, text in drawn:
            verdicts = self.outcomes(mutant, text)
            if verdicts is not None:
                if self.options.verbose:
                    print(mutant.file, mutant.line + 1, mutant.kind, verdicts, mutant.new.strip(), flush=True)
                return mutant, verdicts

    def all(self, files):
        """Returns the valid mutants of each file with their outcomes. The files alternate, so that all have about the
        same number of mutants if the time runs out."""
        drawn = {}
        for file in files:
            text = (ROOT / "shaders" / file).read_text()
            if any(text.encode() not in original for original in self.originals.values()):
                sys.exit(f"{file} is not in the programs as it is in the folder")
            drawn[file] = iter([(mutant, text) for mutant in mutants_of(file, text, self.options.seed)])
        mutants_of_file = {file: [] for file in files}
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for _ in range(self.options.mutants):
                for file, mutant in zip(files, pool.map(self.next_of, drawn.values())):
                    mutants_of_file[file] += [mutant] if mutant else []
        return mutants_of_file


def report(mutants_of_file, names, known):
    width = max(len(file) for file in mutants_of_file)
    print(f"\n{'':{width}}  made  killed  " + "  ".join(f"{name:>8}" for name in names))
    totals = collections.Counter()
    survivors = []
    for file, mutants in sorted(mutants_of_file.items()):
        counts = collections.Counter(made=len(mutants))
        for mutant, verdicts in mutants:
            killers = [name for name in names if verdicts[name] == "killed"]
            counts.update(killers)
            counts["any"] += bool(killers)
            if not killers:
                survivors.append(mutant)
        totals += counts
        row(file, width, counts, names)
    row("all", width, totals, names)
    print(f"\n{totals['any']} of {totals['made']} noticed, {totals[TESTS]} by the tests of `bash tests/run` alone")
    unexplained = [mutant for mutant in survivors if key(mutant) not in known]
    print(f"\n{len(survivors)} survive, of which {len(survivors) - len(unexplained)} are explained")
    for mutant in unexplained:
        file, old, changed = key(mutant)
        print(f"\n{file}\n- {old}\n+ {changed}\n  (line {mutant.line + 1}, {mutant.kind})")
    return unexplained, totals


def write(totals, seed):
    """Writes the counts of a whole run into docs/TESTING.md, the only document that has them."""
    before, rest = RESULTS.read_text().split(BEGIN)
    _, after = rest.split(END)
    counts = (
        f"{totals['any']} of {totals['made']} faults noticed, {totals[TESTS]} of them by the tests of `bash tests/run` "
        f"alone (seed {seed}, {datetime.date.today()}).\n"
    )
    RESULTS.write_text(f"{before}{BEGIN}{counts}{END}{after}")


def row(name, width, counts, names):
    judged = "  ".join(f"{counts[name]:8}" for name in names)
    print(f"{name:{width}}  {counts['made']:4}  {counts['any']:6}  {judged}")


def main():
    parser = argparse.ArgumentParser(prog="bash tests/run mutants")
    parser.add_argument("program", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("tests", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", help="shaders, such as combine.wgsl; all by default")
    parser.add_argument("--quick", action="store_true", help="2 mutants of each shader, and fewer cases")
    parser.add_argument("--mutants", type=int, help="mutants of each shader (10; 2 with --quick)")
    parser.add_argument("--seed", type=int, default=1, help="draws the faults and the cases (1)")
    parser.add_argument("--minutes", type=float, default=55, help="begins no mutant after this time (55)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time (one for each processor)")
    parser.add_argument("--verbose", action="store_true", help="print each mutant")
    options = parser.parse_intermixed_args()
    options.mutants = options.mutants or (2 if options.quick else 10)
    files = options.files or sorted(path.name for path in (ROOT / "shaders").glob("*.wgsl"))
    run = Run(options.program, options.tests, options)
    run.measure()
    mutants_of_file = run.all(files)
    known = explained_mutants()
    unexplained, totals = report(mutants_of_file, list(run.judges), known)
    if not options.quick and not options.files:
        write(totals, options.seed)
    for file, old, _ in sorted(known):
        if pathlib.Path(file).name in files and old not in map(str.strip, (ROOT / file).read_text().splitlines()):
            print(f"\n{EXPLAINED.name} explains a line that {file} lacks: {old}")
    few = [file for file, mutants in mutants_of_file.items() if len(mutants) < options.mutants]
    if few:
        print(f"\nfewer than {options.mutants} mutants of {', '.join(few)}: no time, or no more faults")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
