"""A first plane from a part of the rows: where rows are many and columns few, it is near the plane of all of them."""

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.subsample import subsample_rows
from maxmargin.solvers.linear.initial_point import InitialPoint

# One of so many rows goes into the sample: the largest number that leaves enough of them.
STRIDES = (16, 8, 4)
# The sample has at least this many rows of every class.
ROWS_PER_CLASS = 20
# A sample's plane is not nearer to that of all rows than this, so it need not be better itself.
GAP_OF_SAMPLE = 2e-2
# With more rows for every column than this, the duals near the edge can be trusted; with fewer, three times as many
# are set free.
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
    """Begin at a plane: duals are at their ends, but for those of rows within ``width`` of the edge."""
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
