"""Nearly exact products against fractions, and gaps that the cheap rounding bounds would hide."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris

import maxmargin as mm
from maxmargin.certificates.accurate_expansion import accurate_expansion
from maxmargin.certificates.accurate_products import accurate_combination, accurate_scores
from maxmargin.certificates.rounding import gamma
from maxmargin.data import Points
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis
from maxmargin.problems.linear_svm import hinge


def hostile(seed):
    """Rows of very unequal entries, some beyond the range of squares, with coefficients and duals."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 40), rng.integers(1, 9)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-8, 9, d) * 10.0 ** rng.integers(-3, 4, (n, 1))
    X[rng.random((n, d)) < 0.3] = 0.0
    X *= [1.0, 1.0, 1e-305, 1e280][seed % 4]
    w, c = (
        rng.standard_normal(d) * 10.0 ** rng.integers(-9, 9, d),
        rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n),
    )
    c[rng.random(n) < 0.3] = 0.0
    small = 1e-300 if seed % 3 == 0 else 1.0
    return X.astype(np.float32).astype(np.float64) if seed % 4 < 2 and seed % 5 == 0 else X, w * small, c * small


@pytest.mark.parametrize("seed", range(40))
def test_products_are_within_their_error_bounds(seed):
    X, w, c = hostile(seed)
    points = Points(sp.csr_array(X) if seed % 2 else X)
    numbers = [[Fraction(entry) for entry in row] for row in X]
    with np.errstate(all="ignore"):
        found = [accurate_scores(points, w), accurate_combination(points, c)]
    lines = [(numbers, w), (list(zip(*numbers, strict=True)), c)]
    for (values, errors), (rows, vector) in zip(found, lines, strict=True):
        for row, value, error in zip(rows, values, errors, strict=True):
            exact = sum((a * Fraction(b) for a, b in zip(row, vector, strict=True)), Fraction(0))
            # Overflow leaves a bound that claims nothing.
            assert not np.isfinite(error) or abs(exact - Fraction(value)) <= Fraction(error)


def test_errors_are_far_below_those_of_plain_sums():
    rng = np.random.default_rng(0)
    X, c = rng.standard_normal((3000, 5)) + 1e6, rng.standard_normal(3000)
    _, errors = accurate_combination(Points(X), c)
    plain = gamma(3000) * (np.abs(X) * np.abs(c)[:, None]).sum(axis=0)
    assert np.all(errors < 1e-4 * plain)


@pytest.mark.parametrize("width", [1e-9, 1.0, 1e3, 1e8])
def test_expansions_are_within_their_error_bounds(width):
    from decimal import Decimal, localcontext

    rng = np.random.default_rng(1)
    X, beta = rng.standard_normal((12, 3)), rng.standard_normal(12) * 1e8
    X[5] = X[4] + 1e-9
    problem = KernelSVMProblem(Points(X), RadialBasis(width), hinge(np.sign(beta), np.ones(12), 1.0))
    values, errors = accurate_expansion(problem, np.arange(12), beta)
    with localcontext() as context:
        context.prec = 60
        for i in range(12):
            exact = Decimal(0)
            for j in range(12):
                square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(X[i], X[j], strict=True)) * Fraction(
                    width
                )
                exact += Decimal(beta[j]) * (-(Decimal(square.numerator) / Decimal(square.denominator))).exp()
            assert abs(exact - Decimal(values[i])) <= Decimal(errors[i])
            assert errors[i] <= 1e-13 * np.abs(beta).sum()


def test_rounding_bounds_do_not_hide_proven_gaps():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every fit ends below its tolerance
        X, y = load_iris(return_X_y=True)
        mm.SVC(C=1e8, gamma=1e3).fit(X, y)
        X, y = load_diabetes(return_X_y=True)
        for factor, lam in ((1e3, 1e-6), (1e6, 1e-3), (1e8, 1.0)):
            assert mm.Lasso(lam=lam).fit(X * factor, y).certificate_.relative < 1e-5


def test_rows_far_from_the_origin_do_not_hide_the_gap_of_a_linear_machine():
    """The bound of a plain sum grows with the number of rows and their size."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 7, (4000, 3)) + 1e5
    y = np.where(X[:, 0] - X[:, 1] + 3.0 * rng.standard_normal(4000) > 0.0, 1, -1)
    assert mm.LinearSVC(tol=1e-8).fit(X, y).status_ == "solved"
