"""Probabilities by calibration: against scikit-learn's CalibratedClassifierCV on the same folds, and the theorem."""

import copy
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from maxmargin import SVC, KernelPerceptron, LinearSVC, LogisticRegression, Perceptron, Ridge, calibrate, load, save
from maxmargin.estimators._probabilities import couple, scores_on_folds
from maxmargin.files.proof_file import stripped

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

CANCER = scale(load_breast_cancer().data), load_breast_cancer().target
IRIS = scale(load_iris().data), load_iris().target


class Memory(BaseEstimator):
    """Remembers the rows of all fits, and of all predictions; its scores are whether it saw a row in the fit."""

    folds: list = []

    def fit(self, X, _labels):
        self.seen = X[:, 0]
        return self

    def _scores_by_task(self, X):
        Memory.folds.append((self.seen.astype(int), X[:, 0].astype(int)))
        return np.isin(X[:, 0], self.seen).astype(float)[:, None]


def folds_of(labels, seed=0, n_folds=5):
    """The folds of a calibration; no row is scored by a model that has seen it."""
    Memory.folds = []
    rows = np.arange(len(labels))[:, None]
    assert not scores_on_folds(Memory(), rows, labels, None, seed, n_folds).any()
    assert sorted(np.concatenate([test for _, test in Memory.folds]).tolist()) == rows[:, 0].tolist()
    return Memory.folds


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize(("X", "y"), [CANCER, IRIS], ids=["two classes", "three classes"])
def test_probabilities_are_those_of_scikit_learn_on_the_same_folds(X, y, method):
    model = calibrate(LinearSVC(C=0.1).fit(X, y), X, y, method=method)
    theirs = CalibratedClassifierCV(LinearSVC(C=0.1), method=method, cv=folds_of(y), ensemble=False).fit(X, y)
    # Sigmoids are fitted to a precision of their own by either.
    tolerance = 2e-3 if method == "sigmoid" else 1e-9
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("estimator", [LinearSVC(), SVC(), Perceptron(random_state=0), KernelPerceptron()])
def test_calibrated_models_keep_their_labels_and_go_into_files(estimator, method, tmp_path):
    for X, y in (CANCER, IRIS):
        model = estimator.fit(X, y)
        labels, certificate = model.predict(X), model.certificate_
        assert not hasattr(model, "predict_proba")
        assert calibrate(model, X, y, method=method) is model
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert probabilities.min() >= 0.0
        assert np.mean(probabilities.argmax(axis=1) == y) > 0.8
        assert (model.predict(X) == labels).all()
        assert model.certificate_ is certificate
        save(model, tmp_path / "model", X, y)
        save(stripped(model), tmp_path / "lean")
        for name in ("model", "lean"):
            assert (load(tmp_path / name).predict_proba(X) == probabilities).all()
        assert (copy.deepcopy(model).predict_proba(X) == probabilities).all()
        assert not hasattr(model.fit(X, y), "predict_proba")


def test_weights_and_gram_matrices():
    X, y = IRIS
    twice = np.concatenate([np.arange(150), np.arange(60)])
    weights = np.bincount(twice).astype(float)
    plain, weighted = (calibrate(LinearSVC().fit(X, y), X, y, sample_weight=w) for w in (None, weights))
    assert np.abs(plain.predict_proba(X) - weighted.predict_proba(X)).max() > 1e-3
    gram = X @ X.T
    by_gram = calibrate(SVC(kernel="precomputed").fit(gram, y), gram, y)
    by_rows = calibrate(SVC(kernel="linear").fit(sp.csr_array(X), y), sp.csr_array(X), y)
    np.testing.assert_allclose(by_gram.predict_proba(gram), by_rows.predict_proba(sp.csr_array(X)), atol=5e-3)


def test_coupled_pairs_minimise_their_sum_of_squares():
    rng = np.random.default_rng(0)
    for n_classes in (3, 4, 9):
        pairs = np.clip(rng.beta(0.3, 0.3, (200, n_classes * (n_classes - 1) // 2)), 1e-7, 1.0 - 1e-7)
        found = couple(pairs, n_classes)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.min() >= 0.0

        def value(p, pairs=pairs, n_classes=n_classes):
            terms = ((1.0 - pairs[:, k]) * p[:, i] - pairs[:, k] * p[:, j] for k, (i, j) in PAIRS(n_classes))
            return sum(term**2 for term in terms)

        for other in rng.dirichlet(np.ones(n_classes), (20, 200)):
            # Convex: no step towards another point of the simplex is better.
            for step in (1.0, 1e-3):
                assert (value(found) <= value(found + step * (other - found)) + 1e-12).all()


def PAIRS(n_classes):  # noqa: N802
    """The pairs of classes with their numbers."""
    return enumerate(combinations(range(n_classes), 2))


def test_what_cannot_be_calibrated_is_refused():
    X, y = CANCER
    model = LinearSVC().fit(X, y)
    with pytest.raises(NotFittedError):
        calibrate(LinearSVC(), X, y)
    with pytest.raises(TypeError, match="a Ridge is none"):
        calibrate(Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="has probabilities of its own"):
        calibrate(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="method must be 'sigmoid' or 'isotonic'; it is 'beta'"):
        calibrate(model, X, y, method="beta")
    with pytest.raises(ValueError, match="cv must be at least 2"):
        calibrate(model, X, y, cv=1)
    with pytest.raises(ValueError, match="other classes than the model"):
        calibrate(model, X, y + 1)
    with pytest.raises(ValueError, match="29 features"):
        calibrate(model, X[:, :-1], y)
    few = [*np.flatnonzero(y)[:20].tolist(), np.flatnonzero(y == 0)[0]]
    with pytest.raises(ValueError, match="at least two rows of every class"):
        calibrate(LinearSVC().fit(X[few], y[few]), X[few], y[few])
    assert not hasattr(model, "calibration_")
