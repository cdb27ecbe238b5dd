"""Logistic regression: agreement with scikit-learn, the gradient step, and data without a minimum."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Rival
from sklearn.preprocessing import scale

from logistic_cases import noisy, value
from maxmargin import CertificateError, LimitWarning, LogisticRegression, Status, certify

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
SIGNS = np.where(Y == 1, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_it_agrees_with_scikit_learn(C, fit_intercept, make):
    ours = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10).fit(make(X), Y)
    rival = Rival(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000, solver="newton-cholesky").fit(X, Y)
    np.testing.assert_allclose(ours.coef_, rival.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), rival.predict_proba(X), rtol=1e-4, atol=1e-6)
    assert ours.objective_ == pytest.approx(value(ours.coef_[0], ours.intercept_[0], X, SIGNS, C), rel=1e-10)


def test_without_a_penalty_it_agrees_with_a_general_minimiser():
    points, labels = noisy()
    signs = np.where(labels == 1, 1.0, -1.0)
    ours = LogisticRegression(C=float("inf"), tol=1e-8).fit(points, labels)
    found = minimize(
        lambda v: np.logaddexp(0.0, -signs * (points @ v[:-1] + v[-1])).sum(), np.zeros(5), options={"gtol": 1e-8}
    )
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), found.x, rtol=1e-4, atol=1e-5)
    assert ours.status_ is Status.SOLVED
    assert ours.certificate_.reach > 9.0 * np.linalg.norm(ours.coef_)


def test_the_gradient_step_is_the_lectures():
    points, labels = noisy(40, 3)
    signs, size = np.where(labels == 1, 1.0, -1.0), 0.01
    w, b = np.zeros(3), 0.0
    for _ in range(7):
        derivatives = signs / (1.0 + np.exp(signs * (points @ w + b)))
        w, b = w + size * derivatives @ points, b + size * derivatives.sum()
    with pytest.warns(LimitWarning, match="max_iter"):
        model = LogisticRegression(C=float("inf"), solver="gradient", step_size=size, max_iter=7).fit(points, labels)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-12)


@pytest.mark.parametrize("C", [0.3, math.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_safe_steps_lower_the_objective_every_time(C, make):
    points, labels = noisy(150, 5, seed=3)
    points = points * [1.0, 10.0, 0.1, 3.0, 1.0] + 2.0
    with pytest.warns(LimitWarning):
        model = LogisticRegression(C=C, solver="gradient", max_iter=60).fit(make(points), labels)
    values = [primal for _, primal, _ in model.history_]
    assert len(values) > 50
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_gradient_steps_reach_the_same_coefficients_as_newtons():
    gradient = LogisticRegression(C=0.1, solver="gradient", tol=1e-8).fit(X, Y)
    newton = LogisticRegression(C=0.1, tol=1e-11).fit(X, Y)
    assert gradient.status_ is Status.SOLVED
    assert gradient.n_iter_ > 20 * newton.n_iter_
    np.testing.assert_allclose(gradient.coef_, newton.coef_, atol=1e-3)


@pytest.mark.parametrize("C", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("shift", [0.0, 10.0, 1e4])
def test_gradient_steps_do_not_wait_for_the_intercept(C, shift):
    points, labels = noisy(200, 3)
    labels[:100] = 1
    gradient = LogisticRegression(C=C, solver="gradient", max_iter=500).fit(points + shift, labels)
    assert gradient.status_ is Status.SOLVED
    assert gradient.objective_ == pytest.approx(LogisticRegression(C=C).fit(points, labels).objective_, rel=1e-4)


@pytest.mark.parametrize("scale_of_scores", [1.0, 1e3, 1e10])
def test_nothing_overflows(scale_of_scores):
    rng = np.random.default_rng(0)
    points = scale_of_scores * rng.standard_normal((60, 3))
    labels = rng.integers(2, size=60)
    with np.errstate(over="raise"):
        model = LogisticRegression(C=1.0, tol=1e-3).fit(points, labels)
        chances = model.predict_proba(points)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(points)), chances, atol=1e-12)


def test_weights_are_repetitions_and_zero_weights_are_absent():
    points, labels = noisy(80, 3, seed=1)
    counts = np.random.default_rng(0).integers(0, 4, size=80)
    for C in (1.0, math.inf):
        weighted = LogisticRegression(C=C, tol=1e-7).fit(points, labels, sample_weight=counts)
        repeated = LogisticRegression(C=C, tol=1e-7).fit(np.repeat(points, counts, axis=0), np.repeat(labels, counts))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
        assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)


def test_more_classes_one_against_the_rest():
    points, labels = load_iris(return_X_y=True)
    model = LogisticRegression(C=1.0, multi_class="ovr").fit(points, labels)
    assert set(model.certificate_) == {0, 1, 2}
    assert model.certificate_.worst.relative <= 1e-4
    for k in range(3):
        alone = LogisticRegression(C=1.0).fit(points, labels == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-9)
    chances = model.predict_proba(points)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(points)).all()


def test_separable_data_have_no_minimum_and_get_their_hyperplane():
    points, labels = load_iris(return_X_y=True)
    with pytest.warns(LimitWarning, match="no minimum"):
        model = LogisticRegression(C=float("inf")).fit(points, labels == 0)
    assert model.status_ is Status.SEPARABLE
    scores = points @ model.coef_[0] + model.intercept_[0]
    margins = np.where(labels == 0, scores, -scores) / np.linalg.norm(model.coef_)
    assert 0.0 < model.certificate_.margin <= margins.min()
    assert model.certificate_.margin == pytest.approx(margins.min(), rel=1e-9)
    assert "separates" in str(model.certificate_)
    np.testing.assert_array_equal(model.separating_coef_, model.coef_)


def test_weakly_separable_data_have_no_minimum_either():
    points, labels = noisy(300, 3, seed=5)
    # A mark that only some points of one class carry.
    marked = np.column_stack([points, (labels == 1) & (points[:, 0] > 0.0)]).astype(float)
    with pytest.warns(LimitWarning, match="no minimum"):
        model = LogisticRegression(C=float("inf")).fit(marked, labels)
    assert model.status_ is Status.SEPARABLE
    scores = marked @ model.separating_coef_[0] + model.separating_intercept_[0]
    margins = np.where(labels == 1, scores, -scores)
    assert margins.min() >= 0.0 < margins.max()
    assert model.certificate_.margin == 0.0
    assert model.certificate_.freed == np.count_nonzero(margins)
    assert "no minimum" in str(model.certificate_)
    # Another hyperplane, which has points on its wrong side, proves nothing.
    model.separating_coef_[0, 0] += 0.001
    assert certify(model, marked, labels).freed == 0
    with pytest.raises(CertificateError, match="freed"):
        model.certificate_.check(certify(model, marked, labels))
    # With a penalty there is a minimum, and a later fit does not keep the hyperplane.
    model.set_params(C=1.0).fit(marked, labels)
    assert model.status_ is Status.SOLVED
    assert not hasattr(model, "separating_coef_")


def test_points_that_no_hyperplane_separates_are_not_called_separable():
    for seed in range(10):
        model = LogisticRegression(C=float("inf")).fit(*noisy(60, 3, seed=seed))
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative <= 1e-4


def test_warm_starts_need_fewer_steps_and_the_same_columns():
    model = LogisticRegression(C=1.0, warm_start=True, tol=1e-8).fit(X, Y)
    cold = model.n_iter_
    model.set_params(C=1.2).fit(X, Y)
    assert model.n_iter_ < cold
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:, :3], Y)


def test_the_result_does_not_depend_on_threads():
    points, labels = noisy(40_000, 20, seed=2)
    models = [LogisticRegression(C=1.0, n_jobs=n).fit(points, labels) for n in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.certificate_ == models[0].certificate_


def test_limits_and_contradictions():
    with pytest.warns(LimitWarning, match="max_iter"):
        model = LogisticRegression(C=1.0, max_iter=1, tol=1e-10).fit(X, Y)
    assert model.status_ is Status.ITERATION_LIMIT
    assert model.certificate_.relative > 1e-10
    with pytest.warns(LimitWarning, match="max_time"):
        LogisticRegression(C=1.0, max_time=1e-9, tol=1e-10).fit(X, Y)
    with pytest.raises(ValueError, match="step_size"):
        LogisticRegression(C=float("inf"), step_size=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="C must"):
        LogisticRegression(C=1e200).fit(X, Y)
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression(C=float("inf")).fit(X, np.ones(len(X)))


@pytest.mark.parametrize("C", [0.1, math.inf])
@pytest.mark.parametrize("shift", [10.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_columns_far_from_zero_are_no_harder(C, shift, make):
    points, labels = noisy(200, 3)
    near = LogisticRegression(C=C, tol=1e-6).fit(points, labels)
    shifted = make(points + np.array([shift, 0.0, -shift]))
    far = LogisticRegression(C=C, tol=1e-6 if shift < 1e7 else 1e-4).fit(shifted, labels)
    assert far.status_ is Status.SOLVED
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-2)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)
    assert far.certificate_.reach == pytest.approx(near.certificate_.reach, rel=1e-3)


def test_one_far_column_among_many_sparse_ones():
    rng = np.random.default_rng(0)
    points = sp.random(600, 3000, density=0.01, rng=rng, format="csr")
    years = rng.integers(1950, 2020, size=(600, 1)).astype(float)
    labels = (0.05 * (years.ravel() - 1985.0) + 3.0 * rng.standard_normal(600) > 0.0).astype(int)
    model = LogisticRegression(C=1.0).fit(sp.hstack([points, years], format="csr"), labels)
    around = LogisticRegression(C=1.0).fit(sp.hstack([points, years - 1985.0], format="csr"), labels)
    assert model.status_ is Status.SOLVED
    assert model.n_iter_ <= around.n_iter_ + 1
    assert model.objective_ == pytest.approx(around.objective_, rel=1e-4)


@pytest.mark.parametrize("sizes", [[1e-4, 1.0, 1e4], [1e8, 1e-8, 1.0], [1e-100] * 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_a_penalty_the_units_of_columns_do_not_matter(sizes, make, fit_intercept):
    points, labels = noisy(200, 3)
    unscaled = LogisticRegression(C=float("inf"), fit_intercept=fit_intercept, tol=1e-6).fit(points, labels)
    scaled = LogisticRegression(C=float("inf"), fit_intercept=fit_intercept, tol=1e-6).fit(make(points * sizes), labels)
    assert scaled.status_ is Status.SOLVED
    np.testing.assert_allclose(scaled.coef_ * sizes, unscaled.coef_, rtol=1e-3)
    assert scaled.certificate_.primal == pytest.approx(unscaled.certificate_.primal, rel=1e-6)
    assert scaled.certificate_.reach == pytest.approx(unscaled.certificate_.reach, rel=1e-3)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1.0, 1e6])
def test_a_column_that_does_not_vary(make, fit_intercept, constant):
    points, labels = noisy(200, 3)
    weights = np.ones(200)
    weights[:20] = 0.0
    columns = np.column_stack([points, np.full(200, constant)])
    # A row without weight has no say.
    columns[0, -1] = constant + 1.0
    model = LogisticRegression(C=float("inf"), fit_intercept=fit_intercept).fit(
        make(columns), labels, sample_weight=weights
    )
    assert model.status_ is Status.SOLVED
    best = LogisticRegression(C=float("inf"), fit_intercept=fit_intercept or constant > 0.0).fit(
        points[20:], labels[20:]
    )
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)


def test_the_gap_falls_to_the_last_digits_without_a_penalty_too():
    model = LogisticRegression(C=float("inf"), tol=1e-11).fit(*noisy())
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-11


def test_a_warm_start_without_intercept_forgets_the_old_one():
    points, labels = noisy(80, 3, seed=4)
    labels[:10] = 1
    model = LogisticRegression(C=1.0, warm_start=True, tol=1e-8).fit(points, labels)
    model.set_params(fit_intercept=False).fit(points, labels)
    assert model.intercept_[0] == 0.0
    cold = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(points, labels)
    np.testing.assert_allclose(model.coef_, cold.coef_, rtol=1e-3)
    model.intercept_ = np.array([0.5])
    assert math.isinf(certify(model, points, labels).primal)


@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_textbook_cases_of_weak_separation(solver):
    cross = np.array([[-1.0, 0], [0, 0], [0, 0], [1, 0], [0, 1], [0, -1], [0, 1], [0, -1]])
    for points, labels in (
        (np.array([[1.0], [2], [3], [3], [4], [5]]), [0, 0, 0, 1, 1, 1]),
        (np.r_[0:20, 19, 20:40][:, None].astype(float), [0] * 20 + [1] * 21),
        (cross, [0, 0, 1, 1, 0, 1, 1, 0]),
    ):
        with pytest.warns(LimitWarning, match="no minimum"):
            model = LogisticRegression(C=float("inf"), solver=solver, max_iter=500).fit(points, labels)
        assert model.status_ is Status.SEPARABLE
        assert model.certificate_.freed > 0
        scores = points @ model.separating_coef_[0] + model.separating_intercept_[0]
        margins = np.where(np.array(labels) == 1, scores, -scores)
        assert margins.min() >= 0.0 < margins.max()


def test_a_step_that_is_too_large_is_named():
    with pytest.warns(LimitWarning, match="smaller step_size"):
        LogisticRegression(C=1.0, solver="gradient", step_size=100.0).fit(X, Y)


@pytest.mark.parametrize("C", [np.inf, 1e6, 1e10])
@pytest.mark.parametrize("counts", [[30, 3, 67, 8879], [56, 4, 119, 7234], [1, 10**5, 1, 3], [10**6, 1, 2, 1]])
def test_tables_with_rare_cells_have_their_closed_form(counts, C):
    """One binary column: the probabilities are the shares of the cells."""
    weights = np.array(counts, dtype=float)
    model = LogisticRegression(C=C, tol=1e-6).fit([[0.0], [0.0], [1.0], [1.0]], [-1, 1, -1, 1], weights)
    cells = weights.reshape(2, 2)
    least = -float((cells * np.log(cells / cells.sum(axis=1, keepdims=True))).sum())
    factor = 1.0 if np.isinf(C) else C
    assert model.status_ is Status.SOLVED
    assert model.certificate_.primal / factor == pytest.approx(least, rel=3e-5)
    log_odds = np.log(cells[:, 1] / cells[:, 0])
    np.testing.assert_allclose(model.coef_[0, 0], log_odds[1] - log_odds[0], rtol=0.02)


def test_an_empty_row_hides_no_separating_hyperplane():
    generator = np.random.default_rng(3)
    rows = sp.random(100, 50, 0.1, random_state=3, format="csr", data_rvs=generator.standard_normal).toarray()
    rows[0] = 0.0
    y = np.where(rows @ generator.normal(size=50) > 0, 1, -1)
    for solver in ("newton", "gradient"):
        with pytest.warns(LimitWarning, match="no point on its wrong side"):
            model = LogisticRegression(C=float("inf"), fit_intercept=False, solver=solver).fit(sp.csr_array(rows), y)
        assert model.status_ is Status.SEPARABLE
        assert model.certificate_.freed == 99
        assert (y * (rows @ model.separating_coef_[0]))[1:].min() > 0.0


def test_steps_that_overflow_are_stalled():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    y = rows[:, 0] + np.random.default_rng(1).normal(size=50) > 0
    with pytest.warns(LimitWarning, match="smaller step_size"):
        model = LogisticRegression(C=float("inf"), solver="gradient", step_size=1e308, max_iter=200).fit(rows, y)
    assert np.isfinite(model.coef_).all()


def test_rows_that_are_right_for_sure_are_right_in_rounded_arithmetic_too():
    """A rounding error of a score costs no more than the row's loss could change."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((30, 50)) * 10.0 ** generator.uniform(-4, 4, 50)
    y = np.where(generator.random(30) < 0.5, 1, -1)
    model = LogisticRegression(C=1e4).fit(rows, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-4


def test_gradient_descent_shows_a_divergence_as_it_is():
    points, labels = noisy(60, 3)
    with pytest.warns(LimitWarning, match="smaller step_size"):
        model = LogisticRegression(C=1.0, solver="gradient", step_size=3.0).fit(points, labels)
    assert model.status_ is Status.STALLED
    values = np.array([primal for _, primal, _ in model.history_])
    assert (np.diff(values) > 0.1 * values.min()).any()
    assert len(values) == model.n_iter_ + 1
    # The model is the best iterate, not the last one.
    assert model.objective_ == pytest.approx(values.min(), rel=1e-9)
    assert model.objective_ < 0.9 * values[-1]


def test_gradient_descent_goes_on_behind_the_first_separating_hyperplane():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 2)) + 4.0 * np.arange(2).repeat(25)[:, None]
    labels = np.arange(2).repeat(25)
    with pytest.warns(LimitWarning, match="no minimum"):
        first = LogisticRegression(C=float("inf"), solver="gradient").fit(points, labels)
    assert first.status_ is Status.SEPARABLE
    more_steps = int(first.n_iter_[0]) + 200
    with pytest.warns(LimitWarning, match="no minimum"):
        model = LogisticRegression(C=float("inf"), solver="gradient", max_iter=more_steps).fit(points, labels)
    assert model.status_ is Status.SEPARABLE
    assert model.n_iter_ == more_steps
    values = [primal for _, primal, _ in model.history_]
    assert len(values) == more_steps + 1
    assert (np.diff(values) < 0.0).all()
    assert model.objective_ == pytest.approx(values[-1], rel=1e-9)
    assert model.objective_ < 0.5 * first.objective_
    assert model.certificate_.margin > 0.0
    np.testing.assert_array_equal(model.separating_coef_, model.coef_)


def test_gradient_descent_without_limits_ends_on_quasi_separated_data():
    points, labels = np.array([[1.0], [2.0], [3.0], [3.0], [4.0], [5.0]]), [0, 0, 0, 1, 1, 1]
    with pytest.warns(LimitWarning, match="no minimum"):
        model = LogisticRegression(C=float("inf"), solver="gradient", tol=1e-9).fit(points, labels)
    assert model.status_ is Status.SEPARABLE
