"""Multinomial logistic regression: its gap against exact and independent references, weights, formats, files."""

import math

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Rival
from sklearn.preprocessing import scale

from maxmargin import LimitWarning, LogisticRegression, Status, certify, load, save
from maxmargin.certificates import measure_multinomial_gap
from maxmargin.data import Points
from maxmargin.problems.multinomial import MultinomialProblem

X, Y = load_iris(return_X_y=True)


def objective(model, points, labels, C, weights=None):
    """The objective, computed in the plainest way."""
    scores = points @ model.coef_.T + model.intercept_
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
    return 0.5 * np.square(model.coef_).sum() + C * (losses if weights is None else weights * losses).sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_agrees_with_scikit_learn_within_the_gap(C, fit_intercept):
    points = scale(X)
    ours = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-9).fit(points, Y)
    theirs = Rival(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**4).fit(points, Y)
    assert ours.status_ is Status.SOLVED
    np.testing.assert_allclose(ours.coef_.sum(axis=0), 0.0, atol=1e-12)
    proof = ours.certificate_
    assert proof.dual <= objective(theirs, points, Y, C) * (1 + 1e-12)
    assert objective(ours, points, Y, C) <= proof.primal
    np.testing.assert_allclose(ours.predict_proba(points), theirs.predict_proba(points), atol=2e-4)
    assert (ours.predict(points) == ours.classes_[ours.predict_proba(points).argmax(axis=1)]).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_dual_value_is_below_every_objective(seed):
    """Weak duality, for arbitrary coefficients that are no solution at all."""
    rng = np.random.default_rng(seed)
    points, codes = rng.standard_normal((30, 3)) + 5.0, rng.integers(0, 4, 30)
    weights = rng.integers(0, 3, 30).astype(float)
    weights[codes == 3] *= seed > 0
    problem = MultinomialProblem(Points(points), codes, weights, 4, 0.7, seed % 2 == 0)

    def value(vector):
        W, b = vector[:12].reshape(4, 3), vector[12:] * problem.fit_intercept
        scores = points @ W.T + b
        losses = logsumexp(scores, axis=1) - scores[np.arange(30), codes]
        return 0.5 * np.square(W).sum() + 0.7 * (weights * losses).sum()

    least = so.minimize(value, np.zeros(16), options={"gtol": 1e-7}).fun
    for size in (0.0, 0.1, 3.0):
        W = size * rng.standard_normal((4, 3))
        b = size * rng.standard_normal(4) * problem.fit_intercept
        proof = measure_multinomial_gap(problem, W, b)
        assert proof.dual <= least * (1 + 1e-9)
        assert value(np.append(W, b)) <= proof.primal <= value(np.append(W, b)) * (1 + 1e-9)


def test_weights_are_repeated_rows_and_sparse_is_dense():
    counts = np.random.default_rng(0).integers(0, 3, len(Y))
    weighted = LogisticRegression(tol=1e-9).fit(X, Y, counts)
    repeated = LogisticRegression(tol=1e-9).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    sparse = LogisticRegression(tol=1e-9).fit(sp.csr_array(X), Y, counts)
    single = LogisticRegression(tol=1e-6).fit(X.astype(np.float32), Y, counts)
    for model, precision in ((repeated, 1e-4), (sparse, 1e-9), (single, 1e-2)):
        np.testing.assert_allclose(weighted.coef_, model.coef_, rtol=precision, atol=precision)
    assert repeated.objective_ == pytest.approx(weighted.objective_, rel=1e-8)


def test_many_unknowns_are_solved_by_conjugate_gradients():
    rng = np.random.default_rng(1)
    points, labels = rng.standard_normal((300, 120)), rng.integers(0, 4, 300)
    model = LogisticRegression(C=0.1, n_jobs=1).fit(points, labels)
    assert model.status_ is Status.SOLVED
    np.testing.assert_array_equal(model.coef_, LogisticRegression(C=0.1, n_jobs=2).fit(points, labels).coef_)
    again = LogisticRegression(C=0.1, warm_start=True).fit(points, labels)
    assert again.fit(points, labels).n_iter_[0] <= 1


def test_without_a_penalty_separated_classes_have_no_minimum():
    wine, classes = load_wine(return_X_y=True)
    with pytest.warns(LimitWarning, match="no minimum"):
        model = LogisticRegression(C=math.inf).fit(scale(wine), classes)
    assert model.status_ is Status.SEPARABLE
    assert model.certificate_.margin > 0.0
    assert model.score(scale(wine), classes) == 1.0
    overlapping = LogisticRegression(C=math.inf).fit(X, Y)
    assert overlapping.status_ is Status.SOLVED
    assert overlapping.certificate_.reach > 10.0


def test_files_and_certificates(tmp_path):
    model = LogisticRegression(class_weight="balanced").fit(X, Y)
    save(model, tmp_path / "model", X, Y)
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_ == certify(again, X, Y)
    # The multinomial problem of scikit-learn's model is the same one.
    theirs = Rival(tol=1e-8, max_iter=10**4).fit(scale(X), Y)
    assert certify(theirs, scale(X), Y).relative <= 1e-6


def test_a_penalised_intercept_is_that_of_liblinear():
    labels = np.minimum(Y, 1)
    for scaling in (1.0, 3.0):
        ours = LogisticRegression(solver="liblinear", intercept_scaling=scaling, tol=1e-9).fit(X, labels)
        theirs = Rival(solver="liblinear", intercept_scaling=scaling, tol=1e-9).fit(X, labels)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="multi_class='ovr'"):
        LogisticRegression(solver="liblinear").fit(X, Y)
    with pytest.raises(ValueError, match="penalize_intercept=True"):
        LogisticRegression(intercept_scaling=2.0).fit(X, Y)


def test_the_deprecated_penalty_means_what_it_means_in_scikit_learn(tmp_path):
    with pytest.warns(FutureWarning, match="write l1_ratio=0 for penalty='l2'"):
        named = LogisticRegression(penalty="l2", C=3.0).fit(X, Y)
    np.testing.assert_array_equal(named.coef_, LogisticRegression(C=3.0).fit(X, Y).coef_)
    labels = (Y == 1).astype(int)
    with pytest.warns(UserWarning, match="penalty=None will ignore the C"):
        free = LogisticRegression(penalty=None, C=4.0).fit(X, labels)
    unpenalised = LogisticRegression(C=np.inf).fit(X, labels)
    np.testing.assert_array_equal(free.coef_, unpenalised.coef_)
    assert certify(free, X, labels) == free.certificate_ == unpenalised.certificate_
    save(free, tmp_path / "model", X, labels)
    assert load(tmp_path / "model").certificate_ == free.certificate_
    with pytest.warns(UserWarning, match="Inconsistent values: penalty=l2 with l1_ratio=1"):
        contradicted = LogisticRegression(penalty="l2", C=3.0, l1_ratio=1.0).fit(X, Y)
    np.testing.assert_array_equal(contradicted.coef_, named.coef_)
    with pytest.warns(FutureWarning, match="l1_ratio=None"):
        LogisticRegression(l1_ratio=None).fit(X, Y)
    with pytest.warns(FutureWarning, match="l1_ratio=1 for penalty='l1'"):
        sparse = LogisticRegression(penalty="l1").fit(X, Y)
    np.testing.assert_array_equal(sparse.coef_, LogisticRegression(l1_ratio=1.0).fit(X, Y).coef_)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_as_near_to_the_optimum_as_those_of_scikit_learn_at_the_same_tol(C, tol, n_classes):
    points, labels = scale(X), np.minimum(Y, n_classes - 1)
    optimum = (
        Rival(C=C, tol=1e-13, solver="newton-cholesky", max_iter=1000).fit(points, labels).decision_function(points)
    )
    ours, theirs = (
        np.abs(model(C=C, tol=tol).fit(points, labels).decision_function(points) - optimum).max()
        for model in (LogisticRegression, Rival)
    )
    assert ours <= max(1.5 * theirs, 1e-10)


def test_without_a_step_the_model_is_that_of_the_start():
    for labels in (Y, Y == 1):
        with pytest.warns(LimitWarning):
            model = LogisticRegression(max_iter=0).fit(X, labels)
        assert not model.coef_.any()
        assert not model.intercept_.any()
        assert model.n_iter_[0] == 0
