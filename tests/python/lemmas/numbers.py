"""Lemmas on the arithmetic of scatters and conversions: f16 and bf16 by integer operations, and numbers that share a
word or take two words."""

import operator

import z3

from lemmas.core import first, memory, second, word, words

HALF, BRAIN, SINGLE = z3.Float16(), z3.FPSort(8, 8), z3.Float32()
nearest = z3.RNE()


def prove_all(lemmas):
    halves(lemmas)
    brains(lemmas)
    saturated(lemmas)
    integers(lemmas)
    extremes(lemmas)
    reports(lemmas)


def bits(number):
    return z3.fpToIEEEBV(number)


def halves(lemmas):
    single_bits, out = word("in.single"), word("out")
    number = z3.fpBVToFP(single_bits, SINGLE)
    rounded = bits(z3.fpFPToFP(nearest, number, HALF))
    # Every NaN becomes the same NaN, except for its sign.
    quiet_nan = z3.Concat(z3.Extract(31, 31, single_bits), z3.BitVecVal(0x7E00, 15))
    expected = z3.If(z3.fpIsNaN(number), quiet_nan, rounded)
    lemmas.prove(
        "an f16 is the nearest to an f32",
        out == z3.ZeroExt(16, expected),
        formula="combine_parts f16_of_f32 RULE=3",
    )

    half_bits = z3.Extract(15, 0, word("in.half"))
    converted = bits(z3.fpUnsignedToFP(nearest, first, SINGLE))
    factors = (z3.fpBVToFP(term, SINGLE) for term in (first, second))
    multiplied = bits(z3.fpMul(nearest, *factors))
    facts = [
        z3.substitute_funs(fact, (memory("f32.of"), converted), (memory("f32.mul", 2), multiplied))
        for fact in lemmas.formula("combine_parts f32_of_f16 RULE=3")
    ]
    number = z3.fpBVToFP(half_bits, HALF)
    lemmas.check(
        "an f32 holds every f16",
        [*facts, z3.ULT(word("in.half"), 1 << 16), z3.Not(z3.fpIsNaN(number))],
        out == bits(z3.fpFPToFP(nearest, number, SINGLE)),
    )
    lemmas.check(
        "a NaN stays one",
        [*facts, z3.ULT(word("in.half"), 1 << 16), z3.fpIsNaN(number)],
        z3.fpIsNaN(z3.fpBVToFP(out, SINGLE)),
    )
    number, shift = word("in.bits"), word("in.count")
    quotient = z3.LShR(number, shift)
    remainder, half_divisor = number - (quotient << shift), z3.BitVecVal(1, 32) << (shift - 1)
    rounds_up = z3.Or(z3.UGT(remainder, half_divisor), z3.And(remainder == half_divisor, quotient & 1 == 1))
    lemmas.prove(
        "a quotient rounded to the nearest, ties to even",
        out == quotient + z3.If(rounds_up, z3.BitVecVal(1, 32), z3.BitVecVal(0, 32)),
        given=[z3.ULE(1, shift), z3.ULE(shift, 24), z3.ULT(number, 1 << 31)],
        formula="combine_parts rounded RULE=3",
    )


def brains(lemmas):
    single_bits, out = word("in.single"), word("out")
    number = z3.fpBVToFP(single_bits, SINGLE)
    quiet_nan = z3.Concat(z3.Extract(31, 31, single_bits), z3.BitVecVal(0x7FC0, 15))
    expected = z3.If(z3.fpIsNaN(number), quiet_nan, bits(z3.fpFPToFP(nearest, number, BRAIN)))
    lemmas.prove(
        "a bf16 is the nearest to an f32",
        out == z3.ZeroExt(16, expected),
        formula="convert bf16_of_f32",
    )
    a, b, out = word("in.a"), word("in.b"), word("out")
    total = memory("f32.add", 2)(a << 16, b << 16)
    number = z3.fpBVToFP(total, SINGLE)
    quiet_nan = z3.Concat(z3.Extract(31, 31, total), z3.BitVecVal(0x7FC0, 15))
    rounded = bits(z3.fpFPToFP(nearest, number, BRAIN))
    expected = z3.If(z3.fpIsNaN(number), quiet_nan, rounded)
    lemmas.prove(
        "the sum of two bf16 is the nearest to that of f32s",
        out == z3.ZeroExt(16, expected),
        formula="combine_parts add_bf16 RULE=4",
    )


def saturated(lemmas):
    single_bits, highest, negated_lowest, out = (word(name) for name in ("in.single", "in.most", "in.least", "out"))
    number = z3.fpBVToFP(single_bits, SINGLE)
    is_large = z3.fpGEQ(z3.fpAbs(number), z3.FPVal(65536, SINGLE))
    magnitude = z3.fpToUBV(nearest, z3.fpAbs(number), z3.BitVecSort(32))
    magnitude = z3.If(z3.fpIsNaN(number), z3.BitVecVal(0, 32), z3.If(is_large, z3.BitVecVal(65536, 32), magnitude))
    positive_result = z3.If(z3.ULT(magnitude, highest), magnitude, highest)
    negated_result = z3.If(z3.ULT(magnitude, negated_lowest), magnitude, negated_lowest)
    lemmas.prove(
        "an integer is the nearest to an f32, or the last of its type",
        out == z3.If(z3.Extract(31, 31, single_bits) == 1, -negated_result, positive_result),
        given=[z3.ULE(highest, 65535), z3.ULE(negated_lowest, 32768)],
        formula="convert integer_of_f32",
    )


def integers(lemmas):
    a, b, out = word("in.a"), word("in.b"), word("out")
    for part_bits in (8, 16):
        part_sums = [
            z3.Extract(first_bit + part_bits - 1, first_bit, out)
            == z3.Extract(first_bit + part_bits - 1, first_bit, a) + z3.Extract(first_bit + part_bits - 1, first_bit, b)
            for first_bit in range(0, 32, part_bits)
        ]
        formula = f"combine_parts combined_parts ELEMENT={part_bits // 8}"
        lemmas.prove(f"sums of {part_bits} bits in a word", z3.And(part_sums), formula=formula)
    for combine_number, (name, combine) in enumerate([("sums", operator.add), ("differences", operator.sub)]):
        a, b, out = (words(part, "xyzw") for part in ("in.a", "in.b", "out"))
        goals = []
        for low, high in ((0, 1), (2, 3)):
            x, y, z = (z3.Concat(vector[high], vector[low]) for vector in (a, b, out))
            goals.append(z == combine(x, y))
        formula = f"combine combined COMBINE={combine_number} NUMBERS=3"
        lemmas.prove(f"{name} of 64 bits", z3.And(goals), formula=formula)


def extremes(lemmas):
    a, b, out = (words(part, "xyzw") for part in ("in.a", "in.b", "out"))
    goals = [z == z3.If(y < x, y, x) for x, y, z in zip(a, b, out)]
    formula = "combine combined COMBINE=3 NUMBERS=1"
    lemmas.prove("the smaller of two signed numbers", z3.And(goals), formula=formula)
    goals = []
    for x, y, z in zip(a, b, out):
        is_larger = z3.fpGT(z3.fpBVToFP(y, SINGLE), z3.fpBVToFP(x, SINGLE))
        goals.append(z == z3.If(is_larger, y, x))
    formula = "combine combined COMBINE=4 NUMBERS=2"
    lemmas.prove("the larger of two floats, or the first", z3.And(goals), formula=formula)


def reports(lemmas):
    """Proves that the maximum of the complements of numbers belongs to the smallest number."""
    a, b = z3.BitVecs("a b", 32)
    lemmas.check("the first tuple has the largest complement", [], z3.ULT(a, b) == z3.UGT(~a, ~b))
