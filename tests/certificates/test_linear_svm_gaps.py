"""Gaps of linear support vector machines: true in exact arithmetic, and refused where something was changed."""

import dataclasses
import math
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import textbook
from linear_svm_cases import CLASSIFIER_LOSSES, REGRESSION_LOSSES, both_solvers, data_of, every_loss, machine
from maxmargin import (
    SVC,
    SVR,
    CertificateError,
    ClassificationGap,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    RegressionGap,
    certify,
)
from real_data import load, random_set, signs_of


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    loss=st.sampled_from(CLASSIFIER_LOSSES + REGRESSION_LOSSES),
    epsilon=st.sampled_from([0.0, 0.3]),
    scaling=st.sampled_from([None, 0.0, 1.0, 3.0]),
    noise=st.sampled_from([0.0, 0.3]),
    weighted=st.booleans(),
    solver=st.sampled_from(["newton", "coordinate"]),
)
def test_the_gap_is_true_in_rational_arithmetic(seed, C, loss, epsilon, scaling, noise, weighted, solver):
    """Primal of the model and dual of its repaired duals, without any rounding, lie within what is stated.

    ``scaling`` is that of a penalised intercept; 0 for none, and None for a free one.
    """
    X, y = random_set(seed, n=8, d=3, noise=noise)
    is_classifier = loss in CLASSIFIER_LOSSES
    generator = np.random.default_rng(seed)
    y = y if is_classifier else X @ [1.0, -0.7, 0.1] + generator.standard_normal(8)
    weights = generator.choice([0.0, 0.1, 1.0, 2.5], 8) if weighted else np.ones(8)
    weights[:2] = 1.0
    parameters = {} if is_classifier else {"epsilon": epsilon}
    if scaling is not None:
        parameters |= (
            {"penalize_intercept": True, "intercept_scaling": scaling} if scaling else {"fit_intercept": False}
        )
    model = machine(loss, C=C, tol=1e-3, solver=solver, random_state=0, **parameters)
    proof = model.fit(X, y, sample_weight=weights if weighted else None).certificate_

    w, b = [Fraction(v) for v in model.coef_.ravel()], Fraction(model.intercept_[0])
    rows = [[Fraction(v) for v in row] for row in X]
    targets, prices = [Fraction(v) for v in y.tolist()], [Fraction(C) * Fraction(m) for m in weights]
    tube = Fraction(0 if is_classifier else epsilon)
    scores = [sum(a * c for a, c in zip(row, w, strict=True)) + b for row in rows]
    if is_classifier:
        excess = [1 - t * f for t, f in zip(targets, scores, strict=True)]
    else:
        excess = [abs(t - f) - tube for t, f in zip(targets, scores, strict=True)]
    power = 2 if "squared" in loss else 1
    losses = sum(p * max(Fraction(0), v) ** power for p, v in zip(prices, excess, strict=True))
    of_intercept = (b / Fraction(scaling)) ** 2 / 2 if scaling else Fraction(0)
    primal = sum(v * v for v in w) / 2 + of_intercept + losses
    assert primal <= Fraction(proof.primal)

    beta = [Fraction(v) for v in model.dual_coef_[0]]
    if is_classifier:
        beta = [v if v * t > 0 else Fraction(0) for v, t in zip(beta, targets, strict=True)]
    if power == 1:
        beta = [max(-p, min(p, v)) for v, p in zip(beta, prices, strict=True)]
    if scaling is None:
        above, below = sum(v for v in beta if v > 0), -sum(v for v in beta if v < 0)
        up, down = min(above, below) / (above or Fraction(1)), min(above, below) / (below or Fraction(1))
        beta = [v * up if v > 0 else v * down for v in beta]
        assert sum(beta) == 0
    squares = Fraction(0)
    if power == 2:
        assert not any(v for v, p in zip(beta, prices, strict=True) if p == 0)
        squares = sum(v * v / (4 * p) for v, p in zip(beta, prices, strict=True) if p > 0)
    gains = sum(t * v - tube * abs(v) for t, v in zip(targets, beta, strict=True)) - squares
    combined = [sum(v * row[j] for v, row in zip(beta, rows, strict=True)) for j in range(3)]
    dual = gains - sum(v * v for v in combined) / 2
    if scaling:
        dual -= (Fraction(scaling) * sum(beta)) ** 2 / 2
    assert Fraction(proof.dual) <= dual <= primal


@cache
def optimum(loss, intercept=None):
    """The smallest primal value at C = 1, by an interior-point method."""
    X, y = data_of(loss)
    form = {
        "squared": "squared" in loss,
        "epsilon": None if loss in CLASSIFIER_LOSSES else LinearSVR().epsilon,
        "rho": {None: 0.0, "fit_intercept": math.inf, "penalize_intercept": 1.0}[intercept],
    }
    found = textbook.solve(X, y, np.ones(len(y)), **form)
    return textbook.objective(X, y, np.ones(len(y)), found.w, found.b, **form)


@every_loss
@pytest.mark.parametrize("intercept", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
@both_solvers
def test_every_bracket_of_the_history_holds_the_optimum_of_a_qp_solver(loss, intercept, solver):
    X, y = data_of(loss)
    tol = 1e-9 if solver == "newton" else 1e-6
    model = machine(loss, C=1.0, tol=tol, solver=solver, random_state=0, **intercept).fit(X, y)
    history, best = np.array(model.history_), optimum(loss, *intercept)
    assert (history[:, 1] >= best * (1 - 1e-8)).all()
    assert (history[:, 2] <= best * (1 + 1e-8)).all()
    assert history[-1, 1] == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert history[-1, 2] == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert model.certificate_.relative < 2 * tol


@both_solvers
def test_kkt_conditions_and_classes_of_points(solver):
    X, y = load("heart_scale")
    model = LinearSVC(tol=1e-10, solver=solver, random_state=0).fit(X, y)
    alpha, slack = np.abs(model.dual_coef_[0]), model.slack(X, y)
    margins = signs_of(y) * model.decision_function(X)
    assert (margins[alpha == 0] >= 1 - 1e-4).all()
    assert (margins[alpha > 1 - 1e-9] <= 1 + 1e-4).all()
    free = (alpha > 1e-6) & (alpha < 1 - 1e-6)
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-4)
    proof = model.certificate_
    assert isinstance(proof, ClassificationGap)
    assert proof.kkt_violation < 1e-4
    assert proof.outside + proof.on_margin + proof.inside + proof.misclassified == len(y)
    assert proof.misclassified == (slack >= 1).sum()
    assert set(model.support_) == set(np.flatnonzero(alpha))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, atol=1e-4)


@both_solvers
def test_kkt_conditions_of_a_tube(solver):
    X, y = data_of("epsilon_insensitive")
    model = LinearSVR(epsilon=0.3, tol=1e-10, solver=solver, random_state=0).fit(X, y)
    beta, slack = model.dual_coef_[0], model.slack(X, y)
    residuals = y - model.predict(X)
    assert (np.abs(residuals[beta == 0]) <= 0.3 + 1e-4).all()
    assert (residuals[beta > 1 - 1e-9] >= 0.3 - 1e-4).all()
    assert (residuals[beta < 1e-9 - 1] <= 1e-4 - 0.3).all()
    free = (np.abs(beta) > 1e-6) & (np.abs(beta) < 1 - 1e-6)
    np.testing.assert_allclose(residuals[free], 0.3 * np.sign(beta[free]), atol=1e-4)
    proof = model.certificate_
    assert isinstance(proof, RegressionGap)
    assert proof.kkt_violation < 1e-4
    assert proof.within_epsilon + proof.on_boundary + proof.beyond_epsilon == len(y)
    assert proof.beyond_epsilon == (slack > 1e-6).sum()
    assert abs(beta.sum()) < 1e-9
    assert set(model.support_) == set(np.flatnonzero(beta))
    np.testing.assert_allclose(model.coef_, beta @ X, atol=1e-4)


@every_loss
def test_a_changed_model_and_a_tampered_certificate_are_refused(loss):
    X, y = data_of(loss)
    model = machine(loss, tol=1e-6).fit(X, y)
    claimed, proven = model.certificate_, certify(model, X, y)
    claimed.check(proven)
    claimed.check(certify(model, sp.csr_array(X), y))
    counts = {"outside": 2, "misclassified": 0} if loss in CLASSIFIER_LOSSES else {"beyond_epsilon": 0}
    for name, factor in {"primal": 0.999, "dual": 1.001, "kkt_violation": 0.5, **counts}.items():
        value = getattr(claimed, name) * factor
        with pytest.raises(CertificateError):
            dataclasses.replace(claimed, **{name: type(getattr(claimed, name))(value)}).check(proven)
    with pytest.raises(CertificateError, match="does not hold"):
        dataclasses.replace(claimed, dual=claimed.primal * 1.1)
    model.coef_ = model.coef_ * 1.05
    with pytest.raises(CertificateError, match="primal"):
        claimed.check(certify(model, X, y))
    with pytest.raises(ValueError, match="X"):
        certify(model, X[1:], y[1:])


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e20, 1e60, 1e130])
@every_loss
@both_solvers
def test_extreme_scales_end_with_a_true_certificate(size, loss, solver):
    X, y = random_set(0)
    model = machine(loss, max_iter=100, solver=solver).fit(X * size, y)
    assert np.isfinite(model.coef_).all()
    model.certificate_.check(certify(model, X * size, y))


def test_the_history_agrees_with_the_certificate_at_the_finest_gap():
    for seed in range(40):
        X, y = random_set(seed, n=12, d=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            model = LinearSVC(solver="newton", tol=1e-14).fit(X, y)
        proof = model.certificate_
        for _, primal, dual in model.history_:
            assert dual <= proof.primal
            assert proof.dual <= primal


def support_counts(proof):
    """At zero, between and at the bound, as a certificate counts them."""
    if isinstance(proof, RegressionGap):
        return proof.within_epsilon, proof.on_boundary, proof.beyond_epsilon
    return proof.outside, proof.on_margin, proof.inside + proof.misclassified


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e-4])
@pytest.mark.parametrize("kind", ["hinge", "epsilon_insensitive", "squared_hinge", "crammer_singer", "SVC", "SVR"])
def test_the_counts_are_those_of_the_duals(C, size, kind):
    """Whatever C and the size of the rows: the support vectors of a certificate are the rows with a dual."""
    X, y = random_set(3, n=30, d=4, noise=0.1)
    X = size * X
    if kind in ("SVC", "SVR"):
        model = {"SVC": SVC, "SVR": SVR}[kind](kernel="linear", C=C, tol=1e-9, max_iter=20_000)
    elif kind == "crammer_singer":
        y = (X[:, 0] > X[:, 1]) + (X[:, 2] > 0.5 * size) * 1
        model = LinearSVC(multi_class=kind, C=C, tol=1e-9, max_iter=2000, random_state=0)
    else:
        model = machine(kind, C=C, tol=1e-9, max_iter=2000, random_state=0)
    model.fit(X, y)
    duals = np.zeros(len(y))
    if kind in ("SVC", "SVR"):
        duals[model.support_] = np.abs(model.dual_coef_[0])
    else:
        duals = np.abs(model.dual_coef_).max(axis=0)
    n_zero, n_between, n_bound = support_counts(model.certificate_)
    assert n_zero == np.count_nonzero(duals == 0.0)
    assert n_between + n_bound == np.count_nonzero(duals)
    proof = model.certificate_
    if kind != "squared_hinge" and proof.gap <= 1e-9 * abs(proof.dual):
        assert n_bound == np.count_nonzero(duals >= (1.0 - 1e-6) * C)


@pytest.mark.parametrize("C", [0.1, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_points_that_lie_symmetrically_are_on_the_margin(C, scale):
    """Their duals share the largest ratio to C, as those at C do after balancing: the residuals tell them apart."""
    X = scale * np.array([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    found = LinearSVC(C=C / scale**2, loss="hinge", tol=1e-9).fit(X, [0, 0, 1, 1]).certificate_
    assert support_counts(found) == ((0, 0, 4) if C == 0.1 else (0, 4, 0))
    X = np.vstack([X, scale * np.array([[0.5, 9.0], [-0.5, 9.0]])])
    three = LinearSVC(C=C / scale**2, multi_class="crammer_singer", tol=1e-6).fit(X, [0, 0, 1, 1, 2, 2])
    assert (three.certificate_.inside + three.certificate_.misclassified > 0) == (C == 0.1)


def test_the_support_vectors_of_a_wide_set_with_a_large_penalty():
    X, y = load("leu")
    model = LinearSVC(C=1e6, random_state=0).fit(X, y)
    assert support_counts(model.certificate_) == (len(y) - model.support_.size, model.support_.size, 0)
