"""Gaps of ridge and lasso: true in exact arithmetic, and refused where something was changed."""

import dataclasses
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

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
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors
from regression_cases import EVERY_KIND, WEIGHTS, X, Y, random_regression


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
    model = Ridge(lam=lam, fit_intercept=fit_intercept, tol=1e-300)
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
    model = Lasso(lam=lam, fit_intercept=fit_intercept, tol=1e-12, max_iter=rounds)
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


def test_deviations_that_cancel_prove_nothing():
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


MODELS = {
    "ridge": (Ridge(lam=1.0), RidgeGap),
    "least squares": (Ridge(lam=0.0), RidgeGap),
    "lasso": (Lasso(lam=20.0), LassoGap),
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
    assert "among standardised coefficients of norm up to" in str(Ridge(lam=0.0).fit(X, Y).certificate_)
    assert "5 coefficients are zero in every optimum" in str(Lasso(lam=100.0).fit(X, Y).certificate_)


def test_a_wrong_model_has_a_wide_but_true_gap():
    errors = SquaredErrors(Points(X), Y, None, True)
    best = Ridge(lam=1.0).fit(X, Y).certificate_
    for b in (0.0, 152.0, 1e6):
        proof = measure_ridge_gap(RidgeProblem(errors, 1.0), np.full(10, 30.0), b)
        assert 0.0 <= proof.dual <= best.primal <= proof.primal
        assert proof.relative > 1e-3


@pytest.mark.parametrize("model", EVERY_KIND, ids=str)
def test_certificates_hold_and_are_narrow_where_columns_are_of_very_different_size(model):
    rows, y = random_regression(4, n=300, d=5)
    model = clone(model).set_params(**({"tol": 1e-5} if "tol" in model.get_params() else {}))
    model.fit(rows * [1e-8, 1e-4, 1.0, 1e4, 1e8], y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-5


def test_least_squares_proves_something_where_zero_is_best():
    model = Ridge(lam=0.0).fit([[-1.0], [-1.0], [1.0], [1.0]], [1.0, -1.0, 1.0, -1.0])
    assert model.coef_.tolist() == [0.0]
    assert model.certificate_.relative < 1e-9
    assert model.certificate_.radius > 16.0


def test_products_whose_sign_rounding_hides_count_where_coefficients_are_not_negative():
    """A product that is computed below zero is above it by a finer computation: it takes the dual value down."""
    rows = [
        [1.5453631924112559e100, -2.340558817235443e99, -2.340558822670933e99],
        [-9.307224140875163e99, -4.619877432517123e99, -4.619877397786193e99],
        [2.174109360290617e100, -7.326542836436753e99, -7.326542803625789e99],
        [-1.2612278331064651e100, 2.7894725249499343e99, 2.789472530279243e99],
        [9.068673494941193e98, -2.1878619706465046e99, -2.1878620187890247e99],
        [2.476228435973629e99, -1.1383733774347237e99, -1.1383733670348318e99],
    ]
    targets = [
        -0.8410193614356731,
        -0.28103928340991624,
        1.622470667091484,
        1.1509052672784408,
        0.16658635472433012,
        0.8098854626516115,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = Ridge(positive=True, max_iter=100).fit(sp.csr_array(rows), targets)
    point = [Fraction(float(value)) for value in model._dual_point]
    alpha = [value - sum(point) / len(point) for value in point]
    gain = sum(a * Fraction(y) for a, y in zip(alpha, targets, strict=True))
    products = [
        max(0, sum(a * Fraction(x) for a, x in zip(alpha, column, strict=True))) for column in zip(*rows, strict=True)
    ]
    exact = gain**2 / (2 * (sum(a * a for a in alpha) + sum(v * v for v in products)))
    assert 0 < model.certificate_.dual <= exact
