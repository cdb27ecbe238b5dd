"""Runs that stop at a proven gap: their options, the best points they met, and when to stop."""

import math
from dataclasses import dataclass, field

import numpy as np

from maxmargin.solvers.core.monitor import Monitor, StepReport
from maxmargin.solvers.core.status import Status


@dataclass(frozen=True)
class Options:
    """When to stop: at this relative gap, or after this many steps; and how to run.

    ``selection`` is the order of coordinate ascent, ``seed`` that of its random choices, ``n_threads`` the number of
    threads that passes over the rows may use.
    """

    tol: float = 1e-4
    max_iter: float = math.inf
    selection: str = "random"
    seed: int = 0
    n_threads: int = 1


@dataclass
class Result:
    """A plane and signed duals, the best of each that a run met, and the history of (seconds, primal, dual).

    From the dual value ``infeasibility_bound`` on there is no plane that could be looked for.
    """

    w: np.ndarray
    intercept: float
    beta: np.ndarray
    primal: float = math.inf
    dual: float = -math.inf
    n_steps: int = 0
    status: Status = Status.STALLED
    infeasibility_bound: float = math.inf
    history: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def relative_gap(self) -> float:
        """The gap between the best primal and the best dual value."""
        if not math.isfinite(self.primal):
            return math.inf
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    def update_incumbent(self, primal: float, w: np.ndarray, b: float) -> None:
        """Keep a plane if it is the best so far; of two that are equally good, rounded, the later one is nearer."""
        if primal <= self.primal:
            self.primal, self.w, self.intercept = primal, w.copy(), b

    def reached(self, options: Options) -> Status | None:
        """Whether the goal is reached, or proven to be out of reach."""
        if self.dual >= self.infeasibility_bound:
            return Status.NOT_SEPARABLE
        return Status.SOLVED if self.relative_gap <= options.tol else None

    def _share_of_the_way(self, tol: float) -> float:
        """The digits of the gap that are gained, of those that are asked for."""
        if not 0.0 < self.relative_gap < 1.0 or not 0.0 < tol < 1.0:
            return 0.0
        return min(1.0, math.log(self.relative_gap) / math.log(tol))

    def note(self, monitor: Monitor) -> None:
        """Write the history."""
        # Rounding can put the dual's value above the primal's by a digit: a history is not to contradict the theory.
        self.history.append((monitor.seconds, float(self.primal), float(min(self.dual, self.primal))))

    def check_termination(self, options: Options, monitor: Monitor, step: str) -> Status | None:
        """Write the history, tell the world, and say why to stop, if there is reason to."""
        self.note(monitor)
        reached = self.reached(options)
        if reached is not None:
            return reached
        if self.n_steps >= options.max_iter:
            return Status.ITERATION_LIMIT
        return monitor.report(
            lambda: StepReport(
                step=step,
                number=self.n_steps,
                summary=f"gap {self.relative_gap:.3g}",
                share=self._share_of_the_way(options.tol),
                result=lambda: (self.w, self.intercept, self.beta),
            )
        )
