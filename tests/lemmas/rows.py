"""Where rows begin: segments, grids, odometers, gradients and crops.

Quotients by unknown words are only names here; `integers` proves lemmas on them.
"""

import z3

from lemmas.core import FOUND, MISSING, quotient, smaller, word, words

uniforms = lambda name: word(f"uniforms.{name}")
pairs = [
    (word(f"uniforms.map.axes.{d // 2}.{'xz'[d % 2]}"), word(f"uniforms.map.axes.{d // 2}.{'yw'[d % 2]}"))
    for d in range(8)
]


def prove_all(lemmas):
    grids(lemmas)
    for dims in (0, 1, 3, 8):
        slice_row(lemmas, dims)
    slice_four(lemmas)
    update_row(lemmas)
    gradient(lemmas)
    turn(lemmas)
    crop_place(lemmas)


def grids(lemmas):
    run, segment, tile = uniforms("run"), uniforms("segment"), word("in.tile")
    segments = quotient(run + segment - 1, segment)
    row = quotient(tile, segments)
    first = (tile - row * segments) * segment
    lemmas.prove(
        "segment",
        z3.And(
            word("out.row") == row,
            word("out.first") == first,
            word("out.end") == smaller(first + segment, run),
        ),
        formula="segment",
    )
    x, y, _ = words("in.group", "xyz")
    lemmas.prove(
        "invocation",
        word("out") == (y * (uniforms("grid") & 0xFFFF) + x) * 64 + word("in.local"),
        formula="invocation",
    )


def odometer(row, axes):
    """The digits of a row, outermost first. The outermost digit is what the divisions by the other sizes leave."""
    digits, rest = [], row
    for size in reversed(axes[1:]):
        digits.append(rest - quotient(rest, size) * size)
        rest = quotient(rest, size)
    return [rest, *reversed(digits)]


def place(row, dims):
    digits = odometer(row, [pairs[d][0] for d in range(max(dims, 1))])
    return sum((digit * pairs[d][1] for d, digit in enumerate(digits)), z3.BitVecVal(0, 32))


def slice_row(lemmas, dims):
    goal = z3.And(word("out.base") == place(word("in.row"), dims), word("out.state") == FOUND)
    lemmas.prove(f"the row of a slice of {dims} dimensions", goal, formula=f"slice_row_{dims}")


def slice_four(lemmas):
    row = word("in.row")
    even = uniforms("map.even") != 0
    goals = []
    for n, name in enumerate("abcd"):
        near = place(row, 2) + n * pairs[1][1]
        goals.append(word(f"out.{name}.base") == z3.If(even, near, place(row + n, 2)))
        goals.append(word(f"out.{name}.state") == FOUND)
    lemmas.prove("four rows of a slice", z3.And(goals), formula="slice_four")


def update_row(lemmas):
    axes = [words(f"uniforms.map.axes.{d}", "xyz") for d in range(3)]
    digits = odometer(word("in.row"), [axis[0] for axis in axes])
    places = [sum(digit * axis[side] for digit, axis in zip(digits, axes)) for side in (1, 2)]
    goal = z3.And(
        word("out.from_part") == places[0], word("out.to") == places[1], word("out.state") == FOUND
    )
    lemmas.prove("the row of an update", goal, formula="update_row")


def gradient(lemmas):
    row, first = word("in.row"), uniforms("map.first_row")
    axes = [words(f"uniforms.map.axes.{d}", "xyzw") for d in range(3)]
    rest, base, outside = row - first, 0, z3.BoolVal(False)
    for size, stride, between, _ in axes[:2]:
        digit = quotient(rest, between)
        rest = rest - digit * between
        base = base + digit * stride
        outside = z3.Or(outside, z3.UGE(digit, size))
    none = z3.Or(z3.ULT(row, first), axes[2][3] == 0, outside, rest != 0)
    lemmas.prove(
        "the row of a gradient",
        z3.And(
            word("out.to") == row * uniforms("map.row_units"),
            word("out.from_part") == base,
            word("out.state") == z3.If(none, z3.BitVecVal(MISSING, 32), z3.BitVecVal(FOUND, 32)),
        ),
        formula="gradient_row",
    )
    spacing, first_unit, units = (axis[3] for axis in axes)
    distance = word("in.j") - first_unit
    i = z3.If(spacing == 1, distance, quotient(distance, spacing))
    found = z3.And(word("in.start.state") == FOUND, z3.ULT(i, units), i * spacing == distance)
    lemmas.prove(
        "the unit of a gradient",
        z3.And(
            word("out.base")
            == uniforms("source_base") + word("in.start.from_part") + i * uniforms("step"),
            word("out.state") == z3.If(found, z3.BitVecVal(FOUND, 32), z3.BitVecVal(MISSING, 32)),
        ),
        formula="gradient_unit",
    )


def turn(lemmas):
    """One digit of the walk over the rows of a gather with two coordinates. Rows that differ only along dimension 2 have
    the same tuple."""
    before = {name: word(f"in.at.{name}") for name in ("rest", "base", "tuple", "tuple_stride")}
    for d, repeats in ((1, False), (2, True)):
        pair = 2 + d
        lanes = "xy" if pair % 2 == 0 else "zw"
        size, stride = words(f"uniforms.map.axes.{pair // 2}", lanes)
        outer = quotient(before["rest"], size)
        digit = before["rest"] - outer * size
        tuples = [before["tuple"], before["tuple_stride"]]
        if not repeats:
            tuples = [tuples[0] + digit * tuples[1], tuples[1] * size]
        again = z3.Bool("in.at.again")
        lemmas.prove(
            f"digit {d} of the walk of a gather",
            z3.And(
                word("out.at.rest") == outer,
                word("out.at.base") == before["base"] + digit * stride,
                word("out.at.tuple") == tuples[0],
                word("out.at.tuple_stride") == tuples[1],
                z3.Bool("out.at.again") == (z3.Or(again, digit != 0) if repeats else again),
            ),
            formula=f"gather_turn_{d}",
        )


def crop_place(lemmas):
    """Where a row of a crop begins, with two cropped dimensions, a kept one, items and flips."""
    axes = [words(f"uniforms.map.axes.{d}", "xyzw") for d in range(3)]
    row = word("in.row") + uniforms("map.first_row")
    kept, stride = axes[2][0], axes[2][1]
    outer = quotient(row, kept)
    digit = row - outer * kept
    positions = axes[0][0] * axes[1][0]
    box = quotient(outer, positions)
    lemmas.prove(
        "the place of a row in its box",
        z3.And(
            word("out.box") == box,
            word("out.position") == outer - box * positions,
            word("out.base") == digit * stride,
            z3.Bool("out.is_first") == (digit == 0),
            word("out.tuple") == uniforms("map.index_base") + box * (1 + 2 * 2),
        ),
        formula="crop_place",
    )
