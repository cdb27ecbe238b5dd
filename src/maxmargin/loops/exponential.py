"""exp(x) for arrays with x <= 0: the last step of the RBF kernel.

x = k ln 2 + z with an integer k and |z| <= ln(2)/2. exp(z) is its Taylor polynomial, whose truncation error is below
the rounding error, and 2^k is written into the bits of the exponent. NumPy's exp of float64 takes about twice as long,
and more on processors without AVX-512.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from maxmargin.loops.jit import inlined, jit

# Below these exp(x) is subnormal. In single precision it is replaced by the smallest normal number, negligible in every
# sum of a training; in double precision by zero: far from all rows a prediction is exactly the intercept.
LOWEST_DOUBLE, LOWEST_SINGLE = -708.0, np.float32(-87.0)
LOG2_E = math.log2(math.e)
# ln 2 in two parts; the first has so few bits that its products with k are exact.
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
SINGLE_LN2_HIGH, SINGLE_LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Adding 1.5 times 2 to the number of fraction bits rounds to an integer, which is then in the lowest bits.
ROUNDER, SINGLE_ROUNDER = 1.5 * 2.0**52, np.float32(1.5 * 2.0**23)
BIAS, SINGLE_BIAS = 1023, np.int32(127)
FRACTION, SINGLE_FRACTION = 52, np.int32(23)
SINGLE_LOG2_E, SINGLE_ZERO, SINGLE_ONE = np.float32(LOG2_E), np.float32(0.0), np.float32(1.0)
A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13 = (1.0 / math.factorial(k) for k in range(2, 14))
# Terms of the series of log(1 + x) below: the rest is less than half a unit in the last place.
LOGARITHM_TERMS = 16
B2, B3, B4, B5, B6, B7 = (np.float32(1.0 / math.factorial(k)) for k in range(2, 8))


def _reinterpreted(source, target, kind):
    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], kind)

    @intrinsic
    def reinterpret(typing_context, value):
        return target(source), generate

    return reinterpret


_bits_of_double = _reinterpreted(types.float64, types.int64, ir.IntType(64))
_double_of_bits = _reinterpreted(types.int64, types.float64, ir.DoubleType())
_bits_of_single = _reinterpreted(types.float32, types.int32, ir.IntType(32))
_single_of_bits = _reinterpreted(types.int32, types.float32, ir.FloatType())


def exponential(x):
    """exp(min(x, 0)) within two units in the last place; rounding may make the exponent of equal points positive."""


# Contraction to fused multiply-add is faster, and rounds once instead of twice.
@overload(exponential, jit_options={"fastmath": {"contract", "nnan"}, "forceinline": True})
def _(x):
    if x == types.float64:
        return _exponential_of_double
    return _exponential_of_single if x == types.float32 else None


def _exponential_of_double(x):
    within = max(min(x, 0.0), LOWEST_DOUBLE)
    shifted = within * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    z = within - k * LN2_HIGH
    z = z - k * LN2_LOW
    total = A13 * z + A12
    total = total * z + A11
    total = total * z + A10
    total = total * z + A9
    total = total * z + A8
    total = total * z + A7
    total = total * z + A6
    total = total * z + A5
    total = total * z + A4
    total = total * z + A3
    total = total * z + A2
    total = total * z + 1.0
    total = total * z + 1.0
    total = total * _double_of_bits((_bits_of_double(shifted) + BIAS) << FRACTION)
    return total if x > LOWEST_DOUBLE else 0.0


def _exponential_of_single(x):
    x = max(min(x, SINGLE_ZERO), LOWEST_SINGLE)
    shifted = x * SINGLE_LOG2_E + SINGLE_ROUNDER
    k = shifted - SINGLE_ROUNDER
    z = x - k * SINGLE_LN2_HIGH
    z = z - k * SINGLE_LN2_LOW
    total = B7 * z + B6
    total = total * z + B5
    total = total * z + B4
    total = total * z + B3
    total = total * z + B2
    total = total * z + SINGLE_ONE
    total = total * z + SINGLE_ONE
    return total * _single_of_bits((_bits_of_single(shifted) + SINGLE_BIAS) << SINGLE_FRACTION)


@inlined
def log_of_one_plus(x):
    """log(1 + x) for 0 <= x <= 1 within some units in the last place: 2 artanh(x / (2 + x)), by its series."""
    quotient = x / (2.0 + x)
    square, total = quotient * quotient, 0.0
    for k in range(LOGARITHM_TERMS, -1, -1):
        total = total * square + 1.0 / (2 * k + 1)
    return 2.0 * quotient * total


@jit
def exponentiate(values, factor, of_rows, of_columns, results):
    """Store exp(min(0, factor v_ij + r_i + c_j)) in float64."""
    for i in range(values.shape[0]):
        row, result, term = values[i], results[i], of_rows[i]
        for j in range(row.size):
            result[j] = exponential(factor * np.float64(row[j]) + term + of_columns[j])


@jit
def store_exponentials(values, terms, slots, first, stored):
    """Store exp(min(0, v_kj + r_k + c_j)) in the row ``slots[k]`` of ``stored``, from the column ``first`` on."""
    of_rows, of_columns = terms
    for k in range(slots.size):
        source, term = values[k], of_rows[k]
        target = stored[slots[k], first : first + source.size]
        for j in range(source.size):
            target[j] = exponential(source[j] + term + of_columns[j])
