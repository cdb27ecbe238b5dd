"""Screening of rows changes no step of the perceptrons."""

import numpy as np
import pytest

from maxmargin import KernelPerceptron, MarginPerceptron, Perceptron
from maxmargin.solvers.perceptron.online import OnlineRun
from perceptron_references import augmented, online_reference
from real_data import load, random_set

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


@pytest.mark.parametrize("name", ["mushrooms", "leu", "colon-cancer", "sonar_scale", "heart_scale", "sms-spam"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_screening_changes_nothing(name, fit_intercept, monkeypatch):
    X, y = load(name)
    options = {"tol": None, "max_iter": 300, "fit_intercept": fit_intercept}
    screened = Perceptron(**options).fit(X, y)
    monkeypatch.setattr(OnlineRun, "allow_screening", False)
    plain = Perceptron(**options).fit(X, y)
    np.testing.assert_array_equal(screened.mistakes_per_pass_, plain.mistakes_per_pass_)
    np.testing.assert_array_equal(screened.coef_, plain.coef_)
    np.testing.assert_array_equal(screened.dual_coef_, plain.dual_coef_)
    assert plain.rows_evaluated_per_pass_.sum() == X.shape[0] * plain.n_iter_


@pytest.mark.parametrize("name", ["mushrooms", "leu", "colon-cancer", "heart_scale"])
def test_screening_changes_nothing_for_the_margin_rule(name, monkeypatch):
    X, y = load(name)
    monkeypatch.setattr(OnlineRun, "_screening_pays", lambda *_: True)
    screened = MarginPerceptron(min_gamma=0.01).fit(X, y)
    monkeypatch.setattr(OnlineRun, "_screening_pays", lambda *_: False)
    plain = MarginPerceptron(min_gamma=0.01).fit(X, y)
    assert screened.updates_per_round_ == plain.updates_per_round_
    np.testing.assert_array_equal(screened.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(screened.coef_, plain.coef_)
    if name != "heart_scale":  # where violations never get few
        assert screened.rows_evaluated_per_pass_.sum() < plain.rows_evaluated_per_pass_.sum()


def test_screening_skips_rows_where_few_mistakes_remain():
    """One long row to learn at the end, far from all others."""
    X = np.zeros((400, 200))
    y = np.where(np.arange(400) % 2 == 0, 1, -1)
    X[:, :100] = y[:, None]
    X[-1, :100], X[-1, 100:] = 0.05, 0.1
    model = Perceptron(shuffle=False, tol=None).fit(X, y)
    assert model.status_ == "solved"
    assert model.rows_evaluated_per_pass_.sum() < 0.9 * X.shape[0] * model.n_iter_


@pytest.mark.parametrize("always_screening", [True, False])
@pytest.mark.parametrize("signed", [True, False])
def test_screening_changes_nothing_even_where_they_do_not_pay(always_screening, signed, monkeypatch):
    if always_screening:
        monkeypatch.setattr(OnlineRun, "_screening_pays", lambda *_: True)
    for seed in range(15):
        X, y = random_set(seed, n=80, d=4, noise=0.02 * (seed % 3))
        X = X if signed else np.abs(X)
        for weights in (None, np.random.default_rng(seed).uniform(0.1, 3.0, len(y))):
            _, alpha, mistakes = online_reference(augmented(X, True), y, 60, 1.0, weights)
            model = Perceptron(shuffle=False, tol=None, max_iter=60).fit(X, y, sample_weight=weights)
            assert list(model.mistakes_per_pass_) == mistakes
            np.testing.assert_allclose(np.abs(model.dual_coef_[0]), alpha, rtol=1e-12)


@pytest.mark.parametrize("cache_size", [0, 0.005, 200])
def test_kernel_cache_changes_nothing(cache_size):
    X, y = load("sonar_scale")
    full = KernelPerceptron(tol=None).fit(X, y)
    small = KernelPerceptron(tol=None, cache_size=cache_size).fit(X, y)
    np.testing.assert_array_equal(full.mistakes_per_pass_, small.mistakes_per_pass_)
    np.testing.assert_array_equal(full.support_, small.support_)
