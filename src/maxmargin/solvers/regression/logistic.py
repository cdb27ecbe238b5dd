"""What all runs of logistic regression share: the plane, its scores, and what they say of the gap (theory D1)."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.logistic import lean, look
from maxmargin.loops.newton import compute_scores
from maxmargin.problems.logistic import LogisticProblem, balanced, reach_of
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.core.transposed_product import transposed_product

# Steps in a row that better neither the plane nor the gap before a run is called stalled.
PATIENCE = 4
# To better the objective in its last digits only, and the gap by less than this, is not to better them.
LAST_DIGITS, SOME = 1e-13, 0.99
# A spread of less than this share of the mean is what rounding has left.
ONLY_ROUNDING = 1e-12


@dataclass
class LogisticPoint(Result):
    """The best plane of a run, and one that no point is on the wrong side of, where that was found."""

    separating: tuple[np.ndarray, float] | None = None


def plane_at(w: np.ndarray, b: float) -> LogisticPoint:
    """Where a run begins."""
    return LogisticPoint(w, b, np.empty(0))


class LogisticRun:
    """A plane with the scores of its rows, and how far it is from the best one.

    With an intercept that is best for w, the pulls balance, the probabilities are a point of the dual, and the gap is
    half the square of the gradient's length. Without a price on the length of w, the gap holds for planes up to a
    length: the sum of the losses is at least sum c_i H(p_i) - ||w|| ||sum of the pulls||, in columns of unit spread.

    With an intercept, all rows can be seen from any place: gradients are those of w·(x - place) + b. Else what is left
    of the imbalance of the pulls would count a thousandfold in a column of years.

    Parameters
    ----------
    problem : LogisticProblem
    options : Options
    monitor : Monitor
    blocks : ThreadEngine
    best : LogisticPoint, the plane to begin with
    place : ndarray of shape (d,), optional
    """

    def __init__(
        self,
        problem: LogisticProblem,
        options: Options,
        monitor: Monitor,
        blocks: ThreadEngine,
        best: LogisticPoint,
        place: np.ndarray | None = None,
    ) -> None:
        self.problem, self.options, self.monitor, self.blocks, self.best = problem, options, monitor, blocks, best
        self.place = place
        n_rows = problem.points.n_rows
        self.w, self.b = best.w.copy(), best.intercept
        self.scores = np.empty(n_rows)
        self.pulls, self.curvatures = np.empty(n_rows), np.empty(n_rows)
        self.gradient, self.gradient_b = np.empty(0), 0.0
        self.smallest_margin = -math.inf
        self._idle = 0
        self.fill_scores(self.w, self.scores)

    def fill_scores(self, w: np.ndarray, scores: np.ndarray) -> None:
        """X w"""
        rows = self.problem.points.rows
        self.blocks.each(scores.size, lambda first, last: compute_scores(rows, first, last, w, 0.0, scores))

    def balance(self) -> None:
        """Move the intercept to where it is best for w."""
        problem = self.problem

        def sums(b: float) -> tuple[float, float]:
            parts = self.blocks.each(
                self.scores.size,
                lambda first, last: lean(first, last, problem.signs, problem.weights, self.scores, b),
            )
            return sum(part[0] for part in parts), sum(part[1] for part in parts)

        if problem.fit_intercept:
            self.b = balanced(sums, self.b)

    def judge(self, step: str) -> Status | None:
        """Take the losses and their gradient at the plane; return why to stop, if there is reason to."""
        problem = self.problem
        parts = self.blocks.each(
            self.scores.size,
            lambda first, last: look(
                first, last, problem.signs, problem.weights, self.scores, self.b, self.pulls, self.curvatures
            ),
        )
        lost = math.fsum(part[0] for part in parts)
        self.smallest_margin = min(part[1] for part in parts)
        imbalance = float(self.pulls.sum()) if problem.fit_intercept else 0.0
        pulled = transposed_product(problem.points, self.blocks, self.pulls)
        if self.place is not None:
            pulled -= imbalance * self.place
        self.gradient_b = -problem.loss_factor * imbalance
        if problem.is_penalised:
            self.gradient = self.w - problem.loss_factor * pulled
            primal = 0.5 * float(self.w @ self.w) + problem.loss_factor * lost
            gap = 0.5 * float(self.gradient @ self.gradient)
        else:
            self.gradient = -pulled
            primal = lost
            gap = self._gap_up_to_reach(pulled)
        return self._why_stop(primal, max(0.0, primal - gap - self._of_intercept()), step)

    def _why_stop(self, primal: float, dual: float, step: str) -> Status | None:
        best = self.best
        gains = primal < best.primal * (1.0 - LAST_DIGITS) or primal - dual < SOME * (best.primal - best.dual)
        idle = math.isfinite(best.primal) and not gains
        self._idle = self._idle + 1 if idle else 0
        # Planes that differ in the last digits only are told apart by their gaps.
        if primal - dual < best.primal - best.dual and primal <= best.primal * (1.0 + LAST_DIGITS):
            best.primal = primal
        if primal <= best.primal and not self.problem.is_penalised:
            best.dual = dual
        best.update_incumbent(primal, self.w, self.b)
        if self.problem.is_penalised:
            best.dual = max(best.dual, dual)
        if not (np.isfinite(self.w).all() and math.isfinite(self.b)):
            # Steps of a given size may be far too long.
            return Status.STALLED
        if not self.problem.is_penalised and self._none_is_wrong():
            # The plane that separates is the answer, whatever others lose.
            best.w, best.intercept = self.w.copy(), self.b
            best.separating = best.w, best.intercept
            self.monitor.record(best)
            return Status.SEPARABLE
        status = self.monitor.check_termination(best, self.options, step)
        return Status.STALLED if status is None and self._idle >= PATIENCE else status

    def _gap_up_to_reach(self, pulled: np.ndarray) -> float:
        columns = self.problem.columns
        # A column that is constant but for rounding is moved by the intercept, too.
        varying = columns.spreads > ONLY_ROUNDING * np.abs(columns.place)
        length = float(np.linalg.norm(pulled[varying] / columns.spreads[varying]))
        return reach_of(self.w, columns.spreads) * length - float(self.w @ pulled)

    def _none_is_wrong(self) -> bool:
        """Whether all rows are on the plane's right side; without an intercept, empty ones are on the plane."""
        if self.smallest_margin != 0.0 or self.problem.fit_intercept:
            return self.smallest_margin > 0.0
        counted = self.problem.weights > 0.0
        on_plane = self.scores[counted] == 0.0
        return bool((self.problem.points.squared_norms[counted][on_plane] == 0.0).all() and not on_plane.all())

    def _of_intercept(self) -> float:
        """About what the best intercept for w would still gain, and its gap be larger."""
        bend = self.problem.loss_factor * float(self.curvatures.sum())
        return self.gradient_b**2 / bend if bend > 0.0 else 0.0
