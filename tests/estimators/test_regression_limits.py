"""Ridge and lasso on large dense data end soon after ``max_time`` or an interrupt, with a true certificate."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Lasso, Ridge, Status
from maxmargin.data import Points
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options, cholesky
from maxmargin.solvers.regression import gram_matrix, lasso, ridge

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

# Seconds beyond the limit, on a machine that is busy otherwise: less than 0.3 on an idle one.
SLACK = 2.0


def data(n, d, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d))
    return X, X[:, 0] - X[:, 1] + generator.standard_normal(n)


def errors_of(X, y, weights=None, has_intercept=True):
    return SquaredErrors(Points(X), y, weights, has_intercept)


@pytest.fixture(scope="module")
def large():
    return data(3000, 3000)


@pytest.mark.parametrize("columns", [3000, 2900])
def test_ridge_keeps_max_time_and_its_certificate_is_true(large, columns):
    X, y = large
    # As many rows as columns, and the rows' system.
    X, y = X[:columns], y[:columns]
    Ridge(max_time=1e-9).fit(X[:50], y[:50])
    started = time.perf_counter()
    model = Ridge(lam=1.0, max_time=0.05).fit(X, y)
    assert time.perf_counter() - started < 0.05 + SLACK
    assert model.status_ is Status.TIME_LIMIT
    assert np.isfinite(model.coef_).all()
    certificate = model.certificate_
    value = np.square(y - model.predict(X)).sum() + model.coef_ @ model.coef_
    assert certificate.primal == pytest.approx(value, rel=1e-9)
    # Any coefficients have at least the dual value.
    others = np.linalg.lstsq(X[:, :200], y, rcond=None)[0]
    assert certificate.dual <= np.square(y - X[:, :200] @ others).sum() + others @ others


def solve_ridge(X, y, monitor):
    return ridge.solve(RidgeProblem(errors_of(X, y), 1.0), Options(), monitor)


def solve_lasso(X, y, monitor):
    return lasso.solve(LassoProblem(errors_of(X, y), 1e-3), lasso.LassoOptions(tol=1e-14), monitor)


@pytest.mark.parametrize("solve", [solve_ridge, solve_lasso])
@pytest.mark.parametrize("after", [0.0, 0.1, 0.4])
def test_an_interrupt_is_answered(large, solve, after):
    X, y = large
    asked = threading.Event()
    timer = threading.Timer(after, asked.set)
    timer.start()
    started = time.perf_counter()
    result = solve(X, y, Monitor(stop_requested=asked))
    assert time.perf_counter() - started < after + SLACK
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.w).all()


def test_lasso_keeps_max_time():
    X, y = data(20_000, 1500)
    Lasso(lam=1.0, max_time=1e-9).fit(X[:50], y[:50])
    started = time.perf_counter()
    model = Lasso(lam=1e-3, tol=1e-12, max_time=0.1).fit(X, y)
    assert time.perf_counter() - started < 0.1 + SLACK
    assert model.status_ is Status.TIME_LIMIT
    assert model.certificate_.dual <= model.certificate_.primal


@pytest.mark.parametrize("sparse", [False, True])
def test_a_stopped_gram_matrix_changes_no_coefficient(sparse):
    X, y = data(200, 20)
    errors = errors_of(sp.csr_array(X) if sparse else X, y)
    calls = []

    def stopped():
        calls.append(1)
        return True

    gram_matrix.GramMatrix(errors, stopped).among(np.arange(5))
    assert calls
    asked = threading.Event()
    asked.set()
    run = lasso.LassoRun(LassoProblem(errors, 1.0), lasso.LassoOptions(), Monitor(stop_requested=asked), [1.0])
    run.evaluate()
    run.solve_with_gram(np.arange(5))
    assert not run.w.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("has_intercept", [False, True])
def test_normal_equations_by_columns_are_those_by_rows(monkeypatch, weighted, has_intercept):
    X, y = data(90, 40)
    weights = np.random.default_rng(1).random(90) + 0.5 if weighted else None
    errors = errors_of(X + 3.0, y, weights, has_intercept)
    found = []
    for many in (10**6, 10):
        monkeypatch.setattr(gram_matrix, "MANY_COLUMNS", many)
        with Threads(2) as threads:
            engine = MemoryEngine(errors, threads)
            engine["targets"] = errors.targets - errors.target_mean
            engine["weights"] = np.ones(90) if weights is None else weights
            found.append(gram_matrix.normal_equations(engine, lambda: False))
    for by_rows, by_columns in zip(*found, strict=True):
        np.testing.assert_allclose(by_columns, by_rows, rtol=1e-11, atol=1e-11)


def test_products_and_factors_by_blocks(monkeypatch):
    monkeypatch.setattr(cholesky, "PANEL", 16)
    monkeypatch.setattr(cholesky, "BLOCK", 24)
    monkeypatch.setattr(cholesky, "ONE_CALL", 8)
    rows = np.random.default_rng(0).standard_normal((75, 100))
    with Threads(2) as threads:
        product = cholesky.symmetric_product(rows, threads, lambda: False)
        np.testing.assert_allclose(product, rows @ rows.T, rtol=1e-12, atol=1e-12)
        right = np.arange(75.0)
        solution = cholesky.positive_inverse(product, threads, lambda: False)(right)
        np.testing.assert_allclose(solution, np.linalg.solve(product, right), rtol=1e-8)
        # The matrix is kept, and a stopped factorisation gives no numbers that could be taken for a solution.
        np.testing.assert_allclose(product, rows @ rows.T, rtol=1e-12, atol=1e-12)
        assert np.isnan(cholesky.positive_inverse(product, threads, lambda: True)(right)).all()
