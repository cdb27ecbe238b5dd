"""Solvers of ridge and lasso: alternatives that must agree, continuation, duplicate columns."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as rivals

from maxmargin import (
    Lasso,
    LimitWarning,
    Ridge,
    Status,
)
from maxmargin.data import Points
from maxmargin.problems.squared_errors import LassoProblem, SquaredErrors
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.regression import lasso, ridge
from maxmargin.solvers.regression.duplicate_columns import duplicates_among
from maxmargin.solvers.regression.lasso import LassoOptions
from regression_cases import FORMS, WEIGHTS, X, Y, lasso_value, random_regression


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_both_ways_of_descending_reach_the_same_lasso(fit_intercept, weighted, form, monkeypatch):
    """With the products of the columns, and without them."""
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((80, 40)) * (generator.random((80, 40)) < 0.1) + 0.5 * (form == "dense")
    y = rows @ generator.standard_normal(40) + generator.standard_normal(80) + 3.0
    weights = generator.uniform(0.0, 2.0, 80) if weighted else None
    values = []
    for affordable in (True, False):
        monkeypatch.setattr(
            "maxmargin.solvers.regression.gram_matrix.GramMatrix.affordable", lambda *_, a=affordable: a
        )
        model = Lasso(lam=0.7, fit_intercept=fit_intercept, tol=1e-6).fit(FORMS[form](rows), y, weights)
        assert model.status_ is Status.SOLVED
        values.append(model.certificate_.primal)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_conjugate_gradients_reach_the_direct_solution(fit_intercept, weights, monkeypatch):
    direct = Ridge(lam=0.5, fit_intercept=fit_intercept).fit(X, Y, weights)
    monkeypatch.setattr(ridge, "LARGEST_DENSE", 0)
    iterated = Ridge(lam=0.5, fit_intercept=fit_intercept, tol=1e-12).fit(X, Y, weights)
    np.testing.assert_allclose(iterated.coef_, direct.coef_, rtol=1e-4)
    assert iterated.n_iter_ > 1
    assert iterated.certificate_.primal == pytest.approx(direct.certificate_.primal, rel=1e-10)
    with pytest.warns(LimitWarning, match="max_iter"):
        stopped = Ridge(lam=0.5, fit_intercept=fit_intercept, tol=1e-12, max_iter=2).fit(X, Y, weights)
    assert stopped.status_ is Status.ITERATION_LIMIT
    assert 1e-12 < stopped.certificate_.relative < 1.0
    monkeypatch.undo()
    monkeypatch.setattr("maxmargin.solvers.core.StallTest.update", lambda *_: True)
    monkeypatch.setattr(ridge, "LARGEST_SPARSE", 0)
    monkeypatch.setattr("maxmargin.data.points.DENSE_SHARE", 2.0)
    fallen_back = Ridge(lam=0.5, fit_intercept=fit_intercept).fit(sp.csr_array(X), Y, weights)
    np.testing.assert_allclose(fallen_back.coef_, direct.coef_, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [len(Y), 6])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_without_a_penalty_ridge_is_the_shortest_least_squares(fit_intercept, n, form, monkeypatch):
    model = Ridge(lam=0.0, fit_intercept=fit_intercept).fit(FORMS[form](X[:n]), Y[:n])
    rows, y = X[:n] - fit_intercept * X[:n].mean(axis=0), Y[:n] - fit_intercept * Y[:n].mean()
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(rows, rcond=1e-13) @ y, rtol=1e-6)
    assert model.status_ is Status.SOLVED
    assert np.linalg.norm(np.sqrt(np.square(rows).sum(axis=0)) * model.coef_) < model.certificate_.radius < np.inf
    monkeypatch.setattr("maxmargin.solvers.regression.least_squares.SMALL", 0)
    monkeypatch.setattr("maxmargin.data.points.DENSE_SHARE", 2.0)
    iterated = Ridge(lam=0.0, fit_intercept=fit_intercept).fit(FORMS[form](X[:n]), Y[:n])
    np.testing.assert_allclose(iterated.coef_, model.coef_, rtol=1e-4)


@pytest.mark.slow
def test_small_penalties_of_wide_problems_are_reached_by_continuation():
    rows, y = random_regression(1, n=60, d=200)
    largest = np.abs((rows - rows.mean(axis=0)).T @ (y - y.mean())).max()
    seen = []
    monitor = Monitor(on_step=lambda report: bool(seen.append(report.step)))
    problem = LassoProblem(SquaredErrors(Points(rows), y, None, True), 1e-5 * largest)
    best = lasso.solve(problem, LassoOptions(tol=1e-8), monitor)
    assert best.status is Status.SOLVED
    assert len({step for step in seen if step.startswith("lambda = ")}) > 10
    # The history is that of the penalty that was asked for.
    assert all(dual <= best.primal * (1 + 1e-12) for _, _, dual in best.history)
    near = rivals.Lasso(problem.lam / 60, tol=1e-10, max_iter=10**6).fit(rows, y)
    assert best.primal <= lasso_value(near, rows, y, problem.lam) * (1 + 1e-8)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [True, False])
def test_copies_of_columns_are_left_out_and_nothing_else(form, weighted):
    rows, y = random_regression(7, n=9, d=6)
    weights = 1.0 + np.arange(9.0) % 3 if weighted else None
    copies = np.column_stack(
        [rows, rows[:, 2], -rows[:, 4], rows[:, 2], 2.0 * rows[:, 1], rows[:, 0] + 1e-6 * rows[:, 1]]
    )
    if weighted:
        weights[0] = 0.0
        copies[0, 8] += 1.0
    errors = SquaredErrors(Points(FORMS[form](copies)), y, weights, True)
    found = duplicates_among(errors, np.arange(copies.shape[1]))
    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == [(6, 2, 1.0), (7, 4, -1.0), (8, 2, 1.0)]
    model = Lasso(lam=1.0, tol=1e-9).fit(FORMS[form](copies), y, weights)
    assert model.coef_[6:9].tolist() == [0.0, 0.0, 0.0]
    assert model.status_ is Status.SOLVED
    begun = Lasso(lam=1.0, tol=1e-9, warm_start=True).fit(FORMS[form](copies), y, weights)
    begun.coef_ = np.full(copies.shape[1], 0.5)
    assert begun.fit(FORMS[form](copies), y, weights).objective_ == pytest.approx(model.objective_, rel=1e-8)


def test_columns_that_differ_by_a_shift_are_copies_beside_an_intercept():
    flags = (np.random.default_rng(0).random((50, 1)) < 0.3).astype(float)
    errors = SquaredErrors(Points(np.hstack([flags, 1.0 - flags])), np.arange(50.0), None, True)
    assert duplicates_among(errors, np.arange(2)).columns.tolist() == [1]
    without = dataclasses.replace(errors, has_intercept=False)
    assert duplicates_among(without, np.arange(2)).columns.tolist() == []


def test_the_solver_alone_stops_where_it_is_told():
    rows, y = random_regression(3, n=60, d=300)
    problem = LassoProblem(SquaredErrors(Points(rows), y, None, True), 0.5)
    monitor = Monitor()
    monitor.stop_requested.set()
    assert lasso.solve(problem, LassoOptions(), monitor).status is Status.INTERRUPTED
