"""Linear support vector machines by dual coordinate ascent with shrinking and extrapolation.

The intercept enters as a feature of value s, whose weight is penalised: its value is b = c + s² sum beta_i around a
centre c. A penalised intercept has s² = 1/rho and c = 0. For a free one the centre follows, c <- b, every few epochs:
that is the proximal-point method on b, and at its end sum beta_i = 0.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.engine import MemoryEngine, Threads
from maxmargin.loops.coordinate import (
    DUAL,
    GAP,
    LARGEST,
    N_ACTIVE,
    N_KEPT,
    N_PROGRESS,
    NEXT,
    STATE_SIZE,
    THRESHOLD,
    Ascent,
    Epochs,
    Hinge,
    PiecewiseLoss,
    best_multiple,
    coordinate_epochs,
    fill_state,
    greedy_steps,
    sums_of_terms,
    unshrink,
)
from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Positions, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.hessian import fill_scores
from maxmargin.solvers.linear.extrapolation import Extrapolation
from maxmargin.solvers.linear.initial_point import initial_point
from maxmargin.solvers.linear.options import LinearOptions

# The value of the intercept's feature, relative to the typical length of a row: larger values move it faster, and make
# the Hessian worse.
INTERCEPT_FEATURE = 0.3
# Epochs between proximal-point steps on a free intercept.
EPOCHS_PER_CENTRE = 3
# The gap costs an epoch. It is measured where the epochs' own estimate has reached the goal. Rows that have left the
# order are evaluated again in between: after the work of so many epochs, later after this share of all work so far, and
# at least after so many epochs' work. Where slow progress ends the run, its pace is measured more often.
FIRST_CHECK, FIRST_CHECK_OF_PACE = 4.0, 1.0
# The first of these measurements is later where the estimate is below the goal times the second number, and more than a
# share of the rows are active: the epochs then reach the goal first, and the estimate misses few rows.
FIRST_CHECK_IF_NEAR, NEAR_THE_GOAL, ACTIVE_SHARE = 8.0, 50.0, 0.25
SHARE_PER_CHECK, SHARE_PER_CHECK_OF_PACE = 0.5, 0.15
EPOCHS_PER_CHECK = 30.0
# The factor between the gap as measured and as estimated, which the last measurement gives, is at least the first; an
# estimate below that by more than the second is not trusted. The estimate has to fall by the third before it leads to
# the next measurement.
LEAST_MULTIPLE, LARGEST_MULTIPLE = 0.1, 20.0
FALL_PER_CHECK = 0.7
# Rows are prefetched this many steps ahead where the active ones take more bytes than this, and long ones, of which the
# processor itself fetches all but the beginning, where they take more than the second number (measured).
AHEAD, NEVER = 3, 1 << 62
LONG_ROW = 32.0
BYTES_TO_FETCH, BYTES_TO_FETCH_LONG = 1 << 20, 1 << 22
# Bisections of the best multiple of w, each a pass over the scores. It is looked for at the end, where slow progress
# ends the run, and where the gap is at most this many times the goal: it seldom takes more off.
N_BISECTIONS = 5
NEAR_WITH_MULTIPLE = 4.0
# After the first epochs, most of whose steps end at a bound, steps are so many times as long as to the optimum of their
# dual: successive over-relaxation (D. Young, "Iterative solution of large linear systems", 1971; O. Mangasarian,
# D. Musicant, "Successive overrelaxation for support vector machines", 1999). A tenth fewer epochs in the mean, a third
# where many are needed; tried from 1 to 1.7, fixed and growing.
PLAIN_EPOCHS, RELAXATION = 6, 1.4
# Every change of a dual rounds w: after so many epochs it is summed anew.
EPOCHS_PER_SUM = 200
# The run has stalled after so many epochs without progress; an epoch on few active rows counts for at least this share.
PATIENCE = 10_000
# So has a run whose gap is not halved in so many.
HALVING_PATIENCE = 20_000
LEAST_SHARE = 0.01
# Progress: a relative gap below this factor of the last one, or a value that is better by this share of the gap.
GAP_FACTOR, GAP_SHARE = 0.9, 0.1
# Epochs that coordinate ascent may still need, and per decade of the gap, where Newton steps could do the rest.
AFFORDED = 8.0
AFFORDED_PER_DECADE = 4.0


@solver({"a finite C": lambda problem, _: math.isfinite(problem.C)})
def solve(
    problem: LinearSVMProblem,
    options: LinearOptions,
    monitor: Monitor,
    start: Result[float] | None = None,
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; ``start`` holds signed duals, and earlier epochs count.

    With ``switch_on_slow_progress`` it ends as stalled as soon as the gap shrinks too slowly for the goal to be near.
    """
    points = problem.points
    if start is None:
        beta, w, b = np.zeros(points.n_rows), np.zeros(points.n_columns), 0.0
    else:
        first = initial_point(problem, start.beta)
        beta, w, b = first.beta, first.w, first.b
    best = Result(w, b, beta)
    if start is not None:
        best.n_iter, best.history = start.n_iter, list(start.history)
    with np.errstate(over="ignore", invalid="ignore"), Threads(options.n_threads) as threads:
        best.status = CoordinateRun(problem, options, monitor, best, MemoryEngine(problem, threads)).run()
    return best


class CoordinateRun:
    """The state of a run: per-row state, w and b, and the active rows."""

    checkpointed = (
        *("duals", "ascent.w", "ascent.b", "random", "shrinking_threshold", "summed_anew", "best", "stall", "pace"),
        *("work", "checked_at", "gap_factor", "estimate_checked", "is_near", "epochs_since_centre", "n_epochs"),
        "extrapolation",
        Positions("order", "duals"),
        Positions("n_active", "order"),
    )
    outcome = ("best",)

    def __init__(
        self,
        problem: LinearSVMProblem,
        options: LinearOptions,
        monitor: Monitor,
        best: Result[float],
        engine: MemoryEngine[LinearSVMProblem],
    ) -> None:
        self.problem, self.options, self.monitor, self.best, self.engine = problem, options, monitor, best, engine
        points = problem.points
        intercept_step = 0.0
        if problem.has_intercept:
            typical = points.typical_norm * points.typical_norm + problem.loss.curvature
            free_feature = INTERCEPT_FEATURE * INTERCEPT_FEATURE * typical or 1.0
            intercept_step = free_feature if problem.has_free_intercept else 1.0 / problem.intercept_penalty
        state = aligned_state(points.n_rows)
        fill_state(problem.loss, best.beta, points.squared_norms, intercept_step, state)
        loss: Hinge | PiecewiseLoss = PiecewiseLoss(problem.loss.epsilon)
        if problem.loss.one_sided and problem.loss.curvature == 0.0:
            loss = Hinge()
        self.ascent = Ascent(state, best.w.copy(), np.array([best.intercept]), intercept_step, loss)
        self.order = np.flatnonzero(problem.loss.weights).astype(np.uint32)
        self.n_active = self.order.size
        # A generator must not start at zero.
        self.random = np.uint64(np.random.SeedSequence(options.seed).generate_state(1, np.uint64)[0] | np.uint64(1))
        self.shrinking_threshold = math.inf
        self.summed_anew = 0
        # Entries read so far, and at the last measurement of the gap.
        self.work, self.checked_at = 0.0, 0.0
        self.gap_factor, self.estimate_checked, self.is_near = 1.0, math.inf, False
        self.epochs_since_centre, self.n_epochs = 0, 0.0
        # The gap is finite from the first epoch on: a larger dual value alone is no progress.
        self.stall = StallTest(
            PATIENCE,
            gap_factor=GAP_FACTOR,
            dual_factor=math.inf,
            gap_share=GAP_SHARE,
            halving_patience=HALVING_PATIENCE,
        )
        self.pace = Pace(options.tol)
        # The other orders are those of the lecture.
        self._extrapolates = options.selection == "random"
        self._can_relax = options.selection == "random" and problem.loss.epsilon == 0.0
        self.extrapolation = Extrapolation(problem, self.ascent)
        self._primal_at_zero = sums_of_terms(self.ascent, np.zeros(points.n_rows), 1.0)[0]
        engine.allocate("scores")

    @property
    def duals(self) -> np.ndarray:
        """The signed duals of all rows."""
        return self.ascent.state[:, DUAL]

    @duals.setter
    def duals(self, values: np.ndarray) -> None:
        self.ascent.state[:, DUAL] = values

    @stage
    def run(self) -> Status:
        """Epochs until the gap is small, the run has stalled or is too slow, or a limit is reached."""
        points, best = self.problem.points, self.best
        entries = points.entries_per_row * points.n_rows + 1.0
        if not self.problem.loss.one_sided and self.work == 0.0:
            # w = 0 may have no loss at all, and would never be met again.
            self._update_incumbents(at_end=False)
            if self.monitor.check_termination(best, self.options, "epoch") is Status.SOLVED:
                return Status.SOLVED
        while True:
            outcome = self._epochs(self._due(entries) - self.work)
            self.is_near = outcome.gap <= NEAR_THE_GOAL * self._gap_to_check
            self.is_near &= self.n_active > ACTIVE_SHARE * self.order.size
            if outcome.limit is None and outcome.largest > 0.0 and self._extrapolates and self.extrapolation.is_due:
                # The violations of the last epoch are no longer those of the duals.
                self.shrinking_threshold = math.inf if self.extrapolation.step() else self.shrinking_threshold
            at_end = outcome.limit is not None or best.n_iter >= self.options.max_iter
            at_end |= outcome.largest == 0.0 or best.n_iter >= self.summed_anew + EPOCHS_PER_SUM
            if at_end or outcome.gap <= self._gap_to_check or self.work >= self._due(entries):
                self.checked_at = self.work
                self._update_incumbents(at_end=at_end)
                self._calibrate_gap_estimate(outcome.gap)
                stalled = self.stall.update(best, self.n_epochs)
                if self.options.switch_on_slow_progress:
                    stalled |= self.pace.is_slow(self.work / entries, best.relative_gap)
                ended = self.monitor.check_termination(best, self.options, "epoch", stalled=stalled)
                status = ended if ended is Status.SOLVED else outcome.limit or ended
                if status is not None:
                    return status
                self.n_active = unshrink(
                    self.ascent, self.engine["scores"] + self.ascent.b[0], self.shrinking_threshold, self.order
                )
            if self.problem.has_free_intercept and (
                self.epochs_since_centre >= EPOCHS_PER_CENTRE or outcome.largest == 0.0
            ):
                self.epochs_since_centre = 0
                self._move_centre(no_dual_moved=outcome.largest == 0.0)
            self.monitor.checkpoint(self)

    def _due(self, entries: float) -> float:
        """Entries read in all when the gap is measured, whatever its estimate."""
        first, share = FIRST_CHECK, SHARE_PER_CHECK
        if self.options.switch_on_slow_progress:
            first, share = FIRST_CHECK_OF_PACE, SHARE_PER_CHECK_OF_PACE
        elif self.checked_at == 0.0 and self.is_near:
            first = FIRST_CHECK_IF_NEAR
        return self.checked_at + min(EPOCHS_PER_CHECK * entries, max(first * entries, share * self.work))

    def _calibrate_gap_estimate(self, estimate: float) -> None:
        """Compare an estimate of the gap with its measurement, by whose factor the next ones are corrected."""
        gap = self.best.primal - self.best.dual
        if 0.0 < estimate < math.inf and gap <= LARGEST_MULTIPLE * estimate:
            self.gap_factor, self.estimate_checked = max(LEAST_MULTIPLE, gap / estimate), estimate
        else:
            # The gap lies in rows that had left the order: they are active again, and the next estimate holds them.
            self.gap_factor, self.estimate_checked = 1.0, math.inf

    @property
    def _gap_to_check(self) -> float:
        """The estimate of the gap at which it is measured."""
        primal = self.best.primal if math.isfinite(self.best.primal) else self._primal_at_zero
        return min(self.options.tol * primal / self.gap_factor, FALL_PER_CHECK * self.estimate_checked)

    def _move_centre(self, *, no_dual_moved: bool) -> None:
        """Proximal-point step on a free intercept; where no dual moves, take the intercept of the smallest loss."""
        b, self.shrinking_threshold = self.ascent.b, math.inf
        has_moved = False
        if no_dual_moved:
            before, b[0] = b[0], best_intercept(self.problem, self.engine["scores"])
            has_moved = b[0] != before
        if not has_moved:
            b[0] += self.ascent.intercept_step * float(self.ascent.state[:, DUAL].sum())

    def _epochs(self, entries_left: float) -> "EpochOutcome":
        """Epochs until the gap, an extrapolation or the intercept's centre is due.

        Calls are short enough to be interrupted between; after ``entries_left`` entries the last epoch is completed.
        """
        if self.options.selection == "greedy":
            return self._greedy_epoch()
        per_row, before = max(1.0, self.problem.points.entries_per_row), self.best.n_iter
        most = min(self.options.max_iter, self.summed_anew + EPOCHS_PER_SUM) - before
        if self.problem.has_free_intercept:
            most = min(most, EPOCHS_PER_CENTRE - self.epochs_since_centre)
        if self._extrapolates:
            most = min(most, self.extrapolation.epochs_left(self.n_active * per_row))
        relaxation = RELAXATION if before >= PLAIN_EPOCHS and self._can_relax else 1.0
        if before < PLAIN_EPOCHS:
            most = min(most, PLAIN_EPOCHS - before)
        size, most_rows = max(1, int(ENTRIES_PER_CALL / per_row)), max(1, int(min(entries_left / per_row, 1e15)))
        progress = np.zeros(N_PROGRESS)
        progress[N_ACTIVE], progress[THRESHOLD] = self.n_active, self.shrinking_threshold
        epochs = Epochs(
            order=self.order,
            shuffled=self.options.selection == "random",
            most=max(1, int(min(most, 1e9))),
            gap=self._gap_to_check,
            most_rows=most_rows,
            rows_per_call=size,
            ahead=self._rows_ahead(),
            relaxation=relaxation,
        )
        limit = None
        while True:
            n_epochs, n_rows, seed = coordinate_epochs(
                self.problem.points.rows, self.ascent, epochs, progress, self.random
            )
            self.random = np.uint64(seed)
            limit = self.monitor.check_limits()
            self._count(n_epochs, n_rows)
            if limit is not None or progress[NEXT] == 0:
                break
            epochs = epochs._replace(most=1)
        self.n_active = int(progress[N_ACTIVE])
        if progress[NEXT] > 0:
            # The rows not reached stay in the order, behind those kept.
            kept, rest = int(progress[N_KEPT]), self.order[int(progress[NEXT]) : self.n_active].copy()
            self.order[kept : kept + rest.size] = rest
            self.n_active = kept + rest.size
        self.shrinking_threshold = float(progress[THRESHOLD])
        return EpochOutcome(limit, float(progress[LARGEST]), float(progress[GAP]))

    def _rows_ahead(self) -> int:
        """How many steps ahead rows are prefetched."""
        points = self.problem.points
        bytes_of_row = (points.matrix.dtype.itemsize + 4) * points.entries_per_row + 8 * STATE_SIZE
        most = BYTES_TO_FETCH if points.entries_per_row < LONG_ROW else BYTES_TO_FETCH_LONG
        return AHEAD if bytes_of_row * self.n_active > most else NEVER

    def _count(self, n_epochs: int, n_rows: int) -> None:
        """Count epochs, the rows that they evaluated, and their work."""
        entries = n_rows * self.problem.points.entries_per_row + n_epochs
        self.work += entries
        self.n_epochs += max(LEAST_SHARE * n_epochs, n_rows / max(1, self.order.size))
        self.best.n_iter += n_epochs
        self.epochs_since_centre += n_epochs
        if self._extrapolates:
            self.extrapolation.count(n_epochs, entries)

    def _greedy_epoch(self) -> "EpochOutcome":
        """As many steps as there are rows, each on the row of the greatest gain."""
        points = self.problem.points
        self._count(1, self.n_active)
        entries = max(1.0, points.entries_per_row * points.n_rows)
        left, size = points.n_rows, max(1, int(ENTRIES_PER_CALL / entries))
        gain = 0.0
        while left > 0:
            gain = greedy_steps(points.rows, self.ascent, min(size, left))
            left -= size
            status = self.monitor.check_limits()
            if status is not None or gain == 0.0:
                return EpochOutcome(status, gain, math.inf)
        return EpochOutcome(None, gain, math.inf)

    def _update_incumbents(self, *, at_end: bool) -> None:
        """Offer the current coefficients, and the current duals made feasible."""
        problem, best = self.problem, self.best
        if best.n_iter >= self.summed_anew + EPOCHS_PER_SUM:
            self.summed_anew = best.n_iter
            self.ascent.w[:] = problem.points.combination(self.ascent.state[:, DUAL])
        w, b = self.ascent.w, float(self.ascent.b[0])
        self.engine.map(fill_scores, w, 0.0, "scores")
        scores = self.engine["scores"]
        with_b = scores + b if b != 0.0 else scores
        square = float(np.vdot(w, w))
        losses, dual_terms = sums_of_terms(self.ascent, with_b, 1.0)
        best.update_incumbent(0.5 * square + self._of_intercept(b) + losses, w, b)
        beta = self.ascent.state[:, DUAL]
        if problem.has_free_intercept:
            at = best_intercept(problem, scores)
            best.update_incumbent(problem.primal_value(w, at, scores + at), w, at)
            beta = problem.feasible(beta)
            dual = problem.dual_value(beta, problem.points.combination(beta))
        else:
            total = float(beta.sum()) if problem.has_intercept else 0.0
            dual = dual_terms - 0.5 * square - self._of_intercept(total / problem.intercept_penalty)
        if dual > best.dual:
            best.dual, best.beta = dual, beta.copy()
        # The pace is judged by the gap, which a better multiple may halve.
        always = at_end or self.options.switch_on_slow_progress
        most = math.inf if always else NEAR_WITH_MULTIPLE * self.options.tol
        if self.options.tol < best.relative_gap <= most and best.relative_gap < math.inf:
            self._offer_multiple(with_b, square)

    def _of_intercept(self, b: float) -> float:
        """The penalty of an intercept."""
        return 0.5 * self.problem.intercept_penalty * b * b if b != 0.0 else 0.0

    def _offer_multiple(self, scores: np.ndarray, square: float) -> None:
        """Offer the best multiple of the current coefficients, given their scores and the square of their norm.

        Rows on the margin are a little within it or beyond it, and those within it cost C times the distance: near the
        optimum the primal value is farther from it than the dual one, and a slightly longer w is better.
        """
        best = self.best
        w, b = self.ascent.w, float(self.ascent.b[0])
        both = square + 2.0 * self._of_intercept(b)
        multiple = best_multiple(self.ascent, scores, both, best.relative_gap, N_BISECTIONS)
        primal = 0.5 * multiple * multiple * both + sums_of_terms(self.ascent, scores, multiple)[0]
        if primal < best.primal:
            best.update_incumbent(primal, multiple * w, multiple * b)


class EpochOutcome(NamedTuple):
    """What some epochs came to: a limit that was reached, the largest violation and the estimate of the gap."""

    limit: Status | None
    largest: float
    gap: float


class Pace:
    """Whether the gap shrinks fast enough for coordinate ascent to reach the goal before Newton steps would."""

    checkpointed = ("_epochs", "_decades")

    def __init__(self, goal: float) -> None:
        self._goal = goal
        self._epochs, self._decades = 0.0, math.nan

    def is_slow(self, epochs: float, gap: float) -> bool:
        """Take the gap after so many epochs' work in all; compare with the decades that the last epochs gained."""
        decades_left = math.log10(gap / self._goal) if self._goal < gap < math.inf else math.nan
        gained, worked = self._decades - decades_left, epochs - self._epochs
        self._epochs, self._decades = epochs, decades_left
        return gained * (AFFORDED + AFFORDED_PER_DECADE * decades_left) < decades_left * worked


def aligned_state(n_rows: int) -> np.ndarray:
    """Per-row state that begins at the boundary of a cache line."""
    memory = np.zeros(STATE_SIZE * n_rows + STATE_SIZE)
    start = (-memory.ctypes.data % 64) // 8
    return memory[start : start + STATE_SIZE * n_rows].reshape(n_rows, STATE_SIZE)
