"""A perceptron on inseparable data ends with a proof; the smooth perceptron."""

import numpy as np
import pytest

from maxmargin import CertificateError, LimitWarning, MarginPerceptron, Perceptron, Status, certify
from maxmargin.estimators import perceptron
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.perceptron.smooth import MARGIN_SHARE
from maxmargin.solvers.separability import separability_test
from maxmargin.solvers.separability.separability_test import SeparabilityTest
from real_data import hardly_separable, load, signs_of


@pytest.mark.parametrize("rule", ["online", "batch"])
@pytest.mark.parametrize("name", ["heart_scale", "ionosphere_scale", "australian_scale"])
def test_an_oscillating_perceptron_ends_with_a_proof(name, rule):
    X, y = load(name)
    with pytest.warns(LimitWarning, match="no hyperplane separates the classes"):
        model = Perceptron(rule=rule, tol=None, max_iter=10**6).fit(X, y)
    assert model.status_ is Status.NOT_SEPARABLE
    assert model.n_iter_ < 10**4
    weights, signs = model.hull_weights_[0], signs_of(y)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(X.T @ (weights * signs), 0.0, atol=1e-9)
    assert model.certificate_.bracket.upper <= 1e-10 * model.certificate_.bracket.radius
    model.certificate_.check(certify(model, X, y))
    model.hull_weights_ = model.hull_weights_ * np.linspace(0.9, 1.1, len(y))
    with pytest.raises(CertificateError, match="upper"):
        model.certificate_.check(certify(model, X, y))


def test_a_perceptron_that_can_end_is_let_to():
    X, y = load("sonar_scale")
    model = Perceptron(tol=None, max_iter=10**6).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.hull_weights_ is None


def test_classes_that_cannot_be_separated_do_not_spoil_the_others():
    X = np.array([[0.0], [1.0], [2.0], [0.1], [1.1], [2.1]])
    with pytest.warns(LimitWarning):
        model = Perceptron(tol=None, max_iter=10**6).fit(X, [0, 1, 2] * 2)
    assert model.hull_weights_.shape == (3, 6)
    assert model.hull_weights_[1].any()
    assert not model.hull_weights_[0].any()
    model.certificate_.check(certify(model, X, [0, 1, 2] * 2))


def test_a_witness_that_the_certificate_does_not_confirm_is_not_believed(monkeypatch):
    X, y = load("heart_scale")
    monkeypatch.setattr(SeparabilityTest, "_hulls_are_near", lambda *_: True)
    monkeypatch.setattr(separability_test.decision, "decide", lambda *given: given[1])
    hull_weights = HardMarginProblem.hull_weights
    skewed = np.linspace(0.9, 1.1, len(y))
    monkeypatch.setattr(HardMarginProblem, "hull_weights", lambda self, beta: hull_weights(self, beta * skewed))
    with pytest.warns(LimitWarning, match="rounding errors are too large to prove it"):
        model = Perceptron(max_iter=10**5).fit(X, y)
    assert model.status_ is Status.STALLED
    assert model.hull_weights_ is None
    monkeypatch.undo()
    monkeypatch.setattr(HardMarginProblem, "hull_weights", lambda self, beta: hull_weights(self, beta * skewed))
    with pytest.warns(LimitWarning, match="max_iter was reached"):
        assert Perceptron(max_iter=500).fit(X, y).status_ is Status.ITERATION_LIMIT


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("is_proven", [True, False])
def test_a_fit_is_certified_once(is_proven, monkeypatch):
    X, y = load("heart_scale")
    calls = []
    for name in ("bracket_hard_margin", "bound_mistakes"):
        function = getattr(perceptron, name)
        monkeypatch.setattr(
            perceptron, name, lambda *given, name=name, function=function: calls.append(name) or function(*given)
        )
    if not is_proven:
        monkeypatch.setattr(perceptron, "has_no_margin", lambda _: False)
    model = Perceptron(max_iter=10**5).fit(X, y)
    assert calls == ["bracket_hard_margin", "bound_mistakes"]
    assert model.status_ is (Status.NOT_SEPARABLE if is_proven else Status.STALLED)
    assert (model.hull_weights_ is not None) == is_proven
    assert model.certificate_ == certify(model, X, y)


def test_a_stream_after_a_proof_forgets_it():
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning):
        model = Perceptron(tol=None, max_iter=10**5).fit(X, y)
    model.partial_fit(X, y)
    assert not hasattr(model, "hull_weights_")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_smooth_perceptron_reaches_half_of_the_largest_margin(normalize, fit_intercept):
    X, y = hardly_separable(n=80, d=4, margin=0.1)
    model = MarginPerceptron(accelerated=True, normalize=normalize, fit_intercept=fit_intercept, min_gamma=1e-6)
    model.fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.share >= MARGIN_SHARE * (1 - 1e-9)
    assert model.score(X, y) == 1.0
    model.certificate_.check(certify(model, X, y))


def test_the_smooth_perceptron_with_a_guess_ends_with_half_of_it_or_a_proof():
    X, y = load("sonar_scale")
    searched = MarginPerceptron(accelerated=True, min_gamma=1e-4).fit(X, y)
    guess = 0.5 * searched.certificate_.lower
    given = MarginPerceptron(gamma=guess, accelerated=True).fit(X, y)
    assert given.margin_ >= guess / 2
    assert given.n_updates_ <= searched.n_updates_
    with pytest.warns(LimitWarning, match="no hyperplane has margin gamma="):
        too_much = MarginPerceptron(gamma=2 * searched.certificate_.upper, accelerated=True).fit(X, y)
    assert too_much.status_ is Status.NO_SUCH_MARGIN
    assert too_much.certificate_.upper < 2 * searched.certificate_.upper


@pytest.mark.parametrize("accelerated", [False, True])
def test_a_margin_that_no_hyperplane_has_is_not_called_inseparable(accelerated):
    X, y = load("mushrooms")
    with pytest.warns(
        LimitWarning, match=r"no hyperplane has margin gamma=5: the largest is at most \d\.\d+"
    ) as caught:
        model = MarginPerceptron(gamma=5, accelerated=accelerated).fit(X, y)
    assert "separable" not in str(caught[0].message)
    assert model.status_ is Status.NO_SUCH_MARGIN
    assert model.certificate_.upper < 5
    with pytest.warns(LimitWarning, match=r"no hyperplane has a margin of min_gamma \* R = .*lower min_gamma"):
        MarginPerceptron(min_gamma=0.9, accelerated=accelerated).fit(X, y)


def test_the_smooth_perceptron_says_how_little_margin_inseparable_data_leave():
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning):
        model = MarginPerceptron(accelerated=True).fit(X, y)
    assert model.status_ is Status.NO_SUCH_MARGIN
    assert model.certificate_.upper <= 1e-3 * model.certificate_.radius
    with pytest.warns(LimitWarning, match="max_iter"):
        assert MarginPerceptron(accelerated=True, max_iter=3, min_gamma=1e-9).fit(X, y).n_iter_ == 3
