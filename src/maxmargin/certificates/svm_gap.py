"""The duality gap of support vector machines, and the KKT classes of their training points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from maxmargin.certificates.accurate_products import accurate_combination, accurate_scores
from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import longest_row_at_most, score_error_of_lengths
from maxmargin.certificates.duality_gap import DualityGap, rounding_matters
from maxmargin.certificates.kkt_conditions import (
    ClassCounts,
    classes_of_block,
    classes_of_tasks,
    common_scale,
    count_classes,
    merged_counts,
    ratios_of_block,
    residuals_of_block,
    scale_of,
)
from maxmargin.certificates.passes import ask_scores, scores_and_combination, total_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    length_at_most,
    lower_bound,
    up,
    upper_bound,
)
from maxmargin.certificates.svm_dual_bounds import (
    DualSums,
    combination_error,
    dual_at_least,
    dual_terms_of,
    sides_of_tasks,
    sum_dual_terms,
)
from maxmargin.certificates.task_sums import ONE_TASK, ManyTasks, OneTask, sums_at_most
from maxmargin.data import Points
from maxmargin.data.partitions import Held
from maxmargin.engine import Block, Engine, MemoryEngine, Threads, row_task
from maxmargin.engine.dask import DaskEngine
from maxmargin.engine.threads import ENTRIES_PER_BLOCK
from maxmargin.problems.linear_svm import LinearSVMProblem, balancing_factors, sums_of_sides
from maxmargin.problems.partitioned import PartitionedProblem

# Rows of all tasks together up to which their gaps are measured at once: vectors of a megabyte. Of larger data, which
# blocks and threads share, groups of tasks are measured at once up to so many scores and coefficients: 8 MB. On sparse
# rows of 105 classes their products take half of the time.
MOST_ROWS_AT_ONCE, MOST_NUMBERS_AT_ONCE = 1 << 17, 1 << 20


@dataclass(frozen=True)
class SVMGap(DualityGap):
    r"""The duality gap of a support vector machine, with the largest violation of the KKT conditions.

    .. math:: \text{dual} \le \text{optimum} \le \text{objective of the model} \le \text{primal}

    The model's duals are projected onto the dual-feasible set: into their box and, with an unpenalised intercept, the
    heavier side is scaled so that sum alpha_i y_i = 0 (see "Weak duality" in :doc:`/theory`).

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
    return _gap_in_threads(problem.centred, w, _intercept_of_centred(problem, w, b), beta, n_threads)


def _intercept_of_centred(problem: LinearSVMProblem, w: np.ndarray, b: float) -> float:
    """The intercept for ``problem.centred``: exact but for its last rounding, as the entries of its rows are."""
    return b if problem.centred is problem else float(problem.points.centring.intercept_here(w, b))


def measured_at_once(points: Points, n_tasks: int) -> bool:
    """Whether the gaps of so many problems of these points are measured in passes over the rows of all at once."""
    few_entries = points.n_rows * points.entries_per_row < ENTRIES_PER_BLOCK
    answer: bool = few_entries and n_tasks * points.n_rows <= MOST_ROWS_AT_ONCE
    return answer


def groups_of_tasks(points: Points, n_tasks: int) -> list[slice]:
    """The groups of problems of these points whose gaps are measured at once; none where that is done one by one."""
    if measured_at_once(points, n_tasks):
        return [slice(0, n_tasks)]
    size = min(MOST_ROWS_AT_ONCE // points.n_rows, MOST_NUMBERS_AT_ONCE // (points.n_rows + points.n_columns))
    if n_tasks == 1 or size < 2:
        return []
    return [slice(first, min(first + size, n_tasks)) for first in range(0, n_tasks, size)]


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
    pairs = zip(coef, intercepts, strict=True)
    intercepts = np.array([_intercept_of_centred(problems[0], w, float(b)) for w, b in pairs])
    problems = [problem.centred for problem in problems]
    found, points = [], problems[0].points
    with np.errstate(over="ignore", invalid="ignore"):
        joint, tasks = joint_problem(problems)
        beta = feasible_duals(joint, betas.ravel(), tasks)
        largest_target = float(np.abs(joint.loss.targets).max(initial=0.0))
        of_targets = UNIT * largest_target + SMALLEST
        radius, lengths = longest_row_at_most(points), list(map(length_at_most, coef))
        errors = [
            up(score_error_of_lengths(points, radius, length, b) + of_targets)
            for length, b in zip(lengths, intercepts.tolist(), strict=True)
        ]
        scores = (points.scores(coef.T) + intercepts).T.ravel()
        losses = _losses_of(joint, scores, tasks.spread(errors), tasks)
        terms = dual_terms_of(joint, beta, tasks)
        sides = sides_of_tasks(beta, tasks, [one.total for one in terms])
        combined = points.combination(beta.reshape(len(problems), -1).T)
        weights = tasks.sums(joint.loss.weights)
        classes = classes_of_tasks(joint, scores, beta, tasks)
        for k, problem in enumerate(problems):
            b, error = float(intercepts[k]), combination_error(points.n_columns, radius, terms[k], sides[k])
            sums = DualSums(terms[k], sides[k], points.n_rows, combined[:, k], error, radius)
            dual, of_dual = dual_at_least(problem, sums, largest_target)
            primal = _primal_at_most(problem, lengths[k], b, losses[k])
            if rounding_matters(errors[k] * problem.C * weights[k] + of_dual, primal, dual):
                found.append(_gap_in_threads(problem, coef[k], b, betas[k]))
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
    feasible = joint.within_box(beta)
    if joint.has_free_intercept:
        sums = zip(tasks.sums(np.maximum(feasible, 0.0)), tasks.sums(np.minimum(feasible, 0.0)), strict=True)
        above, below = zip(*(balancing_factors(positive, -negative) for positive, negative in sums), strict=True)
        if any(factor != 1.0 for factor in (*above, *below)):
            feasible *= np.where(feasible > 0.0, tasks.spread(above), tasks.spread(below))
    return feasible


def measure_partitioned_gap(
    problem: PartitionedProblem, w: np.ndarray, b: float, beta: Sequence[Held[np.ndarray]]
) -> SVMGap:
    """Measure the same where rows and duals lie in partitions; ``beta`` has one part a partition."""
    svm = problem.problem
    assert isinstance(svm, LinearSVMProblem)
    engine = DaskEngine(svm, problem.task.local)
    b = problem.points.centring.intercept_here(w, b)
    engine.set_chunks("beta", beta)
    engine.do(_clip, writes=("beta",))
    if svm.has_free_intercept:
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
    length = length_at_most(w)
    error = up(score_error_of_lengths(problem.points, longest_row_at_most(problem.points), length, b) + of_targets)
    combined = None
    if engine.is_local:
        combined = scores_and_combination(engine, w, b, "scores", "beta")
    else:
        ask_scores(engine, "scores", w, b)
    losses, ratios = engine.ask_all(_losses, error), engine.ask_all(ratios_of_block)
    sums = sum_dual_terms(engine, combined)
    dual, of_dual = dual_at_least(problem, sums, largest_target)
    primal = _primal_at_most(problem, length, b, total_at_most(losses.value))
    of_losses = error * problem.C * float(problem.loss.weights.sum()) if engine.is_local else 0.0
    if engine.is_local and rounding_matters(of_losses + of_dual, primal, dual):
        # More exact products of the rows with w and with the duals: a few more passes.
        loss = _losses_of_accurate_scores(problem, w, b, of_targets)
        accurate = accurate_combination(problem.points, engine.vector("beta"))
        sums = sums._replace(combined=accurate.values, error=length_at_most(accurate.errors))
        primal = min(primal, _primal_at_most(problem, length, b, loss))
        dual = max(dual, lower_bound(dual_at_least(problem, sums, largest_target)[0]))
    scale = common_scale(ratios.value)
    if scale.is_shared:
        scale = scale.confirmed(engine.map(residuals_of_block, scale), largest_target)
    return gap_of_task(problem, primal, dual, merged_counts(engine.map(classes_of_block, scale)))


def _losses_of_accurate_scores(problem: LinearSVMProblem, w: np.ndarray, b: float, of_targets: float) -> float:
    scores, errors = accurate_scores(problem.points, w)
    scores += b
    # Rounding of the intercept's sum and of the residual.
    errors += 4.0 * UNIT * (np.abs(scores) + abs(b)) + of_targets
    return upper_bound(losses_at_most(problem, scores, errors))


def gap_with_classes(
    problem: LinearSVMProblem, primal: float, dual: float, scores: np.ndarray, beta: np.ndarray
) -> SVMGap:
    """Combine the two values with the KKT classes that follow from feasible duals and scores."""
    scale = scale_of(problem, scores, beta)
    classes = [count_classes(part, scores[rows], beta[rows], [scale])[0] for rows, part in problem.parts()]
    return gap_of_task(problem, primal, dual, merged_counts(classes))


def gap_of_task(problem: LinearSVMProblem, primal: float, dual: float, classes: ClassCounts) -> SVMGap:
    """Combine the two values with the KKT classes of a task."""
    violation, n_zero, n_between, n_bound, n_misclassified = classes
    values = upper_bound(primal), lower_bound(dual), violation
    if not problem.loss.one_sided:
        return RegressionGap(*values, within_epsilon=n_zero, on_boundary=n_between, beyond_epsilon=n_bound)
    return ClassificationGap(
        *values,
        outside=n_zero,
        on_margin=n_between,
        inside=n_bound - n_misclassified,
        misclassified=n_misclassified,
    )


def _primal_at_most(problem: LinearSVMProblem, length: float, b: float, loss: float) -> float:
    of_intercept = 0.0
    if b != 0.0:
        of_intercept = up(up(0.5 * problem.intercept_penalty * up(b * b)) * (1.0 + 4.0 * UNIT))
    return up(up(up(0.5 * up(length * length)) + of_intercept) + loss)


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


def losses_of_tasks(
    joint: LinearSVMProblem, scores: np.ndarray, errors: Sequence[float], tasks: OneTask
) -> list[float]:
    """The sum of the losses of every task, at most, where all its scores are known up to its error."""
    return _losses_of(joint, scores, tasks.spread(errors), tasks)
