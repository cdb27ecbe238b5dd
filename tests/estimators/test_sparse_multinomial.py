"""Multinomial logistic regression with an L1 penalty or an elastic net: gap, proven zeros, agreement, files."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Rival
from sklearn.preprocessing import scale

import maxmargin as mm
from maxmargin.certificates import SparseGap, measure_sparse_multinomial_gap
from maxmargin.data import Points
from maxmargin.files.verification import check_model
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.problems.sparse_multinomial import SparseMultinomialProblem
from maxmargin.solvers.regression import sparse_multinomial

X, Y = load_wine(return_X_y=True)
X = scale(X)


def model_of(l1_ratio=1.0, **options):
    return mm.LogisticRegression(**{"l1_ratio": l1_ratio, "tol": 1e-9, "C": 0.3, **options})


@pytest.mark.parametrize("l1_ratio", [1.0, 0.7, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_agreement_with_scikit_learn(load, l1_ratio, fit_intercept):
    rows, labels = load(return_X_y=True)
    rows = scale(rows)
    ours = model_of(l1_ratio, fit_intercept=fit_intercept).fit(rows, labels)
    theirs = Rival(l1_ratio=l1_ratio, C=0.3, fit_intercept=fit_intercept, solver="saga", max_iter=10**5, tol=1e-10).fit(
        rows, labels
    )
    assert isinstance(ours.certificate_, SparseGap)
    assert ours.status_ == "solved"
    assert ours.certificate_.relative <= 1e-9
    # scikit-learn's model has a gap, too, which is not smaller than its distance from the optimum.
    proof = mm.certify(theirs, rows, labels)
    assert isinstance(proof, SparseGap)
    assert ours.certificate_.dual <= proof.primal <= ours.certificate_.primal * (1.0 + 1e-5)
    assert proof.relative <= 1e-4
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(rows), ours.classes_[ours.predict_proba(rows).argmax(axis=1)])


def test_zeros_are_proven_and_zero_in_finer_solutions():
    rows, labels = load_digits(return_X_y=True)
    rows = scale(rows)
    coarse = mm.LogisticRegression(l1_ratio=1.0, C=0.02).fit(rows, labels)
    finer = clone(coarse).set_params(tol=1e-7).fit(rows, labels)
    assert coarse.certificate_.relative <= 1e-4
    assert 0 < coarse.certificate_.unused <= finer.certificate_.unused <= (finer.coef_ == 0.0).sum()
    # Columns without any entry are among them.
    assert finer.certificate_.unused >= 10 * (rows == 0.0).all(axis=0).sum()
    assert finer.certificate_.dual <= coarse.certificate_.primal
    assert coarse.certificate_.dual <= finer.certificate_.primal


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_bounds_hold_for_any_vectors(l2, fit_intercept):
    random = np.random.default_rng(0)
    rows, codes = random.normal(size=(60, 5)), random.integers(0, 3, 60)
    weights = random.integers(0, 3, 60).astype(float)
    losses = MultinomialProblem(Points(rows), codes, weights, 3, 0.8, fit_intercept)
    problem = SparseMultinomialProblem(losses, 1.0, l2)
    best = measure(problem)
    for _ in range(30):
        W = random.normal(size=(3, 5)) * random.choice([0.0, 0.1, 1.0, 10.0])
        b = random.normal(size=3) if fit_intercept else np.zeros(3)
        found = measure_sparse_multinomial_gap(problem, W, b)
        assert found.dual <= best.primal
        assert found.primal >= best.dual
        assert found.unused <= best.unused
        # The objective in higher precision.
        scores = rows.astype(np.longdouble) @ W.T + b
        highest = scores.max(axis=1)
        lost = np.log(np.exp(scores - highest[:, None]).sum(axis=1)) + highest - scores[np.arange(60), codes]
        exact = np.abs(W).sum() + 0.5 * l2 * np.square(W).sum() + 0.8 * (weights * lost).sum()
        assert Fraction(float(exact)) <= Fraction(found.primal) * (1 + Fraction(1, 10**15))
        assert found.primal <= float(exact) * (1.0 + 1e-10)


def measure(problem):
    """The gap of a solution."""
    from maxmargin.solvers.core import Monitor, Options
    from maxmargin.solvers.regression import sparse_multinomial

    found = sparse_multinomial.solve(problem, Options(tol=1e-10, max_iter=10**4), Monitor())
    return measure_sparse_multinomial_gap(problem, found.w, found.intercept)


def test_weights_are_repeated_rows_and_sparse_rows_the_same_as_dense():
    weights = np.arange(len(X)) % 3
    model = model_of(0.6)
    weighted = clone(model).fit(X, Y, weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    compressed = clone(model).fit(sp.csr_array(X), Y, weights)
    np.testing.assert_allclose(weighted.coef_, compressed.coef_, atol=1e-4)
    far = clone(model).fit(X + 1e4, Y, weights)
    assert far.certificate_.relative <= 1e-8
    np.testing.assert_allclose(weighted.coef_, far.coef_, atol=1e-3)


def test_a_large_penalty_leaves_the_shares_of_the_classes():
    model = model_of(C=1e-4).fit(X, Y)
    assert not model.coef_.any()
    assert model.certificate_.unused == model.coef_.size
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(Y) / len(Y), rtol=1e-6)


def test_files_warm_starts_float32_and_penalised_intercepts(tmp_path):
    for parameters in ({}, {"penalize_intercept": True, "intercept_scaling": 2.0}):
        model = model_of(0.5, **parameters).fit(X, Y)
        mm.save(model, tmp_path / "model", X, Y)
        again = mm.load(tmp_path / "model")
        assert again.certificate_ == model.certificate_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        check_model(again, again._data_to_certify(X, Y, None), mm.certify(again, X, Y))
        warm = clone(model).set_params(warm_start=True, tol=1e-4).fit(X, Y)
        once = warm.n_iter_[0]
        assert warm.fit(X, Y).n_iter_[0] < once
    narrow = model_of(tol=1e-4).fit(X.astype(np.float32), Y)
    assert narrow.coef_.dtype == np.float32
    assert narrow.certificate_.relative <= 1e-4


def test_limits_are_kept_and_the_gap_is_true():
    with pytest.warns(mm.LimitWarning):
        model = model_of(C=10.0, max_iter=2).fit(X, Y)
    assert model.n_iter_[0] == 2
    model.certificate_.check(mm.certify(model, X, Y))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.01])
@pytest.mark.parametrize(("load", "C"), [(load_wine, 0.01), (load_wine, 1.0), (load_wine, 100.0), (load_iris, 100.0)])
def test_columns_of_very_different_scales_take_few_rounds(load, C, l1_ratio):
    rows, labels = load(return_X_y=True)
    model = mm.LogisticRegression(l1_ratio=l1_ratio, C=C).fit(rows, labels)
    assert model.status_ == "solved"
    assert model.certificate_.relative <= model.tol
    # Steps of one class at a time took 35 rounds of wine at C = 1, and 2,000 of iris.
    assert model.n_iter_[0] <= 20
    # The same problem in other units: the coefficients of columns times c are those of C times c^(-1), divided by c.
    if l1_ratio == 1.0:
        scaled = mm.LogisticRegression(l1_ratio=1.0, C=C / 1000.0).fit(1000.0 * rows, labels)
        assert scaled.status_ == "solved"
        assert 1000.0 * scaled.certificate_.dual <= model.certificate_.primal * (1.0 + 1e-9)
        assert model.certificate_.dual <= 1000.0 * scaled.certificate_.primal * (1.0 + 1e-9)


def test_steps_of_one_class_find_the_same_model(monkeypatch):
    rows, labels = load_wine(return_X_y=True)
    joint = mm.LogisticRegression(l1_ratio=1.0, tol=1e-6).fit(rows, labels)
    monkeypatch.setattr(sparse_multinomial, "MOST_JOINT", 0)
    single = mm.LogisticRegression(l1_ratio=1.0, tol=1e-6).fit(rows, labels)
    assert joint.status_ == single.status_ == "solved"
    assert joint.n_iter_[0] < single.n_iter_[0]
    np.testing.assert_allclose(joint.predict_proba(rows), single.predict_proba(rows), atol=1e-3)
    # Sparse rows have the same Hessian.
    monkeypatch.undo()
    sparse = mm.LogisticRegression(l1_ratio=1.0, tol=1e-6).fit(sp.csr_array(rows), labels)
    assert sparse.status_ == "solved"
    np.testing.assert_allclose(joint.predict_proba(rows), sparse.predict_proba(rows), atol=1e-3)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_same_shift_of_all_classes_is_the_best_one(n_classes, l2):
    rng = np.random.default_rng(n_classes)
    W = rng.normal(size=(n_classes, 40)) * (rng.random((n_classes, 40)) < 0.7)
    losses = MultinomialProblem(Points(np.zeros((1, 40))), np.zeros(1, np.intp), np.ones(1), n_classes, 1.0, True)
    problem = SparseMultinomialProblem(losses, l1=0.5, l2=l2)
    shifts = problem.best_shifts(W)
    assert shifts.any()
    values = np.array([problem.penalty(column[:, None]) for column in (W - shifts).T])
    others = np.linspace(W.min(), W.max(), 2001)
    for column, value in zip(W.T, values, strict=True):
        least = min(problem.penalty((column - c)[:, None]) for c in others)
        assert value <= least + 1e-12
    # Nothing is left to shift.
    np.testing.assert_allclose(problem.best_shifts(W - shifts), 0.0, atol=1e-12)
