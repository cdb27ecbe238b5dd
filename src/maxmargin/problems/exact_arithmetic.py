"""Exact decisions: hull weights that meet and hyperplanes that separate, confirmed without rounding.

Weights of a solver make the hulls meet only up to rounding, and so may those of classes that a tiny margin separates.
Here such weights are completed to exact ones: of the equations

    sum_i c_i y_i (x_i, 1) = 0,   c >= 0,   c != 0

a basis of columns is solved again, with the other weights fixed. Either a bound on all rounding errors shows that the
exact solution stays positive (S. Rump, "Verification methods: rigorous results using floating-point arithmetic", 2010,
section 10), or it is computed in integers, fraction-free (E. Bareiss, "Sylvester's identity and multistep
integer-preserving Gaussian elimination", 1968). Every float64 is an integer times a power of two, and multiplying a row
or a column of X by a power of two changes no sign of a weight.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.linalg import qr, solve_triangular

from maxmargin.data import as_dense
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.exact_numbers import SMALLEST, UNIT
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.hard_margin import HardMarginProblem

# Most entries of the weighted rows: they are made dense.
LARGEST_SYSTEM = 1 << 22
# Most entries of rows that are converted to integers, in about a second.
LARGEST_IN_INTEGERS = 1 << 19
# Most entries, times the number of equations, of a system that is factorised in floats, in about a second.
MOST_PRODUCTS = 2e9
# Most entries of rows that are evaluated in fractions, at about a microsecond each.
LARGEST_EXACT_ROWS = 1 << 17
# Most seconds, estimated, of an elimination in integers.
MOST_SECONDS = 1.0
# Estimated seconds of an integer operation, and of it for each squared 64-bit limb.
SECONDS_PER_OPERATION, SECONDS_PER_LIMB = 2e-7, 2e-9
# Pivots of a QR factorisation below this share of the largest one count as zero.
NUMERICAL_RANK = 1e-10
# Coefficients of dependent equations are multiples of one over this number.
DENOMINATOR = 12.0


def hulls_meet(problem: HardMarginProblem, weights: np.ndarray) -> bool:
    """Whether weights near the given ones are proven to make the two hulls meet exactly.

    Through the origin, the hull of the y_i x_i and the origin. False proves nothing.
    """
    system = _WeightedRows.of(problem, weights)
    if system is None:
        return False
    with one_blas_thread():
        return (problem.numbers is None and system.meets_by_error_bound()) or system.exact_weights() is not None


def meeting_weights(problem: HardMarginProblem, weights: np.ndarray) -> dict[int, int] | None:
    """Positive integers c_i, near multiples of the given weights, with sum c_i y_i (x_i, 1) = 0 exactly.

    Through the origin, without the 1. None where none are found, or that takes too long.
    """
    system = _WeightedRows.of(problem, weights)
    if system is None:
        return None
    with one_blas_thread():
        found = system.exact_weights()
    if found is None:
        return None
    unit = math.lcm(*(value.denominator for value in found.values()))
    whole = {row: int(value * unit) for row, value in found.items()}
    divisor = math.gcd(*whole.values())
    return {row: value // divisor for row, value in whole.items()}


def exact_margins(problem: HardMarginProblem, w: np.ndarray, b: float, rows: np.ndarray) -> list[Fraction] | None:
    """y_i (w·x_i + b) of some rows, exactly; None where that takes too long, or w or b is not finite."""
    if rows.size * problem.dataset.points.n_columns > LARGEST_EXACT_ROWS:
        return None
    if not (np.isfinite(w).all() and math.isfinite(b)):
        return None
    coefficients, intercept = [Fraction(float(entry)) for entry in w], Fraction(float(b))
    used = [j for j, entry in enumerate(coefficients) if entry]
    signs = problem.dataset.signs
    result = []
    for row, values in zip(rows, exact_rows(problem, rows), strict=True):
        check_interruption()
        total = sum((coefficients[j] * values[j] for j in used if values[j]), intercept)
        result.append(total if signs[row] > 0.0 else -total)
    return result


def separating_intercept(problem: HardMarginProblem, w: np.ndarray, b: float) -> float | None:
    """An intercept with which w is proven to separate the classes: b, or the float in the middle; None without one."""
    rows = np.flatnonzero(problem.counted)
    margins = exact_margins(problem, w, 0.0, rows)
    if margins is None:
        return None
    above = problem.dataset.signs[rows] > 0.0
    # A class may have no row that counts.
    lowest = min((margin for margin, side in zip(margins, above, strict=True) if side), default=math.inf)
    highest = max((-margin for margin, side in zip(margins, above, strict=True) if not side), default=-math.inf)
    middle = -(lowest + highest) / 2 if above.any() and not above.all() else b
    for intercept in (b, float(middle)) if problem.fit_intercept else (0.0,):
        if math.isfinite(intercept) and highest < -Fraction(intercept) < lowest:
            return intercept
    return None


def exact_rows(problem: HardMarginProblem, rows: np.ndarray) -> np.ndarray:
    """Some rows as fractions: the user's own numbers, where float64 would round them."""
    if problem.numbers is not None:
        found: np.ndarray = problem.numbers[rows]
        return found
    exact = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)
    return np.asarray(exact(as_dense(problem.dataset.points.matrix[rows])), dtype=object)


def integer_columns(problem: HardMarginProblem, rows: np.ndarray) -> tuple[np.ndarray, list[Fraction]]:
    """The equations in integers, (d + 1) x rows, or d x rows through the origin: column i is y_i (x_i, 1).

    Every equation is multiplied by a positive number of its own, which changes no solution; these are returned, too.
    """
    signs = problem.dataset.signs[rows]
    if problem.numbers is not None:
        numbers = problem.numbers[rows].T
        scales = [Fraction(math.lcm(*(value.denominator for value in line))) for line in numbers]
        columns = np.empty(numbers.shape, dtype=object)
        for j, scale in enumerate(scales):
            columns[j] = [int(value * scale) for value in numbers[j]]
    else:
        columns, scales = _as_integers(as_dense(problem.dataset.points.matrix[rows]).T)
    if problem.fit_intercept:
        columns = np.vstack([columns, np.full((1, rows.size), 1, dtype=object)])
        scales.append(Fraction(1))
    return np.asarray(columns * np.where(signs > 0.0, 1, -1).astype(object), dtype=object), scales


class _WeightedRows:
    """The rows of positive weight, and their weights."""

    def __init__(self, problem: HardMarginProblem, rows: np.ndarray, weights: np.ndarray) -> None:
        self.problem, self.rows, self.weights = problem, rows, weights

    @classmethod
    def of(cls, problem: HardMarginProblem, weights: np.ndarray) -> "_WeightedRows | None":
        rows = np.flatnonzero((weights > 0.0) & (problem.counted > 0.0) & np.isfinite(weights))
        entries = rows.size * (problem.dataset.points.n_columns + 1)
        if not 0 < entries <= LARGEST_SYSTEM:
            return None
        return cls(problem, rows, weights[rows])

    def meets_by_error_bound(self) -> bool:
        """Whether the exact solution of a basis stays positive, with all rounding errors bounded."""
        columns = self._centred()
        if columns.size * min(columns.shape) > MOST_PRODUCTS:
            return False
        matrix, weights = self._scaled(columns)
        if np.count_nonzero(np.abs(matrix) >= 2.0**-1000) < np.count_nonzero(columns):
            # Scaling by powers of two has rounded entries that underflow.
            return False
        equations = _independent_equations(columns)
        if equations is None:
            return False
        if not equations.size:
            return not columns.any()
        matrix, m = matrix[equations], equations.size
        triangle, order = qr(matrix, mode="r", pivoting=True, check_finite=False)
        basis = order[: _rank(triangle, NUMERICAL_RANK)]
        if basis.size < m:
            return False
        square = matrix[:, basis]
        try:
            inverse = np.linalg.inv(square)
        except np.linalg.LinAlgError:
            return False
        # The change of the weights solves square·change = -residual, and ||inverse·square - 1|| is at most ``defect``.
        terms = matrix.shape[1] + m + 8
        gamma = 2.0 * terms * UNIT
        residual = np.abs(matrix @ weights) + gamma * (np.abs(matrix) @ weights) + terms * SMALLEST
        products = np.abs(inverse) @ np.abs(square)
        defect = np.abs(inverse @ square - np.eye(m)) + gamma * (products + 1.0) + terms * SMALLEST
        change = float((np.abs(inverse) @ residual).max()) * (1.0 + gamma) + terms * SMALLEST
        is_regular: bool = float(defect.sum(axis=1).max()) * (1.0 + gamma) < 0.5
        are_positive: bool = 4.0 * change < float(weights[basis].min())
        return is_regular and are_positive

    def exact_weights(self) -> dict[int, Fraction] | None:
        """The weights with a basis solved in integers; None where one is negative, or that takes too long."""
        if self.rows.size * (self.problem.dataset.points.n_columns + 1) > LARGEST_IN_INTEGERS:
            return None
        columns = integer_columns(self.problem, self.rows)[0]
        columns = columns[np.array([any(line) for line in columns], dtype=bool)]
        if not columns.shape[0]:
            # All entries are zero, and there is no intercept.
            return {int(self.rows[0]): Fraction(1)}
        fixed = _as_integers(self.weights[None, :])[0][0]
        centred = self._columns()
        if self.problem.fit_intercept:
            centred[:-1] -= centred[:-1, :1]
        triangle, order = qr(self._scaled(centred)[0], mode="r", pivoting=True, check_finite=False)
        # First a basis of columns that are clearly independent, then also of nearly dependent ones.
        weights = None
        for rank in sorted({_rank(triangle, NUMERICAL_RANK), _rank(triangle, 0.0)}):
            if weights is None:
                weights = self._complete(columns, fixed, np.sort(order[:rank]))
        return weights

    def _complete(self, columns: np.ndarray, fixed: np.ndarray, basis: np.ndarray) -> dict[int, Fraction] | None:
        """The weights of a basis from those of the other rows."""
        free = np.setdiff1d(np.arange(self.rows.size), basis)
        right = -(columns[:, free] @ fixed[free]) if free.size else np.full(columns.shape[0], 0, dtype=object)
        found = _solve_in_integers(columns[:, basis], right, fixed[basis])
        if found is None:
            return None
        values, divisor = found
        weights = {int(self.rows[i]): Fraction(value, divisor) for i, value in zip(basis, values, strict=True)}
        weights |= {int(self.rows[i]): Fraction(fixed[i]) for i in free}
        if any(value < 0 for value in weights.values()):
            return None
        total = sum(weights.values())
        return {row: value / total for row, value in weights.items() if value} if total else None

    def _columns(self) -> np.ndarray:
        """The columns (x_i, 1), or x_i through the origin."""
        rows = as_dense(self.problem.dataset.points.matrix[self.rows]).astype(np.float64).T
        return np.vstack([rows, np.ones(self.rows.size)]) if self.problem.fit_intercept else rows

    def _centred(self) -> np.ndarray:
        """The columns (x_i - x_0, 1) with x_0 the first row, or (x_i, 1) where these differences are rounded.

        Far from the origin the equations look dependent. Centred, they are their own sums with multiples of the last.
        """
        columns = self._columns()
        if not self.problem.fit_intercept:
            return columns
        rows, place = columns[:-1], columns[:-1, :1]
        moved = rows - place
        # The rounding error of the difference, computed exactly (Knuth).
        part = moved - rows
        if np.any((rows - (moved - part)) - (place + part)):
            return columns
        return np.vstack([moved, columns[-1:]])

    def _scaled(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns times y_i 2^k_i, with equations scaled by powers of two, and the weights c_i 2^-k_i, about one."""
        shares = self.weights / self.weights.max()
        powers = np.rint(np.log2(shares)).astype(int)
        sizes = np.frexp(np.abs(columns).max(axis=1))[1]
        scaled = np.ldexp(columns, powers[None, :] - sizes[:, None]) * self.problem.dataset.signs[self.rows]
        return scaled, np.ldexp(shares, -powers)


def _rank(triangle: np.ndarray, share: float) -> int:
    pivots = np.abs(np.diagonal(triangle))
    return int(np.count_nonzero(pivots > share * pivots.max(initial=0.0)))


def _independent_equations(columns: np.ndarray) -> np.ndarray | None:
    """Equations of which all others are exact sums, with small fractions as coefficients; None where none are found.

    Columns that indicate the values of a category sum to one: each is such a sum of the others and the intercept.
    """
    sizes = np.ldexp(1.0, np.frexp(np.abs(columns).max(axis=1))[1])
    triangle, order = qr((columns / sizes[:, None]).T, mode="r", pivoting=True, check_finite=False)
    rank = _rank(triangle, NUMERICAL_RANK)
    kept, others = order[:rank], order[rank:]
    if not others.size or not rank:
        return np.sort(kept)
    factors = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:]) * sizes[others] / sizes[kept][:, None]
    factors = np.rint(DENOMINATOR * factors)
    used = factors.any(axis=1)
    factors, sums = factors[used], columns[kept[used]]
    # Products and sums of integers below 2^53 are exact.
    largest = np.abs(factors).sum(axis=0).max(initial=0.0) * np.abs(sums).max(initial=0.0)
    integers = all(np.array_equal(lines, np.rint(lines)) for lines in (sums, columns[others]))
    whole = integers and largest < 2.0**53 and sizes[others].max() < 2.0**48
    exact = whole and np.array_equal(factors.T @ sums, DENOMINATOR * columns[others])
    return np.sort(kept) if exact else None


def _solve_in_integers(matrix: np.ndarray, right: np.ndarray, fixed: np.ndarray) -> tuple[list[int], int] | None:
    """Solve matrix·x = right in integers: numerators and a positive denominator; None where there is no solution.

    Unknowns that the equations leave open keep their value in ``fixed``.
    """
    m, r = matrix.shape
    if _estimated_seconds(matrix, right, r) > MOST_SECONDS:
        return None
    work = np.column_stack([matrix, right]).astype(object)
    last, pivot_rows, left = 1, [], list(range(m))
    open_unknowns = []
    for k in range(r):
        check_interruption()
        pivot = min((i for i in left if work[i, k]), key=lambda i: abs(work[i, k]), default=None)
        if pivot is None:
            open_unknowns.append(k)
            work[:, -1] -= work[:, k] * fixed[k]
            continue
        left.remove(pivot)
        others = np.array([i for i in range(m) if i != pivot], dtype=int)
        if others.size:
            factors = work[others, k][:, None]
            work[others, k + 1 :] = (work[others, k + 1 :] * work[pivot, k] - factors * work[pivot, k + 1 :]) // last
        last = work[pivot, k]
        pivot_rows.append((k, pivot))
    if any(work[i, -1] for i in left):
        return None
    values = [int(entry) * int(last) for entry in fixed]
    for k, pivot in pivot_rows:
        values[k] = int(work[pivot, -1])
    return (values, int(last)) if last > 0 else ([-value for value in values], -int(last))


def _estimated_seconds(matrix: np.ndarray, right: np.ndarray, rank: int) -> float:
    bits = max((abs(int(entry)).bit_length() for entry in matrix.flat), default=1)
    of_right = max((abs(int(entry)).bit_length() for entry in right), default=1)
    limbs = 1.0 + (rank * (bits + 0.5 * math.log2(rank + 1)) + of_right) / 64.0
    value: float = 0.5 * matrix.shape[0] * rank**2 * (SECONDS_PER_OPERATION + SECONDS_PER_LIMB * limbs**1.6)
    return value


def _as_integers(lines: np.ndarray) -> tuple[np.ndarray, list[Fraction]]:
    """Floats as integers, each line multiplied by a power of two of its own; and these powers."""
    mantissas, exponents = np.frexp(lines.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    # The powers of two in the mantissas: integers stay small.
    zeros = np.where(whole == 0, 0, np.frexp((whole & -whole).astype(np.float64))[1] - 1)
    whole >>= zeros
    exponents = exponents + zeros
    result, scales = np.empty(lines.shape, dtype=object), []
    for k, (values, powers) in enumerate(zip(whole.tolist(), (exponents - 53).tolist(), strict=True)):
        least = min((power for value, power in zip(values, powers, strict=True) if value), default=0)
        result[k] = [value << (power - least) if value else 0 for value, power in zip(values, powers, strict=True)]
        scales.append(Fraction(2) ** -least)
    return result, scales
