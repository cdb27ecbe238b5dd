"""SMO and the kernel matrix, called directly."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, Status
from maxmargin.data import ClassPairs, Points
from maxmargin.engine.threads import RangeThreads
from maxmargin.loops.smo import Duals, ascend_pairs, gather_block
from maxmargin.problems.kernels import Linear, Polynomial, RadialBasis
from maxmargin.problems.linear_svm import hinge
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result
from maxmargin.solvers.kernel import smo
from maxmargin.solvers.kernel.base import SMOOptions, initial_result
from maxmargin.solvers.kernel.kernel_cache import KernelCache, StoredKernel
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix
from real_data import random_set


def test_pairs_of_repeated_points_have_no_curvature_and_still_end():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.tile([1, -1], 20)
    model = SVC(gamma=1.0).fit(X, y)
    assert model.status_ is Status.SOLVED
    beta, residuals = np.zeros(2), np.array([1.0, -1.0])
    steps = ascend_pairs(
        np.ones((2, 2)), Duals(beta, residuals, np.array([0.0, -1.0]), np.array([1.0, 0.0]), 0.0), 1e-6, 100
    )
    assert steps == 1
    np.testing.assert_array_equal(beta, [1.0, -1.0])


@pytest.mark.parametrize("shrinking", [True, False])
def test_shrinking_changes_the_way_and_not_the_end(shrinking):
    X, y = random_set(5, n=6000, d=4, noise=0.05)
    model = SVC(C=50.0, gamma=2.0, tol=1e-4, shrinking=shrinking).fit(X, y)
    assert model.certificate_.relative <= 1e-4
    labelled = model._data_to_certify(X, y, None)
    pairs = ClassPairs(labelled)
    problem = PairProblems(pairs, model._kernel, model.C).problem(next(pairs.tasks()))
    best, options = Result(np.empty(0), 0.0, np.zeros(6000)), SMOOptions(tol=1e-4)
    run = smo.SMORun(problem, options, Monitor(), best, RangeThreads(256.0, 1))
    for _ in range(60):
        run.select_working_set(*run.gradients())
        run.violation = 1.0
        run.optimise_working_set()
    before = run.problem.dual_value(run.beta, run.scores)
    run.violation = 0.1
    assert run.shrink(*run.gradients())
    # Scores of all points are those of the duals again, and the duals are better and as feasible as before.
    exact = problem.scores_of(np.arange(6000), np.flatnonzero(run.beta), run.beta[run.beta != 0.0])
    np.testing.assert_allclose(run.scores, exact, atol=1e-3 * np.abs(exact).max())
    assert problem.dual_value(run.beta, exact) >= before * (1 - 1e-6)
    assert abs(run.beta.sum()) <= 1e-6


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_whole_kernel_matrix_and_rows_as_needed_end_at_the_same_value(C):
    X, y = random_set(3, n=900, d=5, noise=0.1)
    labelled = SVC(gamma=0.3).fit(X, y)._data_to_certify(X, y, None)
    problem = PairProblems(ClassPairs(labelled), RadialBasis(0.3), C).of_all_points
    problem = replace(problem, loss=hinge(np.where(labelled.codes == 1, 1.0, -1.0), np.ones(900), C))
    options = SMOOptions(tol=1e-6)
    whole = smo.solve(problem, options, Monitor())
    best = initial_result(problem)
    with RangeThreads(256.0, 1) as blocks:
        best.status = smo.SMORun(problem, options, Monitor(), best, blocks).run()
    assert whole.status is best.status is Status.SOLVED
    assert whole.dual == pytest.approx(best.dual, rel=2e-6)


@pytest.mark.parametrize("kernel", [RadialBasis(0.3), Polynomial(0.5, 3, 1.0), Linear()], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_cached_rows_and_blocks_of_the_kernel_matrix_are_its_entries(kernel, sparse):
    X = np.random.default_rng(0).standard_normal((60, 7))
    points, chosen = Points(sp.csr_array(X) if sparse else X), np.arange(5, 55)
    matrix = KernelMatrix(points, kernel, np.float64, chosen)
    exact = kernel.gram(X[chosen], X[chosen])
    rows, columns = np.array([3, 40, 7]), np.array([1, 2, 49, 30])
    np.testing.assert_allclose(matrix.block(rows, columns, np.empty((3, 4))), exact[np.ix_(rows, columns)], rtol=1e-12)
    cache = KernelCache(matrix, megabytes=0.0, at_least=4)
    scores = np.zeros(50)
    for some in (rows, columns, rows):
        slots = cache.slots(some)
        np.testing.assert_allclose(cache.stored[slots], exact[some], rtol=1e-12)
        cache.add_rows(slots, np.ones(some.size), scores)
    np.testing.assert_allclose(scores, 2.0 * exact[rows].sum(axis=0) + exact[columns].sum(axis=0), rtol=1e-11)


def test_a_stored_matrix_and_a_cache_of_its_rows_give_the_same_blocks_and_sums():
    X = np.random.default_rng(2).standard_normal((40, 5))
    kernel = RadialBasis(0.2)
    exact = kernel.gram(X, X)
    cache = KernelCache(KernelMatrix(Points(X), kernel, np.float64), megabytes=16.0)
    stored = StoredKernel(exact)
    # All rows in their order and in another one, and some.
    for rows in (np.arange(40), np.random.default_rng(3).permutation(40), np.array([7, 3, 30])):
        coefficients, scores = np.linspace(1.0, 2.0, rows.size), np.zeros((2, 40))
        for kernel_rows, total in zip((stored, cache), scores, strict=True):
            gram, chosen, slots = kernel_rows.block(rows, Monitor())
            np.testing.assert_array_equal(chosen, rows)
            np.testing.assert_allclose(gram, exact[np.ix_(rows, rows)], rtol=1e-12)
            kernel_rows.add_rows(slots, coefficients, total)
            np.testing.assert_allclose(total, coefficients @ exact[rows], rtol=1e-11)


def text_like(n_rows, n_columns, seed=0):
    """Sparse rows; some columns are in most rows, most are in few."""
    rng = np.random.default_rng(seed)
    shares = np.minimum(0.9, 4.0 / np.arange(1.0, n_columns + 1.0))
    X = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < shares)
    X[3] = 0.0
    return sp.csr_array(X)


@pytest.mark.parametrize("kernel", [RadialBasis(0.7), Linear(), Polynomial(0.5, 2, 1.0)], ids=lambda one: str(one))
def test_kernel_rows_of_text_are_those_of_dense_rows(kernel):
    X = text_like(70, 900)
    chosen = np.arange(2, 66)
    matrix = KernelMatrix(Points(X), kernel, np.float64, chosen)
    assert matrix._split.dense.shape[1] > 0
    dense = X.toarray()[chosen]
    exact = kernel.gram(dense, dense)
    rows, columns = np.array([3, 40, 7, 1]), np.array([1, 2, 49, 30])
    np.testing.assert_allclose(matrix.block(rows, columns, np.zeros((4, 6)), 2)[:, 2:], exact[np.ix_(rows, columns)])
    cache = KernelCache(matrix, megabytes=0.0)
    slots = cache.slots(rows)
    np.testing.assert_allclose(cache.stored[slots], exact[rows], rtol=1e-12, atol=1e-15)
    assert matrix.products_per_value < 900
    gathered = np.empty((4, 4))
    gather_block(cache.stored, slots, rows, np.argsort(rows), gathered, 0, 4)
    np.testing.assert_array_equal(gathered, cache.stored[np.ix_(slots, rows)])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_whole_matrix_is_symmetric_and_right_whatever_the_threads(sparse):
    # More rows than a block of the symmetric matrix has.
    X = text_like(1100, 400) if sparse else np.random.default_rng(1).standard_normal((1100, 6))
    kernel, found = RadialBasis(0.3), []
    for n_threads in (1, 3):
        with RangeThreads(64.0, n_threads) as engine:
            matrix = KernelMatrix(Points(X), kernel, np.float64, engine=engine)
            out = np.full((1100, 1100), np.nan)
            assert matrix.whole(out, Monitor())
            found.append(out)
    np.testing.assert_array_equal(*found)
    dense = X.toarray() if sparse else X
    np.testing.assert_allclose(found[0], kernel.gram(dense, dense), rtol=1e-11)


@pytest.mark.parametrize("gamma", [1.0, 1e6])
def test_kernel_values_of_a_row_with_itself_and_of_sparse_rows(gamma):
    rows = 10.0 * np.random.default_rng(0).normal(size=(80, 2))
    everything, found = np.arange(80), []
    for matrix in (rows, sp.csr_array(rows)):
        kernel = KernelMatrix(Points(matrix), RadialBasis(gamma), np.float64)
        whole, by_rows = np.empty((2, 80, 80))
        assert kernel.whole(whole, Monitor())
        kernel.whole_rows(everything, everything, by_rows)
        block = kernel.block(everything, everything, np.empty((80, 80)))
        for values in (whole, by_rows, block):
            assert (values.diagonal() == 1.0).all()
        found.append(whole)
    # The same bits: models of dense and of sparse rows are the same.
    np.testing.assert_array_equal(*found)
