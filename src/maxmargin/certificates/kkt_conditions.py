"""The classes of the KKT conditions that training points of a support vector machine are in, and the violation."""

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.rounding import (
    upper_bound,
)
from maxmargin.certificates.task_sums import ONE_TASK, OneTask
from maxmargin.engine import Block, row_task
from maxmargin.problems.linear_svm import LinearSVMProblem

# A dual within this share of its upper bound is at the bound, by a few thousand roundings; zero is exact.
AT_BOUND = 1e-9
NEARLY_ALL = 1.0 - AT_BOUND
# Duals that share the largest ratio to their bound are on the margin where their residuals, in shares of the largest
# target, are below this.
ON_MARGIN = 1e-6


def classes_of_tasks(
    joint: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray, tasks: OneTask
) -> list["ClassCounts"]:
    """The KKT classes of every task, given its feasible duals and scores."""
    ratios = _largest_ratios(joint, beta, tasks)
    scales = [_Scale(largest, _shared_maximum(above), _shared_maximum(below)) for largest, above, below in ratios]
    if any(scale.is_shared for scale in scales):
        largest_target = float(np.abs(joint.loss.targets).max(initial=0.0))
        residuals = _residuals_of(joint, scores, beta, scales, tasks)
        scales = [
            scale.confirmed([of_task], largest_target) if scale.is_shared else scale
            for scale, of_task in zip(scales, residuals, strict=True)
        ]
    return count_classes(joint, scores, beta, scales, tasks)


class KKTClass(IntEnum):
    """The KKT class of a row of a classifier; of a regression, which has no misclassified rows, by the same order."""

    OUTSIDE = 0
    ON_MARGIN = 1
    INSIDE = 2
    MISCLASSIFIED = 3


class ClassCounts(NamedTuple):
    """The largest violation of the KKT conditions, and the number of duals in each KKT class."""

    violation: float
    n_zero: int
    n_between: int
    n_bound: int
    n_misclassified: int


def merged_counts(blocks: Sequence[ClassCounts]) -> ClassCounts:
    """The largest violation, and the numbers of duals, of several blocks."""
    violations, *counts = zip(*blocks, strict=True)
    return ClassCounts(max(violations), *map(sum, counts))


@row_task
def classes_of_block(block: Block[LinearSVMProblem], scale: "_Scale") -> ClassCounts:
    return count_classes(block.problem.part(block.rows), block["scores"], block["beta"], [scale])[0]


def count_classes(
    part: LinearSVMProblem,
    scores: np.ndarray,
    beta: np.ndarray,
    scales: Sequence["_Scale"],
    tasks: OneTask = ONE_TASK,
) -> list[ClassCounts]:
    ends = _Ends(part, beta, scales, tasks)
    # Rows of weight zero, whose duals are zero, are not counted.
    n_rows = tasks.sizes(beta) if ends.all_count else tasks.counts(part.loss.weights != 0.0)
    wrong = ends.at_bound & (part.loss.targets * scores <= 0.0)
    counts = zip(n_rows, *map(tasks.counts, (ends.used, ends.at_bound, wrong)), strict=True)
    return [
        ClassCounts(violation, size - n_used, n_used - n_bound, n_bound, n_wrong)
        for violation, (size, n_used, n_bound, n_wrong) in zip(
            _kkt_violations(part, scores, ends, tasks), counts, strict=True
        )
    ]


def _rows_by_class(part: LinearSVMProblem, scores: np.ndarray, ends: "_Ends") -> np.ndarray:
    """The KKT class of every row; -1 for rows of weight zero."""
    wrong = part.loss.targets * scores <= 0.0
    # One where the dual is not zero, one more at the bound, and one more if also misclassified.
    classes: np.ndarray = ends.used.view(np.int8) + ends.at_bound.view(np.int8) + (ends.at_bound & wrong).view(np.int8)
    if not ends.all_count:
        classes[part.loss.weights == 0.0] = -1
    return classes


def kkt_classes(problem: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The KKT class of every row, as the certificate counts them.

    Parameters
    ----------
    problem : LinearSVMProblem
    scores : ndarray of shape (n,)
    beta : ndarray of shape (n,)
        Signed duals, which are projected onto the dual-feasible set.

    Returns
    -------
    ndarray of int8 of shape (n,)
        Values of :class:`KKTClass`, -1 for rows of weight zero.
    """
    beta = problem.feasible(beta)
    return _rows_by_class(problem, scores, _Ends(problem, beta, [scale_of(problem, scores, beta)]))


class _Scale(NamedTuple):
    """What the ends of a dual's box are measured by.

    Attributes
    ----------
    largest : float
        The largest |beta_i|.
    above, below : float
        The factors by which the upper bounds of positive and of negative duals were scaled.
    """

    largest: float
    above: float
    below: float

    @property
    def is_shared(self) -> bool:
        return min(self.above, self.below) < NEARLY_ALL

    def confirmed(self, residuals: Sequence["_ResidualsOfSides"], largest_target: float) -> "_Scale":
        """Without the factors that belong to rows on the margin, as of points that lie symmetrically."""
        above, below = zip(*residuals, strict=True)
        least = ON_MARGIN * largest_target
        return _Scale(
            self.largest,
            self.above if _beyond_margin(above, least) else 1.0,
            self.below if _beyond_margin(below, least) else 1.0,
        )


def _beyond_margin(blocks: Sequence["_Residuals"], least: float) -> bool:
    """Whether the rows at the end have larger residuals than those between, weighted by their duals."""
    at_end, n_end, between, weight = map(sum, zip(*blocks, strict=True))
    return at_end > n_end * max(least, between / weight if weight > 0.0 else 0.0)


class _Ends:
    """Which duals are not zero, and which are at an end of their box up to rounding.

    Of a one-sided loss, whose duals have the signs of the targets, there is one end besides zero: ``at_upper`` and
    ``at_lower`` are the same.
    """

    def __init__(
        self, problem: LinearSVMProblem, beta: np.ndarray, scales: Sequence[_Scale], tasks: OneTask = ONE_TASK
    ) -> None:
        loss = problem.loss
        self.problem, self.beta, self.used, self._scales, self._tasks = problem, beta, beta != 0.0, scales, tasks
        self.all_count = np.count_nonzero(loss.weights) == loss.weights.size
        if math.isinf(loss.box_bound):
            self.at_upper = self.at_lower = np.zeros(beta.shape, dtype=bool)
            # Without an upper bound, the dual of a point is 2 C times its slack: none is on the margin.
            self.at_bound = self.used
            return
        bounds, (above, below) = loss.box_bound * loss.weights, (_shares(scales, side, tasks) for side in (1, 2))
        if loss.one_sided:
            shares = above if above is below else np.where(loss.targets > 0.0, above, below)
            self.at_upper = self.at_lower = beta * loss.targets >= shares * bounds
            self.at_bound = self.used & self.at_upper
        else:
            self.at_upper, self.at_lower = beta >= above * bounds, beta <= below * -bounds
            self.at_bound = self.used & (self.at_upper | self.at_lower)

    @property
    def near(self) -> np.ndarray:
        """The size up to which a dual has no weight in the KKT conditions."""
        loss, largest = self.problem.loss, self._tasks.spread([scale.largest for scale in self._scales])
        bound = 0.5 / loss.curvature if math.isinf(loss.box_bound) else loss.box_bound
        weights = loss.weights if self.all_count else np.where(loss.weights > 0.0, loss.weights, 1.0)
        return AT_BOUND * np.minimum(bound * weights, largest)


def _shares(scales: Sequence[_Scale], side: int, tasks: OneTask) -> float | np.ndarray:
    """The shares of their bounds from which on the duals of a side are at the end of their box."""
    factors = [scale[side] for scale in scales]
    return NEARLY_ALL if min(factors) == 1.0 else tasks.spread(factors) * NEARLY_ALL


class _Ratios(NamedTuple):
    """The largest |beta_i|, and the two largest ratios of a dual to its bound, above and below zero."""

    largest: float
    above: list[float]
    below: list[float]


def common_scale(ratios: Sequence[_Ratios]) -> _Scale:
    """The scale of the duals of all blocks.

    Balancing, and the best multiple, multiply all duals of a side by one factor below 1, also those at C: they then
    share the largest ratio to their bound, which two free duals seldom do. Where at least two rows share it, it is that
    factor, if residuals confirm it.
    """
    largest, *sides = zip(*ratios, strict=True)
    above, below = (_shared_maximum(sorted(chain.from_iterable(side))) for side in sides)
    return _Scale(max(largest), above, below)


def _shared_maximum(ratios: list[float]) -> float:
    shared = len(ratios) > 1 and ratios[-2] > 0.0 and ratios[-2] >= ratios[-1] * NEARLY_ALL
    return ratios[-1] if shared else 1.0


def scale_of(problem: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray) -> _Scale:
    scale = common_scale([_largest_ratios(part, beta[rows])[0] for rows, part in problem.parts()])
    if not scale.is_shared:
        return scale
    residuals = [_residuals_of(part, scores[rows], beta[rows], [scale])[0] for rows, part in problem.parts()]
    return scale.confirmed(residuals, float(np.abs(problem.loss.targets).max(initial=0.0)))


@row_task
def ratios_of_block(block: Block[LinearSVMProblem]) -> _Ratios:
    return _largest_ratios(block.problem.part(block.rows), block["beta"])[0]


def _largest_ratios(problem: LinearSVMProblem, beta: np.ndarray, tasks: OneTask = ONE_TASK) -> list[_Ratios]:
    largest = tasks.largest(np.abs(beta))
    if not problem.has_free_intercept or math.isinf(problem.loss.box_bound):
        return [_Ratios(value, [], []) for value in largest]
    bounds = problem.loss.box_bound * problem.loss.weights
    has_weights = np.count_nonzero(bounds) == bounds.size
    ratios = beta / bounds if has_weights else np.divide(beta, bounds, out=np.zeros_like(beta), where=bounds > 0.0)
    return list(map(_Ratios, largest, tasks.two_largest(ratios), tasks.two_largest(-ratios)))


class _Residuals(NamedTuple):
    """Sums over the duals of one sign.

    The slacks of rows at the end of their box and their number; of the others, the sum of |beta_i| times the size of
    the slack, and that of |beta_i|.
    """

    at_end: float
    n_end: int
    between: float
    weight: float


_ResidualsOfSides = tuple[_Residuals, _Residuals]


@row_task
def residuals_of_block(block: Block[LinearSVMProblem], scale: _Scale) -> _ResidualsOfSides:
    return _residuals_of(block.problem.part(block.rows), block["scores"], block["beta"], [scale])[0]


def _residuals_of(
    problem: LinearSVMProblem,
    scores: np.ndarray,
    beta: np.ndarray,
    scales: Sequence[_Scale],
    tasks: OneTask = ONE_TASK,
) -> list[_ResidualsOfSides]:
    ends, loss = _Ends(problem, beta, scales, tasks), problem.loss
    slacks, sizes = np.sign(beta) * (loss.targets - scores) - loss.epsilon, np.abs(beta)
    sides = [
        map(
            _Residuals,
            tasks.sums(np.where(at_end, slacks, 0.0)),
            tasks.counts(at_end),
            tasks.sums(np.where(between, sizes * np.abs(slacks), 0.0)),
            tasks.sums(np.where(between, sizes, 0.0)),
        )
        for at_end, between in (
            ((beta > 0.0) & ends.at_upper, (beta > 0.0) & ~ends.at_upper),
            ((beta < 0.0) & ends.at_lower, (beta < 0.0) & ~ends.at_lower),
        )
    ]
    return list(zip(*sides, strict=True))


def _kkt_violations(problem: LinearSVMProblem, scores: np.ndarray, ends: _Ends, tasks: OneTask) -> list[float]:
    """The largest distance of a residual from the interval that the KKT conditions allow for its dual."""
    loss, beta, near = problem.loss, ends.beta, ends.near
    excess = loss.targets - scores
    if loss.curvature > 0.0:
        excess -= problem.curvatures() * beta
    if loss.one_sided:
        # In terms of alpha = y beta, which may grow unless it is at C, and fall unless it is zero.
        excess *= loss.targets
        may_rise = excess
        if not math.isinf(loss.box_bound):
            may_rise = np.where(ends.at_upper, 0.0, excess)
        may_fall = np.where(np.abs(beta) > near, -excess, 0.0)
    else:
        # The objective of the dual grows with beta where the residual exceeds epsilon, and falls where it is below.
        rise = np.where(beta < -near, -loss.epsilon, loss.epsilon)
        fall = np.where(beta > near, loss.epsilon, -loss.epsilon)
        may_rise = np.where(ends.at_upper, 0.0, excess - rise)
        may_fall = np.where(ends.at_lower, 0.0, fall - excess)
    violations = np.maximum(may_rise, may_fall)
    if not ends.all_count:
        violations = np.where(loss.weights > 0.0, violations, 0.0)
    return list(map(upper_bound, tasks.largest(violations)))
