"""Options and state that all variants of SMO share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from maxmargin.data.exact_numbers import UNIT
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status
from maxmargin.solvers.core.result import InterceptT

# The smallest relative gap that kernel values of single precision can prove: about 64 units in their last place.
SMALLEST_SINGLE_GAP = 8e-6
SINGLE_UNIT = 0.5 * float(np.finfo(np.float32).eps)
# The largest kernel value in single precision: products of two stay within its range.
LARGEST_SINGLE = 1e15
# The largest gamma ||x||² in single precision: beyond it, too few digits of gamma ||x - z||² are left.
LARGEST_SINGLE_EXPONENT = 50.0
# The most by which the rounding of a kernel value in single precision may change a score with the largest dual; margins
# are 1.
LARGEST_SCORE_ERROR = 1.0
# Rows up to which kernel values are computed in double precision before they are rounded: their matrix fits in a
# processor's cache, and takes no longer. The values of a kernel, of its matrix, of a function that computes it, and of
# sparse rows are then the same numbers, and so are the models.
DOUBLE_ROWS = 512
# Progress of the stall test: a relative gap below this factor of the last one, or a dual value that has risen by this
# share of the gap that is left.
GAP_FACTOR = 0.99
GAP_SHARE = 1e-2
# Working sets without progress after which a run has stalled: a number of sets, and a number of times that all duals
# would fit into them.
SETS_OF_PATIENCE, EPOCHS_OF_PATIENCE = 60, 20.0
# Rounding errors that scores may have gathered over the steps of a run.
DRIFT = 1024.0
# A working set is optimised until its KKT violation is this share of that of all duals.
VIOLATION_SHARE = 0.1
# Where the duals violate the KKT conditions by more than is accepted, it is optimised to this share of what is accepted
# and no further; the rest is room for the other duals.
ACCEPTED_SHARE = 0.5
# Share of sum |beta| up to which sum beta may differ from zero, a few thousand roundings.
LARGEST_IMBALANCE = 1e-12


@dataclass(frozen=True)
class SMOOptions(Options):
    """When SMO stops, and how it runs.

    Attributes
    ----------
    cache_size : float
        Megabytes for kernel values.
    shrinking : bool
        Whether duals at a bound are left out for a while.
    exact : bool
        Whether kernel values are in double precision whatever ``tol`` is.
    gram : callable, optional
        Returns the kernel matrix of a problem's rows, (n, n), where problems share its values.
    """

    cache_size: float = 200.0
    shrinking: bool = True
    exact: bool = False
    gram: Callable[[KernelProblem], np.ndarray] | None = None

    def dtype_for(self, problem: KernelProblem) -> type:
        """The precision in which kernel values are stored."""
        largest = float(np.abs(problem.diagonal).max(initial=0.0))
        exponent = 0.0
        if isinstance(problem.kernel, RadialBasis):
            exponent = problem.kernel.gamma * problem.largest_norm**2
        in_range = largest <= LARGEST_SINGLE and exponent <= LARGEST_SINGLE_EXPONENT
        largest_dual = float(problem.losses.uppers().max(initial=0.0))
        in_range &= SINGLE_UNIT * largest * largest_dual <= LARGEST_SCORE_ERROR
        single = self.tol >= SMALLEST_SINGLE_GAP and in_range and not (self.exact or problem.hard)
        return np.float32 if single else np.float64


def dtype_computed(n_rows: int, stored: type) -> type:
    """The precision in which the kernel values of so many rows are computed, given the one they are stored in."""
    return np.float64 if n_rows <= DOUBLE_ROWS else stored


def initial_result(problem: KernelSVMProblem, start: Result[float] | None = None) -> Result[float]:
    """The result before the first step; duals, steps and history of an earlier attempt count."""
    result = Result(np.empty(0), 0.0, np.zeros(problem.n_rows), infeasibility_bound=problem.infeasibility_bound)
    if start is not None:
        # Without the values, which are to be measured anew.
        result.beta, result.intercept = start.beta.copy(), start.intercept
        result.n_iter, result.history = start.n_iter, list(start.history)
    return result


ProblemT = TypeVar("ProblemT", bound=KernelProblem)


class SMOBase(Generic[ProblemT, InterceptT]):
    """Feasible signed duals, the scores of all points without intercept, and the incumbent.

    Parameters
    ----------
    problem : KernelSVMProblem or NuSVMProblem
    options : SMOOptions
    monitor : Monitor
    best : Result
        The incumbent, updated in place.
    """

    def __init__(self, problem: ProblemT, options: SMOOptions, monitor: Monitor, best: Result[InterceptT]) -> None:
        self.best: Result[InterceptT] = best
        self.problem, self.options, self.monitor = problem, options, monitor
        self.lower, self.upper = problem.losses.lowers(), problem.losses.uppers()
        self.beta, self.scores = np.zeros(problem.n_rows), np.zeros(problem.n_rows)
        self.violation = math.inf
        self._largest = float(np.abs(problem.diagonal).max(initial=0.0))

    def start_from(self, beta: np.ndarray) -> None:
        """Set feasible duals and their scores."""
        support = np.flatnonzero(beta)
        self.beta[:] = beta
        self.scores[:] = self.problem.scores_of(slice(None), support, beta[support], exponentiate)

    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the dual objective where a dual rises, and where it falls.

        They are -inf for a dual at its upper bound and +inf for one at its lower bound, so that the finite ones are
        those of the sets I_up and I_low. The two differ at zero, where epsilon |beta| has a kink.
        """
        epsilon = self.problem.loss.epsilon
        residuals = self.problem.loss.targets - self.scores
        up, down = residuals.copy(), residuals
        if epsilon > 0.0:
            up -= np.where(self.beta >= 0.0, epsilon, -epsilon)
            down = residuals - np.where(self.beta > 0.0, epsilon, -epsilon)
        up[self.beta >= self.upper] = -math.inf
        down[self.beta <= self.lower] = math.inf
        return up, down

    def measured_gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """The gradients; ``violation`` is set to max over I_up minus min over I_low of them."""
        up, down = self.gradients()
        self.violation = float(up.max(initial=-math.inf)) - float(down.min(initial=math.inf))
        return up, down

    @property
    def rounding(self) -> float:
        """A KKT violation of this size may be due to the rounding of scores alone: no step can reduce it further."""
        arrays = self.problem.loss.targets, self.scores, self.beta
        targets, scores, beta = (float(np.abs(values).max(initial=0.0)) for values in arrays)
        return UNIT * (targets + scores + self._largest * beta)

    @property
    def accepted_violation(self) -> float:
        """The KKT violation up to which the gap alone decides; scores drift by a rounding error at every step."""
        return max(self.options.max_violation, DRIFT * self.rounding)

    def goal_within(self, share: float = VIOLATION_SHARE) -> float:
        """The KKT violation to which a working set is optimised, a share of that of all duals where it is needed."""
        if self.violation > self.accepted_violation:
            return max(share * self.violation, ACCEPTED_SHARE * self.accepted_violation)
        return VIOLATION_SHARE * self.violation

    def check(self, stall: StallTest, work: float, can_move: bool) -> Status | None:
        """Update the incumbent; apply the termination test, with the stall test after so much work in all."""
        if self.problem.hard and not self.problem.loss.one_sided:
            self._rescale()
        current, best = self._current(), self.best
        self._update_incumbent(current)
        self.monitor.reserve_for(self.problem.n_rows, int(np.count_nonzero(best.beta)))
        stalled = stall.update(current, work) or not can_move
        return self.monitor.check_termination(best, self.options, "block", stalled=stalled)

    def _update_incumbent(self, current: Result[InterceptT]) -> None:
        """Take the present duals for the incumbent where their gap is no larger."""
        best = self.best
        best.kkt_violation = 0.0 if self.violation <= self.accepted_violation else self.violation
        if math.isfinite(self.violation):
            best.largest_violation = max(best.largest_violation, self.violation)
        # Primal and dual value belong to the same duals: the incumbent is the pair of the smallest gap.
        if math.isfinite(best.primal):
            better = current.primal - current.dual <= best.primal - best.dual
        else:
            better = current.dual >= best.dual or math.isfinite(current.primal)
        if better:
            best.primal, best.dual, best.intercept = current.primal, current.dual, current.intercept
            best.beta = self._balanced()

    def _rescale(self) -> None:
        """Multiply the duals of a regression with C = inf by the factor of the largest dual value."""
        linear, square = float(self.problem.losses.dual_terms(self.beta).sum()), float(self.beta @ self.scores)
        if linear > 0.0 and square > 0.0:
            self.beta *= linear / square
            self.scores *= linear / square

    def _balanced(self) -> np.ndarray:
        """A copy of the duals, projected where rounding in steps of very unequal lengths has unbalanced them."""
        if abs(float(self.beta.sum())) <= LARGEST_IMBALANCE * float(np.abs(self.beta).sum()):
            return self.beta.copy()
        return self.problem.losses.feasible(self.beta)

    def _current(self) -> Result[InterceptT]:
        """The values at the present duals, which every step has kept feasible."""
        problem: object = self.problem
        assert isinstance(problem, KernelSVMProblem)
        if problem.hard:
            primal, dual, b = problem.hard_values(self.beta, self.scores)
        else:
            b = best_intercept(problem.losses, self.scores)
            primal = problem.primal_value(self.beta, self.scores, b)
            dual = problem.dual_value(self.beta, self.scores)
        return Result(self.best.w, b, self.beta, primal, dual)  # type: ignore[arg-type]


def stall_test(problem: KernelProblem, patience: float, halving_patience: float = math.inf) -> StallTest:
    """The stall test of SMO: its dual value rises in every step, its primal value need not fall.

    At C = inf there is no gap before the first separating hyperplane: then a larger dual value alone is progress.
    """
    dual_factor = 1.0 / GAP_FACTOR if problem.hard else math.inf
    return StallTest(
        patience,
        gap_factor=GAP_FACTOR,
        dual_factor=dual_factor,
        gap_share=GAP_SHARE,
        halving_patience=halving_patience,
    )


def patience_on_sets(n_duals: int, size: int) -> float:
    """How many working sets of a size may make no progress: after them only rounding is left."""
    return max(SETS_OF_PATIENCE, EPOCHS_OF_PATIENCE * n_duals / size)
