"""The duality gap of support vector machines, and the KKT classes of their training points."""

import math
from dataclasses import dataclass, field, fields

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import OF_BOUNDS, longest_row_at_most, score_error_at_most
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.rounding import (
    UNIT,
    down,
    gamma,
    length_at_most,
    lower_bound,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.problems.linear_svm import LinearSVMProblem, sums_of_sides

# A dual within this share of its box of an end of the box is at that end: a few thousand roundings.
AT_BOUND = 1e-9


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

    The classes are told apart by the duals, which are exact at both ends of their box, and not by the scores, which are
    within the gap of those of the optimum only. Squared losses have no upper bound C: every positive dual belongs to a
    point inside the margin or misclassified.

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
        Points with a dual of zero: |y - f| <= epsilon at the optimum.
    on_boundary : int
        Points with 0 < |beta| < C: |y - f| = epsilon at the optimum.
    beyond_epsilon : int
        Points with |beta| = C, or for squared losses beta != 0: |y - f| >= epsilon.
    """

    within_epsilon: int
    on_boundary: int
    beyond_epsilon: int

    def _details(self) -> str:
        return (
            f"; {self.on_boundary + self.beyond_epsilon} support vectors: {self.on_boundary} with a residual of "
            f"epsilon, {self.beyond_epsilon} with a larger one"
        )


def measure_gap(problem: LinearSVMProblem, w: np.ndarray, b: float, beta: np.ndarray) -> SVMGap:
    """Measure the duality gap of a hyperplane and signed duals.

    Parameters
    ----------
    problem : LinearSVMProblem
    w : ndarray of shape (d,)
    b : float
    beta : ndarray of shape (n,)
        Signed duals y_i alpha_i. They need not be feasible: they are projected.

    Returns
    -------
    ClassificationGap or RegressionGap
    """
    beta = problem.feasible(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores(w, b)
        primal = _primal_at_most(problem, w, b, scores)
        dual = _dual_at_least(problem, beta)
    return gap_with_classes(problem, primal, dual, scores, beta)


def gap_with_classes(
    problem: LinearSVMProblem, primal: float, dual: float, scores: np.ndarray, beta: np.ndarray
) -> SVMGap:
    """Combine the two values with the KKT classes that follow from feasible duals and scores."""
    violation, n_zero, n_bound, n_slack = 0.0, 0, 0, 0
    factors = _bound_factors(problem, beta)
    for rows, part in problem.parts():
        ends = _Ends(part, beta[rows], *factors)
        violation = max(violation, _kkt_violation(part, scores[rows], ends))
        counted = part.loss.weights > 0.0
        n_zero += int(np.count_nonzero(counted & ends.at_zero))
        at_bound = counted & ends.at_bound
        n_bound += int(np.count_nonzero(at_bound))
        n_slack += int(np.count_nonzero(at_bound & (part.loss.targets * scores[rows] <= 0.0)))
    values = upper_bound(primal), lower_bound(dual), violation
    n_between = int(np.count_nonzero(problem.loss.weights > 0.0)) - n_zero - n_bound
    if not problem.loss.one_sided:
        return RegressionGap(*values, within_epsilon=n_zero, on_boundary=n_between, beyond_epsilon=n_bound)
    return ClassificationGap(
        *values, outside=n_zero, on_margin=n_between, inside=n_bound - n_slack, misclassified=n_slack
    )


class _Ends:
    """Which duals are zero and which are at their upper bound, up to rounding.

    ``above`` and ``below`` are the factors by which the bounds of positive and of negative duals were scaled.
    """

    def __init__(self, problem: LinearSVMProblem, beta: np.ndarray, above: float, below: float) -> None:
        loss = problem.loss
        self.beta = beta
        if math.isinf(loss.box_bound):
            # Without an upper bound, the dual of a point is 2 C times its slack: none is on the margin.
            self.near = AT_BOUND * 0.5 / loss.curvature * np.where(loss.weights > 0.0, loss.weights, 1.0)
            self.at_zero = beta == 0.0
            self.at_upper = self.at_lower = np.zeros(beta.shape, dtype=bool)
            self.at_bound = ~self.at_zero
            return
        self.near = AT_BOUND * loss.box_bound * np.where(loss.weights > 0.0, loss.weights, 1.0)
        self.at_zero = np.abs(beta) <= self.near
        self.at_upper = beta >= above * problem.uppers() - self.near
        self.at_lower = beta <= below * problem.lowers() + self.near
        self.at_bound = ~self.at_zero & (self.at_upper | self.at_lower)


def _bound_factors(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[float, float]:
    """The factors by which balancing has scaled the upper bounds of positive and of negative duals.

    Balancing multiplies all duals of the heavier side by one factor below 1, also those at C: they then share the
    largest ratio to their bound, which two free duals do not do. Where at least two rows share it, it is that factor.
    """
    if not problem.has_free_intercept or math.isinf(problem.loss.box_bound):
        return 1.0, 1.0
    bounds = problem.loss.box_bound * problem.loss.weights
    ratios = np.divide(beta, bounds, out=np.zeros_like(beta), where=bounds > 0.0)
    return _shared_maximum(ratios), _shared_maximum(-ratios)


def _shared_maximum(ratios: np.ndarray) -> float:
    largest = float(ratios.max(initial=0.0))
    shared = largest > 0.0 and np.count_nonzero(ratios >= largest * (1.0 - AT_BOUND)) > 1
    return largest if shared else 1.0


def _kkt_violation(problem: LinearSVMProblem, scores: np.ndarray, ends: _Ends) -> float:
    """The largest distance of a residual from the interval that the KKT conditions allow for its dual."""
    loss, beta = problem.loss, ends.beta
    excess = loss.targets - scores - problem.curvatures() * beta
    at_least = np.where(problem.counts_above, loss.epsilon, np.inf)
    at_most = np.where(problem.counts_below, -loss.epsilon, -np.inf)
    # The objective of the dual grows with beta where the residual exceeds epsilon, and falls where it is below.
    rise = np.where(beta < -ends.near, at_most, at_least)
    fall = np.where(beta > ends.near, at_least, at_most)
    may_rise = np.where(ends.at_upper, 0.0, np.maximum(0.0, excess - rise))
    may_fall = np.where(ends.at_lower, 0.0, np.maximum(0.0, fall - excess))
    return float(np.maximum(may_rise, may_fall)[loss.weights > 0.0].max(initial=0.0))


def _primal_at_most(problem: LinearSVMProblem, w: np.ndarray, b: float, scores: np.ndarray) -> float:
    length = length_at_most(w)
    error = score_error_at_most(problem.points, w, b)
    # The residual is rounded, too; for the signs of a classifier that is within the terms counted above.
    error += UNIT * float(np.abs(problem.loss.targets).max(initial=0.0))
    lost = losses_at_most(problem, scores, error)
    of_intercept = up(up(0.5 * problem.intercept_penalty * up(b * b))) if b != 0.0 else 0.0
    return up(up(up(0.5 * up(length * length)) + of_intercept) + lost)


def losses_at_most(problem: LinearSVMProblem, scores: np.ndarray, error: float) -> float:
    """The sum of all losses, at most, where scores are known up to ``error``."""
    lost = 0.0
    for rows, part in problem.parts():
        lost = up(lost + sum_at_most(part.losses(scores[rows], error) * (1.0 + 8.0 * UNIT)))
    return lost


def _dual_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> float:
    used = int(np.count_nonzero(beta))
    total = sum_at_most(np.abs(beta))
    error = gamma(used + 4) * longest_row_at_most(problem.points) * total
    length = up(length_at_most(problem.points.combination(beta)) + error)
    at_least, sizes = dual_terms_at_least(problem, beta)
    if problem.has_free_intercept:
        at_least -= cost_of_imbalance(beta, length, sizes, longest_row_at_most(problem.points))
    elif problem.has_intercept:
        total_beta = abs(math.fsum(beta[beta != 0.0])) * (1.0 + 4.0 * UNIT)
        at_least -= up(up(0.5 * up(total_beta * total_beta)) / problem.intercept_penalty) * (1.0 + 4.0 * UNIT)
    return down(at_least - up(0.5 * up(length * length)))


def dual_terms_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[float, float]:
    """The sum of the duals' terms before the squared norm, at least, and the sum of their sizes, at most."""
    terms, sizes = 0.0, 0.0
    for rows, part in problem.parts():
        terms += float(part.dual_terms(beta[rows]).sum())
        sizes = up(sizes + _sizes_of_dual_terms(part, beta[rows]))
    return terms - gamma(beta.size + 8) * sizes, sizes


def _sizes_of_dual_terms(problem: LinearSVMProblem, beta: np.ndarray) -> float:
    """The sum of the absolute values of the dual terms, at most: their rounding error is relative to it."""
    loss, sizes = problem.loss, np.abs(beta)
    terms = sizes * (np.abs(loss.targets) + loss.epsilon)
    if loss.curvature > 0.0:
        terms += 0.5 * problem.curvatures() * np.square(beta)
    return sum_at_most(terms) * (1.0 + OF_BOUNDS)


def cost_of_imbalance(beta: np.ndarray, length: float, sizes: float, radius: float) -> float:
    """What the dual value loses, at most, when the heavier side is scaled so that sum beta_i is exactly zero.

    The dual terms lose at most the share of their sizes by which the side shrinks; w, of norm at most ``length``, moves
    by at most that share times R sum|beta_i|.
    """
    share, moved = balancing_share(beta, radius)
    if share == 0.0:
        return 0.0
    return up(share * sizes * (1.0 + OF_BOUNDS) + moved * (length + moved))


def balancing_share(beta: np.ndarray, radius: float, rounded: float = 0.0) -> tuple[float, float]:
    """The share by which the heavier side has to shrink so that the sum is exactly zero, and how far w moves then.

    ``rounded`` bounds the error of the sum, where the duals themselves are rounded.
    """
    imbalance = abs(math.fsum(beta[beta != 0.0])) * (1.0 + 4.0 * UNIT) + rounded
    heavier = max(sums_of_sides(beta))
    if imbalance == 0.0 or heavier == 0.0:
        return 0.0, 0.0
    share = imbalance / heavier * (1.0 + OF_BOUNDS)
    return share, share * radius * sum_at_most(np.abs(beta))
