"""The lectures' theorems hold on real sets, on random ones and on sets built to be hard."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from maxmargin import (
    KernelPerceptron,
    MarginPerceptron,
    Perceptron,
    PerceptronRun,
    incremental_search_bound,
    margin_perceptron_bound,
    margins,
    mistake_bound,
)
from real_data import NOT_SEPARABLE, SEPARABLE, load, random_set, signs_of
from theorems import hard_set

pytestmark = pytest.mark.filterwarnings(
    "ignore::maxmargin.LimitWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def augmented(X):
    return np.column_stack([X, np.ones(len(X))])


def best_known_hyperplane(X, y):
    """A hyperplane with nearly the largest margin through the origin: LIBLINEAR's hard margin."""
    rival = LinearSVC(loss="hinge", C=1e5, fit_intercept=False, tol=1e-6, max_iter=100_000, random_state=0)
    w = rival.fit(X, y).coef_[0]
    return w / np.linalg.norm(w)


@pytest.mark.parametrize("name", ["mushrooms", "leu", "colon-cancer"])
@pytest.mark.parametrize("rule", ["online", "batch"])
@pytest.mark.parametrize("normalize", [False, True])
def test_mistake_bound_for_separable_data(name, rule, normalize):
    """Novikoff's bound, online and batch, with the best hyperplane of LIBLINEAR; and the model's own certificate."""
    X, y = load(name)
    points = augmented(X.toarray())
    points = points / np.linalg.norm(points, axis=1, keepdims=True) if normalize else points
    u = best_known_hyperplane(points, signs_of(y))
    gamma = (signs_of(y) * (points @ u)).min()
    assert gamma > 0
    radius = np.linalg.norm(points, axis=1).max()
    model = Perceptron(rule=rule, normalize=normalize, tol=None, max_iter=100_000).fit(X, y)
    assert str(model.status_) == "solved"
    assert model.n_updates_ <= (len(y) if rule == "batch" else 1) * (radius / gamma) ** 2
    assert model.n_updates_ <= model.certificate_.bound
    run = PerceptronRun(normalize=normalize, batch=rule == "batch", mistakes=model.n_updates_)
    stated = mistake_bound(X, y, u[:-1], u[-1], gamma=gamma * (1 - 1e-9), run=run)
    assert stated.theorem == "Novikoff's bound"
    assert stated.bound == pytest.approx((len(y) if rule == "batch" else 1) * (radius / gamma) ** 2, rel=1e-6)


def test_mistake_bound_on_a_set_with_a_small_margin():
    """Novikoff's bound on sonar_scale, whose margin is about R/1000, with the margin perceptron's hyperplane."""
    X, y = load("sonar_scale")
    best = MarginPerceptron(min_gamma=1e-4).fit(X, y)
    model = Perceptron(tol=None, max_iter=100_000).fit(X, y)
    assert str(model.status_) == "solved"
    stated = mistake_bound(X, y, best.coef_, best.intercept_, gamma=best.margin_ * (1 - 1e-9))
    assert stated.theorem == "Novikoff's bound"
    assert model.n_updates_ <= stated.bound


@pytest.mark.parametrize("name", SEPARABLE)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_margin_perceptron_with_a_small_enough_guess_on_real_data(name, share):
    """The margin perceptron's bound, with gamma the margin of a known hyperplane, at most gamma_opt."""
    X, y = load(name)
    known = MarginPerceptron(min_gamma=1e-4).fit(X, y)
    model = MarginPerceptron(gamma=share * known.margin_).fit(X, y)
    assert str(model.status_) == "solved"
    assert model.margin_ >= share * known.margin_ / 2 * (1 - 1e-9)
    assert model.n_updates_ <= margin_perceptron_bound(known.certificate_.radius, known.margin_)


@pytest.mark.parametrize("name", [*NOT_SEPARABLE, "sonar_scale"])
@pytest.mark.parametrize("passes", [1, 7])
def test_mistake_bound_for_other_data(name, passes):
    """The mistake bound for inseparable data, for any unit vector and any gamma > 0, against a sum written here."""
    X, y = load(name)
    points, signs = augmented(X.toarray()), signs_of(y)
    model = Perceptron(tol=None, max_iter=passes, random_state=3).fit(X, y)
    radius = np.linalg.norm(points, axis=1).max()
    generator = np.random.default_rng(0)
    u_fit = np.linalg.lstsq(points, signs, rcond=None)[0]
    for u in [u_fit, *generator.standard_normal((5, points.shape[1]))]:
        u = u / np.linalg.norm(u)
        for gamma in (0.01, 0.1, 1.0, 10.0):
            deficit = passes * np.maximum(0, gamma - signs * (points @ u)).sum()
            bound = (radius / gamma) ** 2 + 2 * deficit / gamma
            assert model.n_updates_ <= bound
            stated = mistake_bound(X, y, u[:-1], u[-1], gamma=gamma, run=PerceptronRun(passes))
            assert stated.bound == pytest.approx(bound, rel=1e-9)
            assert stated.bound >= bound * (1 - 1e-12)


@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "mushrooms"])
def test_the_gamma_that_is_chosen_is_nearly_the_best(name):
    X, y = load(name)
    model = Perceptron(tol=None, max_iter=20).fit(X, y)
    proof = model.certificate_
    hyperplane = {"coef": model.coef_, "intercept": model.intercept_[0], "run": PerceptronRun(model.n_iter_)}
    others = [mistake_bound(X, y, gamma=proof.gamma * factor, **hyperplane).bound for factor in (0.5, 0.9, 1.1, 2.0)]
    assert proof.bound <= 1.01 * min(others)


@pytest.mark.parametrize("gamma", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("rule", ["online", "batch"])
def test_bounds_on_sets_built_to_be_hard(gamma, rule):
    X, y = hard_set(gamma)
    radius = np.linalg.norm(X, axis=1).max()
    model = Perceptron(rule=rule, fit_intercept=False, tol=None, max_iter=10**6).fit(X, y)
    assert str(model.status_) == "solved"
    assert model.n_updates_ <= (len(y) if rule == "batch" else 1) * (radius / gamma) ** 2
    bracket = model.certificate_.bracket
    assert bracket.lower <= gamma * (1 + 1e-9)
    assert gamma <= bracket.upper * (1 + 1e-9)


@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("share", [1.0, 0.7, 0.3])
def test_margin_perceptron_with_a_guess_that_is_small_enough(gamma, share):
    """The margin perceptron's bound: at most 8R²/gamma² + 4R/gamma updates and a margin of at least half the guess."""
    for seed in range(5):
        X, y = hard_set(gamma, seed=seed)
        radius = np.linalg.norm(X, axis=1).max()
        model = MarginPerceptron(gamma=share * gamma, fit_intercept=False, random_state=seed).fit(X, y)
        assert str(model.status_) == "solved"
        assert model.n_updates_ <= margin_perceptron_bound(radius, gamma) <= 12 * (radius / gamma) ** 2
        assert margins(X, y, model.coef_).smallest >= share * gamma / 2 * (1 - 1e-9)
        assert model.margin_ <= gamma <= model.certificate_.upper * (1 + 1e-12)


@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.02])
def test_incremental_search_reaches_a_quarter(gamma):
    """The incremental search: a margin of at least gamma_opt/4, and updates within the geometric series."""
    for seed in range(5):
        X, y = hard_set(gamma, seed=seed)
        model = MarginPerceptron(fit_intercept=False, random_state=seed).fit(X, y)
        assert str(model.status_) == "solved"
        assert model.margin_ >= gamma / 4
        assert model.n_updates_ <= incremental_search_bound(np.linalg.norm(X, axis=1).max(), gamma)
        assert model.margin_ <= gamma <= model.certificate_.upper * (1 + 1e-12)


@pytest.mark.parametrize("name", SEPARABLE)
@pytest.mark.parametrize("normalize", [False, True])
def test_incremental_search_on_real_data(name, normalize):
    X, y = load(name)
    model = MarginPerceptron(normalize=normalize, min_gamma=1e-4).fit(X, y)
    proof = model.certificate_
    assert str(model.status_) == "solved"
    assert proof.separates
    assert model.score(X, y) == 1.0
    assert model.margin_ >= model.gamma_guess_ / 2 * (1 - 1e-9)
    assert proof.share >= 0.25
    assert model.n_updates_ <= incremental_search_bound(proof.radius, proof.lower)
    if name != "sonar_scale":  # on which LIBLINEAR takes minutes
        points = augmented(X.toarray())
        points = points / np.linalg.norm(points, axis=1, keepdims=True) if normalize else points
        rival = (signs_of(y) * (points @ best_known_hyperplane(points, signs_of(y)))).min()
        assert rival <= proof.upper
        assert model.margin_ >= rival / 4


@pytest.mark.parametrize("name", NOT_SEPARABLE)
def test_data_that_cannot_be_separated_end_with_a_proof(name):
    X, y = load(name)
    model = MarginPerceptron(min_gamma=0.005).fit(X, y)
    assert str(model.status_) == "no such margin"
    assert not model.certificate_.separates
    assert model.certificate_.upper <= 0.02 * model.certificate_.radius


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 6),
    noise=st.sampled_from([0.0, 0.1, 0.5]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    fit_intercept=st.booleans(),
    normalize=st.booleans(),
    rule=st.sampled_from(["online", "batch"]),
)
def test_every_run_is_within_its_bound(seed, n, d, noise, scale, fit_intercept, normalize, rule):
    X, y = random_set(seed, n=n, d=d, noise=noise)
    model = Perceptron(
        rule=rule, tol=None, max_iter=50, fit_intercept=fit_intercept, normalize=normalize, eta0=0.3
    ).fit(X * scale, y)
    proof = model.certificate_
    assert model.n_updates_ <= proof.bound
    assert (model.mistakes_per_pass_[-1] == 0) == (str(model.status_) == "solved")
    if proof.bracket.separates:
        assert model.score(X * scale, y) == 1.0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    weights=st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=30, max_size=30),
    length=st.sampled_from([0.0, 1.0, 50.0]),
)
def test_bounds_with_weights_and_a_start(seed, weights, length):
    """The bound's extension to steps of different size and to starts other than zero."""
    X, y = random_set(seed, n=30, noise=0.05)
    start = length * np.random.default_rng(seed).standard_normal((1, X.shape[1]))
    model = Perceptron(tol=None, max_iter=40).fit(X, y, coef_init=start, sample_weight=weights)
    assert model.n_updates_ <= model.certificate_.bound < np.inf


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 0.2]))
def test_brackets_hold_the_largest_margin(seed, noise):
    """gamma_opt by an independent solver of the dual: the shortest point in the hull of the y_i (x_i, 1)."""
    X, y = random_set(seed, n=12, d=3, noise=noise)
    Z = y[:, None] * augmented(X)
    result = minimize(
        lambda c: (c @ Z) @ (c @ Z),
        np.full(len(y), 1 / len(y)),
        jac=lambda c: 2 * Z @ (c @ Z),
        bounds=[(0, 1)] * len(y),
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1, "jac": lambda _: np.ones(len(y))},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    weights = np.clip(result.x, 0, None)
    at_most = np.linalg.norm(weights @ Z) / weights.sum()
    model = MarginPerceptron(min_gamma=0.01).fit(X, y)
    assert model.certificate_.lower <= at_most * (1 + 1e-6) + 1e-12
    if result.success and at_most > 1e-3:
        w = weights @ Z
        reached = (Z @ w).min() / np.linalg.norm(w)
        assert reached <= model.certificate_.upper * (1 + 1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_kernel_perceptron_is_within_its_bound(kernel):
    for name in ("heart_scale", "sonar_scale"):
        X, y = load(name)
        model = KernelPerceptron(kernel=kernel, tol=None, max_iter=30).fit(X, y)
        assert model.n_updates_ <= model.certificate_.bound < np.inf


def test_linear_kernel_proves_what_the_linear_model_proves():
    X, y = load("heart_scale")
    dual = KernelPerceptron(kernel="linear", tol=None, max_iter=15, shuffle=False).fit(X, y).certificate_
    primal = Perceptron(tol=None, max_iter=15, shuffle=False).fit(X, y).certificate_
    assert dual.mistakes == primal.mistakes
    assert dual.bound == pytest.approx(primal.bound, rel=1e-6)
    assert dual.bracket.upper == pytest.approx(primal.bracket.upper, rel=1e-6)
    assert dual.radius == pytest.approx(primal.radius, rel=1e-9)
