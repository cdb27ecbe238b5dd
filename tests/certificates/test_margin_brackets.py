"""Margin brackets: true in exact arithmetic, and refused where something was changed."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import (
    CertificateError,
    LinearSVC,
    NotSeparableError,
    Status,
    certify,
    separate,
)
from real_data import load
from separable_sets import kind_of_set, two_sided


def exact_combination(X, weights):
    return [sum(Fraction(float(c)) * Fraction(float(v)) for c, v in zip(weights, col, strict=True)) for col in X.T]


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_brackets_hold_in_exact_arithmetic(seed, fit_intercept):
    kinds = ["margin", "noise", "grid", "contradiction", "touching", "wide"]
    X, y = kind_of_set(kinds[seed % len(kinds)], seed)
    result = separate(X, y, fit_intercept, tol=1e-3)
    exact = separate(X, y, fit_intercept, tol=1e-3, exact=True)
    assert exact.exact
    # A proof is never contradicted by exact arithmetic.
    if result.certificate.separates:
        assert exact.separable is True
    if exact.separable is False:
        assert not result.certificate.separates
    # Hulls that touch are apart or not by the rounding of the points: then a margin of that size may be left.
    if result.separable is False and kinds[seed % len(kinds)] != "touching":
        assert exact.separable is False
    # The upper end, by the hull points themselves, without any rounding.
    side = [np.where(y == sign, result.hull_weights, 0.0) for sign in (1.0, -1.0)]
    total = [sum(Fraction(float(c)) for c in weights) for weights in side]
    ends = [exact_combination(X, weights) for weights in side]
    if fit_intercept:
        way = [a / total[0] - b / total[1] for a, b in zip(*ends, strict=True)]
        squared = sum(entry * entry for entry in way) / 4
    else:
        way = [(a - b) / sum(total) for a, b in zip(*ends, strict=True)]
        squared = sum(entry * entry for entry in way)
    assert squared <= Fraction(result.certificate.upper) ** 2
    # The lower end, by the hyperplane.
    w = [Fraction(float(entry)) for entry in result.coef]
    length_squared = sum(entry * entry for entry in w)
    smallest = min(
        int(sign) * (sum(a * Fraction(float(v)) for a, v in zip(w, row, strict=True)) + Fraction(result.intercept))
        for row, sign in zip(X, y, strict=True)
    )
    if result.certificate.lower > 0:
        assert smallest > 0
        assert smallest * smallest >= Fraction(result.certificate.lower) ** 2 * length_squared


def test_a_perturbed_hard_margin_is_refused():
    X, y = load("sonar_scale")
    model = LinearSVC(C=np.inf).fit(X, y)
    model.coef_ = model.coef_ + 1e-3 * np.abs(model.coef_).max() * np.eye(1, X.shape[1])
    with pytest.raises(CertificateError, match="lower"):
        model.certificate_.check(certify(model, X, y))


def test_data_that_cannot_be_separated_raise_with_the_proof():
    X, y = load("heart_scale")
    with pytest.raises(NotSeparableError, match=r"soft margin, for example LinearSVC\(C=1.0\)") as raised:
        LinearSVC(C=np.inf).fit(X, y)
    assert isinstance(raised.value, ValueError)
    assert raised.value.certificate.upper <= 1e-10 * raised.value.certificate.radius
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.certificate == raised.value.certificate


def test_status_and_decision_agree_with_exact_arithmetic_on_small_integers():
    for seed in range(150):
        generator = np.random.default_rng(seed)
        n, d = int(generator.integers(2, 7)), int(generator.integers(1, 4))
        X = generator.integers(-2, 3, size=(n, d)).astype(float)
        y = np.append([0, 1], generator.integers(0, 2, n - 2))
        for tol in (1.0, 1e-6):
            result, exact = separate(X, y, tol=tol), separate(X, y, tol=tol, exact=True)
            assert result.separable is exact.separable, (seed, tol)
            assert (result.status is Status.NOT_SEPARABLE) == (result.separable is False)
        if exact.separable:
            LinearSVC(C=np.inf, tol=1.0).fit(X, y)
        else:
            with pytest.raises(NotSeparableError):
                LinearSVC(C=np.inf, tol=1.0).fit(X, y)


def test_duals_of_rows_that_changed_their_side_prove_nothing():
    X, y = two_sided(np.random.default_rng(0), 20, 2, 0.1)
    model = LinearSVC(C=np.inf).fit(X, y)
    changed = y.copy()
    changed[model.support_[0]] *= -1
    for labels, weights in ((changed, None), (y, (np.arange(20) != model.support_[0]).astype(float))):
        bracket = certify(model, X, labels, sample_weight=weights)
        rows = slice(None) if weights is None else weights > 0
        best = separate(X[rows], labels[rows])
        assert bracket.upper >= best.certificate.lower
