"""Separability and convex hulls: against a linear program, a QP solver and real data."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin import (
    LimitWarning,
    LinearSVC,
    Status,
    hull_distance,
    separate,
)
from real_data import load, random_set, signs_of
from separable_sets import intercepts, kind_of_set, two_sided


def lp_value(X, y, fit_intercept):
    """The largest t with y (w·x + b) >= t and |w_j| <= 1, by HiGHS."""
    n, d = X.shape
    bias = y[:, None] if fit_intercept else np.zeros((n, 1))
    rows = -np.column_stack([y[:, None] * X, bias, -np.ones(n)])
    bounds = [(-1, 1)] * d + [(None, None), (None, None)]
    return -linprog(np.append(np.zeros(d + 1), -1.0), A_ub=rows, b_ub=np.zeros(n), bounds=bounds).fun


def best_margin(X, y, fit_intercept):
    """The largest margin, by Clarabel on the hard-margin QP; the smallest ||w||."""
    n, d = X.shape
    size = d + int(fit_intercept)
    P = sp.diags([1.0] * d + [0.0] * (size - d)).tocsc()
    A = -(np.column_stack([X, np.ones(n)]) if fit_intercept else X) * y[:, None]
    solver_settings = clarabel.DefaultSettings()
    solver_settings.verbose = False
    solver_settings.tol_gap_abs = solver_settings.tol_gap_rel = solver_settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        P, np.zeros(size), sp.csc_matrix(A), -np.ones(n), [clarabel.NonnegativeConeT(n)], solver_settings
    )
    return 1.0 / np.linalg.norm(np.array(solver.solve().x)[:d])


@intercepts
@pytest.mark.parametrize(
    "kind", ["margin", "noise", "grid", "contradiction", "touching", "repeated", "wide", "constant"]
)
def test_the_decision_is_that_of_a_linear_program(kind, fit_intercept):
    decided = []
    for seed in range(25):
        X, y = kind_of_set(kind, seed)
        result = separate(X, y, fit_intercept)
        value = lp_value(X, y, fit_intercept)
        # Below HiGHS's own tolerance nothing can be said against either.
        if abs(value) > 1e-6:
            assert result.separable is True, (seed, value)
        elif kind != "touching":
            assert result.separable is False, (seed, value, result.certificate)
        decided.append(result.separable)
    if kind in ("margin", "repeated", "constant") and fit_intercept:
        assert all(decided)
    if kind == "contradiction":
        assert not any(decided)


@pytest.mark.parametrize("exponent", range(-9, 1))
def test_small_margins_are_found(exponent):
    for seed in range(8):
        generator = np.random.default_rng(seed)
        X, y = two_sided(generator, 30, 3, 10.0**exponent)
        result = separate(X, y)
        assert result.separable is True
        assert result.certificate.upper >= 10.0**exponent * (1 - 1e-6)
        assert result.certificate.relative <= 1e-6 or exponent < -7


@intercepts
def test_the_largest_margin_is_that_of_a_qp_solver(fit_intercept):
    checked = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        X, y = two_sided(generator, int(generator.integers(6, 60)), int(generator.integers(1, 8)), 0.3)
        result = separate(X, y, fit_intercept, tol=1e-8)
        if not result.separable:
            continue
        best = best_margin(X, y, fit_intercept)
        assert result.certificate.lower <= best * (1 + 1e-6)
        assert result.certificate.upper >= best * (1 - 1e-6)
        assert result.margin == pytest.approx(best, rel=1e-6)
        checked += 1
    assert checked >= 20


@pytest.mark.parametrize("name", ["mushrooms", "sonar_scale", "leu", "colon-cancer"])
def test_real_sets_that_are_separable(name):
    X, y = load(name)
    result = separate(X, y)
    assert result.separable is True
    assert result.certificate.relative <= 1e-6
    assert "A hyperplane separates" in str(result)
    signs = signs_of(y)
    assert np.min(signs * (X @ result.coef + result.intercept)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", ["heart_scale", "ionosphere_scale", "breast-cancer_scale", "a9a"])
def test_real_sets_that_are_not_separable(name):
    X, y = load(name)
    result = separate(X, y)
    assert result.separable is False
    assert result.status is Status.NOT_SEPARABLE
    assert result.certificate.upper <= 1e-10 * result.certificate.radius
    assert "No hyperplane separates" in str(result)
    weights, signs = result.hull_weights, signs_of(y)
    assert np.all(weights >= 0)
    for sign in (1.0, -1.0):
        assert weights[signs == sign].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(X.T @ (weights * signs), 0.0, atol=1e-8)


@intercepts
@pytest.mark.parametrize("name", ["sonar_scale", "heart_scale"])
def test_dense_sparse_and_float32_agree(name, fit_intercept):
    X, y = load(name)
    results = [separate(data, y, fit_intercept) for data in (X, X.toarray(), X.toarray().astype(np.float32))]
    assert len({result.separable for result in results}) == 1
    if results[0].separable:
        for result in results[1:]:
            assert result.margin == pytest.approx(results[0].margin, rel=1e-4)


@pytest.mark.parametrize("name", ["sonar_scale", "heart_scale", "mushrooms"])
def test_the_linear_program_decides_the_same(name):
    X, y = load(name)
    by_program, by_hulls = separate(X, y, tol=1.0, method="linear_program"), separate(X, y, tol=1.0)
    assert by_program.separable == by_hulls.separable
    # Both brackets hold the largest margin.
    assert by_program.certificate.lower <= by_hulls.certificate.upper
    assert by_hulls.certificate.lower <= by_program.certificate.upper


def test_the_same_bits_for_any_number_of_threads():
    X, y = load("mushrooms")
    one, two = separate(X, y, n_jobs=1), separate(X, y, n_jobs=2)
    np.testing.assert_array_equal(one.coef, two.coef)
    np.testing.assert_array_equal(one.hull_weights, two.hull_weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"max_time": -1}, "max_time must be"),
        ({"method": "magic"}, "method must be"),
        ({"method": "linear_program", "tol": 0.1}, "leave tol out"),
        ({"method": "linear_program", "n_jobs": 1}, "leave n_jobs out"),
        ({"tol": True}, "tol must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": "a"}, "n_jobs must be"),
        ({"fit_intercept": "yes"}, "fit_intercept must be"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        separate([[0.0], [1.0]], [0, 1], **options)


def test_data_without_two_classes_or_too_large_for_exactness_are_refused():
    with pytest.raises(ValueError, match="takes exactly two"):
        separate([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="exact=True is for at most"):
        separate(np.random.default_rng(0).normal(size=(300, 100)), [0, 1] * 150, exact=True)


def test_rows_of_zeros_are_ordinary_data():
    assert separate([[0.0, 0.0], [0.0, 0.0]], [0, 1]).separable is False
    assert separate([[0.0, 0.0], [0.0, 1.0]], [0, 1]).separable is True
    assert separate([[0.0, 0.0], [0.0, 1.0]], [0, 1], fit_intercept=False).separable is False


@intercepts
def test_hull_points_are_in_the_hulls_and_nearest(fit_intercept):
    X, y = two_sided(np.random.default_rng(3), 60, 4, 0.4)
    result = hull_distance(X, y, fit_intercept, tol=1e-9)
    assert np.all(result.weights >= 0)
    if fit_intercept:
        for point, sign in zip(result.points, (1.0, -1.0), strict=True):
            own = y == sign
            assert result.weights[own].sum() == pytest.approx(1.0)
            np.testing.assert_allclose(result.weights[own] @ X[own], point, atol=1e-12)
        # The hyperplane through the middle is the best one: no row of a class is nearer than that class's hull point.
        scores = (X @ result.coef + result.intercept) * y
        assert scores.min() == pytest.approx(result.distance**2 / 2, rel=1e-6)
    else:
        np.testing.assert_allclose((result.weights * y) @ X, result.points[0], atol=1e-12)
    times = 2.0 if fit_intercept else 1.0
    assert result.distance == pytest.approx(times * best_margin(X, y, fit_intercept), rel=1e-7)
    assert result.at_least <= result.distance <= result.at_least * (1 + 1e-8)


def test_hulls_that_meet_are_told():
    result = hull_distance([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]], [0, 0, 1, 1])
    assert result.distance <= 1e-10
    assert result.at_least == 0.0
    np.testing.assert_allclose(result.points, [[1.0, 1.0], [1.0, 1.0]], atol=1e-10)
    assert "meet" in str(result)


def test_many_rows_of_few_columns():
    X, y = random_set(8, n=50_000, d=6, noise=0.0)
    result = separate(X, y)
    assert result.separable is True
    assert result.certificate.relative <= 1e-6
    flipped = y.copy()
    flipped[7] = -flipped[7]
    assert separate(X, flipped).separable is False


@pytest.mark.parametrize(("factor", "offset"), [(1e100, 0.0), (1e-100, 0.0), (1e20, 0.0), (1.0, 1e4), (1.0, 1e7)])
def test_scale_and_place_of_the_points_do_not_matter(factor, offset):
    X, y = two_sided(np.random.default_rng(1), 40, 3, 0.45)
    plain = separate(X, y)
    placed = separate(X * factor + offset, y)
    assert placed.separable is True
    assert placed.status is Status.SOLVED
    assert placed.margin == pytest.approx(factor * plain.margin, rel=2e-6)
    model = LinearSVC(C=np.inf, tol=1e-5).fit(X * factor + offset, y)
    assert model.margin_ == pytest.approx(factor * plain.margin, rel=2e-5)


def test_points_far_away_are_not_taken_for_inseparable():
    for X in ([[1.7e12], [1.7e12 + 1]], [[1e12, 0.0], [1e12, 1.0]]):
        result = separate(X, [0, 1])
        assert result.separable is True
        assert result.certificate.upper == pytest.approx(0.5)
    sparse = sp.csr_array(np.column_stack([np.full(40, 1.7e9) + np.arange(40), np.repeat([0.0, 1.0], 20)]))
    assert separate(sparse, np.repeat([0, 1], 20)).separable is True


def test_limits_hold_for_exact_arithmetic_and_hulls():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(400, 40)), generator.integers(0, 2, 400)
    assert separate(X, y, exact=True, max_time=0.5).exact is False
    result = hull_distance(X, y, max_time=1e-9)
    assert result.status is Status.TIME_LIMIT
    assert "not known yet" in str(result)
    with pytest.warns(LimitWarning):
        assert LinearSVC(C=np.inf, max_time=1e-9).fit(X, y).margin_ == 0.0


@intercepts
@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "mushrooms"])
def test_hull_points_need_few_rows(name, fit_intercept):
    X, y = load(name)
    result = hull_distance(X, y, fit_intercept)
    d = X.shape[1]
    assert np.count_nonzero(result.weights) <= (2 if fit_intercept else 1) * (d + 1)
    decided = separate(X, y, fit_intercept)
    assert result.certificate.upper <= decided.certificate.upper * (1 + 1e-9) + 1e-11 * result.certificate.radius
    assert result.status is decided.status
