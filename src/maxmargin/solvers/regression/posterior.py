"""The posterior of linear coefficients under the prior 1/sigma²: least squares, and the factor of its covariance."""

from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.problems.partitioned import ErrorSums
from maxmargin.problems.squared_errors import SquaredErrors
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver
from maxmargin.solvers.regression.least_squares import ScaledSVD, weighted_rows, work_of_least_squares

EPS = float(np.finfo(np.float64).eps)
# A column whose centred length is no more than this share of its length is constant, up to rounding.
CONSTANT_LENGTH = 1e-13
# Residuals that are no more than this share of the terms they are differences of are rounding errors.
ROUNDED_RESIDUAL = 8.0 * EPS


@dataclass
class PosteriorResult(Result[float]):
    """Coefficients of least squares, and the parameters of their posterior distribution.

    Attributes
    ----------
    factor : ndarray of shape (d, d)
        A with A A' = (X'X)^-1, of X around its column means where there is an intercept.
    squares : float
        The sum of squared residuals; zero where the residuals are rounding errors.
    total_weight : float
    column_means : ndarray of shape (d,)
    """

    factor: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    squares: float = 0.0
    total_weight: float = 0.0
    column_means: np.ndarray = field(default_factory=lambda: np.zeros(0))


@solver()
def solve(
    problem: SquaredErrors,
    options: Options,  # noqa: ARG001
    monitor: Monitor,
    start: Result[float] | None = None,  # noqa: ARG001
) -> PosteriorResult:
    """Solve in closed form, or raise ValueError where the minimiser of least squares is not unique.

    There is no posterior of a run that is stopped: KeyboardInterrupt is raised.
    """
    with one_blas_thread():
        result = monitor.call(lambda: _solve(problem), work_of_least_squares(problem))
    if result is None:
        raise KeyboardInterrupt
    return result


def _solve(problem: SquaredErrors) -> PosteriorResult:
    rows, targets = weighted_rows(problem)
    if problem.has_intercept:
        # The mean of a column far from zero is rounded itself: the rest would make columns appear independent.
        roots = np.ones(targets.size) if problem.weights is None else np.sqrt(problem.weights)
        rows -= np.outer(roots, roots @ rows / problem.total_weight)
        targets -= roots * (float(roots @ targets) / problem.total_weight)
    squares_of_targets = float(problem.weighted(np.square(problem.targets)).sum())
    return posterior_of(problem, rows, targets, rows.shape[0], squares_of_targets)


def posterior_of(
    problem: SquaredErrors | ErrorSums, rows: np.ndarray, targets: np.ndarray, n_rows: int, squares_of_targets: float
) -> PosteriorResult:
    """The posterior, given the weighted, centred rows and targets, or fewer ones with the same squared errors.

    Parameters
    ----------
    problem : SquaredErrors or ErrorSums
    rows : ndarray of shape (k, d)
    targets : ndarray of shape (k,)
    n_rows : int
        The number of all rows.
    squares_of_targets : float
        sum m_i y_i² over all rows.
    """
    lengths = np.sqrt(np.square(rows).sum(axis=0))
    whole_lengths = np.hypot(lengths, np.sqrt(problem.total_weight) * problem.column_means)
    refuse_constant_columns(problem, lengths, whole_lengths)
    # Columns of very different lengths are scaled to one length: that is no rank deficiency.
    decomposition = ScaledSVD.of(rows, lengths)
    values = decomposition.values
    # The rounding errors of the decomposition, and those of the columns' entries.
    rounding = EPS * (n_rows * values[0] + np.linalg.norm(whole_lengths / lengths))
    if values.size < lengths.size or not values[-1] > rounding:
        others = "others, or of others and the intercept," if problem.has_intercept else "others,"
        remedy = (
            ", set fit_intercept=False (the columns of one category add up to one)" if problem.has_intercept else ""
        )
        raise ValueError(
            f"X has columns that are combinations of {others} so that beta has no proper posterior. Leave columns "
            f"out{remedy}, or use Ridge."
        )
    w = decomposition.solve(targets, values.size)
    # One step of iterative refinement: nearly dependent columns have cost digits.
    w += decomposition.solve(targets - rows @ w, values.size)
    residual = float(np.linalg.norm(targets - rows @ w))
    terms = float(np.sqrt(squares_of_targets) + np.abs(w) @ whole_lengths)
    return PosteriorResult(
        w,
        problem.best_intercept(w),
        np.zeros(0),
        status=Status.SOLVED,
        factor=decomposition.right.T / values / lengths[:, None],
        squares=residual**2 if residual > ROUNDED_RESIDUAL * terms else 0.0,
        total_weight=problem.total_weight,
        column_means=problem.column_means,
    )


def refuse_constant_columns(errors: SquaredErrors | ErrorSums, lengths: np.ndarray, whole_lengths: np.ndarray) -> None:
    """Raise ValueError for columns that cannot be distinguished from the intercept's."""
    constant = np.flatnonzero(~(lengths > CONSTANT_LENGTH * whole_lengths))
    if constant.size:
        why = "are constant, as the intercept is" if errors.has_intercept else "are zero"
        raise ValueError(
            f"X has columns that {why}: {', '.join(map(str, constant[:5]))}. Leave them out, or use Ridge."
        )
