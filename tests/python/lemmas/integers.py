"""Lemmas on quotients: digits of row numbers, tiles and grids. They are about integers of any size, because solvers are
too slow at divisions of words by unknown words. They are about the algorithm and not about the source of the shaders,
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
    remainder = number - quotient * divisor
    return quotient, [remainder >= 0, remainder < divisor]


def digits(lemmas):
    """Proves that each digit of a row's number is less than its size, that the digits determine the number, and that no
    other digits determine it. The row's number is less than the product of the sizes."""
    row, outer, middle, inner = z3.Ints("row outer middle inner")
    sizes = [outer > 0, middle > 0, inner > 0]
    row_quotient, row_quotient_facts = divided(row, inner)
    outer_digit, outer_digit_facts = divided(row_quotient, middle)
    inner_digit, middle_digit = row - row_quotient * inner, row_quotient - outer_digit * middle
    given = [*sizes, *row_quotient_facts, *outer_digit_facts, row >= 0, row < outer * middle * inner]
    lemmas.check("the innermost digit is less than its size", given, z3.And(0 <= inner_digit, inner_digit < inner))
    lemmas.check("the middle digit is less than its size", given, z3.And(0 <= middle_digit, middle_digit < middle))
    lemmas.check(
        "the digits determine the row", given, (outer_digit * middle + middle_digit) * inner + inner_digit == row
    )
    # For more dimensions, this is repeated: if a number is less than a product, its quotient by one factor is less than
    # the other factor.
    lemmas.check(
        "the quotient by one size is less than the other size",
        [inner > 0, outer > 0, row >= 0, row < outer * inner, *row_quotient_facts],
        z3.And(0 <= row_quotient, row_quotient < outer),
    )
    digit, other_quotient = z3.Ints("digit other")
    lemmas.check(
        "a row has one innermost digit",
        [inner > 0, *row_quotient_facts, other_quotient * inner + digit == row, 0 <= digit, digit < inner],
        z3.And(digit == inner_digit, other_quotient == row_quotient),
    )


def segments(lemmas):
    """Proves that each unit of each row is in exactly one tile. A tile is one segment of one row."""
    run_length, segment_length, row_count, tile, unit = z3.Ints("run segment rows tile j")
    segment_count, segment_count_facts = divided(run_length + segment_length - 1, segment_length)
    row, row_facts = divided(tile, segment_count)
    segment_number = tile - row * segment_count
    first_unit = segment_number * segment_length
    given = [run_length > 0, segment_length > 0, *segment_count_facts]
    lemmas.check("a row has a segment", given, segment_count > 0)
    given += [segment_count > 0]
    lemmas.check(
        "segments cover a row",
        given,
        z3.And(segment_count * segment_length >= run_length, (segment_count - 1) * segment_length < run_length),
    )
    given += [segment_count * segment_length >= run_length, (segment_count - 1) * segment_length < run_length]
    given += [row_count > 0, 0 <= tile, tile < row_count * segment_count, *row_facts]
    lemmas.check("the row of a tile exists", given, z3.And(0 <= row, row < row_count))
    lemmas.check(
        "a segment begins in its row",
        [*given, segment_number <= segment_count - 1],
        z3.And(0 <= first_unit, first_unit < run_length),
    )
    # A unit of a row is only in segment number `unit / segment_length`.
    unit_segment, unit_segment_facts = divided(unit, segment_length)
    lemmas.check(
        "a unit is in one segment",
        [segment_length > 0, 0 <= unit, *unit_segment_facts],
        z3.And(unit_segment * segment_length <= unit, unit < unit_segment * segment_length + segment_length),
    )
    lemmas.check(
        "the segment of a unit exists",
        [*given, 0 <= unit, unit < run_length, *unit_segment_facts],
        z3.And(0 <= unit_segment, unit_segment < segment_count),
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
    the stride. Proves that offsets in a binding are exact although they are computed modulo 2^32."""
    digit, last, stride = z3.Ints("digit last stride")
    given = [0 <= digit, digit <= last]
    last_offset = last * stride
    lemmas.check(
        "an offset lies between its ends",
        given,
        z3.And(
            z3.If(last_offset < 0, last_offset, 0) <= digit * stride,
            digit * stride <= z3.If(last_offset > 0, last_offset, 0),
        ),
    )
    a, b = z3.Ints("a b")
    modulus = 1 << 32
    lemmas.check(
        "two words that are equal modulo 2^32 are equal",
        [0 <= a, a < modulus, 0 <= b, b < modulus, (a - b) % modulus == 0],
        a == b,
    )
