"""Every pass of the perceptrons is that of a reference of a few lines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ScikitLearnPerceptron

from maxmargin import KernelPerceptron, MarginPerceptron, Perceptron
from perceptron_references import augmented, online_reference
from real_data import NOT_SEPARABLE, SEPARABLE, load, random_set, signs_of

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


FORMATS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "float32": lambda X: np.asarray(X, dtype=np.float32),
    "csr32": lambda X: sp.csr_array(X, dtype=np.float32),
}


def batch_reference(X, y, passes, eta=1.0):
    """The batch perceptron: all mistakes of w at once."""
    w, mistakes = np.zeros(X.shape[1]), []
    for _ in range(passes):
        wrong = y * (X @ w) <= 0
        mistakes.append(int(wrong.sum()))
        w = w + eta * (y[wrong] @ X[wrong])
        if not wrong.any():
            break
    return w, mistakes


def margin_reference(X, y, guess, budget):
    """The margin perceptron: a violation is a mistake or a point nearer than guess/2; stop after ``budget`` updates."""
    w, updates = np.zeros(X.shape[1]), 0
    while True:
        clean = True
        for i in range(len(y)):
            score = y[i] * (X[i] @ w)
            if score <= 0 or score < guess / 2 * np.sqrt(w @ w):
                if updates == budget:
                    return w, updates, False
                w, updates, clean = w + y[i] * X[i], updates + 1, False
        if clean:
            return w, updates, True


def search_reference(X, y):
    """The incremental search for the margin."""
    radius = np.sqrt((X**2).sum(axis=1)).max()
    guess, updates_per_round = radius, []
    while True:
        w, updates, done = margin_reference(X, y, guess, int(12 * (radius / guess) ** 2))
        updates_per_round.append(updates)
        if done:
            return w, guess, tuple(updates_per_round)
        guess /= 2


def kernel_reference(gram, y, passes):
    """The kernel perceptron: the online one in the dual."""
    alpha, mistakes = np.zeros(len(y)), []
    for _ in range(passes):
        mistakes.append(0)
        for i in range(len(y)):
            if y[i] * ((alpha * y) @ gram[:, i]) <= 0:
                alpha[i] += 1.0
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return alpha, mistakes


def assert_same_coefficients(model, w, fit_intercept):
    found = np.append(model.coef_[0], model.intercept_[0]) if fit_intercept else model.coef_[0]
    np.testing.assert_allclose(found, w, rtol=1e-9, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("grid", [None, 4])
@pytest.mark.parametrize("seed", range(3))
def test_online_rule(form, fit_intercept, grid, seed):
    X, y = random_set(seed, grid=grid)
    X = np.float32(X).astype(float)
    w, alpha, mistakes = online_reference(augmented(X, fit_intercept), y, 30)
    model = Perceptron(shuffle=False, tol=None, max_iter=30, fit_intercept=fit_intercept).fit(FORMATS[form](X), y)
    assert list(model.mistakes_per_pass_) == mistakes
    np.testing.assert_array_equal(model.dual_coef_[0], y * alpha)
    assert_same_coefficients(model, w, fit_intercept)


@pytest.mark.parametrize("name", SEPARABLE + NOT_SEPARABLE)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_online_rule_on_real_data(name, fit_intercept):
    X, y = load(name)
    w, alpha, mistakes = online_reference(augmented(X.toarray(), fit_intercept), signs_of(y), 25)
    for data in (X, X.toarray()):
        model = Perceptron(shuffle=False, tol=None, max_iter=25, fit_intercept=fit_intercept).fit(data, y)
        assert list(model.mistakes_per_pass_) == mistakes
        np.testing.assert_array_equal(np.abs(model.dual_coef_[0]), alpha)
        assert_same_coefficients(model, w, fit_intercept)
        np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, rtol=1e-9, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("eta", [0.5, 3.0])
def test_step_size_and_weights(eta):
    X, y = random_set(4)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    w, alpha, mistakes = online_reference(augmented(X, True), y, 10, eta, weights)
    model = Perceptron(shuffle=False, tol=None, max_iter=10, eta0=eta).fit(X, y, sample_weight=weights)
    assert list(model.mistakes_per_pass_) == mistakes
    np.testing.assert_allclose(model.dual_coef_[0], y * alpha)
    assert_same_coefficients(model, w, True)


def test_class_weight_is_a_factor_on_steps():
    X, y = random_set(5)
    by_class = Perceptron(shuffle=False, tol=None, max_iter=10, class_weight={-1: 0.5, 1: 2.0}).fit(X, y)
    by_row = Perceptron(shuffle=False, tol=None, max_iter=10).fit(X, y, sample_weight=np.where(y > 0, 2.0, 0.5))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


def test_rows_of_weight_zero_are_absent():
    X, y = random_set(6)
    weights = np.ones(len(y))
    weights[5:20] = 0.0
    some = Perceptron(shuffle=False, tol=None, max_iter=20).fit(X, y, sample_weight=weights)
    fewer = Perceptron(shuffle=False, tol=None, max_iter=20).fit(
        np.delete(X, range(5, 20), 0), np.delete(y, range(5, 20))
    )
    np.testing.assert_array_equal(some.coef_, fewer.coef_)
    assert some.n_updates_ == fewer.n_updates_


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_batch_rule(form, fit_intercept):
    for seed in range(3):
        X, y = random_set(seed, grid=8)
        w, mistakes = batch_reference(augmented(X, fit_intercept), y, 15)
        model = Perceptron(rule="batch", tol=None, max_iter=15, fit_intercept=fit_intercept).fit(FORMATS[form](X), y)
        assert list(model.mistakes_per_pass_) == mistakes
        assert_same_coefficients(model, w, fit_intercept)


@pytest.mark.parametrize("name", SEPARABLE)
def test_batch_rule_on_real_data(name):
    X, y = load(name)
    w, mistakes = batch_reference(augmented(X.toarray(), True), signs_of(y), 60)
    model = Perceptron(rule="batch", tol=None, max_iter=60).fit(X, y)
    assert list(model.mistakes_per_pass_) == mistakes
    assert_same_coefficients(model, w, True)


def test_batch_weights_are_repeated_rows():
    X, y = random_set(7)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weights[:2] = 1
    weighted = Perceptron(rule="batch", tol=None, max_iter=40).fit(X, y, sample_weight=weights)
    repeated = Perceptron(rule="batch", tol=None, max_iter=40).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)


@pytest.mark.parametrize("rule", ["online", "batch"])
@pytest.mark.parametrize("max_iter", [1, 6, 1000])
def test_criterion_is_that_of_the_coefficients_after_each_pass(rule, max_iter):
    """J = sum max(0, -y f) of the hyperplane after each pass; the online loss is the sum at the time of evaluation."""
    X, y = random_set(8, noise=0.0 if max_iter == 1000 else 0.1)
    parameters = {"rule": rule, "shuffle": False, "max_iter": max_iter, "eta0": 0.7}
    model = Perceptron(record_criterion=True, **parameters).fit(X, y)
    w, criteria, online_losses = np.zeros(X.shape[1] + 1), [], []
    points = augmented(X, True)
    for _ in range(model.n_iter_):
        online_losses.append(0.0)
        if rule == "batch":
            scores = y * (points @ w)
            online_losses[-1] = np.maximum(0, -scores).sum()
            w = w + 0.7 * (y[scores <= 0] @ points[scores <= 0])
        else:
            for i in range(len(y)):
                score = y[i] * (points[i] @ w)
                if score <= 0:
                    online_losses[-1] -= score
                    w = w + 0.7 * y[i] * points[i]
        criteria.append(np.maximum(0, -y * (points @ w)).sum())
    np.testing.assert_allclose(model.criterion_per_pass_, criteria, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.online_loss_per_pass_, online_losses, rtol=1e-9, atol=1e-12)
    unrecorded = Perceptron(**parameters).fit(X, y)
    np.testing.assert_array_equal(unrecorded.coef_, model.coef_)
    assert (unrecorded.criterion_per_pass_ is None) == (rule == "online")


def test_criterion_of_the_kernel_perceptron_is_that_of_its_scores_after_each_pass():
    X, y = load("heart_scale")
    for max_iter in (1, 2, 5):
        model = KernelPerceptron(gamma=0.1, max_iter=max_iter, eta0=2.0).fit(X, y)
        expected = np.maximum(0.0, -signs_of(y) * model.decision_function(X)).sum()
        assert model.criterion_per_pass_[-1] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale"])
def test_normalised_points_are_unit_vectors(name):
    """The same as the online rule on (x, 1)/|(x, 1)|."""
    X, y = load(name)
    points = augmented(X.toarray(), True)
    lengths = np.linalg.norm(points, axis=1)
    w, alpha, mistakes = online_reference(points / lengths[:, None], signs_of(y), 15)
    model = Perceptron(normalize=True, shuffle=False, tol=None, max_iter=15).fit(X, y)
    assert list(model.mistakes_per_pass_) == mistakes
    assert_same_coefficients(model, w, True)
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), alpha / lengths, rtol=1e-12)


@pytest.mark.parametrize("since", [True, 25])
def test_average_is_the_mean_of_the_coefficients(since):
    X, y = random_set(9)
    points, w, sequence = augmented(X, True), np.zeros(X.shape[1] + 1), []
    for _ in range(4):
        for i in range(len(y)):
            if y[i] * (points[i] @ w) <= 0:
                w = w + y[i] * points[i]
            sequence.append(w)
    model = Perceptron(average=since, shuffle=False, tol=None, max_iter=4).fit(X, y)
    expected = np.mean(sequence[0 if since is True else since :], axis=0)
    assert_same_coefficients(model, expected, True)
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, atol=1e-9)


def test_a_random_start_is_part_of_the_coefficients():
    X, y = random_set(10)
    model = Perceptron(init="random", shuffle=False, tol=None, max_iter=5).fit(X, y)
    assert np.abs(model.coef_init_).min() > 0
    np.testing.assert_allclose(model.coef_, model.coef_init_ + model.dual_coef_ @ X, atol=1e-9)


@pytest.mark.parametrize("name", ["mushrooms", "leu", "colon-cancer"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_incremental_search_follows_the_lecture(name, fit_intercept):
    X, y = load(name)
    w, guess, updates_per_round = search_reference(augmented(X.toarray(), fit_intercept), signs_of(y))
    for data in (X, X.toarray()):
        model = MarginPerceptron(shuffle=False, fit_intercept=fit_intercept).fit(data, y)
        assert model.updates_per_round_ == updates_per_round
        assert model.gamma_guess_ == pytest.approx(guess)
        assert_same_coefficients(model, w, fit_intercept)


@pytest.mark.parametrize("form", FORMATS)
def test_margin_rule_with_a_given_guess(form):
    for seed in range(4):
        X, y = random_set(seed, noise=0.0, grid=16)
        keep = np.abs(X @ np.linalg.lstsq(augmented(X, True), y, rcond=None)[0][:-1]) > 0.1
        keep[:2] = True
        X, y = X[keep], y[keep]
        points = augmented(X, True)
        radius = np.linalg.norm(points, axis=1).max()
        guess = radius / (5 + 5 * seed)
        w, updates, done = margin_reference(points, y, guess, int(np.ceil(12 * (radius / guess) ** 2)))
        model = MarginPerceptron(gamma=guess, shuffle=False).fit(FORMATS[form](X), y)
        assert (model.n_updates_, str(model.status_)) == (updates, "solved" if done else "no such margin")
        assert_same_coefficients(model, w, True)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "callable", "precomputed"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_kernel_rule(kernel, sparse, fit_intercept):
    from sklearn.metrics.pairwise import pairwise_kernels

    X, y = load("heart_scale")
    X, y = X[:150], signs_of(y)[:150]
    parameters = {"gamma": 0.1, "degree": 2, "coef0": 0.5}
    named = {"callable": "rbf", "precomputed": "rbf"}.get(kernel, kernel)
    gram = pairwise_kernels(X, metric=named, filter_params=True, **parameters)
    gram = np.asarray(gram.todense()) if sp.issparse(gram) else gram
    alpha, mistakes = kernel_reference(gram + float(fit_intercept), y, 12)
    used = {"callable": lambda a, b: pairwise_kernels(a, b, metric="rbf", gamma=0.1), "precomputed": "precomputed"}
    model = KernelPerceptron(
        kernel=used.get(kernel, kernel), fit_intercept=fit_intercept, shuffle=False, tol=None, max_iter=12, **parameters
    )
    rows = X if sparse else X.toarray()
    data = gram if kernel == "precomputed" else rows
    model.fit(data, y)
    assert list(model.mistakes_per_pass_) == mistakes
    np.testing.assert_array_equal(model.support_, np.flatnonzero(alpha))
    np.testing.assert_allclose(model.dual_coef_[0], (y * alpha)[alpha > 0])
    expected = gram @ (y * alpha) + fit_intercept * (y @ alpha)
    np.testing.assert_allclose(model.decision_function(data), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["heart_scale", "sms-spam"])
def test_same_coefficients_as_scikit_learn_after_the_same_passes(name):
    X, y = load(name)
    ours = Perceptron(shuffle=False, tol=None, max_iter=4).fit(X, y)
    theirs = ScikitLearnPerceptron(shuffle=False, tol=None, max_iter=4).fit(X.toarray(), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
