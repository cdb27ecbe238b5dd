"""Probabilities from the scores of a classifier: curves, fitted on folds, and their combination over the classes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split

from maxmargin.data import Points
from maxmargin.data.blocks import row_blocks
from maxmargin.problems.logistic import LogisticProblem, sigmoid
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.regression import logistic_newton

# As many folds as LIBSVM has.
N_FOLDS = 5
# Probabilities of a pair are kept this far from zero and one, as LIBSVM's.
LEAST_PROBABILITY = 1e-7


@dataclass(frozen=True)
class Sigmoid:
    """P(positive | f) = 1/(1 + exp(A f + B))."""

    A: float
    B: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores."""
        return sigmoid(-(self.A * scores + self.B))


@dataclass(frozen=True)
class Isotonic:
    """P(positive | f) as a non-decreasing function: linear between given points, constant beyond them.

    Attributes
    ----------
    scores, probabilities : ndarray of shape (m,)
        The points; scores ascend.
    """

    scores: np.ndarray
    probabilities: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores."""
        return np.interp(scores, self.scores, self.probabilities)


@dataclass(frozen=True)
class Folds:
    """How curves were fitted, so that they can be fitted again.

    Attributes
    ----------
    cv : int
        The number of folds.
    seed : int
        Of the folds, and of copies of a model without a random state of its own.
    weighted : bool
        Whether the rows had sample weights.
    by_fit : bool
        Whether ``SVC(probability=True)`` did it in its fit, or ``calibrate``.
    """

    cv: int
    seed: int
    weighted: bool = False
    by_fit: bool = False


@dataclass(frozen=True)
class Calibration:
    """Probabilities of the classes from the scores of a classifier.

    Attributes
    ----------
    curves : tuple of Sigmoid, or of Isotonic
        One for each decision function.
    by_pairs : bool
        Whether a decision function is about a pair of classes, as those of SVC are, or about one class and the rest.
    folds : Folds or None
        How the curves were fitted; None where a limit cut a fit short, and for curves of another program.
    """

    curves: tuple[Any, ...]
    by_pairs: bool
    folds: Folds | None = None

    @property
    def method(self) -> str:
        """``"sigmoid"`` or ``"isotonic"``."""
        return "sigmoid" if isinstance(self.curves[0], Sigmoid) else "isotonic"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        k = len(self.curves)
        if k == 1:
            return 2
        return round((1.0 + (1.0 + 8.0 * k) ** 0.5) / 2.0) if self.by_pairs else k

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        scores : ndarray of shape (n, k)
            Of every decision function.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Of more than two classes, those of one class and the rest are scaled to sum to one, and those of pairs are
            coupled.
        """
        of_each = np.column_stack([curve(scores[:, k]) for k, curve in enumerate(self.curves)])
        if self.by_pairs:
            of_each = np.clip(of_each, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        if len(self.curves) == 1:
            return np.column_stack([1.0 - of_each[:, 0], of_each[:, 0]])
        if self.by_pairs:
            return couple(of_each, self.n_classes)
        totals = of_each.sum(axis=1, keepdims=True)
        # Where no class is possible at all, nothing is known.
        return np.where(totals > 0.0, of_each / np.where(totals > 0.0, totals, 1.0), 1.0 / self.n_classes)


def fit_sigmoid(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Fit P(positive | f) = 1/(1 + exp(A f + B)) to targets (n_+ + 1)/(n_+ + 2) and 1/(n_- + 2); return A and B.

    Platt, "Probabilistic outputs for support vector machines and comparison to regularized likelihood methods", 1999.
    The soft targets make it a logistic regression in which every row occurs once with each label.
    """
    n_positive, n_negative = float(weights[positive].sum()), float(weights[~positive].sum())
    targets = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    points = Points(np.ascontiguousarray(np.concatenate([scores, scores])[:, None]))
    signs = np.repeat([1.0, -1.0], scores.size)
    problem = LogisticProblem(points, signs, np.concatenate([weights * targets, weights * (1.0 - targets)]))
    found = logistic_newton.solve(problem, Options(tol=1e-9, max_iter=200), Monitor())
    return -float(found.w[0]), -float(found.intercept)


def scores_on_folds(
    model: Any,
    X: Any,
    labels: np.ndarray,
    sample_weight: np.ndarray | None,
    seed: int,
    n_folds: int = N_FOLDS,
    tasks: Sequence[tuple[int, int]] | None = None,
    seconds_left: Callable[[], float] = lambda: math.inf,
    after_fit: Callable[[Any], object] = id,
) -> np.ndarray | None:
    """The scores of every row, one column a decision function, by a model that is fitted to the other folds.

    Parameters
    ----------
    model : an estimator, of which copies are fitted
    X : array, sparse matrix or data frame of shape (n, d), or the Gram matrix
    labels : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,) or None
    seed : int
        Of the folds, which have equal shares of all classes.
    n_folds : int
        Fewer where a class has fewer rows.
    tasks : sequence of pairs of int, optional
        The positive and the negative class of every decision function. Folds may then lack a class, where LIBSVM scores
        1 for the other one: without, a class of a single row is refused.
    seconds_left : callable
        Returns the seconds for the folds that are left. Each has its share, and what it leaves goes to none; where no
        time is left there are no scores.
    after_fit : callable
        Is called with every copy.

    Returns
    -------
    ndarray of shape (n, k), or None
    """
    classes, codes = np.unique(labels, return_inverse=True)
    smallest = int(np.bincount(codes).min())
    may_lack = tasks is not None and smallest == 1
    n_folds = min(n_folds, labels.size if may_lack else smallest)
    if n_folds < 2:
        raise ValueError("Probabilities need at least two rows of every class, for the folds that they are fitted to.")
    order, fold = np.random.default_rng(seed).permutation(labels.size), np.empty(labels.size, dtype=np.intp)
    for k in range(classes.size):
        rows = order[codes[order] == k]
        fold[rows] = np.arange(rows.size) % n_folds
    if may_lack:
        fold[order] = np.arange(labels.size) % n_folds
    # Not every sparse format has rows.
    X = X.tocsr() if sp.issparse(X) else X
    scores: np.ndarray | None = None
    share = math.inf
    for part in range(n_folds):
        left = seconds_left()
        if left == 0.0:
            return None
        held_out, others = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        fitted, present = clone(model), np.unique(codes[others])
        share = min(share, left / (n_folds - part))
        if share < math.inf:
            fitted.set_params(max_time=share)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[others]}
        if len(present) > 1:
            fitted.fit(rows_for(model, X, others, others), labels[others], **weights)
            after_fit(fitted)
            if seconds_left() == 0.0:
                return None
            found = fitted._scores_by_task(rows_for(model, X, held_out, others))
        if may_lack and len(present) < classes.size:
            known = dict(zip(combinations(present, 2), found.T, strict=True)) if len(present) > 1 else {}
            if len(present) == 2:
                # Of only two classes, the second is the positive one.
                known = {pair: -values for pair, values in known.items()}
            pairs: Any = tasks
            found = np.column_stack([_score_of_pair(known, pair, present, held_out.size) for pair in pairs])
        scores = np.empty((labels.size, found.shape[1])) if scores is None else scores
        scores[held_out] = found
    assert scores is not None
    return scores


def was_cut(model: Any) -> bool:
    """Whether a limit that depends on the machine's speed, or Ctrl-C, ended a fit."""
    return getattr(model, "status_", None) in (Status.TIME_LIMIT, Status.INTERRUPTED)


def rows_for(model: Any, X: Any, rows: np.ndarray, of_model: np.ndarray) -> Any:
    """Some rows of X as a model takes them that is fitted to the rows ``of_model``: of a Gram matrix also columns.

    A dense array is copied in parts, between which Ctrl-C is raised.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or get_tags(model).input_tags.pairwise:
        return _safe_split(model, X, None, rows, of_model)[0]
    found = np.empty((rows.size, X.shape[1]), dtype=X.dtype)
    for part in row_blocks(rows.size, X.shape[1]):
        found[part] = X[rows[part]]
    return found


def _score_of_pair(known: dict[Any, np.ndarray], pair: tuple[int, int], present: np.ndarray, n_rows: int) -> np.ndarray:
    """The scores of a pair of classes, of which a fold may have lacked one: then 1 for the other one."""
    first, second = sorted(pair)
    sign = 1.0 if pair == (first, second) else -1.0
    values = known.get((first, second))
    if values is None:
        values = np.full(n_rows, float(first in present) - float(second in present))
    return sign * values


def by_task(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray, tasks: Sequence[tuple[int, int | None]]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield scores, which of them are of the positive class, and weights of the rows of every decision function.

    ``tasks`` are the codes of the positive class, and of the other one where not all others are negative.
    """
    for k, (positive, negative) in enumerate(tasks):
        rows = np.flatnonzero((codes == positive) | (codes == negative) | (negative is None))
        yield scores[rows, k], codes[rows] == positive, weights[rows]


def couple(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of all classes from those of the pairs.

    The minimiser of sum over pairs (r_ji p_i - r_ij p_j)² = p'Qp on the simplex; Wu, Lin, Weng, "Probability estimates
    for multi-class classification by pairwise coupling", 2004, second approach. Their theorem 2 shows that it is the
    solution of Qp = b e, e'p = 1, whose entries are positive: a multiple of (Q + ee')⁻¹ e.
    """
    r = np.zeros((len(pairs), n_classes, n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = pairs[:, k], 1.0 - pairs[:, k]
    Q = -np.swapaxes(r, 1, 2) * r
    Q[:, np.arange(n_classes), np.arange(n_classes)] = np.square(r).sum(axis=1)
    p = np.maximum(np.linalg.solve(Q + 1.0, np.ones((len(pairs), n_classes, 1)))[:, :, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
