"""The multiclass SVM of Crammer and Singer by steps on one row's duals at a time.

A step is the best one for all classes of a row (Keerthi et al. 2008), made longer by a factor, as in successive
over-relaxation (Mangasarian, Musicant, "Successive overrelaxation for support vector machines", 1999). The planes of
the primal are means over epochs: in them the noise of the steps is averaged out. Free intercepts are those of a penalty
around values c, which follow after every epoch (the method of multipliers); the rows are then taken from their mean:

    b_m = c_m + step sum_i B_im,     c <- c + part of (b - c)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.loops.crammer_singer import ClassRows, Planes, Waits, ascend, combine, lost, row_work
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Result, Status
from maxmargin.solvers.linear.options import LinearOptions
from maxmargin.solvers.linear.tied_intercepts import tied_intercepts

SELECTIONS = ("random", "cyclic")
# How much longer than the best step each one is. Any factor below 2 climbs; this one was fastest on most data.
RELAXATION = 1.5
# The step of free intercepts, relative to the mean square of the rows' distances from their mean.
INTERCEPT_STEP = 0.1
# How much of the way to b their values c go after an epoch. Steps that are too long by half are stable up to 2/3: then
# a row whose score moves with its intercepts alone would swing between two duals.
FOLLOWING = 0.3
# A row's scores fall by at least this much, as its steps are made, when it gives all its limit.
LEAST_FALL = 1e-6
# The gap is looked at when the visits since the last look are this share of all visits, or of so many epochs' visits.
LOOK_SHARE, LOOK_EPOCHS = 0.2, 5
# A run has stalled when all visits are this many times those that brought the gap down last, and so many epochs more.
PATIENCE, PATIENT_EPOCHS = 10, 1000
NEVER = np.iinfo(np.int64).max


def solve(
    problem: CrammerSingerProblem, options: LinearOptions, monitor: Monitor, start: Result[np.ndarray] | None = None
) -> Result[np.ndarray]:
    """Climb the dual until the gap is small, nothing changes any more, or a limit is hit.

    Parameters
    ----------
    problem : CrammerSingerProblem
    options : LinearOptions
        ``max_iter`` counts epochs, ``selection`` is "random" or "cyclic", and one thread is used.
    monitor : Monitor
    start : Result[np.ndarray] or None
        Holds duals of shape (n, n_classes) to start from, instead of zeros.

    Returns
    -------
    Result
        With w of shape (n_classes, d), intercept of shape (n_classes,), and beta of shape (n, n_classes).
    """
    if options.selection not in SELECTIONS:
        raise ValueError(f"selection must be one of {SELECTIONS}; it is {options.selection!r}.")
    with np.errstate(over="ignore", invalid="ignore"):
        run = _DualAscent(problem, options, monitor, start)
        run.until_gap()
    run.best.w = np.ascontiguousarray(run.best.w)
    return run.best


class _MeanPlanes:
    """The mean of the planes at the ends of epochs, since it was last taken."""

    def __init__(self, W: np.ndarray, centre: np.ndarray | None) -> None:
        self._W, self._centre = np.empty_like(W), centre
        self._totals, self._intercepts = np.empty(W.shape[1]), np.empty(W.shape[1])
        self.count = 0

    def add(self, planes: Planes) -> None:
        """Count planes in."""
        if self.count == 0:
            self._W[:], self._totals[:], self._intercepts[:] = planes.W, planes.totals, planes.intercepts
        else:
            self._W += planes.W
            self._totals += planes.totals
            self._intercepts += planes.intercepts
        self.count += 1

    def take(self) -> Planes:
        """Return the mean, as planes whose W is all, and begin anew."""
        W = self._W / self.count
        if self._centre is not None:
            W -= np.outer(self._centre, self._totals / self.count)
        mean = Planes(W, np.zeros_like(self._totals), self._intercepts / self.count, 0.0, 0.0)
        self.count = 0
        return mean


class _DualAscent:
    """The state of a run: duals and their planes, means of the planes, and the best points."""

    def __init__(
        self, problem: CrammerSingerProblem, options: LinearOptions, monitor: Monitor, start: Result[np.ndarray] | None
    ) -> None:
        self.problem, self.options, self.monitor = problem, options, monitor
        points = problem.points
        self._rows_per_call = max(1, ENTRIES_PER_CALL // max(1, points.longest_row * problem.n_classes))
        self._work = row_work(problem.n_classes)
        self._generator = np.random.default_rng(options.seed)
        self.duals = np.zeros((points.n_rows, problem.n_classes)) if start is None else problem.feasible(start.beta)
        centre = _centre(problem)
        projections, square = np.zeros(points.n_rows), 0.0
        if centre is not None:
            projections, square = points.scores(centre), float(centre @ centre)
        squared_lengths = points.squared_norms - 2.0 * projections + square
        step = _intercept_step(problem, squared_lengths)
        curvatures = _curvatures(problem, squared_lengths + step)
        self.examples = ClassRows(
            points.rows, problem.codes.astype(np.uint32), problem.box_bounds(), curvatures, projections
        )
        W, totals = self._combination(self.duals), self.duals.sum(axis=0)
        self.planes = Planes(W, totals, self._first_intercepts(W, step * totals), step, square)
        self._waits = Waits(np.where(problem.weights > 0.0, 0, NEVER), np.zeros(points.n_rows, dtype=np.int64))
        self._visits = self._visits_before = 0
        self._means = _MeanPlanes(W, centre)
        self._means.add(self.planes)
        # The point's intercept is one number for one plane, and an array here.
        intercepts: Any = self.planes.intercepts.copy()
        self.best = Result(W.T, intercepts, self.duals)

    def until_gap(self) -> None:
        """Make epochs and looks."""
        self._offer()
        gap, dual, visits = self.best.relative_gap, self.best.dual, 0
        while (status := self.monitor.check_termination(self.best, self.options, "epoch")) is None:
            if self.best.relative_gap < 0.99 * gap or self.best.dual > 1.01 * max(dual, 0.0):
                gap, dual, visits = self.best.relative_gap, self.best.dual, self._visits
            elif self._visits > PATIENCE * visits + PATIENT_EPOCHS * self.examples.codes.size:
                status = Status.STALLED
                break
            finished = True
            while finished and not self._look_is_due():
                finished = self._make_epoch()
            self._offer()
        self.best.status = status

    def _look_is_due(self) -> bool:
        new = self._visits - self._visits_before
        enough = max(self._visits, LOOK_EPOCHS * self.examples.codes.size)
        return self._means.count > 0 and (new >= LOOK_SHARE * enough or self.best.n_iter >= self.options.max_iter)

    def _make_epoch(self) -> bool:
        """Visit the rows that are due, and say whether there was time to do so."""
        epoch = self.best.n_iter + 1
        due = np.flatnonzero(self._waits.due <= epoch).astype(np.uint32)
        if self.options.selection == "random":
            self._generator.shuffle(due)
        finished = True
        for part in self._parts(due.size):
            ascend(self.examples, due[part], self.planes, self.duals, self._waits, self._work, epoch, RELAXATION)
            if self.monitor.check_limits() is not None:
                finished = False
                break
        self.best.n_iter = epoch
        self._visits += max(1, due.size)
        if self.problem.balanced:
            self.planes.intercepts[:] += FOLLOWING * self.planes.intercept_step * self.planes.totals
        self._means.add(self.planes)
        return finished

    def _offer(self) -> None:
        """Measure the mean planes and the duals, and keep what is better than before."""
        problem, planes = self.problem, self._means.take()
        self._visits_before = self._visits
        value = sum(lost(self.examples, part.start, part.stop, planes, self._work) for part in self._all_parts())
        value += 0.5 * float(np.vdot(planes.W, planes.W))
        if problem.has_intercept and not problem.balanced:
            value += 0.5 * problem.intercept_penalty * float(np.square(planes.intercepts).sum())
        if value < self.best.primal:
            intercepts: Any = planes.intercepts
            self.best.primal, self.best.w, self.best.intercept = value, planes.W.T, intercepts
        duals, W = self.duals, self.planes.W
        if problem.balanced:
            duals = problem.feasible(duals)
            W = self._combination(duals)
        dual = problem.dual_value(duals, W)
        if dual > self.best.dual:
            self.best.dual, self.best.beta = dual, duals.copy()

    def _first_intercepts(self, W: np.ndarray, penalised: np.ndarray) -> np.ndarray:
        if self.problem.balanced and self.duals.any():
            return tied_intercepts(self.problem, self.problem.points.scores(W), self.duals)
        return penalised

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


def _centre(problem: CrammerSingerProblem) -> np.ndarray | None:
    """The mean of the rows, where free intercepts allow to take them from there."""
    if not problem.balanced:
        return None
    return problem.points.combination(problem.weights) / (float(problem.weights.sum()) or 1.0)


def _intercept_step(problem: CrammerSingerProblem, squared_lengths: np.ndarray) -> float:
    """How far a dual moves an intercept."""
    if not problem.has_intercept:
        return 0.0
    if not problem.balanced:
        return 1.0 / problem.intercept_penalty
    mean = float(squared_lengths.mean())
    return INTERCEPT_STEP * mean if mean > 0.0 else 1.0


def _curvatures(problem: CrammerSingerProblem, exact: np.ndarray) -> np.ndarray:
    """How fast the rows' scores fall when they give.

    A row of next to no length, or of zeros, gets more: it still gives all its limit at once where it falls short, and
    its duals keep their digits.
    """
    limits = problem.box_bounds()
    least = np.divide(LEAST_FALL, limits, out=np.ones_like(limits), where=limits > 0.0)
    return np.maximum(exact, least)
