"""Logistic regression near separation: runs end after a bounded number of steps, with a true statement."""

import warnings
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from maxmargin import LimitWarning, LogisticRegression, Status
from maxmargin.data import Points
from maxmargin.engine import Threads
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options
from maxmargin.solvers.regression.logistic import LogisticRun, initial_result

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

# Newton steps converge quadratically near the solution, and far from it every one lowers the objective by a share.
MOST_NEWTON_STEPS = 1000
# Gradient steps: the errors fall like one over their number at worst.
MOST_GRADIENT_STEPS = 100_000
PENALTIES = [1e-8, 1.0, 1e4, 1e8, 1e12, 1e16, np.inf]
ENDS = (Status.SOLVED, Status.STALLED, Status.SEPARABLE)


def nearly_separable(seed, n, d, *, flips, scale=1.0, offset=0.0):
    """Classes that a hyperplane separates but for a few points next to it."""
    generator = np.random.default_rng(seed)
    scales = np.geomspace(1.0, scale, d)
    X = generator.standard_normal((n, d)) * scales
    scores = X @ (generator.standard_normal(d) / scales)
    y = scores > 0.0
    nearest = np.argsort(np.abs(scores))[:flips]
    y[nearest] = ~y[nearest]
    y[0], y[1] = False, True
    return X + offset, y


def quasi_separable(seed, n, d):
    """Classes that the first column separates but for the points on a hyperplane."""
    X, y = nearly_separable(seed, n, d, flips=n // 10)
    X[:, 0] = np.sign(X[:, 0]) * (np.abs(X[:, 0]) > 0.5)
    return X, np.where(X[:, 0] != 0.0, X[:, 0] > 0.0, y)


def objective(model, X, y, w, b):
    # Columns far from zero: the scores are computed exactly, and rounded once.
    coefficients, intercept = [Fraction(float(entry)) for entry in w], Fraction(float(b))
    scores = [float(sum(map(mul, coefficients, map(Fraction, map(float, row))), intercept)) for row in X]
    margins = np.where(y, 1.0, -1.0) * np.array(scores)
    loss = np.logaddexp(0.0, -margins).sum()
    return loss if np.isinf(model.C) else 0.5 * w @ w + model.C * loss


def assert_true_statement(model, X, y):
    certificate = model.certificate_
    assert model.status_ in ENDS
    assert certificate.dual <= certificate.primal
    value = objective(model, X, y, model.coef_[0], model.intercept_[0])
    assert certificate.dual <= value * (1.0 + 1e-9)
    if model.status_ is Status.SEPARABLE:
        assert certificate.margin > 0.0 or certificate.freed > 0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from([(20, 1), (60, 3), (200, 8), (100, 20)]),
    flips=st.integers(0, 3),
    scale=st.sampled_from([1.0, 1e3, 1e-6, 1e9]),
    offset=st.sampled_from([0.0, 1.0, 1e4, 1e8]),
    C=st.sampled_from(PENALTIES),
    tol=st.sampled_from([1e-4, 1e-8, 1e-12, 1e-15]),
    fit_intercept=st.booleans(),
)
def test_newton_steps_are_bounded(seed, shape, flips, scale, offset, C, tol, fit_intercept):
    X, y = nearly_separable(seed, *shape, flips=flips, scale=scale, offset=offset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = LogisticRegression(C=C, tol=tol, fit_intercept=fit_intercept, max_iter=10**5).fit(X, y)
    assert model.n_iter_ <= MOST_NEWTON_STEPS
    assert_true_statement(model, X, y)


@pytest.mark.parametrize("C", PENALTIES)
@pytest.mark.parametrize("seed", range(2))
def test_gradient_steps_are_bounded_without_limits(seed, C):
    X, y = nearly_separable(seed, 60, 3, flips=2, scale=3.0)
    model = LogisticRegression(C=C, solver="gradient").fit(X, y)
    assert model.n_iter_ <= MOST_GRADIENT_STEPS
    assert_true_statement(model, X, y)


@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_large_quasi_separable_data_end(solver):
    # More entries than a linear program is tried on.
    X, y = quasi_separable(0, 40_000, 8)
    model = LogisticRegression(C=float("inf"), solver=solver, tol=1e-9).fit(X, y)
    assert model.status_ is Status.SEPARABLE
    assert model.certificate_.freed > 0
    assert model.n_iter_ <= 2000


@pytest.mark.parametrize("offset", [1e4, 1e6])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_columns_far_from_zero_cost_no_steps(offset, C):
    X, y = nearly_separable(3, 300, 5, flips=20)
    # The offset rounds the entries: both data sets are the same numbers.
    X = (X + offset) - offset
    near, far = (LogisticRegression(C=C, tol=1e-6).fit(moved, y) for moved in (X, X + offset))
    assert far.status_ is near.status_ is Status.SOLVED
    assert far.n_iter_ <= near.n_iter_ + 3
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-2)


@pytest.mark.parametrize("C", [1.0, 1e10, 1e100, np.inf])
def test_bootstraps_and_few_points_take_few_steps_and_warn_truly(C):
    """Quasi-separable samples: no run goes on without progress, and none warns of a gap above tol that is below it."""
    flowers, species = load_iris(return_X_y=True)
    flowers = (flowers - flowers.mean(axis=0)) / flowers.std(axis=0)
    rng = np.random.default_rng(0)
    samples = []
    for k in range(60):
        rows, columns = rng.integers(0, 150, 56), rng.permutation(4)[:2]
        samples.append((flowers[rows][:, columns], species[rows] == k % 3))
    samples += [(rng.integers(-2, 3, (4, 2)).astype(np.float64), np.array([0, 1, 0, 1])) for _ in range(60)]
    for X, y in samples:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model = LogisticRegression(C=C).fit(X, y)
        assert np.max(model.n_iter_) < 300
        above = model.certificate_.gap > model.tol * model.certificate_.primal
        assert model.status_ is not Status.STALLED or above
        assert not warned or above or model.status_ is Status.SEPARABLE


def test_the_incumbent_is_one_iterate():
    # Its certificate computes the duals from the coefficients, so that values of two iterates prove nothing.
    X, y = nearly_separable(0, 100, 3, flips=3)
    problem = LogisticProblem(Points(X), np.where(y, 1.0, -1.0), np.ones(len(y)))
    with Threads(1) as threads:
        run = LogisticRun(problem, Options(), Monitor(), threads, initial_result(problem, None))
        pairs = [(10.0, 2.0), (9.999, 1.0), (9.0, 0.5), (8.99, 8.0), (8.989, 3.0), (8.9, 1.0)]
        kept = [(10.0, 2.0), (10.0, 2.0), (9.0, 0.5), (8.99, 8.0), (8.99, 8.0), (8.9, 1.0)]
        for step, (pair, expected) in enumerate(zip(pairs, kept, strict=True)):
            run.w = np.full(3, float(step))
            run._update_incumbent(*pair)
            assert (run.best.primal, run.best.dual) == expected
            assert run.best.w[0] == pairs.index(expected)
