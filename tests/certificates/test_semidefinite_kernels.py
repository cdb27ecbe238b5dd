"""Statements in the feature space of a kernel hold, state what they assume, or are not made."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import svm

from maxmargin import SVC, SVR, KernelPerceptron, Status, certify
from maxmargin.certificates import CertificateError
from maxmargin.data import Points
from maxmargin.problems.kernels import kernel_by_name
from maxmargin.problems.semidefinite import (
    ASSUMPTION,
    ASSUMPTION_OF_FUNCTIONS,
    ENTRY_ERROR,
    MOST_ROWS_TO_FACTORISE,
    KernelFacts,
    has_indefinite_pair,
    is_semidefinite,
    largest_asymmetry,
    smallest_ritz_value,
)

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


def gram_matrix(n, smallest, seed=0):
    """A Gram matrix of 12 features, less a multiple of a random direction."""
    generator = np.random.default_rng(seed)
    Z, v = generator.normal(size=(n, 12)), generator.normal(size=n)
    v -= Z @ np.linalg.lstsq(Z, v, rcond=None)[0]
    v /= np.linalg.norm(v)
    K = Z @ Z.T + smallest * np.outer(v, v)
    return 0.5 * (K + K.T), np.where(Z[:, 0] + 0.3 * generator.normal(size=n) > 0.0, 1, -1)


def bracket_of(model):
    return getattr(model.certificate_, "bracket", model.certificate_)


@pytest.mark.parametrize("n", [40, 3001])
@pytest.mark.parametrize("smallest", [0.0, -0.5, -148.0])
def test_an_indefinite_gram_matrix_proves_nothing_at_any_size(n, smallest):
    K, y = gram_matrix(n, smallest)
    perceptron = KernelPerceptron(kernel="precomputed", max_iter=3).fit(K, y)
    machine = SVC(kernel="precomputed", max_iter=300, tol=0.5).fit(K, y)
    if smallest < 0.0:
        assert np.isinf(perceptron.certificate_.bound)
        assert np.isinf(bracket_of(perceptron).upper)
        assert machine.certificate_.dual == -np.inf
        assert machine.status_ is not Status.SOLVED
    else:
        assert np.isfinite(bracket_of(perceptron).upper)
        assert np.isfinite(machine.certificate_.dual)
        for model in (perceptron, machine):
            assert model.certificate_.assumption == ASSUMPTION
            assert ASSUMPTION in str(model.certificate_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "negative poly"])
def test_the_kind_of_a_kernel_needs_no_assumption(kernel):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    chosen = {"kernel": "poly", "coef0": -1.0} if kernel == "negative poly" else {"kernel": kernel}
    for model in (
        KernelPerceptron(max_iter=20, **chosen).fit(X, y),
        SVC(**chosen).fit(X, y),
        SVR(**chosen).fit(X, X[:, 0]),
    ):
        assert model.certificate_.assumption == ""
        claims = np.isfinite(getattr(model.certificate_, "dual", getattr(model.certificate_, "bound", 0.0)))
        assert claims == (kernel in ("linear", "rbf", "poly"))


def test_brackets_hold_for_every_hyperplane_of_a_sigmoid_kernel():
    # Exact Gram matrices with a negative eigenvalue: no bracket may exclude a hyperplane that exists.
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(6, 2))
        y = np.where(np.arange(6) % 2, 1, -1)
        model = KernelPerceptron(kernel="sigmoid", gamma=1.0, coef0=0.0, max_iter=50).fit(X, y)
        assert bracket_of(model).upper == np.inf


def test_user_functions_are_tested():
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    good = SVC(kernel=lambda a, b: np.exp(-np.square(a[:, None] - b).sum(axis=2))).fit(X, y)
    assert good.status_ is Status.SOLVED
    assert good.certificate_.assumption == ASSUMPTION_OF_FUNCTIONS
    assert "and its values are exact: " in str(good.certificate_)
    perceptron = KernelPerceptron(kernel=lambda a, b: a @ b.T, max_iter=5).fit(X, y)
    assert perceptron.certificate_.assumption == ASSUMPTION_OF_FUNCTIONS
    for bad in (lambda a, b: np.tanh(a @ b.T - 1.0), lambda a, b: a @ b.T + 0.1 * a[:, :1]):
        for model in (SVC(kernel=bad, max_iter=500).fit(X, y), KernelPerceptron(kernel=bad, max_iter=5).fit(X, y)):
            assert getattr(model.certificate_, "dual", -np.inf) == -np.inf
            assert getattr(model.certificate_, "bound", np.inf) == np.inf


def test_a_claim_without_the_assumption_is_refused():
    K, y = gram_matrix(40, 0.0)
    for model in (SVC(kernel="precomputed").fit(K, y), KernelPerceptron(kernel="precomputed", max_iter=5).fit(K, y)):
        proven = certify(model, K, y)
        model.certificate_.check(proven)
        claimed = model.certificate_
        if hasattr(claimed, "bracket"):
            claimed = replace(claimed, bracket=replace(claimed.bracket, assumption=""))
        else:
            claimed = replace(claimed, assumption="")
        with pytest.raises(CertificateError, match="positive semidefinite"):
            claimed.check(proven)


def test_asymmetry_beyond_rounding_is_refused_and_below_it_counted():
    K, y = gram_matrix(40, 0.0)
    rough = K.copy()
    rough[0, 1] += 1e-9 * np.abs(K).max()
    with pytest.raises(ValueError, match="X is not symmetric"):
        SVC(kernel="precomputed").fit(rough, y)
    with pytest.raises(ValueError, match="X is not symmetric"):
        KernelPerceptron(kernel="precomputed").fit(rough, y)
    # Other programs' models are not refused, but nothing is proven for them.
    assert certify(svm.SVC(kernel="precomputed").fit(rough, y), rough, y).dual == -np.inf
    rounded = K.copy()
    rounded[0, 1] *= 1.0 + 2.0**-50
    model = SVC(kernel="precomputed").fit(rounded, y)
    assert KernelFacts(None, Points(rounded)).asymmetry > 0.0
    assert model.certificate_.primal >= SVC(kernel="precomputed").fit(K, y).certificate_.dual
    single = (K + np.eye(40)).astype(np.float32)
    assert SVC(kernel="precomputed").fit(single, y).status_ is Status.SOLVED


def test_a_pair_of_rows_that_is_not_semidefinite_is_seen_among_many():
    n = 3500
    sample = np.random.default_rng(0).choice(n, MOST_ROWS_TO_FACTORISE, replace=False)
    first, second = np.setdiff1d(np.arange(n), sample)[:2]
    # Large eigenvalues elsewhere: a Krylov space of few steps does not contain the pair.
    K = np.diag(np.geomspace(1.0, 1e6, n))
    K[first, first] = K[second, second] = 1.0
    K[first, second] = K[second, first] = 1.5
    facts = KernelFacts(None, Points(K))
    assert smallest_ritz_value(facts.points.scores, n) > 0.0
    assert facts.may_be_indefinite
    K[first, second] = K[second, first] = -1.0
    assert not KernelFacts(None, Points(K)).may_be_indefinite


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_every_2_by_2_minor_is_tested(scale):
    generator = np.random.default_rng(1)
    A = generator.normal(size=(600, 30))
    K = A @ A.T
    assert not has_indefinite_pair(scale * K, 600 * ENTRY_ERROR * scale * np.abs(K).max())
    for _ in range(20):
        i, j = generator.choice(600, 2, replace=False)
        changed = K.copy()
        changed[i, j] = changed[j, i] = -np.sqrt(K[i, i] * K[j, j]) * (1.0 + 1e-6)
        assert has_indefinite_pair(scale * changed, 600 * ENTRY_ERROR * scale * np.abs(K).max())
    K[5, 5] = -1e-3
    assert has_indefinite_pair(scale * K, 600 * ENTRY_ERROR * scale * np.abs(K).max())
    assert not has_indefinite_pair(np.zeros((3, 3)), 0.0)


def test_the_parts_of_the_test():
    generator = np.random.default_rng(3)
    A = generator.normal(size=(700, 700))
    K = A + A.T
    assert largest_asymmetry(A) == pytest.approx(np.abs(A - A.T).max())
    assert largest_asymmetry(K) == 0.0
    exact = np.linalg.eigvalsh(K)[0]
    found = smallest_ritz_value(lambda v: K @ v, 700)
    assert exact - 1e-9 <= found <= 0.9 * exact
    assert not is_semidefinite(K)
    assert is_semidefinite(A @ A.T)
    # A 2 x 2 minor that is negative by one unit in the last place is within rounding, by a millionth it is not.
    assert is_semidefinite(np.array([[1.0, np.nextafter(1.0, 2.0)], [np.nextafter(1.0, 2.0), 1.0]]))
    assert not is_semidefinite(np.array([[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]]))
    facts = KernelFacts(kernel_by_name("poly", gamma=1.0, coef0=-0.1), Points(A))
    assert facts.may_be_indefinite
    assert facts.assumption == ""
