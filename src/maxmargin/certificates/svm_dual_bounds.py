"""Lower bounds on the dual value of support vector machines, and what an imbalance of the duals costs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.bounds import OF_BOUNDS, longest_row_at_most
from maxmargin.certificates.passes import combination, total_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_most,
    sum_at_most,
    up,
)
from maxmargin.certificates.task_sums import ONE_TASK, OneTask, exact_sums, sum_of, sums_at_most
from maxmargin.data.points import HasPoints
from maxmargin.engine import Block, Engine, row_task
from maxmargin.problems.linear_svm import LinearSVMProblem


class _DualTerms(NamedTuple):
    """Sums over some duals.

    ``linear`` is the computed sum of t beta - epsilon|beta|; upper bounds are ``sizes`` on sum |beta|(|t| + epsilon),
    ``squares`` on sum c_i beta²/2 and ``total`` on sum |beta|.
    """

    linear: float
    sizes: float
    squares: float
    total: float


class DualSums(NamedTuple):
    """The sums over the duals that make up the dual value.

    ``combined`` is X^T beta, ``error`` a bound on its error, and ``radius`` one on the largest norm of a row.
    """

    terms: _DualTerms
    sides: "Sides"
    n_rows: int
    combined: np.ndarray
    error: float
    radius: float


def sum_dual_terms(engine: Engine[LinearSVMProblem], combined: np.ndarray | None = None) -> DualSums:
    """Sums over the duals ``beta``; ``combined`` is X^T beta, where it is known."""
    blocks_terms, blocks_sides = engine.ask_all(_dual_terms), engine.ask_all(sides_of_block)
    if combined is None:
        combined = combination(engine, "beta")
    terms, sides = _added(blocks_terms.value), merged_sides(blocks_sides.value)
    radius = longest_row_at_most(engine.problem.points)
    error = combination_error(combined.size, radius, terms, sides)
    return DualSums(terms, sides, engine.n_rows, combined, error, radius)


def combination_error(n_columns: int, radius: float, terms: _DualTerms, sides: "Sides") -> float:
    """An upper bound on the error of X^T beta."""
    error = up(up(gamma(sides.n_used + 4) * radius) * terms.total)
    return up(error + sides.n_used * n_columns * SMALLEST)


def dual_at_least(problem: LinearSVMProblem, sums: DualSums, largest_target: float) -> tuple[float, float]:
    """The dual value, at least, and what of it the error of X^T beta takes."""
    terms, sides, radius = sums.terms, sums.sides, sums.radius
    # Bounds C c_i that underflow.
    underflow = up(sums.n_rows * SMALLEST * radius)
    computed = length_at_most(sums.combined)
    length = up(up(computed + sums.error) + underflow)
    at_least = _terms_at_least(problem, terms, sums.n_rows, largest_target)
    if problem.has_free_intercept:
        at_least = down(at_least - cost_of_sides(problem, sides, length, terms.sizes, radius))
    elif problem.has_intercept:
        at_least = down(
            at_least
            - up(up(up(0.5 * up(sides.imbalance * sides.imbalance)) / problem.intercept_penalty) * (1.0 + 4.0 * UNIT))
        )
    return down(at_least - up(0.5 * up(length * length))), sums.error * (computed + sums.error)


class DualBound(NamedTuple):
    """Bounds on a task's dual value before the squared norm.

    Attributes
    ----------
    terms : float
        Lower bound on the sum of the duals' terms.
    sizes : float
        Upper bound on the sum of their sizes.
    sides : Sides
    """

    terms: float
    sizes: float
    sides: "Sides"


def dual_bounds_of_tasks(joint: LinearSVMProblem, beta: np.ndarray, tasks: OneTask) -> list[DualBound]:
    """These bounds of every task, given feasible duals."""
    largest_target, terms = float(np.abs(joint.loss.targets).max(initial=0.0)), dual_terms_of(joint, beta, tasks)
    return [
        DualBound(_terms_at_least(joint, one, sides.n_rows, largest_target), one.sizes, sides)
        for one, sides in zip(terms, sides_of_tasks(beta, tasks, [one.total for one in terms]), strict=True)
    ]


def dual_terms_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[float, float]:
    """The sum of the duals' terms before the squared norm, at least, and the sum of their sizes, at most."""
    terms = _added([dual_terms_of(part, beta[rows])[0] for rows, part in problem.parts()])
    largest_target = float(np.abs(problem.loss.targets).max(initial=0.0))
    return _terms_at_least(problem, terms, beta.size, largest_target), terms.sizes


@row_task
def _dual_terms(block: Block[LinearSVMProblem]) -> _DualTerms:
    return dual_terms_of(block.problem.part(block.rows), block["beta"])[0]


def dual_terms_of(problem: LinearSVMProblem, beta: np.ndarray, tasks: OneTask = ONE_TASK) -> list[_DualTerms]:
    loss, absolute = problem.loss, np.abs(beta)
    linear_terms, sizes = loss.targets * beta, tasks.sizes(beta)
    squares = [0.0] * len(sizes)
    if loss.epsilon > 0.0:
        linear_terms -= loss.epsilon * absolute
    if loss.curvature > 0.0:
        # A product of curvature and dual, a residual, underflows less often than the square of a dual.
        residuals = (problem.curvatures() * (1.0 + 32.0 * UNIT) + SMALLEST) * absolute + SMALLEST
        squares = sums_at_most(0.5 * residuals * absolute * (1.0 + 8.0 * UNIT) + SMALLEST, tasks)
    totals = sums_at_most(absolute, tasks)
    # The targets of a classifier are signs.
    absolute_terms = totals if loss.one_sided else sums_at_most(absolute * (np.abs(loss.targets) + loss.epsilon), tasks)
    return [
        _DualTerms(linear, up(terms * (1.0 + OF_BOUNDS) + size * SMALLEST), square, total)
        for linear, terms, size, square, total in zip(
            tasks.sums(linear_terms), absolute_terms, sizes, squares, totals, strict=True
        )
    ]


def _added(parts: Sequence[_DualTerms]) -> _DualTerms:
    linear, *others = zip(*parts, strict=True)
    return _DualTerms(sum(linear), *map(total_at_most, others))


def _terms_at_least(problem: LinearSVMProblem, terms: _DualTerms, n_rows: int, largest_target: float) -> float:
    """The sum of all dual terms, at least; a dual at C may exceed the exact bound C c_i by its rounding error."""
    largest = largest_target + problem.loss.epsilon
    off = up(up(gamma(n_rows + 8) * terms.sizes) + up(n_rows * SMALLEST * up(largest + 4.0)))
    return down(down(terms.linear - off) - terms.squares)


class Sides(NamedTuple):
    """Sums over some duals, by which a sum of all that is not zero is judged.

    Attributes
    ----------
    n_rows, n_used : int
        All of the duals, and those that are not zero.
    total : float
        Upper bound on sum |beta|.
    exact : tuple of float
        Numbers whose sum is sum beta, each rounded once.
    above, below : float
        The computed sum of the positive duals, and minus that of the negative ones.
    """

    n_rows: int
    n_used: int
    total: float
    exact: tuple[float, ...]
    above: float
    below: float

    @property
    def imbalance(self) -> float:
        """An upper bound on |sum beta|."""
        whole = abs(sum_of(self.exact))
        # The sum of a single block is rounded once, as is the whole.
        rounded = 0.0 if len(self.exact) == 1 else up(2.0 * UNIT * sum_at_most(np.abs(self.exact)))
        return up(whole * (1.0 + 4.0 * UNIT) + rounded)


def sides_of(beta: np.ndarray) -> Sides:
    """The sums over these duals."""
    return sides_of_tasks(beta, ONE_TASK)[0]


def sides_of_tasks(beta: np.ndarray, tasks: OneTask, totals: Sequence[float] | None = None) -> list[Sides]:
    """The sums over the duals of every task, ``total`` among them where it is known."""
    return [
        Sides(size, used, total, (exact,), above, -below)
        for size, used, total, exact, above, below in zip(
            tasks.sizes(beta),
            tasks.counts(beta != 0.0),
            sums_at_most(np.abs(beta), tasks) if totals is None else totals,
            exact_sums(beta, tasks),
            tasks.sums(np.maximum(beta, 0.0)),
            tasks.sums(np.minimum(beta, 0.0)),
            strict=True,
        )
    ]


@row_task
def sides_of_block(block: Block[HasPoints]) -> Sides:
    """The sums over the duals ``beta`` of a block."""
    return sides_of(block["beta"])


def merged_sides(blocks: Sequence[Sides]) -> Sides:
    """The sums over the duals of several blocks."""
    n_rows, n_used, totals, exact, above, below = zip(*blocks, strict=True)
    sums = tuple(value for values in exact for value in values)
    return Sides(sum(n_rows), sum(n_used), total_at_most(totals), sums, sum(above), sum(below))


def cost_of_imbalance(problem: LinearSVMProblem, beta: np.ndarray, length: float, sizes: float, radius: float) -> float:
    """What the dual value loses, at most, when the heavier side is scaled so that sum beta_i is exactly zero.

    The dual terms lose at most the share of their sizes by which the side shrinks; w, of norm at most ``length``, moves
    by at most that share times R sum|beta_i|.
    """
    return cost_of_sides(problem, sides_of(beta), length, sizes, radius)


def cost_of_sides(problem: LinearSVMProblem, sides: Sides, length: float, sizes: float, radius: float) -> float:
    """The same, given the sums over the duals."""
    # A dual at C may exceed the exact C c_i by a rounding error.
    rounded = 0.0 if math.isinf(problem.loss.box_bound) else up(2.0 * UNIT * sides.total + sides.n_rows * SMALLEST)
    share = balancing_share(sides, rounded)
    moved = up(up(share * radius) * sides.total)
    return up(up(share * sizes) + up(moved * up(length + moved)))


def balancing_share(sides: Sides, rounded: float) -> float:
    """The share by which the heavier side has to shrink, at most, so that the sum is exactly zero.

    ``rounded`` bounds the error of the sum, where the duals themselves are rounded.
    """
    imbalance = up(sides.imbalance + rounded)
    heavier = down(max(sides.above, sides.below) * (1.0 - 2.0 * gamma(sides.n_rows + len(sides.exact))) - rounded)
    if sides.imbalance + rounded <= SMALLEST:
        # No duals, or an exact sum of zero.
        return 0.0
    # A side can only shrink to nothing. NaN stays NaN.
    return 1.0 if heavier <= imbalance else up(imbalance / heavier * (1.0 + OF_BOUNDS))
