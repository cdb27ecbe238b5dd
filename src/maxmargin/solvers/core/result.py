"""What goes into a solver and what comes out of it."""

import math
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from maxmargin.solvers.core.status import Status

# The smallest relative gap that values in float64 can show, some dozen units in their last place. Below it, the
# difference of the two values is rounding alone, and a run with a smaller ``tol`` ends.
SMALLEST_GAP = 2.0**-48

# The type of the intercept: float, or an array with one entry a class for a joint problem.
InterceptT = TypeVar("InterceptT", float, np.ndarray)


@dataclass(frozen=True)
class Options:
    """When a run stops, and how it runs; solvers with options of their own derive from this class.

    Attributes
    ----------
    tol : float
        The relative duality gap at which to stop.
    max_violation : float
        The KKT violation at which to stop, where a solver measures it: besides ``tol``, not in place of it.
    max_iter : float
        The largest number of iterations: epochs, Newton steps or SMO steps.
    seed : int
        Seeds everything random.
    n_threads : int
        Threads for passes over the rows. The result does not depend on it.
    """

    tol: float = 1e-4
    max_iter: float = math.inf
    max_violation: float = field(default=math.inf, kw_only=True)
    seed: int = 0
    n_threads: int = 1


@dataclass
class Result(Generic[InterceptT]):
    """The incumbent of a run, the best primal and the best dual point it met, and how the run ended.

    Attributes
    ----------
    w : ndarray of shape (d,), or (n_classes, d) for a joint problem; empty in the feature space of a kernel
    intercept : float, or ndarray of shape (n_classes,)
    beta : ndarray of shape (n,), or (n, n_classes); empty where the certificate needs no duals
        Signed duals, y_i alpha_i.
    primal, dual : float
        The values of the incumbents, as the solver computed them.
    n_iter : int
    status : Status
        RUNNING until the run ends.
    infeasibility_bound : float
        A dual value from which on the primal problem counts as infeasible.
    kkt_violation : float
        Of the last iterate, where the solver measures it.
    largest_violation : float
        The largest of all iterates, from which progress is counted.
    history : list of (seconds, primal, dual)
    """

    w: np.ndarray
    intercept: InterceptT
    beta: np.ndarray
    primal: float = math.inf
    dual: float = -math.inf
    n_iter: int = 0
    status: Status = Status.RUNNING
    infeasibility_bound: float = math.inf
    kkt_violation: float = 0.0
    largest_violation: float = 0.0
    history: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / primal of the incumbents."""
        if not math.isfinite(self.primal):
            return math.inf
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    @property
    def can_continue(self) -> bool:
        """Whether a later run can take this result as its start and continue: it measured a gap."""
        return math.isfinite(self.primal) or math.isfinite(self.dual)

    def update_incumbent(self, primal: float, w: np.ndarray, b: InterceptT) -> None:
        """Keep a primal point that is the best so far; of two equally good ones, rounded, the later one is nearer."""
        if primal <= self.primal:
            self.primal, self.w, self.intercept = primal, w.copy(), b

    def check_goal(self, options: Options) -> Status | None:
        """SOLVED within the tolerance, NOT_SEPARABLE beyond the infeasibility bound, else None.

        STALLED where ``tol`` is below what float64 can show, and the gap has come that far.
        """
        if self.dual >= self.infeasibility_bound:
            return Status.NOT_SEPARABLE
        if self.relative_gap <= options.tol and self.kkt_violation <= options.max_violation:
            return Status.SOLVED
        return Status.STALLED if self.relative_gap <= SMALLEST_GAP else None

    def summary(self, options: Options) -> str:
        """What is left to do, for reports of progress: the gap, and the KKT violation where it is too large."""
        violation = self.kkt_violation
        more = "" if violation <= options.max_violation else f", KKT violation {violation:.3g}"
        return f"gap {self.relative_gap:.3g}{more}"

    def share_done(self, options: Options) -> float:
        """The digits of the gap that are gained, as a share of those that are asked for; or those of the KKT violation.

        Both decay geometrically in the long run, and the run ends when both have reached their goal.
        """
        of_gap = _share_of_digits(1.0, self.relative_gap, options.tol)
        if self.kkt_violation <= options.max_violation:
            return of_gap
        return min(of_gap, _share_of_digits(self.largest_violation, self.kkt_violation, options.max_violation))


def _share_of_digits(first: float, now: float, goal: float) -> float:
    """The share of the way from a first value down to a goal, in logarithms, that is done."""
    if not 0.0 < goal < first < math.inf or not now < first:
        return 0.0
    return 1.0 if now <= goal else math.log(first / now) / math.log(first / goal)


def warm_start(beta: np.ndarray) -> Result[float]:
    """A start that has nothing but signed duals."""
    return Result(np.empty(0), 0.0, beta)
