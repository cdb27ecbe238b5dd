"""Kernel values, kernel expansions and the problems of pairs of classes."""

import decimal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC
from maxmargin.data import ClassPairs
from maxmargin.loops.exponential import exponentiate, store_exponentials
from maxmargin.problems import kernel_expansion
from maxmargin.problems.kernel_expansion import RowBlock, expansion_scores, scores_of_own_rows
from maxmargin.problems.kernels import Polynomial, RadialBasis
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.problems.sparse_products import ColumnSplit


def test_nearly_whole_numbers_are_not_taken_for_whole():
    X = np.array([[2.0000000129597906, 1.0000000233846327], [1.0000000268167375, 2.000000011606377]])
    assert RowBlock(X).in_single is None
    assert RowBlock(np.full((2, 2), 1e-50)).in_single is None


def test_exponentials_are_those_of_the_library():
    values = -np.geomspace(1e-12, 700.0, 4000).reshape(40, 100)
    zeros, exact = np.zeros(100), np.exp(values)
    double = np.empty_like(values)
    exponentiate(values / 2.0, 2.0, zeros[:40], zeros, double)
    np.testing.assert_allclose(double, exact, rtol=2.0**-51)
    single, stored = values.astype(np.float32), np.zeros((40, 120), dtype=np.float32)
    terms = zeros[:40].astype(np.float32), zeros.astype(np.float32)
    store_exponentials(single, terms, np.arange(40), 20, stored)
    exact = np.exp(single.astype(np.float64))
    np.testing.assert_allclose(stored[:, 20:][single > -85.0], exact[single > -85.0], rtol=2e-7)
    assert (stored[:, :20] == 0.0).all()
    # Rounding may make the exponent of equal points positive, and far ones leave the range.
    ends = np.array([[1e-9, -1e4]])
    exponentiate(ends, 1.0, np.zeros(1), np.zeros(2), ends)
    assert ends[0, 0] == 1.0
    assert 0.0 <= ends[0, 1] < 1e-300


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", rbf_kernel])
def test_pairs_that_share_kernel_values_have_the_scores_of_each_alone(kernel):
    X, y = load_iris(return_X_y=True)
    X = rbf_kernel(X) if kernel == "precomputed" else X
    model = SVC(kernel=kernel, gamma=0.5).fit(X, y)
    labelled = model._data_to_certify(X, y, None)
    pairs = ClassPairs(labelled)
    problems = PairProblems(pairs, model._kernel, model.C)
    rng = np.random.default_rng(0)
    betas = [pair.signs * (rng.random(pair.signs.size) > 0.7) for pair in pairs.tasks()]
    for pair, beta, scores in zip(pairs.tasks(), betas, problems.scores(betas), strict=True):
        support = np.flatnonzero(beta)
        alone = problems.problem(pair).scores_of(slice(None), support, beta[support])
        np.testing.assert_allclose(scores, alone, rtol=1e-12, atol=1e-12)


def test_whole_numbers_are_multiplied_in_single_precision_and_nothing_is_lost():
    rng = np.random.default_rng(0)
    X, Z, coefficients = rng.integers(0, 9, (700, 60)), rng.integers(-9, 9, (300, 60)), rng.standard_normal((300, 2))
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    for gamma in (0.01, 1e-4):
        exact = rbf_kernel(X, Z, gamma=gamma) @ coefficients
        for function in (kernel_expansion.exponentiate, exponentiate):
            whole = expansion_scores(RadialBasis(gamma), X, Z, coefficients, exponentiate=function)
            np.testing.assert_allclose(whole, exact, rtol=1e-12, atol=1e-12)
    assert RowBlock(X).in_single is not None
    # Not whole, and so large that a sum of products would be rounded.
    assert RowBlock(X + 0.5).in_single is None
    assert RowBlock(X * 1000.0).in_single is None


def test_the_exponentials_of_certificates_are_within_their_error_bound():
    values = -np.geomspace(1e-12, 700.0, 4000).reshape(40, 100)
    rows, columns, results = np.linspace(-1.0, 0.0, 40), np.linspace(-1.0, 0.0, 100), np.empty((40, 100))
    kernel_expansion.exponentiate(values, 1.0, rows, columns, results)
    exponents = values + rows[:, None] + columns
    exact = [[exponential_of(exponent) for exponent in line] for line in exponents[::8, ::10]]
    np.testing.assert_allclose(results[::8, ::10], np.array(exact, dtype=float), rtol=8 * 2.0**-53, atol=0.0)
    ends = np.array([[1e-9, -1e4]])
    kernel_expansion.exponentiate(ends, 1.0, np.zeros(1), np.zeros(2), ends)
    np.testing.assert_array_equal(ends, [[1.0, 0.0]])


def exponential_of(exponent):
    """exp to 40 digits."""
    with decimal.localcontext() as context:
        context.prec = 40
        return decimal.Decimal(float(exponent)).exp()


@pytest.mark.parametrize("kernel", [RadialBasis(0.4), Polynomial(0.5, 2, 1.0)], ids=lambda one: str(one))
@pytest.mark.parametrize("sparse", [False, True])
def test_kernel_values_of_two_support_vectors_serve_both(kernel, sparse):
    # More support vectors than a block has, and rows of the matrix that do not count.
    rng = np.random.default_rng(0)
    X = sp.random_array((1500, 300), density=0.02, rng=rng, format="csr") if sparse else rng.standard_normal((1500, 3))
    rows = rng.permutation(1500)[:1400]
    support = np.sort(rng.permutation(1400)[:1150])
    coefficients = rng.standard_normal((1150, 2))
    found = [scores_of_own_rows(kernel, X, rows, support, coefficients, n_threads=n) for n in (1, 3)]
    np.testing.assert_array_equal(*found)
    dense = (X.toarray() if sparse else X)[rows]
    exact = kernel.gram(dense, dense[support]) @ coefficients
    np.testing.assert_allclose(found[0], exact, rtol=1e-11, atol=1e-10)


def test_inner_products_of_split_rows_add_up():
    rng = np.random.default_rng(2)
    shares = np.repeat([0.5, 0.01], [5, 200])
    X = sp.csr_array(rng.random((60, 205)) * (rng.random((60, 205)) < shares))
    columns = ColumnSplit(X)
    assert columns.n_frequent == 5
    split = columns.of(X)
    assert split.rest.nnz + np.count_nonzero(split.dense) == X.nnz
    inner = split.dense @ split.dense.T + (split.rest @ split.rest.T).toarray()
    np.testing.assert_allclose(inner, (X @ X.T).toarray(), rtol=1e-12)
    meeting = ((split.rest != 0).astype(float) @ (split.rest != 0).astype(float).T).sum()
    assert columns.meeting_entries == pytest.approx(meeting / 60**2)
