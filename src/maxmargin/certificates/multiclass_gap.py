"""The duality gap of Crammer and Singer's multiclass support vector machine, and the KKT classes of its points.

Not in passes of an engine: scores and duals of all classes are one array, and its passes are NumPy's.
"""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.bounds import longest_row_at_most
from maxmargin.certificates.kkt_conditions import AT_BOUND, ON_MARGIN
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_most,
    lower_bound,
    sum_at_least,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.svm_gap import ClassificationGap
from maxmargin.certificates.task_sums import exact_sum
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.crammer_singer import CrammerSingerProblem


@dataclass(frozen=True)
class MulticlassGap(ClassificationGap):
    """The duality gap of one problem for all classes, and the number of points in each KKT class.

    The margin of a point is f_y(x) - max f_m(x) over the other classes m, its dual alpha_i the sum of what it has for
    them, at most C: ``outside``, ``on_margin``, ``inside`` and ``misclassified`` are distinguished as for two classes.

    ``kkt_violation`` is the largest violation of the KKT conditions. A row's alpha_i is distributed over the other
    classes, C - alpha_i belongs to its own; a class with a positive share has the largest score, that of the own class
    reduced by 1. The violation of a row is the mean of the differences to that score, in these shares.

    See Also
    --------
    ClassificationGap : That of two classes.
    LinearSVC : With ``multi_class="crammer_singer"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LinearSVC(multi_class="crammer_singer", tol=1e-8).fit(X, y).certificate_
    >>> print(f"all three classes: {proof.dual:.2f} <= optimum <= {proof.primal:.2f}")
    all three classes: 15.60 <= optimum <= 15.60
    """


def measure_multiclass_gap(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray, B: np.ndarray) -> MulticlassGap:
    """Measure the duality gap of one hyperplane per class.

    Parameters
    ----------
    problem : CrammerSingerProblem
    W : ndarray of shape (n_classes, d)
    b : ndarray of shape (n_classes,)
    B : ndarray of shape (n, n_classes)
        Duals. They need not be feasible: they are projected.

    Returns
    -------
    MulticlassGap
    """
    B = problem.feasible(B)
    check_interruption()
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores(W, b)
        primal = _primal_at_most(problem, W, b, scores)
        check_interruption()
        dual = _dual_at_least(problem, B, upper_bound(primal))
        check_interruption()
        violation = _kkt_violation(problem, scores, B)
    check_interruption()
    counted = problem.weights > 0.0
    slacks = problem.slack(scores)
    limits, alpha = problem.box_bounds()[counted], _unscaled_alpha(problem, B, slacks)[counted]
    at_zero = alpha == 0.0
    at_bound = ~at_zero & (alpha >= (1.0 - AT_BOUND) * limits)
    misclassified = at_bound & (slacks[counted] >= 1.0)
    n_outside, n_bound, n_wrong = (int(np.count_nonzero(rows)) for rows in (at_zero, at_bound, misclassified))
    return MulticlassGap(
        upper_bound(primal),
        lower_bound(dual),
        violation,
        outside=n_outside,
        on_margin=alpha.size - n_outside - n_bound,
        inside=n_bound - n_wrong,
        misclassified=n_wrong,
    )


def _unscaled_alpha(problem: CrammerSingerProblem, B: np.ndarray, slacks: np.ndarray) -> np.ndarray:
    """alpha_i of every row, as it was before balancing scaled the duals of each pair of classes by one factor.

    Rows at C with a single other class then share the largest alpha_i/C of their pair, which free duals seldom do:
    where at least two rows share it, and are not on the margin, it is that factor.
    """
    if not problem.has_free_intercept:
        return problem.dual_terms(B)
    flows = np.maximum(-B, 0.0)
    flows[problem.own] = 0.0
    limits = problem.box_bounds()
    single = np.flatnonzero((np.count_nonzero(flows, axis=1) == 1) & (limits > 0.0))
    others = flows[single].argmax(axis=1)
    ratios = flows[single, others] / limits[single]
    pairs = problem.codes[single] * problem.n_classes + others
    largest = np.zeros(problem.n_classes**2)
    np.maximum.at(largest, pairs, ratios)
    at_end = ratios >= largest[pairs] * (1.0 - AT_BOUND)
    sharing = np.bincount(pairs[at_end], minlength=largest.size)
    beyond = np.bincount(pairs[at_end], slacks[single[at_end]], minlength=largest.size) > ON_MARGIN * sharing
    factors = np.where((sharing > 1) & beyond, largest, 1.0).reshape(problem.n_classes, problem.n_classes)
    found: np.ndarray = (flows / factors[problem.codes]).sum(axis=1)
    return found


def _kkt_violation(problem: CrammerSingerProblem, scores: np.ndarray, B: np.ndarray) -> float:
    counted = problem.weights > 0.0
    heights = scores.copy()
    heights[problem.own] -= 1.0
    bounds = np.broadcast_to(problem.box_bounds()[counted, None], (int(np.count_nonzero(counted)), problem.n_classes))
    shares = np.divide(-B[counted], bounds, out=np.zeros(bounds.shape), where=bounds > 0.0)
    shares[np.arange(len(shares)), problem.codes[counted]] += 1.0
    lacking = heights[counted].max(axis=1, keepdims=True) - heights[counted]
    return upper_bound(float((shares * lacking).sum(axis=1).max(initial=0.0)))


def _primal_at_most(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray, scores: np.ndarray) -> float:
    # A slack is the difference of two scores, plus one.
    n_terms = problem.points.longest_row + 8
    longest = max(length_at_most(w) for w in W)
    largest = up(up(longest_row_at_most(problem.points) * longest) + float(np.abs(b).max(initial=0.0)))
    error = up(gamma(n_terms) * up(2.0 * largest + 1.0)) + 2 * n_terms * SMALLEST
    # C times a weight may underflow.
    losses = (problem.box_bounds() + SMALLEST) * problem.slack(scores, error) * (1.0 + 8.0 * UNIT) + SMALLEST
    length, length_of_intercepts = length_at_most(W.ravel()), length_at_most(b)
    of_intercepts = 0.0
    if length_of_intercepts > 0.0:
        squared = up(length_of_intercepts * length_of_intercepts)
        of_intercepts = up(up(0.5 * up(problem.intercept_penalty * squared)) * (1.0 + 4.0 * UNIT))
    return up(up(up(0.5 * up(length * length)) + of_intercepts) + sum_at_most(losses))


def _dual_at_least(problem: CrammerSingerProblem, B: np.ndarray, primal: float) -> float:
    """A lower bound on the dual value, given any upper bound on the primal value.

    The dual of a row's own class stands for the exact sum over the other classes, and is off by ``rounded`` of it.
    """
    rounded = gamma(problem.n_classes + 4)
    own = problem.dual_terms(B)
    terms = down(sum_at_least(own) * (1.0 - 2.0 * rounded))
    of_class = np.array([sum_at_most(np.abs(duals)) for duals in B.T])
    errors = of_class * [gamma(int(np.count_nonzero(duals)) + 4) + 2.0 * rounded for duals in B.T]
    check_interruption()
    lengths = np.array([length_at_most(w) for w in problem.coefficients(B)])
    underflow = (B.shape[0] * problem.points.n_columns + 2) * SMALLEST
    lengths = lengths + longest_row_at_most(problem.points) * errors + underflow
    length = length_at_most(lengths * (1.0 + 16.0 * UNIT))
    at_least = down(terms - up(0.5 * up(length * length)) * (1.0 + 4.0 * UNIT))
    if problem.has_intercept:
        own_of_class = np.bincount(problem.codes, own, problem.n_classes) * (1.0 + 2.0 * gamma(own.size))
        at_least -= _cost_of_imbalance(problem, _imbalances(B) + 2.0 * rounded * own_of_class + SMALLEST, primal)
    return down(at_least)


def _imbalances(B: np.ndarray) -> np.ndarray:
    """|sum_i B_im| of each class m, at most."""
    return np.array([abs(exact_sum(duals)) for duals in B.T]) * (1.0 + 4.0 * UNIT)


def _cost_of_imbalance(problem: CrammerSingerProblem, imbalances: np.ndarray, primal: float) -> float:
    """What the dual value loses, at most, because the columns of B do not sum to zero.

    With penalised intercepts that is a term of the dual. With free ones the objective of any hyperplanes is at least
    the dual value without that term, less sum_m b_m sum_i B_im. All these sums add up to zero, so that only differences
    of intercepts matter, and only of classes with rows: the others have no duals. For hyperplanes that are as good as
    the known ones, and a row i of class k,

        b_m - b_k <= xi_i - 1 + (w_k - w_m)·x_i,  C c_i xi_i <= primal,  ||w_k - w_m||² <= 2 sum ||w||² <= 4 primal.
    """
    if not problem.has_free_intercept:
        length = length_at_most(imbalances)
        return up(up(0.5 * up(length * length)) / problem.intercept_penalty) * (1.0 + 4.0 * UNIT)
    total = sum_at_most(imbalances)
    heaviest = np.full(problem.n_classes, -math.inf)
    counted = problem.weights > 0.0
    # C times a weight may have been rounded up in the subnormal range.
    np.maximum.at(heaviest, problem.codes[counted], problem.box_bounds()[counted] - SMALLEST)
    least = float(heaviest[heaviest > -math.inf].min(initial=math.inf))
    if not least > 0.0:
        return math.inf
    widest = up(primal / least) + 2.0 * longest_row_at_most(problem.points) * math.sqrt(primal)
    # Positive and negative imbalances have the same sum, half of the total.
    return up(0.5 * total * widest) * (1.0 + 16.0 * UNIT)
