"""Warm start from a subsample: with many rows and few columns, its solution is near that of all rows."""

import numpy as np

from maxmargin.data import Points
from maxmargin.data.rows import Matrix
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.subsample import subsample_rows
from maxmargin.solvers.linear.initial_point import InitialPoint

# One of so many rows goes into the subsample: the largest stride that leaves enough of them.
STRIDES = (16, 8, 4)
# The fewest rows of every class in a subsample.
FEWEST_PER_CLASS = 20
# The subsample is solved to this relative gap: its solution is no nearer to that of all rows.
GAP_OF_SAMPLE = 2e-2
# With fewer rows per column than this, the set of free duals is predicted three times as wide.
TRUSTED_ROWS = 60


def subsample(problem: LinearSVMProblem) -> LinearSVMProblem | None:
    """The problem of every sixteenth row or so, with C raised so that it has the same solution on average."""
    loss, points = problem.loss, problem.points
    every = subsample_rows(
        points.matrix.shape, loss.weights, loss.targets if loss.one_sided else None, STRIDES, FEWEST_PER_CLASS
    )
    if every is None:
        return None
    targets, weights = loss.targets[every], loss.weights[every]
    matrix = problem.points.matrix[every]
    return problem_of_rows(problem, matrix, targets.copy(), weights.copy(), float(loss.weights.sum()))


def problem_of_rows(
    problem: LinearSVMProblem, matrix: Matrix, targets: np.ndarray, weights: np.ndarray, total_weight: float
) -> LinearSVMProblem:
    """The problem of some rows, with C raised so that they count as all rows do, which weigh ``total_weight``."""
    loss, scale = problem.loss, total_weight / float(weights.sum())
    raised = loss._replace(
        targets=targets, weights=weights, box_bound=scale * loss.box_bound, curvature=loss.curvature / scale
    )
    return LinearSVMProblem(Points(matrix), raised, problem.intercept_penalty)


def initial_point_from_subsample(problem: LinearSVMProblem, w: np.ndarray, b: float, width: float) -> InitialPoint:
    """Start from coefficients: duals are at their bounds, except of rows within ``width`` of the margin."""
    scores = problem.scores(w, b)
    centers = duals_at(problem, scores)
    if problem.loss.curvature > 0.0:
        centers = problem.balanced(centers)
    return InitialPoint(centers, w, b, scores, first_sigma(problem, width))


def first_sigma(problem: LinearSVMProblem, width: float) -> float:
    """The first proximal step size, given the width of the set of free duals in a subsample."""
    few = problem.points.n_rows < TRUSTED_ROWS * STRIDES[0] * problem.points.n_columns
    return problem.C / (3.0 * width if few else width)


def duals_at(problem: LinearSVMProblem, scores: np.ndarray) -> np.ndarray:
    """The duals within their box that the residuals determine, or else its middle."""
    loss = problem.loss
    if loss.curvature == 0.0:
        middle: np.ndarray = 0.5 * (problem.uppers() + problem.lowers())
        return middle
    residuals = loss.targets - scores
    excess = np.maximum(0.0, np.abs(residuals) - loss.epsilon) * np.sign(residuals)
    return problem.within_box(loss.weights / loss.curvature * excess)
