"""The hard margin: LinearSVC with infinite C."""

import numpy as np
import pytest
from sklearn.svm import SVC

from maxmargin import (
    LimitWarning,
    LinearSVC,
    MarginBracket,
    NotSeparableError,
    Status,
    certify,
    separate,
)
from real_data import load, signs_of
from separable_sets import intercepts, two_sided


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
    # Support vectors lie on the margin.
    scores = signs_of(y) * model.decision_function(X)
    np.testing.assert_allclose(scores[model.support_], 1.0, atol=1e-4)
    if fit_intercept:
        rival = SVC(kernel="linear", C=1e10, tol=1e-8).fit(X.toarray(), y)
        # LIBSVM is not exact at such a C.
        assert model.margin_ == pytest.approx(1 / np.linalg.norm(rival.coef_), rel=1e-3)


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


def test_a_margin_near_rounding_is_not_taken_for_none():
    result = separate([[0.0], [1e-13], [1.0]], [0, 1, 1])
    assert result.separable is True
    assert result.status is not Status.NOT_SEPARABLE
    with pytest.warns(LimitWarning):
        assert LinearSVC(C=np.inf).fit([[0.0], [1e-13], [1.0]], [0, 1, 1]).status_ is Status.STALLED
