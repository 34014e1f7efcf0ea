"""Lemmas on quotients: digits of rows, tiles and grids. They are about integers of any size, because solvers are too
slow at divisions of words by unknown words. They are about the algorithm and not about the source of the shaders,
because `locate` and the entry points have loops."""

import z3


def prove_all(lemmas):
    digits(lemmas)
    segments(lemmas)
    grids(lemmas)
    offsets(lemmas)


def divided(number, divisor):
    """Returns a variable for the quotient, and the facts that define it."""
    quotient = z3.FreshInt("quotient")
    rest = number - quotient * divisor
    return quotient, [rest >= 0, rest < divisor]


def digits(lemmas):
    """Proves that the digits of a row's number are less than their sizes, that they give back the number, and that no
    other digits do. The number of the row is less than the product of the sizes."""
    row, outer, middle, inner = z3.Ints("row outer middle inner")
    sizes = [outer > 0, middle > 0, inner > 0]
    rest, rest_facts = divided(row, inner)
    top, top_facts = divided(rest, middle)
    last, middle_digit = row - rest * inner, rest - top * middle
    given = [*sizes, *rest_facts, *top_facts, row >= 0, row < outer * middle * inner]
    lemmas.check("the innermost digit is in its size", given, z3.And(0 <= last, last < inner))
    lemmas.check("the middle digit is in its size", given, z3.And(0 <= middle_digit, middle_digit < middle))
    lemmas.check("digits give back the row", given, (top * middle + middle_digit) * inner + last == row)
    # For more dimensions, the digits follow one step at a time: if a number is less than a product, its quotient by one
    # factor is less than the other factor.
    lemmas.check(
        "a quotient is less than the other sizes",
        [inner > 0, outer > 0, row >= 0, row < outer * inner, *rest_facts],
        z3.And(0 <= rest, rest < outer),
    )
    digit, other = z3.Ints("digit other")
    lemmas.check(
        "a row has one innermost digit",
        [inner > 0, *rest_facts, other * inner + digit == row, 0 <= digit, digit < inner],
        z3.And(digit == last, other == rest),
    )


def segments(lemmas):
    """Proves that each unit of each row is in exactly one tile. A tile is a segment of a row."""
    run, segment, rows, tile, j = z3.Ints("run segment rows tile j")
    count, count_facts = divided(run + segment - 1, segment)
    row, row_facts = divided(tile, count)
    number = tile - row * count
    first = number * segment
    given = [run > 0, segment > 0, *count_facts]
    lemmas.check("a row has a segment", given, count > 0)
    given += [count > 0]
    lemmas.check(
        "segments cover a row", given, z3.And(count * segment >= run, (count - 1) * segment < run)
    )
    given += [count * segment >= run, (count - 1) * segment < run]
    given += [rows > 0, 0 <= tile, tile < rows * count, *row_facts]
    lemmas.check("the row of a tile exists", given, z3.And(0 <= row, row < rows))
    lemmas.check(
        "a segment begins in its row", [*given, number <= count - 1], z3.And(0 <= first, first < run)
    )
    # Unit j of a row is only in segment number j / segment.
    own, own_facts = divided(j, segment)
    lemmas.check(
        "a unit is in one segment",
        [segment > 0, 0 <= j, *own_facts],
        z3.And(own * segment <= j, j < own * segment + segment),
    )
    lemmas.check(
        "no segment lies behind the last",
        [*given, 0 <= j, j < run, *own_facts],
        z3.And(0 <= own, own < count),
    )


def grids(lemmas):
    """Proves that a grid is within the limit, covers all groups, and has fewer idle groups than its height."""
    groups, limit = z3.Ints("groups limit")
    height, height_facts = divided(groups + limit - 1, limit)
    width, width_facts = divided(groups + height - 1, height)
    given = [groups > 0, 0 < limit, limit <= 0xFFFF, *height_facts]
    lemmas.check("a grid has a row", given, height > 0)
    given += [height > 0, height <= limit, *width_facts]
    lemmas.check("a grid covers all groups", given, width * height >= groups)
    lemmas.check("a grid has few idle groups", given, width * height < groups + height)
    lemmas.check("a grid is not too wide", [*given, groups <= height * limit], width <= limit)
    lemmas.check("groups fit in limit times height", given[:4] + height_facts, groups <= height * limit)
    x, y = z3.Ints("x y")
    lemmas.check(
        "every group has one number",
        [0 <= x, x < width, 0 <= y, y < height, width > 0],
        z3.And(0 <= y * width + x, y * width + x < width * height),
    )


def offsets(lemmas):
    """Proves that a digit times its stride is between 0 and the largest digit times the stride, whatever the sign of
    the stride, and that offsets in a binding are exact if they are computed modulo 2^32."""
    digit, last, stride = z3.Ints("digit last stride")
    given = [0 <= digit, digit <= last]
    reached = last * stride
    lemmas.check(
        "an offset lies between its ends",
        given,
        z3.And(
            z3.If(reached < 0, reached, 0) <= digit * stride,
            digit * stride <= z3.If(reached > 0, reached, 0),
        ),
    )
    a, b = z3.Ints("a b")
    modulus = 1 << 32
    lemmas.check(
        "what lies in a binding is right modulo 2^32",
        [0 <= a, a < modulus, 0 <= b, b < modulus, (a - b) % modulus == 0],
        a == b,
    )
