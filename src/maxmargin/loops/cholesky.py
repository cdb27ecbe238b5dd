"""Gram matrices of a few dozen columns, and Cholesky's factorisation, inside of compiled runs.

Calls of BLAS and LAPACK from Python take longer than such products themselves.
"""

import math

from maxmargin.loops.jit import inlined, summing

# The smallest pivot of a factorisation, relative to its diagonal entry.
SMALLEST_PIVOT = 1e-14


@summing
def inner(first, second, size):
    """The inner product of the first entries of two vectors."""
    total = 0.0
    for k in range(size):
        total += first[k] * second[k]
    return total


@summing
def fill_gram(rows, weights, gram):
    """Compute the lower triangle of sum_i weights_i x_i x_i^T.

    Four rows and two lines of the matrix at a time: every entry that is loaded is used several times.
    """
    n_rows, size = rows.shape
    for i in range(size):
        for j in range(size):
            gram[i, j] = 0.0
    first = 0
    while first + 4 <= n_rows:
        a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        wa, wb, wc, wd = weights[first], weights[first + 1], weights[first + 2], weights[first + 3]
        for i in range(0, size - 1, 2):
            p, q, r, s = wa * a[i], wb * b[i], wc * c[i], wd * d[i]
            t, u, v, w = wa * a[i + 1], wb * b[i + 1], wc * c[i + 1], wd * d[i + 1]
            line, next_line = gram[i], gram[i + 1]
            for j in range(i + 2):
                line[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j]
                next_line[j] += t * a[j] + u * b[j] + v * c[j] + w * d[j]
        if size % 2 == 1:
            i = size - 1
            p, q, r, s = wa * a[i], wb * b[i], wc * c[i], wd * d[i]
            line = gram[i]
            for j in range(size):
                line[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j]
        first += 4
    for k in range(first, n_rows):
        row = rows[k]
        for i in range(size):
            factor, line = weights[k] * row[i], gram[i]
            for j in range(i + 1):
                line[j] += factor * row[j]


@inlined
def factorise(matrix):
    """Replace the lower triangle by Cholesky's factor; return whether the matrix is positive definite."""
    for i in range(matrix.shape[0]):
        line = matrix[i]
        diagonal = line[i]
        for j in range(i):
            other = matrix[j]
            line[j] = (line[j] - inner(line, other, j)) / other[j]
        pivot = diagonal - inner(line, line, i)
        if not pivot > SMALLEST_PIVOT * diagonal:
            return False
        line[i] = math.sqrt(pivot)
    return True


@inlined
def solve_factorised(factor, vector):
    """Replace the vector by the solution of the system whose factor is given."""
    size = vector.size
    for i in range(size):
        vector[i] = (vector[i] - inner(factor[i], vector, i)) / factor[i, i]
    for i in range(size - 1, -1, -1):
        vector[i] /= factor[i, i]
        for k in range(i):
            vector[k] -= factor[i, k] * vector[i]
