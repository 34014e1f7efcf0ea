"""Makes mutants of the shaders and counts those that the tests notice. `bash tests/run mutants` calls this script.

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
EXPLAINED_MUTANTS_FILE = ROOT / "tests/python/mutants.txt"
RESULTS_PAGE = ROOT / "docs/TESTING.md"
BEGIN_MARKER, END_MARKER = "<!-- mutants -->\n", "<!-- end of mutants -->\n"
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

Mutant = collections.namedtuple("Mutant", "file kind line_index old_line new_line")


def code_of(line):
    return line.split("//")[0]


def mutants_of(file, text, seed):
    """Returns all mutants of a shader. The kinds of faults alternate, and the seed decides the order."""
    mutants_of_kind = collections.defaultdict(dict)
    for line_index, line in enumerate(text.splitlines()):
        code = code_of(line)
        if code.lstrip().startswith(("#", "@", "enable")):
            continue
        for kind, faults in FAULTS.items():
            for pattern, replacement in faults:
                for match in re.finditer(pattern, code):
                    new_line = code[: match.start()] + match.expand(replacement) if isinstance(replacement, str) else (
                        code[: match.start()] + replacement(match))
                    new_line += code[match.end() :]
                    mutants_of_kind[kind][line_index, new_line] = Mutant(file, kind, line_index, line, new_line)
    draw = random.Random(f"{seed} {file}")
    shuffled_lists = [list(mutants_of_kind[kind].values()) for kind in FAULTS]
    for mutants in shuffled_lists:
        draw.shuffle(mutants)
    drawn = []
    while any(shuffled_lists):
        drawn += [mutants.pop() for mutants in shuffled_lists if mutants]
    return drawn


def mutated(text, mutant):
    """Returns the text with the fault, at the original length, or None if there are too few comments to cut."""
    lines = text.splitlines(keepends=True)
    lines[mutant.line_index] = lines[mutant.line_index].replace(mutant.old_line, mutant.new_line)
    excess_bytes = len("".join(lines).encode()) - len(text.encode())
    for line_index, line in enumerate(lines):
        comment = line.rstrip("\n")[len(code_of(line)) + 2 :]
        if excess_bytes > 0 and comment.isascii():
            cut_length = min(excess_bytes, len(comment))
            lines[line_index] = line[: len(line.rstrip("\n")) - cut_length] + line[len(line.rstrip("\n")) :]
            excess_bytes -= cut_length
    if excess_bytes > 0:
        return None
    return ("".join(lines) + " " * -excess_bytes).encode()


def explained_mutants():
    """Returns the explained mutants as a set of tuples (file, old line, new line)."""
    explained = set()
    for block in EXPLAINED_MUTANTS_FILE.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            file, old, new = lines
            explained.add((file, old.removeprefix("-").strip(), new.removeprefix("+").strip()))
    return explained


def explanation_key(mutant):
    return (f"shaders/{mutant.file}", mutant.old_line.strip(), mutant.new_line.strip())


# The name of the judge that runs the tests of `bash tests/run` for golden vectors and random cases.
TESTS_JUDGE = "tests"


def judges(quick, seed):
    """Returns the arguments of each judge by its name. They are for `wgslice` or, for TESTS_JUDGE, for the tests."""
    lavapipe_cases, strict_cases = (100, 150) if quick else (400, 1000)
    on_lavapipe = ["--device", "gpu", "--adapter", "llvmpipe", "--backend", "vulkan"]
    return {
        "golden": ["verify", *VECTORS, *on_lavapipe, "--first"],
        "lavapipe": ["verify", "--random", str(lavapipe_cases), "--seed", str(seed), *on_lavapipe, "--first"],
        "strict": ["verify", "--random", str(strict_cases), "--seed", str(seed), "--strict", "--first"],
        TESTS_JUDGE: ["devices::every_", "property::random_", "--test-threads", "1"],
    }


# If no judge has noticed a mutant, the judge `strict` runs this many times as many cases.
EXTRA_CASES_FACTOR = 5


# Held while a copy is written or a process is started. A new process briefly holds every open file, and a file that is
# open for writing cannot be run.
START_LOCK = threading.Lock()


def judge(program, arguments, limit_seconds):
    """Runs a judge for at most `limit_seconds` of processor time, which does not depend on other work on the machine.
    Returns "passed", "killed" or "rejected". A run beyond the limit, such as an endless loop, is "killed"."""
    with START_LOCK:
        process = subprocess.Popen(
            ["prlimit", f"--cpu={limit_seconds:.0f}", program, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
    try:
        output, _ = process.communicate(timeout=20 * limit_seconds)
    except subprocess.TimeoutExpired:
        # The judge hangs without using processor time.
        process.kill()
        output, _ = process.communicate()
    if process.returncode == 0:
        return "passed"
    return "rejected" if REJECTION_MESSAGE.search(output) else "killed"


def processor_time():
    """Returns the processor time of all child processes that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# Matches the messages that a judge prints if naga rejects a shader.
REJECTION_MESSAGE = re.compile(r"rejects the shader|parsing error|Validation Error")


class Run:
    def __init__(self, program, tests_program, options):
        self.options = options
        self.programs = {name: tests_program if name == TESTS_JUDGE else program for name in judges(False, 1)}
        self.originals = {path: path.read_bytes() for path in (program, tests_program)}
        self.folder = program.resolve().parent.parent / "mutants"
        self.folder.mkdir(exist_ok=True)
        # As in `bash tests/run`, Mesa compiles without optimizations. Each run has the same seed and ends at the first
        # failure.
        os.environ |= {"GALLIVM_PERF": "nopt", "WGSLICE_TEST_SEED": str(options.seed), "WGSLICE_TEST_FIRST": "1"}
        # Mesa keeps compiled shaders, so a run compiles only the shaders that the mutant has changed.
        os.environ["MESA_SHADER_CACHE_DIR"] = str(self.folder / "cache")
        self.judges = judges(options.quick, options.seed)
        self.deadline = time.monotonic() + 60 * options.minutes
        # Each worker has its own copy of the program.
        self.copies = queue.Queue()
        for copy_number in range(options.jobs):
            self.copies.put(self.folder / f"wgslice-{copy_number}")

    def measure(self):
        """Runs every judge on the unchanged shaders, and derives the limits for mutants from its processor time."""
        self.limit_seconds = {}
        for name, arguments in self.judges.items():
            start_seconds = processor_time()
            if judge(self.programs[name], arguments, 1200) != "passed":
                sys.exit(f"the judge {name} does not pass the shaders as they are: {' '.join(arguments)}")
            seconds = processor_time() - start_seconds
            # Mutants may take longer, because their shaders are compiled, and because parallel runs share caches.
            self.limit_seconds[name] = 10 + 4 * seconds
            print(f"{name}: {seconds:.0f} s of processor time", flush=True)

    def outcomes(self, mutant, text):
        """Returns the outcome of each judge. Returns None if no time is left, if the comments are too short, or if naga
        rejects the mutant."""
        mutated_text = mutated(text, mutant)
        if mutated_text is None or time.monotonic() > self.deadline:
            return None
        program = self.copies.get()

        def run_judge(name, arguments, limit_seconds):
            with START_LOCK:
                program.write_bytes(self.originals[self.programs[name]].replace(text.encode(), mutated_text))
                program.chmod(0o755)
            return judge(program, arguments, limit_seconds)

        try:
            verdicts = {}
            for name, arguments in self.judges.items():
                # The tests take minutes if none fails, so they skip explained mutants that no other judge notices.
                is_equivalent = "killed" not in verdicts.values() and explanation_key(mutant) in explained_mutants()
                is_skipped = name == TESTS_JUDGE and is_equivalent
                verdicts[name] = "passed" if is_skipped else run_judge(name, arguments, self.limit_seconds[name])
                if verdicts[name] == "rejected":
                    return None
            is_unexplained = "killed" not in verdicts.values() and explanation_key(mutant) not in explained_mutants()
            if is_unexplained and not self.options.quick:
                arguments = [*self.judges["strict"]]
                cases_index = arguments.index("--random") + 1
                arguments[cases_index] = str(EXTRA_CASES_FACTOR * int(arguments[cases_index]))
                verdicts["strict"] = run_judge("strict", arguments, EXTRA_CASES_FACTOR * self.limit_seconds["strict"])
            return verdicts
        finally:
            self.copies.put(program)

    def next_mutant(self, drawn):
        """Runs mutants of the iterator `drawn` until one has outcomes. Returns it with its outcomes, or None."""
        for mutant, text in drawn:
            verdicts = self.outcomes(mutant, text)
            if verdicts is not None:
                if self.options.verbose:
                    new_line = mutant.new_line.strip()
                    print(mutant.file, mutant.line_index + 1, mutant.kind, verdicts, new_line, flush=True)
                return mutant, verdicts

    def run_all(self, files):
        """Returns the mutants of each file that have outcomes, with the outcomes. The files alternate, so every file has
        about the same number of mutants if the time runs out."""
        drawn = {}
        for file in files:
            text = (ROOT / "shaders" / file).read_text()
            if any(text.encode() not in original for original in self.originals.values()):
                sys.exit(f"{file} is not in the programs as it is in the folder")
            drawn[file] = iter([(mutant, text) for mutant in mutants_of(file, text, self.options.seed)])
        mutants_of_file = {file: [] for file in files}
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for _ in range(self.options.mutants):
                for file, mutant in zip(files, pool.map(self.next_mutant, drawn.values())):
                    mutants_of_file[file] += [mutant] if mutant else []
        return mutants_of_file


def report(mutants_of_file, judge_names, explained):
    width = max(len(file) for file in mutants_of_file)
    print(f"\n{'':{width}}  made  killed  " + "  ".join(f"{name:>8}" for name in judge_names))
    totals = collections.Counter()
    survivors = []
    for file, mutants in sorted(mutants_of_file.items()):
        counts = collections.Counter(made=len(mutants))
        for mutant, verdicts in mutants:
            killers = [name for name in judge_names if verdicts[name] == "killed"]
            counts.update(killers)
            counts["any"] += bool(killers)
            if not killers:
                survivors.append(mutant)
        totals += counts
        print_row(file, width, counts, judge_names)
    print_row("all", width, totals, judge_names)
    by_tests = totals[TESTS_JUDGE]
    print(f"\n{totals['any']} of {totals['made']} noticed, {by_tests} by the tests of `bash tests/run` alone")
    unexplained = [mutant for mutant in survivors if explanation_key(mutant) not in explained]
    print(f"\n{len(survivors)} survive, of which {len(survivors) - len(unexplained)} are explained")
    for mutant in unexplained:
        file, old, new = explanation_key(mutant)
        print(f"\n{file}\n- {old}\n+ {new}\n  (line {mutant.line_index + 1}, {mutant.kind})")
    return unexplained, totals


def write_totals(totals, seed):
    """Writes the totals of a run of all shaders into docs/TESTING.md, the only document that has them."""
    text_before, marked_text = RESULTS_PAGE.read_text().split(BEGIN_MARKER)
    _, text_after = marked_text.split(END_MARKER)
    counts_text = (
        f"{totals['any']} of {totals['made']} faults noticed, {totals[TESTS_JUDGE]} of them by the tests of "
        f"`bash tests/run` alone (seed {seed}, {datetime.date.today()}).\n"
    )
    RESULTS_PAGE.write_text(f"{text_before}{BEGIN_MARKER}{counts_text}{END_MARKER}{text_after}")


def print_row(name, width, counts, judge_names):
    killed_by_judge = "  ".join(f"{counts[name]:8}" for name in judge_names)
    print(f"{name:{width}}  {counts['made']:4}  {counts['any']:6}  {killed_by_judge}")


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
    mutants_of_file = run.run_all(files)
    explained = explained_mutants()
    unexplained, totals = report(mutants_of_file, list(run.judges), explained)
    if not options.quick and not options.files:
        write_totals(totals, options.seed)
    for file, old, _ in sorted(explained):
        if pathlib.Path(file).name in files and old not in map(str.strip, (ROOT / file).read_text().splitlines()):
            print(f"\n{EXPLAINED_MUTANTS_FILE.name} explains a line that {file} lacks: {old}")
    files_with_few = [file for file, mutants in mutants_of_file.items() if len(mutants) < options.mutants]
    if files_with_few:
        print(f"\nfewer than {options.mutants} mutants of {', '.join(files_with_few)}: no time, or no more faults")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
