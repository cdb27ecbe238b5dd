"""Separability, hulls and the hard margin: against a linear program, a QP solver, exact arithmetic and real data."""

import pickle
from fractions import Fraction

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.svm import SVC

from maxmargin import (
    CertificateError,
    LimitWarning,
    LinearSVC,
    MarginBracket,
    NotSeparableError,
    Status,
    certify,
    hull_distance,
    separate,
)
from real_data import load, random_set, signs_of

intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def two_sided(generator, n, d, margin):
    """Points on both sides of a random plane, all at least ``margin`` from it, and some exactly that far."""
    normal = generator.standard_normal(d)
    normal /= np.linalg.norm(normal)
    X = generator.standard_normal((n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    distance = np.where(np.arange(n) % 3 == 0, margin, margin + np.abs(generator.standard_normal(n)))
    X += ((distance * y) - X @ normal)[:, None] * normal
    return X, y


def kind_of_set(kind, seed):
    """Sets near the border of separability."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(4, 40)), int(generator.integers(1, 6))
    if kind == "margin":
        return two_sided(generator, n, d, 10.0 ** generator.uniform(-5, 0))
    if kind == "noise":
        return generator.standard_normal((n, d)), np.where(generator.permutation(n) % 2 == 0, 1.0, -1.0)
    if kind == "grid":
        return generator.integers(-2, 3, size=(n, d)).astype(float), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    if kind == "contradiction":
        X, y = two_sided(generator, n, d, 0.5)
        return np.vstack([X, X[:1]]), np.append(y, -y[0])
    if kind == "touching":
        X, y = two_sided(generator, n, d, 0.0)
        return X, y
    if kind == "repeated":
        X, y = two_sided(generator, n, d, 0.1)
        return np.vstack([X, X, X]), np.tile(y, 3)
    if kind == "wide":
        return generator.standard_normal((8, 20)), np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    X, y = two_sided(generator, n, d, 0.01)
    return np.column_stack([X, np.full(len(X), 7.0)]), y


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


def exact_combination(X, weights):
    return [sum(Fraction(float(c)) * Fraction(float(v)) for c, v in zip(weights, col, strict=True)) for col in X.T]


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
        assert result.certificate.lower <= result.certificate.upper
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
    # The lower end, by the plane.
    w = [Fraction(float(entry)) for entry in result.coef]
    length_squared = sum(entry * entry for entry in w)
    smallest = min(
        int(sign) * (sum(a * Fraction(float(v)) for a, v in zip(w, row, strict=True)) + Fraction(result.intercept))
        for row, sign in zip(X, y, strict=True)
    )
    if result.certificate.lower > 0:
        assert smallest > 0
        assert smallest * smallest >= Fraction(result.certificate.lower) ** 2 * length_squared


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
    by_program = separate(X, y, tol=1.0, method="linear_program")
    assert by_program.separable == separate(X, y, tol=1.0).separable
    assert by_program.certificate.lower <= by_program.certificate.upper


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
        # The plane through the middle is the best one: no row of a class is nearer than that class's hull point.
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


@intercepts
@pytest.mark.parametrize("name", ["sonar_scale", "leu", "colon-cancer"])
def test_the_hard_margin_is_that_of_infinite_price(name, fit_intercept):
    X, y = load(name)
    if separate(X, y, fit_intercept, tol=1.0).separable is False:
        assert name == "sonar_scale"
        with pytest.raises(NotSeparableError):
            LinearSVC(C=np.inf, fit_intercept=fit_intercept).fit(X, y)
        return
    model = LinearSVC(C=np.inf, tol=1e-8, fit_intercept=fit_intercept).fit(X, y)
    assert isinstance(model.certificate_, MarginBracket)
    assert model.certificate_.relative <= 1e-8
    assert model.margin_ == pytest.approx(model.certificate_.lower, rel=1e-7)
    assert model.score(X, y) == 1.0
    assert model.slack(X, y).max() <= 1e-6
    model.certificate_.check(certify(model, X, y))
    # Support vectors lie on the street's edge.
    scores = signs_of(y) * model.decision_function(X)
    np.testing.assert_allclose(scores[model.support_], 1.0, atol=1e-4)
    if fit_intercept:
        rival = SVC(kernel="linear", C=1e10, tol=1e-8).fit(X.toarray(), y)
        # LIBSVM is not exact at such a C.
        assert model.margin_ == pytest.approx(1 / np.linalg.norm(rival.coef_), rel=1e-3)


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


def test_several_classes_name_the_one_that_cannot_be_separated():
    X = [[0.0], [1.0], [2.0], [0.1], [1.1], [2.1]]
    with pytest.raises(NotSeparableError, match="class b against the rest"):
        LinearSVC(C=np.inf).fit(X, ["a", "b", "c"] * 2)


def test_a_failed_fit_leaves_the_last_one():
    X, y = load("heart_scale")
    model = LinearSVC().fit(X, y)
    before = model.coef_.copy()
    model.C = np.inf
    with pytest.raises(NotSeparableError):
        model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "coordinate"},
        {"multi_class": "crammer_singer"},
        {"penalize_intercept": True},
        {"selection": "greedy"},
    ],
)
def test_what_has_no_meaning_for_the_hard_margin_is_refused(options):
    with pytest.raises(ValueError, match=f"C=inf.*{next(iter(options))}"):
        LinearSVC(C=np.inf, **options).fit([[0.0], [1.0]], [0, 1])


def test_rows_of_weight_zero_do_not_count_and_others_count_the_same():
    X, y = two_sided(np.random.default_rng(0), 40, 3, 0.3)
    spoiled, labels = np.vstack([X, X[:1]]), np.append(y, -y[0])
    weights = np.append(np.linspace(0.5, 2.0, 40), 0.0)
    plain = LinearSVC(C=np.inf).fit(X, y)
    weighted = LinearSVC(C=np.inf).fit(spoiled, labels, sample_weight=weights)
    assert weighted.margin_ == pytest.approx(plain.margin_, rel=1e-4)


def test_a_limit_is_told_with_the_bracket():
    X, y = load("sonar_scale")
    with pytest.warns(LimitWarning, match="max_iter"):
        model = LinearSVC(C=np.inf, tol=1e-8, max_iter=3).fit(X, y)
    assert model.status_ is Status.ITERATION_LIMIT
    result = separate(X, y, max_time=1e-9)
    assert result.separable is None
    assert result.status is Status.TIME_LIMIT
    assert "Not decided" in str(result)


def test_a_warm_start_goes_on():
    X, y = load("mushrooms")
    model = LinearSVC(C=np.inf, tol=1e-6, warm_start=True).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < first
    assert model.certificate_.relative <= 1e-6


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


def test_a_margin_near_rounding_is_not_taken_for_none():
    result = separate([[0.0], [1e-13], [1.0]], [0, 1, 1])
    assert result.separable is True
    assert result.status is not Status.NOT_SEPARABLE
    with pytest.warns(LimitWarning):
        assert LinearSVC(C=np.inf).fit([[0.0], [1e-13], [1.0]], [0, 1, 1]).status_ is Status.STALLED


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
