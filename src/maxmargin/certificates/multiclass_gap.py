"""How far the planes of a multiclass support vector machine can be from the best ones (theory B7, B12)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_most,
    sum_at_least,
    sum_at_most,
    up,
)
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.certificates.svm_gap import ON_EDGE, SVMGap
from maxmargin.problems.crammer_singer import CrammerSingerProblem


@dataclass(frozen=True)
class MulticlassGap(SVMGap):
    """The gap of one problem for all classes, and where the points lie.

    ``kkt_violation`` is the largest violation of the KKT conditions. A row's limit belongs to the classes to which it
    gives, and what is left of it to its own; none of these may score less than another class, the own class's score
    counting 1 less. A row's violation is the mean of what they lack, in their shares of the limit.

    Attributes
    ----------
    ahead, close, wrong : int
        Points whose own class is ahead of every other by 1 (xi = 0); by less (0 < xi < 1); not ahead (xi >= 1).
    """

    ahead: int
    close: int
    wrong: int

    _kinds_of_points: ClassVar[dict[str, str]] = {
        "ahead": "with their class ahead by 1",
        "close": "with less",
        "wrong": "with another class ahead",
    }


def measure_multiclass_gap(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray, B: np.ndarray) -> MulticlassGap:
    """State what planes of shape (n_classes, d), intercepts, and duals of shape (n, n_classes) prove."""
    B = problem.feasible(B)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores(W, b)
        primal = _primal_at_most(problem, W, b, scores)
        dual = _dual_at_least(problem, B, primal)
    slack = problem.slack(scores)[problem.weights > 0.0]
    n_ahead, n_wrong = int(np.count_nonzero(slack <= ON_EDGE)), int(np.count_nonzero(slack >= 1.0))
    return MulticlassGap(
        math.inf if math.isnan(primal) else primal,
        -math.inf if math.isnan(dual) else dual,
        _kkt_violation(problem, scores, B),
        ahead=n_ahead,
        close=slack.size - n_ahead - n_wrong,
        wrong=n_wrong,
    )


def _kkt_violation(problem: CrammerSingerProblem, scores: np.ndarray, B: np.ndarray) -> float:
    counted = problem.weights > 0.0
    heights = scores.copy()
    heights[problem.own] -= 1.0
    shares = -B[counted] / problem.box_bounds()[counted, None]
    shares[np.arange(len(shares)), problem.codes[counted]] += 1.0
    lacking = heights[counted].max(axis=1, keepdims=True) - heights[counted]
    return float((shares * lacking).sum(axis=1).max(initial=0.0))


def _primal_at_most(problem: CrammerSingerProblem, W: np.ndarray, b: np.ndarray, scores: np.ndarray) -> float:
    # A slack is two scores and a one, with an error of this share of each score's terms.
    terms = problem.points.longest_row + 8
    longest_plane = max(length_at_most(w) for w in W)
    largest = up(up(longest_row_at_most(problem.points) * longest_plane) + float(np.abs(b).max(initial=0.0)))
    error = up(gamma(terms) * up(2.0 * largest + 1.0)) + 2 * terms * SMALLEST
    losses = problem.losses(scores, error) * (1.0 + 8.0 * UNIT)
    length, length_of_intercepts = length_at_most(W.ravel()), length_at_most(b)
    of_intercepts = 0.0
    if length_of_intercepts > 0.0:
        of_intercepts = up(0.5 * up(problem.intercept_penalty * up(length_of_intercepts * length_of_intercepts)))
    return up(up(up(0.5 * up(length * length)) + of_intercepts) + sum_at_most(losses))


def _dual_at_least(problem: CrammerSingerProblem, B: np.ndarray, primal: float) -> float:
    """Bound the dual's value below, given any upper bound on the primal's.

    The duals of the own classes stand for the exact sums of what the rows give, and are off by ``rounded`` of them.
    """
    rounded = gamma(problem.n_classes + 4)
    own = problem.dual_terms(B)
    gains = down(sum_at_least(own) * (1.0 - 2.0 * rounded))
    of_class = np.array([sum_at_most(np.abs(duals)) for duals in B.T])
    errors = of_class * [gamma(int(np.count_nonzero(duals)) + 4) + 2.0 * rounded for duals in B.T]
    lengths = np.array([length_at_most(w) for w in problem.coefficients(B)])
    length = length_at_most((lengths + longest_row_at_most(problem.points) * errors) * (1.0 + 16.0 * UNIT))
    at_least = gains - up(0.5 * up(length * length)) * (1.0 + 4.0 * UNIT)
    if problem.has_intercept:
        own_of_class = np.bincount(problem.codes, own, problem.n_classes) * (1.0 + 2.0 * gamma(own.size))
        at_least -= _price_of_imbalance(problem, _imbalances(B) + 2.0 * rounded * own_of_class, primal)
    return down(at_least)


def _imbalances(B: np.ndarray) -> np.ndarray:
    """|sum_i B_im| of each class m, at most."""
    return np.array([abs(math.fsum(duals[duals != 0.0])) for duals in B.T]) * (1.0 + 4.0 * UNIT)


def _price_of_imbalance(problem: CrammerSingerProblem, imbalances: np.ndarray, primal: float) -> float:
    """What it costs, at most, that classes give more or less than they get.

    With penalised intercepts that is a term of the dual. With free ones the primal's value of any planes is at least
    the dual's without that term, less sum_m b_m sum_i B_im. The sums are those of what classes give to each other, so
    that only differences of intercepts matter, and only of classes with rows: the others are given nothing. For planes
    that are as good as the known ones, and a row i of class k,

        b_m - b_k <= xi_i - 1 + (w_k - w_m)·x_i,  C c_i xi_i <= primal,  ||w_k - w_m||² <= 2 sum ||w||² <= 4 primal.
    """
    if not problem.balanced:
        length = length_at_most(imbalances)
        return up(up(0.5 * up(length * length)) / problem.intercept_penalty) * (1.0 + 4.0 * UNIT)
    total = sum_at_most(imbalances)
    if total == 0.0:
        return 0.0
    heaviest = np.zeros(problem.n_classes)
    np.maximum.at(heaviest, problem.codes, problem.box_bounds())
    slack = primal / float(heaviest[heaviest > 0.0].min(initial=math.inf))
    widest = slack + 2.0 * longest_row_at_most(problem.points) * math.sqrt(primal)
    # What some classes give too much others get too much: half of the sum changes hands.
    return up(0.5 * total * widest) * (1.0 + 16.0 * UNIT)
