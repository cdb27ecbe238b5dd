"""Probabilities from the scores of a kernel classifier: Platt's sigmoids on folds, coupled over pairs of classes."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.logistic import LogisticProblem, sigmoid
from maxmargin.solvers.core import Monitor, Options
from maxmargin.solvers.regression import logistic_newton

# As many folds as LIBSVM has.
N_FOLDS = 5
# Probabilities of a pair are kept this far from zero and one, as LIBSVM's.
LEAST_PROBABILITY = 1e-7
# Steps of the coupling of pairs, and the precision at which it ends.
MAX_COUPLING_STEPS, COUPLING_PRECISION = 200, 1e-9


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
    fit: Callable[[np.ndarray], Any], labels: np.ndarray, rows_of: Callable[[np.ndarray], Any], seed: int
) -> np.ndarray:
    """The pairs' scores of every row by the model of the folds without it.

    ``fit(rows)`` fits a model to some rows, and ``rows_of(rows)`` are rows to be scored.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two rows of every class, for its folds.")
    order, fold = np.random.default_rng(seed).permutation(labels.size), np.empty(labels.size, dtype=np.intp)
    for k in range(classes.size):
        rows = order[codes[order] == k]
        fold[rows] = np.arange(rows.size) % n_folds
    scores = np.empty((labels.size, classes.size * (classes.size - 1) // 2))
    for part in range(n_folds):
        held_out = np.flatnonzero(fold == part)
        model = fit(np.flatnonzero(fold != part))
        scores[held_out] = model._pair_scores(rows_of(held_out))
    return scores


def pair_probabilities(scores: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The probability of the first class of every pair."""
    return np.clip(sigmoid(-(A * scores + B)), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)


def couple(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of all classes from those of the pairs.

    The minimiser of sum over pairs (r_ji p_i - r_ij p_j)², by the fixed-point iteration of Wu, Lin, Weng, "Probability
    estimates for multi-class classification by pairwise coupling", 2004, second approach, for all rows at once.
    """
    r = np.zeros((len(pairs), n_classes, n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = pairs[:, k], 1.0 - pairs[:, k]
    Q = -np.swapaxes(r, 1, 2) * r
    Q[:, np.arange(n_classes), np.arange(n_classes)] = np.square(r).sum(axis=1)
    p = np.full((len(pairs), n_classes), 1.0 / n_classes)
    for _ in range(MAX_COUPLING_STEPS):
        Qp = np.einsum("nij,nj->ni", Q, p)
        pQp = np.einsum("ni,ni->n", p, Qp)
        if float(np.abs(Qp - pQp[:, None]).max(initial=0.0)) < COUPLING_PRECISION:
            break
        for t in range(n_classes):
            change = (pQp - Qp[:, t]) / Q[:, t, t]
            p[:, t] += change
            pQp = (pQp + change * (change * Q[:, t, t] + 2.0 * Qp[:, t])) / np.square(1.0 + change)
            Qp = (Qp + change[:, None] * Q[:, t]) / (1.0 + change)[:, None]
            p /= (1.0 + change)[:, None]
    return p / p.sum(axis=1, keepdims=True)
