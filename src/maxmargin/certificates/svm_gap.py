"""The duality gap of support vector machines, and the KKT classes of their training points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.accurate_products import accurate_combination, accurate_scores
from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import OF_BOUNDS, longest_row_at_most, score_error_at_most
from maxmargin.certificates.duality_gap import DualityGap, rounding_matters
from maxmargin.certificates.passes import ask_scores, combination, scores_and_combination, total_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_most,
    lower_bound,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.task_sums import ONE_TASK, ManyTasks, OneTask, exact_sums, sum_of, sums_at_most
from maxmargin.data import Points
from maxmargin.engine import Block, Engine, MemoryEngine, Threads, row_task
from maxmargin.engine.dask import DaskEngine
from maxmargin.engine.threads import ENTRIES_PER_BLOCK
from maxmargin.problems.linear_svm import LinearSVMProblem, balancing_factors, sums_of_sides
from maxmargin.problems.partitioned import PartitionedProblem

# A dual within this share of its upper bound is at the bound, by a few thousand roundings; zero is exact.
AT_BOUND = 1e-9
# Rows of all tasks together up to which their gaps are measured at once: vectors of a megabyte.
MOST_ROWS_AT_ONCE = 1 << 17
# Duals that share the largest ratio to their bound are on the margin where their residuals, in shares of the largest
# target, are below this.
ON_MARGIN = 1e-6


@dataclass(frozen=True)
class SVMGap(DualityGap):
    r"""The duality gap of a support vector machine, with the largest violation of the KKT conditions.

    .. math:: \text{dual} \le \text{optimum} \le \text{objective of the model} \le \text{primal}

    The model's duals are projected onto the dual-feasible set: into their box and, with an unpenalised intercept, the
    heavier side is scaled so that sum alpha_i y_i = 0 (see docs/theory.md, Weak duality).

    Attributes
    ----------
    primal, dual : float
    kkt_violation : float
        The largest violation of the KKT conditions: of y f >= 1 where alpha = 0, of y f = 1 where 0 < alpha < C, of
        y f <= 1 where alpha = C; for a regression, of the same conditions on the residual and epsilon.
    assumption : str
        What the gap rests on besides the data: empty, or that a kernel, of which only the values are known, is positive
        semidefinite.

    See Also
    --------
    ClassificationGap : That of a classifier, with counts of support vectors.
    RegressionGap : That of a regression.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> proof = SVR(tol=1e-8).fit(scale(X), scale(y)).certificate_
    >>> print(f"{proof.dual:.2f} <= optimum <= {proof.primal:.2f}")
    170.76 <= optimum <= 170.76
    """

    kkt_violation: float
    assumption: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"{self.assumption}: {super().__str__()}" if self.assumption else super().__str__()

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        self._check_assumption(proven)
        self._check_equal(proven, "kkt_violation", rel_tol=1e-6, abs_tol=1e-9)
        counts = [one.name for one in fields(self) if one.type is int]
        self._refuse_unless(
            all(getattr(self, name) == getattr(proven, name) for name in counts),
            "the counts of support vectors differ",
        )


@dataclass(frozen=True)
class ClassificationGap(SVMGap):
    """The duality gap of a classifier, and the number of points in each KKT class.

    The classes are distinguished by the duals, which are exact at both ends of their box, not by the scores, which are
    within the gap of those of the optimum: support vectors are the rows whose dual is not zero. Squared losses
    have no upper bound C: every positive dual belongs to a point inside the margin or misclassified.

    Attributes
    ----------
    outside : int
        Points with alpha = 0: correctly classified, on or outside the margin.
    on_margin : int
        Points with 0 < alpha < C: y f = 1 at the optimum.
    inside : int
        Points with alpha = C and slack below 1: inside the margin, correctly classified.
    misclassified : int
        Points with alpha = C and slack of at least 1.

    See Also
    --------
    RegressionGap : The same for a regression.
    MulticlassGap : The same for all classes at once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LinearSVC(tol=1e-9).fit(X[:, 2:], y == 2).certificate_
    >>> proof.outside, proof.on_margin, proof.inside, proof.misclassified
    (125, 4, 16, 5)
    """

    outside: int
    on_margin: int
    inside: int
    misclassified: int

    def _details(self) -> str:
        return (
            f"; {self.on_margin + self.inside + self.misclassified} support vectors: {self.on_margin} on the margin, "
            f"{self.inside} inside it, {self.misclassified} misclassified"
        )


@dataclass(frozen=True)
class RegressionGap(SVMGap):
    """The duality gap of a support vector regression, and the number of points in each KKT class.

    Attributes
    ----------
    within_epsilon : int
        Points with a dual of zero: ``|y - f| <= epsilon`` at the optimum.
    on_boundary : int
        Points with ``0 < |beta| < C``: ``|y - f| = epsilon`` at the optimum.
    beyond_epsilon : int
        Points with ``|beta| = C``, or for squared losses beta != 0: ``|y - f| >= epsilon``.

    See Also
    --------
    ClassificationGap : The same for a classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> proof = LinearSVR(epsilon=50.0, tol=1e-9).fit(scale(X), y).certificate_
    >>> proof.within_epsilon, proof.on_boundary, proof.beyond_epsilon
    (267, 8, 167)
    """

    within_epsilon: int
    on_boundary: int
    beyond_epsilon: int

    def _details(self) -> str:
        return (
            f"; {self.on_boundary + self.beyond_epsilon} support vectors: {self.on_boundary} with a residual of "
            f"epsilon, {self.beyond_epsilon} with a larger one"
        )


def measure_gap(problem: LinearSVMProblem, w: np.ndarray, b: float, beta: np.ndarray, n_threads: int = 1) -> SVMGap:
    """Measure the duality gap of a hyperplane and signed duals.

    Parameters
    ----------
    problem : LinearSVMProblem
    w : ndarray of shape (d,)
    b : float
    beta : ndarray of shape (n,)
        Signed duals y_i alpha_i. They need not be feasible: they are projected.
    n_threads : int, default=1
        The number of threads that share the passes over the rows.

    Returns
    -------
    ClassificationGap or RegressionGap
    """
    if measured_at_once(problem.points, 1):
        return measure_gaps([problem], w[None], np.array([b]), beta[None])[0]
    return _gap_in_threads(problem, w, b, beta, n_threads)


def measured_at_once(points: Points, n_tasks: int) -> bool:
    """Whether the gaps of so many problems of these points are measured in passes over the rows of all at once."""
    few_entries = points.n_rows * points.entries_per_row < ENTRIES_PER_BLOCK
    return few_entries and n_tasks * points.n_rows <= MOST_ROWS_AT_ONCE


def _gap_in_threads(problem: LinearSVMProblem, w: np.ndarray, b: float, beta: np.ndarray, n_threads: int = 1) -> SVMGap:
    with np.errstate(over="ignore", invalid="ignore"), Threads(n_threads) as threads:
        engine = MemoryEngine(problem, threads)
        engine["beta"] = problem.feasible(beta)
        return _gap_on_blocks(engine, w, b, float(np.abs(problem.loss.targets).max(initial=0.0)))


def measure_gaps(
    problems: Sequence[LinearSVMProblem], coef: np.ndarray, intercepts: np.ndarray, betas: np.ndarray
) -> list[SVMGap]:
    """Measure the gaps of several problems of the same points, small ones: passes over the rows of all at once.

    Parameters
    ----------
    problems : sequence of LinearSVMProblem
        They differ in their targets and weights alone.
    coef : ndarray of shape (n_tasks, d)
    intercepts : ndarray of shape (n_tasks,)
    betas : ndarray of shape (n_tasks, n)
        Signed duals, as for :func:`measure_gap`.

    Returns
    -------
    list of ClassificationGap or RegressionGap
    """
    found, points = [], problems[0].points
    with np.errstate(over="ignore", invalid="ignore"):
        joint, tasks = joint_problem(problems)
        beta = feasible_duals(joint, betas.ravel(), tasks)
        largest_target = float(np.abs(joint.loss.targets).max(initial=0.0))
        of_targets = UNIT * largest_target + SMALLEST
        errors = [
            up(score_error_at_most(points, w, float(b)) + of_targets) for w, b in zip(coef, intercepts, strict=True)
        ]
        scores = (points.scores(coef.T) + intercepts).T.ravel()
        losses = _losses_of(joint, scores, tasks.spread(errors), tasks)
        terms, sides = _dual_terms_of(joint, beta, tasks), sides_of_tasks(beta, tasks)
        weights = tasks.sums(joint.loss.weights)
        classes = classes_of_tasks(joint, scores, beta, tasks)
        for k, (problem, duals) in enumerate(zip(problems, tasks.parts(beta), strict=True)):
            w, b = coef[k], float(intercepts[k])
            combined = points.combination(duals)
            sums = _DualSums(terms[k], sides[k], duals.size, combined, _combination_error(points, terms[k], sides[k]))
            dual, of_dual = _dual_at_least(problem, sums, largest_target)
            primal = _primal_at_most(problem, w, b, losses[k])
            if rounding_matters(errors[k] * problem.C * weights[k] + of_dual, primal, dual):
                found.append(_gap_in_threads(problem, w, b, betas[k]))
            else:
                found.append(gap_of_task(problem, primal, dual, classes[k]))
    return found


def joint_problem(problems: Sequence[LinearSVMProblem]) -> tuple[LinearSVMProblem, OneTask]:
    """The losses of the rows of several problems, one problem after the other; its points have no meaning."""
    first = problems[0]
    if len(problems) == 1:
        return first, ONE_TASK
    targets = np.concatenate([problem.loss.targets for problem in problems])
    weights = np.concatenate([problem.loss.weights for problem in problems])
    joint = first.of_block(first.points, targets, weights)
    return joint, ManyTasks([problem.loss.targets.size for problem in problems])


def feasible_duals(joint: LinearSVMProblem, beta: np.ndarray, tasks: OneTask) -> np.ndarray:
    """Project the duals of every task, as ``LinearSVMProblem.feasible`` does those of one."""
    feasible = np.clip(beta, joint.lowers(), joint.uppers())
    if joint.has_free_intercept:
        sums = zip(tasks.sums(np.maximum(feasible, 0.0)), tasks.sums(np.minimum(feasible, 0.0)), strict=True)
        above, below = zip(*(balancing_factors(positive, -negative) for positive, negative in sums), strict=True)
        feasible *= np.where(feasible > 0.0, tasks.spread(above), tasks.spread(below))
    return feasible


def measure_partitioned_gap(problem: PartitionedProblem, w: np.ndarray, b: float, beta: Sequence[Any]) -> SVMGap:
    """Measure the same where rows and duals lie in partitions; ``beta`` has one part a partition."""
    engine = DaskEngine(problem.problem, problem.task.local)
    engine.set_chunks("beta", beta)
    engine.do(_clip, writes=("beta",))
    if problem.problem.has_free_intercept:
        above, below = balancing_factors(*map(float, engine.sum(_sums_of_sides)))
        engine.do(_balance, above, below, writes=("beta",))
    with np.errstate(over="ignore", invalid="ignore"):
        return _gap_on_blocks(engine, w, b, problem.task.largest_target)


@row_task
def _clip(block: Block[LinearSVMProblem]) -> None:
    part = block.problem.part(block.rows)
    np.clip(block["beta"], part.lowers(), part.uppers(), out=block["beta"])


@row_task
def _sums_of_sides(block: Block[LinearSVMProblem]) -> np.ndarray:
    return np.array(sums_of_sides(block["beta"]))


@row_task
def _balance(block: Block[LinearSVMProblem], above: float, below: float) -> None:
    beta = block["beta"]
    np.multiply(beta, above, out=beta, where=beta > 0.0)
    np.multiply(beta, below, out=beta, where=beta < 0.0)


def _gap_on_blocks(engine: Engine[LinearSVMProblem], w: np.ndarray, b: float, largest_target: float) -> SVMGap:
    """The gap of the feasible duals ``beta`` of an engine: sums over blocks, in two passes."""
    problem = engine.problem
    # The residual is rounded, too; for the signs of a classifier that is within the terms counted in the score's error.
    of_targets = UNIT * largest_target + SMALLEST
    error = up(score_error_at_most(problem.points, w, b) + of_targets)
    combined = None
    if isinstance(engine, MemoryEngine):
        combined = scores_and_combination(engine, w, b, "scores", "beta")
    else:
        ask_scores(engine, "scores", w, b)
    losses, ratios = engine.ask_all(_losses, error), engine.ask_all(_ratios)
    sums = _dual_sums(engine, combined)
    dual, of_dual = _dual_at_least(problem, sums, largest_target)
    primal = _primal_at_most(problem, w, b, total_at_most(losses.value))
    of_losses = error * problem.C * float(problem.loss.weights.sum()) if isinstance(engine, MemoryEngine) else 0.0
    if isinstance(engine, MemoryEngine) and rounding_matters(of_losses + of_dual, primal, dual):
        # More exact products of the rows with w and with the duals: a few more passes.
        lost = _losses_of_accurate_scores(problem, w, b, of_targets)
        accurate = accurate_combination(problem.points, engine["beta"])
        sums = sums._replace(combined=accurate.values, error=length_at_most(accurate.errors))
        primal = min(primal, _primal_at_most(problem, w, b, lost))
        dual = max(dual, lower_bound(_dual_at_least(problem, sums, largest_target)[0]))
    scale = _common_scale(ratios.value)
    if scale.is_shared:
        scale = scale.confirmed(engine.map(_residuals_of_sides, scale), largest_target)
    return _with_classes(primal, dual, problem, engine.map(_classes, scale))


def _losses_of_accurate_scores(problem: LinearSVMProblem, w: np.ndarray, b: float, of_targets: float) -> float:
    scores, errors = accurate_scores(problem.points, w)
    scores += b
    # Rounding of the intercept's sum and of the residual.
    errors += 4.0 * UNIT * (np.abs(scores) + abs(b)) + of_targets
    return upper_bound(losses_at_most(problem, scores, errors))


def classes_of_tasks(joint: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray, tasks: OneTask) -> list["_Classes"]:
    """The KKT classes of every task, given its feasible duals and scores."""
    scales = [_common_scale([ratios]) for ratios in _largest_ratios(joint, beta, tasks)]
    if any(scale.is_shared for scale in scales):
        largest_target = float(np.abs(joint.loss.targets).max(initial=0.0))
        residuals = _residuals_of(joint, scores, beta, scales, tasks)
        scales = [
            scale.confirmed([of_task], largest_target) if scale.is_shared else scale
            for scale, of_task in zip(scales, residuals, strict=True)
        ]
    return _classes_of(joint, scores, beta, scales, tasks)


def gap_of_task(problem: LinearSVMProblem, primal: float, dual: float, classes: "_Classes") -> SVMGap:
    """Combine the two values with the KKT classes of a task."""
    return _with_classes(primal, dual, problem, [classes])


def gap_with_classes(
    problem: LinearSVMProblem, primal: float, dual: float, scores: np.ndarray, beta: np.ndarray
) -> SVMGap:
    """Combine the two values with the KKT classes that follow from feasible duals and scores."""
    scale = _scale_of(problem, scores, beta)
    classes = [_classes_of(part, scores[rows], beta[rows], [scale])[0] for rows, part in problem.parts()]
    return _with_classes(primal, dual, problem, classes)


class KKTClass(IntEnum):
    """The KKT class of a row of a classifier; of a regression, which has no misclassified rows, by the same order."""

    OUTSIDE = 0
    ON_MARGIN = 1
    INSIDE = 2
    MISCLASSIFIED = 3


class _Classes(NamedTuple):
    """The largest violation of the KKT conditions, and the number of duals in each KKT class."""

    violation: float
    n_zero: int
    n_between: int
    n_bound: int
    n_misclassified: int


@row_task
def _classes(block: Block[LinearSVMProblem], scale: "_Scale") -> _Classes:
    return _classes_of(block.problem.part(block.rows), block["scores"], block["beta"], [scale])[0]


def _classes_of(
    part: LinearSVMProblem,
    scores: np.ndarray,
    beta: np.ndarray,
    scales: Sequence["_Scale"],
    tasks: OneTask = ONE_TASK,
) -> list[_Classes]:
    ends = _Ends(part, beta, scales, tasks)
    classes = _rows_by_class(part, scores, ends)
    violations = _kkt_violations(part, scores, ends, tasks)
    return [
        _Classes(violation, n_zero, n_between, n_inside + wrong, wrong)
        for violation, (n_zero, n_between, n_inside, wrong) in zip(
            violations, tasks.histograms(classes, len(KKTClass)), strict=True
        )
    ]


def _rows_by_class(part: LinearSVMProblem, scores: np.ndarray, ends: "_Ends") -> np.ndarray:
    """The KKT class of every row; -1 for rows of weight zero."""
    wrong = part.loss.targets * scores <= 0.0
    # On the margin, one less where the dual is zero, one more at the bound, and two more if also misclassified.
    classes = 1 - ends.at_zero.view(np.int8) + ends.at_bound.view(np.int8) + (ends.at_bound & wrong).view(np.int8)
    if np.count_nonzero(part.loss.weights) < classes.size:
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
    return _rows_by_class(problem, scores, _Ends(problem, beta, [_scale_of(problem, scores, beta)]))


def _with_classes(primal: float, dual: float, problem: LinearSVMProblem, classes: Sequence[_Classes]) -> SVMGap:
    violations, *counts = zip(*classes, strict=True)
    n_zero, n_between, n_bound, n_misclassified = map(sum, counts)
    values = upper_bound(primal), lower_bound(dual), max(violations)
    if not problem.loss.one_sided:
        return RegressionGap(*values, within_epsilon=n_zero, on_boundary=n_between, beyond_epsilon=n_bound)
    return ClassificationGap(
        *values,
        outside=n_zero,
        on_margin=n_between,
        inside=n_bound - n_misclassified,
        misclassified=n_misclassified,
    )


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
        return min(self.above, self.below) < 1.0 - AT_BOUND

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
    """Which duals are zero, and which are at their upper bound up to rounding."""

    def __init__(
        self, problem: LinearSVMProblem, beta: np.ndarray, scales: Sequence[_Scale], tasks: OneTask = ONE_TASK
    ) -> None:
        self.problem, self.beta, self._scales, self._tasks = problem, beta, scales, tasks
        if math.isinf(problem.loss.box_bound):
            self.at_upper = self.at_lower = np.zeros(beta.shape, dtype=bool)
            return
        above, below = (tasks.spread(factors) for factors in zip(*(scale[1:] for scale in scales), strict=True))
        self.at_upper = beta >= above * (1.0 - AT_BOUND) * problem.uppers()
        self.at_lower = beta <= below * (1.0 - AT_BOUND) * problem.lowers()

    @cached_property
    def at_zero(self) -> np.ndarray:
        return np.equal(self.beta, 0.0)

    @cached_property
    def at_bound(self) -> np.ndarray:
        if math.isinf(self.problem.loss.box_bound):
            # Without an upper bound, the dual of a point is 2 C times its slack: none is on the margin.
            return ~self.at_zero
        return ~self.at_zero & (self.at_upper | self.at_lower)

    @property
    def near(self) -> np.ndarray:
        """The size up to which a dual has no weight in the KKT conditions."""
        loss, largest = self.problem.loss, self._tasks.spread([scale.largest for scale in self._scales])
        bound = 0.5 / loss.curvature if math.isinf(loss.box_bound) else loss.box_bound
        return AT_BOUND * np.minimum(bound * np.where(loss.weights > 0.0, loss.weights, 1.0), largest)


class _Ratios(NamedTuple):
    """The largest |beta_i|, and the two largest ratios of a dual to its bound, above and below zero."""

    largest: float
    above: list[float]
    below: list[float]


def _common_scale(ratios: Sequence[_Ratios]) -> _Scale:
    """The scale of the duals of all blocks.

    Balancing, and the best multiple, multiply all duals of a side by one factor below 1, also those at C: they then
    share the largest ratio to their bound, which two free duals seldom do. Where at least two rows share it, it is that
    factor, if residuals confirm it.
    """
    largest, *sides = zip(*ratios, strict=True)
    above, below = (sorted(ratio for block in side for ratio in block) for side in sides)
    return _Scale(max(largest), _shared_maximum(above), _shared_maximum(below))


def _shared_maximum(ratios: list[float]) -> float:
    shared = len(ratios) > 1 and ratios[-2] > 0.0 and ratios[-2] >= ratios[-1] * (1.0 - AT_BOUND)
    return ratios[-1] if shared else 1.0


def _scale_of(problem: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray) -> _Scale:
    scale = _common_scale([_largest_ratios(part, beta[rows])[0] for rows, part in problem.parts()])
    if not scale.is_shared:
        return scale
    residuals = [_residuals_of(part, scores[rows], beta[rows], [scale])[0] for rows, part in problem.parts()]
    return scale.confirmed(residuals, float(np.abs(problem.loss.targets).max(initial=0.0)))


@row_task
def _ratios(block: Block[LinearSVMProblem]) -> _Ratios:
    return _largest_ratios(block.problem.part(block.rows), block["beta"])[0]


def _largest_ratios(problem: LinearSVMProblem, beta: np.ndarray, tasks: OneTask = ONE_TASK) -> list[_Ratios]:
    largest = tasks.largest(np.abs(beta))
    if not problem.has_free_intercept or math.isinf(problem.loss.box_bound):
        return [_Ratios(value, [], []) for value in largest]
    bounds = problem.loss.box_bound * problem.loss.weights
    ratios = np.divide(beta, bounds, out=np.zeros_like(beta), where=bounds > 0.0)
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
def _residuals_of_sides(block: Block[LinearSVMProblem], scale: _Scale) -> _ResidualsOfSides:
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
    excess = loss.targets - scores - problem.curvatures() * beta
    if loss.one_sided:
        # In terms of alpha = y beta, which may grow unless it is at C, and fall unless it is zero.
        excess *= loss.targets
        may_rise = excess
        if not math.isinf(loss.box_bound):
            may_rise = np.where(np.where(loss.targets > 0.0, ends.at_upper, ends.at_lower), 0.0, excess)
        may_fall = np.where(np.abs(beta) > near, -excess, 0.0)
    else:
        # The objective of the dual grows with beta where the residual exceeds epsilon, and falls where it is below.
        rise = np.where(beta < -near, -loss.epsilon, loss.epsilon)
        fall = np.where(beta > near, loss.epsilon, -loss.epsilon)
        may_rise = np.where(ends.at_upper, 0.0, excess - rise)
        may_fall = np.where(ends.at_lower, 0.0, fall - excess)
    violations = np.maximum(may_rise, may_fall)
    if np.count_nonzero(loss.weights) < loss.weights.size:
        violations = np.where(loss.weights > 0.0, violations, 0.0)
    return list(map(upper_bound, tasks.largest(violations)))


def _primal_at_most(problem: LinearSVMProblem, w: np.ndarray, b: float, lost: float) -> float:
    length, of_intercept = length_at_most(w), 0.0
    if b != 0.0:
        of_intercept = up(up(0.5 * problem.intercept_penalty * up(b * b)) * (1.0 + 4.0 * UNIT))
    return up(up(up(0.5 * up(length * length)) + of_intercept) + lost)


@row_task
def _losses(block: Block[LinearSVMProblem], error: float) -> float:
    return _losses_of(block.problem.part(block.rows), block["scores"], error)[0]


def losses_at_most(problem: LinearSVMProblem, scores: np.ndarray, errors: np.ndarray) -> float:
    """The sum of all losses, at most, where each score is known up to its error."""
    return total_at_most(_losses_of(part, scores[rows], errors[rows])[0] for rows, part in problem.parts())


def _losses_of(
    problem: LinearSVMProblem, scores: np.ndarray, error: np.ndarray | float, tasks: OneTask = ONE_TASK
) -> list[float]:
    loss, residuals = problem.loss, problem.loss.targets - scores
    if math.isinf(loss.curvature):
        return [math.inf] * len(tasks.sizes(scores))
    # y r = 1 - y f. A row of weight zero has a factor of SMALLEST below, which is an upper bound, too.
    excess = loss.targets * residuals if loss.one_sided else np.abs(residuals)
    if loss.epsilon > 0.0:
        # Before the error is added: epsilon would otherwise cost it its digits.
        excess -= loss.epsilon
    excess += error
    np.maximum(excess, 0.0, out=excess)
    # C is 0.5 / curvature, rounded twice; of C times the weight a subnormal number may be left.
    losses = loss.weights * (problem.C * (1.0 + 48.0 * UNIT)) + SMALLEST
    losses *= excess
    losses += SMALLEST
    if loss.curvature > 0.0:
        losses *= excess
        losses += SMALLEST
    return [up(total * (1.0 + 8.0 * UNIT)) for total in sums_at_most(losses, tasks)]


class _DualTerms(NamedTuple):
    """Sums over some duals.

    ``linear`` is the computed sum of t beta - epsilon|beta|; upper bounds are ``sizes`` on sum |beta|(|t| + epsilon),
    ``squares`` on sum c_i beta²/2 and ``total`` on sum |beta|.
    """

    linear: float
    sizes: float
    squares: float
    total: float


class _DualSums(NamedTuple):
    """The sums over the duals that make up the dual value, and a bound on the error of ``combined``, X^T beta."""

    terms: _DualTerms
    sides: "Sides"
    n_rows: int
    combined: np.ndarray
    error: float


def _dual_sums(engine: Engine[LinearSVMProblem], combined: np.ndarray | None = None) -> _DualSums:
    """Sums over the duals ``beta``; ``combined`` is X^T beta, where it is known."""
    blocks_terms, blocks_sides = engine.ask_all(_dual_terms), engine.ask_all(sides_of_block)
    if combined is None:
        combined = combination(engine, "beta")
    terms, sides = _added(blocks_terms.value), merged_sides(blocks_sides.value)
    error = _combination_error(engine.problem.points, terms, sides)
    return _DualSums(terms, sides, engine.n_rows, combined, error)


def _combination_error(points: Any, terms: _DualTerms, sides: "Sides") -> float:
    """An upper bound on the error of X^T beta."""
    error = up(up(gamma(sides.n_used + 4) * longest_row_at_most(points)) * terms.total)
    return up(error + sides.n_used * points.n_columns * SMALLEST)


def _dual_at_least(problem: LinearSVMProblem, sums: _DualSums, largest_target: float) -> tuple[float, float]:
    """The dual value, at least, and what of it the error of X^T beta takes."""
    terms, sides, radius = sums.terms, sums.sides, longest_row_at_most(problem.points)
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


def losses_of_tasks(
    joint: LinearSVMProblem, scores: np.ndarray, errors: Sequence[float], tasks: OneTask
) -> list[float]:
    """The sum of the losses of every task, at most, where all its scores are known up to its error."""
    return _losses_of(joint, scores, tasks.spread(errors), tasks)


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
    largest_target = float(np.abs(joint.loss.targets).max(initial=0.0))
    return [
        DualBound(_terms_at_least(joint, terms, sides.n_rows, largest_target), terms.sizes, sides)
        for terms, sides in zip(_dual_terms_of(joint, beta, tasks), sides_of_tasks(beta, tasks), strict=True)
    ]


def dual_terms_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[float, float]:
    """The sum of the duals' terms before the squared norm, at least, and the sum of their sizes, at most."""
    terms = _added([_dual_terms_of(part, beta[rows])[0] for rows, part in problem.parts()])
    largest_target = float(np.abs(problem.loss.targets).max(initial=0.0))
    return _terms_at_least(problem, terms, beta.size, largest_target), terms.sizes


@row_task
def _dual_terms(block: Block[LinearSVMProblem]) -> _DualTerms:
    return _dual_terms_of(block.problem.part(block.rows), block["beta"])[0]


def _dual_terms_of(problem: LinearSVMProblem, beta: np.ndarray, tasks: OneTask = ONE_TASK) -> list[_DualTerms]:
    loss, absolute = problem.loss, np.abs(beta)
    gains, sizes = loss.targets * beta, tasks.sizes(beta)
    squares = [0.0] * len(sizes)
    if loss.epsilon > 0.0:
        gains -= loss.epsilon * absolute
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
            tasks.sums(gains), absolute_terms, sizes, squares, totals, strict=True
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


def sides_of_tasks(beta: np.ndarray, tasks: OneTask) -> list[Sides]:
    """The sums over the duals of every task."""
    return [
        Sides(size, used, total, (exact,), above, -below)
        for size, used, total, exact, above, below in zip(
            tasks.sizes(beta),
            tasks.counts(beta != 0.0),
            sums_at_most(np.abs(beta), tasks),
            exact_sums(beta, tasks),
            tasks.sums(np.maximum(beta, 0.0)),
            tasks.sums(np.minimum(beta, 0.0)),
            strict=True,
        )
    ]


@row_task
def sides_of_block(block: Block[Any]) -> Sides:
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
