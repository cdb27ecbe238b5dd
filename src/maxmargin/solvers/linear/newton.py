"""The linear support vector machine by a dual proximal-point method with semismooth Newton steps.

Outer step: with duals a and a step sigma, minimise the smooth, piecewise quadratic function of w and b

    Phi = 1/2||w||² + rho/2 b² + 1/sigma sum Moreau envelopes,   u_i = a_i + sigma (t_i - f(x_i)),   p = proximal(u)
    gradient   (w, rho b) - sum p_i (x_i, 1)
    Hessian    diag(1, rho) + sum p_i' (x_i, 1)(x_i, 1)^T       over the free rows, whose duals no bound holds

by Newton steps with an exact line search (the derivative along a step is monotone and piecewise linear), then a <- p
and sigma <- larger. p is a dual point at every step, so the gap is known at every step.

Niu, Wang, Tang, Wang, Song, "A sparse semismooth Newton based augmented Lagrangian method for large-scale support
vector machines", 2019; Yan, Li, "An efficient augmented Lagrangian method for support vector machine", 2020.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import ThreadEngine
from maxmargin.loops.newton import (
    LINEAR_NEGATIVE,
    LINEAR_POSITIVE,
    LOSS,
    MOVED,
    N_TOTALS,
    NEGATIVE,
    POSITIVE,
    QUADRATIC_NEGATIVE,
    QUADRATIC_POSITIVE,
    ActiveSet,
    DualSums,
    compute_scores,
    derivative_along_step,
    derivative_at_full_step,
    evaluate,
    mark_active,
)
from maxmargin.problems.linear_svm import LinearSVMProblem, balancing_factors
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status
from maxmargin.solvers.linear.initial_point import InitialPoint, initial_point
from maxmargin.solvers.linear.newton_system import NewtonSystem
from maxmargin.solvers.linear.subsample import GAP_OF_SAMPLE, initial_point_from_subsample, subsample

# The most Newton steps in an outer step.
INNER_STEPS = 40
# Outer steps without progress after which the run has stalled.
PATIENCE = 12
# Duals are sigma times residuals, and so are the residuals' rounding errors: after so many outer steps in a row without
# progress sigma is too large, and is divided by this factor.
STEPS_TO_REDUCE, REDUCTION = 4, 256.0
# Rows are excluded whose duals cannot move if scores change this many times as much as in the outer step before.
CAUTION = 2.0
# If scores move by more than this factor of the predicted range, the excluded rows are re-evaluated.
SURPRISE = 1.5
# The factor on the first proximal step size where the run starts from the duals of a similar problem.
NEAR = 4.0
# Excluding less than this share of the rows is not worth the gathering.
LEAST_EXCLUDED = 0.2


def solve(
    problem: LinearSVMProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``.

    ``start`` holds signed duals to begin with; where it has a history, it is the run that this one continues.
    """
    # Values whose squares overflow lead to useless steps; the incumbents met before stay, with their gap.
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        best = start if start is not None and start.history else None
        sample = subsample(problem) if start is None else None
        if sample is None:
            first = initial_point(problem, None if start is None else start.beta)
            if start is not None and best is None:
                # Duals of a similar problem are near: smaller steps would only lead back to them.
                first = replace(first, sigma=NEAR * first.sigma)
        else:
            coarse = replace(options, tol=max(options.tol, GAP_OF_SAMPLE))
            part = _run(sample, coarse, monitor.quiet(), initial_point(sample))
            first = initial_point_from_subsample(problem, part.best.w, part.best.intercept, part.width)
            best = Result(first.w, first.b, first.beta, n_iter=part.best.n_iter)
        return _run(problem, options, monitor, first, best).best


def _run(
    problem: LinearSVMProblem,
    options: Options,
    monitor: Monitor,
    first: InitialPoint,
    best: Result[float] | None = None,
) -> "NewtonRun":
    with ThreadEngine(problem.points.entries_per_row, options.n_threads) as engine:
        run = NewtonRun(problem, options, monitor, first, best or Result(first.w, first.b, first.beta), engine)
        run.until_gap()
    return run


class NewtonRun:
    """The state of a run: (w, b), the scores of all rows, and the proximal centres."""

    def __init__(
        self,
        problem: LinearSVMProblem,
        options: Options,
        monitor: Monitor,
        first: InitialPoint,
        best: Result[float],
        engine: ThreadEngine,
    ) -> None:
        self.problem, self.options, self.monitor, self.best, self.engine = problem, options, monitor, best, engine
        self.rows, self.loss = problem.points.rows, problem.loss
        self.system = NewtonSystem(problem, engine)
        self.w, self.b, self.scores = first.w, first.b, first.scores
        self.centers, self.sigma = first.beta, first.sigma
        self.kept = np.empty(0)
        # The predicted range of the scores' changes in the next outer step.
        self.radius = math.inf
        self.rho = problem.intercept_penalty if problem.has_intercept else 0.0

    @property
    def width(self) -> float:
        """About the distance from the margin, or from a residual of epsilon, up to which duals are free."""
        return self.problem.C / self.sigma

    def until_gap(self) -> None:
        """Outer steps until the gap is small, the run has stalled, or a limit is reached."""
        stall = StallTest(PATIENCE - 1, dual_factor=1.2)
        n_outer, stalled = 0, False
        while True:
            inner, status = self._proximal_step(stalled=stalled)
            if status is not None:
                self.best.status = status
                return
            n_outer += 1
            stalled = stall.update(self.best, n_outer)
            if inner is None:
                continue
            if stall.idle and stall.idle % STEPS_TO_REDUCE == 0:
                self.sigma /= REDUCTION
            elif inner < 15:
                self.sigma *= self.growth(inner)
            elif inner >= INNER_STEPS:
                self.sigma *= 0.5

    def growth(self, inner: int) -> float:  # noqa: ARG002
        """The factor on sigma after an outer step that took so few Newton steps."""
        return 4.0

    def _proximal_step(self, *, stalled: bool = False) -> tuple[int | None, Status | None]:
        """Evaluate all rows, then make Newton steps on those whose duals may move.

        Returns the number of Newton steps, or None where the scores moved too far for the excluded rows.
        """
        n_rows = self.scores.size
        everything = np.arange(n_rows, dtype=np.uint32)
        whole = ProximalProblem(self, everything, self.scores.copy(), self.centers)
        all_sums = whole.evaluate()
        self.update_primal_incumbent(self.scores, float(all_sums.totals[LOSS]))
        self.update_dual_incumbent(all_sums, lambda: whole.duals)
        status = self.monitor.check_termination(self.best, self.options, "outer step", stalled=stalled)
        if status is not None:
            return 0, status
        may_move = self._rows_that_may_move()
        chosen = everything[may_move]
        if chosen.size > (1.0 - LEAST_EXCLUDED) * n_rows:
            active, excluded = whole, None
        else:
            active = ProximalProblem(self, chosen, self.scores[may_move], self.centers[may_move])
            excluded = difference(all_sums, active.evaluate())
        inner, status, final_sums = active.minimise(all_sums, excluded)
        before = self.scores
        self.scores = np.empty(n_rows)
        self.engine.map(lambda first, last: compute_scores(self.rows, first, last, self.w, self.b, self.scores), n_rows)
        change = self.largest_change(self.scores, before)
        duals = whole.duals
        if active is not whole:
            duals[may_move] = active.duals
        self.update_dual_incumbent(final_sums, lambda: duals)
        surprised = change > SURPRISE * self.radius
        if not surprised:
            self.centers = duals
        self.radius = (
            CAUTION * change if surprised or math.isinf(self.radius) else max(CAUTION * change, 0.1 * self.radius)
        )
        if status is not None:
            self.update_primal_incumbent(self.scores)
            self.monitor.record(self.best)
        return None if surprised else inner, status

    def largest_change(self, scores: np.ndarray, before: np.ndarray) -> float:
        """max |f(x_i) - f_before(x_i)|"""

        def of_block(first: int, last: int) -> float:
            return float(np.abs(scores[first:last] - before[first:last]).max(initial=0.0))

        return max(self.engine.map(of_block, scores.size))

    def _rows_that_may_move(self) -> np.ndarray:
        """The rows whose duals move if scores change by up to ``radius``."""
        active = np.ones(self.scores.size, dtype=bool)
        if math.isfinite(self.radius):
            state = self.loss, self.centers, self.sigma, self.scores, self.radius
            self.engine.map(lambda first, last: mark_active(*state, first, last, active), active.size)
        return active

    def update_primal_incumbent(self, scores: np.ndarray, total_loss: float | None = None) -> None:
        """Offer (w, b) as incumbent, given the scores of all rows and, where it is known, the sum of the losses / C."""
        if total_loss is None:
            primal = self.problem.primal_value(self.w, self.b, scores)
        else:
            primal = 0.5 * float(self.w @ self.w) + 0.5 * self.rho * (self.b * self.b) + self.problem.C * total_loss
        self.best.update_incumbent(primal, self.w, self.b)

    def update_dual_incumbent(self, sums: DualSums, duals: Callable[[], np.ndarray]) -> None:
        """Offer the best multiple of the duals, made feasible, as dual incumbent."""
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
        if math.isfinite(self.loss.box_bound):
            multiple = min(1.0, multiple)
        value = multiple * linear - 0.5 * multiple * multiple * square
        if square == 0.0 and linear > 0.0 and math.isinf(self.loss.box_bound):
            # The convex hulls meet in one point: the dual is unbounded.
            value = math.inf
        if value > self.best.dual:
            self.best.dual = value
            self._keep_duals(duals(), multiple * up, multiple * down)

    def _keep_duals(self, beta: np.ndarray, up: float, down: float) -> None:
        """Keep multiples of the positive and of the negative duals as dual incumbent, in the memory of the last one."""
        if self.best.beta is not self.kept:
            self.kept = np.empty_like(beta)
            self.best.beta = self.kept

        def of_block(first: int, last: int) -> None:
            part, kept = beta[first:last], self.kept[first:last]
            np.multiply(part, up, out=kept)
            if down != up:
                np.multiply(part, down, out=kept, where=part < 0.0)

        self.engine.map(of_block, beta.size)


class ProximalProblem:
    """The minimisation of Phi over the duals of an active set, while all other duals stay fixed."""

    def __init__(self, run: NewtonRun, rows: np.ndarray, scores: np.ndarray, centers: np.ndarray) -> None:
        self.run = run
        free, no_changes = np.zeros(centers.size, dtype=bool), np.empty(0)
        self.active = ActiveSet(rows, scores, no_changes, centers, np.empty_like(centers), free, run.sigma)
        # The length of the last step, by which the scores have not been moved yet.
        self.length = 0.0

    @property
    def duals(self) -> np.ndarray:
        """The proximal duals."""
        return self.active.duals

    def evaluate(self) -> DualSums:
        """Compute the proximal duals at the current (w, b), and their sums."""
        run, size = self.run, self.run.w.size

        def of_block(first: int, last: int) -> np.ndarray:
            memory = np.zeros(N_TOTALS + 2 * size)
            evaluate(run.rows, run.loss, self.active, self.length, first, last, split_sums(memory, size))
            return memory

        total = run.engine.sum(of_block, self.active.rows.size)
        self.length = 0.0
        return split_sums(total, size)

    def minimise(self, sums: DualSums, excluded: DualSums | None) -> tuple[int, Status | None, DualSums]:
        """Newton steps on Phi until its gradient is small beside the move of the duals.

        ``sums`` are those of all rows at the current (w, b), ``excluded`` those of the rows outside the active set.
        Returns the number of steps, a status where a limit or the goal is reached, and the sums of all rows.
        """
        run = self.run
        run.system.choose(self.active.rows)
        self.active = self.active._replace(changes=np.empty_like(self.active.scores))
        start = self.active.scores if excluded is None else self.active.scores.copy()
        factor = run.sigma / (1.0 + run.sigma * run.loss.curvature)
        for inner in range(INNER_STEPS + 1):
            if inner > 0:
                sums = self.evaluate() if excluded is None else total_of(excluded, self.evaluate())
            if inner > 0 and excluded is None:
                run.update_primal_incumbent(self.active.scores, float(sums.totals[LOSS]))
                run.update_dual_incumbent(sums, lambda: self.duals)
                status = run.best.check_goal(run.options)
                if status is not None:
                    return inner, status, sums
            gradient = run.w - (sums.positive + sums.negative)
            gradient_b = run.rho * run.b - sum_of_duals(sums) if run.problem.has_intercept else 0.0
            length = math.sqrt(float(gradient @ gradient) + gradient_b * gradient_b)
            is_small = length <= 0.2 * math.sqrt(max(0.0, sums.totals[MOVED]))
            if inner == INNER_STEPS or (inner and is_small):
                break
            if excluded is not None and run.largest_change(self.active.scores, start) > SURPRISE * run.radius:
                break
            status = run.monitor.check_limits()
            if status is None and run.best.n_iter >= run.options.max_iter:
                status = Status.ITERATION_LIMIT
            if status is not None:
                return inner, status, sums
            step, step_b = run.system.solve(self.active.free, factor, gradient, gradient_b)
            self._line_search(step, step_b, float(gradient @ step) + gradient_b * step_b, excluded)
        return inner, None, sums

    def _line_search(
        self, step: np.ndarray, step_b: float, derivative_at_zero: float, excluded: DualSums | None
    ) -> None:
        """Move (w, b) to the minimum of Phi along the step."""
        run, n_active = self.run, self.active.rows.size
        linear = float(run.w @ step) + run.rho * run.b * step_b
        if excluded is not None:
            linear -= float((excluded.positive + excluded.negative) @ step) + sum_of_duals(excluded) * step_b
        quadratic = float(step @ step) + run.rho * (step_b * step_b)

        def at_one(first: int, last: int) -> float:
            return derivative_at_full_step(run.rows, run.loss, self.active, step, step_b, first, last)

        def derivative(t: float) -> float:
            taken = run.engine.sum(
                lambda first, last: derivative_along_step(run.loss, self.active, t, first, last), n_active
            )
            return linear + t * quadratic - taken

        derivative_at_one = linear + quadratic - run.engine.sum(at_one, n_active)
        self.length = root_along(derivative, derivative_at_zero, derivative_at_one)
        run.w = run.w + self.length * step
        run.b += self.length * step_b
        run.best.n_iter += 1


def split_sums(memory: np.ndarray, size: int) -> DualSums:
    """The sums that lie one after the other in an array."""
    return DualSums(memory[:N_TOTALS], memory[N_TOTALS : N_TOTALS + size], memory[N_TOTALS + size :])


def total_of(first: DualSums, second: DualSums) -> DualSums:
    """The sums over two sets of rows together."""
    return DualSums(*(a + b for a, b in zip(first, second, strict=True)))


def difference(whole: DualSums, part: DualSums) -> DualSums:
    """The sums over the rows that are not in the part."""
    return DualSums(*(a - b for a, b in zip(whole, part, strict=True)))


def sum_of_duals(sums: DualSums) -> float:
    """sum beta_i"""
    return float(sums.totals[POSITIVE] - sums.totals[NEGATIVE])


def root_along(derivative: Callable[[float], float], at_zero: float, at_one: float) -> float:
    """Where Phi is smallest along a step: the root of its increasing, piecewise linear derivative."""
    if at_zero >= 0.0 or abs(at_one) <= 0.1 * abs(at_zero):
        return 1.0
    low, high, derivative_low, derivative_high = 0.0, 1.0, at_zero, at_one
    while derivative_high < 0.0 and high < 1e6:
        low, derivative_low = high, derivative_high
        high *= 2.0
        derivative_high = derivative(high)
    t = high
    for k in range(60):
        if not derivative_high > derivative_low:
            return high
        t = (
            low - derivative_low * (high - low) / (derivative_high - derivative_low)
            if k % 3 != 2
            else 0.5 * (low + high)
        )
        value = derivative(t)
        if abs(value) <= 0.05 * abs(at_zero):
            break
        if value > 0.0:
            high, derivative_high = t, value
        else:
            low, derivative_low = t, value
    return t
