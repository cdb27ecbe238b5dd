"""Warm start from a subsample: with many rows and few columns, its solution is near that of all rows."""

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.subsample import subsample_rows
from maxmargin.solvers.linear.initial_point import InitialPoint

# One of so many rows goes into the subsample: the largest stride that leaves enough of them.
STRIDES = (16, 8, 4)
# The fewest rows of every class in a subsample.
ROWS_PER_CLASS = 20
# The subsample is solved to this relative gap: its solution is no nearer to that of all rows.
GAP_OF_SAMPLE = 2e-2
# With fewer rows per column than this, the set of free duals is predicted three times as wide.
TRUSTED_ROWS = 60


def subsample(problem: LinearSVMProblem) -> LinearSVMProblem | None:
    """The problem of every sixteenth row or so, with C raised so that it has the same solution on average."""
    loss, points = problem.loss, problem.points
    every = subsample_rows(
        points.matrix.shape, loss.weights, loss.targets if loss.one_sided else None, STRIDES, ROWS_PER_CLASS
    )
    if every is None:
        return None
    targets, weights = loss.targets[every], loss.weights[every]
    scale = float(loss.weights.sum()) / float(weights.sum())
    raised = loss._replace(
        targets=targets.copy(),
        weights=weights.copy(),
        box_bound=scale * loss.box_bound,
        curvature=loss.curvature / scale,
    )
    return LinearSVMProblem(Points(problem.points.matrix[every]), raised, problem.intercept_penalty)


def initial_point_from_subsample(problem: LinearSVMProblem, w: np.ndarray, b: float, width: float) -> InitialPoint:
    """Start from coefficients: duals are at their bounds, except of rows within ``width`` of the margin."""
    loss = problem.loss
    scores = problem.scores(w, b)
    if problem.points.n_rows < TRUSTED_ROWS * STRIDES[0] * problem.points.n_columns:
        width = 3.0 * width
    if loss.curvature > 0.0:
        residuals = loss.targets - scores
        excess = np.maximum(0.0, np.abs(residuals) - loss.epsilon) * np.sign(residuals)
        centers = problem.feasible(loss.weights / loss.curvature * excess)
    else:
        centers = 0.5 * (problem.uppers() + problem.lowers())
    return InitialPoint(centers, w, b, scores, problem.C / width)
