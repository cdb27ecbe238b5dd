"""The stall rule of all solvers."""

import math

from maxmargin.solvers.core.result import InterceptT, Result


class StallTest:
    """Whether a run still makes progress.

    Progress is a relative gap below ``gap_factor`` times the last one that counted, or a dual value above
    ``dual_factor`` times it, or a primal value that is smaller than the least one by 1 - ``primal_factor`` of its size.
    A run has stalled once its work exceeds that at the last progress by ``patience``. The unit of work is the
    solver's: epochs, Newton steps, blocks.

    A solver whose gap is not monotone takes smaller steps of one of its values as progress, too: ``gap_share`` is the
    share of the remaining gap by which the dual value must have risen, or the primal value fallen, since the last
    progress. Without ``dual_factor`` and ``primal_factor`` a run then ends in any case: while the gap is halved once,
    one value or the other makes at most 2 / ``gap_share`` such steps.

    Such steps may still be very many. With ``halving_patience`` a run has stalled, too, once it has done so much work
    without halving its smallest relative gap: from a gap of 1 to one of ``tol`` it then takes at most
    ``halving_patience`` times log2(2 / tol).

    Parameters
    ----------
    patience : float
    gap_factor : float, default=0.9
    dual_factor : float, default=1.01
        Infinite where a larger dual value alone is no progress.
    gap_share : float, optional
    primal_factor : float, default=0.0
        By default a smaller primal value alone is no progress.
    halving_patience : float, default=inf
    """

    checkpointed = ("_gap", "_dual", "_primal", "_work", "_halved_gap", "_halved_work", "idle")

    def __init__(
        self,
        patience: float,
        *,
        gap_factor: float = 0.9,
        dual_factor: float = 1.01,
        gap_share: float | None = None,
        primal_factor: float = 0.0,
        halving_patience: float = math.inf,
    ) -> None:
        self.patience = patience
        self.gap_factor, self.dual_factor = gap_factor, dual_factor
        self.gap_share, self.primal_factor = gap_share, primal_factor
        self.halving_patience = halving_patience
        self._gap, self._dual, self._primal, self._work = math.inf, -math.inf, math.inf, 0.0
        self._halved_gap, self._halved_work = math.inf, 0.0
        self.idle = 0

    def update(self, result: Result[InterceptT], work: float) -> bool:
        """Take the run's incumbents, or its iterates, after so much work in all; return whether the run has stalled.

        ``idle`` counts the updates without progress since the last one with it.
        """
        gap, dual = result.relative_gap, result.dual
        # Values below zero fall by the same share of their size.
        primal_factor = self.primal_factor if self._primal > 0.0 else 2.0 - self.primal_factor
        progress = gap < self.gap_factor * self._gap or result.primal < primal_factor * self._primal
        if math.isfinite(self.dual_factor):
            progress |= dual > self.dual_factor * max(0.0, self._dual)
        if self.gap_share is not None:
            rise = dual - self._dual if math.isfinite(self._dual) else 0.0
            progress |= max(rise, self._primal - result.primal) > self.gap_share * (result.primal - dual)
        if progress:
            self._gap, self._dual = min(gap, self._gap), max(dual, self._dual)
            self._primal = min(self._primal, result.primal)
        if gap < 0.5 * self._halved_gap:
            self._halved_gap, self._halved_work = gap, work
        return self.count(progress, work) or work > self._halved_work + self.halving_patience

    def least_work(self, work: float) -> float:
        """How much more work can be done, after so much in all, before the run could have stalled."""
        return self._work + self.patience - work

    def count(self, progress: bool, work: float) -> bool:
        """Take whether the run made progress, by a measure of the solver's own, after so much work in all."""
        if progress:
            self._work, self.idle = work, 0
            return False
        self.idle += 1
        return work >= self._work + self.patience
