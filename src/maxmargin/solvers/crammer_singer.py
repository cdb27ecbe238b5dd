"""The multiclass SVM of Crammer and Singer by steps on one row's duals at a time.

A step is the best one for all classes of a row (Keerthi et al. 2008), made longer by a factor, as in successive
over-relaxation (Mangasarian, Musicant, "Successive overrelaxation for support vector machines", 1999). The planes of
the primal are means over epochs: in them the noise of the steps is averaged out. Free intercepts are those of a penalty
around centres c, which follow after every epoch (the method of multipliers):

    b_m = c_m + step sum_i B_im,     c <- b
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.loops.crammer_singer import ClassRows, Planes, Waits, ascend, combine, lost, row_work
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.solvers.gap import GapPoint, GapSettings
from maxmargin.solvers.solution import Status
from maxmargin.solvers.tied_intercepts import tied_intercepts
from maxmargin.solvers.watch import ENTRIES_PER_CALL, Watch

SELECTIONS = ("random", "cyclic")
# How much longer than the best step each one is. Any factor below 2 climbs; this one was fastest on most data.
RELAXATION = 1.5
# The step of free intercepts, relative to the mean square of the rows' lengths.
INTERCEPT_STEP = 0.1
# The gap is looked at when the visits since the last look are this share of all visits, or of so many epochs' visits.
LOOK_SHARE, LOOK_EPOCHS = 0.3, 4
# Looks that may bring next to nothing before the run counts as stalled.
PATIENCE = 6
NEVER = np.iinfo(np.int64).max


def solve(
    problem: CrammerSingerProblem, settings: GapSettings, watch: Watch, start: np.ndarray | None = None
) -> GapPoint:
    """Climb the dual until the gap is small, nothing changes any more, or a limit is hit.

    Parameters
    ----------
    problem : CrammerSingerProblem
    settings : GapSettings
        ``max_iter`` counts epochs, ``selection`` is "random" or "cyclic", and one thread is used.
    watch : Watch
    start : ndarray of shape (n, n_classes) or None
        Duals to start from, instead of zeros.

    Returns
    -------
    GapPoint
        With w of shape (n_classes, d), intercept of shape (n_classes,), and beta of shape (n, n_classes).
    """
    if settings.selection not in SELECTIONS:
        raise ValueError(f"selection must be one of {SELECTIONS}; it is {settings.selection!r}.")
    with np.errstate(over="ignore", invalid="ignore"):
        run = _DualAscent(problem, settings, watch, start)
        run.until_gap()
    return run.best


class _DualAscent:
    """The state of a run: duals and their planes, the sum of the planes since the last look, and the best points."""

    def __init__(
        self, problem: CrammerSingerProblem, settings: GapSettings, watch: Watch, start: np.ndarray | None
    ) -> None:
        self.problem, self.settings, self.watch = problem, settings, watch
        points = problem.points
        shape = points.n_columns, problem.n_classes
        self._rows_per_call = max(1, ENTRIES_PER_CALL // max(1, points.longest_row * problem.n_classes))
        self._work = row_work(problem.n_classes)
        self._generator = np.random.default_rng(settings.seed)
        step = _intercept_step(problem)
        self.examples = ClassRows(
            points.rows, problem.codes.astype(np.uint32), problem.limits(), points.squared_norms + step
        )
        self.duals = self._first_duals(start)
        W = self._combination(self.duals)
        self.planes = Planes(W, self._first_intercepts(W, step), step)
        never = (self.examples.limits == 0.0) | (self.examples.curvatures == 0.0)
        self._waits = Waits(np.where(never, NEVER, 0), np.zeros(points.n_rows, dtype=np.int64))
        self._visits = self._visits_before = 0
        self._sum_W, self._sum_intercepts, self._summed = np.zeros(shape), np.zeros(problem.n_classes), 0
        # The point's intercept is one number for one plane, and an array here.
        intercepts: Any = self.planes.intercepts.copy()
        self.best = GapPoint(W.T.copy(), intercepts, self.duals)

    def until_gap(self) -> None:
        """Make epochs and looks."""
        self._offer()
        idle = 0
        while (status := self.best.why_stop(self.settings, self.watch, "epoch")) is None:
            if idle == PATIENCE:
                status = Status.STALLED
                break
            gap_before = self.best.relative_gap
            finished = True
            while finished and not self._look_is_due():
                finished = self._make_epoch()
            self._offer()
            idle = idle + 1 if self.best.relative_gap > 0.99 * gap_before else 0
        self.best.status = status

    def _look_is_due(self) -> bool:
        new = self._visits - self._visits_before
        enough = max(self._visits, LOOK_EPOCHS * self.examples.codes.size)
        return self._summed > 0 and (new >= LOOK_SHARE * enough or self.best.n_steps >= self.settings.max_iter)

    def _make_epoch(self) -> bool:
        """Visit the rows that are due, and say whether there was time to do so."""
        epoch = self.best.n_steps + 1
        due = np.flatnonzero(self._waits.due <= epoch).astype(np.uint32)
        if self.settings.selection == "random":
            self._generator.shuffle(due)
        finished = True
        for part in self._parts(due.size):
            ascend(self.examples, due[part], self.planes, self.duals, self._waits, self._work, epoch, RELAXATION)
            if self.watch.must_stop() is not None:
                finished = False
                break
        self.best.n_steps = epoch
        self._visits += max(1, due.size)
        if self.problem.balanced:
            self.planes.intercepts[:] += self.planes.intercept_step * self.duals.sum(axis=0)
        self._sum_W += self.planes.W
        self._sum_intercepts += self.planes.intercepts
        self._summed += 1
        return finished

    def _offer(self) -> None:
        """Measure the mean planes and the duals, and keep what is better than before."""
        problem, planes = self.problem, self.planes
        if self._summed:
            planes = Planes(self._sum_W / self._summed, self._sum_intercepts / self._summed, 0.0)
        self._sum_W[:], self._sum_intercepts[:], self._summed = 0.0, 0.0, 0
        self._visits_before = self._visits
        loss = sum(lost(self.examples, part.start, part.stop, planes, self._work) for part in self._all_parts())
        length = 0.5 * float(np.square(planes.W).sum())
        if problem.has_intercept and not problem.balanced:
            length += 0.5 * problem.intercept_penalty * float(np.square(planes.intercepts).sum())
        intercepts: Any = planes.intercepts.copy()
        self.best.offer_plane(length + loss, planes.W.T, intercepts)
        duals, W = self.duals, self.planes.W
        if problem.balanced:
            duals = problem.feasible(duals)
            W = self._combination(duals)
        dual = problem.dual_value(duals, W)
        if dual > self.best.dual:
            self.best.dual, self.best.beta = dual, duals.copy()

    def _first_duals(self, start: np.ndarray | None) -> np.ndarray:
        examples, problem = self.examples, self.problem
        duals = np.zeros((examples.codes.size, problem.n_classes)) if start is None else problem.feasible(start)
        # A row of zeros without an intercept loses 1, whatever the planes are: it gives all it may, to any class.
        lost_rows = np.flatnonzero(examples.curvatures == 0.0)
        if problem.n_classes > 1:
            own = examples.codes[lost_rows]
            duals[lost_rows] = 0.0
            duals[lost_rows, (own + 1) % problem.n_classes] = -examples.limits[lost_rows]
            duals[lost_rows, own] = examples.limits[lost_rows]
        return duals

    def _first_intercepts(self, W: np.ndarray, step: float) -> np.ndarray:
        if self.problem.balanced and W.any():
            return tied_intercepts(self.problem, self.problem.points.scores(W), self.duals)
        return step * self.duals.sum(axis=0)

    def _combination(self, duals: np.ndarray) -> np.ndarray:
        W = np.zeros((self.problem.points.n_columns, self.problem.n_classes))
        for part in self._all_parts():
            combine(self.examples.rows, part.start, part.stop, duals, self._work, W)
        return W

    def _all_parts(self) -> Iterator[slice]:
        return self._parts(self.examples.codes.size)

    def _parts(self, n_rows: int) -> Iterator[slice]:
        """Cut rows into parts that are each short enough to be one call of a loop."""
        for begin in range(0, n_rows, self._rows_per_call):
            yield slice(begin, min(begin + self._rows_per_call, n_rows))


def _intercept_step(problem: CrammerSingerProblem) -> float:
    """How far a dual moves an intercept."""
    if not problem.has_intercept:
        return 0.0
    if not problem.balanced:
        return 1.0 / problem.intercept_penalty
    norm = problem.points.typical_norm
    return INTERCEPT_STEP * norm * norm if norm > 0.0 else 1.0
