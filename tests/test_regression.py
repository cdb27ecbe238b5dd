"""Ridge, lasso and Bayesian regression: right, proven, and honest about bad input."""

import dataclasses
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as rivals
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from maxmargin import (
    BayesianRegression,
    CertificateError,
    Lasso,
    LassoGap,
    LimitWarning,
    Ridge,
    RidgeGap,
    Status,
    certify,
)
from maxmargin.certificates.ridge_gap import measure_ridge_gap
from maxmargin.data import Points
from maxmargin.files import write_onnx
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options
from maxmargin.solvers.regression import lasso, ridge
from maxmargin.solvers.regression.duplicate_columns import copies_among

X, Y = load_diabetes(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.0, 3.0, len(Y))
WEIGHTS[:7] = 0.0
FORMS = {"dense": np.asarray, "sparse": sp.csr_array, "csc": sp.csc_array}


def random_regression(seed, n=20, d=5, noise=0.3):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d))
    return rows, rows @ generator.standard_normal(d) + 2.0 + noise * generator.standard_normal(n)


def ridge_value(model, rows, y, lam, weights=None):
    residuals = y - rows @ model.coef_ - model.intercept_
    weights = np.ones(len(y)) if weights is None else weights
    return weights @ residuals**2 + lam * model.coef_ @ model.coef_


def lasso_value(model, rows, y, lam, weights=None):
    residuals = y - rows @ model.coef_ - model.intercept_
    weights = np.ones(len(y)) if weights is None else weights
    return 0.5 * weights @ residuals**2 + lam * np.abs(model.coef_).sum()


# Agreement with scikit-learn.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [len(Y), 9], ids=["tall", "wide"])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_ridge_agrees_with_scikit_learn(form, weights, fit_intercept, n, lam):
    rows, y = X[-n:], Y[-n:]
    weights = None if weights is None else weights[-n:]
    ours = Ridge(lam, fit_intercept=fit_intercept).fit(FORMS[form](rows), y, weights)
    theirs = rivals.Ridge(alpha=lam, fit_intercept=fit_intercept).fit(rows, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(FORMS[form](rows)), theirs.predict(rows), rtol=1e-8)
    assert ours.status_ is Status.SOLVED
    value = ridge_value(theirs, rows, y, lam, weights)
    assert ours.certificate_.dual <= value * (1 + 1e-12)
    assert ours.certificate_.relative < 1e-9


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [len(Y), 9], ids=["tall", "wide"])
@pytest.mark.parametrize("lam", [3.0, 100.0, 1e5])
def test_lasso_agrees_with_scikit_learn(form, weights, fit_intercept, n, lam):
    rows, y = X[-n:], Y[-n:]
    weights = None if weights is None else weights[-n:]
    total = n if weights is None else weights.sum()
    ours = Lasso(lam, fit_intercept=fit_intercept).fit(FORMS[form](rows), y, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = rivals.Lasso(alpha=lam / total, fit_intercept=fit_intercept, tol=1e-13, max_iter=100_000)
        theirs.fit(rows, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(theirs.coef_).max()))
    value = lasso_value(theirs, rows, y, lam, weights)
    assert lasso_value(ours, rows, y, lam, weights) <= value * (1 + 1e-10)
    assert ours.certificate_.dual <= value * (1 + 1e-12)
    assert ours.certificate_.relative <= 1e-4
    # What is proven to be of no use is not used by a better result, either.
    assert ours.certificate_.unused <= np.count_nonzero(np.abs(theirs.coef_) < 1e-6)


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
            "maxmargin.solvers.regression.gram_matrix.ColumnProducts.affordable", lambda *_, a=affordable: a
        )
        model = Lasso(0.7, fit_intercept=fit_intercept, tol=1e-6).fit(FORMS[form](rows), y, weights)
        assert model.status_ is Status.SOLVED
        values.append(model.certificate_.primal)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_conjugate_gradients_reach_the_direct_solution(fit_intercept, weights, monkeypatch):
    direct = Ridge(0.5, fit_intercept=fit_intercept).fit(X, Y, weights)
    monkeypatch.setattr(ridge, "LARGEST_DENSE", 0)
    iterated = Ridge(0.5, fit_intercept=fit_intercept, tol=1e-12).fit(X, Y, weights)
    np.testing.assert_allclose(iterated.coef_, direct.coef_, rtol=1e-4)
    assert iterated.n_iter_ > 1
    assert iterated.certificate_.primal == pytest.approx(direct.certificate_.primal, rel=1e-10)
    with pytest.warns(LimitWarning, match="max_iter"):
        stopped = Ridge(0.5, fit_intercept=fit_intercept, tol=1e-12, max_iter=2).fit(X, Y, weights)
    assert stopped.status_ is Status.ITERATION_LIMIT
    assert 1e-12 < stopped.certificate_.relative < 1.0
    monkeypatch.undo()
    monkeypatch.setattr(ridge, "MOST_IDLE", -1)
    monkeypatch.setattr(ridge, "LARGEST_SPARSE", 0)
    monkeypatch.setattr("maxmargin.data.points.DENSE_SHARE", 2.0)
    fallen_back = Ridge(0.5, fit_intercept=fit_intercept).fit(sp.csr_array(X), Y, weights)
    np.testing.assert_allclose(fallen_back.coef_, direct.coef_, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [len(Y), 6])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_without_a_price_ridge_is_the_shortest_least_squares(fit_intercept, n, form, monkeypatch):
    model = Ridge(0.0, fit_intercept=fit_intercept).fit(FORMS[form](X[:n]), Y[:n])
    rows, y = X[:n] - fit_intercept * X[:n].mean(axis=0), Y[:n] - fit_intercept * Y[:n].mean()
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(rows, rcond=1e-13) @ y, rtol=1e-6)
    assert model.status_ is Status.SOLVED
    assert np.linalg.norm(np.sqrt(np.square(rows).sum(axis=0)) * model.coef_) < model.certificate_.radius < np.inf
    monkeypatch.setattr("maxmargin.solvers.regression.least_squares.SMALL", 0)
    monkeypatch.setattr("maxmargin.data.points.DENSE_SHARE", 2.0)
    iterated = Ridge(0.0, fit_intercept=fit_intercept).fit(FORMS[form](X[:n]), Y[:n])
    np.testing.assert_allclose(iterated.coef_, model.coef_, rtol=1e-4)


# What is proven.


def exact_products(rows, y, w, b, weights):
    """Residuals in rational arithmetic."""
    w, b = [Fraction(float(entry)) for entry in w], Fraction(float(b))
    rows = [[Fraction(float(entry)) for entry in row] for row in rows]
    residuals = [
        Fraction(float(t)) - b - sum(a * c for a, c in zip(row, w, strict=True)) for t, row in zip(y, rows, strict=True)
    ]
    return rows, w, residuals, [Fraction(float(entry)) for entry in weights]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 1e3, 1e7]),
    ratio=st.sampled_from([1.0, 1e8]),
    lam=st.sampled_from([0.0, 1e-3, 1.0, 1e4]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
def test_ridge_gaps_are_true_in_rational_arithmetic(seed, scale, shift, ratio, lam, fit_intercept, weighted):
    """The value of the model is at most ``primal``; the optimum, from exact normal equations, is at least ``dual``."""
    rows, y = random_regression(seed, n=6, d=2)
    rows = rows * [scale, scale * ratio] + shift
    weights = np.random.default_rng(seed).integers(0, 4, 6).astype(float) if weighted else np.ones(6)
    weights[0] = 1.0
    model = Ridge(lam, fit_intercept=fit_intercept, tol=1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model.fit(rows, y, weights)
    exact, w, residuals, m = exact_products(rows, y, model.coef_, model.intercept_, weights)
    value = sum(a * r * r for a, r in zip(m, residuals, strict=True)) + Fraction(lam) * sum(c * c for c in w)
    assert value <= Fraction(model.certificate_.primal)
    best = exact_ridge_optimum(exact, [Fraction(float(t)) for t in y], m, Fraction(lam), fit_intercept)
    if best is not None:
        assert Fraction(model.certificate_.dual) <= best <= value


def exact_ridge_optimum(rows, y, m, lam, fit_intercept):
    """The least value, by Cramer's rule on the normal equations; None where they are singular."""
    columns = [[row[j] for row in rows] for j in range(2)] + ([[Fraction(1)] * len(y)] if fit_intercept else [])
    system = [[sum(a * u * v for a, u, v in zip(m, c, e, strict=True)) for e in columns] for c in columns]
    for j in range(2):
        system[j][j] += lam
    right = [sum(a * u * t for a, u, t in zip(m, c, y, strict=True)) for c in columns]
    whole = determinant(system)
    if whole == 0:
        return None
    result = [
        determinant([[right[i] if k == j else system[i][k] for k in range(len(right))] for i in range(len(right))])
        / whole
        for j in range(len(right))
    ]
    return sum(a * t * t for a, t in zip(m, y, strict=True)) - sum(u * v for u, v in zip(result, right, strict=True))


def determinant(matrix):
    if len(matrix) == 1:
        return matrix[0][0]
    return sum(
        (-1) ** j * matrix[0][j] * determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
        for j in range(len(matrix))
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 1e3, 1e7]),
    share=st.sampled_from([1e-3, 0.1, 0.9]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    rounds=st.sampled_from([1, None]),
)
def test_lasso_gaps_are_true_in_rational_arithmetic(seed, scale, shift, share, fit_intercept, weighted, rounds):
    """A dual point that is feasible in exact arithmetic, made here, is not much better than the stated value."""
    rows, y = random_regression(seed, n=8, d=3)
    rows = rows * scale + shift * scale * fit_intercept
    weights = np.random.default_rng(seed).integers(0, 4, 8).astype(float) if weighted else np.ones(8)
    weights[:2] = 1.0
    lam = share * np.abs(rows.T @ (weights * (y - np.average(y, weights=weights)))).max()
    model = Lasso(lam, fit_intercept=fit_intercept, tol=1e-12, max_iter=rounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model.fit(rows, y, weights)
    proof = model.certificate_
    exact, w, residuals, m = exact_products(rows, y, model.coef_, model.intercept_, weights)
    squares = sum(a * r * r for a, r in zip(m, residuals, strict=True))
    value = squares / 2 + Fraction(lam) * sum(abs(c) for c in w)
    assert value <= Fraction(proof.primal) <= value * (1 + Fraction(1, 10**9)) + Fraction(1, 10**200)
    mean = sum(a * r for a, r in zip(m, residuals, strict=True)) / sum(m) if fit_intercept else 0
    alpha = [a * (r - mean) for a, r in zip(m, residuals, strict=True)]
    largest = max(abs(sum(a * row[j] for a, row in zip(alpha, exact, strict=True))) for j in range(3))
    gain = sum(a * Fraction(float(t)) for a, t in zip(alpha, y, strict=True))
    curve = sum(a * a / c for a, c in zip(alpha, m, strict=True) if c)
    s = min(gain / curve if curve else Fraction(0), Fraction(lam) / largest if largest else gain / curve)
    best = max(Fraction(0), s * gain - s * s * curve / 2)
    assert Fraction(proof.dual) <= best
    assert Fraction(proof.dual) >= best - abs(best) / 10**6 - Fraction(proof.primal) / 10**6


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_fulfils_its_conditions(seed):
    rows, y = random_regression(seed, n=40, d=60)
    model = Lasso(2.0, tol=1e-10).fit(rows, y)
    slopes = rows.T @ (y - model.predict(rows))
    used = model.coef_ != 0
    assert used.any()
    np.testing.assert_allclose(slopes[used], 2.0 * np.sign(model.coef_[used]), rtol=1e-5)
    assert (np.abs(slopes[~used]) <= 2.0 * (1 + 1e-6)).all()
    assert (y - model.predict(rows)).sum() == pytest.approx(0.0, abs=1e-9)
    assert 0 < model.certificate_.unused <= np.count_nonzero(~used)
    assert model.sparse_coef_.nnz == np.count_nonzero(used)


def test_wide_problems_with_hardly_any_price_are_come_to_step_by_step():
    rows, y = random_regression(1, n=60, d=200)
    largest = np.abs((rows - rows.mean(axis=0)).T @ (y - y.mean())).max()
    seen = []
    monitor = Monitor(on_step=lambda report: bool(seen.append(report.step)))
    problem = LassoProblem(SquaredErrors(Points(rows), y, None, True), 1e-5 * largest)
    best = lasso.solve(problem, Options(tol=1e-8), monitor)
    assert best.status is Status.SOLVED
    assert len({step for step in seen if step.startswith("lambda = ")}) > 10
    # What is noted is about the price that was asked for.
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
    found = copies_among(errors, np.arange(copies.shape[1]))
    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == [(6, 2, 1.0), (7, 4, -1.0), (8, 2, 1.0)]
    model = Lasso(1.0, tol=1e-9).fit(FORMS[form](copies), y, weights)
    assert model.coef_[6:9].tolist() == [0.0, 0.0, 0.0]
    assert model.status_ is Status.SOLVED
    begun = Lasso(1.0, tol=1e-9, warm_start=True).fit(FORMS[form](copies), y, weights)
    begun.coef_ = np.full(copies.shape[1], 0.5)
    assert begun.fit(FORMS[form](copies), y, weights).objective_ == pytest.approx(model.objective_, rel=1e-8)


def test_columns_that_differ_by_a_shift_are_copies_beside_an_intercept():
    flags = (np.random.default_rng(0).random((50, 1)) < 0.3).astype(float)
    errors = SquaredErrors(Points(np.hstack([flags, 1.0 - flags])), np.arange(50.0), None, True)
    assert copies_among(errors, np.arange(2)).columns.tolist() == [1]
    without = dataclasses.replace(errors, has_intercept=False)
    assert copies_among(without, np.arange(2)).columns.tolist() == []


@pytest.mark.parametrize("light", [0.0, 1e-30])
@pytest.mark.parametrize("model", [Ridge(1.0), Ridge(0.0), Lasso(1.0), BayesianRegression()], ids=str)
def test_rows_without_weight_have_no_say(model, light):
    generator = np.random.default_rng(0)
    times = 1.7e9 + 10.0 * generator.standard_normal((400, 1))
    y = 0.1 * (times[:, 0] - 1.7e9) + generator.standard_normal(400)
    weights = np.ones(400)
    without = clone(model).fit(times[40:], y[40:])
    times[:40], weights[:40] = 0.0, light
    if light == 0.0:
        y[:40] = 1e140
    masked = clone(model).fit(times, y, weights)
    assert masked.status_ is Status.SOLVED
    assert masked.certificate_.relative <= 1e-9
    np.testing.assert_allclose(masked.coef_, without.coef_, rtol=1e-6)


@pytest.mark.parametrize("heavy", [1e12, 1e16, 1e30, 1e60])
@pytest.mark.parametrize("model", [Ridge(0.0), Ridge(1e-6), Lasso(1e-6)], ids=str)
def test_one_heavy_row(model, heavy):
    """The line goes through its point, and what cannot be proven beside such a weight is not called solved."""
    rows, y = random_regression(2, n=8, d=1)
    weights = np.r_[heavy, np.ones(7)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = clone(model).fit(rows, y, weights)
    x, t = rows[1:, 0] - rows[0, 0], y[1:] - y[0]
    assert model.coef_[0] == pytest.approx(x @ t / (x @ x), rel=1e-5)
    assert (model.status_ is Status.SOLVED) == (model.certificate_.relative <= model.tol)


def test_spreads_of_which_nothing_is_left_prove_nothing():
    rows = np.array([[-0.43], [-0.74], [0.25], [1.03]])
    y = np.array([10000.16, 9999.41, 9998.66, 9998.6])
    weights = np.array([1e60, 1.0, 1.0, 1.0])
    errors = SquaredErrors(Points(rows), y, weights, True)
    proof = measure_ridge_gap(RidgeProblem(errors, 0.0), np.zeros(1), float(y[0]))
    x, t = rows[:, 0] - rows[0, 0], y - y[0]
    assert proof.dual <= float(t @ t - (x @ t) ** 2 / (x @ x)) * (1 + 1e-9)


def test_columns_too_small_to_be_squared_are_not_forgotten_by_the_certificate():
    """The coefficient of a tiny column is huge, but standardised it is as short as any."""
    rows = np.array([[1.0, 1.0, -1.0, -1.0], [1e-160, -1e-160, 1e-160, -1e-160]]).T
    for form in (np.asarray, sp.csr_array):
        errors = SquaredErrors(Points(form(rows)), rows @ [1.0, 1e160], None, True)
        assert measure_ridge_gap(RidgeProblem(errors, 0.0), np.array([1.0, 0.0]), 0.0).dual == 0.0


def test_a_posterior_stays_as_it_was_fitted():
    model = BayesianRegression().fit(X, Y)
    before = model.predict(X[:3], return_std=True), model.credible_interval()
    model.set_params(fit_intercept=False)
    np.testing.assert_array_equal(model.predict(X[:3], return_std=True), before[0])
    np.testing.assert_array_equal(model.credible_interval(), before[1])


def test_a_limit_that_is_not_reached_changes_nothing():
    rows, y = random_regression(1, n=30, d=100)
    free, limited = Lasso(1e-2).fit(rows, y), Lasso(1e-2, max_iter=10**6).fit(rows, y)
    assert free.coef_.tobytes() == limited.coef_.tobytes()
    assert free.n_iter_ == limited.n_iter_ > len(free.history_)
    with pytest.warns(LimitWarning, match="max_iter"):
        assert Lasso(1e-2, max_iter=2).fit(rows, y).n_iter_ == 2


@pytest.mark.parametrize("lam", [1e-30, 1e-20, 1e-16])
def test_prices_below_all_rounding_end(lam):
    rows, y = random_regression(1, n=5, d=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        assert Lasso(lam, max_time=60.0).fit(rows, y).status_ is not Status.TIME_LIMIT


def test_constant_targets_of_long_rows_are_solved():
    rows = np.random.default_rng(0).integers(-1, 2, (2, 600)).astype(float)
    for model in (Ridge(0.01), Lasso(0.01)):
        assert model.fit(rows, [-1.37, -1.37]).status_ is Status.SOLVED


def test_no_coefficient_from_the_largest_useful_price_on():
    largest = np.abs(X.T @ (Y - Y.mean())).max()
    assert not Lasso(1.000001 * largest).fit(X, Y).coef_.any()
    assert np.count_nonzero(Lasso(0.99 * largest).fit(X, Y).coef_) == 1


MODELS = {
    "ridge": (Ridge(1.0), RidgeGap),
    "least squares": (Ridge(0.0), RidgeGap),
    "lasso": (Lasso(20.0), LassoGap),
    "bayesian": (BayesianRegression(), RidgeGap),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_certify_confirms_and_a_changed_model_is_refused(kind, weights):
    model, of = MODELS[kind]
    model.fit(X, Y, weights)
    claimed = model.certificate_
    assert type(claimed) is of
    claimed.check(certify(model, X, Y, weights))
    claimed.check(certify(model, sp.csr_array(X), Y, weights))
    with pytest.raises(CertificateError):
        claimed.check(certify(model, X, Y[::-1].copy(), weights))
    for name in ("coef_", "intercept_"):
        right = getattr(model, name)
        setattr(model, name, right * 1.01)
        with pytest.raises(CertificateError):
            claimed.check(certify(model, X, Y, weights))
        setattr(model, name, right)
    for forged in (
        {"dual": claimed.primal},
        {"primal": (claimed.primal + claimed.dual) / 2 - 1e-6 * claimed.primal, "dual": 0.0},
        {"unused": claimed.unused + 1} if of is LassoGap else {"radius": claimed.radius * 1.5},
    ):
        if kind == "ridge" and "radius" in forged:
            continue
        if "dual" in forged and claimed.relative < 1e-8 and forged["dual"] == claimed.primal:
            forged["primal"] = claimed.primal * 1.1
            forged["dual"] = claimed.primal * 1.05
        with pytest.raises(CertificateError):
            dataclasses.replace(claimed, **forged).check(certify(model, X, Y, weights))


def test_certificates_say_what_they_prove():
    assert "duality gap" in str(Ridge().fit(X, Y).certificate_)
    assert "among standardised coefficients of norm up to" in str(Ridge(0.0).fit(X, Y).certificate_)
    assert "5 coefficients are zero in every optimum" in str(Lasso(100.0).fit(X, Y).certificate_)


def test_a_wrong_model_has_a_wide_but_true_gap():
    errors = SquaredErrors(Points(X), Y, None, True)
    best = Ridge(1.0).fit(X, Y).certificate_
    for b in (0.0, 152.0, 1e6):
        proof = measure_ridge_gap(RidgeProblem(errors, 1.0), np.full(10, 30.0), b)
        assert 0.0 <= proof.dual <= best.primal <= proof.primal
        assert proof.relative > 1e-3


# Parameters, limits, weights, determinism.


def test_the_price_comes_from_the_prior():
    np.testing.assert_array_equal(Ridge(sigma2=3.0, tau2=2.0).fit(X, Y).coef_, Ridge(1.5).fit(X, Y).coef_)
    np.testing.assert_array_equal(Lasso(sigma2=3.0, rate=4.0).fit(X, Y).coef_, Lasso(12.0).fit(X, Y).coef_)
    np.testing.assert_array_equal(Ridge().fit(X, Y).coef_, Ridge(1.0).fit(X, Y).coef_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Ridge(1.0, sigma2=1.0), "lam is given, and so is sigma2"),
        (Ridge(1.0, sigma2=1.0, tau2=1.0), "lam is given, and so is sigma2 and tau2"),
        (Ridge(sigma2=1.0), "sigma2 is given without tau2"),
        (Ridge(tau2=1.0), "tau2 is given without sigma2"),
        (Ridge(sigma2=1.0, tau2=0.0), "tau2"),
        (Ridge(-1.0), "lam"),
        (Ridge(np.nan), "lam"),
        (Ridge(np.inf), "lam"),
        (Ridge("much"), "lam"),
        (Ridge(1e-300), "lam"),
        (Ridge(tol=0.0), "tol"),
        (Lasso(0.0), "lam"),
        (Lasso(rate=1.0), "rate is given without sigma2"),
        (Lasso(1.0, rate=1.0), "lam is given, and so is rate"),
        (Lasso(max_iter=0), "max_iter"),
        (Lasso(max_time=-1.0), "max_time"),
        (Lasso(fit_intercept="no"), "fit_intercept"),
        (BayesianRegression(fit_intercept=2), "fit_intercept"),
    ],
    ids=str,
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def changed(value):
    rows = X.copy()
    rows[3, 2] = value
    return rows


@pytest.mark.parametrize("model", [Ridge, Lasso, BayesianRegression])
@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (changed(np.nan), Y, "Input X contains NaN"),
        (changed(np.inf), Y, "Input X contains infinity"),
        (changed(1e150), Y, "X has values too large"),
        (X, np.where(Y > 100, np.nan, Y), "Input y contains NaN"),
        (X, Y * 1e150, "y has values too large"),
        (X[:-1], Y, "X and y must have as many rows"),
        (X[0], Y, "Expected 2D array"),
        (X[:0], Y[:0], "0 sample"),
        (X, None, "y"),
        (X, ["1"] * (len(Y) - 1) + ["a"], "y must be numbers for a regression; it has 'a'"),
        (X, np.column_stack([Y, Y]), "fit one model for every column: y should be a 1d array"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_data(model, rows, y, message):
    with pytest.raises(ValueError, match=message):
        model().fit(rows, y)


@pytest.mark.parametrize("model", [Ridge(0.0), Ridge(0.5), Lasso(0.5)], ids=str)
def test_data_that_are_hardly_any(model):
    one = model.fit([[1.0, 2.0]], [3.0])
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(3.0)
    assert not one.coef_.any()
    zeros = model.fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 6.0])
    assert zeros.intercept_ == pytest.approx(3.0)
    assert not zeros.coef_.any()
    assert zeros.certificate_.relative < 1e-12
    constant = model.fit(np.column_stack([np.full(5, 0.1), np.arange(5.0)]), np.arange(5.0) ** 2)
    assert constant.coef_[0] == pytest.approx(0.0, abs=1e-9)
    assert constant.status_ is Status.SOLVED
    flat = model.fit(X, np.full(len(Y), 7.0))
    assert flat.intercept_ == pytest.approx(7.0)
    np.testing.assert_allclose(flat.coef_, 0.0, atol=1e-12)
    assert flat.status_ is Status.SOLVED


@pytest.mark.parametrize("scale", [1e-45, 1e95])
def test_extreme_scales(scale):
    rows, y = random_regression(0)
    for model, plain in ((Ridge(scale * scale), Ridge(1.0)), (Lasso(scale), Lasso(1.0))):
        fitted = model.fit(rows * scale, y)
        np.testing.assert_allclose(fitted.coef_ * scale, plain.fit(rows, y).coef_, rtol=1e-6)
        assert fitted.certificate_.relative <= fitted.tol


@pytest.mark.parametrize("model", [Ridge(3.0), Ridge(0.0), Lasso(3.0, tol=1e-9), BayesianRegression()], ids=str)
def test_weights_are_repeated_rows(model):
    counts = np.random.default_rng(1).integers(0, 4, len(Y))
    weighted = type(model)(**model.get_params()).fit(X, Y, counts)
    repeated = type(model)(**model.get_params()).fit(X.repeat(counts, axis=0), Y.repeat(counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-10)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)


def test_a_path_goes_on_from_model_to_model():
    rows, y = random_regression(3, n=60, d=200)
    walker = Lasso(warm_start=True, tol=1e-8)
    for lam in (20.0, 10.0, 5.0):
        walker.set_params(lam=lam).fit(rows, y)
        assert walker.objective_ == pytest.approx(Lasso(lam, tol=1e-8).fit(rows, y).objective_, rel=1e-7)
    again = walker.fit(rows, y)
    assert again.n_iter_ == 1
    with pytest.raises(ValueError, match="warm_start=True needs as many columns"):
        walker.fit(rows[:, 1:], y)
    assert walker.coef_.size == 200


def test_limits_leave_a_true_certificate():
    rows, y = random_regression(3, n=60, d=300)
    best = Lasso(5.0).fit(rows, y).objective_
    for limit in ({"max_iter": 1}, {"max_time": 1e-9}):
        with pytest.warns(LimitWarning, match=next(iter(limit))):
            model = Lasso(5.0, tol=1e-12, **limit).fit(rows, y)
        assert model.certificate_.dual <= best
        assert best * (1.0 - 1e-4) <= model.certificate_.primal


def test_the_same_bits_every_time():
    rows, y = random_regression(3, n=60, d=300)
    for model in (Ridge(0.5), Lasso(5.0)):
        first = model.fit(rows, y).coef_
        np.testing.assert_array_equal(first, model.fit(rows, y).coef_)


def test_progress_is_told(capsys):
    rows, y = random_regression(3, n=60, d=300)
    Lasso(5.0, verbose=1).fit(rows, y)
    said = capsys.readouterr().out
    assert "[Lasso] lambda = 112, round 1: gap" in said
    assert "\n[Lasso] round " in said
    Ridge(verbose=1).fit(X, Y)
    assert capsys.readouterr().out.startswith("[Ridge] solved: relative duality gap ")


def test_the_solver_alone_stops_where_it_is_told():
    rows, y = random_regression(3, n=60, d=300)
    problem = LassoProblem(SquaredErrors(Points(rows), y, None, True), 0.5)
    monitor = Monitor()
    monitor.stop_requested.set()
    assert lasso.solve(problem, Options(), monitor).status is Status.INTERRUPTED


@pytest.mark.parametrize("model", [Ridge(0.1), Lasso(20.0), BayesianRegression()], ids=str)
def test_other_programs_predict_the_same(model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    write_onnx(model.fit(X, Y), tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["value"], {"X": X})[0], model.predict(X), rtol=1e-10)


# The posterior.


def test_the_posterior_has_its_closed_form():
    model = BayesianRegression().fit(X, Y)
    design = np.column_stack([X, np.ones(len(Y))])
    beta, squares, _, _ = np.linalg.lstsq(design, Y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), beta, rtol=1e-8)
    nu = len(Y) - 11
    assert model.degrees_of_freedom_ == nu
    assert model.s2_ == pytest.approx(squares[0] / nu, rel=1e-12)
    scale = model.s2_ * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(model.posterior_scale_, scale, rtol=1e-6, atol=1e-9 * scale.max())
    variance = model.posterior_sigma2_
    assert variance.mean() == pytest.approx(nu * model.s2_ / (nu - 2), rel=1e-12)
    for quantile in (0.1, 0.9):  # nu s²/sigma² has a chi-squared distribution
        assert nu * model.s2_ / variance.ppf(quantile) == pytest.approx(stats.chi2(nu).isf(quantile), rel=1e-9)
    joint = model.posterior_coef_
    np.testing.assert_allclose(joint.loc, beta, rtol=1e-8)
    assert joint.df == nu
    for j in (0, 4, -1):
        marginal = model.marginal(j)
        assert marginal.mean() == pytest.approx(beta[j], rel=1e-8)
        np.testing.assert_allclose(marginal.interval(0.9), model.credible_interval(0.9)[j], rtol=1e-9)
    new = np.random.default_rng(0).standard_normal((3, 10))
    ones = np.column_stack([new, np.ones(3)])
    expected = model.s2_ * (1.0 + np.einsum("ij,jk,ik->i", ones, np.linalg.inv(design.T @ design), ones))
    means, deviations = model.predict(new, return_std=True)
    np.testing.assert_allclose(means, ones @ beta, rtol=1e-8)
    np.testing.assert_allclose(deviations**2, expected * nu / (nu - 2), rtol=1e-6)
    predictive = model.predictive(new)
    np.testing.assert_allclose(predictive.mean(), means, rtol=1e-12)
    np.testing.assert_allclose(predictive.std(), deviations, rtol=1e-9)
    assert model.certificate_.relative < 1e-6


def test_without_an_intercept():
    model = BayesianRegression(fit_intercept=False).fit(X, Y)
    assert model.intercept_ == 0.0
    assert model.degrees_of_freedom_ == len(Y) - 10
    np.testing.assert_allclose(model.posterior_scale_, model.s2_ * np.linalg.inv(X.T @ X), rtol=1e-6, atol=1e-3)
    assert model.credible_interval().shape == (10, 2)
    assert not model.sample(5, 0).intercept.any()


def test_draws_have_the_moments_of_the_posterior():
    rows, y = random_regression(0, n=30, d=3)
    model = BayesianRegression().fit(rows + 5.0, y)
    draws = model.sample(40_000, random_state=0)
    joint = np.column_stack([draws.coef, draws.intercept])
    nu = model.degrees_of_freedom_
    covariance = model.posterior_scale_ * nu / (nu - 2)
    deviations = np.sqrt(np.diag(covariance))
    location = np.append(model.coef_, model.intercept_)
    assert (np.abs(joint.mean(axis=0) - location) < 5 * deviations / 200).all()
    scale = np.outer(deviations, deviations)
    np.testing.assert_allclose(np.cov(joint.T) / scale, covariance / scale, atol=0.05)
    assert stats.kstest(draws.sigma2, model.posterior_sigma2_.cdf).pvalue > 1e-6
    assert stats.kstest(draws.coef[:, 1], model.marginal(1).cdf).pvalue > 1e-6
    np.testing.assert_array_equal(model.sample(3, 1).coef, model.sample(3, 1).coef)
    assert not np.array_equal(model.sample(3, 1).coef, model.sample(3, 2).coef)
    assert model.sample(0).coef.shape == (0, 3)
    generator = np.random.default_rng(0)
    assert not np.array_equal(model.sample(3, generator).coef, model.sample(3, generator).coef)
    np.testing.assert_array_equal(
        model.sample(3, np.random.default_rng(0)).coef, model.sample(3, np.random.default_rng(0)).coef
    )


def test_intervals_cover_the_truth_as_often_as_they_say():
    """With this prior, credible intervals are confidence intervals: their coverage is the level itself."""
    generator = np.random.default_rng(0)
    truth, sigma, n_trials = np.array([1.0, -2.0, 0.0, 3.0]), 0.7, 400
    covered, predicted, wide = np.zeros(4), 0, 0
    for _ in range(n_trials):
        rows = generator.standard_normal((12, 3))
        y = rows @ truth[:3] + truth[3] + sigma * generator.standard_normal(12)
        model = BayesianRegression().fit(rows, y)
        low, high = model.credible_interval(0.8).T
        covered += (low <= truth) & (truth <= high)
        new = generator.standard_normal((1, 3))
        value = (new @ truth[:3])[0] + truth[3] + sigma * generator.standard_normal()
        low, high = model.predictive(new).interval(0.8)
        predicted += int(low[0] <= value <= high[0])
        low, high = model.posterior_sigma2_.interval(0.8)
        wide += int(low <= sigma**2 <= high)
    # Outside of these bounds less than once in a million.
    low, high = stats.binom(n_trials, 0.8).ppf([5e-7, 1 - 5e-7])
    for count in (*covered, predicted, wide):
        assert low <= count <= high


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X[:11], Y[:11], "X has too few rows for a posterior: n_samples = 11, and with 11 coefficients"),
        (np.column_stack([X, X[:, 0] + X[:, 1]]), Y, "X has columns that are combinations of others"),
        (np.column_stack([X, np.full(len(Y), 0.3)]), Y, "X has columns that are constant, as the intercept is: 10"),
        (np.column_stack([X, np.zeros(len(Y))]), Y, "X has columns that are constant, as the intercept is: 10"),
    ],
)
def test_where_there_is_no_posterior(rows, y, message):
    with pytest.raises(ValueError, match=message):
        BayesianRegression().fit(rows, y)


def test_bad_questions_to_the_posterior():
    model = BayesianRegression().fit(X, Y)
    for level in (0.0, 1.0, 2.0, np.nan, "a", [0.9, 0.95], np.array([0.9, 0.95]), None):
        with pytest.raises(ValueError, match="level must be one number between 0 and 1"):
            model.credible_interval(level)
        with pytest.raises(ValueError, match="level must be one number between 0 and 1"):
            model.predictive_interval(X, level)
    for j in (11, -12, 1.5):
        with pytest.raises(ValueError, match="j must be"):
            model.marginal(j)
    for size in (-1, 2.5):
        with pytest.raises(ValueError, match="size"):
            model.sample(size)
    for random_state in ("a", -1, 1.5):
        with pytest.raises(ValueError, match="random_state must be"):
            model.sample(random_state=random_state)
    with pytest.raises(Exception, match="not fitted"):
        BayesianRegression().sample()


def test_sparse_rows_have_the_same_posterior():
    model, other = BayesianRegression().fit(X, Y, WEIGHTS), BayesianRegression().fit(sp.csr_array(X), Y, WEIGHTS)
    np.testing.assert_allclose(other.credible_interval(), model.credible_interval(), rtol=1e-9)
    np.testing.assert_allclose(other.predictive(sp.csr_array(X)).std(), model.predictive(X).std(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_columns_of_very_different_size_are_no_obstacle():
    factors = np.logspace(-8, 8, 10)
    plain, scaled = BayesianRegression().fit(X, Y), BayesianRegression().fit(X * factors, Y)
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-8)
    assert scaled.s2_ == pytest.approx(plain.s2_, rel=1e-10)


EVERY_KIND = [Ridge(0.0), Ridge(2.0), Lasso(5.0, tol=1e-9), BayesianRegression()]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("model", EVERY_KIND, ids=str)
def test_columns_far_from_zero_are_no_obstacle(model, form):
    rows, y = random_regression(3, n=300, d=5)
    rows = np.round(rows * 1024)
    near = clone(model).fit(rows, y)
    far = clone(model).fit(form(rows + np.array([0.0, 2.0**20, 0.0, -(2.0**22), 0.0])), y)
    assert far.status_ is Status.SOLVED
    assert far.certificate_.relative <= 1e-8
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6, atol=1e-9)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("model", EVERY_KIND, ids=str)
def test_certificates_hold_and_are_narrow_where_columns_are_of_very_different_size(model):
    rows, y = random_regression(4, n=300, d=5)
    model = clone(model).set_params(**({"tol": 1e-5} if "tol" in model.get_params() else {}))
    model.fit(rows * [1e-8, 1e-4, 1.0, 1e4, 1e8], y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-5


def test_least_squares_of_any_scale_loses_the_same():
    rows, y = random_regression(5, n=100, d=5)
    rows = np.column_stack([rows, rows[:, 0] - rows[:, 1], np.full(100, 0.1), np.zeros(100)])
    plain = Ridge(0.0).fit(rows, y)
    scaled = Ridge(0.0).fit(rows * [1e-8, 1.0, 1e8, 1e-4, 1e4, 1.0, 1e6, 1.0], y)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert scaled.coef_[-2:].tolist() == plain.coef_[-2:].tolist() == [0.0, 0.0]


def test_least_squares_proves_something_where_zero_is_best():
    model = Ridge(0.0).fit([[-1.0], [-1.0], [1.0], [1.0]], [1.0, -1.0, 1.0, -1.0])
    assert model.coef_.tolist() == [0.0]
    assert model.certificate_.relative < 1e-9
    assert model.certificate_.radius > 16.0


@pytest.mark.parametrize("kind", [Ridge, Lasso])
def test_targets_without_errors_are_solved_and_large_means_hide_none(kind):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 3))
    model = kind(1.0).fit(points, np.zeros(50))
    assert model.status_ == "solved"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = kind(1.0).fit(points, points @ [1.0, 2.0, 0.0] + rng.standard_normal(50) + 1e11)
    assert model.status_ != "solved" or model.certificate_.relative <= model.tol


# The posterior where much cancels, against exact arithmetic.


def solved_exactly(matrix, right):
    """The solution of a positive definite system, and the determinant of its matrix, in fractions."""
    rows, det = [[*row, value] for row, value in zip(matrix, right, strict=True)], Fraction(1)
    for i, row in enumerate(rows):
        det *= row[i]
        rows[i] = row = [value / row[i] for value in row]
        for k, other in enumerate(rows):
            if k != i:
                rows[k] = [value - other[i] * pivot for value, pivot in zip(other, row, strict=True)]
    return [row[-1] for row in rows], det


def logarithm(value):
    return math.log(value.numerator) - math.log(value.denominator)


class ExactPosterior:
    """The posterior of floats taken as they are, in fractions."""

    def __init__(self, points, targets):
        self.rows = [[*map(Fraction, row), Fraction(1)] for row in np.asarray(points).tolist()]
        targets = [Fraction(value) for value in np.asarray(targets).tolist()]
        self.p, self.nu = len(self.rows[0]), len(targets) - len(self.rows[0])
        columns = list(zip(*self.rows, strict=True))
        self.gram = [[self.dot(one, other) for other in columns] for one in columns]
        self.beta, self.det = solved_exactly(self.gram, [self.dot(one, targets) for one in columns])
        residuals = [y - self.dot(row, self.beta) for row, y in zip(self.rows, targets, strict=True)]
        self.s2 = self.dot(residuals, residuals) / self.nu

    @staticmethod
    def dot(one, other):
        return sum(a * b for a, b in zip(one, other, strict=True))

    def scale(self, x, plus=0):
        """The root of s² (plus + x' (X'X)^-1 x)."""
        return math.sqrt(self.s2 * (plus + self.dot(x, solved_exactly(self.gram, x)[0])))

    def logpdf(self, x):
        away = [Fraction(value) - b for value, b in zip(x.tolist(), self.beta, strict=True)]
        steps = self.dot(away, [self.dot(row, away) for row in self.gram]) / self.s2
        half = (self.nu + self.p) / 2
        return (
            math.lgamma(half)
            - math.lgamma(self.nu / 2)
            - self.p / 2 * math.log(self.nu * math.pi)
            - (self.p * logarithm(self.s2) - logarithm(self.det)) / 2
            - half * math.log1p(steps / self.nu)
        )


def hard_posterior(kind):
    generator = np.random.default_rng(0)
    points = generator.standard_normal((31, 3))
    if kind == "years":
        points = np.arange(1990.0, 2021.0)[:, None]
    elif kind == "times":
        points = np.round(1.7e9 + 1e4 * points)
    elif kind == "sizes":
        points *= [1e-6, 1.0, 1e6]
    elif kind == "sizes, far off":
        points = points * [1e-6, 1.0, 1e6] + [1e-3, 2000.0, -1e9]
    else:
        points[:, 2] = points[:, 1] + 1e-6 * points[:, 2]
        points += 1e4
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    return points, scaled.sum(axis=1) + generator.standard_normal(31)


HARD = ["years", "times", "sizes", "sizes, far off", "nearly combinations"]


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("kind", HARD)
def test_posteriors_in_which_much_cancels_are_exact(kind):
    points, targets = hard_posterior(kind)
    model, exact = BayesianRegression().fit(points, targets), ExactPosterior(points, targets)
    # What rounding does to the means of such columns, in units of the least spread of a combination of them.
    off = 1e-6 if kind == "nearly combinations" else 1e-11
    assert model.s2_ == pytest.approx(float(exact.s2), rel=off)
    unit_rows = [[Fraction(int(i == j)) for i in range(exact.p)] for j in range(exact.p)]
    for j, unit in enumerate(unit_rows):
        marginal, scale = model.marginal(j), exact.scale(unit)
        assert float(Fraction(float(marginal.mean())) - exact.beta[j]) == pytest.approx(0.0, abs=off * scale)
        assert marginal.kwds["scale"] == pytest.approx(scale, rel=off)
        ends = float(exact.beta[j]) + scale * stats.t(exact.nu).ppf([0.05, 0.95])
        np.testing.assert_allclose(model.credible_interval(0.9)[j], ends, rtol=0.0, atol=3 * off * scale)
        assert np.sqrt(model.posterior_scale_[j, j]) == pytest.approx(scale, rel=off)
    new = points[:3] + 2.0 * points.std(axis=0)
    scales = [exact.scale([*map(Fraction, row), Fraction(1)], plus=1) for row in new.tolist()]
    np.testing.assert_allclose(model.predictive(new).kwds["scale"], scales, rtol=off)
    joint = model.posterior_coef_
    assert isinstance(joint, type(stats.multivariate_t()))
    draws = joint.rvs(5, random_state=0)
    for x in (joint.loc, *draws):
        assert joint.logpdf(x) == pytest.approx(exact.logpdf(x), abs=1e3 * off)
        assert joint.pdf(x) == pytest.approx(math.exp(exact.logpdf(x)), rel=1e3 * off)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 3])
def test_the_joint_posterior_is_that_of_scipy(fit_intercept, d):
    rows, y = random_regression(0, n=30, d=d)
    model = BayesianRegression(fit_intercept=fit_intercept).fit(rows + 1.0, y)
    ours, p = model.posterior_coef_, d + fit_intercept
    scipys = stats.multivariate_t(ours.loc, model.posterior_scale_, ours.df)
    assert isinstance(ours, type(scipys))
    assert (ours.dim, ours.df) == (p, model.degrees_of_freedom_)
    np.testing.assert_array_equal(ours.shape, scipys.shape)
    generator = np.random.default_rng(0)
    for shape in [(p,), (4, p), (2, 3, p), (), *([(5,)] if p == 1 else [])]:
        x = ours.loc[0] + 0.1 * generator.standard_normal(shape)
        assert np.shape(ours.logpdf(x)) == np.shape(scipys.logpdf(x))
        np.testing.assert_allclose(ours.logpdf(x), scipys.logpdf(x), rtol=1e-10)
        np.testing.assert_allclose(ours.pdf(x), scipys.pdf(x), rtol=1e-10)
    assert ours.entropy() == pytest.approx(float(scipys.entropy()), rel=1e-12)
    at = ours.loc + 0.1
    assert ours.cdf(at, random_state=0) == pytest.approx(scipys.cdf(at, random_state=0), rel=1e-9)
    for size in (1, 3, (2, 3)):
        assert np.shape(ours.rvs(size, random_state=0)) == np.shape(scipys.rvs(size, random_state=0))
    draws = ours.rvs(20_000, random_state=np.random.default_rng(0)).reshape(-1, p)
    for j in range(p):
        assert stats.kstest(draws[:, j], model.marginal(j).cdf).pvalue > 1e-6
    steps = np.linalg.solve(model.posterior_scale_, (draws - ours.loc).T)
    assert stats.kstest((steps.T * (draws - ours.loc)).sum(axis=1) / p, stats.f(p, ours.df).cdf).pvalue > 1e-6
    last = ours.marginal(-1)
    assert last.logpdf(0.3) == pytest.approx(model.marginal(-1).logpdf(0.3), rel=1e-10)
    if p > 2:
        theirs = stats.multivariate_t(ours.loc[[2, 0]], ours.shape[[2, 0]][:, [2, 0]], ours.df)
        assert ours.marginal([2, 0]).logpdf([0.1, 0.2]) == pytest.approx(theirs.logpdf([0.1, 0.2]), rel=1e-10)
    for dimensions in (p, -p - 1, [0, 0], 0.5, "a"):
        with pytest.raises(ValueError, match="dimensions must be"):
            ours.marginal(dimensions)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_the_joint_posterior_of_years_has_a_cdf_and_that_of_times_says_why_not():
    joint = BayesianRegression().fit(*hard_posterior("years")).posterior_coef_
    draws = joint.rvs(100_000, random_state=0)
    at = joint.loc + np.array([0.01, 1.0])
    assert joint.cdf(at, random_state=0) == pytest.approx((draws <= at).all(axis=1).mean(), abs=0.01)
    points, targets = hard_posterior("times")
    joint = BayesianRegression().fit(points[:, :1] + 1e10, targets).posterior_coef_
    with pytest.raises(ValueError, match="cdf cannot be computed, since the scale is nearly singular"):
        joint.cdf(joint.loc)
    assert joint.marginal(1).cdf(joint.loc[1:]) == pytest.approx(0.5, abs=1e-3)


# Targets that do not scatter, and columns that only rounding keeps apart.


@pytest.mark.parametrize("offset", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("slopes", [[0.0, 0.0, 0.0], [1.0, 1e-3, 0.3]])
def test_targets_that_do_not_scatter_have_coefficients_but_no_posterior(slopes, offset):
    points = np.random.default_rng(0).standard_normal((50, 3))
    points[:, 1] += 2000.0
    model = BayesianRegression().fit(points, points @ slopes + offset)
    assert model.s2_ == 0.0
    assert model.status_ == "solved"
    np.testing.assert_allclose(model.predict(points), points @ slopes + offset, rtol=1e-9, atol=1e-12)
    for question in (
        lambda: model.posterior_coef_,
        lambda: model.posterior_sigma2_,
        lambda: model.posterior_scale_,
        lambda: model.marginal(0),
        lambda: model.credible_interval(),
        lambda: model.sample(),
        lambda: model.predictive(points),
        lambda: model.predictive_interval(points),
        lambda: model.predict(points, return_std=True),
    ):
        with pytest.raises(ValueError, match="no proper posterior: y is a linear function of X"):
            question()


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_scatter_that_is_small_but_no_rounding_has_a_posterior():
    points, targets = hard_posterior("times")
    noise = targets - BayesianRegression().fit(points, targets).predict(points)
    drift = BayesianRegression().fit(points, points @ [1.0, 2.0, 3.0] + 1e-3 * noise)
    assert drift.s2_ == pytest.approx(1e-6 * noise @ noise / drift.degrees_of_freedom_, rel=1e-2)
    assert drift.credible_interval().shape == (4, 2)


@pytest.mark.parametrize("far", [0.0, 2000.0, 1e5, 1e9])
def test_columns_that_only_rounding_keeps_apart_are_refused(far):
    generator = np.random.default_rng(0)
    first, y = far + 10.0 * generator.standard_normal(200), generator.standard_normal(200)
    for second in (2.0 * first + 0.3, first / 3.0, 7.0 - first):
        with pytest.raises(ValueError, match="columns that are combinations of others"):
            BayesianRegression().fit(np.column_stack([first, second]), y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_few_rows_of_large_weights_are_few_rows(fit_intercept):
    rows, y = random_regression(0, n=3, d=5)
    with pytest.raises(ValueError, match="columns that are combinations of others"):
        BayesianRegression(fit_intercept=fit_intercept).fit(rows + 1e4, y, [10.0, 10.0, 10.0])


def test_a_posterior_is_solved_only_where_that_is_proven():
    for case in ("years", "sizes"):
        points, targets = hard_posterior(case)
        model = BayesianRegression().fit(points, targets)
        assert model.status_ == "solved"
        assert model.certificate_.relative <= 1e-6
    # Columns that are nearly the same have huge coefficients, and rounding errors are bounded for such.
    points, targets = random_regression(0, n=100, d=2)
    points[:, 1] = points[:, 0] + 1e-9 * points[:, 1]
    with pytest.warns(LimitWarning, match="nearly combinations"):
        model.fit(points, targets)
    assert model.status_ == "stalled"
    assert model.certificate_.relative > 1e-6


def test_predictive_intervals_are_those_of_the_predictive_distribution():
    model = BayesianRegression().fit(X, Y)
    for level in (0.5, 0.95):
        np.testing.assert_allclose(
            model.predictive_interval(X[:5], level), np.transpose(model.predictive(X[:5]).interval(level)), rtol=1e-12
        )
    assert model.predictive_interval(sp.csr_array(X[:5])).shape == (5, 2)
