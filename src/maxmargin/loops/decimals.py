"""Decimal numbers in text, read to the nearest double as Python's ``float`` reads them.

Clinger, "How to read floating point numbers accurately", 1990, for numbers of few digits; Lemire, "Number parsing at a
gigabyte per second", 2021, for the others of up to 19 digits. Mushtak and Lemire, "Fast number parsing without
fallback", 2023, prove that the second way never needs more than two products.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.loops.jit import inlined

# Outcomes of reading a number. LATE: valid, but to be read by Python (many digits, subnormal or too large).
READ, LATE, BAD = 0, 1, 2

ONE, TEN, NINE = np.uint64(1), np.uint64(10), np.uint64(9)
PLUS, MINUS, POINT, SMALL_E, LARGE_E = (np.uint8(ord(sign)) for sign in "+-.eE")
FIRST_DIGIT = np.uint64(ord("0"))
MOST_DIGITS = np.uint64(19)  # any 19 digits fit 64 bits
EXACT_INTEGERS = np.uint64(2**53)
TENS = 10.0 ** np.arange(23)  # the powers of ten that a double represents exactly
LARGEST_TEN = 22
# Larger exponents are not distinguished: Python reads such numbers.
FAR = 10_000_000

LOWEST_FIVE, LARGEST_FIVE = -342, 308
EXACT_QUOTIENTS = -27  # larger powers of five than 5^27 divide no 64-bit integer
FRACTION_BITS, FRACTION = np.uint64(52), np.uint64(2**52 - 1)
HIDDEN_BIT, CARRIED = np.uint64(2**52), np.uint64(2**53)
# The bits of the first product that lie below the 53 of the double, its rounding bit and the product's spare one.
SPARE_BITS = np.uint64(2**9 - 1)
SPARE, TOP = np.uint64(9), np.uint64(63)
LARGEST_EXPONENT = 2047


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """Return the leading 128 bits of 5^e as two words.

    Where a quotient by the power can be exact, its reciprocal is rounded up: otherwise the product would be too small
    and be rounded in the wrong direction.
    """
    words = []
    for exponent in range(LOWEST_FIVE, LARGEST_FIVE + 1):
        power = 5 ** abs(exponent)
        length = power.bit_length()
        if exponent >= 0:
            bits = power << 128 - length if length <= 128 else power >> length - 128
        else:
            bits = (1 << 127 + length) // power + (exponent >= EXACT_QUOTIENTS)
        words.append((bits >> 64, bits & (2**64 - 1)))
    table = np.array(words, dtype=np.uint64)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])


FIVES, FIVES_REST = _powers_of_five()


@intrinsic
def _leading_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def _high_product(typing_context: Any, left: Any, right: Any) -> Any:
    """The upper word of a product of two words: one instruction, for which numba has no function."""

    def generate(context, builder, signature, arguments):
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _double_of_bits(typing_context: Any, word: Any) -> Any:
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@inlined
def nearest_double(mantissa, exponent):
    """The double nearest to mantissa 10^exponent, 0 < mantissa < 10^19, and whether it was found."""
    if exponent < LOWEST_FIVE:
        # Less than half of the smallest double, 10^-324 at most.
        return 0.0, True
    if exponent > LARGEST_FIVE:
        return 0.0, False
    zeros = np.uint64(_leading_zeros(mantissa))  # type: ignore[call-arg]
    scaled = mantissa << zeros
    five = FIVES[exponent - LOWEST_FIVE]
    high, low = _high_product(scaled, five), scaled * five
    if high & SPARE_BITS == SPARE_BITS:
        # The second word of the power may carry into the bits that are kept.
        more = _high_product(scaled, FIVES_REST[exponent - LOWEST_FIVE])
        low += more
        if low < more:
            high += ONE
    top = high >> TOP
    shift = top + SPARE
    bits = high >> shift
    # floor(exponent log2(5)) + exponent, the power of two of 10^exponent, by a fraction that is exact in this range.
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023
    if binary <= 0:
        return 0.0, False
    # Exactly between two doubles: round to even. This occurs for small powers only.
    if low <= ONE and -4 <= exponent <= 23 and bits & np.uint64(3) == ONE and bits << shift == high:
        bits -= ONE
    bits = (bits + (bits & ONE)) >> ONE
    if bits >= CARRIED:
        bits = HIDDEN_BIT
        binary += 1
    if binary >= LARGEST_EXPONENT:
        return 0.0, False
    return _double_of_bits((np.uint64(binary) << FRACTION_BITS) | (bits & FRACTION)), True


@inlined
def read_number(text, at):
    """Read the number at a position; returns the number, the position after it, and READ, LATE or BAD.

    The last byte of the text must not be part of a number.
    """
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    mantissa = np.uint64(0)
    first = at
    digit = np.uint64(text[at]) - FIRST_DIGIT
    while digit <= NINE:
        mantissa = mantissa * TEN + digit
        at += ONE
        digit = np.uint64(text[at]) - FIRST_DIGIT
    n_digits = at - first
    exponent = np.int64(0)
    if text[at] == POINT:
        at += ONE
        first = at
        digit = np.uint64(text[at]) - FIRST_DIGIT
        while digit <= NINE:
            mantissa = mantissa * TEN + digit
            at += ONE
            digit = np.uint64(text[at]) - FIRST_DIGIT
        n_digits += at - first
        exponent = -np.int64(at - first)
    if n_digits < ONE:
        return 0.0, at, BAD
    if text[at] == SMALL_E or text[at] == LARGE_E:
        at += ONE
        downwards = text[at] == MINUS
        if downwards or text[at] == PLUS:
            at += ONE
        first = at
        written = np.int64(0)
        digit = np.uint64(text[at]) - FIRST_DIGIT
        while digit <= NINE:
            if written < FAR:
                written = written * 10 + np.int64(digit)
            at += ONE
            digit = np.uint64(text[at]) - FIRST_DIGIT
        if at == first:
            return 0.0, at, BAD
        exponent += -written if downwards else written
    if n_digits > MOST_DIGITS:
        return 0.0, at, LATE
    if mantissa <= EXACT_INTEGERS and -LARGEST_TEN <= exponent <= LARGEST_TEN:
        value = np.float64(mantissa)
        value = value / TENS[-exponent] if exponent < 0 else value * TENS[exponent]
    elif mantissa < ONE:
        value = np.float64(0.0)
    else:
        value, found = nearest_double(mantissa, exponent)
        if not found:
            return 0.0, at, LATE
    return (-value if negative else value), at, READ
