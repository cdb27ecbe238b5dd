"""The linear support vector machine by a dual proximal-point method with semismooth Newton steps.

Outer step: with duals a and a step sigma, minimise the smooth, piecewise quadratic function of w and b

    Phi = 1/2||w||² + rho/2 b² + 1/sigma sum Moreau envelopes,   u_i = a_i + sigma (t_i - f(x_i)),   p = proximal(u)
    gradient   (w, rho b) - sum p_i (x_i, 1)
    Hessian    diag(1, rho) + sum slope_i (x_i, 1)(x_i, 1)^T     over the rows that no bound holds

by Newton steps with an exact line search (the derivative along a step is monotone and piecewise linear), then a <- p
and sigma <- larger. p is a dual point at every step, so the gap is known at every step.

Niu, Wang, Tang, Wang, Song, "A sparse semismooth Newton based augmented Lagrangian method for large-scale support
vector machines", 2019; Yan, Li, "An efficient augmented Lagrangian method for support vector machine", 2020.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.newton import (
    ABOVE,
    BELOW,
    GAIN_ABOVE,
    GAIN_BELOW,
    LOST,
    MOVED,
    N_SUMS,
    SQUARE_ABOVE,
    SQUARE_BELOW,
    Proximal,
    Travel,
    look,
    mark_movable,
    see,
    taken_by_duals,
    travel_along,
)
from maxmargin.problems.linear_svm import LinearSVMProblem, balancing_factors
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.linear.initial_point import InitialPoint, initial_point
from maxmargin.solvers.linear.newton_system import NewtonSystem
from maxmargin.solvers.linear.subsample import GAP_OF_SAMPLE, initial_point_from_subsample, subsample

INNER_STEPS = 40
# Outer steps without a better gap after which nothing more is to be had.
PATIENCE = 12
# Duals are sigma times residuals, and so are the residuals' rounding errors: where so many outer steps in turn have not
# made the gap better, sigma is too large.
ROUNDING_SHOWS = 4
# Rows are left alone whose duals could not move if scores changed this many times as much as in the step before.
CAUTION = 2.0
# Where scores moved by this much more than was thought, the rows left alone have to be looked at again.
SURPRISE = 1.5
# How much larger the first step is that starts from the duals of another problem.
NEAR = 4.0
# Leaving fewer rows alone than this share is not worth the gathering.
WORTH_LEAVING = 0.2


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
    with ThreadEngine(problem.points.entries_per_row, options.n_threads) as blocks:
        run = NewtonRun(problem, options, monitor, first, best or Result(first.w, first.b, first.beta), blocks)
        run.until_gap()
    return run


@dataclass
class DualSums:
    """What rows add to both problems: the sums of ``look``, and w of the duals above and below zero."""

    sums: np.ndarray
    above: np.ndarray
    below: np.ndarray

    def __add__(self, other: "DualSums") -> "DualSums":
        return DualSums(self.sums + other.sums, self.above + other.above, self.below + other.below)

    def __sub__(self, other: "DualSums") -> "DualSums":
        return DualSums(self.sums - other.sums, self.above - other.above, self.below - other.below)

    @property
    def w(self) -> np.ndarray:
        """sum beta_i x_i"""
        return self.above + self.below

    @property
    def total(self) -> float:
        """sum beta_i"""
        return float(self.sums[ABOVE] - self.sums[BELOW])


class NewtonRun:
    """The state of a run: the plane (w, b), its scores, and the centres, the duals from which the outer step starts."""

    def __init__(
        self,
        problem: LinearSVMProblem,
        options: Options,
        monitor: Monitor,
        first: InitialPoint,
        best: Result[float],
        blocks: ThreadEngine,
    ) -> None:
        self.problem, self.options, self.monitor, self.best, self.blocks = problem, options, monitor, best, blocks
        self.rows, self.loss = problem.points.rows, problem.loss
        self.system = NewtonSystem(problem, blocks)
        self.w, self.b, self.scores = first.w, first.b, first.scores
        self.centers, self.sigma = first.beta, first.sigma
        self.kept = np.empty(0)
        self.reach = math.inf
        self.rho = problem.intercept_penalty if problem.has_intercept else 0.0

    @property
    def width(self) -> float:
        """How far from the edge of street or tube a point's dual is still free, about."""
        return self.problem.C / self.sigma

    def until_gap(self) -> None:
        """Outer steps until the gap is small, nothing moves any more, or a limit is hit."""
        stalled = 0
        while True:
            gap_before, dual_before = self.best.relative_gap, self.best.dual
            inner, status = self._proximal_step()
            better = self.best.relative_gap < 0.9 * gap_before or self.best.dual > 1.2 * max(0.0, dual_before)
            stalled = 0 if better else stalled + 1
            if status is None and stalled >= PATIENCE:
                status = Status.STALLED
            if status is not None:
                self.best.status = status
                return
            if inner is None:
                continue
            if stalled and stalled % ROUNDING_SHOWS == 0:
                self.sigma /= 256.0
            elif inner < 15:
                self.sigma *= self.growth(inner)
            elif inner >= INNER_STEPS:
                self.sigma *= 0.5

    def growth(self, inner: int) -> float:  # noqa: ARG002
        """How much larger the next outer step may be, after one that took so few Newton steps."""
        return 4.0

    def _proximal_step(self) -> tuple[int | None, Status | None]:
        """Look at all rows, then make Newton steps on those whose duals may move.

        Returns the number of Newton steps, or None where the plane moved too far for the rows that were left alone.
        """
        n_rows = self.scores.size
        everything = np.arange(n_rows, dtype=np.uint32)
        whole = ChosenRows(self, everything, self.scores.copy(), self.centers)
        seen = whole.look()
        self.update_incumbent(self.scores, float(seen.sums[LOST]))
        self.update_dual_incumbent(seen, lambda: whole.duals)
        status = self.monitor.check_termination(self.best, self.options, "outer step")
        if status is not None:
            return 0, status
        movable = self._movable()
        chosen = everything[movable]
        if chosen.size > (1.0 - WORTH_LEAVING) * n_rows:
            active, background = whole, None
        else:
            active = ChosenRows(self, chosen, self.scores[movable], self.centers[movable])
            background = seen - active.look()
        inner, status, last = active.minimise(seen, background)
        before = self.scores
        self.scores = np.empty(n_rows)
        self.blocks.each(n_rows, lambda first, last: see(self.rows, first, last, self.w, self.b, self.scores))
        change = self.furthest(self.scores, before)
        duals = whole.duals
        if active is not whole:
            duals[movable] = active.duals
        self.update_dual_incumbent(last, lambda: duals)
        surprised = change > SURPRISE * self.reach
        if not surprised:
            self.centers = duals
        self.reach = (
            CAUTION * change if surprised or math.isinf(self.reach) else max(CAUTION * change, 0.1 * self.reach)
        )
        if status is not None:
            self.update_incumbent(self.scores)
            self.monitor.record(self.best)
        return None if surprised else inner, status

    def furthest(self, scores: np.ndarray, before: np.ndarray) -> float:
        """How far the score that moved most has moved."""

        def of_block(first: int, last: int) -> float:
            return float(np.abs(scores[first:last] - before[first:last]).max(initial=0.0))

        return max(self.blocks.each(scores.size, of_block))

    def _movable(self) -> np.ndarray:
        movable = np.ones(self.scores.size, dtype=bool)
        if math.isfinite(self.reach):
            proximal = Proximal(self.centers, self.sigma)
            self.blocks.each(
                movable.size,
                lambda first, last: mark_movable(first, last, self.loss, proximal, self.scores, self.reach, movable),
            )
        return movable

    def update_incumbent(self, scores: np.ndarray, lost: float | None = None) -> None:
        """Offer the plane, given the scores of all rows and, where it is known, what they lose."""
        if lost is None:
            primal = self.problem.primal_value(self.w, self.b, scores)
        else:
            primal = 0.5 * float(self.w @ self.w) + 0.5 * self.rho * (self.b * self.b) + self.problem.C * lost
        self.best.update_incumbent(primal, self.w, self.b)

    def update_dual_incumbent(self, sums: DualSums, duals: Callable[[], np.ndarray]) -> None:
        """Offer the best multiple of the duals, made feasible."""
        of = sums.sums
        up, down = balancing_factors(of[ABOVE], of[BELOW]) if self.problem.balanced else (1.0, 1.0)
        w = up * sums.above + down * sums.below
        gain = up * of[GAIN_ABOVE] + down * of[GAIN_BELOW]
        square = up**2 * of[SQUARE_ABOVE] + down**2 * of[SQUARE_BELOW] + float(w @ w)
        if self.problem.has_intercept and not self.problem.balanced:
            square += sums.total * sums.total / self.rho
        multiple = max(0.0, gain / square) if square > 0.0 else 1.0
        if math.isfinite(self.loss.box_bound):
            multiple = min(1.0, multiple)
        value = multiple * gain - 0.5 * multiple * multiple * square
        if square == 0.0 and gain > 0.0 and math.isinf(self.loss.box_bound):
            # The hulls meet in one point: the dual has no bound.
            value = math.inf
        if value > self.best.dual:
            self.best.dual = value
            self._set_dual_coef(duals(), multiple * up, multiple * down)

    def _set_dual_coef(self, beta: np.ndarray, up: float, down: float) -> None:
        """Keep multiples of the duals above and below zero as the best ones, in place of those before them."""
        if self.best.beta is not self.kept:
            self.kept = np.empty_like(beta)
            self.best.beta = self.kept

        def of_block(first: int, last: int) -> None:
            part, kept = beta[first:last], self.kept[first:last]
            np.multiply(part, up, out=kept)
            if down != up:
                np.multiply(part, down, out=kept, where=part < 0.0)

        self.blocks.each(beta.size, of_block)


class ChosenRows:
    """The rows that Newton steps are made on, while the duals of all others stay where they are."""

    def __init__(self, run: NewtonRun, chosen: np.ndarray, scores: np.ndarray, centers: np.ndarray) -> None:
        self.run, self.chosen, self.scores = run, chosen, scores
        self.proximal = Proximal(centers, run.sigma)
        self.duals = np.empty_like(centers)
        self.free = np.zeros(centers.size, dtype=bool)
        self.changes = np.empty(0)
        self.travelled = 0.0

    def look(self) -> DualSums:
        """Take the proximal duals at the plane as it is now."""
        run = self.run
        size = run.w.size
        travel = Travel(self.changes, self.travelled)

        def of_block(first: int, last: int) -> np.ndarray:
            part = np.zeros(N_SUMS + 2 * size)
            sums, above, below = part[:N_SUMS], part[N_SUMS : N_SUMS + size], part[N_SUMS + size :]
            places = self.chosen, first, last
            state = self.scores, self.duals, self.free, above, below, sums
            look(run.rows, *places, run.loss, self.proximal, travel, *state)
            return part

        total = _added(run.blocks.each(self.chosen.size, of_block))
        self.travelled = 0.0
        return DualSums(total[:N_SUMS], total[N_SUMS : N_SUMS + size], total[N_SUMS + size :])

    def minimise(self, sums: DualSums, background: DualSums | None) -> tuple[int, Status | None, DualSums]:
        """Newton steps on Phi until its gradient is small beside the move of the duals.

        ``sums`` are those of all rows at the plane as it is now, ``background`` of those that are not chosen.
        """
        run = self.run
        run.system.choose(self.chosen)
        self.changes = np.empty_like(self.scores)
        start = self.scores if background is None else self.scores.copy()
        factor = run.sigma / (1.0 + run.sigma * run.loss.curvature)
        for inner in range(INNER_STEPS + 1):
            if inner > 0 and background is not None:
                sums = background + self.look()
            elif inner > 0:
                sums = self.look()
                run.update_incumbent(self.scores, float(sums.sums[LOST]))
                run.update_dual_incumbent(sums, lambda: self.duals)
                status = run.best.check_goal(run.options)
                if status is not None:
                    return inner, status, sums
            gradient = run.w - sums.w
            gradient_b = run.rho * run.b - sums.total if run.problem.has_intercept else 0.0
            length = math.sqrt(float(gradient @ gradient) + gradient_b * gradient_b)
            enough = length <= 0.2 * math.sqrt(max(0.0, sums.sums[MOVED]))
            if inner == INNER_STEPS or (inner and enough):
                break
            if background is not None and run.furthest(self.scores, start) > SURPRISE * run.reach:
                break
            status = run.monitor.check_limits()
            if status is None and run.best.n_iter >= run.options.max_iter:
                status = Status.ITERATION_LIMIT
            if status is not None:
                return inner, status, sums
            step, step_b = run.system.solve(self.free, factor, gradient, gradient_b)
            self._move(step, step_b, float(gradient @ step) + gradient_b * step_b, background)
        return inner, None, sums

    def _move(self, step: np.ndarray, step_b: float, slope: float, background: DualSums | None) -> None:
        """Go to the smallest value of Phi along the step."""
        run = self.run
        linear = float(run.w @ step) + run.rho * run.b * step_b
        if background is not None:
            linear -= float(background.w @ step) + background.total * step_b
        quadratic = float(step @ step) + run.rho * (step_b * step_b)
        state = run.loss, self.proximal, self.scores, self.changes

        def derivative_at_one() -> float:
            taken = run.blocks.each(
                self.chosen.size,
                lambda first, last: travel_along(run.rows, self.chosen, first, last, step, step_b, *state),
            )
            return linear + quadratic - math.fsum(taken)

        def derivative(t: float) -> float:
            taken = run.blocks.each(
                self.chosen.size, lambda first, last: taken_by_duals(self.chosen, first, last, t, *state)
            )
            return linear + t * quadratic - math.fsum(taken)

        self.travelled = root_along(derivative, slope, derivative_at_one())
        run.w = run.w + self.travelled * step
        run.b += self.travelled * step_b
        run.best.n_iter += 1


def _added(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def root_along(derivative: Callable[[float], float], at_zero: float, at_one: float) -> float:
    """Where Phi is smallest along a step: the root of its increasing, piecewise linear derivative."""
    if at_zero >= 0.0 or abs(at_one) <= 0.1 * abs(at_zero):
        return 1.0
    low, high, slope_low, slope_high = 0.0, 1.0, at_zero, at_one
    while slope_high < 0.0 and high < 1e6:
        low, slope_low = high, slope_high
        high *= 2.0
        slope_high = derivative(high)
    t = high
    for k in range(60):
        if not slope_high > slope_low:
            return high
        t = low - slope_low * (high - low) / (slope_high - slope_low) if k % 3 != 2 else 0.5 * (low + high)
        slope = derivative(t)
        if abs(slope) <= 0.05 * abs(at_zero):
            break
        if slope > 0.0:
            high, slope_high = t, slope
        else:
            low, slope_low = t, slope
    return t
