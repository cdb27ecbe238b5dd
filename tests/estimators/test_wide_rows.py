"""Rows of very many columns cost what their entries cost."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC as LibsvmSVC  # noqa: N811

from libsvm_cases import FEW_BYTES, bytes_at_most, rows_with_ties
from maxmargin import SVC, SVR, KernelPerceptron, certify
from maxmargin.data.points import only_columns

VERY_MANY = 2_000_000_000


def hashed_rows(n_rows, n_columns, seed=0, used=3000):
    """Sparse rows over some columns, and the same entries with all columns apart from each other."""
    rows = sp.random_array((n_rows, used), density=0.005, format="csr", random_state=np.random.default_rng(seed))
    rows = sp.csr_matrix(rows[:, np.unique(rows.indices)])
    places = np.sort(np.random.default_rng(seed).choice(n_columns, rows.shape[1], replace=False)).astype(np.int32)
    wide = sp.csr_matrix((rows.data, places[rows.indices], rows.indptr), shape=(n_rows, n_columns))
    return rows, wide


def outputs(model, X):
    return model.predict(X) if isinstance(model, SVR) else model.decision_function(X)


MACHINES = [
    SVC(gamma=0.5),
    SVC(kernel="linear"),
    SVC(kernel="poly", gamma=1.0, coef0=1.0),
    SVR(gamma=0.5),
    SVR(kernel="linear"),
    KernelPerceptron(gamma=0.5, max_iter=5),
]


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_empty_columns_cost_nothing_and_change_no_bit(machine, n_classes):
    narrow, wide = hashed_rows(90, VERY_MANY)
    y = np.arange(90) % n_classes
    one = type(machine)(**machine.get_params()).fit(narrow, y)
    other = type(machine)(**machine.get_params())
    assert bytes_at_most(lambda: other.fit(wide, y)) < FEW_BYTES
    np.testing.assert_array_equal(one.support_, other.support_)
    assert (one.dual_coef_ != other.dual_coef_).sum() == 0
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert str(certify(one, narrow, y)) == str(certify(other, wide, y)) == str(other.certificate_)
    assert other.support_vectors_.shape[1] == VERY_MANY
    # Only the order of sums may differ: the support alone has fewer columns than all rows.
    assert bytes_at_most(lambda: outputs(other, wide)) < FEW_BYTES
    np.testing.assert_allclose(outputs(one, narrow), outputs(other, wide), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_columns_that_no_support_vector_has_count_in_lengths_alone(kernel):
    _, rows = hashed_rows(60, 400_000)
    _, others = hashed_rows(40, 400_000, seed=1)
    both = sp.csr_matrix(sp.vstack([others, rows[:20] + others[:20]]))
    model = SVC(kernel=kernel, gamma=0.5, coef0=0.1).fit(rows, np.arange(60) % 2)
    inner = (both @ model.support_vectors_.T).toarray()
    squares = both.multiply(both).sum(axis=1), model.support_vectors_.multiply(model.support_vectors_).sum(axis=1)
    values = {
        "rbf": lambda: np.exp(-0.5 * (np.asarray(squares[0]) + np.asarray(squares[1]).T - 2.0 * inner)),
        "poly": lambda: (0.5 * inner + 0.1) ** 3,
        "linear": lambda: inner,
        "sigmoid": lambda: np.tanh(0.5 * inner + 0.1),
    }[kernel]()
    exact = values @ model.dual_coef_.toarray()[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(both), exact, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("n_columns", [255, 1000, 300_000])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_dense_rows_get_the_scores_of_sparse_ones(kernel, n_columns):
    """Also where the support vectors are so sparse that they are not multiplied as a dense array."""
    rows, y = sp.random_array((60, n_columns), density=3 / n_columns, rng=0, format="csr"), np.arange(60) % 2
    for machine in (SVC(kernel=kernel), SVR(kernel=kernel), KernelPerceptron(kernel=kernel, max_iter=5)):
        model = machine.fit(rows, y)
        np.testing.assert_array_equal(outputs(model, rows.toarray()), outputs(model, rows))


def test_many_columns_that_all_occur_are_not_made_dense():
    n_rows, n_columns = 600, 600_000
    indices = np.random.default_rng(0).permutation(n_columns).astype(np.int32).reshape(n_rows, -1)
    X = sp.csr_matrix((np.ones(n_columns), np.sort(indices).ravel(), np.arange(0, n_columns + 1, 1000)))
    assert X.shape == (n_rows, n_columns)
    model = SVC(kernel="linear")
    assert bytes_at_most(lambda: model.fit(X, np.arange(n_rows) % 2)) < FEW_BYTES
    assert bytes_at_most(lambda: model.decision_function(X)) < FEW_BYTES


def test_the_coefficients_of_very_many_columns_are_sparse():
    _, wide = hashed_rows(60, VERY_MANY)
    model = SVC(kernel="linear").fit(wide, np.arange(60) % 2)
    assert bytes_at_most(lambda: model.coef_) < FEW_BYTES
    assert model.coef_.shape == (1, VERY_MANY)
    columns = np.unique(model.coef_.indices)
    scores = only_columns(wide, columns) @ only_columns(model.coef_, columns).toarray()[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, model.decision_function(wide), rtol=1e-9, atol=1e-12)


def test_votes_that_tie_are_decided_as_scikit_learn_does():
    X, y = rows_with_ties()
    ours, rival = SVC(gamma=0.5, tol=1e-7).fit(X[:200], y[:200]), LibsvmSVC(gamma=0.5, tol=1e-7).fit(X[:200], y[:200])
    by_scores = ours.classes_[ours.decision_function(X).argmax(axis=1)]
    assert (ours.predict(X) != by_scores).any()
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))
    ours.break_ties = rival.break_ties = True
    np.testing.assert_array_equal(ours.predict(X), by_scores)
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))
