"""The multiclass SVM of Crammer and Singer by steps on one row's duals at a time.

A step is the best one for all classes of a row (Keerthi et al. 2008), made longer by a factor, as in successive
over-relaxation (Mangasarian, Musicant, "Successive overrelaxation for support vector machines", 1999). The primal
coefficients are means over epochs, in which the noise of the steps is averaged out. Free intercepts are penalised
around centres c that follow after every epoch (the method of multipliers); rows are then centred:

    b_m = c_m + step sum_i B_im,     c <- c + part of (b - c)
"""

import math
from collections.abc import Iterator

import numpy as np

from maxmargin.loops.crammer_singer import ClassCoefficients, ClassRows, Schedule, ascend, combine, row_work, total_loss
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.result import SMALLEST_GAP
from maxmargin.solvers.linear import crammer_singer_newton
from maxmargin.solvers.linear.options import LinearOptions

ORDERS = ("random", "cyclic")
# The over-relaxation factor. Any factor below 2 ascends; this one was fastest on most data.
RELAXATION = 1.5
# The step of free intercepts, relative to the mean square of the rows' distances from their mean.
INTERCEPT_STEP = 0.1
# The share of the way to b that the centres c move after an epoch. With the over-relaxation above, values up to 2/3 are
# stable.
FOLLOWING = 0.3
# The least change of a row's scores when its dual goes from zero to its bound, as the steps are computed.
LEAST_FALL = 1e-6
# The gap is measured when the row steps since the last time are this share of all, or of so many epochs' steps.
CHECK_SHARE, CHECK_EPOCHS = 0.2, 5
# The run has stalled after so many epochs without progress; an epoch in which few rows are due counts as their
# share, and at least as this one.
PATIENCE = 3000
LEAST_SHARE = 0.01
# So has a run whose gap is not halved in so many.
HALVING_PATIENCE = 20_000
# Progress: a relative gap below this factor of the last one, or a value that is better by this share of the gap.
GAP_FACTOR, GAP_SHARE = 0.99, 1e-2
# The epoch in which rows of weight zero are due.
NEVER = np.iinfo(np.int64).max
# Newton steps take over after as much work as so many of them would be.
STEPS_TO_SWITCH = 40
# Operations that take as long as the step on a row apart from its products, and as an epoch apart from its steps.
ROW_OVERHEAD, EPOCH_OVERHEAD = 100.0, 3e4


@solver({f"selection from {ORDERS}": lambda _, options: options.selection in ORDERS})
def solve(
    problem: CrammerSingerProblem, options: LinearOptions, monitor: Monitor, start: Result[np.ndarray] | None = None
) -> Result[np.ndarray]:
    """Ascend the dual until the gap is small, the run has stalled, or a limit is reached.

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
    with np.errstate(over="ignore", invalid="ignore"):
        best = _ascend(problem, options, monitor, start)
        if best.status is Status.RUNNING:
            best = crammer_singer_newton.solve(problem, options, monitor, best)
            if best.status is Status.STALLED and not best.relative_gap <= SMALLEST_GAP:
                # Where the Hessian is too ill-conditioned, steps on single rows may still make progress.
                best = _ascend(problem, options, monitor, best, may_switch=False)
    best.w = np.ascontiguousarray(best.w)
    return best


def _ascend(
    problem: CrammerSingerProblem,
    options: LinearOptions,
    monitor: Monitor,
    start: Result[np.ndarray] | None,
    *,
    may_switch: bool = True,
) -> Result[np.ndarray]:
    """Ascend; the status stays RUNNING where Newton steps are to continue.

    That is once the run has taken as long as so many Newton steps would: however fast they are, the whole then takes
    little more than twice as long as the faster one of the two methods. The choice depends on counts of operations, not
    on the clock.
    """
    run = _DualAscent(problem, options, monitor, start)
    if may_switch and options.solver == "auto" and crammer_singer_newton.is_possible(problem):
        run.most_work = STEPS_TO_SWITCH * crammer_singer_newton.work_of_step(problem)
    run.best.status = run.run()
    return run.best


class _MeanCoefficients:
    """The mean of the coefficients at the ends of epochs, since it was last taken."""

    checkpointed = ("_W", "_totals", "_intercepts", "count")

    def __init__(self, W: np.ndarray, centre: np.ndarray | None) -> None:
        self._W, self._centre = np.empty_like(W), centre
        self._totals, self._intercepts = np.empty(W.shape[1]), np.empty(W.shape[1])
        self.count = 0

    def add(self, coefficients: ClassCoefficients) -> None:
        """Add coefficients to the mean."""
        if self.count == 0:
            self._W[:], self._totals[:], self._intercepts[:] = (
                coefficients.W,
                coefficients.totals,
                coefficients.intercepts,
            )
        else:
            self._W += coefficients.W
            self._totals += coefficients.totals
            self._intercepts += coefficients.intercepts
        self.count += 1

    def take(self) -> ClassCoefficients:
        """Return the mean, and start a new one."""
        W = self._W / self.count
        if self._centre is not None:
            W -= np.outer(self._centre, self._totals / self.count)
        mean = ClassCoefficients(W, np.zeros_like(self._totals), self._intercepts / self.count, 0.0, 0.0)
        self.count = 0
        return mean


class _DualAscent:
    """The state of a run: duals, their coefficients, means of the coefficients, and the incumbents."""

    checkpointed = (
        *("duals", "coefficients.W", "coefficients.totals", "coefficients.intercepts", "_means"),
        *("_schedule.due", "_schedule.epochs", "_row_steps", "_steps_before", "_generator", "best", "stall"),
    )
    outcome = ("best",)

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
        self.coefficients = ClassCoefficients(W, totals, self._first_intercepts(W, step * totals), step, square)
        self._schedule = Schedule(np.where(problem.weights > 0.0, 0, NEVER), np.zeros(points.n_rows, dtype=np.int64))
        self._row_steps = self._steps_before = 0
        # Operations after which the run is to be continued by another method.
        self.most_work = math.inf
        self._means = _MeanCoefficients(W, centre)
        self._means.add(self.coefficients)
        if start is not None and start.history:
            self.best, self.best.status = start, Status.RUNNING
        else:
            self.best = Result(W.T, self.coefficients.intercepts.copy(), self.duals)
        # The gap is finite from the start: a larger dual value alone is no progress.
        n_rows = self.examples.codes.size
        self.stall = StallTest(
            PATIENCE * n_rows,
            gap_factor=GAP_FACTOR,
            dual_factor=math.inf,
            gap_share=GAP_SHARE,
            halving_patience=HALVING_PATIENCE * n_rows,
        )

    @stage
    def run(self) -> Status:
        """Epochs, and measurements of the gap in between; RUNNING where Newton steps are to continue."""
        if self._means.count:
            self._update_incumbents()
        while True:
            self.monitor.checkpoint(self)
            stalled = self.stall.update(self.best, self._row_steps)
            status = self.monitor.check_termination(self.best, self.options, "epoch", stalled=stalled)
            if status is not None:
                return status
            if self._operations() >= self.most_work:
                return Status.RUNNING
            finished = True
            while finished and not self._check_is_due():
                finished = self._make_epoch()
            self._update_incumbents()

    def _operations(self) -> float:
        """About the operations of the run so far."""
        of_row = 4.0 * self.problem.points.entries_per_row * self.problem.n_classes + ROW_OVERHEAD
        return of_row * self._row_steps + EPOCH_OVERHEAD * self.best.n_iter

    def _check_is_due(self) -> bool:
        new = self._row_steps - self._steps_before
        enough = max(self._row_steps, CHECK_EPOCHS * self.examples.codes.size)
        return self._means.count > 0 and (new >= CHECK_SHARE * enough or self.best.n_iter >= self.options.max_iter)

    def _make_epoch(self) -> bool:
        """Steps on the rows that are due; return False where a limit interrupted them."""
        epoch = self.best.n_iter + 1
        due = np.flatnonzero(self._schedule.due <= epoch).astype(np.uint32)
        if self.options.selection == "random":
            self._generator.shuffle(due)
        finished = True
        for part in self._parts(due.size):
            ascend(
                self.examples, due[part], self.coefficients, self.duals, self._schedule, self._work, epoch, RELAXATION
            )
            if self.monitor.must_stop():
                finished = False
                break
        self.best.n_iter = epoch
        self._row_steps += max(1, due.size, int(LEAST_SHARE * self.examples.codes.size))
        if self.problem.has_free_intercept:
            self.coefficients.intercepts[:] += FOLLOWING * self.coefficients.intercept_step * self.coefficients.totals
        self._means.add(self.coefficients)
        return finished

    def _update_incumbents(self) -> None:
        """Evaluate the mean coefficients and the duals, and keep what is better than the incumbents."""
        began = self.monitor.seconds
        problem, coefficients = self.problem, self._means.take()
        self._steps_before = self._row_steps
        value = sum(
            total_loss(self.examples, part.start, part.stop, coefficients, self._work) for part in self._all_parts()
        )
        value += 0.5 * float(np.vdot(coefficients.W, coefficients.W))
        if problem.has_intercept and not problem.has_free_intercept:
            value += 0.5 * problem.intercept_penalty * float(np.square(coefficients.intercepts).sum())
        if value < self.best.primal:
            self.best.primal, self.best.w, self.best.intercept = value, coefficients.W.T, coefficients.intercepts
        duals, W = self.duals, self.coefficients.W
        if problem.has_free_intercept:
            duals = problem.feasible(duals)
            W = self._combination(duals)
        dual = problem.dual_value(duals, W)
        if dual > self.best.dual:
            self.best.dual, self.best.beta = dual, duals.copy()
        # The epochs since are measured after the last one, too: with many classes that takes as long as a certificate.
        self.monitor.reserve = self.monitor.seconds - began

    def _first_intercepts(self, W: np.ndarray, penalised: np.ndarray) -> np.ndarray:
        if self.problem.has_free_intercept and self.duals.any():
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
    if not problem.has_free_intercept:
        return None
    return problem.points.combination(problem.weights) / (float(problem.weights.sum()) or 1.0)


def _intercept_step(problem: CrammerSingerProblem, squared_lengths: np.ndarray) -> float:
    """The change of an intercept per unit of a dual."""
    if not problem.has_intercept:
        return 0.0
    if not problem.has_free_intercept:
        return 1.0 / problem.intercept_penalty
    mean = float(squared_lengths.mean())
    return INTERCEPT_STEP * mean if mean > 0.0 else 1.0


def _curvatures(problem: CrammerSingerProblem, exact: np.ndarray) -> np.ndarray:
    """The change of a row's scores per unit of its dual.

    A (nearly) zero row gets a larger value, with which one step still takes its dual from zero to its bound.
    """
    limits = problem.box_bounds()
    least = np.divide(LEAST_FALL, limits, out=np.ones_like(limits), where=limits > 0.0)
    found: np.ndarray = np.maximum(exact, least)
    return found


def tied_intercepts(problem: CrammerSingerProblem, scores: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Least-squares solution of the KKT equalities on the intercepts; exact at optimal duals.

    At the optimum all classes with a dual of a row have the same score, and where the row's own dual is below its bound
    the score of its own class is larger by just 1. ``scores`` are those without intercepts.
    """
    counted = np.flatnonzero(problem.weights)
    own = np.arange(counted.size), problem.codes[counted]
    shares = -B[counted] / problem.box_bounds()[counted, None]
    shares[own] += 1.0
    ahead = scores[counted] + 1.0
    ahead[own] -= 1.0
    differences = shares * (ahead - (shares * ahead).sum(axis=1, keepdims=True))
    equations = np.diag(shares.sum(axis=0)) - shares.T @ shares
    found: np.ndarray = -np.linalg.lstsq(equations, differences.sum(axis=0))[0]
    return found
