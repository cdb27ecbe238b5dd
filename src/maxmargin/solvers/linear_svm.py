"""Which algorithm solves a linear support vector machine, and how it begins."""

import numpy as np

from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers import coordinate, newton
from maxmargin.solvers.gap import GapPoint, GapSettings
from maxmargin.solvers.newton_system import LARGEST_DIRECT
from maxmargin.solvers.watch import Watch

SOLVERS = ("auto", "coordinate", "newton")


def solve(
    problem: LinearSVMProblem,
    settings: GapSettings,
    watch: Watch,
    start: np.ndarray | None = None,
    solver: str = "auto",
) -> GapPoint:
    """Run until the relative gap is at most ``tol``; ``start`` are signed duals to begin with."""
    if solver == "auto":
        solver = suited_solver(problem, settings)
    if solver == "coordinate":
        return coordinate.solve(problem, settings, watch, start)
    return newton.solve(problem, settings, watch, start)


def suited_solver(problem: LinearSVMProblem, settings: GapSettings) -> str:
    """Coordinate ascent for wide data, and where one of its orders is asked for; else Newton steps."""
    if settings.selection != "random" or problem.points.n_columns > LARGEST_DIRECT:
        return "coordinate"
    return "newton"
