"""What all runs of sequential minimal optimisation have: duals, the scores of all points, and the gap they prove."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis
from maxmargin.solvers.core import Monitor, Options, Result
from maxmargin.solvers.linear.initial_point import best_intercept

# Kernel values of single precision are enough for gaps above this, if their products stay in its range.
FINE_GAP = 8e-6
LARGEST_SINGLE = 1e15
# gamma ||x||² above this leaves too few digits of gamma ||x - z||² in single precision.
WIDEST_SINGLE = 50.0
# A gap that is not smaller than this share of the last has not shrunk.
PROGRESS = 0.99
SLOWEST = 1e-2


@dataclass(frozen=True)
class SMOOptions(Options):
    """When to stop, and how to run: ``cache_size`` in megabytes; ``exact`` for kernel values of double precision."""

    cache_size: float = 200.0
    shrinking: bool = True
    exact: bool = False

    def dtype_for(self, problem: KernelSVMProblem) -> type:
        """The precision in which kernel values are stored."""
        largest = float(np.abs(problem.diagonal).max(initial=0.0))
        spread = 0.0
        if isinstance(problem.kernel, RadialBasis):
            spread = problem.kernel.gamma * problem.largest_norm**2
        coarse = self.tol >= FINE_GAP and largest <= LARGEST_SINGLE and spread <= WIDEST_SINGLE
        return np.float32 if coarse and not (self.exact or problem.hard) else np.float64


def empty_point(problem: KernelSVMProblem, before: Result[float] | None = None) -> Result[float]:
    """What is known before the first step; a run that is gone on with has been at work already."""
    point = Result(np.empty(0), 0.0, np.zeros(problem.n_rows), infeasibility_bound=problem.infeasibility_bound)
    if before is not None:
        point.n_iter, point.history = before.n_iter, list(before.history)
    return point


class SMOBase:
    """Duals that rise block by block, the scores of all points without intercept, and the best point so far."""

    def __init__(self, problem: KernelSVMProblem, options: SMOOptions, monitor: Monitor, best: Result[float]) -> None:
        self.problem, self.options, self.monitor, self.best = problem, options, monitor, best
        self.lower, self.upper = problem.losses.lowers(), problem.losses.uppers()
        self.beta, self.scores = np.zeros(problem.n_rows), np.zeros(problem.n_rows)
        # Looks at the gap since it was last seen to shrink; or, where there is none yet, since the dual's value grew.
        self.stalled = 0

    def begin_with(self, beta: np.ndarray) -> None:
        """Begin with feasible duals."""
        support = np.flatnonzero(beta)
        self.beta[:] = beta
        self.scores[:] = self.problem.scores_of(slice(None), support, beta[support])

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """What the dual's value gains when a dual rises, and loses when it falls; infinite at an end."""
        epsilon = self.problem.loss.epsilon
        residuals = self.problem.loss.targets - self.scores
        rise, fall = residuals.copy(), residuals
        if epsilon > 0.0:
            rise -= np.where(self.beta >= 0.0, epsilon, -epsilon)
            fall = residuals - np.where(self.beta > 0.0, epsilon, -epsilon)
        rise[self.beta >= self.upper] = -math.inf
        fall[self.beta <= self.lower] = math.inf
        return rise, fall

    def offer(self) -> None:
        """Offer the plane and the duals as they are now: every step has kept them feasible."""
        problem, best = self.problem, self.best
        if problem.hard:
            primal, dual, b = problem.margin_values(self.beta, self.scores)
        else:
            b = best_intercept(problem.losses, self.scores)
            primal = problem.primal_value(self.beta, self.scores, b)
            dual = problem.dual_value(self.beta, self.scores)
        self._count_stalls(primal, dual)
        # The plane is that of the duals, so that the two are kept together.
        better = primal - dual <= best.primal - best.dual if math.isfinite(best.primal) else dual >= best.dual
        if better or math.isfinite(primal) > math.isfinite(best.primal):
            best.primal, best.dual, best.intercept = primal, dual, b
            best.beta = self.beta.copy()

    def _count_stalls(self, primal: float, dual: float) -> None:
        best, gap = self.best, (primal - dual) / primal if math.isfinite(primal) and primal > 0.0 else math.inf
        shrunk = gap < PROGRESS * best.relative_gap
        # Slow, but more than rounding: the dual's value takes a share of what is missing.
        grown = dual * PROGRESS > best.dual if math.isinf(gap) else dual - best.dual > SLOWEST * (primal - dual)
        self.stalled = 0 if shrunk or grown else self.stalled + 1
