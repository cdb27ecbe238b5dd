"""The stall rule of all solvers."""

import math
from typing import Any

from maxmargin.solvers.core.result import Result


class StallTest:
    """Whether a run still makes progress.

    Progress is a relative gap below ``gap_factor`` times the last one that counted, or a dual value above
    ``dual_factor`` times it, or a primal value below ``primal_factor`` times the least one. A run has stalled once its
    work exceeds ``growth`` times the work at the last progress, by more than ``patience``. The unit of work is the
    solver's: epochs, Newton steps, blocks.

    Parameters
    ----------
    patience : float
    growth : float, default=1.0
    gap_factor : float, default=0.9
    dual_factor : float, default=1.01
    primal_factor : float, default=0.0
        By default a smaller primal value alone is no progress.
    """

    def __init__(
        self,
        patience: float,
        *,
        growth: float = 1.0,
        gap_factor: float = 0.9,
        dual_factor: float = 1.01,
        primal_factor: float = 0.0,
    ) -> None:
        self.patience, self.growth = patience, growth
        self.gap_factor, self.dual_factor = gap_factor, dual_factor
        self.primal_factor = primal_factor
        self._gap, self._dual, self._work, self._primal = math.inf, 0.0, 0.0, math.inf
        self.idle = 0

    def update(self, result: Result[Any], work: float) -> bool:
        """Take the run's incumbents after so much work in all; return whether the run has stalled.

        ``idle`` counts the updates without progress since the last one with it.
        """
        gap, dual = result.relative_gap, result.dual
        lower = result.primal < self.primal_factor * self._primal
        if gap < self.gap_factor * self._gap or dual > self.dual_factor * max(0.0, self._dual) or lower:
            self._primal = min(self._primal, result.primal)
            self._gap, self._dual, self._work, self.idle = gap, dual, work, 0
            return False
        self.idle += 1
        return work > self.growth * self._work + self.patience
