"""Margin brackets: true in exact arithmetic, and refused where something was changed."""

import pickle
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from maxmargin import (
    CertificateError,
    LinearSVC,
    MarginBracket,
    MarginPerceptron,
    MistakeBound,
    NotSeparableError,
    Perceptron,
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


@pytest.mark.parametrize("radius", [1.0, 1e6])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": 4e-10}, "separates"),
        ({"lower": 1e-300}, "separates"),
        ({"upper": 0.0}, "upper"),
        ({"upper": 4.99e-10}, "upper"),
        ({"upper": 1e-300}, "upper"),
        ({"hulls_meet": True}, "hulls meet"),
        ({"radius": 0.9}, "radius"),
    ],
)
def test_a_claim_that_is_small_beside_the_radius_is_refused(change, message, radius):
    def scaled(**numbers):
        return {name: value if isinstance(value, bool) else value * radius for name, value in numbers.items()}

    proven = MarginBracket(space="x", **scaled(lower=-1e-12, upper=5e-10, radius=1.0))
    replace(proven).check(proven)
    with pytest.raises(CertificateError, match=message):
        replace(proven, **scaled(**change)).check(proven)
    # Weaker claims follow.
    replace(proven, **scaled(lower=-1.0, upper=0.5)).check(proven)


def test_a_margin_is_compared_with_itself():
    proven = MarginBracket(1e-6, 2e-6, 1.0, "x")
    for change in ({"lower": 1e-6 + 1e-10}, {"upper": 2e-6 - 1e-10}):
        with pytest.raises(CertificateError):
            replace(proven, **change).check(proven)


@pytest.mark.parametrize("seed", range(5))
def test_brackets_of_dense_rows_prove_those_of_sparse_rows_and_the_other_way_round(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 400)) * (rng.random((60, 400)) < 0.05) * 1e3
    y = rng.integers(0, 2, 60)
    for model in (Perceptron(max_iter=20), MarginPerceptron(max_iter=3), LinearSVC(C=np.inf, max_iter=2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
        for fitted in (dense, sparse):
            for rows in (X, sp.csr_array(X)):
                fitted.certificate_.check(certify(fitted, rows, y))


def test_a_mistake_bound_without_a_deficit_is_refused_where_there_is_one():
    bracket = MarginBracket(0.5, 1.0, 1.0, "x")
    proven = MistakeBound(1, 4.0, 0.5, 1e-301, 1.0, 5, bracket)
    with pytest.raises(CertificateError, match="deficit"):
        replace(proven, deficit=0.0).check(proven)


def test_scores_that_are_small_beside_their_points_count():
    """A score below 1e-300 of a row of 1e100 is a distance of 1e-250 where the coefficients are small, too."""
    tiny = [0.0, 2e-102, 3e-160, 4e-169, 5e-129, 6e-88, 7e-150, 7e-74, 8e-57, 9e-179]
    X = np.column_stack([tiny, tiny, np.full(10, 1e100)])
    y = np.array([False, True, False, True, True, True, False, True, True, True])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MarginPerceptron(max_iter=1000, normalize=True, random_state=1).fit(X, y)
    w, b = [Fraction(value) for value in model.coef_[0].tolist()], Fraction(float(model.intercept_[0]))
    lower, square = Fraction(model.certificate_.lower), sum(value * value for value in w) + b * b
    for row, sign in zip(X.tolist(), np.where(y, 1, -1).tolist(), strict=True):
        point = [Fraction(value) for value in row]
        score = sign * (sum(v * x for v, x in zip(w, point, strict=True)) + b)
        squares = square * (sum(x * x for x in point) + 1)
        # lower <= score/(|w| |x|)
        if score < 0:
            assert lower < 0
            assert lower**2 * squares >= score**2
        else:
            assert lower <= 0 or lower**2 * squares <= score**2
