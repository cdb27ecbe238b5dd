"""Ridge and lasso: agreement with scikit-learn, limits, weights, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as rivals
from sklearn.base import clone

from maxmargin import (
    BayesianRegression,
    Lasso,
    LimitWarning,
    Ridge,
    Status,
)
from regression_cases import EVERY_KIND, FORMS, WEIGHTS, X, Y, lasso_value, random_regression


def ridge_value(model, rows, y, lam, weights=None):
    residuals = y - rows @ model.coef_ - model.intercept_
    weights = np.ones(len(y)) if weights is None else weights
    return weights @ residuals**2 + lam * model.coef_ @ model.coef_


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [len(Y), 9], ids=["tall", "wide"])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_ridge_agrees_with_scikit_learn(form, weights, fit_intercept, n, lam):
    rows, y = X[-n:], Y[-n:]
    weights = None if weights is None else weights[-n:]
    ours = Ridge(lam=lam, fit_intercept=fit_intercept).fit(FORMS[form](rows), y, weights)
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
    ours = Lasso(lam=lam, fit_intercept=fit_intercept).fit(FORMS[form](rows), y, weights)
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


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_fulfils_its_conditions(seed):
    rows, y = random_regression(seed, n=40, d=60)
    model = Lasso(lam=2.0, tol=1e-10).fit(rows, y)
    derivatives = rows.T @ (y - model.predict(rows))
    used = model.coef_ != 0
    assert used.any()
    np.testing.assert_allclose(derivatives[used], 2.0 * np.sign(model.coef_[used]), rtol=1e-5)
    assert (np.abs(derivatives[~used]) <= 2.0 * (1 + 1e-6)).all()
    assert (y - model.predict(rows)).sum() == pytest.approx(0.0, abs=1e-9)
    assert 0 < model.certificate_.unused <= np.count_nonzero(~used)
    assert model.sparse_coef_.nnz == np.count_nonzero(used)


@pytest.mark.parametrize("light", [0.0, 1e-30])
@pytest.mark.parametrize("model", [Ridge(lam=1.0), Ridge(lam=0.0), Lasso(lam=1.0), BayesianRegression()], ids=str)
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
@pytest.mark.parametrize("model", [Ridge(lam=0.0), Ridge(lam=1e-6), Lasso(lam=1e-6)], ids=str)
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


def test_a_limit_that_is_not_reached_changes_nothing():
    rows, y = random_regression(1, n=30, d=100)
    free, limited = Lasso(lam=1e-2).fit(rows, y), Lasso(lam=1e-2, max_iter=10**6).fit(rows, y)
    assert free.coef_.tobytes() == limited.coef_.tobytes()
    assert free.n_iter_ == limited.n_iter_ > len(free.history_)
    with pytest.warns(LimitWarning, match="max_iter"):
        assert Lasso(lam=1e-2, max_iter=2).fit(rows, y).n_iter_ == 2


@pytest.mark.parametrize("lam", [1e-30, 1e-20, 1e-16])
def test_penalties_below_all_rounding_end(lam):
    rows, y = random_regression(1, n=5, d=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        assert Lasso(lam=lam, max_time=60.0).fit(rows, y).status_ is not Status.TIME_LIMIT


def test_constant_targets_of_long_rows_are_solved():
    rows = np.random.default_rng(0).integers(-1, 2, (2, 600)).astype(float)
    for model in (Ridge(lam=0.01), Lasso(lam=0.01)):
        assert model.fit(rows, [-1.37, -1.37]).status_ is Status.SOLVED


def test_no_coefficient_from_the_largest_useful_penalty_on():
    largest = np.abs(X.T @ (Y - Y.mean())).max()
    assert not Lasso(lam=1.000001 * largest).fit(X, Y).coef_.any()
    assert np.count_nonzero(Lasso(lam=0.99 * largest).fit(X, Y).coef_) == 1


def test_the_penalty_comes_from_the_prior():
    np.testing.assert_array_equal(Ridge(sigma2=3.0, tau2=2.0).fit(X, Y).coef_, Ridge(lam=1.5).fit(X, Y).coef_)
    np.testing.assert_array_equal(Lasso(sigma2=3.0, rate=4.0).fit(X, Y).coef_, Lasso(lam=12.0).fit(X, Y).coef_)
    np.testing.assert_array_equal(Ridge().fit(X, Y).coef_, Ridge(lam=1.0).fit(X, Y).coef_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Ridge(lam=1.0, sigma2=1.0), "lam is given, and so is sigma2"),
        (Ridge(lam=1.0, sigma2=1.0, tau2=1.0), "lam is given, and so is sigma2 and tau2"),
        (Ridge(sigma2=1.0), "sigma2 is given without tau2"),
        (Ridge(tau2=1.0), "tau2 is given without sigma2"),
        (Ridge(sigma2=1.0, tau2=0.0), "tau2"),
        (Ridge(lam=-1.0), "lam"),
        (Ridge(lam=np.nan), "lam"),
        (Ridge(lam=np.inf), "lam"),
        (Ridge(lam="much"), "lam"),
        (Ridge(lam=1e-300), "lam"),
        (Ridge(tol=-1.0), "tol"),
        (Lasso(lam=-1.0), "lam"),
        (Lasso(lam=0.0, positive=True), "positive=True needs alpha > 0, or lam > 0"),
        (Ridge(lam=0.0, positive=True), "positive=True needs alpha > 0"),
        (Lasso(rate=1.0), "rate is given without sigma2"),
        (Lasso(lam=1.0, rate=1.0), "lam is given, and so is rate"),
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
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_data(model, rows, y, message):
    with pytest.raises(ValueError, match=message):
        model().fit(rows, y)


def test_the_posterior_is_that_of_one_target():
    with pytest.raises(ValueError, match="fit one model for every column: y should be a 1d array"):
        BayesianRegression().fit(X, np.column_stack([Y, Y]))


@pytest.mark.parametrize("model", [Ridge(lam=0.0), Ridge(lam=0.5), Lasso(lam=0.5)], ids=str)
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
    for model, plain in ((Ridge(lam=scale * scale), Ridge(lam=1.0)), (Lasso(lam=scale), Lasso(lam=1.0))):
        fitted = model.fit(rows * scale, y)
        np.testing.assert_allclose(fitted.coef_ * scale, plain.fit(rows, y).coef_, rtol=1e-6)
        assert fitted.certificate_.relative <= fitted.tol


@pytest.mark.parametrize(
    "model", [Ridge(lam=3.0), Ridge(lam=0.0), Lasso(lam=3.0, tol=1e-9), BayesianRegression()], ids=str
)
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
        assert walker.objective_ == pytest.approx(Lasso(lam=lam, tol=1e-8).fit(rows, y).objective_, rel=1e-7)
    again = walker.fit(rows, y)
    assert again.n_iter_ == 0
    with pytest.raises(ValueError, match="warm_start=True needs as many columns"):
        walker.fit(rows[:, 1:], y)
    assert walker.coef_.size == 200


def test_limits_leave_a_true_certificate():
    rows, y = random_regression(3, n=60, d=300)
    best = Lasso(lam=5.0).fit(rows, y).objective_
    for limit in ({"max_iter": 1}, {"max_time": 1e-9}):
        with pytest.warns(LimitWarning, match=next(iter(limit))):
            model = Lasso(lam=5.0, tol=1e-12, **limit).fit(rows, y)
        assert model.certificate_.dual <= best
        assert best * (1.0 - 1e-4) <= model.certificate_.primal


def test_the_same_bits_every_time():
    rows, y = random_regression(3, n=60, d=300)
    for model in (Ridge(lam=0.5), Lasso(lam=5.0)):
        first = model.fit(rows, y).coef_
        np.testing.assert_array_equal(first, model.fit(rows, y).coef_)


def test_progress_is_told(capsys):
    rows, y = random_regression(3, n=60, d=300)
    Lasso(lam=5.0, verbose=1).fit(rows, y)
    said = capsys.readouterr().out
    assert "[Lasso] lambda = 112, round 1: gap" in said
    assert "\n[Lasso] round " in said
    Ridge(verbose=1).fit(X, Y)
    assert capsys.readouterr().out.splitlines()[-1].startswith("[Ridge] solved: relative duality gap ")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("model", EVERY_KIND, ids=str)
def test_columns_far_from_zero_are_no_obstacle(model, form):
    rows, y = random_regression(3, n=300, d=5)
    rows = np.round(rows * 1024)
    near = clone(model).fit(rows, y)
    # Coefficients of float32 rows are rounded where that does not cost the gap asked for.
    finer = {"tol": 1e-9} if "tol" in model.get_params() else {}
    far = clone(model).set_params(**finer).fit(form(rows + np.array([0.0, 2.0**20, 0.0, -(2.0**22), 0.0])), y)
    assert far.status_ is Status.SOLVED
    assert far.certificate_.relative <= 1e-8
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6, atol=1e-9)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-9)


def test_least_squares_of_any_scale_loses_the_same():
    rows, y = random_regression(5, n=100, d=5)
    rows = np.column_stack([rows, rows[:, 0] - rows[:, 1], np.full(100, 0.1), np.zeros(100)])
    plain = Ridge(lam=0.0).fit(rows, y)
    scaled = Ridge(lam=0.0).fit(rows * [1e-8, 1.0, 1e8, 1e-4, 1e4, 1.0, 1e6, 1.0], y)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert scaled.coef_[-2:].tolist() == plain.coef_[-2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", [Ridge, Lasso])
def test_targets_without_errors_are_solved_and_large_means_hide_none(kind):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 3))
    model = kind(lam=1.0).fit(points, np.zeros(50))
    assert model.status_ == "solved"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        targets = points @ [1.0, 2.0, 0.0] + rng.standard_normal(50)
        near, far = kind(lam=1.0).fit(points, targets), kind(lam=1.0).fit(points, targets + 1e11)
    # Rounding of the targets alone: 2e-5.
    np.testing.assert_allclose(far.coef_, near.coef_, atol=2e-5)
    assert far.intercept_ - 1e11 == pytest.approx(near.intercept_, abs=5e-5)
