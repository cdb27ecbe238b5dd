"""Pairs of classes that are solved together: on the whole kernel matrix, or on a sample of the rows that grows."""

import numpy as np
import pytest
import sklearn.svm

from maxmargin import SVC
from maxmargin.solvers.kernel import one_vs_one, smo_full_matrix
from maxmargin.solvers.kernel.one_vs_one import JointPairs

TOL = 1e-5


def clusters(n_rows: int, spread: float, n_classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points around the corners of a polygon."""
    generator = np.random.default_rng(n_rows)
    y = generator.integers(0, n_classes, n_rows)
    angles = 2.0 * np.pi * y / n_classes
    X = 3.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + spread * generator.normal(size=(n_rows, 2))
    return X, y


def overlapping(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes so near to each other that most rows have a dual."""
    return clusters(n_rows, spread=4.0)


def separated(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that few rows tell apart."""
    return clusters(n_rows, spread=0.8)


def count_single_pairs(monkeypatch: pytest.MonkeyPatch) -> list:
    """A list that grows whenever a pair is solved alone."""
    found, solve = [], smo_full_matrix.solve
    monkeypatch.setattr(smo_full_matrix, "solve", lambda *given: found.append(given) or solve(*given))
    return found


def dual_values(model, X: np.ndarray, gamma: float) -> np.ndarray:
    """sum alpha - beta K beta / 2 of every pair, from the duals alone."""
    ends, found = np.cumsum(model.n_support_), []
    starts = ends - model.n_support_
    for first in range(len(ends)):
        for second in range(first + 1, len(ends)):
            rows = np.r_[starts[first] : ends[first], starts[second] : ends[second]]
            beta = np.r_[
                model.dual_coef_[second - 1, starts[first] : ends[first]],
                model.dual_coef_[first, starts[second] : ends[second]],
            ]
            points = X[model.support_[rows]]
            kernel = np.exp(-gamma * ((points[:, None] - points[None]) ** 2).sum(axis=2))
            found.append(np.abs(beta).sum() - 0.5 * beta @ kernel @ beta)
    return np.array(found)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize(("make", "n_rows"), [(separated, 3000), (overlapping, 2200)])
def test_pairs_together_have_the_dual_values_of_libsvm(make, n_rows, C, monkeypatch):
    X, y = make(n_rows)
    alone = count_single_pairs(monkeypatch)
    model = SVC(C=C, gamma=0.5, tol=TOL).fit(X, y)
    assert not alone
    assert max(proof.relative for proof in model.certificate_.values()) <= TOL
    reference = sklearn.svm.SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(dual_values(model, X, 0.5), dual_values(reference, X, 0.5), rtol=TOL)


def test_a_sample_evaluates_few_rows_where_few_have_duals(monkeypatch):
    X, y = separated(6000)
    sizes, ascend = [], JointPairs._ascend

    def counting(self, gram, *given):
        sizes.append(len(gram))
        return ascend(self, gram, *given)

    monkeypatch.setattr(JointPairs, "_ascend", counting)
    model = SVC(C=10.0, gamma=0.5, tol=TOL).fit(X, y)
    assert model.status_ == "solved"
    assert max(sizes) < 6000 / 4
    assert len(model.support_) < max(sizes)


@pytest.mark.parametrize(("make", "n_rows"), [(separated, 3000), (overlapping, 2200)])
def test_threads_do_not_change_the_bits(make, n_rows):
    X, y = make(n_rows)
    models = [SVC(C=1.0, gamma=0.5, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(models[0].intercept_, other.intercept_)


def test_a_sample_is_given_up_where_the_matrix_of_all_rows_is_too_large(monkeypatch):
    X, y = overlapping(2200)
    together = SVC(gamma=0.5, tol=TOL).fit(X, y)
    monkeypatch.setattr(one_vs_one, "MOST_ENTRIES", 0)
    alone = count_single_pairs(monkeypatch)
    model = SVC(gamma=0.5, tol=TOL).fit(X, y)
    assert len(alone) == 6
    np.testing.assert_allclose(dual_values(model, X, 0.5), dual_values(together, X, 0.5), rtol=TOL)


def test_rows_without_weight_have_no_duals():
    X, y = separated(3000)
    weights = np.where(np.arange(3000) % 3 == 0, 0.0, 1.0)
    y_of_others = np.where(weights == 0.0, (y + 1) % 4, y)
    model = SVC(C=10.0, gamma=0.5, tol=TOL).fit(X, y_of_others, sample_weight=weights)
    used = np.flatnonzero(weights)
    alone = SVC(C=10.0, gamma=0.5, tol=TOL).fit(X[used], y[used])
    assert (weights[model.support_] > 0.0).all()
    np.testing.assert_allclose(dual_values(model, X, 0.5), dual_values(alone, X[used], 0.5), rtol=TOL)
    assert max(proof.relative for proof in model.certificate_.values()) <= TOL


def test_a_class_without_weight_in_the_sample_is_solved():
    X, y = separated(3000)
    weights = np.zeros(3000)
    for k in range(4):
        weights[np.flatnonzero(y == k)[: 3 if k == 0 else None]] = 1.0
    model = SVC(C=10.0, gamma=0.5, tol=TOL).fit(X, y, sample_weight=weights)
    assert max(proof.relative for proof in model.certificate_.values()) <= TOL
