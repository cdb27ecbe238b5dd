"""The linear support vector machine by a dual proximal-point method with semismooth Newton steps.

Outer step: with duals a and a step sigma, minimise the smooth, piecewise quadratic function of w and b

    Phi = 1/2||w||² + rho/2 b² + 1/sigma sum Moreau envelopes,   u_i = a_i + sigma (t_i - f(x_i)),   p = proximal(u)
    gradient   (w, rho b) - sum p_i (x_i, 1)
    Hessian    diag(1, rho) + sum p_i' (x_i, 1)(x_i, 1)^T       over the active set: rows of free duals, at no bound

by Newton steps with an exact line search (the derivative along a step is monotone and piecewise linear), then a <- p
and sigma <- larger. p is a dual point at every step, so the gap is known at every step. The steps are about a working
set, the rows whose duals can move at all: most others stay at a bound.

Where every answer costs a round of messages or of reading, another run takes the place of this one
(:mod:`maxmargin.solvers.linear.partitioned`).

Niu, Wang, Tang, Wang, Song, "A sparse semismooth Newton based augmented Lagrangian method for large-scale support
vector machines", 2019; Yan, Li, "An efficient augmented Lagrangian method for support vector machine", 2020.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import Answer, Engine, MemoryEngine, Threads
from maxmargin.loops.newton import (
    LINEAR_NEGATIVE,
    LINEAR_POSITIVE,
    LOSS,
    MOVED,
    NEGATIVE,
    POSITIVE,
    QUADRATIC_NEGATIVE,
    QUADRATIC_POSITIVE,
    DualSums,
)
from maxmargin.loops.newton_run import DUAL_FACTOR, FEW_STEPS, GRADIENT_SHARE, INNER_STEPS
from maxmargin.problems.linear_svm import LinearSVMProblem, balancing_factors
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, solver, stage
from maxmargin.solvers.linear import small_newton
from maxmargin.solvers.linear.initial_point import InitialPoint, StartingPoint, initial_point
from maxmargin.solvers.linear.line_search import ENOUGH, root_along
from maxmargin.solvers.linear.newton_blocks import (
    copy_vector,
    derivative_at_full_step_of_block,
    derivatives_along_step_of_block,
    difference,
    evaluate_block,
    keep_duals,
    largest_change,
    mark_working_set_of_block,
    rescore,
    split_sums,
    sum_of_duals,
    sum_of_losses,
    total_of,
)
from maxmargin.solvers.linear.newton_system import NewtonSystem, count_free
from maxmargin.solvers.linear.subsample import GAP_OF_SAMPLE, initial_point_from_subsample, subsample

# Outer steps without progress after which the run has stalled.
PATIENCE = 12
# Duals are sigma times residuals, and so are the residuals' rounding errors: after so many outer steps in a row without
# progress sigma is too large, and is divided by this factor.
STEPS_TO_REDUCE, REDUCTION = 4, 256.0
# Beyond this its quotients and products would underflow or overflow.
SMALLEST_SIGMA = 1e-250
# Rows are excluded whose duals cannot move if scores change this many times as much as in the outer step before.
CAUTION = 2.0
# If scores move by more than this factor of the predicted range, the excluded rows are re-evaluated.
SURPRISE = 1.5
# The factor on the first proximal step size where the run starts from the duals of a similar problem.
SIGMA_FROM_DUALS = 4.0


@solver({"a finite C": lambda problem, _: math.isfinite(problem.C)})
def solve(
    problem: LinearSVMProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``.

    ``start`` holds signed duals to begin with; where it has a history, it is the run that this one continues.
    """
    # Values whose squares overflow lead to useless steps; the incumbents met before stay, with their gap.
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        best = start if start is not None and start.history else None
        # Small data are solved by one compiled call; of large ones a subsample is solved first.
        rows = problem.points.small_rows
        sample = subsample(problem) if start is None and rows is None else None
        if sample is None:
            first = initial_point(problem, None if start is None else start.beta)
            if start is not None and best is None:
                # Duals of a similar problem are near: smaller steps would only lead back to them.
                first = replace(first, sigma=SIGMA_FROM_DUALS * first.sigma)
        else:
            coarse = replace(options, tol=max(options.tol, GAP_OF_SAMPLE))
            found, width = solve_sample(sample, coarse, monitor.quiet(is_stage=True))
            first = initial_point_from_subsample(problem, found.w, found.intercept, width)
            best = Result(first.w, first.b, first.beta, n_iter=found.n_iter)
        if rows is not None:
            best = best or Result(first.w, first.b, first.beta)
            status = small_newton.run(problem, rows, options, monitor, first, best)
            if status is not None:
                best.status = status
                return best
        best = _run(problem, options, monitor, first, best).best
        if not math.isfinite(best.primal):
            # The losses overflow at every iterate, and scores may: w = 0 is no worse.
            best.w, best.intercept = np.zeros_like(best.w), 0.0
        return best


def solve_sample(problem: LinearSVMProblem, options: Options, monitor: Monitor) -> tuple[Result[float], float]:
    """Return the solution of a subsample, and the width of its set of free duals."""
    run = _run(problem, options, monitor, initial_point(problem))
    return run.best, run.width


def _run(
    problem: LinearSVMProblem,
    options: Options,
    monitor: Monitor,
    first: InitialPoint,
    best: Result[float] | None = None,
) -> "NewtonRun":
    with Threads(options.n_threads) as threads:
        engine = engine_at(problem, first, threads)
        run = NewtonRun(engine, options, monitor, first, best or Result(first.w, first.b, first.beta))
        run.best.status = run.run()
    return run


def engine_at(problem: LinearSVMProblem, first: InitialPoint, threads: Threads) -> MemoryEngine[LinearSVMProblem]:
    """An engine in memory, with the scores and duals of the initial point."""
    engine = MemoryEngine(problem, threads)
    engine["scores"], engine["centers"] = first.scores, first.beta.copy()
    return engine


class NewtonRun:
    """The state of a run: (w, b), and the engine with the vectors over the rows.

    These vectors are the ``scores``, those at the ``start`` of the outer step and their ``changes`` along a Newton
    step, the proximal ``centers`` and ``duals``, whether these are ``free``, whether rows are in the ``working_set``,
    and the incumbent's duals, ``best_duals``. The run itself uses sums over the rows only, so that the rows may lie
    elsewhere.

    Parameters
    ----------
    engine : Engine
        Has the scores and the proximal centres.
    options : Options
    monitor : Monitor
    first : object with w, b and sigma
    best : Result
        The incumbent.
    """

    checkpointed: ClassVar[tuple[str, ...]] = (
        *("w", "b", "sigma", "radius", "engine.scores", "engine.centers", "system.n_conjugate"),
        *("best", "stall", "n_outer", "stalled"),
    )
    outcome: ClassVar[tuple[str, ...]] = ("best", "sigma")

    def __init__(
        self,
        engine: Engine[LinearSVMProblem],
        options: Options,
        monitor: Monitor,
        first: StartingPoint,
        best: Result[float],
    ) -> None:
        problem = engine.problem
        self.problem, self.options, self.monitor, self.best, self.engine = problem, options, monitor, best, engine
        self._allocate()
        self.system = NewtonSystem(problem, engine, monitor.must_stop)
        self.w, self.b, self.sigma = first.w, first.b, max(first.sigma, SMALLEST_SIGMA)
        # The predicted range of the scores' changes in the next outer step.
        self.radius = math.inf
        self.stall, self.n_outer, self.stalled = StallTest(PATIENCE, dual_factor=DUAL_FACTOR), 0, False
        self.rho = problem.intercept_penalty if problem.has_intercept else 0.0

    def _allocate(self) -> None:
        self.engine.allocate("start", "changes", "duals", "best_duals")
        self.engine.allocate("free", "working_set", dtype=bool)

    def _take_all_rows(self) -> None:
        """Newton steps are to be made on all rows."""
        self.system.choose(self.engine)

    @property
    def width(self) -> float:
        """About the distance from the margin, or from a residual of epsilon, up to which duals are free."""
        return self.problem.C / self.sigma

    @property
    def slope_of_intercept(self) -> float:
        """The derivative in b of what the objective has besides the losses."""
        return self.rho * self.b

    @stage
    def run(self) -> Status:
        """Outer steps until the gap is small, the run has stalled, or a limit is reached."""
        while True:
            inner, status = self._proximal_step(stalled=self.stalled)
            if status is not None:
                return status
            self.n_outer += 1
            self.stalled = self.stall.update(self.best, self.n_outer)
            self._adapt_sigma(inner)
            self.monitor.checkpoint(self)

    def _adapt_sigma(self, inner: int | None) -> None:
        """Choose sigma after an outer step of so many Newton steps; None where it is to be repeated."""
        if inner is None:
            return
        if self.stall.idle and self.stall.idle % STEPS_TO_REDUCE == 0:
            self.sigma /= REDUCTION
        elif inner < FEW_STEPS:
            self.sigma *= self.growth(inner)
        elif inner >= INNER_STEPS:
            self.sigma *= 0.5
        self.sigma = min(max(self.sigma, SMALLEST_SIGMA), 1.0 / SMALLEST_SIGMA)

    def growth(self, inner: int) -> float:  # noqa: ARG002
        """The factor on sigma after an outer step that took so few Newton steps."""
        return 4.0

    def proximal_problem(self, engine: Engine[LinearSVMProblem]) -> "ProximalProblem":
        """The problem of an outer step over the duals of an engine's rows."""
        return ProximalProblem(self, engine)

    def takes_working_set(self, n_rows: int) -> bool:
        """Whether Newton steps on so many rows that can move save more than gathering the rows costs."""
        return n_rows <= self.engine.largest_subset * self.engine.n_rows

    def ask_final_scores(self, *, all_moved: bool) -> Answer[list[float]]:  # noqa: ARG002
        """Ask for all scores at the end of an outer step, and their largest changes; steps may have moved all."""
        return self.engine.ask_all(rescore, self.w, self.b, writes=("scores",))

    def share_of_new_duals(
        self,
        value: float,
        multiple: float,  # noqa: ARG002
        w: np.ndarray,  # noqa: ARG002
        linear: float,  # noqa: ARG002
        sums: DualSums,  # noqa: ARG002
    ) -> tuple[float, float]:
        """The share that new duals get in the dual incumbent, and its dual value.

        They have this ``value``, and are a ``multiple`` of duals with this w, linear term and sums.
        """
        return 1.0, value

    def _proximal_step(self, *, stalled: bool = False) -> tuple[int | None, Status | None]:
        """Evaluate all rows, then make Newton steps on a working set.

        Returns the number of Newton steps, or None where the scores moved too far for the excluded rows.
        """
        engine = self.engine
        whole = self.proximal_problem(engine)
        evaluation = whole.ask_evaluation()
        n_working = engine.ask(mark_working_set_of_block, self.sigma, self.radius, writes=("start", "working_set"))
        all_sums = whole.sums_of(evaluation)
        self.update_primal_incumbent(float(all_sums.totals[LOSS]))
        self.update_dual_incumbent(all_sums)
        status = self.monitor.check_termination(self.best, self.options, "outer step", stalled=stalled)
        if status is not None:
            return 0, status
        if self.takes_working_set(n_working.value):
            part = engine.subset("working_set", "scores", "start", "centers", often=True)
            part.allocate("changes", "duals")
            part.allocate("free", dtype=bool)
            working = self.proximal_problem(part)
            self.system.choose(part)
            excluded = difference(all_sums, working.evaluate())
        else:
            # The gap is known at every step only if all rows are evaluated.
            working, excluded = whole, None
            self._take_all_rows()
        inner, status, final_sums = working.minimise(all_sums, excluded)
        if working is not whole:
            engine.write_back(working.engine, "working_set", "duals")
        self.update_dual_incumbent(final_sums)
        changes = self.ask_final_scores(all_moved=working is whole)
        total_loss = None if status is None else engine.ask(sum_of_losses)
        change = max(changes.value)
        surprised = change > SURPRISE * self.radius
        if not surprised:
            engine.do(copy_vector, "duals", "centers", writes=("centers",))
        self.radius = (
            CAUTION * change if surprised or math.isinf(self.radius) else max(CAUTION * change, 0.1 * self.radius)
        )
        if total_loss is not None:
            self.update_primal_incumbent(float(total_loss.value))
            self.monitor.record(self.best)
        return None if surprised else inner, status

    def update_primal_incumbent(self, total_loss: float) -> None:
        """Offer (w, b) as incumbent, given the sum of the losses of all rows, divided by C."""
        primal = 0.5 * float(self.w @ self.w) + 0.5 * self.rho * (self.b * self.b) + self.problem.C * total_loss
        self.best.update_incumbent(primal, self.w, self.b)

    def update_dual_incumbent(self, sums: DualSums) -> None:
        """Offer the best multiple of the duals of all rows, made feasible, as dual incumbent."""
        totals = sums.totals
        up, down = (
            balancing_factors(totals[POSITIVE], totals[NEGATIVE]) if self.problem.has_free_intercept else (1.0, 1.0)
        )
        w = up * sums.positive + down * sums.negative
        linear = up * totals[LINEAR_POSITIVE] + down * totals[LINEAR_NEGATIVE]
        square = up**2 * totals[QUADRATIC_POSITIVE] + down**2 * totals[QUADRATIC_NEGATIVE] + float(w @ w)
        if self.problem.has_intercept and not self.problem.has_free_intercept:
            total = sum_of_duals(sums)
            square += total * total / self.rho
        multiple = max(0.0, linear / square) if square > 0.0 else 1.0
        if math.isfinite(self.problem.loss.box_bound):
            multiple = min(1.0, multiple)
        value = multiple * linear - 0.5 * multiple * multiple * square
        if square == 0.0 and linear > 0.0 and math.isinf(self.problem.loss.box_bound):
            # The convex hulls meet in one point: the dual is unbounded.
            value = math.inf
        share, value = self.share_of_new_duals(value, multiple, w, linear, sums)
        if value > self.best.dual:
            self.best.dual = value
            self.best.beta = self.engine["best_duals"]  # type: ignore[assignment]
            self.engine.do(keep_duals, share, multiple * up, multiple * down, writes=("best_duals",))


class ProximalProblem:
    """The minimisation of Phi over the duals of an engine's rows, while all other duals stay fixed."""

    def __init__(self, run: NewtonRun, engine: Engine[LinearSVMProblem]) -> None:
        self.run, self.engine, self.sigma = run, engine, run.sigma
        self.is_whole, self.is_new = engine is run.engine, True
        # The length of the last step, by which the scores have not been moved yet.
        self.length = 0.0
        # What answers that cost rounds may bring before the system of a step needs it.
        self.images: Answer[np.ndarray] | None = None

    def evaluate(self) -> DualSums:
        """Compute the proximal duals at the current (w, b), and their sums."""
        return self.sums_of(self.ask_evaluation())

    def ask_evaluation(self) -> Answer[np.ndarray]:
        """Ask for the proximal duals and their sums, and for what the next step needs to know of them."""
        sums = self.ask_sums()
        self.is_new = False
        if not self.is_whole:
            self.changes = self.engine.ask_all(largest_change)
        self.length = 0.0
        return sums

    def ask_sums(self) -> Answer[np.ndarray]:
        """Move the scores by the last step, and ask for the sums of the proximal duals there."""
        moved = ("scores",) if self.length else ()
        sums = self.engine.ask(evaluate_block, self.sigma, self.length, writes=(*moved, "duals", "free"))
        self.ask_about_active_set(afresh=self.is_new)
        return sums

    def ask_about_active_set(self, *, afresh: bool) -> None:  # noqa: ARG002
        """Ask for what the system of a Newton step needs to know of the free rows."""
        self.counts = self.engine.ask(count_free)

    def sums_of(self, evaluation: Answer[np.ndarray]) -> DualSums:
        """The sums that were requested."""
        return split_sums(evaluation.value, self.run.w.size)

    def minimise(self, sums: DualSums, excluded: DualSums | None) -> tuple[int, Status | None, DualSums]:
        """Newton steps on Phi until its gradient is small beside the move of the duals.

        ``sums`` are those of all rows at the current (w, b), ``excluded`` those of the rows outside the working set.
        Returns the number of steps, a status where a limit or the goal is reached, and the sums of all rows.
        """
        run = self.run
        factor = run.sigma / (1.0 + run.sigma * run.problem.loss.curvature)
        for inner in range(INNER_STEPS + 1):
            if inner > 0:
                sums = self.evaluate() if excluded is None else total_of(excluded, self.evaluate())
            if inner > 0 and excluded is None:
                run.update_primal_incumbent(float(sums.totals[LOSS]))
                run.update_dual_incumbent(sums)
                status = run.best.check_goal(run.options)
                if status is not None:
                    return inner, status, sums
            gradient = run.w - (sums.positive + sums.negative)
            gradient_b = run.slope_of_intercept - sum_of_duals(sums) if run.problem.has_intercept else 0.0
            length = math.sqrt(float(gradient @ gradient) + gradient_b * gradient_b)
            if inner == INNER_STEPS or (inner and self.is_small(length, sums)):
                break
            if excluded is not None and max(self.changes.value) > SURPRISE * run.radius:
                break
            status = run.monitor.check_work(run.best.n_iter, run.options)
            if status is not None:
                return inner, status, sums
            step, step_b = run.system.solve(self.counts.value, self.images, factor, gradient, gradient_b)
            status = run.monitor.check_limits()
            if status is not None:
                return inner, status, sums
            self._line_search(step, step_b, float(gradient @ step) + gradient_b * step_b, excluded)
        return inner, None, sums

    def is_small(self, length: float, sums: DualSums) -> bool:
        """Whether a gradient of this length is small beside the move of the duals."""
        return length <= GRADIENT_SHARE * math.sqrt(max(0.0, sums.totals[MOVED]))

    def _line_search(
        self, step: np.ndarray, step_b: float, derivative_at_zero: float, excluded: DualSums | None
    ) -> None:
        """Move (w, b) to the minimum of Phi along the step."""
        run = self.run
        linear = float(run.w @ step) + run.slope_of_intercept * step_b
        if excluded is not None:
            linear -= float((excluded.positive + excluded.negative) @ step) + sum_of_duals(excluded) * step_b
        quadratic = float(step @ step) + run.rho * (step_b * step_b)

        def derivatives(lengths: Sequence[float]) -> np.ndarray:
            found = self.engine.sum(derivatives_along_step_of_block, self.sigma, lengths)
            result: np.ndarray = linear + np.array(lengths) * quadratic - found
            return result

        at_full_step = self.engine.ask(derivative_at_full_step_of_block, self.sigma, step, step_b, writes=("changes",))
        self.length = self.find_root(
            derivatives, derivative_at_zero, lambda: linear + quadratic - float(at_full_step.value)
        )
        run.w = run.w + self.length * step
        run.b += self.length * step_b
        run.best.n_iter += 1

    def find_root(
        self,
        derivatives: Callable[[Sequence[float]], np.ndarray],
        derivative_at_zero: float,
        derivative_at_one: Callable[[], float],
    ) -> float:
        """The length of a step at which the derivative along it, which increases, has nearly its root.

        ``derivative_at_one`` returns an answer that was asked for before.
        """
        return root_along(lambda t: float(derivatives((t,))[0]), derivative_at_zero, derivative_at_one(), ENOUGH)
