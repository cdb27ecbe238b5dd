"""The linear support vector machine by dual coordinate ascent (theory B9), with shrinking.

The intercept enters as a feature of value s, whose weight is penalised: its value is b = c + s² sum beta_i around a
centre c. A penalised intercept has s² = 1/rho and c = 0. For a free one the centre follows, c <- b, every few passes:
that is the proximal-point method on b, and at its end sum beta_i = 0.
"""

import math

import numpy as np

from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.coordinate import (
    CELL,
    CURVATURE,
    DUAL,
    LOWER,
    STEP,
    TARGET,
    UPPER,
    Ascent,
    Visit,
    climb,
    shuffle,
    visit,
    wake,
)
from maxmargin.loops.newton import compute_scores
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Result, Status
from maxmargin.solvers.linear.initial_point import best_intercept, initial_point
from maxmargin.solvers.linear.options import LinearOptions

# The value of the intercept's feature, relative to the length of a row.
INTERCEPT_FEATURE = 0.3
PASSES_PER_CENTRE = 3
# The gap is measured after the work of a pass, later after this share of all work so far, or after so many passes.
SHARE_PER_CHECK = 0.15
PASSES_PER_CHECK = 30.0
# After so many passes w is summed anew: every change of a dual has rounded it.
PASSES_PER_SUM = 200
# Where neither the gap has become better by a tenth nor the dual by a hundredth while the work grew so many times, and
# by so many passes at least, rounding is all that is left.
IN_VAIN = 3.0
PASSES_IN_VAIN = 3000
# The passes that coordinate ascent may still need where Newton steps could do the rest.
AFFORDED = 8.0
AFFORDED_PER_DECADE = 4.0


def solve(
    problem: LinearSVMProblem,
    options: LinearOptions,
    monitor: Monitor,
    start: Result[float] | None = None,
) -> Result[float]:
    """Make passes until the relative gap is at most ``tol``; ``start`` holds signed duals to begin with.

    With ``switch_on_slow_progress`` it ends as stalled as soon as the gap shrinks too slowly for the goal to be near.
    """
    points = problem.points
    if start is None:
        beta, w, b = np.zeros(points.n_rows), np.zeros(points.n_columns), 0.0
    else:
        first = initial_point(problem, start.beta)
        beta, w, b = first.beta, first.w, first.b
    blocks = ThreadEngine(points.entries_per_row, options.n_threads)
    best = Result(w, b, beta)
    with np.errstate(over="ignore", invalid="ignore"), blocks:
        CoordinateRun(problem, options, monitor, best, blocks).until_gap()
    return best


class CoordinateRun:
    """The state of a run: the rows' cells, w and b, and which rows are still visited."""

    def __init__(
        self,
        problem: LinearSVMProblem,
        options: LinearOptions,
        monitor: Monitor,
        best: Result[float],
        blocks: ThreadEngine,
    ) -> None:
        self.problem, self.options, self.monitor, self.best, self.blocks = problem, options, monitor, best, blocks
        points = problem.points
        give = 0.0
        if problem.has_intercept:
            typical = points.typical_norm * points.typical_norm + problem.loss.curvature
            free_feature = INTERCEPT_FEATURE * INTERCEPT_FEATURE * typical or 1.0
            give = free_feature if problem.balanced else 1.0 / problem.intercept_penalty
        cells = aligned_cells(points.n_rows)
        cells[:, DUAL] = best.beta
        cells[:, TARGET] = problem.loss.targets
        cells[:, LOWER], cells[:, UPPER] = problem.lowers(), problem.uppers()
        cells[:, CURVATURE] = problem.curvatures()
        # A row of zeros has no curvature: a huge step takes its dual to the end that it tends to.
        cells[:, STEP] = 1.0 / np.maximum(points.squared_norms + give + cells[:, CURVATURE], 1e-150)
        self.ascent = Ascent(cells, best.w.copy(), np.array([best.intercept]), give, problem.loss.epsilon)
        self.order = np.flatnonzero(problem.loss.weights).astype(np.uint32)
        self.n_active = self.order.size
        # A generator must not start at zero.
        self.random = np.uint64(np.random.SeedSequence(options.seed).generate_state(1, np.uint64)[0] | np.uint64(1))
        self.firm = math.inf
        self.summed_anew = 0
        self.scores = np.empty(points.n_rows)

    def until_gap(self) -> None:
        """Passes until the gap is small, nothing moves any more (or too slowly), or a limit is hit."""
        points, best = self.problem.points, self.best
        entries = points.entries_per_row * points.n_rows + 1.0
        work, checked_at, passes_since_centre = 0.0, 0.0, 0
        better_gap, better_dual, better_at, better_passes = math.inf, 0.0, 0.0, 0
        pace = Pace(self.options.tol)
        if not self.problem.loss.one_sided:
            # A flat plane may lose nothing, and would never be met again.
            self._offer()
            if self.monitor.check_termination(best, self.options, "pass") is Status.SOLVED:
                best.status = Status.SOLVED
                return
        while True:
            work += self.n_active * points.entries_per_row + 1.0
            status, largest = self._pass()
            best.n_iter += 1
            passes_since_centre += 1
            interval = min(PASSES_PER_CHECK * entries, max(entries, SHARE_PER_CHECK * work))
            at_end = status is not None or best.n_iter >= self.options.max_iter
            if at_end or largest == 0.0 or work >= checked_at + interval:
                checked_at = work
                self._offer()
                reached = self.monitor.check_termination(best, self.options, "pass")
                if best.relative_gap < 0.9 * better_gap or best.dual > 1.01 * better_dual:
                    better_gap, better_dual = best.relative_gap, max(0.0, best.dual)
                    better_at, better_passes = work, best.n_iter
                in_vain = work > IN_VAIN * better_at and best.n_iter > better_passes + PASSES_IN_VAIN
                in_vain |= self.options.switch_on_slow_progress and pace.is_slow(work / entries, best.relative_gap)
                if reached is not None or status is not None or in_vain:
                    best.status = Status.SOLVED if reached is Status.SOLVED else status or reached or Status.STALLED
                    return
                self.n_active = wake(self.ascent, self.scores + self.ascent.b[0], self.firm, self.order)
            if self.problem.balanced and (passes_since_centre >= PASSES_PER_CENTRE or largest == 0.0):
                passes_since_centre = 0
                self._move_centre(stuck=largest == 0.0)

    def _move_centre(self, *, stuck: bool) -> None:
        """Let the intercept's centre follow; where no dual moves any more, go to the one that loses least at once."""
        b, self.firm = self.ascent.b, math.inf
        if stuck:
            before, b[0] = b[0], best_intercept(self.problem, self.scores)
            stuck = b[0] != before
        if not stuck:
            b[0] += self.ascent.give * float(self.ascent.cells[:, DUAL].sum())

    def _pass(self) -> tuple[Status | None, float]:
        """Visit all active rows once, in calls that are short enough to be stopped between."""
        points, ascent = self.problem.points, self.ascent
        if self.options.selection == "greedy":
            return self._climb()
        if self.options.selection == "random":
            self.random = np.uint64(shuffle(self.order, self.n_active, self.random))
        size = max(1, int(ENTRIES_PER_CALL / max(1.0, points.entries_per_row)))
        largest, kept = 0.0, 0
        for first in range(0, self.n_active, size):
            visits = Visit(self.order, first, min(first + size, self.n_active), self.firm)
            found, kept = visit(points.rows, ascent, visits, kept)
            largest = max(largest, found)
            status = self.monitor.check_limits()
            if status is not None:
                # The rows not reached stay in the order, behind those kept.
                rest = self.order[visits.last : self.n_active].copy()
                self.order[kept : kept + rest.size] = rest
                self.n_active = kept + rest.size
                return status, largest
        self.n_active = kept
        self.firm = largest if largest > 0.0 else math.inf
        return None, largest

    def _climb(self) -> tuple[Status | None, float]:
        """As many steps as there are rows, each on the row that gains most."""
        points = self.problem.points
        entries = max(1.0, points.entries_per_row * points.n_rows)
        left, size = points.n_rows, max(1, int(ENTRIES_PER_CALL / entries))
        gain = 0.0
        while left > 0:
            gain = climb(points.rows, self.ascent, min(size, left))
            left -= size
            status = self.monitor.check_limits()
            if status is not None or gain == 0.0:
                return status, gain
        return None, gain

    def _offer(self) -> None:
        """Offer the plane and the duals as they are now, made feasible."""
        problem, best = self.problem, self.best
        if best.n_iter >= self.summed_anew + PASSES_PER_SUM:
            self.summed_anew = best.n_iter
            self.ascent.w[:] = problem.points.combination(self.ascent.cells[:, DUAL])
        w, b = self.ascent.w, float(self.ascent.b[0])
        n_rows = self.scores.size
        self.blocks.each(
            n_rows, lambda first, last: compute_scores(problem.points.rows, first, last, w, 0.0, self.scores)
        )
        best.update_incumbent(problem.primal_value(w, b, self.scores + b), w, b)
        beta = self.ascent.cells[:, DUAL].copy()
        if problem.balanced:
            b = best_intercept(problem, self.scores)
            best.update_incumbent(problem.primal_value(w, b, self.scores + b), w, b)
            beta = problem.feasible(beta)
            w = problem.points.combination(beta)
        dual = problem.dual_value(beta, w)
        if dual > best.dual:
            best.dual, best.beta = dual, beta


class Pace:
    """Whether the gap shrinks fast enough: the goal has to be near, by the decades that the last passes gained."""

    def __init__(self, goal: float) -> None:
        self._goal = goal
        self._passes, self._decades = 0.0, math.nan

    def is_slow(self, passes: float, gap: float) -> bool:
        """Take the next measurement of the gap, after so much work in all."""
        decades_left = math.log10(gap / self._goal) if self._goal < gap < math.inf else math.nan
        gained, worked = self._decades - decades_left, passes - self._passes
        self._passes, self._decades = passes, decades_left
        return gained * (AFFORDED + AFFORDED_PER_DECADE * decades_left) < decades_left * worked


def aligned_cells(n_rows: int) -> np.ndarray:
    """Cells that begin at the boundary of a cache line."""
    memory = np.zeros(CELL * n_rows + CELL)
    start = (-memory.ctypes.data % 64) // 8
    return memory[start : start + CELL * n_rows].reshape(n_rows, CELL)
