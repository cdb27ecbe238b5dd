"""The posterior of Bayesian regression: exact, and refused where there is none."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from maxmargin import (
    BayesianRegression,
    LimitWarning,
)
from regression_cases import WEIGHTS, X, Y, random_regression


def test_a_posterior_stays_as_it_was_fitted():
    model = BayesianRegression().fit(X, Y)
    before = model.predict(X[:3], return_std=True), model.credible_interval()
    model.set_params(fit_intercept=False)
    np.testing.assert_array_equal(model.predict(X[:3], return_std=True), before[0])
    np.testing.assert_array_equal(model.credible_interval(), before[1])


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
    # What rounding does to the means of such columns, in units of the least deviation of a combination of them.
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


@pytest.mark.parametrize("offset", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("derivatives", [[0.0, 0.0, 0.0], [1.0, 1e-3, 0.3]])
def test_targets_that_do_not_scatter_have_coefficients_but_no_posterior(derivatives, offset):
    points = np.random.default_rng(0).standard_normal((50, 3))
    points[:, 1] += 2000.0
    model = BayesianRegression().fit(points, points @ derivatives + offset)
    assert model.s2_ == 0.0
    assert model.status_ == "solved"
    np.testing.assert_allclose(model.predict(points), points @ derivatives + offset, rtol=1e-9, atol=1e-12)
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
