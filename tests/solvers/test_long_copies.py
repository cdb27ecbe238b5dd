"""Copies of all rows that come before or within a solver's steps are made in parts, and end at a limit."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import maxmargin as mm
from maxmargin.data import Dataset, Points
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.estimators import _probabilities
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.problems.kernels import RadialBasis
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.problems.squared_errors import LassoProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix
from maxmargin.solvers.linear import sparse
from maxmargin.solvers.perceptron import kernel
from maxmargin.solvers.regression import lasso
from maxmargin.solvers.regression.gram_matrix import GramMatrix

# More than one block each way.
WIDE = np.random.default_rng(0).standard_normal((1100, 2500))
SIGNS = np.where(WIDE[:, 0] + WIDE[:, 1] > 0.0, 1.0, -1.0)
PARTS_OF_WIDE = 6


class Limit:
    """A monitor's limit that is reached at one of its checks, counted from ``begin`` on."""

    def __init__(self, monkeypatch, at):
        self.n_checks, self.has_begun = 0, False

        def check(_):
            self.n_checks += self.has_begun
            return Status.TIME_LIMIT if self.n_checks >= at else None

        monkeypatch.setattr(Monitor, "check_limits", check)

    def begin(self):
        self.has_begun = True


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1100, 2500), (3, 5000), (5000, 3), (1, 1)])
def test_columns_of_a_dense_matrix(dtype, shape):
    matrix = np.resize(WIDE, shape).astype(dtype)
    columns = Points(matrix).columns.values
    assert columns.dtype == dtype
    assert columns.flags.c_contiguous
    np.testing.assert_array_equal(columns, matrix.T)


def test_a_copy_by_columns_ends_between_two_blocks():
    points, n_checks = Points(WIDE), [0]

    def must_end():
        n_checks[0] += 1
        return n_checks[0] == PARTS_OF_WIDE

    with pytest.raises(InterruptedPassError), ending_when(must_end):
        points.columns  # noqa: B018
    np.testing.assert_array_equal(points.columns.values, WIDE.T)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_descents_with_a_1_norm_end_within_the_copy(loss, monkeypatch):
    limit = Limit(monkeypatch, at=PARTS_OF_WIDE - 1)
    make_steps = sparse.SparseRun.make_steps
    monkeypatch.setattr(sparse.SparseRun, "make_steps", lambda run: limit.begin() or make_steps(run))
    monkeypatch.setattr(sparse, "matrix_pays", lambda *_: False)
    monkeypatch.setattr(sparse, "preparations", lambda _: [])
    problem = SparseLinearProblem.of(Points(WIDE), SIGNS, np.ones(SIGNS.size), loss, 1.0)
    found = sparse.solve(problem, Options(tol=1e-9), Monitor())
    assert found.status is Status.TIME_LIMIT
    assert limit.n_checks == PARTS_OF_WIDE
    assert "columns" not in vars(problem.points)
    # What there was before the step.
    assert found.primal >= found.dual
    assert not found.w.any()


def test_descents_of_the_lasso_end_within_the_copy(monkeypatch):
    limit = Limit(monkeypatch, at=PARTS_OF_WIDE - 1)
    descend = lasso.LassoRun.descend
    monkeypatch.setattr(lasso.LassoRun, "descend", lambda run, chosen: limit.begin() or descend(run, chosen))
    monkeypatch.setattr(GramMatrix, "affordable", lambda *_: False)
    problem = LassoProblem(SquaredErrors(Points(WIDE), SIGNS, None, True), 100.0)
    found = lasso.solve(problem, lasso.LassoOptions(tol=1e-9), Monitor())
    assert found.status is Status.TIME_LIMIT
    assert limit.n_checks <= PARTS_OF_WIDE + 1
    assert found.primal >= found.dual


@pytest.mark.parametrize("weights", [None, np.linspace(0.0, 2.0, 1100)])
def test_centred_columns_of_the_lasso(weights):
    errors = SquaredErrors(Points(WIDE), SIGNS, weights, True)
    run = lasso.LassoRun(LassoProblem(errors, 1.0), lasso.LassoOptions(), Monitor(), [1.0])
    expected = WIDE.T - errors.column_means[:, None]
    np.testing.assert_array_equal(run.columns.values, expected if weights is None else expected * np.sqrt(weights))


def test_rows_of_a_kernel_perceptron_are_not_prepared_without_time(monkeypatch):
    """Sparse rows in place of dense ones with many zeros take as long to make as an epoch."""

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(KernelMatrix, "__init__", refuse)
    monitor = Monitor()
    monitor.stop_requested.set()
    problem = KernelPerceptronProblem(Dataset(Points(WIDE), SIGNS), RadialBasis(0.1))
    found = kernel.solve(problem, kernel.KernelOptions(), monitor)
    assert found.status is Status.INTERRUPTED
    assert found.n_iter == 0
    assert not found.beta.any()


X, CLASSES = make_classification(240, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, random_state=0)


@pytest.mark.parametrize(("max_time", "evaluation"), [(None, "whole"), (1e3, "block")])
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_the_matrix_of_small_pairs_ends_at_a_limit(max_time, evaluation, monkeypatch):
    """The matrix of all rows without a time limit, that of each pair with one."""
    evaluate, monitors, init, calls = getattr(KernelMatrix, evaluation), [], Monitor.__init__, []

    def made(monitor, *arguments, **options):
        init(monitor, *arguments, **options)
        monitors.append(monitor)

    def interrupted(*arguments):
        # The first pair's run has begun, and its limits end the evaluation.
        monitors[-1].stop_requested.set()
        calls.append(arguments)
        return evaluate(*arguments)

    monkeypatch.setattr(Monitor, "__init__", made)
    monkeypatch.setattr(KernelMatrix, evaluation, interrupted)
    model = mm.SVC(max_time=max_time, tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, CLASSES)
    # A pair's matrix has three blocks: each class by itself, and both.
    assert len(calls) <= 3
    assert model.status_ == "interrupted"
    assert model.support_.size == 0


def test_rows_of_a_fold_are_copied_in_parts(monkeypatch):
    rows, n_parts = np.flatnonzero(SIGNS > 0.0), [0]

    def interrupted():
        n_parts[0] += 1
        if n_parts[0] == 2:
            raise KeyboardInterrupt

    found = _probabilities.rows_for(mm.SVC(), WIDE, rows, rows[:100])
    np.testing.assert_array_equal(found, WIDE[rows])
    gram = WIDE[:, :1100]
    of_gram = _probabilities.rows_for(mm.SVC(kernel="precomputed"), gram, rows, rows[:100])
    np.testing.assert_array_equal(of_gram, gram[np.ix_(rows, rows[:100])])
    monkeypatch.setattr("maxmargin.data.blocks.check_interruption", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _probabilities.rows_for(mm.SVC(), WIDE, rows, rows)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_probabilities_end_at_the_limit(monkeypatch):
    """Every fold has its share of the time that is left, and no sigmoid is fitted after the last one."""
    seconds, shares, n_fitted = [8.0], [], [0]
    fit, fit_sigmoid = mm.SVC.fit, _probabilities.fit_sigmoid

    def fit_fold(model, *arguments, **weights):
        shares.append(model.max_time)
        # A little more than its share, but some is left after the last fold.
        seconds[0] = max(0.1, seconds[0] - 1.75)
        return fit(model, *arguments, **weights)

    def fitted_sigmoid(*arguments):
        n_fitted[0] += 1
        seconds[0] = 0.0 if n_fitted[0] == 2 else seconds[0]
        return fit_sigmoid(*arguments)

    model = mm.SVC(probability=True, max_time=60.0, random_state=0)
    left = property(lambda _: seconds[0])
    monkeypatch.setattr("maxmargin.estimators._progress.FitLimits.seconds_left", left)
    monkeypatch.setattr(mm.SVC, "fit", fit_fold)
    monkeypatch.setattr("maxmargin.estimators._kernel_classifier.fit_sigmoid", fitted_sigmoid)
    fit(model, X, CLASSES)
    assert shares == [8.0 / 5.0, 6.25 / 4.0, 4.5 / 3.0, 2.75 / 2.0, 1.0]
    assert n_fitted == [2]
    assert not hasattr(model, "calibration_")
