"""Kernel regression with C = inf: the least ||w||²/2 among all functions whose residuals are at most epsilon.

SMO maximises the dual, whose duals have no bounds. Where there is no such function, the dual is unbounded, and SMO on a
kernel matrix of low rank comes to that only slowly. The Chebyshev approximation, the function with the smallest largest
residual, then decides: if that is more than epsilon, the multipliers of its linear program are duals whose w is zero,
and their multiples have arbitrarily large dual values (Farkas' lemma).

Cheney, "Introduction to approximation theory", 1966, chapter 2.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status, solver
from maxmargin.solvers.kernel import smo
from maxmargin.solvers.kernel.base import SMOOptions

# Steps on pairs, for every dual and in all, before the linear program is tried.
STEPS_PER_DUAL, STEPS = 100, 50_000
# The most rows of the linear program: seconds. Eigenvalues below this share of the largest one are zero.
MOST_ROWS, NO_EIGENVALUE = 1500, 1e-12
# Share of the infeasibility bound that a proof has to reach where the linear program says that there is no solution: a
# w so long that scores could span ten thousand times the targets.
PROVEN_SHARE = 1e-4
# Multipliers below this share of the largest one are zero.
NO_MULTIPLIER = 1e-9


@dataclass
class HardRegressionResult(Result[float]):
    """The end of a run.

    Attributes
    ----------
    unbounded : ndarray of shape (n,) or None
        Duals from which it follows that there is no solution, up to rounding.
    """

    unbounded: np.ndarray | None = None


@solver()
def solve(
    problem: KernelSVMProblem, options: SMOOptions, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``, or until the duals prove that there is no solution.

    ``start`` is where an earlier attempt ended. The result has no w: the duals are the coefficients.
    """
    few = min(options.max_iter, STEPS_PER_DUAL * problem.n_rows + STEPS)
    if start is None and few < options.max_iter and problem.n_rows <= MOST_ROWS:
        result = smo.solve(problem, replace(options, max_iter=few), monitor, None)
        if result.status not in (Status.ITERATION_LIMIT, Status.STALLED, Status.NOT_SEPARABLE):
            return result
        duals = unbounded_duals(problem)
        if duals is not None:
            # No more steps would help; whether these duals prove that there is no solution, the certificate decides.
            return HardRegressionResult(**{**vars(result), "status": Status.STALLED}, unbounded=duals)
        start = result
    return smo.solve(problem, options, monitor, start)


def unbounded_duals(problem: KernelSVMProblem) -> np.ndarray | None:
    """Duals of a large dual value, where no function has residuals of at most epsilon; None where none are found."""
    from scipy.optimize import linprog

    counted = np.flatnonzero(problem.loss.weights > 0.0)
    targets = problem.loss.targets[counted]
    identity = np.eye(problem.n_rows)[counted]
    gram = np.array([problem.scores_of(counted, np.flatnonzero(row), row[row != 0.0]) for row in identity])
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    kept = values > NO_EIGENVALUE * max(0.0, float(values[-1]))
    if kept.all():
        # Some function goes through all points.
        return None
    features = np.column_stack([vectors[:, kept], np.ones(counted.size)])
    ones = np.ones((counted.size, 1))
    found = linprog(
        np.append(np.zeros(features.shape[1]), 1.0),
        A_ub=np.block([[-features, -ones], [features, -ones]]),
        b_ub=np.concatenate([-targets, targets]),
        bounds=(None, None),
        method="highs",
    )
    if found.status != 0 or not found.fun > problem.loss.epsilon:
        return None
    above, below = np.split(-found.ineqlin.marginals, 2)
    multipliers = above - below
    support = np.flatnonzero(np.abs(multipliers) > NO_MULTIPLIER * np.abs(multipliers).max(initial=0.0))
    # To all digits orthogonal to the features.
    matrix = features[support].T
    exact = multipliers[support] - np.linalg.pinv(matrix) @ (matrix @ multipliers[support])
    beta = np.zeros(problem.n_rows)
    beta[counted[support]] = exact
    beta = problem.losses.feasible(beta)
    return provable_multiple(problem, beta)


def provable_multiple(problem: KernelSVMProblem, beta: np.ndarray) -> np.ndarray | None:
    """The multiple of feasible duals whose dual value is largest, with errors counted; None where it is too small."""
    size = float(np.abs(beta).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return None
    beta = beta / size
    used = np.flatnonzero(beta)
    scores = problem.scores_of(slice(None), used, beta[used])
    # What kernel values may be off by counts in the proof, with bounds on sums of them.
    error = 4.0 * problem.entry_error * float(np.abs(beta).sum()) ** 2
    linear, square = float(problem.losses.dual_terms(beta).sum()), max(0.0, float(beta @ scores)) + error
    if not linear > 0.0:
        return None
    # Without any error each multiple is beyond the bound that is large enough.
    factor = min(linear / square if square > 0.0 else math.inf, 4.0 * problem.infeasibility_bound / linear)
    value = factor * linear - 0.5 * factor * factor * square
    return factor * beta if value >= PROVEN_SHARE * problem.infeasibility_bound else None
